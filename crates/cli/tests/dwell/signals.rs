//! Ctrl-C, SIGTERM and SIGHUP: for a process waiting at a pipe that stays open, and for a busy one; and what the former
//! has written by then.

use crate::run::{Run, assert_conserved, command, dwell, dwell_in, names, testdata};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Capacity of a pipe: a writer that has written more knows that some of it was read.
const PIPE_BYTES: usize = 64 << 10;

/// A process that writes `report.json` into a folder.
struct Live {
    child: Child,
    folder: TempDir,
}

impl Live {
    fn spawn(arguments: &[&str], input: Stdio) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command(arguments);
        command.current_dir(folder.path()).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { child: command.spawn().unwrap(), folder }
    }

    /// Starts the process, and waits until it has opened its output.
    fn start(arguments: &[&str]) -> Self {
        let live = Self::spawn(arguments, Stdio::null());
        live.wait_for_output();
        live
    }

    /// The same with these bytes written to its standard input, which stays open.
    fn fed(arguments: &[&str], bytes: &[u8]) -> (Self, ChildStdin) {
        let mut live = Self::spawn(arguments, Stdio::piped());
        let mut input = live.child.stdin.take().unwrap();
        input.write_all(bytes).unwrap();
        live.wait_for_output();
        // By then the process has most probably read all of it and waits for more.
        thread::sleep(Duration::from_millis(300));
        (live, input)
    }

    fn wait_for_output(&self) {
        until("its output is open", || !names(self.folder.path()).is_empty());
    }

    fn signal(&self, name: &str) {
        send(name, &self.child);
    }

    /// Waits until the process ends by itself.
    fn end(mut self) -> (Run, TempDir) {
        until("it has ended", || self.child.try_wait().unwrap().is_some());
        let output = self.child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        (Run { code: output.status.code().unwrap(), out: output.stdout, err }, self.folder)
    }
}

