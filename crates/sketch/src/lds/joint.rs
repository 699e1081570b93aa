use super::messages::{Normal, System};
use super::select::spread;
use super::{Comparison, Figure, FlowEstimate, Lds, Rule};
use crate::estimate::Z95;
use dwell_types::FlowId;
use std::ops::Range;

/// A flow to be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The flow's id.
    pub flow: FlowId,
    /// The flow's class.
    pub class: u8,
    /// The number of packets that it sent, if known from flow records.
    pub packets: Option<u64>,
}

/// The cells of the listed flows.
struct Layout {
    /// Number of cells per flow, in all rows together.
    degree: usize,
    /// The weight of each flow.
    weights: Vec<f64>,
    /// The cells of each flow, `degree` per flow.
    cells: Vec<u32>,
    /// The mean count that one packet of the flow adds to each of these cells: weight · rate / *k*.
    shares: Vec<f64>,
}

/// What the listed flows should leave in each cell.
struct Expected {
    counts: Vec<f64>,
    /// The mean weight of the packets counted; 1 where none is expected.
    weights: Vec<f64>,
}

impl Layout {
    fn new(sketch: &Lds, listed: &[Listed]) -> Self {
        let params = sketch.params();
        let k = params.cells_per_flow as usize;
        let weights: Vec<f64> = listed.iter().map(|flow| sketch.weight(flow.class).into()).collect();
        let (mut cells, mut shares) = (Vec::new(), Vec::new());
        for (flow, weight) in listed.iter().zip(&weights) {
            for (row, rate) in params.rates.iter().enumerate() {
                cells.extend(sketch.cells_of(flow.flow, row).map(|cell| cell as u32));
                shares.extend(std::iter::repeat_n(weight * rate / k as f64, k));
            }
        }
        Self { degree: params.rows() * k, weights, cells, shares }
    }

    fn edges(&self, flow: usize) -> Range<usize> {
        flow * self.degree..(flow + 1) * self.degree
    }

    /// What this many packets of each flow should leave in so many cells.
    fn expected(&self, cells: usize, packets: &[Normal]) -> Expected {
        let (mut counts, mut weights) = (vec![0.0; cells], vec![0.0; cells]);
        for (flow, cell, edge) in self.all() {
            let count = self.shares[edge] * packets[flow].mean;
            counts[cell] += count;
            weights[cell] += self.weights[flow] * count;
        }
        for (weight, &count) in weights.iter_mut().zip(&counts) {
            *weight = if count > 0.0 { *weight / count } else { 1.0 };
        }
        Expected { counts, weights }
    }

    /// The indices of flow, cell and edge, for every edge.
    fn all(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        self.cells.iter().enumerate().map(|(edge, &cell)| (edge / self.degree, cell as usize, edge))
    }
}

/// The input for decoding a number of packets per flow.
struct Counts {
    /// By cell: the count.
    seen: Vec<f64>,
    /// By flow: the number, if it is known.
    given: Vec<Option<f64>>,
    /// By flow: the number by the row with the lowest upper bound.
    least: Vec<Figure>,
}

impl Counts {
    /// An upper bound of a flow's number.
    fn most(&self, flow: usize) -> f64 {
        let bound = self.least[flow].interval.map_or(0.0, |(_, high)| high);
        bound.max(self.given[flow].unwrap_or(0.0))
    }

    /// The number if it is given, or else that by the least row, which may be all those of other flows.
    fn undecoded(&self, flow: usize) -> Normal {
        match self.given[flow] {
            Some(mean) => Normal { mean, variance: 0.0 },
            None => Normal { mean: self.least[flow].value, variance: (self.most(flow) / (2.0 * Z95)).powi(2) },
        }
    }
}

/// Rounds of reweighting when packet counts are decoded: squares of the last results are the next prior variances.
const REWEIGHTINGS: usize = 2;
/// The number of largest flows from which the variance of packet delays within a flow is estimated.
const LARGEST: usize = 64;
/// A ratio of squared residuals to variances above this means that delays vary more than in the largest flows, or more
/// in some flows than in others; a smaller excess is chance.
const MISFIT: f64 = 1.2;

