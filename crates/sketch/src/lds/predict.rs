//! Predicts the error of a flow's mean delay from the properties of the traffic.
//!
//! A model of the cells with a subset of the flows and the real number of flows per cell: a flow's error depends on
//! what else is in its cells, not on how many other cells there are. Flows of any size are then queried as if they were
//! added.

use super::compare::upper;
use super::messages::{LEAST_VARIANCE, System};
use super::{LdsError, Params};
use crate::estimate::Z95;
use crate::parts::smallest::smallest;
use dwell_types::hash;

/// Properties of the flows of an interval, from which the errors of a sketch can be predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Number of flows in an interval.
    pub flows: u64,
    /// Packets per flow, as equally likely values.
    pub sizes: Vec<f64>,
    /// Share of the packets lost, independently of each other, in `0..1`.
    pub loss: f64,
    /// Standard deviation of the mean delays of flows, as a share of the mean delay; above zero.
    pub between: f64,
    /// Standard deviation of the delays of one flow's packets, as a share of the mean delay.
    pub within: f64,
}

/// Predicted errors of a sketch for the flows of an interval.
#[derive(Clone, Debug)]
pub struct Forecast<'a> {
    params: &'a Params,
    traffic: &'a Traffic,
    /// Cells per row in the model.
    columns: usize,
    /// Row by row.
    cells: Vec<Others>,
    /// Whether all listed flows are estimated at once, with given numbers of packets.
    is_joint: bool,
}

/// The other flows in a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    /// The sum of their packets, and the sum of the squares of each flow's packets.
    packets: f64,
    squares: f64,
    /// Whether none of these packets was lost.
    is_whole: bool,
    /// The variance of the sum of their delays given what is known of them, in units of the variance between flows.
    variance: f64,
}

/// Size of the model, so that chance matters little: least flows; least columns per cell of a flow; most edges and
/// cells.
const FLOWS: usize = 2_048;
const COLUMNS: usize = 32;
const MOST: usize = 1 << 19;
/// Rounds after which variances have converged.
const ROUNDS: usize = 20;
/// How often a flow is queried, each time in other cells.
const TRIALS: usize = 512;
/// Quantiles of the absolute value of a standard normal deviate at .1, .3, .5, .7 and .9.
const DEVIATES: [f64; 5] = [0.1257, 0.3853, 0.6745, 1.0364, 1.6449];

impl<'a> Forecast<'a> {
    /// For the sketches of both points, with `is_joint` by [`super::Comparison::joint`] with numbers of packets given,
    /// else by the cells with the fewest packets.
    pub fn new(params: &'a Params, traffic: &'a Traffic, is_joint: bool) -> Self {
        let mut model = Self { params, traffic, columns: 0, cells: Vec::new(), is_joint };
        model.fill();
        model
    }

    /// The median relative error of the mean delays of flows of this many packets; `None` if most of them have no
    /// estimate.
    pub fn error(&self, packets: f64) -> Option<f64> {
        let mut draws = Draws::new(2);
        let ask = |_| if self.is_joint { self.joint(packets, &mut draws) } else { self.fewest(packets, &mut draws) };
        let variances: Vec<f64> = (0..TRIALS).filter_map(ask).collect();
        let error = |variance: &f64| DEVIATES.map(|deviate| deviate * variance.sqrt());
        let mut errors: Vec<f64> = variances.iter().flat_map(error).collect();
        errors.sort_unstable_by(f64::total_cmp);
        (2 * variances.len() > TRIALS).then(|| errors[errors.len() / 2])
    }

    /// Puts flows into randomly chosen cells.
    fn fill(&mut self) {
        let (rows, k) = (self.params.rows(), self.params.cells_per_flow as usize);
        let per_flow = f64::from(self.params.columns) / self.traffic.flows.max(1) as f64;
        let enough = FLOWS.max((COLUMNS as f64 * k as f64 / per_flow) as usize);
        let most = (MOST / (rows * k)).min((MOST as f64 / (rows as f64 * per_flow)) as usize).max(1);
        let flows = enough.min(most).min(usize::try_from(self.traffic.flows).unwrap_or(usize::MAX));
        self.columns = ((flows as f64 * per_flow) as usize).max(k);
        self.cells = vec![Others { is_whole: true, ..Others::default() }; rows * self.columns];
        let (mut draws, mut edges, mut shares) = (Draws::new(1), Vec::new(), Vec::new());
        for flow in 0..flows {
            let place = flow * self.traffic.sizes.len() / flows;
            let size = self.traffic.sizes.get(place).copied().unwrap_or(1.0);
            for row in 0..rows {
                let share = self.share(row);
                for cell in self.cells_of(row, &mut draws) {
                    let packets = draws.thinned(size, share);
                    let others = &mut self.cells[cell];
                    others.packets += packets;
                    others.squares += if self.is_joint { (size * share).powi(2) } else { packets * packets };
                    edges.push(cell as u32);
                    shares.push(size * share);
                }
            }
        }
        let kept = 1.0 - self.traffic.loss;
        self.cells.iter_mut().for_each(|others| others.is_whole = draws.unit() < kept.powf(others.packets));
        if self.is_joint {
            self.settle(edges, shares);
        }
    }

