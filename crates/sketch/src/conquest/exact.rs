use super::sketch::{Clock, nanos};
use super::{Counts, Culprit, Queued, Unit};
use dwell_types::{Departure, FlowId, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// What truly departed between the arrival and the departure of each packet: the twin of [`super::Conquest`] whose memory has no bound but time.
///
/// Remembers every departure for as long as the longest delay, in a queue of all and in one of each flow, with running sums: the sum since a moment is a
/// difference that bisection finds.
#[derive(Clone, Debug)]
pub struct Exact {
    unit: Unit,
    culprit: Culprit,
    longest: Nanos,
    all: Sums,
    flows: BTreeMap<FlowId, Sums>,
    /// The flows of `all`.
    order: VecDeque<FlowId>,
    clock: Clock,
    counts: Counts,
}

/// Departures in order, each with the sum of all sizes up to its own.
#[derive(Clone, Debug, Default)]
struct Sums {
    departed: VecDeque<(i64, u64)>,
    /// Up to the last that was forgotten.
    before: u64,
}

impl Sums {
    fn add(&mut self, at: i64, size: u32) {
        let sum = self.departed.back().map_or(self.before, |&(_, sum)| sum);
        self.departed.push_back((at, sum + u64::from(size)));
    }

    fn forget_first(&mut self) {
        if let Some((_, sum)) = self.departed.pop_front() {
            self.before = sum;
        }
    }

    /// What departed at a moment or later.
    fn since(&self, from: i64) -> u64 {
        let earlier = self.departed.partition_point(|&(at, _)| at < from);
        let before = if earlier == 0 { self.before } else { self.departed[earlier - 1].1 };
        self.departed.back().map_or(self.before, |&(_, sum)| sum) - before
    }
}

impl Exact {
    /// Remembers departures for `longest`: answers are complete for packets that wait no longer.
    pub fn new(longest: Nanos, unit: Unit, culprit: Culprit) -> Self {
        Self {
            unit,
            culprit,
            longest,
            all: Sums::default(),
            flows: BTreeMap::new(),
            order: VecDeque::new(),
            clock: Clock::new(),
            counts: Counts::default(),
        }
    }

    /// As [`super::Conquest::update`].
    pub fn update(&mut self, departure: &Departure) -> Option<Queued> {
        let departed = self.clock.advance(departure.departed, &mut self.counts);
        let from = departed.saturating_sub(self.longest.get().max(0));
        self.forget_before(from);
        let size = self.unit.of(departure);
        self.all.add(departed, size);
        self.order.push_back(departure.flow);
        let flow = self.flows.entry(departure.flow).or_default();
        flow.add(departed, size);
        let Some(arrived) = departure.arrived.filter(|&arrived| arrived <= departure.departed) else {
            self.counts.unknown += 1;
            return None;
        };
        let since = nanos(arrived);
        let is_complete = since >= from && self.clock.has_seen(since);
        self.counts.incomplete += u64::from(!is_complete);
        let (flow, queue) = (flow.since(since) as f64, self.all.since(since) as f64);
        Some(self.culprit.judge(departure.departed - arrived, flow, queue, is_complete))
    }

    fn forget_before(&mut self, from: i64) {
        while self.all.departed.front().is_some_and(|&(at, _)| at < from) {
            self.all.forget_first();
            let Some(flow) = self.order.pop_front() else { return };
            let Some(sums) = self.flows.get_mut(&flow) else { return };
            sums.forget_first();
            if sums.departed.is_empty() {
                self.flows.remove(&flow);
            }
        }
    }

    /// What could not be used.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes of the queues; the nodes of the tree of flows come on top.
    pub fn state_bytes(&self) -> usize {
        let sums = |sums: &Sums| sums.departed.capacity() * size_of::<(i64, u64)>() + size_of::<Sums>();
        let flows: usize = self.flows.values().map(sums).sum();
        size_of::<Self>() + sums(&self.all) + flows + self.order.capacity() * size_of::<FlowId>()
    }
}
