use dwell_report::facts::Span;
use dwell_types::{Nanos, Timestamp};

/// The intervals of a run, each of which gets a report. Times are in nanoseconds.
pub(super) struct Intervals {
    /// Intervals begin at multiples of this since the epoch; `None` if the whole run is one.
    length: Option<i64>,
    /// Start of the current interval, if one has begun.
    start: Option<i64>,
    /// Start of the next one, once the current one is over.
    next_start: Option<i64>,
    /// Number of successive times far before the current interval.
    before: u32,
}

impl Intervals {
    pub(super) fn new(length: Option<Nanos>) -> Self {
        Self { length: length.map(Nanos::get), start: None, next_start: None, before: 0 }
    }

    /// Whether each interval gets a report of its own.
    pub(super) fn are_wanted(&self) -> bool {
        self.length.is_some()
    }

    /// Whether the current interval is over at `at`: that is later, or the last few times were all far earlier, as
    /// after a clock was set back or after a wrong time. Other late packets count in the current interval; empty
    /// intervals are skipped.
    #[inline]
    pub(super) fn is_over(&mut self, at: Timestamp) -> bool {
        /// A time is far before an interval if it precedes it by more than a second (and more than its length).
        const FAR: i64 = 1_000_000_000;
        /// This many such times in a row are not late packets, but a clock that was set back.
        const MANY: u32 = 4;
        let Some(length) = self.length else { return false };
        let at = at.as_nanos();
        let start = at.div_euclid(length).saturating_mul(length);
        let Some(present) = self.start else {
            self.start = Some(start);
            return false;
        };
        let is_far_before = at < present.saturating_sub(length.max(FAR));
        self.before = if is_far_before { self.before + 1 } else { 0 };
        let is_over = start > present || self.before == MANY;
        if is_over {
            (self.next_start, self.before) = (Some(start), 0);
        }
        is_over
    }

    /// Begins the interval of the time at which the previous one was over.
    pub(super) fn begin_next(&mut self) {
        self.start = self.next_start.take();
    }

    /// The borders of the current interval. The last one before times end, in 2262, is shorter.
    pub(super) fn span(&self) -> Option<Span> {
        let (length, start) = self.length.zip(self.start)?;
        Some(Span { start, end: start.saturating_add(length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spans of the intervals of one second in which these times, in nanoseconds, are counted.
    fn spans(times: &[i64]) -> Vec<(i64, i64)> {
        let mut intervals = Intervals::new(Some(Nanos::from_secs(1)));
        let mut spans = Vec::new();
        let mut add = |intervals: &Intervals| spans.extend(intervals.span().map(|span| (span.start, span.end)));
        for &at in times {
            if intervals.is_over(Timestamp::from_nanos(at)) {
                add(&intervals);
                intervals.begin_next();
            }
        }
        add(&intervals);
        spans
    }

    #[test]
    fn intervals_are_whole_multiples_of_their_length() {
        const S: i64 = 1_000_000_000;
        assert_eq!(spans(&[0, S - 1, S, S + 5, 4 * S]), [(0, S), (S, 2 * S), (4 * S, 5 * S)]);
        assert_eq!(spans(&[-1, 0]), [(-S, 0), (0, S)]);
        // Late times count in the current interval, unless there are four of them in a row.
        assert_eq!(spans(&[9 * S, 2 * S, 2 * S, 2 * S, 9 * S]), [(9 * S, 10 * S)]);
        assert_eq!(spans(&[9 * S, 2 * S, 2 * S, 2 * S, 2 * S, 2 * S]), [(9 * S, 10 * S), (2 * S, 3 * S)]);
    }

    /// Times that no timestamp can hold are all its first or last value, and belong to one interval.
    #[test]
    fn the_first_and_the_last_interval_are_intervals_like_others() {
        let last = i64::MAX / 1_000_000_000 * 1_000_000_000;
        assert_eq!(spans(&[i64::MAX; 3]), [(last, i64::MAX)]);
        assert_eq!(spans(&[last - 1, last, i64::MAX]), [(last - 1_000_000_000, last), (last, i64::MAX)]);
        assert_eq!(spans(&[i64::MIN; 3]).len(), 1);
    }
}