impl Comparison<'_> {
    /// Estimates for all listed flows at once from all cells: each cell's sum less the other flows' estimated parts is
    /// evidence for a flow. In the order of the list; a flow must not be listed twice.
    ///
    /// The mean delays of flows are modelled as draws from one distribution whose mean and variance are estimated.
    /// Intervals are those of the solution: wide where flows cannot be told apart, and where cells contradict each
    /// other. With numbers of packets given, packets of unlisted flows are detected by their number and widen the
    /// intervals; without, they are attributed to listed flows, and intervals are too narrow.
    ///
    /// Numbers of packets and of lost packets are decoded likewise from the rows that sample all packets into one cell per
    /// flow. Without such a row, chance decides which cell of a flow saw how many of its packets: then the numbers are
    /// those of [`Comparison::estimate`].
    pub fn joint(&self, listed: &[Listed]) -> Vec<FlowEstimate> {
        let layout = Layout::new(self.sender, listed);
        let sent = self.counts(listed, |cell| self.sent(cell), true);
        let packets = self.decode(&layout, &sent);
        let missing = self.counts(listed, |cell| self.lost(cell).max(0.0), false);
        let lost = self.decode(&layout, &missing);
        let delays = self.delays(listed, &layout, &packets);
        let has_exact_rows = self.has_exact_rows();
        let number = |counts: &Counts, flow: usize, found: Normal| match counts.given[flow] {
            None if !has_exact_rows => counts.least[flow],
            _ => Figure::normal(found, 0.0, counts.most(flow)),
        };
        let estimate = |(flow, listed): (usize, &Listed)| FlowEstimate {
            mean_delay_ns: delays.as_ref().map(|delays| Figure::unbounded(delays[flow])),
            packets: Some(number(&sent, flow, packets[flow])),
            lost: Some(number(&missing, flow, lost[flow])),
            bytes: self.bytes(listed.flow),
            spread_ns: self.spread(listed),
        };
        listed.iter().enumerate().map(estimate).collect()
    }

    /// Only the mean delays in nanoseconds of [`Comparison::joint`], in a fraction of the time.
    pub fn joint_delays(&self, listed: &[Listed]) -> Option<Vec<Figure>> {
        let layout = Layout::new(self.sender, listed);
        let packets = self.decode(&layout, &self.counts(listed, |cell| self.sent(cell), true));
        Some(self.delays(listed, &layout, &packets)?.into_iter().map(Figure::unbounded).collect())
    }

    fn spread(&self, listed: &Listed) -> Option<Figure> {
        let weight = f64::from(self.sender.weight(listed.class));
        spread(&self.candidates(listed.flow, Rule::UpperBound), weight)
    }

    fn counts(&self, listed: &[Listed], seen: impl Fn(usize) -> f64 + Clone, may_be_given: bool) -> Counts {
        let given = |listed: &Listed| listed.packets.filter(|_| may_be_given).map(|packets| packets as f64);
        let least = |listed: &Listed| {
            let weight = f64::from(self.sender.weight(listed.class));
            self.least(listed.flow, weight, &seen)
        };
        Counts {
            seen: (0..self.sender.cells.len()).map(&seen).collect(),
            given: listed.iter().map(given).collect(),
            least: listed.iter().map(least).collect(),
        }
    }

    /// Whether a row samples all packets into one cell per flow: its counts are those of its flows, and nothing is left to
    /// chance.
    fn is_exact(&self, row: usize) -> bool {
        let params = self.sender.params();
        params.cells_per_flow == 1 && params.rates[row] == 1.0
    }

    fn has_exact_rows(&self) -> bool {
        (0..self.sender.params().rows()).any(|row| self.is_exact(row))
    }

    /// The number of packets of each flow, from the exact rows; variance 0 if it is given or must be zero. Without an exact
    /// row, what the least row says.
    ///
    /// Few flows have many packets: the prior mean is zero, and its variance at first the square of the excess of the
    /// flow's upper bound over the 90th percentile of these bounds, then of the flow's last estimate.
    fn decode(&self, layout: &Layout, counts: &Counts) -> Vec<Normal> {
        if !self.has_exact_rows() {
            return (0..counts.given.len()).map(|flow| counts.undecoded(flow)).collect();
        }
        let mut left = counts.seen.clone();
        let mut coefficients = layout.shares.clone();
        for (flow, given) in counts.given.iter().enumerate() {
            let zero = (counts.most(flow) == 0.0).then_some(0.0);
            let known = given.or(zero);
            for (row, edge) in layout.edges(flow).enumerate() {
                if !self.is_exact(row) {
                    coefficients[edge] = 0.0;
                } else if let Some(packets) = known {
                    left[layout.cells[edge] as usize] -= packets * layout.shares[edge];
                    coefficients[edge] = 0.0;
                }
            }
        }
        let fixed = |flow: usize, found: Normal| match counts.given[flow] {
            Some(mean) => Normal { mean, variance: 0.0 },
            None if counts.most(flow) == 0.0 => Normal { mean: 0.0, variance: 0.0 },
            None => Normal { mean: found.mean.clamp(0.0, counts.most(flow)), ..found },
        };
        let mut found = self.first_guess(counts);
        if coefficients.iter().any(|&a| a > 0.0) {
            let doubts = vec![0.0; coefficients.len()];
            let noise = vec![0.0; left.len()];
            let system = System { degree: layout.degree, cells: layout.cells.clone(), coefficients, doubts, noise };
            for _ in 0..=REWEIGHTINGS {
                let square = |normal: &Normal| Normal { mean: 0.0, variance: normal.mean.powi(2) + normal.variance };
                found = system.solve(&left, &found.iter().map(square).collect::<Vec<_>>());
                found.iter_mut().enumerate().for_each(|(flow, normal)| *normal = fixed(flow, *normal));
            }
        }
        found.into_iter().enumerate().map(|(flow, normal)| fixed(flow, normal)).collect()
    }

    fn first_guess(&self, counts: &Counts) -> Vec<Normal> {
        const USUAL: f64 = 0.9;
        let most: Vec<f64> = (0..counts.least.len()).map(|flow| counts.most(flow)).collect();
        let mut sorted = most.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let usual = sorted.get((USUAL * sorted.len() as f64) as usize).copied().unwrap_or(0.0);
        let first_row: f64 = counts.seen[self.sender.row(0)].iter().sum();
        let mean = first_row / self.sender.params().rates[0] / most.len().max(1) as f64;
        let guess = |most: &f64| Normal { mean: (most - usual).max(0.0), variance: (0.1 * mean).powi(2) };
        most.iter().map(guess).collect()
    }

    /// The variance of a cell's count as a share of that count: zero if its row has one cell per flow and samples all
    /// packets. A packet of weight *w* counts *w* times or not at all, which varies *w* times as much as single packets.
    fn chance(&self, cell: usize, expected: &Expected) -> f64 {
        let params = self.sender.params();
        expected.weights[cell] * (1.0 - params.rates[cell / params.columns as usize] / f64::from(params.cells_per_flow))
    }

    /// Mean delay of each flow in nanoseconds; `None` if no cell is usable.
    ///
    /// The delays in a cell sum up to Σ *a* *d* over its flows, with *a* their packets in the cell and *d* the
    /// difference of their mean delay from that of all flows, in units of the standard deviation of *d*.
    fn delays(&self, listed: &[Listed], layout: &Layout, packets: &[Normal]) -> Option<Vec<Normal>> {
        let usable: Vec<Option<(f64, f64)>> = (0..self.sender.cells.len())
            .map(|cell| self.usable(cell).map(|u| (u.delay_ns as f64, f64::from(u.packets))))
            .collect();
        let is_known = listed.iter().all(|listed| listed.packets.is_some());
        let expected = layout.expected(usable.len(), packets);
        let mut system = self.delay_system(layout, packets, &usable, &expected, is_known);
        let delays = Delays::new(&system, &usable)?;
        let jitter = self.jitter(listed, packets).unwrap_or(delays.variance) / delays.variance;
        for (cell, usable) in usable.iter().enumerate() {
            let Some((_, seen)) = usable else { continue };
            system.noise[cell] += self.chance(cell, &expected) * seen * jitter;
        }
        let scale = delays.variance.sqrt();
        let b: Vec<f64> = delays.deviations.iter().map(|deviation| deviation / scale).collect();
        let priors = vec![Normal { mean: 0.0, variance: 1.0 }; listed.len()];
        let mut found = system.solve(&b, &priors);
        let misfit = system.misfit(&b, &found);
        if misfit > MISFIT {
            system.noise.iter_mut().for_each(|noise| *noise *= misfit);
            found = system.solve(&b, &priors);
            system.doubt(&b, &mut found);
        }
        let in_ns = |(found, packets): (&Normal, &Normal)| {
            // The cells measure the product of packets and delay.
            let doubt = packets.variance / packets.mean.max(1.0).powi(2) * (found.mean.powi(2) + found.variance);
            Normal {
                mean: self.delay(delays.center + scale * found.mean),
                variance: delays.variance * (found.variance + doubt).min(1.0),
            }
        };
        Some(found.iter().zip(packets).map(in_ns).collect())
    }

    fn delay_system(
        &self,
        layout: &Layout,
        packets: &[Normal],
        usable: &[Option<(f64, f64)>],
        expected: &Expected,
        is_known: bool,
    ) -> System {
        // Counts in excess of chance belong to unlisted flows: the excess of a cell, or else the cell's share of the
        // excess of its row. The remainder is divided among the listed flows.
        let strangers: Vec<f64> = (0..self.sender.params().rows())
            .map(|row| if is_known { self.strangers(row, expected) } else { 0.0 })
            .collect();
        let unlisted = |cell: usize, seen: f64| {
            let excess = seen - expected.counts[cell];
            let is_more = excess > 4.0 * (seen * self.chance(cell, expected)).sqrt();
            let shared = seen * strangers[cell / self.sender.params().columns as usize];
            // A small expected number of packets means none in most cells, and some in others.
            if is_more { (excess, excess.powi(2)) } else { (shared, shared.powi(2) + shared) }
        };
        let (mut coefficients, mut doubts) = (vec![0.0; layout.cells.len()], vec![0.0; layout.cells.len()]);
        let mut squares = vec![0.0; usable.len()];
        for (flow, cell, edge) in layout.all() {
            let Some((_, seen)) = usable[cell] else { continue };
            let known = seen - unlisted(cell, seen).0;
            let is_shared = self.chance(cell, expected) > 0.0 && expected.counts[cell] > 0.0;
            let share = layout.shares[edge] * if is_shared { known / expected.counts[cell] } else { 1.0 };
            coefficients[edge] = share * packets[flow].mean;
            doubts[edge] = share * share * packets[flow].variance;
            squares[cell] += coefficients[edge].powi(2);
        }
        let noise = |(cell, usable): (usize, &Option<(f64, f64)>)| {
            let Some((_, seen)) = *usable else { return 0.0 };
            unlisted(cell, seen).1 + self.chance(cell, expected) * (seen - squares[cell] / seen).max(0.0)
        };
        let noise = usable.iter().enumerate().map(noise).collect();
        System { degree: layout.degree, cells: layout.cells.clone(), coefficients, doubts, noise }
    }

    /// The share of a row's packets that belongs to unlisted flows, given the expected packets of the listed ones; 0 if
    /// the excess can be chance.
    fn strangers(&self, row: usize, expected: &Expected) -> f64 {
        let cells = self.sender.row(row);
        let sum = |of: &dyn Fn(usize) -> f64| cells.clone().map(of).sum::<f64>();
        let (seen, listed) = (sum(&|cell| self.sent(cell)), sum(&|cell| expected.counts[cell]));
        let chance = sum(&|cell| self.sent(cell) * expected.weights[cell]) * (1.0 - self.sender.params().rates[row]);
        if seen - listed > 4.0 * chance.sqrt() + 0.5 { (seen - listed) / seen } else { 0.0 }
    }

    /// The variance of delays within a flow, from the largest flows; `None` if no spread is known.
    fn jitter(&self, listed: &[Listed], packets: &[Normal]) -> Option<f64> {
        let mut by_size: Vec<usize> = (0..listed.len()).collect();
        by_size.sort_by(|&a, &b| packets[b].mean.total_cmp(&packets[a].mean));
        let spreads = by_size.iter().take(LARGEST).filter_map(|&flow| self.spread(&listed[flow]));
        let mut squares: Vec<f64> = spreads.map(|spread| spread.value.powi(2)).collect();
        squares.sort_unstable_by(f64::total_cmp);
        let median = squares.get(squares.len() / 2).copied();
        // If most of these flows have no spread at all, use the mean instead.
        if median == Some(0.0) { Some(squares.iter().sum::<f64>() / squares.len() as f64) } else { median }
    }
}

