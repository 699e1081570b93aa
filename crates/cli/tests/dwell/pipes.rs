//! The other end of inputs and outputs: a reader that exits, a full disk, a pipe as input.

use crate::run::{Run, assert_refused, command, dwell_in, finish, lines, names, testdata};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;

/// Piping into `head` must not cause an error message.
#[test]
fn a_closed_pipe_is_no_failure() {
    let mixed = testdata("mixed/mixed.pcap.zst");
    let folder = tempfile::tempdir().unwrap();
    // So few packets that they are written at the very end.
    let (log, report) = (folder.path().join("log.csv"), folder.path().join("report.txt"));
    fs::write(&log, "arrived_ns,departed_ns,flow,bytes\n1,5,a,100\n2,9,b,100\n").unwrap();
    let [log, report] = [&log, &report].map(|path| path.to_str().unwrap());
    for how in [
        &["rtt", &mixed, "--format", "csv"][..],
        &["rtt", &mixed, "--format", "json", "--group", "src/24"],
        &["rtt", &mixed, "--samples", "/dev/stdout", "-o", "/dev/null"],
        &["rtt", &mixed, "--format", "ppviz"],
        &["rtt", &mixed, "--interval", "1s", "--format", "jsonl"],
        &["rtt", "--help"],
        &["simulate", "-w", "-", "--flows", "2000"],
        // Written by a CSV writer, which wraps the I/O error in its own.
        &["simulate", "--queue", "bursts", "--truth", "-"],
        &["queue", "--sojourns", log, "--per-packet", "-", "-o", report],
    ] {
        for read in [0, 1] {
            let mut child = command(how).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            stdout.read_exact(&mut vec![0; read]).unwrap();
            drop(stdout);
            let output = child.wait_with_output().unwrap();
            let words = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), words.as_str()), (Some(0), ""), "{how:?}");
        }
    }
}

/// Whoever reads the report, the exit code says that a capture is damaged.
#[test]
fn a_closed_pipe_hides_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = fs::read(testdata("ntp/ntp.pcap")).unwrap();
    let second = 40 + u32::from_le_bytes(capture[32..36].try_into().unwrap()) as usize;
    capture[second + 8..][..8].fill(0xff);
    fs::write(folder.path().join("damaged.pcap"), capture).unwrap();
    let mut damaged = command(&["rtt", "damaged.pcap"]);
    let mut child = damaged.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// A reader that exits costs no other file of the same run.
#[test]
fn what_another_file_needs_is_written_when_nobody_reads_the_report() {
    let mixed = testdata("mixed/mixed.pcap.zst");
    let folder = tempfile::tempdir().unwrap();
    let files = ["plot.svg", "samples.csv"];
    let how = ["rtt", &mixed, "--group", "src,dst", "--format", "csv", "--plot", files[0], "--samples", files[1]];
    let expected = dwell_in(folder.path(), &how).ok();
    let whole = files.map(|name| fs::read(folder.path().join(name)).unwrap());
    for (also, name) in [(&[][..], "plot.svg"), (&["--interval", "1s"], "samples.csv")] {
        files.iter().for_each(|name| fs::remove_file(folder.path().join(name)).unwrap());
        let mut command = command(&[&how[..], also].concat());
        command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), expected.err.clone()));
        assert_eq!(names(folder.path()), files);
        let place = files.iter().position(|file| *file == name).unwrap();
        assert!(fs::read(folder.path().join(name)).unwrap() == whole[place], "{name}");
    }
}

/// Samples are written while the input waits within a record, of a capture or of a log.
#[test]
fn half_a_record_holds_no_sample_back() {
    let ntp = fs::read(testdata("ntp/ntp.pcap")).unwrap();
    let log = b"at_ns,kind,id\n1000,request,a\n2000,response,a\n3000,requ".to_vec();
    let capture = ntp[..ntp.len() - 5].to_vec();
    for (how, input, least) in [
        (&["rtt", "-", "--match", "ntp", "--format", "ppviz"][..], capture, 10),
        (&["rtt", "--events", "-", "--samples", "/dev/stdout", "-o", "/dev/null"], log, 2),
    ] {
        let mut command = command(how);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&input).unwrap();
        let (send, lines) = std::sync::mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let reader = std::thread::spawn(move || stdout.lines().try_for_each(|line| send.send(line.unwrap())));
        for number in 0..least {
            let line = lines.recv_timeout(std::time::Duration::from_secs(30));
            assert!(line.is_ok(), "{how:?}: {number} lines");
        }
        drop(stdin);
        child.wait().unwrap();
        drop(lines);
        let _ = reader.join();
    }
}

