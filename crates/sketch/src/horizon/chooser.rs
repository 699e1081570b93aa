use super::curve::Curve;
use crate::parts::targets::{TARGETS, Target};
use crate::survival::BANDS;

/// The distribution of delays so far, from which the thresholds are chosen.
///
/// The variance of the estimated distribution function at quantile *F* is Σ (1/*q* − 1/*q*′) *V* over the bands, *q*′
/// being the probability in the band before. *V* is Σ*z*² − (Σ*z*)²/*open* over the exchanges that last to the band,
/// with *z* = \[delay below the quantile\] − *F* (see `Survival::variance`). So each band costs *A*/*q*, where *A* is
/// the decrease of *V* in it. The table holds Σ *c q* requests, where *c* is the number that wait at the ages of the
/// band. For a given room, the weighted sum of the quantiles' errors is least with *q* ∝ √(*A*/*c*); bands in which
/// this would rise with age are pooled. A quantile's error is the standard deviation at *F* over the density there.
#[derive(Clone, Debug, Default)]
pub(super) struct Chooser {
    /// Exchanges by band of delay: faded before they are so many that adding one is lost in 24 bits.
    delays: [f32; BANDS],
    /// Exchanges that responses stood for, matched or not.
    responses: f64,
    /// Samples since the last choice that was based on enough of them.
    samples: u32,
}

/// The factor by which older delays fade at each choice.
const MEMORY: f64 = 0.9;
/// Where no delay was sampled there may be as many as would have gone unseen, but at most this share of all: so tails
/// reappear, for example where acknowledgements are delayed for 40 ms.
const UNSEEN: f64 = 4e-4;
/// Tails do not end abruptly: where few were sampled, this share of those in the octave before is assumed, unless
/// [`most`] shows that there are fewer.
const TAIL: f64 = 0.25;
/// This share of the room is spread evenly over all requests, so that every age is sampled.
const SPREAD: f64 = 0.02;
/// With fewer samples than this older ones do not fade.
const ENOUGH: u32 = 1024;
/// After this many samples older ones fade even without a choice.
const MANY: u32 = 1 << 20;
/// The shape of the thresholds changes only if the predicted error falls below this share of the present one: every
/// change makes some responses uncounted until it has settled.
const WORTH_IT: f64 = 0.9;
/// Bands in which fewer requests wait than this share of the room count as if as many did: short and rare waits are no
/// reason to admit everything.
const LEAST_WAITING: f64 = 1.0 / 64.0;
/// A request that enters costs several times as much time as one that is turned away: fewer enter as long as the
/// predicted error grows by no more than this share.
const THRIFT: f64 = 0.03;
/// The share of requests that enter is lowered in steps of this ratio, at most `STEPS` times.
const STEP: f64 = 0.75;
const STEPS: i32 = 16;
/// Weights and thresholds depend on each other: they are computed in turn, this many times.
const ROUNDS: usize = 8;

impl Chooser {
    /// Adds a delay that stands for this many exchanges.
    #[inline]
    pub(super) fn sample(&mut self, band: usize, exchanges: f64) {
        self.delays[band] += exchanges as f32;
        self.samples += 1;
        if self.samples == MANY {
            self.fade();
        }
    }

    /// Counts responses, matched or not, that stand for this many exchanges.
    #[inline]
    pub(super) fn respond(&mut self, exchanges: f64) {
        self.responses += exchanges;
    }

    /// Reduces the weight of older delays.
    pub(super) fn fade(&mut self) {
        if self.samples >= ENOUGH {
            self.delays.iter_mut().for_each(|weight| *weight *= MEMORY as f32);
            self.responses *= MEMORY;
            self.samples = 0;
        }
    }

    /// The probabilities with about the least predicted error if `waiting` requests wait by band and there is room for
    /// `room`, admitting as few requests as that allows; or, if those are about as good, the present ones, scaled down
    /// if they need more room. Nothing is known of bands after `known`: they share its probability until they are
    /// reached.
    pub(super) fn choose(&self, curve: &Curve, waiting: &[f64; BANDS], known: usize, room: f64) -> [f64; BANDS] {
        let present: [f64; BANDS] = std::array::from_fn(|band| curve.kept_probability(band.max(1)));
        let held: f64 = (1..BANDS).map(|band| waiting[band] * present[band]).sum();
        let present = present.map(|chance| chance * (room / held).min(1.0));
        let costs = self.costs(&present);
        let (mut best, mut cost) = (present, [0.0; BANDS]);
        for _ in 0..ROUNDS {
            cost = weighted(&costs, &best);
            best = cheapest(&cost, waiting, known, room, 1.0);
        }
        let allowed = (1.0 + THRIFT) * error(&costs, &best);
        let fewer = (1..=STEPS).map(|step| best[1] * STEP.powi(step));
        let thrifty = fewer.map(|most| cheapest(&cost, waiting, known, room, most));
        let chances = thrifty.take_while(|chances| error(&costs, chances) <= allowed).last().unwrap_or(best);

        let (old, new) = (error(&costs, &present), error(&costs, &chances));
        let is_thriftier = chances[1] < STEP * present[1] && new < (1.0 + THRIFT) * old;
        if is_thriftier || new < WORTH_IT * old { chances } else { present }
    }

