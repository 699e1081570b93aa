use super::Cdf;
use super::policy::Query;
use super::reference::Part;
use dwell_types::Nanos;

/// A distribution of delays learnt from the matches themselves, by stochastic expectation maximisation: each response
/// is spread over the cells that its matching filters allow, in proportion to the present estimate; from time to time
/// the cells' weights become the new estimate. Slots begin at a different phase for each response, so the cells may be
/// finer than slots.
#[derive(Clone, Debug)]
pub(super) struct Learnt {
    /// Upper ends of the cells in nanoseconds: [`CELLS_PER_OCTAVE`] per octave, the last at the longest delay.
    ends: Vec<f64>,
    /// Responses per cell, older ones discounted.
    weights: Vec<f64>,
    /// Responses until the estimate is updated.
    until_step: u32,
}

const OCTAVES: i32 = 14;
const CELLS_PER_OCTAVE: i32 = 4;
/// Responses between two updates of the estimate; each update halves the weight of earlier ones.
const STEP: u32 = 1 << 10;
/// The least weight of a cell, in responses, so that no cell is ever impossible.
const LEAST: f64 = 0.1;

const CELLS: usize = (OCTAVES * CELLS_PER_OCTAVE) as usize + 1;

impl Learnt {
    /// Bytes of the cells and of the estimate that they become.
    pub(super) const BYTES: usize = CELLS * 2 * size_of::<f64>() + Cdf::cells_bytes(CELLS);

    /// Nothing learnt yet.
    pub(super) fn new(longest: Nanos) -> Self {
        let end = |cell: i32| longest.get() as f64 * 2f64.powf(-f64::from(cell) / f64::from(CELLS_PER_OCTAVE));
        let ends: Vec<f64> = (0..=OCTAVES * CELLS_PER_OCTAVE).rev().map(end).collect();
        Self { weights: vec![0.0; ends.len()], ends, until_step: STEP }
    }

    /// Learns from one response; returns a new estimate from time to time.
    pub(super) fn update(&mut self, query: &Query<'_>) -> Option<Cdf> {
        if let Some(only) = &query.only {
            // The odds do not matter.
            self.spread(only, query.cdf, 1.0);
        } else {
            let total: f64 = query.ages.iter().map(|&age| query.odds(age)).sum();
            if total > 0.0 {
                for &age in query.ages {
                    self.spread(&query.bins.bin(age).part(query.cdf), query.cdf, query.odds(age) / total);
                }
            }
        }
        self.until_step -= 1;
        (self.until_step == 0).then(|| self.step())
    }

    /// Spreads a weight over the part of each cell that lies in a bin.
    fn spread(&mut self, part: &Part, cdf: &Cdf, weight: f64) {
        let &Part { bin, low, high } = part;
        let scale = weight / part.probability();
        if !scale.is_finite() {
            return;
        }
        // A learnt estimate has a point at the end of each cell, and one at zero.
        let cells = cdf.cells(self.ends.len());
        let first = match cells {
            Some(_) => low.above.saturating_sub(1),
            None => self.ends.partition_point(|&end| end <= bin.low),
        };
        let mut below = low.share;
        for cell in first..self.ends.len() {
            let end = self.ends[cell];
            if end >= bin.high {
                self.weights[cell] += scale * (high.share - below);
                return;
            }
            let share = cells.map_or_else(|| cdf.place(end).share, |cells| cells[cell].share);
            self.weights[cell] += scale * (share - below);
            below = share;
        }
    }

    fn step(&mut self) -> Cdf {
        self.until_step = STEP;
        self.weights.iter_mut().for_each(|weight| *weight = weight.max(LEAST));
        let cdf = Cdf::from_cells(&self.ends, &self.weights);
        self.weights.iter_mut().for_each(|weight| *weight /= 2.0);
        cdf
    }
}
