//! The reports of a run: one, or one per interval.

use super::arguments::{Arguments, Format};
use super::copies::Copies;
use super::intervals::Intervals;
use super::observed::Observed;
use super::outputs::Outputs;
use super::warnings::{self, Doubts};
use crate::Failure;
use crate::disorder::Disorder;
use crate::frames::frames_since;
use crate::messages;
use crate::signals::Signals;
use anyhow::Result;
use dwell_observe::Frames;
use dwell_report::facts::{self, Memory, Parameter, Span};
use dwell_report::rtt::{ResultLine, RttReport, SCHEMA};
use dwell_sketch::Structure;
use dwell_sketch::rivals::dart;
use dwell_sketch::rivals::timebloom::Policy;
use dwell_sketch::rtt::{self, Answer, RttMeter, RuleState, Settings};
use dwell_types::{Match, Nanos, Timestamp};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

const NOTHING: (Timestamp, Timestamp) = (Timestamp::MAX, Timestamp::MIN);

/// The reports so far, and the state that each of them is made from.
pub(super) struct Reports<'a> {
    arguments: &'a Arguments,
    sources: Arc<[String]>,
    warnings: Vec<String>,
    parameters: BTreeMap<&'static str, Parameter>,
    intervals: Intervals,
    /// Whether distribution functions are drawn: only of a whole run, in its plot or its table.
    are_cdfs_drawn: bool,
    /// First and last timestamp of the current interval; inverted if nothing has been seen yet.
    span: (Timestamp, Timestamp),
    disorder: Disorder,
    doubts: Doubts,
    frames_before: Option<Frames>,
    /// The reports of earlier intervals, if they are needed at the end.
    done: Vec<RttReport>,
}

impl<'a> Reports<'a> {
    pub(super) fn new(arguments: &'a Arguments, sources: Vec<String>) -> Self {
        let mut reports = Self {
            arguments,
            sources: sources.into(),
            warnings: Vec::new(),
            parameters: parameters(arguments),
            intervals: Intervals::new(arguments.interval),
            are_cdfs_drawn: arguments.interval.is_none()
                && (arguments.plot.is_some() || arguments.report.format() == Format::Table),
            span: NOTHING,
            disorder: Disorder::NONE,
            doubts: Doubts::new(arguments),
            frames_before: None,
            done: Vec::new(),
        };
        reports.warn(warnings::biased(arguments.method));
        reports
    }

    /// Adds warnings to the report and writes them to standard error.
    pub(super) fn warn(&mut self, warnings: impl IntoIterator<Item = String>) {
        let before = self.warnings.len();
        self.warnings.extend(warnings);
        messages::warn(&self.warnings[before..]);
    }

    /// Records the time of an observation.
    #[inline]
    pub(super) fn see(&mut self, at: Timestamp) {
        self.span = (self.span.0.min(at), self.span.1.max(at));
        self.disorder.see(at);
    }

    /// Warns if packets were captured twice.
    pub(super) fn warn_of_copies(&mut self, copies: &Copies) {
        let words = copies.warning();
        self.doubts.has_copies |= words.is_some();
        self.warn(words);
    }

    /// Records how reading ended; returns the exit code.
    pub(super) fn see_end(&mut self, is_stopped: bool, is_damaged: bool, signals: &Signals) -> ExitCode {
        self.warn(signals.warning(is_stopped));
        signals.end(is_stopped, is_damaged)
    }

    /// See [`Intervals::is_over`].
    #[inline]
    pub(super) fn is_interval_over(&mut self, at: Timestamp) -> bool {
        self.intervals.is_over(at)
    }