    /// Computes what is left in each cell when all flows of the model are decoded at once.
    fn settle(&mut self, cells: Vec<u32>, mut coefficients: Vec<f64>) {
        for (a, &cell) in coefficients.iter_mut().zip(&cells) {
            if !self.cells[cell as usize].is_whole {
                *a = 0.0;
            }
        }
        let noise: Vec<f64> = (0..self.cells.len()).map(|cell| self.noise(cell, 0.0)).collect();
        let degree = self.params.rows() * self.params.cells_per_flow as usize;
        let doubts = vec![0.0; cells.len()];
        let system = System { degree, cells, coefficients, doubts, noise };
        for ((others, variance), noise) in self.cells.iter_mut().zip(system.variances(ROUNDS)).zip(&system.noise) {
            others.variance = variance - noise;
        }
    }

    /// Share of a flow's packets in each of its cells of a row.
    fn share(&self, row: usize) -> f64 {
        self.params.rates[row] / f64::from(self.params.cells_per_flow)
    }

    /// The cells of a flow in a row.
    fn cells_of(&self, row: usize, draws: &mut Draws) -> impl Iterator<Item = usize> + use<> {
        let (first, columns) = ((draws.unit() * self.columns as f64) as usize, self.columns);
        (0..self.params.cells_per_flow as usize).map(move |next| row * columns + (first + next) % columns)
    }

    /// The variance due to chance of the sum of delays in a cell to which a flow of this many packets is added: which
    /// flows the packets belong to, and the delays of the other flows' packets.
    fn noise(&self, cell: usize, own: f64) -> f64 {
        let others = &self.cells[cell];
        let seen = others.packets + own;
        if seen == 0.0 {
            return 0.0;
        }
        let chance = 1.0 - self.share(cell / self.columns);
        let mixed = (seen - (others.squares + own * own) / seen).max(0.0);
        chance * (mixed + others.packets * (self.traffic.within / self.traffic.between).powi(2))
    }

    /// The variance of the combined evidence of all cells and the prior about a flow of this many packets, weighted by
    /// precision. Delays of its own packets differ between cells, but where all cells of a row have the same weight
    /// they add up to the queried mean. `None` if no cell is usable.
    fn joint(&self, packets: f64, draws: &mut Draws) -> Option<f64> {
        let jitter = (self.traffic.within / self.traffic.between).powi(2);
        let (mut all, mut disturbed, mut sampled) = (1.0, 1.0, 0.0);
        for row in 0..self.params.rows() {
            let share = self.share(row);
            let own = packets * share;
            let kept = (1.0 - self.traffic.loss).powf(own);
            let mut of_row = 0.0;
            for cell in self.cells_of(row, draws) {
                let others = &self.cells[cell];
                if others.is_whole && draws.unit() < kept {
                    let left = (others.variance + self.noise(cell, own)) / (own * own);
                    let precision = 1.0 / (left + (1.0 - share) * jitter / own).max(LEAST_VARIANCE);
                    disturbed += precision * precision * left;
                    sampled += precision * precision / own;
                    of_row += precision;
                }
            }
            all += of_row;
            sampled -= of_row * of_row / packets;
        }
        let error = self.traffic.between.powi(2) * disturbed + self.traffic.within.powi(2) * sampled.max(0.0);
        (all > 1.0).then(|| error / (all * all))
    }

    /// The variance of the difference between the mean delays of some and of all packets of a flow.
    fn sampling(&self, some: f64, all: f64) -> f64 {
        self.traffic.within.powi(2) * (1.0 / some.max(1.0) - 1.0 / all).max(0.0)
    }

    /// The variance of the estimate by the cells with the fewest packets, selected as by [`super::Rule::UpperBound`];
    /// `None` if all of the flow's cells have lost a packet.
    fn fewest(&self, packets: f64, draws: &mut Draws) -> Option<f64> {
        let mut found = Vec::new();
        for row in 0..self.params.rows() {
            for cell in self.cells_of(row, draws) {
                let (others, own) = (self.cells[cell], draws.thinned(packets, self.share(row)));
                let seen = others.packets + own;
                if seen > 0.0 && others.is_whole && draws.unit() < (1.0 - self.traffic.loss).powf(own) {
                    found.push((upper(seen, self.params.rates[row], Z95), own, others));
                }
            }
        }
        let fewest = found.iter().map(|(count, ..)| *count).fold(f64::INFINITY, f64::min);
        let most = fewest * (1.0 + super::Rule::UpperBound.tolerance(self.params.cells_per_flow));
        let (mut mine, mut theirs, mut squares) = (0.0, 0.0, 0.0);
        for (_, own, others) in found.iter().filter(|(count, ..)| *count <= most) {
            (mine, theirs, squares) = (mine + own, theirs + others.packets, squares + others.squares);
        }
        let seen: f64 = mine + theirs;
        let disturbed =
            self.traffic.between.powi(2) * (squares + theirs * theirs) + self.traffic.within.powi(2) * theirs;
        // Rows that sample the same packet each count it.
        let sampled = mine * mine * self.sampling(mine.min(packets), packets);
        (seen > 0.0).then(|| (disturbed + sampled) / (seen * seen))
    }
}

