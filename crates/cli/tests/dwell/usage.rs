//! Wrong usage and bad input: one line says what is wrong and what would work, and no files are left behind.

use crate::run::{Run, assert_refusal, assert_refused, command, dwell, dwell_in, finish, matches, names, testdata};
use dwell_capture::{CaptureFiles, FrameSource, PcapWriter};
use dwell_sketch::rtt::{Method, Parameter};
use dwell_types::LinkType;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A folder with files that are not captures, some logs, and an old result.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    fs::create_dir(folder.path().join("directory")).unwrap();
    fs::copy(testdata("ntp/ntp.pcap"), folder.path().join("ntp.pcap")).unwrap();
    write("empty", b"");
    write("notes.txt", b"Buy milk, please.\nAnd bread.\n");
    write("head.csv", b"time,kind,id\n1,request,a\n");
    write("number.csv", b"at_ns,kind,id\n\nnoon,response,a\n");
    write("twice.csv", b"at_ns,kind,id,id\n1,request,a,b\n");
    write("returns.csv", b"at_ns,kind,id\r1,request,a\r2,response,a\r");
    write("kind.csv", b"at_ns,kind,id\n\n2,reply,a\n");
    write("fields.csv", b"at_ns,kind,id\n\n2,response\n");
    write("open.csv", b"at_ns,kind,id\n\n1,request,\"a\n2,request,\"b\"\n3,response,b\n");
    write("mark.csv", "\u{feff}".as_bytes());
    write("long.csv", &[b"at_ns,kind,id\n\n2,request,".as_slice(), &[b'b'; 1 << 20]].concat());
    write("bytes.csv", b"at_ns,kind,id\n\n2,response,\xff\n");
    let log = zstd::bulk::compress(b"at_ns,kind,id\n1,request,a\n2,response,a\n", 3).unwrap();
    write("head.csv.zst", &log[..9]);
    write("old.json", b"an old result");
    folder
}

/// Runs the command, and expects one line with these words, no output, and an unchanged folder.
#[track_caller]
fn assert_nothing_done(arguments: &[&str], code: i32, words: &[&str]) {
    let folder = folder();
    let before = names(folder.path());
    assert_refusal(&dwell_in(folder.path(), arguments), arguments, code, words);
    assert_eq!(names(folder.path()), before, "{arguments:?}");
    assert_eq!(fs::read(folder.path().join("old.json")).unwrap(), b"an old result", "{arguments:?}");
}

#[test]
fn wrong_flags_are_wrong_usage() {
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["expected a command", "rtt", "compare", "simulate"]),
        (&["rrt"], &["'rrt'", "'rtt'", "(see dwell --help)"]),
        (&["net"], &["expected a command: plan, paths, localize (see dwell net --help)"]),
        (&["rtt"], &["expected a capture", "(see dwell rtt --help)"]),
        (&["rtt", "-", "ntp.pcap", "-"], &["only one", "standard input"]),
        (&["compare", "-", "-"], &["only one", "standard input"]),
        (&["rtt", "-i", "eth0"], &["tcpdump -U -i eth0 -w - 'tcp port 80' | dwell rtt -"]),
        (&["rtt", "ntp.pcap", "--filter", "tcp port 80"], &["tcpdump -U -i eth0 -w - 'tcp port 80' | dwell rtt -"]),
        (&["owd"], &["<SENDER>", "<RECEIVER>"]),
        (&["owd", "ntp.pcap"], &["<RECEIVER>"]),
        (&["owd", "ntp.pcap", "ntp.pcap"], &["two captures", "twice"]),
        (&["owd", "-", "-"], &["only one", "standard input"]),
        (&["owd", "ntp.pcap", "empty", "--reverse"], &["--reverse", "--from"]),
        (&["owd", "ntp.pcap", "empty", "--group", "src"], &["--group", "--flows"]),
        (&["owd", "ntp.pcap", "empty", "--sketch-bytes", "9000"], &["--sketch-bytes", "--method lda"]),
        (&["owd", "ntp.pcap", "empty", "--weights", "w.csv", "--flows"], &["--weights", "--method lda"]),
        (&["owd", "sketch", "ntp.pcap", "--weights", "w.csv", "-o", "out"], &["--weights", "--flows"]),
        (
            &["owd", "ntp.pcap", "empty", "--method", "lda", "--reverse", "--from", "10.0.0.1"],
            &["--method lda", "--reverse"],
        ),
        (&["owd", "ntp.pcap", "empty", "--clock-offset", "late"], &["'late'", "--clock-offset", "-3ms"]),
        (&["owd", "sketch", "ntp.pcap"], &["--output"]),
        (&["owd", "sketch", "ntp.pcap", "-o", "old.dwell", "--sketch-bytes", "10"], &["--sketch-bytes", "bytes"]),
        (&["owd", "join", "ntp.pcap"], &["<RECEIVER>", "(see dwell owd join --help)"]),
        (&["owd", "join", "ntp.pcap", "ntp.pcap"], &["two points", "twice"]),
        (&["owd", "join", "-", "ntp.pcap"], &["files", "standard input", "(see dwell owd join --help)"]),
        (&["owd", "join", "ntp.pcap", "-"], &["files", "standard input"]),
        (&["owd", "join", "-", "-"], &["files", "standard input"]),
        (&["rtt", "ntp.pcap", "--memroy", "1MiB"], &["'--memroy'", "'--memory'"]),
        (&["rtt", "ntp.pcap", "--match", "dhcp"], &["'dhcp'", "--match", "tcp-handshake", "icmp-echo"]),
        (&["rtt", "ntp.pcap", "--memory", "1KiB"], &["--memory", "KiB is enough"]),
        (&["rtt", "ntp.pcap", "--memory", "much"], &["'much'", "--memory", "64KiB"]),
        (&["rtt", "ntp.pcap", "--expiry", "2d"], &["--expiry", "'2d'", "36h"]),
        (&["rtt", "ntp.pcap", "--slots", "100"], &["--slots", "--method fridge"]),
        (&["rtt", "ntp.pcap", "--method", "fridge", "--slots", "1"], &["--slots", "from 2 to"]),
        (&["rtt", "ntp.pcap", "--entry-probability", "0.5"], &["--entry-probability", "--method fridge"]),
        (&["rtt", "ntp.pcap", "--method", "fridge", "--entry-probability", "2"], &["--entry-probability", "up to 1"]),
        (&["rtt", "ntp.pcap", "--method", "fridge", "--entry-probability", "NaN"], &["--entry-probability", "up to 1"]),
        (
            &["rtt", "ntp.pcap", "--method", "fridge", "--entry-probability", "1e-12"],
            &["an entry probability is at least 2^-24", "1e-12"],
        ),
        (
            &["rtt", "ntp.pcap", "--method", "fridge", "--fingerprint-bits", "33"],
            &["--fingerprint-bits", "from 1 to 32"],
        ),
        (&["rtt", "ntp.pcap", "--fingerprint-bits", "8"], &["--fingerprint-bits", "--method fridge"]),
        (&["rtt", "ntp.pcap", "--longest", "8s"], &["--longest", "--method hash-sample, stages, timebloom", "ddbf"]),
        (&["simulate", "--queue", "bursts", "--buffer", "1", "--truth", "-"], &["--buffer", "no packet"]),
        (&["simulate", "--queue", "bursts", "--rate", "1000", "--truth", "-"], &["--rate", "--buffer"]),
        (&["rtt", "ntp.pcap", "--method", "ddbf", "--rate", "8"], &["--rate", "--method timebloom"]),
        (&["rtt", "ntp.pcap", "--method", "timebloom", "--rate", "NaN"], &["--rate", "above 0"]),
        (&["rtt", "ntp.pcap", "--method", "timebloom", "--longest", "0"], &["--longest"]),
        (&["rtt", "ntp.pcap", "--method", "mis", "--slots", "7"], &["at least 2 slots"]),
        (&["rtt", "ntp.pcap", "--method", "best"], &["'best'", "auto, exact, fridge, km, hash-sample, simple"]),
        (&["rtt", "ntp.pcap", "--ambiguous", "no"], &["'no'", "bounds, first, last, drop"]),
        (&["rtt", "ntp.pcap", "--seed", "-1"], &["'-1'", "--seed", "whole number"]),
        (&["rtt", "ntp.pcap", "-c", "some"], &["'some'", "-c", "whole number"]),
        (&["rtt", "ntp.pcap", "-c", "0"], &["'0'", "-c", "above 0"]),
        (&["rtt", "ntp.pcap", "-o", "./ntp.pcap"], &["ntp.pcap", "changed"]),
        (&["rtt", "--events", "kind.csv", "--samples", "directory/../kind.csv"], &["kind.csv", "changed"]),
        (&["rtt", "ntp.pcap", "-o", "new", "--samples", "directory/../new"], &["new", "twice"]),
        (&["rtt", "ntp.pcap", "--samples", "-"], &["standard output: ", "twice"]),
        (&["simulate", "-w", "old.json", "--truth", "old.json"], &["old.json", "twice"]),
        (&["rtt", "ntp.pcap", "--method", "fridge", "--slots", "4000000000"], &["--memory", "KiB is enough"]),
        (&["rtt", "ntp.pcap", "--group", "colour"], &["'colour'", "--group", "src", "vlan"]),
        (&["rtt", "ntp.pcap", "--inside", "10.0.0.0/64"], &["'10.0.0.0/64'", "--inside", "at most 32"]),
        (&["rtt", "ntp.pcap", "--interval", "0"], &["--interval", "10s", "(see dwell rtt --help)"]),
        (&["rtt", "ntp.pcap", "--interval", "1s", "--format", "openmetrics"], &["openmetrics", "-o FILE"]),
        (&["rtt", "ntp.pcap", "--interval", "1s", "--format", "ppviz"], &["ppviz", "samples only"]),
        (&["rtt", "ntp.pcap", "--label", "interface=eth0"], &["--label", "--format openmetrics"]),
        (&["rtt", "ntp.pcap", "-o", "new.openmetrics", "--label", "leg=a"], &["'leg=a'", "--label", "name leg"]),
        (&["rtt", "ntp.pcap", "--format", "openmetrics", "--label", "eth0"], &["'eth0'", "interface=eth0"]),
        (&["owd", "ntp.pcap", "empty", "--label", "a=b"], &["--label", "--format openmetrics"]),
        (
            &["owd", "ntp.pcap", "empty", "--format", "openmetrics", "--label", "a=b", "--label", "a=c"],
            &["--label a", "twice"],
        ),
        (&["owd", "ntp.pcap", "./ntp.pcap"], &["two captures", "./ntp.pcap twice"]),
        (&["owd", "ntp.pcap%1", "directory/../ntp.pcap%1"], &["two captures", "twice"]),
        (&["rtt", "ntp.pcap", "-r", "empty"], &["-r", "CAPTURE"]),
        (&["queue", "ntp.pcap", "empty", "--method", "exact", "--ways", "2"], &["--ways 2", "at least 8"]),
        (&["rtt", "ntp.pcap", "--format", "xml"], &["'xml'", "json"]),
        (&["rtt", "ntp.pcap", "--plot", "x.txt"], &["'x.txt'", "--plot", ".svg", ".png"]),
        (&["rtt", "ntp.pcap", "--events", "kind.csv"], &["--events"]),
        (&["rtt", "--events", "kind.csv", "--group", "src"], &["--events", "--group"]),
        (&["rtt", "ntp.pcap", "--memory", "100TiB"], &["--memory", "up to 1TiB"]),
        (&["size", "owd", "--packets-per-interval", "9", "--error", "1e-300"], &["'1e-300'", "from 0.0001%"]),
        (&["simulate", "-w", "new.pcap", "--span", "99999d"], &["span", "before the year 2100"]),
        (
            &["simulate", "--queue", "bursts", "--egress", "new.pcap", "--clock-offset", "-99999d"],
            &["--clock-offset", "10000d"],
        ),
        (&["simulate"], &["--write"]),
        (&["simulate", "-w", "new.pcap.gz"], &["new.pcap.gz: nothing is compressed"]),
        (&["simulate", "--queue", "bursts"], &["--write", "--egress", "--truth"]),
        (&["simulate", "-w", "-", "--truth", "-"], &["standard output: ", "twice"]),
        (&["simulate", "--queue", "bursts", "-w", "-", "--egress", "/dev/stdout"], &["/dev/stdout", "twice"]),
        (&["simulate", "-w", "new.pcap", "--span", "long"], &["'long'", "--span", "10s"]),
    ];
    for (arguments, words) in cases {
        assert_nothing_done(arguments, 2, words);
    }
}