    /// Reports an interval that is over at the time of the `next` observation.
    pub(super) fn end_interval(
        &mut self,
        next: Timestamp,
        meter: &mut RttMeter,
        observed: &Observed<'_>,
        outputs: &mut Outputs,
    ) -> Result<()> {
        let answers = self.up_to_now(meter, Some(next)).end_interval();
        let report = self.report(answers, meter, observed);
        self.intervals.begin_next();
        self.span = NOTHING;
        self.frames_before = observed.frames();
        outputs.report(&report)?;
        if outputs.needs_reports() {
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
        let answers = self.up_to_now(meter, None).estimate();
        let mut last = self.report(answers, meter, observed);
        let mut found = self.doubts.cut_short(meter);
        if let Some(frames) = observed.frames() {
            found.extend(self.doubts.of_order(&self.disorder, &frames, self.sources.len()));
            found.extend(self.doubts.of_frames(&frames));
        }
        let noun = if observed.frames().is_some() { "frame" } else { "line" };
        found.extend(self.disorder.warning_of_leaps(noun));
        found.extend(self.doubts.of_groups());
        found.extend(self.doubts.of_repeats());
        found.extend(self.doubts.of_responses());
        last.warnings.extend_from_slice(&found);
        self.warn(found);
        outputs.report(&last)?;
        self.done.push(last);
        Ok(outputs.finish(&self.done, self.intervals.are_wanted())?)
    }

    /// The meter at the present time, before the `next` observation.
    fn up_to_now<'m>(&self, meter: &'m mut RttMeter, next: Option<Timestamp>) -> &'m mut RttMeter {
        meter.advance(self.disorder.present(next));
        meter
    }

    fn report(&mut self, answers: Vec<Answer>, meter: &RttMeter, observed: &Observed<'_>) -> RttReport {
        let &Arguments { method, memory, top, ambiguous, .. } = self.arguments;
        let exchanges_per_id = observed.exchanges_per_id();
        let answers: Vec<Answer> = answers
            .into_iter()
            .map(|answer| Answer { distribution: answer.distribution.with_shared_ids(exchanges_per_id), ..answer })
            .collect();
        let mut parameters = self.parameters.clone();
        let mut is_exact = observed.is_complete();
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
        let mut results: Vec<ResultLine> = answers
            .iter()
            .map(|a| ResultLine::new(a, observed.group_name(a.series.group), !self.intervals.are_wanted()))
            .collect();
        if self.are_cdfs_drawn {
            ResultLine::add_cdfs(&mut results, &answers, self.arguments.sort);
        }
        self.arguments.sort.sort(&mut results);
        self.doubts.add(&results);
        RttReport {
            schema: SCHEMA,
            sources: Arc::clone(&self.sources),
            warnings: self.warnings.clone(),
            span_ns: (self.span != NOTHING)
                .then(|| Span { start: self.span.0.as_nanos(), end: self.span.1.as_nanos() }),
            interval_ns: self.intervals.span(),
            frames: observed.frames().map(|frames| frames_since(&frames, &self.frames_before.unwrap_or_default())),
            memory: Memory {
                budget_bytes: method.is_bounded().then_some(memory as u64),
                state_bytes: (meter.most_bytes() + observed.state_bytes()) as u64,
            },
            method: facts::MethodFacts { name: method.name(), exact: is_exact, parameters },
            quic: observed.quic(),
            results,
            order: self.arguments.sort,
            flows: observed.flows(top, ambiguous),
        }
    }
}

/// The parameters that are the same in all reports.
fn parameters(arguments: &Arguments) -> BTreeMap<&'static str, Parameter> {
    let expiry = |matching| arguments.expiry.unwrap_or(Settings::usual_expiry(matching));
    let mut parameters = BTreeMap::from([
        ("ambiguous", Parameter::Text(arguments.ambiguous.name().to_owned())),
        ("seed", Parameter::Integer(arguments.seed)),
        ("expiry_ns", Parameter::Span(expiry(Match::Events).get())),
    ]);
    if arguments.matches().contains(&Match::TcpFlow) {
        parameters.insert("flow_expiry_ns", Parameter::Span(expiry(Match::TcpFlow).get()));
    }
    if let Some(bits) = arguments.fingerprint_bits {
        parameters.insert("fingerprint_bits", Parameter::Integer(u64::from(bits)));
    }
    if let Some(rate) = arguments.rate {
        parameters.insert("rate", Parameter::Real(rate));
    }
    if arguments.method.has(rtt::Parameter::Policy) {
        let policy = arguments.policy.unwrap_or(Policy::USUAL);
        parameters.insert("policy", Parameter::Text(policy.name().to_owned()));
        let prior = arguments.prior.as_ref().map_or("learnt".to_owned(), |path| path.display().to_string());
        parameters.insert("prior", Parameter::Text(prior));
    }
    if arguments.group.is_some() {
        parameters.insert("max_groups", Parameter::Integer(u64::from(arguments.max_groups)));
    }
    if !arguments.inside.is_empty() {
        let inside: Vec<String> = arguments.inside.iter().map(ToString::to_string).collect();
        parameters.insert("inside", Parameter::Text(inside.join(",")));
    }
    parameters
}

/// The kind and parameters of the structure that holds a rule's requests; `None` if it has no parameters.
fn describe(rule: &RuleState) -> Option<(&'static str, BTreeMap<&'static str, Parameter>)> {
    let integer = Parameter::Integer;
    let span = |span: Nanos| Parameter::Span(span.get());
    Some(match rule.structure {
        Structure::Table => return None,
        Structure::Sample { slots, probability, longest } => {
            let facts = [
                ("slots", integer(slots as u64)),
                ("entry_probability", Parameter::Real(probability)),
                ("longest_ns", span(longest)),
            ];
            ("rules", BTreeMap::from(facts))
        }
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
