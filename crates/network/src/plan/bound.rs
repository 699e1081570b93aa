//! A lower bound on the probe hops of any plan, by the dual of a linear program over fractions of routers.
//!
//! Let a fraction *x*ᵣ of router *r* be instrumented, within the limits, so that a segment *p* of *h* hops keeps at
//! least *h* (1 − Σ *x*ᵣ over the routers on it). Whole routers are a case of that. With a price *u*ₚ from 0 to *h* for
//! each segment, at least Σ *u*ₚ − max Σ *x*ᵣ *U*ᵣ hops remain, where *U*ᵣ is the sum of the prices of the segments
//! through *r*; the maximum takes the routers with the highest *U*ᵣ per cost. Any prices give a bound; good ones are
//! found by steps along the subgradient, 1 − Σ *x*ᵣ, as long as the gap to a known plan suggests (Polyak 1969).
//!
//! Where only some routers have a server, what is cut leaves pieces that this does not count: the bound holds, and is
//! less tight.

use super::{Cost, Limits};
use crate::segments::{Segments, between};

/// Iterations at most; each visits every segment once.
pub const STEPS: u32 = 300;
/// After this many iterations without a better bound, the step length is halved.
const PATIENCE: u32 = 8;

/// A lower bound on the probe hops that any routers within these limits leave of these segments; `known` is the number
/// that some plan leaves.
///
/// With a budget, the number of routers is not limited. `step` is called after each iteration.
pub fn least_hops(segments: &Segments, limits: &Limits, known: u64, mut step: impl FnMut()) -> u64 {
    let routers = segments.counts().len();
    let mut prices: Vec<f64> = segments.iter().map(|segment| if segment.len() > 2 { 1.0 } else { 0.0 }).collect();
    let untouched = segments.iter().filter(|segment| segment.len() == 2).count() as u64;
    let (mut least, mut patience, mut reach) = (segments.links() as u64, 0, 1.0);
    for _ in 0..STEPS {
        if least >= known {
            break;
        }
        let mut sums = vec![0.0; routers];
        for (segment, price) in segments.iter().zip(&prices) {
            between(segment).iter().for_each(|&router| sums[router as usize] += price);
        }
        let (shares, taken) = most(&sums, limits);
        let bound = prices.iter().sum::<f64>() - taken;
        // The rounding error of a sum of many prices is far below a billionth.
        let whole = untouched + (bound * (1.0 - 1e-9)).ceil().max(0.0) as u64;
        (least, patience) = if whole > least { (whole, 0) } else { (least, patience + 1) };
        if patience == PATIENCE {
            (patience, reach) = (0, reach / 2.0);
        }
        climb(segments, &mut prices, &shares, reach * (known.saturating_sub(untouched) as f64 - bound));
        step();
    }
    least
}

/// The fractions of routers within the limits with the greatest total, and that total.
fn most(sums: &[f64], limits: &Limits) -> (Vec<f64>, f64) {
    let cost = |router: usize| if limits.budget.is_some() { limits.cost(router as u32).number() } else { 1.0 };
    let mut order: Vec<usize> = (0..sums.len()).filter(|&router| sums[router] > 0.0).collect();
    order.sort_by(|&a, &b| (sums[b] / cost(b)).total_cmp(&(sums[a] / cost(a))));
    let (mut shares, mut taken) = (vec![0.0; sums.len()], 0.0);
    let mut left = limits.budget.map_or(limits.routers as f64, Cost::number);
    for router in order {
        shares[router] = (left / cost(router)).clamp(0.0, 1.0);
        taken += shares[router] * sums[router];
        left -= shares[router] * cost(router);
    }
    (shares, taken)
}

/// One subgradient step, of a length that would raise the bound by `by`.
fn climb(segments: &Segments, prices: &mut [f64], shares: &[f64], by: f64) {
    let slope = |segment: &[u32]| 1.0 - between(segment).iter().map(|&router| shares[router as usize]).sum::<f64>();
    let may_move = |price: f64, slope: f64, most: f64| slope > 0.0 && price < most || slope < 0.0 && price > 0.0;
    let cut = |segment: &&[u32]| segment.len() > 2;
    let mut square = 0.0;
    for (segment, price) in segments.iter().zip(prices.iter()).filter(|(segment, _)| cut(segment)) {
        let slope = slope(segment);
        if may_move(*price, slope, (segment.len() - 1) as f64) {
            square += slope * slope;
        }
    }
    if square == 0.0 {
        return;
    }
    for (segment, price) in segments.iter().zip(prices.iter_mut()).filter(|(segment, _)| cut(segment)) {
        *price = (*price + by / square * slope(segment)).clamp(0.0, (segment.len() - 1) as f64);
    }
}
