//! The method `dart` (ranges of sequence numbers) on captures, compared with a reference that remembers every segment.

use crate::run::{assert_conserved, dwell, line, testdata};
use dwell_capture::{CaptureFiles, FrameSource};
use dwell_observe::{Observer, Settings};
use dwell_sketch::rivals::dart::{Dart, GivenTrackers, Params};
use dwell_sketch::{Event, Meter, Terms};
use dwell_types::{IdForm, Match, Nanos, Observation};
use std::collections::{BTreeSet, HashMap, HashSet};

const CAPTURES: [&str; 3] = ["tcp/tcp.pcap.gz", "mixed/mixed.pcap.zst", "handshake-slow/handshake-slow.pcap.gz"];

/// Segments and acknowledgements of a capture, with plain ids.
fn events(capture: &str) -> Vec<Event> {
    let mut source = CaptureFiles::open([testdata(capture)]).unwrap();
    let settings = Settings { matches: vec![Match::TcpAck], ids: IdForm::Plain, ..Settings::default() };
    let (mut observer, mut events) = (Observer::new(settings), Vec::new());
    while let Some(frame) = source.next_frame().unwrap() {
        observer.observe(&frame, &mut |seen| {
            let (Observation::Request(s) | Observation::Response(s)) = seen;
            let is_request = matches!(seen, Observation::Request(_));
            events.push(Event { id: s.id, at: s.at, token: s.token, tag: 0, mark: 0, is_request });
        });
    }
    events
}

/// Reference state of one direction of a flow, with all of its segments.
#[derive(Default)]
struct Direction {
    /// By sequence number: the first and last time at which a segment ended there.
    open: HashMap<u32, (i64, i64)>,
    /// The end of the last segment, and the last acknowledgement number.
    end: Option<u32>,
    acknowledged: Option<u32>,
    /// Whether a segment was out of order, or an acknowledgement was repeated.
    is_disturbed: bool,
}

/// Time, delays since the first and the last segment with this end, and the direction.
type Pairs = Vec<(i64, i64, i64, u32)>;

/// Every segment with the first acknowledgement of its end; and the directions without any loss, reordering or
/// repetition.
fn pairs(events: &[Event]) -> (Pairs, HashSet<u32>) {
    let mut directions: HashMap<u32, Direction> = HashMap::new();
    let mut pairs = Vec::new();
    for event in events {
        let (signature, number, at) = ((event.id.0 >> 32) as u32, event.id.0 as u32, event.at.as_nanos());
        let direction = directions.entry(signature).or_default();
        if !event.is_request {
            if let Some((first, last)) = direction.open.remove(&number) {
                pairs.push((at, at - first, at - last, signature));
            }
            let is_bare = event.token == 0;
            direction.is_disturbed |=
                is_bare && direction.acknowledged == Some(number) && direction.end != Some(number);
            direction.acknowledged = Some(number);
        } else if event.token == number {
            direction.end = Some(number);
        } else {
            direction.is_disturbed |= direction.end.is_some_and(|end| end != event.token);
            direction.end = Some(number);
            direction.open.entry(number).or_insert((at, at)).1 = at;
        }
    }
    let calm = directions.iter().filter(|(_, d)| !d.is_disturbed).map(|(&signature, _)| signature).collect();
    (pairs, calm)
}

/// Every sample is a pair whose segment was sent once. In undisturbed directions, every pair gives a sample.
#[test]
fn what_cannot_be_mistaken_is_measured() {
    for capture in CAPTURES {
        let events = events(capture);
        let (pairs, calm) = pairs(&events);
        let terms = Terms { tags: 1, repeat: Match::TcpAck.repeat(), expiry: Nanos::from_secs(128), seed: 1 };
        let mut dart = Dart::new(Params::budget(1 << 22, &GivenTrackers::default()).unwrap(), terms).unwrap();
        let (mut found, mut samples) = (BTreeSet::new(), Vec::new());
        for event in &events {
            dart.update(&[*event], &mut samples);
            found.extend(samples.drain(..).map(|s| (s.at.as_nanos(), s.since_first.get(), (event.id.0 >> 32) as u32)));
        }
        let once: BTreeSet<_> =
            pairs.iter().filter(|p| p.1 == p.2).map(|&(at, delay, _, of)| (at, delay, of)).collect();
        assert!(found.is_subset(&once), "{capture}");
        let of_calm =
            |set: &BTreeSet<(i64, i64, u32)>| set.iter().copied().filter(|p| calm.contains(&p.2)).collect::<Vec<_>>();
        assert_eq!(of_calm(&found), of_calm(&once), "{capture}");
        println!("{capture}: {} of {} pairs, {} in calm directions", found.len(), pairs.len(), of_calm(&once).len());
        assert!(of_calm(&once).len() > 500 && found.len() * 10 > pairs.len() * 9, "{capture}");
        let fates = dart.fates()[0];
        assert!(fates.is_conserved() && fates.matched == found.len() as u64, "{fates:?}");
    }
}

