//! `dwell size owd`: how large an aggregator, for which error of the mean delay?

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::Failure;
use crate::output::Output;
use crate::units::{self, share};
use clap::{ArgGroup, Args};
use dwell_sketch::lda::{Expected, Params};
use dwell_types::Nanos;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::process::ExitCode;

/// How large an aggregator of dwell owd --method lda must be for an error of the mean delay, or which error it has.
///
/// The error is the standard error of the mean of an interval, as a share of the mean: two of three intervals err by less.
#[derive(Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["error", "memory"]),
    after_help = "\
Examples:
  dwell size owd --error 1% --packets-per-interval 1000000 --loss 0.1%..5%
  dwell size owd --memory 9000 --packets-per-interval 5000000 --loss 0.01%..10% --cv 1.8"
)]
pub(super) struct Arguments {
    /// The smallest sketch whose error of the mean is at most this, at every loss of the range.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    error: Option<f64>,
    /// The error of the best sketch in so many bytes.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    memory: Option<usize>,
    /// Packets of an interval.
    #[arg(long, value_name = "N", value_parser = units::count)]
    packets_per_interval: u64,
    /// Shares of the packets that may be lost.
    #[arg(long, value_name = "LOW..HIGH", value_parser = losses, default_value = "0.01%..10%")]
    loss: RangeInclusive<f64>,
    /// Coefficient of variation of the delays: their standard deviation over their mean.
    #[arg(long, value_name = "RATIO", value_parser = units::above_zero("a number above 0"), default_value = "1")]
    cv: f64,
    /// The largest mean delay: cells must hold sums of it.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "100ms")]
    delay: Nanos,
}

/// `0.1%..5%`, or one share.
fn losses(text: &str) -> Result<RangeInclusive<f64>, String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (share(low)?, share(high)?);
    if low > high || high >= 1.0 {
        return Err("expected the smaller share first and less than everything, such as 0.1%..5%".to_owned());
    }
    Ok(low..=high)
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let deviation = Nanos::new((arguments.delay.get() as f64 * arguments.cv) as i64);
    let expected = Expected {
        packets: arguments.packets_per_interval,
        loss: arguments.loss.clone(),
        mean: arguments.delay,
        deviation,
    };
    let params = match (arguments.error, arguments.memory) {
        (Some(error), _) => Params::for_error(error, &expected, arguments.cv),
        (None, memory) => Params::budget_for(memory.unwrap_or(0), &expected),
    };
    let params = params.map_err(|error| Failure::Usage(error.to_string()))?;
    let mut to = Output::open(None)?;
    write(&params, &expected, arguments.cv, &mut to)?;
    to.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn write(params: &Params, expected: &Expected, variation: f64, to: &mut impl Write) -> io::Result<()> {
    let (bytes, cells, bits) = (params.state_bytes(), params.cells(), 8 * params.cell.bytes());
    writeln!(to, "{bytes} bytes for each interval at each point: {cells} cells of {bits} bits")?;
    writeln!(to, "\n{:>8}  {:>10}", "rows", "takes")?;
    for bank in &params.banks {
        writeln!(to, "{:>8}  {:>9.4}%", bank.rows, bank.probability * 100.0)?;
    }
    writeln!(to, "\n{:>8}  {:>10}  {:>17}", "loss", "packets", "error of the mean")?;
    let packets = expected.packets;
    let (low, high) = (*expected.loss.start(), *expected.loss.end());
    for loss in [low, (low * high).sqrt(), high] {
        let lost = packets as f64 * loss;
        let sample = params.expected_packets(packets as f64 - lost, lost);
        let error = params.expected_error(packets, loss, variation);
        writeln!(to, "{:>7.3}%  {:>10.0}  {:>16.3}%", loss * 100.0, sample, error * 100.0)?;
    }
    writeln!(
        to,
        "\npackets: those that the mean rests on. error of the mean: its standard error; 95% of intervals err by less than twice that."
    )
}
