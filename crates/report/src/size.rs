//! What `dwell size` answers: the schema `dwell.size/1` of `docs/formats/`.

use serde::Serialize;

/// The name and version of the schema of [`SizeReport`].
pub const SCHEMA: &str = "dwell.size/1";

/// How much memory for which error. Errors are shares of what is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// `rtt`, `owd`, `flows` or `queue`.
    pub question: &'static str,
    /// What is sized: `fridge`, `lda`, `lds` or `conquest`.
    pub method: &'static str,
    /// The error that was asked for; `null` with a memory.
    pub asked_error: Option<f64>,
    /// The memory that was asked for; `null` with an error.
    pub asked_memory_bytes: Option<u64>,
    /// What is expected.
    pub traffic: Traffic,
    /// When nothing need be estimated; `null` where sketches do not become exact.
    pub exact: Option<Exact>,
    /// Sketches, from the smallest that was looked at; the last one is the answer.
    pub sizes: Vec<Size>,
}

/// What is expected, as given on the command line.
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

/// Memory in which every request is remembered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exact {
    /// Requests that are open at a time, on average.
    pub open_requests: f64,
    /// Hardly ever more.
    pub most_open_requests: f64,
    /// What holds these; `null` if no memory does.
    pub memory_bytes: Option<u64>,
}

/// A sketch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Size {
    /// Bytes; of two points, at each of them for each interval.
    pub memory_bytes: u64,
    /// The command that uses such a sketch; `null` where no command does.
    pub command: Option<String>,
    /// How it is built.
    pub parameters: Parameters,
    /// What is to be expected of it.
    pub errors: Vec<SizeError>,
}

/// How a sketch is built.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "keys are described in docs/formats/dwell.size.md")]
pub enum Parameters {
    Fridge { slots: u32, entry_probability: f64 },
    Lda { cells: usize, cell_bits: usize, banks: Vec<Bank> },
    Lds { rows: usize, columns: u32, cells_per_flow: u32, rates: Vec<f64>, cell_bits: usize },
    Conquest { snapshots: u32, windows_ns: Vec<i64>, counter: &'static str, rows: Option<u32>, columns: u32 },
}

/// Rows of an aggregator that take the same share of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bank {
    /// How many.
    pub rows: u32,
    /// The share, of all of them.
    pub probability: f64,
}

/// An error to be expected; every key is there, and `null` where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SizeError {
    /// The quantile of the delays.
    pub quantile: Option<f64>,
    /// The loss of an interval.
    pub loss_share: Option<f64>,
    /// The packets of a flow.
    pub flow_packets: Option<u64>,
    /// The error.
    pub error: Option<f64>,
    /// The same in bytes of a queue.
    pub error_bytes: Option<f64>,
    /// Samples or packets that the estimate rests on.
    pub samples: Option<f64>,
    /// What windows contribute to the error of a queue, and what counters do.
    pub windows_error: Option<f64>,
    /// See `windows_error`.
    pub counters_error: Option<f64>,
    /// Of the packets called culprits', those that are.
    pub precision: Option<f64>,
    /// Of the culprits' packets, those that are called so.
    pub recall: Option<f64>,
}
