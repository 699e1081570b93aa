//! Logs of requests and responses, of crossings, and of what passed a queue: every line is taken or refused, and a cut
//! of the log changes no line before it.

use dwell_capture::InputState;
use dwell_logs::{CrossingLog, EventLog, SojournLog};
use dwell_sketch::conquest::{Culprit, Params};
use dwell_sketch::queue::{Method, QueueMeter, Settings};
use dwell_types::{Crossing, Departure, Nanos, Observation, Timestamp};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// What a pipe holds before somebody reads.
const MOST_BYTES: usize = 60_000;

/// Groups besides "other".
const MOST_GROUPS: usize = 3;

/// What their names may take.
const NAME_BYTES: usize = 40;

/// Gives a reader a path under which it finds these bytes.
fn with_file<T>(bytes: &[u8], read: impl FnOnce(PathBuf) -> T) -> T {
    let (pipe, mut to) = io::pipe().expect("a pipe");
    to.write_all(&bytes[..bytes.len().min(MOST_BYTES)]).expect("the pipe holds as much");
    drop(to);
    read(format!("/dev/fd/{}", pipe.as_raw_fd()).into())
}

/// The lines of a log of requests and responses before the first that is refused.
fn events(bytes: &[u8]) -> Vec<(Timestamp, Observation, String)> {
    with_file(bytes, |path| {
        let Ok(mut events) = EventLog::open(&path, MOST_GROUPS, Some(NAME_BYTES), 1, None) else { return Vec::new() };
        let before = events.state_bytes();
        let mut seen = Vec::new();
        while let Ok(Some(observation)) = events.next_observation() {
            let (Observation::Request(sighting) | Observation::Response(sighting)) = observation;
            assert!(usize::from(sighting.series.group) <= if events.has_groups() { MOST_GROUPS } else { 0 });
            assert_eq!(sighting.at, events.at());
            seen.push((events.at(), observation, events.group_name(sighting.series.group)));
        }
        assert!(!events.lines().is_stopped() && events.backwards() <= seen.len() as u64 + 1);
        assert_eq!(events.state_bytes(), before);
        seen
    })
}

/// The lines of a log of crossings before the first that is refused.
fn crossings(bytes: &[u8]) -> Vec<(Crossing, Option<String>)> {
    with_file(bytes, |path| {
        let Ok(mut log) = CrossingLog::open(&path, 1, None) else { return Vec::new() };
        let mut seen = Vec::new();
        while let Ok(Some(crossing)) = log.next_crossing() {
            seen.push((crossing, log.flow_name().map(std::borrow::Cow::into_owned)));
        }
        assert!(!log.lines().is_stopped());
        seen
    })
}

/// Checks both readers, and what they say of the part before `cut`.
pub fn check(bytes: &[u8], cut: usize) {
    let part = &bytes[..cut.min(bytes.len())];
    assert_begins(&events(bytes), &events(part));
    assert_begins(&crossings(bytes), &crossings(part));
}

/// The lines of a log of sojourns before the first that is refused.
fn sojourns(bytes: &[u8]) -> Vec<(Departure, String)> {
    with_file(bytes, |path| {
        let Ok(mut log) = SojournLog::open(&path, 1, None) else { return Vec::new() };
        let mut seen = Vec::new();
        while let Ok(Some(departure)) = log.next_departure() {
            seen.push((departure, log.flow_name()));
        }
        assert!(!log.lines().is_stopped() && log.backwards() <= seen.len() as u64);
        assert!(log.warnings().len() <= 2 && log.span().is_some() >= !seen.is_empty());
        seen
    })
}

/// Checks the reader of sojourns, and what is told of them: every line is counted once, and once in an episode at most.
pub fn check_sojourns(bytes: &[u8], cut: usize) {
    let whole = sojourns(bytes);
    assert_begins(&whole, &sojourns(&bytes[..cut.min(bytes.len())]));
    for (method, memory) in [(Method::Exact, None), (Method::Auto, Some(40 << 10)), (Method::Conquest, Some(24 << 10))]
    {
        measure(&whole, method, memory);
    }
}

/// What a meter of so many bytes tells of packets.
fn measure(packets: &[(Departure, String)], method: Method, memory: Option<usize>) {
    let longest = Nanos::new(1_000_000);
    let culprit = Culprit { share: 0.1, delay: Nanos::new(100) };
    let params = Params::for_queue(8 << 10, culprit, longest, 1).expect("eight kilobytes are enough");
    let settings = Settings {
        method,
        memory,
        longest,
        params,
        quiet: Nanos::new(1_000),
        flows: 8,
        top: 3,
        has_timeline: true,
        has_comparison: false,
    };
    let mut meter = QueueMeter::new(&settings).expect("the memory is enough");
    let mut answers = 0;
    for (departure, name) in packets {
        answers += u64::from(meter.update(departure, || name.clone()).is_some());
    }
    meter.end();
    let counts = meter.counts();
    assert_eq!((counts.packets, counts.packets - counts.unknown), (packets.len() as u64, answers));
    let episodes = meter.take_episodes();
    assert!(episodes.iter().map(|episode| episode.packets).sum::<u64>() <= counts.packets);
    for episode in &episodes {
        assert!(episode.start <= episode.end && episode.culprits.len() <= 3);
        assert!(episode.culprits.iter().all(|culprit| culprit.bytes <= culprit.most_bytes));
    }
}

/// All lines of the part but the last, which may be cut, are those of the whole.
fn assert_begins<T: PartialEq + std::fmt::Debug>(whole: &[T], part: &[T]) {
    let before = part.len().saturating_sub(1);
    assert!(before <= whole.len(), "{before} lines of {}", whole.len());
    assert_eq!(part[..before], whole[..before]);
}
