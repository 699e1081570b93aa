//! Compares both points by sketches of each interval.

use super::arguments::{Arguments, ExpectedArguments, FLOW_BYTES, PointArguments, SKETCH_BYTES};
use super::warnings::{not_listed, of_results};
use super::weights::Weights;
use super::{Answer, Comparer};
use crate::Failure;
use crate::points::{Beginning, Point, Seen};
use crate::signals::Signals;
use crate::units;
use dwell_logs::told_apart;
use dwell_observe::crossing::Directions;
use dwell_report::facts::Parameter;
use dwell_report::owd::{Flow, Interval, Line};
use dwell_sketch::lda;
use dwell_sketch::lds;
use dwell_sketch::owd::Side;
use dwell_sketch::summary::{Cutter, FlowList, FlowMeans, Join, Origin, Params, Shares, Sketch};
use dwell_types::{Nanos, Timestamp};
use std::collections::BTreeMap;

/// Packets that a flow is assumed to lose in an interval.
pub(crate) const LOST: f64 = 1.0;

/// Sketch parameters for this many bytes and the expected traffic. With `flow_bytes` also those of a sketch of flows,
/// with several cells per row, since an interval may have a lost or reordered packet.
pub(super) fn params(
    bytes: usize,
    flow_bytes: Option<usize>,
    weights: &Weights,
    expected: &ExpectedArguments,
    arguments: &PointArguments,
) -> Result<Params, Failure> {
    let lda = lda::Params::budget_for(bytes, &expected.within(arguments.longest));
    let lda = lda.map_err(|error| Failure::usage(format!("--sketch-bytes: {error}")))?;
    let weights = weights.of_classes();
    let lds = flow_bytes.map(|bytes| {
        lds::Params::budget(bytes.saturating_sub(size_of_val(&weights[1..])), LOST, arguments.naming.seed)
    });
    let lds = lds.transpose().map_err(|error| Failure::usage(format!("--flow-bytes: {error}")))?;
    let lds = lds.map(|lds| lds::Params { weights: weights.to_vec(), ..lds });
    Ok(Params { lda: lda::Params { seed: arguments.naming.seed, ..lda }, lds, origin: arguments.origin() })
}

pub(super) fn cutter(params: &Params, arguments: &PointArguments, shift: Nanos) -> Result<Cutter, Failure> {
    Cutter::new(params.clone(), arguments.interval(), shift).map_err(Failure::usage)
}

/// The flag that `dwell owd` needs, after a space, to hold sketches of all packets with these parameters, and sketches
/// of flows of so many bytes; empty if its default memory is enough.
pub(crate) fn memory_flag(lda: lda::Params, flow_bytes: Option<usize>) -> String {
    let Ok(sketch) = Sketch::new(Params { lda, lds: None, origin: Origin::default() }) else { return String::new() };
    let bytes = sketch.state_bytes() + flow_bytes.unwrap_or(0);
    let needed = |memory| Shares::of(memory, flow_bytes.is_some()).least_bytes(bytes);
    match units::bytes(units::MEMORY) {
        Ok(usual) if needed(usual) > usual => format!(" --memory {}", units::enough(usual, needed)),
        _ => String::new(),
    }
}

/// The parameters of a sketch, for the report.
pub(super) fn describe_sketch(lda: &lda::Params, lds: Option<&lds::Params>) -> BTreeMap<&'static str, Parameter> {
    let banks: Vec<String> =
        lda.banks.iter().map(|bank| format!("{} rows of {:.2}%", bank.rows, bank.probability * 100.0)).collect();
    let mut parameters = BTreeMap::from([
        ("sketch_bytes", Parameter::Integer(lda.state_bytes() as u64)),
        ("cells", Parameter::Integer(lda.cells() as u64)),
        ("banks", Parameter::Text(banks.join(", "))),
    ]);
    if let Some(lds) = lds {
        let text = format!("{} rows of {}, {} for each flow", lds.rows(), lds.columns, lds.cells_per_flow);
        parameters.insert("flow_cells", Parameter::Text(text));
        if lds.weights.len() > 1 {
            let weights: Vec<String> = lds.weights.iter().map(ToString::to_string).collect();
            parameters.insert("weights", Parameter::Text(weights.join(", ")));
        }
    }
    parameters
}

/// The results for the sender's listed flows, those with the most bytes first.
pub(super) fn flows(means: &FlowMeans, list: &FlowList) -> Vec<Flow> {
    let answers = means.answers(list);
    let mut flows: Vec<Flow> =
        list.records().iter().zip(&answers).map(|(record, answer)| Flow::sketched(record, answer)).collect();
    flows.iter_mut().for_each(|flow| flow.flow = told_apart(&flow.flow));
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.line.bytes));
    flows
}

