//! Warnings by what was counted.

use super::arguments::{Arguments, MAX_GROUPS};
use crate::disorder::Disorder;
use crate::doubt::{CAPTURED_TWICE, FEW};
use dwell_observe::Frames;
use dwell_report::rtt::ResultLine;
use dwell_report::text;
use dwell_sketch::Structure;
use dwell_sketch::distribution::Ambiguous;
use dwell_sketch::reuse::Reuse;
use dwell_sketch::rtt::{Method, RttMeter, RuleState};
use dwell_types::{Match, Series};
use std::collections::BTreeMap;

/// What all reports so far contain, as far as it gives cause for doubt.
#[derive(Default)]
pub(super) struct Doubts {
    /// The matches that packets are examined for.
    matches: Vec<Match>,
    /// Whether any report has results, and the shortest delay in them, in nanoseconds.
    has_results: bool,
    shortest: Option<i64>,
    /// Whether packets that were captured twice have been warned of.
    pub(super) has_copies: bool,
    /// Number of delays, and how many of their requests were seen more than once.
    matched: u64,
    unresolved: u64,
    /// How many of the delays are of groups that have no line of their own, and whether the number of groups was chosen.
    ungrouped: u64,
    is_max_chosen: bool,
    /// A method that does not recognise all repeated requests, and how these are to count; and how many repeats were recognised.
    forgetful: Option<(Method, Ambiguous)>,
    repeats: u64,
    /// By match, how many requests were dropped before their answer, and how many responses match none.
    lost: BTreeMap<&'static str, (u64, u64)>,
    /// Whether it was given how long requests wait.
    is_longest_given: bool,
    /// Requests of `tcp-response`, copies left out, and how many of them are answered.
    asked: u64,
    answered: f64,
}

impl Doubts {
    pub(super) fn new(arguments: &Arguments) -> Self {
        Self {
            matches: arguments.matches(),
            is_max_chosen: arguments.max_groups != MAX_GROUPS,
            forgetful: forgets_repeats(arguments.method).then_some((arguments.method, arguments.ambiguous)),
            is_longest_given: arguments.longest.is_some(),
            ..Self::default()
        }
    }

    /// Takes the results of a report.
    pub(super) fn add(&mut self, results: &[ResultLine]) {
        self.has_results |= !results.is_empty();
        let shortest = results.iter().filter_map(|line| line.delay_ns.min.map(|min| min.value));
        self.shortest = self.shortest.into_iter().chain(shortest).min();
        self.matched += results.iter().map(|line| line.requests.matched).sum::<u64>();
        self.unresolved += results.iter().map(|line| line.ambiguous_samples).sum::<u64>();
        let others = results.iter().filter(|line| line.group == Series::OTHER);
        self.ungrouped += others.map(|line| line.requests.matched).sum::<u64>();
        self.repeats += results.iter().map(|line| line.requests.ambiguous).sum::<u64>();
        for line in results.iter().filter(|line| line.matching == Match::TcpResponse.name()) {
            self.asked += line.requests.seen - line.requests.ambiguous.min(line.requests.seen);
            self.answered += line.exchanges.map_or(0.0, |exchanges| exchanges.value);
        }
        for line in results {
            let (dropped, unmatched) = self.lost.entry(line.matching).or_default();
            *dropped += line.requests.evicted;
            *unmatched += line.responses.unmatched;
        }
    }

    /// Warns if frames are out of order, in so many captures. Little disorder matters if it made delays negative, or if it is
    /// common and there may be exchanges that take less time.
    pub(super) fn of_order(&self, disorder: &Disorder, frames: &Frames, captures: usize) -> Option<String> {
        let is_common = disorder.is_common(frames.total);
        let matters =
            self.shortest.map_or(is_common, |shortest| shortest < 0 || is_common && shortest < disorder.most().get());
        disorder.warning_of_exchanges(captures, matters)
    }

    /// Warns if packets seem to have been captured twice, or if none of them was measured.
    pub(super) fn of_frames(&self, frames: &Frames) -> impl Iterator<Item = String> {
        self.captured_twice().into_iter().chain(self.nothing_seen(frames))
    }

    /// If too many requests were repeated before their response for this to be chance, unless copies were found already.
    fn captured_twice(&self) -> Option<String> {
        let &Self { matched, unresolved, .. } = self;
        (!self.has_copies && unresolved > FEW.max(matched / 4)).then(|| {
            format!(
                "{unresolved} of {matched} delays are unresolved, since their requests were seen more than once before the answer: \
                 {CAPTURED_TWICE}"
            )
        })
    }

