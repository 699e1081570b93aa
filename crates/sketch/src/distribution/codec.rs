//! Serialization of a store of delays.
//!
//! ```text
//! u64          most bins; 2⁶⁴ − 1: no bound
//! u64 n        series; then for each:
//!   i8         resolution of its classes; then for each of its 3 parts (unambiguous, since last, since first):
//!     u64      samples
//!     i64 i64  smallest and largest delay, nanoseconds
//! u64 m        bins; then for each, in rising order of keys:
//!   u64        key: series (17 bits), code (40), part (2), band (5)
//!   f32        Σ weight; or, where a float would round it, 31 bits of a whole number below a bit of 1
//!   f32        Σ (weight² − weight)
//! ```

use super::cell::Cell;
use super::code::PARTS;
use super::code::{self, COARSEST, FINEST, SINCE_FIRST, SINCE_LAST};
use super::store::{DelayStore, Part, PerSeries};
use super::weight::Weight;
use crate::codec::{CodecError, Kind, Reader, Writer};
use std::num::NonZeroU32;

/// Stands for the most bins of an unbounded store.
const UNBOUNDED: u64 = u64::MAX;
const PART_BYTES: usize = 24;
const SERIES_BYTES: usize = 1 + PARTS * PART_BYTES;
const CELL_BYTES: usize = 16;

impl DelayStore {
    /// Serializes the store; equal sums of weights give equal bytes. The same samples in another order give the same sums
    /// if these are not rounded: see Merge in the [module](super).
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::new(Kind::Delays);
        to.u64(self.most.map_or(UNBOUNDED, |most| most.get().into()));
        to.u64(self.series.len() as u64);
        for series in &self.series {
            to.u8(series.bits as u8);
            for part in &series.parts {
                to.u64(part.samples);
                to.i64(part.min);
                to.i64(part.max);
            }
        }
        let binned = self.binned();
        to.u64(binned.bins.len() as u64);
        for cell in binned.bins.iter() {
            to.u64(cell.key);
            to.u32(cell.weight.to_bits());
            to.f32(cell.excess);
        }
        to.finish()
    }

    /// Reads a store written by [`DelayStore::to_bytes`]. Any other bytes are rejected with an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut from = Reader::new(bytes, Kind::Delays)?;
        let most = match from.u64()? {
            UNBOUNDED => None,
            most => Some(u32::try_from(most).ok().and_then(NonZeroU32::new).ok_or(CodecError::Value("bound"))?),
        };
        let series = read_series(&mut from)?;
        let number = from.count(CELL_BYTES)?;
        let least = number.max(Self::LEAST_BINS * series.len().max(1));
        if most.is_some_and(|most| (most.get() as usize) < least) {
            return Err(CodecError::Value("bound"));
        }
        let cells = read_cells(number, &series, &mut from)?;
        from.finish()?;
        Ok(Self::of(cells, most, series))
    }
}

fn read_series(from: &mut Reader<'_>) -> Result<Vec<PerSeries>, CodecError> {
    let number = from.count(SERIES_BYTES)?;
    if number > DelayStore::MOST_SERIES {
        return Err(CodecError::Value("number of series"));
    }
    let mut series = vec![PerSeries::EMPTY; number];
    for PerSeries { bits, parts } in &mut series {
        *bits = from.u8()? as i8;
        if !(COARSEST..=FINEST).contains(bits) {
            return Err(CodecError::Value("resolution"));
        }
        for part in parts {
            *part = Part { samples: from.u64()?, min: from.i64()?, max: from.i64()? };
            if (part.samples == 0) != (part.min > part.max) {
                return Err(CodecError::Value("extremes"));
            }
        }
    }
    if series.iter().any(|PerSeries { parts, .. }| parts[SINCE_LAST].samples != parts[SINCE_FIRST].samples) {
        // Every ambiguous sample counts in both parts.
        return Err(CodecError::Value("ambiguous samples"));
    }
    Ok(series)
}

