//! The product limit: what became of exchanges whose entry was overwritten before their response came.
//!
//! A response of an admitted exchange finds its entry (its delay is known) or another's (then its exchange was open for
//! longer than that one is there: its delay is censored). On the scale of insertions, which is no time but what
//! overwrites, both are one draw: looking back from the response, the first insertion into its slot that is not its own
//! lies *Y* insertions back, geometrically distributed and independent of the *X* insertions since its request. The
//! entry is found if *X* < *Y*. Kaplan and Meier's product limit (1958) estimates the distribution of *X* from such
//! draws, and every delay found has a share of the step at its *X*.
//!
//! A response that answers nothing observed has no *X*: it is censored too, and stays in the mass that never comes to an end.
//! That mass is left out of the answer.
//!
//! *X* is cut into bands, short ones at first, in units of *M* insertions: in a band the entries are weighed by their chance to
//! survive since it began, as the fridge does, so that it does not matter where in the band they end; from band to band
//! the product limit counts.

/// Bands of insertions survived: 16 of ⅛ *M*, 8 of ¼ *M*, 7 of ½ *M*; the last is open. Number 0 is for samples that no
/// product limit weighs.
pub(crate) const BANDS: usize = 32;
/// Bits of a band's number.
pub(crate) const BAND_BITS: u32 = 5;

/// The band of `insertions` survived among `slots` slots, `1..BANDS`. Small fridges, whose delays have little room,
/// take several bands as one.
#[inline]
pub(crate) fn band(insertions: u64, slots: u32) -> u8 {
    let together = together(slots) as u64;
    let eighths = insertions.saturating_mul(8) / u64::from(slots);
    let band = match eighths {
        0..16 => eighths,
        16..32 => 16 + (eighths - 16) / 2,
        _ => (24 + (eighths - 32) / 4).min(BANDS as u64 - 2),
    };
    (band - band % together) as u8 + 1
}

/// How many bands a fridge takes as one.
#[inline]
const fn together(slots: u32) -> usize {
    match slots {
        0..1024 => 4,
        1024..4096 => 2,
        _ => 1,
    }
}

/// Where a band begins, in units of *M*.
fn begin(band: usize) -> f64 {
    let band = band - 1;
    match band {
        0..16 => band as f64 / 8.0,
        16..24 => 2.0 + (band - 16) as f64 / 4.0,
        _ => 4.0 + (band - 24) as f64 / 2.0,
    }
}

/// What the responses of one series met, by band. Every response counts as many exchanges as it stands for: 1/*p*.
#[derive(Clone, Copy, Debug)]
pub struct Risk {
    found: [f64; BANDS],
    censored: [f64; BANDS],
    /// Σ 1/*p*².
    squares: f64,
    /// How many bands are taken as one.
    together: usize,
}

impl Risk {
    /// Nothing met by a fridge of so many slots.
    pub(crate) const fn none(slots: u32) -> Self {
        Self { found: [0.0; BANDS], censored: [0.0; BANDS], squares: 0.0, together: together(slots) }
    }

    /// A response found its entry.
    #[inline]
    pub(crate) fn find(&mut self, band: u8, exchanges: f64) {
        self.found[usize::from(band)] += exchanges;
        self.squares += exchanges * exchanges;
    }

    /// A response did not find its entry: it was open for more insertions than those of the band.
    #[inline]
    pub(crate) fn censor(&mut self, band: u8, exchanges: f64) {
        self.censored[usize::from(band)] += exchanges;
        self.squares += exchanges * exchanges;
    }

    /// What came since an earlier count.
    pub(crate) fn since(&self, then: &Self) -> Self {
        let less = |now: &[f64; BANDS], then: &[f64; BANDS]| std::array::from_fn(|i| (now[i] - then[i]).max(0.0));
        Self {
            found: less(&self.found, &then.found),
            censored: less(&self.censored, &then.censored),
            squares: (self.squares - then.squares).max(0.0),
            together: self.together,
        }
    }

    /// Adds what a fridge of about as many slots met in other traffic.
    pub fn merge(&mut self, other: &Self) {
        for band in 0..BANDS {
            self.found[band] += other.found[band];
            self.censored[band] += other.censored[band];
        }
        self.squares += other.squares;
        self.together = self.together.max(other.together);
    }

    /// The product limit for samples whose weights have these sums by band; `None` if no response came.
    pub(crate) fn survival(&self, weights: &[f64; BANDS]) -> Option<Survival> {
        let all: f64 = self.found.iter().chain(&self.censored).sum();
        if all <= 0.0 {
            return None;
        }
        let (base, together) = (self.squares / all, self.together);
        let mut survival = Survival { factors: [1.0; BANDS], open: [0.0; BANDS], base, together };
        // At risk when the band begins, and the estimated number still open then.
        let (mut at_risk, mut open) = (all, all);
        for (band, &weight) in weights.iter().enumerate().skip(1) {
            let mut ended = 0.0;
            if at_risk > 0.0 && weight > 0.0 {
                // A weight is one over the chance to survive until the band and then in it.
                let since_begin = weight * (-begin(band)).exp();
                ended = open * (since_begin / at_risk).min(1.0);
                survival.factors[band] = ended / weight;
            }
            at_risk -= self.found[band] + self.censored[band];
            open -= ended;
            survival.open[band] = open;
        }
        Some(survival)
    }
}

