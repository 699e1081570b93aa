//! Both points by sketches of each interval, together or apart.

use super::arguments::{
    Arguments, ExpectedArguments, FLOW_BYTES, JoinArguments, PointArguments, SKETCH_BYTES, SketchArguments,
};
use super::weights::Weights;
use super::{Answer, Comparison, Doubt, Outputs, describe};
use crate::Failure;
use crate::beginning::Beginning;
use crate::output::{self, Output};
use crate::points::{Point, Seen, Ways};
use crate::progress::Reading;
use crate::signals::Signals;
use crate::words;
use anyhow::{Context, Result, bail};
use dwell_report::facts::{Memory, Method as MethodFacts, Parameter, Span};
use dwell_report::owd::{Flow, Interval, Line, OwdReport, PointFacts, Points, SCHEMA};
use dwell_sketch::lda;
use dwell_sketch::lds::{self, Lds};
use dwell_sketch::owd::Point as At;
use dwell_sketch::summary::{Combined, Cutter, FlowList, FlowMeans, Join, Message, Messages, Params, Sketch, Summary};
use dwell_types::{Address, FlowKey, Nanos};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Flows that a sender names and counts.
pub(crate) const MOST_LISTED: usize = 4_096;
/// Packets that a flow is taken to lose in an interval.
pub(crate) const LOST: f64 = 1.0;
/// What a flow takes in the list of them, with its name.
const LISTED_BYTES: usize = 320;
/// Each point holds two sketches, since it does not know yet where one ends.
const SKETCHES: usize = 4;

/// The banks for so many bytes and what is expected. For flows, if they have bytes of their own, some cells in each
/// row, since an interval may have a loss or a packet that is out of order.
fn params(
    bytes: usize,
    flow_bytes: Option<usize>,
    weights: &Weights,
    expected: &ExpectedArguments,
    arguments: &PointArguments,
) -> Result<Params, Failure> {
    let lda = lda::Params::budget_for(bytes, &expected.within(arguments.longest));
    let lda = lda.map_err(|error| Failure::Usage(format!("--sketch-bytes: {error}")))?;
    let weights = weights.of_classes();
    let lds = flow_bytes
        .map(|bytes| lds::Params::budget(bytes.saturating_sub(size_of_val(&weights[1..])), LOST, arguments.seed));
    let lds = lds.transpose().map_err(|error| Failure::Usage(format!("--flow-bytes: {error}")))?;
    let lds = lds.map(|lds| lds::Params { weights: weights.to_vec(), ..lds });
    Ok(Params { lda: lda::Params { seed: arguments.seed, ..lda }, lds })
}

fn cutter(params: &Params, arguments: &PointArguments, shift: Nanos) -> Result<Cutter, Failure> {
    Cutter::new(params.clone(), arguments.interval(), shift).map_err(|error| Failure::Usage(error.to_string()))
}

/// What a sketch is made of.
fn describe_sketch(lda: &lda::Params, lds: Option<&lds::Params>) -> BTreeMap<&'static str, Parameter> {
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

/// The flows that the sender named, as both points' sketches tell them: those with the most bytes.
fn flows(means: &FlowMeans, list: &FlowList) -> Vec<Flow> {
    let answers = means.answers(list);
    let mut flows: Vec<Flow> =
        list.records().iter().zip(&answers).map(|(record, answer)| Flow::sketched(record, answer)).collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.line.bytes));
    flows
}

/// Two points that sketch, and what joins them.
pub(super) struct Sketches<'a> {
    arguments: &'a Arguments,
    params: Params,
    weights: Weights,
    points: [Cutter; 2],
    /// Those that the sender names.
    flows: FlowList,
    means: FlowMeans,
    join: Join,
    /// All that was joined.
    total: Combined,
    /// What was joined and not taken yet.
    done: Vec<Interval>,
}

