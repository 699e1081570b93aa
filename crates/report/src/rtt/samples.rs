//! Every weighted sample, in the order measured: CSV with the columns [`COLUMNS`].

use crate::csv::io_error;
use dwell_types::{FlowKey, Leg, Match, Nanos, Timestamp};
use std::io::{self, Write};

/// The columns of the file, in order.
pub const COLUMNS: [&str; 7] = ["at_ns", "delay_ns", "weight", "inserted_since", "match", "group", "leg"];

/// One measured delay, for output.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// When the response was seen.
    pub at: Timestamp,
    /// Delay from request to response.
    pub delay: Nanos,
    /// Number of exchanges that the sample represents.
    pub weight: f64,
    /// Requests inserted between the request and the response; zero for methods that do not count them.
    pub inserted_since: u64,
    /// The pairing rule.
    pub matching: Match,
    /// The part of the path.
    pub leg: Leg,
    /// The group's name.
    pub group: &'a str,
    /// The flow of the response as sent, if the caller knows it.
    pub flow: Option<FlowKey>,
}

/// Writes samples to a file.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: csv::Writer<W>,
}

impl<W: Write> Writer<W> {
    /// Creates the writer and writes the header.
    pub fn new(to: W) -> io::Result<Self> {
        let mut to = csv::Writer::from_writer(to);
        to.write_record(COLUMNS).map_err(io_error)?;
        Ok(Self { to })
    }

    /// Writes one sample.
    pub fn write(&mut self, sample: &Sample<'_>) -> io::Result<()> {
        let row = (
            sample.at.as_nanos(),
            sample.delay.get(),
            sample.weight,
            sample.inserted_since,
            sample.matching.name(),
            sample.group,
            sample.leg.name(),
        );
        self.to.serialize(row).map_err(io_error)
    }

    /// Flushes the buffer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Flushes the buffer and returns the writer; without this call, buffered samples may be lost without an error.
    pub fn finish(self) -> io::Result<W> {
        self.to.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}
