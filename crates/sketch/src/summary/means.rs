//! The delays of listed flows over intervals.

use super::{FlowList, JoinedFlows};
use crate::estimate::{Estimate, Z95};
use crate::lds::{Comparison, Figure, Listed, Rule};

/// The delays of listed flows, interval by interval added up.
#[derive(Clone, Debug, Default)]
pub struct FlowMeans {
    flows: Vec<Sums>,
}

/// Sums over intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: f64,
    mean: f64,
    /// Σ packets².
    squares: f64,
    /// Σ packets · (mean of an interval − that of all)².
    spread: f64,
    /// Σ (packets · standard error)².
    error: f64,
    lost: f64,
    sent: f64,
}

impl FlowMeans {
    /// Adds what both points say of an interval. Flows are those of the list, in its order, which may have grown. Every
    /// packet counts the same, in whichever interval it was. Sketches of different kinds say nothing.
    pub fn add(&mut self, JoinedFlows { sender, receiver, listed: counts }: &JoinedFlows, list: &FlowList) {
        let Ok(comparison) = Comparison::new(sender, receiver) else { return };
        let present: Vec<(usize, Listed)> = list
            .records()
            .iter()
            .enumerate()
            .map(|(number, record)| {
                let packets = Some(counts.packets(number));
                (number, Listed { flow: record.flow, class: record.class, packets })
            })
            .filter(|(_, listed)| listed.packets != Some(0))
            .collect();
        let listed: Vec<Listed> = present.iter().map(|&(_, listed)| listed).collect();
        self.flows.resize(list.records().len().max(self.flows.len()), Sums::default());
        let delays = comparison.joint_delays(&listed);
        for (place, (number, listed)) in present.into_iter().enumerate() {
            let (sums, packets) = (&mut self.flows[number], counts.packets(number) as f64);
            // Losses by the row that is disturbed least: to decode them fails where a flow has several cells.
            let least = comparison.estimate(listed.flow, listed.class, Rule::UpperBound);
            sums.sent += packets;
            if let Some(lost) = least.lost {
                sums.lost += lost.value;
            }
            // Of a flow whose cells are all spoilt nothing is known but what others say.
            let delay = delays.as_ref().map(|delays| delays[place]).filter(|_| least.mean_delay_ns.is_some());
            if let Some((mean, error)) = delay.and_then(known) {
                let off = mean - sums.mean;
                sums.packets += packets;
                sums.mean += off * packets / sums.packets;
                sums.squares += packets * packets;
                sums.spread += packets * off * (mean - sums.mean);
                sums.error += (packets * error).powi(2);
            }
        }
    }

    /// Mean delay of a flow's packets in nanoseconds, by its place in the list; `None` if no interval tells. Intervals
    /// that do not tell are taken for ones like those that do.
    pub fn mean(&self, number: usize) -> Option<Estimate<f64>> {
        let sums = self.flows.get(number).filter(|sums| sums.packets > 0.0)?;
        let reach = Z95 * (sums.error / sums.packets.powi(2) + sums.of_those_that_tell()).sqrt();
        Some(Estimate { value: sums.mean, low: sums.mean - reach, high: sums.mean + reach })
    }

    /// Packets of a flow in the intervals that its mean delay rests on.
    pub fn packets(&self, number: usize) -> f64 {
        self.flows.get(number).map_or(0.0, |sums| sums.packets)
    }

    /// Packets of a flow that were lost in usable intervals, at most: others in its cells can only raise it. `None` if
    /// it has none there.
    pub fn lost(&self, number: usize) -> Option<Estimate<f64>> {
        let sums = self.flows.get(number).filter(|sums| sums.sent > 0.0)?;
        let high = sums.lost.min(sums.sent);
        Some(Estimate { value: high, low: 0.0, high })
    }
}

impl Sums {
    /// Variance of the mean since some intervals say nothing: that between the others over their effective number, for
    /// the share of packets that is missing.
    fn of_those_that_tell(&self) -> f64 {
        let missing = (1.0 - self.packets / self.sent).max(0.0);
        let intervals = self.packets.powi(2) / self.squares;
        // One interval, or one beside which the others are nothing, does not tell how they differ.
        if intervals < 1.01 { 0.0 } else { missing * self.spread / self.packets / (intervals - 1.0) }
    }
}

/// The value with its standard error, where that is known.
fn known(figure: Figure) -> Option<(f64, f64)> {
    figure.interval.map(|(low, high)| (figure.value, (high - low) / (2.0 * Z95)))
}
