use super::Sum;
use super::flows::{Flows, OTHER};
use super::intervals::{IntervalAnswer, Intervals};
use super::latest::Latest;
use super::matching::{Fate, Matching, Passed, Sent};
use super::tally::Tally;
use crate::Sample;
use crate::distribution::{Ambiguous, DelayStore, Distribution};
use core::fmt;
use dwell_types::{Crossing, FlowId, Nanos, Timestamp};

/// The point at which a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The point that packets pass first.
    Sender,
    /// The point that packets pass later.
    Receiver,
}

impl Side {
    /// The other one.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// What to measure, and in how much memory.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of all data structures; `None` to keep every packet in as much memory as that takes.
    pub memory: Option<usize>,
    /// A packet that has not arrived after this time is lost.
    pub longest: Nanos,
    /// Length of an interval; `None` for no intervals.
    pub interval: Option<Nanos>,
    /// Number of flows that are counted individually, those with the most bytes; all others are summed up. Zero for no
    /// flows.
    pub flows: usize,
    /// Seed of the hash that samples packets when memory is short.
    pub seed: u64,
}

/// The settings need more memory than they allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// Bytes that would be enough.
    pub needed: usize,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the memory is too small: {} bytes would do", self.needed)
    }
}

impl core::error::Error for SettingsError {}

/// Compares two points packet by packet.
#[derive(Clone, Debug)]
pub struct OwdMeter {
    matching: Matching,
    /// The longest delay.
    longest: Nanos,
    sent: Sum,
    received: Sum,
    total: Tally,
    /// Series 0 is for all packets; then one for each flow, by its number.
    delays: DelayStore,
    flows: Option<Box<Flows>>,
    intervals: Option<Intervals>,
}

/// Results for all packets.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Packets seen at the sender.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets seen at the receiver.
    pub arrived: u64,
    /// Those of them that were not sent: an estimate if packets were sampled.
    pub unsent: f64,
    /// Those of `unsent` that equal a packet that arrived at most [`DUPLICATE_WINDOW`](super::DUPLICATE_WINDOW) before.
    pub received_again: f64,
    /// Packets sent that equal a packet sent at most the same time before.
    pub sent_again: f64,
    /// Fates and delays.
    pub tally: Tally,
    /// Quantiles of the delay.
    pub distribution: Distribution,
}

/// Results for one flow.
#[derive(Clone, Debug)]
pub struct FlowAnswer {
    /// Number of the flow; zero for the sum of all others.
    pub number: usize,
    /// Packets seen at the sender.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// The most bytes that it may have had before it got its number, or packets if no sizes are known; these are counted
    /// among the others.
    pub uncounted_bytes: u64,
    /// Fates and delays.
    pub tally: Tally,
    /// Quantiles of the delay.
    pub distribution: Distribution,
}

/// How the memory is divided, in bytes.
struct Shares {
    matching: usize,
    delays: usize,
    interval: usize,
}

impl Shares {
    /// The minimum of each share.
    fn least(settings: &Settings) -> Self {
        Self {
            matching: Matching::LEAST_BYTES,
            delays: DelayStore::least_bytes(series(settings)),
            interval: if settings.interval.is_some() { DelayStore::least_bytes(1) } else { 0 },
        }
    }

    /// Half of the memory beyond the minimum goes to the packets in flight, the other half to the delays; a quarter of
    /// the latter to those of intervals.
    fn new(settings: &Settings, memory: usize) -> Result<Self, SettingsError> {
        let least = Self::least(settings);
        let flows = if settings.flows > 0 { Flows::bytes(settings.flows) } else { 0 };
        let intervals = settings.interval.map_or(0, |length| Intervals::open_bytes(length, settings.longest));
        let fixed = (OwdMeter::OWN_BYTES + flows).saturating_add(intervals);
        let needed = fixed.saturating_add(least.matching + least.delays + least.interval);
        let spare = memory.checked_sub(needed).ok_or(SettingsError { needed })? / 8;
        let interval = if settings.interval.is_some() { spare } else { 0 };
        Ok(Self {
            matching: least.matching + 4 * spare,
            delays: least.delays + 4 * spare - interval,
            interval: least.interval + interval,
        })
    }
}

/// Number of distributions: all packets, each flow, and all other flows.
const fn series(settings: &Settings) -> usize {
    if settings.flows > 0 { settings.flows + 2 } else { 1 }
}

impl OwdMeter {
    /// Including what the two delay stores share.
    const OWN_BYTES: usize = size_of::<Self>() + 2 * DelayStore::SHARED_BYTES;

