//! `dwell compare owd`: all methods for two points, on the user's own captures.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::{OutputArguments, check_sum};
use crate::Failure;
use crate::messages;
use crate::owd::{Next, Pair, PointArguments, follow, memory_flag, of_comparison};
use crate::points::Beginning;
use crate::signals::Signals;
use crate::units::{Memories, distinct, time_flag};
use clap::Args;
use dwell_capture::InputState;
use dwell_evaluate::compare::owd::{Method, OwdComparison, Recommended, Results, SCHEMA, Settings, table};
use dwell_report::json;
use dwell_report::text::size_flag;
use dwell_sketch::lda::{Expected, Params};
use dwell_sketch::owd::Side;
use dwell_types::Nanos;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

/// Which method between two points, in how much memory: all methods on your own captures, compared with the exact
/// result.
///
/// The captures are read as by dwell owd. Each interval passes through a pair of sketches per method, memory and seed;
/// the true values are those of --method exact. Seeds change the methods' hashes, not the packets.
#[derive(Args)]
#[command(
    mut_arg("interval", |interval| interval.help(
        "Length of the interval of a sketch, by time of sending. Default: 1s",
    )),
    mut_arg("from", |from| from.help(
        "Addresses or prefixes on the sender's side, such as 10.0.0.0/8: only packets from them to others are measured. \
         Default: the direction to the receiver, detected from the first packets",
    )),
    after_help = "\
lda: the sketch of dwell owd --method lda. The others are only compared, dwell owd does not have them. lda-paper: the \
paper's two banks. trajectory: a sample of packets, the same at both points. probes: active probes of 64 bytes, one per 64 bytes of memory and interval, at random (Poisson) times, \
delayed and lost like the packets behind them.

Examples:
  dwell compare owd sender.pcap receiver.pcap
  dwell compare owd a.pcap b.pcap --from 10.0.0.0/8 --interval 10s --memory 4KiB --seeds 100"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    point: PointArguments,
    /// The capture at the sender's side: pcap or pcapng, plain or gzip, xz, zstd; - is standard input, FILE%INTERFACE the
    /// packets of one interface.
    #[arg(value_name = "SENDER")]
    sender: PathBuf,
    /// The capture at the receiver's side.
    #[arg(value_name = "RECEIVER")]
    receiver: PathBuf,
    /// How far the receiver's clock is ahead of the sender's; negative if behind.
    #[arg(long, value_name = "TIME", value_parser = crate::units::offset, default_value = "0", help_heading = "What is measured")]
    clock_offset: Nanos,
    /// Memory per interval and point; 1KiB..64KiB means all doublings, and the end.
    #[arg(long, value_name = "SIZES", value_parser = crate::units::memories,
        default_value = "1KiB,4KiB,16KiB,64KiB", help_heading = "Method and memory")]
    memory: Memories,
    /// Methods to compare with the exact result.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::units::one_of(Method::ALL, Method::name),
        default_value = "lda,lda-paper,trajectory,probes", help_heading = "Method and memory")]
    methods: Vec<Method>,
    /// Number of seeds of each method's hashes.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = crate::units::between::<u16>(1..=1000), help_heading = "Method and memory")]
    seeds: u16,
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    let pair = Pair {
        paths: [arguments.sender.clone(), arguments.receiver.clone()],
        point: &arguments.point,
        reverse: false,
        clock_offset: arguments.clock_offset,
    };
    pair.check()?;
    arguments.output.check(&pair.paths)?;
    let settings = settings(arguments)?;
    let mut comparison = OwdComparison::new(&settings).map_err(Failure::usage)?;
    let beginning = pair.look(signals)?;
    let mut points = pair.open(&beginning.directions, None, signals)?;
    let outputs = arguments.output.open()?;
    follow(&mut points, Nanos::ZERO, |passing| {
        match passing {
            Next::Packet(side, seen, _) if !seen.is_reverse => comparison.update(side, &seen.crossing),
            Next::End(Side::Receiver, until) => comparison.end_receiver(until),
            Next::Packet(..) | Next::End(Side::Sender, _) => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let code = signals.end(points.is_stopped(), points.is_damaged());
    let (totals, packets, truth, lines) = comparison.finish();
    let mut warnings = points.warnings();
    warnings.extend(points.offloaded().or_else(|| of_comparison(&totals, settings.longest)));
    warnings.extend((packets.unsent > 0).then(|| {
        let unsent = packets.unsent;
        format!(
            "{unsent} packets seen only at the receiver are left out: each would invalidate a cell of lda, like a \
                 lost one"
        )
    }));
    warnings.extend(signals.warning(points.is_stopped()));
    warnings.extend(beginning.warnings());
    messages::warn(&warnings);
    let results = Results {
        schema: SCHEMA,
        sources: pair.paths.iter().map(|path| path.display().to_string()).collect(),
        warnings,
        seeds: settings.seeds,
        interval_ns: settings.interval.get(),
        memory_bytes: settings.memories,
        methods: settings.methods.into_iter().map(Into::into).collect(),
        packets,
        truth,
        recommended: Recommended::of(&lines, |method, memory| command(arguments, &beginning, method, memory)),
        results: lines,
    };
    outputs.write(&results, [table::write, json::write, Results::write_csv], Results::sweep)?;
    Ok(code)
}

/// The command that measures the same packets by this method; `None` if it has no flags for this.
fn command(arguments: &Arguments, beginning: &Beginning, method: Method, memory: usize) -> Option<String> {
    let Arguments { point, sender, receiver, clock_offset, .. } = arguments;
    // Where both directions were found, sketches must be told which one to measure.
    let from = match beginning.directions.named_sources() {
        Some(sources) if !point.from.is_empty() || beginning.directions.has_back() => format!(" --from {sources}"),
        None if beginning.directions.has_back() => return None,
        _ => String::new(),
    };
    let offset = if *clock_offset == Nanos::ZERO {
        String::new()
    } else {
        format!(" --clock-offset {}", time_flag(*clock_offset))
    };
    let params = Params::budget_for(memory, &Expected::within(point.longest)).ok()?;
    Some(format!(
        "dwell owd {} {}{from}{}{offset} --method {} --sketch-bytes {}{}",
        argument(&sender.display().to_string()),
        argument(&receiver.display().to_string()),
        point.flags(),
        method.name(),
        size_flag(memory),
        memory_flag(params, None)
    ))
}

/// A word as an argument in a shell.
fn argument(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:=@,%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// What to compare, without repetitions.
fn settings(arguments: &Arguments) -> Result<Settings, Failure> {
    let (memories, methods) = (arguments.memory.0.clone(), distinct(arguments.methods.iter().copied()));
    // Both points have a sketch each.
    check_sum(&memories, 2 * methods.len() * usize::from(arguments.seeds), "methods and seeds")?;
    let (interval, longest) = (arguments.point.interval(), arguments.point.longest);
    Ok(Settings { methods, memories, seeds: arguments.seeds.into(), interval, longest })
}
