//! The reports of a run, one or one per interval, and the files they are written to.

use super::arguments::{Arguments, Format};
use crate::Failure;
use crate::disorder::Disorder;
use crate::frames::frames_since;
use crate::output::Output;
use crate::signals::Signals;
use crate::words::{self, CAPTURED_TWICE, Plain};
use anyhow::Result;
use dwell_logs::EventLog;
use dwell_observe::{Frames, Observer};
use dwell_report::facts::{self, Memory, Parameter, Span};
use dwell_report::json;
use dwell_report::plot::{self, Image};
use dwell_report::rtt::{Flow, Quic, ResultLine, RttReport, SCHEMA, csv, openmetrics, ppviz, samples, table};
use dwell_sketch::Structure;
use dwell_sketch::distribution::Ambiguous;
use dwell_sketch::reuse::Reuse;
use dwell_sketch::rtt::{Method, RttMeter, RuleState};
use dwell_sketch::top_flows::TopFlows;
use dwell_sketch::{Sample, dart};
use dwell_types::{FlowKey, Match, Nanos, Series, Timestamp};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

/// Where the observations came from.
pub(super) enum Observed<'a> {
    /// Packets, with the largest flows if requested.
    Packets(&'a Observer, Option<&'a TopFlows>),
    Events(&'a EventLog),
}

impl Observed<'_> {
    fn group_name(&self, number: u16) -> String {
        match self {
            Self::Packets(observer, _) => observer.group_name(number),
            Self::Events(events) => events.group_name(number),
        }
    }

    fn frames(&self) -> Option<Frames> {
        match self {
            Self::Packets(observer, _) => Some(*observer.frames()),
            Self::Events(_) => None,
        }
    }

    fn quic(&self) -> Option<Quic> {
        let Self::Packets(observer, _) = self else { return None };
        let quic = observer.quic()?;
        Some(Quic {
            connections: quic.connections,
            spinning: quic.spinning,
            not_spinning: quic.not_spinning,
            undecided: quic.undecided,
            evicted: quic.evicted,
            unknown_packets: quic.unknown_packets,
        })
    }

    fn state_bytes(&self) -> usize {
        match self {
            Self::Packets(observer, flows) => observer.state_bytes() + flows.map_or(0, TopFlows::state_bytes),
            Self::Events(events) => events.state_bytes() + size_of::<Reuse>(),
        }
    }

    fn flows(&self, most: usize, ambiguous: Ambiguous) -> Vec<Flow> {
        match self {
            Self::Packets(_, Some(flows)) => flows.answers(most, ambiguous).iter().map(Flow::new).collect(),
            Self::Packets(_, None) | Self::Events(_) => Vec::new(),
        }
    }
}

/// The outputs of a run.
pub(super) struct Outputs {
    report: Output,
    format: Format,
    /// Whether the column names of CSV have been written.
    has_head: bool,
    plot: Option<(Output, Image)>,
    samples: Option<samples::Writer<Output>>,
    ppviz: Option<ppviz::Writer<Output>>,
    ambiguous: Ambiguous,
}

impl Outputs {
    /// Opens every file, so that one that cannot be written is known before the work begins.
    pub(super) fn open(arguments: &Arguments) -> Result<Self> {
        let report = || Output::open(arguments.output.as_deref());
        let is_ppviz = arguments.format == Format::Ppviz;
        Ok(Self {
            // With ppviz the samples are the only report.
            report: if is_ppviz { Output::stdout() } else { report()? },
            format: arguments.format,
            has_head: false,
            plot: Output::picture(arguments.plot.as_ref())?,
            samples: match &arguments.samples {
                Some(path) => Some(samples::Writer::new(Output::file(path)?)?),
                None => None,
            },
            ppviz: if is_ppviz { Some(ppviz::Writer::new(report()?)) } else { None },
            ambiguous: arguments.ambiguous,
        })
    }

