//! `dwell size rtt`: memory needed for a given error of the delays at one point.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::{Answer, Asked};
use crate::Failure;
use crate::rtt::matching;
use crate::units::{self, share, time_flag};
use clap::Args;
use dwell_observe::Observer;
use dwell_report::size::{self, Exact, ExpectedError, Parameters, Size};
use dwell_report::text::size_flag;
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{Arrivals, End, ExchangeWorkload, Settings as Stream};
use dwell_sketch::Structure;
use dwell_sketch::fridge::Traffic;
use dwell_sketch::rtt::{Method, RttMeter, Settings, SettingsError};
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
    pub(super) asked: Asked,
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

/// Quantiles that must have the requested error.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];
/// Range of memory sizes considered.
const LEAST_KIB: usize = 8;
const MOST: usize = 1 << 40;

/// Times are in whole nanoseconds.
fn rate(text: &str) -> Result<f64, String> {
    const EXPECTED: &str = "requests per second, above 0 and at most 1e9";
    let rate = units::above_zero(EXPECTED)(text)?;
    (rate <= 1e9).then_some(rate).ok_or_else(|| format!("expected {EXPECTED}"))
}

pub(super) fn answer(arguments: &Arguments) -> Result<Answer, Failure> {
    let delays = delays(arguments)?;
    let traffic = traffic(arguments, &delays)?;
    let &Arguments { matching, requests_per_second, mean, p99, answered, span, .. } = arguments;
    for (flag, limit) in [("--span", span), ("--expiry", arguments.expiry())] {
        if p99 > limit {
            return Err(Failure::usage(format!(
                "--p99: in {limit} ({flag}) delays of {p99} are never seen: set a longer {flag}"
            )));
        }
    }
    if let Some(memory) = arguments.asked.memory {
        if !units::is_available(memory) {
            return Err(Failure::usage(
                "--memory: this machine does not have so much memory, and the tables are built",
            ));
        }
        arguments.meter(Method::Fridge, memory).map_err(Failure::usage)?;
    }
    Ok(Answer {
        question: "rtt",
        method: "fridge",
        traffic: size::Traffic::Rtt {
            matching: matching.name(),
            requests_per_second,
            mean_ns: mean.get(),
            p99_ns: p99.get(),
            answered_share: answered,
            span_ns: span.get(),
            expiry_ns: arguments.expiry().get(),
        },
        exact: Some(exact(arguments, &delays)),
        sizes: sampled(arguments, &traffic, &delays),
    })
}

/// Delays as the simulator draws them.
fn delays(arguments: &Arguments) -> Result<Vec<Nanos>, Failure> {
    const DRAWN: u64 = 100_000;
    let &Arguments { mean, p99, .. } = arguments;
    let settings = Stream {
        arrivals: Arrivals::Constant,
        ..Stream::poisson(1e6, Distribution::LogNormal { mean, p99 }, End::AfterRequests(DRAWN))
    };
    let mut workload = ExchangeWorkload::new(&settings, 0).map_err(Failure::usage)?;
    let mut delays = Vec::with_capacity(DRAWN as usize);
    while let Some(seen) = workload.next() {
        delays.extend(workload.delay().filter(|_| matches!(seen, dwell_types::Observation::Response(_))));
    }
    Ok(delays)
}

/// The traffic for a fridge.
fn traffic(arguments: &Arguments, delays: &[Nanos]) -> Result<Traffic, Failure> {
    let &Arguments { requests_per_second: rate, answered, span, .. } = arguments;
    let exchanges = rate * answered * span.get() as f64 / 1e9;
    // The first segment of a handshake waits for two answers, and the second, if there is one, for the third.
    let entering = if arguments.is_handshake() { 2.0 + answered } else { 1.0 };
    let traffic = Traffic::new(rate * entering, span, exchanges, delays).filter(|_| exchanges >= 1.0);
    traffic.ok_or_else(|| Failure::usage("less than one exchange expected: use a higher rate or a longer --span"))
}

impl Arguments {
    fn expiry(&self) -> Nanos {
        self.expiry.unwrap_or(Settings::usual_expiry(self.matching))
    }

    fn is_handshake(&self) -> bool {
        self.matching == Match::TcpHandshake
    }

    /// The command that measures such traffic in `memory` bytes, with these flags.
    fn command(&self, flags: &str, memory: usize) -> String {
        let expiry = self.expiry.map(|expiry| format!(" --expiry {}", time_flag(expiry))).unwrap_or_default();
        format!("dwell rtt --match {}{flags}{expiry} --memory {}", self.matching.name(), size_flag(memory))
    }

