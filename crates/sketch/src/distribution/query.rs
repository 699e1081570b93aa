use super::bins::{self, PARTS};
use super::cell::Cell;
use crate::estimate::{Estimate, Z95, student95};
use crate::survival::{BANDS, Survival};
use dwell_types::Nanos;
use std::ops::Range;
use std::sync::Arc;

/// Delays from `low` to `high` nanoseconds, both included, and the exchanges in between.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bin {
    /// Smallest delay.
    low: i64,
    /// Largest delay.
    high: i64,
    /// Estimated number of exchanges: Σ 1/*q*.
    weight: f64,
    /// Its estimated variance: Σ (1/*q*² − 1/*q*).
    excess: f64,
    /// The band in which its samples were found; zero without a product limit.
    band: u8,
    /// Whether its samples are unambiguous, and if not, by which bound they are here: the part of the store.
    part: u8,
}

/// The bins of one series in rising order, all its parts together. They stay where they are, in the array of a store, and are put together
/// when they are looked at: there may be millions.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    cells: Arc<Vec<Cell>>,
    /// Which cells, in rising order of delays.
    order: Vec<usize>,
    view: View,
}

/// What makes a bin of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Number of the first part of the series.
    pub(super) first_part: usize,
    /// Resolution of its classes.
    pub(super) bits: i8,
    /// What lies outside the smallest and the largest delay is known to be empty.
    pub(super) min: i64,
    pub(super) max: i64,
    /// What the weights of each part are multiplied with; parts with zero are left out.
    pub(super) shares: [f64; PARTS],
    /// What the weights of each band are multiplied with.
    pub(super) factors: [f64; BANDS],
}

impl View {
    fn part(&self, cell: &Cell) -> usize {
        cell.part() - self.first_part
    }

    #[inline]
    fn bin(&self, cell: &Cell) -> Bin {
        let (low, high) = bins::range(cell.code(), self.bits);
        let (part, band) = (self.part(cell), cell.band());
        Bin {
            low: low.max(self.min),
            high: high.min(self.max),
            weight: self.shares[part] * cell.weight * self.factors[usize::from(band)],
            excess: self.shares[part] * cell.excess,
            band,
            part: part as u8,
        }
    }
}

impl Bins {
    /// The cells of a series, which are sorted by part, band and delay, seen as bins.
    pub(super) fn new(cells: Arc<Vec<Cell>>, series: Range<usize>, view: View) -> Self {
        let mut order: Vec<usize> = series.filter(|&at| view.shares[view.part(&cells[at])] > 0.0).collect();
        // Parts and bands are sorted runs: a stable sort only merges them, and keeps their order where classes are equal.
        order.sort_by_key(|&at| cells[at].code());
        Self { cells, order, view }
    }

    fn len(&self) -> usize {
        self.order.len()
    }

    /// The bin of a rank, of which there must be one.
    fn at(&self, rank: usize) -> Bin {
        self.view.bin(&self.cells[self.order[rank]])
    }

    /// The bins of a range of ranks that is not longer than all.
    fn iter(&self, ranks: Range<usize>) -> impl DoubleEndedIterator<Item = Bin> + ExactSizeIterator {
        self.order[ranks].iter().map(|&at| self.view.bin(&self.cells[at]))
    }

    fn all(&self) -> impl DoubleEndedIterator<Item = Bin> + ExactSizeIterator {
        self.iter(0..self.len())
    }

    /// Ranges of so many ranks, the last one of what is left.
    fn blocks(&self, length: usize) -> impl Iterator<Item = Range<usize>> {
        let end = self.len();
        (0..end).step_by(length).map(move |start| start..(start + length).min(end))
    }

    /// The first rank at which a condition fails that holds up to some rank.
    fn partition_point(&self, holds: impl Fn(&Bin) -> bool) -> usize {
        self.order.partition_point(|&at| holds(&self.view.bin(&self.cells[at])))
    }
}

impl Bin {
    fn middle(&self) -> f64 {
        0.5 * (self.low as f64 + self.high as f64)
    }

    fn sums(&self) -> Sums {
        let excess = self.excess;
        let fourth = if excess > 0.0 { (excess / self.weight).powi(2) * (excess + self.weight) } else { 0.0 };
        Sums { weight: self.weight, excess, fourth }
    }

    /// What [`Survival::variance`] adds up: the weight, and of bins that no product limit weighs their variance itself.
    fn measure(&self) -> f64 {
        if self.band == 0 { self.excess } else { self.weight }
    }
}