/// The shell's own `kill`: a bare Debian has no program of that name.
fn send(signal: &str, child: &Child) {
    let status = Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", signal, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

fn until(what: &str, is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    let mut is_so = is_so;
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "in a minute not: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A process, its standard input, and the lines of its standard output as they come.
fn dialogue(arguments: &[&str]) -> (Child, ChildStdin, mpsc::Receiver<String>) {
    let mut child =
        command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    let (send, lines) = mpsc::channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    (child, input, lines)
}

/// Samples are written as soon as their packets are read, and not only when a block of output is full.
#[test]
fn samples_do_not_wait_for_more_packets() {
    let capture = fs::read(testdata("mixed/mixed.pcap.zst")).unwrap();
    let (mut child, mut input, lines) = dialogue(&["rtt", "-", "--format", "ppviz"]);
    input.write_all(&capture).unwrap();
    let first = lines.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(first.split(' ').count(), 4, "{first}");
    // All of them: every sample of the whole capture is written before the end of input.
    let whole = dwell(&["rtt", &testdata("mixed/mixed.pcap.zst"), "--format", "ppviz"]).out;
    let expected = whole.iter().filter(|&&byte| byte == b'\n').count();
    let more = (1..expected).map_while(|_| lines.recv_timeout(Duration::from_secs(60)).ok()).count();
    assert_eq!(1 + more, expected);
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// A file of intervals appears with the first one, and grows while packets come.
#[test]
fn a_file_of_intervals_grows() {
    let capture = fs::read(testdata("mixed/mixed.pcap.zst")).unwrap();
    let (live, input) = Live::fed(&["rtt", "-", "--interval", "1s", "--format", "jsonl", "-o", "r.jsonl"], &capture);
    let lines = |folder: &Path| fs::read_to_string(folder.join("r.jsonl")).unwrap_or_default().lines().count();
    until("an interval is written", || lines(live.folder.path()) > 0);
    assert_eq!(names(live.folder.path()), ["r.jsonl"]);
    let before = lines(live.folder.path());
    drop(input);
    let (run, folder) = live.end();
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(before > 1 && lines(folder.path()) > before, "{before}");
}

/// The same for a log: each line as soon as it is read.
#[test]
fn samples_of_a_log_do_not_wait_for_more_lines() {
    let (mut child, mut input, lines) = dialogue(&["rtt", "--events", "-", "--format", "ppviz"]);
    input.write_all(b"at_ns,kind,id\n").unwrap();
    for call in 0..3_u32 {
        write!(input, "{call}000,request,{call}\n{call}500,response,{call}\n").unwrap();
        lines.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// Nobody reads the samples, so that the run cannot go on to where it would notice the signal.
#[test]
fn a_signal_ends_a_run_whose_output_is_blocked() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("a.pcap");
    dwell(&["simulate", "-w", capture.to_str().unwrap(), "--flows", "5000"]);
    let mut child = command(&["rtt", capture.to_str().unwrap(), "--format", "ppviz"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // By then the pipe is full.
    thread::sleep(Duration::from_secs(1));
    send("INT", &child);
    until("it has ended", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(names(folder.path()), ["a.pcap"]);
}

fn report(folder: &Path) -> Value {
    assert_eq!(names(folder), ["report.json"]);
    serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap()
}

#[test]
fn a_signal_ends_a_live_capture_with_its_report() {
    let bytes = dwell(&["simulate", "-w", "-"]).out;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("whole.pcap"), &bytes).unwrap();
    // The last record is incomplete, which must not cause a warning.
    let part = &bytes[..bytes.len() - 7];
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        if name == "HUP" && ignores_hangup() {
            eprintln!("skipped: SIGHUP is ignored here");
            continue;
        }
        let (live, _input) = Live::fed(&["rtt", "-", "--format", "json", "-o", "report.json"], part);
        live.signal(name);
        let (run, written) = live.end();
        let words = format!("stopped by SIG{name}: the rest of the input was not read");
        assert_eq!((run.code, run.err), (code, format!("dwell: warning: {words}\n")));
        let report = report(written.path());
        assert_eq!(report["warnings"], Value::from(vec![words]));
        assert_conserved(&report);
        let frames = report["frames"]["total"].as_u64().unwrap();
        assert!(frames > ((part.len() - PIPE_BYTES) / 2_000) as u64, "{frames} frames");
        let same = dwell_in(folder.path(), &["rtt", "whole.pcap", "--format", "json", "-c", &frames.to_string()]);
        assert_eq!(report["results"], same.ok().json()["results"], "{frames} frames");
    }
}

/// In a pipeline Ctrl-C stops both sides, also the one that reads the report: a shell loop around it must end as well.
#[test]
fn a_signal_is_told_where_nobody_reads_the_report() {
    let capture = fs::read(testdata("ntp/ntp.pcap")).unwrap();
    assert!(capture.len() > PIPE_BYTES);
    let mut live = command(&["rtt", "-"]);
    let mut live = live.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(live.stdout.take());
    let mut input = live.stdin.take().unwrap();
    input.write_all(&capture).unwrap();
    send("INT", &live);
    assert_eq!(live.wait().unwrap().code(), Some(130));
}

/// In a pipeline Ctrl-C stops both sides, and what tcpdump still holds then is written after the signal.
#[test]
fn what_a_pipe_brings_until_it_ends_is_read_after_a_signal() {
    let bytes = dwell(&["simulate", "-w", "-"]).out;
    let (live, mut input) =
        Live::fed(&["rtt", "-", "--format", "json", "-o", "report.json"], &bytes[..bytes.len() / 2]);
    live.signal("INT");
    thread::sleep(Duration::from_millis(100));
    input.write_all(&bytes[bytes.len() / 2..]).unwrap();
    drop(input);
    let (run, written) = live.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("-"), &bytes).unwrap();
    let whole = dwell_in(folder.path(), &["rtt", "./-", "--format", "json"]).ok().json();
    let report = report(written.path());
    assert_eq!((&report["frames"], &report["results"]), (&whole["frames"], &whole["results"]));
}

/// Whether SIGHUP is ignored by this process, and so by those that it starts.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
    ignored.is_none_or(|mask| u64::from_str_radix(mask, 16).unwrap() & 1 == 1)
}

/// SIGHUP is ignored when the parent ignores it, as with `nohup`.
#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    let bytes = dwell(&["simulate", "-w", "-"]).out;
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" rtt - --format json -o report.json", env!("CARGO_BIN_EXE_dwell")])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let (before, after) = bytes.split_at(bytes.len() / 2);
    input.write_all(before).unwrap();
    until("its output is open", || !names(folder.path()).is_empty());
    send("HUP", &child);
    input.write_all(after).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(report(folder.path())["warnings"], Value::Array(Vec::new()));
}

