//! Several measurement points, read together in the order of time.

use super::Point;
use crate::frames::frames;
use anyhow::Result;
use dwell_capture::InputState;
use dwell_report::facts::{Frames, Span};
use dwell_types::Timestamp;
use std::ops::Index;

/// Points, each positioned at its next packet.
pub(crate) struct Merged(Vec<Point>);

impl Index<usize> for Merged {
    type Output = Point;

    fn index(&self, number: usize) -> &Point {
        &self.0[number]
    }
}

impl Merged {
    pub(crate) fn new(points: Vec<Point>) -> Self {
        Self(points)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Point> {
        self.0.iter()
    }

    /// The number of the point whose next packet is earliest, the first of several; `None` when all have ended.
    #[inline]
    pub(crate) fn next(&self) -> Option<usize> {
        self.next_by(|_, at| at).map(|(_, number)| number)
    }

    /// The same by clocks that tell the time at each point, with that time.
    #[inline]
    pub(crate) fn next_by(&self, clock: impl Fn(usize, Timestamp) -> Timestamp) -> Option<(Timestamp, usize)> {
        let at = |(number, point): (usize, &Point)| Some((clock(number, point.at()?), number));
        self.0.iter().enumerate().filter_map(at).min_by_key(|&(at, _)| at)
    }

    /// Advances a point by one packet. Once one was stopped, all end after the packets that they have read.
    #[inline]
    pub(crate) fn advance(&mut self, number: usize) -> Result<()> {
        self.0[number].advance()?;
        if self.0[number].is_stopped() {
            self.read_no_more();
        }
        Ok(())
    }

    /// All points end after the packets that they have read.
    pub(crate) fn read_no_more(&mut self) {
        self.0.iter_mut().for_each(Point::read_no_more);
    }

    /// First and last time at any point so far.
    pub(crate) fn span(&self) -> Option<Span> {
        let spans = || self.iter().filter_map(|point| point.span);
        let start = spans().map(|span| span.0).min()?.as_nanos();
        Some(Span { start, end: spans().map(|span| span.1).max()?.as_nanos() })
    }

    /// The frames of all points; `None` for logs.
    pub(crate) fn frames(&self) -> Option<Frames> {
        self.iter().try_fold(Frames::default(), |mut sum, point| {
            sum.add(&frames(point.frames()?));
            Some(sum)
        })
    }

    /// Packets of directions that are not measured.
    pub(crate) fn elsewhere(&self) -> u64 {
        self.iter().map(Point::elsewhere).sum()
    }

    /// A warning if segments are merged or split between two points.
    pub(crate) fn offloaded(&self) -> Option<String> {
        self.compared(Point::offloaded)
    }

    /// A warning if TCP packets are longer than those of any link at a point, unless the other one shows what they consist of.
    fn too_long(&self) -> Option<String> {
        if self.offloaded().is_some() { None } else { self.iter().find_map(Point::too_long) }
    }

    /// A warning if headers are truncated at one point and not at the other.
    pub(crate) fn truncated(&self) -> Option<String> {
        self.compared(Point::truncated)
    }

    /// What one of two points says beside the other.
    fn compared(&self, words: impl Fn(&Point, &Point) -> Option<String>) -> Option<String> {
        let [first, last] = &self.0[..] else { return None };
        words(first, last).or_else(|| words(last, first))
    }

    /// Warnings about all points.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.iter().flat_map(Point::warnings).chain(self.too_long()).chain(self.truncated()).collect()
    }
}

/// That of all points together.
impl InputState for Merged {
    fn bytes_total(&self) -> Option<u64> {
        self.iter().map(|point| point.state().bytes_total()).sum()
    }

    fn bytes_read(&self) -> u64 {
        self.iter().map(|point| point.state().bytes_read()).sum()
    }

    fn is_stopped(&self) -> bool {
        self.iter().any(Point::is_stopped)
    }

    fn is_damaged(&self) -> bool {
        self.iter().any(|point| point.state().is_damaged())
    }
}
