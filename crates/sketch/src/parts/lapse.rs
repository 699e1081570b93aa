//! Times of which a table stores 48 bits: ages are unambiguous up to 39 h, and beyond 78 h entries look young again.
//! None becomes as old as that in a table that is swept according to these rules.

use crate::{Event, Terms};
use dwell_types::{Nanos, Timestamp};

/// Bits of a time in nanoseconds that a slot stores.
pub(crate) const TIME_BITS: u32 = 48;

/// Time since a moment within ±39 h, of which only these lowest bits are known.
#[inline]
pub(crate) fn since(lowest: u64, now: Timestamp) -> Nanos {
    let unused = u64::BITS - TIME_BITS;
    Nanos::new(((now.as_nanos() as u64).wrapping_sub(lowest) << unused) as i64 >> unused)
}

/// The lowest bits of a time, in six bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShortTime([u16; TIME_BITS as usize / 16]);

impl ShortTime {
    #[inline]
    pub(crate) const fn of(at: Timestamp) -> Self {
        let nanos = at.as_nanos();
        Self([nanos as u16, (nanos >> 16) as u16, (nanos >> 32) as u16])
    }

    /// Time since this moment within ±39 h.
    #[inline]
    pub(crate) fn since(self, now: Timestamp) -> Nanos {
        let [low, middle, high] = self.0.map(u64::from);
        since(low | middle << 16 | high << 32, now)
    }
}

/// A table is swept whenever time passes a multiple of this, 2.4 h. A request that has lasted the longest permitted
/// time still looks old for twice this.
const STEP: Nanos = Nanos::new(1 << 43);
const _: () = assert!(2 * (Terms::LONGEST_WAIT.get() + STEP.get()) < 1 << TIME_BITS);

/// A meter whose table stores such times.
pub(crate) trait Swept {
    /// The latest time that was seen; between calls of [`Swept::take_parts`] within the step that time has certainly
    /// reached.
    fn latest(&mut self) -> &mut Timestamp;

    /// Drops requests that need not stay.
    fn drop_old(&mut self, now: Timestamp);

    /// Passes events to `take`, which notes their latest time, and sweeps the table where time passes a multiple of
    /// [`STEP`]. Returns the latest time that was seen, even if no other event confirms it.
    #[inline]
    fn take_parts(&mut self, events: &[Event], mut take: impl FnMut(&mut Self, &[Event])) -> Timestamp {
        let (mut reached, mut rest) = (*self.latest(), events);
        while let Some((at, now)) = passing(rest, reached) {
            let (part, behind) = rest.split_at(at);
            take(self, part);
            between(reached, now).for_each(|now| self.drop_old(now));
            (reached, rest) = (now, behind);
        }
        take(self, rest);
        let latest = self.latest();
        let seen = *latest;
        // Beyond the step that time has certainly reached, the next events would not be split where it passes for good.
        if let Some(end) = end_of_step(reached) {
            *latest = seen.min(end - Nanos::new(1));
        }
        seen
    }

    /// Lets time pass to this moment.
    fn pass(&mut self, now: Timestamp) {
        between(*self.latest(), now).for_each(|now| self.drop_old(now));
        *self.latest() = now;
    }
}

/// Time has passed only if this many packets in a row say so, or all, if there are fewer: a single wild timestamp must
/// not expire open requests.
const SURE: usize = 4;

/// The first event at which time has certainly passed the step of `reached`, and the time there.
#[inline]
fn passing(events: &[Event], reached: Timestamp) -> Option<(usize, Timestamp)> {
    let end = end_of_step(reached)?;
    if events.last().is_none_or(|last| last.at < end) {
        return None;
    }
    // A packet is often both a request and a response, with the same time.
    let packets = || events.chunk_by(|a, b| a.at == b.at).map(|packet| (packet[0].at, packet.len()));
    let sure = packets().take(SURE).count();
    let (mut number, mut first, mut late, mut now) = (0, 0, 0, end);
    for (at, length) in packets() {
        if at < end {
            late = 0;
        } else if late == 0 {
            (first, now, late) = (number, at, 1);
        } else {
            (now, late) = (now.min(at), late + 1);
        }
        if late == sure {
            return Some((first, now));
        }
        number += length;
    }
    None
}

