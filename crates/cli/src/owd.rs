//! `dwell owd`: how long does one way take, and how much is lost? Two points, merged in the order of time.

use crate::Failure;
use crate::frames::frames;
use crate::output::Output;
use crate::points::{Point, Seen};
use crate::signals::Signals;
use crate::words::{self, Plain};
use anyhow::Result;
use dwell_report::facts::{Frames, Memory, Method as MethodFacts, Parameter, Span};
use dwell_report::json;
use dwell_report::owd::{self as report, ClockOffset, Flow, Interval, Line, OwdReport, PointFacts, Points, SCHEMA};
use dwell_report::plot::{self, Image};
use dwell_sketch::owd::Point as At;
use dwell_types::{Nanos, Timestamp};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

// What is asked.
mod arguments;
pub(crate) use arguments::{Arguments, PointArguments};
use arguments::{Format, Method, OutputArguments, Step};
// Both points, in the order of time.
mod merged;
pub(crate) use merged::{Merged, Pair, Passing};
// What packets of each flow count.
mod weights;
// Comparing two points: packet by packet, or by sketches.
mod packets;
use packets::Packets;
mod sketches;
use sketches::Sketches;
pub(crate) use sketches::{LOST, MOST_LISTED};

pub(crate) fn run(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    match &arguments.step {
        None => compare(arguments, signals),
        Some(Step::Sketch(arguments)) => sketches::sketch(arguments, signals),
        Some(Step::Join(arguments)) => sketches::join(arguments),
    }
}

fn compare(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    arguments.check()?;
    let pair = arguments.pair();
    let beginning = pair.look(signals)?;
    let ways = &beginning.ways;
    let mut points = pair.open(ways, arguments.group, signals)?;
    let mut comparison: Box<dyn Comparison> = match arguments.method {
        Method::Auto | Method::Exact => Box::new(Packets::new(arguments, ways)?),
        Method::Lda => Box::new(Sketches::new(arguments, &beginning, signals)?),
    };
    let mut outputs = Outputs::open(&arguments.output, arguments.point.interval.is_some())?;
    let [sent, received] = points.follow(|step| {
        match step {
            Passing::Packet(at, seen, point) => comparison.update(at, seen, point),
            Passing::End(at) => comparison.end(at),
        }
        outputs.take(comparison.take_intervals())
    })?;
    let answer = comparison.answer();
    outputs.take(comparison.take_intervals())?;
    let mut warnings = points.warnings();
    let span = span([points.sender.span, points.receiver.span]);
    let doubts = || {
        let doubt = doubts(&answer.total, answer.reverse.is_some(), Some(arguments.point.longest))?;
        let is_half_named = doubt == Doubt::NothingInCommon && arguments.point.nat && !arguments.point.from.is_empty();
        Some(if is_half_named { UNTRANSLATED.to_owned() } else { doubt.to_string() })
    };
    warnings.extend(match arguments.method {
        Method::Auto | Method::Exact => doubts(),
        Method::Lda => not_joined(&answer.total, span, Some(arguments.point.interval())).or_else(doubts),
    });
    warnings.extend(answer.warnings);
    warnings.extend(answer.clock_offset.and_then(disagreement));
    warnings.extend(without_delay(&answer.total));
    warnings.extend(points.is_stopped().then(|| signals.warning()));
    let code = points.code(signals);
    let Merged { sender, receiver } = points;
    let points = Points {
        sender: facts(&sender, sent, answer.unsent[0]),
        receiver: facts(&receiver, received, answer.unsent[1]),
    };
    outputs.finish(OwdReport {
        schema: SCHEMA,
        sources: pair.paths.each_ref().map(|path| path.display().to_string()),
        warnings,
        span_ns: span,
        frames: both_frames(&points),
        points,
        memory: Memory {
            budget_bytes: (arguments.method != Method::Exact).then_some(arguments.memory as u64),
            state_bytes: answer.state_bytes as u64,
        },
        method: MethodFacts { name: arguments.method.name(), exact: answer.is_exact, parameters: answer.parameters },
        clock_offset_ns: answer.clock_offset,
        total: answer.total,
        reverse: answer.reverse,
        intervals: Vec::new(),
        flows: answer.flows,
    })?;
    Ok(code)
}

