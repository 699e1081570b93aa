//! The flows with the most bytes, each with its delays, in bounded memory.
//!
//! **Answers**: packets, bytes, and the distribution of delays by match and leg, for each flow in the table, and for
//! all others together. These add up to everything observed.
//!
//! **Model**: the flow with the lowest rank is replaced by a new one, as in the space-saving summary of heavy hitters:
//! its counts are added to the others, and the new flow starts with its rank. A rank grows with each byte of the flow,
//! so the ranks add up to all bytes, the lowest is at most 1/*n* of them, and every flow that has more than that has
//! one of the *n* places.
//!
//! **State**: for each of *n* flows its key, counts and a store of delays ([`DelayStore`]) of 592 bytes to 8 KiB, or
//! more with many matches; a slot and a third of 17 bytes in a hash table; 16 bytes in a heap of ranks. One store for
//! the others, as large or a 64th of the memory.
//!
//! **Cost**: one table lookup per packet; for a new flow in a full table a merge of two stores. The heap holds possibly
//! outdated ranks: amortised at most one heap operation per packet.
//!
//! **Estimate**: packets, bytes and delays of a flow are counted from when it got its place. What it had before is
//! among the others, and is at most the rank that it took over: [`FlowAnswer::uncounted_bytes`]. That bound is the
//! over-count of the space-saving summary.
//!
//! **Merge**: none.
//!
//! **Differs from the paper**: bytes instead of items; the rank that a flow took over determines the order, but is not
//! reported as its own.
//!
//! **Source**: Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in data streams"
//! (ICDT 2005), §3.

use crate::Sample;
use crate::distribution::{Ambiguous, DelayStore, Distribution};
use crate::parts::ranked::Ranked;
use crate::parts::table::{Number, Place, Table};
use dwell_types::{FlowKey, Leg, Match, Nanos, Series, hash};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One of the delays that are kept separately for each flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The pairing rule.
    pub matching: Match,
    /// The part of the path.
    pub leg: Leg,
    /// Requests older than this are given up.
    pub expiry: Nanos,
}

impl Line {
    fn is_of(&self, series: Series) -> bool {
        (self.matching, self.leg) == (series.matching, series.leg)
    }
}

/// What the table of flows must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The delays kept for each flow.
    pub lines: Vec<Line>,
    /// How many flows will be reported.
    pub top: usize,
    /// Bytes for everything together; `None` for as much as 2¹⁶ flows take.
    pub memory: Option<usize>,
    /// Seed of the hash of flows.
    pub seed: u64,
}

/// How memory is divided.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// How many flows have a place.
    flows: usize,
    /// Bytes for the delays of a flow, and for those of the others; `None` if delays are unbounded.
    stores: Option<[usize; 2]>,
}

impl Settings {
    fn room(&self) -> Room {
        /// The number of flows where memory is unbounded.
        const MOST: usize = 1 << 16;
        /// Places per reported flow, so that the reported ones are rarely replaced; more memory improves the resolution
        /// of their delays.
        const SPARE: usize = 4;
        /// Enough to resolve delays to a few percent.
        const ENOUGH: usize = 8 << 10;
        /// The share of the others: they have most of the delays where most flows are replaced.
        const OTHERS: usize = 64;
        let Some(memory) = self.memory else { return Room { flows: MOST, stores: None } };
        let least = DelayStore::least_bytes(self.lines.len());
        let each = memory / (self.top.saturating_mul(SPARE)).max(1);
        let store = each.saturating_sub(FLOW_BYTES).clamp(least, ENOUGH.max(least));
        let others = store.max(memory / OTHERS);
        let flows = memory.saturating_sub(others + OWN_BYTES + Table::<Number>::LEAST_BYTES) / (store + FLOW_BYTES);
        Room { flows: flows.clamp(1, MOST), stores: Some([store, others]) }
    }

    /// The least memory, with room for one flow and all others.
    pub fn least_bytes(&self) -> usize {
        2 * (DelayStore::least_bytes(self.lines.len()) + FLOW_BYTES) + OWN_BYTES + Table::<Number>::LEAST_BYTES
    }
}

/// Fixed bytes, including what the store of the others shares.
const OWN_BYTES: usize = size_of::<TopFlows>() + DelayStore::SHARED_BYTES;
/// Bytes per flow in addition to its delays.
const FLOW_BYTES: usize =
    size_of::<Flow>() + DelayStore::SHARED_BYTES + size_of::<Reverse<Ranked>>() + Table::<Number>::ENTRY_BYTES + 1;

