//! Warnings about an answer.

use super::Answer;
use super::arguments::{Arguments, Method};
use crate::doubt::CAPTURED_TWICE;
use crate::points::{Merged, changed_between};
use dwell_capture::Name;
use dwell_report::facts::Span;
use dwell_report::owd::{ClockDrift, ClockOffset, Delays, Line};
use dwell_sketch::owd::{DUPLICATE_WINDOW, Totals};
use dwell_types::Nanos;
use std::fmt;
use std::path::PathBuf;

// Those of sketches.
mod sketches;
pub(super) use sketches::{foreign, not_listed, of_joined, of_results, read_otherwise};

/// Warnings about an answer of `dwell owd`; `packets` are those that were seen at the points.
pub(super) fn of(
    arguments: &Arguments,
    points: &Merged,
    paths: &[PathBuf; 2],
    packets: [u64; 2],
    answer: &Answer,
) -> Vec<String> {
    let doubt = doubts(&answer.total, answer.reverse.as_ref(), Some(arguments.point.longest));
    // Delays of different times may be negative in both directions because of a drift.
    let doubt = doubt.filter(|doubt| *doubt != Doubt::Backwards || answer.clock_drift.is_none());
    let is_hardly_matched = is_hardly_matched(&answer.total, answer.unsent[1]);
    let mut warnings = of_matching(arguments, points, answer, doubt);
    if packets[0] == 0 && packets[1] > 0 {
        warnings.push(Doubt::NothingInCommon.to_string());
    }
    if packets == [0; 2] && points.elsewhere() > 0 {
        let elsewhere = points.elsewhere();
        warnings.push(format!("no packet comes from a --from prefix and leaves it; {elsewhere} do not"));
    }
    warnings.extend(arguments.flow.as_ref().filter(|_| packets[0] > 0).and_then(|flow| not_found(flow, answer)));
    warnings.extend_from_slice(&answer.warnings);
    if !is_hardly_matched && doubt != Some(Doubt::Backwards) {
        warnings.extend(of_clocks(arguments, points.span(), answer));
    }
    let duplicated = duplicated(paths, packets, answer);
    if duplicated.is_empty() {
        warnings.extend(answer.directions().find_map(without_delay));
    }
    warnings.extend(duplicated);
    warnings
}

/// Whether so few packets match that they may do so by chance, and what they say is of no use.
fn is_hardly_matched(total: &Line, unsent: Option<u64>) -> bool {
    let &Line { received, lost, uncovered, .. } = total;
    let is_strange = unsent.is_some_and(|unsent| received < unsent / 10);
    received > 0 && (received < lost / 10 || received < (lost + uncovered) / 10 && is_strange)
}

/// Warns of packets, or sketches, that do not match.
fn of_matching(arguments: &Arguments, points: &Merged, answer: &Answer, doubt: Option<Doubt>) -> Vec<String> {
    let (point, total) = (&arguments.point, &answer.total);
    if let Some(words) = points.offloaded() {
        return vec![words];
    }
    let doubt = doubt.map(|doubt| {
        let is_half_named = doubt == Doubt::NothingInCommon && point.naming.nat && !point.from.is_empty();
        if is_half_named { UNTRANSLATED.to_owned() } else { doubt.to_string() }
    });
    match arguments.method {
        Method::Auto | Method::Exact => Vec::from_iter(of_packets(total, answer.unsent[1], answer.surplus, doubt)),
        Method::Lda => sketches::of_intervals(total, points.span(), point.interval(), doubt),
    }
}

/// Warns of packets that do not match, by those that arrived and were not seen being sent, apart from `surplus` duplicates;
/// `doubt` is what their delays say.
fn of_packets(total: &Line, unsent: Option<u64>, surplus: u64, doubt: Option<String>) -> Option<String> {
    let changed = || changed_between(total.sent, total.lost, unsent?.saturating_sub(surplus));
    if is_hardly_matched(total, unsent) {
        return changed().or_else(|| Some(Doubt::HardlyAnythingInCommon.to_string()));
    }
    doubt.or_else(changed)
}

