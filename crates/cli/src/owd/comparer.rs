//! What every way of comparing two points does with their packets, and what it answers.

use crate::points::{Point, Seen};
use dwell_report::facts::Parameter;
use dwell_report::owd::samples::Sample;
use dwell_report::owd::{ClockDrift, ClockOffset, Flow, Interval, Line};
use dwell_sketch::owd::Side;
use dwell_types::Timestamp;
use std::collections::BTreeMap;

/// A method of comparing two points.
pub(super) trait Comparer {
    /// Processes the next packet of a point. Returns whether there are intervals or samples to be taken.
    fn update(&mut self, side: Side, seen: &Seen, point: &Point) -> bool;

    /// A point has ended, which saw its last packet of whatever direction then.
    fn end(&mut self, side: Side, until: Timestamp);

    /// The intervals that ended since the last call.
    fn take_intervals(&mut self) -> Vec<Interval>;

    /// The packets whose fate became known since the last call, if they are to be written and are compared one by one.
    fn take_samples(&mut self) -> Vec<Sample> {
        Vec::new()
    }

    /// All other results, when both points have ended; both are read like the sender.
    fn answer(&mut self, sender: &Point) -> Answer;
}

/// The result of a comparer.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) total: Line,
    pub(super) reverse: Option<Line>,
    /// `low` > `high` if the delays of both directions contradict each other.
    pub(super) clock_offset: Option<ClockOffset>,
    pub(super) clock_drift: Option<ClockDrift>,
    pub(super) flows: Vec<Flow>,
    /// Arrivals at the sender (reverse direction) and at the receiver that were not seen being sent.
    pub(super) unsent: [Option<u64>; 2],
    /// Duplicates at the sender and at the receiver, in both directions.
    pub(super) duplicates: [Option<u64>; 2],
    /// Whether these are too many to be chance.
    pub(super) are_duplicates_many: [bool; 2],
    /// How many of the receiver's unsent packets are duplicates.
    pub(super) surplus: u64,
    pub(super) is_exact: bool,
    pub(super) state_bytes: usize,
    pub(super) parameters: BTreeMap<&'static str, Parameter>,
    /// Whether every flow had a place in memory from its first packet on.
    pub(super) has_all_flows: bool,
    /// Warnings of the method.
    pub(super) warnings: Vec<String>,
}

impl Answer {
    /// The lines of all packets: those of the measured direction, and those of the other one, if it is measured.
    pub(super) fn directions(&self) -> impl Iterator<Item = &Line> {
        std::iter::once(&self.total).chain(&self.reverse)
    }
}