/// Also of the inputs that are no captures only one can be standard input.
#[test]
fn standard_input_is_one_of_all_inputs() {
    let timebloom = ["--method", "timebloom", "--prior", "-"];
    let lda = ["--method", "lda", "--from", "10.0.0.1", "--flows", "--weights", "-"];
    let delays = ["--path", "--delay", "file:-", "--arrivals", "-", "-w", "new.pcap"];
    for (command, more) in [
        (&["rtt", "-"][..], &timebloom[..]),
        (&["rtt", "--events", "-"], &timebloom),
        (&["owd", "-", "ntp.pcap"], &lda),
        (&["owd", "sketch", "-", "-o", "new"], &["--flows", "--weights", "-"]),
        (&["simulate"], &delays),
    ] {
        assert_nothing_done(&[command, more].concat(), 2, &["only one of the inputs can be standard input"]);
    }
}

/// Standard output may be a file that is named as another output, or as an input.
#[test]
fn a_file_is_not_written_as_standard_output_too() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let before = names(folder.path());
    for (name, how, words) in [
        ("old.json", &["--samples", "old.json"][..], "would be written twice"),
        ("old.json", &["--samples", "-", "-o", "old.json"], "would be written twice"),
        ("ntp.pcap", &[], "standard output: is an input"),
    ] {
        let content = fs::read(place(name)).unwrap();
        let mut run = command(&[&["rtt", "ntp.pcap", "--match", "ntp"], how].concat());
        run.current_dir(folder.path()).stdout(fs::File::options().append(true).open(place(name)).unwrap());
        assert_refusal(&finish(run), how, 2, &[words]);
        assert_eq!((fs::read(place(name)).unwrap(), names(folder.path())), (content, before.clone()), "{how:?}");
    }
}