/// The same for a comparison of methods, whose packets have one direction.
pub(crate) fn of_comparison(totals: &Totals, longest: Nanos) -> Option<String> {
    let total = Line::from(totals);
    let doubt = doubts(&total, None, Some(longest)).map(|doubt| match doubt {
        Doubt::TooEarly => {
            "packets arrived before they were sent: the captures are in the wrong order, or the clocks disagree \
             (--clock-offset)"
                .to_owned()
        }
        doubt => doubt.to_string(),
    });
    let [unsent, surplus] = [totals.unsent, totals.received_again].map(|packets| packets.round() as u64);
    of_packets(&total, Some(unsent), surplus, doubt)
}

/// Warns of clocks that disagree.
fn of_clocks(arguments: &Arguments, span: Option<Span>, answer: &Answer) -> Option<String> {
    match answer.clock_offset {
        Some(offset) => {
            let sum = |numbers: [Option<u64>; 2]| numbers.into_iter().flatten().sum::<u64>();
            let unsent = sum(answer.unsent).saturating_sub(sum(answer.duplicates));
            let may_be_mismatched = unsent > 0 || answer.directions().any(|line| line.ambiguous > 0);
            disagreement(offset, answer.clock_drift, arguments.clock_offset, span, may_be_mismatched)
        }
        None => answer.reverse.as_ref().and_then(|_| too_early(answer.directions())),
    }
}

/// How long a span lasts, zero if there is none.
fn lasts(span: Option<Span>) -> Nanos {
    span.map_or(Nanos::ZERO, |span| Nanos::new(span.end.saturating_sub(span.start)))
}

/// Says that no flow has the name that is asked for, or that flows which may have it are among the others.
fn not_found(flow: &str, answer: &Answer) -> Option<String> {
    match (answer.flows.is_empty(), answer.has_all_flows) {
        (true, true) => Some(format!("no flow has a name that contains {flow} (--flow)")),
        (true, false) => Some(format!(
            "no flow in memory has a name that contains {flow} (--flow); there were more flows than fit, and it may be one of \
             the others"
        )),
        (false, true) => None,
        (false, false) => Some(format!(
            "there were more flows than fit the memory: some of the others may have names that contain {flow} (--flow)"
        )),
    }
}

/// What a result shows to be wrong with the captures or clocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    NothingInCommon,
    HardlyAnythingInCommon,
    TooEarly,
    Backwards,
    TooLate,
    SomeTooEarly,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingInCommon => {
                "no packet was seen at both points: are these captures of the same traffic at the same time, with the same \
                 addresses (--nat), and clocks that agree (--longest, --clock-offset)?"
            }
            Self::HardlyAnythingInCommon => {
                "hardly any packet was seen at both points, and those that were may be equal ones: do the clocks differ by more \
                 than --longest (--clock-offset)? Are these captures of the same traffic at the same time, with the same \
                 addresses (--nat)?"
            }
            Self::TooEarly => {
                "packets arrived before they were sent: the captures are in the wrong order (--swap), or the clocks \
                 disagree (--clock-offset)"
            }
            Self::Backwards => {
                "packets of both directions arrived before they were sent: the captures are in the wrong order (--swap), or \
                 --from names the receiver's side"
            }
            Self::TooLate => {
                "packets take longer than --longest on average: the clocks disagree (--clock-offset), and intervals that \
                 waited too long for their counterparts are left out"
            }
            Self::SomeTooEarly => {
                "some packets arrived before they were sent: the captures hold both directions (name the sender's side with \
                 --from PREFIX), or the clocks disagree (--clock-offset)"
            }
        })
    }
}

/// The more likely cause if the points have no packet in common and addresses are known to be translated.
const UNTRANSLATED: &str = "no packet was seen at both points: --from must name the sender's side as either point sees it, with \
                            --nat also by the addresses that it is translated to";

