//! Every weighted sample, as it comes: CSV with the columns [`COLUMNS`].

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
    /// From the request to the response.
    pub delay: Nanos,
    /// How many exchanges the sample stands for.
    pub weight: f64,
    /// Requests inserted between the request and the response; zero for methods that do not count them.
    pub inserted_since: u64,
    /// The rule that paired.
    pub matching: Match,
    /// Which part of the way.
    pub leg: Leg,
    /// The group's name.
    pub group: &'a str,
    /// The flow of the response as sent, where the caller knows it.
    pub flow: Option<FlowKey>,
}

/// Writes samples to a file.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: csv::Writer<W>,
}

impl<W: Write> Writer<W> {
    /// Begins with the head.
    pub fn new(to: W) -> io::Result<Self> {
        let mut to = csv::Writer::from_writer(to);
        to.write_record(COLUMNS).map_err(io_error)?;
        Ok(Self { to })
    }

    /// Appends one sample.
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

    /// Writes out what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Writes out what is still buffered and gives the writer back; what is not finished may be lost without an error.
    pub fn finish(self) -> io::Result<W> {
        self.to.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}
