//! `dwell size rtt`: memory needed for a given error of the delays at one point.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::AskedArguments;
use crate::Failure;
use crate::rtt::matching;
use crate::units::{self, share, time_flag};
use clap::Args;
use dwell_evaluate::size::rtt::{self, Expected};
use dwell_observe::{Observer, Settings};
use dwell_report::size::{SizeReport, Traffic};
use dwell_report::text::size_flag;
use dwell_types::{Match, Nanos};

/// Memory of dwell rtt to measure every exchange, or to sample enough for a given error of p50, p95 and p99.
///
/// Delays are assumed log-normal. The error is the standard error, as a share of the quantile: two of three runs err by
/// less.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dwell size rtt --error 5% --requests-per-second 100000 --mean 50ms --p99 500ms --answered 40%
  dwell size rtt --memory 64KiB --requests-per-second 1000 --mean 20ms --p99 200ms")]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) asked: AskedArguments,
    /// The rule that the requests belong to; rules share the memory, so measure it alone.
    #[arg(long = "match", value_name = "RULE", value_parser = matching(), default_value = "dns")]
    matching: Match,
    /// Requests per second, answered or not; of tcp-handshake, connections.
    #[arg(long, value_name = "N", value_parser = rate)]
    requests_per_second: f64,
    /// Mean delay; of tcp-handshake, of both sides together (sum).
    #[arg(long, value_name = "TIME", value_parser = units::span)]
    mean: Nanos,
    /// 99th percentile of the delay, likewise.
    #[arg(long, value_name = "TIME", value_parser = units::span)]
    p99: Nanos,
    /// Share of requests that are answered; of tcp-handshake, by both sides.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "100%")]
    answered: f64,
    /// Length of the capture, or of an interval.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "60s")]
    span: Nanos,
    /// How long to wait for a response. Default: as in dwell rtt, 128s, and a day for tcp-flow.
    #[arg(long, value_name = "TIME", value_parser = units::wait)]
    expiry: Option<Nanos>,
}

/// Times are in whole nanoseconds.
fn rate(text: &str) -> Result<f64, String> {
    const EXPECTED: &str = "requests per second, above 0 and at most 1e9";
    let rate = units::above_zero(EXPECTED)(text)?;
    (rate <= 1e9).then_some(rate).ok_or_else(|| format!("expected {EXPECTED}"))
}

pub(super) fn answer(arguments: &Arguments) -> Result<SizeReport, Failure> {
    let &Arguments { matching, requests_per_second: rate, mean, p99, answered, span, expiry, .. } = arguments;
    let observer = Observer::new(Settings { matches: vec![matching], ..Default::default() }).overhead();
    let asked = arguments.asked.what();
    let expected = Expected { matching, rate, mean, p99, answered, span, expiry, observer };
    for (flag, limit) in [("--span", span), ("--expiry", expected.expiry())] {
        if p99 > limit {
            return Err(Failure::usage(format!(
                "--p99: in {limit} ({flag}) delays of {p99} are never seen: set a longer {flag}"
            )));
        }
    }
    let (mut exact, mut sizes) = rtt::size(asked, &expected).map_err(Failure::usage)?;
    exact.command = exact.memory_bytes.map(|bytes| arguments.command("", bytes));
    for size in &mut sizes {
        size.command = Some(arguments.command(" --method fridge", size.memory_bytes));
    }
    let traffic = Traffic::Rtt {
        matching: matching.name(),
        requests_per_second: rate,
        mean_ns: mean.get(),
        p99_ns: p99.get(),
        answered_share: answered,
        span_ns: span.get(),
        expiry_ns: expected.expiry().get(),
    };
    Ok(SizeReport::new(asked, traffic, Some(exact), sizes))
}

impl Arguments {
    /// The command that measures such traffic in so many bytes, with these flags.
    fn command(&self, flags: &str, bytes: u64) -> String {
        let expiry = self.expiry.map(|expiry| format!(" --expiry {}", time_flag(expiry))).unwrap_or_default();
        format!("dwell rtt --match {}{flags}{expiry} --memory {}", self.matching.name(), size_flag(bytes as usize))
    }
}
