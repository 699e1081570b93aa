use super::sketch::{Clock, nanos};
use super::window::Window;
use super::{Counts, Culprit, Queued, Unit};
use crate::parts::batch::prefetch;
use crate::parts::table::{Number, Place, Table};
use dwell_types::{Departure, FlowId, Nanos};
use std::collections::VecDeque;

/// What really departed between the arrival and the departure of each packet: the exact reference for
/// [`super::Conquest`], whose memory is bounded only by time.
///
/// Keeps every departure for as long as the longest delay, in one queue for all and in one per flow, with running sums:
/// the sum since a moment is a difference found by search. 36 bytes per departure, up to 1.5 times that while the
/// queues have room to grow; 80 to 130 per flow, which has room for four departures.
#[derive(Clone, Debug)]
pub struct Exact {
    unit: Unit,
    culprit: Culprit,
    longest: Nanos,
    all: Sums,
    /// The flows of `all`, by number.
    order: VecDeque<u32>,
    flows: Flows,
    clock: Clock,
    counts: Counts,
}

/// Departures in order, each with the cumulative size up to and including its own.
#[derive(Clone, Debug, Default)]
struct Sums {
    departed: VecDeque<(i64, u64)>,
    /// The cumulative size up to the last one that was dropped.
    before: u64,
}

impl Sums {
    const ENTRY_BYTES: usize = size_of::<(i64, u64)>();

    fn add(&mut self, at: i64, size: u32) {
        let sum = self.departed.back().map_or(self.before, |&(_, sum)| sum);
        self.departed.push_back((at, sum + u64::from(size)));
    }

    /// Drops the first departure, of this size.
    #[inline]
    fn forget_first(&mut self, size: u64) {
        self.departed.pop_front();
        self.before += size;
    }

    /// The total size of departures at `from` or later.
    fn since(&self, from: i64) -> u64 {
        let earlier = self.earlier(from);
        let before = if earlier == 0 { self.before } else { self.departed[earlier - 1].1 };
        self.departed.back().map_or(self.before, |&(_, sum)| sum) - before
    }

    /// How many of the departures were before `from`. Most packets wait for few of them: the search begins at the
    /// last one with steps of growing length, then bisects the last step.
    fn earlier(&self, from: i64) -> usize {
        let (mut end, mut step) = (self.departed.len(), 1);
        let mut begin = end.saturating_sub(step);
        while end > 0 && self.departed[begin].0 >= from {
            end = begin;
            step *= 2;
            begin = end.saturating_sub(step);
        }
        while begin < end {
            let middle = begin.midpoint(end);
            match self.departed[middle].0 < from {
                true => begin = middle + 1,
                false => end = middle,
            }
        }
        begin
    }

    fn bytes(&self) -> usize {
        self.departed.capacity() * Self::ENTRY_BYTES
    }
}

/// By how much a vector of this length and capacity grows for the next element.
const fn growth(len: usize, capacity: usize) -> usize {
    match (len < capacity, len / 2) {
        (true, _) => 0,
        (false, 0..LEAST) => LEAST,
        (false, half) => half,
    }
}

const LEAST: usize = 4;

/// The departures of one flow.
#[derive(Clone, Debug)]
struct Flow {
    id: FlowId,
    sums: Sums,
}

/// The departures of each flow that has some.
#[derive(Clone, Debug)]
struct Flows {
    /// Where a flow is in `flows`: its number.
    numbers: Table<Number>,
    flows: Vec<Flow>,
    /// Unused numbers, with capacity for all.
    free: Vec<u32>,
    /// Bytes of the queues in `flows`.
    bytes: usize,
}

impl Flows {
    const NUMBER_BYTES: usize = size_of::<Flow>() + size_of::<u32>();

    fn new() -> Self {
        const FIRST_SLOTS: usize = 16;
        Self { numbers: Table::new(FIRST_SLOTS, usize::MAX), flows: Vec::new(), free: Vec::new(), bytes: 0 }
    }

