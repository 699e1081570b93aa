//! Warnings about captures, logs, and memory, by what was counted.

use super::arguments::Arguments;
use crate::doubt::{CAPTURED_TWICE, FEW, many};
use crate::points::Point;
use dwell_report::queue::Packets;
use dwell_report::text;
use dwell_sketch::conquest::{Counter, Params, Unit};
use dwell_sketch::queue::{QueueMeter, TapCounts};
use dwell_types::Nanos;

/// One in so many packets may seem to have departed before it arrived, because an equal one did.
const SINGLE: u64 = 1_000;

/// Warnings about what is known of the queue, apart from those about the captures.
pub(super) fn of(arguments: &Arguments, params: &Params, meter: &QueueMeter, packets: &Packets) -> Vec<String> {
    let mut warnings = Vec::new();
    if !meter.is_exact() {
        // Packets that do not fit the memory are warned of already.
        let is_small = packets.arrivals.is_some_and(|arrivals| arrivals.evicted > 0);
        let is_asked = meter.longest_delay() >= Some(arguments.threshold) && !is_small;
        let too_few = || too_few(arguments, params).filter(|_| is_asked);
        warnings.extend(too_long(arguments, params).or_else(too_few));
    }
    warnings.extend(meter.is_full().then(|| full(params.unit)));
    warnings.extend(overlong(arguments, meter));
    if !meter.is_exact() {
        warnings.extend(little_known(packets, meter.overlong()));
    }
    warnings
}

/// Warns if many packets where the queue ends belong to hosts that no other capture shows: they may have waited in the queue.
pub(super) fn other_inputs(egress: &Point, departed: u64) -> Option<String> {
    let aside = egress.aside();
    (aside >= many(departed)).then(|| {
        format!(
            "{aside} packets of the last capture are left out, since no other capture has packets of their hosts: if they passed \
             the queue, too, it was longer, and its flows had smaller shares: give the captures of all its inputs, or name the \
             sources of all its packets (--from)"
        )
    })
}

/// Warns if the counts show that something is wrong with the captures.
pub(super) fn doubt(counts: &TapCounts, longest: Nanos) -> Option<String> {
    let &TapCounts { matched, backwards, ahead: (least, most), evicted, .. } = counts;
    if counts.arrived + counts.departed > 0 && matched + backwards == 0 && !is_late(counts, longest) {
        return Some(
            "no packet was seen on both sides: are these captures of the same traffic at the same time, with the same \
             addresses (--nat), and clocks that agree (--longest, --clock-offset)?"
                .to_owned(),
        );
    }
    if backwards > matched {
        return Some(format!(
            "{} departed before arrival, by {least} to {most}, and {matched} after: the captures are in the wrong \
             order (the last one is where packets depart), or the last one's clock is behind (--clock-offset)",
            text::of(backwards, "packet")
        ));
    }
    if backwards * SINGLE > matched {
        return Some(format!(
            "{} departed before arrival, by up to {most}: the clocks differ by at least that (--clock-offset), or the \
             captures hold both directions (--from PREFIX)",
            text::of(backwards, "packet")
        ));
    }
    (evicted > 0).then(|| {
        format!("{} in the queue did not fit the memory (--memory): delays are missing", text::of(evicted, "packet"))
    })
}

/// Packets of a direction, and how long they waited.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waited {
    packets: u64,
    /// Those that waited for the threshold.
    long: u64,
    least: Nanos,
    longest: Nanos,
}

impl Waited {
    pub(super) fn add(&mut self, wait: Nanos, threshold: Nanos) {
        self.least = if self.packets == 0 { wait } else { self.least.min(wait) };
        self.packets += 1;
        self.long += u64::from(wait >= threshold);
        self.longest = self.longest.max(wait);
    }
}

/// Warns if the least delay is more than half the threshold, and more than a tenth of what the others add to it: in a
/// queue that empties some packets wait for next to nothing. `offset` has already been taken off the delays.
pub(super) fn apart(measured: &Waited, threshold: Nanos, offset: Nanos) -> Option<String> {
    let &Waited { packets, least, longest, .. } = measured;
    let more = Nanos::new(longest.get().saturating_sub(least.get()));
    let is_much = least.get() > threshold.get() / 2 && least.get() > more.get() / 10;
    (packets >= FEW && is_much).then(|| {
        let all = offset.get().saturating_add(least.get());
        format!(
            "every packet took at least {least}, and the slowest {more} more: if that is due to the clock of the last capture, \
             which is ahead then, or to a long or slow link, and not to a queue that never empties, take it off \
             (--clock-offset {all}ns)"
        )
    })
}

/// Warns if packets of the other direction wait, and next to none of those measured: then the captures are probably
/// swapped. `back` are the first packets of the other direction.
pub(super) fn swapped(back: &Waited, measured: &Waited, threshold: Nanos) -> Option<String> {
    const TIMES: u64 = 10;
    (back.long >= FEW && back.long / TIMES > measured.long).then(|| {
        format!(
            "{} of the first {} packets from the last capture to the first waited for --threshold, {threshold}, or \
             longer, up to {}, but {} of the {} measured: if theirs is the queue, swap the captures (the last one is \
             where packets depart); if not, name the measured sources (--from PREFIX)",
            back.long, back.packets, back.longest, measured.long, measured.packets
        )
    })
}

