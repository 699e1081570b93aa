//! The product limit, which accounts for exchanges that were dropped before their response came.
//!
//! A sampled exchange may be dropped later, by a rule that is independent of its delay: in a fridge after a
//! geometrically distributed number of insertions, in a horizon table at the age that the hash of its id determines. A
//! response whose exchange is still there gives a delay; one whose exchange is gone shows that the delay is longer than
//! the time until it was dropped: it is censored. Kaplan and Meier's product limit (1958) estimates the distribution
//! from both.
//!
//! The scale, insertions or age, is divided into bands. A response is at risk of being found in every band up to the
//! one in which it is found or dropped. In each it counts for one over the probability of surviving to that band, so
//! that the numbers add up even if that probability changes while the meter runs; if it does not, this is exactly the
//! product limit.
//!
//! A response that matches no observed request is censored too, and remains in the mass that never ends. That mass is
//! left out of the answer, except for the part that is likely to be slow.

use dwell_types::Nanos;

/// Bands are `1..BANDS`; number 0 is for samples without a product limit.
pub(crate) const BANDS: usize = 32;
/// Bits of a band's number.
pub(crate) const BAND_BITS: u32 = 5;

/// The last band in which exchanges are followed where loss is gradual. Later ones are found by luck only, and would
/// weigh too much: they count as censored.
pub(crate) const FOLLOWED: usize = 28;
/// In every octave, at most this share of what ended in the octave before is expected to end: tails go on falling by
/// more than a third.
const SLOW: f64 = 0.5;
/// What is open when the last exchange was found counts as slow if it is at most what is expected to end later. If it is
/// more, most of it never ends: this power of the ratio counts.
const SLOW_POWER: i32 = 4;

/// The responses of one series that were at risk, by band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Risk {
    /// Σ 1/*q* over the responses whose exchanges were still there when the band began; *q* is the probability of
    /// surviving to that band.
    pub(crate) at_risk: [f64; BANDS],
    /// How many exchanges each of them stands for on average: Σ 1/*q*² / Σ 1/*q*.
    pub(crate) each: [f64; BANDS],
    /// When exchanges are dropped.
    pub(crate) loss: Loss,
    /// The number of all responses, including those whose ids were never followed, if known.
    pub(crate) responses: Option<f64>,
}

/// When exchanges are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Continuously, exponentially. The last band, which is open, loses as if it were half *M* insertions long.
    Gradual,
    /// Only where a band begins.
    AtBorders,
}

impl Loss {
    /// The last band whose samples count.
    const fn last(self) -> usize {
        match self {
            Self::Gradual => FOLLOWED,
            Self::AtBorders => BANDS - 1,
        }
    }

    /// The weight given to the number at risk, by the share of it that will end. On a capture where 43% of the
    /// acknowledgements match nothing, many of them repetitions of one id, that number deviates forty times as much as
    /// it would with independent ids. Fridges gain nothing from being more cautious than proportional.
    fn heeded(self, to_end: f64) -> f64 {
        match self {
            Self::Gradual => to_end,
            Self::AtBorders => to_end * to_end,
        }
    }
}

impl Risk {
    /// Nothing observed yet.
    pub(crate) const fn none(loss: Loss) -> Self {
        Self { at_risk: [0.0; BANDS], each: [1.0; BANDS], loss, responses: None }
    }

    /// The same, with the total number of responses.
    pub(crate) fn among(self, responses: u64) -> Self {
        Self { responses: Some(responses as f64), ..self }
    }

    /// Responses in excess of those at risk, as far as they exceed chance (three standard errors): repetitions of ids
    /// that happen not to be followed.
    fn unheard(&self) -> f64 {
        let Some(responses) = self.responses.filter(|_| self.loss == Loss::AtBorders) else { return 0.0 };
        let chance = (responses * (self.each[1] - 1.0).max(0.0)).sqrt();
        (responses - self.at_risk[1] - 3.0 * chance).max(0.0)
    }

