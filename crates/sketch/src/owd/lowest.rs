use dwell_types::{Nanos, Timestamp};

/// The smallest delay of each span of time. Spans double when there are too many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lowest {
    spans: [Option<(Timestamp, Nanos)>; Self::SPANS],
    /// The first delay of all, and the last.
    ends: Option<[(Timestamp, Nanos); 2]>,
    /// A span lasts 2 to the power of this, in ns.
    exponent: u32,
}

impl Default for Lowest {
    /// Nothing is known.
    fn default() -> Self {
        Self { spans: [None; Self::SPANS], ends: None, exponent: 26 }
    }
}

impl Lowest {
    const SPANS: usize = 32;

    #[inline]
    pub(super) fn add(&mut self, at: Timestamp, delay: Nanos) {
        let [(start, _), last] = self.ends.get_or_insert([(at, delay); 2]);
        let since = (at - *start).get().max(0);
        *last = (at, delay);
        while since >> self.exponent >= Self::SPANS as i64 {
            self.double();
        }
        let span = &mut self.spans[(since >> self.exponent) as usize];
        if span.is_none_or(|(_, least)| delay < least) {
            *span = Some((at, delay));
        }
    }

    fn double(&mut self) {
        for number in 0..Self::SPANS {
            let pair = self.spans.get(2 * number..2 * number + 2).unwrap_or_default();
            self.spans[number] = pair.iter().flatten().copied().min_by_key(|&(_, delay)| delay);
        }
        self.exponent += 1;
    }

    /// The first and the last delay.
    pub(super) fn ends(&self) -> impl Iterator<Item = (Timestamp, Nanos)> + '_ {
        self.ends.iter().flatten().copied()
    }

    /// The smallest delays, in the order of time.
    pub(super) fn points(&self) -> impl Iterator<Item = (Timestamp, Nanos)> + '_ {
        self.spans.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each span has its smallest delay, however long the time.
        #[test]
        fn the_smallest_of_each_span(delays in proptest::collection::vec((0i64..1 << 45, -1_000i64..1_000), 1..200)) {
            let mut lowest = Lowest::default();
            delays.iter().for_each(|&(at, delay)| lowest.add(Timestamp::from_nanos(at), Nanos::new(delay)));
            let least = delays.iter().map(|&(_, delay)| delay).min();
            prop_assert_eq!(lowest.points().map(|(_, delay)| delay.get()).min(), least);
            prop_assert!(lowest.points().all(|(at, delay)| delays.contains(&(at.as_nanos(), delay.get()))));
        }
    }
}
