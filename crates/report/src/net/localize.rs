//! Which segment is to blame: the schema `dwell.net-localize/1`.

use super::{Granularity, Network, Probe};
use crate::facts::optional_estimate;
use dwell_sketch::estimate::Estimate;
use serde::Serialize;

/// The name and version of the schema of [`LocalizeReport`].
pub const LOCALIZE_SCHEMA: &str = "dwell.net-localize/1";

/// Which segments and paths are slower or lossier than usual.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LocalizeReport {
    /// Always [`LOCALIZE_SCHEMA`].
    pub schema: &'static str,
    /// What it is about.
    #[serde(flatten)]
    pub network: Network,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// The instrumented routers.
    pub instrumented: Vec<String>,
    /// How long segments are: links of one are not told apart. `null` without any.
    pub granularity: Option<Granularity>,
    /// When it was measured.
    pub intervals: Intervals,
    /// The share of intervals with any false alarm, in the whole network, is at most this.
    pub false_alarms: f64,
    /// Chances of segments and of their losses up to this are alarms.
    pub segment_alarm: f64,
    /// Chances of paths up to this are alarms.
    pub path_alarm: f64,
    /// Those of the judged paths, the likeliest first; then those whose delay is not known well enough.
    pub segments: Vec<SegmentLine>,
    /// How many paths there were to judge.
    pub judged_paths: usize,
    /// Of these, how many have a segment whose delay is not known well enough.
    pub incomplete_paths: usize,
    /// How many are slow.
    pub slow_paths: usize,
    /// Slow ones, the least likely by chance first; all that were asked for by name.
    pub path_lines: Vec<PathLine>,
    /// Alarms of segments in all intervals, in the order of their beginning.
    pub changes: Vec<ChangeLine>,
}

/// Intervals of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Intervals {
    /// How many there are.
    pub count: usize,
    /// How many of the first are what is usual.
    pub baseline: usize,
    /// When the first begins, in nanoseconds since the epoch.
    pub first_ns: i64,
    /// When the last begins: everything is judged there.
    pub last_ns: i64,
}

/// A segment at the last interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentLine {
    /// Which one.
    #[serde(flatten)]
    pub segment: Probe,
    /// Intervals in which it was measured.
    pub intervals: usize,
    /// `null` where it is not known well enough.
    pub delay: Option<DelayShift>,
    /// How likely its delay has changed, if that of exactly one segment did besides the others in alarm.
    pub probability: Option<f64>,
    /// `null` where it is not known well enough.
    pub loss: Option<LossShift>,
}

/// How much slower something is than usual.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DelayShift {
    /// When the window begins in which that is clearest.
    pub since_ns: i64,
    /// Measured intervals of this window.
    pub intervals: usize,
    /// Mean delay of the baseline.
    pub usual_ns: f64,
    /// Standard deviation of its intervals.
    pub spread_ns: f64,
    /// Mean delay of the window.
    pub found_ns: f64,
    /// The difference.
    pub excess_ns: f64,
    /// The difference in units of its own standard error.
    pub score: f64,
    /// The chance of as much in any window without a change.
    pub p_value: f64,
    /// Whether that is too small for chance.
    pub alarm: bool,
}

/// How many more packets are lost than usual.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossShift {
    /// When the window begins in which that is clearest.
    pub since_ns: i64,
    /// Measured intervals of this window.
    pub intervals: usize,
    /// Share of the packets lost in the baseline.
    pub usual: f64,
    /// Share of the packets lost in the window.
    pub found: f64,
    /// The chance of as many in any window without a change.
    pub p_value: f64,
    /// Whether that is too small for chance.
    pub alarm: bool,
}

/// A path at the last interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathLine {
    /// Which one, with all routers between.
    #[serde(flatten)]
    pub path: Probe,
    /// Mean delay in its window, with a 95% interval; `null` where a segment is missing.
    #[serde(serialize_with = "optional_estimate")]
    pub delay_ns: Option<Estimate<f64>>,
    /// Standard deviation of the delay of packets, if those of its segments are independent.
    pub std_ns: Option<f64>,
    /// Share of the packets lost in the last interval, if those of its segments are independent.
    pub loss: Option<f64>,
    /// Against the baseline.
    pub delay: Option<DelayShift>,
    /// Segments whose delay is not known well enough.
    pub missing: Vec<Probe>,
    /// The others, the likeliest first.
    pub suspects: Vec<SuspectLine>,
}

/// A segment that may explain a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuspectLine {
    /// Which one.
    #[serde(flatten)]
    pub segment: Probe,
    /// How much slower it is in the window of the path.
    pub excess_ns: f64,
    /// Of the path's excess; `null` where that is not above zero.
    pub share: Option<f64>,
    /// How likely it has changed, if exactly one segment of the path did besides the others in alarm.
    pub probability: f64,
}

/// A segment that raised alarms in neighbouring intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeLine {
    /// Which one.
    #[serde(flatten)]
    pub segment: Probe,
    /// `delay` or `loss`.
    pub kind: &'static str,
    /// When the window with the smallest chance begins.
    pub since_ns: i64,
    /// When the interval of the first alarm begins.
    pub first_alarm_ns: i64,
    /// When the interval of the last alarm begins.
    pub last_alarm_ns: i64,
    /// The smallest chance of these alarms.
    pub p_value: f64,
}
