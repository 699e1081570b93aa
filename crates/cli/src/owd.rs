//! `dwell owd`: how long does one way take, and how much is lost? Two points, merged in the order of time.

use crate::Failure;
use crate::output::Output;
use crate::rtt::progress;
use dwell_report::facts::{Frames, Memory, Method as MethodFacts, Parameter, Span};
use dwell_report::json;
use dwell_report::owd::{self as report, ClockOffset, Flow, Interval, Line, OwdReport, PointFacts, Points, SCHEMA};
use dwell_report::plot;
use dwell_sketch::owd::{OwdMeter, Point as At, Settings, SettingsError};
use dwell_types::{Nanos, Timestamp};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

// What is asked.
mod arguments;
pub(crate) use arguments::Arguments;
use arguments::{Format, Method};
// What a point saw.
mod points;
use points::{Point, Ways};
// Which packets go which way.
mod directions;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    arguments.check()?;
    let [sender, receiver] = arguments.paths();
    let ways = directions::ways(arguments)?;
    let mut sender = Point::open(sender, arguments, &ways, Nanos::ZERO)?;
    let mut receiver = Point::open(receiver, arguments, &ways, Nanos::new(-arguments.clock_offset.get()))?;
    let mut meters = Meters::new(arguments, ways)?;
    let mut output = match &arguments.output {
        Some(path) => Output::file(path)?,
        None => Output::stdout(),
    };
    let mut plot = match &arguments.plot {
        Some((path, image)) => Some((Output::file(path)?, *image)),
        None => None,
    };
    let progress = progress(both(sender.progress().0, receiver.progress().0));
    let mut intervals = Intervals::new(arguments);
    let mut packets = 0u64;

    while let Some((at, point)) = next(&mut sender, &mut receiver) {
        meters.update(at, point);
        point.advance()?;
        if point.at().is_none() {
            meters.end(at);
        }
        intervals.take(&mut meters.forward, &mut output)?;
        packets += 1;
        if packets & 0xffff == 0 {
            progress.set_position(sender.progress().1 + receiver.progress().1);
        }
    }

    progress.finish_and_clear();
    meters.forward.end();
    if let Some(reverse) = &mut meters.reverse {
        reverse.end();
    }
    intervals.take(&mut meters.forward, &mut output)?;
    let mut report = meters.report(arguments, &sender, &receiver, intervals.done);
    if let Some((to, image)) = &mut plot {
        plot::write_owd(&report, *image, to)?;
    }
    match arguments.format {
        Format::Table => {
            if arguments.interval.is_none() {
                report.intervals.clear();
            }
            report::table::write(&report, &mut output)?;
        }
        Format::Json => json::write(&report, &mut output)?,
        Format::Jsonl => {
            report.intervals.clear();
            json::write_line(&report, &mut output)?;
        }
        Format::Csv => report::csv::write(&report, &mut output)?,
        Format::Openmetrics => report::openmetrics::write(&report, &mut output)?,
    }
    output.finish()?;
    if let Some((to, _)) = plot {
        to.finish()?;
    }
    let is_damaged = sender.damage.is_some() || receiver.damage.is_some();
    Ok(if is_damaged { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The intervals so far: written as they end, or kept for the end.
struct Intervals {
    is_written: bool,
    is_kept: bool,
    done: Vec<Interval>,
}

impl Intervals {
    fn new(arguments: &Arguments) -> Self {
        let is_written = arguments.format == Format::Jsonl;
        Self { is_written, is_kept: !is_written || arguments.plot.is_some(), done: Vec::new() }
    }

    fn take(&mut self, meter: &mut OwdMeter, to: &mut Output) -> io::Result<()> {
        for interval in meter.take_intervals().iter().map(Interval::from) {
            if self.is_written {
                json::write_line(&interval, to)?;
                to.flush()?;
            }
            if self.is_kept {
                self.done.push(interval);
            }
        }
        Ok(())
    }
}

/// The point whose next packet is the earlier one.
fn next<'a>(sender: &'a mut Point, receiver: &'a mut Point) -> Option<(At, &'a mut Point)> {
    match (sender.at(), receiver.at()) {
        (None, None) => None,
        (Some(_), None) => Some((At::Sender, sender)),
        (Some(sent), Some(received)) if sent <= received => Some((At::Sender, sender)),
        (_, Some(_)) => Some((At::Receiver, receiver)),
    }
}

fn both(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a? + b?)
}

