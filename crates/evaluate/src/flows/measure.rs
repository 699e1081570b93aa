use super::method::{Arrival, Configuration, MethodName, Pair};
use super::workload::Stream;
use crate::case::{Measurement, Quantity, STATE_BYTES};
use crate::experiment::Problem;
use crate::grid::Measured;
use crate::run::{in_blocks, methods_seed};
use dwell_simulate::crossing::flows::{FlowPassage, FlowWorkload};
use dwell_sketch::lds::{Comparison, Figure, Listed, Rule};
use dwell_sketch::rivals::rli::Rli;
use dwell_types::{Crossing, FlowId, Timestamp, hash};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is measured of every group of flows: the median of |estimate/truth − 1|.
pub(super) const ERROR: Quantity = Quantity::magnitude("error");
/// Its 95th percentile.
const P95: Quantity = Quantity::magnitude("p95");
/// Share of the flows without an estimate.
pub(super) const NONE: Quantity = Quantity::share("none");
/// Share of the intervals that contain the truth.
pub(super) const COVERED: Quantity = Quantity::share("covered");

/// Names of groups of flows by size, from this many packets to below the next one.
pub(super) const OF_10: &str = "10_99";
pub(super) const OF_100: &str = "100_499";
pub(super) const OF_500: &str = "500_999";
pub(super) const OF_1_000: &str = "1000_9999";
/// Names of groups of flows of at least this size.
pub(super) const FROM_100: &str = "100_up";
pub(super) const FROM_1_000: &str = "1000_up";
pub(super) const FROM_10_000: &str = "10000_up";

/// The least and the most packets of these groups.
const SIZES: [(u64, u64, &str); 8] = [
    (1, 9, "1_9"),
    (10, 99, OF_10),
    (100, 499, OF_100),
    (500, 999, OF_500),
    (1_000, 9_999, OF_1_000),
    (10_000, u64::MAX, FROM_10_000),
    (100, u64::MAX, FROM_100),
    (1_000, u64::MAX, FROM_1_000),
];

/// The true figures of a flow.
#[derive(Clone, Copy, Debug)]
struct Flow {
    id: FlowId,
    class: u8,
    sent: u64,
    received: u64,
    delay_ns: i64,
}

impl Measured for Configuration {
    type Stream = Stream;

    fn suits(&self, stream: &Stream) -> Result<(), Problem> {
        if self.method == MethodName::Rli && stream.settings.references == 0.0 {
            return Err(Problem("rli estimates from probes: expected references in every workload".to_owned()));
        }
        Ok(())
    }

    fn quantities(&self, stream: &Stream) -> Vec<Quantity> {
        let mut groups: Vec<String> = SIZES.iter().map(|(.., name)| (*name).to_owned()).collect();
        if !stream.classes.is_empty() {
            groups.extend((0..=stream.classes.len()).flat_map(|class| [class_name(class), class_name(class) + "_all"]));
        }
        let of_groups = groups.iter().flat_map(|group| [ERROR, P95, NONE, COVERED].map(|quantity| quantity.of(group)));
        of_groups.chain([STATE_BYTES]).collect()
    }

    /// Runs all pairs at once, so that the stream is generated only once; methods that query the same sketches share
    /// them.
    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem> {
        let workload = FlowWorkload::new(&stream.settings, seed)?;
        let hashes = methods_seed(seed);
        let mut pairs: Vec<(&Configuration, Pair)> = Vec::new();
        let mut pair_of = Vec::new();
        for configuration in configurations {
            let found = pairs.iter().position(|(other, _)| configuration.shares_sketch(other));
            pair_of.push(found.unwrap_or(pairs.len()));
            if found.is_none() {
                pairs.push((configuration, configuration.pair(hashes)?));
            }
        }
        let flow = |number| {
            let id = workload.flow_id(number);
            Flow { id, class: class(&stream.classes, id), sent: 0, received: 0, delay_ns: 0 }
        };
        let mut flows: Vec<Flow> = (0..stream.settings.flows).map(flow).collect();
        in_blocks(workload, |block| {
            block.iter().for_each(|passage| look(passage, &mut flows));
            for (_, pair) in &mut pairs {
                block.iter().for_each(|passage| pair.update(passage, &flows));
            }
        });
        let answer = |(configuration, &pair): (&&Configuration, &usize)| {
            let pair = &pairs[pair].1;
            let found = pair.means(configuration.method, &flows)?;
            let mut measurements = compare(&flows, &found, stream.classes.len() as u8);
            measurements.push(STATE_BYTES.measured(pair.state_bytes() as f64));
            Ok(measurements)
        };
        configurations.iter().zip(&pair_of).map(answer).collect()
    }
}

/// The class of a flow, derived from bits of its id.
fn class(shares: &[f64], flow: FlowId) -> u8 {
    let mut place = hash::unit(hash::finish(flow.0));
    for (class, share) in (1..).zip(shares) {
        if place < *share {
            return class;
        }
        place -= share;
    }
    0
}

fn look(passage: &FlowPassage, flows: &mut [Flow]) {
    let Some(number) = passage.flow else { return };
    let flow = &mut flows[number as usize];
    flow.sent += 1;
    if let Some(delay) = passage.delay {
        flow.received += 1;
        flow.delay_ns += delay.get();
    }
}

