//! Both sides of a queue: captures where packets arrive and the one where they depart, merged in the order of time.

use super::arguments::Arguments;
use crate::beginning;
use crate::merged::Merged;
use crate::points::{Point, changed_between};
use crate::words::CAPTURED_TWICE;
use anyhow::Result;
use dwell_capture::file::Stop;
use dwell_observe::crossing::Directions;
use dwell_report::moment;
use dwell_sketch::queue::{TapCounts, Taps};
use dwell_types::{Departure, Nanos, Timestamp};

/// The captures, and the packets in flight between them.
pub(super) struct Sides {
    /// The egress is the last one.
    pub(super) points: Merged,
    egress: usize,
    taps: Taps,
    /// The longest wait that the taps allow.
    longest: Nanos,
    pub(super) directions: Directions,
    /// A warning if directions could not be found.
    unexamined: Option<String>,
    /// Whether the current packet of the egress has already been returned.
    is_given: bool,
    /// Packets in the reverse direction.
    back: u64,
    gaps: Gaps,
}

impl Sides {
    /// Opens the captures, with this many bytes for the packets between them.
    pub(super) fn open(arguments: &Arguments, bytes: Option<usize>, stop: &Stop) -> Result<Self> {
        let (egress, ingress) = arguments.captures.split_last().unzip();
        let (ingress, egress) = (ingress.unwrap_or_default(), egress.cloned().unwrap_or_default());
        let reading = arguments.reading();
        let asked = Directions::asked(&arguments.from, false);
        let (directions, unexamined) = match asked {
            Directions::Forward => {
                let beginning = beginning::look(ingress, &egress, &reading, asked, true, stop)?;
                let unexamined = beginning.unexamined();
                (beginning.directions, unexamined)
            }
            asked => (asked, None),
        };
        let open = |path| Point::open(path, &reading, &directions, Nanos::ZERO, stop);
        Ok(Self {
            points: Merged::new(ingress.iter().chain([&egress]).map(|path| open(path)).collect::<Result<_>>()?),
            egress: ingress.len(),
            taps: Taps::new(bytes, arguments.ways.into(), arguments.longest),
            longest: arguments.longest,
            directions,
            unexamined,
            is_given: false,
            back: 0,
            gaps: Gaps::default(),
        })
    }

    /// The next packet that departs. Of packets at the same time those that arrive come first.
    pub(super) fn next(&mut self) -> Result<Option<Departure>> {
        if std::mem::take(&mut self.is_given) {
            self.advance(self.egress)?;
        }
        while let Some(number) = self.points.next() {
            match self.points[number].peek() {
                Some(seen) if seen.is_reverse => self.back += 1,
                Some(seen) if number == self.egress => {
                    self.is_given = true;
                    let crossing = seen.crossing;
                    let overdue = self.taps.overdue();
                    let arrived = self.taps.take(&crossing);
                    self.gaps.depart(crossing.at, arrived.is_some() || self.taps.overdue() > overdue);
                    let departed = crossing.at;
                    return Ok(Some(Departure { arrived, departed, flow: crossing.flow, bytes: crossing.bytes }));
                }
                Some(seen) => {
                    self.taps.insert(&seen.crossing);
                    self.gaps.arrive(seen.crossing.at);
                }
                None => {}
            }
            self.advance(number)?;
        }
        Ok(None)
    }

    /// Advances a point, and prefetches what the packet read last will need.
    #[inline]
    fn advance(&mut self, number: usize) -> Result<()> {
        self.points.advance(number)?;
        if let Some(crossing) = self.points[number].farthest() {
            self.taps.prefetch(crossing.packet);
        }
        Ok(())
    }

    /// The name of the flow of the packet returned last.
    pub(super) fn flow_name(&self) -> String {
        self.points[self.egress].flow_name()
    }

    pub(super) fn counts(&self) -> TapCounts {
        self.taps.counts()
    }

    /// Packets seen to depart after the longest wait.
    pub(super) fn overlong(&self) -> u64 {
        let counts = self.counts();
        if is_late(&counts, self.longest) { counts.overdue } else { 0 }
    }

