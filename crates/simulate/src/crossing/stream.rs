use super::{FlowSizes, Flows, Loss, Settings, SettingsError};
use crate::chance::Chance;
use crate::distribution::{Sampler, rounded};
use dwell_types::{FlowId, Nanos, PacketId, Timestamp, hash};

/// One packet, and when the two points saw it within their intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// The packet's identity.
    pub packet: PacketId,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// When it was sent; `None` if the sender counts it in another interval.
    pub sent: Option<Timestamp>,
    /// When it arrived; `None` if it was lost, or if the receiver counts it in another interval.
    pub received: Option<Timestamp>,
    /// Whether it was lost.
    pub is_lost: bool,
}

impl Passage {
    /// The true delay of a packet that both points count.
    #[inline]
    pub fn delay(&self) -> Option<Nanos> {
        Some(self.received? - self.sent?)
    }
}

/// Packets in the order in which they are sent, as [`Settings`] describe them.
///
/// Ids are a bijection of a counter: no two packets of a stream share one, and no two flows.
#[derive(Clone, Debug)]
pub struct Passages {
    start: f64,
    gap: f64,
    displaced: u64,
    packets: u64,
    /// Number of packets generated so far.
    made: u64,
    packet_ids: u64,
    delays: Sampler,
    losses: Losses,
    flows: ActiveFlows,
    chance: Chance,
}

impl Passages {
    /// The stream for these settings and this seed.
    pub fn new(settings: &Settings, seed: u64) -> Result<Self, SettingsError> {
        settings.check()?;
        let mut chance = Chance::new(seed, u64::from_le_bytes(*b"crossing"));
        let flow_delays = settings.flow_delays.sampler().map_err(SettingsError::Delays)?;
        Ok(Self {
            start: settings.start.as_nanos() as f64,
            gap: 1e9 / settings.rate,
            displaced: settings.displaced.into(),
            packets: settings.packets,
            made: 0,
            packet_ids: chance.bits(),
            delays: settings.delays.sampler().map_err(SettingsError::Delays)?,
            losses: Losses::new(settings.loss, &mut chance),
            flows: ActiveFlows::new(settings.flows, flow_delays, &mut chance),
            chance,
        })
    }
}

impl Iterator for Passages {
    type Item = Passage;

    #[inline]
    fn next(&mut self) -> Option<Passage> {
        let number = self.made;
        if number >= self.packets + self.displaced {
            return None;
        }
        self.made += 1;
        let (flow, flow_delay) = self.flows.next(&mut self.chance);
        let is_lost = self.losses.next(&mut self.chance);
        let at = Timestamp::from_nanos((self.start + number as f64 * self.gap) as i64);
        let delay = Nanos::new(rounded(flow_delay + self.delays.draw(&mut self.chance)));
        Some(Passage {
            packet: PacketId(hash::word(self.packet_ids, number)),
            flow,
            sent: (number < self.packets).then_some(at),
            received: (!is_lost && number >= self.displaced).then_some(at + delay),
            is_lost,
        })
    }
}

/// Alternating runs of packets that arrive and of packets that are lost.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    /// Mean lengths of the runs; `lost` is zero if losses are independent, when each lost run has exactly one packet.
    arriving: f64,
    lost: f64,
    /// Packets left in the current run.
    left: u64,
    is_losing: bool,
}

