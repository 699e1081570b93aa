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
    use std::collections::BTreeMap;

    proptest! {
        /// Each span has its smallest delay, however long the time, and the first and the last delay are known.
        #[test]
        fn the_smallest_of_each_span(
            delays in proptest::collection::vec((0i64..1 << 45, 0u32..20, -1_000i64..1_000), 1..200),
        ) {
            let mut lowest = Lowest::default();
            let of = |(at, early, delay): (i64, u32, i64)| (Timestamp::from_nanos(at >> early), Nanos::new(delay));
            let delays: Vec<(Timestamp, Nanos)> = delays.into_iter().map(of).collect();
            delays.iter().for_each(|&(at, delay)| lowest.add(at, delay));
            let span = |at: Timestamp| (at - delays[0].0).get().max(0) >> lowest.exponent;
            let mut least = BTreeMap::new();
            for &(at, delay) in &delays {
                let least = least.entry(span(at)).or_insert(delay);
                *least = delay.min(*least);
            }
            let points: Vec<_> = lowest.points().collect();
            prop_assert!(points.iter().all(|point| delays.contains(point)));
            prop_assert!(points.iter().map(|&(at, delay)| (span(at), delay)).eq(least));
            prop_assert!(lowest.ends().eq([delays[0], delays[delays.len() - 1]]));
        }
    }
}
