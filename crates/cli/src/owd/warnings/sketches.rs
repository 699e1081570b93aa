//! Warnings about an answer by sketches: `dwell owd --method lda` and `dwell owd join`.

use super::{Doubt, doubts, lasts};
use crate::doubt::{CAPTURED_TWICE, FEW};
use dwell_report::facts::Span;
use dwell_report::owd::Line;
use dwell_sketch::lds::Lds;
use dwell_sketch::summary::{Combined, FlowList, FlowMeans, Origin, Sketch};
use dwell_types::Nanos;

/// Warns of sketches of intervals of this length that could not be joined, or have no delays; `doubt` is what delays say.
pub(super) fn of_intervals(total: &Line, span: Option<Span>, interval: Nanos, doubt: Option<String>) -> Vec<String> {
    let warnings = [
        not_joined(total, span, Some(interval)),
        too_sparse(total, span, interval),
        doubt.filter(|_| is_joined(total)),
    ];
    warnings.into_iter().flatten().collect()
}

/// Warns of sketches of two points that could not be joined, or that show something to be wrong. `whole` are the numbers
/// and usual lengths of their intervals, unless it was said already that some are damaged or missing.
pub(in crate::owd) fn of_joined(
    total: &Line,
    span: Option<Span>,
    whole: Option<([usize; 2], [Nanos; 2])>,
) -> Vec<String> {
    let unjoined = whole.and_then(|(numbers, lengths)| {
        let words = not_joined(total, span, None)?;
        let why = too_few(total, span, numbers);
        Some(why.or_else(|| unequal(numbers, lengths)).or_else(|| cut_off(numbers)).unwrap_or(words))
    });
    let doubt = doubts(total, None, None).filter(|_| is_joined(total)).map(said);
    unjoined.into_iter().chain(doubt).collect()
}

/// Says which parameters of two sketches differ.
pub(in crate::owd) fn foreign(sent: &Sketch, received: &Sketch) -> Option<String> {
    let [ours, theirs] = [sent, received].map(|sketch| (sketch.lda.params(), sketch.lds.as_ref().map(Lds::params)));
    let seeds = [ours.0.seed, theirs.0.seed];
    if seeds[0] != seeds[1] {
        return Some(format!("the sketches were made with different seeds (--seed {} and {})", seeds[0], seeds[1]));
    }
    (ours != theirs).then(|| {
        "the sketches were made with different parameters: --sketch-bytes, --packets-per-interval, --loss, --longest, \
         --flows, --flow-bytes and --weights must be the same at both points"
            .to_owned()
    })
}

/// Warns if the two points read packets in different ways.
pub(in crate::owd) fn read_otherwise(sent: Origin, received: Origin) -> Option<String> {
    (!sent.fits(received)).then(|| {
        "packets were read in different ways at the two points (--from, --nat, --mtu, --payload-bytes and --key must be the \
         same): those that one of them leaves out, or names otherwise, count as lost or never sent"
            .to_owned()
    })
}

/// Warns of packets that make the results of joined sketches wrong or are missing from them; `flows` are those sketched, if
/// any were, and the sender's list of them.
pub(in crate::owd) fn of_results(total: &Combined, flows: Option<(&FlowMeans, &FlowList)>) -> Vec<String> {
    let of_flows = flows.map(|(means, list)| [unlisted(total, list), renamed(total, means)]);
    surplus(total).into_iter().chain(of_flows.into_iter().flatten().flatten()).collect()
}

/// Whether sketches of any interval could be joined, so that there is an answer to doubt.
fn is_joined(total: &Line) -> bool {
    total.uncovered < total.sent
}

/// Warns of sketches that could not be joined; `interval` is their length, if known.
fn not_joined(total: &Line, span: Option<Span>, interval: Option<Nanos>) -> Option<String> {
    if total.sent > 0 && !is_joined(total) {
        let lasts = lasts(span);
        let short = interval.filter(|interval| lasts.get() / 2 < interval.get());
        return Some(match short {
            Some(interval) => format!(
                "no interval could be joined: the captures last {lasts}, less than two intervals of {interval}: set a shorter \
                 --interval"
            ),
            None => {
                // With captures of both points at hand the shift is known.
                let clocks = " and the difference of the clocks? If not, tell the receiver how much later it sees packets \
                              (owd sketch --shift)";
                format!(
                    "no interval could be joined: are these captures of the same traffic, with the same addresses (--nat)? \
                     Is --interval much longer than the delay{}",
                    if interval.is_none() { clocks } else { "?" }
                )
            }
        });
    }
    (total.uncovered > total.sent / 4).then(|| {
        format!(
            "{} of {} packets are in intervals that could not be joined: longer ones (--interval) lose less, and so does a \
             receiver that knows how much later it sees packets (owd sketch --shift)",
            total.uncovered, total.sent
        )
    })
}

/// Says that there are no delays since hardly any packet has company in its interval.
fn too_sparse(total: &Line, span: Option<Span>, interval: Nanos) -> Option<String> {
    /// With more packets per interval other reasons are more likely.
    const FEW_PER_INTERVAL: u64 = 3;
    let intervals = (lasts(span).get() / interval.get().max(1)).unsigned_abs();
    let are_few = total.received > 0 && total.received / FEW_PER_INTERVAL < intervals;
    (total.delay_ns.mean.is_none() && are_few)
        .then(|| "intervals have too few packets for a delay: set a longer --interval".to_owned())
}

