//! Compares both points packet by packet.

use super::arguments::{Arguments, Method};
use super::{Answer, Comparer, describe_pair};
use crate::Failure;
use crate::points::{Point, Seen};
use crate::units;
use dwell_logs::told_apart;
use dwell_observe::crossing::Directions;
use dwell_report::facts::Parameter;
use dwell_report::owd::samples::Sample;
use dwell_report::owd::{ClockDrift, ClockOffset, Drifts, Flow, Interval, Line};
use dwell_sketch::distribution::Distribution;
use dwell_sketch::owd::{Drift, FlowAnswer, Latest, OwdMeter, Passed, Sent, Settings, SettingsError, Side, Totals};
use dwell_types::{Crossing, FlowKey, Nanos, Series, Timestamp};
use std::collections::BTreeMap;

/// One meter for each direction.
pub(super) struct Packets<'a> {
    arguments: &'a Arguments,
    forward: OwdMeter,
    reverse: Option<OwdMeter>,
    /// How far the receiver's clock is ahead, for the order of packets.
    ahead: Nanos,
    /// The latest delays of the forward direction and of the reverse one.
    latest: [Latest; 2],
    names: Names,
    directions: Directions,
    /// The packets whose fate became known, if all are to be written.
    samples: Option<Vec<Sample>>,
}

/// One meter for each direction, and the maximum number of flows reported individually.
struct Meters {
    forward: OwdMeter,
    reverse: Option<OwdMeter>,
    flows: usize,
}

impl Meters {
    /// Meters in this many bytes, or in as many as it takes.
    fn new(arguments: &Arguments, directions: &Directions, memory: Option<usize>) -> Result<Self, SettingsError> {
        let number = if directions.has_back() { 2 } else { 1 };
        let memory = memory.map(|memory| memory / number);
        let flows = match memory {
            _ if !arguments.wants_flows() => 0,
            Some(memory) => (memory / 4 / (OwdMeter::FLOW_BYTES + FlowKey::NAME_BYTES)).clamp(1, MOST_FLOWS),
            None => MOST_FLOWS,
        };
        let meter = |interval, flows: usize| {
            let names = flows * FlowKey::NAME_BYTES;
            let settings = Settings {
                memory: memory.map(|memory| memory.saturating_sub(names)),
                longest: arguments.point.longest,
                interval,
                flows,
                seed: arguments.point.naming.seed,
            };
            let whole = |needed: usize| needed.saturating_add(names).saturating_mul(number);
            OwdMeter::new(&settings).map_err(|error| SettingsError { needed: whole(error.needed) })
        };
        let forward = meter(Some(arguments.point.interval()), flows)?;
        let reverse = if directions.has_back() { Some(meter(None, 0)?) } else { None };
        Ok(Self { forward, reverse, flows })
    }
}

/// Names of flows, by their numbers from 1 on; 0 is the number of all others.
struct Names(Vec<Box<str>>);

impl Names {
    /// Gives a number to a flow, in place of the one that had it before.
    fn set(&mut self, number: usize, name: Box<str>) {
        match self.0.get_mut(number - 1) {
            Some(before) => *before = name,
            None => self.0.push(name),
        }
    }

    fn get(&self, number: usize) -> Option<&str> {
        self.0.get(number.checked_sub(1)?).map(|name| &**name)
    }

    /// The name in a report.
    fn shown(&self, number: usize) -> String {
        self.get(number).map_or(Series::OTHER.to_owned(), told_apart)
    }

    fn state_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Box<str>>() + self.0.iter().map(|name| name.len()).sum::<usize>()
    }
}

/// Duplicates among the packets of one direction, sent and received, and whether they are too many to be chance.
#[derive(Default)]
struct Duplicates {
    sent: (f64, bool),
    received: (f64, bool),
}

