//! Generated captures of both directions: the direction of each packet must be found.

use crate::run::{Run, dwell_in};
use std::fs;
use std::path::Path;

const MILLI: i64 = 1_000_000;
/// How far the receiver's clock is ahead.
const AHEAD: i64 = 40 * MILLI;

/// A datagram between two addresses in 10.0.0.0/8, with a unique number.
#[derive(Clone, Copy)]
struct Datagram {
    source: u32,
    destination: u32,
    number: u32,
}

impl Datagram {
    /// The packet from the IP header on.
    fn bytes(self) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0, 0];
        for address in [self.source, self.destination] {
            bytes.extend((10_u32 << 24).wrapping_add(address).to_be_bytes());
        }
        bytes.extend([0x13, 0x88, 0x13, 0x88, 0, 12, 0, 0]);
        bytes.extend(self.number.to_be_bytes());
        bytes
    }
}

/// What the two points capture, each by its own clock.
#[derive(Default)]
struct Captures([Vec<(i64, Datagram)>; 2]);

impl Captures {
    /// A packet passes the points at these times; `None` where it does not pass.
    fn pass(&mut self, source: u32, destination: u32, at: [Option<i64>; 2]) {
        let number = self.0.iter().map(Vec::len).sum::<usize>() as u32;
        for (point, at) in self.0.iter_mut().zip(at) {
            point.extend(at.map(|at| (at, Datagram { source, destination, number })));
        }
    }

    /// A forward packet, which takes 5 ms.
    fn there(&mut self, at: i64, source: u32, destination: u32) {
        self.pass(source, destination, [Some(at), Some(at + 5 * MILLI + AHEAD)]);
    }

    /// A reverse packet, which takes 3 ms.
    fn back(&mut self, at: i64, source: u32, destination: u32) {
        self.pass(source, destination, [Some(at + 3 * MILLI), Some(at + AHEAD)]);
    }