    /// The meter that dwell rtt builds for captures in `memory` bytes, which has to share them with the observer.
    fn meter(&self, method: Method, memory: usize) -> Result<RttMeter, SettingsError> {
        let (matches, ids) = (vec![self.matching], method.ids());
        let besides = Observer::new(dwell_observe::Settings { matches, ids, ..Default::default() }).most_bytes();
        let settings = Settings::new(method, vec![self.matching], memory.saturating_sub(besides));
        RttMeter::new(&Settings { expiry: self.expiry, ..settings }).map_err(|error| match error {
            SettingsError::Memory { needed, .. } => SettingsError::Memory { given: memory, needed: needed + besides },
            other => other,
        })
    }

    /// A meter of `memory` bytes, and the structure in which it holds requests; `None` if that is too little, or more
    /// than there is.
    fn built(&self, method: Method, memory: usize) -> Option<(RttMeter, Structure)> {
        let meter = units::is_available(memory).then(|| self.meter(method, memory).ok())??;
        let structure = meter.rules().next()?.structure;
        Some((meter, structure))
    }

    /// Number of requests that the default method holds in `memory` bytes.
    fn room(&self, memory: usize) -> usize {
        match self.built(Method::Auto, memory) {
            Some((_, Structure::Horizons { room, .. })) => room,
            _ => 0,
        }
    }

    /// Number of slots of a fridge in `memory` bytes, and its meter.
    fn fridge(&self, memory: usize) -> Option<(u32, RttMeter)> {
        match self.built(Method::Fridge, memory)? {
            (meter, Structure::Fridge { slots, .. }) => Some((slots, meter)),
            _ => None,
        }
    }
}

/// Memory that holds all open requests.
fn exact(arguments: &Arguments, delays: &[Nanos]) -> Exact {
    let &Arguments { requests_per_second: rate, answered, span, .. } = arguments;
    // Requests stay until they are answered or expire, or until the end.
    let longest = arguments.expiry().min(span);
    let sum = |longest: Nanos| delays.iter().map(|&delay| delay.min(longest).as_secs_f64()).sum::<f64>();
    let mean = arguments.mean.as_secs_f64() * sum(longest) / sum(Nanos::new(i64::MAX));
    let open = rate * (answered * mean + (1.0 - answered) * longest.as_secs_f64());
    let most = open + 5.0 * open.sqrt();
    // A handshake waits for the other side, then for this one, and all the time for both together.
    let entries = if arguments.is_handshake() { 2.0 } else { 1.0 };
    let bytes = memories().find(|&bytes| arguments.room(bytes) as f64 >= entries * most);
    let command = bytes.map(|bytes| arguments.command("", bytes));
    Exact { open_requests: open, most_open_requests: most, memory_bytes: bytes.map(|bytes| bytes as u64), command }
}

fn memories() -> impl Iterator<Item = usize> {
    (0..).map(|step| LEAST_KIB << 10 << step).take_while(|&bytes| bytes <= MOST)
}

/// Fridges of increasing size, up to the first with the requested error, or as large as this machine's memory.
fn sampled(arguments: &Arguments, traffic: &Traffic, delays: &[Nanos]) -> Vec<Size> {
    /// As many samples of a fridge fill all bins.
    const MANY: usize = 20_000;
    let asked = arguments.asked.memory;
    let mut sizes = Vec::new();
    for bytes in asked.into_iter().chain(memories().filter(|_| asked.is_none())) {
        let Some((slots, mut meter)) = arguments.fridge(bytes) else { continue };
        let probability = traffic.best_probability(slots);
        let samples = traffic.samples(slots, probability);
        let stored = &delays[..(samples.ceil() as usize).clamp(1, MANY).min(delays.len())];
        let bins = meter.store().bin_errors(stored, QUANTILES);
        let error = |(quantile, bins): (f64, f64)| {
            let of_samples = traffic.quantile_error(slots, probability, quantile);
            let of_search = traffic.search_error(slots, probability, quantile);
            let error = (of_samples.hypot(of_search).exp2() - 1.0).hypot(bins);
            ExpectedError {
                quantile: Some(quantile),
                error: Some(error),
                samples: Some(samples),
                ..ExpectedError::default()
            }
        };
        let errors: Vec<ExpectedError> = QUANTILES.into_iter().zip(bins).map(error).collect();
        let is_enough = |asked: f64| errors.iter().filter_map(|line| line.error).all(|error| error <= asked);
        let is_last = arguments.asked.error.is_some_and(is_enough);
        sizes.push(Size {
            memory_bytes: bytes as u64,
            command: Some(arguments.command(" --method fridge", bytes)),
            parameters: Parameters::Fridge { slots, entry_probability: probability },
            errors,
        });
        if is_last {
            break;
        }
    }
    sizes
}