    /// Whether the reports of intervals are still needed at the end. JSON Lines and CSV are written at the end of each
    /// interval, while packets keep coming.
    fn keep_reports(&self) -> bool {
        self.plot.is_some() || matches!(self.format, Format::Table | Format::Json)
    }

    /// Writes a report, unless the format needs all reports at once.
    fn report(&mut self, report: &RttReport) -> Result<()> {
        match self.format {
            Format::Jsonl => json::write_line(report, &mut self.report)?,
            Format::Csv => {
                if !std::mem::replace(&mut self.has_head, true) {
                    csv::write_head(&mut self.report)?;
                }
                csv::write_rows(report, &mut self.report)?;
            }
            Format::Table | Format::Json | Format::Openmetrics | Format::Ppviz => return Ok(()),
        }
        Ok(self.report.flush()?)
    }

    pub(super) fn want_samples(&self) -> bool {
        self.samples.is_some() || self.ppviz.is_some()
    }

    /// Writes a sample. An ambiguous one has the delay chosen by `--ambiguous`, or the longer one with both bounds.
    pub(super) fn sample(&mut self, series: Series, sample: &Sample, group: &str, flow: Option<FlowKey>) -> Result<()> {
        let delay = match self.ambiguous {
            Ambiguous::Drop if sample.is_ambiguous() => return Ok(()),
            Ambiguous::Last => sample.since_last,
            _ => sample.since_first,
        };
        let line = samples::Sample {
            at: sample.at,
            delay,
            weight: sample.weight,
            inserted_since: sample.inserted_since,
            matching: series.matching,
            leg: series.leg,
            group,
            flow,
        };
        if let Some(samples) = &mut self.samples {
            samples.write(&line)?;
        }
        if let Some(ppviz) = &mut self.ppviz {
            ppviz.write(&line)?;
        }
        Ok(())
    }

    /// Flushes all samples so far.
    pub(super) fn flush_samples(&mut self) -> Result<()> {
        if let Some(samples) = &mut self.samples {
            samples.flush()?;
        }
        if let Some(ppviz) = &mut self.ppviz {
            ppviz.flush()?;
        }
        Ok(())
    }
}

const NOTHING: (Timestamp, Timestamp) = (Timestamp::from_nanos(i64::MAX), Timestamp::from_nanos(i64::MIN));

/// The reports so far, and the state that each of them is made from.
pub(super) struct Reports {
    sources: Vec<String>,
    warnings: Vec<String>,
    parameters: BTreeMap<&'static str, Parameter>,
    method: Method,
    budget_bytes: Option<u64>,
    ambiguous: Ambiguous,
    /// Number of flows with a line of their own.
    top: usize,
    /// Length of an interval in nanoseconds; intervals begin at its multiples since the epoch.
    interval: Option<i64>,
    interval_end: Option<i64>,
    /// End of the next interval, once the current one is over.
    next_end: Option<i64>,
    /// Number of successive times far before the current interval.
    before: u32,
    /// First and last timestamp of the current interval; inverted if nothing has been seen yet.
    span: (Timestamp, Timestamp),
    disorder: Disorder,
    /// The matches that packets are examined for.
    matches: Vec<Match>,
    /// Whether any report so far has results, and whether any delay in them is negative.
    has_results: bool,
    has_negative: bool,
    /// Number of delays in all reports so far, and how many of their requests were seen more than once.
    matched: u64,
    unresolved: u64,
    frames_before: Option<Frames>,
    /// The reports of earlier intervals, if they are needed at the end.
    done: Vec<RttReport>,
}