/// A signal before any input, not even a file header.
#[test]
fn a_signal_ends_a_run_to_which_nothing_came() {
    for how in [&["rtt", "-"][..], &["compare", "-", "--memory", "16KiB", "--seeds", "1"]] {
        let (live, _input) = Live::fed(&[how, &["--format", "json", "-o", "report.json"]].concat(), &[]);
        live.signal("INT");
        let (run, written) = live.end();
        assert_eq!((run.code, run.err.lines().count()), (130, 1), "{how:?}: {}", run.err);
        assert!(report(written.path())["warnings"][0].as_str().unwrap().contains("SIGINT"), "{how:?}");
    }
}

/// A line that was read in part is not parsed as a whole one.
#[test]
fn a_signal_ends_a_log_between_two_lines() {
    let log = "at_ns,kind,id\n1000,request,a\n5000,response,a\n9000,request,b\n123";
    let (live, _input) = Live::fed(&["rtt", "--events", "-", "--format", "json", "-o", "report.json"], log.as_bytes());
    live.signal("INT");
    let (run, written) = live.end();
    assert_eq!((run.code, run.err.lines().count()), (130, 1), "{}", run.err);
    let report = report(written.path());
    assert_conserved(&report);
    assert_eq!((&report["results"][0]["requests"]["seen"], &report["results"][0]["samples"]), (&2.into(), &1.into()));
}

/// The sender never ends: packets in flight when the signal comes do not count as lost.
#[test]
fn a_signal_ends_both_points() {
    let (mut sent, mut received) = ("at_ns,packet\n".to_owned(), "at_ns,packet\n".to_owned());
    for n in 0..10_000_u64 {
        writeln!(sent, "{},p{n}", n * 1_000_000).unwrap();
        writeln!(received, "{},p{n}", n * 1_000_000 + 5_000_000).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let receiver = folder.path().join("received.csv");
    fs::write(&receiver, received).unwrap();
    for method in ["auto", "lda"] {
        let how = ["owd", "--crossings", "-", receiver.to_str().unwrap(), "--method", method];
        // The receiver is read up to the sender's current time, and no further.
        let (live, _input) =
            Live::fed(&[&how[..], &["--format", "json", "-o", "report.json"]].concat(), sent.as_bytes());
        live.signal("TERM");
        let (run, written) = live.end();
        assert_eq!((run.code, run.err.lines().count()), (143, 1), "{method}: {}", run.err);
        let report = report(written.path());
        let total = &report["total"];
        assert!(total["sent"].as_u64().unwrap() > 5_000, "{method}: {total}");
        assert_eq!(total["delay_ns"]["mean"]["value"].as_f64().unwrap().round(), 5e6, "{method}: {total}");
        assert_eq!(total["lost"], 0, "{method}: {total}");
        // All packets read are compared, including those read ahead.
        assert_eq!(report["points"]["sender"]["packets"], total["sent"], "{method}");
    }
}

/// With captures, every packet that was decoded is compared.
#[test]
fn a_signal_ends_both_captures() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a.pcap", "b.pcap"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let [sender, receiver] = &names;
    dwell(&["simulate", "-w", sender, "--flows", "2000"]);
    let bytes = fs::read(sender).unwrap();
    // Cut in the middle of a packet, most probably.
    let cut = bytes.len() * 2 / 3;
    fs::write(receiver, &bytes).unwrap();
    let stopped = |command: &str| {
        let how = [command, "-", receiver, "--from", "0.0.0.0/0,::/0", "--format", "json", "-o", "report.json"];
        let (live, _input) = Live::fed(&how, &bytes[..cut]);
        live.signal("TERM");
        let (run, written) = live.end();
        assert_eq!(run.code, 143, "{}", run.err);
        report(written.path())
    };
    let report = stopped("queue");
    let packets = &report["packets"];
    assert_eq!(packets["unknown"], 0, "what departs after the last arrival that was read is left out");
    assert!(packets["departed"].as_u64().unwrap() > 1_000, "{packets}");
    let report = stopped("owd");
    for point in ["sender", "receiver"] {
        let point = &report["points"][point];
        assert!(point["packets"].as_u64().unwrap() > 1_000, "{point}");
        assert_eq!(point["packets"], point["frames"]["decoded"], "{point}");
    }
    assert_eq!(report["total"]["sent"], report["points"]["sender"]["packets"]);
}