/// What bins add up to.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Σ *w*.
    weight: f64,
    /// Σ (*w*² − *w*).
    excess: f64,
    /// Σ (*w*² − *w*)², as if the samples of a bin were alike.
    fourth: f64,
}

impl Sums {
    fn add(self, bin: &Bin) -> Self {
        let bin = bin.sums();
        Self { weight: self.weight + bin.weight, excess: self.excess + bin.excess, fourth: self.fourth + bin.fourth }
    }

    fn less(self, other: Self) -> Self {
        Self {
            weight: self.weight - other.weight,
            excess: self.excess - other.excess,
            fourth: self.fourth - other.fourth,
        }
    }
}

/// A distribution of delays as weighted samples tell it.
#[derive(Clone, Debug)]
pub struct Distribution {
    value: Curve,
    /// Where ambiguous samples leave room: every one of them at its shorter delay, and at its longer one.
    low: Option<Curve>,
    high: Option<Curve>,
    samples: u64,
    ambiguous: u64,
}

/// Bins in rising order with running sums.
#[derive(Clone, Debug)]
struct Curve {
    /// Of all curves of a distribution together.
    bins: Arc<Bins>,
    factors: Factors,
    /// Sums before every bin whose rank is a multiple of [`STRIDE`].
    sums: Vec<Sums>,
    /// Largest delay before every such bin: bins of different parts overlap.
    highs: Vec<i64>,
    total: Sums,
    /// Σ weight × middle of the bin, and × half its width.
    delay: f64,
    width: f64,
    /// Largest delay of all bins.
    longest: i64,
    /// Largest delay that could have been measured.
    possible: Option<i64>,
    limit: Option<Limit>,
}

/// What the weights and excesses of each part of the store are multiplied with in a curve; parts with zero are not in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factors(pub(super) [f64; PARTS]);

impl Factors {
    fn of(self, bin: &Bin) -> f64 {
        self.0[usize::from(bin.part)]
    }

    /// The bins that are in the curve, with their weights there.
    fn weigh(self, bins: impl DoubleEndedIterator<Item = Bin>) -> impl DoubleEndedIterator<Item = Bin> {
        bins.filter(move |bin| self.of(bin) > 0.0).map(move |bin| {
            let factor = self.of(&bin);
            Bin { weight: factor * bin.weight, excess: factor * bin.excess, ..bin }
        })
    }
}

/// A running sum is kept for so many bins, and added up between.
const STRIDE: usize = 32;

/// The product limit that weighed the bins, with what its variances need.
#[derive(Clone, Debug)]
struct Limit {
    survival: Survival,
    /// Weight by band, as [`by_band`] has it, before every bin whose rank is a multiple of [`Limit::STRIDE`].
    sums: Vec<[f64; BANDS]>,
    total: [f64; BANDS],
}

impl Limit {
    const STRIDE: usize = 4096;

    fn new(survival: Survival, bins: &Bins, factors: Factors) -> Self {
        let mut sums = Vec::with_capacity(bins.len().div_ceil(Self::STRIDE));
        let mut total = [0.0; BANDS];
        for block in bins.blocks(Self::STRIDE) {
            sums.push(total);
            by_band(&mut total, factors.weigh(bins.iter(block)));
        }
        Self { survival, sums, total }
    }

    /// Variance of the weight up to and including a bin, less `share` of all weight.
    fn variance(&self, bins: &Bins, factors: Factors, rank: usize, share: f64) -> f64 {
        let block = rank / Self::STRIDE;
        let mut below = self.sums[block];
        by_band(&mut below, factors.weigh(bins.iter(block * Self::STRIDE..rank + 1)));
        let bands = std::array::from_fn(|band| {
            let (below, above) = (below[band], self.total[band] - below[band]);
            let (up, down) = (1.0 - share, -share);
            (up * below + down * above, up * up * below + down * down * above)
        });
        self.survival.variance(&bands)
    }
}

/// Adds up what each band's bins weigh for [`Survival::variance`].
fn by_band(sums: &mut [f64; BANDS], bins: impl Iterator<Item = Bin>) {
    for bin in bins {
        sums[usize::from(bin.band)] += bin.measure();
    }
}

impl Curve {
    fn new(bins: Arc<Bins>, factors: Factors, survival: Option<Survival>) -> Self {
        let blocks = bins.len().div_ceil(STRIDE);
        let (mut sums, mut highs) = (Vec::with_capacity(blocks), Vec::with_capacity(blocks));
        let mut total = Sums::default();
        let (mut delay, mut width) = (0.0, 0.0);
        let mut longest = i64::MIN;
        for block in bins.blocks(STRIDE) {
            sums.push(total);
            highs.push(longest);
            for bin in factors.weigh(bins.iter(block)) {
                total = total.add(&bin);
                delay += bin.weight * bin.middle();
                width += bin.weight * 0.5 * (bin.high as f64 - bin.low as f64);
                longest = longest.max(bin.high);
            }
        }
        let limit = survival.map(|survival| Limit::new(survival, &bins, factors));
        Self { bins, factors, sums, highs, total, delay, width, longest, possible: None, limit }
    }

