//! `dwell owd`: one-way delay and loss between two points, whose packets are merged in the order of time.

use crate::Failure;
use crate::frames::frames;
use crate::points::{Beginning, Merged, Point};
use crate::signals::Signals;
use anyhow::Result;
use dwell_capture::InputState;
use dwell_report::facts::{Memory, MethodFacts};
use dwell_report::owd::{OwdReport, PointFacts, Points, SCHEMA};
use dwell_types::Nanos;
use std::ops::ControlFlow;
use std::process::ExitCode;

// The command-line arguments.
mod arguments;
pub(crate) use arguments::{Arguments, LONGEST, PointArguments, SKETCH_BYTES, longest_flag};
use arguments::{Method, Step};
// Both points.
mod pair;
pub(crate) use pair::{Next, Pair, follow};
// Weights of flows in sketches.
mod weights;
// What a way of comparing points does and answers.
mod comparer;
use comparer::{Answer, Comparer};
// The two ways: packet by packet, or by sketches.
mod packets;
use packets::Packets;
mod sketches;
use sketches::Sketches;
pub(crate) use sketches::{LOST, memory_flag};
// `owd sketch` sketches one point, `owd join` joins the sketches of two.
mod join;
mod sketch;
// Output files.
mod outputs;
use outputs::Outputs;
// Warnings about captures with gaps, and about an answer.
mod gaps;
use gaps::Gaps;
mod warnings;
pub(crate) use warnings::of_comparison;

pub(crate) fn run(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    match &arguments.step {
        None => measure(arguments, signals),
        Some(Step::Sketch(arguments)) => sketch::sketch(arguments, signals),
        Some(Step::Join(arguments)) => join::join(arguments),
    }
}

fn measure(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    arguments.check()?;
    let pair = arguments.pair();
    let beginning = pair.look(signals)?;
    let mut points = pair.open(&beginning.directions, arguments.group, signals)?;
    let (mut comparer, ahead): (Box<dyn Comparer>, _) = match arguments.method {
        Method::Auto | Method::Exact => {
            let ahead = ahead(arguments, &beginning);
            (Box::new(Packets::new(arguments, &beginning.directions, ahead)?), ahead)
        }
        Method::Lda => (Box::new(Sketches::new(arguments, &beginning, signals)?), Nanos::ZERO),
    };
    let Arguments { output, plot_cdf, samples, .. } = arguments;
    let mut outputs = Outputs::open(output, plot_cdf.as_ref(), samples.as_deref(), arguments.point.interval.is_some())?;
    let mut gaps = Gaps::default();
    let packets = follow(&mut points, ahead, |step| {
        let has_results = match step {
            Next::Packet(side, seen, point) => {
                gaps.see(side, seen.crossing.at);
                comparer.update(side, seen, point)
            }
            Next::End(side, until) => {
                comparer.end(side, until);
                true
            }
        };
        if has_results {
            outputs.write_samples(&comparer.take_samples())?;
            outputs.take(comparer.take_intervals())?;
        }
        Ok(if has_results && outputs.samples.has_failed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    let answer = comparer.answer(&points[0]);
    outputs.write_samples(&comparer.take_samples())?;
    outputs.take(comparer.take_intervals())?;
    let mut warnings = points.warnings();
    // What became of packets on the way says more than where they were going.
    warnings.extend(beginning.unexamined());
    warnings.extend(warnings::of(arguments, &points, &pair.paths, packets, &answer));
    let gaps = gaps.warnings(&pair.paths, &answer);
    let is_whole = points.truncated().is_none();
    warnings.extend(beginning.unreached().filter(|_| is_whole));
    warnings.extend(beginning.bypassing().filter(|_| is_whole && gaps.is_empty()));
    warnings.extend(gaps);
    warnings.extend(signals.warning(points.is_stopped()));
    warnings.extend(outputs.samples.warning());
    let code = signals.end(points.is_stopped(), points.is_damaged() || outputs.samples.has_failed());
    outputs.finish(report(arguments, &pair, &points, packets, answer, warnings))?;
    Ok(code)
}

/// How far the receiver's clock is ahead, for the order of packets: not so far that none of them can arrive.
fn ahead(arguments: &Arguments, beginning: &Beginning) -> Nanos {
    let ahead = beginning.ahead(arguments.clock_offset);
    if ahead.get().saturating_abs() < arguments.point.longest.get() { ahead } else { Nanos::ZERO }
}

/// The report without its intervals; `packets` are those that were seen at the points.
fn report(
    arguments: &Arguments,
    pair: &Pair<'_>,
    points: &Merged,
    packets: [u64; 2],
    answer: Answer,
    warnings: Vec<String>,
) -> OwdReport {
    let [sent, received] = packets;
    let (mut flows, order) = (answer.flows, arguments.sort.unwrap_or_default());
    order.sort(&mut flows);
    OwdReport {
        schema: SCHEMA,
        sources: pair.paths.each_ref().map(|path| path.display().to_string()),
        warnings,
        span_ns: points.span(),
        frames: points.frames(),
        points: Points {
            sender: facts(&points[0], sent, answer.unsent[0], answer.duplicates[0]),
            receiver: facts(&points[1], received, answer.unsent[1], answer.duplicates[1]),
        },
        memory: Memory {
            budget_bytes: (arguments.method != Method::Exact).then_some(arguments.memory as u64),
            state_bytes: answer.state_bytes as u64,
        },
        method: MethodFacts { name: arguments.method.name(), exact: answer.is_exact, parameters: answer.parameters },
        clock_offset_ns: answer.clock_offset.filter(|offset| offset.low <= offset.high),
        clock_drift: answer.clock_drift,
        total: answer.total,
        reverse: answer.reverse,
        intervals: Vec::new(),
        flows,
        order,
    }
}

fn facts(point: &Point, packets: u64, unsent: Option<u64>, duplicates: Option<u64>) -> PointFacts {
    PointFacts {
        frames: point.frames().map(frames),
        packets,
        elsewhere: Some(point.elsewhere()),
        cut: Some(point.cut()),
        unsent,
        duplicates,
    }
}
