//! Sparse linear equations with more unknowns than equations, solved by message passing between flows and cells.
//!
//! The minimum-norm least-squares solution is the most likely one under normal priors. Each cell sends each of its
//! flows what the other flows leave for it, and each flow sends each of its cells what its other cells imply, all with
//! variances (Gaussian belief propagation), until the values converge. Conjugate gradients find the same solution, but
//! a flow of 10⁵ packets makes the equations of its cells nearly equal: after 2,000 steps they are further from it than
//! this is after 40 rounds, and they give no variance per flow.

use std::ops::Range;

/// One equation per cell, one unknown per flow: *b* = *A* *x* + noise.
#[derive(Debug)]
pub(super) struct System {
    /// Cells per flow: flow *j* is in `cells[j · degree..][..degree]`.
    pub(super) degree: usize,
    /// Indices of equations.
    pub(super) cells: Vec<u32>,
    /// The entries of *A*, in the order of `cells`; zero if the equation does not apply.
    pub(super) coefficients: Vec<f64>,
    /// Uncertainty of *A* *x* for the other flows of the cell, because *A* itself is uncertain: variances, in the order
    /// of `cells`.
    pub(super) doubts: Vec<f64>,
    /// Noise variance of each equation.
    pub(super) noise: Vec<f64>,
}

/// A normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Normal {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

/// The messages between flows and cells.
struct Talk {
    /// From each flow to each of its cells, in the order of `cells`.
    sent: Vec<Normal>,
    /// From the cells of one flow; and the product of the prior and the messages of the preceding cells.
    heard: Vec<Evidence>,
    before: Vec<Evidence>,
}

impl Talk {
    /// Messages from flows are initially their priors.
    fn new(system: &System, priors: &[Normal]) -> Self {
        let sent = priors.iter().flat_map(|&prior| std::iter::repeat_n(prior, system.degree)).collect();
        let heard = vec![Evidence::default(); system.degree];
        Self { sent, before: heard.clone(), heard }
    }
}

/// Limit on rounds; they end earlier once the squared change of every flow is below this share of its variance.
const MOST_ROUNDS: usize = 100;
const STILL: f64 = 1e-6;
/// A sum of variances less one of its terms is at least this part of the sum: guards against rounding errors.
const ROUNDING: f64 = 1e-10;
/// Least variance of a message, so that the precision of exact values stays finite.
pub(super) const LEAST_VARIANCE: f64 = 1e-18;

impl System {
    /// The posterior of each flow, from its prior and *b*. Flows are updated in turn, each with the latest messages of
    /// the previous ones: simultaneous updates with four cells per flow would oscillate and diverge. If a flow has not
    /// converged in the last round, its variance includes the change.
    pub(super) fn solve(&self, b: &[f64], priors: &[Normal]) -> Vec<Normal> {
        let mut beliefs = priors.to_vec();
        let mut talk = Talk::new(self, priors);
        for _ in 0..MOST_ROUNDS {
            if self.round(b, priors, &mut talk, &mut beliefs) < STILL {
                break;
            }
        }
        beliefs
    }

    /// By cell: the variance, after this many rounds, of its noise and all its flows, as seen by one more flow.
    /// Variances do not depend on *b*.
    pub(super) fn variances(&self, rounds: usize) -> Vec<f64> {
        let prior = Normal { mean: 0.0, variance: 1.0 };
        let priors = vec![prior; self.cells.len() / self.degree];
        let (mut beliefs, mut talk) = (priors.clone(), Talk::new(self, &priors));
        let b = vec![0.0; self.noise.len()];
        for _ in 0..rounds {
            self.round(&b, &priors, &mut talk, &mut beliefs);
        }
        self.sums(&talk.sent).into_iter().map(|sum| sum.variance).collect()
    }

    /// The mean squared residual of the equations relative to its variance, per degree of freedom, for a solution from
    /// priors of variance 1; at least 1, and 1 if the equations leave no degree of freedom.
    pub(super) fn misfit(&self, b: &[f64], found: &[Normal]) -> f64 {
        let squares: Vec<f64> = self.squares(b, found).into_iter().flatten().collect();
        let determined: f64 = found.iter().map(|found| 1.0 - found.variance.min(1.0)).sum();
        let freedom = squares.len() as f64 - determined;
        if freedom < 1.0 { 1.0 } else { (squares.iter().sum::<f64>() / freedom).max(1.0) }
    }

    /// Raises the variance of each flow, up to its prior's, by the excess of its own equations' residuals.
    pub(super) fn doubt(&self, b: &[f64], found: &mut [Normal]) {
        /// Squared residuals of 1 that are averaged with those of a flow's own equations.
        const USUAL: f64 = 4.0;
        let squares = self.squares(b, found);
        for (found, cells) in found.iter_mut().zip(self.cells.chunks(self.degree)) {
            let own = || cells.iter().filter_map(|&cell| squares[cell as usize]);
            let excess = (USUAL + own().sum::<f64>()) / (USUAL + own().count() as f64);
            found.variance = (found.variance * excess.max(1.0)).min(found.variance.max(1.0));
        }
    }