impl<'a> Sketches<'a> {
    pub(super) fn new(arguments: &'a Arguments, beginning: &Beginning, signals: &Signals) -> Result<Self, Failure> {
        let Beginning { ways, delay } = beginning;
        if let Ways::Found(_) = ways {
            let words = "the captures hold both directions, which sketches cannot tell apart: name the sender's side";
            let from = ways.from().unwrap_or_default();
            return Err(Failure::Usage(format!("{words} with --from, as it seems {from}")));
        }
        let memory = arguments.memory;
        // A quarter of it for the list of flows, and another for sketches of all packets beside those of flows.
        let [all, of_flows, list] =
            if arguments.wants_flows() { [memory / 4, memory / 2, memory / 4] } else { [memory, 0, 0] };
        let bytes = arguments.sketch_bytes.unwrap_or(SKETCH_BYTES.min(all / SKETCHES));
        let flow_bytes = arguments.flow_bytes.unwrap_or(FLOW_BYTES.min(of_flows / SKETCHES));
        let most_flows = MOST_LISTED.min(list / LISTED_BYTES);
        let weights = Weights::new(&arguments.point, signals.stop())?;
        let flow_bytes = arguments.wants_flows().then_some(flow_bytes);
        let params = params(bytes, flow_bytes, &weights, &arguments.expected, &arguments.point)?;
        let flows = FlowList::new(most_flows);
        let point = |shift| cutter(&params, &arguments.point, shift);
        let delay = Nanos::new(delay.get().saturating_sub(arguments.clock_offset.get()));
        let points = [point(Nanos::ZERO)?, point(delay)?];
        let held = points.iter().map(Cutter::state_bytes).sum::<usize>() + most_flows * LISTED_BYTES;
        if held > memory {
            return Err(Failure::Usage(format!(
                "--memory of {memory} bytes is too small for two sketches of this size at each point: {}KiB would do, or \
                 smaller --sketch-bytes and --flow-bytes",
                held.div_ceil(1024)
            )));
        }
        Ok(Self {
            arguments,
            params,
            weights,
            points,
            flows,
            means: FlowMeans::default(),
            join: Join::default(),
            total: Combined::default(),
            done: Vec::new(),
        })
    }

    fn send(&mut self, at: At) {
        for summary in self.points[at as usize].take() {
            match at {
                At::Sender => self.join.sent(summary),
                At::Receiver => self.join.received(summary),
            }
        }
        self.take();
    }

    fn take(&mut self) {
        for joined in self.join.take() {
            if let Some(flows) = &joined.flows {
                self.means.add(flows, &self.flows);
            }
            self.total.add(&joined);
            self.done.push(Interval::from(&joined));
        }
    }
}

impl Comparison for Sketches<'_> {
    fn update(&mut self, at: At, seen: Seen, point: &Point) {
        let class = self.weights.class(&seen, point);
        let listed = match at {
            At::Sender => self.flows.update(&seen.crossing, class, || point.flow_name()),
            At::Receiver => None,
        };
        self.points[at as usize].update_flow(&seen.crossing, class, listed);
        self.send(at);
    }

    fn end(&mut self, at: At) {
        self.points[at as usize].end();
        self.send(at);
    }

    fn take_intervals(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.done)
    }

    fn answer(&mut self) -> Answer {
        self.join.end();
        self.take();
        let mut parameters = describe(&self.arguments.point);
        parameters.extend(self.arguments.expected.parameters());
        parameters.extend(describe_sketch(&self.params.lda, self.params.lds.as_ref()));
        let total = Line::from(&self.total);
        let mut flows = flows(&self.means, &self.flows);
        flows.retain(|flow| self.arguments.is_wanted(&flow.flow));
        if self.arguments.flow.is_none() {
            flows.truncate(self.arguments.top);
        }
        Answer {
            total,
            reverse: None,
            clock_offset: None,
            flows,
            unsent: [None, Some(self.join.unjoined())],
            is_exact: false,
            state_bytes: self.points.iter().map(Cutter::state_bytes).sum::<usize>() + self.flows.state_bytes(),
            parameters,
            warnings: unordered(&self.total)
                .into_iter()
                .chain(self.arguments.wants_flows().then(|| unlisted(&self.total, &self.flows)).flatten())
                .collect(),
        }
    }
}

/// The source of the first packet between each pair of addresses, the lower one first.
#[derive(Default)]
struct Directions(HashMap<[Address; 2], Address>);

impl Directions {
    /// More pairs than these are not remembered.
    const MOST: usize = 1 << 16;

    /// The source of earlier packets that went the other way between these addresses.
    fn opposite(&mut self, key: &FlowKey) -> Option<Address> {
        let mut pair = [key.source, key.destination];
        pair.sort_unstable();
        match self.0.get(&pair) {
            Some(&first) => (first != key.source).then_some(first),
            None => {
                if self.0.len() < Self::MOST {
                    self.0.insert(pair, key.source);
                }
                None
            }
        }
    }
}