    /// The bins with their weights here.
    fn weighed(&self) -> impl DoubleEndedIterator<Item = Bin> {
        self.factors.weigh(self.bins.all())
    }

    /// Sums up to and including a bin.
    fn sums_to(&self, rank: usize) -> Sums {
        let block = rank / STRIDE;
        let bins = self.factors.weigh(self.bins.iter(block * STRIDE..rank + 1));
        bins.fold(self.sums[block], |sums, bin| sums.add(&bin))
    }

    /// Largest delay up to and including a bin.
    fn high_to(&self, rank: usize) -> i64 {
        let block = rank / STRIDE;
        let bins = self.factors.weigh(self.bins.iter(block * STRIDE..rank + 1));
        bins.fold(self.highs[block], |high, bin| high.max(bin.high))
    }

    /// Variance of Σ weight · *z*(bin).
    fn variance(&self, z: impl Fn(&Bin) -> f64) -> f64 {
        let Some(limit) = &self.limit else {
            return self.weighed().map(|bin| bin.excess * z(&bin).powi(2)).sum();
        };
        let mut bands = [(0.0, 0.0); BANDS];
        for bin in self.weighed() {
            let (z, sums) = (z(&bin), &mut bands[usize::from(bin.band)]);
            *sums = (sums.0 + bin.measure() * z, sums.1 + bin.measure() * z * z);
        }
        limit.survival.variance(&bands)
    }

    /// The first bin up to which the weight is enough, or else the last one.
    fn first(&self, is_enough: impl Fn(f64) -> bool) -> usize {
        let block = self.sums.partition_point(|sums| !is_enough(sums.weight)).saturating_sub(1);
        let start = block * STRIDE;
        let mut weight = self.sums[block].weight;
        let found = self.bins.iter(start..self.bins.len()).position(|bin| {
            let factor = self.factors.of(&bin);
            weight += factor * bin.weight;
            factor > 0.0 && is_enough(weight)
        });
        let last = || self.bins.all().rposition(|bin| self.factors.of(&bin) > 0.0);
        found.map(|bins| start + bins).or_else(last).unwrap_or(0)
    }

    /// Index of the first bin at which the distribution function reaches `share`.
    fn rank(&self, share: f64) -> usize {
        let wanted = share * self.total.weight * (1.0 - 1e-12);
        self.first(|weight| weight >= wanted)
    }

    /// Half of the 95% interval of the estimated distribution function after the bin at `rank`: a multiple of its standard error,
    /// √((1 − *F*)² *V*≤ + *F*² *V*>) / Σ*w*. A few heavy samples do not tell their variance *V* well: the multiple is Student's for
    /// 4 (Σ*v*)² / Σ*v*² degrees of freedom, where *v* is what each contributes to it. Satterthwaite's number (1946) is half of that; with
    /// it 97 and 98% of the intervals of p99 hold the truth.
    fn error(&self, rank: usize) -> f64 {
        let weight = self.total.weight;
        let below = self.sums_to(rank);
        let above = self.total.less(below);
        let share = below.weight / weight;
        let (up, down) = ((1.0 - share).powi(2), share * share);
        let plain = up * below.excess + down * above.excess;
        let variance = match &self.limit {
            None => plain,
            Some(limit) => limit.variance(&self.bins, self.factors, rank, share),
        };
        let fourth = up * up * below.fourth + down * down * above.fourth;
        let freedom = if fourth > 0.0 { 4.0 * plain * plain / fourth } else { f64::INFINITY };
        student95(freedom) * variance.max(0.0).sqrt() / weight
    }

    /// A quantile, interpolated in its bin, and the ends of its interval.
    fn quantile(&self, q: f64) -> Estimate<i64> {
        let rank = self.rank(q);
        let up_to = self.sums_to(rank).weight;
        // Behind the last bin nothing would be uncertain.
        let is_last = self.total.weight - up_to <= 1e-9 * self.total.weight;
        let error = self.error(if is_last { rank.saturating_sub(1) } else { rank });
        let bin = self.bins.at(rank);
        let inside = self.share_below(rank, q * self.total.weight);
        Estimate {
            value: bin.low.saturating_add(((bin.high as f64 - bin.low as f64) * inside).round() as i64).min(bin.high),
            low: self.bins.at(self.rank(q - error)).low,
            high: match self.possible {
                Some(possible) if q + error.max(self.unseen(rank)) > 1.0 => possible.max(self.longest),
                _ => self.high_to(self.rank(q + error)),
            },
        }
    }

