//! `dwell size owd`: size of an aggregator for a given error of the mean delay.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::AskedArguments;
use crate::Failure;
use crate::owd::{LONGEST, longest_flag, memory_flag};
use crate::units;
use clap::Args;
use dwell_report::size::{Asked, Bank, ExpectedError, Parameters, Size, SizeReport, Traffic};
use dwell_sketch::lda::{Expected, Params};
use dwell_types::Nanos;
use std::ops::RangeInclusive;

/// Size of the sketch of dwell owd --method lda for a given error of the mean delay, or the error of a given size.
///
/// The error is the standard error of an interval's mean delay, as a share of the mean: two of three intervals err by
/// less.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dwell size owd --error 1% --packets-per-interval 1000000 --loss 0.1%..5%
  dwell size owd --memory 9000 --packets-per-interval 5000000 --loss 0.01%..10% --cv 1.8")]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) asked: AskedArguments,
    /// Packets per interval.
    #[arg(long, value_name = "N", value_parser = units::count)]
    packets_per_interval: u64,
    /// Range of the share of packets lost.
    #[arg(long, value_name = "LOW..HIGH", value_parser = units::shares, default_value = "0.01%..10%")]
    loss: RangeInclusive<f64>,
    /// Coefficient of variation of the delays: standard deviation over mean.
    #[arg(long, value_name = "RATIO", value_parser = units::above_zero("a number above 0"), default_value = "1")]
    cv: f64,
    /// Longest delay, as in dwell owd: sets the width of the cells.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = LONGEST)]
    longest: Nanos,
}

pub(super) fn answer(arguments: &Arguments) -> Result<SizeReport, Failure> {
    let expected = Expected {
        packets: arguments.packets_per_interval,
        loss: arguments.loss.clone(),
        ..Expected::within(arguments.longest)
    };
    let asked = arguments.asked.what();
    let params = match asked {
        Asked::Error(error) => Params::for_error(error, &expected, arguments.cv),
        Asked::Memory(bytes) => Params::budget_for(bytes, &expected),
    };
    let params = params.map_err(Failure::usage)?;
    let traffic = Traffic::Owd {
        packets_per_interval: expected.packets,
        lowest_loss_share: *expected.loss.start(),
        highest_loss_share: *expected.loss.end(),
        variation: arguments.cv,
        longest_ns: arguments.longest.get(),
    };
    Ok(SizeReport::new(asked, traffic, None, vec![size(&params, &expected, arguments)]))
}

fn size(params: &Params, expected: &Expected, arguments: &Arguments) -> Size {
    let (low, high) = (*expected.loss.start(), *expected.loss.end());
    let error = |loss: f64| {
        let lost = expected.packets as f64 * loss;
        ExpectedError {
            loss_share: Some(loss),
            samples: Some(params.expected_packets(expected.packets as f64 - lost, lost)),
            error: Some(params.expected_error(expected.packets, loss, arguments.cv)),
            ..ExpectedError::default()
        }
    };
    let bank = |bank: &dwell_sketch::lda::Bank| Bank { rows: bank.rows, probability: bank.probability };
    let bytes = params.state_bytes();
    let longest = longest_flag(arguments.longest);
    let command = format!(
        "dwell owd --method lda --sketch-bytes {bytes} --packets-per-interval {} --loss {low}..{high}{longest}{}",
        expected.packets,
        memory_flag(params.clone(), None)
    );
    Size {
        memory_bytes: bytes as u64,
        command: Params::budget_for(bytes, expected).is_ok_and(|built| built == *params).then_some(command),
        parameters: Parameters::Lda {
            cells: params.cells(),
            cell_bits: 8 * params.cell.bytes(),
            banks: params.banks.iter().map(bank).collect(),
        },
        errors: [low, (low * high).sqrt(), high].map(error).to_vec(),
    }
}
