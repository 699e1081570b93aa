//! Helpers for the tests of this crate.

use crate::exact::Exact;
use crate::{Event, Fates, Meter, Sample, Terms};
use dwell_types::{ExchangeId, Match, Nanos, Timestamp, hash};

pub(crate) fn terms(matching: Match, expiry: Nanos) -> Terms {
    Terms { tags: 2, repeat: matching.repeat(), expiry, seed: 1 }
}

pub(crate) fn request(id: u64, at_ns: i64) -> Event {
    Event { id: ExchangeId(id), at: Timestamp::from_nanos(at_ns), token: 0, tag: 0, mark: 0, is_request: true }
}

pub(crate) fn response(id: u64, at_ns: i64) -> Event {
    Event { is_request: false, ..request(id, at_ns) }
}

/// Processes one event; returns its sample, if any.
pub(crate) fn take(meter: &mut impl Meter, event: Event) -> Option<Sample> {
    let mut samples = Vec::new();
    meter.update(&[event], &mut samples);
    samples.pop()
}

/// Every request has one fate, and some of the first series have each that there is in a full array.
pub(crate) fn assert_has_all_fates(meter: &impl Meter) {
    let fates = meter.fates();
    assert!(fates.iter().all(Fates::is_conserved), "{fates:?}");
    assert!(fates[0].matched > 1_000 && fates[0].evicted > 0 && fates[0].pending > 0, "{fates:?}");
}

/// Requests one microsecond apart, every second one answered after `delay` more; tags alternate.
pub(crate) fn feed(meter: &mut impl Meter, requests: u64, delay: u64) -> Vec<Sample> {
    let mut samples = Vec::new();
    for i in 0..requests {
        let at = i as i64 * 1_000;
        meter.update(&[Event { tag: (i % 2) as u16, ..request(hash::finish(i), at) }], &mut samples);
        if i >= delay && (i - delay) % 4 < 2 {
            meter.update(&[response(hash::finish(i - delay), at + 1)], &mut samples);
        }
    }
    samples
}

/// A request that expired and was then overwritten counts as expired, before as after; for a meter with an expiry of
/// 100 s and ids that share a slot.
pub(crate) fn assert_expired_stays(mut meter: impl Meter, ids: impl IntoIterator<Item = u64>) {
    let second = 1_000_000_000;
    let expected = [(0, (0, 0, 1)), (50, (0, 1, 1)), (500, (1, 1, 1)), (1_000, (2, 1, 1))];
    for (id, (at, expected)) in ids.into_iter().zip(expected) {
        meter.update(&[request(id, at * second)], &mut Vec::new());
        let fates = meter.fates()[0];
        assert_eq!((fates.expired, fates.evicted, fates.pending), expected, "at {at} s");
    }
}

/// A meter with room for everything gives the same samples and counts as the exact table, including repeats.
pub(crate) fn assert_exact(meter: &mut impl Meter, matching: Match) {
    let (found, expected) = beside_exact(meter, matching);
    assert_eq!(found, expected, "{matching:?}");
}

/// The samples of a meter and of the exact table for a stream with repeats of both kinds; their counts must be equal.
pub(crate) fn beside_exact(meter: &mut impl Meter, matching: Match) -> (Vec<Sample>, Vec<Sample>) {
    let mut exact = Exact::new(terms(matching, Nanos::from_secs(100)));
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for i in 0..2_000u64 {
        let at = i as i64 * 6_400;
        let again = Event { token: 2, tag: 1, ..request(hash::finish(i.saturating_sub(3)), at + 64) };
        let answer = Event { token: 1, ..response(hash::finish(i.saturating_sub(5)), at + 128) };
        for event in [Event { token: 1, ..request(hash::finish(i), at) }, again, answer] {
            exact.update(&[event], &mut expected);
            meter.update(&[event], &mut found);
        }
    }
    assert_eq!(meter.fates(), exact.fates(), "{matching:?}");
    (found, expected)
}

/// Samples and counts do not depend on how a stream is cut into batches. Every request comes twice, and is answered
/// before or after that, twice, or not at all; half of that happens within a batch.
pub(crate) fn assert_batches_agree<M: Meter>(make: impl Fn() -> M) {
    let mut stream = Vec::new();
    for i in 0..20_000u64 {
        let at = i as i64 * 1_000;
        let id = |back| hash::finish(i.saturating_sub(back));
        stream.extend([request(id(0), at), response(id(i % 3 * 40), at + 1)]);
        stream.extend([request(id(7), at + 2), response(id(i % 5 * 20), at + 3), response(!id(0), at + 4)]);
    }
    let run = |size: usize| {
        let (mut meter, mut samples) = (make(), Vec::new());
        stream.chunks(size).for_each(|batch| meter.update(batch, &mut samples));
        (samples, meter.fates())
    };
    let expected = run(1);
    assert!(expected.0.len() > 100);
    for size in [2, 63, 64, 65, 1_000] {
        assert!(run(size) == expected, "batches of {size}");
    }
}

/// With `open` requests open at a time, for which a table nearly has room, and a copy of each after `copies` nanoseconds,
/// every request is matched, and known to be ambiguous if there is more than one copy; or the meter admits that it does not
/// remember all, and its samples stand for others.
pub(crate) fn assert_nothing_is_lost_unsaid<M: Meter>(
    open: u64,
    copies: &[i64],
    make: impl Fn() -> M,
    remembers_all: impl Fn(&M) -> bool,
) {
    let (requests, mut exact, mut crowded) = (300, 0, 0);
    for seed in 0..400 {
        let mut meter = make();
        let id = |i| hash::finish(seed << 32 | i);
        let mut samples = Vec::new();
        for i in 0..requests + open {
            let at = 9 * i as i64;
            let mut events = Vec::from_iter(i.checked_sub(open).map(|asked| response(id(asked), at)));
            if i < requests {
                events.extend(copies.iter().map(|later| request(id(i), at + later)));
            }
            meter.update(&events, &mut samples);
        }
        let fates = meter.fates()[0];
        assert!(fates.is_conserved(), "seed {seed}: {fates:?}");
        if remembers_all(&meter) {
            let repeats = requests * (copies.len() as u64 - 1);
            assert_eq!(
                (fates.matched, samples.len() as u64, fates.ambiguous),
                (requests, requests, repeats),
                "seed {seed}"
            );
            assert!(samples.iter().all(|sample| sample.is_ambiguous() == (repeats > 0)), "seed {seed}");
            exact += 1;
        } else {
            assert!(fates.matched < requests && samples.iter().any(|sample| sample.weight > 1.0), "seed {seed}");
            crowded += 1;
        }
    }
    assert!(exact > 50 && crowded > 20, "{exact} exact, {crowded} crowded");
}
