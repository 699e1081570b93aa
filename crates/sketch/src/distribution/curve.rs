//! One curve of a distribution: running sums over bins, and the estimates with intervals.

use super::class::{Class, Inside};
use super::code::PARTS;
use super::once::Doubt;
use super::view::{Bin, Bins, Shares};
use crate::estimate::{Estimate, student95};
use crate::survival::{BANDS, Survival};
use std::ops::Range;
use std::sync::Arc;

/// Sums over bins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// Σ *w*.
    pub(super) weight: f64,
    /// Σ (*w*² − *w*).
    pub(super) excess: f64,
    /// Σ (*w*² − *w*)², as if all samples of a bin had equal weight.
    fourth: f64,
}

impl Sums {
    fn of(bin: &Bin) -> Self {
        let &Bin { weight, excess, .. } = bin;
        Self { weight, excess, fourth: if excess > 0.0 { Self::fourth(weight, excess) } else { 0.0 } }
    }

    // Not inlined: with weights of 1, millions of divisions would be wasted.
    #[inline(never)]
    fn fourth(weight: f64, excess: f64) -> f64 {
        (excess / weight).powi(2) * (excess + weight)
    }

    #[inline]
    fn add(self, bin: &Bin) -> Self {
        self.plus(Self::of(bin))
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        Self {
            weight: self.weight + other.weight,
            excess: self.excess + other.excess,
            fourth: self.fourth + other.fourth,
        }
    }

    /// The same with all weights multiplied by `share`.
    fn times(self, share: f64) -> Self {
        Self { weight: share * self.weight, excess: share * self.excess, fourth: share * self.fourth }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            weight: self.weight - other.weight,
            excess: self.excess - other.excess,
            fourth: self.fourth - other.fourth,
        }
    }
}

/// Totals over the bins of one part of the store.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    sums: Sums,
    /// Σ weight × middle of the bin, and × half its width.
    delay: f64,
    width: f64,
}

impl Totals {
    #[inline]
    fn add(&mut self, bin: &Bin) {
        self.sums = self.sums.add(bin);
        self.delay += bin.weight * bin.middle();
        self.width += bin.weight * 0.5 * (bin.high as f64 - bin.low as f64);
    }

    /// Those of samples of weight 1 in bins without width.
    fn plain(delays: &[u32]) -> Self {
        let sums = Sums { weight: delays.len() as f64, ..Sums::default() };
        Self { sums, delay: delays.iter().copied().map(u64::from).sum::<u64>() as f64, width: 0.0 }
    }

    /// Those of some bins by part. Nearly all are in the first part, the unambiguous ones.
    #[inline]
    fn by_part(bins: &Bins, ranks: Range<usize>) -> [Self; PARTS] {
        let (plain, others) = bins.apart(ranks);
        let (mut first, mut parts) = (Self::plain(plain), [Self::default(); PARTS]);
        for bin in others {
            match bin.part() {
                0 => first.add(&bin),
                part => parts[part].add(&bin),
            }
        }
        parts[0] = first;
        parts
    }
}

/// Bins in ascending order with running sums.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Shared by all curves of a distribution.
    pub(super) bins: Arc<Bins>,
    pub(super) shares: Shares,
    /// Running sums before every multiple of [`STRIDE`] bins.
    sums: Vec<Sums>,
    pub(super) total: Sums,
    /// The start value of [`Curve::beyond`] before every multiple of [`STRIDE`] bins; empty if all weights are 1.
    beyond: Vec<f64>,
    /// Σ weight × middle of the bin, and × half its width.
    delay: f64,
    width: f64,
    /// The largest measurable delay.
    pub(super) possible: Option<i64>,
    /// The factor by which variances exceed those of exchanges that are sampled independently.
    pub(super) design_effect: f64,
    pub(super) limit: Option<Limit>,
}

/// A running sum is stored every this many bins, and accumulated in between.
const STRIDE: usize = 128;

/// The share of exchanges beyond the highest reported quantile, p99.
const UNTOLD: f64 = 0.01;

/// The product limit that weighted the bins, with the sums for its variances.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    survival: Survival,
    /// Weight by band (see [`by_band`]) before every multiple of [`Limit::STRIDE`] bins.
    sums: Vec<[f64; BANDS]>,
    total: [f64; BANDS],
}

impl Limit {
    const STRIDE: usize = 4096;

