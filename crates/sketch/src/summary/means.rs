//! Delay and loss of listed flows over all intervals.

use super::combined::passing;
use super::{FlowList, FlowRecord, JoinedFlows};
use crate::estimate::{Estimate, Z95};
use crate::lds::{Comparison, Figure, Listed, Rule, least};

/// Sums up the delays of listed flows over intervals.
#[derive(Clone, Debug, Default)]
pub struct FlowMeans {
    flows: Vec<Sums>,
    /// The sampling rates of the rows.
    rates: Vec<f64>,
    /// By flow and row: sampled packets that the receiver lacks in the flow's cells, over all joined intervals.
    lacking: Vec<f64>,
    /// Packets that arrived in cells in which they were not sent, over all joined intervals.
    astray: f64,
}

/// Results for one flow over all intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowMean {
    /// Mean delay of the packets that arrived, in nanoseconds; `None` if it is known in no interval. The confidence
    /// interval assumes that the other intervals vary as much as those in which it is known.
    pub mean: Option<Estimate<f64>>,
    /// Packets in the intervals on which the mean is based.
    pub packets: f64,
    /// Packets that were sent in joined intervals.
    pub joined: u64,
    /// Those of them that were lost: an upper bound, since other flows in the same cells can only raise it, unless
    /// packets arrived twice: each copy hides a lost one. `None` if that says nothing, since its cells lack as many
    /// packets as it sent, or if it sent none in a joined interval.
    pub lost: Option<Estimate<f64>>,
}

/// Sums over the joined intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Packets in the intervals in which the delay is known.
    packets: f64,
    mean: f64,
    /// Σ packets².
    squares: f64,
    /// Σ packets · (mean of an interval − mean of all)².
    spread: f64,
    /// Σ packets · standard error. The same flows share a flow's cells in all intervals and distort its mean in the
    /// same way: errors do not cancel.
    error: f64,
    /// In all joined intervals.
    sent: u64,
    lost: f64,
    /// Upper bound of `lost`: the same if all rows sample all packets.
    most_lost: f64,
    /// Packets of its cells that pass in a standard deviation of the delay, maximum over the intervals; zero if none are
    /// known to be reordered.
    passing: f64,
}

impl FlowMeans {
    /// Adds an interval. Flows are those of the list, in its order; the list may have grown. Every packet has the same
    /// weight, whichever interval it was in. Sketches of both points that do not match are ignored.
    pub fn add(&mut self, flows: &JoinedFlows, list: &FlowList) {
        let Ok(comparison) = Comparison::new(&flows.sender, &flows.receiver) else { return };
        let comparison = comparison.around(flows.later);
        let listed = |(number, record): (usize, &FlowRecord)| {
            let packets = flows.listed.packets(number);
            (packets > 0).then_some((number, Listed { flow: record.flow, class: record.class, packets: Some(packets) }))
        };
        let (numbers, listed): (Vec<usize>, Vec<Listed>) = list.records().iter().enumerate().filter_map(listed).unzip();
        self.flows.resize(list.records().len().max(self.flows.len()), Sums::default());
        self.rates.clone_from(&flows.sender.params().rates);
        self.lacking.resize(self.flows.len() * self.rates.len(), 0.0);
        self.astray += comparison.astray();
        let delays = comparison.joint_delays(&listed);
        for (place, (number, listed)) in numbers.into_iter().zip(&listed).enumerate() {
            // Losses by the least disturbed row: decoding all flows fails where a flow has several cells.
            let least = comparison.estimate(listed.flow, listed.class, Rule::UpperBound);
            let sent = listed.packets.unwrap_or(0);
            let lost = least.lost.map_or(0.0, |lost| lost.value.min(sent as f64));
            let most_lost = least.lost.and_then(|lost| lost.interval).map_or(lost, |(_, high)| high.min(sent as f64));
            let sums = &mut self.flows[number];
            sums.sent += sent;
            sums.lost += lost;
            sums.most_lost += most_lost;
            let lacking = self.lacking.iter_mut().skip(number * self.rates.len());
            for (sum, (rate, lost, sent)) in lacking.zip(comparison.by_row(listed.flow, listed.class)) {
                *sum += lost;
                sums.passing = sums.passing.max(flows.spread * sent / rate);
            }
            // If all cells of a flow are spoilt, its joint delay derives from other flows only.
            let delay = delays.as_ref().map(|delays| delays[place]).filter(|_| least.mean_delay_ns.is_some());
            if let Some((mean, error)) = delay.and_then(known) {
                sums.tell(sent as f64 - lost, mean, error);
            }
        }
    }

    /// The result for each flow of the list, in its order.
    pub fn answers(&self, list: &FlowList) -> Vec<FlowMean> {
        let between = self.between();
        let answer = |(number, record): (usize, &FlowRecord)| {
            let sums = self.flows.get(number).copied().unwrap_or_default();
            sums.answer(record.packets, between, self.lost(number, &sums))
        };
        list.records().iter().enumerate().map(answer).collect()
    }

    /// The losses of a flow: an upper bound, since other flows in its cells can only raise it. Where packets are
    /// reordered around borders that holds for no single interval, whose cells may lack packets of the next; over all
    /// intervals only those that pass the first and the last border do not cancel.
    fn lost(&self, number: usize, sums: &Sums) -> Estimate<f64> {
        if sums.passing == 0.0 {
            return Estimate { value: sums.lost, low: 0.0, high: sums.most_lost };
        }
        let rows = self.lacking.iter().skip(number * self.rates.len()).zip(&self.rates);
        let Figure { value, interval } = least(rows.map(|(&lacking, &rate)| (lacking, rate)));
        let high = interval.map_or(value, |(_, high)| high);
        Estimate { value, low: 0.0, high: high + passing(sums.passing) }
    }

