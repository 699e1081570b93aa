use crate::Gate;
use crate::survival::{AgeBands, BANDS};
use dwell_types::{ExchangeId, Nanos, Timestamp};

/// The probability *q* that a request is still kept, by age: one threshold per octave of age, falling.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    ages: AgeBands,
    expiry: Nanos,
    /// Defines the rank of an id.
    gate: Gate,
    /// By band, the highest rank at which a request is kept.
    kept: [u32; BANDS],
    /// By band, the highest rank at which a response counts: no higher than that of any request it may answer.
    counted: [u32; BANDS],
    /// When the two become equal; [`SETTLED`] if they are.
    rises: [Timestamp; BANDS],
    next_rise: Timestamp,
}

const SETTLED: Timestamp = Timestamp::MAX;
/// Will rise, at a time that is not known yet.
const UNKNOWN: Timestamp = Timestamp::from_nanos(i64::MAX - 1);

impl Curve {
    /// Keeps everything until the expiry.
    pub(super) fn open(gate: Gate, expiry: Nanos) -> Self {
        Self {
            ages: AgeBands::new(expiry),
            expiry,
            gate,
            kept: [gate.threshold(); BANDS],
            counted: [gate.threshold(); BANDS],
            rises: [SETTLED; BANDS],
            next_rise: SETTLED,
        }
    }

    /// The bands of age.
    pub(super) fn ages(&self) -> AgeBands {
        self.ages
    }

    /// The band of an age, `1..BANDS`.
    #[inline]
    pub(super) fn band(&self, age: Nanos) -> usize {
        self.ages.of(age)
    }

    /// The age at which a band ends, in nanoseconds.
    pub(super) fn end(&self, band: usize) -> f64 {
        self.ages.end(band).min(self.expiry.get() as f64)
    }

    /// The gate for requests that enter.
    #[inline]
    pub(super) fn entry(&self) -> Gate {
        self.gate.with_threshold(self.kept[1])
    }

    /// Whether a request of this age is kept.
    #[inline]
    pub(super) fn keeps(&self, id: ExchangeId, age: Nanos) -> bool {
        self.keeps_rank(self.gate.rank(id), age)
    }

    /// The same for an id of this rank.
    #[inline]
    pub(super) fn keeps_rank(&self, rank: u32, age: Nanos) -> bool {
        rank <= self.kept[self.band(age)]
    }

    /// Whether responses with this id count at any age.
    #[inline]
    pub(super) fn counts(&self, id: ExchangeId) -> bool {
        self.gate.rank(id) <= self.counted[1]
    }

    /// The last band in which they count; 0 if there is none.
    #[inline]
    pub(super) fn last_band(&self, id: ExchangeId) -> usize {
        let rank = self.gate.rank(id);
        // True for all ids while nothing has been dropped.
        if rank <= self.counted[BANDS - 1] {
            return BANDS - 1;
        }
        // Thresholds fall with the band: counting those that pass needs no unpredictable branch.
        self.counted[1..].iter().map(|&last| u32::from(rank <= last)).sum::<u32>() as usize
    }

    /// One over the probability that a request is kept up to a band, as responses are counted.
    #[inline]
    pub(super) fn weight(&self, band: usize) -> f64 {
        1.0 / self.gate.with_threshold(self.counted[band]).probability()
    }

    /// The probability that a request that comes now will be kept up to a band.
    pub(super) fn kept_probability(&self, band: usize) -> f64 {
        self.gate.with_threshold(self.kept[band]).probability()
    }

    /// Sets the probabilities by band, which do not rise with age. Thresholds fall at once; where they rise, the new
    /// ones count for responses once all requests of that age have come after the moment given to [`Curve::begin`].
    pub(super) fn set(&mut self, chances: &[f64; BANDS]) {
        for (band, &chance) in chances.iter().enumerate().skip(1) {
            let last = self.gate.with_probability(chance).threshold();
            if self.kept[band] < last {
                self.rises[band] = UNKNOWN;
            }
            self.kept[band] = last;
            if last <= self.counted[band] {
                (self.counted[band], self.rises[band]) = (last, SETTLED);
            }
        }
        self.settle();
    }

    /// From now on all requests are subject to the thresholds that were set.
    pub(super) fn begin(&mut self, now: Timestamp) {
        for band in 1..BANDS {
            if self.rises[band] == UNKNOWN {
                self.rises[band] = now + Nanos::new(self.end(band).ceil() as i64);
            }
        }
        self.settle();
    }

    /// Whether a threshold has risen and the moment of that is not known yet.
    pub(super) fn has_risen(&self) -> bool {
        self.rises.contains(&UNKNOWN)
    }

    /// Whether counted thresholds rise now.
    #[inline]
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        now >= self.next_rise
    }

    /// Raises those that are due.
    pub(super) fn rise(&mut self, now: Timestamp) {
        for band in 1..BANDS {
            if self.rises[band] <= now {
                (self.counted[band], self.rises[band]) = (self.kept[band], SETTLED);
            }
        }
        self.settle();
    }

    /// Makes counted thresholds non-increasing: an id that counts at one age counts at every earlier one.
    fn settle(&mut self) {
        for band in 2..BANDS {
            if self.counted[band - 1] < self.counted[band] {
                self.counted[band] = self.counted[band - 1];
                if self.rises[band] == SETTLED {
                    self.rises[band] = self.rises[band - 1];
                }
            }
        }
        self.next_rise = self.rises[1..].iter().copied().min().unwrap_or(SETTLED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the threshold of an age rises late, since it was raised again, those of all later ages wait for it.
    #[test]
    fn an_id_that_counts_at_an_age_counts_before() {
        let mut curve = Curve::open(Gate::new(1, 1.0), Nanos::new(1_500));
        let at = Timestamp::from_nanos;
        let percents = |curve: &Curve| [9, 10, 11].map(|band| (100.0 / curve.weight(band)).round());
        for chance in [0.2, 0.5] {
            curve.set(&[chance; BANDS]);
        }
        curve.begin(at(0));
        curve.rise(at(1_000));
        assert_eq!(percents(&curve), [50.0, 20.0, 20.0]);
        // Band 10 ends at 1,024 ns, band 11 at the expiry.
        curve.set(&std::array::from_fn(|band| if band <= 10 { 0.6 } else { 0.5 }));
        curve.begin(at(1_000));
        curve.rise(at(1_500));
        assert_eq!(percents(&curve), [50.0, 20.0, 20.0]);
        curve.rise(at(2_024));
        assert_eq!(percents(&curve), [60.0, 60.0, 50.0]);
    }
}
