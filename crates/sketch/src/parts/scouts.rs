//! Scouts: a few requests that are followed to their end, however full the tables are.
//!
//! Methods that choose their parameters by the delays that they measure cannot see those that their entries do not live
//! long enough for, and would never find out. Scouts show how many there are.
//!
//! **Model**: each place takes the next request whose id belongs there, whatever its delay, and no other one until that
//! is answered or given up. So what becomes of a scout is what becomes of any request. It stands for those that found the
//! place taken before it came, too: where exchanges are slow, places take few, and these must count as much.
//! Places give up after the expiry divided by 1, 2, … 128, since otherwise unanswered requests would soon occupy all of
//! them.
//!
//! **State**: 32 places of 12 bytes; how many requests were answered and not, by octave of the time, in 4 bytes each.
//!
//! **Estimate**: the product limit of Kaplan and Meier (1958): scouts that were given up, or still wait, count for as
//! long as they were followed. Older ones count half as much after half an expiry.

use crate::Gate;
use crate::codec::{CodecError, Reader, Writer};
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

/// Delays of more than this many mean lifetimes of entries are left to scouts.
pub(crate) const LIVED: f64 = 2.0;

/// Some requests followed to their end.
#[derive(Clone, Debug)]
pub(crate) struct Scouts {
    places: [Scout; PLACES],
    /// By octave of ticks.
    answered: [f32; OCTAVES],
    given_up: [f32; OCTAVES],
    /// A tick has 2^*shift* ns: the expiry has less than 2^*octaves*.
    shift: u32,
    /// In ticks, as all times here; those of moments wrap.
    expiry: u32,
    /// When older counts were last halved.
    halved: u32,
}

/// A request that is followed.
#[derive(Clone, Copy, Debug, Default)]
struct Scout {
    /// The upper half of its id.
    fingerprint: u32,
    since: u32,
    /// Number of requests; zero if the place is free.
    stands_for: u16,
    /// Requests that came since.
    offered: u16,
}

const PLACES: usize = 32;
/// Places give up after the expiry divided by the powers of two below 2^*this*.
const PATIENCES: u32 = 8;
const OCTAVES: usize = 20;

impl Scouts {
    pub(crate) fn new(expiry: Nanos) -> Self {
        let nanos = expiry.get().max(1) as u64;
        let shift = (nanos.ilog2() + 1).saturating_sub(OCTAVES as u32);
        let counts = [0.0; OCTAVES];
        let expiry = (nanos >> shift) as u32;
        Self { places: [Scout::default(); PLACES], answered: counts, given_up: counts, shift, expiry, halved: 0 }
    }

    #[inline]
    fn ticks(&self, at: Timestamp) -> u32 {
        (at.as_nanos() >> self.shift) as u32
    }

    /// How long the request of a place has waited, at most until it is given up; and whether it is. It also is if time
    /// has gone back.
    #[inline]
    fn wait(&self, place: usize, now: Timestamp) -> (u32, bool) {
        let wait = self.ticks(now).wrapping_sub(self.places[place].since);
        let patience = self.expiry >> (place as u32 % PATIENCES);
        (wait.min(patience), wait > patience)
    }

    /// The place of an id, and its fingerprint there.
    #[inline]
    const fn find(id: ExchangeId) -> (usize, u32) {
        const PLACE_BITS: u32 = PLACES.ilog2();
        let place = id.0.wrapping_mul(hash::INDEPENDENT) >> (u64::BITS - PLACE_BITS);
        (place as usize, (id.0 >> 32) as u32)
    }

    /// Follows a request, if its place is free. A repeat of one that is followed begins anew, as entries do.
    #[inline]
    pub(crate) fn request(&mut self, id: ExchangeId, at: Timestamp) {
        let (place, fingerprint) = Self::find(id);
        let now = self.ticks(at);
        let (wait, is_given_up) = self.wait(place, at);
        let scout = &mut self.places[place];
        if scout.stands_for > 0 && scout.fingerprint == fingerprint {
            scout.since = now;
            return;
        }
        scout.offered = scout.offered.saturating_add(1);
        if scout.stands_for > 0 {
            if !is_given_up {
                return;
            }
            self.free(place, wait, at, false);
        }
        let stands_for = self.places[place].offered;
        self.places[place] = Scout { fingerprint, since: now, stands_for, offered: 0 };
    }

    /// Takes a response.
    #[inline]
    pub(crate) fn response(&mut self, id: ExchangeId, at: Timestamp) {
        if self.follows(id) {
            let (place, _) = Self::find(id);
            let (wait, is_given_up) = self.wait(place, at);
            self.free(place, wait, at, !is_given_up);
        }
    }

    /// Whether a request with this id is followed.
    #[inline]
    pub(crate) fn follows(&self, id: ExchangeId) -> bool {
        let (place, fingerprint) = Self::find(id);
        let scout = &self.places[place];
        (scout.stands_for > 0) & (scout.fingerprint == fingerprint)
    }

