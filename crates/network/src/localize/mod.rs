//! Which segment is to blame for a slow path.
//!
//! **Answers**: per path, how long it takes now (ns, 95% interval), what was usual, and its segments in the order in
//! which they explain the difference; per segment, whether it is slower or loses more than it used to, and since when.
//!
//! **Model**: the delay of a segment lasts from the arrival at its first router to the arrival at its last one, so
//! delays of segments add up to that of the path. Without a change the interval means of a segment are independent and
//! normal around one level with one spread; the first intervals, the baseline, show both. Packets of a segment are lost
//! one by one, or in bursts whose intervals are alike. A wandering level makes neighbouring intervals alike and false
//! alarms more frequent: [`Localization::correlation`] shows it. A baseline that held the fault already hides it.
//!
//! **State**: all readings; this looks back, it is no sketch.
//!
//! **Cost**: per segment and interval four windows of up to eight readings, and the same per path at the last interval.
//!
//! **Estimate**: a window of *w* intervals that end now has the mean *x̄* and the baseline of *B* intervals the mean
//! *m* and the spread *s*. Then (*x̄* − *m*)/(*s* √(1/*w* + 1/*B*)) is Student's *t* with *B* − 1 degrees of freedom,
//! which accounts for a spread that is itself estimated; *s* is at least what the number of packets leads to, and a
//! window of fewer packets counts as less certain. The windows are 1, 2, 4 and 8 intervals long; their smallest chance
//! times their number is the `p_value`. The stated rate of false alarms is for the whole network and each interval: a
//! third of it is divided among the delays of all segments, a third among their losses, a third among the delays of all
//! paths judged. By Bonferroni's inequality the rate of intervals with any false alarm is at most the stated one
//! whatever depends on what; it is an average over baselines.
//!
//! Segments are ranked by their likelihood ratios, with the size of the change uniform in units of the segment's own
//! spread and its beginning uniform over the windows. The probability that a segment is to blame, given that exactly
//! one of some segments has changed, is its ratio divided by the sum over the segments. Where several raise alarms one
//! fault does not explain them: then each competes with those that raise none, and these with the least of the alarms.
//!
//! **Merge**: none.
//!
//! **Differs from the paper**: it isolates causes "by identifying the relevant measurements and observing their
//! properties"; the tests and the ranking are ours. A router's inside is not a segment of its own here but belongs to
//! the segment that begins there.
//!
//! **Source**: kompella12 §II-C, §VI (`docs/papers/kompella12-lda-mplane.md`); variances add along a path only if
//! segments are independent, so the spread of a path is that of its sums, not the sum of spreads.

// Chances.
mod tails;
// Values over time: what is usual, and what is not.
mod series;
pub use series::{Baseline, LEAST_BASELINE, Shift, Value, Verdict, WINDOWS};
// What was measured.
mod readings;
pub use readings::{Delay, Reading, Readings, Twice};
// Files of that.
pub mod file;
// The same question for losses.
mod losses;
pub use losses::LossVerdict;
// Paths as segments.
mod routes;
pub use routes::Routes;
// All together.
mod localization;
pub use localization::{Change, Kind, Localization, PathState, Settings, Suspect};
