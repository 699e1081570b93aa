use super::Lds;
use super::messages::Normal;
use crate::Foreign;
use crate::estimate::Z95;
use crate::parts::cell::Difference;
use dwell_types::{FlowId, Nanos};

/// Sketches of the same interval and parameters at two points. Lost packets are those that only the sender saw.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    pub(super) sender: &'a Lds,
    pub(super) receiver: &'a Lds,
    /// Sums are kept relative to this delay, so that they fit even if the clocks differ by years.
    about: i64,
}

/// A value with its 95% interval, if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The estimate.
    pub value: f64,
    /// Lower and upper limit.
    pub interval: Option<(f64, f64)>,
}

/// The estimates for a flow; `None` for what is unknown.
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
    /// A value with an interval.
    pub(super) const fn within(value: f64, low: f64, high: f64) -> Self {
        Self { value, interval: Some((low, high)) }
    }

    /// With an interval of ±1.96 standard errors.
    pub(super) fn unbounded(normal: Normal) -> Self {
        Self::normal(normal, f64::NEG_INFINITY, f64::INFINITY)
    }

    /// With an interval of ±1.96 standard errors, clipped to `least` and `most`.
    pub(super) fn normal(normal: Normal, least: f64, most: f64) -> Self {
        let (value, reach) = (normal.mean, Z95 * normal.variance.sqrt());
        Self::within(value, (value - reach).max(least).min(value), (value + reach).min(most).max(value))
    }
}

impl<'a> Comparison<'a> {
    /// Compares the sketch of the sender with that of the receiver.
    pub fn new(sender: &'a Lds, receiver: &'a Lds) -> Result<Self, Foreign> {
        sender.check_same(receiver)?;
        Ok(Self { sender, receiver, about: 0 })
    }

    /// The same for delays of about this size: their sum of differences from it must be less than 292 years.
    pub fn around(self, about: Nanos) -> Self {
        Self { about: about.get(), ..self }
    }

    /// A delay in nanoseconds, from its difference to `about`.
    pub(super) fn delay(&self, distance: f64) -> f64 {
        self.about as f64 + distance
    }

    /// Mean delay of all packets in usable cells in nanoseconds, each packet weighted by how often it was sampled and
    /// by its class: the global average [sanjuas11 §5.1]. `None` if no cell is usable.
    pub fn average_ns(&self) -> Option<f64> {
        let cells = (0..self.sender.cells.len()).filter_map(|cell| self.usable(cell));
        let sum = |(delay, packets): (i128, u64), usable: Difference| {
            (delay + i128::from(usable.delay_ns), packets + u64::from(usable.packets))
        };
        let (delay, packets) = cells.fold((0, 0), sum);
        (packets > 0).then(|| self.delay(delay as f64 / packets as f64))
    }

    /// The number of packets in a cell that holds the same packets at both points, at least one, and the total
    /// difference of their delays from `about`.
    pub(super) fn usable(&self, cell: usize) -> Option<Difference> {
        let difference = self.receiver.cells[cell].since(&self.sender.cells[cell])?;
        let about = self.about.wrapping_mul(difference.packets.into());
        (difference.packets > 0).then(|| Difference { delay_ns: difference.delay_ns.wrapping_sub(about), ..difference })
    }

    /// Packets of the sender in a cell.
    pub(super) fn sent(&self, cell: usize) -> f64 {
        f64::from(self.sender.cells[cell].packets())
    }

    /// How many of them the receiver lacks; negative if it has more, as at the edges of an interval.
    pub(super) fn lost(&self, cell: usize) -> f64 {
        f64::from(self.sender.cells[cell].packets().wrapping_sub(self.receiver.cells[cell].packets()) as i32)
    }

    /// Packets that the receiver has in cells in which the sender has fewer, if all are of the class with the largest
    /// weight: if they are of others, there are more of them.
    pub(crate) fn astray(&self) -> f64 {
        let params = self.sender.params();
        let surplus: f64 = (0..self.sender.cells.len()).map(|cell| (-self.lost(cell)).max(0.0)).sum();
        let weight = params.weights.iter().copied().max().unwrap_or(1);
        surplus / params.rates.iter().sum::<f64>() / f64::from(weight)
    }

    /// For each row, its rate, and the sampled packets in the flow's cells: those that the receiver lacks, negative if it
    /// has more, and those that were sent; both in packets of the flow's class.
    pub(crate) fn by_row(&self, flow: FlowId, class: u8) -> impl Iterator<Item = (f64, f64, f64)> {
        let weight = f64::from(self.sender.weight(class));
        let lost = self.in_rows(flow, weight, |cell| self.lost(cell));
        let sent = self.in_rows(flow, weight, |cell| self.sent(cell));
        lost.zip(sent).map(|((lost, rate), (sent, _))| (rate, lost, sent))
    }

