//! A measurement point: its packets, read from a capture or a log.

use crate::disorder::Disorder;
use crate::frames::undecoded;
use crate::messages::{FEW, many};
use crate::units::{one_of, seed, whole};
use anyhow::Result;
use clap::Args;
use dwell_capture::file::Stop;
use dwell_capture::{CaptureFiles, FrameSource, Name};
use dwell_logs::{CrossingLog, shortened};
use dwell_observe::Frames;
use dwell_observe::crossing::{Crossings, Directions, Flow, Passing, Settings};
use dwell_observe::group::Grouping;
use dwell_observe::parse::Key;
use dwell_report::facts::Parameter;
use dwell_report::text;
use dwell_types::{Crossing, FlowKey, Nanos, Series, Timestamp, protocol};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// How packets are read and identified.
#[derive(Clone)]
pub(crate) struct Reading {
    /// Read logs instead of captures.
    pub(crate) is_log: bool,
    /// Which fields identify a packet.
    pub(crate) names: Settings,
}

/// How packets are named: the same at all points.
#[derive(Args, Clone)]
pub(crate) struct NamingArguments {
    /// Which addresses of tunnelled packets to use; with inner, a tunnel may begin or end between the points.
    #[arg(long, value_parser = one_of(Key::ALL, Key::name), default_value = Key::Inner.name(), help_heading = "What is measured")]
    key: Key,
    /// Addresses and ports are translated between the points; in --from name the sender's addresses as either point
    /// sees them.
    #[arg(long, help_heading = "What is measured")]
    pub(crate) nat: bool,
    /// Payload bytes used to identify a packet, as far as captured.
    #[arg(long, value_name = "N", default_value_t = Settings::PAYLOAD_BYTES, value_parser = whole::<usize>, help_heading = "What is measured")]
    payload_bytes: usize,
    /// Seed of all hashes: the same seed gives the same result. Whoever knows it can craft packets that evade or slow
    /// down the measurement: on untrusted traffic choose a secret one, or `random`; the report names it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed, help_heading = "Method and memory")]
    pub(crate) seed: u64,
}

impl NamingArguments {
    /// How to read a point, whose flows are defined by `group`, or else by addresses and ports.
    pub(crate) fn reading(&self, is_log: bool, group: Option<Grouping>) -> Reading {
        let &Self { key, nat, payload_bytes, seed } = self;
        Reading { is_log, names: Settings { key, nat, payload_bytes, group, seed } }
    }

    /// The arguments that are not the defaults, each after a space.
    pub(crate) fn flags(&self) -> String {
        let &Self { key, nat, payload_bytes, seed } = self;
        let flags = [
            (key != Key::Inner).then(|| format!(" --key {}", key.name())),
            nat.then(|| " --nat".to_owned()),
            (payload_bytes != Settings::PAYLOAD_BYTES).then(|| format!(" --payload-bytes {payload_bytes}")),
            (seed != 0).then(|| format!(" --seed {seed}")),
        ];
        flags.into_iter().flatten().collect()
    }

    /// The arguments that decide the names of packets in captures, for the report.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'static str, Parameter)> {
        let nat = self.nat.then(|| ("nat", Parameter::Text("yes".to_owned())));
        [("payload_bytes", Parameter::Integer(self.payload_bytes as u64))].into_iter().chain(nat)
    }
}

/// A measurement point, positioned at the next packet that passes it.
pub(crate) struct Point {
    source: Source,
    path: PathBuf,
    /// The next packet, and those after it, by which an implausible timestamp of it is recognised.
    ahead: VecDeque<Ahead>,
    /// Whether everything has been read.
    has_ended: bool,
    /// Clock correction added to all times.
    shift: Nanos,
    /// Of all packets that were read, also those of directions that are not measured.
    read: Disorder,
    /// First and last timestamp so far.
    pub(crate) span: Option<(Timestamp, Timestamp)>,
    disorder: Disorder,
    /// Time of the previous packet.
    before: Option<Timestamp>,
    /// Packets with implausible timestamps, which were replaced.
    wild: u64,
    /// Packets that are measured, and those of a direction that is not.
    measured: u64,
    pub(crate) elsewhere: u64,
    /// How many of the latter have a direction that should have been found.
    untold: u64,
    /// How many of them go between two addresses of `--from`.
    within: u64,
    /// TCP packets that are measured, to the receiver and back: how many, and the bytes of the longest.
    segments: [(u64, u32); 2],
}