    /// How many exchanges may end after this band, the last one in which any did, if so many `ended` in the octave up to
    /// there. In each of the next octaves that would be [`SLOW`] of the octave before; but where they would be found
    /// with probability *φ*, and none was, no more than 3/*φ* (in one of twenty cases: "rule of three").
    fn expected_later(&self, band: usize, ended: f64, open: f64) -> f64 {
        let (mut next, mut expected) = (SLOW * (1.0 - SLOW) * ended, 0.0);
        for found in self.found_later(band, open) {
            next = next.min(3.0 / found);
            expected += next;
            next *= SLOW;
        }
        expected + next / (1.0 - SLOW)
    }

    /// The probabilities of finding an exchange that ends in the next octaves after a band, as far as these are followed
    /// to their ends, where so many are open.
    fn found_later(&self, band: usize, open: f64) -> Vec<f64> {
        let found = |band: usize| (self.at_risk[band] / open).min(1.0) / self.each[band].max(1.0);
        let bands = band + 1..=self.loss.last();
        match self.loss {
            Loss::AtBorders => bands.map(found).collect(),
            Loss::Gradual => {
                let end = begin(band + 1);
                let octaves = std::iter::successors(Some(end), |start| Some(2.0 * start));
                let followed = octaves.take_while(|&start| 2.0 * start <= begin(FOLLOWED + 1));
                let within = |start: f64, band| (begin(band + 1).min(2.0 * start) - begin(band).max(start)).max(0.0);
                let of_octave =
                    |start: f64| bands.clone().map(|band| within(start, band) * found(band)).sum::<f64>() / start;
                followed.map(of_octave).collect()
            }
        }
    }

    /// The product limit, given by band the sums of the samples' weights and of their variances Σ (weight² − weight);
    /// `None` if there was no response.
    pub(crate) fn survival(&self, found_by_band: &[(f64, f64); BANDS]) -> Option<Survival> {
        let weights = found_by_band.map(|(weight, _)| weight);
        let all = self.at_risk[1];
        if all <= 0.0 {
            return None;
        }
        let last = self.loss.last();
        let mut survival = Survival {
            factors: [1.0; BANDS],
            open: [0.0; BANDS],
            first: self.each[1],
            at_begin: [0.0; BANDS],
            within: [0.0; BANDS],
            borrowed: [0.0; BANDS],
        };
        let mut open = all;
        survival.open[0] = open;
        let mut to_end: f64 = weights[1..=last].iter().sum();
        let mut found = None;
        for (band, &weight) in weights.iter().enumerate().take(last + 1).skip(1) {
            let mut ended = 0.0;
            let at_risk = self.at_risk[band];
            if at_risk > 0.0 && weight > 0.0 {
                // Responses that will end show by how much chance made too many or too few be at risk. So do those that
                // never end, but if they are one id many times over, they outweigh the others: the correction counts
                // only as far as those at risk are likely to end.
                let share = self.loss.heeded((to_end / at_risk).min(1.0));
                let factor = 1.0 + share * (open / at_risk - 1.0);
                ended = (weight * factor).min(open);
                survival.factors[band] = ended / weight;
                found = Some((band, weight));
            }
            to_end -= weight;
            open -= ended;
            survival.open[band] = open;
        }
        survival.factors[last + 1..].fill(0.0);
        survival.open[last..].fill(open);
        if let Some((band, weight)) = found {
            survival.end_slowly(band, weight, self);
        }
        survival.set_losses(self);
        survival.set_borrowed(found_by_band);
        Some(survival)
    }
}

/// The band for a number of eighths of *M* insertions where loss is gradual: 16 bands are ⅛ *M* wide and 12 are ¼.
/// Beyond 5 *M*, which one entry in 150 survives, there is one last band.
#[inline]
pub(crate) fn band(eighths: u64) -> usize {
    let band = match eighths {
        0..16 => eighths,
        _ => (16 + (eighths - 16) / 2).min(FOLLOWED as u64),
    };
    band as usize + 1
}

/// Where such a band begins, in units of *M*.
pub(crate) fn begin(band: usize) -> f64 {
    let band = band - 1;
    match band {
        0..16 => band as f64 / 8.0,
        _ => 2.0 + (band - 16) as f64 / 4.0,
    }
}

/// Bands that are octaves of age, up to the expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AgeBands {
    /// How many more octaves of nanoseconds the first band covers.
    shift: u32,
}

impl AgeBands {
    pub(crate) fn new(expiry: Nanos) -> Self {
        let octaves = expiry.get().max(1).ilog2() + 1;
        Self { shift: octaves.saturating_sub(BANDS as u32 - 1) }
    }