/// A flag that would have no effect beside others is refused, not ignored.
#[test]
fn flags_without_effect_are_refused() {
    let owd = ["owd", "ntp.pcap", "empty"];
    let sketch = ["owd", "sketch", "--crossings", "ntp.pcap", "-o", "new"];
    let join = ["owd", "join", "ntp.pcap", "empty"];
    let queue = ["queue", "ntp.pcap", "empty", "--method", "exact"];
    let [queued, sent] = [["--queue", "bursts"], ["--path", "--loss=0"]].map(|way| [&["simulate"], &way[..]].concat());
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["rtt", "--events", "kind.csv"], &["--top", "3"], &["--top", "--events"]),
        (&owd, &["--flows", "--flow", "a", "--top", "3"], &["--top", "--flow <TEXT>"]),
        (&owd, &["--sort", "loss"], &["--sort", "--flows or --flow"]),
        (&owd, &["--flows", "--method", "lda", "--sort", "p95"], &["--method lda", "--sort bytes, loss or mean"]),
        (&owd, &["--crossings", "--flows", "--group", "src"], &["--group", "--crossings"]),
        (&sketch, &["--flows", "--group", "src"], &["--group", "--crossings"]),
        (&sketch, &["--flow-bytes", "9KiB"], &["--flows"]),
        (&join, &["--intervals", "--format", "openmetrics"], &["openmetrics", "--intervals"]),
        (&join, &["--sort", "p50"], &["--sort", "bytes, loss, mean"]),
        (&queue, &["--sketch-bytes", "9KiB"], &["--sketch-bytes", "--method exact"]),
        (&queue, &["--snapshots", "9"], &["--snapshots", "--method exact"]),
        (&queue, &["--window", "1ms"], &["--window", "--method exact"]),
        (&queue, &["--rows", "2"], &["--rows", "--method exact"]),
        (&queue, &["--columns", "9"], &["--columns", "--method exact"]),
        (&queue, &["--counter", "cms"], &["--counter", "--method exact"]),
        (&queue, &["--rule", "text"], &["--rule", "--method exact"]),
        (&queue, &["--cleaning", "cyclic"], &["--cleaning", "--method exact"]),
        (&queued, &["--truth", "new", "--snap-length", "64"], &["--write <FILE>|--egress <FILE>"]),
        (&sent, &["--truth", "new", "--snap-length", "64"], &["--write <FILE>|--egress <FILE>"]),
    ];
    for (command, more, words) in cases {
        assert_nothing_done(&[*command, more].concat(), 2, words);
    }
}

/// What only another kind of simulation can use is refused, not ignored.
#[test]
fn simulations_refuse_flags_of_others() {
    let help = String::from_utf8(dwell(&["simulate", "--help"]).ok().out).unwrap();
    // The flags below a heading of the help, with a value.
    let flags = |heading: &str| {
        let below = help.lines().skip_while(|line| *line != format!("{heading}:")).skip(1);
        let of_heading = below.take_while(|line| line.is_empty() || line.starts_with(' '));
        let flags = of_heading.filter_map(|line| line.trim().strip_prefix("--")).map(|line| {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            let value = match value.trim_end_matches('>').trim_start_matches('<') {
                "" => None,
                "DELAY" | "TIME" => Some("5ms"),
                "SHARE" => Some("5%"),
                "PREFIX" => Some("10.0.0.0/8"),
                "DISCIPLINE" => Some("turns"),
                "BITS" => Some("100G"),
                "SIZE" => Some("9MB"),
                "A,B" | "ROUTERS" => Some("b1,b2"),
                "A,B=TIME" => Some("b1,b2=5ms"),
                "A,B=SHARE" => Some("b1,b2=5%"),
                _ => Some("9"),
            };
            [Some(format!("--{name}")), value.map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>()
        });
        let is_mode = |flag: &Vec<String>| ["--path", "--queue", "--network"].contains(&&*flag[0]);
        flags.filter(|flag| !is_mode(flag)).collect::<Vec<_>>()
    };
    let map = testdata("net/ladder.toml");
    let modes = [("Path", &["--path"][..]), ("Queue", &["--queue", "bursts"]), ("Network", &["--network", &map])];
    let mut refused = 0;
    for (heading, _) in modes {
        for flag in flags(heading) {
            let flag: Vec<&str> = flag.iter().map(String::as_str).collect();
            for (_, other) in modes.into_iter().filter(|&(other, _)| other != heading) {
                assert_nothing_done(&[&["simulate", "-w", "new"], other, &flag].concat(), 2, &[flag[0]]);
                refused += 1;
            }
        }
    }
    assert!(refused >= 40, "{refused}");
    let speed_up = ["simulate", "--path", "-w", "new", "--flows", "9", "--speed-up", "3"];
    assert_nothing_done(&speed_up, 2, &["--speed-up", "--flows"]);
}

/// The unbounded method says so, if it is given a limit.
#[test]
fn a_limit_without_use_is_said() {
    let ntp = testdata("ntp/ntp.pcap");
    let run = |more: &[&str]| dwell(&[&["rtt", &ntp, "--match", "ntp"], more].concat());
    let words = "dwell: warning: --memory limits nothing with --method exact";
    let said = run(&["--method", "exact", "--memory", "64KiB"]);
    assert!(said.code == 0 && said.err.starts_with(words) && said.err.lines().count() == 1, "{}", said.err);
    for quiet in [&["--method", "exact"][..], &["--memory", "64KiB"], &["--method", "km", "--memory", "64KiB"]] {
        assert!(!run(quiet).err.contains(words), "{quiet:?}");
    }
}

/// Letters of tcpdump.
#[test]
fn letters_of_tcpdump_are_understood() {
    let ntp = testdata("ntp/ntp.pcap");
    let how = |more: &[&str]| dwell(&[&["rtt", "--format", "csv", "--match", "ntp"], more].concat()).ok().out;
    assert_eq!(how(&["-n", "-r", &ntp]), how(&[&ntp]));
}

/// Bash itself accepts the script, and completes a flag and its values.
#[test]
fn shells_complete_flags_and_values() {
    let script = String::from_utf8(dwell(&["completions", "bash"]).ok().out).unwrap();
    let complete = |words: &str| {
        let ask = format!("{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n")
            + "_dwell dwell \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"; echo \"${COMPREPLY[@]}\"";
        let answer = Command::new("bash").args(["-c", &ask]).output().unwrap();
        assert!(answer.status.success() && answer.stderr.is_empty(), "{answer:?}");
        String::from_utf8(answer.stdout).unwrap()
    };
    assert_eq!(complete("dwell rtt --ambig"), "--ambiguous\n");
    assert_eq!(complete("dwell net localize --format js"), "json\n");
    assert!(complete("dwell ''").contains("queue"));
}

/// For every option of these commands whose help names a number, size or time, `-3` is taken as its value, and rejected.
#[test]
fn numbers_below_zero_are_told_what_is_expected() {
    let mut options = 0;
    for command in
        [&["rtt"][..], &["owd"], &["owd", "sketch"], &["owd", "join"], &["compare"], &["simulate"], &["evaluate"]]
    {
        let help = String::from_utf8(dwell(&[command, &["--help"]].concat()).ok().out).unwrap();
        for line in help.lines() {
            let Some((name, value)) = line.trim().split_once(" <") else { continue };
            let (name, value) = (name.rsplit(' ').next().unwrap(), value.split('>').next().unwrap());
            let is_number = ["N", "P", "BITS", "BYTES", "COUNT", "SIZE", "SIZES", "TIME"].contains(&value);
            if !name.starts_with('-') || !is_number || ["--clock-offset", "--clock-drift", "--shift"].contains(&name) {
                continue;
            }
            options += 1;
            for number in ["-3", "-3.5", "-3ms", "-64KiB"] {
                let words = [&format!("'{number}'"), name, "expected"];
                assert_refused(&[command, &[name, number]].concat(), 2, &words);
            }
        }
    }
    assert!(options > 30, "{options}");
    let log = "at_ns,packet\n1,a\n";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), log).unwrap();
    fs::write(folder.path().join("b"), log).unwrap();
    dwell_in(folder.path(), &["owd", "--crossings", "a", "b", "--clock-offset", "-3ms"]).ok();
}

