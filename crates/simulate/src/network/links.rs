use super::settings::{Fault, Harm, LOADS, LinkSettings, Settings, SettingsError};
use crate::chance::Chance;
use dwell_types::{Nanos, PacketId, Timestamp, hash};

/// A measured packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Unique to the packet and the link.
    pub packet: PacketId,
    /// When it arrives at the link.
    pub at: Timestamp,
    /// Its delay on the link; `None` if it is lost.
    pub delay: Option<Nanos>,
}

/// Links with queues, simulated interval by interval.
#[derive(Clone, Debug)]
pub struct Network {
    links: Vec<Link>,
    faults: Vec<Fault>,
    /// Nanoseconds.
    interval: f64,
    one_in: u32,
    /// Number of the next interval to simulate.
    next: u32,
    /// Random numbers for probes.
    chance: Chance,
}

#[derive(Clone, Debug)]
struct Link {
    settings: LinkSettings,
    chance: Chance,
    /// Unfinished work in the queue, in nanoseconds.
    waiting: f64,
    ids: u64,
    packets: u64,
    passages: Vec<Passage>,
}

/// Packet lengths in bytes, equally likely.
const BYTES: [f64; 2] = [64.0, 1_500.0];

impl Network {
    /// A network before its first interval; the same settings and seed give the same queues with and without faults.
    pub fn new(settings: &Settings, faults: &[Fault], seed: u64) -> Result<Self, SettingsError> {
        settings.check(faults)?;
        let purpose = u64::from_le_bytes(*b"network\0");
        let link = |(number, &settings): (u64, &LinkSettings)| {
            let mut chance = Chance::new(seed, purpose.wrapping_add(1 + number));
            let ids = chance.bits();
            Link { settings, chance, waiting: 0.0, ids, packets: 0, passages: Vec::new() }
        };
        Ok(Self {
            links: (0..).zip(&settings.links).map(link).collect(),
            faults: faults.to_vec(),
            interval: settings.interval.get() as f64,
            one_in: settings.one_in,
            next: 0,
            chance: Chance::new(seed, purpose),
        })
    }

    /// Simulates the next interval on all links.
    pub fn advance(&mut self) {
        let begin = f64::from(self.next) * self.interval;
        for (number, link) in (0..).zip(&mut self.links) {
            let faults = self.faults.iter().filter(|fault| fault.link == number && fault.from <= self.next);
            link.advance(begin, self.interval, self.one_in, faults.map(|fault| fault.harm));
        }
        self.next += 1;
    }

    /// The measured packets that arrived at a link in the last interval, in order.
    pub fn passages(&self, link: u32) -> &[Passage] {
        &self.links[link as usize].passages
    }

    /// The delay of a probe that crosses these links in the last interval, or `None` if it is lost.
    ///
    /// On each link it has the delay or loss of a measured packet chosen at random, so that queues on different links
    /// are independent within an interval.
    pub fn probe(&mut self, links: &[u32]) -> Option<Nanos> {
        links.iter().try_fold(Nanos::ZERO, |sum, &link| {
            let passages = &self.links[link as usize].passages;
            let drawn = passages.get(self.chance.below(passages.len() as u32) as usize)?;
            Some(sum + drawn.delay?)
        })
    }
}

impl Link {
    /// Poisson arrivals; each packet waits for the work before it (Lindley 1952).
    fn advance(&mut self, begin: f64, interval: f64, one_in: u32, harms: impl Iterator<Item = Harm>) {
        let LinkSettings { rate, load, spread, mut propagation, mut loss } = self.settings;
        let load = (load * (1.0 + spread * self.chance.normal())).clamp(*LOADS.start(), *LOADS.end());
        let service = BYTES.map(|bytes| bytes * 8e9 / rate);
        let gap = (service[0] + service[1]) / 2.0 / load;
        for harm in harms {
            match harm {
                Harm::Slow(delay) => propagation = propagation + delay,
                Harm::Lossy(share) => loss = 1.0 - (1.0 - loss) * (1.0 - share),
            }
        }
        self.passages.clear();
        let mut at = 0.0;
        loop {
            let since = gap * self.chance.exponential();
            at += since;
            if at >= interval {
                // Work that arrived before the end of the interval is processed until then.
                self.waiting = (self.waiting - (interval - (at - since))).max(0.0);
                return;
            }
            self.waiting = (self.waiting - since).max(0.0) + service[usize::from(self.chance.happens(0.5))];
            if self.chance.below(one_in) > 0 {
                continue;
            }
            self.packets += 1;
            let delay = propagation + Nanos::new(self.waiting as i64);
            self.passages.push(Passage {
                packet: PacketId(hash::word(self.ids, self.packets)),
                at: Timestamp::from_nanos((begin + at) as i64),
                delay: (!self.chance.happens(loss)).then_some(delay),
            });
        }
    }
}