/// A packet, and whether it goes from the sender to the receiver or back.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) crossing: Crossing,
    pub(crate) is_reverse: bool,
}

#[allow(clippy::large_enum_variant, reason = "a run has two values of it")]
enum Source {
    Capture { files: CaptureFiles, crossings: Crossings, directions: Directions },
    Log(CrossingLog),
}

/// A packet that was read, and its flow.
struct Ahead {
    seen: Seen,
    whose: Whose,
}

enum Whose {
    Flow(Flow),
    /// The flow name in a log, if it has one.
    Named(Option<Box<str>>),
}

impl Ahead {
    /// A packet with its time shifted by `shift`.
    #[inline]
    fn new(crossing: Crossing, shift: Nanos, is_reverse: bool, whose: Whose) -> Self {
        Self { seen: Seen { crossing: Crossing { at: crossing.at + shift, ..crossing }, is_reverse }, whose }
    }
}

/// Number of packets read beyond the next one.
const AHEAD: usize = 4;
/// A time that differs from its neighbours by more than this, in nanoseconds, may be wild (implausible).
const FAR: u64 = 1_000_000_000;

/// A replacement for a wild time: one that is far from that of the packet before it and from that of one of the
/// next few (`behind`), while these two are closer to each other. At either end of a capture, where a pause looks the
/// same, a time is wild only if the other times are in order without it.
///
/// Otherwise such a time would be the current time until the other point ends, and all packets in flight be lost.
fn instead(
    at: Timestamp,
    before: Option<Timestamp>,
    behind: impl Iterator<Item = Timestamp> + Clone,
) -> Option<Timestamp> {
    let apart = |a: Timestamp, b: Timestamp| a.as_nanos().abs_diff(b.as_nanos());
    let Some(before) = before else {
        let is_wild = behind.clone().all(|other| at > other && apart(at, other) > FAR);
        return behind.min().filter(|_| is_wild);
    };
    if apart(at, before) <= FAR {
        return None;
    }
    let is_wild = |other| {
        let far = apart(at, before).min(apart(at, other));
        far > FAR && far / 2 > apart(before, other)
    };
    let is_last = behind.clone().next().is_none();
    (behind.clone().any(is_wild) || is_last && at < before).then_some(before)
}

impl Point {
    /// Opens a point and reads its first packets.
    pub(crate) fn open(
        path: &Path,
        reading: &Reading,
        directions: &Directions,
        shift: Nanos,
        stop: &Stop,
    ) -> Result<Self> {
        let source = if reading.is_log {
            Source::Log(CrossingLog::open(path, reading.names.seed, Some(stop))?)
        } else {
            Source::Capture {
                files: CaptureFiles::open([path])?.until(stop),
                crossings: Crossings::new(reading.names.clone()),
                directions: directions.clone(),
            }
        };
        let mut point = Self {
            source,
            path: path.to_owned(),
            ahead: VecDeque::with_capacity(AHEAD + 1),
            has_ended: false,
            shift,
            read: Disorder::NONE,
            span: None,
            disorder: Disorder::NONE,
            before: None,
            wild: 0,
            measured: 0,
            elsewhere: 0,
            untold: 0,
            within: 0,
            segments: [(0, 0); 2],
        };
        point.look()?;
        Ok(point)
    }