#[test]
fn what_cannot_be_read_fails_the_run() {
    let output = ["-o", "old.json", "--samples", "new.csv", "--plot", "new.svg"];
    let cases: &[(&[&str], &str)] = &[
        (&["missing.pcap"], "dwell: missing.pcap: No such file or directory (os error 2)\n"),
        (&["ntp.pcap", "missing.pcap"], "dwell: missing.pcap: No such file or directory (os error 2)\n"),
        (
            &["ntp.pcap", "tcp port 80"],
            "dwell: tcp port 80: No such file or directory (os error 2); tcpdump selects interfaces and packets: \
             tcpdump -U -i eth0 -w - 'tcp port 80' | dwell rtt -\n",
        ),
        (&["notes.txt/x.pcap"], "dwell: notes.txt/x.pcap: Not a directory (os error 20)\n"),
        (&["directory"], "dwell: directory: expected a capture file, found a directory\n"),
        (&["empty"], "dwell: empty: expected a capture file, found an empty file\n"),
        (
            &["notes.txt"],
            "dwell: notes.txt: byte 0: expected a pcap or pcapng file, plain or gzip, xz, zstd, found text: \"Buy milk, \
             please.\"\n",
        ),
        (&["--events", "missing.csv"], "dwell: missing.csv: No such file or directory (os error 2)\n"),
        (&["--events", "mark.csv"], "dwell: mark.csv: line 1: expected the columns at_ns,kind,id[,group], found ''\n"),
        (&["--events", "directory"], "dwell: directory: expected a CSV file, found a directory\n"),
        (&["--events", "empty"], "dwell: empty: line 1: expected the columns at_ns,kind,id[,group], found ''\n"),
        (
            &["--events", "head.csv"],
            "dwell: head.csv: line 1: expected the columns at_ns,kind,id[,group], found 'time,kind,id'\n",
        ),
        (
            &["--events", "number.csv"],
            "dwell: number.csv: line 3: expected a whole number of nanoseconds as at_ns, found 'noon'\n",
        ),
        (&["--events", "long.csv"], "dwell: long.csv: line 3: expected a line of at most 1048576 bytes\n"),
        (&["--events", "kind.csv"], "dwell: kind.csv: line 3: expected request or response as kind, found 'reply'\n"),
        (
            &["--events", "fields.csv"],
            "dwell: fields.csv: line 3: expected as many fields as on the first line, 3, found 2\n",
        ),
        (&["--events", "open.csv"], "dwell: open.csv: line 3: expected a closing quotation mark in the line\n"),
        (&["--events", "twice.csv"], "dwell: twice.csv: line 1: expected each column once, found 'id' twice\n"),
        (
            &["--events", "returns.csv"],
            "dwell: returns.csv: line 1: expected lines that end with a line feed, found a carriage return alone\n",
        ),
        (&["--events", "bytes.csv"], "dwell: bytes.csv: line 3: expected text in UTF-8\n"),
        (&["--events", "head.csv.zst"], "dwell: head.csv.zst: the zstd data is truncated\n"),
    ];
    for (arguments, expected) in cases {
        let all = [&["rtt"], *arguments, &output].concat();
        assert_nothing_done(&all, 1, &[expected]);
    }
    let words = ["ntp.pcap: ", "dwell owd sketch, found a capture"];
    assert_nothing_done(&["owd", "join", "ntp.pcap", "empty"], 1, &words);
}

#[test]
fn what_cannot_be_written_fails_the_run() {
    let missing = "cannot be written: No such file or directory";
    let cases: &[(&[&str], &[&str])] = &[
        (&["-o", "nowhere/x.json"], &["nowhere/x.json", missing]),
        (&["-o", "notes.txt/x.json"], &["notes.txt/x.json", "cannot be written: Not a directory"]),
        (&["-o", "directory"], &["directory", "cannot be written: Is a directory"]),
        (&["-o", "old.json", "--samples", "nowhere/x.csv"], &["nowhere/x.csv", missing]),
        (&["-o", "old.json", "--samples", "x.csv", "--plot", "nowhere/x.png"], &["nowhere/x.png", missing]),
        (&["--format", "ppviz", "-o", "nowhere/x"], &["nowhere/x", missing]),
    ];
    for (arguments, words) in cases {
        assert_nothing_done(&[&["rtt", "ntp.pcap"], *arguments].concat(), 1, words);
    }
    assert_nothing_done(&["simulate", "-w", "nowhere/x.pcap"], 1, &["nowhere/x.pcap", missing]);
    assert_nothing_done(&["simulate", "-w", "x.pcap", "--truth", "nowhere/x.csv"], 1, &["nowhere/x.csv", missing]);
}

/// The memory that the error names is enough, also if it is large, and 2 KiB and a hundredth less is not.
#[test]
fn the_memory_that_is_enough_is_named() {
    let [ntp, near, server] = ["ntp/ntp.pcap", "one-way/near.pcap.xz", "one-way/server.pcap.xz"].map(testdata);
    let all = matches();
    let many = ["--inside", "10.0.0.0/8", "--group", "src", "--max-groups", "8191"];
    let (rtt, owd, queue) = (["rtt", &ntp], ["owd", &near, &server], ["queue", &near, &server]);
    let sketched = ["--method", "lda", "--from", "10.10.0.0/16,fd00:10::/32", "--sketch-bytes", "20000"];
    let log = ["rtt", "--events", "log.csv", "--max-groups", "2000"];
    let of_flows = [&sketched[..], &["--flows", "--flow-bytes", "30000"]].concat();
    let some: [(&[&str], &[&str]); 26] = [
        (&rtt, &[]),
        (&rtt, &["--flows"]),
        (&rtt, &["--method", "fridge"]),
        (&rtt, &["--method", "km"]),
        (&rtt, &["--match", "dns"]),
        (&rtt, &["--match", "quic-handshake"]),
        (&rtt, &["--group", "src/24", "--max-groups", "1000"]),
        (&rtt, &["--method", "fridge", "--slots", "5000"]),
        (&rtt, &["--method", "hash-sample", "--slots", "5000"]),
        (&rtt, &["--method", "timebloom", "--filters", "300", "--bits", "2000"]),
        (&rtt, &["--method", "ale-u", "--bits", "9000"]),
        (&rtt, &["--method", "ddbf", "--bits", "360000", "--hashes", "9"]),
        (&rtt, &["--method", "dart", "--packets", "4000", "--stages", "8"]),
        (&rtt, &["--inside", "10.0.0.0/8", "--match", &all]),
        (&rtt, &many),
        (&rtt, &[&many[..], &["--method", "timebloom", "--longest", "1s"]].concat()),
        (&log, &[]),
        (&owd, &[]),
        (&owd, &["--flows"]),
        (&owd, &["--flows", "--from", "10.0.0.0/8"]),
        (&owd, &sketched),
        (&owd, &of_flows),
        (&queue, &[]),
        (&queue, &["--plot", "queue.svg"]),
        (&queue, &["--sketch-bytes", "1MiB"]),
        (&queue, &["--method", "conquest", "--snapshots", "16", "--columns", "1000"]),
    ];
    for (command, more) in some {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("log.csv"), "at_ns,kind,id,group\n1,request,a,x\n2,response,a,x\n").unwrap();
        let run = |memory: &str| dwell_in(folder.path(), &[command, more, &["--memory", memory]].concat());
        let refused = run("1");
        assert_refusal(&refused, command, 2, &["--memory", "KiB is enough"]);
        let enough: u64 = refused.err.split(' ').find_map(|word| word.strip_suffix("KiB")?.parse().ok()).unwrap();
        let least = run(&format!("{enough}KiB"));
        assert_eq!(least.code, 0, "{command:?} {more:?}: {}", least.err);
        let less = run(&format!("{}KiB", enough - 2 - enough / 100));
        assert_eq!(less.code, 2, "{command:?} {more:?}: {enough}KiB is too much");
    }
}

/// Snapshots that the system has no memory for are refused in one line, like any other memory.
#[test]
fn snapshots_that_do_not_fit_the_machine_are_refused() {
    let script = "ulimit -v 4000000; exec \"$0\" queue --sojourns missing.csv --sketch-bytes 1TiB";
    let mut limited = Command::new("sh");
    limited.args(["-c", script, env!("CARGO_BIN_EXE_dwell")]);
    assert_refusal(&finish(limited), &[script], 2, &["--sketch-bytes", "this machine does not have so much memory"]);
}