    fn new(survival: Survival, bins: &Bins, shares: Shares) -> Self {
        let mut sums = Vec::with_capacity(bins.len() / Self::STRIDE + 1);
        let mut total = [0.0; BANDS];
        for block in bins.blocks(Self::STRIDE) {
            sums.push(total);
            by_band(&mut total, shares.weigh_all(bins.iter(block)));
        }
        Self { survival, sums, total }
    }

    /// Weight by band of the first `number` bins.
    fn sums_of(&self, bins: &Bins, shares: Shares, number: usize) -> [f64; BANDS] {
        let block = number / Self::STRIDE;
        let mut sums = self.sums[block];
        by_band(&mut sums, shares.weigh_all(bins.iter(block * Self::STRIDE..number)));
        sums
    }

    /// Variance of the weight of the first `number` bins, minus `share` of the total weight.
    fn variance(&self, bins: &Bins, shares: Shares, number: usize, share: f64) -> f64 {
        let below = self.sums_of(bins, shares, number);
        let bands = std::array::from_fn(|band| {
            let (below, above) = (below[band], self.total[band] - below[band]);
            let (up, down) = (1.0 - share, -share);
            (up * below + down * above, up * up * below + down * down * above)
        });
        self.survival.variance(&bands)
    }

    /// Variance of the weight of a range of bins.
    fn variance_between(&self, bins: &Bins, shares: Shares, range: Range<usize>) -> f64 {
        let [before, up_to] = [range.start, range.end].map(|number| self.sums_of(bins, shares, number));
        self.survival.variance(&std::array::from_fn(|band| (up_to[band] - before[band], up_to[band] - before[band])))
    }
}

/// Adds the weights of bins, by band, for [`Survival::variance`].
fn by_band(sums: &mut [f64; BANDS], bins: impl Iterator<Item = Bin>) {
    for bin in bins {
        sums[usize::from(bin.band)] += bin.measure();
    }
}

impl Curve {
    /// One curve for each of these shares, in a single pass over the bins, since there may be many.
    pub(super) fn all<const N: usize>(bins: &Arc<Bins>, shares: [Shares; N], survival: Option<&Survival>) -> [Self; N] {
        let blocks = bins.len() / STRIDE + 1;
        let mut curves = shares.map(|shares| Self {
            bins: Arc::clone(bins),
            shares,
            sums: Vec::with_capacity(blocks),
            total: Sums::default(),
            beyond: Vec::new(),
            delay: 0.0,
            width: 0.0,
            possible: None,
            design_effect: 1.0,
            limit: survival.map(|survival| Limit::new(survival.clone(), bins, shares)),
        });
        for block in bins.blocks(STRIDE) {
            let parts = Totals::by_part(bins, block);
            curves.iter_mut().for_each(|curve| curve.add(&parts));
        }
        curves.iter_mut().filter(|curve| curve.is_estimated()).for_each(Self::look_beyond);
        curves
    }

    /// Whether samples stand for other exchanges as well.
    fn is_estimated(&self) -> bool {
        self.total.excess > 0.0 || self.borrows() || !self.bins.doubts.is_empty()
    }

