//! In which order flows are reported.

use super::{Flow, whole};
use crate::order::{FEWEST_SAMPLES, Rank, Slowness};
use dwell_types::Series;
use std::cmp::Reverse;

/// By what flows are ordered, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The number of bytes, or of packets if that is not known: as they are listed.
    #[default]
    Bytes,
    /// Lost packets as a share of those received or lost.
    Loss,
    /// A statistic of the delay.
    Delay(Slowness),
}

impl Order {
    /// Those by what sketches tell of flows.
    pub const OF_SKETCHES: [Self; 3] = [Self::Bytes, Self::Loss, Self::Delay(Slowness::Mean)];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Bytes, Self::Loss].into_iter().chain(Slowness::all().map(Self::Delay))
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Loss => "loss",
            Self::Delay(slowness) => slowness.name(),
        }
    }

    /// The rank of a flow, by whether what is compared rests on enough packets, and by its value; `None` where flows stay as
    /// they are listed.
    fn rank(self, Flow { flow, line, .. }: &Flow) -> Option<Rank> {
        /// Loss rates are compared in steps of one to this.
        const PARTS: f64 = 1e12;
        let (is_enough, value) = match self {
            Self::Bytes => return None,
            Self::Loss => {
                let rate = line.loss_rate.map_or(i64::MIN, |rate| (rate.value * PARTS).round() as i64);
                (line.received + line.lost >= FEWEST_SAMPLES, rate)
            }
            Self::Delay(slowness) => {
                let delays = &line.delay_ns;
                slowness.of(line.effective_samples, delays.mean.map(whole), &delays.quantiles)
            }
        };
        Some(Reverse((flow != Series::OTHER, is_enough, value)))
    }

    /// What the first ones are.
    pub(crate) fn first(self) -> String {
        match self {
            Self::Bytes => "largest".to_owned(),
            Self::Loss => "lossiest".to_owned(),
            Self::Delay(slowness) => slowness.first(),
        }
    }

    /// Orders flows that are listed by their bytes, all others together last; those of equal rank stay in this order.
    pub fn sort(self, flows: &mut [Flow]) {
        flows.sort_by_cached_key(|flow| self.rank(flow));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Delays, Line};
    use super::*;
    use crate::quantiles::{P95, QUANTILES};
    use dwell_sketch::estimate::Estimate;

    /// A flow of which so many packets arrived, and this share was lost; both delays are `None` without samples.
    fn flow(name: &str, received: u64, loss: f64, samples: u64, mean: f64) -> Flow {
        let is_known = samples > 0;
        let mut quantiles = [None; QUANTILES.len()];
        quantiles[P95] = is_known.then(|| Estimate::exact(-mean as i64));
        let mean = is_known.then(|| Estimate::exact(mean));
        let line = Line {
            received,
            loss_rate: (received > 0).then(|| Estimate::exact(loss)),
            effective_samples: samples,
            delay_ns: Delays { mean, quantiles, ..Delays::default() },
            ..Line::default()
        };
        Flow { flow: name.to_owned(), packets: received, uncounted_bytes: None, line }
    }

    /// Few packets after many, none after these, all others together last; equal ones stay as they are.
    #[test]
    fn flows_are_ordered() {
        let sorted = |order: Order| {
            let mut flows = [
                flow("other", 900, 0.9, 900, 90.0),
                flow("none", 0, 0.0, 0, 0.0),
                flow("few", 19, 0.8, 19, 80.0),
                flow("untimed", 50, 0.3, 3, 70.4),
                flow("slow", 20, 0.0, 20, 60.0),
                flow("much", 500, 1e-9, 500, 20.0),
                flow("same", 500, 1e-9, 500, 20.0),
            ];
            order.sort(&mut flows);
            flows.map(|flow| flow.flow)
        };
        assert_eq!(sorted(Order::Bytes)[..3], ["other", "none", "few"]);
        assert_eq!(sorted(Order::Loss), ["untimed", "much", "same", "slow", "few", "none", "other"]);
        let [by_mean, by_p95] = [Slowness::Mean, Slowness::Quantile(P95)].map(Order::Delay);
        assert_eq!(sorted(by_mean), ["slow", "much", "same", "few", "untimed", "none", "other"]);
        assert_eq!(sorted(by_p95), ["much", "same", "slow", "untimed", "few", "none", "other"]);
    }
}
