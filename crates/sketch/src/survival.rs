//! The product limit: what became of exchanges that were let go before their response came.
//!
//! An exchange that was sampled at first may be let go later, by a rule that knows nothing of its delay: in a fridge
//! after a geometrically distributed number of insertions, in a horizon table at the age that its id's hash names. A
//! response whose exchange is still there gives a delay; one whose exchange is gone tells that the delay is longer than
//! the time until it went: it is censored. Kaplan and Meier's product limit (1958) estimates the distribution from
//! both.
//!
//! The scale, insertions or age, is cut into bands. A response runs the risk to be found in every band up to the one in
//! which it is found or let go. It stands there for as many exchanges as one over the chance to get so far, so that the
//! numbers add up even where that chance changes while the meter runs; where it does not, this is the product limit and
//! nothing else.
//!
//! A response that answers nothing observed is censored too, and stays in the mass that never comes to an end. That
//! mass is left out of the answer, but for what is likely to be slow.

use dwell_types::Nanos;

/// Bands `1..BANDS`. Number 0 is for samples that no product limit weighs.
pub(crate) const BANDS: usize = 32;
/// Bits of a band's number.
pub(crate) const BAND_BITS: u32 = 5;

/// The last band in which exchanges are followed that are lost gradually: what is found later is luck, and would weigh
/// too much. It counts as censored.
pub(crate) const FOLLOWED: usize = 28;
/// What is open when the last exchange was found counts as slow if it is at most this share of what ended since half of
/// that age: tails go on falling. If it is more, most of it never ends, and [`SLOW_POWER`] of the ratio counts.
const SLOW: f64 = 0.5;
const SLOW_POWER: i32 = 4;

/// The responses of one series that were at risk, by band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Risk {
    /// Σ 1/*q* over the responses whose exchanges were still there when the band began; *q* is the chance to get so
    /// far.
    pub(crate) at_risk: [f64; BANDS],
    /// How many exchanges each of them stands for on average: Σ 1/*q*² / Σ 1/*q*.
    pub(crate) each: [f64; BANDS],
    /// When exchanges are let go.
    pub(crate) loss: Loss,
    /// How many responses there were, also of ids that were never followed, where that is known.
    pub(crate) responses: Option<f64>,
}

/// When exchanges are let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// All the time, exponentially. The last band, which is open, loses as if it were half *M* insertions long.
    Gradual,
    /// When a band begins, and never in one.
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

    /// How much the number of those at risk is heeded where this share of them will end. Of a capture where 43% of the
    /// acknowledgements answer nothing, many of them the same ones, it deviates by forty times what independent ids
    /// would. Fridges gain nothing by more caution than proportion.
    fn heeded(self, to_end: f64) -> f64 {
        match self {
            Self::Gradual => to_end,
            Self::AtBorders => to_end * to_end,
        }
    }
}

impl Risk {
    /// Nothing met yet.
    pub(crate) const fn none(loss: Loss) -> Self {
        Self { at_risk: [0.0; BANDS], each: [1.0; BANDS], loss, responses: None }
    }

    /// Adds what a meter of the same kind and of about the same size met in other traffic.
    pub fn merge(&mut self, other: &Self) {
        for band in 0..BANDS {
            let (ours, theirs) = (self.at_risk[band], other.at_risk[band]);
            if theirs > 0.0 {
                self.each[band] = (ours * self.each[band] + theirs * other.each[band]) / (ours + theirs);
            }
            self.at_risk[band] = ours + theirs;
        }
        self.responses = self.responses.zip(other.responses).map(|(ours, theirs)| ours + theirs);
    }

    /// The same among so many responses in all.
    pub(crate) fn among(self, responses: u64) -> Self {
        Self { responses: Some(responses as f64), ..self }
    }

    /// Responses beyond those that stand at risk, as far as chance does not explain them (three standard errors): of
    /// ids that come again and again, and happen not to be followed.
    fn unheard(&self) -> f64 {
        let Some(responses) = self.responses.filter(|_| self.loss == Loss::AtBorders) else { return 0.0 };
        let chance = (responses * (self.each[1] - 1.0).max(0.0)).sqrt();
        (responses - self.at_risk[1] - 3.0 * chance).max(0.0)
    }

    /// The product limit for samples whose weights, and whose variances Σ (weight² − weight), have these sums by band;
    /// `None` if no response came.
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
                // Those that will end say by how much too many or too few are left of them. Those that never end do so,
                // too, but where they are one id many times, they say it loudly: they count as little as they are
                // likely to end.
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
            survival.end_slowly(band, weight, self.loss, self.unheard());
        }
        survival.set_losses(self);
        survival.set_borrowed(found_by_band);
        Some(survival)
    }
}

/// The band of so many eighths of *M* insertions where loss is gradual: 16 are ⅛ *M* wide and 12 are ¼. What lasts
/// longer than 5 *M*, where one entry in 150 is left, is in the band behind them.
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
    /// Octaves of nanoseconds that the first band has besides its own.
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

/// Where the samples of each band belong from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBands {
    moved: [u8; BANDS],
    /// Where those belong that had none.
    ages: Option<AgeBands>,
}

impl NewBands {
    /// Samples that had none get that of their delay.
    pub(crate) fn by_age(ages: AgeBands) -> Self {
        Self { moved: std::array::from_fn(|band| band as u8), ages: Some(ages) }
    }

    /// Every band moves to that of twice as many insertions, or of half as many, where so many bands are taken as one.
    /// What is not followed then, or was not, stays so.
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