    /// The time of the next packet; `None` at the end.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        self.peek().map(|seen| seen.crossing.at)
    }

    pub(crate) fn peek(&self) -> Option<Seen> {
        self.ahead.front().map(|next| next.seen)
    }

    /// The last packet that was read ahead.
    pub(crate) fn farthest(&self) -> Option<&Crossing> {
        self.ahead.back().map(|last| &last.seen.crossing)
    }

    /// Addresses and ports of the next packet.
    pub(crate) fn key(&self) -> Option<FlowKey> {
        match &self.ahead.front()?.whose {
            Whose::Flow(flow) => Some(flow.key),
            Whose::Named(_) => None,
        }
    }

    /// The name of the next packet's flow.
    pub(crate) fn flow_name(&self) -> String {
        match self.ahead.front().map(|next| &next.whose) {
            Some(Whose::Flow(flow)) => shortened(&flow.name()).into_owned(),
            Some(Whose::Named(name)) => name.as_deref().unwrap_or(Series::ALL).to_owned(),
            None => String::new(),
        }
    }

    /// Advances by one packet.
    pub(crate) fn advance(&mut self) -> Result<()> {
        self.before = self.at();
        self.ahead.pop_front();
        self.look()
    }

    /// Ends after the packets that have been read ahead.
    pub(crate) fn read_no_more(&mut self) {
        self.has_ended = true;
    }

    /// Reads ahead, then checks and records the time of the next packet.
    fn look(&mut self) -> Result<()> {
        while self.ahead.len() <= AHEAD && !self.has_ended {
            self.has_ended = !self.read()?;
        }
        let mut behind = self.ahead.iter().map(|ahead| ahead.seen.crossing.at);
        let Some(mut at) = behind.next() else { return Ok(()) };
        if let Some(instead) = instead(at, self.before, behind) {
            at = instead;
            self.wild += 1;
            self.ahead[0].seen.crossing.at = at;
        }
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        self.disorder.see(at);
        Ok(())
    }

    /// Reads one more packet, if there is one.
    fn read(&mut self) -> Result<bool> {
        let (files, crossings, directions) = match &mut self.source {
            Source::Log(log) => {
                let Some(crossing) = log.next_crossing()? else { return Ok(false) };
                let whose = Whose::Named(log.flow_name().map(|name| name.into_owned().into()));
                self.read.see(crossing.at + self.shift);
                self.ahead.push_back(Ahead::new(crossing, self.shift, false, whose));
                return Ok(true);
            }
            Source::Capture { files, crossings, directions } => (files, crossings, directions),
        };
        while let Some(frame) = files.next_frame()? {
            let Some(Passing { crossing, flow }) = crossings.observe(&frame) else { continue };
            let FlowKey { source, destination, protocol, .. } = flow.key;
            self.read.see(crossing.at + self.shift);
            let Some(is_reverse) = directions.is_reverse(source, destination) else {
                self.elsewhere += 1;
                // Link-local packets can occur at either point, so their direction is not expected to be found.
                let is_neighbour = source.is_unspecified() || source.is_link_local();
                self.untold += u64::from(directions.is_unknown(source, destination) && !is_neighbour);
                self.within += u64::from(directions.is_within(source, destination));
                continue;
            };
            self.measured += 1;
            if protocol == protocol::TCP {
                let (number, longest) = &mut self.segments[usize::from(is_reverse)];
                *number += 1;
                *longest = crossing.bytes.max(*longest);
            }
            self.ahead.push_back(Ahead::new(crossing, self.shift, is_reverse, Whose::Flow(flow)));
            return Ok(true);
        }
        Ok(false)
    }

    /// When the last of all packets was seen, also of directions that are not measured; not a single wild time.
    pub(crate) fn until(&self) -> Timestamp {
        self.read.present(None)
    }

    pub(crate) fn frames(&self) -> Option<&Frames> {
        match &self.source {
            Source::Capture { crossings, .. } => Some(crossings.frames()),
            Source::Log(_) => None,
        }
    }

    /// Packets that the capture cuts before the last byte that identifies them.
    pub(crate) fn cut(&self) -> u64 {
        match &self.source {
            Source::Capture { crossings, .. } => crossings.cut(),
            Source::Log(_) => 0,
        }
    }

    /// Total number of bytes, if known, and number of bytes read.
    pub(crate) fn progress(&self) -> (Option<u64>, u64) {
        match &self.source {
            Source::Capture { files, .. } => (files.bytes_total(), files.bytes_read()),
            Source::Log(_) => (None, 0),
        }
    }

    /// Whether reading was stopped by a signal.
    pub(crate) fn is_stopped(&self) -> bool {
        match &self.source {
            Source::Capture { files, .. } => files.is_stopped(),
            Source::Log(log) => log.lines().is_stopped(),
        }
    }

    /// Whether the capture or log could not be read to its end.
    pub(crate) fn is_damaged(&self) -> bool {
        match &self.source {
            Source::Capture { files, .. } => files.is_damaged(),
            Source::Log(log) => log.lines().is_damaged(),
        }
    }

    /// A warning if TCP packets of a direction are far longer here than at the other point, and so many fewer that losses
    /// do not explain it: offloading merges segments here, or splits them there, and these have nothing in common.
    pub(crate) fn offloaded(&self, other: &Self) -> Option<String> {
        /// Every path carries so many bytes: packets that are all shorter hold no full segment (RFC 9293 §3.7.1).
        const FULL: u32 = 576;
        self.segments.into_iter().zip(other.segments).find_map(|((fewer, longest), (more, split))| {
            let are_merged = split >= FULL && longest / 3 >= split / 2;
            let are_fewer = fewer + many(more) <= more;
            (are_merged && are_fewer).then(|| {
                format!(
                    "{}: TCP packets have up to {longest} bytes, but up to {split} at the other point: offloading merges \
                     segments on one side, or splits them, and such packets match nothing: they count as lost, and have no \
                     delay. Switch it off where captures are taken (ethtool -K INTERFACE tso off gso off gro off lro off)",
                    Name(&self.path)
                )
            })
        })
    }

    /// Frames that the capture cuts before the addresses or ports, so that they are no packets.
    fn headless(&self) -> u64 {
        let rejected = self.frames().map(Frames::rejected);
        rejected.into_iter().flatten().filter(|(reject, _)| reject.is_truncated()).map(|(_, frames)| frames).sum()
    }

    /// A warning if many frames are cut before their ports here, and as many packets are missing that the other point has.
    pub(crate) fn truncated(&self, other: &Self) -> Option<String> {
        let more = self.headless().saturating_sub(other.headless());
        let many = many(other.measured);
        (more >= many && self.measured + many <= other.measured).then(|| {
            format!(
                "{}: {more} frames more than at the other point are truncated before the ports of their innermost packet, and \
                 cannot be compared: the same packets seem to be lost, or never sent. Capture more bytes (-s), or truncate both \
                 captures (editcap -s LENGTH)",
                Name(&self.path)
            )
        })
    }

    /// Warnings for the reader.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = match &self.source {
            Source::Capture { files, .. } => files.warnings().iter().map(ToString::to_string).collect(),
            Source::Log(log) => Vec::from_iter(log.lines().warning()),
        };
        let name = Name(&self.path);
        if let Source::Capture { crossings, .. } = &self.source {
            let words = undecoded(crossings.frames(), crossings.unknown_link());
            warnings.extend(words.map(|words| format!("{name}: {words}")));
        }
        let disorder = self.disorder.warning("packet", false);
        warnings.extend(
            disorder.map(|words| format!("{name}: {words}; if it is joined from parts, join them in their order")),
        );
        warnings.extend(self.disorder.warning_of_leaps("packet").map(|words| format!("{name}: {words}")));
        if self.wild > 0 {
            let packets = text::are(self.wild, "packet");
            warnings.push(format!(
                "{name}: {packets} timestamped far from neighbouring packets; the timestamp of the packet before is \
                 used instead"
            ));
        }
        if self.untold > 0 {
            warnings.push(format!(
                "{name}: {} left out, since the first packets of the captures do not show their direction: name the \
                 sender's side with --from PREFIX",
                text::are(self.untold, "packet")
            ));
        }
        if self.within > self.measured {
            warnings.push(format!(
                "{name}: {} not measured, since they go between two addresses of --from, but only {}: if they pass both points, \
                 name one side only (or all addresses, 0.0.0.0/0,::/0: then all packets go forward)",
                text::are(self.within, "packet"),
                text::are(self.measured, "other")
            ));
        }
        if self.cut() > 0 {
            warnings.push(format!(
                "{name}: {} truncated within the bytes that identify a packet, and match only packets truncated at \
                 the same byte after the IP header begins: if the other capture is longer, truncate it as well \
                 (editcap -s LENGTH, longer by what it has more below IP, as 4 bytes for a VLAN tag)",
                text::are(self.cut(), "packet")
            ));
        }
        warnings
    }
}