    pub(super) fn elsewhere(&self) -> u64 {
        self.back + self.points.elsewhere()
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.taps.state_bytes()
    }

    /// Warnings about the captures.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.points.warnings();
        warnings.extend(self.unexamined.clone());
        let (counts, longest) = (self.counts(), self.longest);
        let unexplained = unexplained(&counts, longest);
        let mut doubts: Vec<String> = doubt(&counts, longest).into_iter().chain(too_short(&counts, longest)).collect();
        doubts.extend(self.gaps.warnings(unexplained));
        if doubts.is_empty() {
            let changed = changed_between(counts.departed, counts.expired + counts.waiting, unexplained);
            doubts.extend(changed.or_else(|| unseen(counts.departed, unexplained)));
        }
        warnings.extend(doubts);
        warnings
    }
}

/// One in so many packets may seem to have departed before it arrived, because an equal one did.
const SINGLE: u64 = 1_000;

/// Warns if the counts show that something is wrong with the captures.
fn doubt(counts: &TapCounts, longest: Nanos) -> Option<String> {
    let &TapCounts { matched, backwards, ahead: (least, most), evicted, .. } = counts;
    if counts.departed > 0 && matched + backwards == 0 && !is_late(counts, longest) {
        return Some(
            "no packet was seen on both sides: are these captures of the same traffic at the same time, with the same \
             addresses (--nat), and clocks that agree (--longest)?"
                .to_owned(),
        );
    }
    if backwards > matched {
        return Some(format!(
            "{backwards} packets departed before they arrived, by {least} to {most}, and {matched} after: the \
             captures are in the wrong order (the last one is where packets depart), or the last one's clock is \
             behind"
        ));
    }
    if backwards * SINGLE > matched {
        return Some(format!(
            "{backwards} packets departed before they arrived, by up to {most}: the clocks differ by at least that, \
             or the captures hold both directions (--from PREFIX)"
        ));
    }
    (evicted > 0)
        .then(|| format!("{evicted} packets in the queue did not fit the memory (--memory): their delays are unknown"))
}

/// Whether packets waited for longer than the longest wait. Where all that seem to did so for more than ten times as
/// long, they are others that equal the lost ones: waits of a queue are of any length up to the longest.
fn is_late(counts: &TapCounts, longest: Nanos) -> bool {
    counts.overdue > 0 && counts.overdue_waits.0.get() / 10 <= longest.get()
}

/// Whether packets waited for the longest wait or more, or nearly so.
fn is_reached(counts: &TapCounts, longest: Nanos) -> bool {
    is_late(counts, longest) || counts.longest_wait.get() > longest.get() / 10 * 9
}

/// Departures without an arrival for which the table between the captures gives no reason.
fn unexplained(counts: &TapCounts, longest: Nanos) -> u64 {
    let forgotten = if is_reached(counts, longest) { counts.forgotten } else { 0 };
    counts.unknown.saturating_sub(counts.backwards + counts.overdue + counts.evicted + forgotten)
}

/// Warns if many packets depart that were not seen to arrive.
fn unseen(departed: u64, unexplained: u64) -> Option<String> {
    const FEW: u64 = 20;
    (unexplained >= FEW.max(departed / 50)).then(|| {
        format!(
            "{unexplained} of {departed} packets departed without being seen to arrive, and count as part of the queue: \
             did they arrive where no capture was taken, do they go the other way (--from PREFIX), or {CAPTURED_TWICE}"
        )
    })
}

/// Warns if packets wait for longer than `longest`.
fn too_short(counts: &TapCounts, longest: Nanos) -> Option<String> {
    /// So few that were given up are drops.
    const FEW: u64 = 20;
    let &TapCounts { departed, unknown, overdue, overdue_waits, forgotten, longest_wait, .. } = counts;
    if is_late(counts, longest) {
        let most = overdue_waits.1;
        let about = if forgotten > 0 { "at least " } else { "" };
        return Some(format!(
            "{about}{overdue} packets departed after more than --longest, {longest}, and up to {most}: they count as \
             not seen on the other side; use a longer --longest"
        ));
    }
    let late = forgotten.min(unknown);
    (is_reached(counts, longest) && late > FEW.max(departed / 50)).then(|| {
        format!(
            "packets waited for up to {longest_wait}, nearly as long as --longest, {longest}, and up to {late} may \
             have departed later: use a longer --longest, and more memory (--memory)"
        )
    })
}