    /// If packets were decoded but none of them belongs to a selected match; with the matches to try.
    fn nothing_seen(&self, frames: &Frames) -> Option<String> {
        let names = |is_asked: bool| {
            let rules = Match::of_packets().filter(|matching| self.matches.contains(matching) == is_asked);
            rules.map(Match::name).collect::<Vec<_>>().join(", ")
        };
        (!self.has_results && frames.decoded() > 0).then(|| {
            let others = names(false);
            let others = if others.is_empty() { others } else { format!("; other rules: {others}") };
            format!("no packet is a request or a response of {}{others}", names(true))
        })
    }

    /// Warns of rules whose requests are dropped after a time that was given, or learnt from the exchanges that were found.
    pub(super) fn cut_short(&self, meter: &RttMeter) -> Vec<String> {
        let why =
            if self.is_longest_given { " (--longest)" } else { ", as learnt from the exchanges that were found," };
        let warning = |rule: RuleState| {
            let Structure::Sample { longest, .. } = rule.structure else { return None };
            let name = rule.matching.name();
            let &(dropped, unmatched) = self.lost.get(name)?;
            (dropped > 0 && unmatched > 0).then(|| {
                format!(
                    "{name}: {} waited for {longest}{why} and were dropped; \
                     {} match none: slower exchanges are missing, and no interval shows it; --method auto keeps them",
                    text::of(dropped, "request"),
                    text::of(unmatched, "response")
                )
            })
        };
        meter.rules().filter_map(warning).collect()
    }

    /// Warns if many requests of `tcp-response` are left out, which is no accident: those answered late are.
    pub(super) fn of_responses(&self) -> Option<String> {
        let unanswered = self.asked.saturating_sub(self.answered.round() as u64);
        (unanswered > FEW.max(self.asked / 4)).then(|| {
            format!(
                "tcp-response: {unanswered} of {} requests are left out, since more was sent before their response, or none came: \
                 where connections carry several requests at once (HTTP/2, gRPC, pipelining) mostly fast ones are measured",
                self.asked
            )
        })
    }

    /// Warns if exchanges of repeated requests are to be left out, or measured from the first one, but some are not
    /// recognised.
    pub(super) fn of_repeats(&self) -> Option<String> {
        let dropped = self.lost.values().map(|(dropped, _)| dropped).sum::<u64>();
        let (method, ambiguous) = self.forgetful.filter(|_| dropped + self.repeats > 0)?;
        let effect = match ambiguous {
            Ambiguous::Drop => "are not left out",
            Ambiguous::First => "are measured from a later one",
            Ambiguous::Bounds | Ambiguous::Last => return None,
        };
        Some(format!(
            "--ambiguous {}: {} does not recognise every request that was sent again ({} dropped before the answer): \
             such exchanges {effect}, and no interval shows it: use --method auto",
            ambiguous.name(),
            method.name(),
            text::of(dropped, "request")
        ))
    }

    /// Warns if many delays are of groups that have no line of their own.
    pub(super) fn of_groups(&self) -> Option<String> {
        let &Self { matched, ungrouped, is_max_chosen, .. } = self;
        (ungrouped > matched / 10 && !is_max_chosen).then(|| {
            format!(
                "{ungrouped} of {matched} delays are in other, of groups that came after the first {MAX_GROUPS} \
                 (--max-groups): a group begins with a request, answered or not"
            )
        })
    }
}

/// Whether a repeated request may look as if it was sent once, and the estimates do not allow for that. Biased methods
/// have a warning of their own.
fn forgets_repeats(method: Method) -> bool {
    !matches!(method, Method::Auto | Method::Exact) && !method.is_biased()
}

/// Warns of a method whose intervals do not contain the truth.
pub(super) fn biased(method: Method) -> Option<String> {
    method.is_biased().then(|| {
        let name = method.name();
        format!("{name} is biased: which samples it loses depends on their delay, and intervals do not show it")
    })
}

/// Warns if sampled exchanges share ids.
pub(super) fn reused(meter: &RttMeter, reuse: &Reuse) -> Option<String> {
    const MANY: f64 = 2.0;
    let is_sampled = meter.rules().any(|rule| rule.sampled_since.is_some());
    let exchanges = reuse.per_exchange().filter(|&exchanges| is_sampled && exchanges >= MANY)?;
    let wider = exchanges.sqrt();
    Some(format!(
        "ids are reused, some {exchanges:.0} times each: all exchanges of an id are sampled or none, which makes intervals \
         {wider:.1} times wider: use each id once, or more --memory"
    ))
}