/// In any memory, the report adds up, the memory limit is kept, and a warning says that the method is biased.
#[test]
fn small_memory_loses_and_says_so() {
    let capture = testdata("tcp/tcp.pcap.gz");
    let mut before = 0;
    for memory in ["14KiB", "24KiB", "1MiB"] {
        let run = dwell(&["rtt", &capture, "--method", "dart", "--memory", memory, "--format", "json"]);
        assert!(run.code == 0 && run.err.contains("dart is biased"), "{}", run.err);
        let report = run.json();
        assert_conserved(&report);
        assert!(report["memory"]["state_bytes"].as_u64() <= report["memory"]["budget_bytes"].as_u64());
        assert_eq!(report["results"].as_array().unwrap().len(), 1);
        let samples = line(&report, "tcp-ack", "both")["samples"].as_u64().unwrap();
        assert!(samples >= before, "{memory}: {samples}");
        before = samples;
        let trackers = &report["method"]["trackers"]["tcp-ack"];
        assert!(trackers["ranges"].as_u64() > Some(0) && trackers["packets"].as_u64() > Some(0), "{trackers}");
    }
    assert!(before > 2_000, "{before}");
}

#[test]
fn it_measures_segments_alone() {
    let capture = testdata("dns/dns.pcap.xz");
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.csv").to_str().unwrap().to_owned();
    std::fs::write(&log, "at_ns,kind,id\n").unwrap();
    let log = ["rtt", "--events", &log, "--method", "dart"];
    let rtt = ["rtt", &capture, "--method", "dart", "--match", "tcp-ack,dns"];
    let compare = ["compare", &capture, "--methods", "dart", "--match", "dns"];
    for (arguments, other) in [(&log[..], "events"), (&rtt, "dns"), (&compare, "dns")] {
        let run = dwell(arguments);
        assert_eq!(run.code, 2, "{}", run.err);
        assert!(run.err.contains(&format!("dart measures tcp-ack, not {other}")), "{}", run.err);
    }
}

/// `dwell compare` lists it where it can measure, with the same true values as for the other methods.
#[test]
fn it_is_compared_where_it_can_be() {
    let capture = testdata("mixed/mixed.pcap.zst");
    let how = ["--memory", "64KiB", "--seeds", "3", "--methods", "dart,auto", "--format", "json"];
    let report = dwell(&[&["compare", &capture], &how[..]].concat()).ok().json();
    let without = dwell(&[&["compare", &capture], &how[..4], &["--methods", "auto", "--format", "json"]].concat());
    let without = without.ok().json();
    for (matched, alone) in report["matches"].as_array().unwrap().iter().zip(without["matches"].as_array().unwrap()) {
        let leg = &matched["legs"][0];
        assert_eq!(leg["truth_ns"], alone["legs"][0]["truth_ns"]);
        let lines = leg["results"].as_array().unwrap();
        let auto = lines.iter().find(|line| line["method"] == "auto").unwrap();
        assert_eq!(auto, &alone["legs"][0]["results"][0]);
        assert_eq!(lines.len(), if matched["match"] == "tcp-ack" { 2 } else { 1 });
    }
    let alone = dwell(&["compare", &capture, "--memory", "64KiB", "--methods", "dart", "--format", "json"]).ok().json();
    assert_eq!(alone["matches"].as_array().unwrap().len(), 1);
}
