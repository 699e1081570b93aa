//! `dwell compare`: methods at several memory sizes, on the user's own capture.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::Failure;
use crate::disorder::Disorder;
use crate::frames;
use crate::messages;
use crate::output::{self, Output, ReportArguments, WriteReport};
use crate::progress::Bar;
use crate::rtt::{self, matching};
use crate::signals::Signals;
use crate::units::{Memories, described, distinct, one_of};
use anyhow::Result;
use clap::builder::TypedValueParser;
use clap::{Args, Subcommand, ValueEnum};
use dwell_capture::{CaptureFiles, FrameSource, InputState};
use dwell_evaluate::compare::{Comparison, MethodFacts, Results, SCHEMA, Settings, table};
use dwell_evaluate::is_available;
use dwell_logs::EventLog;
use dwell_observe::Observer;
use dwell_report::json;
use dwell_report::plot::{self, Image, Sweep};
use dwell_sketch::distribution::Ambiguous;
use dwell_sketch::reuse::Reuse;
use dwell_sketch::rtt::{Method, Parameter};
use dwell_types::{IdForm, Match, Nanos, Observation, Overhead, Prefix, Sink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

// `dwell compare owd`: the same for two measurement points.
mod owd;

/// Which method, in how much memory: methods at equal memory on your own capture, compared with the exact result.
///
/// Each match is measured alone, as by dwell rtt --match MATCH --memory SIZE; the capture is read once. The true values
/// are those of --method exact. Seeds change the methods' hashes, not the exchanges.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    mut_arg("plot", |plot| plot.help(
        "Plot error against memory, for each match on its worst leg, to a .svg or .png file",
    )),
    after_help = "\
How the methods are tuned: all with the same effort, none by hand.

Without prior knowledge, at run time: km and fridge find the probability that a request enters, mis its lifetimes, \
hash-sample its sampling rate and how long to wait, auto its sampling by age once the memory is full; simple has no \
parameters.

With prior knowledge: stages, timebloom, bloomtime, ale-u, ale-e and ddbf need the longest delay, from --longest or a \
sixteenth of the expiry (8 s; tcp-flow 90 min). timebloom, bloomtime and ale-u can use --rate; timebloom learns the \
delays. All six divide their memory by fixed rules.

dart, for tcp-ack only, divides its memory by fixed rules; it omits SYN and segments sent twice, which the exact result \
includes.

Examples:
  dwell compare capture.pcapng.gz
  dwell compare capture.pcap --match tcp-ack --memory 8KiB,32KiB --methods km,auto --seeds 100
  dwell compare mon.pcap tue.pcap -o compared.json --plot error.svg
  dwell compare --events requests.csv.gz                 on a log of requests and responses
  dwell compare owd sender.pcap receiver.pcap            delay and loss between two points"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    question: Option<Question>,
    /// Captures in chronological order: pcap or pcapng, plain or gzip, xz, zstd; - is standard input, FILE%INTERFACE the
    /// packets of one interface.
    #[arg(value_name = "CAPTURE", required_unless_present = "events")]
    captures: Vec<PathBuf>,
    /// Compare on a log instead of captures, as dwell rtt --events reads it: CSV with the columns at_ns,kind,id. Groups
    /// are measured together.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["captures", "matches", "inside"])]
    events: Option<PathBuf>,
    /// Memory limits of all data structures together, per match; 4KiB..1MiB means all doublings, and the end.
    #[arg(long, value_name = "SIZES", value_parser = crate::units::memories,
        default_value = "4KiB,16KiB,64KiB,256KiB")]
    memory: Memories,
    /// Methods to compare with the exact result; dart only for tcp-ack.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method(),
        default_value = "km,fridge,hash-sample,simple,auto")]
    methods: Vec<Option<Method>>,
    /// Longest delay to expect: prior knowledge of stages, timebloom, bloomtime, ale-u, ale-e and ddbf.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span)]
    longest: Option<Nanos>,
    /// Expected requests per second and match: prior knowledge of timebloom, bloomtime and ale-u.
    #[arg(long, value_name = "N", value_parser = crate::units::above_zero("requests per second, above 0"))]
    rate: Option<f64>,
    /// What counts as request and response, as in dwell rtt. Default: those of tcp-handshake, tcp-ack and dns that some
    /// method can measure.
    #[arg(long = "match", value_name = "LIST", value_delimiter = ',', value_parser = matching())]
    matches: Vec<Match>,
    /// Prefixes of the inside network, such as 10.0.0.0/8 or 2001:db8::/32; legs are then named outward, inward, inside
    /// and outside.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    inside: Vec<Prefix>,
    /// If it is unknown which copy of a repeated request was answered: compare the middle of both bounds, count from the
    /// first or last copy, or drop the exchange; for the exact result as for all others.
    #[arg(long, value_parser = one_of(Ambiguous::ALL, Ambiguous::name), default_value = Ambiguous::Bounds.name())]
    ambiguous: Ambiguous,
    /// Number of seeds of each method's hashes; the average of ten needs at least ten.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = crate::units::between::<u16>(1..=1000))]
    seeds: u16,
    #[command(flatten)]
    output: OutputArguments,
}