    /// The share of exchanges beyond the bin at `rank` that may have been missed altogether: if what was sampled there
    /// had been three samples, none would have been seen in one run of twenty ("rule of three"). Zero where nothing is sampled.
    fn unseen(&self, rank: usize) -> f64 {
        let weight = self.total.weight;
        let above = self.total.less(self.sums_to(rank));
        let Some(last) = self.weighed().next_back() else { return 0.0 };
        // Σ*w*² / Σ*w* − 1: how many a sample stands for besides itself.
        let each =
            if above.weight > 1e-9 * weight { above.excess / above.weight } else { last.excess / last.weight.max(1.0) };
        3.0 * each.max(0.0) / weight
    }

    /// The share of a class, all bins with the ends of the one at `rank`, at which the running weight is so much.
    fn share_below(&self, rank: usize, wanted: f64) -> f64 {
        let own = self.bins.at(rank);
        let is_other = |bin: Bin| (bin.low, bin.high) != (own.low, own.high);
        let all = self.bins.len();
        let first = self.bins.iter(0..rank).rposition(is_other).map_or(0, |before| before + 1);
        let last = self.bins.iter(rank..all).position(is_other).map_or(all, |behind| rank + behind) - 1;
        let weight: f64 = self.factors.weigh(self.bins.iter(first..last + 1)).map(|bin| bin.weight).sum();
        1.0 - ((self.sums_to(last).weight - wanted) / weight).clamp(0.0, 1.0)
    }

    fn mean(&self) -> Estimate<f64> {
        let Sums { weight, excess, .. } = self.total;
        let (mean, width) = (self.delay / weight, self.width / weight);
        // Where everything is known, there is nothing to look for.
        let deviations = if excess == 0.0 { 0.0 } else { self.variance(|bin| bin.middle() - mean) };
        let error = Z95 * (deviations / (weight * weight)).max(0.0).sqrt() + width;
        // No mean is below all delays.
        let least = self.bins.all().next().map_or(mean, |bin| bin.low as f64).min(mean);
        Estimate { value: mean, low: (mean - error).max(least), high: mean + error }
    }
}

impl Distribution {
    pub(super) fn new(
        bins: Bins,
        low: Option<Factors>,
        high: Option<Factors>,
        samples: u64,
        ambiguous: u64,
        survival: Option<Survival>,
    ) -> Self {
        let bins = Arc::new(bins);
        let curve = |factors| Curve::new(Arc::clone(&bins), factors, survival.clone());
        Self { value: curve(Factors([1.0; PARTS])), low: low.map(curve), high: high.map(curve), samples, ambiguous }
    }

    /// The same where no delay above `longest` could have been measured: where too few samples say how long the slowest exchanges
    /// took, intervals reach up to that.
    pub fn with_longest(mut self, longest: Nanos) -> Self {
        for curve in [Some(&mut self.value), self.low.as_mut(), self.high.as_mut()].into_iter().flatten() {
            curve.possible = Some(longest.get());
        }
        self
    }

    /// Samples that the estimates rest on.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Those of which it is not known which of several requests was answered.
    pub fn ambiguous_samples(&self) -> u64 {
        self.ambiguous
    }

    fn low(&self) -> &Curve {
        self.low.as_ref().unwrap_or(&self.value)
    }

    fn high(&self) -> &Curve {
        self.high.as_ref().unwrap_or(&self.value)
    }

    /// Estimated number of answered exchanges; `None` without samples.
    pub fn exchanges(&self) -> Option<Estimate<f64>> {
        if self.samples == 0 {
            return None;
        }
        // Every view has the same total; that since the last request is known best.
        let Sums { weight: value, excess, .. } = self.low().total;
        let variance = if self.low().limit.is_none() { excess } else { self.low().variance(|_| 1.0) };
        let error = Z95 * variance.max(0.0).sqrt();
        Some(Estimate { value, low: (value - error).max(self.samples as f64), high: value + error })
    }

    /// Whether there are no samples, or only such as are too lucky to count.
    fn tells_nothing(&self) -> bool {
        self.samples == 0 || self.value.total.weight <= 0.0
    }