/// `dwell owd sketch`.
pub(super) fn sketch(arguments: &SketchArguments, signals: &Signals) -> Result<ExitCode, Failure> {
    if arguments.point.weights.is_some() && !arguments.flows {
        return Err(Failure::Usage("--weights needs --flows".to_owned()));
    }
    if arguments.point.nat && arguments.flows {
        let words = "with --nat a flow has other addresses at the other point: leave --flows away, or compare packets";
        return Err(Failure::Usage(format!("{words} (dwell owd --nat --flows)")));
    }
    output::check_apart([&arguments.capture].into_iter().chain(&arguments.point.weights), [&arguments.output])?;
    let weights = Weights::new(&arguments.point, signals.stop())?;
    let flow_bytes = arguments.flows.then_some(arguments.flow_bytes);
    let params = params(arguments.sketch_bytes, flow_bytes, &weights, &arguments.expected, &arguments.point)?;
    let mut flows = FlowList::new(if arguments.flows { MOST_LISTED } else { 0 });
    let mut cutter = cutter(&params, &arguments.point, arguments.shift)?;
    let ways = Ways::asked(&arguments.point.from, false);
    let mut directions = arguments.point.from.is_empty().then(Directions::default);
    let reading = arguments.point.reading(None);
    let mut point = Point::open(&arguments.capture, &reading, &ways, Nanos::ZERO, signals.stop())?;
    let mut to = Output::file(&arguments.output)?;
    let mut progress = Reading::of_bytes(point.progress().0);
    let mut packets = 0u64;
    while let Some(seen) = point.peek() {
        let opposite = |(directions, key): (&mut Directions, FlowKey)| Some((directions.opposite(&key)?, key.source));
        if let Some((one, other)) = directions.as_mut().zip(point.key()).and_then(opposite) {
            let name = arguments.capture.display();
            return Err(Failure::Usage(format!(
                "{name}: packets go from {one} to {other} and back, and sketches cannot tell directions apart: name the \
                 sender's side with --from PREFIX"
            )));
        }
        let class = weights.class(&seen, &point);
        let listed = flows.update(&seen.crossing, class, || point.flow_name());
        cutter.update_flow(&seen.crossing, class, listed);
        write(cutter.take(), &mut to)?;
        point.advance()?;
        packets += 1;
        progress.step(|| point.progress().1);
    }
    progress.end();
    cutter.end();
    write(cutter.take(), &mut to)?;
    if arguments.flows {
        to.write_all(&Message::Flows(flows).to_bytes())?;
    }
    to.finish()?;
    words::warn(&point.warnings());
    if packets == 0 {
        words::warn(&["no packet was sketched: is --from the sender's side?".to_owned()]);
    }
    if point.is_stopped() {
        words::warn(&[signals.warning()]);
    }
    Ok(signals.end(point.is_stopped(), point.damage.is_some()))
}

fn write(summaries: Vec<Summary>, to: &mut Output) -> Result<()> {
    for summary in summaries {
        to.write_all(&Message::Summary(summary).to_bytes())?;
    }
    Ok(())
}

