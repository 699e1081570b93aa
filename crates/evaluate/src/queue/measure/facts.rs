use super::share;
use crate::case::{Measurement, Quantity};
use dwell_sketch::conquest::Culprit;
use dwell_types::{Departure, FlowId, Nanos, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// Throughput.
pub(crate) const BITS_PER_SECOND: Quantity = Quantity::value("bits_per_second");
/// The longest delay.
pub(crate) const LONGEST_DELAY: Quantity = Quantity::value("longest_delay_ns");
/// Share of the packets that waited for at least *τ*.
pub(crate) const WAITED: Quantity = Quantity::share("waited");
/// Flows in a queue.
pub(crate) const FLOWS: Quantity = Quantity::value("flows_in_queue");
/// Culprits in a queue.
pub(crate) const CULPRITS: Quantity = Quantity::value("culprits_in_queue");

/// Properties of the packets of a stream, independent of any method.
pub(super) struct Facts {
    culprit: Culprit,
    packets: u64,
    bytes: u64,
    span: Option<(Timestamp, Timestamp)>,
    longest: Nanos,
    /// Packets that waited for at least *τ*.
    waited: u64,
    /// Recent departures, as far back as a packet may have waited.
    recent: VecDeque<Departure>,
    /// Number of queues inspected, and the flows and culprits in them.
    queues: u64,
    flows: u64,
    culprits: u64,
}

impl Facts {
    /// Of this many packets that waited, the queue of one is inspected.
    const EVERY: u64 = 256;

    /// What it reports.
    pub(super) const QUANTITIES: [Quantity; 5] = [BITS_PER_SECOND, LONGEST_DELAY, FLOWS, CULPRITS, WAITED];

    pub(super) fn new(culprit: Culprit) -> Self {
        Self {
            culprit,
            packets: 0,
            bytes: 0,
            span: None,
            longest: Nanos::ZERO,
            waited: 0,
            recent: VecDeque::new(),
            queues: 0,
            flows: 0,
            culprits: 0,
        }
    }

    pub(super) fn update(&mut self, departure: &Departure) {
        let waited = departure.delay().unwrap_or(Nanos::ZERO);
        self.packets += 1;
        self.bytes += u64::from(departure.bytes);
        self.span = Some((self.span.map_or(departure.departed, |span| span.0), departure.departed));
        self.longest = self.longest.max(waited);
        while self.recent.front().is_some_and(|first| departure.departed - first.departed > super::LONGEST) {
            self.recent.pop_front();
        }
        self.recent.push_back(*departure);
        if waited >= self.culprit.delay {
            if self.waited.is_multiple_of(Self::EVERY) {
                self.look(departure);
            }
            self.waited += 1;
        }
    }

    /// Counts the flows in the queue at the time of a packet, and those with a share above *α*.
    fn look(&mut self, departure: &Departure) {
        let mut sizes: BTreeMap<FlowId, u64> = BTreeMap::new();
        let queue = self.recent.iter().rev().take_while(|other| Some(other.departed) >= departure.arrived);
        queue.for_each(|other| *sizes.entry(other.flow).or_default() += u64::from(other.bytes));
        let all: u64 = sizes.values().sum();
        let is_culprit = |size: &&u64| **size as f64 > self.culprit.share * all as f64;
        self.culprits += sizes.values().filter(is_culprit).count() as u64;
        self.flows += sizes.len() as u64;
        self.queues += 1;
    }

    pub(super) fn measurements(&self) -> Vec<Measurement> {
        let seconds = self.span.map(|(first, last)| (last - first).as_secs_f64());
        let rate = seconds.filter(|&span| span > 0.0).map(|span| self.bytes as f64 * 8.0 / span);
        vec![
            BITS_PER_SECOND.measured(rate),
            LONGEST_DELAY.measured(self.longest.get() as f64),
            WAITED.measured(share(self.waited, self.packets)),
            FLOWS.measured(share(self.flows, self.queues)),
            CULPRITS.measured(share(self.culprits, self.queues)),
        ]
    }
}
