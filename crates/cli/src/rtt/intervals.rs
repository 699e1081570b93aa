use dwell_report::facts::Span;
use dwell_types::{Nanos, Timestamp};

/// The intervals of a run, each of which gets a report. Times are in nanoseconds.
pub(super) struct Intervals {
    /// Intervals begin at multiples of this since the epoch; `None` if the whole run is one.
    length: Option<i64>,
    /// End of the current interval, if one has begun.
    end: Option<i64>,
    /// End of the next one, once the current one is over.
    next_end: Option<i64>,
    /// Number of successive times far before the current interval.
    before: u32,
}

impl Intervals {
    pub(super) fn new(length: Option<Nanos>) -> Self {
        Self { length: length.map(Nanos::get), end: None, next_end: None, before: 0 }
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
        let end = at.div_euclid(length).saturating_add(1).saturating_mul(length);
        let Some(present) = self.end else {
            self.end = Some(end);
            return false;
        };
        let is_far_before = at < present.saturating_sub(length).saturating_sub(length.max(FAR));
        self.before = if is_far_before { self.before + 1 } else { 0 };
        let is_over = at >= present || self.before == MANY;
        if is_over {
            (self.next_end, self.before) = (Some(end), 0);
        }
        is_over
    }

    /// Begins the interval of the time at which the previous one was over.
    pub(super) fn begin_next(&mut self) {
        self.end = self.next_end.take();
    }

    /// The borders of the current interval.
    pub(super) fn span(&self) -> Option<Span> {
        let (length, end) = self.length.zip(self.end)?;
        Some(Span { start: end.saturating_sub(length), end })
    }
}