    /// By equation: the squared residual over its variance; `None` if the variance is zero.
    fn squares(&self, b: &[f64], found: &[Normal]) -> Vec<Option<f64>> {
        let certain = |found: &Normal| std::iter::repeat_n(Normal { variance: 0.0, ..*found }, self.degree);
        let sent: Vec<Normal> = found.iter().flat_map(certain).collect();
        let square = |(sum, b): (Normal, &f64)| (sum.variance > 0.0).then(|| (b - sum.mean).powi(2) / sum.variance);
        self.sums(&sent).into_iter().zip(b).map(square).collect()
    }

    /// Updates every flow in turn from its cells, and then its messages to them. Returns the largest change of a flow:
    /// squared, relative to its variance.
    fn round(&self, b: &[f64], priors: &[Normal], talk: &mut Talk, beliefs: &mut [Normal]) -> f64 {
        let mut sums = self.sums(&talk.sent);
        let mut most_moved: f64 = 0.0;
        for (flow, (belief, &prior)) in beliefs.iter_mut().zip(priors).enumerate() {
            let edges = flow * self.degree..(flow + 1) * self.degree;
            let sent = &mut talk.sent[edges.clone()];
            self.hear(edges.clone(), b, &sums, sent, &mut talk.heard);
            self.add(-1.0, edges.clone(), sent, &mut sums);
            let all = tell(&talk.heard, prior, sent, &mut talk.before);
            self.add(1.0, edges, sent, &mut sums);
            let moved = (all.mean - belief.mean).powi(2);
            most_moved = most_moved.max(moved / all.variance);
            *belief = Normal { mean: all.mean, variance: all.variance + moved };
        }
        most_moved
    }

    /// Adds a flow's messages to the sums, or subtracts them.
    fn add(&self, sign: f64, edges: Range<usize>, sent: &[Normal], sums: &mut [Normal]) {
        for (edge, said) in edges.zip(sent) {
            let (sum, a) = (&mut sums[self.cells[edge] as usize], self.coefficients[edge]);
            sum.mean += sign * a * said.mean;
            sum.variance += sign * a * a * said.variance;
        }
    }

    /// By cell: mean and variance of *A* *x* plus noise, from the messages of the flows.
    fn sums(&self, sent: &[Normal]) -> Vec<Normal> {
        let mut sums: Vec<Normal> = self.noise.iter().map(|&variance| Normal { mean: 0.0, variance }).collect();
        for (((&cell, a), doubt), said) in self.cells.iter().zip(&self.coefficients).zip(&self.doubts).zip(sent) {
            let sum = &mut sums[cell as usize];
            sum.mean += a * said.mean;
            sum.variance += a * a * said.variance + doubt;
        }
        sums
    }

    /// The messages from each of a flow's cells, without what the flow itself contributed.
    fn hear(&self, edges: Range<usize>, b: &[f64], sums: &[Normal], sent: &[Normal], heard: &mut [Evidence]) {
        for ((edge, said), heard) in edges.zip(sent).zip(heard) {
            let (cell, a) = (self.cells[edge] as usize, self.coefficients[edge]);
            let sum = sums[cell];
            let others = sum.variance - a * a * said.variance - self.doubts[edge];
            let precision = a * a / others.max(ROUNDING * sum.variance).max(a * a * LEAST_VARIANCE);
            *heard = match a {
                0.0 => Evidence::default(),
                a => Evidence { precision, pull: precision * ((b[cell] - sum.mean) / a + said.mean) },
            };
        }
    }
}

/// Sets the message to each of a flow's cells: all evidence except that cell's own. Returns all of it.
fn tell(heard: &[Evidence], prior: Normal, sent: &mut [Normal], before: &mut [Evidence]) -> Normal {
    // Accumulates from both ends instead of subtracting from the total, which would cancel nearly equal numbers.
    let mut left = Evidence::of(prior);
    for (heard, before) in heard.iter().zip(before.iter_mut()) {
        *before = left;
        left = left.and(*heard);
    }
    let mut right = Evidence::default();
    for ((heard, before), sent) in heard.iter().zip(before).zip(sent).rev() {
        let told = before.and(right);
        *sent = Normal { mean: told.pull / told.precision, variance: 1.0 / told.precision };
        right = right.and(*heard);
    }
    Normal { mean: left.pull / left.precision, variance: 1.0 / left.precision }
}

/// A normal distribution in natural parameters: the product of two is the sum of their parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Evidence {
    precision: f64,
    /// Precision times mean.
    pull: f64,
}

impl Evidence {
    fn of(normal: Normal) -> Self {
        let precision = 1.0 / normal.variance.max(LEAST_VARIANCE);
        Self { precision, pull: precision * normal.mean }
    }

    fn and(self, other: Self) -> Self {
        Self { precision: self.precision + other.precision, pull: self.pull + other.pull }
    }
}