/// A capture that ends in the middle of a record, as left by an interrupted tcpdump, gives a warning and a report of
/// what comes before.
#[test]
fn a_cut_capture_is_used_up_to_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(testdata("ntp/ntp.pcap")).unwrap();
    let (cut, frames) = (folder.path().join("cut.pcap"), records(&whole));
    let half = &frames[..frames.len() / 2];
    let end = half.last().unwrap().end;
    fs::write(&cut, &whole[..end + 30]).unwrap();
    let rtt = |more: &[&str]| dwell(&[&["rtt", "--match", "ntp", "--format", "json"], more].concat());
    let run = rtt(&[cut.to_str().unwrap()]);
    let report = run.json();
    assert_eq!((run.code, run.err.lines().count()), (0, 1), "{}", run.err);
    let warning = report["warnings"][0].as_str().unwrap();
    assert_eq!(run.err, format!("dwell: warning: {warning}\n"));
    assert!(warning.contains("cut.pcap: cut short") && warning.contains(&end.to_string()), "{warning}");
    let before = rtt(&[&testdata("ntp/ntp.pcap"), "-c", &half.len().to_string()]).ok().json();
    assert_eq!((&report["results"], &report["frames"]), (&before["results"], &before["frames"]));
    assert_eq!(report["frames"]["total"], half.len());
    // The next capture is read nevertheless.
    let both = rtt(&[cut.to_str().unwrap(), &testdata("icmp/icmp.pcapng")]);
    assert_eq!((both.code, &both.err), (0, &run.err));
    assert!(both.json()["frames"]["total"].as_u64().unwrap() > half.len() as u64);
}

/// Messages that cannot be written (a full disk, a reader that has gone) change neither the report nor the exit code.
#[test]
fn messages_that_nobody_reads_end_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.pcap");
    let whole = fs::read(testdata("ntp/ntp.pcap")).unwrap();
    fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
    let report = dwell(&["rtt", cut.to_str().unwrap()]);
    assert!(report.err.contains("cut short"), "{}", report.err);
    for (input, code) in [(cut.to_str().unwrap(), 0), ("no-such-file", 1)] {
        let mut unread = command(&["rtt", input]);
        unread.stderr(fs::File::options().write(true).open("/dev/full").unwrap());
        let output = unread.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", output.status);
        assert_eq!(output.stdout, if code == 0 { &*report.out } else { b"" });
    }
}

#[test]
fn a_cut_gzip_file_is_used_up_to_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    for (name, of) in [("cut.pcap.gz", "tcp/tcp.pcap.gz"), ("cut.pcap.zst", "mixed/mixed.pcap.zst")] {
        let cut = folder.path().join(name);
        let whole = fs::read(testdata(of)).unwrap();
        fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
        let run = dwell(&["rtt", cut.to_str().unwrap(), "--format", "json"]);
        assert_eq!((run.code, run.err.lines().count()), (0, 1), "{}", run.err);
        assert!(run.err.contains("cut short"), "{}", run.err);
        assert!(run.json()["frames"]["total"].as_u64().unwrap() > 1000, "{}", run.err);
    }
}

/// Damage in the middle of a file: the packets before it are reported, and the run fails.
#[test]
fn a_damaged_capture_is_reported_up_to_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(testdata("ntp/ntp.pcap")).unwrap();
    let frames = records(&bytes);
    let half = frames.len() / 2;
    bytes[frames[half].start + 8..][..8].fill(0xff);
    let damaged = folder.path().join("damaged.pcap");
    fs::write(&damaged, &bytes).unwrap();
    let output = folder.path().join("report.json");
    let rtt = |more: &[&str]| dwell(&[&["rtt", "--match", "ntp", "--format", "json"], more].concat());
    let run = rtt(&[damaged.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    assert_eq!((run.code, run.err.lines().count()), (1, 1), "{}", run.err);
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&output).unwrap()).unwrap();
    let place = format!("byte {}", frames[half].start + 8);
    for words in [run.err.as_str(), report["warnings"][0].as_str().unwrap()] {
        assert!(words.contains("damaged.pcap") && words.contains(&place), "{words}, not {place}");
    }
    let before = rtt(&[&testdata("ntp/ntp.pcap"), "-c", &half.to_string()]).ok().json();
    assert_eq!((&report["results"], &report["frames"]), (&before["results"], &before["frames"]));
    assert_eq!(names(folder.path()), ["damaged.pcap", "report.json"]);

    // Captures before and after it are read in full.
    let [damaged, other] = [damaged.to_str().unwrap(), &testdata("icmp/icmp.pcapng")];
    let total = |run: Run| run.json()["frames"]["total"].as_u64().unwrap();
    let alone = total(dwell(&["rtt", other, "--format", "json"]));
    for captures in [[damaged, other], [other, damaged]] {
        let run = dwell(&[&["rtt", "--format", "json"], &captures[..]].concat());
        assert_eq!((run.code, run.err.lines().filter(|line| line.contains("not read")).count()), (1, 1), "{}", run.err);
        assert_eq!(total(run), alone + half as u64);
        let run = dwell(&[&["compare", "--memory", "16KiB", "--match", "icmp-echo"], &captures[..]].concat());
        assert!(run.code == 1 && run.err.contains(&place), "{}", run.err);
    }
}

/// The byte ranges of the records of a little-endian pcap file.
fn records(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut records = Vec::new();
    let mut at = 24;
    while at + 16 <= bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        records.push(at..at + 16 + length);
        at += 16 + length;
    }
    records
}

/// Captures in the wrong order are measured, with a warning.
#[test]
fn captures_out_of_order_are_told() {
    let rtt = |captures: [&str; 2]| {
        let [first, second] = captures.map(testdata);
        dwell(&["rtt", &first, &second, "--match", "ntp,icmp-echo", "--format", "json"])
    };
    rtt(["ntp/ntp.pcap", "icmp/icmp.pcapng"]).ok();
    let run = rtt(["icmp/icmp.pcapng", "ntp/ntp.pcap"]);
    assert_eq!((run.code, run.err.lines().count()), (0, 1), "{}", run.err);
    let warning = run.json()["warnings"][0].as_str().unwrap().to_owned();
    assert_eq!(run.err, format!("dwell: warning: {warning}\n"));
    assert!(warning.contains("1037 frames are out of time order"), "{warning}");
    assert!(warning.contains("exchanges across them are missing") && warning.ends_with("(mergecap)"), "{warning}");
}