/// Zstd frames without a checksum, whose content ends where a buffer does, are whole.
#[test]
fn whole_zstd_files_are_not_cut() {
    let folder = tempfile::tempdir().unwrap();
    for size in [8_191, 8_192, 8_193, 139_264] {
        let mut log = "at_ns,kind,id\n".to_owned();
        let mut at = 1_000_000;
        while log.len() + 21 <= size - 23 {
            log += &format!("{at},request,a\n{at},response,a\n")[..];
            at += 1;
        }
        // Blanks fill the last line.
        let last = format!("{at},request,{}", "b".repeat(size - log.len() - 17));
        log += &last;
        log.push('\n');
        let size = log.len();
        let packed = zstd::bulk::compress(log.as_bytes(), 1).unwrap();
        fs::write(folder.path().join("log.csv.zst"), packed).unwrap();
        let run = dwell_in(folder.path(), &["rtt", "--events", "log.csv.zst"]);
        assert!(!run.err.contains("truncated"), "{size}: {}", run.err);
    }
}

/// Whoever could not read the old file cannot read the new one, and a file that may not be written is not replaced.
#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (ntp, report) = (testdata("ntp/ntp.pcap"), folder.path().join("report.txt"));
    for mode in [0o600, 0o644] {
        fs::write(&report, "old").unwrap();
        fs::set_permissions(&report, fs::Permissions::from_mode(mode)).unwrap();
        dwell_in(folder.path(), &["rtt", &ntp, "--match", "ntp", "-o", "report.txt"]).ok();
        assert_eq!(fs::metadata(&report).unwrap().permissions().mode() & 0o777, mode);
        assert!(fs::read(&report).unwrap().len() > 100);
    }
    // Of several groups, if this may change them.
    use std::os::unix::fs::{MetadataExt, chown};
    if chown(&report, None, Some(1)).is_ok() {
        dwell_in(folder.path(), &["rtt", &ntp, "--match", "ntp", "-o", "report.txt"]).ok();
        assert_eq!(fs::metadata(&report).unwrap().gid(), 1);
    }
}

/// A run that may not write files of more than so many blocks of 512 bytes, as of `ulimit -f`, which counts like a full
/// disk.
#[cfg(unix)]
fn limited(folder: &Path, blocks: u32, arguments: &[&str]) -> Run {
    let mut limited = std::process::Command::new("sh");
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    limited.args(["-c", &script, env!("CARGO_BIN_EXE_dwell")]).args(arguments).current_dir(folder);
    finish(limited)
}

/// Samples or rows for which there is no room end the run with a report of what was read until then, and leave nothing.
#[cfg(unix)]
#[test]
fn rows_that_cannot_be_written_cost_no_report() {
    let [mixed, before, behind] =
        ["mixed/mixed.pcap.zst", "one-way/near.pcap.xz", "one-way/server.pcap.xz"].map(testdata);
    let [ingress, egress] = ["queue/ingress.pcap.xz", "queue/egress.pcap.xz"].map(testdata);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.csv");
    let lines = (0..5_000).map(|at| format!("{at},request,{at}\n{at},response,{at}\n"));
    fs::write(&log, format!("at_ns,kind,id\n{}", lines.collect::<String>())).unwrap();
    let log = log.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for how in [
        &["rtt", &mixed, "--samples", "rows.csv"][..],
        &["rtt", "--events", log, "--samples", "rows.csv"],
        &["owd", &before, &behind, "--samples", "rows.csv"],
        &["queue", &ingress, &egress, "--per-packet", "rows.csv"],
    ] {
        let whole = dwell_in(folder.path(), &[how, &["--format", "json"]].concat()).json();
        fs::remove_file(folder.path().join("rows.csv")).unwrap();
        let run = limited(folder.path(), 200, &[how, &["--format", "json"]].concat());
        assert_eq!(run.code, 1, "{how:?}: {}", run.err);
        let told = |words: &str| words.contains("rows.csv: File too large (os error 27); stopped there");
        assert_eq!(run.err.lines().filter(|line| told(line)).count(), 1, "{how:?}: {}", run.err);
        let report = run.json();
        assert!(report["warnings"].as_array().unwrap().iter().any(|words| told(words.as_str().unwrap())), "{how:?}");
        let end = |report: &serde_json::Value| report["span_ns"]["end"].as_i64().unwrap();
        assert!(end(&report) < end(&whole), "{how:?}");
        assert_eq!(names(folder.path()), [""; 0], "{how:?}");
    }
}