impl Duplicates {
    /// Hosts also send equal packets: some in 50, as in testdata/mixed. Equal packets that only arrive are not from
    /// hosts.
    fn new(totals: &Totals) -> Self {
        let many = |number: f64, share: f64, of: u64| (number, number > share * of as f64);
        Self {
            sent: many(totals.sent_again, 0.04, totals.sent),
            received: many(totals.received_again, 0.01, totals.arrived),
        }
    }
}

/// The maximum number of flows reported individually without a memory limit.
const MOST_FLOWS: usize = 1 << 16;

impl<'a> Packets<'a> {
    pub(super) fn new(arguments: &'a Arguments, directions: &Directions, ahead: Nanos) -> Result<Self, Failure> {
        let memory = (arguments.method == Method::Auto).then_some(arguments.memory);
        let Meters { forward, reverse, flows } = Meters::new(arguments, directions, memory).map_err(|_| {
            // With more memory there are more flows, which need more memory.
            let needed =
                |memory| Meters::new(arguments, directions, Some(memory)).map_or_else(|e| e.needed, |_| memory);
            let enough = units::enough(arguments.memory, needed);
            Failure::usage(format!("--memory of {} bytes is too small: {enough} is enough", arguments.memory))
        })?;
        let forward = forward.with_receiver_set_back(ahead);
        // The receiver of this direction is the sender of the other.
        let reverse = reverse.map(|reverse| reverse.with_receiver_set_back(Nanos::new(-ahead.get())));
        let names = Names(Vec::with_capacity(memory.map_or(0, |_| flows)));
        let latest = [Latest::default(); 2];
        let samples = arguments.samples.is_some().then(Vec::new);
        Ok(Self { forward, reverse, ahead, latest, names, directions: directions.clone(), samples, arguments })
    }

    fn flows(&mut self) -> Vec<Flow> {
        let arguments = self.arguments;
        let most = if arguments.flow.is_some() { usize::MAX } else { arguments.top };
        let answers = self.forward.flows(most);
        let name = |answer: &FlowAnswer| self.names.get(answer.number).unwrap_or(Series::OTHER);
        let wanted = answers.iter().filter(|answer| arguments.is_wanted(name(answer)));
        let flow = |answer: &FlowAnswer| {
            let flow = Flow::new(answer, self.names.shown(answer.number));
            Flow { line: self.drawn(flow.line, &answer.distribution), ..flow }
        };
        wanted.map(flow).collect()
    }

    /// A line with its distribution function, if that is drawn.
    fn drawn(&self, line: Line, distribution: &Distribution) -> Line {
        if self.arguments.plot_cdf.is_some() { line.with_cdf(distribution) } else { line }
    }

    /// The drift of the clocks as they are.
    fn shown(&self, drift: &Drift) -> ClockDrift {
        let removed = self.arguments.clock_offset.get();
        let offset = |[low, high]: [f64; 2]| ClockOffset {
            low: removed.saturating_add(low.floor() as i64),
            high: removed.saturating_add(high.ceil() as i64),
        };
        let [low, high] = drift.ppm;
        ClockDrift { ppm: Drifts { low, high }, start_ns: offset(drift.start_ns), end_ns: offset(drift.end_ns) }
    }

    fn parameters(&self) -> BTreeMap<&'static str, Parameter> {
        let mut parameters = describe_pair(self.arguments, &self.directions);
        if !self.forward.is_exact() {
            parameters.insert("sampling", Parameter::Real(self.forward.sampling()));
        }
        parameters
    }
}

/// Keeps a packet, if all are to be written; `names` are those of the flows, if flows are counted.
fn keep(samples: &mut Option<Vec<Sample>>, passed: &Passed, is_reverse: bool, names: Option<&Names>) {
    let Some(samples) = samples else { return };
    let flow = names.map(|names| names.shown(passed.sent.flow as usize));
    samples.push(Sample { passed: *passed, is_reverse, flow });
}

/// A packet that goes back, sent when the receiver's clock says.
fn by_receiver(passed: &Passed, ahead: Nanos) -> Passed {
    Passed { sent: Sent { at: passed.sent.at + ahead, ..passed.sent }, ..*passed }
}