    /// Adds a departure of a flow, and returns the flow's number and what departed of it since a moment.
    fn add(&mut self, flow: FlowId, at: i64, size: u32, since: i64) -> (u32, u64) {
        let number = self.number(flow);
        let sums = &mut self.flows[number as usize].sums;
        let more = growth(sums.departed.len(), sums.departed.capacity());
        if more > 0 {
            self.bytes -= sums.bytes();
            sums.departed.reserve_exact(more);
            self.bytes += sums.bytes();
        }
        sums.add(at, size);
        (number, sums.since(since))
    }

    /// What departed of a flow since a moment.
    fn since(&self, flow: FlowId, from: i64) -> u64 {
        let Place::Found(at) = self.numbers.find(flow.0) else { return 0 };
        self.flows[self.numbers.get(at).number as usize].sums.since(from)
    }

    fn number(&mut self, flow: FlowId) -> u32 {
        let mut place = self.numbers.find(flow.0);
        if let Place::Vacant(_) = place
            && self.numbers.is_full()
        {
            self.numbers.grow();
            place = self.numbers.find(flow.0);
        }
        match place {
            Place::Found(at) => self.numbers.get(at).number,
            Place::Vacant(at) => {
                let number = self.begin(flow);
                self.numbers.put(at, Number { key: flow.0, number });
                number
            }
        }
    }

    /// A number for a flow that has none.
    fn begin(&mut self, id: FlowId) -> u32 {
        if let Some(number) = self.free.pop() {
            self.flows[number as usize].id = id;
            return number;
        }
        let more = growth(self.flows.len(), self.flows.capacity());
        self.flows.reserve_exact(more);
        self.free.reserve_exact(self.flows.capacity());
        self.flows.push(Flow { id, sums: Sums::default() });
        self.flows.len() as u32 - 1
    }

    /// Drops the first departure of a flow, of this size.
    fn forget_first(&mut self, number: u32, size: u64) {
        let Flow { id, sums } = &mut self.flows[number as usize];
        sums.forget_first(size);
        if sums.departed.is_empty() {
            self.bytes -= sums.bytes();
            *sums = Sums::default();
            self.free.push(number);
            if let Place::Found(at) = self.numbers.find(id.0) {
                self.numbers.remove(at);
            }
        }
    }

    /// Bytes by which it grows when a flow has one more departure.
    fn growth_bytes(&self, flow: FlowId) -> usize {
        if let Place::Found(at) = self.numbers.find(flow.0) {
            let departed = &self.flows[self.numbers.get(at).number as usize].sums.departed;
            return growth(departed.len(), departed.capacity()) * Sums::ENTRY_BYTES;
        }
        let table = if self.numbers.is_full() { self.numbers.bytes() } else { 0 };
        let numbers = if self.free.is_empty() { growth(self.flows.len(), self.flows.capacity()) } else { 0 };
        table + numbers * Self::NUMBER_BYTES + LEAST * Sums::ENTRY_BYTES
    }

    fn bytes(&self) -> usize {
        let numbers = self.flows.capacity() * size_of::<Flow>() + self.free.capacity() * size_of::<u32>();
        self.bytes + self.numbers.bytes() + numbers
    }
}

impl Exact {
    /// Keeps departures for `longest`: answers are complete for packets that wait no longer.
    pub fn new(longest: Nanos, unit: Unit, culprit: Culprit) -> Self {
        Self {
            unit,
            culprit,
            longest,
            all: Sums::default(),
            order: VecDeque::new(),
            flows: Flows::new(),
            clock: Clock::new(),
            counts: Counts::default(),
        }
    }