#[test]
fn help_is_no_error() {
    for (arguments, words) in [
        (&["--help"][..], &["Usage: dwell", "rtt", "simulate"][..]),
        (&["-h"], &["Usage: dwell"]),
        (&["rtt", "--help"], &["--match", "--memory", "Examples:", "--ambiguous"]),
        (&["simulate", "--help"], &["--truth"]),
        (&["--version"], &[concat!("dwell ", env!("CARGO_PKG_VERSION"))]),
    ] {
        let run = dwell(arguments).ok();
        let text = String::from_utf8(run.out).unwrap();
        for word in words {
            assert!(text.contains(word), "{arguments:?} does not say {word}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{arguments:?} is wider than 100");
    }
}

/// The help of a flag for some methods names exactly these, and so does the line that refuses it with others.
#[test]
fn help_names_the_methods_of_a_flag() {
    /// Whether a method has something.
    type Has = Box<dyn Fn(Method) -> bool>;
    let names = |has: &Has| Method::ALL.into_iter().filter(|&method| has(method)).map(Method::name).collect::<Vec<_>>();
    let named = |command: &str, flag: &str| {
        let help = String::from_utf8(dwell(&[command, "--help"]).ok().out).unwrap();
        let of_flag = help.lines().skip_while(|line| !line.trim().starts_with(&format!("{flag} <"))).skip(1);
        let words = |line: &str| line.split(|c: char| !c.is_ascii_lowercase() && c != '-').map(str::to_owned).collect();
        let words: Vec<String> =
            of_flag.take_while(|line| !line.trim().is_empty()).flat_map::<Vec<_>, _>(words).collect();
        let names = Method::ALL.into_iter().map(Method::name);
        names.filter(|&name| words.iter().any(|word| word == name)).collect::<Vec<_>>()
    };
    let has = |parameter| -> Has { Box::new(move |method: Method| method.has(parameter)) };
    assert_eq!(named("compare", "--longest"), names(&(Box::new(Method::needs_longest) as Has)));
    assert_eq!(named("compare", "--rate"), names(&has(Parameter::Rate)));
    let flags = [
        ("--slots", "9", Parameter::Slots),
        ("--entry-probability", "9%", Parameter::EntryProbability),
        ("--fingerprint-bits", "9", Parameter::FingerprintBits),
        ("--stages", "2", Parameter::Stages),
        ("--longest", "9s", Parameter::Longest),
        ("--rate", "9", Parameter::Rate),
        ("--filters", "9", Parameter::Filters),
        ("--bits", "9", Parameter::Bits),
        ("--hashes", "9", Parameter::Hashes),
        ("--policy", "random", Parameter::Policy),
        ("--prior", "missing", Parameter::Prior),
        ("--ranges", "9", Parameter::Ranges),
        ("--packets", "9", Parameter::Packets),
        ("--rounds", "9", Parameter::Rounds),
    ];
    let of_methods = || Method::ALL.into_iter().flat_map(Method::parameters);
    assert!(of_methods().all(|parameter| flags.iter().any(|(_, _, listed)| listed == parameter)));
    for (flag, value, parameter) in flags {
        let expected = names(&has(parameter));
        assert!(!expected.is_empty() && expected.len() < Method::ALL.len());
        assert_eq!(named("rtt", flag), expected, "{flag}");
        let refused = dwell(&["rtt", &testdata("ntp/ntp.pcap"), flag, value]);
        let words = format!("{flag} applies only to --method {}", expected.join(", "));
        assert!(refused.code == 2 && refused.err.contains(&words), "{}", refused.err);
    }
}

/// The name of a file says in which format it is written, unless a flag does: as when the flag is given. A format that
/// only other commands have is not taken for the name of a table, unless a flag says so.
#[test]
fn the_name_of_a_report_implies_its_format() {
    let capture = testdata("icmp/icmp.pcapng");
    let map = "net/ladder.toml";
    let folder = tempfile::tempdir().unwrap();
    let written = |arguments: &[&str]| {
        dwell_in(folder.path(), arguments).ok();
        fs::read(folder.path().join(arguments.last().unwrap())).unwrap()
    };
    for (name, format) in [
        ("a.json", "json"),
        ("b.JSONL", "jsonl"),
        ("c.csv", "csv"),
        ("d.prom", "openmetrics"),
        ("e.ppviz", "ppviz"),
        ("f.txt", "table"),
        ("csv", "table"),
    ] {
        let asked = dwell(&["rtt", &capture, "--match", "icmp-echo", "--format", format]).ok();
        assert_eq!(written(&["rtt", &capture, "--match", "icmp-echo", "-o", name]), asked.out, "{name}");
    }
    let as_csv = dwell(&["net", "plan", &testdata(map), "--format", "csv"]).ok();
    assert_eq!(written(&["net", "plan", &testdata(map), "--format", "csv", "-o", "plan.json"]), as_csv.out);
    assert_eq!(written(&["net", "plan", &testdata(map), "-o", "plan.csv"]), as_csv.out);
    let as_table = dwell(&["net", "plan", &testdata(map)]).ok();
    assert_eq!(written(&["net", "plan", &testdata(map), "--format", "table", "-o", "plan.prom"]), as_table.out);
    let refused = dwell_in(folder.path(), &["net", "plan", &testdata(map), "-o", "other.prom"]);
    assert!(refused.code == 2 && refused.err.contains("choose --format table, json, csv"), "{}", refused.err);
    assert!(!folder.path().join("other.prom").exists());
}

/// An old result is replaced only when the new one is complete.
#[test]
fn results_appear_whole() {
    let folder = folder();
    let how = ["--format", "json", "-o", "old.json", "--samples", "new.csv", "--plot", "new.svg"];
    dwell_in(folder.path(), &[&["rtt", "ntp.pcap", "--match", "ntp"], &how[..]].concat()).ok();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("old.json").starts_with('{') && read("old.json").ends_with("}\n"));
    assert_eq!(read("new.csv").lines().count(), 471);
    assert!(read("new.svg").ends_with("</svg>\n") || read("new.svg").ends_with("</svg>"));
    assert!(names(folder.path()).iter().all(|name| !name.ends_with(".partial")));
    let png = folder.path().join("new.png");
    dwell_in(folder.path(), &["rtt", "ntp.pcap", "--match", "ntp", "--plot", "new.png", "-o", "old.json"]).ok();
    assert!(is_png(&png));
}

/// Files are made where their names lead, whatever these are, and nothing else is overwritten: not the capture that is
/// standard input, nor what a link beside the file leads to.
#[cfg(unix)]
#[test]
fn results_get_where_names_lead() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let measure = |name: &str| dwell_in(folder.path(), &["rtt", "ntp.pcap", "--match", "ntp", "-o", name]);
    let report = dwell_in(folder.path(), &["rtt", "ntp.pcap", "--match", "ntp"]).ok().out;
    symlink("there.txt", place("link.txt")).unwrap();
    let long = "x".repeat(250);
    for (name, place_of) in [("link.txt", "there.txt"), (&long, &long)] {
        measure(name).ok();
        assert_eq!(fs::read(place(place_of)).unwrap(), report);
    }
    assert!(fs::symlink_metadata(place("link.txt")).unwrap().is_symlink());
    let refused = measure("new/");
    assert!(refused.code == 1 && refused.err.contains("new/: cannot be written"), "{}", refused.err);

    let capture = fs::read(place("ntp.pcap")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.current_dir(folder.path()).args(["rtt", "-", "-o", "ntp.pcap"]);
    let run = command.stdin(fs::File::open(place("ntp.pcap")).unwrap()).output().unwrap();
    assert!(String::from_utf8_lossy(&run.stderr).contains("ntp.pcap: is an input, and would be changed"));
    assert_eq!((run.status.code(), fs::read(place("ntp.pcap")).unwrap()), (Some(2), capture));

    // Somebody has put a link in the way.
    fs::write(place("victim"), "mine").unwrap();
    let script = "ln -s victim r.json.dwell.partial; exec \"$0\" rtt ntp.pcap --match ntp -o r.json";
    let shell =
        Command::new("sh").current_dir(folder.path()).args(["-c", script, env!("CARGO_BIN_EXE_dwell")]).status();
    assert!(shell.unwrap().success());
    assert!(fs::read_to_string(place("victim")).unwrap() == "mine" && place("r.json").metadata().unwrap().len() > 500);
    assert!(!fs::symlink_metadata(place("r.json")).unwrap().is_symlink());

    // A pipe would get one exposition after the other.
    assert!(Command::new("mkfifo").arg(place("pipe")).status().unwrap().success());
    let how = ["--interval", "10s", "--format", "openmetrics", "-o", "pipe"];
    let refused = dwell_in(folder.path(), &[&["rtt", "ntp.pcap"], &how[..]].concat());
    assert!(refused.code == 2 && refused.err.contains("not a pipe or device"), "{}", refused.err);
}

/// With intervals, a plot is over time, even if there is one; delays that are not positive have no decades of their own.
#[test]
fn one_interval_is_drawn() {
    let folder = folder();
    let plot = |how: &[&str]| {
        dwell_in(folder.path(), &[&["rtt", "ntp.pcap", "--match", "ntp", "--plot", "p.svg"], how].concat()).ok();
        fs::read_to_string(folder.path().join("p.svg")).unwrap()
    };
    let (over_time, cdf) = (plot(&["--interval", "24h"]), plot(&[]));
    assert!(over_time.contains("Delay per interval") && !over_time.contains("No exchange"), "{over_time}");
    assert!(cdf.contains("Share of exchanges answered"));
}