/// The flows with the most bytes.
#[derive(Clone, Debug)]
pub struct TopFlows {
    lines: Vec<Line>,
    numbers: Table<Number>,
    flows: Vec<Flow>,
    others: Counts,
    room: Room,
    /// Possibly outdated ranks of all flows, the lowest first.
    ranks: BinaryHeap<Reverse<Ranked>>,
    start: u64,
}

#[derive(Clone, Debug)]
struct Counts {
    packets: u64,
    bytes: u64,
    delays: DelayStore,
}

#[derive(Clone, Debug)]
struct Flow {
    id: u64,
    key: FlowKey,
    /// The rank that it took over.
    before: u64,
    counts: Counts,
}

impl Flow {
    fn rank(&self) -> u64 {
        self.before + self.counts.bytes
    }
}

/// The results of one flow, or of all others together.
#[derive(Clone, Debug)]
pub struct FlowAnswer {
    /// The flow in the direction of [`FlowKey::to_lower_port`], which is the same in every interval; `None` for all
    /// others.
    pub key: Option<FlowKey>,
    /// Packets of both directions, since it got its place.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The most bytes that it may have had before it got its place; these are counted among the others.
    pub uncounted_bytes: u64,
    /// Its delays since it got its place, for each line that has samples. Their intervals do not allow for what it had
    /// before: bytes do not tell how many exchanges that were, nor how long they took.
    pub delays: Vec<(Line, Distribution)>,
}

/// The flow of a packet, to which the delays that the packet ends can be added.
#[derive(Debug)]
pub struct Counted<'a> {
    lines: &'a [Line],
    delays: &'a mut DelayStore,
}

impl Counted<'_> {
    /// Adds a delay to the flow; `ambiguous` must be what [`TopFlows::answers`] will be given.
    pub fn sample(&mut self, series: Series, sample: &Sample, ambiguous: Ambiguous) {
        if let Some(line) = self.lines.iter().position(|line| line.is_of(series)) {
            // Each sample counts by itself: bands of a product limit would only split bins.
            self.delays.update_for(ambiguous, line, &Sample { band: 0, repeat_band: 0, ..*sample });
        }
    }
}

impl Counts {
    fn new(lines: usize, store: Option<usize>) -> Self {
        let bounded = store.and_then(|bytes| DelayStore::bounded(lines, bytes));
        Self { packets: 0, bytes: 0, delays: bounded.unwrap_or_else(|| DelayStore::unbounded(lines)) }
    }

    fn is_empty(&self) -> bool {
        self.packets == 0
    }

    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.delays.merge(&other.delays);
    }

    fn reset(&mut self) {
        (self.packets, self.bytes) = (0, 0);
        self.delays.reset();
    }
}

impl TopFlows {
    /// No flows yet.
    pub fn new(settings: &Settings) -> Self {
        let room = settings.room();
        let slots = (room.flows * 4).div_ceil(3).max(64);
        let at_once = if room.stores.is_some() { room.flows } else { 0 };
        Self {
            lines: settings.lines.clone(),
            numbers: Table::new(slots.min(1 << 10), slots),
            flows: Vec::with_capacity(at_once),
            others: Counts::new(settings.lines.len(), room.stores.map(|[_, others]| others)),
            room,
            ranks: BinaryHeap::with_capacity(at_once),
            start: hash::start(settings.seed),
        }
    }

