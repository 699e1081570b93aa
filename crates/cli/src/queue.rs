//! `dwell queue`: which flows built a queue, from captures on both sides of it or from a log of sojourns.

use crate::Failure;
use crate::progress::Bar;
use crate::signals::Signals;
use crate::units;
use anyhow::Result;
use dwell_capture::InputState;
use dwell_capture::file::Stop;
use dwell_logs::SojournLog;
use dwell_observe::crossing::Directions;
use dwell_report::facts::{Memory, MethodFacts, Parameter, Span};
use dwell_report::queue::{Arrivals, Depth, Packets, QueueReport, SCHEMA};
use dwell_sketch::conquest::{Cleaning, Conquest, Counter, Params};
use dwell_sketch::queue::{QueueMeter, Settings, SettingsError};
use dwell_types::{Departure, Nanos};
use std::collections::BTreeMap;
use std::process::ExitCode;

// Command-line arguments.
mod arguments;
pub(crate) use arguments::Arguments;
// Departing packets, from captures or from a log.
mod sides;
use sides::Sides;
// Warnings about them, and about the memory.
mod gaps;
mod warnings;
// Output files.
mod outputs;
use outputs::Outputs;

pub(crate) fn run(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    arguments.check()?;
    let (settings, mut meter) = meter(arguments)?;
    let mut source = Source::open(arguments, signals.stop())?;
    let mut outputs = Outputs::open(arguments)?;
    let mut progress = Bar::of_bytes(source.state().bytes_total());

    while let Some(departure) = source.next()? {
        let queued = meter.update(&departure, || source.flow_name());
        outputs.packet(&departure, queued.as_ref(), || source.flow_name(), || meter.rate_change(departure.flow))?;
        if meter.has_episodes() {
            outputs.take(meter.take_episodes())?;
        }
        progress.step(|| source.state().bytes_read());
        if outputs.packets.has_failed() {
            break;
        }
    }

    progress.end();
    meter.end();
    outputs.take(meter.take_episodes())?;
    let mut report = report(arguments, &settings, &source, &meter);
    report.warnings.extend(warnings::of(arguments, &settings.params, &meter, &report.packets));
    let state = source.state();
    report.warnings.extend(signals.warning(state.is_stopped()));
    report.warnings.extend(outputs.packets.warning());
    let code = signals.end(state.is_stopped(), state.is_damaged() || outputs.packets.has_failed());
    outputs.finish(report)?;
    Ok(code)
}

/// The settings, and a meter with them.
fn meter(arguments: &Arguments) -> Result<(Settings, QueueMeter), Failure> {
    let settings = settings(arguments, arguments.limit())?;
    match QueueMeter::new(&settings) {
        Ok(meter) => Ok((settings, meter)),
        Err(SettingsError::Memory { .. }) => Err(too_small(arguments)),
        Err(error) => Err(Failure::usage(error)),
    }
}

/// The error for a memory that is too small, with one that is enough.
fn too_small(arguments: &Arguments) -> Failure {
    let memory = arguments.memory;
    let enough = units::enough(memory, |memory| {
        match settings(arguments, Some(memory)).map(|settings| QueueMeter::new(&settings)) {
            Ok(Err(SettingsError::Memory { needed })) => needed + arguments.shares(Some(memory)).taps.unwrap_or(0),
            _ => memory,
        }
    });
    let hint = if arguments.sketch_bytes.is_some() { "" } else { " (--sketch-bytes limits the snapshots alone)" };
    Failure::usage(format!("--memory of {memory} bytes is too small: {enough} is enough{hint}"))
}

fn settings(arguments: &Arguments, memory: Option<usize>) -> Result<Settings, Failure> {
    let shares = arguments.shares(memory);
    Ok(Settings {
        method: arguments.method,
        memory: memory.map(|memory| memory - shares.taps.unwrap_or(0)),
        longest: arguments.longest,
        params: arguments.params(shares.snapshots)?,
        quiet: arguments.quiet,
        flows: shares.flows,
        top: arguments.top as usize,
        has_timeline: arguments.plot.is_some(),
        has_comparison: arguments.compare_exact,
    })
}

/// The source of departing packets and their arrivals.
#[allow(clippy::large_enum_variant, reason = "a run has one value of it")]
enum Source {
    Sides(Sides),
    Log(SojournLog),
}

impl Source {
    fn open(arguments: &Arguments, stop: &Stop) -> Result<Self> {
        match &arguments.sojourns {
            Some(path) => Ok(Self::Log(SojournLog::open(path, arguments.naming.seed, Some(stop))?)),
            None => Ok(Self::Sides(Sides::open(arguments, arguments.shares(arguments.limit()).taps, stop)?)),
        }
    }

    fn next(&mut self) -> Result<Option<Departure>> {
        match self {
            Self::Sides(sides) => sides.next(),
            Self::Log(log) => Ok(log.next_departure()?),
        }
    }

    /// The flow name of the latest packet.
    fn flow_name(&self) -> String {
        match self {
            Self::Sides(sides) => sides.flow_name(),
            Self::Log(log) => log.flow_name(),
        }
    }

