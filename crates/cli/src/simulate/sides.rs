//! What a queue and a path have in common: arriving packets, and the capture behind.

use crate::output::Output;
use crate::units;
use anyhow::Result;
use clap::Args;
use dwell_capture::PcapWriter;
use dwell_report::csv::Rows;
use dwell_simulate::Clock;
use dwell_types::{Nanos, Timestamp};
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct SidesArguments {
    /// The arriving packets. With --path or --queue capture: pcap or pcapng, plain or compressed. With --queue log: CSV
    /// with columns at_ns, flow, bytes, in time order; only --truth can be written then.
    #[arg(long, value_name = "FILE", requires = "way", help_heading = "Path and queue", required_if_eq_any([("queue", "log"), ("queue", "capture")]))]
    pub(super) arrivals: Option<PathBuf>,
    /// Speed up --arrivals by this factor.
    #[arg(long, value_name = "N", value_parser = units::above_zero("a number above 0, such as 50"), requires = "arrivals", conflicts_with_all = ["traffic", "flows", "queries", "span"],
        help_heading = "Path and queue")]
    speed_up: Option<f64>,
    /// The capture of received or departing packets to write.
    #[arg(long, value_name = "FILE", requires = "way", help_heading = "Path and queue")]
    pub(super) egress: Option<PathBuf>,
    /// How far the clock of --egress is ahead at the beginning; negative if behind. --truth has the true times.
    #[arg(long, value_name = "TIME", value_parser = clock_offset, default_value = "0", requires = "egress", help_heading = "Path and queue")]
    clock_offset: Nanos,
    /// Drift of that clock in parts per million; negative if slow.
    #[arg(long, value_name = "N", value_parser = drift, default_value = "0", requires = "egress", help_heading = "Path and queue")]
    clock_drift: f64,
}

impl SidesArguments {
    pub(super) fn speed_up(&self) -> f64 {
        self.speed_up.unwrap_or(1.0)
    }

    /// The clock of `--egress`.
    pub(super) const fn clock(&self) -> Clock {
        Clock { offset: self.clock_offset, drift: self.clock_drift }
    }
}

/// Completes the captures and the truth that were asked for.
pub(super) fn complete(captures: [Option<PcapWriter<Output>>; 2], truth: Option<Rows<Output>>) -> Result<()> {
    for capture in captures.into_iter().flatten() {
        capture.finish()?.finish()?;
    }
    truth.map_or(Ok(()), |truth| truth.finish()?.finish())
}

/// Limited so that a capture can still represent the times.
fn clock_offset(text: &str) -> Result<Nanos, String> {
    const MOST: i64 = 10_000 * 86_400_000_000_000;
    let offset = units::offset(text)?;
    let is_possible = (-MOST..=MOST).contains(&offset.get());
    is_possible.then_some(offset).ok_or_else(|| "expected from -10000d to 10000d, such as -3ms or 250us".to_owned())
}

/// Rejects a drift at which the clock would stop or run backwards.
fn drift(text: &str) -> Result<f64, String> {
    let parts = text.parse().ok().filter(|parts: &f64| parts.is_finite() && *parts > -1e6 && *parts < 1e6);
    parts.ok_or_else(|| "expected parts per million above -1e6 and below 1e6, such as 50".to_owned())
}

/// When simulated traffic begins: 2026-01-01.
pub(super) const START: Timestamp = Timestamp::from_nanos(1_767_225_600_000_000_000);

/// Bytes of a frame that are captured: of generated frames all headers, and the bytes that identify a packet; of
/// captured ones everything.
pub(super) fn snap_length(asked: Option<u32>, is_captured: bool) -> u32 {
    const HEADERS: u32 = 128;
    const WHOLE: u32 = 262_144;
    asked.unwrap_or(if is_captured { WHOLE } else { HEADERS })
}