impl Reports {
    pub(super) fn new(arguments: &Arguments, sources: Vec<String>) -> Self {
        let method = arguments.method;
        let mut parameters = BTreeMap::new();
        parameters.insert("ambiguous", Parameter::Text(arguments.ambiguous.name().to_owned()));
        parameters.insert("seed", Parameter::Integer(arguments.seed));
        let expiry = arguments.expiry();
        parameters.insert("expiry_ns", Parameter::Span(expiry.get()));
        if arguments.matches().contains(&Match::TcpFlow) {
            let flow_expiry = arguments.flow_expiry();
            parameters.insert("flow_expiry_ns", Parameter::Span(flow_expiry.get()));
        }
        if let Some(bits) = arguments.fingerprint_bits {
            parameters.insert("fingerprint_bits", Parameter::Integer(u64::from(bits)));
        }
        if arguments.group.is_some() {
            parameters.insert("max_groups", Parameter::Integer(u64::from(arguments.max_groups)));
        }
        if !arguments.inside.is_empty() {
            let inside: Vec<String> = arguments.inside.iter().map(ToString::to_string).collect();
            parameters.insert("inside", Parameter::Text(inside.join(",")));
        }
        let mut reports = Self {
            sources,
            warnings: Vec::new(),
            parameters,
            method,
            budget_bytes: (method != Method::Exact).then_some(arguments.memory as u64),
            ambiguous: arguments.ambiguous,
            top: arguments.top,
            interval: arguments.interval.map(Nanos::get),
            interval_end: None,
            next_end: None,
            before: 0,
            span: NOTHING,
            disorder: Disorder::NONE,
            matches: arguments.matches(),
            has_results: false,
            has_negative: false,
            matched: 0,
            unresolved: 0,
            frames_before: None,
            done: Vec::new(),
        };
        if method.is_biased() {
            let name = method.name();
            reports.warn(format!(
                "{name} is biased: which samples it loses depends on their delay, and intervals do \
                                  not show it"
            ));
        }
        reports
    }

    /// Adds a warning to the report and writes it to standard error.
    pub(super) fn warn(&mut self, words: String) {
        words::warn(std::slice::from_ref(&words));
        self.warnings.push(words);
    }

    /// Records the time of an observation.
    #[inline]
    pub(super) fn see(&mut self, at: Timestamp) {
        self.span = (self.span.0.min(at), self.span.1.max(at));
        self.disorder.see(at);
    }

    /// Warns if the sampled exchanges share ids: `responses_per_id` is the number of responses per id.
    pub(super) fn warn_of_reuse(&mut self, responses_per_id: Option<f64>) {
        const MANY: f64 = 2.0;
        if let Some(responses) = responses_per_id.filter(|&responses| responses >= MANY) {
            let narrow = responses.sqrt();
            self.warn(format!(
                "ids are reused, some {responses:.0} times each: all exchanges of an id are sampled or none, so \
                 intervals are up to {narrow:.1} times too narrow, that of the count most: use each id once, or more \
                 --memory"
            ));
        }
    }

    /// Records how reading ended; returns the exit code.
    pub(super) fn see_end(&mut self, is_stopped: bool, is_damaged: bool, signals: &Signals) -> ExitCode {
        if is_stopped {
            self.warn(signals.warning());
        }
        signals.end(is_stopped, is_damaged)
    }

    /// Whether the current interval is over at `at`: that is later, or the last few times were all far earlier, as
    /// after a clock was set back or after a wrong time. Other late packets count in the current interval; empty
    /// intervals are skipped.
    #[inline]
    pub(super) fn is_interval_over(&mut self, at: Timestamp) -> bool {
        /// A time more than this many nanoseconds before the interval is not a late packet but a clock set back,
        const FAR: i64 = 1_000_000_000;
        /// if this many of them come in a row.
        const MANY: u32 = 4;
        let Some(interval) = self.interval else { return false };
        let at = at.as_nanos();
        let end = at.div_euclid(interval).saturating_add(1).saturating_mul(interval);
        let Some(present) = self.interval_end else {
            self.interval_end = Some(end);
            return false;
        };
        let is_far_before = at < present.saturating_sub(interval).saturating_sub(interval.max(FAR));
        self.before = if is_far_before { self.before + 1 } else { 0 };
        let is_over = at >= present || self.before == MANY;
        if is_over {
            (self.next_end, self.before) = (Some(end), 0);
        }
        is_over
    }