/// `dwell owd join`.
pub(super) fn join(arguments: &JoinArguments) -> Result<ExitCode, Failure> {
    let inputs = [&arguments.sender, &arguments.receiver];
    output::check_different(inputs, "the sketches of two points")?;
    output::check_apart(inputs, arguments.output.paths())?;
    let mut warnings = Vec::new();
    let (sent, list) = read(&arguments.sender, &mut warnings)?;
    let (received, _) = read(&arguments.receiver, &mut warnings)?;
    let first = &sent[0].sketch;
    let foreign = foreign(first, &received[0].sketch);
    let has_flows = first.lds.is_some();
    let parameters = describe_sketch(first.lda.params(), first.lds.as_ref().map(Lds::params));
    let points = Points { sender: facts(&sent, None), receiver: facts(&received, None) };
    let all = || sent.iter().chain(&received);
    let start = all().map(|summary| summary.start.as_nanos()).min();
    let end = all().map(|summary| summary.end.as_nanos()).max();
    let bytes: usize = all().map(|summary| summary.sketch.state_bytes()).sum();

    let mut join = Join::all(sent, received);
    let joined = join.take();
    let (mut total, mut means) = (Combined::default(), FlowMeans::default());
    for joined in &joined {
        total.add(joined);
        if let Some(flows) = &joined.flows {
            means.add(flows, &list);
        }
    }
    let mut flows = flows(&means, &list);
    flows.truncate(arguments.top);
    if join.duplicates() > 0 {
        warnings.push(format!("{} messages came twice", join.duplicates()));
    }

    let line = Line::from(&total);
    let span = start.zip(end).map(|(start, end)| Span { start, end });
    let doubts = || super::not_joined(&line, span, None).or_else(|| super::doubts(&line, false, None).map(said));
    warnings.extend(foreign.or_else(doubts));
    warnings.extend(unordered(&total));
    if has_flows {
        warnings.extend(unlisted(&total, &list));
    }

    let mut outputs = Outputs::open(&arguments.output, arguments.intervals)?;
    outputs.take(joined.iter().map(Interval::from).collect())?;
    outputs.finish(OwdReport {
        schema: SCHEMA,
        sources: inputs.map(|path| path.display().to_string()),
        warnings,
        span_ns: span,
        frames: None,
        points: Points { receiver: PointFacts { unsent: Some(join.unjoined()), ..points.receiver }, ..points },
        memory: Memory { budget_bytes: None, state_bytes: bytes as u64 },
        method: MethodFacts { name: "lda", exact: false, parameters },
        clock_offset_ns: None,
        flows,
        total: line,
        reverse: None,
        intervals: Vec::new(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Whether packets change their order so much that sketches suffer.
fn unordered(total: &Combined) -> Option<String> {
    let &Combined { intervals, unordered, .. } = total;
    (unordered > intervals / 4).then(|| {
        format!(
            "in {unordered} of {intervals} intervals more packets arrived than were sent: some change their order around borders, \
             or are doubled, and sketches err by more than they say: longer intervals (--interval) suffer less, and comparing \
             packets (--method auto) does not"
        )
    })
}

/// Whether the sender's list lacks flows: one that it has no room for, or all.
fn unlisted(total: &Combined, list: &FlowList) -> Option<String> {
    let listed: u64 = list.records().iter().map(|record| record.packets).sum();
    let missing = Line::from(total).sent.saturating_sub(listed);
    if list.records().is_empty() && missing > 0 {
        return Some("flows were sketched, but the sender's list of them is missing: none is told".to_owned());
    }
    (missing > 0).then(|| {
        format!(
            "{missing} packets are of flows beyond the first {}, which are not told: intervals of flows are wider for them",
            list.records().len()
        )
    })
}

/// What is doubted, where nothing can be set any more.
fn said(doubt: Doubt) -> String {
    match doubt {
        Doubt::TooEarly | Doubt::SomeTooEarly => {
            "packets arrived before they were sent: the points are in the wrong order, or their clocks disagree"
                .to_owned()
        }
        doubt => doubt.to_string(),
    }
}

/// How two sketches differ in what they were made with.
fn foreign(sent: &Sketch, received: &Sketch) -> Option<String> {
    let [ours, theirs] = [sent, received].map(|sketch| (sketch.lda.params(), sketch.lds.as_ref().map(Lds::params)));
    let seeds = [ours.0.seed, theirs.0.seed];
    if seeds[0] != seeds[1] {
        return Some(format!("the sketches were made with different seeds (--seed {} and {})", seeds[0], seeds[1]));
    }
    (ours != theirs).then(|| {
        "the sketches were made with different parameters: --sketch-bytes, --packets-per-interval, --loss, --longest, \
         --flows, --flow-bytes and --weights must be the same at both points"
            .to_owned()
    })
}

fn facts(summaries: &[Summary], unsent: Option<u64>) -> PointFacts {
    let packets = summaries.iter().map(|summary| summary.sketch.lda.packets()).sum();
    PointFacts { packets, unsent, ..PointFacts::default() }
}

/// The sound messages of a file: intervals in the order of their numbers, at least one, and flows.
fn read(path: &Path, warnings: &mut Vec<String>) -> Result<(Vec<Summary>, FlowList)> {
    let name = path.display();
    let bytes = std::fs::read(path).with_context(|| name.to_string())?;
    let (mut summaries, mut flows, mut damaged, mut first) = (Vec::new(), FlowList::default(), 0, None);
    for message in Messages::new(&bytes) {
        match message {
            Ok(Message::Summary(summary)) => summaries.push(summary),
            Ok(Message::Flows(list)) => flows = list,
            Err(error) => {
                damaged += 1;
                first = first.or(Some(error));
            }
        }
    }
    if summaries.is_empty() {
        let found = first.map_or_else(|| "an empty file".to_owned(), |error| error.to_string());
        bail!("{name}: expected sketches made by dwell owd sketch: {found}");
    }
    if let Some(error) = first {
        warnings.push(format!("{name}: {} damaged, the first: {error}", words::are(damaged, "message")));
    }
    summaries.sort_by_key(|summary| summary.number);
    Ok((summaries, flows))
}