/// A file that grows ends with a whole line, of whatever interval was the last that fitted.
#[cfg(unix)]
#[test]
fn a_full_disk_cuts_no_line() {
    let (mixed, folder) = (testdata("mixed/mixed.pcap.zst"), tempfile::tempdir().unwrap());
    for format in ["jsonl", "csv"] {
        let (name, folder) = (format!("report.{format}"), folder.path());
        let how = ["rtt", &mixed, "--interval", "1s", "-o", &name];
        dwell_in(folder, &how).ok();
        let whole = fs::read_to_string(folder.join(&name)).unwrap();
        let fits = whole.len() / 2;
        let run = limited(folder, u32::try_from(fits / 512).unwrap(), &how);
        assert!(run.code == 1 && run.err.contains(&format!("{name}: File too large")), "{}", run.err);
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        assert!(text.len() > 100 && text.len() <= fits && text.ends_with('\n') && whole.starts_with(&text), "{format}");
    }
}

#[test]
fn a_full_disk_is_told_in_one_line() {
    if !fs::exists("/dev/full").unwrap() {
        eprintln!("skipped: there is no /dev/full");
        return;
    }
    let ntp = testdata("ntp/ntp.pcap");
    for how in [
        &["rtt", &ntp, "--match", "ntp", "-o", "/dev/full"][..],
        &["rtt", &ntp, "--match", "ntp", "--format", "ppviz", "-o", "/dev/full"],
        &["simulate", "-w", "/dev/full"],
    ] {
        let run = finish(command(how));
        assert_eq!(
            (run.code, run.err.as_str()),
            (1, "dwell: /dev/full: No space left on device (os error 28)\n"),
            "{how:?}"
        );
    }
    for how in [
        &["rtt", &ntp, "--match", "ntp"][..],
        &["rtt", &ntp, "--match", "ntp", "--interval", "1s", "--format", "jsonl"],
        &["rtt", "--help"],
        &["--version"],
    ] {
        let mut full = command(how);
        full.stdout(File::options().write(true).open("/dev/full").unwrap()).stderr(Stdio::piped());
        let output = full.spawn().unwrap().wait_with_output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        let expected = "dwell: standard output: No space left on device (os error 28)\n";
        assert_eq!((output.status.code(), words.as_str()), (Some(1), expected), "{how:?}");
    }
}

/// A plot for which there is no room leaves the report, of whatever command.
#[test]
fn a_plot_that_cannot_be_written_costs_no_report() {
    if !fs::exists("/dev/full").unwrap() {
        eprintln!("skipped: there is no /dev/full");
        return;
    }
    let [ntp, before, behind] = ["ntp/ntp.pcap", "one-way/near.pcap.xz", "one-way/server.pcap.xz"].map(testdata);
    let [ingress, egress] = ["queue/ingress.pcap.xz", "queue/egress.pcap.xz"].map(testdata);
    let [map, measured] = ["net/ladder.toml", "net/ladder-slow.csv"].map(testdata);
    for how in [
        &["rtt", &ntp, "--match", "ntp"][..],
        &["owd", &before, &behind],
        &["queue", &ingress, &egress],
        &["compare", &ntp, "--match", "ntp", "--seeds", "1", "--memory", "64KiB"],
        &["net", "plan", &map],
        &["net", "paths", &map],
        &["net", "localize", &map, "--measurements", &measured],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let [report, plot] = ["report.json", "plot.svg"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("/dev/full", &plot).unwrap();
        let [to, drawing] = [&report, &plot].map(|path| path.to_str().unwrap());
        let run = finish(command(&[how, &["-o", to, "--plot", drawing]].concat()));
        assert!(run.code == 1 && run.err.contains("No space left on device"), "{how:?}: {}", run.err);
        let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
        assert!(report["schema"].is_string(), "{how:?}");
    }
}

#[test]
fn a_capture_comes_through_standard_input() {
    let ntp = testdata("ntp/ntp.pcap");
    let rtt = |capture: &str| {
        let mut rtt = command(&["rtt", capture, "--match", "ntp", "--format", "json"]);
        rtt.stdin(File::open(&ntp).unwrap());
        finish(rtt).ok().json()
    };
    let (piped, named) = (rtt("-"), rtt(&ntp));
    assert_eq!(piped["sources"][0], "-");
    assert_eq!((&piped["results"], &piped["frames"]), (&named["results"], &named["frames"]));
    assert_eq!(lines(&piped)[0]["samples"], 470);
}

/// With a pipe, each interval is written as soon as it ends, while more packets may come; the rest follows, and nothing
/// is written twice.
#[test]
fn intervals_are_written_as_they_end() {
    for format in ["jsonl", "csv"] {
        let how = ["rtt", "-", "--match", "ntp", "--interval", "1s", "--format", format];
        let mut child = command(&how).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&fs::read(testdata("ntp/ntp.pcap")).unwrap()).unwrap();
        stdin.flush().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        for _ in 0..3 {
            assert!(stdout.read_line(&mut text).unwrap() > 0, "{format}: nothing while packets may come");
        }
        drop(stdin);
        stdout.read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success());
        let whole = finish(command(&[
            "rtt",
            &testdata("ntp/ntp.pcap"),
            "--match",
            "ntp",
            "--interval",
            "1s",
            "--format",
            format,
        ]));
        let source = testdata("ntp/ntp.pcap");
        assert_eq!(
            text,
            String::from_utf8(whole.out).unwrap().replace(&format!("[\"{source}\"]"), "[\"-\"]"),
            "{format}"
        );
    }
}

