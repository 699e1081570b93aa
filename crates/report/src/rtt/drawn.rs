//! Which results a plot or a table draws: those of the most exchanges. Only these need a distribution function.

use super::ResultLine;

/// The most distribution functions in one plot: as many as can be told apart.
pub(crate) const MOST_CURVES: usize = 6;
/// Number of results with a histogram in the table.
const HISTOGRAMS: usize = 2;
/// With fewer samples a histogram is less informative than the numbers.
pub(super) const FEWEST_SAMPLES: u64 = 20;

/// The places of these lines, those with the most answered requests first.
fn most_answered(lines: &[ResultLine]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..lines.len()).collect();
    places.sort_by(|&a, &b| lines[b].answered().total_cmp(&lines[a].answered()));
    places
}

/// The places of the results with a curve in a plot.
pub(super) fn with_curves(lines: &[ResultLine]) -> impl Iterator<Item = usize> {
    most_answered(lines).into_iter().take(MOST_CURVES)
}

/// The places of the results with a histogram in the table.
pub(super) fn with_histograms(lines: &[ResultLine]) -> impl Iterator<Item = usize> {
    most_answered(lines).into_iter().filter(|&place| lines[place].samples >= FEWEST_SAMPLES).take(HISTOGRAMS)
}