/// Sketches of two points, and their join.
pub(super) struct Sketches<'a> {
    arguments: &'a Arguments,
    directions: Directions,
    params: Params,
    weights: Weights,
    points: [Cutter; 2],
    /// Flows listed by the sender.
    flows: FlowList,
    means: FlowMeans,
    join: Join,
    /// Joined intervals not yet taken.
    done: Vec<Interval>,
}

impl<'a> Sketches<'a> {
    pub(super) fn new(arguments: &'a Arguments, beginning: &Beginning, signals: &Signals) -> Result<Self, Failure> {
        let Beginning { directions, delay, .. } = beginning;
        if directions.has_back() {
            let words = "the captures hold both directions, which sketches cannot tell apart: name the sender's side";
            let from = directions.sources().unwrap_or_default();
            return Err(Failure::usage(format!("{words} with --from, probably {from}")));
        }
        let memory = arguments.memory;
        let weights = Weights::new(arguments.expected.weights.as_deref(), &arguments.point, signals.stop())?;
        let divided = |memory: usize| {
            let shares = Shares::of(memory, arguments.wants_flows());
            let bytes = arguments.sketch_bytes.unwrap_or(SKETCH_BYTES.min(shares.sketch));
            let flow_bytes = arguments.flow_bytes.unwrap_or(FLOW_BYTES.min(shares.flow_sketch));
            let flow_bytes = arguments.wants_flows().then_some(flow_bytes);
            let params = params(bytes, flow_bytes, &weights, &arguments.expected, &arguments.point)?;
            let point = cutter(&params, &arguments.point, Nanos::ZERO)?;
            Ok::<_, Failure>((shares, params, point))
        };
        let (shares, params, sender) = divided(memory)?;
        let sketch_bytes = |point: &Cutter| point.state_bytes() / 2;
        if shares.least_bytes(sketch_bytes(&sender)) > memory {
            let least = |(shares, _, point): (Shares, _, _)| shares.least_bytes(sketch_bytes(&point));
            let needed = |memory| divided(memory).map_or(memory, least);
            return Err(Failure::usage(format!(
                "--memory of {memory} bytes is too small for three sketches of this size at each point: {} is enough, \
                 or reduce --sketch-bytes and --flow-bytes",
                units::enough(memory, needed)
            )));
        }
        let delay = Nanos::new(delay.get().saturating_sub(arguments.clock_offset.get()));
        let receiver = cutter(&params, &arguments.point, delay)?;
        Ok(Self {
            arguments,
            directions: directions.clone(),
            params,
            weights,
            flows: FlowList::new(shares.listed),
            means: FlowMeans::default(),
            join: Join::bounded(memory - shares.held_bytes(sketch_bytes(&sender))),
            points: [sender, receiver],
            done: Vec::new(),
        })
    }

    fn send(&mut self, side: Side) {
        for summary in self.points[side as usize].take() {
            match side {
                Side::Sender => self.join.sent(summary),
                Side::Receiver => self.join.received(summary),
            }
        }
        self.take();
    }

    fn take(&mut self) {
        for joined in self.join.take() {
            if let Some(flows) = &joined.flows {
                self.means.add(flows, &self.flows);
            }
            self.done.push(Interval::from(&joined));
        }
    }
}

impl Comparer for Sketches<'_> {
    fn update(&mut self, side: Side, seen: &Seen, point: &Point) -> bool {
        let class = self.weights.class(seen, point);
        let listed = match side {
            Side::Sender => self.flows.update(&seen.crossing, class, || point.flow_name()),
            Side::Receiver => None,
        };
        self.points[side as usize].update_flow(&seen.crossing, class, listed);
        self.send(side);
        !self.done.is_empty()
    }

    fn end(&mut self, side: Side, _: Timestamp) {
        self.points[side as usize].end();
        self.send(side);
    }

    fn take_intervals(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.done)
    }

    fn answer(&mut self, _: &Point) -> Answer {
        self.join.end();
        self.take();
        let mut parameters = self.arguments.parameters(&self.directions);
        parameters.extend(self.arguments.expected.parameters());
        parameters.extend(describe_sketch(&self.params.lda, self.params.lds.as_ref()));
        let all = self.join.total();
        let total = Line::from(&all);
        let mut flows = flows(&self.means, &self.flows);
        flows.retain(|flow| self.arguments.is_wanted(&flow.flow));
        if self.arguments.flow.is_none() {
            flows.truncate(self.arguments.top);
        }
        Answer {
            total,
            flows,
            unsent: [None, Some(self.join.unjoined())],
            state_bytes: self.points.iter().map(Cutter::state_bytes).sum::<usize>()
                + self.flows.state_bytes()
                + self.join.most_bytes(),
            parameters,
            has_all_flows: not_listed(&all, &self.flows) == 0,
            warnings: of_results(&all, self.arguments.wants_flows().then_some((&self.means, &self.flows))),
            // One direction, estimated, of packets that are not told apart.
            ..Answer::default()
        }
    }
}
