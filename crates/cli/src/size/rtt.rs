//! `dwell size rtt`: how much memory, for which error of the delays at one point?

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::Failure;
use crate::output::Output;
use crate::units::{self, share};
use clap::{ArgGroup, Args};
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{Arrivals, End, ExchangeWorkload, Settings as Exchanges, Workload};
use dwell_sketch::fridge::Traffic;
use dwell_sketch::rtt::{Method, RttMeter, Settings, SettingsError};
use dwell_types::{Match, Nanos, Timestamp};
use std::io::{self, Write};
use std::process::ExitCode;

/// How much memory dwell rtt needs to know every exchange, or to sample so many that p50, p95 and p99 err by no more than this.
///
/// Delays are taken to be log-normal. The error is the standard error, as a share of the quantile: two of three runs err by less.
#[derive(Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["error", "memory"]),
    after_help = "\
Examples:
  dwell size rtt --error 5% --requests-per-second 100000 --mean 50ms --p99 500ms --answered 40% --span 60s
  dwell size rtt --memory 64KiB --requests-per-second 1000 --mean 20ms --p99 200ms"
)]
pub(super) struct Arguments {
    /// The least memory in which p50, p95 and p99 err by at most this.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    error: Option<f64>,
    /// The errors in so much memory.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    memory: Option<usize>,
    /// Requests, answered or not.
    #[arg(long, value_name = "N", value_parser = units::above_zero("requests per second, above 0"))]
    requests_per_second: f64,
    /// Mean delay.
    #[arg(long, value_name = "TIME", value_parser = units::span)]
    mean: Nanos,
    /// The delay that one exchange of a hundred exceeds.
    #[arg(long, value_name = "TIME", value_parser = units::span)]
    p99: Nanos,
    /// The share of the requests that are answered.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "100%")]
    answered: f64,
    /// What is measured together: the length of the capture, or of an interval.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "60s")]
    span: Nanos,
    /// How long an unanswered request is waited for.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "128s")]
    expiry: Nanos,
}

/// Quantiles that are to be right.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];
/// Memories that are tried.
const LEAST_KIB: usize = 8;
const MOST: usize = 1 << 40;

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let traffic = traffic(arguments)?;
    if let Some(memory) = arguments.memory {
        meter(Method::Fridge, memory, arguments.expiry).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let mut to = Output::open(None)?;
    write(arguments, &traffic, &mut to)?;
    to.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// What a fridge meets: delays as the simulator draws them.
fn traffic(arguments: &Arguments) -> Result<Traffic, Failure> {
    const DRAWN: u64 = 100_000;
    let &Arguments { requests_per_second: rate, mean, p99, answered, span, .. } = arguments;
    let settings = Exchanges {
        start: Timestamp::from_nanos(0),
        arrivals: Arrivals::Constant,
        rate: 1e6,
        bursts: None,
        answered: 1.0,
        delays: Distribution::LogNormal { mean, p99 },
        orphans: 0.0,
        end: End::AfterRequests(DRAWN),
    };
    let mut workload = ExchangeWorkload::new(&settings, 0).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut delays = Vec::with_capacity(DRAWN as usize);
    while let Some(seen) = workload.next() {
        delays.extend(workload.delay().filter(|_| matches!(seen, dwell_types::Observation::Response(_))));
    }
    let exchanges = rate * answered * span.get() as f64 / 1e9;
    Traffic::new(rate, exchanges, &delays).ok_or_else(|| Failure::Usage("no exchange is expected".to_owned()))
}

/// A meter of one rule in so many bytes.
fn meter(method: Method, memory: usize, expiry: Nanos) -> Result<RttMeter, SettingsError> {
    let settings = Settings {
        matches: vec![Match::Dns],
        has_inside: false,
        groups: 1,
        method,
        memory,
        expiry,
        flow_expiry: expiry,
        slots: None,
        entry_probability: None,
        fingerprint_bits: None,
        stages: None,
        longest: None,
        rate: None,
        seed: 0,
        keeps_samples: false,
    };
    RttMeter::new(&settings)
}

/// Requests that the default holds in so many bytes.
fn room(memory: usize, expiry: Nanos) -> usize {
    let meter = meter(Method::Auto, memory, expiry).ok();
    meter.and_then(|meter| meter.rules().find_map(|rule| rule.room)).unwrap_or(0)
}

/// Slots of a fridge in so many bytes.
fn slots(memory: usize, expiry: Nanos) -> Option<u32> {
    let meter = meter(Method::Fridge, memory, expiry).ok()?;
    meter.rules().find_map(|rule| rule.fridge).map(|(slots, ..)| slots)
}

fn write(arguments: &Arguments, traffic: &Traffic, to: &mut impl Write) -> io::Result<()> {
    let &Arguments { requests_per_second: rate, answered, expiry, span, .. } = arguments;
    let seconds = |time: Nanos| time.get() as f64 / 1e9;
    // What was never answered stays until it expires, or to the end.
    let orphans = (1.0 - answered) * seconds(expiry.min(span));
    let open = rate * (answered * seconds(arguments.mean) + orphans);
    let most = open + 5.0 * open.sqrt();
    writeln!(to, "{open:.0} requests are open at a time, hardly ever more than {most:.0}")?;
    let sizes = || (0..).map(|step| LEAST_KIB << 10 << step).take_while(|&bytes| bytes <= MOST);
    match sizes().find(|&bytes| room(bytes, expiry) as f64 >= most) {
        Some(bytes) => writeln!(to, "every exchange: dwell rtt --memory {}", kib(bytes))?,
        None => writeln!(to, "every exchange: no memory that could be had")?,
    }
    writeln!(to, "\nsampled: dwell rtt --method fridge\n")?;
    writeln!(
        to,
        "{:>10} {:>9} {:>12} {:>10} {:>8} {:>8} {:>8}",
        "memory", "slots", "probability", "samples", "p50", "p95", "p99"
    )?;
    let asked = arguments.memory;
    for bytes in asked.into_iter().chain(sizes().filter(|_| asked.is_none())) {
        let Some(slots) = slots(bytes, expiry) else { continue };
        let (probability, worst) = traffic.best_probability(slots, &QUANTILES);
        let samples = traffic.samples(slots, probability);
        write!(to, "{:>10} {slots:>9} {probability:>12.6} {samples:>10.0}", kib(bytes))?;
        for quantile in QUANTILES {
            write!(to, " {:>8}", percent(traffic.quantile_error(slots, probability, quantile)))?;
        }
        writeln!(to)?;
        if arguments.error.is_some_and(|error| worst.exp2() - 1.0 <= error) || probability == 1.0 && worst < 1e-3 {
            break;
        }
    }
    writeln!(
        to,
        "\nprobability: of a request to enter; the fridge finds it while running, at up to 1.3 times these errors. p50, p95, p99:\n\
         standard errors; 95% of runs err by less than twice that."
    )
}

fn kib(bytes: usize) -> String {
    let kib = bytes as f64 / 1024.0;
    if kib >= 1024.0 { format!("{}MiB", kib / 1024.0) } else { format!("{kib}KiB") }
}

/// An error in octaves as a share of the delay.
fn percent(octaves: f64) -> String {
    let share = octaves.exp2() - 1.0;
    if share < 1.0 { format!("{:.1}%", share * 100.0) } else { format!("×{:.1}", octaves.exp2()) }
}
