//! `dwell size queue`: size of the snapshots of a queue for a given error of a flow's share of it.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::AskedArguments;
use crate::Failure;
use crate::units::{self, share, time_flag};
use clap::Args;
use dwell_evaluate::size::queue::{self, Expected};
use dwell_report::size::{Size, SizeReport, Traffic};
use dwell_sketch::conquest::{Culprit, Params};
use dwell_types::Nanos;

/// Size of the snapshots of dwell queue --method conquest for a given error of a flow's size in the queue, or the error
/// of a given size.
///
/// Found by simulating bursts that fill the queue for times from the threshold to the longest delay, on a slower line if
/// that is too many packets; then shorter ones on a faster line, too, and the worse of both counts. The error is the
/// mean over packets delayed by at least the threshold, as a share of the queue. Windows longer than the threshold are
/// not recommended. More memory can have a larger error: from some 8 KiB on it is for many flows that share the queue,
/// with counters that confuse the few of --senders more often.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dwell size queue --error 0.5%
  dwell size queue --memory 64KiB --line-rate 100e9 --longest 1ms --threshold 100us --background 50%")]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) asked: AskedArguments,
    /// Line rate behind the queue, in bits per second.
    #[arg(long, value_name = "BITS", value_parser = units::bits, default_value = "10G")]
    line_rate: f64,
    /// Longest delay to cover with finished windows.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "6.4ms")]
    longest: Nanos,
    /// Delay from which packets are analysed. Default: an eighth of --longest.
    #[arg(long, value_name = "TIME", value_parser = units::span)]
    threshold: Option<Nanos>,
    /// Share of the queue above which a flow is a culprit.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1%")]
    share: f64,
    /// Share of the line rate taken by small flows.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "30%")]
    background: f64,
    /// Number of concurrent small flows.
    #[arg(long, value_name = "N", value_parser = units::between::<u32>(1..=1 << 20), default_value = "200")]
    flows: u32,
    /// Number of large flows that burst together.
    #[arg(long, value_name = "N", value_parser = units::between::<u32>(1..=1 << 10), default_value = "2")]
    senders: u32,
}

pub(super) fn answer(arguments: &Arguments) -> Result<SizeReport, Failure> {
    let &Arguments { line_rate, longest, share, background, flows, senders, .. } = arguments;
    let threshold = arguments.threshold.unwrap_or(Nanos::new((longest.get() / 8).max(1)));
    if threshold >= longest {
        return Err(Failure::usage(format!(
            "--threshold {threshold}: expected less than the longest delay, {longest}"
        )));
    }
    if longest > Params::LONGEST_WINDOW {
        return Err(Failure::usage(format!("--longest {longest}: expected at most {}", Params::LONGEST_WINDOW)));
    }
    if let Some(memory) = arguments.asked.memory.filter(|&memory| memory > Params::MOST_BYTES) {
        return Err(Failure::usage(format!("--memory: {memory} bytes, expected at most {}", Params::MOST_BYTES)));
    }
    let culprit = Culprit { share, delay: threshold };
    let expected = Expected { line_rate, longest, culprit, background, flows, senders };
    let asked = arguments.asked.what();
    let (params, size) = queue::size(asked, &expected).map_err(Failure::usage)?;
    // With the counter, since dwell queue warns of few counters where nobody chose them, and here --senders did.
    let command = format!(
        "dwell queue --method conquest --sketch-bytes {} --counter {} --longest {} --threshold {} --share {share}",
        size.memory_bytes,
        params.counter.kind().name(),
        time_flag(longest),
        time_flag(threshold),
    );
    let traffic = Traffic::Queue {
        bits_per_second: line_rate,
        longest_ns: longest.get(),
        threshold_ns: threshold.get(),
        culprit_share: share,
        load_share: background,
        flows,
        senders,
    };
    Ok(SizeReport::new(asked, traffic, None, vec![Size { command: Some(command), ..size }]))
}
