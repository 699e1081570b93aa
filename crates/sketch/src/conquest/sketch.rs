use super::counter::{Hashes, Place};
use super::snapshots::{Sizes, Snapshots};
use super::window::{Newest, Reading};
use super::{Cleaning, ConquestError, Counts, Culprit, Exact, Params, Queued, Rule, Unit};
use dwell_types::{Departure, FlowId, Nanos, Timestamp};

/// Snapshots of the flows that pass a queue. See the [module](super).
#[derive(Clone, Debug)]
pub struct Conquest {
    unit: Unit,
    rule: Rule,
    /// Whether the counter of a flow was ever full.
    is_full: bool,
    culprit: Culprit,
    hashes: Hashes,
    /// From the shortest windows to the longest.
    groups: Vec<Snapshots>,
    clock: Clock,
    counts: Counts,
}

/// The time of departures, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    first: Option<i64>,
    latest: i64,
}

/// Times beyond 146 years around 1970 are clamped, so that all sums of times and windows fit.
const FARTHEST: i64 = 1 << 62;

pub(super) fn nanos(at: Timestamp) -> i64 {
    at.as_nanos().clamp(-FARTHEST, FARTHEST)
}

impl Clock {
    pub(super) const fn new() -> Self {
        Self { first: None, latest: -FARTHEST }
    }

    /// The time of a departure, but not before the latest one.
    #[inline]
    pub(super) fn advance(&mut self, departed: Timestamp, counts: &mut Counts) -> i64 {
        let at = nanos(departed);
        counts.packets += 1;
        counts.late += u64::from(at < self.latest);
        self.latest = at.max(self.latest);
        self.first.get_or_insert(at);
        self.latest
    }

    pub(super) const fn latest(&self) -> i64 {
        self.latest
    }

    /// The same clock as if nothing had been seen before a moment.
    pub(super) fn knowing_from(self, from: i64) -> Self {
        Self { first: self.first.map(|first| first.max(from)), ..self }
    }

    /// Whether all departures from a moment on were seen.
    #[inline]
    pub(super) fn has_seen(&self, from: i64) -> bool {
        self.first.is_some_and(|first| from >= first)
    }
}

impl Unit {
    /// The size of a packet.
    #[inline]
    pub(super) const fn of(self, departure: &Departure) -> u32 {
        match self {
            Self::Bytes => departure.bytes,
            Self::Packets => 1,
        }
    }
}

impl Conquest {
    /// An empty sketch.
    pub fn new(params: &Params) -> Result<Self, ConquestError> {
        params.check()?;
        Ok(Self {
            unit: params.unit,
            rule: params.rule,
            is_full: false,
            culprit: params.culprit,
            hashes: Hashes::new(params),
            groups: params.windows.iter().map(|&window| Snapshots::new(params, window)).collect(),
            clock: Clock::new(),
            counts: Counts::default(),
        })
    }

    /// A sketch that continues from the state of an exact reference: with its stored departures and its counts.
    pub fn after(exact: &Exact, params: &Params) -> Result<Self, ConquestError> {
        let mut sketch = Self::new(params)?;
        for (departed, flow, size) in exact.remembered() {
            let place = sketch.hashes.place(flow);
            for group in &mut sketch.groups {
                group.advance(departed);
                sketch.is_full |= group.add(&place, size);
            }
        }
        sketch.clock = exact.clock();
        sketch.counts = exact.counts();
        Ok(sketch)
    }

    /// Adds a packet that departs, in order of departure, and returns what was in the queue with it; `None` if its
    /// arrival is unknown.
    #[inline]
    pub fn update(&mut self, departure: &Departure) -> Option<Queued> {
        let departed = self.clock.advance(departure.departed, &mut self.counts);
        let (size, place) = (self.unit.of(departure), self.hashes.place(departure.flow));
        self.groups.iter_mut().for_each(|group| group.advance(departed));
        let arrived = departure.arrived.filter(|&arrived| arrived <= departure.departed);
        let queued = arrived.map(|arrived| self.judge(&place, arrived, departure.departed - arrived, departed, size));
        self.groups.iter_mut().for_each(|group| self.is_full |= group.add(&place, size));
        self.counts.unknown += u64::from(queued.is_none());
        self.counts.incomplete += u64::from(queued.is_some_and(|queued| !queued.is_complete));
        queued
    }