    pub(super) fn end_interval(
        &mut self,
        meter: &mut RttMeter,
        observed: &Observed<'_>,
        outputs: &mut Outputs,
    ) -> Result<()> {
        let report = self.report(meter, observed);
        meter.reset_interval();
        self.interval_end = self.next_end.take();
        self.span = NOTHING;
        self.frames_before = observed.frames();
        outputs.report(&report)?;
        if outputs.keep_reports() {
            self.done.push(report);
        }
        Ok(())
    }

    /// Writes the last report and everything that can only be written at the end.
    pub(super) fn finish(
        mut self,
        meter: &mut RttMeter,
        observed: &Observed<'_>,
        mut outputs: Outputs,
    ) -> Result<(), Failure> {
        let mut last = self.report(meter, observed);
        if let Some(frames) = observed.frames() {
            let found = [self.disorder_of_frames(), self.captured_twice(), self.nothing_seen(&frames)];
            for words in found.into_iter().flatten() {
                self.warn(words.clone());
                last.warnings.push(words);
            }
        }
        outputs.report(&last)?;
        let is_series = self.interval.is_some();
        let to = &mut outputs.report;
        self.done.push(last);
        match (outputs.format, &self.done[..]) {
            (Format::Table, [report]) if !is_series => table::write(report, &mut Plain(to))?,
            (Format::Table, reports) => table::write_series(reports, &mut Plain(to))?,
            (Format::Json, [report]) if !is_series => json::write(report, to)?,
            (Format::Json, reports) => json::write_series(reports, to)?,
            (Format::Openmetrics, [report]) => openmetrics::write(report, to)?,
            // Jsonl and CSV are written already, ppviz has no report, and OpenMetrics no series.
            (Format::Jsonl | Format::Csv | Format::Ppviz | Format::Openmetrics, _) => (),
        }
        outputs.report.finish()?;
        if let Some(ppviz) = outputs.ppviz {
            ppviz.finish()?.finish()?;
        }
        if let Some(samples) = outputs.samples {
            samples.finish()?.finish()?;
        }
        if let Some((mut to, image)) = outputs.plot {
            match &self.done[..] {
                [report] => plot::write(report, image, &mut to)?,
                reports => plot::write_series(reports, image, &mut to)?,
            }
            to.finish()?;
        }
        Ok(())
    }

    /// A warning if frames are out of order.
    fn disorder_of_frames(&self) -> Option<String> {
        let words = self.disorder.warning("frame", self.has_negative)?;
        let order = if self.sources.len() > 1 { "; give captures in chronological order" } else { "" };
        Some(format!("{words}: delays across them may be wrong{order}"))
    }

    /// A warning if too many requests were repeated before their response for this to be chance.
    fn captured_twice(&self) -> Option<String> {
        const FEW: u64 = 20;
        let &Self { matched, unresolved, .. } = self;
        (unresolved > FEW.max(matched / 4)).then(|| {
            format!(
                "{unresolved} of {matched} delays are unresolved, since their requests were seen more than once before the answer: \
                 {CAPTURED_TWICE}"
            )
        })
    }

    /// A warning, with the matches to try, if packets were decoded but none of them belongs to a selected match.
    fn nothing_seen(&self, frames: &Frames) -> Option<String> {
        let names = |is_asked: bool| {
            let rules = Match::of_packets().filter(|matching| self.matches.contains(matching) == is_asked);
            rules.map(Match::name).collect::<Vec<_>>().join(", ")
        };
        (!self.has_results && frames.decoded() > 0).then(|| {
            let others = names(false);
            let others = if others.is_empty() { others } else { format!("; --match finds {others}") };
            format!("no packet is a request or a response of {}{others}", names(true))
        })
    }