/// Where the results go, and in which form.
#[derive(Args)]
struct OutputArguments {
    #[command(flatten)]
    report: ReportArguments<Format>,
    /// Plot error against memory to a .svg or .png file.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    plot: Option<(PathBuf, Image)>,
}

impl OutputArguments {
    /// Rejects files that cannot be written beside these inputs.
    fn check(&self, inputs: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<(), Failure> {
        self.report.check(inputs, self.plot.as_ref(), [])
    }

    fn open(&self) -> Result<Outputs> {
        let (format, report) = (self.report.format(), self.report.open()?);
        Ok(Outputs { format, report, plot: Output::picture(self.plot.as_ref())? })
    }
}

/// What else can be compared.
#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "a run has one value of it")]
enum Question {
    Owd(owd::Arguments),
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Human-readable.
    #[default]
    Table,
    /// One document, schema dwell.compare/1 or dwell.compare-owd/1.
    Json,
    /// One row per method, memory, quantity and leg.
    Csv,
}

/// Where the results go.
struct Outputs {
    format: Format,
    report: Output,
    plot: Option<(Output, Image)>,
}

impl Outputs {
    /// Writes the results in the requested format, and plots them.
    fn write<R>(mut self, results: &R, [table, json, csv]: [WriteReport<R>; 3], sweep: fn(&R) -> Sweep) -> Result<()> {
        match self.format {
            Format::Table => table(results, self.report.plain())?,
            Format::Json => json(results, &mut self.report)?,
            Format::Csv => csv(results, &mut self.report)?,
        }
        output::finish(self.report, None, self.plot, |image, to| plot::write_sweep(&sweep(results), image, to))
    }
}

/// What can be compared with `exact`.
fn all() -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|&method| method != Method::Exact)
}

/// The name of a method; `None` is all of them.
fn method() -> impl TypedValueParser<Value = Option<Method>> {
    described(
        all().map(Some).chain([None]),
        |method| method.map_or("all", Method::name),
        |method| method.map_or("all of these, for rules that they can measure", Method::summary),
    )
}

pub(crate) fn run(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    match &arguments.question {
        None => exchanges(arguments, signals),
        Some(Question::Owd(arguments)) => owd::run(arguments, signals),
    }
}

/// Compares all methods for exchanges seen at one point.
fn exchanges(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    let sources = || arguments.captures.iter().chain(&arguments.events);
    output::check_stdin(sources())?;
    arguments.output.check(sources())?;
    let settings = settings(arguments)?;
    let mut comparison = Comparison::new(&settings).map_err(Failure::usage)?;
    let mut read = match &arguments.events {
        Some(path) => Read::Log(EventLog::open(path, 1, None, 0, Some(signals.stop()))?),
        None => Read::Captures(CaptureFiles::open(&arguments.captures)?.until(signals.stop())),
    };
    let outputs = arguments.output.open()?;
    let (mut warnings, state): (_, &dyn InputState) = match &mut read {
        Read::Log(events) => (feed_log(events, &mut comparison)?, events.lines()),
        Read::Captures(source) => (feed_captures(source, arguments, &settings, &mut comparison)?, &*source),
    };
    let code = signals.end(state.is_stopped(), state.is_damaged());
    warnings.extend(signals.warning(state.is_stopped()));
    messages::warn(&warnings);
    let facts = |method| MethodFacts::new(method, arguments.longest, arguments.rate);
    let results = Results {
        schema: SCHEMA,
        sources: sources().map(|path| path.display().to_string()).collect(),
        warnings,
        seeds: settings.seeds,
        ambiguous: settings.ambiguous.name(),
        memory_bytes: settings.memories.clone(),
        methods: settings.methods.iter().map(|&method| facts(method)).collect(),
        matches: comparison.finish(),
    };
    outputs.write(&results, [table::write, json::write, Results::write_csv], Results::sweep)?;
    Ok(code)
}

/// What is compared on.
#[allow(clippy::large_enum_variant, reason = "a run has one value of it")]
enum Read {
    Log(EventLog),
    Captures(CaptureFiles),
}