    /// Counts a packet of this many bytes.
    pub fn packet(&mut self, key: FlowKey, bytes: u32) -> Counted<'_> {
        let id = hash::finish(key.undirected().absorb(self.start));
        let number = match self.numbers.find(id) {
            Place::Found(at) => self.numbers.get(at).number,
            Place::Vacant(_) => self.begin(id, key),
        };
        let counts = &mut self.flows[number as usize].counts;
        counts.packets += 1;
        counts.bytes += u64::from(bytes);
        Counted { lines: &self.lines, delays: &mut counts.delays }
    }

    /// Gives a new flow a place; returns its number.
    fn begin(&mut self, id: u64, key: FlowKey) -> u32 {
        let key = key.to_lower_port();
        let number = if self.flows.len() < self.room.flows { self.add(id, key) } else { self.replace(id, key) };
        self.numbers.insert(Number { key: id, number });
        number
    }

    fn add(&mut self, id: u64, key: FlowKey) -> u32 {
        let counts = Counts::new(self.lines.len(), self.room.stores.map(|[store, _]| store));
        let number = self.flows.len() as u32;
        self.flows.push(Flow { id, key, before: 0, counts });
        self.ranks.push(Reverse(Ranked::new(0, number)));
        number
    }

    /// Replaces the flow with the lowest rank by another, which has its number and starts with its rank, so that the heap
    /// stays as it is.
    fn replace(&mut self, id: u64, key: FlowKey) -> u32 {
        let number = self.lowest();
        let flow = &mut self.flows[number as usize];
        if let Place::Found(at) = self.numbers.find(flow.id) {
            self.numbers.remove(at);
        }
        self.others.add(&flow.counts);
        (flow.id, flow.key, flow.before) = (id, key, flow.rank());
        flow.counts.reset();
        number
    }

    /// The flow with the lowest rank. Ranks only grow: the first entry of the heap that is up to date is the lowest of all.
    fn lowest(&mut self) -> u32 {
        while let Some(mut top) = self.ranks.peek_mut() {
            let Reverse(ranked) = *top;
            let present = self.flows[ranked.number() as usize].rank();
            if present == ranked.rank() {
                return ranked.number();
            }
            *top = Reverse(Ranked::new(present, ranked.number()));
        }
        0
    }

    /// The `most` flows with the most bytes since they got their places, of equal ones those with the lower addresses, then
    /// all others together, if any.
    pub fn answers(&self, most: usize, ambiguous: Ambiguous) -> Vec<FlowAnswer> {
        let mut flows: Vec<&Flow> = self.flows.iter().filter(|flow| !flow.counts.is_empty()).collect();
        flows.sort_by_key(|flow| (Reverse(flow.counts.bytes), flow.key.undirected()));
        let mut others = self.others.clone();
        flows.iter().skip(most).for_each(|flow| others.add(&flow.counts));
        flows.truncate(most);
        let named = flows.into_iter().map(|flow| (Some(flow.key), flow.before, &flow.counts));
        let unnamed = (!others.is_empty()).then_some((None, 0, &others));
        named.chain(unnamed).map(|(key, before, counts)| self.answer(key, before, counts, ambiguous)).collect()
    }

    fn answer(&self, key: Option<FlowKey>, before: u64, counts: &Counts, ambiguous: Ambiguous) -> FlowAnswer {
        let of = |(number, &line): (usize, &Line)| {
            (line, counts.delays.distribution(number, ambiguous).with_longest(line.expiry))
        };
        let delays = self.lines.iter().enumerate().map(of).filter(|(_, delays)| delays.samples() > 0).collect();
        FlowAnswer { key, packets: counts.packets, bytes: counts.bytes, uncounted_bytes: before, delays }
    }

    /// Starts a new interval, without flows.
    pub fn reset(&mut self) {
        self.flows.clear();
        self.ranks.clear();
        self.others.reset();
        self.numbers.rebuild(|_| false);
    }

    /// Bytes of all flows, with stores of delays at their largest size.
    pub fn state_bytes(&self) -> usize {
        let flows = self.flows.iter().map(|flow| &flow.counts);
        let stores = match self.room.stores {
            Some([store, others]) => flows.len() * store + others,
            None => flows.chain([&self.others]).map(|counts| counts.delays.state_bytes()).sum(),
        };
        size_of::<Self>()
            + self.numbers.bytes()
            + self.flows.capacity() * size_of::<Flow>()
            + self.ranks.capacity() * size_of::<Reverse<Ranked>>()
            + stores
            + (self.flows.len() + 1) * DelayStore::SHARED_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::{Address, Timestamp, protocol};
    use std::collections::HashMap;

    const SERIES: Series = Series { matching: Match::TcpAck, leg: Leg::Both, group: 0 };

    fn settings(top: usize, memory: Option<usize>) -> Settings {
        let line = |matching| Line { matching, leg: Leg::Both, expiry: Nanos::from_secs(100) };
        Settings { lines: vec![line(Match::Dns), line(Match::TcpAck)], top, memory, seed: 1 }
    }

    fn key(flow: u32) -> FlowKey {
        let (source, destination) = (Address::v4(flow), Address::v4(u32::MAX));
        FlowKey { source, destination, source_port: 5, destination_port: 443, protocol: protocol::TCP }
    }

    /// The share of flow *i* falls as 1/*i*; every packet has a sample.
    fn feed(flows: &mut TopFlows, packets: u64) -> HashMap<u32, u64> {
        let mut truth = HashMap::new();
        for i in 0..packets {
            let random = hash::finish(i);
            let flow = (500f64.powf(hash::unit(random)) - 1.0) as u32;
            let bytes = 40 + (random & 1023) as u32;
            let sent = if random & 1 == 0 { key(flow) } else { key(flow).reversed() };
            let delay = Nanos::new(1_000 * i64::from(flow + 1));
            flows.packet(sent, bytes).sample(SERIES, &Sample::of(Timestamp::from_nanos(0), delay), Ambiguous::Bounds);
            *truth.entry(flow).or_default() += u64::from(bytes);
        }
        truth
    }

    /// As the module says; other sizes are measured below.
    #[test]
    fn the_least_store_is_small() {
        assert_eq!(DelayStore::least_bytes(1), 592);
    }

    /// Totals are conserved whatever is replaced, and the bound on uncounted bytes holds.
    #[test]
    fn sums_are_conserved_and_bounds_hold() {
        for memory in [6 << 10, 64 << 10, 1 << 20] {
            let mut flows = TopFlows::new(&settings(10, Some(memory)));
            let truth = feed(&mut flows, 20_000);
            assert!(flows.state_bytes() <= memory, "{} of {memory}", flows.state_bytes());
            let answers = flows.answers(10, Ambiguous::Bounds);
            let sum = |count: fn(&FlowAnswer) -> u64| answers.iter().map(count).sum::<u64>();
            assert_eq!((sum(|a| a.packets), sum(|a| a.bytes)), (20_000, truth.values().sum()));
            assert_eq!(sum(|a| a.delays.iter().map(|(_, d)| d.samples()).sum()), 20_000);
            assert_eq!(answers.iter().filter(|a| a.key.is_none()).count(), 1);
            for answer in answers.iter().filter(|a| a.key.is_some()) {
                let flow = answer.key.map(|key| key.undirected().source.halves().1 as u32).unwrap();
                let bytes = truth[&flow];
                assert!(answer.bytes <= bytes && bytes <= answer.bytes + answer.uncounted_bytes, "{flow}: {answer:?}");
                let (line, delays) = &answer.delays[0];
                let (min, max) = delays.extremes().unwrap();
                let delay = 1_000 * (i64::from(flow) + 1);
                assert_eq!((line.matching, min.value, max.value), (Match::TcpAck, delay, delay));
            }
            // A flow with more than 1/*n* of all bytes has a place.
            let all: u64 = truth.values().sum();
            for (&flow, _) in truth.iter().filter(|&(_, &bytes)| bytes > all / flows.room.flows as u64) {
                assert!(flows.flows.iter().any(|f| f.key.undirected() == key(flow).undirected()), "{flow}");
            }
        }
    }

    /// With room for all, every flow's counts are exact, both directions together.
    #[test]
    fn with_room_it_is_exact() {
        let mut flows = TopFlows::new(&settings(1_000, None));
        let truth = feed(&mut flows, 20_000);
        for _ in 0..2 {
            let answers = flows.answers(1_000, Ambiguous::Bounds);
            assert_eq!(answers.len(), truth.len());
            assert!(answers.is_sorted_by_key(|answer| Reverse(answer.bytes)));
            for answer in answers {
                let flow = answer.key.unwrap().undirected().source.halves().1 as u32;
                assert_eq!((answer.bytes, answer.uncounted_bytes), (truth[&flow], 0));
            }
            flows.reset();
            assert!(flows.answers(1_000, Ambiguous::Bounds).is_empty());
            feed(&mut flows, 20_000);
        }
    }

    /// Which of several flows with equally many bytes are listed, and in which order, depends on no seed.
    #[test]
    fn ties_are_resolved_by_addresses() {
        for seed in 0..4 {
            let mut flows = TopFlows::new(&Settings { seed, ..settings(3, None) });
            for flow in [7, 3, 9, 1, 5] {
                flows.packet(key(flow).reversed(), 100);
            }
            let answers = flows.answers(3, Ambiguous::Bounds);
            let listed: Vec<_> = answers.iter().filter_map(|answer| answer.key).collect();
            assert_eq!(listed, [1, 3, 5].map(|flow| key(flow).reversed()), "seed {seed}");
        }
    }

    #[test]
    fn the_least_memory_has_a_place_for_one() {
        let least = settings(10, None).least_bytes();
        let mut flows = TopFlows::new(&settings(10, Some(least)));
        feed(&mut flows, 1_000);
        assert!(flows.state_bytes() <= least, "{} of {least}", flows.state_bytes());
        assert!(!flows.flows.is_empty());
    }
}