    /// *A* by band for each target.
    fn costs(&self, present: &[f64; BANDS]) -> [[f64; BANDS]; TARGETS.len()] {
        let known_delays = self.delays.map(f64::from);
        let known: f64 = known_delays.iter().sum();
        // While nothing is known, any delay is possible.
        let unseen = if known > 0.0 { UNSEEN * known } else { 1.0 };
        let mut delays = [0.0; BANDS];
        for band in 1..BANDS {
            let seen = known_delays[band] + unseen.min(1.0 / present[band]);
            let tail = (TAIL * delays[band - 1]).min(most(known_delays[band], present[band]));
            delays[band] = seen.max(tail);
        }
        let total: f64 = delays.iter().sum();
        let orphans = (self.responses - known).max(0.0);
        TARGETS.map(|Target { share: target, .. }| {
            let mut below_until = 0.0;
            let below: [f64; BANDS] = std::array::from_fn(|band| {
                let below = (target * total - below_until).clamp(0.0, delays[band]);
                below_until += below;
                below
            });
            let (mut open, mut open_below, mut longer) = (0.0, 0.0, 0.0);
            let mut costs = [0.0; BANDS];
            for band in (1..BANDS).rev() {
                open += delays[band];
                open_below += below[band];
                let sum = open_below - target * open;
                let squares = open_below * (1.0 - 2.0 * target) + open * target * target;
                let unexplained = squares - sum * sum / (open + orphans).max(f64::MIN_POSITIVE);
                costs[band] = (unexplained - longer).max(0.0);
                longer = unexplained.max(longer);
            }
            costs
        })
    }
}

/// An upper bound of the exchanges where the samples stand for `seen`, each with this probability: two standard
/// deviations more, or three samples where there was none.
fn most(seen: f64, chance: f64) -> f64 {
    let samples = seen * chance;
    (samples + 2.0 * samples.sqrt() + 3.0) / chance
}

/// The targets' costs combined so that the least total is the least sum of errors, near these probabilities.
fn weighted(costs: &[[f64; BANDS]; TARGETS.len()], chances: &[f64; BANDS]) -> [f64; BANDS] {
    let mut cost = [0.0; BANDS];
    for (target, bands) in TARGETS.iter().zip(costs) {
        let scale = target.scale() / variance(bands, chances).sqrt().max(f64::MIN_POSITIVE);
        cost.iter_mut().zip(bands).for_each(|(sum, band)| *sum += scale * band);
    }
    cost
}

fn variance(costs: &[f64; BANDS], chances: &[f64; BANDS]) -> f64 {
    costs.iter().zip(chances).skip(1).map(|(cost, chance)| cost / chance).sum()
}

fn error(costs: &[[f64; BANDS]; TARGETS.len()], chances: &[f64; BANDS]) -> f64 {
    costs.iter().zip(TARGETS).map(|(bands, target)| target.scale() * variance(bands, chances).sqrt()).sum()
}

