//! The report of `dwell size`: the schema `dwell.size/1` of `docs/formats/`.

use serde::Serialize;

// The human-readable form.
pub mod table;

/// The name and version of the schema of [`SizeReport`].
pub const SCHEMA: &str = "dwell.size/1";

/// How much memory is needed for which error. Errors are shares of the measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// `rtt`, `owd`, `flows` or `queue`.
    pub question: &'static str,
    /// The sized method: `fridge`, `lda`, `lds` or `conquest`.
    pub method: &'static str,
    /// The requested error (`--error`); `null` with `--memory`.
    pub asked_error: Option<f64>,
    /// The given memory (`--memory`); `null` with `--error`.
    pub asked_memory_bytes: Option<u64>,
    /// The expected traffic.
    pub traffic: Traffic,
    /// Memory from which on nothing is estimated; `null` for sketches, which never become exact.
    pub exact: Option<Exact>,
    /// Sketches, starting with the smallest one considered; the last one is the answer.
    pub sizes: Vec<Size>,
}

impl SizeReport {
    /// What is found for this traffic.
    pub fn new(asked: Asked, traffic: Traffic, exact: Option<Exact>, sizes: Vec<Size>) -> Self {
        let (asked_error, asked_memory_bytes) = match asked {
            Asked::Error(error) => (Some(error), None),
            Asked::Memory(bytes) => (None, Some(bytes as u64)),
        };
        let (question, method) = (traffic.question(), traffic.method());
        Self { schema: SCHEMA, question, method, asked_error, asked_memory_bytes, traffic, exact, sizes }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    /// The least memory with at most this error, as a share.
    Error(f64),
    /// The error in so many bytes of memory.
    Memory(usize),
}

/// The expected traffic, as given on the command line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "keys are described in docs/formats/dwell.size.md")]
pub enum Traffic {
    Rtt {
        #[serde(rename = "match")]
        matching: &'static str,
        requests_per_second: f64,
        mean_ns: i64,
        p99_ns: i64,
        answered_share: f64,
        span_ns: i64,
        expiry_ns: i64,
    },
    Owd {
        packets_per_interval: u64,
        lowest_loss_share: f64,
        highest_loss_share: f64,
        variation: f64,
        longest_ns: i64,
    },
    Flows {
        packets_per_interval: u64,
        flows_per_interval: u64,
        tail: f64,
        loss_share: f64,
        variation: f64,
        flow_variation: f64,
        is_count_known: bool,
        flow_packets: Option<u64>,
    },
    Queue {
        bits_per_second: f64,
        longest_ns: i64,
        threshold_ns: i64,
        culprit_share: f64,
        load_share: f64,
        flows: u32,
        senders: u32,
    },
}

impl Traffic {
    /// The question that this traffic belongs to.
    const fn question(&self) -> &'static str {
        match self {
            Self::Rtt { .. } => "rtt",
            Self::Owd { .. } => "owd",
            Self::Flows { .. } => "flows",
            Self::Queue { .. } => "queue",
        }
    }

    /// The method that is sized for it.
    const fn method(&self) -> &'static str {
        match self {
            Self::Rtt { .. } => "fridge",
            Self::Owd { .. } => "lda",
            Self::Flows { .. } => "lds",
            Self::Queue { .. } => "conquest",
        }
    }
}

/// Memory in which every request can be held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exact {
    /// Mean number of open requests at a time.
    pub open_requests: f64,
    /// A number of open requests that is hardly ever exceeded.
    pub most_open_requests: f64,
    /// Memory that holds this many; `null` if no size does.
    pub memory_bytes: Option<u64>,
    /// The command that measures every exchange in this memory; `null` likewise.
    pub command: Option<String>,
}

/// A sketch of a given size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Size {
    /// Its bytes; for two points, per interval at each of them.
    pub memory_bytes: u64,
    /// The command that uses this sketch; `null` if there is none.
    pub command: Option<String>,
    /// Its parameters.
    pub parameters: Parameters,
    /// Its expected errors.
    pub errors: Vec<ExpectedError>,
}

/// The parameters of a sketch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "keys are described in docs/formats/dwell.size.md")]
pub enum Parameters {
    Fridge { slots: u32, entry_probability: f64 },
    Lda { cells: usize, cell_bits: usize, banks: Vec<Bank> },
    Lds { rows: usize, columns: u32, cells_per_flow: u32, rates: Vec<f64>, cell_bits: usize },
    Conquest { snapshots: u32, windows_ns: Vec<i64>, counter: &'static str, rows: Option<u32>, columns: u32 },
}

/// Rows of an aggregator that sample with the same probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bank {
    /// Number of rows.
    pub rows: u32,
    /// Probability that one of these rows takes a packet.
    pub probability: f64,
}

/// An expected error; all keys are present, and `null` where they do not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ExpectedError {
    /// The quantile of the delays that the error refers to.
    pub quantile: Option<f64>,
    /// The loss of the interval that the error refers to.
    pub loss_share: Option<f64>,
    /// The number of packets of the flow that the error refers to.
    pub flow_packets: Option<u64>,
    /// The error.
    pub error: Option<f64>,
    /// The error in bytes of a queue.
    pub error_bytes: Option<f64>,
    /// Samples or packets that the estimate is based on.
    pub samples: Option<f64>,
    /// The part of a queue's error that would remain if no two flows shared a counter.
    pub windows_error: Option<f64>,
    /// The rest of a queue's error, which is due to shared counters.
    pub counters_error: Option<f64>,
    /// Share of the packets attributed to culprits that are theirs.
    pub precision: Option<f64>,
    /// Share of the culprits' packets that are attributed to them.
    pub recall: Option<f64>,
}
