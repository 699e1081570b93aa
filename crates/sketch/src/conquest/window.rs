//! Time windows, and which of them a packet's query reads.

use dwell_types::Nanos;

/// Which windows count as the time from arrival *a* to departure *d*. Window *w* is `wT..(w+1)T` by the time of
/// departure; ⌊*d*/*T*⌋ is being written.
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

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 4] = [Self::Paper, Self::Text, Self::Hardware, Self::Interpolated];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Text => "text",
            Self::Hardware => "hardware",
            Self::Interpolated => "interpolated",
        }
    }
}

/// The length of windows, *T*.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    nanos: i64,
    /// 1/*T*.
    inverse: f64,
    /// log₂ *T*, if that is a power of two.
    shift: Option<u32>,
}

impl Window {
    /// Windows of this length, which must be above zero.
    pub(super) fn new(span: Nanos) -> Self {
        let nanos = span.get().max(1);
        Self { nanos, inverse: 1.0 / nanos as f64, shift: (nanos.count_ones() == 1).then(|| nanos.trailing_zeros()) }
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

    /// Whole windows in a span, and the nanoseconds that remain.
    #[inline]
    const fn split(self, span: u64) -> (i64, i64) {
        let nanos = self.nanos as u64;
        match self.shift {
            Some(shift) => ((span >> shift) as i64, (span & (nanos - 1)) as i64),
            None => ((span / nanos) as i64, (span % nanos) as i64),
        }
    }

    /// When a window begins.
    #[inline]
    pub(super) const fn begins(self, number: i64) -> i64 {
        number.saturating_mul(self.nanos)
    }
}

/// The newest window of a packet's query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    pub(super) number: i64,
    /// When it ends.
    pub(super) ends: i64,
    /// When the packet departed, if the window is still being written then.
    pub(super) departed: Option<i64>,
}

/// The part of a group of snapshots that a packet's query reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    /// Windows by number; none if the first is above the last.
    pub(super) first: i64,
    pub(super) last: i64,
    /// The share of the first one that counts.
    pub(super) first_share: f64,
}

impl Rule {
    /// The windows to read up to the newest, for a packet that arrived before its end. They are counted back from
    /// there: these time spans are short, and short divisions are fast.
    #[inline(always)]
    pub(super) fn reading(self, window: Window, arrived: i64, newest: Newest) -> Reading {
        let whole = |first, last| Reading { first, last, first_share: 1.0 };
        let last = newest.number;
        let (before, rest) = window.split((newest.ends - 1).abs_diff(arrived));
        let first = last.wrapping_sub(before);
        // The packet may have arrived exactly when its window began.
        let next = first + i64::from(rest + 1 < window.nanos);
        match (self, newest.departed) {
            (Self::Paper, _) | (Self::Hardware, None) => whole(next, last),
            (Self::Text, departed) => whole(next, last - i64::from(departed.is_some())),
            (Self::Hardware, Some(departed)) => whole(last - window.split(departed.abs_diff(arrived)).0, last),
            (Self::Interpolated, Some(departed)) if before == 0 => {
                // The window being written has lasted only up to the departure, inclusive.
                let ends = departed + 1;
                let begins = newest.ends - window.nanos;
                Reading { first, last, first_share: (ends - arrived) as f64 / (ends - begins) as f64 }
            }
            (Self::Interpolated, _) => Reading { first, last, first_share: (rest + 1) as f64 * window.inverse },
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

    /// The yellow packet of Fig. 4: arrives at 2, departs at 8, windows of 3. The rule of §3.2 reads windows 1 and 2.
    #[test]
    fn the_example_of_the_paper() {
        let read = |rule: Rule, arrived, departed| {
            let window = Window::new(Nanos::new(3));
            let number = window.number(departed);
            rule.reading(window, arrived, Newest { number, ends: window.begins(number + 1), departed: Some(departed) })
        };
        let whole = |first, last| Reading { first, last, first_share: 1.0 };
        assert_eq!(read(Rule::Paper, 2, 8), whole(1, 2));
        assert_eq!(read(Rule::Text, 2, 8), whole(1, 1));
        assert_eq!(read(Rule::Hardware, 2, 8), whole(0, 2));
        assert_eq!(read(Rule::Interpolated, 2, 8), Reading { first: 0, last: 2, first_share: 1.0 / 3.0 });
        // Within one window the rule of §3.2 reads nothing, unless the packet arrives exactly when the window begins.
        assert_eq!(read(Rule::Paper, 7, 8), whole(3, 2));
        assert_eq!(read(Rule::Paper, 6, 8), whole(2, 2));
        assert_eq!(read(Rule::Interpolated, 7, 8), Reading { first: 2, last: 2, first_share: 2.0 / 3.0 });
        assert_eq!(read(Rule::Hardware, 7, 8), whole(2, 2));
    }
}
