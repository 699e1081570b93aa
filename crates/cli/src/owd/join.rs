//! `dwell owd join`: joins the sketches of two points.

use super::Outputs;
use super::arguments::JoinArguments;
use super::sketches::{describe_sketch, flows};
use super::warnings::{foreign, of_joined, of_results, read_otherwise};
use crate::Failure;
use anyhow::{Context, Result, bail};
use dwell_capture::{CaptureFile, Name};
use dwell_report::facts::{Memory, MethodFacts, Span};
use dwell_report::owd::{Interval, Line, OwdReport, PointFacts, Points, SCHEMA};
use dwell_report::text;
use dwell_sketch::codec::CodecError;
use dwell_sketch::lds::Lds;
use dwell_sketch::summary::{FlowList, FlowMeans, Join, Message, Messages, Summary};
use dwell_types::Nanos;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// `dwell owd join`.
pub(super) fn join(arguments: &JoinArguments) -> Result<ExitCode, Failure> {
    arguments.check()?;
    let mut warnings = Vec::new();
    let (sent, list) = read(&arguments.sender, &mut warnings)?;
    let (received, _) = read(&arguments.receiver, &mut warnings)?;
    let is_whole = warnings.is_empty();
    let first = &sent[0].sketch;
    let foreign = foreign(first, &received[0].sketch);
    let read_otherwise = read_otherwise(sent[0].origin, received[0].origin);
    let lengths = [&sent, &received].map(|summaries| usual_length(summaries));
    let numbers = [&sent, &received].map(Vec::len);
    let has_flows = first.lds.is_some();
    let parameters = describe_sketch(first.lda.params(), first.lds.as_ref().map(Lds::params));
    let points = Points { sender: facts(&sent), receiver: facts(&received) };
    let all = || sent.iter().chain(&received);
    let start = all().map(|summary| summary.start.as_nanos()).min();
    let end = all().map(|summary| summary.end.as_nanos()).max();
    let bytes: usize = all().map(|summary| summary.sketch.state_bytes()).sum();

    let mut join = Join::all(sent, received);
    let joined = join.take();
    let (total, mut means) = (join.total(), FlowMeans::default());
    for joined in &joined {
        if let Some(flows) = &joined.flows {
            means.add(flows, &list);
        }
    }
    let mut flows = flows(&means, &list);
    flows.truncate(arguments.top);
    arguments.sort.sort(&mut flows);
    let line = Line::from(&total);
    let span = start.zip(end).map(|(start, end)| Span { start, end });
    if let Some(foreign) = foreign {
        warnings.push(foreign);
    } else {
        warnings.extend(of_joined(&line, span, is_whole.then_some((numbers, lengths))));
    }
    warnings.extend(read_otherwise);
    warnings.extend(of_results(&total, has_flows.then_some((&means, &list))));

    let mut outputs = Outputs::open(&arguments.output, None, None, arguments.intervals)?;
    outputs.take(joined.iter().map(Interval::from).collect())?;
    outputs.finish(OwdReport {
        schema: SCHEMA,
        sources: arguments.inputs().map(|path| path.display().to_string()),
        warnings,
        span_ns: span,
        frames: None,
        points: Points { receiver: PointFacts { unsent: Some(join.unjoined()), ..points.receiver }, ..points },
        memory: Memory { budget_bytes: None, state_bytes: bytes as u64 },
        method: MethodFacts { name: "lda", exact: false, parameters },
        clock_offset_ns: None,
        clock_drift: None,
        flows,
        order: arguments.sort,
        total: line,
        reverse: None,
        intervals: Vec::new(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The median length of the intervals of a point.
fn usual_length(summaries: &[Summary]) -> Nanos {
    let mut lengths: Vec<Nanos> = summaries.iter().map(|summary| summary.end - summary.start).collect();
    lengths.sort_unstable();
    lengths[lengths.len() / 2]
}

fn facts(summaries: &[Summary]) -> PointFacts {
    let packets = summaries.iter().map(|summary| summary.sketch.lda.packets()).fold(0, u64::saturating_add);
    PointFacts { packets, ..PointFacts::default() }
}

/// The messages of a file.
#[derive(Default)]
struct Contents {
    summaries: Vec<Summary>,
    flows: FlowList,
    /// How many are damaged, and what is wrong with the first of them.
    damaged: u64,
    first_error: Option<CodecError>,
}

/// The intervals of a file in the order of their numbers, at least one, and its flows; warns of what it lacks.
fn read(path: &Path, warnings: &mut Vec<String>) -> Result<(Vec<Summary>, FlowList)> {
    let name = Name(path);
    let Contents { mut summaries, flows, damaged, first_error } = contents(path)?;
    if let Some(error) = first_error {
        warnings.push(format!("{name}: {} damaged and ignored, the first: {error}", text::are(damaged, "message")));
    }
    summaries.sort_by_key(|summary| summary.number);
    let all = summaries.len();
    summaries.dedup_by_key(|summary| summary.number);
    if summaries.len() < all {
        warnings.push(format!("{name}: {} duplicate messages were ignored", all - summaries.len()));
    }
    let known = (summaries.len() as u64).saturating_add(damaged);
    let missing = summaries[summaries.len() - 1].number.saturating_add(1).saturating_sub(known);
    if missing > 0 {
        warnings
            .push(format!("{name}: {} missing, and what it belongs to is not joined", text::are(missing, "message")));
    }
    let strange = summaries.iter().filter(|summary| foreign(&summaries[0].sketch, &summary.sketch).is_some()).count();
    if strange > 0 {
        warnings.push(format!(
            "{name}: {} of another seed or other parameters (--seed, --sketch-bytes) than the first, and not joined",
            text::are(strange as u64, "message")
        ));
    }
    Ok((summaries, flows))
}

/// What a file holds, which must be at least one interval.
fn contents(path: &Path) -> Result<Contents> {
    /// How many bytes are read at a time. One of the first of them begins a message.
    const PIECE: u64 = 1 << 20;
    let name = Name(path);
    let mut file = File::open(path).with_context(|| name.to_string())?;
    let (mut found, mut messages, mut beginning) = (Contents::default(), Messages::default(), Vec::new());
    loop {
        let mut piece = Vec::new();
        let has_ended = file.by_ref().take(PIECE).read_to_end(&mut piece).with_context(|| name.to_string())? == 0;
        if has_ended {
            messages.end();
        }
        messages.push(&piece);
        for message in &mut messages {
            match message {
                Ok(Message::Summary(summary)) => found.summaries.push(summary),
                Ok(Message::Flows(list)) => found.flows = list,
                Err(error) => {
                    found.damaged += 1;
                    found.first_error.get_or_insert(error);
                }
            }
        }
        if beginning.is_empty() {
            beginning = piece;
        }
        if has_ended || found.summaries.is_empty() && messages.is_lost() {
            break;
        }
    }
    if !found.summaries.is_empty() {
        return Ok(found);
    }
    if CaptureFile::open(path, &*beginning).is_ok() {
        bail!("{name}: expected sketches made by dwell owd sketch, found a capture; dwell owd compares captures");
    }
    let found = found.first_error.map_or_else(|| "an empty file".to_owned(), |error| error.to_string());
    bail!("{name}: expected sketches made by dwell owd sketch: {found}")
}