fn is_png(path: &Path) -> bool {
    fs::read(path).unwrap().starts_with(b"\x89PNG\r\n\x1a\n")
}

/// The link type is named if it is the reason why nothing was measured.
#[test]
fn a_link_type_that_is_not_understood_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let head = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 119].map(u32::to_le_bytes).concat();
    let record = [1_700_000_000u32, 5, 4, 4, 0x4444_4444].map(u32::to_le_bytes).concat();
    for file in ["prism.pcap", "again.pcap"] {
        fs::write(folder.path().join(file), [&head[..], &record].concat()).unwrap();
    }
    for arguments in [&["rtt", "prism.pcap"][..], &["owd", "prism.pcap", "again.pcap"]] {
        let run = dwell_in(folder.path(), arguments);
        assert!(run.err.contains("1 frame is of an unsupported link type (119)"), "{}", run.err);
    }
}

/// An inside network that no packet belongs to is said to be one; not if any of its prefixes has an address.
#[test]
fn an_empty_inside_is_said() {
    let capture = testdata("ntp/ntp.pcap");
    let warned = |command: &str, inside: &str| dwell(&[command, &capture, "--match", "ntp", "--inside", inside]).err;
    for command in ["rtt", "compare"] {
        let words = warned(command, "100.100.0.0/16,2001:db8::/32");
        let expected = "no packet is from or to an address in 100.100.0.0/16, 2001:db8::/32 (--inside)";
        assert!(words.contains(expected), "{command}: {words}");
        for inside in ["0.0.0.0/0,2001:db8::/32", "100.100.0.0/16,0.0.0.0/1,128.0.0.0/1,::/0"] {
            let words = warned(command, inside);
            assert!(!words.contains("--inside"), "{command}: {words}");
        }
    }
}

/// A list may be written with spaces.
#[test]
fn spaces_around_names_are_ignored() {
    let run = |matches| dwell(&["rtt", &testdata("ntp/ntp.pcap"), "--match", matches, "--format", "json"]).ok().json();
    assert_eq!(run("ntp, dns ,tcp-ack"), run("ntp,dns,tcp-ack"));
}

/// Where a snap length cuts what a rule in use needs of a packet, a warning says so.
#[test]
fn packets_cut_before_what_a_rule_needs_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let warnings = |name: &str, length: usize, rules: &str| {
        let capture = folder.path().join("cut.pcap");
        let mut files = CaptureFiles::open([testdata(name)]).unwrap();
        let mut writer = PcapWriter::new(fs::File::create(&capture).unwrap(), LinkType::ETHERNET, 65_535).unwrap();
        while let Some(frame) = files.next_frame().unwrap() {
            let bytes = &frame.bytes[..length.min(frame.bytes.len())];
            writer.write(frame.at.unwrap(), frame.wire_length, bytes).unwrap();
        }
        writer.finish().unwrap();
        let run = dwell(&["rtt", capture.to_str().unwrap(), "--match", rules]);
        assert_eq!(run.code, 0, "{}", run.err);
        run.err
    };
    let what = "truncated before what is needed for";
    for (name, length, enough, rules) in [
        ("tcp/tcp.pcap.gz", 65, 96, "tcp-ts"),
        ("ntp/ntp.pcap", 80, 110, "ntp"),
        ("icmp/icmp.pcapng", 40, 64, "icmp-echo"),
    ] {
        let words = format!("packets are {what} {rules}, and not used for it: capture more bytes of each (-s)");
        let cut = warnings(name, length, rules);
        assert!(cut.lines().any(|line| line.ends_with(&words)), "{name}: {cut}");
        for (length, rules) in [(enough, rules), (length, "tcp-handshake,tcp-ack,tcp-flow")] {
            let whole = warnings(name, length, rules);
            assert!(!whole.contains(what), "{name}, {length}, {rules}: {whole}");
        }
    }
}

/// What ppviz has no field for is told on standard error: bounds, what is left out, and weights.
#[test]
fn what_ppviz_cannot_say_is_told() {
    let ppviz = |how: &[&str]| {
        let run = dwell(&[&["rtt", &testdata("mixed/mixed.pcap.zst"), "--format", "ppviz"], how].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        (run.out.iter().filter(|&&byte| byte == b'\n').count(), run.err)
    };
    let of = "dwell: 130 of 8690";
    let why = "which copy was answered is not known (--ambiguous)";
    for (how, lines, what) in [
        ("bounds", 8_690, "delays are from the first of several requests on"),
        ("first", 8_690, "delays are from the first of several requests on"),
        ("last", 8_690, "delays are from the last of several requests on"),
        ("drop", 8_560, "exchanges are left out"),
    ] {
        assert_eq!(ppviz(&["--ambiguous", how]), (lines, format!("{of} {what}: {why}\n")), "{how}");
    }
    let sampled = ppviz(&["--match", "tcp-ack", "--memory", "8KiB"]).1;
    let words = "exchanges each, which this format cannot say: use --samples";
    assert!(sampled.contains("dwell: warning: samples stand for up to") && sampled.contains(words), "{sampled}");
    assert_eq!(ppviz(&["--match", "icmp-echo"]).1, "");
}

/// A last line without a line end may be cut off, and half a number is a number: that is told of every file of lines.
#[test]
fn unfinished_last_lines_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let [map, measured, capture, near, server] =
        ["net/ladder.toml", "net/ladder-slow.csv", "ntp/ntp.pcap", "one-way/near.pcap.xz", "one-way/server.pcap.xz"]
            .map(testdata);
    let measured = fs::read_to_string(measured).unwrap();
    for (text, arguments) in [
        (&*measured, &["net", "localize", &map, "--routers", "12", "--measurements", "last.csv"][..]),
        ("router,cost\nb1,9\n", &["net", "plan", &map, "--costs", "last.csv"]),
        ("delay_ns\n1000000\n", &["rtt", &capture, "--match", "ntp", "--method", "timebloom", "--prior", "last.csv"]),
        (
            "flow,weight\n10.10.0.0/16,3\n",
            &["owd", &near, &server, "--method", "lda", "--from", "0.0.0.0/0", "--flows", "--weights", "last.csv"],
        ),
    ] {
        let words = "last.csv: the last line has no line end, and is used, but may be cut off";
        for (text, is_told) in [(text, false), (text.trim_end(), true)] {
            fs::write(folder.path().join("last.csv"), text).unwrap();
            let run = dwell_in(folder.path(), arguments);
            assert_eq!((run.code, run.err.contains(words)), (0, is_told), "{arguments:?}: {}", run.err);
        }
    }
}

/// A message names the matches to select if packets belong to others, also with intervals; not if anything was found.
#[test]
fn what_was_not_looked_for_is_named() {
    let words = "no packet is a request or a response of tcp-handshake, tcp-ack, dns; other rules: tcp-ts, tcp-response, tcp-flow, ntp";
    for (file, how, is_said) in [
        ("ntp/ntp.pcap", &[][..], true),
        ("ntp/ntp.pcap", &["--interval", "10s", "--format", "csv"], true),
        ("ntp/ntp.pcap", &["--match", "ntp"], false),
        ("mixed/mixed.pcap.zst", &["--interval", "60s"], false),
    ] {
        let run = dwell(&[&["rtt", &testdata(file)], how].concat());
        assert_eq!(run.code, 0);
        assert_eq!(run.err.contains(words), is_said, "{file} {how:?}: {}", run.err);
    }
}

