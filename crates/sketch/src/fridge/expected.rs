use super::sketch::FILLED;
use crate::parts::targets::error_of_weighted;
use dwell_types::Nanos;

/// The traffic of a fridge, from which its errors can be predicted.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Requests per nanosecond, and in total.
    rate: f64,
    requests: f64,
    /// Answered requests, in total.
    exchanges: f64,
    /// In ascending order, in nanoseconds; each stands for equally many exchanges.
    delays: Vec<f64>,
}

impl Traffic {
    /// Requests per second for so long, the number of those that are answered, and equally likely delays; `None` without
    /// any.
    pub fn new(rate: f64, span: Nanos, exchanges: f64, delays: &[Nanos]) -> Option<Self> {
        let mut delays: Vec<f64> = delays.iter().map(|delay| delay.get().max(1) as f64).collect();
        delays.sort_by(f64::total_cmp);
        let requests = rate * span.as_secs_f64();
        let is_sound = !delays.is_empty() && requests > 0.0 && exchanges > 0.0;
        is_sound.then_some(Self { rate: rate / 1e9, requests, exchanges, delays })
    }

    /// The probability that an exchange with this delay is sampled: it enters, and no request that enters meanwhile
    /// overwrites it.
    fn chance(&self, slots: u32, probability: f64, delay: f64) -> f64 {
        probability * (-probability * self.rate * delay / f64::from(slots)).exp()
    }

    /// Expected number of samples.
    pub fn samples(&self, slots: u32, probability: f64) -> f64 {
        let sum: f64 = self.delays.iter().map(|&delay| self.chance(slots, probability, delay)).sum();
        self.exchanges * sum / self.delays.len() as f64
    }

    /// The standard error of a quantile, in octaves: that of the distribution function there, √((1 − *F*)² *V*≤ + *F*²
    /// *V*>) / *n* with the variances Σ(1/*q* − 1) of the exchanges below and above (zheng22, as corrected in
    /// `docs/papers/zheng22-fridge.md`), over its slope. An underestimate if fewer than some twenty samples are
    /// expected beyond the quantile.
    pub fn quantile_error(&self, slots: u32, probability: f64, quantile: f64) -> f64 {
        let each = self.exchanges / self.delays.len() as f64;
        let rank = ((quantile * self.delays.len() as f64) as usize).min(self.delays.len() - 1);
        let variance = |delays: &[f64]| -> f64 {
            delays.iter().map(|&delay| each * (1.0 / self.chance(slots, probability, delay) - 1.0)).sum()
        };
        let (below, above) = self.delays.split_at(rank);
        let up = (1.0 - quantile).powi(2) * variance(below);
        let down = quantile.powi(2) * variance(above);
        (up + down).sqrt() / self.exchanges * self.slope(quantile)
    }

    /// What the search for *p* adds to [`Traffic::quantile_error`], in octaves: until a fridge knows the delays, few
    /// requests enter. If the slow ones are answered before it is filled, only chance moves *p* at first, and nothing if
    /// it stays 1. A fridge that is never filled does not search.
    pub fn search_error(&self, slots: u32, probability: f64, quantile: f64) -> f64 {
        /// Exchanges meanwhile, and how much less likely each of them enters.
        const SEARCHED: f64 = 768.0;
        const RARER: f64 = 4.0;
        let slow = self.delays[(0.99 * self.delays.len() as f64) as usize];
        let filled = f64::from(slots / FILLED);
        let is_known = self.rate * slow * 3.0 < filled;
        if self.requests <= filled || is_known && probability == 1.0 {
            return 0.0;
        }
        let searched = if is_known { SEARCHED / 4.0 } else { SEARCHED };
        let variance = searched.min(self.exchanges) * (RARER - 1.0) / probability;
        (quantile * (1.0 - quantile) * variance).sqrt() / self.exchanges * self.slope(quantile)
    }

    /// Octaves of delay per unit of the distribution function.
    fn slope(&self, quantile: f64) -> f64 {
        let reach = 0.25 * quantile.min(1.0 - quantile);
        let octaves = |share: f64| {
            let rank = (share * self.delays.len() as f64) as usize;
            self.delays[rank.min(self.delays.len() - 1)].log2()
        };
        (octaves(quantile + reach) - octaves(quantile - reach)) / (2.0 * reach)
    }

    /// The entry probability that a fridge looks for, to half an octave: the one with the least error as it predicts
    /// it.
    pub fn best_probability(&self, slots: u32) -> f64 {
        /// Half octaves; still smaller probabilities sample nothing.
        const STEPS: i32 = 60;
        let of = |step: i32| {
            let probability = (-0.5 * f64::from(step)).exp2();
            let exchanges = self.delays.iter().map(|&delay| (1.0, self.chance(slots, probability, delay)));
            (probability, error_of_weighted(exchanges))
        };
        (1..STEPS).map(of).fold(of(0), |best, next| if next.1 < best.1 { next } else { best }).0
    }
}