/// OpenMetrics replaces its file as each interval ends. Its counters and histograms go on, and are in the end those of a
/// run without intervals; everything else is that of the last interval.
#[test]
fn metrics_count_on_from_interval_to_interval() {
    let folder = tempfile::tempdir().unwrap();
    let (mixed, file) = (testdata("mixed/mixed.pcap.zst"), folder.path().join("dwell.prom"));
    let how = ["--format", "openmetrics", "--interval", "1s", "-o", file.to_str().unwrap()];
    let packets = zstd::decode_all(File::open(&mixed).unwrap()).unwrap();
    let mut child = command(&[&["rtt", "-"], &how[..]].concat()).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let value = |text: &str, name: &str| -> Option<f64> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.rsplit(' ').next()?.parse().ok()
    };
    let answered = "dwell_rtt_requests_total{match=\"dns\",leg=\"both\",group=\"all\",fate=\"matched\"}";
    let mut seen = vec![0.0];
    for part in packets.chunks(packets.len().div_ceil(5)) {
        stdin.write_all(part).unwrap();
        stdin.flush().unwrap();
        // Until more has been counted than before: the last part may be buffered until the end.
        for _ in 0..500 {
            let text = fs::read_to_string(&file).unwrap_or_default();
            assert!(text.is_empty() || text.ends_with("# EOF\n"), "{text}");
            if let Some(now) = value(&text, answered).filter(|now| now > seen.last().unwrap()) {
                seen.push(now);
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert!(seen.len() > 3 && seen.is_sorted(), "{seen:?}");
    assert_eq!(names(folder.path()), ["dwell.prom"]);

    let text = fs::read_to_string(&file).unwrap();
    let whole =
        String::from_utf8(dwell_in(folder.path(), &["rtt", &mixed, "--format", "openmetrics"]).ok().out).unwrap();
    let is_counter = |line: &&str| ["_total{", "_bucket{", "_count{"].iter().any(|part| line.contains(part));
    let counters: Vec<&str> = whole.lines().filter(is_counter).collect();
    assert_eq!(text.lines().filter(is_counter).collect::<Vec<_>>(), counters);
    assert!(counters.len() > 200);
    let sum = "dwell_rtt_delay_seconds_sum{match=\"dns\"";
    assert!((value(&text, sum).unwrap() / value(&whole, sum).unwrap() - 1.0).abs() < 1e-6);

    let intervals = dwell_in(folder.path(), &["rtt", &mixed, "--interval", "1s", "--format", "jsonl"]).ok().out;
    let last = str::from_utf8(&intervals).unwrap().lines().last().unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    let exchanges: Vec<f64> = lines(&last).iter().filter_map(|line| line["exchanges"]["value"].as_f64()).collect();
    let gauges = text.lines().filter(|line| line.starts_with("dwell_rtt_exchanges{") && line.contains("\"value\""));
    assert_eq!(gauges.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect::<Vec<f64>>(), exchanges);
}

/// A table waits for the end, and a user who watches a pipe is told; other formats and files need no note.
#[test]
fn a_table_of_intervals_says_that_it_waits() {
    let ntp = testdata("ntp/ntp.pcap");
    for (capture, format, is_said) in [("-", "table", true), ("-", "csv", false), (&ntp, "table", false)] {
        let mut rtt = command(&["rtt", capture, "--match", "ntp", "--interval", "5s", "--format", format]);
        rtt.stdin(File::open(&ntp).unwrap());
        let run = finish(rtt);
        assert_eq!(
            (run.code, run.err.contains("--format jsonl or csv")),
            (0, is_said),
            "{capture} {format}: {}",
            run.err
        );
    }
}

/// Interval boundaries are multiples of the length, and everything seen lies between them; CSV rows have a cell for
/// each column.
#[test]
fn intervals_have_borders() {
    const LENGTH: i64 = 7_000_000_000;
    let rtt = |format: &str| {
        let ntp = testdata("ntp/ntp.pcap");
        let how = ["rtt", &ntp, "--match", "ntp", "--interval", "7s", "--group", "src/24", "--format", format];
        String::from_utf8(finish(command(&how)).ok().out).unwrap()
    };
    let mut last = 0;
    for line in rtt("jsonl").lines() {
        let report: serde_json::Value = serde_json::from_str(line).unwrap();
        let [from, to, first, end] =
            [("interval_ns", "start"), ("interval_ns", "end"), ("span_ns", "start"), ("span_ns", "end")]
                .map(|(span, key)| report[span][key].as_i64().unwrap());
        assert_eq!((from % LENGTH, to - from), (0, LENGTH));
        assert!(last <= from && from <= first && first <= end && end < to, "{report}");
        last = to;
    }
    let table = rtt("csv");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.len() > 5 && rows.iter().all(|row| row.len() == rows[0].len()), "{table}");
    let border = rows[0].iter().position(|&name| name == "interval_end_ns").unwrap();
    assert_eq!(rows[rows.len() - 1][border], last.to_string());
}

/// `/dev/stdout` redirected to a file: the file is written, and the device is not replaced.
#[test]
fn the_device_of_standard_output_is_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.csv");
    let ntp = testdata("ntp/ntp.pcap");
    let mut rtt = command(&["rtt", &ntp, "--match", "ntp", "-o", "report.txt", "--samples", "/dev/stdout"]);
    rtt.current_dir(folder.path()).stdout(File::create(&path).unwrap());
    assert!(rtt.status().unwrap().success());
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 471);
    assert_eq!(names(folder.path()), ["report.txt", "samples.csv"]);
    assert!(names("/dev".as_ref()).iter().all(|name| !name.ends_with(".partial")));
}

