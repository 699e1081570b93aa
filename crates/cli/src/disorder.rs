//! Timestamps that are earlier than a previous one.

use dwell_report::text;
use dwell_types::{Nanos, Timestamp};

/// How far timestamps are out of order.
pub(crate) struct Disorder {
    /// The latest time so far, or [`NEVER`].
    latest: Timestamp,
    /// The last jump far ahead: the time jumped to, and the latest before it.
    leap: Option<(Timestamp, Timestamp)>,
    /// How many times were over [`Nanos::YEAR`] later than all before, and the first with the latest before it.
    leaps: u64,
    first_leap: Option<(Timestamp, Timestamp)>,
    /// The latest of the times that were earlier than a previous one.
    latest_behind: Timestamp,
    /// The number of times earlier than a previous one.
    count: u64,
    /// The largest such difference.
    most: Nanos,
}

/// Earlier than any real time: nothing was seen yet.
const NEVER: Timestamp = Timestamp::MIN;

/// No frame is this much later than the previous ones, unless the capture paused or its time is wrong.
const FAR: Nanos = Nanos::from_secs(3_600);

impl Disorder {
    pub(crate) const NONE: Self = Self {
        latest: NEVER,
        leap: None,
        leaps: 0,
        first_leap: None,
        latest_behind: NEVER,
        count: 0,
        most: Nanos::ZERO,
    };

    /// Records the time of an observation.
    #[inline]
    pub(crate) fn see(&mut self, at: Timestamp) {
        // One comparison for both cases: as an unsigned number, a negative difference is far ahead, too.
        let ahead = at.as_nanos().wrapping_sub(self.latest.as_nanos()).cast_unsigned();
        if ahead > FAR.get().unsigned_abs() {
            return self.see_odd(at);
        }
        self.latest = at;
    }

    /// The same for a time that is earlier than the latest, or much later.
    #[inline(never)]
    fn see_odd(&mut self, at: Timestamp) {
        if at < self.latest {
            self.count += 1;
            self.most = self.most.max(self.latest - at);
            self.latest_behind = self.latest_behind.max(at);
        } else {
            if self.latest != NEVER && (at - self.latest).is_farther_than(Nanos::YEAR) {
                self.leaps += 1;
                self.first_leap.get_or_insert((at, self.latest));
            }
            self.leap = Some((at, self.latest));
            self.latest = at;
        }
    }

    /// The current time: the latest one, but not a single one far after all others, unless the `next` one follows it. That
    /// may be wild, and would expire all open requests.
    pub(crate) fn present(&self, next: Option<Timestamp>) -> Timestamp {
        let follows = |to: Timestamp| next.is_some_and(|next| to <= next && !(next - to).is_farther_than(FAR));
        match self.leap.map(|(to, from)| (to, from.max(self.latest_behind))) {
            Some((to, others)) if to == self.latest && others != NEVER && !follows(to) => others,
            _ => self.latest,
        }
    }

    /// Whether so many of these frames are out of order that exchanges are missing which take less time than that. With two
    /// interfaces whose blocks follow each other in turn, it is half of them.
    pub(crate) fn is_common(&self, frames: u64) -> bool {
        self.count > frames / 10
    }

    /// The largest difference.
    pub(crate) fn most(&self) -> Nanos {
        self.most
    }

    /// A warning, if disorder exceeds what several receive queues of one interface cause, or if there is any and it matters.
    pub(crate) fn warning(&self, noun: &str, matters: bool) -> Option<String> {
        const USUAL: Nanos = Nanos::new(10_000_000);
        let &Self { count, most, .. } = self;
        (most > USUAL || matters && count > 0)
            .then(|| format!("{} out of time order, by up to {most}", text::are(count, noun)))
    }

    /// A warning, if times leap ahead so far that one of them is probably wrong, and with it a report's time range.
    pub(crate) fn warning_of_leaps(&self, noun: &str) -> Option<String> {
        let (to, from) = self.first_leap?;
        let [to, from] = [to, from].map(|at| text::moment(at.as_nanos()));
        Some(format!(
            "{} timestamped more than a year after all before, the first {to} after {from}: if one of these is wrong, so is \
             the time range",
            text::are(self.leaps, noun)
        ))
    }

    /// The same for frames of so many captures, with what it means for exchanges, and what to do.
    pub(crate) fn warning_of_exchanges(&self, captures: usize, matters: bool) -> Option<String> {
        let words = self.warning("frame", matters)?;
        let remedy = if captures > 1 {
            "give captures in chronological order, and merge those that overlap in time (mergecap)"
        } else {
            "sort the capture first (reordercap)"
        };
        Some(format!("{words}: exchanges across them are missing, or their delays wrong; {remedy}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaps of more than a year are told, by their number and the first one, and not a pause, nor times set back.
    #[test]
    fn leaps_are_told() {
        const DAY: i64 = 86_400;
        let words = |seen: &[i64]| {
            let mut disorder = Disorder::NONE;
            seen.iter().for_each(|&day| disorder.see(Timestamp::from_nanos(day * DAY * 1_000_000_000)));
            disorder.warning_of_leaps("frame").unwrap_or_default()
        };
        assert_eq!([words(&[]), words(&[20_000, 20_365]), words(&[20_000, 2])], [""; 3]);
        let first = "the first 2024-10-05 00:00:00 UTC after 1970-01-01 00:00:00 UTC";
        assert!(words(&[0, 20_001, 20_002]).starts_with("1 frame is timestamped more than a year after all before"));
        assert!(words(&[0, 20_001, 20_002]).contains(first), "{}", words(&[0, 20_001, 20_002]));
        assert!(words(&[0, 20_001, 20_002, 30_000]).starts_with("2 frames are"));
    }

    /// A time far ahead is the present if another one follows it, and not if it is alone, or if others are as before.
    #[test]
    fn time_passes_if_two_say_so() {
        let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let present = |seen: &[i64], next: Option<i64>| {
            let mut disorder = Disorder::NONE;
            seen.iter().for_each(|&seconds| disorder.see(at(seconds)));
            disorder.present(next.map(at)).as_nanos() / 1_000_000_000
        };
        assert_eq!(present(&[1, 2], None), 2);
        for next in [None, Some(3), Some(9_999), Some(99_999)] {
            assert_eq!(present(&[1, 2, 10_000], next), 2, "{next:?}");
        }
        for next in [10_000, 10_001, 13_600] {
            assert_eq!(present(&[1, 2, 10_000], Some(next)), 10_000);
        }
        assert_eq!(present(&[1, 2, 10_000, 10_001], None), 10_001);
        assert_eq!(present(&[1, 10_000, 3], Some(4)), 3);
        assert_eq!(present(&[7], None), 7);
    }
}
