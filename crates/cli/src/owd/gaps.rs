//! Gaps: times at which packets were seen at one of two points only.

use super::Answer;
use crate::points::Silence;
use dwell_capture::Name;
use dwell_report::owd::Line;
use dwell_sketch::owd::Side;
use dwell_types::{Nanos, Timestamp};
use std::path::PathBuf;

/// Detects times at which one of the points sees nothing in either direction.
#[derive(Default)]
pub(super) struct Gaps {
    sender: Silence,
    receiver: Silence,
}

impl Gaps {
    /// A packet of either direction passes a point.
    #[inline]
    pub(super) fn see(&mut self, side: Side, at: Timestamp) {
        let (here, other) = match side {
            Side::Sender => (&mut self.sender, &mut self.receiver),
            Side::Receiver => (&mut self.receiver, &mut self.sender),
        };
        here.here(at);
        other.elsewhere(at);
    }

    /// Warns of the longest gap of each point, if most of it is explained neither by delays and clocks, nor by packets that
    /// were seen at both points.
    pub(super) fn warnings(&self, paths: &[PathBuf; 2], answer: &Answer) -> Vec<String> {
        let Some(apart) = apart(answer) else { return Vec::new() };
        let missing = |there: Option<&Line>, unsent: Option<u64>| {
            there.map_or(0, |line| line.lost + line.uncovered).saturating_add(unsent.unwrap_or(u64::MAX))
        };
        // The sender of one direction is the receiver of the other.
        let missing = [
            missing(answer.reverse.as_ref(), answer.unsent[1]),
            missing(Some(&answer.total), answer.unsent[0].or(Some(0))),
        ];
        let points = paths.iter().zip([&self.sender, &self.receiver]).zip(missing);
        let gaps = points.filter_map(|((path, silence), missing)| {
            let gap = silence.gap().filter(|gap| gap.span() > apart && missing > gap.packets / 2)?;
            Some(format!(
                "{} has a gap, or its point was cut off: {}, passed the other point while none passed this one; what a \
                 capture lacks counts as lost, or as never sent",
                Name(path),
                gap.words()?
            ))
        });
        gaps.collect()
    }
}

/// Where extremes are not known: no delay differs from the mean by more standard deviations than this.
const FAR: f64 = 20.0;

/// How far apart the two points can see a packet, because of delays and clocks; `None` if there are no delays.
fn apart(answer: &Answer) -> Option<Nanos> {
    let extremes = answer.directions().flat_map(|line| {
        let delays = &line.delay_ns;
        let exact = delays.min.zip(delays.max).map(|(min, max)| [min.value, max.value]);
        exact.or_else(|| {
            let (mean, far) = (delays.mean?.value, FAR * delays.std.map_or(0.0, |std| std.high));
            Some([(mean - far) as i64, (mean + far) as i64])
        })
    });
    extremes.flatten().map(i64::saturating_abs).max().map(Nanos::new)
}
