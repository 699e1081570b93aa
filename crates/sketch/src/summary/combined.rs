use super::Joined;
use super::spans::{Longer, Reordered};
use crate::estimate::{Estimate, Z95};
use crate::lda;
use crate::moments::Level;
use std::f64::consts::SQRT_2;

/// Upper bound on the packets that pass one of two borders before it at the sender and after it at the receiver, if
/// `spread` packets pass in a standard deviation of the delay.
///
/// At a border with delay *D*ʹ, E\[(*D* − *D*ʹ)⁺\] of the packets that arrive per unit of time do. For two borders and
/// independent normal delays that is 1.1 standard deviations on average, and at most 2.9 in 97.5% of the cases; where
/// delays are skewed to the right it is less. In addition their number varies as Poisson's.
pub(super) fn passing(spread: f64) -> f64 {
    let most = 3.0 * spread;
    most + Z95 * most.sqrt()
}

/// The result over all intervals, combined from those of each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Combined {
    /// Packets that the sender saw in all intervals.
    pub sent: u64,
    /// Those of them in usable intervals.
    pub usable: u64,
    /// Packets of usable intervals that arrived.
    pub received: u64,
    /// Usable intervals.
    pub intervals: u64,
    /// Those of them in which more packets arrived than were sent: around their borders some were reordered, or some
    /// were duplicated.
    pub unordered: u64,
    /// Usable intervals with packets that arrived in them and were sent in another interval, or never.
    surplus_intervals: u64,
    /// Estimated number of packets that only one point counted in usable intervals, and its variance.
    all_apart: f64,
    apart_variance: f64,
    /// Packets on which the delays are based.
    pub effective_samples: u64,
    /// Packets that arrived in intervals whose delay is known; the number of these intervals, and their total length in
    /// nanoseconds.
    weight: f64,
    telling: f64,
    time: f64,
    /// Packets sent in these intervals, and those that only one point counted.
    told_sent: f64,
    apart: f64,
    /// Σ weight · third central moment within an interval, and Σ weight · std³.
    cubes: f64,
    cubes_of_std: f64,
    /// The mean of the first interval whose delay is known; other means are relative to it, since clocks may differ by
    /// far more than delays do.
    first: f64,
    /// Mean relative to `first`.
    mean: f64,
    /// Σ weight · (std² (1 − 1/weight) + (mean − overall mean)²).
    squares: f64,
    /// Σ weightᵏ · (standard error of the mean)², for *k* = 1 and 2: what chance contributes to the spread of means.
    chance: [f64; 2],
    /// Σ (weight · standard error)² · (mean − first)ᵏ, for *k* = 0, 1 and 2.
    errors: [f64; 3],
    /// Σ (weight · error of the variance within an interval)².
    variance_error: f64,
    /// The delays by longer spans of time, if intervals are too short for them.
    longer: Option<Longer>,
    /// What pairs of intervals tell of packets that are reordered around borders.
    reordered: Option<Reordered>,
}

impl Combined {
    /// Adds an interval. Every packet that arrived has the same weight, whichever usable interval it was in.
    pub fn add(&mut self, joined: &Joined) {
        // Untrusted sketches may count any number of packets.
        let add = |sum: &mut u64, packets: u64| *sum = sum.saturating_add(packets);
        add(&mut self.sent, joined.sent);
        let Ok(answer) = &joined.answer else { return };
        add(&mut self.usable, answer.sent);
        add(&mut self.received, answer.received);
        self.intervals += 1;
        self.unordered += u64::from(answer.received > answer.sent);
        self.surplus_intervals += u64::from(answer.has_surplus);
        self.all_apart += answer.apart;
        self.apart_variance += answer.apart_variance;
        let Some(delays) = answer.delays else { return };
        add(&mut self.effective_samples, delays.packets);
        let weight = answer.received as f64;
        let mean = delays.mean(Level::P95);
        let std = delays.std(Level::P95);
        self.weight += weight;
        self.telling += 1.0;
        self.told_sent += answer.sent as f64;
        self.apart += answer.apart;
        self.cubes += weight * answer.third_ns3;
        self.cubes_of_std += weight * std.value.powi(3);
        self.time += (joined.end - joined.start).get() as f64;
        if self.telling == 1.0 {
            self.first = mean.value;
        }
        let relative = mean.value - self.first;
        let before = relative - self.mean;
        self.mean += before * (weight / self.weight);
        let variance = std.value * std.value;
        self.squares += weight * (variance * (1.0 - 1.0 / weight) + before * (relative - self.mean));
        let sampled = delays.packets as f64;
        let chance = weight * variance * (1.0 / sampled - 1.0 / weight).max(0.0);
        self.chance = [self.chance[0] + chance, self.chance[1] + weight * chance];
        let error = (weight * (mean.high - mean.low) / (2.0 * Z95)).powi(2);
        for (power, sum) in self.errors.iter_mut().enumerate() {
            *sum += error * relative.powi(power as i32);
        }
        self.variance_error += (weight * std.value * (std.high - std.low) / Z95).powi(2);
    }