/// Reads the bins: every part of a series with samples has some.
fn read_cells(number: usize, series: &[PerSeries], from: &mut Reader<'_>) -> Result<Vec<Cell>, CodecError> {
    let mut read: Vec<Cell> = Vec::with_capacity(number);
    let mut has_bins = vec![[false; PARTS]; series.len()];
    for _ in 0..number {
        let (key, weight) = (from.u64()?, from.u32()?);
        let weight = Weight::from_bits(weight).ok_or(CodecError::Value("weight"))?;
        let cell = Cell { key, weight, excess: from.small_amount("variance")? };
        let Some(PerSeries { bits, parts }) = series.get(cell.series()) else {
            return Err(CodecError::Value("series"));
        };
        let Some(&Part { samples: 1.., min, max }) = parts.get(cell.part()) else {
            return Err(CodecError::Value("part"));
        };
        has_bins[cell.series()][cell.part()] = true;
        let (low, high) = code::range(cell.code(), *bits);
        if high < min || max < low {
            return Err(CodecError::Value("bin beside its extremes"));
        }
        if cell.weight() == 0.0 {
            return Err(CodecError::Value("empty bin"));
        }
        if read.last().is_some_and(|before| before.key >= cell.key) {
            return Err(CodecError::Value("order of bins"));
        }
        read.push(cell);
    }
    let mut parts = series.iter().flat_map(|series| &series.parts).zip(has_bins.iter().flatten());
    if parts.any(|(part, has_bins)| part.samples > 0 && !has_bins) {
        return Err(CodecError::Value("samples without bins"));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;
    use crate::codec::seal;
    use crate::distribution::Ambiguous;
    use dwell_types::{Nanos, Timestamp};
    use proptest::prelude::*;

    fn store(delays: &[(i64, u8)]) -> DelayStore {
        let mut store = DelayStore::bounded(2, 6_000).unwrap();
        for &(delay, kind) in delays {
            let sample = Sample {
                since_last: Nanos::new(if kind > 200 { delay / 2 } else { delay }),
                band: kind % 7,
                repeat_band: kind % 7,
                ..Sample::of(Timestamp::from_nanos(0), Nanos::new(delay)).weighted(1.0 + f64::from(kind))
            };
            store.update(usize::from(kind % 2), &sample);
        }
        store
    }

    proptest! {
        #[test]
        fn round_trips(delays in prop::collection::vec((-1_000i64..60_000_000_000, any::<u8>()), 0..800)) {
            let store = store(&delays);
            let bytes = store.to_bytes();
            let read = DelayStore::from_bytes(&bytes).unwrap();
            prop_assert_eq!(read.to_bytes(), bytes);
            for series in 0..2 {
                let (a, b) = (store.distribution(series, Ambiguous::Bounds), read.distribution(series, Ambiguous::Bounds));
                prop_assert_eq!(a.quantile(0.9), b.quantile(0.9));
                prop_assert_eq!(a.exchanges(), b.exchanges());
            }
        }

        #[test]
        fn changed_bytes_are_refused(at in any::<prop::sample::Index>(), flip in 1u8..=255) {
            let mut bytes = store(&[(5, 1), (700, 2), (700, 250)]).to_bytes();
            let at = at.index(bytes.len());
            prop_assert!(DelayStore::from_bytes(&bytes[..at]).is_err());
            bytes[at] ^= flip;
            prop_assert!(DelayStore::from_bytes(&bytes).is_err());
        }

        /// What was written can be read, whatever was added, and be asked for.
        #[test]
        fn anything_can_be_added(samples in prop::collection::vec(
            (any::<(i64, i64)>(), prop::num::f64::ANY, prop::num::f64::ANY, any::<(u8, u8)>()), 1..60)) {
            for mut store in [DelayStore::unbounded(1), DelayStore::bounded(1, 1_000).unwrap()] {
                for &((first, last), weight, repeat_weight, (band, repeat_band)) in &samples {
                    let sample = Sample::of(Timestamp::from_nanos(0), Nanos::new(first));
                    let since_last = Nanos::new(if last % 2 == 0 { first } else { last });
                    store.update(0, &Sample { since_last, weight, repeat_weight, band, repeat_band, ..sample });
                }
                let bytes = store.to_bytes();
                let read = DelayStore::from_bytes(&bytes).unwrap();
                prop_assert_eq!(read.to_bytes(), bytes);
                for ambiguous in Ambiguous::ALL {
                    let distribution = store.distribution(0, ambiguous);
                    _ = (distribution.quantile(0.5), distribution.mean(), distribution.extremes(), distribution.cdf(10));
                    prop_assert!(distribution.exchanges().is_none_or(|all| all.high.is_finite()));
                }
            }
        }

        /// Even with a valid checksum, bytes that are accepted never cause a panic in a query.
        #[test]
        fn hostile_bytes_do_not_panic(at in any::<prop::sample::Index>(), value in any::<u8>(), cut in 0usize..40) {
            let mut body = store(&[(5, 1), (700, 2), (1 << 40, 250)]).to_bytes();
            body.truncate(body.len() - 8 - cut);
            let at = at.index(body.len());
            body[at] = value;
            let bytes = seal(body);
            if let Ok(mut store) = DelayStore::from_bytes(&bytes) {
                prop_assert_eq!(store.to_bytes(), bytes, "one content, one form");
                for series in 0..store.series() {
                    let distribution = store.distribution(series, Ambiguous::Bounds);
                    let _ = (distribution.quantile(0.5), distribution.mean(), distribution.extremes(), distribution.cdf(10));
                }
                let copy = store.clone();
                store.merge(&copy);
            }
        }
    }

    /// Found by fuzzing: samples since the last request, but none since the first.
    #[test]
    fn ambiguous_samples_have_two_ends() {
        let mut body = store(&[(700, 250)]).to_bytes();
        body.truncate(body.len() - 8);
        let parts = 6 + 8 + 8 + 1;
        // Copies the unambiguous part, which is empty, over the one since the first.
        body.copy_within(parts..parts + PART_BYTES, parts + 2 * PART_BYTES);
        assert_eq!(DelayStore::from_bytes(&seal(body)).unwrap_err(), CodecError::Value("ambiguous samples"));
    }

    /// Found by fuzzing: a bound outside the valid range would be written differently again. No bound is valid.
    #[test]
    fn bounds_are_written_as_they_are_read() {
        let mut body = store(&[(700, 2)]).to_bytes();
        body.truncate(body.len() - 8);
        let most = u64::from(u32::MAX);
        for (bound, is_read) in
            [(500, true), (0, false), (most, true), (most + 1, false), (0x48_0000_000a, false), (u64::MAX, true)]
        {
            body[6..14].copy_from_slice(&u64::to_le_bytes(bound));
            let bytes = seal(body.clone());
            assert_eq!(DelayStore::from_bytes(&bytes).is_ok_and(|store| store.to_bytes() == bytes), is_read, "{bound}");
            assert_eq!(DelayStore::from_bytes(&bytes).is_ok(), is_read, "{bound}");
        }
    }

    /// Found by fuzzing: a bin outside the range from the smallest to the largest delay of its part.
    #[test]
    fn bins_lie_between_the_extremes() {
        let mut body = store(&[(700, 2)]).to_bytes();
        body.truncate(body.len() - 8);
        let smallest = 6 + 8 + 8 + 8 + 1;
        for extreme in [smallest, smallest + 8] {
            body[extreme..extreme + 8].copy_from_slice(&5i64.to_le_bytes());
        }
        assert_eq!(DelayStore::from_bytes(&seal(body)).unwrap_err(), CodecError::Value("bin beside its extremes"));
    }

    /// Delays at both ends of the range in one bin: their difference overflows 64 bits.
    #[test]
    fn the_widest_bins_have_quantiles() {
        let mut store = DelayStore::bounded(1, DelayStore::least_bytes(1)).unwrap();
        for shift in 0..63 {
            for sign in [-1, 1] {
                let delay = Nanos::new(sign * (i64::MAX >> shift));
                let sample = Sample::alone(&crate::test_support::response(0, 0), delay);
                store.update(0, &sample);
            }
        }
        let median = store.distribution(0, Ambiguous::Drop).quantile(0.5).unwrap();
        assert!(median.low <= 0 && 0 <= median.high, "{median:?}");
    }

    #[test]
    fn no_share_has_no_quantile() {
        let distribution = store(&[(700, 2)]).distribution(0, Ambiguous::Bounds);
        assert!(distribution.quantile(1.0).is_some() && distribution.quantile_ends(1.0).is_some());
        assert!(distribution.quantile(f64::NAN).is_none() && distribution.quantile_ends(f64::NAN).is_none());
    }

    /// Whole weights add up to the same bytes in any order; of others, sums differ by their rounding.
    #[test]
    fn orders_make_no_difference_to_whole_weights() {
        let weights = [1.0, 3.0, 7.0, 11.0];
        let samples = |weight: f64| (0..400).map(move |i| (i % 5, weight * weights[i as usize % 4]));
        let of = |samples: &mut dyn Iterator<Item = (i64, f64)>| {
            let mut store = DelayStore::bounded(1, 6_000).unwrap();
            let sample = |delay| Sample::of(Timestamp::from_nanos(0), Nanos::new(delay));
            samples.for_each(|(delay, weight)| store.update(0, &sample(delay).weighted(weight)));
            store
        };
        let [forwards, backwards] = [of(&mut samples(1.0)), of(&mut samples(1.0).rev())];
        assert_eq!(forwards.to_bytes(), backwards.to_bytes());
        let [forwards, backwards] = [of(&mut samples(1.1)), of(&mut samples(1.1).rev())];
        assert_ne!(forwards.to_bytes(), backwards.to_bytes());
        for (a, b) in forwards.binned().bins.iter().zip(backwards.binned().bins.iter()) {
            let most = 80.0 * 0.5f64.powi(23);
            assert!((a.weight() / b.weight() - 1.0).abs() < most && (a.excess() / b.excess() - 1.0).abs() < most);
        }
    }

    /// Bytes of version 4 as they were first written: old files must remain readable.
    #[test]
    fn golden_bytes() {
        let bytes = store(&[(1_000, 1), (1_000_000, 3)]).to_bytes();
        assert_eq!(bytes.len(), 6 + 8 + 8 + 2 * SERIES_BYTES + 8 + 2 * CELL_BYTES + 8);
        assert_eq!(dwell_types::hash::bytes(0, &bytes), GOLDEN, "{:#x}", dwell_types::hash::bytes(0, &bytes));
        assert!(DelayStore::from_bytes(&bytes).is_ok());
    }

    const GOLDEN: u64 = 0x9419_686b_8222_7435;
}