    /// The delay that a share `q` of the exchanges did not exceed, in nanoseconds; `None` without samples that count.
    pub fn quantile(&self, q: f64) -> Option<Estimate<i64>> {
        if self.tells_nothing() {
            return None;
        }
        let estimate = self.value.quantile(q);
        let low = self.low.as_ref().map_or(estimate.low, |curve| curve.quantile(q).low);
        let high = self.high.as_ref().map_or(estimate.high, |curve| curve.quantile(q).high);
        Some(Estimate { value: estimate.value, low: low.min(estimate.value), high: high.max(estimate.value) })
    }

    /// The mean delay in nanoseconds; `None` without samples that count.
    pub fn mean(&self) -> Option<Estimate<i64>> {
        if self.tells_nothing() {
            return None;
        }
        let (value, low, high) = (self.value.mean().value, self.low().mean().low, self.high().mean().high);
        Some(Estimate {
            value: value.round() as i64,
            low: low.min(value).round() as i64,
            high: high.max(value).round() as i64,
        })
    }

    /// Smallest and largest delay among the samples, in nanoseconds; `None` without samples.
    pub fn extremes(&self) -> Option<(Estimate<i64>, Estimate<i64>)> {
        let first = self.value.bins.all().next()?.low;
        let smallest = self.low().weighed().next()?.low;
        let next = self.high().weighed().next()?.low;
        Some((
            Estimate { value: first, low: smallest, high: next.max(first) },
            Estimate { value: self.value.longest, low: self.low().longest, high: self.high().longest },
        ))
    }

    /// The share of exchanges that took no longer than each bin's upper end, in rising order: at most `points` points,
    /// evenly spaced in rank where there are more bins.
    pub fn cdf(&self, points: usize) -> Vec<(i64, Estimate<f64>)> {
        let total = self.value.total.weight;
        if self.samples == 0 || points == 0 {
            return Vec::new();
        }
        let bins = &self.value.bins;
        let mut cdf = Vec::new();
        let mut rank = 0;
        while rank < bins.len() {
            let bin = bins.at(rank);
            let share = self.value.sums_to(rank).weight / total;
            let next_share = share + 1.0 / points as f64;
            let error = self.value.error(rank);
            // Delays are longer where every ambiguous sample takes its longer bound, so shares are smaller.
            let low = self.high.as_ref().map_or(share, |c| c.share_up_to(bin.high));
            let high = self.low.as_ref().map_or(share, |c| c.share_up_to(bin.high));
            cdf.push((
                bin.high,
                Estimate {
                    value: share,
                    low: (low.min(share) - error).max(0.0),
                    high: (high.max(share) + error).min(1.0),
                },
            ));
            // The last point is that of the last bin.
            rank = self.value.first(|sum| sum / total >= next_share).max(rank + 1);
        }
        cdf
    }

    /// Number of exchanges between rising edges: `edges[i] ≤ delay < edges[i + 1]`, each with its interval. A bin that an
    /// edge cuts counts where its middle lies.
    pub fn histogram(&self, edges: &[i64]) -> Vec<Estimate<f64>> {
        let mut sums = vec![(0.0, 0.0); edges.len().saturating_sub(1)];
        let mut bands = vec![[(0.0, 0.0); BANDS]; if self.value.limit.is_some() { sums.len() } else { 0 }];
        let mut after = 0;
        for bin in self.value.bins.all() {
            let middle = i64::midpoint(bin.low, bin.high);
            // Middles rise, but for overlapping bins: the edge is the same or near.
            while edges.get(after).is_some_and(|&edge| edge <= middle) {
                after += 1;
            }
            while after > 0 && edges[after - 1] > middle {
                after -= 1;
            }
            let Some(place) = after.checked_sub(1).filter(|&place| place < sums.len()) else { continue };
            sums[place] = (sums[place].0 + bin.weight, sums[place].1 + bin.excess);
            if let Some(bands) = bands.get_mut(place) {
                let sums = &mut bands[usize::from(bin.band)];
                *sums = (sums.0 + bin.measure(), sums.1 + bin.measure());
            }
        }
        if let Some(limit) = &self.value.limit {
            for ((_, variance), bands) in sums.iter_mut().zip(&bands) {
                *variance = limit.survival.variance(bands);
            }
        }
        sums.into_iter()
            .map(|(value, variance)| {
                let error = Z95 * variance.max(0.0).sqrt();
                Estimate { value, low: (value - error).max(0.0), high: value + error }
            })
            .collect()
    }
}

impl Curve {
    fn share_up_to(&self, delay: i64) -> f64 {
        let after = self.bins.partition_point(|bin| bin.high <= delay);
        after.checked_sub(1).map_or(0.0, |rank| self.sums_to(rank).weight / self.total.weight)
    }
}