/// A warning if of `packets` many are `missing` at the second point and about as many there, or several times as many, are
/// `strange`, that is not seen at the first: these are probably the same packets, modified or fragmented in between.
pub(crate) fn changed_between(packets: u64, missing: u64, strange: u64) -> Option<String> {
    /// Few packets are sent in more fragments.
    const FRAGMENTS: u64 = 3;
    let are_alike = missing / 2 <= strange && strange <= (FRAGMENTS * missing).saturating_add(FEW);
    let or =
        if missing > packets / 10 * 9 { ", or the clocks differ by more than --longest (--clock-offset)" } else { "" };
    (missing.min(strange) >= many(packets) && are_alike).then(|| {
        format!(
            "{missing} packets did not arrive, and {strange} arrived that were not seen at the first point: something \
             between may rewrite what identifies them (addresses or ports: --nat; offloading; IP identifications or \
             timestamps), or fragment them{or}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times as a point reports them, in seconds, and how many were considered wild.
    fn given(seconds: &[f64]) -> (Vec<f64>, usize) {
        let all: Vec<_> = seconds.iter().map(|seconds| Timestamp::from_nanos((seconds * 1e9) as i64)).collect();
        let (mut given, mut wild) = (Vec::new(), 0);
        for (number, &at) in all.iter().enumerate() {
            let behind = all[number + 1..].iter().take(AHEAD).copied();
            let instead = instead(at, given.last().copied(), behind);
            wild += usize::from(instead.is_some());
            given.push(instead.unwrap_or(at));
        }
        (given.iter().map(|at| at.as_nanos() as f64 / 1e9).collect(), wild)
    }

    const YEAR: f64 = 3e7;

    /// One or two wild times are replaced, at every position at which they can be recognised.
    #[test]
    fn wild_times_are_replaced() {
        let wilds =
            [&[YEAR][..], &[-YEAR], &[YEAR, 2.0 * YEAR], &[2.0 * YEAR, YEAR], &[-YEAR, YEAR], &[YEAR; 2], &[1.5]];
        let sane: Vec<f64> = (0..20).map(|n| 0.01 * f64::from(n)).collect();
        for wild in wilds {
            // At either end, wild times that are in order may also be a pause.
            let first = usize::from(wild[0] < 0.0 || wild.len() > 1);
            let last = sane.len() - if wild.iter().any(|&at| at > 0.0) { AHEAD } else { 0 };
            for place in first..=last {
                let mut seconds = sane.clone();
                seconds.splice(place..place, wild.iter().copied());
                let (given, count) = given(&seconds);
                assert_eq!(count, wild.len(), "{wild:?} at {place}");
                assert!(given.is_sorted() && given.iter().all(|at| (0.0..0.2).contains(at)), "{wild:?} at {place}");
            }
        }
    }

    /// Pauses, concatenated captures, clocks that are set, and slight reordering must not be taken for wild times.
    #[test]
    fn odd_times_stay() {
        let pause = [0.0, 1.0, 2.0, 3_000.0, 3_001.0, 9_000.0, 20_000.0];
        let set_back = [7_000.0, 7_002.0, 7_004.0, 3_600.0, 3_605.0, 3_610.0, 3_640.0, 3_650.0];
        let set_on = [0.0, 0.5, YEAR, YEAR + 3.0, YEAR + 9.0, YEAR + 12.0];
        let swapped = [0.0, 0.9, 0.1, 1.8, 1.0, 0.95, 2.0];
        let slow = [0.0, 1e4, 2e4, 1.5e4, 3e4];
        for seconds in [&pause[..], &set_back, &set_on, &swapped, &slow, &[0.0], &[0.0, 5.0], &[]] {
            assert_eq!(given(seconds), (seconds.to_vec(), 0));
        }
    }
}