    /// Writes `near.pcap` and `far.pcap`.
    fn write(mut self, folder: &Path) {
        for (point, name) in self.0.iter_mut().zip(["near.pcap", "far.pcap"]) {
            let mut bytes: Vec<u8> = [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
            point.sort_by_key(|&(at, _)| at);
            for &(at, datagram) in &*point {
                let packet = datagram.bytes();
                let length = packet.len() as u32;
                let head = [1_700_000_000 + (at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, length, length];
                bytes.extend(head.map(u32::to_le_bytes).concat());
                bytes.extend(packet);
            }
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
}

fn run(captures: Captures, command: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    captures.write(folder.path());
    dwell_in(folder.path(), &[command, "near.pcap", "far.pcap", "--format", "json"])
}

/// A hundred clients and a hundred servers.
fn many() -> Captures {
    exchanges(1_000, MILLI)
}

/// So many packets of each direction, one every `gap` nanoseconds.
fn exchanges(number: u32, gap: i64) -> Captures {
    let mut captures = Captures::default();
    for number in 0..number {
        let (client, server) = (0x1_0000 + number % 100, 0x2_0000 + number % 100);
        captures.there(i64::from(number) * gap, client, server);
        captures.back(i64::from(number) * gap, server, client);
    }
    captures
}

#[test]
fn many_addresses_are_told() {
    let run_owd = run(many(), "owd");
    assert!(run_owd.err.contains("the receiver's is between 37.0 ms and 45.0 ms ahead"), "{}", run_owd.err);
    let report = run_owd.json();
    for (line, mean) in [("total", 5 * MILLI + AHEAD), ("reverse", 3 * MILLI - AHEAD)] {
        let line = &report[line];
        assert_eq!((&line["sent"], &line["delay_ns"]["mean"]["value"]), (&1_000.into(), &(mean as f64).into()));
    }
    assert_eq!(report["method"]["from"], "100 addresses");
    let queue = run(many(), "queue");
    assert!(queue.err.contains("every packet took at least 45.0 ms, and the slowest 0 ns more"), "{}", queue.err);
    let packets = &queue.json()["packets"];
    assert_eq!((&packets["matched"], &packets["elsewhere"]), (&1_000.into(), &2_000.into()));
}

/// One capture begins when the other has more packets than are examined: those of the same time are compared.
#[test]
fn a_capture_may_begin_later() {
    let late = 800 * MILLI;
    for point in [0, 1] {
        let mut captures = exchanges(50_000, MILLI / 50);
        captures.0[point].retain(|&(at, _)| at > late + AHEAD);
        let report = run(captures, "owd").json();
        for (line, mean) in [("total", 5 * MILLI + AHEAD), ("reverse", 3 * MILLI - AHEAD)] {
            let line = &report[line];
            assert_eq!((&line["lost"], &line["delay_ns"]["mean"]["value"]), (&0.into(), &(mean as f64).into()));
            assert!(line["received"].as_u64() > Some(7_000), "{line}");
        }
    }
}

/// Where one point sees nothing for some time, its capture has a gap. Bursts that one point sees much later are none.
#[test]
fn gaps_are_told() {
    for (point, name) in ["near.pcap", "far.pcap"].into_iter().enumerate() {
        let mut captures = exchanges(1_000, MILLI);
        captures.0[point].retain(|&(at, _)| !(500 * MILLI..700 * MILLI).contains(&at));
        let err = run(captures, "owd").err;
        assert!(err.contains(&format!("{name} has a gap, or its point was cut off: 40")), "{err}");
        assert_eq!(err.matches("has a gap").count(), 1, "{err}");
    }
    // A clock that is set forward: what passes the other point after that finds nothing here.
    for (point, name) in ["near.pcap", "far.pcap"].into_iter().enumerate() {
        let mut captures = exchanges(1_000, MILLI);
        let later = captures.0[point].iter_mut().filter(|(at, _)| *at >= 700 * MILLI);
        later.for_each(|(at, _)| *at += 3_600_000 * MILLI);
        let err = run(captures, "owd").err;
        assert!(err.contains(&format!("{name} has a gap, or its point was cut off: ")), "{err}");
    }
    let mut bursts = Captures::default();
    for number in 0..10_000 {
        let at = i64::from(number / 1_000) * 3_000 * MILLI + i64::from(number % 1_000) * MILLI / 10;
        bursts.there(at, 0x1_0000, 0x2_0000);
        bursts.back(at, 0x2_0000, 0x1_0000);
    }
    bursts.0[1].retain(|(_, datagram)| datagram.number % 16 > 1);
    let run = run(bursts, "owd");
    let lost = |line: &str| run.json()[line]["lost"].as_u64();
    assert!(lost("total") > Some(1_000) && !run.err.contains("has a gap"), "{}", run.err);
}

/// Addresses that come later than the packets that are examined first are examined, too.
#[test]
fn addresses_may_come_later() {
    let mut captures = Captures::default();
    for number in 0..100_000 {
        let (client, server) = (0x1_0000 + number / 100, 0x2_0000 + number / 100);
        captures.there(i64::from(number) * MILLI / 50, client, server);
        captures.back(i64::from(number) * MILLI / 50, server, client);
    }
    let report = run(captures, "owd").json();
    for (line, mean) in [("total", 5 * MILLI + AHEAD), ("reverse", 3 * MILLI - AHEAD)] {
        let line = &report[line];
        assert_eq!((&line["received"], &line["delay_ns"]["mean"]["value"]), (&100_000.into(), &(mean as f64).into()));
    }
}

/// Sources without answers and packets seen at one point only are measured; packets of unknown direction are reported,
/// and packets between hosts of one side are not lost.
#[test]
fn what_cannot_be_told_is_said() {
    let mut captures = many();
    captures.there(300 * MILLI, 0x1_0100, 0x3_0000);
    captures.back(310 * MILLI, 0x2_0100, 0x3_0001);
    captures.pass(0x1_0200, 0x2_0000, [Some(320 * MILLI), None]);
    captures.pass(0x2_0200, 0x1_0000, [None, Some(330 * MILLI + AHEAD)]);
    for number in 0..7 {
        captures.pass(0x4_0000, 0x4_0001, [Some((340 + number) * MILLI), None]);
    }
    // Neighbours on one side, which talk to the other side elsewhere.
    for number in 0..5 {
        captures.pass(0x1_0001, 0x1_0002, [Some((340 + number) * MILLI), None]);
        captures.pass(0x2_0001, 0x2_0002, [None, Some((340 + number) * MILLI + AHEAD)]);
    }
    let run = run(captures, "owd");
    let report = run.json();
    let counts = |line: &str| ["sent", "received", "lost"].map(|name| report[line][name].as_u64().unwrap());
    assert_eq!((counts("total"), counts("reverse")), ([1_002, 1_001, 1], [1_002, 1_001, 1]));
    assert_eq!(["sender", "receiver"].map(|point| report["points"][point]["elsewhere"].as_u64().unwrap()), [12, 5]);
    assert!(run.err.contains("near.pcap: 7 packets are left out") && run.err.contains("--from PREFIX"), "{}", run.err);
    assert!(run.err.contains("the clocks disagree"), "{}", run.err);
    assert_eq!(run.err.lines().count(), 2, "{}", run.err);
}

/// Hosts that exchange packets at one point only cross nothing, nor do groups that no packet reaches; a host that never
/// answers may be a black hole: what is sent there is lost, and said to be.
#[test]
fn what_stays_on_its_side_is_not_lost() {
    let mut captures = many();
    for number in 0..100 {
        let at = number * 10 * MILLI;
        captures.pass(0x1_0000, 0x5_0000, [Some(at), None]);
        captures.pass(0x5_0000, 0x1_0000, [Some(at + MILLI), None]);
        captures.pass(0x2_0000, 0x6_0000, [None, Some(at + AHEAD)]);
        captures.pass(0x6_0000, 0x2_0000, [None, Some(at + MILLI + AHEAD)]);
    }
    // Neighbours of either side announce themselves to the same group.
    let group = 0xe000_00fb_u32.wrapping_sub(10 << 24);
    for number in 0..50 {
        captures.pass(0x1_0001, group, [Some(number * 20 * MILLI), None]);
        captures.pass(0x2_0001, group, [None, Some(number * 20 * MILLI + AHEAD)]);
    }
    let report = run(captures, "owd").json();
    let lost =
        |report: &serde_json::Value, line: &str| ["sent", "lost"].map(|name| report[line][name].as_u64().unwrap());
    assert_eq!((lost(&report, "total"), lost(&report, "reverse")), ([1_000, 0], [1_000, 0]));
    assert_eq!(["sender", "receiver"].map(|point| report["points"][point]["elsewhere"].as_u64().unwrap()), [250, 250]);
    let mut captures = many();
    for number in 0..100 {
        captures.pass(0x1_0000, 0x5_0000, [Some(number * 10 * MILLI), None]);
    }
    let run = run(captures, "owd");
    assert_eq!((lost(&run.json(), "total"), lost(&run.json(), "reverse")), ([1_100, 100], [1_000, 0]));
    assert!(run.err.contains("packets go to 1 host that none of them reached"), "{}", run.err);
}

/// Hosts that only the last capture of a queue shows are left out, which is told if they are many.
#[test]
fn other_inputs_of_a_queue_are_told() {
    for (packets, is_told) in [(9, false), (10, true)] {
        let mut captures = many();
        for number in 0..packets {
            let at = number * 10 * MILLI + AHEAD;
            captures.pass(0x5_0000, 0x2_0001, [None, Some(at)]);
            captures.pass(0x2_0001, 0x5_0000, [None, Some(at + MILLI)]);
        }
        let run = run(captures, "queue");
        let words = format!("{} packets of the last capture are left out", 2 * packets);
        assert_eq!(run.json()["packets"]["matched"], 1_000);
        assert_eq!(run.err.contains(&words), is_told, "{}", run.err);
    }
}

/// Connections of hosts that reach each other, but pass the far point only, are not lost; packets of which none arrives are.
#[test]
fn connections_that_pass_one_point_are_told() {
    for is_answered in [true, false] {
        let mut captures = many();
        for number in 0..100 {
            let at = number * 10 * MILLI + AHEAD;
            captures.pass(0x2_0001, 0x1_0000, [None, Some(at + MILLI)]);
            if is_answered && number % 2 == 0 {
                captures.pass(0x1_0000, 0x2_0001, [None, Some(at)]);
            }
        }
        let run = run(captures, "owd");
        assert_eq!(run.json()["reverse"]["lost"], 100);
        let words = "belong to 1 connection that one point saw in both directions, and the other not at all";
        let is_said = run.err.contains("warning: 91 of the first 1907 packets ") && run.err.contains(words);
        assert_eq!(is_said, is_answered, "{}", run.err);
    }
}

/// Behind one address are all clients, whose connections have another name there, and a host that the near point does not
/// see.
#[test]
fn translated_connections_are_not_apart() {
    for has_another in [false, true] {
        let mut captures = many();
        for (_, datagram) in &mut captures.0[1] {
            let end = if datagram.source < 0x2_0000 { &mut datagram.source } else { &mut datagram.destination };
            *end = 0x3_0000;
        }
        for number in 0..if has_another { 100 } else { 0 } {
            let at = number * 10 * MILLI + AHEAD;
            captures.pass(0x3_0000, 0x2_0200, [None, Some(at)]);
            captures.pass(0x2_0200, 0x3_0000, [None, Some(at + MILLI)]);
        }
        let folder = tempfile::tempdir().unwrap();
        captures.write(folder.path());
        let how = ["--nat", "--reverse", "--from", "10.1.0.0/16,10.3.0.0", "--format", "json"];
        let run = dwell_in(folder.path(), &[&["owd", "near.pcap", "far.pcap"], &how[..]].concat());
        let report = run.json();
        assert_eq!((&report["total"]["received"], &report["reverse"]["received"]), (&1_000.into(), &1_000.into()));
        let words = "packets belong to 1 connection that one point saw in both directions";
        assert_eq!((run.err.contains(words), run.err.contains("belong to")), (has_another, has_another), "{}", run.err);
    }
}

/// A host that seems to stay on its side may talk to the other one after what is examined beforehand.
#[test]
fn local_hosts_may_cross_later() {
    let mut captures = exchanges(100_000, MILLI / 50);
    for number in 0..100 {
        captures.pass(0x5_0000, 0x5_0001, [Some(number * 5 * MILLI), None]);
        captures.pass(0x5_0001, 0x5_0000, [Some(number * 5 * MILLI + MILLI), None]);
        captures.there((1_500 + number) * MILLI, 0x5_0000, 0x2_0000);
        captures.there((1_500 + number) * MILLI, 0x5_0000, 0x7_0000);
        captures.back((1_500 + number) * MILLI, 0x7_0000, 0x5_0000);
    }
    let report = run(captures, "owd").json();
    let counts = |line: &str| ["sent", "received"].map(|name| report[line][name].as_u64().unwrap());
    assert_eq!((counts("total"), counts("reverse")), ([100_200; 2], [100_100; 2]));
    assert_eq!(report["points"]["sender"]["elsewhere"], 200);
}

/// Where one point sees both directions and the other only one, that is the one that is measured.
#[test]
fn one_direction_may_be_captured_at_one_point_only() {
    let mut captures = exchanges(1_000, MILLI);
    captures.0[1].retain(|&(_, datagram)| datagram.source < 0x2_0000);
    let report = run(captures, "owd").ok().json();
    let total = &report["total"];
    assert_eq!(
        (&total["sent"], &total["lost"], &report["reverse"]),
        (&1_000.into(), &0.into(), &serde_json::Value::Null)
    );
    assert_eq!(report["points"]["sender"]["elsewhere"], 1_000);
    // Where replies depart, but do not arrive, they are not in the queue.
    let mut captures = exchanges(1_000, MILLI);
    captures.0[0].retain(|&(_, datagram)| datagram.source < 0x2_0000);
    let report = run(captures, "queue").json();
    let packets = &report["packets"];
    assert_eq!(
        (&packets["departed"], &packets["unknown"], &packets["elsewhere"]),
        (&1_000.into(), &0.into(), &1_000.into())
    );
}

/// A pipe cannot be read twice.
#[test]
fn directions_are_not_found_in_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    many().write(folder.path());
    for command in ["owd", "queue"] {
        let mut dwell = crate::run::command(&[command, "-", "far.pcap", "--format", "json"]);
        let near = fs::File::open(folder.path().join("near.pcap")).unwrap();
        let mut cat =
            std::process::Command::new("cat").stdin(near).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let output = dwell.current_dir(folder.path()).stdin(cat.stdout.take().unwrap()).output().unwrap();
        assert!(cat.wait().unwrap().success());
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("a pipe cannot be examined beforehand") && err.contains("--from PREFIX"), "{err}");
    }
}

/// The path marks packets with another DSCP: by sketches no flow arrives, and all packets do.
#[test]
fn flows_with_other_names_at_the_other_point_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut captures = Captures::default();
    (0..1_000).for_each(|number| captures.there(number * MILLI, 0x1_0000, 0x2_0000));
    captures.write(folder.path());
    let far = folder.path().join("far.pcap");
    let mut bytes = fs::read(&far).unwrap();
    const RECORD: usize = 16 + 32;
    bytes[24..].chunks_exact_mut(RECORD).for_each(|record| record[16 + 1] = 46 << 2);
    fs::write(&far, bytes).unwrap();
    let how = ["owd", "near.pcap", "far.pcap", "--from", "10.1.0.0/16", "--flows", "--format", "json", "--group"];
    let sketches = |key: &str| dwell_in(folder.path(), &[&how[..], &[key, "--method", "lda"]].concat());
    let renamed = sketches("dscp");
    assert!(renamed.err.contains("at least 1000 packets arrive in other flows than"), "{}", renamed.err);
    assert_eq!(renamed.json()["total"]["lost"], 0);
    assert_eq!(sketches("src").err, "");
    assert_eq!(dwell_in(folder.path(), &[&how[..], &["dscp"]].concat()).err, "");
}

/// Points that sketch apart define flows as one run does.
#[test]
fn sketches_group_flows() {
    let folder = tempfile::tempdir().unwrap();
    many().write(folder.path());
    let run = |arguments: &[&str]| dwell_in(folder.path(), &[&["owd"], arguments].concat());
    let how = ["--from", "10.1.0.0/16", "--flows", "--group", "dst", "--interval", "100ms"];
    for (capture, shift, name) in [("near.pcap", "0", "a"), ("far.pcap", "45ms", "b")] {
        run(&[&["sketch", capture, "--shift", shift, "-o", name], &how[..]].concat()).ok();
    }
    let shown = ["--top", "1000", "--format", "json"];
    let names = |run: Run| {
        let flows = run.json()["flows"].as_array().unwrap().clone();
        flows.iter().map(|flow| flow["flow"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let apart = names(run(&[&["join", "a", "b"], &shown[..]].concat()));
    let together = names(run(&[&["near.pcap", "far.pcap", "--method", "lda"], &how[..], &shown].concat()));
    assert!(apart.len() == 100 && apart == together && apart[0] == "dst=10.2.0.0", "{apart:?}");
}

/// What decides which packets are compared is in the report of either method.
#[test]
fn what_was_asked_is_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    many().write(folder.path());
    let how =
        ["owd", "near.pcap", "far.pcap", "--from", "10.1.0.0/16", "--flows", "--group", "src", "--format", "json"];
    for method in ["auto", "lda"] {
        let more = ["--clock-offset", "40ms", "--method", method];
        let method = &dwell_in(folder.path(), &[&how[..], &more].concat()).json()["method"];
        let found = ["from", "group", "clock_offset_ns"].map(|key| method[key].clone());
        assert_eq!(
            serde_json::Value::from_iter(found),
            serde_json::json!(["10.1.0.0/16", "src", 40 * MILLI]),
            "{method}"
        );
    }
}

/// A sketch of flows that is far too small for 1,000 of them says nothing about the losses of most, which is no sign of
/// other names. Where names differ, that is said, however small it is.
#[test]
fn flows_without_a_usable_cell_are_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, of: &dyn Fn(u64) -> Option<String>| {
        let lines: String = (0..30_000).filter_map(of).collect();
        fs::write(folder.path().join(name), format!("at_ns,packet,flow\n{lines}")).unwrap();
    };
    // A tenth of the packets is of flows with one of them in each interval.
    let flow = |packet: u64| if packet.is_multiple_of(10) { packet / 10 % 1_000 } else { 1_000 + packet % 7 };
    let line = |packet: u64, name: char| format!("{},{packet},{name}{}\n", packet * 100_000, flow(packet));
    let is_lost = |packet: u64| packet % 1_009 == 500;
    write("a.csv", &|packet| Some(line(packet, 'f')));
    write("b.csv", &|packet| (!is_lost(packet)).then(|| line(packet, 'f')));
    write("renamed.csv", &|packet| Some(line(packet, if packet < 15_000 { 'f' } else { 'g' })));
    let run = |receiver: &str| {
        let how = ["--method", "lda", "--flows", "--flow-bytes", "1460", "--top", "1000", "--interval", "1s"];
        dwell_in(folder.path(), &[&["owd", "--crossings", "a.csv", receiver, "--format", "json"], &how[..]].concat())
    };
    let (few, renamed) = (run("b.csv"), run("renamed.csv"));
    assert_eq!(few.err, "");
    let report = few.json();
    assert_eq!(report["total"]["lost"], 30);
    let flows = report["flows"].as_array().unwrap();
    let unknown = flows.iter().filter(|flow| flow["loss_rate"].is_null());
    for flow in unknown.clone() {
        assert_eq!((&flow["received"], &flow["lost"], &flow["uncovered"]), (&0.into(), &0.into(), &flow["sent"]));
    }
    assert!(unknown.count() > 100 && flows.iter().all(|flow| flow["loss_rate"]["value"] != 1.0));
    assert!(renamed.err.contains("packets arrive in other flows than"), "{}", renamed.err);
}

/// A packet between two hosts, and an equal one half a second later; the sender's capture lacks the first.
fn repeat(captures: &mut Captures, at: i64, is_back: bool) {
    let (client, server) = (0x1_0000, 0x2_0000);
    let number = 0x1000_0000 + (at / MILLI) as u32;
    for (again, at) in [(false, at), (true, at + 500 * MILLI)] {
        let seen = if is_back { [at + 3 * MILLI, at + AHEAD] } else { [at, at + 5 * MILLI + AHEAD] };
        let (source, destination) = if is_back { (server, client) } else { (client, server) };
        for (point, at) in seen.into_iter().enumerate() {
            if again || (point == 1) != is_back {
                captures.0[point].push((at, Datagram { source, destination, number }));
            }
        }
    }
}

/// Captures lack packets that are sent again later. Where the delays of the other direction show that an arrival is not
/// that of the later one, it has no delay, and the clock offset is known; before they do, the warning says what happened.
#[test]
fn packets_that_a_capture_lacks_are_not_matched_with_later_ones() {
    let counts = |line: &serde_json::Value| ["received", "lost", "ambiguous"].map(|name| line[name].as_u64().unwrap());
    let extremes =
        |line: &serde_json::Value| ["min", "max"].map(|name| line["delay_ns"][name]["value"].as_i64().unwrap() / MILLI);
    let between_two = || {
        let mut captures = Captures::default();
        for at in 1_000..2_000 {
            captures.there(at * MILLI, 0x1_0000, 0x2_0000);
            captures.back(at * MILLI, 0x2_0000, 0x1_0000);
        }
        captures
    };
    let mut captures = between_two();
    for number in 0..4 {
        repeat(&mut captures, (1_100 + 20 * number) * MILLI, number % 2 > 0);
    }
    let lacking = run(captures, "owd");
    assert!(!lacking.err.contains("contradict"), "{}", lacking.err);
    let report = lacking.json();
    for (line, delay) in [("total", 45), ("reverse", -37)] {
        assert_eq!((counts(&report[line]), extremes(&report[line])), ([1_002, 0, 2], [delay; 2]), "{line}");
    }
    assert_eq!(report["clock_offset_ns"], serde_json::json!({ "low": 37 * MILLI, "high": 45 * MILLI }));

    // The receiver's clock ahead by more than the time to the next equal packet: it is sent before the arrival.
    let mut captures = between_two();
    for number in 0..4 {
        repeat(&mut captures, (1_100 + 20 * number) * MILLI, number % 2 > 0);
    }
    captures.0[1].iter_mut().for_each(|(at, _)| *at += 900 * MILLI);
    let report = run(captures, "owd").json();
    assert_eq!((counts(&report["total"]), extremes(&report["total"])), ([1_002, 0, 2], [945; 2]));

    let mut captures = between_two();
    repeat(&mut captures, 502 * MILLI, false);
    let early = run(captures, "owd");
    assert!(early.err.contains("taken for equal ones sent later"), "{}", early.err);
    assert!(early.err.contains("more than clocks drift apart"), "{}", early.err);
    assert!(early.json()["clock_offset_ns"].is_null());
}

/// If both directions are measured, clocks that differ and captures in the wrong order are told apart.
#[test]
fn the_wrong_order_of_captures_is_said() {
    let folder = tempfile::tempdir().unwrap();
    exchanges(4_000, MILLI).write(folder.path());
    let warned = |arguments: &[&str]| {
        let run = dwell_in(folder.path(), &[&["owd", "near.pcap", "far.pcap", "--format", "json"], arguments].concat());
        assert!(run.code == 0 && run.err.lines().count() <= 1, "{}", run.err);
        run.err
    };
    let from = ["--from", "10.1.0.0/16", "--reverse"];
    assert!(warned(&[&from[..], &["--swap"]].concat()).contains("wrong order (--swap)"));
    assert!(warned(&["--from", "10.2.0.0/16", "--reverse"]).contains("--from names the receiver's side"));
    for offset in ["-1s", "0", "1s"] {
        let words = "the receiver's is between 37.0 ms and 45.0 ms ahead (--clock-offset)";
        assert!(warned(&[&from[..], &["--clock-offset", offset]].concat()).contains(words));
    }
    assert_eq!(warned(&[&from[..], &["--clock-offset", "40ms"]].concat()), "");
}

/// The receiver's clock is set back by a second: of few packets of each direction the delay is not known, and none is
/// lost.
#[test]
fn a_clock_that_is_set_costs_few_delays() {
    for ahead in [-1_000, 1_000] {
        let mut captures = exchanges(4_000, MILLI);
        captures.0[1].iter_mut().filter(|(at, _)| *at > 2_000 * MILLI).for_each(|(at, _)| *at += ahead * MILLI);
        let report = run(captures, "owd").json();
        for line in ["total", "reverse"] {
            let line = &report[line];
            assert_eq!((&line["received"], &line["lost"]), (&4_000.into(), &0.into()), "{line}");
            assert!(line["ambiguous"].as_u64() < Some(20), "{line}");
        }
        assert!(report["clock_offset_ns"].is_null());
    }
}

/// Beside ten pairs of hosts with answers, senders on both sides get none, each for two seconds, while clocks drift apart
/// by twice the delay of both directions.
#[test]
fn senders_without_answers_are_told_where_clocks_drift() {
    for ppm in [-400, 0, 400] {
        let mut captures = Captures::default();
        for number in 0..4_000 {
            let (at, pair, one_way) = (i64::from(number) * 10 * MILLI, number % 10, 0x100 + number / 200);
            captures.there(at, 0x1_0000 + pair, 0x2_0000 + pair);
            captures.back(at + MILLI, 0x2_0000 + pair, 0x1_0000 + pair);
            captures.there(at + 2 * MILLI, 0x1_0000 + one_way, 0x2_ff00);
            captures.back(at + 3 * MILLI, 0x2_0000 + one_way, 0x1_ff00);
        }
        captures.0[1].iter_mut().for_each(|(at, _)| *at += *at / 1_000_000 * ppm);
        let report = run(captures, "owd").json();
        assert_eq!([&report["total"]["sent"], &report["reverse"]["sent"]], [8_000, 8_000], "{ppm}");
        assert_eq!(report["points"]["sender"]["elsewhere"], 0, "{ppm}");
        assert!(!report["clock_drift"].is_null(), "{ppm}");
    }
}

/// Equal packets that are sent 20 ms apart arrive within 3 ms, in the time of duplicates: none is lost, whichever point
/// seems to see it first.
#[test]
fn losses_do_not_depend_on_clocks() {
    let counts = |ahead: i64| {
        let mut captures = exchanges(2_000, 5 * MILLI);
        for number in 0..100 {
            for (source, destination) in [(0x1_0000, 0x2_0000), (0x2_0000, 0x1_0000)] {
                let at = i64::from(number) * 90 * MILLI + 500 * MILLI;
                for (at, delay) in [(at, 25 * MILLI), (at + 20 * MILLI, 8 * MILLI)] {
                    let seen = if source < destination { [at, at + delay] } else { [at + delay, at] };
                    let datagram = Datagram { source, destination, number: 0x1000_0000 + number };
                    captures.0[0].push((seen[0], datagram));
                    captures.0[1].push((seen[1] + AHEAD, datagram));
                }
            }
        }
        captures.0[1].iter_mut().for_each(|(at, _)| *at += ahead * MILLI - AHEAD);
        // No time is negative.
        captures.0.iter_mut().flatten().for_each(|(at, _)| *at += 1_000 * MILLI);
        let report = run(captures, "owd").json();
        let of = |line: &str| ["sent", "lost", "uncovered", "ambiguous"].map(|name| report[line][name].as_u64());
        let points = ["sender", "receiver"].map(|point| report["points"][point]["duplicates"].as_u64());
        let mean = |line: &str| report[line]["delay_ns"]["mean"]["value"].as_f64().unwrap().round() as i64 / MILLI;
        (of("total"), of("reverse"), points, [mean("total") - ahead, mean("reverse") + ahead])
    };
    let truth = counts(0);
    assert_eq!(truth.0, [Some(2_200), Some(0), Some(0), Some(200)]);
    assert_eq!((truth.1, truth.2, truth.3), (truth.0, [Some(0); 2], [5, 3]));
    for ahead in [-800, -200, 200, 800] {
        assert_eq!(counts(ahead), truth, "{ahead}");
    }
}

/// The receiver's clock is faster: its drift and its offset at both ends are bounded by the delays, which take 8 ms both
/// ways.
#[test]
fn clocks_may_drift_apart() {
    for (ppm, is_constant_possible) in [(0, true), (100, true), (400, false), (-400, false)] {
        let mut captures = exchanges(4_000, 10 * MILLI);
        captures.0[1].iter_mut().for_each(|(at, _)| *at += *at / 1_000_000 * ppm);
        let run = run(captures, "owd");
        let report = run.json();
        let contains = |bounds: &serde_json::Value, truth: f64| {
            let [low, high] = ["low", "high"].map(|end| bounds[end].as_f64().unwrap());
            low <= truth && truth <= high
        };
        let drift = &report["clock_drift"];
        let end = (AHEAD + 40_000 * MILLI / 1_000_000 * ppm) as f64;
        assert!(contains(&drift["ppm"], ppm as f64), "{ppm}: {drift}");
        assert!(contains(&drift["start_ns"], AHEAD as f64) && contains(&drift["end_ns"], end), "{ppm}: {drift}");
        assert!(
            !contains(&drift["ppm"], (ppm + 250) as f64) && !contains(&drift["ppm"], (ppm - 250) as f64),
            "{drift}"
        );
        assert_eq!(report["clock_offset_ns"].is_object(), is_constant_possible, "{ppm}");
        assert_eq!(run.err.contains("the clocks drift apart by"), !is_constant_possible, "{}", run.err);
        assert_eq!(contains(&drift["ppm"], 0.0), is_constant_possible, "{drift}");
    }
}