    /// Whether that is because of a product limit.
    fn borrows(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.survival.borrows())
    }

    /// Adds the next block of bins.
    fn add(&mut self, parts: &[Totals; PARTS]) {
        self.sums.push(self.total);
        for (&Totals { sums, delay, width }, share) in parts.iter().zip(self.shares.0) {
            self.total = self.total.plus(sums.times(share));
            self.delay += share * delay;
            self.width += share * width;
        }
    }

    /// The bins with their weights in this curve.
    pub(super) fn weighed(&self) -> impl DoubleEndedIterator<Item = Bin> {
        self.shares.weigh_all(self.bins.all())
    }

    /// Sums over the first `number` bins.
    pub(super) fn sums_of(&self, number: usize) -> Sums {
        let block = number / STRIDE;
        let bins = self.shares.weigh_all(self.bins.iter(block * STRIDE..number));
        bins.fold(self.sums[block], |sums, bin| sums.add(&bin))
    }

    /// Largest delay.
    pub(super) fn longest(&self) -> i64 {
        self.weighed().next_back().map_or(i64::MIN, |bin| bin.high)
    }

    /// Variance of Σ weight · *z*(bin).
    pub(super) fn variance(&self, z: impl Fn(&Bin) -> f64) -> f64 {
        let doubt: f64 = self.doubts().map(|(bin, doubt)| doubt.variance * z(&bin).powi(2)).sum();
        let Some(limit) = &self.limit else {
            let plain: f64 = self.weighed().map(|bin| bin.excess * z(&bin).powi(2)).sum();
            return self.design_effect * (plain + doubt);
        };
        let mut bands = [(0.0, 0.0); BANDS];
        for bin in self.weighed() {
            let (z, sums) = (z(&bin), &mut bands[usize::from(bin.band)]);
            *sums = (sums.0 + bin.measure() * z, sums.1 + bin.measure() * z * z);
        }
        self.design_effect * (limit.survival.variance(&bands) + doubt)
    }

    /// What is uncertain besides the samples, with the bins where it is.
    fn doubts(&self) -> impl Iterator<Item = (Bin, Doubt)> {
        self.bins.doubts.single().map(|doubt| (self.bins.at(doubt.rank), doubt))
    }

    /// Variance of the weight of a range of bins.
    pub(super) fn variance_between(&self, range: Range<usize>) -> f64 {
        let doubt = self.bins.doubts.of(range.end).minus(self.bins.doubts.of(range.start));
        let samples = match &self.limit {
            None => self.sums_of(range.end).minus(self.sums_of(range.start)).excess,
            Some(limit) => limit.variance_between(&self.bins, self.shares, range),
        };
        self.design_effect * (samples + doubt.variance)
    }

    /// The 97.5th percentile of Student's distribution with these degrees of freedom, where samples are independent:
    /// otherwise there are fewer.
    fn student(&self, freedom: f64) -> f64 {
        student95(freedom / self.design_effect)
    }

    /// The first bin at which the cumulative weight is enough, or else the last one.
    pub(super) fn first(&self, is_enough: impl Fn(f64) -> bool) -> usize {
        let block = self.sums.partition_point(|sums| !is_enough(sums.weight)).saturating_sub(1);
        let start = block * STRIDE;
        let mut weight = self.sums[block].weight;
        let found = self.bins.iter(start..self.bins.len()).position(|bin| {
            let share = self.shares.of(&bin);
            weight += share * bin.weight;
            share > 0.0 && is_enough(weight)
        });
        let last = || self.bins.all().rposition(|bin| self.shares.of(&bin) > 0.0);
        found.map(|bins| self.bins.last_of_bin(start + bins)).or_else(last).unwrap_or(0)
    }

    /// The next bin in the curve; if there is none, the number of all bins.
    pub(super) fn behind(&self, rank: usize) -> usize {
        let all = self.bins.len();
        let found = self.bins.iter(rank + 1..all).position(|bin| self.shares.of(&bin) > 0.0);
        found.map_or(all, |more| self.bins.last_of_bin(rank + 1 + more))
    }

    /// Index of the first bin at which the distribution function reaches `share`.
    fn rank(&self, share: f64) -> usize {
        let wanted = share * self.total.weight * (1.0 - 1e-12);
        self.first(|weight| weight >= wanted)
    }

    /// Half of the 95% interval of the estimated distribution function after the bin at `rank`: a multiple of its
    /// standard error, √((1 − *F*)² *V*≤ + *F*² *V*>) / Σ*w*, and half a step, since samples are discrete (a continuity
    /// correction). With a few heavy samples the variance *V* is itself uncertain: the multiple is Student's for 8
    /// (Σ*v*)² / Σ*v*² degrees of freedom, where *v* is what each contributes to it. Satterthwaite's number (1946) is a
    /// quarter of that, with which 97 and 98% of the intervals of p99 contain the true value.
    pub(super) fn error(&self, rank: usize) -> f64 {
        let weight = self.total.weight;
        let below = self.sums_of(rank + 1);
        let above = self.total.minus(below);
        let share = below.weight / weight;
        let (up, down) = ((1.0 - share).powi(2), share * share);
        let (doubt_below, doubt_in_all) = (self.bins.doubts.of(rank + 1), self.bins.doubts.total());
        let doubt_above = doubt_in_all.minus(doubt_below);
        let doubt = up * doubt_below.variance + down * doubt_above.variance;
        let samples = up * below.excess + down * above.excess;
        let plain = samples + doubt;
        let variance = match &self.limit {
            None => plain,
            Some(limit) => limit.variance(&self.bins, self.shares, rank + 1, share) + doubt,
        };
        let fourth = up * up * (below.fourth + doubt_below.fourth) + down * down * (above.fourth + doubt_above.fourth);
        let freedom = if fourth > 0.0 { 8.0 * plain * plain / fourth } else { f64::INFINITY };
        let step = if self.borrows() { self.beyond(rank).max(1.0) } else { self.beyond(rank) };
        (self.student(freedom) * (self.design_effect * variance).max(0.0).sqrt() + 0.5 * step) / weight
    }

    /// How many exchanges each sample behind the bin at `rank` stands for besides itself: the largest Σ*w*² / Σ*w* − 1
    /// of all tails that begin there or before. Where the slowest samples are the lightest, heavier ones could have
    /// been among them.
    fn beyond(&self, rank: usize) -> f64 {
        let block = (rank + 1) / STRIDE;
        let Some(&before) = self.beyond.get(block) else { return 0.0 };
        self.heaviest_tail(before, self.sums[block], block * STRIDE..rank + 1).0
    }

    /// Computes the start values of [`Curve::beyond`].
    fn look_beyond(&mut self) {
        let (mut most, mut below) = (0.0, Sums::default());
        self.beyond = Vec::with_capacity(self.sums.len());
        for block in self.bins.blocks(STRIDE) {
            self.beyond.push(most);
            (most, below) = self.heaviest_tail(most, below, block);
        }
    }

    /// The maximum of `most` and of the tails that begin with a bin of a range or right behind it; and the sums up to
    /// the end of the range.
    fn heaviest_tail(&self, most: f64, below: Sums, bins: Range<usize>) -> (f64, Sums) {
        let tail = |below| {
            let Sums { weight, excess, .. } = self.total.minus(below);
            // Behind the last bin only rounding errors remain.
            if weight > 1e-9 * self.total.weight { excess.max(0.0) / weight.max(1.0) } else { 0.0 }
        };
        self.shares.weigh_all(self.bins.iter(bins)).fold((most.max(tail(below)), below), |(most, below), bin| {
            let below = below.add(&bin);
            (most.max(tail(below)), below)
        })
    }

    /// A quantile of this many samples, interpolated in its class, and its interval: the delays at which the estimated
    /// distribution function, give or take its error, reaches `q`. At a jump, that error differs: the lower end is a
    /// matter of what is known in front of the jump, the upper end of what is known behind it.
    pub(super) fn quantile(&self, q: f64, samples: u64) -> Estimate<i64> {
        // If less than half an exchange seems to be missing, these are all: their ranks are whole numbers.
        let missing = self.total.weight - samples as f64;
        let all = if (0.0..0.5).contains(&missing) { samples as f64 } else { self.total.weight };
        let rank = self.rank(q * all / self.total.weight);
        let (ranks, class) = self.class(rank);
        let up_to = self.sums_of(rank + 1).weight;
        // After the last bin the standard error would be zero.
        let is_last = self.total.weight - up_to <= 1e-9 * self.total.weight;
        let behind = self.error(if is_last { rank.saturating_sub(1) } else { rank });
        let is_jump = class.weight > behind * self.total.weight;
        let in_front = if is_jump { ranks.start.checked_sub(1).map_or(0.0, |rank| self.error(rank)) } else { behind };
        let low = self.bins.at(self.rank(q - in_front)).low;
        // A single weighted sample determines neither end.
        let is_alone = samples == 1 && self.is_estimated();
        Estimate {
            value: self.delay_at(&ranks, &class, q * all),
            low: match self.possible {
                Some(_) if is_alone || q < self.unseen_before(rank, samples) => low.min(0),
                _ => low,
            },
            high: match self.possible {
                Some(possible) if is_alone || q + behind.max(self.unseen(rank)) > 1.0 => possible.max(self.longest()),
                _ => self.bins.at(self.rank(q + behind)).high,
            },
        }
    }

    /// The share of exchanges beyond the bin at `rank` that may have been missed altogether: if three samples' worth
    /// were there, none of them would be seen in one run of twenty ("rule of three"). Zero without sampling.
    fn unseen(&self, rank: usize) -> f64 {
        3.0 * self.design_effect * self.beyond(rank) / self.total.weight
    }

    /// The same for exchanges up to the bin at `rank`, where each sample stands for its weight, but at least for the
    /// average: the product limit redistributes what is in none of them.
    fn unseen_before(&self, rank: usize, samples: u64) -> f64 {
        if !self.is_estimated() {
            return 0.0;
        }
        let Sums { weight, excess, .. } = self.sums_of(rank + 1);
        let each = (excess / weight).max(self.total.weight / samples as f64 - 1.0);
        3.0 * self.design_effect * if self.borrows() { each.max(1.0) } else { each } / self.total.weight
    }

    /// The delay at which the cumulative weight is `wanted`, in the class at these ranks.
    fn delay_at(&self, ranks: &Range<usize>, class: &Class, wanted: f64) -> i64 {
        let wanted = wanted - self.sums_of(ranks.start).weight;
        if class.low == class.high { class.low } else { self.inside(ranks, class).delay_at(wanted) }
    }

    /// The weight of all exchanges faster than `delay`; within a class it is what quantiles there are taken from.
    pub(super) fn weight_below(&self, delay: i64) -> f64 {
        let rank = self.bins.partition_point(|bin| bin.high < delay);
        let before = self.sums_of(rank).weight;
        if rank == self.bins.len() || self.bins.at(rank).low >= delay {
            return before;
        }
        let (ranks, class) = self.class(rank);
        before + self.inside(&ranks, &class).weight_below(delay)
    }

    /// The distribution within the class at these ranks.
    fn inside(&self, ranks: &Range<usize>, class: &Class) -> Inside {
        let touches = |low: &Class, high: &Class| low.high.checked_add(1) == Some(high.low);
        let before = ranks.start.checked_sub(1).map(|rank| self.class(rank).1).filter(|before| touches(before, class));
        let behind =
            (ranks.end < self.bins.len()).then(|| self.class(ranks.end).1).filter(|behind| touches(class, behind));
        Inside::new(*class, before, behind)
    }

    /// The class of the bin at a rank, that is, all bins with the same ends, and their ranks.
    fn class(&self, rank: usize) -> (Range<usize>, Class) {
        let Bin { low, high, .. } = self.bins.at(rank);
        let is_other = |bin: Bin| (bin.low, bin.high) != (low, high);
        let all = self.bins.len();
        let start = self.bins.iter(0..rank).rposition(is_other).map_or(0, |before| before + 1);
        let end = self.bins.iter(rank..all).position(is_other).map_or(all, |more| rank + more);
        let weight = self.shares.weigh_all(self.bins.iter(start..end)).map(|bin| bin.weight).sum();
        (start..end, Class { low, high, weight })
    }

    /// The weighted mean. Its interval is symmetric on a logarithmic scale, since delays have long tails, and extends
    /// by a multiple of the relative standard error: Student's for Satterthwaite's number of degrees of freedom (1946),
    /// 3 (Σ*v*)² / Σ*v*², where *v* is what each sample contributes to the variance. Exchanges that may have been
    /// missed altogether may have any delay from zero to the longest measurable one, except for a share beyond all
    /// reported quantiles: those are assumed slower than all that were seen, up to the geometric mean of the longest
    /// seen and the longest possible.
    pub(super) fn mean(&self) -> Estimate<f64> {
        let weight = self.total.weight;
        let (mean, width) = (self.delay / weight, self.width / weight);
        let least = self.weighed().next().map_or(mean, |bin| bin.low as f64).min(0.0);
        let [low, high] = if self.is_estimated() { self.sampled_mean(mean) } else { [mean; 2] };
        Estimate { value: mean, low: (low - width).max(least), high: high + width }
    }

    /// The ends of the interval of a mean that is based on a sample.
    fn sampled_mean(&self, mean: f64) -> [f64; 2] {
        let deviations = |power| move |bin: &Bin| (bin.middle() - mean).powi(power);
        let (mut plain, mut fourth) = (0.0, 0.0);
        for bin in self.weighed() {
            plain += bin.excess * deviations(2)(&bin);
            fourth += Sums::of(&bin).fourth * deviations(4)(&bin);
        }
        for (bin, doubt) in self.doubts() {
            plain += doubt.variance * deviations(2)(&bin);
            fourth += doubt.fourth * deviations(4)(&bin);
        }
        let freedom = if fourth > 0.0 { 3.0 * plain * plain / fourth } else { f64::INFINITY };
        let error = self.student(freedom) * self.variance(deviations(1)).max(0.0).sqrt() / self.total.weight;
        let ends = [-error, error].map(|error| if mean > 0.0 { mean * (error / mean).exp() } else { mean + error });
        let Some(possible) = self.possible else { return ends };
        let longest = self.longest().max(1) as f64;
        let possible = longest.max(possible as f64);
        let missed = self.unseen(self.bins.len() - 1).min(1.0);
        let untold = missed.min(UNTOLD);
        let anything = missed - untold;
        let high = (1.0 - missed) * ends[1].min(possible) + untold * (longest * possible).sqrt() + anything * possible;
        [(1.0 - anything) * ends[0], high.max(ends[1].min(possible))]
    }

    pub(super) fn share_up_to(&self, delay: i64) -> f64 {
        self.sums_of(self.bins.partition_point(|bin| bin.high <= delay)).weight / self.total.weight
    }
}
