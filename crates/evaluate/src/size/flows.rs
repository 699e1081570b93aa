//! The size of a sketch of flows for a given error of their mean delays.

use dwell_report::size::{Asked, ExpectedError, Parameters, Size};
use dwell_simulate::crossing::flows::TwoPareto;
use dwell_sketch::lds::{Forecast, Lds, LdsError, Params, Traffic};

/// The flows that are expected in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Packets of all flows.
    pub packets: u64,
    /// Flows; no more than packets.
    pub flows: u64,
    /// Pareto index of flow sizes above three times the smallest.
    pub tail: f64,
    /// Share of packets lost.
    pub loss: f64,
    /// Coefficient of variation of the flows' mean delays.
    pub between: f64,
    /// Standard deviation of delays within a flow, over the mean of all.
    pub within: f64,
    /// Whether the packet counts of all flows are known.
    pub is_count_known: bool,
    /// Size in packets of the flow that the error refers to; its losses decide the sampling of rows. `None`: 10,000.
    pub flow_packets: Option<u64>,
}

/// Sizes of flows for which errors are reported.
const SIZES: [u64; 4] = [100, 1_000, 10_000, 100_000];
const LARGE: u64 = 10_000;
/// Number of flow sizes that represent all of them.
const SAMPLE: usize = 4_096;

/// The parameters of the sketch, and its size.
pub fn size(asked: Asked, expected: &Expected) -> Result<(Params, Size), LdsError> {
    let &Expected { packets, flows, tail, loss, between, within, is_count_known: known, flow_packets } = expected;
    let traffic = Traffic { flows, sizes: sizes(packets as f64 / flows as f64, tail), loss, between, within };
    let of_flow = flow_packets.unwrap_or(LARGE) as f64;
    let params = match asked {
        Asked::Error(error) => Params::for_flow_error(error, of_flow, &traffic, known),
        Asked::Memory(bytes) => Params::budget(bytes, loss * of_flow, 0),
    }?;
    let forecast = Forecast::new(&params, &traffic, known);
    let mut flows: Vec<u64> = SIZES.into_iter().chain(flow_packets).collect();
    flows.sort_unstable();
    flows.dedup();
    let error = |packets: u64| ExpectedError {
        flow_packets: Some(packets),
        error: forecast.error(packets as f64),
        ..ExpectedError::default()
    };
    let bytes = Lds::new(Params { columns: params.cells_per_flow, ..params.clone() })?.state_bytes()
        + (params.cells() as usize - params.rows() * params.cells_per_flow as usize) * Lds::CELL_BYTES;
    let size = Size {
        memory_bytes: bytes as u64,
        command: None,
        parameters: Parameters::Lds {
            rows: params.rows(),
            columns: params.columns,
            cells_per_flow: params.cells_per_flow,
            cell_bits: 8 * Lds::CELL_BYTES,
            rates: params.rates.clone(),
        },
        errors: flows.into_iter().map(error).collect(),
    };
    Ok((params, size))
}

/// Sizes of flows in packets, ascending: distributed as in the paper's trace, but with this index of the largest, and
/// scaled by a factor that gives the requested mean.
fn sizes(mean: f64, tail: f64) -> Vec<f64> {
    let shape = TwoPareto { tail, ..TwoPareto::TRACE };
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