/// The product limit of one series.
#[derive(Clone, Debug)]
pub(crate) struct Survival {
    /// What the weights in each band are to be multiplied with.
    pub(crate) factors: [f64; BANDS],
    /// Estimated number still open at the end of each band, those that never end included.
    open: [f64; BANDS],
    /// Exchanges that a response stands for.
    base: f64,
    /// How many bands are taken as one.
    together: usize,
}

impl Survival {
    /// Variance of an estimated Σ *z* over exchanges, from Σ *z* and Σ *z*² in each band:
    /// Σ*z*² (1/*p* − 1) for the gate, and for the censoring
    /// ∫ (1/*p*) (Σ*z*² − (Σ*z*)²/*open*) e^*g* d*g* over the insertions *g* *M*, both sums over the exchanges that last longer: what is
    /// lost at *g* is replaced by the mean of what is still open (Greenwood's formula for any *z*). What ends in a band is
    /// replaced in it by its like alone, on average for half of the band.
    pub(crate) fn variance(&self, bands: &[(f64, f64); BANDS]) -> f64 {
        let (mut sum, mut squares, mut variance) = (0.0, 0.0, 0.0);
        for first in (1..BANDS).step_by(self.together).rev() {
            let last = (first + self.together).min(BANDS) - 1;
            let here = bands[first..=last].iter().fold((0.0, 0.0), |here, band| (here.0 + band.0, here.1 + band.1));
            let open = self.open[last];
            let replaced = if open > 0.0 { sum * sum / open } else { 0.0 };
            let end = if last + 1 < BANDS { begin(last + 1) } else { begin(last) + 0.5 };
            variance += ((squares - replaced).max(0.0) + 0.5 * here.1) * (end.exp() - begin(first).exp());
            sum += here.0;
            squares += here.1;
        }
        self.base * variance + (self.base - 1.0).max(0.0) * squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_in_order_and_cover_everything() {
        for (slots, together) in [(1u32 << 12, 1), (1 << 11, 2), (1 << 9, 4)] {
            let mut last = 0;
            for insertions in 0..20 * u64::from(slots) {
                let here = band(insertions, slots);
                assert!(here >= last && (1..BANDS as u8).contains(&here));
                let from = begin(usize::from(here)) * f64::from(slots);
                assert!(insertions as f64 >= from);
                let next = usize::from(here) + together;
                if next < BANDS {
                    assert!((insertions as f64) < begin(next) * f64::from(slots));
                }
                last = here;
            }
            assert!(usize::from(last) + together >= BANDS);
            assert_eq!(band(u64::MAX, slots), last);
        }
    }

    /// Entries that all begin with a band, so that their weights are e^*g*.
    fn risk(found: &[(u8, f64)], censored: &[(u8, f64)]) -> ([f64; BANDS], Survival) {
        let (mut risk, mut weights) = (Risk::none(1 << 12), [0.0; BANDS]);
        for &(band, number) in found {
            (0..number as u32).for_each(|_| risk.find(band, 1.0));
            weights[usize::from(band)] += number * begin(usize::from(band)).exp();
        }
        for &(band, number) in censored {
            (0..number as u32).for_each(|_| risk.censor(band, 1.0));
        }
        let survival = risk.survival(&weights).unwrap();
        (std::array::from_fn(|band| weights[band] * survival.factors[band]), survival)
    }

    /// Without censoring the product limit is the distribution itself.
    #[test]
    fn nothing_censored_nothing_changed() {
        let found: Vec<(u8, f64)> = (1..20).map(|band| (band, 3.0)).collect();
        let (mass, _) = risk(&found, &[]);
        assert!(mass[1..20].iter().all(|mass| (mass - 3.0).abs() < 1e-9), "{mass:?}");
        assert!(Risk::none(1 << 12).survival(&[0.0; BANDS]).is_none());
    }

    /// The example of a textbook: of 10, 2 end in the first band, 4 are censored in the second, 3 end in the third, and one
    /// never: ⅕, then ¾ of what is left.
    #[test]
    fn censored_ones_share_the_fate_of_those_that_last_longer() {
        let (mass, survival) = risk(&[(1, 2.0), (3, 3.0)], &[(2, 4.0), (BANDS as u8 - 1, 1.0)]);
        assert!((mass[1] - 2.0).abs() < 1e-9 && (mass[3] - 6.0).abs() < 1e-9, "{mass:?}");
        assert!((survival.open[BANDS - 1] - 2.0).abs() < 1e-9);
    }
}