/// A way to compare two points.
trait Comparison {
    /// Takes the next packet of a point.
    fn update(&mut self, at: At, seen: Seen, point: &Point);

    /// A point has ended.
    fn end(&mut self, at: At);

    /// The intervals that ended since this was last asked.
    fn take_intervals(&mut self) -> Vec<Interval>;

    /// Everything else, when both points have ended.
    fn answer(&mut self) -> Answer;
}

/// What a comparison says.
struct Answer {
    total: Line,
    reverse: Option<Line>,
    clock_offset: Option<ClockOffset>,
    flows: Vec<Flow>,
    /// Packets of the sender and of the receiver that the other one does not know.
    unsent: [Option<u64>; 2],
    is_exact: bool,
    state_bytes: usize,
    parameters: BTreeMap<&'static str, Parameter>,
    /// What the method found wrong.
    warnings: Vec<String>,
}

/// Where the report goes, and the intervals on their way there: written as they end, or kept for the end.
struct Outputs {
    report: Output,
    plot: Option<(Output, Image)>,
    format: Format,
    /// Whether the report names the intervals.
    has_intervals: bool,
    /// Those that are still needed at the end.
    intervals: Vec<Interval>,
}

impl Outputs {
    /// Opens every file, so that one that cannot be written is known before the work begins.
    fn open(arguments: &OutputArguments, has_intervals: bool) -> Result<Self> {
        Ok(Self {
            report: Output::open(arguments.output.as_deref())?,
            plot: Output::picture(arguments.plot.as_ref())?,
            format: arguments.format,
            has_intervals: match arguments.format {
                Format::Table => has_intervals,
                Format::Json | Format::Csv => true,
                Format::Jsonl | Format::Openmetrics => false,
            },
            intervals: Vec::new(),
        })
    }

    fn take(&mut self, intervals: Vec<Interval>) -> Result<()> {
        for interval in intervals {
            if self.format == Format::Jsonl {
                json::write_line(&interval, &mut self.report)?;
                self.report.flush()?;
            }
            if self.has_intervals || self.plot.is_some() {
                self.intervals.push(interval);
            }
        }
        Ok(())
    }

    /// Writes the report with its intervals.
    fn finish(mut self, mut report: OwdReport) -> Result<()> {
        words::warn(&report.warnings);
        report.intervals = std::mem::take(&mut self.intervals);
        if let Some((to, image)) = &mut self.plot {
            plot::write_owd(&report, *image, to)?;
        }
        if !self.has_intervals {
            report.intervals.clear();
        }
        let to = &mut self.report;
        match self.format {
            Format::Table => report::table::write(&report, &mut Plain(to))?,
            Format::Json => json::write(&report, to)?,
            Format::Jsonl => json::write_line(&report, to)?,
            Format::Csv => report::csv::write(&report, to)?,
            Format::Openmetrics => report::openmetrics::write(&report, to)?,
        }
        self.report.finish()?;
        match self.plot {
            Some((to, _)) => to.finish(),
            None => Ok(()),
        }
    }
}

/// The parameters that name packets.
fn describe(point: &PointArguments) -> BTreeMap<&'static str, Parameter> {
    let mut parameters = BTreeMap::new();
    parameters.insert("seed", Parameter::Integer(point.seed));
    parameters.insert("longest_ns", Parameter::Span(point.longest.get()));
    if !point.crossings {
        parameters.insert("payload_bytes", Parameter::Integer(point.payload_bytes as u64));
    }
    if point.nat {
        parameters.insert("nat", Parameter::Text("yes".to_owned()));
    }
    parameters
}

fn facts(point: &Point, packets: u64, unsent: Option<u64>) -> PointFacts {
    PointFacts { frames: point.frames().map(frames), packets, elsewhere: point.elsewhere, cut: point.cut(), unsent }
}

fn span(spans: [Option<(Timestamp, Timestamp)>; 2]) -> Option<Span> {
    let spans = || spans.into_iter().flatten();
    let start = spans().map(|span| span.0.as_nanos()).min()?;
    let end = spans().map(|span| span.1.as_nanos()).max()?;
    Some(Span { start, end })
}