    /// The same with delays by longer spans of time, where intervals are too short for them.
    pub(super) fn with_longer(self, longer: Option<Longer>) -> Self {
        let effective_samples = longer.map_or(self.effective_samples, |longer| longer.effective_samples);
        Self { longer, effective_samples, ..self }
    }

    /// The same with what pairs of intervals tell of reordered packets.
    pub(super) fn with_reordered(self, reordered: Option<Reordered>) -> Self {
        Self { reordered, ..self }
    }

    /// By how many nanoseconds the mean of the intervals is too low, if they are so short compared with the delays that
    /// this matters.
    pub fn too_low(&self) -> Option<f64> {
        self.longer.map(|longer| longer.mean.value - self.first - self.mean)
    }

    /// Packets that arrived in intervals in which they were not sent: duplicates, or packets reordered around a border.
    /// Each duplicate hides a lost packet.
    pub fn surplus(&self) -> Estimate<f64> {
        let net = self.usable as f64 - self.received as f64;
        lda::surplus(self.surplus_intervals > 0, net, self.all_apart, self.apart_variance)
    }

    /// Packets that arrive in a standard deviation of the delay; `None` without delays.
    fn in_deviation(&self) -> Option<f64> {
        self.std().map(|std| self.weight / self.time * std.value)
    }

    /// Upper bound on the expected number of packets, per border, that pass before it at one point and after it at the
    /// other: as pairs of intervals tell, or those that pass at their rate in *E*\[(*D* − *D*ʹ)⁺\] ≤ *σ*/√2, for
    /// independent delays *D* and *Dʹ*.
    fn reordered(&self) -> f64 {
        let by_rate = || self.in_deviation().map_or(0.0, |packets| packets / SQRT_2);
        self.reordered.map_or_else(by_rate, |reordered| reordered.most)
    }

    /// Upper bound on the packets that were sent in these intervals and arrived before the first or after the last of
    /// them, or in one that could not be joined: they are not lost. Zero if no interval shows that any did.
    pub fn elsewhere(&self) -> f64 {
        /// With as many intervals, the average surplus of one says how many packets pass its borders.
        const MANY: u64 = 8;
        if self.surplus_intervals == 0 {
            return 0.0;
        }
        let most = passing(self.in_deviation().unwrap_or(f64::INFINITY));
        if self.intervals < MANY { most } else { most.min(passing(self.surplus().high / self.intervals as f64)) }
    }

    /// Lower bound on the number of duplicates: the surplus less the packets that may have been reordered around
    /// borders.
    pub fn duplicates(&self) -> f64 {
        let reordered = self.telling * self.reordered();
        (self.surplus().low - reordered - Z95 * reordered.sqrt()).max(0.0)
    }

    /// Whether more packets arrived than were sent, beyond what reordering at the first and the last border explains.
    pub fn has_too_many(&self) -> bool {
        let by_rate = 2.0 * self.reordered();
        let reordered = self.reordered.map_or_else(|| by_rate + 3.0 * by_rate.sqrt(), Reordered::of_interval);
        self.received as f64 - self.usable as f64 > reordered + 3.0
    }

    /// Whether packets are reordered around borders too often for this to be chance.
    pub fn is_unordered(&self) -> bool {
        self.unordered > self.intervals / 4
    }

    /// Mean delay in nanoseconds with its 95% interval; `None` without delays. The interval is widened for packets that
    /// are missing because the points counted them on different sides of a border.
    pub fn mean(&self) -> Option<Estimate<f64>> {
        if let Some(longer) = self.longer {
            return Some(longer.mean);
        }
        let (error, missing) = (self.error(), self.missing());
        let value = self.first + self.mean;
        let (low, high) = (value - error + missing.min(0.0), value + error + missing.max(0.0));
        (self.weight > 0.0).then_some(Estimate { value, low, high })
    }

    /// Half the width of the mean's interval, as far as chance determines it.
    pub(super) fn error(&self) -> f64 {
        Z95 * self.errors[0].sqrt() / self.weight
    }

    /// How far the mean may be too low because of packets missing at borders; negative if it may be too high.
    ///
    /// If delays *D* are independent, *λ* E|*D* − *D*ʹ| of the packets that arrive at rate *λ* are missing at a border,
    /// *D*ʹ being the delay of the border's packet, and with intervals of length *T* the mean is too low by E\[(*D* −
    /// *μ*) |*D* − *D*ʹ|\]/*T*: at most √2 *σ*²/*T* (Cauchy and Schwarz), zero for symmetric delays, and *σ*²/*T*
    /// *γ*/√(4 + *γ*²) for delays of two values with skewness *γ*. The bound times the factor *γ*/√(4 + *γ*²) exceeds
    /// the true value for exponential and log-normal delays. If delays change slowly, fewer packets are missing, and
    /// only the variation from packet to packet matters: *σ* is replaced by four times the estimate of E|*D* − *D*ʹ|,
    /// if that is less.
    pub(super) fn missing(&self) -> f64 {
        let lost = self.told_sent - self.weight;
        // A missing packet is counted by one point only in each of two intervals.
        let at_a_border = (self.apart - lost).max(0.0) / 2.0 / self.telling;
        let (interval, apart_by) = (self.time / self.telling, at_a_border * self.time / self.weight);
        let skewness = if self.cubes_of_std > 0.0 { self.cubes / self.cubes_of_std } else { 0.0 };
        let share = skewness / skewness.hypot(2.0);
        SQRT_2 * share * self.variance().min((4.0 * apart_by).powi(2)) / interval
    }

