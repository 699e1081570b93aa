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