    /// The band of an age, `1..BANDS`.
    #[inline]
    pub(crate) fn of(self, age: Nanos) -> usize {
        let octave = (age.get().max(1) as u64).ilog2();
        (octave.saturating_sub(self.shift) as usize + 1).min(BANDS - 1)
    }

    /// The age in nanoseconds at which a band would end if nothing expired.
    pub(crate) fn end(self, band: usize) -> f64 {
        2f64.powi((band as u32 + self.shift) as i32)
    }
}

/// The mapping of samples from old to new bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBands {
    moved: [u8; BANDS],
    /// Assigns bands by age to samples that had none.
    ages: Option<AgeBands>,
}

impl NewBands {
    /// Assigns to samples without a band that of their delay.
    pub(crate) fn by_age(ages: AgeBands) -> Self {
        Self { moved: std::array::from_fn(|band| band as u8), ages: Some(ages) }
    }

    /// Moves every band to that of twice or half as many insertions, where this many bands are treated as one. Samples
    /// that are not followed, before or after, stay so.
    pub(crate) fn of_twice(as_many: bool, together: usize) -> Self {
        let moved = std::array::from_fn(|old| match old {
            1..=FOLLOWED => {
                let new = band((8.0 * begin(old) * if as_many { 2.0 } else { 0.5 }) as u64);
                if new > FOLLOWED { new as u8 } else { (new - (new - 1) % together) as u8 }
            }
            _ => old as u8,
        });
        Self { moved, ages: None }
    }

    /// The composition: first this mapping, then the other.
    pub(crate) fn then(self, others: Self) -> Self {
        Self { moved: self.moved.map(|band| others.of(band)), ages: self.ages.or(others.ages) }
    }

    /// The new band of a sample with this delay since the last request.
    ///
    /// # Panics
    /// If there is no such band: those of samples are below 32.
    pub fn of_delay(&self, band: u8, delay: Nanos) -> u8 {
        match self.ages {
            Some(ages) if band == 0 => ages.of(delay) as u8,
            _ => self.of(band),
        }
    }

    /// The new band of an old one: what [`crate::Sample::repeat_band`] becomes.
    ///
    /// # Panics
    /// If there is no such band.
    pub fn of(&self, band: u8) -> u8 {
        self.moved[usize::from(band)]
    }
}

/// The product limit of one series.
#[derive(Clone, Debug)]
pub(crate) struct Survival {
    /// Factors for the weights in each band.
    pub(crate) factors: [f64; BANDS],
    /// Estimated number still open at the end of each band, those that never end included; at 0 all of them.
    open: [f64; BANDS],
    /// Exchanges that a response stands for in the first band.
    first: f64,
    /// By how much the number that each stands for increases at the beginning of a band.
    at_begin: [f64; BANDS],
    /// By how much it increases within a band.
    within: [f64; BANDS],
    /// Relative variance of the correction to each band's weights, which the sampling probabilities do not show: the
    /// fewer samples, the larger.
    borrowed: [f64; BANDS],
}

impl Survival {
    /// Counts the slow part of what is left as ended together with the last exchanges found, in this band and with this
    /// weight. What is open although its ids are not followed never ends.
    fn end_slowly(&mut self, band: usize, weight: f64, risk: &Risk) {
        let open = self.open[band];
        let ended = self.open_at_half(band, risk.loss) - open;
        let all_open = (open + risk.unheard()).max(f64::MIN_POSITIVE);
        let slow = open * (risk.expected_later(band, ended, open) / all_open).min(1.0).powi(SLOW_POWER);
        self.factors[band] += slow / weight;
        self.open[band..].iter_mut().for_each(|open| *open -= slow);
    }

    /// The number open at half of the scale up to the end of a band.
    fn open_at_half(&self, band: usize, loss: Loss) -> f64 {
        match loss {
            Loss::Gradual => {
                let half = 0.5 * begin(band + 1);
                let before = (1..band).rfind(|&band| begin(band) <= half).unwrap_or(1);
                let share = (half - begin(before)) / (begin(before + 1) - begin(before));
                self.open[before - 1] + share * (self.open[before] - self.open[before - 1])
            }
            // Bands are octaves.
            Loss::AtBorders => self.open[band - 1],
        }
    }