/// Detects gaps: runs of packets seen on one side only.
#[derive(Clone, Default)]
struct Gaps {
    has_begun: bool,
    departed: Run,
    /// Packets departed since the last one that was seen arriving.
    unknown: Run,
    /// Packets arrived since the last departure.
    stuck: Run,
    longest_unknown: Run,
    longest_stuck: Run,
}

/// A run of consecutive packets.
#[derive(Clone, Copy, Default)]
struct Run {
    packets: u64,
    ends: Option<(Timestamp, Timestamp)>,
}

impl Run {
    /// Shorter runs have other causes.
    const LEAST: u64 = 100;

    fn add(&mut self, at: Timestamp) {
        self.packets += 1;
        self.ends = Some((self.ends.map_or(at, |ends| ends.0), at));
    }

    /// Ends the run, and keeps it if it is the longest.
    fn end(&mut self, longest: &mut Self) {
        let run = std::mem::take(self);
        if run.packets > longest.packets {
            *longest = run;
        }
    }

    fn words(&self) -> Option<String> {
        let (first, last) = self.ends.filter(|_| self.packets >= Self::LEAST)?;
        let since = moment(first.as_nanos());
        Some(format!("{} packets in {}, from {since} on", self.packets, last - first))
    }

    fn span(&self) -> Nanos {
        self.ends.map_or(Nanos::ZERO, |(first, last)| last - first)
    }
}

impl Gaps {
    fn arrive(&mut self, at: Timestamp) {
        self.stuck.add(at);
    }

    /// Processes a departure; `is_known` if its packet was seen arriving, however long before. Nothing before the first
    /// such packet counts as a gap.
    fn depart(&mut self, at: Timestamp, is_known: bool) {
        if is_known {
            self.unknown.end(&mut self.longest_unknown);
            if !self.has_begun {
                *self = Self { has_begun: true, ..Self::default() };
            }
        } else {
            self.unknown.add(at);
        }
        self.departed.add(at);
        self.stuck.end(&mut self.longest_stuck);
    }

    /// Whether the run lasts so long that many packets should have departed during it, unlike a burst of arrivals.
    fn is_gap(&self, stuck: &Run) -> bool {
        const LEAST_INTERVALS: i64 = 20;
        let intervals = self.departed.packets.saturating_sub(1).max(1) as i64;
        stuck.span().get() / LEAST_INTERVALS >= self.departed.span().get() / intervals
    }