/// Whether packets waited for longer than the longest wait. Where all that seem to did so for more than ten times as
/// long, they are others that equal the lost ones: waits of a queue are of any length up to the longest.
pub(super) fn is_late(counts: &TapCounts, longest: Nanos) -> bool {
    counts.overdue > 0 && counts.overdue_waits.0.get() / 10 <= longest.get()
}

/// Whether packets waited for the longest wait or more, or nearly so.
fn is_reached(counts: &TapCounts, longest: Nanos) -> bool {
    is_late(counts, longest) || counts.longest_wait.get() > longest.get() / 10 * 9
}

/// Departures without an arrival for which the table between the captures gives no reason.
pub(super) fn unexplained(counts: &TapCounts, longest: Nanos) -> u64 {
    let forgotten = if is_reached(counts, longest) { counts.forgotten } else { 0 };
    counts.unknown.saturating_sub(counts.ambiguous + counts.backwards + counts.overdue + counts.evicted + forgotten)
}

/// What packets without an arrival mean for the answer.
pub(super) const NO_CULPRIT: &str = "Packets not seen to arrive count as part of the queue, but name no culprit";

/// Warns if many packets depart that were not seen to arrive.
pub(super) fn unseen(departed: u64, unexplained: u64) -> Option<String> {
    (unexplained >= many(departed)).then(|| {
        format!(
            "{unexplained} of {departed} packets departed without being seen to arrive: did they arrive where no capture \
             was taken, do they go the other way (--from PREFIX), or {CAPTURED_TWICE} {NO_CULPRIT}"
        )
    })
}

/// Warns if packets wait for longer than `longest`.
pub(super) fn too_short(counts: &TapCounts, longest: Nanos) -> Option<String> {
    let &TapCounts { departed, unknown, overdue, overdue_waits, forgotten, longest_wait, .. } = counts;
    if is_late(counts, longest) {
        let most = overdue_waits.1;
        let about = if forgotten > 0 { "at least " } else { "" };
        return Some(format!(
            "{about}{} departed after more than --longest, {longest}, and up to {most}, counted as not seen on the \
             other side: use a longer --longest",
            text::of(overdue, "packet")
        ));
    }
    let late = forgotten.min(unknown);
    (is_reached(counts, longest) && late > many(departed)).then(|| {
        format!(
            "packets waited for up to {longest_wait}, nearly as long as --longest, {longest}, and up to {late} may \
             have departed later: use a longer --longest, and more memory (--memory)"
        )
    })
}

/// A warning if packets of a log waited for longer than departures are remembered.
fn overlong(arguments: &Arguments, meter: &QueueMeter) -> Option<String> {
    let (packets, longest) = (meter.overlong(), arguments.longest);
    // Snapshots may reach farther back than --longest.
    let is_short = packets > 0 && (meter.is_exact() || meter.counts().incomplete >= packets);
    let most = meter.longest_delay().filter(|_| is_short)?;
    Some(format!(
        "{} waited for more than --longest, {longest}, and up to {most}: the queue found on arrival is only partly \
         known, and its size too small; use a longer --longest",
        text::of(packets, "packet")
    ))
}

/// A warning if queues often reach back beyond the remembered departures, apart from `overlong` packets.
fn little_known(packets: &Packets, overlong: u64) -> Option<String> {
    let &Packets { matched, incomplete, .. } = packets;
    (incomplete.saturating_sub(overlong) > matched / 4).then(|| {
        format!(
            "the queue of {incomplete} of {} is only partly known, and its size too small: use more memory (--memory, \
             --sketch-bytes) or longer windows (--window)",
            text::of(matched, "packet")
        )
    })
}

/// A warning if the shortest window is longer than the threshold.
fn too_long(arguments: &Arguments, params: &Params) -> Option<String> {
    let threshold = arguments.threshold;
    params.overlong().map(|shortest| {
        format!(
            "the shortest window of snapshots, {shortest}, is longer than --threshold, {threshold}: sizes in the \
             queue may be too small, and culprits missed; use more memory (--sketch-bytes) or a shorter --longest"
        )
    })
}

/// A warning of flows that are larger than what a counter holds.
fn full(unit: Unit) -> String {
    format!(
        "a flow had 2³² {} or more in one window of snapshots: its size and share are too small; use shorter windows \
         (--window), or --method exact",
        unit.name()
    )
}