/// Passes on the exchanges of captures; returns warnings.
fn feed_captures(
    source: &mut CaptureFiles,
    arguments: &Arguments,
    settings: &Settings,
    to: &mut Comparison,
) -> Result<Vec<String>> {
    let matches: Vec<Match> = settings.matches.iter().map(|&(matching, _)| matching).collect();
    let wants_plain = |matching| settings.methods.iter().any(|m| m.ids() == IdForm::Plain && m.measures(matching));
    let plain: Vec<Match> = matches.iter().copied().filter(|&matching| wants_plain(matching)).collect();
    let mut plain = (!plain.is_empty()).then(|| observer(arguments, plain, IdForm::Plain));
    let mut observer = observer(arguments, matches, IdForm::Hashed);
    let mut progress = Bar::of_bytes(source.bytes_total());
    let mut disorder = Disorder::NONE;
    while let Some(frame) = source.next_frame()? {
        if let Some(at) = frame.at {
            disorder.see(at);
        }
        observer.observe(&frame, to);
        if let Some(plain) = &mut plain {
            plain.observe(&frame, &mut to.of_form(IdForm::Plain));
        }
        progress.step(|| source.bytes_read());
    }
    progress.end();
    let mut warnings: Vec<String> = source.warnings().iter().map(ToString::to_string).collect();
    let is_common = disorder.is_common(observer.frames().total);
    warnings.extend(disorder.warning_of_exchanges(arguments.captures.len(), is_common));
    warnings.extend(frames::warnings(&observer, &arguments.inside));
    Ok(warnings)
}

/// The same for those of a log.
fn feed_log(events: &mut EventLog, to: &mut Comparison) -> Result<Vec<String>> {
    let mut progress = Bar::of_bytes(events.lines().bytes_total());
    while let Some(mut seen) = events.next_observation()? {
        let (Observation::Request(sighting) | Observation::Response(sighting)) = &mut seen;
        sighting.series.group = 0;
        to.take(seen);
        progress.step(|| events.lines().bytes_read());
    }
    progress.end();
    Ok(events.warnings())
}

/// Whether a method has something.
type Has = fn(Method) -> bool;

/// What to compare, without repetitions.
fn settings(arguments: &Arguments) -> Result<Settings, Failure> {
    let chosen = arguments.methods.iter().flat_map(|&method| match method {
        Some(method) => vec![method],
        None => all().collect(),
    });
    let mut methods = distinct(chosen);
    let mut matches = match &arguments.matches[..] {
        _ if arguments.events.is_some() => vec![Match::Events],
        [] => {
            let is_measured = |matching: &Match| methods.iter().any(|method| method.measures(*matching));
            Match::USUAL.into_iter().filter(is_measured).collect()
        }
        matches => matches.to_vec(),
    };
    matches.sort_unstable();
    matches.dedup();
    if arguments.methods.contains(&None) {
        methods.retain(|method| matches.iter().any(|&matching| method.measures(matching)));
    }
    let memories = arguments.memory.0.clone();
    let known: [(&str, bool, Has); 2] = [
        ("--longest", arguments.longest.is_some(), Method::needs_longest),
        ("--rate", arguments.rate.is_some(), |method| method.has(Parameter::Rate)),
    ];
    for (flag, is_set, has) in known {
        if is_set && !methods.iter().copied().any(has) {
            let others = rtt::methods(has);
            return Err(Failure::usage(format!("{flag} applies only to --methods {others}")));
        }
    }
    let copies = matches.len() * methods.len() * usize::from(arguments.seeds);
    check_sum(&memories, copies, "methods, matches and seeds")?;
    // What `dwell rtt` subtracts from the memory of its meter.
    let alone = |matching| match matching {
        Match::Events => (matching, Overhead::new(size_of::<Reuse>(), 0)),
        _ => (matching, observer(arguments, vec![matching], IdForm::Hashed).overhead()),
    };
    Ok(Settings {
        matches: matches.into_iter().map(alone).collect(),
        has_inside: !arguments.inside.is_empty(),
        methods,
        memories,
        seeds: arguments.seeds.into(),
        ambiguous: arguments.ambiguous,
        longest: arguments.longest,
        rate: arguments.rate,
    })
}

/// Rejects memory sizes that add up to more than anybody intends when this many copies of each are held at once.
fn check_sum(memories: &[usize], copies: usize, what: &str) -> Result<(), Failure> {
    const MOST_BYTES: usize = 16 << 30;
    let all = memories.iter().fold(0usize, |sum, &memory| sum.saturating_add(memory)).saturating_mul(copies);
    if all > MOST_BYTES {
        let (all, most) = (all.div_ceil(1 << 30), MOST_BYTES >> 30);
        return Err(Failure::usage(format!(
            "--memory: all {what} together would take {all} GiB, expected at most {most}"
        )));
    }
    if !is_available(all) {
        let all = all.div_ceil(1 << 20);
        return Err(Failure::usage(format!(
            "--memory: all {what} together would take {all} MiB, more than this machine has"
        )));
    }
    Ok(())
}

fn observer(arguments: &Arguments, matches: Vec<Match>, ids: IdForm) -> Observer {
    let (inside, memory) = (arguments.inside.clone(), arguments.memory.0.last().copied().unwrap_or_default());
    Observer::new(dwell_observe::Settings { matches, inside, ids, memory, ..Default::default() })
}