    fn set_losses(&mut self, risk: &Risk) {
        for band in 1..BANDS {
            let each = risk.each[band];
            let next = risk.each.get(band + 1).copied();
            match risk.loss {
                Loss::Gradual => self.within[band] = (next.unwrap_or(each * 0.5f64.exp()) - each).max(0.0),
                Loss::AtBorders => self.at_begin[band] = (each - risk.each[band.max(2) - 1]).max(0.0),
            }
        }
    }

    fn set_borrowed(&mut self, found: &[(f64, f64); BANDS]) {
        for (band, &(weight, excess)) in found.iter().enumerate().skip(1) {
            let factor = self.factors[band];
            if weight > 0.0 && factor > 0.0 {
                let samples = weight * weight / (weight + excess);
                let doubt = samples.sqrt().recip().max((factor - 1.0).abs().min(1.0));
                self.borrowed[band] = ((1.0 - 1.0 / factor) * doubt).powi(2);
            }
        }
    }

    /// Whether the correction changes any weight.
    pub(crate) fn borrows(&self) -> bool {
        self.borrowed.iter().any(|&borrowed| borrowed > 0.0)
    }

    /// Variance of an estimated Σ *z* over exchanges, from Σ *z* and Σ *z*² in each band; in band 0 the second is the
    /// variance itself. With *w* = 1/*q* exchanges for each one at risk: Σ*z*² (*w* − 1) for the gate, and for dropped
    /// exchanges ∫ (Σ*z*² − (Σ*z*)²/*open*) d*w*, both sums over the exchanges that last longer: a dropped one is
    /// replaced by the mean of those still open (Greenwood's formula for any *z*). With gradual loss this includes
    /// exchanges dropped in the band in which they would have ended, on average for half of the band: their mass counts
    /// as open when the band ends. The correction to a band's samples is uncertain by its size over the root of their
    /// number, and entirely where it is as large as the samples themselves: more than chance produces with independent
    /// ids, but it happens where one unmatched id is repeated.
    pub(crate) fn variance(&self, bands: &[(f64, f64); BANDS]) -> f64 {
        let (mut sum, mut squares, mut variance) = (0.0, 0.0, 0.0);
        // Σ (*z* − mean)² over this many exchanges, where the mean is that of what is open.
        let around = |(sum, squares): (f64, f64), number: f64, mean: f64| {
            (squares - 2.0 * mean * sum + mean * mean * number).max(0.0)
        };
        let mean = |sum: f64, open: f64| if open > 0.0 { sum / open } else { 0.0 };
        for band in (1..BANDS).rev() {
            let (here, open, before) = (bands[band], self.open[band], self.open[band - 1]);
            let replaced = mean(sum, open);
            let (later, ended) = (around((sum, squares), open, replaced), around(here, before - open, replaced));
            variance += self.within[band] * (later + 0.5 * ended) + self.borrowed[band] * here.0 * here.0;
            sum += here.0;
            squares += here.1;
            variance += self.at_begin[band] * around((sum, squares), before, mean(sum, before));
        }
        variance + (self.first - 1.0).max(0.0) * squares + bands[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten responses, each standing for two exchanges while nothing is lost; from band 3 on for four.
    fn limit(found: &[(usize, f64)], censored: &[(usize, f64)]) -> ([f64; BANDS], Survival) {
        let each = |band: usize| [1.0, 2.0, 2.0, 4.0][band.min(3)];
        let (mut risk, mut weights) = (Risk::none(Loss::AtBorders), [0.0; BANDS]);
        for &(last, number) in found.iter().chain(censored) {
            for band in 1..=last {
                risk.at_risk[band] += number * each(band);
            }
        }
        risk.each = std::array::from_fn(each);
        found.iter().for_each(|&(band, number)| weights[band] += number * each(band));
        let survival = risk.survival(&weights.map(|weight| (weight, 0.0))).unwrap();
        (std::array::from_fn(|band| weights[band] * survival.factors[band]), survival)
    }

    /// Without censoring the product limit is the empirical distribution.
    #[test]
    fn nothing_censored_nothing_changed() {
        let found: Vec<(usize, f64)> = (1..3).map(|band| (band, 3.0)).collect();
        let (mass, _) = limit(&found, &[]);
        assert!(mass[1..3].iter().all(|mass| (mass - 6.0).abs() < 1e-9), "{mass:?}");
        assert!(Risk::none(Loss::Gradual).survival(&[(0.0, 0.0); BANDS]).is_none());
    }

    /// A textbook example: of 10, 2 end in the first band, 4 are censored in the second, 3 end in the third, and one is
    /// left: ⅕, then ¾ of the rest. How many exchanges each stands for cancels out. What is left, 4, is less than half
    /// of the 12 that ended before, so it counts as slow.
    #[test]
    fn censored_ones_share_the_fate_of_those_that_last_longer() {
        let (mass, survival) = limit(&[(1, 2.0), (3, 3.0)], &[(2, 4.0), (3, 1.0)]);
        assert!((mass[1] - 4.0).abs() < 1e-9 && (mass[3] - 16.0).abs() < 1e-9, "{mass:?}");
        assert_eq!(survival.open[BANDS - 1], 0.0);
    }

    /// Of many that end in the first two bands some are left, which may be slow. If 50, or some of them, were followed for
    /// longer, they are not: some would have been found; of two, perhaps none.
    #[test]
    fn what_was_followed_for_longer_and_not_found_is_not_slow() {
        let slow = |left: f64, followed: f64| {
            let mut risk = Risk { each: [2.0; BANDS], ..Risk::none(Loss::AtBorders) };
            risk.at_risk[1] = 2.0 * (1_000.0 + left);
            risk.at_risk[2] = 2.0 * (500.0 + left);
            risk.at_risk[3..8].fill(2.0 * followed);
            let weights = std::array::from_fn(|band| if (1..3).contains(&band) { (1_000.0, 0.0) } else { (0.0, 0.0) });
            1.0 - 0.5 * risk.survival(&weights).unwrap().open[BANDS - 1] / left
        };
        assert!((slow(50.0, 0.0) - 1.0).abs() < 1e-9);
        assert!(slow(50.0, 50.0) < 0.1 && slow(50.0, 17.0) < 0.9);
        assert!((slow(2.0, 2.0) - 1.0).abs() < 1e-9);
    }

    /// If 90 are left, far more than ended before, almost none of their exchanges counts as slow. If one is left, it
    /// does.
    #[test]
    fn what_is_left_never_ends_where_it_is_much() {
        let slow = |left: f64| {
            let found = [(1, 2.0), (3, 3.0)];
            let (mass, survival) = limit(&found, &[(BANDS - 1, left)]);
            (mass[1..4].iter().sum::<f64>(), survival.open[BANDS - 1])
        };
        let (ended, never) = slow(90.0);
        assert!((ended - 16.0).abs() < 0.1 && (ended + never - 190.0).abs() < 1e-9, "{ended} {never}");
        let (ended, never) = slow(1.0);
        assert!((ended - 12.0).abs() < 0.1 && never < 0.1, "{ended} {never}");
    }

    /// Of 12 responses at risk, for 24, 11 ended, and the rest counts as slow. With 200 responses in all, the others
    /// are open as well, and the rest does not; with 40 the excess may be chance.
    #[test]
    fn what_nobody_follows_is_open_too() {
        let left = |responses: Option<u64>| {
            let mut risk = Risk::none(Loss::AtBorders);
            (risk.at_risk[1], risk.at_risk[2]) = (24.0, 2.0);
            risk.each = [2.0; BANDS];
            let risk = responses.map_or(risk, |responses| risk.among(responses));
            let weights = std::array::from_fn(|band| if band == 1 { 22.0 } else { 0.0 });
            risk.survival(&weights.map(|weight| (weight, 0.0))).unwrap().open[BANDS - 1]
        };
        assert_eq!([left(None), left(Some(24)), left(Some(40))], [0.0; 3]);
        assert!((left(Some(200)) - 2.0).abs() < 0.01, "{}", left(Some(200)));
    }

    /// Where bands are ⅛ and ¼ wide, half of a band's end falls between the borders of other bands.
    #[test]
    fn the_half_of_a_scale_is_where_it_is() {
        let mut risk = Risk::none(Loss::Gradual);
        for band in 1..=FOLLOWED + 1 {
            // The number open is the number of insertions left to 5.
            (risk.at_risk[band], risk.each[band]) = (5.0 - begin(band), 1.0);
        }
        let width = |band: usize| if band <= FOLLOWED { begin(band + 1) - begin(band) } else { 0.0 };
        let survival =
            risk.survival(&std::array::from_fn(|band| (if band == 0 { 0.0 } else { width(band) }, 0.0))).unwrap();
        for band in [1, 9, 16, 17, 20, FOLLOWED] {
            let expected = 5.0 - 0.5 * begin(band + 1);
            let open = survival.open_at_half(band, Loss::Gradual);
            assert!((open - expected).abs() < 1e-9, "{band}: {open} {expected}");
        }
    }

    /// Each band moves to the one that contains half or twice its insertions, as long as that is followed, and no band
    /// overtakes another.
    #[test]
    fn bands_move_to_where_their_insertions_are() {
        for (together, twice) in [(1, false), (1, true), (2, false), (2, true)] {
            let bands = NewBands::of_twice(twice, together);
            for old in (1..=FOLLOWED).step_by(together) {
                let (new, insertions) = (usize::from(bands.of(old as u8)), begin(old) * if twice { 2.0 } else { 0.5 });
                let next = if new + together > FOLLOWED { f64::INFINITY } else { begin(new + together) };
                assert!(begin(new) <= insertions && insertions < next, "{old} to {new}");
            }
            assert!(bands.moved.is_sorted());
            assert_eq!((bands.of(0), bands.of(FOLLOWED as u8 + 1)), (0, FOLLOWED as u8 + 1));
            assert_eq!(bands.then(bands).of(17), bands.of(bands.of(17)));
        }
    }

    /// Of 16 exchanges that last to band 3, half were sampled and half of those dropped. The total is known from the
    /// start, so that dropping adds no variance to it; it does to a share of them.
    #[test]
    fn what_is_lost_is_replaced_by_the_mean_of_what_is_left() {
        let (_, survival) = limit(&[(3, 4.0)], &[(2, 4.0)]);
        let mut bands = [(0.0, 0.0); BANDS];
        bands[3] = (16.0, 16.0);
        assert!((survival.variance(&bands) - 16.0).abs() < 1e-9, "the gate's: {}", survival.variance(&bands));
        bands[3] = (8.0, 8.0);
        assert!((survival.variance(&bands) - (8.0 + 2.0 * (8.0 - 4.0))).abs() < 1e-9, "{}", survival.variance(&bands));
    }

    /// Of 10 exchanges 2 end in band 1, but 12 seem to be at risk after that, of which half end: these count for less, by a
    /// quarter of the difference or, where loss is gradual, by half of it.
    #[test]
    fn those_at_risk_are_heeded_as_far_as_they_end() {
        for (loss, heeded) in [(Loss::AtBorders, 0.25), (Loss::Gradual, 0.5)] {
            let mut risk = Risk::none(loss);
            risk.at_risk[1..4].copy_from_slice(&[10.0, 12.0, 1.0]);
            let mut found = [(0.0, 0.0); BANDS];
            (found[1].0, found[2].0, found[3].0) = (2.0, 5.0, 1.0);
            let factors = risk.survival(&found).unwrap().factors;
            assert!(factors[1] == 1.0 && (factors[2] - (1.0 - heeded / 3.0)).abs() < 1e-9, "{factors:?}");
        }
    }

    /// Octaves need not begin where the width of bands changes.
    #[test]
    fn later_octaves_are_found_by_their_bands() {
        let risk = Risk {
            at_risk: [20.0; BANDS],
            each: std::array::from_fn(|band| if begin(band.max(1)) < 2.0 { 2.0 } else { 4.0 }),
            ..Risk::none(Loss::Gradual)
        };
        assert_eq!(risk.found_later(8, 10.0), [0.5, 0.25], "from 1 to 2 and from 2 to 4");
        assert_eq!(risk.found_later(10, 10.0), [0.4, 0.25], "from 1.25 to 2.5 and from 2.5 to 5");
        assert!(risk.found_later(FOLLOWED, 10.0).is_empty());
    }

    /// Of 100 in an octave, 25 + 12.5 + 6.25 + …; but where three of six would have been found, 6 + 3 + 1.5 + ….
    #[test]
    fn what_ends_later_is_half_as_much_in_each_octave() {
        let later = |at_risk: f64| {
            let risk = Risk { at_risk: [at_risk; BANDS], each: [2.0; BANDS], ..Risk::none(Loss::AtBorders) };
            risk.expected_later(BANDS - 2, 100.0, 10.0)
        };
        assert_eq!([later(0.0), later(10.0), later(20.0)], [50.0, 12.0, 12.0]);
    }

    /// Of 20 exchanges 4 end in band 1, where half of what lasts longer is dropped, and 16 in band 2: half of what ended
    /// where it was dropped adds to the variance, and all that lasted.
    #[test]
    fn gradual_loss_counts_half_of_its_band() {
        let mut risk = Risk::none(Loss::Gradual);
        (risk.at_risk[1], risk.at_risk[2]) = (20.0, 16.0);
        risk.each[2..].fill(2.0);
        let found = [4.0, 16.0].map(|weight| (weight, 0.0));
        let survival = risk
            .survival(&std::array::from_fn(|band| if band == 0 || band > 2 { (0.0, 0.0) } else { found[band - 1] }));
        let variance = |band: usize, number: f64| {
            let mut bands = [(0.0, 0.0); BANDS];
            bands[band] = (number, number);
            survival.as_ref().unwrap().variance(&bands)
        };
        assert!((variance(1, 4.0) - 0.5 * 4.0).abs() < 1e-9, "{}", variance(1, 4.0));
        // Those in band 1 are half an exchange from the mean of what is open.
        let expected = 16.0 * 0.25 + 0.5 * 4.0 * 0.25;
        assert!((variance(2, 8.0) - expected).abs() < 1e-9, "{}", variance(2, 8.0));
        assert_eq!(variance(0, 7.0), 7.0, "outside the product limit");
    }

    /// 25 samples know a correction to a fifth, unless it is larger.
    #[test]
    fn corrections_are_as_uncertain_as_they_are_large() {
        let (_, mut survival) = limit(&[(2, 4.0)], &[]);
        assert!(!survival.borrows());
        let mut found = [(0.0, 0.0); BANDS];
        found[3] = (100.0, 300.0);
        for (factor, doubt) in [(1.1, 0.2), (1.25, 0.25), (0.5, 0.5), (4.0, 1.0)] {
            survival.factors[3] = factor;
            survival.set_borrowed(&found);
            let expected = ((1.0 - 1.0 / factor) * doubt).powi(2);
            assert!(survival.borrows() && (survival.borrowed[3] - expected).abs() < 1e-12, "{:?}", survival.borrowed);
        }
        let mut bands = [(0.0, 0.0); BANDS];
        bands[3].0 = 10.0;
        assert!((survival.variance(&bands) - (0.75f64 * 10.0).powi(2)).abs() < 1e-9, "{}", survival.variance(&bands));
    }

    /// The last band holds the expiry; of short ones, bands are octaves from a nanosecond on.
    #[test]
    fn bands_of_age_are_octaves() {
        let hour = AgeBands::new(Nanos::from_secs(3_600));
        assert_eq!((hour.of(Nanos::from_secs(3_600)), hour.of(Nanos::new(i64::MAX))), (BANDS - 1, BANDS - 1));
        assert!((1.8e12..=3.6e12).contains(&hour.end(BANDS - 2)), "{}", hour.end(BANDS - 2));
        let micro = AgeBands::new(Nanos::new(1_000));
        assert_eq!([0, 1, 2, 3, 4].map(|age| micro.of(Nanos::new(age))), [1, 1, 2, 2, 3]);
        for ages in [hour, micro, AgeBands::new(Nanos::new(0))] {
            assert_eq!((ages.of(Nanos::new(i64::MIN)), ages.of(Nanos::new(0))), (1, 1));
            for band in 1..BANDS - 1 {
                let end = ages.end(band) as i64;
                assert_eq!([end - 1, end].map(|age| ages.of(Nanos::new(age))), [band, band + 1]);
            }
        }
        let (age, by_age) = (Nanos::new(100), NewBands::by_age(micro));
        assert_eq!([0, 5].map(|band| by_age.of_delay(band, age)), [7, 5], "of what had none");
        assert_eq!(NewBands::of_twice(true, 1).of_delay(0, age), 0);
    }
}