/// One meter for each direction.
struct Meters {
    forward: OwdMeter,
    reverse: Option<OwdMeter>,
    /// Names of the flows that have a number, in this order.
    flows: Vec<String>,
    /// Packets that were compared, at the sender and at the receiver.
    packets: [u64; 2],
    ways: Ways,
}

/// The most flows that get an answer of their own in as much memory as it takes.
const MOST_FLOWS: usize = 1 << 16;

impl Meters {
    fn new(arguments: &Arguments, ways: Ways) -> Result<Self, Failure> {
        let memory = (arguments.method == Method::Auto).then_some(if arguments.reverse {
            arguments.memory / 2
        } else {
            arguments.memory
        });
        let flows = match memory {
            _ if !arguments.wants_flows() => 0,
            Some(memory) => (memory / 4 / (OwdMeter::FLOW_BYTES + FLOW_NAME_BYTES)).clamp(1, MOST_FLOWS),
            None => MOST_FLOWS,
        };
        let meter = |interval, flows: usize| {
            let memory = memory.map(|memory| memory.saturating_sub(flows * FLOW_NAME_BYTES));
            OwdMeter::new(&Settings { memory, longest: arguments.longest, interval, flows, seed: arguments.seed })
        };
        let small = |SettingsError { needed }| {
            let whole = if ways.has_back() { 2 * needed } else { needed } + flows * FLOW_NAME_BYTES;
            Failure::Usage(format!(
                "--memory of {} bytes is too small: {}KiB would do",
                arguments.memory,
                whole.div_ceil(1024)
            ))
        };
        Ok(Self {
            forward: meter(Some(arguments.interval()), flows).map_err(small)?,
            reverse: if ways.has_back() { Some(meter(None, 0).map_err(small)?) } else { None },
            flows: Vec::new(),
            packets: [0; 2],
            ways,
        })
    }

    /// Takes the next packet of a point. What is the sender for one direction is the receiver for the other.
    fn update(&mut self, at: At, point: &Point) {
        let Some(seen) = point.peek() else { return };
        self.packets[at as usize] += 1;
        match &mut self.reverse {
            Some(reverse) if seen.is_reverse => {
                reverse.update(opposite(at), &seen.crossing);
            }
            _ => {
                if self.forward.update(at, &seen.crossing) {
                    self.flows.push(point.flow_name());
                }
            }
        }
    }

    /// A point has ended.
    fn end(&mut self, at: At) {
        match at {
            At::Receiver => self.forward.end_receiver(),
            At::Sender => {
                if let Some(reverse) = &mut self.reverse {
                    reverse.end_receiver();
                }
            }
        }
    }

    fn report(&self, arguments: &Arguments, sender: &Point, receiver: &Point, intervals: Vec<Interval>) -> OwdReport {
        let totals = self.forward.total();
        let reverse = self.reverse.as_ref().map(OwdMeter::total);
        let total = Line::from(&totals);
        let reversed = reverse.as_ref().map(Line::from);
        let clock_offset_ns = reversed.as_ref().and_then(|reversed| {
            let (there, back) = (total.delay_ns.min?, reversed.delay_ns.min?);
            Some(ClockOffset { low: -back.value, high: there.value })
        });
        let unsent = |unsent: f64| Some(unsent.round() as u64);
        let points = Points {
            sender: self.point(sender, At::Sender, reverse.as_ref().and_then(|r| unsent(r.unsent))),
            receiver: self.point(receiver, At::Receiver, unsent(totals.unsent)),
        };
        let warnings = warnings(sender, receiver, &total, self.reverse.is_some());
        for warning in &warnings {
            eprintln!("dwell: warning: {warning}");
        }
        let meters = || std::iter::once(&self.forward).chain(&self.reverse);
        let names: usize = self.flows.iter().map(|name| name.capacity() + size_of::<String>()).sum();
        OwdReport {
            schema: SCHEMA,
            sources: arguments.paths().map(|path| path.display().to_string()),
            warnings,
            span_ns: span(sender.span, receiver.span),
            frames: both_frames(points.sender.frames.as_ref(), points.receiver.frames.as_ref()),
            points,
            memory: Memory {
                budget_bytes: (arguments.method == Method::Auto).then_some(arguments.memory as u64),
                state_bytes: (meters().map(OwdMeter::state_bytes).sum::<usize>() + names) as u64,
            },
            method: MethodFacts {
                name: arguments.method.name(),
                exact: meters().all(OwdMeter::is_exact),
                parameters: self.parameters(arguments),
            },
            clock_offset_ns,
            total,
            reverse: reversed,
            intervals,
            flows: self.flows(arguments),
        }
    }

