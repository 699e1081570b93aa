//! Compares both points packet by packet.

use super::arguments::{Arguments, Method};
use super::{Answer, Comparer};
use crate::Failure;
use crate::points::{Point, Seen};
use crate::units;
use dwell_logs::told_apart;
use dwell_observe::crossing::{Directions, Flow as Passage};
use dwell_report::facts::Parameter;
use dwell_report::owd::samples::Sample;
use dwell_report::owd::{ClockDrift, ClockOffset, Drifts, Flow, Interval, Line};
use dwell_sketch::distribution::Distribution;
use dwell_sketch::owd::{BothWays, Drift, FlowAnswer, OwdMeter, Passed, Settings, SettingsError, Side, Totals};
use dwell_types::{FlowKey, Nanos, Series, Timestamp};
use std::collections::BTreeMap;

/// One meter for each direction.
pub(super) struct Packets<'a> {
    arguments: &'a Arguments,
    meters: BothWays,
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
struct Names(Vec<Name>);

enum Name {
    /// Not written yet: most flows that take turns will not be reported. Takes about as much memory as the text.
    Of(Box<Passage>),
    Text(Box<str>),
}

impl Names {
    /// Gives a number to the flow of a point's next packet, in place of the one that had it before. Its name is written
    /// now, or by [`Names::write`].
    fn set(&mut self, number: usize, point: &Point, is_written: bool) {
        let text = || Name::Text(point.flow_name().into());
        let flow = point.flow().filter(|_| !is_written);
        match (self.0.get_mut(number - 1), flow) {
            (Some(Name::Of(before)), Some(flow)) => **before = *flow,
            (Some(before), _) => *before = text(),
            (None, flow) => self.0.push(flow.map_or_else(text, |flow| Name::Of(Box::new(*flow)))),
        }
    }

    /// Writes all names, of points that are read like this one.
    fn write(&mut self, point: &Point) {
        for name in &mut self.0 {
            if let Name::Of(flow) = name {
                *name = Name::Text(point.name(flow).into());
            }
        }
    }

    /// The name, if it is written.
    fn get(&self, number: usize) -> Option<&str> {
        match self.0.get(number.checked_sub(1)?)? {
            Name::Of(_) => None,
            Name::Text(name) => Some(name),
        }
    }

    /// The name in a report.
    fn shown(&self, number: usize) -> String {
        self.get(number).map_or(Series::OTHER.to_owned(), told_apart)
    }

    fn state_bytes(&self) -> usize {
        let bytes = |name: &Name| match name {
            Name::Of(_) => size_of::<Passage>(),
            Name::Text(name) => name.len(),
        };
        self.0.capacity() * size_of::<Name>() + self.0.iter().map(bytes).sum::<usize>()
    }
}

/// Duplicates among packets, and whether they are too many to be chance.
type Duplicates = (f64, bool);

/// Those among the packets sent. Hosts also send equal packets: some in 50, as in testdata/mixed.
fn sent_again(totals: &Totals) -> Duplicates {
    (totals.sent_again, totals.sent_again > 0.04 * totals.sent as f64)
}