impl Pair {
    fn update(&mut self, passage: &FlowPassage, flows: &[Flow]) {
        let (sent, received) = (&passage.sent, passage.received());
        if let Self::Rli { rli, on_the_way } = self {
            let arrival = received.map(|at| (at.at, sent.at, passage.flow.is_none(), sent.packet, sent.flow));
            on_the_way.extend(arrival.map(Reverse));
            return arrive(rli, on_the_way, sent.at);
        }
        let Some(number) = passage.flow else { return };
        match self {
            Self::Lds { sender, receiver } => {
                let class = flows[number as usize].class;
                sender.update_class(sent, class);
                received.iter().for_each(|crossing| receiver.update_class(crossing, class));
            }
            Self::Mpe { sender, receiver } => {
                sender.update(sent);
                received.iter().for_each(|crossing| receiver.update(crossing));
            }
            Self::Rli { .. } => (),
            Self::Table { sender, receiver } => {
                sender.update(sent);
                received.iter().for_each(|crossing| receiver.update(crossing));
            }
        }
    }

    /// The mean delay of every flow in nanoseconds.
    fn means(&self, method: MethodName, flows: &[Flow]) -> Result<Vec<Option<Figure>>, Problem> {
        let plain = |value: f64| Figure { value, interval: None };
        Ok(match self {
            Self::Lds { sender, receiver } => {
                let comparison = Comparison::new(sender, receiver)?;
                let by_rule = |rule| flows.iter().map(move |f| comparison.estimate(f.id, f.class, rule).mean_delay_ns);
                let joint = |is_known: bool| {
                    let packets = |flow: &Flow| is_known.then_some(flow.sent);
                    let listed = |flow: &Flow| Listed { flow: flow.id, class: flow.class, packets: packets(flow) };
                    let listed: Vec<Listed> = flows.iter().map(listed).collect();
                    let delays = comparison.joint_delays(&listed);
                    (0..listed.len()).map(|flow| delays.as_ref().map(|delays| delays[flow])).collect()
                };
                match method {
                    MethodName::Sds => by_rule(Rule::Paper { tolerance: 0.0 }).collect(),
                    MethodName::Paper => by_rule(Rule::Paper { tolerance: 0.1 }).collect(),
                    MethodName::UpperBound => by_rule(Rule::UpperBound).collect(),
                    MethodName::Joint => joint(false),
                    MethodName::JointKnown => joint(true),
                    _ => vec![comparison.average_ns().map(plain); flows.len()],
                }
            }
            Self::Mpe { sender, receiver } => {
                let delays = receiver.since(sender);
                flows.iter().map(|flow| delays.mean_ns(flow.id).map(plain)).collect()
            }
            Self::Rli { rli, .. } => flows.iter().map(|flow| rli.mean_ns(flow.id).map(plain)).collect(),
            Self::Table { sender, receiver } => {
                let mean = |flow: &Flow| {
                    let found = receiver.since(sender, flow.id)?;
                    Some(plain(found.delay_ns as f64 / f64::from(found.packets)))
                };
                flows.iter().map(mean).collect()
            }
        })
    }

    /// Bytes at one point.
    fn state_bytes(&self) -> usize {
        match self {
            Self::Lds { sender, .. } => sender.state_bytes(),
            Self::Mpe { sender, .. } => sender.state_bytes(),
            Self::Rli { rli, .. } => rli.state_bytes(),
            Self::Table { sender, .. } => sender.state_bytes(),
        }
    }
}

/// Passes on to the receiver what has arrived by now, in order of arrival; what is in flight at the end is ignored.
fn arrive(rli: &mut Rli, on_the_way: &mut BinaryHeap<Reverse<Arrival>>, now: Timestamp) {
    while on_the_way.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
        let Some(Reverse((at, sent, is_probe, packet, flow))) = on_the_way.pop() else { return };
        if is_probe {
            rli.probe(sent, at);
        } else {
            rli.update(&Crossing { packet, flow, at, bytes: 0 });
        }
    }
}

/// The name of the group of a class's flows.
pub(super) fn class_name(class: usize) -> String {
    format!("class_{class}")
}

/// By flow size; then by class, for flows of 100 packets or more, and for all.
fn compare(flows: &[Flow], found: &[Option<Figure>], classes: u8) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    for (from, to, name) in SIZES {
        measurements.extend(errors(name, flows, found, |flow| (from..=to).contains(&flow.sent)));
    }
    if classes > 0 {
        for class in 0..=classes {
            let name = class_name(class.into());
            measurements.extend(errors(&name, flows, found, |flow| flow.class == class && flow.sent >= 100));
            measurements.extend(errors(&format!("{name}_all"), flows, found, |flow| flow.class == class));
        }
    }
    measurements
}

/// Median and 95th percentile of the relative errors of the selected flows, the share of them without an estimate, and
/// the share of intervals that contain the truth.
fn errors(name: &str, flows: &[Flow], found: &[Option<Figure>], is_asked: impl Fn(&Flow) -> bool) -> Vec<Measurement> {
    let (mut errors, mut held, mut told) = (Vec::new(), 0.0, 0.0);
    let mut asked = 0.0;
    for (flow, figure) in flows.iter().zip(found).filter(|(flow, _)| flow.received > 0 && is_asked(flow)) {
        asked += 1.0;
        let truth = flow.delay_ns as f64 / flow.received as f64;
        let Some(figure) = figure else { continue };
        errors.push((figure.value / truth - 1.0).abs());
        if let Some((low, high)) = figure.interval {
            // Exact intervals have zero width, and sums are rounded.
            const ROUNDING: f64 = 1e-6;
            told += 1.0;
            held += f64::from(u8::from(low <= truth * (1.0 + ROUNDING) && truth * (1.0 - ROUNDING) <= high));
        }
    }
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors.get((share * errors.len() as f64) as usize).copied();
    let missing = (asked > 0.0).then(|| 1.0 - errors.len() as f64 / asked);
    let mut measurements =
        vec![ERROR.of(name).measured(at(0.5)), P95.of(name).measured(at(0.95)), NONE.of(name).measured(missing)];
    if told > 0.0 {
        measurements.push(COVERED.of(name).measured(held / told));
    }
    measurements
}