    /// See [`super::Conquest::update`].
    pub fn update(&mut self, departure: &Departure) -> Option<Queued> {
        let departed = self.clock.advance(departure.departed, &mut self.counts);
        let from = self.remembers_from();
        self.forget_before(from);
        let size = self.unit.of(departure);
        let more = growth(self.order.len(), self.order.capacity());
        if more > 0 {
            self.order.reserve_exact(more);
            self.all.departed.reserve_exact(more);
        }
        self.all.add(departed, size);
        let arrived = departure.arrived.filter(|&arrived| arrived <= departure.departed);
        let since = arrived.map_or(i64::MAX, nanos);
        let (number, flow) = self.flows.add(departure.flow, departed, size, since);
        self.order.push_back(number);
        let Some(arrived) = arrived else {
            self.counts.unknown += 1;
            return None;
        };
        let is_complete = since >= from && self.clock.has_seen(since);
        self.counts.incomplete += u64::from(!is_complete);
        let queue = self.all.since(since);
        Some(self.culprit.judge(departure.departed - arrived, flow as f64, queue as f64, is_complete))
    }

    /// The same for the packets by which sketches are judged ([`super::Scores`]): those that waited for *τ*.
    pub fn asked(&mut self, departure: &Departure) -> Option<Queued> {
        self.update(departure).filter(|_| departure.delay() >= Some(self.culprit.delay))
    }

    /// See [`super::Conquest::rate_change`], with windows of this length. Also `None` if two of them are longer than
    /// departures are kept.
    pub fn rate_change(&self, flow: FlowId, window: Nanos) -> Option<f64> {
        let window = Window::new(window);
        let newest = window.number(self.clock.latest());
        let [older, newer, ends] =
            [newest.saturating_sub(2), newest.saturating_sub(1), newest].map(|n| window.begins(n));
        if older < self.remembers_from() || !self.clock.has_seen(older) {
            return None;
        }
        let [since_older, since_newer, since_end] =
            [older, newer, ends].map(|from| self.flows.since(flow, from) as f64);
        Some((2.0 * since_newer - since_end - since_older) * 1e9 / window.nanos() as f64)
    }

    /// All departures at this moment or later are kept.
    fn remembers_from(&self) -> i64 {
        self.clock.latest().saturating_sub(self.longest.get().max(0))
    }

    fn forget_before(&mut self, from: i64) {
        /// Flows are prefetched so many departures before they are needed.
        const AHEAD: usize = 8;
        while let Some(&(at, sum)) = self.all.departed.front()
            && at < from
            && let Some(number) = self.order.pop_front()
        {
            if let Some(&number) = self.order.get(AHEAD) {
                prefetch(&self.flows.flows[number as usize]);
            }
            let size = sum - self.all.before;
            self.all.forget_first(size);
            self.flows.forget_first(number, size);
        }
    }

    /// All departures that are kept, in order: time, flow and size.
    pub(super) fn remembered(&self) -> impl Iterator<Item = (i64, FlowId, u32)> {
        let mut before = self.all.before;
        self.all.departed.iter().zip(&self.order).map(move |(&(at, sum), &number)| {
            let size = sum - before;
            before = sum;
            // Sizes of packets fit.
            (at, self.flows.flows[number as usize].id, size as u32)
        })
    }

    /// The clock as if nothing had been seen before the departures that are kept.
    pub(super) fn clock(&self) -> Clock {
        self.clock.knowing_from(self.remembers_from())
    }

    /// Counts of what could not be used, or not fully.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes of everything.
    pub fn state_bytes(&self) -> usize {
        size_of::<Self>() + self.all.bytes() + self.order.capacity() * size_of::<u32>() + self.flows.bytes()
    }

    /// Whether everything fits into this many bytes after a packet of this flow has departed.
    pub fn fits(&self, flow: FlowId, bytes: usize) -> bool {
        /// What begins with nothing begins with less.
        const FIRST_BYTES: usize = 1 << 10;
        // Nothing grows by more than its size.
        2 * self.state_bytes() + FIRST_BYTES <= bytes || self.bytes_after(flow) <= bytes
    }

    /// The most bytes of everything after a packet of this flow has departed.
    fn bytes_after(&self, flow: FlowId) -> usize {
        let more = growth(self.order.len(), self.order.capacity());
        self.state_bytes() + more * (Sums::ENTRY_BYTES + size_of::<u32>()) + self.flows.growth_bytes(flow)
    }
}