    fn point(&self, point: &Point, at: At, unsent: Option<u64>) -> PointFacts {
        PointFacts {
            frames: point.frames().map(|frames| Frames {
                total: frames.total,
                decoded: frames.decoded(),
                rejected: frames
                    .rejected()
                    .filter(|&(_, count)| count > 0)
                    .map(|(reason, count)| (reason.name(), count))
                    .collect(),
            }),
            packets: self.packets[at as usize],
            elsewhere: point.elsewhere,
            cut: point.cut(),
            unsent,
        }
    }

    fn flows(&self, arguments: &Arguments) -> Vec<Flow> {
        let most = if arguments.flow.is_some() { usize::MAX } else { arguments.top };
        let name = |number: usize| match number.checked_sub(1) {
            Some(index) => self.flows.get(index).map_or("other", String::as_str),
            None => "other",
        };
        let is_wanted = |name: &str| arguments.flow.as_ref().is_none_or(|part| name.contains(part.as_str()));
        let answers = self.forward.flows(most);
        let named = answers.iter().map(|answer| (answer, name(answer.number)));
        named.filter(|(_, name)| is_wanted(name)).map(|(answer, name)| Flow::new(answer, name.to_owned())).collect()
    }

    fn parameters(&self, arguments: &Arguments) -> BTreeMap<&'static str, Parameter> {
        let mut parameters = BTreeMap::new();
        parameters.insert("seed", Parameter::Integer(arguments.seed));
        parameters.insert("longest_ns", Parameter::Integer(arguments.longest.get().unsigned_abs()));
        if !self.forward.is_exact() {
            parameters.insert("sampling", Parameter::Real(self.forward.sampling()));
        }
        if arguments.clock_offset != Nanos::ZERO {
            parameters.insert("clock_offset", Parameter::Text(arguments.clock_offset.to_string()));
        }
        if !arguments.crossings {
            parameters.insert("payload_bytes", Parameter::Integer(arguments.payload_bytes as u64));
        }
        if arguments.nat {
            parameters.insert("nat", Parameter::Text("yes".to_owned()));
        }
        if !self.ways.from.is_empty() {
            let from: Vec<String> = self.ways.from.iter().map(ToString::to_string).collect();
            parameters.insert("from", Parameter::Text(from.join(",")));
        }
        if let Some(group) = arguments.group {
            parameters.insert("group", Parameter::Text(group.to_string()));
        }
        parameters
    }
}

/// What the name of a flow takes, at most: two IPv6 addresses with ports.
const FLOW_NAME_BYTES: usize = 128;

const fn opposite(at: At) -> At {
    match at {
        At::Sender => At::Receiver,
        At::Receiver => At::Sender,
    }
}

fn span(sender: Option<(Timestamp, Timestamp)>, receiver: Option<(Timestamp, Timestamp)>) -> Option<Span> {
    let spans = || [sender, receiver].into_iter().flatten();
    let start = spans().map(|span| span.0.as_nanos()).min()?;
    let end = spans().map(|span| span.1.as_nanos()).max()?;
    Some(Span { start, end })
}

fn both_frames(sender: Option<&Frames>, receiver: Option<&Frames>) -> Option<Frames> {
    let mut sum = sender?.clone();
    let receiver = receiver?;
    sum.total += receiver.total;
    sum.decoded += receiver.decoded;
    for (reason, count) in &receiver.rejected {
        *sum.rejected.entry(reason).or_default() += count;
    }
    Some(sum)
}

/// What the answer itself says about the question.
fn warnings(sender: &Point, receiver: &Point, total: &Line, has_reverse: bool) -> Vec<String> {
    let mut warnings = sender.warnings();
    warnings.extend(receiver.warnings());
    if total.sent > 0 && total.effective_samples == 0 {
        warnings.push(
            "no packet was seen at both points: are these captures of the same traffic at the same time, with the same \
             addresses (--nat), and clocks that agree (--longest, --clock-offset)?"
                .to_owned(),
        );
        return warnings;
    }
    let d = &total.delay_ns;
    let (Some(min), Some(max)) = (d.min, d.max) else { return warnings };
    if max.value < 0 {
        warnings.push(
            "every packet arrived before it was sent: the captures are in the wrong order (--swap), or the clocks \
             disagree (--clock-offset)"
                .to_owned(),
        );
    } else if min.value < 0 && !has_reverse {
        warnings.push(
            "some packets arrived before they were sent: the captures hold both directions (name the sender's side with \
             --from PREFIX), or the clocks disagree (--clock-offset)"
                .to_owned(),
        );
    }
    warnings
}