    /// The answer for a packet that is not counted yet.
    #[inline]
    fn judge(&self, place: &Place, arrived: Timestamp, delay: Nanos, departed: i64, own: u32) -> Queued {
        let (sizes, is_held) = self.read(place, nanos(arrived), departed, own);
        let is_complete = is_held && self.clock.has_seen(nanos(arrived));
        self.culprit.judge(delay, sizes.flow, sizes.queue, is_complete)
    }

    /// What departed since a moment, and a packet of its own. Also whether all of the windows are still stored.
    #[inline]
    fn read(&self, place: &Place, arrived: i64, departed: i64, own: u32) -> (Sizes, bool) {
        let [shortest, ..] = &self.groups[..] else { return (Sizes::default(), false) };
        let newest = shortest.newest(departed);
        let reading = self.rule.reading(shortest.window(), arrived, newest);
        if reading.first >= shortest.oldest() {
            return (shortest.read(place, &reading, own), true);
        }
        self.read_on(place, arrived, newest, own)
    }

    /// The same from the shortest windows that reach back that far: each group is read back to where a window of the
    /// next one begins.
    #[cold]
    fn read_on(&self, place: &Place, arrived: i64, mut newest: Newest, own: u32) -> (Sizes, bool) {
        let mut sizes = Sizes::default();
        for (level, group) in self.groups.iter().enumerate() {
            let mut reading = self.rule.reading(group.window(), arrived, newest);
            let next = self.groups.get(level + 1);
            let is_held = reading.first >= group.oldest();
            if !is_held {
                let mut first = group.oldest();
                if let Some(next) = next {
                    let number = next.window().ceiling(group.window().begins(first));
                    newest = Newest { number: number - 1, ends: next.window().begins(number), departed: None };
                    first = group.window().number(newest.ends);
                }
                reading = Reading { first, first_share: 1.0, ..reading };
            }
            let part = group.read(place, &reading, own);
            sizes = Sizes { flow: sizes.flow + part.flow, queue: sizes.queue + part.queue };
            if is_held || next.is_none() {
                return (sizes, is_held);
            }
        }
        (sizes, false)
    }

    /// The change of a flow's rate between the two newest finished windows of the shortest kind, in bytes or packets
    /// per second [conquest §3.2]. `None` until two windows are finished of which every departure was seen, or if there
    /// are snapshots for one only.
    pub fn rate_change(&self, flow: FlowId) -> Option<f64> {
        let group = &self.groups[0];
        let older = group.number().saturating_sub(2);
        if older < group.oldest() || !self.clock.has_seen(group.window().begins(older)) {
            return None;
        }
        let place = self.hashes.place(flow);
        let [before, after] = [older, older + 1].map(|number| f64::from(group.flow_in(&place, number)));
        Some((after - before) * 1e9 / group.window().nanos() as f64)
    }

    /// Counts of what could not be used, or not fully.
    pub fn counts(&self) -> Counts {
        Counts { dirty: self.groups.iter().map(Snapshots::dirty).sum(), ..self.counts }
    }

    /// Whether a flow had 2³² bytes or packets in one window, or more: then its size and share are too small.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Bytes of everything.
    pub fn state_bytes(&self) -> usize {
        let heap: usize = self.groups.iter().map(Snapshots::heap_bytes).sum();
        Self::fixed_bytes(self.groups.len()) + heap
    }

    /// Bytes of a sketch with these parameters.
    pub fn bytes(params: &Params) -> usize {
        let snapshot = params.counter.bytes() + size_of::<u64>();
        let flags = usize::from(params.cleaning == Cleaning::Cyclic);
        let group = params.snapshots as usize * (snapshot + flags);
        Self::fixed_bytes(params.windows.len()) + params.windows.len() * group
    }

    /// Bytes without the snapshots.
    pub(super) const fn fixed_bytes(groups: usize) -> usize {
        size_of::<Self>() + groups * size_of::<Snapshots>()
    }
}