    fn report(&mut self, meter: &mut RttMeter, observed: &Observed<'_>) -> RttReport {
        meter.advance(self.disorder.present());
        let answers = meter.estimate(self.ambiguous);
        let mut parameters = self.parameters.clone();
        let mut is_exact = true;
        // By kind of structure, then by rule.
        let mut structures: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for rule in meter.rules() {
            is_exact &= rule.sampled_since.is_none();
            if let Some((kind, facts)) = describe(&rule) {
                structures.entry(kind).or_default().insert(rule.matching.name(), Parameter::Map(facts));
            }
        }
        parameters.extend(structures.into_iter().map(|(kind, rules)| (kind, Parameter::Map(rules))));
        let resolution = answers.iter().map(|a| a.resolution).fold(0.0, f64::max);
        parameters.insert("relative_resolution", Parameter::Real(resolution));
        let results: Vec<ResultLine> = answers
            .iter()
            .map(|a| ResultLine::new(a, observed.group_name(a.series.group), self.interval.is_none()))
            .collect();
        self.has_results |= !results.is_empty();
        self.has_negative |= results.iter().any(|line| line.delay_ns.min.is_some_and(|min| min.value < 0));
        self.matched += results.iter().map(|line| line.requests.matched).sum::<u64>();
        self.unresolved += results.iter().map(|line| line.ambiguous_samples).sum::<u64>();
        RttReport {
            schema: SCHEMA,
            sources: self.sources.clone(),
            warnings: self.warnings.clone(),
            span_ns: (self.span != NOTHING)
                .then(|| Span { start: self.span.0.as_nanos(), end: self.span.1.as_nanos() }),
            interval_ns: self
                .interval
                .zip(self.interval_end)
                .map(|(length, end)| Span { start: end.saturating_sub(length), end }),
            frames: observed.frames().map(|frames| frames_since(&frames, &self.frames_before.unwrap_or_default())),
            memory: Memory {
                budget_bytes: self.budget_bytes,
                state_bytes: (meter.most_bytes() + observed.state_bytes()) as u64,
            },
            method: facts::Method { name: self.method.name(), exact: is_exact, parameters },
            quic: observed.quic(),
            results,
            flows: observed.flows(self.top, self.ambiguous),
        }
    }
}

/// The kind and parameters of the structure that holds a rule's requests; `None` if it has no parameters.
fn describe(rule: &RuleState) -> Option<(&'static str, BTreeMap<&'static str, Parameter>)> {
    let integer = Parameter::Integer;
    let span = |span: Nanos| Parameter::Span(span.get());
    Some(match rule.structure {
        Structure::Table => return None,
        Structure::Horizons { chances, .. } => {
            let (since, (fastest, slowest)) = rule.sampled_since.zip(chances)?;
            let facts = [
                ("entry_probability", Parameter::Real(fastest)),
                ("expiry_probability", Parameter::Real(slowest)),
                ("sampled_since_ns", Parameter::Moment(since.as_nanos())),
            ];
            ("rules", BTreeMap::from(facts))
        }
        Structure::Fridge { slots, entry_probability, fingerprint_bits } => {
            let facts = [
                ("fingerprint_bits", integer(fingerprint_bits.into())),
                ("slots", integer(slots.into())),
                ("entry_probability", Parameter::Real(entry_probability)),
            ];
            ("rules", BTreeMap::from(facts))
        }
        Structure::Array { slots, stages, longest } => {
            let mut facts = BTreeMap::from([("slots", integer(slots.into())), ("stages", integer(stages.into()))]);
            facts.extend(longest.map(|longest| ("longest_ns", span(longest))));
            ("arrays", facts)
        }
        Structure::Filters { filters, bits, hashes, longest } => {
            let facts = [
                ("filters", integer(filters.into())),
                ("bits", integer(bits)),
                ("hashes", integer(hashes.into())),
                ("longest_ns", span(longest)),
            ];
            ("filters", BTreeMap::from(facts))
        }
        Structure::Trackers(dart::Params { ranges, packets, stages, rounds }) => {
            let facts = [
                ("ranges", integer(ranges.into())),
                ("packets", integer(packets.into())),
                ("stages", integer(stages.into())),
                ("rounds", integer(rounds.into())),
            ];
            ("trackers", BTreeMap::from(facts))
        }
    })
}