/// `timeout` sends its signal to the process and then to its group.
#[test]
fn a_signal_sent_twice_is_one() {
    let bytes = dwell(&["simulate", "-w", "-"]).out;
    for _ in 0..5 {
        let (live, _input) =
            Live::fed(&["rtt", "-", "--format", "json", "-o", "report.json"], &bytes[..bytes.len() - 7]);
        live.signal("TERM");
        live.signal("TERM");
        let (run, written) = live.end();
        assert_eq!(run.code, 143, "{}", run.err);
        assert_conserved(&report(written.path()));
    }
}

/// Samples go to a pipe that nobody reads: the first signal leaves the blocked process some time to end by itself, but
/// a later one does not, and no files are left behind.
#[test]
fn a_second_signal_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("capture.pcap");
    dwell(&["simulate", "-w", capture.to_str().unwrap(), "--flows", "5000"]);
    let how = ["rtt", capture.to_str().unwrap(), "--samples", "/dev/stdout", "-o", "report.json"];
    let mut live = Live::start(&how);
    live.signal("INT");
    live.signal("INT");
    thread::sleep(Duration::from_millis(700));
    assert_eq!(live.child.try_wait().unwrap(), None, "it waits for a reader");
    live.signal("TERM");
    let (run, written) = live.end();
    assert_eq!((run.code, run.err.as_str()), (143, "dwell: ended by SIGTERM without a report\n"));
    assert_eq!(names(written.path()), [""; 0]);
}

/// What an experiment has run by then is kept.
#[test]
fn a_signal_leaves_an_experiment_to_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.toml");
    let text = r#"
name = "long"
title = "t"
source = "s"
seeds = 1_000_000
[[delay.workloads]]
name = "w"
preset = "fridge-heavy-tailed"
[[delay.methods]]
method = "exact"
"#;
    fs::write(&path, text).unwrap();
    let live = Live::start(&["evaluate", path.to_str().unwrap(), "--record", "r"]);
    let cases = live.folder.path().join("r/cases.csv");
    until("a run is recorded", || fs::read_to_string(&cases).is_ok_and(|cases| cases.lines().count() > 1));
    live.signal("INT");
    let (run, _) = live.end();
    let said = "dwell: unfinished: the same command with --record r continues it\n";
    assert_eq!((run.code, run.err.as_str()), (130, said));
}

/// A simulation reads nothing, so there is nothing to report when it is stopped.
#[test]
fn a_signal_ends_a_simulation_without_a_trace() {
    let live = Live::start(&["simulate", "-w", "big.pcap", "--traffic", "speed"]);
    live.signal("INT");
    let (run, written) = live.end();
    assert_eq!((run.code, run.err.as_str()), (130, ""));
    assert_eq!(names(written.path()), [""; 0]);
}