/// The next multiple of [`STEP`]; `None` at the end of representable time.
fn end_of_step(latest: Timestamp) -> Option<Timestamp> {
    let step = latest.as_nanos().div_euclid(STEP.get());
    (step + 1).checked_mul(STEP.get()).map(Timestamp::from_nanos)
}

/// Moments, at most [`STEP`] apart, at which to sweep as time passes from one to another; no more than it takes until
/// everything has expired. Empty if nothing was seen before.
fn between(latest: Timestamp, now: Timestamp) -> impl Iterator<Item = Timestamp> {
    const ENOUGH: i64 = Terms::LONGEST_WAIT.get() / STEP.get() + 2;
    let is_passed = latest > Timestamp::MIN && end_of_step(latest).is_some_and(|end| now >= end);
    let steps = (1..ENOUGH).map(move |step| latest + Nanos::new(step * STEP.get()));
    steps.take_while(move |&at| at < now).chain([now]).filter(move |_| is_passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Exact;
    use crate::fridge::{self, Fridge};
    use crate::horizon::Horizon;
    use crate::mis::{Ladder, Mis, Rung};
    use crate::rivals::ddbf::{self, Ddbf};
    use crate::rivals::hash_sample::{HashSample, Lifetime};
    use crate::rivals::simple::{self, Overwrite, Simple};
    use crate::test_support::{request, response, terms};
    use crate::{Meter, Sample};
    use dwell_types::Match;

    const HOUR: i64 = 3_600_000_000_000;

    /// Notes the sweeps before each part, and its events.
    struct Cuts {
        latest: Timestamp,
        sweeps: usize,
        parts: Vec<(usize, usize)>,
    }

    impl Swept for Cuts {
        fn latest(&mut self) -> &mut Timestamp {
            &mut self.latest
        }

        fn drop_old(&mut self, _now: Timestamp) {
            self.sweeps += 1;
        }
    }

    /// After events at these times: the parts, the latest time kept, and the latest seen.
    fn taken(times: &[i64], latest: i64) -> (Vec<(usize, usize)>, i64, i64) {
        let events: Vec<Event> = times.iter().map(|&at| request(1, at)).collect();
        let mut cuts = Cuts { latest: Timestamp::from_nanos(latest), sweeps: 0, parts: Vec::new() };
        let seen = cuts.take_parts(&events, |cuts, part| {
            cuts.latest = part.iter().map(|event| event.at).fold(cuts.latest, Timestamp::max);
            cuts.parts.push((std::mem::take(&mut cuts.sweeps), part.len()));
        });
        (cuts.parts, cuts.latest.as_nanos(), seen.as_nanos())
    }

    fn cut(times: &[i64], latest: i64) -> Vec<(usize, usize)> {
        taken(times, latest).0
    }

    /// A wild time is seen, but what is kept is the last moment before the step that nothing else has reached.
    #[test]
    fn wild_times_are_not_kept() {
        let (end, hour, three) = (1i64 << 43, HOUR, 3 * HOUR);
        let latest = |times: &[i64], latest| {
            let (_, kept, seen) = taken(times, latest);
            (kept, seen)
        };
        assert_eq!(latest(&[], hour), (hour, hour));
        assert_eq!(latest(&[1, 2], hour), (hour, hour));
        assert_eq!(latest(&[1, three, 2, end - 2], 0), (end - 1, three));
        assert_eq!(latest(&[1, three, three + 1, three + 2, three + 3], 0), (three + 3, three + 3));
        assert_eq!(
            latest(&[1, three, three, three + 1, three + 2, 900 * hour, three + 3], 0),
            (2 * end - 1, 900 * hour)
        );
        assert_eq!(latest(&[i64::MAX], 0), (i64::MAX, i64::MAX), "there is no further step");
    }

    #[test]
    fn parts_are_cut_where_time_passes() {
        assert_eq!(cut(&[], 0), [(0, 0)]);
        assert_eq!(cut(&[1, 2, 3], 0), [(0, 3)]);
        // 2.44 h, and 4.89 h.
        let (three, five) = (3 * HOUR, 5 * HOUR);
        let times = [1, three, three, three + 1, three + 2, three, five, five + 1, five + 2, five + 3];
        assert_eq!(cut(&times, 0), [(0, 1), (2, 5), (1, 4)]);
        assert_eq!(cut(&times[3..], 2 * HOUR), [(0, 0), (1, 3), (1, 4)]);
        assert_eq!(cut(&[three], 2 * HOUR), [(0, 0), (1, 1)], "alone it is believed");
        let end = i64::MAX;
        assert_eq!(cut(&[1, three, three + 1, three + 2, three + 3, 2], 0), [(0, 6)], "it has not passed for good");
        assert_eq!(cut(&[1, end, 2, end - 3, end - 3, end - 2, end - 1, end], 0), [(0, 3), (16, 5)]);
        assert_eq!(cut(&[1, end, end, end - 1, 3, five], 0), [(0, 6)], "wild ones are not");
        assert_eq!(cut(&[1, -900 * HOUR, -900 * HOUR], 0), [(0, 3)]);
        assert_eq!(cut(&[7, 8, 9, 10], i64::MIN), [(0, 0), (0, 4)], "nothing can be old");
        let far = 900 * HOUR;
        assert_eq!(cut(&[1, far, far + 1, far + 2, far + 3], 0), [(0, 1), (16, 4)]);
    }

    /// Requests are answered after days, in traffic that pauses for that long and in traffic that goes on: none older
    /// than the expiry is taken for younger, and no younger one is lost.
    #[test]
    fn what_is_old_never_looks_young() {
        let wraps = 1i64 << TIME_BITS;
        for hours in [1, 36] {
            let expiry = hours * HOUR;
            let all = terms(Match::Dns, Nanos::new(expiry));
            for (number, make) in METERS.into_iter().enumerate() {
                let young = [expiry / 2, expiry / 16 * 15];
                let old = [expiry + expiry / 8, wraps - expiry, wraps - 1, wraps + 1, wraps + expiry / 2, 64 * expiry];
                let old = old.into_iter().chain((2..40).map(|quarter| quarter * wraps / 4)).filter(|&gap| gap > expiry);
                for (gap, is_young) in young.map(|gap| (gap, true)).into_iter().chain(old.map(|gap| (gap, false))) {
                    let seen = answered(&mut *make(all), gap);
                    assert_eq!(seen, [usize::from(is_young); 4], "meter {number}, {hours} h, {gap}");
                }
            }
        }
    }

    /// Time passes at the end of a batch, where that is not yet certain: what is old by then does not look young later.
    #[test]
    fn what_passes_at_the_end_of_a_batch_has_passed() {
        let wraps = 1i64 << TIME_BITS;
        for (behind, hours) in (0..8).flat_map(|behind| [(behind, 1), (behind, 36)]) {
            let expiry = hours * HOUR;
            let all = terms(Match::Dns, Nanos::new(expiry));
            for (number, make) in METERS.into_iter().enumerate() {
                for pause in [expiry / 2, wraps - expiry - 9, wraps - expiry / 2] {
                    let (mut meter, mut samples) = (make(all), Vec::new());
                    let at = |i: i64| if i < 8 - behind { i } else { pause + i };
                    let batch = |from: i64, to: i64| -> Vec<Event> {
                        (from..to).map(|i| request(100 + i as u64, at(i))).collect()
                    };
                    meter.update(&[&[request(1, 0)][..], &batch(0, 8)].concat(), &mut samples);
                    meter.update(&batch(8, 16), &mut samples);
                    meter.update(&[response(1, pause + 20)], &mut samples);
                    let is_young = pause < expiry;
                    assert_eq!(samples.len(), usize::from(is_young), "meter {number}, {behind}, {hours} h, {pause}");
                    assert!(meter.fates()[0].is_conserved());
                }
            }
        }
    }

    /// A wild time amid others stops no sweeps: what was asked three days ago is old. Filters cannot go back.
    #[test]
    fn a_wild_time_stops_no_sweeps() {
        let wraps = 1i64 << TIME_BITS;
        let all = terms(Match::Dns, Nanos::new(HOUR));
        for (number, make) in METERS.into_iter().take(6).enumerate() {
            let (mut meter, mut samples) = (make(all), Vec::new());
            let mut others = |from: i64, ahead: i64| {
                let at = |i: i64| from + i + if i == 3 { ahead } else { 0 };
                let events: Vec<Event> = (0..8).map(|i| request(!(from + i) as u64, at(i))).collect();
                meter.update(&events, &mut samples);
            };
            others(0, 9_000 * HOUR);
            others(8, 0);
            (0..wraps).step_by(HOUR as usize).for_each(|at| others(16 + at, 0));
            meter.update(&[response(!8, wraps + 20)], &mut samples);
            assert_eq!(samples, [], "meter {number}");
        }
    }

    const METERS: [fn(Terms) -> Box<dyn Meter>; 7] = [
        |all| Box::new(Horizon::new(1 << 16, true, all).unwrap()),
        |all| Box::new(HashSample::new(1 << 16, true, Lifetime::Given(all.expiry), all).unwrap()),
        |all| Box::new(Simple::new(SIMPLE, all).unwrap()),
        |all| Box::new(Mis::new(Ladder::new(vec![RUNG]).unwrap(), 32, all).unwrap()),
        |all| Box::new(Fridge::new(fridge::Params { entry_probability: Some(1.0), ..FRIDGE }, all).unwrap()),
        |all| Box::new(Exact::new(all)),
        |all| Box::new(Ddbf::new(ddbf::Params { cells: 1 << 12, hashes: 4 }, all).unwrap()),
    ];
    const SIMPLE: simple::Params =
        simple::Params { slots: 1 << 10, stages: 1, fingerprint_bits: 32, overwrite: Overwrite::Always };
    const RUNG: Rung = Rung { slots: 1 << 10, probability: 1.0 };
    const FRIDGE: fridge::Params = fridge::Params::new(1 << 10);

    /// How many requests are answered after this gap: after a pause, alone and in a batch, in continuous traffic, and
    /// once the meter was told how late it is.
    fn answered(meter: &mut dyn Meter, gap: i64) -> [usize; 4] {
        let mut samples: Vec<Sample> = Vec::new();
        let mut begin = -3 * HOUR;
        let mut update = |events: &[Event]| {
            samples.clear();
            meter.update(events, &mut samples);
            samples.len()
        };
        update(&[request(1, begin)]);
        let alone = update(&[response(1, begin + gap)]);
        begin += gap + 1;
        let end = begin + gap;
        let others = |number: i64| request(2 + number.unsigned_abs(), end + number);
        let in_batch = update(&[request(2, begin), others(1), others(2), others(3), response(2, end + 4)]);
        begin = end + 9;
        update(&[request(7, begin)]);
        for (number, at) in (0..).zip((begin..begin + gap).step_by((HOUR / 2) as usize)) {
            update(&[request(1_000 + number, at), response(1_000 + number, at)]);
        }
        let in_traffic = update(&[response(7, begin + gap)]);
        begin += gap + 1;
        samples.clear();
        meter.update(&[request(8, begin)], &mut samples);
        meter.advance(Timestamp::from_nanos(begin + gap));
        meter.update(&[response(8, begin + gap)], &mut samples);
        [alone, in_batch, in_traffic, samples.len()]
    }
}