fn both_frames(points: &Points) -> Option<Frames> {
    let mut sum = points.sender.frames.clone()?;
    sum.add(points.receiver.frames.as_ref()?);
    Some(sum)
}

/// What there is to say of sketches that could not be joined; the interval, where it is known.
fn not_joined(total: &Line, span: Option<Span>, interval: Option<Nanos>) -> Option<String> {
    if total.sent > 0 && total.uncovered == total.sent {
        let lasts = span.map_or(Nanos::ZERO, |span| Nanos::new(span.end.saturating_sub(span.start)));
        let short = interval.filter(|interval| lasts.get() / 2 < interval.get());
        return Some(match short {
            Some(interval) => format!(
                "no interval could be joined: the captures last {lasts}, less than two intervals of {interval}: set a shorter \
                 --interval"
            ),
            None => {
                "no interval could be joined: are these captures of the same traffic, with the same addresses (--nat)? \
                     Is --interval much longer than the delay?"
                    .to_owned()
            }
        });
    }
    (total.uncovered > total.sent / 4).then(|| {
        format!(
            "{} of {} packets are in intervals that could not be joined: longer ones (--interval) lose less, and so does a \
             receiver that knows how much later it sees packets (owd sketch --shift)",
            total.uncovered, total.sent
        )
    })
}

/// What the answer itself says about the question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    NothingInCommon,
    TooEarly,
    TooLate,
    SomeTooEarly,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingInCommon => {
                "no packet was seen at both points: are these captures of the same traffic at the same time, with the same \
                 addresses (--nat), and clocks that agree (--longest, --clock-offset)?"
            }
            Self::TooEarly => {
                "packets arrived before they were sent: the captures are in the wrong order (--swap), or the clocks \
                 disagree (--clock-offset)"
            }
            Self::TooLate => {
                "packets take longer than --longest on average: the clocks disagree (--clock-offset), and intervals that \
                 waited too long for their counterparts are left out"
            }
            Self::SomeTooEarly => {
                "some packets arrived before they were sent: the captures hold both directions (name the sender's side with \
                 --from PREFIX), or the clocks disagree (--clock-offset)"
            }
        })
    }
}

/// What to think of first where nothing is in common although addresses are known to be translated.
const UNTRANSLATED: &str = "no packet was seen at both points: --from must name the sender's side as either point sees it, with \
                            --nat also by the addresses that it is translated to";

fn doubts(total: &Line, is_both_ways: bool, longest: Option<Nanos>) -> Option<Doubt> {
    if total.sent > 0 && total.effective_samples == 0 {
        return (total.received == 0).then_some(Doubt::NothingInCommon);
    }
    let d = &total.delay_ns;
    if d.max.is_some_and(|max| max.value < 0) || d.max.is_none() && d.mean.is_some_and(|mean| mean.high < 0.0) {
        return Some(Doubt::TooEarly);
    }
    if d.mean.zip(longest).is_some_and(|(mean, longest)| mean.low > longest.get() as f64) {
        return Some(Doubt::TooLate);
    }
    (d.min.is_some_and(|min| min.value < 0) && !is_both_ways).then_some(Doubt::SomeTooEarly)
}

/// What delays of both directions say about the clocks, if they cannot both be true.
fn disagreement(ClockOffset { low, high }: ClockOffset) -> Option<String> {
    let (from, to) = (Nanos::new(low), Nanos::new(high));
    if low > high {
        return Some(format!(
            "the clocks ran apart by {} and more meanwhile, since delays of both directions cannot all be true: measure \
             shorter captures, or with clocks that are kept together",
            Nanos::new(low.saturating_sub(high))
        ));
    }
    (low > 0 || high < 0).then(|| {
        format!(
            "some packets arrived before they were sent: the clocks disagree, and the receiver's is ahead by {from} to \
             {to} (--clock-offset)"
        )
    })
}

/// Whether equal packets are so many that they are no accident.
fn without_delay(total: &Line) -> Option<String> {
    (total.ambiguous > total.received / 4).then(|| {
        format!(
            "{} of the {} packets that arrived equal others under way, and have no delay of their own: are packets captured \
             twice, as at mirror ports or on all interfaces (editcap -d removes the second ones)? Or does a generator send \
             one packet again and again?",
            total.ambiguous, total.received
        )
    })
}