    /// Minimum number of bytes per flow.
    pub const FLOW_BYTES: usize = Flows::FLOW_BYTES + DelayStore::SERIES_BYTES;

    /// A meter that has seen nothing.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let shares = settings.memory.map(|memory| Shares::new(settings, memory)).transpose()?;
        let store = |series, bytes: Option<usize>| {
            let bounded = |bytes| DelayStore::bounded(series, bytes).ok_or(SettingsError { needed: bytes });
            bytes.map_or_else(|| Ok(DelayStore::unbounded(series)), bounded)
        };
        let intervals = |length| {
            let delays = store(1, shares.as_ref().map(|s| s.interval));
            delays.map(|delays| Intervals::new(length, settings.longest, delays))
        };
        Ok(Self {
            matching: Matching::new(shares.as_ref().map(|s| s.matching), settings.longest, settings.seed),
            longest: settings.longest,
            sent: Sum::default(),
            received: Sum::default(),
            total: Tally::default(),
            delays: store(series(settings), shares.as_ref().map(|s| s.delays))?,
            flows: (settings.flows > 0).then(|| Box::new(Flows::new(settings.flows))),
            intervals: settings.interval.map(intervals).transpose()?,
        })
    }

    /// Processes the next crossing at either point, in the order of time. If it gives its flow a number, returns that:
    /// flows are numbered from one, in this order; when all numbers are given, new flows get those of the flows with the
    /// fewest bytes.
    pub fn update(&mut self, side: Side, crossing: &Crossing) -> Option<usize> {
        self.update_each(side, crossing, |_| {})
    }

    /// Like [`OwdMeter::update_each`], where another meter measures the opposite direction: its latest delays show which
    /// ones are impossible. Adds the delay of this packet to the `latest` of this direction.
    pub fn update_against(
        &mut self,
        side: Side,
        crossing: &Crossing,
        opposite: &Latest,
        latest: &mut Latest,
        each: impl FnMut(&Passed),
    ) -> Option<usize> {
        let (new, delay) = self.cross(side, crossing, Some(opposite), each);
        if let Some(delay) = delay {
            latest.add(crossing.at, delay);
        }
        new
    }

    /// Like [`OwdMeter::update`]; also calls `each` for every packet whose fate became known before this crossing, in
    /// sending order.
    pub fn update_each(&mut self, side: Side, crossing: &Crossing, each: impl FnMut(&Passed)) -> Option<usize> {
        self.cross(side, crossing, None, each).0
    }

    /// Processes a crossing. Returns the number of its flow, if it is new, and its delay, if it is the packet's second
    /// crossing.
    #[inline]
    fn cross(
        &mut self,
        side: Side,
        crossing: &Crossing,
        opposite: Option<&Latest>,
        each: impl FnMut(&Passed),
    ) -> (Option<usize>, Option<Nanos>) {
        let &Crossing { packet, flow, at, bytes } = crossing;
        // Expire packets first: one that is overdue cannot be matched by this arrival.
        self.settle(Some(at), each);
        match side {
            Side::Sender => {
                self.sent.add(bytes);
                if let Some(intervals) = &mut self.intervals {
                    intervals.sent(at, bytes);
                }
                let (number, is_new) = self.count(flow, bytes);
                let delay = self.matching.sent(Sent { packet, at, flow: number, bytes }, opposite);
                (is_new.then_some(number as usize), delay)
            }
            Side::Receiver => {
                self.received.add(bytes);
                (None, self.matching.received(packet, at, opposite))
            }
        }
    }

    /// Counts a packet of a flow; returns the flow's number, and whether it is new.
    fn count(&mut self, flow: FlowId, bytes: u32) -> (u32, bool) {
        loop {
            let Some(flows) = &mut self.flows else { return (OTHER, false) };
            if let Some(counted) = flows.sent(flow, bytes) {
                return counted;
            }
            let vacated = flows.vacate();
            self.gather_others(vacated);
        }
    }

    /// Adds the delays of flows that lost these numbers to all others, and their packets in flight.
    fn gather_others(&mut self, mut numbers: Vec<usize>) {
        let Some(flows) = &self.flows else { return };
        numbers.iter_mut().for_each(|number| *number += 1);
        self.delays.gather(&numbers, OTHER as usize + 1);
        self.matching.renumber(|flow| if flows.is_vacant(flow as usize) { OTHER } else { flow });
    }

    /// The receiver's capture has ended.
    pub fn end_receiver(&mut self) {
        self.matching.end();
    }

    /// Both captures have ended.
    pub fn end(&mut self) {
        self.end_each(|_| {});
    }

    /// Like [`OwdMeter::end`]; also calls `each` for every packet whose fate is known now.
    pub fn end_each(&mut self, each: impl FnMut(&Passed)) {
        self.matching.end();
        self.settle(None, each);
        if let Some(intervals) = &mut self.intervals {
            intervals.end();
        }
        self.delays.share();
    }

    /// Adds the packets whose fate is known at `now` to the sums; with `None`, all packets.
    fn settle(&mut self, now: Option<Timestamp>, mut each: impl FnMut(&Passed)) {
        while let Some(passed) = self.matching.pop(now) {
            each(&passed);
            self.add(&passed);
        }
        if let Some((intervals, now)) = self.intervals.as_mut().zip(now) {
            // Where times go backwards, the first packet in flight can be later than others.
            let first = self.matching.first().unwrap_or(now);
            if first <= now {
                intervals.close_before(first);
            }
        }
    }

    fn add(&mut self, passed: &Passed) {
        let sample = sample(passed);
        self.total.add(passed);
        if let Some(intervals) = &mut self.intervals {
            intervals.add(passed, sample.as_ref());
        }
        if let Some(sample) = &sample {
            self.delays.update(0, sample);
        }
        if let Some(flows) = &mut self.flows {
            flows.add(passed);
            if let Some(sample) = &sample {
                self.delays.update(passed.sent.flow as usize + 1, sample);
            }
        }
    }

    /// The intervals that ended since the last call.
    pub fn take_intervals(&mut self) -> Vec<IntervalAnswer> {
        self.intervals.as_mut().map(Intervals::take).unwrap_or_default()
    }

    /// The packets whose fates are known; after [`OwdMeter::end`], all packets.
    pub fn total(&self) -> Totals {
        let [sent_again, received_again] = self.matching.duplicates();
        Totals {
            sent: self.sent.packets,
            sent_bytes: self.sent.bytes,
            arrived: self.received.packets,
            unsent: self.matching.unsent(),
            received_again,
            sent_again,
            tally: self.total.clone(),
            distribution: self.delays.distribution(0, Ambiguous::First).with_longest(self.longest),
        }
    }

    /// At most `most` flows, those with the most bytes first; then the sum of all others, if there are any. The flows
    /// beyond `most` lose their numbers. Only after [`OwdMeter::end`].
    pub fn flows(&mut self, most: usize) -> Vec<FlowAnswer> {
        let Some(flows) = &mut self.flows else { return Vec::new() };
        let (mut numbers, vacated) = flows.keep(most);
        self.gather_others(vacated);
        self.delays.share();
        let Some(flows) = &self.flows else { return Vec::new() };
        if flows.get(OTHER as usize).packets > 0 {
            numbers.push(OTHER as usize);
        }
        numbers.into_iter().map(|number| self.flow_answer(number, flows)).collect()
    }

    fn flow_answer(&self, number: usize, flows: &Flows) -> FlowAnswer {
        let flow = flows.get(number);
        let scale = flow.tally.scale(flow.packets);
        let distribution = self.delays.distribution_of_more(number + 1, Ambiguous::First, scale);
        FlowAnswer {
            number,
            sent: flow.packets,
            sent_bytes: flow.bytes,
            uncounted_bytes: flow.before,
            tally: flow.tally.clone(),
            distribution: distribution.with_longest(self.longest),
        }
    }

    /// Whether every flow has had a number from its first packet on.
    pub fn has_all_flows(&self) -> bool {
        self.flows.as_ref().is_none_or(|flows| flows.has_all())
    }

    /// Whether no packet was dropped by sampling.
    pub fn is_exact(&self) -> bool {
        self.matching.is_exact()
    }

    /// The fraction of packets that is sampled.
    pub fn sampling(&self) -> f64 {
        1.0 / self.matching.weight()
    }

    /// Bytes of the data structures.
    pub fn state_bytes(&self) -> usize {
        Self::OWN_BYTES
            + self.matching.state_bytes()
            + self.delays.state_bytes()
            + self.intervals.as_ref().map_or(0, Intervals::state_bytes)
            + self.flows.as_ref().map_or(0, |flows| flows.state_bytes())
    }
}

/// The delay of a packet that was received, as a weighted sample.
fn sample(passed: &Passed) -> Option<Sample> {
    let Fate::Received(delay) = passed.fate else { return None };
    Some(Sample::of(passed.sent.at, delay).weighted(passed.weight))
}
