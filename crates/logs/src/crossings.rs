//! Logs of packets seen at one point.

use crate::names::{flow_of, flows_of, shortened};
use crate::{Lines, LogError};
use dwell_capture::file::Stop;
use dwell_types::{Crossing, PacketId, Timestamp, hash};
use std::borrow::Cow;
use std::path::Path;

/// Packets seen at one point, from a log instead of a capture, read line by line: CSV with these columns, in any order.
///
/// - `at_ns`: when the packet passed, by the clock of this point, in whole nanoseconds.
/// - `packet`: any text, the same at both points.
/// - `flow`, optional: any text, the name of its flow.
/// - `bytes`, optional: its length, a whole number.
#[derive(Debug)]
pub struct CrossingLog {
    lines: Lines,
    at: usize,
    packet: usize,
    flow: Option<usize>,
    bytes: Option<usize>,
    packets: u64,
    flows: u64,
}

impl CrossingLog {
    /// Opens a log; `-` is standard input.
    pub fn open(path: &Path, seed: u64, stop: Option<&Stop>) -> Result<Self, LogError> {
        let mut lines = Lines::open(path, stop)?;
        let ([at, packet], [flow, bytes]) = lines.columns(["at_ns", "packet"], ["flow", "bytes"])?;
        let seed = hash::start(seed);
        Ok(Self { lines, at, packet, flow, bytes, packets: hash::word(seed, 1), flows: flows_of(seed) })
    }

    /// The next packet; `None` at the end of the log, or at a line that cannot be used if others could.
    pub fn next_crossing(&mut self) -> Result<Option<Crossing>, LogError> {
        self.lines.next(|lines| {
            Ok(Crossing {
                packet: PacketId(hash::bytes(self.packets, lines.field(self.packet).as_bytes())),
                flow: flow_of(self.flows, self.flow.map_or("", |column| lines.field(column))),
                at: Timestamp::from_nanos(lines.whole_number(self.at, "nanoseconds as at_ns")?),
                bytes: self.bytes.map_or(Ok(0), |column| lines.whole_number(column, "bytes as bytes"))?,
            })
        })
    }

    /// The name of the flow of the line read last, if the log has a `flow` column; truncated to 112 bytes.
    pub fn flow_name(&self) -> Option<Cow<'_, str>> {
        self.flow.map(|column| shortened(self.lines.field(column)))
    }

    /// The lines: how reading ended.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }
}