    /// Gives up those whose responses a gate will no longer admit.
    pub(crate) fn leave_to(&mut self, gate: Gate, now: Timestamp) {
        for place in 0..PLACES {
            let scout = self.places[place];
            if scout.stands_for > 0 && !gate.admits(ExchangeId(u64::from(scout.fingerprint) << 32)) {
                self.free(place, self.wait(place, now).0, now, false);
            }
        }
    }

    /// Counts the request of a place, and frees it.
    fn free(&mut self, place: usize, wait: u32, at: Timestamp, is_answered: bool) {
        let now = self.ticks(at);
        if now.wrapping_sub(self.halved) > self.expiry / 2 {
            self.answered.iter_mut().chain(&mut self.given_up).for_each(|count| *count *= 0.5);
            self.halved = now;
        }
        let counts = if is_answered { &mut self.answered } else { &mut self.given_up };
        counts[octave(wait)] += f32::from(std::mem::take(&mut self.places[place].stands_for));
    }

    /// How many exchanges last longer than `limit`, in nanoseconds, for each one that does not: by octave of the delay,
    /// also of nanoseconds.
    pub(crate) fn longer_than(&self, limit: f64, now: Timestamp) -> impl Iterator<Item = (u32, f64)> {
        let mut ended = self.ended(now);
        let begin = |octave: usize| f64::from(self.shift + octave as u32).exp2();
        // The first octave contains all that is shorter.
        let longer = (1..OCTAVES).find(|&octave| begin(octave) >= limit).unwrap_or(OCTAVES);
        let sooner: f64 = ended[..longer].iter().sum();
        ended[..longer].fill(0.0);
        let octaves = ended.into_iter().zip(self.shift..).filter(move |&(ended, _)| ended > 0.0 && sooner > 0.0);
        octaves.map(move |(ended, octave)| (octave, ended / sooner))
    }

    /// The shares of requests that are answered, by octave.
    fn ended(&self, now: Timestamp) -> [f64; OCTAVES] {
        let answered = self.answered.map(f64::from);
        let mut left = self.given_up.map(f64::from);
        for (place, scout) in self.places.iter().enumerate() {
            left[octave(self.wait(place, now).0)] += f64::from(scout.stands_for);
        }
        let mut at_risk = left.iter().chain(&answered).sum::<f64>();
        let mut open = 1.0;
        std::array::from_fn(|octave| {
            let ended = if answered[octave] > 0.0 { open * answered[octave] / at_risk } else { 0.0 };
            at_risk -= answered[octave] + left[octave];
            open -= ended;
            ended
        })
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        for &Scout { fingerprint, since, stands_for, offered } in &self.places {
            to.u64(u64::from(fingerprint) << 32 | u64::from(since));
            to.u64(u64::from(stands_for) << 16 | u64::from(offered));
        }
        self.answered.iter().chain(&self.given_up).for_each(|&count| to.f32(count));
        to.u64(self.halved.into());
    }

    pub(crate) fn read(expiry: Nanos, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        const WHAT: &str = "number of followed requests";
        let mut scouts = Self::new(expiry);
        for place in &mut scouts.places {
            let (names, numbers) = (from.u64()?, from.small::<u32>(WHAT)?);
            *place = Scout {
                fingerprint: (names >> 32) as u32,
                since: names as u32,
                stands_for: (numbers >> 16) as u16,
                offered: numbers as u16,
            };
        }
        for count in scouts.answered.iter_mut().chain(&mut scouts.given_up) {
            *count = from.small_amount(WHAT)?;
        }
        scouts.halved = from.small(WHAT)?;
        Ok(scouts)
    }
}