impl Losses {
    pub(super) fn new(loss: Loss, chance: &mut Chance) -> Self {
        let share = loss.share();
        let mut losses = match loss {
            Loss::None | Loss::Uniform(0.0) | Loss::Bursts { share: 0.0, .. } => {
                return Self { arriving: 0.0, lost: 0.0, left: u64::MAX, is_losing: false };
            }
            // The run between two single losses may be empty: its mean is one less than the distance of the losses.
            Loss::Uniform(_) => Self { arriving: 1.0 / share, lost: 0.0, left: 0, is_losing: false },
            Loss::Bursts { packets, .. } => {
                let arriving = packets * (1.0 - share) / share;
                Self { arriving, lost: packets, left: 0, is_losing: chance.happens(share) }
            }
        };
        losses.left = losses.draw(chance);
        losses
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(super) fn next(&mut self, chance: &mut Chance) -> bool {
        while self.left == 0 {
            self.is_losing = !self.is_losing;
            self.left = self.draw(chance);
        }
        self.left -= 1;
        self.is_losing
    }

    /// Draws the length of the run that begins.
    fn draw(&self, chance: &mut Chance) -> u64 {
        match (self.is_losing, self.lost > 0.0) {
            (true, true) => geometric(self.lost, chance),
            (false, true) => geometric(self.arriving, chance),
            (true, false) => 1,
            (false, false) => geometric(self.arriving, chance) - 1,
        }
    }
}

/// A geometric random number of at least one with this mean, which must be at least one.
fn geometric(mean: f64, chance: &mut Chance) -> u64 {
    if mean <= 1.0 {
        return 1;
    }
    ((chance.exponential() / -libm::log1p(-1.0 / mean)) as u64).saturating_add(1)
}

/// The flows that are sending.
#[derive(Clone, Debug)]
struct ActiveFlows {
    sizes: FlowSizes,
    delays: Sampler,
    /// Start state of the hash that makes flow ids out of consecutive numbers.
    ids: u64,
    begun: u64,
    active: Vec<Flow>,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    id: FlowId,
    delay: f64,
    left: u32,
}

impl ActiveFlows {
    fn new(flows: Flows, delays: Sampler, chance: &mut Chance) -> Self {
        let mut all = Self { sizes: flows.sizes, delays, ids: chance.bits(), begun: 0, active: Vec::new() };
        all.active = (0..flows.active).map(|_| all.begin(chance)).collect();
        all
    }

    fn begin(&mut self, chance: &mut Chance) -> Flow {
        const MOST: f64 = (1u32 << 31) as f64;
        self.begun += 1;
        let left = match self.sizes {
            FlowSizes::Endless => u32::MAX,
            FlowSizes::Fixed(packets) => packets,
            FlowSizes::Pareto { least, shape } => {
                (f64::from(least) * libm::exp(chance.exponential() / shape)).min(MOST) as u32
            }
        };
        Flow { id: FlowId(hash::word(self.ids, self.begun)), delay: self.delays.draw(chance), left }
    }

    /// The flow of the next packet, and the part of the delay that its packets share.
    #[inline]
    fn next(&mut self, chance: &mut Chance) -> (FlowId, f64) {
        let number = if self.active.len() == 1 { 0 } else { chance.below(self.active.len() as u32) as usize };
        let flow = &mut self.active[number];
        let Flow { id, delay, .. } = *flow;
        if self.sizes != FlowSizes::Endless {
            flow.left -= 1;
            if flow.left == 0 {
                self.active[number] = self.begin(chance);
            }
        }
        (id, delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of an exponential number divided by the rate, also where one minus the rate rounds to one. The mean of 10,000
    /// has a standard error of 1%: six of it correspond to 2·10⁻⁹.
    #[test]
    fn rare_losses_are_rare() {
        let mut chance = Chance::new(1, 0);
        for mean in [1e3, 1e9, 1e15, 1e17] {
            let sum: f64 = (0..10_000).map(|_| geometric(mean, &mut chance) as f64).sum();
            let ratio = sum / 10_000.0 / mean;
            assert!((ratio - 1.0).abs() < 0.06, "{mean}: {ratio}");
        }
        for share in [1e-18, 1e-300, f64::MIN_POSITIVE / 2.0] {
            for loss in [Loss::Uniform(share), Loss::Bursts { share, packets: 5.0 }] {
                let mut losses = Losses::new(loss, &mut chance);
                assert!(!(0..10_000).any(|_| losses.next(&mut chance)), "{loss:?}");
            }
        }
    }
}