/// What the delays of one direction, or of both, say about captures and clocks. If both are measured, no clock offset can
/// make both negative; what else negative delays say then, [`disagreement`] knows.
fn doubts(total: &Line, reverse: Option<&Line>, longest: Option<Nanos>) -> Option<Doubt> {
    if total.sent > 0 && total.effective_samples == 0 {
        return (total.received == 0).then_some(Doubt::NothingInCommon);
    }
    let d = &total.delay_ns;
    let longest_of = |d: &Delays| d.max.map(|max| max.value as f64).or(d.mean.map(|mean| mean.high));
    match reverse {
        None if longest_of(d).is_some_and(|most| most < 0.0) => return Some(Doubt::TooEarly),
        Some(back) if longest_of(d).zip(longest_of(&back.delay_ns)).is_some_and(|(there, back)| there + back < 0.0) => {
            return Some(Doubt::Backwards);
        }
        _ => {}
    }
    if d.mean.zip(longest).is_some_and(|(mean, longest)| mean.low > longest.get() as f64) {
        return Some(Doubt::TooLate);
    }
    (d.min.is_some_and(|min| min.value < 0) && reverse.is_none()).then_some(Doubt::SomeTooEarly)
}

/// Warns if the delays of both directions cannot be right by the same clocks, from whose difference `removed` was
/// subtracted, or only if these drift. Clocks cannot drift arbitrarily far while captures last (`span`); and if packets
/// arrived that were not seen being sent, or some are equal, one may have been matched with another.
fn disagreement(
    offset: ClockOffset,
    drift: Option<ClockDrift>,
    removed: Nanos,
    span: Option<Span>,
    may_be_mismatched: bool,
) -> Option<String> {
    const MATCHED: &str = "packets that a capture lacks were taken for equal ones sent later (smallest delays are wrong \
                           then, and others as far as these are many; a smaller --longest avoids some of it)";
    const DRIFTED: &str = "the clocks drifted apart (measure shorter captures, or synchronise them)";
    const ONE_WAY: &str = "all packets go in one direction, as those of a queue (--from 0.0.0.0/0,::/0)";
    let ClockOffset { low, high } = offset;
    if let Some(ClockDrift { ppm, .. }) = drift.filter(|_| low > high) {
        return Some(format!(
            "the clocks drift apart by {ppm}, and delays change by as much: measure shorter captures, or synchronise the \
             clocks"
        ));
    }
    if low > high {
        let apart = Nanos::new(low.saturating_sub(high));
        let lasts = lasts(span);
        let why = if apart > lasts.drift() {
            format!(", more than clocks drift apart in {lasts}: {ONE_WAY}, a clock was set, or {MATCHED}")
        } else if may_be_mismatched {
            format!(": {DRIFTED}, {ONE_WAY}, or {MATCHED}")
        } else {
            format!(": {DRIFTED}, or {ONE_WAY}")
        };
        return Some(format!("the delays of both directions contradict each other by {apart}{why}"));
    }
    (low > removed.get() || high < removed.get()).then(|| {
        format!(
            "some packets arrived before they were sent: the clocks disagree, and the receiver's is {offset} (--clock-offset)"
        )
    })
}

/// Warns of negative delays that show that clocks disagree, if one direction has no delays.
fn too_early<'a>(mut lines: impl Iterator<Item = &'a Line>) -> Option<String> {
    lines.any(|line| line.delay_ns.min.is_some_and(|min| min.value < 0)).then(|| {
        "some packets arrived before they were sent: the clocks disagree (--clock-offset), or a packet was \
         matched with an equal one sent later"
            .to_owned()
    })
}

/// Warns of points that see many packets twice, and of the effect on the answer.
fn duplicated(paths: &[PathBuf; 2], packets: [u64; 2], answer: &Answer) -> Vec<String> {
    let points = paths.iter().zip(packets).zip(answer.duplicates).zip(answer.are_duplicates_many);
    let many = points.filter_map(|(((path, packets), duplicates), are_many)| {
        let duplicates = duplicates.filter(|_| are_many)?;
        Some(format!(
            "{}: {duplicates} of {packets} packets repeat one seen there at most {DUPLICATE_WINDOW} before: {CAPTURED_TWICE} \
             Duplicates at the sender count as lost; of those at the receiver only the first counts",
            Name(path)
        ))
    });
    many.collect()
}

/// Warns if too many packets equal others in flight for this to be chance.
fn without_delay(total: &Line) -> Option<String> {
    (total.ambiguous > total.received / 4).then(|| {
        format!(
            "{} of {} received packets equal others in flight, and have no delay: {CAPTURED_TWICE} Or does a generator send \
             identical packets, or does a capture lack some of those that are (as keep-alives)?",
            total.ambiguous, total.received
        )
    })
}