/// Those among the packets that arrived: equal packets that only arrive are not from hosts.
fn received_again(totals: &Totals) -> Duplicates {
    (totals.received_again, totals.received_again > 0.01 * totals.arrived as f64)
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
        let meters = BothWays::new(forward, reverse, ahead);
        let names = Names(Vec::with_capacity(memory.map_or(0, |_| flows)));
        let samples = arguments.samples.is_some().then(Vec::new);
        Ok(Self { meters, names, directions: directions.clone(), samples, arguments })
    }

    fn flows(&mut self) -> Vec<Flow> {
        let arguments = self.arguments;
        let most = if arguments.flow.is_some() { usize::MAX } else { arguments.top };
        let answers = self.meters.forward_mut().flows(most);
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

    /// The offset of the clocks as they are.
    fn offset(&self, [low, high]: [i64; 2]) -> ClockOffset {
        let removed = self.arguments.clock_offset.get();
        ClockOffset { low: removed.saturating_add(low), high: removed.saturating_add(high) }
    }

    /// The drift of the clocks as they are.
    fn drift(&self, drift: &Drift) -> ClockDrift {
        let offset = |[low, high]: [f64; 2]| self.offset([low.floor() as i64, high.ceil() as i64]);
        let [low, high] = drift.ppm;
        ClockDrift { ppm: Drifts { low, high }, start_ns: offset(drift.start_ns), end_ns: offset(drift.end_ns) }
    }

    fn parameters(&self) -> BTreeMap<&'static str, Parameter> {
        let mut parameters = self.arguments.parameters(&self.directions);
        let forward = self.meters.forward();
        if !forward.is_exact() {
            parameters.insert("sampling", Parameter::Real(forward.sampling()));
        }
        parameters
    }
}

/// Keeps a packet, if all are to be written; `names` are those of the flows, if flows are counted: only forward.
fn keep(samples: &mut Option<Vec<Sample>>, passed: &Passed, is_reverse: bool, names: Option<&Names>) {
    let Some(samples) = samples else { return };
    let flow = names.filter(|_| !is_reverse).map(|names| names.shown(passed.sent.flow as usize));
    samples.push(Sample { passed: *passed, is_reverse, flow });
}

impl Comparer for Packets<'_> {
    fn update(&mut self, side: Side, seen: &Seen, point: &Point) -> bool {
        let Self { meters, names, samples, arguments, .. } = self;
        let named = arguments.wants_flows().then_some(&*names);
        let keep = |passed: &Passed, is_reverse| keep(samples, passed, is_reverse, named);
        if let Some(number) = meters.update(side, seen.is_reverse, &seen.crossing, keep) {
            names.set(number, point, samples.is_some());
        }
        self.meters.forward().has_intervals() || self.samples.as_ref().is_some_and(|samples| !samples.is_empty())
    }

    fn end(&mut self, side: Side, until: Timestamp) {
        self.meters.end_side(side, until);
    }

    fn take_intervals(&mut self) -> Vec<Interval> {
        self.meters.forward_mut().take_intervals().iter().map(Interval::from).collect()
    }

    fn take_samples(&mut self) -> Vec<Sample> {
        self.samples.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn answer(&mut self, sender: &Point) -> Answer {
        self.names.write(sender);
        let Self { meters, names, samples, arguments, .. } = self;
        let names = arguments.wants_flows().then_some(&*names);
        meters.end_each(|passed, is_reverse| keep(samples, passed, is_reverse, names));
        let flows = self.flows();
        let totals = self.meters.total();
        let line = |totals: &Totals| self.drawn(Line::from(totals), &totals.distribution);
        let whole = |packets: f64| packets.round() as u64;
        let unsent = |totals: &Totals| whole(totals.unsent);
        let duplicates = totals.by_point(sent_again, received_again).map(|both| both.map(Option::unwrap_or_default));
        Answer {
            total: line(&totals.forward),
            reverse: totals.reverse.as_ref().map(line),
            clock_offset: totals.offset_ns.map(|offset| self.offset(offset)),
            clock_drift: totals.drift.as_ref().map(|drift| self.drift(drift)),
            flows,
            unsent: [totals.reverse.as_ref().map(unsent), Some(unsent(&totals.forward))],
            duplicates: duplicates.map(|both| Some(whole(both.iter().map(|(number, _)| number).sum()))),
            are_duplicates_many: duplicates.map(|both| both.iter().any(|(_, are_many)| *are_many)),
            surplus: whole(totals.forward.received_again),
            is_exact: self.meters.is_exact(),
            state_bytes: self.meters.state_bytes() + self.names.state_bytes(),
            parameters: self.parameters(),
            has_all_flows: self.meters.forward().has_all_flows(),
            warnings: Vec::new(),
        }
    }
}
