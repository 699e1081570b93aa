//! Which segment is to blame for a slow path.
//!
//! **Answers**: per path, its delay now (ns, 95% interval), what was usual, and its segments ranked by how well they
//! explain the difference; per segment, whether it is slower or loses more than it used to, and since when.
//!
//! **Model**: the delay of a segment lasts from the arrival at its first router to the arrival at its last one, so
//! delays of segments add up to that of the path. Without a change the interval means of a segment are independent, with a
//! constant mean and spread, both estimated from the first intervals, the baseline; how heavy the tails of interval means
//! are is alike for all segments, and estimated from all baselines ([`Null`]). Packets of a segment are lost singly, or in
//! bursts of one kind that begin and end within an interval. A wandering level correlates neighbouring intervals and causes
//! more false alarms: [`Localization::correlation`] shows it. A fault already present in the baseline goes undetected.
//!
//! **State**: all readings; this analyses them afterwards and is not a sketch.
//!
//! **Cost**: per segment and interval four windows of up to eight readings, and the same per path at the last interval.
//!
//! **Estimate**: a window of *w* intervals that end now has the mean *x̄* and the baseline of *B* intervals the mean
//! *m* and the spread *s*. Then (*x̄* − *m*)/(*s* √(1/*w* + 1/*B*)) is Student's *t* with *B* − 1 degrees of freedom,
//! which accounts for the spread being an estimate, if means are normal, and has heavier tails where baselines show that
//! they are not; *s* is at least the spread that the number of packets implies, and
//! a window with fewer packets counts as less certain. The windows are 1, 2, 4 and 8 intervals long; the smallest of
//! their probabilities times their number is the `p_value`. The stated false-alarm rate holds for the whole network and
//! each interval: a third of it is divided among the delays of all segments, a third among their losses, a third among
//! the delays of all judged paths. By Bonferroni's inequality, the rate of intervals with any false alarm is at most
//! the stated one, whatever the dependencies; it is an average over baselines.
//!
//! Losses are judged by their number in the same windows, with an uncertain length of bursts ([`LossVerdict`]).
//!
//! Segments are ranked by likelihood ratio, with the size of the change uniform in units of the segment's own spread
//! and its beginning uniform over the windows. The probability that a segment is to blame, given that exactly one has
//! changed, is its ratio divided by the sum over the segments. If several are in alarm, one fault does not explain
//! them: each then competes with the segments not in alarm, and these with the weakest alarm.
//!
//! **Merge**: none.
//!
//! **Differs from the paper**: it isolates causes "by identifying the relevant measurements and observing their
//! properties"; the tests and the ranking are ours. The inside of a router is not a segment of its own here but belongs
//! to the segment that begins there.
//!
//! **Source**: kompella12 §II-C, §VI (`docs/papers/kompella12-lda-mplane.md`); variances add along a path only if
//! segments are independent, so the spread of a path is taken from its sums, not from the spreads of its segments.

// Tail probabilities of Student's and the binomial distribution.
mod tails;
// What is usual in a series of values, and by how much a window exceeds it.
mod baseline;
pub use baseline::{Baseline, LEAST_BASELINE, Shift, Value, WINDOWS};
// The distribution of scores without a change.
mod null;
pub use null::Null;
// Change detection in a series of values.
mod verdict;
pub use verdict::Verdict;
// Measurements by segment and interval.
mod readings;
pub use readings::{Apart, Delay, Reading, Readings, ReadingsError, Twice};
// Readings from CSV and JSON files.
pub mod file;
// Change detection for losses.
mod losses;
pub use losses::{Bursts, LossVerdict};
// Paths as sequences of segments.
mod routes;
pub use routes::Routes;
// The whole analysis: verdicts, alarms and suspects.
mod localization;
pub use localization::{Change, Kind, Localization, PathState, Settings, Suspect};
#[cfg(test)]
mod test_support;