/// The octave of a time in ticks.
#[inline]
fn octave(ticks: u32) -> usize {
    (ticks.max(1).ilog2() as usize).min(OCTAVES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Requests every 100 µs for 20 s; what each of them waits for is decided by the given function, `None` if it is never
    /// answered. The share of those that take longer than 100 ms among the answered.
    fn found(mut delay: impl FnMut(u64) -> Option<i64>) -> f64 {
        let mut scouts = Scouts::new(Nanos::from_secs(128));
        let mut events: Vec<(i64, u64, bool)> = Vec::new();
        for i in 0..200_000 {
            let id = hash::finish(i);
            let at = 100_000 * i as i64;
            events.push((at, id, true));
            events.extend(delay(hash::word(7, i)).map(|delay| (at + delay, id, false)));
        }
        events.sort_unstable();
        for (at, id, is_request) in events {
            let (id, at) = (ExchangeId(id), Timestamp::from_nanos(at));
            if is_request { scouts.request(id, at) } else { scouts.response(id, at) }
        }
        let longer: f64 = scouts.longer_than(1e8, Timestamp::from_nanos(20 * SECOND)).map(|(_, ratio)| ratio).sum();
        longer / (1.0 + longer)
    }

    /// A tenth takes a second instead of 5 ms, even if half of the requests are never answered. If all take 5 ms, none are
    /// found.
    #[test]
    fn slow_exchanges_are_found() {
        let slow = |random: u64| if random.is_multiple_of(10) { SECOND } else { 5_000_000 };
        let all = found(|random| Some(slow(random)));
        assert!((0.085..0.115).contains(&all), "{all}");
        let half = found(|random| (random >> 63 == 0).then(|| slow(random)));
        assert!((0.03..0.25).contains(&half), "{half}");
        assert_eq!(found(|random| (random >> 63 == 0).then_some(5_000_000)), 0.0);
        assert_eq!(found(|_| None), 0.0);
    }

    /// Everything takes 5 ms, but for three seconds half of the exchanges takes 2 s: 7.5% of all. A place takes hundreds of
    /// times fewer scouts meanwhile; if each counted once, they would be .1%.
    #[test]
    fn slow_times_count_as_much_as_fast_ones() {
        let mut number = 0;
        let share = found(|random| {
            number += 1;
            let is_slow = (140_000..170_000).contains(&number) && random.is_multiple_of(2);
            Some(if is_slow { 2 * SECOND } else { 5_000_000 })
        });
        assert!((0.02..0.11).contains(&share), "{share}");
    }

    /// When a gate admits one in ten, those that wait are given up, and the estimate stays.
    #[test]
    fn a_gate_that_closes_takes_no_slow_ones() {
        let mut scouts = Scouts::new(Nanos::from_secs(128));
        let mut gate = Gate::new(3, 1.0);
        let mut events: Vec<(i64, u64, bool)> = Vec::new();
        for i in 0..200_000 {
            let (id, at) = (hash::finish(i), 100_000 * i as i64);
            let delay = if hash::word(7, i).is_multiple_of(10) { SECOND } else { 5_000_000 };
            events.extend([(at, id, true), (at + delay, id, false)]);
        }
        events.sort_unstable();
        for (at, id, is_request) in events {
            let (id, at) = (ExchangeId(id), Timestamp::from_nanos(at));
            if at.as_nanos() > 10 * SECOND && gate == Gate::new(3, 1.0) {
                gate = gate.with_probability(0.1);
                scouts.leave_to(gate, at);
            }
            match (gate.admits(id), is_request) {
                (true, true) => scouts.request(id, at),
                (true, false) => scouts.response(id, at),
                (false, _) => (),
            }
        }
        let longer: f64 = scouts.longer_than(1e8, Timestamp::from_nanos(20 * SECOND)).map(|(_, ratio)| ratio).sum();
        assert!((0.09..0.14).contains(&longer), "{longer}");
    }

    /// What begins where the limit ends is longer.
    #[test]
    fn the_octave_of_the_limit_is_longer() {
        let mut scouts = Scouts::new(Nanos::from_secs(128));
        for (i, delay) in [1 << 22, (1 << 30) + 1].into_iter().enumerate() {
            let (id, at) = (ExchangeId(hash::finish(i as u64)), i as i64 * 10 * SECOND);
            scouts.request(id, Timestamp::from_nanos(at));
            scouts.response(id, Timestamp::from_nanos(at + delay));
        }
        let longer = |limit: i64| scouts.longer_than(limit as f64, Timestamp::from_nanos(20 * SECOND)).count();
        assert_eq!((longer(1 << 30), longer((1 << 30) + 1)), (1, 0));
    }

    /// A repeated request is followed from its last copy.
    #[test]
    fn repeats_begin_anew() {
        let mut scouts = Scouts::new(Nanos::from_secs(128));
        let at = |millis: i64| Timestamp::from_nanos(millis * 1_000_000);
        let id = ExchangeId(hash::finish(1));
        scouts.request(id, at(0));
        scouts.request(id, at(900));
        scouts.response(id, at(905));
        let octaves: Vec<usize> = (0..OCTAVES).filter(|&octave| scouts.answered[octave] > 0.0).collect();
        assert_eq!(octaves, [octave(scouts.ticks(at(5)))]);
    }

    /// A scout is followed until its place gives up, and then makes room; its late response counts as none.
    #[test]
    fn places_give_up() {
        let mut scouts = Scouts::new(Nanos::from_secs(128));
        let ids: Vec<ExchangeId> = (0..10_000).map(|i| ExchangeId(hash::finish(i))).collect();
        let at = |seconds: i64| Timestamp::from_nanos(seconds * SECOND);
        let at_place = |place: usize| ids.iter().copied().filter(move |&id| Scouts::find(id).0 == place);
        for (place, patience) in [(0, 128), (7, 1), (8, 128), (30, 2)] {
            let mut ids = at_place(place);
            let mut next = || ids.next().unwrap();
            let [first, second] = [next(), next()];
            scouts.request(first, at(0));
            scouts.request(second, at(patience));
            assert_eq!(scouts.places[place].fingerprint, Scouts::find(first).1, "{place}");
            scouts.request(second, at(patience + 1));
            assert_eq!(scouts.places[place].fingerprint, Scouts::find(second).1);
            scouts.response(second, at(3 * patience + 1));
            assert_eq!(scouts.places[place].stands_for, 0);
        }
        assert_eq!(scouts.answered, [0.0; OCTAVES]);
        assert!(scouts.given_up.iter().sum::<f32>() > 0.0);
        assert_eq!(size_of::<Scouts>(), 556);
    }
}
