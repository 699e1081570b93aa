//! How much memory, for which error.

use crate::run::dwell;

/// Bytes, and the error at the largest loss, in percent.
fn size(arguments: &[&str]) -> (usize, f64) {
    let text = String::from_utf8(dwell(&[&["size", "owd"], arguments].concat()).ok().out).unwrap();
    let bytes = text.split(' ').next().unwrap().parse().unwrap();
    let mut rows = text.lines().filter(|line| line.ends_with('%'));
    let error =
        rows.next_back().unwrap().split_whitespace().next_back().unwrap().trim_end_matches('%').parse().unwrap();
    (bytes, error)
}

#[test]
fn error_and_memory_are_two_ways_to_ask() {
    let traffic = ["--packets-per-interval", "1000000", "--loss", "0.1%..5%", "--cv", "1.5"];
    let (bytes, error) = size(&[&["--error", "1%"], &traffic[..]].concat());
    assert!((0.9..=1.0).contains(&error), "{error}");
    let (same, back) = size(&[&["--memory", &bytes.to_string()], &traffic[..]].concat());
    assert!(same <= bytes && (back - error).abs() < 0.02, "{same} {back}");
    // Half the error needs more than twice the memory.
    let (more, _) = size(&[&["--error", "0.5%"], &traffic[..]].concat());
    assert!(more > 2 * bytes, "{more} {bytes}");
}

#[test]
fn nonsense_is_refused_in_one_line() {
    let traffic = ["--packets-per-interval", "1000000"];
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["--error", "--memory"]),
        (&["--error", "0"], &["--error", "1%"]),
        (&["--error", "1%", "--memory", "9000"], &["--error", "--memory"]),
        (&["--memory", "100"], &["at least", "100"]),
        (&["--error", "1%", "--loss", "5%..1%"], &["--loss", "0.1%..5%"]),
        (&["--error", "1%", "--cv", "-1"], &["-1"]),
        (&["--error", "0.0000001%"], &["no aggregator"]),
    ];
    for (arguments, words) in cases {
        let run = dwell(&[&["size", "owd"], &traffic[..], *arguments].concat());
        assert_eq!((run.code, run.out.len()), (2, 0), "{arguments:?}: {}", run.err);
        assert!(run.err.lines().count() == 1 && words.iter().all(|word| run.err.contains(word)), "{}", run.err);
    }
    assert_eq!(dwell(&["size"]).code, 2);
}

/// The memory of a row, in KiB, and its error at p99 in percent.
fn rows(arguments: &[&str]) -> (String, Vec<(f64, f64)>) {
    let text = String::from_utf8(dwell(&[&["size", "rtt"], arguments].concat()).ok().out).unwrap();
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        let kib = match first.strip_suffix("KiB") {
            Some(kib) => kib.parse::<f64>().ok()?,
            None => first.strip_suffix("MiB")?.parse::<f64>().ok()? * 1024.0,
        };
        Some((kib, words.next_back()?.strip_suffix('%')?.parse().ok()?))
    };
    let rows = text.lines().filter_map(row).collect();
    (text, rows)
}

#[test]
fn one_point_by_error_or_by_memory() {
    let traffic = ["--requests-per-second", "100000", "--mean", "50ms", "--p99", "500ms", "--answered", "40%"];
    let (text, tried) = rows(&[&["--error", "3%"], &traffic[..]].concat());
    // 100,000 × (.4 × .05 + .6 × 60) requests, of which most are never answered.
    assert!(text.starts_with("3602000 requests are open at a time"), "{text}");
    assert!(tried.len() > 3 && tried.windows(2).all(|pair| pair[1].0 == 2.0 * pair[0].0 && pair[1].1 < pair[0].1));
    let (kib, error) = *tried.last().unwrap();
    assert!(error <= 3.0 && tried[tried.len() - 2].1 > 3.0, "{tried:?}");
    let (_, same) = rows(&[&["--memory", &format!("{kib}KiB")], &traffic[..]].concat());
    assert_eq!(same, [(kib, error)]);
}

/// The memory that is said to hold everything does.
#[test]
fn what_is_said_to_be_exact_is() {
    let traffic = ["--requests-per-second", "2000", "--mean", "30ms", "--p99", "300ms", "--span", "10s"];
    let (text, _) = rows(&[&["--error", "5%"], &traffic[..]].concat());
    let memory = text.split_once("dwell rtt --memory ").unwrap().1.split_whitespace().next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.csv");
    let mut lines: Vec<(u64, String)> = Vec::new();
    for i in 0..20_000u64 {
        let at = i * 500_000;
        // As many open as the mean says, some for ten times as long.
        let delay = if i % 50 == 0 { 300_000_000 } else { 24_000_000 };
        lines.push((at, format!("{at},request,{i}")));
        lines.push((at + delay, format!("{},response,{i}", at + delay)));
    }
    lines.sort();
    let text: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    std::fs::write(&log, format!("at_ns,kind,id\n{text}")).unwrap();
    let run = dwell(&["rtt", "--events", log.to_str().unwrap(), "--memory", memory, "--format", "json"]).ok();
    let report: serde_json::Value = serde_json::from_slice(&run.out).unwrap();
    assert_eq!(
        (&report["method"]["exact"], &report["results"][0]["samples"]),
        (&true.into(), &20_000.into()),
        "{memory}"
    );
}

#[test]
fn what_cannot_be_sized_is_refused_in_one_line() {
    let traffic = ["--requests-per-second", "1000", "--mean", "5ms", "--p99", "50ms"];
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["--error", "--memory"]),
        (&["--memory", "1"], &["1 bytes", "at least"]),
        (&["--error", "5%", "--requests-per-second", "-3"], &["-3"]),
        (&["--error", "5%", "--mean", "60ms"], &["log-normal"]),
    ];
    for (arguments, words) in cases {
        let given = |name: &str| arguments.contains(&name);
        let rest = traffic.chunks(2).filter(|pair| !given(pair[0])).flatten().copied();
        let run = dwell(&["size", "rtt"].into_iter().chain(arguments.iter().copied()).chain(rest).collect::<Vec<_>>());
        assert_eq!((run.code, run.out.len()), (2, 0), "{arguments:?}: {}", run.err);
        assert!(run.err.lines().count() == 1 && words.iter().all(|word| run.err.contains(word)), "{}", run.err);
    }
}