    /// Warns of the longest runs, the one of departures unless most of it is explained otherwise: `unexplained` of all
    /// departures are not.
    fn warnings(&self, unexplained: u64) -> Vec<String> {
        let mut warnings = Vec::new();
        let is_unexplained = unexplained > self.longest_unknown.packets / 2;
        if let Some(words) = self.longest_unknown.words().filter(|_| is_unexplained) {
            warnings.push(format!(
                "a capture where packets arrive has a gap, or packets arrived elsewhere: {words}, departed without \
                 being seen to arrive"
            ));
        }
        if let Some(words) = self.longest_stuck.words().filter(|_| self.is_gap(&self.longest_stuck)) {
            warnings.push(format!("the capture where packets depart has a gap: {words}, arrived while none departed"));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn clocks_apart_and_wrong_order_are_told() {
        let counts = |matched, backwards| TapCounts {
            arrived: 100,
            departed: 100,
            matched,
            backwards,
            ahead: (Nanos::new(2_000), Nanos::new(20_000_000)),
            ..TapCounts::default()
        };
        let doubt = |counts: &TapCounts| doubt(counts, Nanos::from_secs(1));
        let words = |matched, backwards| doubt(&counts(matched, backwards)).unwrap_or_default();
        assert!(words(0, 0).contains("no packet was seen on both sides"));
        assert!(words(10, 90).contains("90 packets departed before they arrived, by 2.00 µs to 20.0 ms, and 10 after"));
        assert!(words(90, 10).contains("by up to 20.0 ms: the clocks differ"));
        assert_eq!((words(100, 0), words(1_000, 1)), (String::new(), String::new()));
        assert!(doubt(&TapCounts { evicted: 3, ..counts(97, 0) }).is_some_and(|words| words.contains("--memory")));
        assert_eq!(doubt(&TapCounts::default()), None);
    }

    #[test]
    fn waits_beyond_the_longest_are_told_and_explain_the_rest() {
        let longest = Nanos::from_secs(1);
        let counts = |overdue, forgotten, evicted, wait: i64| TapCounts {
            departed: 1_000,
            matched: 500,
            unknown: 500,
            expired: overdue + forgotten,
            overdue,
            forgotten,
            evicted,
            overdue_waits: (Nanos::new(wait), Nanos::new(wait)),
            longest_wait: Nanos::new(wait.min(longest.get())),
            ..TapCounts::default()
        };
        let words = |counts| too_short(&counts, longest).unwrap_or_default();
        let seen = counts(500, 0, 0, 3_000_000_000);
        assert!(words(seen).contains("500 packets departed after more than --longest, 1.00 s"), "{}", words(seen));
        let guessed = counts(0, 500, 0, 990_000_000);
        assert!(words(guessed).contains("up to 500 may have departed later"), "{}", words(guessed));
        // Drops in a queue whose waits are shorter.
        let dropped = counts(0, 500, 0, 500_000_000);
        assert_eq!(words(dropped), "");
        let unexplained = [seen, guessed, dropped, counts(0, 0, 480, 0)].map(|counts| unexplained(&counts, longest));
        assert_eq!(unexplained, [0, 0, 500, 20]);
        // Equal packets an hour apart, in captures of different times.
        let equal = TapCounts { matched: 0, longest_wait: Nanos::ZERO, ..counts(1, 0, 0, 3_600_000_000_000) };
        assert_eq!(words(equal), "");
        assert!(doubt(&equal, longest).is_some_and(|words| words.contains("no packet was seen on both sides")));
    }

    /// Warnings for packets that arrive 1 µs apart and depart 10 µs later, except for those that one side misses.
    fn gaps(misses_arrivals: std::ops::Range<i64>, misses_departures: std::ops::Range<i64>) -> Vec<String> {
        let mut gaps = Gaps::default();
        for packet in 0..2_000 {
            if !misses_arrivals.contains(&packet) {
                gaps.arrive(at(packet * 1_000));
            }
            let before = packet - 10;
            if before >= 0 && !misses_departures.contains(&before) {
                gaps.depart(at(packet * 1_000), !misses_arrivals.contains(&before));
            }
        }
        gaps.warnings(u64::MAX)
    }

    #[test]
    fn gaps_of_either_side_are_told_and_unequal_ends_are_none() {
        assert!(gaps(0..0, 0..0).is_empty());
        // Captures that begin and end at different times, and a few packets that took another way.
        assert!(gaps(0..500, 1_500..2_000).is_empty());
        assert!(gaps(600..650, 700..780).is_empty());
        let arrivals = gaps(600..900, 0..0);
        assert!(
            arrivals.len() == 1
                && arrivals[0].contains("300 packets in 299 µs, from 1970-01-01 00:00:00.000610 UTC on"),
            "{arrivals:?}"
        );
        // Bursts of a hundred packets that arrive at once and depart one per microsecond.
        let mut burst = Gaps::default();
        for packet in 0..1_000 {
            (0..100).for_each(|_| burst.arrive(at(packet * 100_000 + 1)));
            (0..100).for_each(|n| burst.depart(at(packet * 100_000 + n * 1_000), true));
        }
        assert!(burst.warnings(u64::MAX).is_empty() && burst.longest_stuck.packets == 100);
        let departures = gaps(0..0, 600..900);
        assert!(departures.len() == 1 && departures[0].contains("where packets depart has a gap"), "{departures:?}");
    }
}