/// A symbolic link is kept, and its target is written.
#[test]
fn a_link_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target.json"), folder.path().join("link.json"));
    fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    dwell_in(
        folder.path(),
        &["rtt", &testdata("ntp/ntp.pcap"), "--match", "ntp", "--format", "json", "-o", "link.json"],
    )
    .ok();
    assert!(link.is_symlink() && fs::read_to_string(&target).unwrap().contains("dwell.rtt/1"));
    assert_eq!(names(folder.path()), ["link.json", "target.json"]);
}

/// Two outputs are one if a link leads from the one to the other, also while there is no file yet.
#[cfg(unix)]
#[test]
fn a_link_to_another_output_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::os::unix::fs::symlink("report.json", path("link.json")).unwrap();
    std::os::unix::fs::symlink(path("link.json"), path("far.json")).unwrap();
    for link in ["link.json", "far.json"] {
        let (ntp, report, link) = (testdata("ntp/ntp.pcap"), path("report.json"), path(link));
        let how = ["rtt", &ntp, "--match", "ntp", "-o", &report, "--samples", &link];
        assert_refused(&how, 2, &[&link, "would be written twice"]);
    }
    // What is missing at the end of the links is made, and they are kept.
    dwell_in(folder.path(), &["rtt", &testdata("ntp/ntp.pcap"), "--match", "ntp", "-o", "far.json"]).ok();
    assert_eq!(names(folder.path()), ["far.json", "link.json", "report.json"]);
    assert!(Path::new(&path("far.json")).is_symlink() && Path::new(&path("link.json")).is_symlink());
}