    /// First these, then others.
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
    /// What the weights in each band are to be multiplied with.
    pub(crate) factors: [f64; BANDS],
    /// Estimated number still open at the end of each band, those that never end included; at 0 all of them.
    open: [f64; BANDS],
    /// Exchanges that a response stands for in the first band.
    first: f64,
    /// How much more each stands for after a band began than before.
    at_begin: [f64; BANDS],
    /// How much more each stands for when a band ends than when it began.
    within: [f64; BANDS],
    /// Relative variance of what the samples of a band stand for besides what their chances tell: the fewer there are,
    /// the less is known of it.
    borrowed: [f64; BANDS],
}

impl Survival {
    /// Lets what was slow end with the last exchanges that were found, in this band and with this weight; `unheard` are
    /// open, too, and never end.
    fn end_slowly(&mut self, band: usize, weight: f64, loss: Loss, unheard: f64) {
        let open = self.open[band];
        let ended = self.open_at_half(band, loss) - open;
        let all_open = (open + unheard).max(f64::MIN_POSITIVE);
        let slow = open * (SLOW * ended / all_open).min(1.0).powi(SLOW_POWER);
        self.factors[band] += slow / weight;
        self.open[band..].iter_mut().for_each(|open| *open -= slow);
    }

    /// What was open at half of the scale up to the end of a band.
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

    /// Whether samples stand for more or less than themselves.
    pub(crate) fn borrows(&self) -> bool {
        self.borrowed.iter().any(|&borrowed| borrowed > 0.0)
    }

    /// Variance of an estimated Σ *z* over exchanges, from Σ *z* and Σ *z*² in each band; in band 0 the second is the
    /// variance itself. With *w* = 1/*q* exchanges for each that is at risk: Σ*z*² (*w* − 1) for the gate, and for what
    /// is let go ∫ (Σ*z*² − (Σ*z*)²/*open*) d*w*, both sums over the exchanges that last longer: what is lost is
    /// replaced by the mean of what is still open (Greenwood's formula for any *z*). So is what is lost in the band in
    /// which it would have ended, if that loses gradually, on average for half of the band: its mass is counted as open
    /// when the band ends. What a band's samples stand for besides is in doubt: by its size over the root of their number,
    /// and wholly where it is as much as they stand for by themselves. That is more than chance brings where ids are
    /// independent, and happens where one that answers nothing comes again and again.
    pub(crate) fn variance(&self, bands: &[(f64, f64); BANDS]) -> f64 {
        let (mut sum, mut squares, mut variance) = (0.0, 0.0, 0.0);
        // Σ (*z* − mean)² over so many exchanges, where the mean is that of what is open.
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

    /// Ten responses, each for two exchanges as long as nothing is lost; from band 3 on each for four.
    fn limit(found: &[(usize, f64)], censored: &[(usize, f64)]) -> ([f64; BANDS], Survival) {
        let each = |band: usize| if band < 3 { 2.0 } else { 4.0 };
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

    /// Without censoring the product limit is the distribution itself.
    #[test]
    fn nothing_censored_nothing_changed() {
        let found: Vec<(usize, f64)> = (1..3).map(|band| (band, 3.0)).collect();
        let (mass, _) = limit(&found, &[]);
        assert!(mass[1..3].iter().all(|mass| (mass - 6.0).abs() < 1e-9), "{mass:?}");
        assert!(Risk::none(Loss::Gradual).survival(&[(0.0, 0.0); BANDS]).is_none());
    }

    /// The example of a textbook: of 10, 2 end in the first band, 4 are censored in the second, 3 end in the third, and
    /// one is left: ⅕, then ¾ of what is left. What each stands for in a band cancels. What is left, 4, is less than
    /// half of the 12 that ended before, so that it was slow, too.
    #[test]
    fn censored_ones_share_the_fate_of_those_that_last_longer() {
        let (mass, survival) = limit(&[(1, 2.0), (3, 3.0)], &[(2, 4.0), (BANDS - 1, 1.0)]);
        assert!((mass[1] - 4.0).abs() < 1e-9 && (mass[3] - 16.0).abs() < 1e-9, "{mass:?}");
        assert_eq!(survival.open[BANDS - 1], 0.0);
    }

    /// Where 90 are left, almost none of the exchanges that they stand for counts as slow: that is far more than ended
    /// before. One that is left was.
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

    /// Of 12 responses that stood at risk, for 24, 11 ended; what is left of them was slow. Where there were 200
    /// responses, the others are open, too, and it was not; 40 may be chance.
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

    /// Where bands are ⅛ and ¼ wide, half of the end of one lies between two others.
    #[test]
    fn the_half_of_a_scale_is_where_it_is() {
        let mut risk = Risk::none(Loss::Gradual);
        for band in 1..=FOLLOWED + 1 {
            // As many are open as there are insertions left to 5.
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

    /// Half of a band's insertions, or twice as many, are those of the band that it moves to, as long as they are followed;
    /// and no band moves past another.
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

    /// Of 16 exchanges that last to band 3 half were sampled and half of those let go: the total of all that last is
    /// known from the first, so that their loss costs nothing; a share of them is not.
    #[test]
    fn what_is_lost_is_replaced_by_the_mean_of_what_is_left() {
        let (_, survival) = limit(&[(3, 4.0)], &[(2, 4.0)]);
        let mut bands = [(0.0, 0.0); BANDS];
        bands[3] = (16.0, 16.0);
        assert!((survival.variance(&bands) - 16.0).abs() < 1e-9, "the gate's: {}", survival.variance(&bands));
        bands[3] = (8.0, 8.0);
        assert!((survival.variance(&bands) - (8.0 + 2.0 * (8.0 - 4.0))).abs() < 1e-9, "{}", survival.variance(&bands));
    }
}