    fn span(&self) -> Option<Span> {
        match self {
            Self::Sides(sides) => sides.points.span(),
            Self::Log(log) => log.span().map(|(start, end)| Span { start: start.as_nanos(), end: end.as_nanos() }),
        }
    }

    /// How far it was read, and how that ended.
    fn state(&self) -> &dyn InputState {
        match self {
            Self::Sides(sides) => &sides.points,
            Self::Log(log) => log.lines(),
        }
    }

    fn warnings(&self) -> Vec<String> {
        match self {
            Self::Sides(sides) => sides.warnings(),
            Self::Log(log) => log.warnings(),
        }
    }

    /// Packets by fate, as far as the source knows.
    fn packets(&self) -> Packets {
        match self {
            Self::Sides(sides) => {
                let counts = sides.counts();
                Packets {
                    ambiguous: counts.ambiguous,
                    backwards: counts.backwards,
                    overlong: sides.overlong(),
                    elsewhere: sides.elsewhere(),
                    arrivals: Some(Arrivals {
                        seen: counts.arrived,
                        matched: counts.matched,
                        backwards: counts.backwards,
                        evicted: counts.evicted,
                        expired: counts.expired,
                        repeated: counts.repeated,
                        waiting: counts.waiting,
                    }),
                    ..Packets::default()
                }
            }
            Self::Log(log) => Packets { backwards: log.backwards(), ..Packets::default() },
        }
    }
}

/// The report without its episodes, and with the warnings of its source.
fn report(arguments: &Arguments, settings: &Settings, source: &Source, meter: &QueueMeter) -> QueueReport {
    let unit = settings.params.unit;
    let counts = meter.counts();
    let known = source.packets();
    let packets = Packets {
        departed: counts.packets,
        matched: counts.packets - counts.unknown,
        unknown: counts.unknown,
        incomplete: counts.incomplete,
        late: counts.late,
        overlong: meter.overlong() + known.overlong,
        ..known
    };
    let (frames, between) = match source {
        Source::Sides(sides) => (sides.points.frames(), sides.state_bytes()),
        Source::Log(_) => (None, 0),
    };
    let is_complete = packets.overlong == 0 && packets.arrivals.is_none_or(|arrivals| arrivals.evicted == 0);
    QueueReport {
        schema: SCHEMA,
        sources: arguments.inputs().map(|path| path.display().to_string()).collect(),
        warnings: source.warnings(),
        span_ns: source.span(),
        frames,
        packets,
        memory: Memory {
            budget_bytes: arguments.limit().map(|bytes| bytes as u64),
            state_bytes: (meter.state_bytes() + between) as u64,
        },
        method: MethodFacts {
            name: arguments.method.name(),
            exact: meter.is_exact() && is_complete,
            parameters: parameters(arguments, source, meter, &settings.params),
        },
        longest_delay_ns: meter.longest_delay().map(Nanos::get),
        peak_queue: Depth::new(meter.deepest(), unit),
        against_exact: meter.comparison().map(|comparison| comparison.scores().into()),
        episodes: Vec::new(),
        timeline: meter.timeline(),
        pairs: meter.comparison().map(|comparison| comparison.pairs().to_vec()).unwrap_or_default(),
        unit,
    }
}

fn parameters(
    arguments: &Arguments,
    source: &Source,
    meter: &QueueMeter,
    params: &Params,
) -> BTreeMap<&'static str, Parameter> {
    let (directions, ways) = match source {
        Source::Sides(sides) => (&sides.directions, Some(("ways", Parameter::Integer(arguments.ways.into())))),
        Source::Log(_) => (&Directions::Forward, None),
    };
    let mut parameters = arguments.reading().parameters(directions, arguments.longest, arguments.clock_offset);
    parameters.extend(ways);
    parameters.extend([
        ("threshold_ns", Parameter::Span(arguments.threshold.get())),
        ("quiet_ns", Parameter::Span(arguments.quiet.get())),
        ("share", Parameter::Real(arguments.share)),
        ("unit", Parameter::Text(params.unit.name().to_owned())),
    ]);
    if !meter.is_exact() {
        parameters.extend(describe(params));
    }
    if params.cleaning == Cleaning::Cyclic {
        parameters.insert("dirty_snapshots", Parameter::Integer(meter.counts().dirty));
    }
    if let Some(since) = meter.since() {
        parameters.insert("snapshots_since_ns", Parameter::Moment(since.as_nanos()));
    }
    parameters
}

/// The parameters of the snapshots.
fn describe(params: &Params) -> [(&'static str, Parameter); 6] {
    let windows = params.windows.iter().map(|window| Parameter::Span(window.get())).collect();
    let name = params.counter.kind().name();
    let counter = match params.counter {
        Counter::CountMin { rows, columns, .. } => format!("{name} of {rows} rows of {columns}"),
        Counter::SpaceSaving { entries } => format!("{name} of {entries}"),
    };
    [
        ("snapshots", Parameter::Integer(params.snapshots.into())),
        ("windows_ns", Parameter::List(windows)),
        ("counter", Parameter::Text(counter)),
        ("rule", Parameter::Text(params.rule.name().to_owned())),
        ("cleaning", Parameter::Text(params.cleaning.name().to_owned())),
        ("sketch_bytes", Parameter::Integer(Conquest::bytes(params) as u64)),
    ]
}