/// A warning if snapshots that were not chosen by hand have too few counters to tell many flows apart.
fn too_few(arguments: &Arguments, params: &Params) -> Option<String> {
    let is_given = arguments.columns.is_some() || arguments.counter.is_some();
    let most = params.culprit.most();
    let (counters, words) = match params.counter {
        Counter::SpaceSaving { entries } if (entries as usize) < most => (
            format!("{entries} entries"),
            "where more flows than that share the queue about equally, culprits are missed",
        ),
        Counter::CountMin { columns, .. } if (columns as usize) < most / 2 => (
            format!("{columns} columns"),
            "where small flows have much of the queue, or many flows share it, more than the culprits may be reported",
        ),
        _ => return None,
    };
    (!is_given).then(|| {
        format!(
            "snapshots have only {counters}: {words}; use more memory (--memory, --sketch-bytes) or a shorter --longest"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_apart_and_wrong_order_are_told() {
        let counts = |matched, backwards| TapCounts {
            arrived: 100,
            departed: 100,
            matched,
            backwards,
            ahead: (Nanos::new(2_000), Nanos::new(20_000_000)),
            ..TapCounts::default()
        };
        let doubt = |counts: &TapCounts| doubt(counts, Nanos::from_secs(1));
        let words = |matched, backwards| doubt(&counts(matched, backwards)).unwrap_or_default();
        assert!(words(0, 0).contains("no packet was seen on both sides"));
        assert!(words(10, 90).contains("90 packets departed before arrival, by 2.00 µs to 20.0 ms, and 10 after"));
        assert!(words(0, 1).starts_with("1 packet departed before arrival, by"));
        assert!(words(90, 10).contains("by up to 20.0 ms: the clocks differ"));
        assert_eq!((words(100, 0), words(1_000, 1)), (String::new(), String::new()));
        assert!(doubt(&TapCounts { evicted: 3, ..counts(97, 0) }).is_some_and(|words| words.contains("--memory")));
        assert_eq!(doubt(&TapCounts::default()), None);
    }

    #[test]
    fn a_queue_of_the_other_direction_is_told() {
        let threshold = Nanos::new(1_000_000);
        let of = |packets, long| Waited { packets, long, least: Nanos::ZERO, longest: Nanos::new(57_000_000) };
        let words = |back, measured| swapped(&of(900, back), &of(500, measured), threshold).unwrap_or_default();
        let told = "300 of the first 900 packets from the last capture to the first waited for --threshold, 1.00 ms, or \
                    longer, up to 57.0 ms, but 0 of the 500 measured: if theirs is the queue, swap the captures";
        assert!(words(300, 0).contains(told), "{}", words(300, 0));
        assert!(!words(300, 29).is_empty());
        // Queues both ways, a calm queue, and a few packets that were held up.
        assert_eq!([words(300, 30), words(0, 0), words(19, 0)], [""; 3]);
    }

    /// A queue that empties, however long packets wait, and one of which all packets are served at once say nothing.
    #[test]
    fn a_delay_of_every_packet_is_told() {
        let words = |least: i64, longest: i64, offset: i64| {
            let waited = Waited { packets: 100, long: 0, least: Nanos::new(least), longest: Nanos::new(longest) };
            apart(&waited, Nanos::new(1_000_000), Nanos::new(offset)).unwrap_or_default()
        };
        let told = words(50_000_000, 56_000_000, 0);
        assert!(told.contains("at least 50.0 ms, and the slowest 6.00 ms more"), "{told}");
        assert!(told.contains("(--clock-offset 50000000ns)"), "{told}");
        assert!(words(700_000, 6_000_000, -1_000_000).contains("(--clock-offset -300000ns)"));
        assert_eq!([words(600_000, 7_000_000, 0), words(500_000, 500_000, 0), words(0, 57_000_000, 0)], [""; 3]);
    }

    #[test]
    fn waits_beyond_the_longest_are_told_and_explain_the_rest() {
        let longest = Nanos::from_secs(1);
        let counts = |overdue, forgotten, evicted, wait: i64| TapCounts {
            departed: 1_000,
            matched: 500,
            unknown: 500,
            expired: overdue + forgotten,
            overdue,
            forgotten,
            evicted,
            overdue_waits: (Nanos::new(wait), Nanos::new(wait)),
            longest_wait: Nanos::new(wait.min(longest.get())),
            ..TapCounts::default()
        };
        let words = |counts| too_short(&counts, longest).unwrap_or_default();
        let seen = counts(500, 0, 0, 3_000_000_000);
        assert!(words(seen).contains("500 packets departed after more than --longest, 1.00 s"), "{}", words(seen));
        let guessed = counts(0, 500, 0, 990_000_000);
        assert!(words(guessed).contains("up to 500 may have departed later"), "{}", words(guessed));
        // Drops in a queue whose waits are shorter.
        let dropped = counts(0, 500, 0, 500_000_000);
        assert_eq!(words(dropped), "");
        let unexplained = [seen, guessed, dropped, counts(0, 0, 480, 0)].map(|counts| unexplained(&counts, longest));
        assert_eq!(unexplained, [0, 0, 500, 20]);
        // Equal packets an hour apart, in captures of different times.
        let equal = TapCounts { matched: 0, longest_wait: Nanos::ZERO, ..counts(1, 0, 0, 3_600_000_000_000) };
        assert_eq!(words(equal), "");
        assert!(doubt(&equal, longest).is_some_and(|words| words.contains("no packet was seen on both sides")));
    }
}