    /// A flow's count by the row with the lowest upper bound (see [`least`]).
    pub(super) fn least(&self, flow: FlowId, weight: f64, count: impl Fn(usize) -> f64 + Clone) -> Figure {
        least(self.in_rows(flow, weight, count))
    }

    /// For each row, the sum of a count over the flow's cells, divided by `weight`, and the row's sampling rate.
    fn in_rows(
        &self,
        flow: FlowId,
        weight: f64,
        count: impl Fn(usize) -> f64 + Clone,
    ) -> impl Iterator<Item = (f64, f64)> + Clone {
        let rates = self.sender.params().rates.iter().enumerate();
        rates.map(move |(row, &rate)| (self.sender.cells_of(flow, row).map(&count).sum::<f64>() / weight, rate))
    }
}

/// The count of a flow by the row with the lowest upper bound, since other flows can only raise counts [sanjuas11 §4.3],
/// from each row's count of sampled packets and its rate: that count divided by the rate, and its upper bound. The bound
/// is right in 97.5% although it is the lowest of several: each of *m* rows that sample may fail in 2.5%/*m*.
pub(crate) fn least(rows: impl Iterator<Item = (f64, f64)> + Clone) -> Figure {
    let sampling = rows.clone().filter(|(_, rate)| *rate < 1.0).count();
    // φ(z) falls by the factor m, and the tail beyond z by a little more.
    let z = Z95.mul_add(Z95, 2.0 * (sampling.max(1) as f64).ln()).sqrt();
    let (mut value, mut high) = (f64::INFINITY, f64::INFINITY);
    for (sampled, rate) in rows {
        let sampled = sampled.max(0.0);
        let bound = upper(sampled, rate, z);
        if bound < high {
            (value, high) = (sampled / rate, bound);
        }
    }
    Figure::within(value, 0.0, high)
}

/// An upper bound for the number of packets, `z` standard errors above its estimate, if `sampled` were sampled at this
/// rate; exact at rate 1.
///
/// The number of those that were not sampled is negative binomial, with a variance of *s* (1 − *r*)/*r*². The rest is the
/// bound for a Poisson mean by the square-root transform, which is right at low rates: 3.7 [−ln .025] if none was sampled.
pub(super) fn upper(sampled: f64, rate: f64, z: f64) -> f64 {
    (sampled + (1.0 - rate).sqrt() * (z * (sampled + 1.0).sqrt() + 0.5 * z * z - 0.2)) / rate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lds::Params;
    use dwell_types::{Crossing, PacketId, Timestamp};

    /// Without sampling counts are upper bounds themselves. If nothing was sampled at a low rate, the bound is Poisson's.
    #[test]
    fn the_row_with_the_lowest_bound_counts() {
        let figure = |rows: &[(f64, f64)]| least(rows.iter().copied());
        assert_eq!(figure(&[(20.0, 1.0), (7.0, 1.0), (9.0, 1.0)]), Figure::within(7.0, 0.0, 7.0));
        assert_eq!(figure(&[(-2.0, 1.0)]), Figure::within(0.0, 0.0, 0.0));
        let high = (3.0 + 0.5f64.sqrt() * (2.0 * Z95 + 0.5 * Z95 * Z95 - 0.2)) / 0.5;
        assert_eq!(figure(&[(20.0, 1.0), (3.0, 0.5)]), Figure::within(6.0, 0.0, high));
        assert_eq!(figure(&[(13.0, 1.0), (3.0, 0.5)]), Figure::within(13.0, 0.0, 13.0));
        let none = upper(0.0, 1e-6, Z95) * 1e-6;
        assert!((none + 0.025f64.ln()).abs() < 0.02, "{none}");
    }

    /// Ten packets of a flow that was not sent arrive as packets of the class that weighs most; losses of other flows do
    /// not make up for them.
    #[test]
    fn what_arrives_without_being_sent_is_astray() {
        let params = Params { weights: vec![1, 3], ..Params::new(2, 1 << 16, 1) };
        let [mut sender, mut receiver] = [(); 2].map(|()| Lds::new(params.clone()).unwrap());
        let put = |lds: &mut Lds, flow: u64, class: u8, packets: u64| {
            for packet in 0..packets {
                let packet = PacketId(flow << 32 | packet);
                lds.update_class(
                    &Crossing { packet, flow: FlowId(flow), at: Timestamp::from_nanos(0), bytes: 0 },
                    class,
                );
            }
        };
        put(&mut sender, 1, 0, 50);
        put(&mut receiver, 1, 0, 20);
        put(&mut receiver, 2, 1, 10);
        assert_eq!(Comparison::new(&sender, &receiver).unwrap().astray(), 10.0);
    }
}