impl Params {
    /// Bytes of the largest sketch that [`Params::for_flow_error`] considers.
    pub const MOST_BYTES: usize = 1 << 30;

    /// The smallest [`Params::budget`] in which the median error of flows of this many packets is at most `error`
    /// ([`Forecast::error`]).
    pub fn for_flow_error(error: f64, packets: f64, traffic: &Traffic, is_joint: bool) -> Result<Self, LdsError> {
        let budget = |bytes: usize| Self::budget(bytes, packets * traffic.loss, 0);
        let is_enough =
            |params: &Self| Forecast::new(params, traffic, is_joint).error(packets).is_some_and(|e| e <= error);
        let few = match budget(0) {
            Err(LdsError::Bytes { needed, .. }) => needed,
            other => return other,
        };
        // To 3%: the random error of the model.
        let enough = |bytes| budget(bytes).map(|params| Some(params).filter(is_enough));
        smallest(few, Self::MOST_BYTES, 32, enough)?.ok_or(LdsError::Error(error))
    }
}

/// Pseudo-random numbers that are the same in every run.
struct Draws {
    start: u64,
    drawn: u64,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self { start: hash::start(seed), drawn: 0 }
    }

    /// Uniform in `0..1`.
    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        hash::unit(hash::word(self.start, self.drawn))
    }

    /// How many of this many packets a sampling rate selects: simulated singly for few packets, by a normal deviate for
    /// many.
    fn thinned(&mut self, packets: f64, share: f64) -> f64 {
        const FEW: f64 = 32.0;
        if share >= 1.0 {
            return packets;
        }
        if packets <= FEW {
            return (0..packets as u32).filter(|_| self.unit() < share).count() as f64;
        }
        // The sum of twelve uniform numbers has variance 1.
        let deviate = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        (packets * share + deviate * (packets * share * (1.0 - share)).sqrt()).round().max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(flows: u64) -> Traffic {
        Traffic { flows, sizes: vec![10.0], loss: 0.0, between: 0.5, within: 0.5 }
    }

    #[test]
    fn flows_alone_are_exact_and_one_cell_says_the_mean_of_all() {
        let (alone, crowded) = (Params::new(4, 100_000, 0), Params::new(1, 1, 0));
        for is_joint in [false, true] {
            assert!(Forecast::new(&alone, &traffic(100), is_joint).error(10.0) < Some(1e-6));
            // Each of 1,000 flows is a thousandth of the cell; .6745 is the median absolute value of a normal deviate.
            let error = Forecast::new(&crowded, &traffic(1_000), is_joint).error(10.0).unwrap();
            assert!((error / (0.6745 * 0.5) - 1.0).abs() < 0.05, "{error}");
        }
    }

    /// Of 10,000 packets 1% are lost, 100 of them, and each of 20 cells has 2,000 packets.
    #[test]
    fn who_loses_in_every_cell_has_no_estimate() {
        let params = Params { cells_per_flow: 5, ..Params::new(4, 100_000, 0) };
        let traffic = Traffic { loss: 0.01, ..traffic(100) };
        for is_joint in [false, true] {
            let forecast = Forecast::new(&params, &traffic, is_joint);
            assert!(forecast.error(10_000.0).is_none() && forecast.error(100.0).is_some());
        }
    }

    #[test]
    fn the_smallest_that_is_enough() {
        let sizes = (1..500).rev().map(|place| f64::from(500 / place)).collect();
        let traffic = Traffic { flows: 2_000, sizes, loss: 0.0001, between: 0.5, within: 0.5 };
        let mut last = usize::MAX;
        for error in [0.003, 0.01, 0.03] {
            let params = Params::for_flow_error(error, 1_000.0, &traffic, true).unwrap();
            assert!(Forecast::new(&params, &traffic, true).error(1_000.0) <= Some(error));
            let bytes = params.cells() as usize * 16;
            let less = Params::budget(bytes * 9 / 10, 0.1, 0).unwrap();
            assert!(
                Forecast::new(&less, &traffic, true).error(1_000.0) > Some(error) && bytes < last,
                "{error}: {bytes}"
            );
            last = bytes;
        }
        // Rows sampled so sparsely that cells survive a loss of half the packets hold few packets of each flow.
        let lossy = Traffic { flows: 100, loss: 0.5, ..traffic };
        assert_eq!(Params::for_flow_error(1e-3, 1e6, &lossy, false), Err(LdsError::Error(1e-3)));
    }
}