    /// Packets that arrived as packets of other flows, in an interval in which these were not sent, or more often than
    /// they were sent. Those of flows that share cells are missing.
    pub const fn astray(&self) -> f64 {
        self.astray
    }

    /// The variance of flows' means between intervals, pooled over all flows; if no flow has two intervals, that
    /// between flows.
    fn between(&self) -> f64 {
        let telling = || self.flows.iter().filter(|sums| sums.packets > 0.0);
        let several = || telling().filter(|sums| sums.intervals() >= 2.0);
        let freedom: f64 = several().map(|sums| sums.packets * (1.0 - 1.0 / sums.intervals())).sum();
        if freedom > 0.0 {
            return several().map(|sums| sums.spread).sum::<f64>() / freedom;
        }
        let all = telling().fold(Sums::default(), |mut all, sums| {
            all.tell(sums.packets, sums.mean, 0.0);
            all
        });
        if all.packets > 0.0 { all.spread / all.packets } else { 0.0 }
    }
}

impl Sums {
    /// Adds an interval in which the mean delay of so many packets is known.
    fn tell(&mut self, packets: f64, mean: f64, error: f64) {
        if packets <= 0.0 {
            return;
        }
        if self.packets == 0.0 {
            // Exactly, whatever the clocks: from zero on, rounding would seem to be a variance.
            self.mean = mean;
        }
        let off = mean - self.mean;
        self.packets += packets;
        self.mean += off * packets / self.packets;
        self.squares += packets * packets;
        self.spread += packets * off * (mean - self.mean);
        self.error += packets * error;
    }

    /// The effective number of these intervals.
    fn intervals(&self) -> f64 {
        self.packets.powi(2) / self.squares
    }

    fn answer(&self, sent: u64, between: f64, bounds: Estimate<f64>) -> FlowMean {
        let lost = self.lost.min(self.sent as f64);
        let mean = (self.packets > 0.0).then(|| {
            let missing = (1.0 - self.packets / (sent as f64 - lost).max(self.packets)).max(0.0);
            // As if one more interval had been seen, with the variance pooled over all flows.
            let variance = self.spread / self.packets + between / self.intervals();
            let reach = Z95 * (self.error / self.packets).hypot((missing * variance / self.intervals()).sqrt());
            Estimate::within(self.mean, reach)
        });
        let lost = Some(bounds).filter(|bounds| bounds.value < self.sent as f64);
        FlowMean { mean, packets: self.packets, joined: self.sent, lost }
    }
}

/// The value and its standard error, if that is known.
fn known(figure: Figure) -> Option<(f64, f64)> {
    figure.interval.map(|(low, high)| (figure.value, (high - low) / (2.0 * Z95)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of a single interval is that of all: what rounding leaves of the difference is no variance, not even
    /// where clocks differ by years, nor does it make the interval no number.
    #[test]
    fn one_interval_does_not_vary() {
        for ahead in [0.0, 1e9, 1e18] {
            for packets in (1..100).map(f64::from) {
                let mut sums = Sums { sent: 200, ..Sums::default() };
                sums.tell(packets, ahead + 132_713_927.666_666_67, 1.0);
                assert_eq!(sums.spread, 0.0, "{ahead} {packets}");
                let mean = sums.answer(200, 4.0, Estimate::exact(0.0)).mean.unwrap();
                let reach = Z95 * 1f64.hypot(((1.0 - packets / 200.0) * 4.0).sqrt());
                assert!(
                    (mean.high - mean.low - 2.0 * reach).abs() < 1e-6 || ahead > 1e9,
                    "{ahead} {packets}: {mean:?}"
                );
                assert!(mean.low <= mean.value && mean.high - mean.low < 1_000.0, "{ahead} {packets}: {mean:?}");
            }
        }
    }

    /// Means vary between intervals as in the flows that have several, or, if none has, as between flows.
    #[test]
    fn the_variance_between_intervals_is_that_of_all_flows() {
        let flow = |intervals: &[(f64, f64)]| {
            let mut sums = Sums { sent: 400, ..Sums::default() };
            intervals.iter().for_each(|&(packets, mean)| sums.tell(packets, mean, 1.0));
            sums
        };
        let between = |flows: &[Sums]| FlowMeans { flows: flows.to_vec(), ..FlowMeans::default() }.between();
        let once = [flow(&[(100.0, 10.0)]), flow(&[(300.0, 14.0)]), flow(&[])];
        assert_eq!((between(&once), between(&once[2..])), (1_200.0 / 400.0, 0.0));
        let several =
            [flow(&[(100.0, 10.0), (100.0, 13.0), (100.0, 16.0)]), flow(&[(50.0, 20.0), (50.0, 26.0)]), once[0]];
        let pooled = (1_800.0 + 900.0) / (200.0 + 50.0);
        assert!((between(&several) - pooled).abs() < 1e-9, "{}", between(&several));
        // A quarter of its packets is in other intervals.
        let mean = several[0].answer(400, pooled, Estimate::exact(0.0)).mean.unwrap();
        let reach = Z95 * 1f64.hypot((0.25 * (1_800.0 / 300.0 + pooled / 3.0) / 3.0).sqrt());
        assert!((mean.value - 13.0).abs() < 1e-9 && (mean.high - 13.0 - reach).abs() < 1e-9, "{mean:?}");
    }
}