/// Of uploads hardly any request is answered before more is sent: that is told, and not of connections with one request at a
/// time; nor of other rules.
#[test]
fn requests_that_are_left_out_are_told() {
    let words = "warning: tcp-response: 1904 of 1904 requests are left out";
    for (file, how, is_told) in [
        ("queue/ingress.pcap.xz", "tcp-response", true),
        ("queue/ingress.pcap.xz", "tcp-ack", false),
        ("mixed/mixed.pcap.zst", "tcp-response", false),
    ] {
        let run = dwell(&["rtt", &testdata(file), "--match", how]);
        assert_eq!(run.err.contains(words), is_told, "{file} {how}: {}", run.err);
        assert!(is_told || !run.err.contains("left out"), "{}", run.err);
    }
}

/// The head of a capture of Ethernet, and one record with a frame of NTP.
fn head_and_record() -> [Vec<u8>; 2] {
    let bytes = fs::read(testdata("ntp/ntp.pcap")).unwrap();
    let length = 40 + u32::from_le_bytes(bytes[32..36].try_into().unwrap()) as usize;
    [&bytes[..24], &bytes[24..length]].map(<[u8]>::to_vec)
}

/// If most frames are not IP, a warning gives the reason; if one third are not, there is none.
#[test]
fn a_capture_of_something_else_is_no_silent_success() {
    let folder = tempfile::tempdir().unwrap();
    let [head, known] = head_and_record();
    let mut other = known.clone();
    // Cisco MetaData.
    other[28..30].copy_from_slice(&[0x89, 0x09]);
    for (others, is_said) in [(1, false), (2, true)] {
        let frames = [head.clone(), known.repeat(2), other.repeat(2 * others)].concat();
        fs::write(folder.path().join("odd.pcap"), frames).unwrap();
        let run = dwell_in(folder.path(), &["rtt", "odd.pcap", "--match", "ntp", "--format", "json"]);
        let words = format!("{} of {} frames are not decoded, mostly because of not-ip", 2 * others, 2 + 2 * others);
        assert_eq!(run.err.contains(&words), is_said, "{}", run.err);
        assert_eq!(run.json()["warnings"].to_string().contains(&words), is_said);
    }
}

/// A snap length that cuts the ports of some packets, as those of IPv6: a warning says how many, unless they are few.
#[test]
fn frames_without_ports_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let [head, known] = head_and_record();
    let mut cut = known[..16 + 36].to_vec();
    cut[8] = 36;
    for (few, is_said) in [(19, false), (20, true)] {
        fs::write(folder.path().join("cut.pcap"), [head.clone(), known.repeat(500), cut.repeat(few)].concat()).unwrap();
        let run = dwell_in(folder.path(), &["rtt", "cut.pcap", "--match", "ntp"]);
        let words = format!("warning: {few} frames are truncated before the ports of their innermost packet");
        assert_eq!((run.code, run.err.contains(&words)), (0, is_said), "{}", run.err);
    }
}

/// One frame with a time in another year, anywhere, must not expire open requests or affect later ones, in any method.
#[test]
fn a_time_that_cannot_be_ends_no_wait() {
    let folder = tempfile::tempdir().unwrap();
    let sane = fs::read(testdata("ntp/ntp.pcap")).unwrap();
    let mut starts = Vec::new();
    let mut at = 24;
    while at < sane.len() {
        starts.push(at);
        at += 16 + u32::from_le_bytes(sane[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    for method in ["auto", "exact", "fridge", "km", "hash-sample", "simple", "mis"] {
        let requests = |bytes: &[u8]| {
            fs::write(folder.path().join("some.pcap"), bytes).unwrap();
            let run = dwell_in(
                folder.path(),
                &["rtt", "some.pcap", "--match", "ntp", "--method", method, "--format", "json"],
            );
            let requests = run.json()["results"][0]["requests"].clone();
            ["pending", "expired", "matched"].map(|fate| requests[fate].as_i64().unwrap())
        };
        let usual = requests(&sane);
        for frame in [0, 1, starts.len() / 2, starts.len() - 1] {
            let mut wild = sane.clone();
            wild[starts[frame] + 3] = 0xf0;
            let found = requests(&wild);
            // The frame's own exchange has another fate, and so may one that a batch of one event begins with.
            let is_near = usual.iter().zip(found).all(|(usual, found)| usual.abs_diff(found) <= 2);
            assert!(is_near, "{method}, frame {frame} of {}: {found:?}, without it {usual:?}", starts.len());
        }
    }
}

/// A closed socket that resets a connection for each segment, and windows that open again: packets that are alike, and
/// were captured once. If something numbers them, as IP does, they were captured twice.
#[test]
fn packets_that_are_sent_again_are_no_copies() {
    let folder = tempfile::tempdir().unwrap();
    for is_numbered in [false, true] {
        let mut bytes =
            [&0xa1b2_3c4d_u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &65_535_u32.to_le_bytes()].concat();
        bytes.extend(101_u32.to_le_bytes());
        for n in 0..400_u32 {
            let flags = if n % 2 == 0 { 0x04 } else { 0x10 };
            let number = if is_numbered { (1 + n / 4) as u8 } else { 0 };
            let mut packet =
                vec![0x45, 0, 0, 40, 0, number, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 0, 2, 0];
            packet.extend([0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, (n % 256) as u8, 0, 0, 0, 0, 0]);
            bytes.extend([1, 1_000 * n, 40, 40].map(u32::to_le_bytes).concat());
            bytes.extend(packet);
        }
        fs::write(folder.path().join("again.pcap"), bytes).unwrap();
        let run = dwell_in(folder.path(), &["rtt", "again.pcap"]);
        assert_eq!((run.code, run.err.contains("captured twice")), (0, is_numbered), "{}", run.err);
    }
}

/// A mirror port that shows both sides of a switch repeats each packet a few microseconds later, or milliseconds, when it
/// may have been answered; a router that translates addresses shows it with others: this is reported.
#[test]
fn packets_that_are_captured_twice_are_said() {
    let bytes = fs::read(testdata("ntp/ntp.pcap")).unwrap();
    let (head, records) = bytes.split_at(24);
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let twice = |later: u64| {
        let (mut all, mut left) = (Vec::new(), records);
        while let Some(length) = left.get(8..12) {
            let (record, behind) = left.split_at(16 + number(length) as usize);
            let at = u64::from(number(&record[..4])) * 1_000_000_000 + u64::from(number(&record[4..8]));
            all.extend([(at, record), (at + later, record)]);
            left = behind;
        }
        all.sort_by_key(|&(at, _)| at);
        let time = |at: u64| [at / 1_000_000_000, at % 1_000_000_000].map(|part| (part as u32).to_le_bytes()).concat();
        [head.to_vec()]
            .into_iter()
            .chain(all.into_iter().map(|(at, record)| [&time(at), &record[8..]].concat()))
            .collect()
    };
    let [soon, late]: [Vec<Vec<u8>>; 2] = [twice(7_000), twice(9_000_000)];
    // The last byte of the source address of each second one: Ethernet, IPv4.
    let mut translated = soon.clone();
    translated.iter_mut().skip(2).step_by(2).for_each(|record| record[16 + 14 + 15] ^= 0x80);
    let folder = tempfile::tempdir().unwrap();
    for (file, bytes, is_twice) in [
        ("once.pcap", bytes.clone(), false),
        ("soon.pcap", soon.concat(), true),
        ("late.pcap", late.concat(), true),
        ("translated.pcap", translated.concat(), true),
    ] {
        fs::write(folder.path().join(file), bytes).unwrap();
        let run = dwell_in(folder.path(), &["rtt", file, "--match", "ntp", "--format", "json"]);
        let is_said = run.err.contains("captured twice");
        let is_reported = run.json()["warnings"].to_string().contains("captured twice");
        assert_eq!((is_said, is_reported), (is_twice, is_twice), "{}", run.err);
        // The last interval alone is not enough to tell.
        let run = dwell_in(folder.path(), &["rtt", file, "--match", "ntp", "--interval", "5s", "--format", "jsonl"]);
        assert_eq!(run.err.contains("captured twice"), is_twice, "{}", run.err);
    }
}
