//! Which segment is to blame: the schema `dwell.net-localize/1`.

use super::{Granularity, Network, Route};
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
    /// The network.
    #[serde(flatten)]
    pub network: Network,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// The instrumented routers.
    pub instrumented: Vec<String>,
    /// Length of segments in hops: the links of one segment cannot be told apart. `null` without segments.
    pub granularity: Option<Granularity>,
    /// The measurement intervals.
    pub intervals: Intervals,
    /// Upper bound on the share of intervals with any false alarm in the whole network.
    pub false_alarms: f64,
    /// A segment's p-value, for delay or loss, up to this is an alarm.
    pub segment_alarm: f64,
    /// A path's p-value up to this is an alarm.
    pub path_alarm: f64,
    /// The segments of the judged paths, most probable first; then those whose delay is not known well enough.
    pub segments: Vec<SegmentLine>,
    /// Number of paths judged.
    pub judged_paths: usize,
    /// How many of these have a segment whose delay is not known well enough.
    pub incomplete_paths: usize,
    /// How many are slow.
    pub slow_paths: usize,
    /// Slow paths, smallest p-value first; all judged paths if paths were selected with `--path`.
    pub path_lines: Vec<PathLine>,
    /// Alarms of segments in all intervals, in order of their start.
    pub changes: Vec<ChangeLine>,
}

/// Intervals of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Intervals {
    /// Number of intervals.
    pub count: usize,
    /// How many of the first intervals define what is usual.
    pub baseline: usize,
    /// Start of the first interval, in nanoseconds since the epoch.
    pub first_ns: i64,
    /// Start of the last interval, for which all verdicts hold.
    pub last_ns: i64,
}

/// A segment, as of the last interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentLine {
    /// Its identity.
    #[serde(flatten)]
    pub segment: Route,
    /// Number of intervals in which it was measured.
    pub intervals: usize,
    /// `null` where it is not known well enough.
    pub delay: Option<DelayShift>,
    /// Probability that its delay has changed, given that exactly one segment has changed besides the others in alarm.
    pub probability: Option<f64>,
    /// `null` where it is not known well enough.
    pub loss: Option<LossShift>,
}

/// How much slower something is than usual.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DelayShift {
    /// Start of the window in which the shift is clearest.
    pub since_ns: i64,
    /// Measured intervals in this window.
    pub intervals: usize,
    /// Mean delay of the baseline.
    pub usual_ns: f64,
    /// Standard deviation of the baseline's interval means, at least the standard error that their packets imply.
    pub spread_ns: f64,
    /// Mean delay of the window.
    pub found_ns: f64,
    /// `found_ns - usual_ns`.
    pub excess_ns: f64,
    /// The excess divided by its standard error.
    pub score: f64,
    /// Probability of such a score in any window without a change.
    pub p_value: f64,
    /// Whether the p-value is low enough for an alarm.
    pub alarm: bool,
}

/// How many more packets are lost than usual.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossShift {
    /// Start of the window in which the shift is clearest.
    pub since_ns: i64,
    /// Measured intervals in this window.
    pub intervals: usize,
    /// Share of packets lost in the baseline.
    pub usual: f64,
    /// Share of packets lost in the window.
    pub found: f64,
    /// Probability of as many losses in any window without a change.
    pub p_value: f64,
    /// Natural logarithm of the likelihood ratio of a change: the larger, the likelier it is that this segment has changed
    /// rather than another one.
    pub ln_odds: f64,
    /// Whether the p-value is low enough for an alarm.
    pub alarm: bool,
}

/// A path, as of the last interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathLine {
    /// Its identity, with all routers in between.
    #[serde(flatten)]
    pub path: Route,
    /// Mean delay in its window, with a 95% interval; `null` where a segment is missing.
    #[serde(serialize_with = "optional_estimate")]
    pub delay_ns: Option<Estimate<f64>>,
    /// Standard deviation of packet delays, assuming independent segments.
    pub std_ns: Option<f64>,
    /// Share of packets lost in the last interval, assuming independent segments.
    pub loss: Option<f64>,
    /// Shift against the baseline.
    pub delay: Option<DelayShift>,
    /// Segments whose delay is not known well enough.
    pub missing: Vec<Route>,
    /// The other segments, most probable first.
    pub suspects: Vec<SuspectLine>,
}

/// A segment that may explain the excess of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuspectLine {
    /// Its identity.
    #[serde(flatten)]
    pub segment: Route,
    /// Its excess delay in the window of the path.
    pub excess_ns: f64,
    /// Its share of the path's excess; `null` where that is not above zero.
    pub share: Option<f64>,
    /// Probability that it has changed, given that exactly one segment of the path has, besides the others in alarm.
    pub probability: f64,
}

/// A segment that raised alarms in neighbouring intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeLine {
    /// Its identity.
    #[serde(flatten)]
    pub segment: Route,
    /// `delay` or `loss`.
    pub kind: &'static str,
    /// Start of the window with the smallest p-value.
    pub since_ns: i64,
    /// Start of the interval of the first alarm.
    pub first_alarm_ns: i64,
    /// Start of the interval of the last alarm.
    pub last_alarm_ns: i64,
    /// The smallest p-value of these alarms.
    pub p_value: f64,
}
