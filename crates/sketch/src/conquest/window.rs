//! Windows of time, and which of them a packet reads.

use dwell_types::Nanos;
use std::ops::RangeInclusive;

/// Which windows count as the time from arrival *a* to departure *d*. Window *w* is `wT..(w+1)T` by the time of departure; ⌊*d*/*T*⌋ is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// From ⌈*a*/*T*⌉ to ⌊*d*/*T*⌋ [conquest §3.2].
    Paper,
    /// The ⌊*d*/*T*⌋ − ⌈*a*/*T*⌉ newest finished ones [conquest §3.3, step 2].
    Text,
    /// The one being written, and ⌊(*d* − *a*)/*T*⌋ more: what the authors' program for a switch reads.
    Hardware,
    /// From ⌊*a*/*T*⌋ to ⌊*d*/*T*⌋, the first one in proportion to its part after *a*.
    Interpolated,
}

/// How long windows last: *T*.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    nanos: i64,
    /// Of a power of two.
    shift: Option<u32>,
}

impl Window {
    /// Of a span above zero.
    pub(super) fn new(span: Nanos) -> Self {
        let nanos = span.get().max(1);
        Self { nanos, shift: (nanos.count_ones() == 1).then(|| nanos.trailing_zeros()) }
    }

    pub(super) const fn nanos(self) -> i64 {
        self.nanos
    }

    /// ⌊*t*/*T*⌋.
    #[inline]
    pub(super) const fn number(self, nanos: i64) -> i64 {
        match self.shift {
            Some(shift) => nanos >> shift,
            None => nanos.div_euclid(self.nanos),
        }
    }

    /// ⌈*t*/*T*⌉.
    #[inline]
    pub(super) const fn ceiling(self, nanos: i64) -> i64 {
        self.number(nanos.saturating_sub(1)) + 1
    }

    /// When a window begins.
    #[inline]
    pub(super) const fn begins(self, number: i64) -> i64 {
        number.saturating_mul(self.nanos)
    }
}

/// What a packet asks of a group of snapshots.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// Windows by number; empty if the first is above the last.
    pub(super) windows: RangeInclusive<i64>,
    /// How much of the first one counts.
    pub(super) first_share: f64,
}

impl Rule {
    /// What is read of the windows up to `last`, for a packet that arrived at `arrived`. In the group of the shortest windows
    /// `last` is being written, at `departed`; elsewhere it is finished, and `departed` is when it ended.
    #[inline]
    pub(super) fn reading(self, window: Window, arrived: i64, departed: i64, last: i64, is_written: bool) -> Reading {
        let whole = |windows| Reading { windows, first_share: 1.0 };
        match self {
            Self::Paper => whole(window.ceiling(arrived)..=last),
            Self::Text => whole(window.ceiling(arrived)..=last - i64::from(is_written)),
            Self::Hardware if is_written => whole(last - window.number(departed.saturating_sub(arrived))..=last),
            Self::Hardware => whole(window.ceiling(arrived)..=last),
            Self::Interpolated => {
                let first = window.number(arrived);
                let begins = window.begins(first);
                // Of the window being written, no more has been than up to the departure, that moment included.
                let is_open = is_written && first == last;
                let ends = if is_open { departed + 1 } else { begins + window.nanos() };
                Reading { windows: first..=last, first_share: (ends - arrived) as f64 / (ends - begins) as f64 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_any_length_round_down_and_up() {
        for span in [1, 7, 8, 1_000] {
            let window = Window::new(Nanos::new(span));
            assert_eq!(window.shift.is_some(), span != 7 && span != 1_000);
            for t in -3 * span..3 * span {
                let number = window.number(t);
                assert!(window.begins(number) <= t && t < window.begins(number + 1), "{t} in windows of {span}");
                let ceiling = window.ceiling(t);
                assert!(window.begins(ceiling - 1) < t && t <= window.begins(ceiling), "{t} in windows of {span}");
            }
        }
    }

    /// The yellow packet of Fig. 4: arrives at 2, departs at 8, windows of 3. Windows 1 and 2 are read by the rule of §3.2.
    #[test]
    fn the_example_of_the_paper() {
        let read = |rule: Rule, arrived, departed| {
            let window = Window::new(Nanos::new(3));
            rule.reading(window, arrived, departed, window.number(departed), true)
        };
        let whole = |windows| Reading { windows, first_share: 1.0 };
        assert_eq!(read(Rule::Paper, 2, 8), whole(1..=2));
        assert_eq!(read(Rule::Text, 2, 8), whole(1..=1));
        assert_eq!(read(Rule::Hardware, 2, 8), whole(0..=2));
        assert_eq!(read(Rule::Interpolated, 2, 8), Reading { windows: 0..=2, first_share: 1.0 / 3.0 });
        // Within one window the rule of §3.2 reads nothing, unless the packet arrives with the window.
        assert!(read(Rule::Paper, 7, 8).windows.is_empty());
        assert_eq!(read(Rule::Paper, 6, 8), whole(2..=2));
        assert_eq!(read(Rule::Interpolated, 7, 8), Reading { windows: 2..=2, first_share: 2.0 / 3.0 });
        assert_eq!(read(Rule::Hardware, 7, 8), whole(2..=2));
    }
}
