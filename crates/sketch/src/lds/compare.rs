use super::messages::Normal;
use super::{Foreign, Lds};
use crate::cell::Difference;
use crate::estimate::Z95;
use dwell_types::{FlowId, Nanos};

/// Sketches of the same time and kind at two points. Losses are what the sender saw and the receiver did not.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    pub(super) sender: &'a Lds,
    pub(super) receiver: &'a Lds,
    /// Delays are told from here, so that their sums fit where clocks differ by years.
    about: i64,
}

/// A value, and its 95% interval where one can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The estimate.
    pub value: f64,
    /// Lower and upper end.
    pub interval: Option<(f64, f64)>,
}

/// What is known of a flow; `None` is what is not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowEstimate {
    /// Mean delay of its packets in nanoseconds.
    pub mean_delay_ns: Option<Figure>,
    /// Packets at the sender.
    pub packets: Option<Figure>,
    /// Packets that the sender saw and the receiver did not.
    pub lost: Option<Figure>,
    /// Bytes at the sender.
    pub bytes: Option<Figure>,
    /// Standard deviation of its packets' delays in nanoseconds.
    pub spread_ns: Option<Figure>,
}

impl Figure {
    /// With an interval.
    pub(super) const fn within(value: f64, low: f64, high: f64) -> Self {
        Self { value, interval: Some((low, high)) }
    }

    /// With 1.96 standard errors to either side.
    pub(super) fn unbounded(normal: Normal) -> Self {
        Self::normal(normal, f64::NEG_INFINITY, f64::INFINITY)
    }

    /// With 1.96 standard errors to either side, as far as `least` and `most` allow.
    pub(super) fn normal(normal: Normal, least: f64, most: f64) -> Self {
        let (value, reach) = (normal.mean, Z95 * normal.variance.sqrt());
        Self::within(value, (value - reach).max(least).min(value), (value + reach).min(most).max(value))
    }
}

impl<'a> Comparison<'a> {
    /// The sketch of the sender, and that of the receiver.
    pub fn new(sender: &'a Lds, receiver: &'a Lds) -> Result<Self, Foreign> {
        sender.is_of_one_kind(receiver)?;
        Ok(Self { sender, receiver, about: 0 })
    }

    /// The same of delays that are about so long: their distances from this must sum up to less than 292 years.
    pub fn around(self, about: Nanos) -> Self {
        Self { about: about.get(), ..self }
    }

    /// A delay in nanoseconds from its distance.
    pub(super) fn delay(&self, distance: f64) -> f64 {
        self.about as f64 + distance
    }

    /// Mean delay of all packets in usable cells in nanoseconds, each packet as often as it was sampled and its class
    /// weighs: the global average [sanjuas11 §5.1]. `None` if no cell is usable.
    pub fn average_ns(&self) -> Option<f64> {
        let cells = (0..self.sender.cells.len()).filter_map(|cell| self.usable(cell));
        let sum = |(delay, packets): (i128, u64), usable: Difference| {
            (delay + i128::from(usable.delay_ns), packets + u64::from(usable.packets))
        };
        let (delay, packets) = cells.fold((0, 0), sum);
        (packets > 0).then(|| self.delay(delay as f64 / packets as f64))
    }

    /// The delays in a cell that saw the same packets at both points, and at least one: by how much they are off in
    /// all from what they are about.
    pub(super) fn usable(&self, cell: usize) -> Option<Difference> {
        let difference = self.receiver.cells[cell].since(&self.sender.cells[cell])?;
        let about = self.about.wrapping_mul(difference.packets.into());
        (difference.packets > 0).then(|| Difference { delay_ns: difference.delay_ns.wrapping_sub(about), ..difference })
    }

    /// Packets that the sender has in a cell.
    pub(super) fn sent(&self, cell: usize) -> f64 {
        f64::from(self.sender.cells[cell].packets())
    }

    /// How many of them the receiver lacks; negative where it has more, as at the edges of an interval.
    pub(super) fn lost(&self, cell: usize) -> f64 {
        f64::from(self.sender.cells[cell].packets().wrapping_sub(self.receiver.cells[cell].packets()) as i32)
    }

    /// The row with the lowest upper bound for a sum over a flow's cells, which others can only raise
    /// [sanjuas11 §4.3]: the sum over the row's rate and `weight`, and the upper bound.
    pub(super) fn least(&self, flow: FlowId, weight: f64, count: impl Fn(usize) -> f64) -> Figure {
        let (mut value, mut high) = (f64::INFINITY, f64::INFINITY);
        for (row, &rate) in self.sender.params().rates.iter().enumerate() {
            let sampled = self.sender.cells_of(flow, row).map(&count).sum::<f64>().max(0.0) / weight;
            let bound = upper(sampled, rate);
            if bound < high {
                (value, high) = (sampled / rate, bound);
            }
        }
        Figure::within(value, 0.0, high)
    }
}

/// An upper 97.5% bound for the number of packets of which `sampled` were, at this rate; the number itself if all are.
pub(super) fn upper(sampled: f64, rate: f64) -> f64 {
    // Of a Poisson mean, by its square root; at zero the bound is 3.7 [−ln .025].
    let missing = (1.0 - rate) * (Z95 * (sampled + 1.0).sqrt() + 0.5 * Z95 * Z95 - 0.2);
    (sampled + missing) / rate
}
