use super::{Ambiguous, DelayStore};
use crate::Sample;
use dwell_types::{Nanos, Timestamp};

/// Places of the delays relative to the edges of bins, in an octave: where a quantile is in its bin is not known
/// beforehand.
const PLACES: u32 = 8;

impl DelayStore {
    /// By how much this store's bins displace these quantiles of such delays, in any order: the root mean square of
    /// the relative errors. All series take the same delays.
    pub fn bin_errors<const N: usize>(&self, delays: &[Nanos], quantiles: [f64; N]) -> [f64; N] {
        let mut squares = [0.0; N];
        for place in 0..PLACES {
            let factor = (f64::from(place) / f64::from(PLACES)).exp2();
            let mut placed: Vec<i64> =
                delays.iter().map(|delay| (delay.get() as f64 * factor).round() as i64).collect();
            let mut store = self.clone();
            store.reset();
            for &delay in &placed {
                let sample = Sample::of(Timestamp::from_nanos(0), Nanos::new(delay));
                (0..store.series()).for_each(|series| store.update(series, &sample));
            }
            placed.sort_unstable();
            let distribution = store.distribution(0, Ambiguous::Bounds);
            for (square, quantile) in squares.iter_mut().zip(quantiles) {
                let rank = ((quantile * placed.len() as f64).ceil() as usize).max(1) - 1;
                let Some((found, &truth)) = distribution.quantile(quantile).zip(placed.get(rank)) else { continue };
                *square += (found.value as f64 / truth.max(1) as f64 - 1.0).powi(2);
            }
        }
        squares.map(|square| (square / f64::from(PLACES)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays that are equally spaced on a log scale, over twelve octaves. A store that keeps every delay adds no error,
    /// one of a few bins per octave half a percent, and one of more bins less.
    #[test]
    fn bins_add_less_the_more_there_are() {
        let delays: Vec<Nanos> =
            (0..3_000u32).map(|i| Nanos::new((1e5 * (f64::from(i * 7 % 3_000) / 250.0).exp2()) as i64)).collect();
        let of = |store: DelayStore| store.bin_errors(&delays, [0.5, 0.99]);
        assert_eq!(of(DelayStore::unbounded(1)), [0.0; 2]);
        let [few, some, many] = [1 << 10, 3 << 10, 1 << 14].map(|bytes| of(DelayStore::bounded(1, bytes).unwrap())[1]);
        assert!(few > 2.0 * some && some > many && many > 0.0, "{few} {some} {many}");
        // What the store holds already makes no difference, and series share the bins.
        let mut used = DelayStore::bounded(1, 3 << 10).unwrap();
        delays.iter().for_each(|&delay| used.update(0, &Sample::of(Timestamp::from_nanos(0), delay)));
        assert_eq!(of(used)[1], some);
        assert!(of(DelayStore::bounded(3, 3 << 10).unwrap())[1] > some);
    }
}
