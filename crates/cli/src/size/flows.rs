//! `dwell size flows`: size of a sketch of flows for a given error of their mean delays.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::AskedArguments;
use crate::Failure;
use crate::owd::{LOST, SKETCH_BYTES, memory_flag};
use crate::units;
use clap::Args;
use dwell_evaluate::size::flows::{self, Expected};
use dwell_report::size::{Size, SizeReport, Traffic};
use dwell_sketch::lda;
use dwell_sketch::lds::Params;
use dwell_sketch::summary::Shares;

/// Size of the sketch of flows of dwell owd --flows --method lda for a given error of a flow's mean delay, or the error
/// of a given size.
///
/// The error is that of an interval, as a share of the mean: half of the flows of the given size err by less. All flows
/// are decoded at once, with known packet counts: dwell owd counts them for the first 4,096 flows. With more flows,
/// unless --known, the error is that of the cells with the fewest packets.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dwell size flows --error 1% --flow-packets 1000 --packets-per-interval 8000000 --flows 150000
  dwell size flows --memory 1MiB --packets-per-interval 8000000 --flows 150000 --loss 0.1% --known")]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) asked: AskedArguments,
    /// Size in packets of the flow that --error refers to; its losses decide the sampling of rows. Default with
    /// --memory: 10,000.
    #[arg(long, value_name = "N", value_parser = units::count)]
    flow_packets: Option<u64>,
    /// Packets per interval.
    #[arg(long, value_name = "N", value_parser = units::count)]
    packets_per_interval: u64,
    /// Flows per interval.
    #[arg(long, value_name = "N", value_parser = units::count)]
    flows: u64,
    /// Pareto index of flow sizes above three times the smallest: the lower, the more packets are in large flows.
    #[arg(long, value_name = "INDEX", value_parser = units::above_zero("an index above 0"), default_value = "0.7")]
    tail: f64,
    /// Share of packets lost; 0 for none.
    #[arg(long, value_name = "SHARE", value_parser = units::loss, default_value = "0.01%")]
    loss: f64,
    /// Coefficient of variation of the flows' mean delays: standard deviation over mean.
    #[arg(long, value_name = "RATIO", value_parser = units::above_zero("a number above 0"), default_value = "0.5")]
    cv: f64,
    /// Standard deviation of delays within a flow, over the mean of all. Default: as --cv.
    #[arg(long, value_name = "RATIO", value_parser = units::above_zero("a number above 0"))]
    flow_cv: Option<f64>,
    /// Packet counts of all flows are known, even of more than 4,096.
    #[arg(long)]
    known: bool,
}

pub(super) fn answer(arguments: &Arguments) -> Result<SizeReport, Failure> {
    let &Arguments { packets_per_interval, flows, tail, loss, cv: between, flow_cv, flow_packets, .. } = arguments;
    let is_count_known = arguments.known || flows <= Shares::MOST_LISTED as u64;
    if packets_per_interval < flows {
        return Err(Failure::usage(format!(
            "--flows: {flows} flows of {packets_per_interval} packets: expected no more flows than packets"
        )));
    }
    if let Some(packets) = flow_packets.filter(|&packets| packets > packets_per_interval) {
        return Err(Failure::usage(format!(
            "--flow-packets: a flow of {packets} packets in an interval of {packets_per_interval}: expected no more"
        )));
    }
    if arguments.asked.error.is_some() && flow_packets.is_none() {
        return Err(Failure::usage("--error requires --flow-packets"));
    }
    let within = flow_cv.unwrap_or(between);
    let packets = packets_per_interval;
    let expected = Expected { packets, flows, tail, loss, between, within, is_count_known, flow_packets };
    let asked = arguments.asked.what();
    let (params, size) = flows::size(asked, &expected).map_err(Failure::usage)?;
    let command = command(&params, size.memory_bytes as usize, flows)?;
    let traffic = Traffic::Flows {
        packets_per_interval,
        flows_per_interval: flows,
        tail,
        loss_share: loss,
        variation: between,
        flow_variation: within,
        is_count_known,
        flow_packets,
    };
    Ok(SizeReport::new(asked, traffic, None, vec![Size { command, ..size }]))
}

/// The command whose sketch has these parameters in so many bytes, if there is one.
fn command(params: &Params, bytes: usize, flows: u64) -> Result<Option<String>, Failure> {
    let is_of_command =
        flows <= Shares::MOST_LISTED as u64 && Params::budget(bytes, LOST, 0).is_ok_and(|command| command == *params);
    let lda = lda::Params::budget_for(SKETCH_BYTES, &lda::Expected::default()).map_err(Failure::usage)?;
    let command = || format!("dwell owd --method lda --flows --flow-bytes {bytes}{}", memory_flag(lda, Some(bytes)));
    Ok(is_of_command.then(command))
}