impl Comparer for Packets<'_> {
    /// The sender of one direction is the receiver of the other.
    fn update(&mut self, side: Side, seen: Seen, point: &Point) {
        let Self { forward, reverse, ahead, latest: [there, back], names, samples, arguments, .. } = self;
        let at = if side == Side::Receiver { seen.crossing.at - *ahead } else { seen.crossing.at };
        let crossing = Crossing { at, ..seen.crossing };
        let names = arguments.wants_flows().then_some(&*names);
        let keep_there = |passed: &Passed| keep(samples, passed, false, names);
        let new = match reverse {
            Some(reverse) if seen.is_reverse => {
                let keep_back = |passed: &Passed| keep(samples, &by_receiver(passed, *ahead), true, None);
                reverse.update_against(side.opposite(), &crossing, there, back, keep_back);
                None
            }
            Some(_) => forward.update_against(side, &crossing, back, there, keep_there),
            None => forward.update_each(side, &crossing, keep_there),
        };
        if let Some(number) = new {
            self.names.set(number, point.flow_name().into());
        }
    }

    fn end(&mut self, side: Side, until: Timestamp) {
        match side {
            Side::Receiver => self.forward.end_receiver(until - self.ahead),
            Side::Sender => {
                if let Some(reverse) = &mut self.reverse {
                    reverse.end_receiver(until);
                }
            }
        }
    }

    fn take_intervals(&mut self) -> Vec<Interval> {
        self.forward.take_intervals().iter().map(Interval::from).collect()
    }

    fn take_samples(&mut self) -> Vec<Sample> {
        self.samples.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn answer(&mut self) -> Answer {
        let Self { forward, reverse, ahead, names, samples, arguments, .. } = self;
        let names = arguments.wants_flows().then_some(&*names);
        forward.end_each(|passed| keep(samples, passed, false, names));
        if let Some(reverse) = reverse {
            reverse.end_each(|passed| keep(samples, &by_receiver(passed, *ahead), true, None));
        }
        let flows = self.flows();
        let totals = self.forward.total();
        let reverse_totals = self.reverse.as_ref().map(OwdMeter::total);
        let line = |totals: &Totals| self.drawn(Line::from(totals), &totals.distribution);
        let (total, reverse) = (line(&totals), reverse_totals.as_ref().map(line));
        let clock_offset = reverse.as_ref().and_then(|reverse| {
            let (there, back) = (total.delay_ns.min?, reverse.delay_ns.min?);
            let removed = self.arguments.clock_offset.get();
            Some(ClockOffset { low: removed - back.value, high: removed + there.value })
        });
        let [there, back] = &self.latest;
        let clock_drift = Drift::of(there, back, self.ahead).map(|drift| self.shown(&drift));
        let whole = |packets: f64| packets.round() as u64;
        // The sender of one direction is the receiver of the other.
        let both = [Some(&totals), reverse_totals.as_ref()].map(|totals| totals.map(Duplicates::new));
        let [there, back] = both.map(Option::unwrap_or_default);
        let points = [[there.sent, back.received], [there.received, back.sent]];
        let duplicates = points.map(|point| Some(whole(point.iter().map(|(number, _)| number).sum())));
        let are_duplicates_many = points.map(|point| point.iter().any(|(_, are_many)| *are_many));
        let meters = || std::iter::once(&self.forward).chain(&self.reverse);
        Answer {
            total,
            reverse,
            clock_offset,
            clock_drift,
            flows,
            unsent: [reverse_totals.as_ref().map(|r| whole(r.unsent)), Some(whole(totals.unsent))],
            duplicates,
            are_duplicates_many,
            surplus: whole(totals.received_again),
            is_exact: meters().all(OwdMeter::is_exact),
            state_bytes: meters().map(OwdMeter::state_bytes).sum::<usize>() + self.names.state_bytes(),
            parameters: self.parameters(),
            has_all_flows: self.forward.has_all_flows(),
            warnings: Vec::new(),
        }
    }
}
