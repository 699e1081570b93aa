use super::Cdf;
use super::cdf::Place;

/// The moment of a slot that stands for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The middle of the slot, or of its part before the response if that is in the same slot [porcino23 eq. 3.6, 3.8].
    /// In the last slot this can exceed the longest delay.
    SlotMiddle,
    /// The expected delay, given its bin: the part of the slot between zero and the longest delay [porcino23 eq. 3.9,
    /// corrected]. Under [`super::Prior::Uniform`] that is the middle of the bin.
    ConditionalMean,
}

/// The possible delays of a response, divided by the slots in which its request may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bins {
    /// *t*₁: nanoseconds from the beginning of the present slot to the response, `0..Δ`.
    pub(super) elapsed: i64,
    /// Δ in nanoseconds.
    pub(super) width: i64,
    /// *t*_max in nanoseconds.
    pub(super) longest: i64,
}

/// The delays above `low` and up to `high`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bin {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Bins {
    /// The delays of requests in the slot of an age. The youngest bin, up to *t*₁, includes zero. The oldest one ends
    /// at the longest delay; it may be empty.
    #[inline]
    pub(super) fn bin(&self, age: u32) -> Bin {
        let high = (self.elapsed + i64::from(age) * self.width).min(self.longest);
        let low = if age == 0 { -1 } else { (self.elapsed + i64::from(age - 1) * self.width).min(high) };
        Bin { low: low as f64, high: high as f64 }
    }

    /// The age whose bin contains a delay.
    pub(super) fn age(&self, delay: f64) -> u32 {
        let beyond = delay as i64 - self.elapsed;
        if beyond <= 0 { 0 } else { (beyond as u64).div_ceil(self.width as u64) as u32 }
    }

    /// The delay of a request in the slot of an age.
    #[inline]
    pub(super) fn delay(&self, reference: Reference, age: u32, cdf: &Cdf) -> f64 {
        match reference {
            Reference::SlotMiddle if age == 0 => self.elapsed as f64 / 2.0,
            Reference::SlotMiddle => self.elapsed as f64 + (f64::from(age) - 0.5) * self.width as f64,
            Reference::ConditionalMean => self.bin(age).mean(cdf),
        }
    }
}

impl Bin {
    /// The middle, not below zero.
    fn middle(self) -> f64 {
        (self.low.max(0.0) + self.high) / 2.0
    }

    /// P(bin).
    #[inline]
    pub(super) fn probability(self, cdf: &Cdf) -> f64 {
        self.part(cdf).probability()
    }

    /// The expected delay in the bin, or its middle if the bin has probability zero.
    #[inline]
    pub(super) fn mean(self, cdf: &Cdf) -> f64 {
        let (low, high) = (cdf.at(self.low), cdf.at(self.high));
        let probability = high.share - low.share;
        if probability > 0.0 {
            // Rounding must not lead out of the bin.
            ((high.moment - low.moment) / probability).clamp(self.low.max(0.0), self.high)
        } else {
            self.middle()
        }
    }

    /// The position of the bin in a distribution.
    #[inline]
    pub(super) fn part(self, cdf: &Cdf) -> Part {
        Part { bin: self, low: cdf.place(self.low), high: cdf.place(self.high) }
    }
}

/// A bin, and the positions of its ends in a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) bin: Bin,
    pub(super) low: Place,
    pub(super) high: Place,
}

impl Part {
    /// P(bin).
    #[inline]
    pub(super) fn probability(&self) -> f64 {
        self.high.share - self.low.share
    }

    /// The delay that a share of the bin's probability does not exceed, or the middle if that probability is zero.
    #[inline]
    pub(super) fn quantile(&self, share: f64, cdf: &Cdf) -> f64 {
        let (Self { bin, low, high }, probability) = (self, self.probability());
        if probability > 0.0 {
            let delay = cdf.quantile_between(low.share + share * probability, low.above, high.above);
            delay.clamp(bin.low.max(0.0), bin.high)
        } else {
            bin.middle()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::Nanos;

    /// Δ = 10, *t*_max = 30, a response 4 after the beginning of its slot.
    const BINS: Bins = Bins { elapsed: 4, width: 10, longest: 30 };

    #[test]
    fn bins_divide_all_delays() {
        let bins: Vec<(f64, f64)> = (0..4).map(|age| BINS.bin(age)).map(|bin| (bin.low, bin.high)).collect();
        assert_eq!(bins, [(-1.0, 4.0), (4.0, 14.0), (14.0, 24.0), (24.0, 30.0)]);
        for delay in 0..=30 {
            let bin = BINS.bin(BINS.age(f64::from(delay)));
            assert!(bin.low < f64::from(delay) && f64::from(delay) <= bin.high, "{delay}: {bin:?}");
        }
    }

    #[test]
    fn the_oldest_bin_ends_at_the_longest_delay() {
        let uniform = Cdf::uniform(Nanos::new(30));
        let delays = |reference| [0, 1, 2, 3].map(|age| BINS.delay(reference, age, &uniform));
        assert_eq!(delays(Reference::SlotMiddle), [2.0, 9.0, 19.0, 29.0]);
        let expected = [2.0, 9.0, 19.0, 27.0];
        assert!(delays(Reference::ConditionalMean).iter().zip(expected).all(|(d, e)| (d - e).abs() < 1e-9));
    }

    #[test]
    fn a_bin_without_probability_is_represented_by_its_middle() {
        let short = Cdf::uniform(Nanos::new(10));
        let bin = BINS.bin(2);
        assert_eq!((bin.mean(&short), bin.part(&short).quantile(0.5, &short)), (19.0, 19.0));
        let exact = Bins { elapsed: 0, ..BINS }.bin(0);
        assert_eq!((exact.mean(&short), exact.part(&short).quantile(0.5, &short)), (0.0, 0.0));
    }
}