/// Says that neither point has an interval between its first and its last, which can be joined only if both points see
/// the same packet first or last; `numbers` are those of their intervals.
fn too_few(total: &Line, span: Option<Span>, numbers: [usize; 2]) -> Option<String> {
    const FIRST_AND_LAST: usize = 2;
    (!is_joined(total) && numbers.iter().all(|&number| number <= FIRST_AND_LAST)).then(|| {
        let lasts = lasts(span);
        let [sent, received] = numbers;
        format!(
            "no interval could be joined: the sketches cover {lasts}, by {sent} and {received} intervals, of which the first \
             and the last are usually incomplete: set a shorter --interval (owd sketch)"
        )
    })
}

/// Says that the intervals of two points have different lengths, if these are the usual ones of several: borders of equal
/// intervals vary by a quarter.
fn unequal(numbers: [usize; 2], lengths: [Nanos; 2]) -> Option<String> {
    const SEVERAL: usize = 5;
    let [shorter, longer] = [lengths[0].min(lengths[1]), lengths[0].max(lengths[1])];
    let are_several = numbers.iter().all(|&number| number >= SEVERAL);
    (are_several && longer.get() / 5 * 4 > shorter.get()).then(|| {
        let [sent, received] = lengths;
        format!(
            "the sender's intervals last {sent}, the receiver's {received}, and not all can be joined: --interval must be the \
             same at both points"
        )
    })
}

/// Says that one point has far fewer intervals than the other.
fn cut_off([sent, received]: [usize; 2]) -> Option<String> {
    (sent.min(received) < sent.max(received) / 4 * 3).then(|| {
        format!(
            "the sender's sketches have {sent} intervals, the receiver's {received}: did one of them begin later or end \
             earlier, or was its file cut?"
        )
    })
}

/// A doubt in words, where it is too late to change arguments.
fn said(doubt: Doubt) -> String {
    match doubt {
        Doubt::TooEarly | Doubt::SomeTooEarly => {
            "packets arrived before they were sent: the points are in the wrong order, or their clocks disagree"
                .to_owned()
        }
        doubt => doubt.to_string(),
    }
}

/// Warns if so many packets arrived in intervals in which they were not sent that the results of sketches suffer.
fn surplus(total: &Combined) -> Option<String> {
    let &Combined { intervals, unordered, usable, received, .. } = total;
    if total.has_too_many() {
        return Some(format!(
            "{} more packets were received than sent: the points are in the wrong order, or packets are duplicated, and each \
             duplicate hides a loss: {CAPTURED_TWICE}",
            received - usable
        ));
    }
    let duplicates = total.duplicates();
    if duplicates > received as f64 / 100.0 {
        return Some(format!(
            "of {received} packets at least {duplicates:.0} arrived twice, and each duplicate hides a loss: {CAPTURED_TWICE} \
             To count them, compare packets (--method auto)"
        ));
    }
    if let Some(too_low) =
        total.too_low().filter(|too_low| total.mean().is_some_and(|mean| *too_low > mean.value / 100.0))
    {
        return Some(format!(
            "delays are not short compared with intervals: the mean of single intervals is {} too low, since they miss \
             packets that are in flight when they begin and end, mostly slow ones. That of all packets is corrected by longer \
             spans of time; use longer intervals (--interval), or compare packets (--method auto)",
            Nanos::new(too_low.round() as i64)
        ));
    }
    total.is_unordered().then(|| {
        format!(
            "in {unordered} of {intervals} intervals more packets were received than sent: some are reordered across interval \
             borders, or duplicated, and sketches err by more than they report: use longer intervals (--interval), or compare \
             packets (--method auto)"
        )
    })
}

/// How many packets were sent in flows that the sender did not list.
pub(in crate::owd) fn not_listed(total: &Combined, list: &FlowList) -> u64 {
    let listed = list.records().iter().map(|record| record.packets).fold(0, u64::saturating_add);
    Line::from(total).sent.saturating_sub(listed)
}

/// Warns if flows are missing from the sender's list: those for which it had no room, or all.
fn unlisted(total: &Combined, list: &FlowList) -> Option<String> {
    let missing = not_listed(total, list);
    if list.records().is_empty() && missing > 0 {
        return Some("flows were sketched, but the sender's list of them is missing: no flow is reported".to_owned());
    }
    (missing > 0).then(|| {
        format!(
            "{missing} packets belong to flows beyond the first {}, which are not reported: they widen the intervals of the others",
            list.records().len()
        )
    })
}

/// Warns if far more packets arrive in flows in which they were not sent than arrive at all without having been sent:
/// the receiver sees them under other names.
fn renamed(total: &Combined, flows: &FlowMeans) -> Option<String> {
    let astray = flows.astray();
    (astray > f64::max(FEW as f64, 2.0 * total.surplus().high)).then(|| {
        format!(
            "at least {astray:.0} packets arrive in other flows than they were sent in: what defines a flow (--group) \
             changes between the points, as DSCP and VLAN may; compare packets (--method auto)"
        )
    })
}