/// The probabilities, at most `most` and not rising, that fit Σ waiting · chance into the room with the least Σ cost /
/// chance; none is below what [`SPREAD`] of the room allows for all. From band `known` on they are equal.
fn cheapest(cost: &[f64; BANDS], waiting: &[f64; BANDS], known: usize, room: f64, most: f64) -> [f64; BANDS] {
    if waiting[1..].iter().sum::<f64>() <= room {
        return [1.0; BANDS];
    }
    // Pooled neighbours that share one probability, as (cost, waiting, bands). At first the square of each probability,
    // up to a factor, is cost / waiting, which must fall.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(BANDS);
    let known = known.clamp(1, BANDS - 1);
    for band in 1..=known {
        let mut block = (cost[band], waiting[band].max(LEAST_WAITING * room), 1);
        while let Some(&(before, waits, bands)) = blocks.last() {
            if block.0 * waits < before * block.1 {
                break;
            }
            block = (block.0 + before, block.1 + waits, block.2 + bands);
            blocks.pop();
        }
        blocks.push(block);
    }
    let rates: Vec<_> =
        blocks.iter().map(|&(cost, waiting, bands)| ((cost / waiting).sqrt(), waiting, bands)).collect();
    let all: f64 = rates.iter().map(|&(_, waiting, _)| waiting).sum();
    let least = (SPREAD * room / all).min(1.0);
    let most = most.max(least);
    let chance = |scale: f64, rate: f64| (scale * rate).clamp(least, most);
    let held = |scale: f64| -> f64 { rates.iter().map(|&(rate, waiting, _)| waiting * chance(scale, rate)).sum() };
    // Occupancy is piecewise linear in the factor, with bends where a probability reaches its least or its most.
    let bends = rates.iter().flat_map(|&(rate, ..)| [least / rate, most / rate]);
    let mut bends: Vec<f64> = bends.filter(|scale| scale.is_finite()).collect();
    bends.sort_unstable_by(f64::total_cmp);
    let next = bends.partition_point(|&scale| held(scale) <= room);
    let scale = match (next.checked_sub(1).map(|last| bends[last]), bends.get(next)) {
        (Some(low), Some(&high)) => low + (high - low) * (room - held(low)) / (held(high) - held(low)),
        (low, high) => low.or(high.copied()).unwrap_or(0.0),
    };
    let mut chances = [1.0; BANDS];
    let mut band = 1;
    for (rate, _, bands) in rates {
        chances[band..band + bands].fill(chance(scale, rate));
        band += bands;
    }
    let last = chances[known];
    chances[known..].fill(last);
    chances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gate;
    use dwell_types::Nanos;

    fn open() -> Curve {
        Curve::open(Gate::new(1, 1.0), Nanos::from_secs(2))
    }

    /// With room for all, everything is kept; with less, the room is filled, and probabilities do not rise with age.
    #[test]
    fn the_room_is_used() {
        let curve = open();
        let mut chooser = Chooser::default();
        (10..25).for_each(|band| chooser.sample(band, 100.0));
        let waiting = std::array::from_fn(|band| band as f64);
        let all: f64 = waiting.iter().sum();
        assert!(chooser.choose(&curve, &waiting, BANDS, all + 1.0).iter().all(|&chance| chance == 1.0));
        for room in [0.5 * all, 0.01 * all] {
            let chances = chooser.choose(&curve, &waiting, BANDS, room);
            let held: f64 = (1..BANDS).map(|band| waiting[band] * chances[band]).sum();
            assert!((0.8..=1.000_001).contains(&(held / room)), "{held} of {room}");
            assert!(chances[1..].is_sorted_by(|a, b| a >= b), "{chances:?}");
        }
    }

    /// Most delays are short. If all requests are answered, few wait long, and slow exchanges are kept; among unanswered
    /// ones they are sampled less than fast ones.
    #[test]
    fn unanswered_requests_shorten_horizons() {
        let curve = open();
        let mut chooser = Chooser::default();
        (5..25).for_each(|band| chooser.sample(band, 2f64.powi(25 - band as i32)));
        let ratio = |waits: &dyn Fn(f64) -> f64| {
            let waiting = std::array::from_fn(|band| if band < 25 { waits(band as f64) } else { 0.0 });
            let chances = chooser.choose(&curve, &waiting, BANDS, waiting.iter().sum::<f64>() / 1e3);
            chances[5] / chances[24]
        };
        // As many as are answered later; or all of them for ever.
        let answered = ratio(&|band| band.exp2() * (25.0 - band).exp2());
        let unanswered = ratio(&|band| band.exp2());
        assert!(answered < 200.0 && unanswered > 100.0 * answered, "{answered} {unanswered}");
    }

    /// No feasible neighbour of the solution costs less.
    #[test]
    fn the_cheapest_is_the_cheapest() {
        let cost: [f64; BANDS] = std::array::from_fn(|band| ((band * 7919) % 31) as f64 + 0.1);
        let waiting: [f64; BANDS] = std::array::from_fn(|band| ((band * 104_729) % 17) as f64 + 0.5);
        let all: f64 = waiting[1..].iter().sum();
        let chances = cheapest(&cost, &waiting, BANDS, 0.2 * all, 1.0);
        let least = variance(&cost, &chances);
        for up in 1..BANDS {
            for down in (1..BANDS).filter(|&down| down != up) {
                let mut other = chances;
                other[up] += 1e-3 / waiting[up];
                other[down] -= 1e-3 / waiting[down];
                if other.iter().all(|&chance| chance >= SPREAD * 0.2)
                    && other[1..].is_sorted_by(|a, b| a >= b)
                    && other[1] <= 1.0
                {
                    assert!(variance(&cost, &other) >= least * (1.0 - 1e-9), "{up} {down}");
                }
            }
        }
    }
}