    /// The variance within intervals and that between their means, without that of their errors.
    fn variance(&self) -> f64 {
        let [first, second] = self.chance;
        ((self.squares - first + second / self.weight) / self.weight).max(0.0)
    }

    /// Standard deviation of the delay in nanoseconds with its 95% interval; `None` without delays.
    pub fn std(&self) -> Option<Estimate<f64>> {
        if let Some(longer) = self.longer {
            return longer.std;
        }
        if self.weight == 0.0 {
            return None;
        }
        let [zeroth, first, second] = self.errors;
        let between = 4.0 * (second - 2.0 * self.mean * first + self.mean * self.mean * zeroth).max(0.0);
        Some(Estimate::root(self.variance(), (self.variance_error + between).sqrt() / self.weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lda::OneWay;
    use crate::moments::Moments;
    use dwell_types::Timestamp;

    const MILLI: f64 = 1e6;

    /// An interval of 50 ms. Times are in milliseconds; the skewness of delays is 1.5.
    fn interval([sent, received, apart, sampled]: [u64; 4], mean: f64, std: f64, log_std_error: f64) -> Joined {
        let std_ns = std * MILLI;
        let delays = Moments {
            packets: sampled,
            population: received,
            mean_ns: mean * MILLI,
            std_ns,
            log_std_error,
            freedom: u64::MAX,
        };
        let answer = OneWay {
            sent,
            received,
            cells: 100,
            usable_cells: 50,
            apart: apart as f64,
            apart_variance: 0.0,
            has_surplus: false,
            elsewhere: 0.0,
            unused_banks: 0,
            delays: Some(delays),
            third_ns3: 1.5 * std_ns.powi(3),
            neighbours: (0.0, 0),
        };
        let [start, end] = [0, 50_000_000].map(Timestamp::from_nanos);
        Joined { start, end, sent, answer: Ok(answer), flows: None }
    }

    fn assert_near(a: f64, b: f64) {
        assert!((a - b * MILLI).abs() < 1e-6 * b.abs() * MILLI, "{} and {b}", a / MILLI);
    }

    /// 100 packets of 5 ± 1 ms and 300 of 9 ± 2 ms, all in the sample: what is told is exact.
    #[test]
    fn intervals_add_up() {
        let mut combined = Combined::default();
        combined.add(&interval([100, 100, 0, 100], 5.0, 1.0, 0.0));
        combined.add(&interval([300, 300, 0, 300], 9.0, 2.0, 0.0));
        let (mean, std) = (combined.mean().unwrap(), combined.std().unwrap());
        [mean.low, mean.value, mean.high].iter().for_each(|&end| assert_near(end, 8.0));
        // Within the intervals and between their means.
        assert_near(std.value, ((99.0 + 299.0 * 4.0 + 100.0 * 9.0 + 300.0) / 400f64).sqrt());
    }

    /// The same with a quarter and a third in the sample, whose chance is no variance of the delays. Four packets are
    /// lost, and two are missing at a border.
    #[test]
    fn chance_and_missing_packets_widen_intervals() {
        let mut combined = Combined::default();
        combined.add(&interval([104, 100, 8, 25], 5.0, 1.0, 0.0));
        combined.add(&interval([300, 300, 4, 100], 9.0, 2.0, 0.1));
        // Σ (weight · standard error)².
        let errors = [100.0f64.powi(2) * 0.03, 300.0f64.powi(2) * 4.0 / 150.0];
        let error = Z95 * (errors[0] + errors[1]).sqrt() / 400.0;
        assert_near(combined.error(), error);
        // E|D − Dʹ| is half a millisecond.
        let missing = SQRT_2 * 0.6 * (4.0 * 0.5f64).powi(2) / 50.0;
        let mean = combined.mean().unwrap();
        assert_near(mean.low, 8.0 - error);
        assert_near(mean.high, 8.0 + error + missing);
        let chance = [3f64, 8.0];
        let squares = 99.0 + 299.0 * 4.0 + 100.0 * 9.0 + 300.0 - (chance[0] + chance[1]);
        let variance = (squares + (100.0 * chance[0] + 300.0 * chance[1]) / 400.0) / 400.0;
        let std = combined.std().unwrap();
        assert_near(std.value, variance.sqrt());
        let within = (300.0 * 2.0 * 2.0 * (Z95 * 0.1).sinh() * 2.0 / Z95).powi(2);
        let between = 4.0 * (9.0 * errors[0] + errors[1]);
        let factor = (Z95 * (within + between).sqrt() / 400.0 / (2.0 * variance)).exp();
        assert_near(std.high, variance.sqrt() * factor);
    }
}
