//! Both sides of a queue: captures where packets arrive and the one where they depart, merged in the order of time.

use super::arguments::Arguments;
use super::gaps::Gaps;
use super::warnings::{
    NO_CULPRIT, Waited, apart, doubt, is_late, other_inputs, swapped, too_short, unexplained, unseen,
};
use crate::points::{Beginning, Merged, Point, changed_between};
use anyhow::Result;
use dwell_capture::file::Stop;
use dwell_observe::crossing::Directions;
use dwell_sketch::queue::{TapCounts, Taps};
use dwell_types::{Departure, Nanos};
use std::path::PathBuf;

/// The captures, and the packets in flight between them.
pub(super) struct Sides {
    /// The egress is the last one.
    pub(super) points: Merged,
    egress: usize,
    taps: Taps,
    /// The longest wait that the taps allow.
    longest: Nanos,
    threshold: Nanos,
    /// How far the clock of the egress is taken to be ahead.
    offset: Nanos,
    pub(super) directions: Directions,
    /// A warning if directions could not be found.
    unexamined: Option<String>,
    /// Whether the current packet of the egress has already been returned.
    is_given: bool,
    /// Packets in the reverse direction.
    back: u64,
    /// The packets measured, and the first ones of the reverse direction, that waited for the threshold.
    waited: Waited,
    waited_back: Waited,
    gaps: Gaps,
}

impl Sides {
    /// Opens the captures, with this many bytes for the packets between them.
    pub(super) fn open(arguments: &Arguments, bytes: Option<usize>, stop: &Stop) -> Result<Self> {
        let (egress, ingress) = arguments.captures.split_last().unzip();
        let (ingress, egress) = (ingress.unwrap_or_default(), egress.cloned().unwrap_or_default());
        let reading = arguments.reading();
        let asked = Directions::of_sources(&arguments.from);
        let offset = arguments.clock_offset;
        let beginning = match asked {
            Directions::Forward => Beginning::look(ingress, &egress, &reading, asked, Some(offset), stop)?,
            given => Beginning::given(given),
        };
        let unexamined = beginning.unexamined();
        let (threshold, longest) = (arguments.threshold, arguments.longest);
        let mut waited_back = Waited::default();
        let possible = beginning.waits_back.iter().filter(|&&wait| wait <= longest);
        possible.for_each(|&wait| waited_back.add(wait, threshold));
        let directions = beginning.directions;
        let shifts = ingress.iter().map(|path| (path, Nanos::ZERO)).chain([(&egress, Nanos::new(-offset.get()))]);
        let open = |(path, shift): (&PathBuf, Nanos)| Point::open(path, &reading, &directions, shift, stop);
        Ok(Self {
            points: Merged::new(shifts.map(open).collect::<Result<_>>()?),
            egress: ingress.len(),
            taps: Taps::new(bytes, arguments.ways.into(), longest),
            longest,
            threshold,
            offset,
            directions,
            unexamined,
            is_given: false,
            back: 0,
            waited: Waited::default(),
            waited_back,
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
                    if let Some(arrived) = arrived {
                        self.waited.add(departed - arrived, self.threshold);
                    }
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
        if let Directions::Found(_) = self.directions {
            warnings.extend(other_inputs(&self.points[self.egress], self.counts().departed));
        }
        if let Some(words) = self.points.offloaded() {
            warnings.push(format!("{words}. {NO_CULPRIT}"));
            return warnings;
        }
        let (counts, longest) = (self.counts(), self.longest);
        let unexplained = unexplained(&counts, longest);
        let apart = || apart(&self.waited, self.threshold, self.offset);
        let swapped = || swapped(&self.waited_back, &self.waited, self.threshold);
        let doubt = doubt(&counts, longest).or_else(apart).or_else(swapped);
        let mut doubts: Vec<String> = doubt.into_iter().chain(too_short(&counts, longest)).collect();
        doubts.extend(self.gaps.warnings(unexplained));
        if doubts.is_empty() {
            let changed = changed_between(counts.departed, counts.expired + counts.waiting, unexplained);
            let changed = changed.map(|words| format!("{words}. {NO_CULPRIT}"));
            doubts.extend(changed.or_else(|| unseen(counts.departed, unexplained)));
        }
        warnings.extend(doubts);
        warnings
    }
}
