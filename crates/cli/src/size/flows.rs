//! `dwell size flows`: size of a sketch of flows for a given error of their mean delays.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::{Answer, Asked};
use crate::Failure;
use crate::owd::{LOST, SKETCH_BYTES, memory_flag};
use crate::units;
use clap::Args;
use dwell_report::size::{self, ExpectedError, Parameters, Size};
use dwell_simulate::crossing::flows::TwoPareto;
use dwell_sketch::lda;
use dwell_sketch::lds::{Forecast, Lds, Params, Traffic};
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
    pub(super) asked: Asked,
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

/// Sizes of flows for which errors are reported.
const SIZES: [u64; 4] = [100, 1_000, 10_000, 100_000];
const LARGE: u64 = 10_000;
/// Number of flow sizes that represent all of them.
const SAMPLE: usize = 4_096;

pub(super) fn answer(arguments: &Arguments) -> Result<Answer, Failure> {
    let &Arguments { packets_per_interval, flows, tail, loss, cv, flow_cv, flow_packets, .. } = arguments;
    let known = arguments.known || flows <= Shares::MOST_LISTED as u64;
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
    let within = flow_cv.unwrap_or(cv);
    let traffic =
        Traffic { flows, sizes: sizes(packets_per_interval as f64 / flows as f64, tail), loss, between: cv, within };
    let params = match (arguments.asked.error, flow_packets, arguments.asked.memory) {
        (Some(error), Some(packets), _) => Params::for_flow_error(error, packets as f64, &traffic, known),
        (Some(_), None, _) => return Err(Failure::usage("--error requires --flow-packets")),
        (None, packets, memory) => Params::budget(memory.unwrap_or(0), loss * packets.unwrap_or(LARGE) as f64, 0),
    };
    let params = params.map_err(Failure::usage)?;
    Ok(Answer {
        question: "flows",
        method: "lds",
        traffic: size::Traffic::Flows {
            packets_per_interval,
            flows_per_interval: flows,
            tail,
            loss_share: loss,
            variation: cv,
            flow_variation: within,
            is_count_known: known,
            flow_packets,
        },
        exact: None,
        sizes: vec![size(params, &traffic, known, flow_packets)?],
    })
}

/// Sizes of flows in packets, ascending: distributed as in the paper's trace, but scaled by a factor that gives the
/// requested mean.
fn sizes(mean: f64, tail: f64) -> Vec<f64> {
    let shape = TwoPareto { body: 1.2, tail, knee: 3.0, largest: 225_000.0 };
    // Steps become finer towards the largest flows, which have most of the packets.
    const STEPS: u32 = 2_000;
    const OCTAVES: f64 = 40.0;
    let above = |step: u32| (-OCTAVES * f64::from(step) / f64::from(STEPS)).exp2();
    let parts: Vec<(f64, f64)> = (0..STEPS)
        .map(|step| {
            (above(step) - above(step + 1), f64::from(shape.packets(1.0 - above(step).midpoint(above(step + 1)))))
        })
        .collect();
    let mean_of = |factor: f64| parts.iter().map(|(share, packets)| share * (factor * packets).max(1.0)).sum::<f64>();
    let (mut low, mut high) = (0.0, mean);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if mean_of(middle) < mean { low = middle } else { high = middle }
    }
    let packets = |place: usize| f64::from(shape.packets((place as f64 + 0.5) / SAMPLE as f64));
    (0..SAMPLE).map(|place| (high * packets(place)).round().max(1.0)).collect()
}

fn size(params: Params, traffic: &Traffic, known: bool, asked: Option<u64>) -> Result<Size, Failure> {
    let forecast = Forecast::new(&params, traffic, known);
    let mut flows: Vec<u64> = SIZES.into_iter().chain(asked).collect();
    flows.sort_unstable();
    flows.dedup();
    let error = |packets: u64| ExpectedError {
        flow_packets: Some(packets),
        error: forecast.error(packets as f64),
        ..ExpectedError::default()
    };
    let errors = flows.into_iter().map(error).collect();
    let bytes =
        Lds::new(Params { columns: params.cells_per_flow, ..params.clone() }).map_err(Failure::usage)?.state_bytes()
            + (params.cells() as usize - params.rows() * params.cells_per_flow as usize) * Lds::CELL_BYTES;
    let is_of_command = traffic.flows <= Shares::MOST_LISTED as u64
        && Params::budget(bytes, LOST, 0).is_ok_and(|command| command == params);
    let lda = lda::Params::budget(SKETCH_BYTES).map_err(Failure::usage)?;
    let command = || format!("dwell owd --method lda --flows --flow-bytes {bytes}{}", memory_flag(lda, Some(bytes)));
    Ok(Size {
        memory_bytes: bytes as u64,
        command: is_of_command.then(command),
        parameters: Parameters::Lds {
            rows: params.rows(),
            columns: params.columns,
            cells_per_flow: params.cells_per_flow,
            cell_bits: 8 * Lds::CELL_BYTES,
            rates: params.rates,
        },
        errors,
    })
}
