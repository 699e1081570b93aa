//! Packets at a point from a log instead of a capture: CSV with the columns `at_ns,packet` and, if wanted, `flow` and
//! `bytes`.

use crate::lines::Lines;
use anyhow::Result;
use dwell_capture::file::Stop;
use dwell_types::{Crossing, FlowId, PacketId, Timestamp, hash};
use std::path::Path;

/// A log, read line by line.
pub(crate) struct Log {
    lines: Lines,
    at: usize,
    packet: usize,
    flow: Option<usize>,
    bytes: Option<usize>,
    packets: u64,
    flows: u64,
}

/// The member of the hash family that names the flows of logs.
const fn flows_of(start: u64) -> u64 {
    hash::word(start, 2)
}

fn flow_of(flows: u64, name: &str) -> FlowId {
    FlowId(hash::bytes(flows, name.as_bytes()))
}

/// The name of all groups, or flows, that have no name of their own.
pub(crate) const REST: &str = "other";

/// The name in reports of a log's group or flow that has none: labels of OpenMetrics may not be empty.
const UNNAMED: &str = "(none)";

/// The name of a log's group or flow in reports: what is called like the rest, or like what has no name, with any number
/// of apostrophes, has one more.
pub(crate) fn told_apart(name: &str) -> String {
    match name.trim_end_matches('\'') {
        "" if name.is_empty() => UNNAMED.to_owned(),
        REST | UNNAMED => format!("{name}'"),
        _ => name.to_owned(),
    }
}

/// The flow that a log calls so.
pub(crate) fn log_flow(seed: u64, name: &str) -> FlowId {
    flow_of(flows_of(hash::start(seed)), name)
}

impl Log {
    /// Opens a log; `-` is standard input.
    pub(crate) fn open(path: &Path, seed: u64, stop: &Stop) -> Result<Self> {
        let mut lines = Lines::open(path, stop)?;
        let ([at, packet], [flow, bytes]) = lines.columns(["at_ns", "packet"], ["flow", "bytes"])?;
        let seed = hash::start(seed);
        Ok(Self { lines, at, packet, flow, bytes, packets: hash::word(seed, 1), flows: flows_of(seed) })
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> Result<Option<Crossing>> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let lines = &self.lines;
        Ok(Some(Crossing {
            packet: PacketId(hash::bytes(self.packets, lines.field(self.packet).as_bytes())),
            flow: flow_of(self.flows, self.flow_name().unwrap_or_default()),
            at: Timestamp::from_nanos(lines.whole_number(self.at, "nanoseconds as at_ns")?),
            bytes: self.bytes.map_or(Ok(0), |column| lines.whole_number(column, "bytes as bytes"))?,
        }))
    }

    /// The name of the last line's flow, if there is one.
    pub(crate) fn flow_name(&self) -> Option<&str> {
        self.flow.map(|column| self.lines.field(column))
    }

    /// Whether it was asked to stop before the end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.lines.is_stopped()
    }
}
