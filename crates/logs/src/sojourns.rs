//! Logs of packets that passed through a queue.

use crate::names::{shortened, told_apart};
use crate::{Lines, LogError};
use dwell_capture::Name;
use dwell_capture::file::Stop;
use dwell_types::{Departure, FlowId, Nanos, Timestamp, hash};
use std::path::Path;

/// Packets that passed through a queue, from a log, read line by line in the order of departure: CSV with these columns, in
/// any order.
///
/// - `arrived_ns`: when the packet arrived, in whole nanoseconds; empty if unknown.
/// - `departed_ns`: when it departed, in whole nanoseconds.
/// - `flow`: any text, the name of its flow.
/// - `bytes`: its length, a whole number.
#[derive(Debug)]
pub struct SojournLog {
    lines: Lines,
    arrived: usize,
    departed: usize,
    flow: usize,
    bytes: usize,
    seed: u64,
    span: Option<(Timestamp, Timestamp)>,
    /// Lines that depart before a line above them.
    late: Oddities,
    /// Lines whose packet departed before it arrived.
    backwards: Oddities,
    /// Lines that depart more than [`Nanos::YEAR`] after all above.
    leaps: Oddities,
}

/// How many lines have some irregularity, and the number of the first.
#[derive(Clone, Copy, Debug, Default)]
struct Oddities {
    count: u64,
    first: u64,
}

impl Oddities {
    fn add(&mut self, line: u64) {
        if self.count == 0 {
            self.first = line;
        }
        self.count += 1;
    }
}

impl SojournLog {
    /// Opens a log; `-` is standard input.
    pub fn open(path: &Path, seed: u64, stop: Option<&Stop>) -> Result<Self, LogError> {
        let mut lines = Lines::open(path, stop)?;
        let ([arrived, departed, flow, bytes], []) =
            lines.columns(["arrived_ns", "departed_ns", "flow", "bytes"], [])?;
        Ok(Self {
            lines,
            arrived,
            departed,
            flow,
            bytes,
            seed: hash::start(seed),
            span: None,
            late: Oddities::default(),
            backwards: Oddities::default(),
            leaps: Oddities::default(),
        })
    }

    /// The earliest and the latest departure so far.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// The next departure; `None` at the end of the log, or at a line that cannot be used if others could.
    pub fn next_departure(&mut self) -> Result<Option<Departure>, LogError> {
        self.lines.next(|lines| {
            let arrived = match lines.field(self.arrived) {
                "" => None,
                _ => Some(Timestamp::from_nanos(lines.whole_number(self.arrived, "nanoseconds as arrived_ns")?)),
            };
            let departed = Timestamp::from_nanos(lines.whole_number(self.departed, "nanoseconds as departed_ns")?);
            let bytes = lines.whole_number(self.bytes, "bytes as bytes")?;
            let flow = FlowId(hash::bytes(self.seed, lines.field(self.flow).as_bytes()));
            let line = lines.number();
            let (first, last) = self.span.unwrap_or((departed, departed));
            if departed < last {
                self.late.add(line);
            } else if (departed - last).is_farther_than(Nanos::YEAR) {
                self.leaps.add(line);
            }
            if arrived > Some(departed) {
                self.backwards.add(line);
            }
            self.span = Some((first.min(departed), last.max(departed)));
            Ok(Departure { arrived, departed, flow, bytes })
        })
    }

    /// The name of the flow of the line read last as reports show it ([`told_apart`]), truncated to 112 bytes.
    pub fn flow_name(&self) -> String {
        told_apart(&shortened(self.lines.field(self.flow)))
    }

    /// The lines: how reading ended.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Lines whose packet departed before it arrived.
    pub fn backwards(&self) -> u64 {
        self.backwards.count
    }

    /// Warnings about truncated data and irregular lines.
    pub fn warnings(&self) -> Vec<String> {
        let name = Name(self.lines.path());
        let mut warnings = Vec::from_iter(self.lines.warning());
        for (Oddities { count, first }, what, so) in [
            (
                self.late,
                "depart before a line above them",
                "expected the order of departure; they count as if they departed with the latest line above",
            ),
            (self.backwards, "depart before they arrive", "they count as if their arrival was not known"),
            (self.leaps, "depart more than a year after all above", "if a time is wrong, so is the time range"),
        ] {
            if count > 0 {
                warnings.push(format!("{name}: lines that {what}: {count}, the first is line {first}; {so}"));
            }
        }
        warnings
    }
}