/// Statistics common to the mean delays of all flows.
struct Delays {
    /// Their mean in nanoseconds.
    center: f64,
    /// Their variance.
    variance: f64,
    /// By usable cell, the difference of its sum of delays from its packets times `center`; zero for other cells.
    deviations: Vec<f64>,
}

impl Delays {
    /// Cells are weighted by their information: a cell filled by one flow says little about the mean of all flows.
    fn new(system: &System, usable: &[Option<(f64, f64)>]) -> Option<Self> {
        let mut variances = system.noise.clone();
        for ((&cell, a), doubt) in system.cells.iter().zip(&system.coefficients).zip(&system.doubts) {
            variances[cell as usize] += a * a + doubt;
        }
        let cells = || {
            let with_index = usable.iter().enumerate().filter_map(|(cell, usable)| Some((cell, (*usable)?)));
            with_index.filter(|(cell, _)| variances[*cell] > 0.0)
        };
        let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
            cells().map(|(cell, (delay, seen))| term(delay, seen) / variances[cell]).sum()
        };
        let center = sum(&|delay, seen| delay * seen) / sum(&|_, seen| seen * seen);
        let number = cells().count();
        if number == 0 {
            return None;
        }
        // Not zero, so that a stream without any variation can be solved, too.
        let variance = (sum(&|delay, seen| (delay - center * seen).powi(2)) / number as f64).max(1.0);
        let mut deviations = vec![0.0; usable.len()];
        cells().for_each(|(cell, (delay, seen))| deviations[cell] = delay - center * seen);
        Some(Self { center, variance, deviations })
    }
}
