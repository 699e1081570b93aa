//! What the samples of a series say.

use super::super::cell::Cell;
use super::super::code::{CLEAR, PARTS, SINCE_FIRST, SINCE_LAST};
use super::super::once::{Doubts, Once};
use super::super::query::Distribution;
use super::super::view::{Bins, Shares, Sorted, View};
use super::{Ambiguous, DelayStore, PerSeries};
use crate::survival::{BANDS, Risk};
use std::sync::Arc;

impl DelayStore {
    /// The estimated distribution of a series.
    ///
    /// # Panics
    /// If there is no such series.
    pub fn distribution(&self, series: usize, ambiguous: Ambiguous) -> Distribution {
        self.settled().distribution_of(series, ambiguous, None, 1.0)
    }

    /// The same where each unit of weight stands for `scale` exchanges, 1 or more: if it is known that there are more
    /// than the weights add up to.
    pub(crate) fn distribution_of_more(&self, series: usize, ambiguous: Ambiguous, scale: f64) -> Distribution {
        self.settled().distribution_of(series, ambiguous, None, scale)
    }

    /// The same where the samples are weighted by a product limit, given the responses of the series that were at risk.
    ///
    /// # Panics
    /// If there is no such series.
    pub fn distribution_at_risk(&self, series: usize, ambiguous: Ambiguous, risk: &Risk) -> Distribution {
        self.settled().distribution_of(series, ambiguous, Some(risk), 1.0)
    }

    /// The distribution of a series when all cells are sorted in.
    fn distribution_of(&self, series: usize, ambiguous: Ambiguous, risk: Option<&Risk>, scale: f64) -> Distribution {
        let PerSeries { bits, parts } = &self.series[series];
        let sorted = self.sorted(series).scaled(scale);
        let cells = || sorted.all();
        let survival = risk.and_then(|risk| {
            let mut by_band = [(0.0, 0.0); BANDS];
            // Ambiguous samples are in two parts, but count once.
            for cell in cells().filter(|cell| cell.part() != SINCE_FIRST) {
                let (weight, excess) = &mut by_band[usize::from(cell.band())];
                (*weight, *excess) = (*weight + cell.weight(), *excess + cell.excess());
            }
            risk.survival(&by_band)
        });
        let factors = survival.as_ref().map_or([1.0; BANDS], |survival| survival.factors);
        let samples = parts[CLEAR].samples;
        let unresolved = parts[SINCE_LAST].samples;
        // Repeats that were not recognised are among the clear samples: as many as those recognised stand for.
        let (clear, first) = match &sorted {
            _ if unresolved == 0 || ambiguous == Ambiguous::Drop => (1.0, 1.0),
            Sorted::Ones(_) if survival.is_none() => with_firsts(parts.map(|part| part.samples as f64)),
            Sorted::Ones(_) | Sorted::Bins(..) => with_firsts(weights_by_part(cells(), &factors)),
        };
        // Shares with which a sample counts at each of its delays; and with all at the shorter or at the longer one.
        let (shares, ends) = match ambiguous {
            Ambiguous::Drop => ([1.0, 0.0, 0.0], None),
            Ambiguous::Last => ([1.0, 1.0, 0.0], None),
            Ambiguous::First => ([clear, 0.0, first], None),
            Ambiguous::Bounds if unresolved == 0 => ([1.0, 0.0, 0.0], None),
            Ambiguous::Bounds => {
                let ends = [[1.0, 1.0, 0.0], [clear, 0.0, first]];
                let value = std::array::from_fn(|part| 0.5 * (ends[0][part] + ends[1][part]));
                (value, Some(ends.map(Shares)))
            }
        };
        // There is nothing outside the smallest and the largest delay.
        let used = || parts.iter().zip(shares).filter(|&(_, share)| share > 0.0);
        let min = used().map(|(part, _)| part.min).min().unwrap_or(i64::MIN);
        let max = used().map(|(part, _)| part.max).max().unwrap_or(i64::MAX);
        let view = View { bits: *bits, min, max, factors };
        let once = match &sorted {
            _ if unresolved == 0 || ambiguous != Ambiguous::Drop => None,
            Sorted::Ones(_) if survival.is_none() => None,
            Sorted::Ones(_) | Sorted::Bins(..) => Once::new(&cells().collect::<Vec<_>>(), &factors),
        };
        let bins = match once {
            None => Bins::new(sorted, view, Doubts::default()),
            Some(Once { cells, doubts }) => {
                let all = 0..cells.len();
                Bins::new(Sorted::Bins(Arc::new(cells), all), view, doubts)
            }
        };
        let used = if ambiguous == Ambiguous::Drop { samples } else { samples.saturating_add(unresolved) };
        Distribution::new(bins, Shares(shares), ends, used, unresolved, survival)
    }
}

/// The total weight of the samples of each part.
fn weights_by_part(cells: impl Iterator<Item = Cell>, factors: &[f64; BANDS]) -> [f64; PARTS] {
    let (mut clear, mut weights) = (0.0, [0.0; PARTS]);
    for cell in cells {
        let weight = cell.weight() * factors[usize::from(cell.band())];
        // Nearly all are clear.
        *(if cell.part() == CLEAR { &mut clear } else { &mut weights[cell.part()] }) += weight;
    }
    weights[CLEAR] = clear;
    weights
}

/// The shares of clear samples, and of repeated ones since their first requests, that make up all exchanges: without the
/// clear ones that were repeats themselves, not recognised, for which the weights since the first requests stand.
fn with_firsts([clear, last, first]: [f64; PARTS]) -> (f64, f64) {
    match first - last {
        repeats if repeats > clear => (0.0, (clear + last) / first),
        repeats if clear > 0.0 => ((1.0 - repeats / clear).min(1.0), 1.0),
        _ => (1.0, 1.0),
    }
}
