//! Scouts: a few requests that are followed to their end, however full the tables are.
//!
//! Methods that choose their parameters by the delays that they measure cannot see those that their entries do not live
//! long enough for, and would never find out. Scouts show how many there are.
//!
//! **Model**: each place takes the next request whose id belongs there, whatever its delay, and no other one until that
//! is answered or given up. So what becomes of a scout is what becomes of any request. Places give up after the expiry
//! divided by 1, 2, … 128, since otherwise unanswered requests would soon occupy all of them.
//!
//! **State**: 32 places of 8 bytes; how many were answered and given up, by octave of the time, in 2 bytes each.
//!
//! **Estimate**: the product limit of Kaplan and Meier (1958): places that give up sooner, and scouts that still wait,
//! count for as long as they were followed.

use crate::codec::{CodecError, Reader, Writer};
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

/// Delays of more than this many mean lifetimes of entries are left to scouts.
pub(crate) const LIVED: f64 = 2.0;

/// Some requests followed to their end.
#[derive(Clone, Debug)]
pub(crate) struct Scouts {
    places: [Scout; PLACES],
    /// By octave of ticks.
    answered: [u16; OCTAVES],
    given_up: [u16; OCTAVES],
    /// A tick has 2^*shift* ns: the expiry has less than 2³⁰ ticks.
    shift: u32,
    /// In ticks.
    expiry: u32,
}

/// A request that is followed.
#[derive(Clone, Copy, Debug, Default)]
struct Scout {
    /// The upper half of its hashed id; zero if the place is free.
    fingerprint: u32,
    /// In ticks; wraps.
    since: u32,
}

const PLACES: usize = 32;
/// Places give up after the expiry divided by the powers of two below 2^*this*.
const PATIENCES: u32 = 8;
const OCTAVES: usize = 30;

impl Scouts {
    pub(crate) fn new(expiry: Nanos) -> Self {
        let nanos = expiry.get().max(1) as u64;
        let shift = (nanos.ilog2() + 1).saturating_sub(OCTAVES as u32);
        let counts = [0; OCTAVES];
        Self {
            places: [Scout::default(); PLACES],
            answered: counts,
            given_up: counts,
            shift,
            expiry: (nanos >> shift) as u32,
        }
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
    fn find(id: ExchangeId) -> (usize, u32) {
        let hash = id.0.wrapping_mul(hash::INDEPENDENT);
        ((hash >> 27) as usize % PLACES, ((hash >> 32) as u32).max(1))
    }

    /// Follows a request, if its place is free.
    #[inline]
    pub(crate) fn request(&mut self, id: ExchangeId, at: Timestamp) {
        let (place, fingerprint) = Self::find(id);
        if self.places[place].fingerprint != 0 {
            let (wait, is_given_up) = self.wait(place, at);
            if !is_given_up {
                return;
            }
            self.count(wait, false);
        }
        self.places[place] = Scout { fingerprint, since: self.ticks(at) };
    }

    /// Takes a response.
    #[inline]
    pub(crate) fn response(&mut self, id: ExchangeId, at: Timestamp) {
        let (place, fingerprint) = Self::find(id);
        if self.places[place].fingerprint == fingerprint {
            let (wait, is_given_up) = self.wait(place, at);
            self.count(wait, !is_given_up);
            self.places[place].fingerprint = 0;
        }
    }

    fn count(&mut self, wait: u32, is_answered: bool) {
        let counts = if is_answered { &mut self.answered } else { &mut self.given_up };
        let count = &mut counts[octave(wait)];
        *count += 1;
        if *count == u16::MAX {
            self.answered.iter_mut().chain(&mut self.given_up).for_each(|count| *count /= 2);
        }
    }

    /// How many exchanges last longer than `limit`, in nanoseconds, for each one that does not: by octave of the delay,
    /// also of nanoseconds.
    pub(crate) fn longer_than(&self, limit: f64, now: Timestamp) -> impl Iterator<Item = (u32, f64)> {
        let mut ended = self.ended(now);
        let begin = |octave: usize| f64::from(self.shift + octave as u32).exp2();
        let longer = (0..OCTAVES).find(|&octave| begin(octave) > limit).unwrap_or(OCTAVES);
        let sooner: f64 = ended[..longer].iter().sum();
        ended[..longer].fill(0.0);
        let octaves = ended.into_iter().zip(self.shift..).filter(move |&(ended, _)| ended > 0.0 && sooner > 0.0);
        octaves.map(move |(ended, octave)| (octave, ended / sooner))
    }

    /// The shares of requests that are answered, by octave.
    fn ended(&self, now: Timestamp) -> [f64; OCTAVES] {
        let mut left = self.given_up.map(f64::from);
        for place in (0..PLACES).filter(|&place| self.places[place].fingerprint != 0) {
            left[octave(self.wait(place, now).0)] += 1.0;
        }
        let mut at_risk = left.iter().sum::<f64>() + self.answered.map(f64::from).iter().sum::<f64>();
        let mut open = 1.0;
        std::array::from_fn(|octave| {
            let answered = f64::from(self.answered[octave]);
            let ended = if answered > 0.0 { open * answered / at_risk } else { 0.0 };
            at_risk -= answered + left[octave];
            open -= ended;
            ended
        })
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        self.places.iter().for_each(|place| to.u64(u64::from(place.fingerprint) << 32 | u64::from(place.since)));
        self.answered.iter().chain(&self.given_up).for_each(|&count| to.u64(count.into()));
    }

    pub(crate) fn read(expiry: Nanos, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut scouts = Self::new(expiry);
        for place in &mut scouts.places {
            let both = from.u64()?;
            *place = Scout { fingerprint: (both >> 32) as u32, since: both as u32 };
        }
        for count in scouts.answered.iter_mut().chain(&mut scouts.given_up) {
            let read = u16::try_from(from.u64()?).ok().filter(|&count| count < u16::MAX);
            *count = read.ok_or(CodecError::Value("number of followed requests"))?;
        }
        Ok(scouts)
    }
}

/// The octave of a time in ticks.
#[inline]
fn octave(ticks: u32) -> usize {
    ticks.max(1).ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Requests every 100 µs for 20 s; what each of them waits for is decided by the given function, `None` if it is never
    /// answered. The share of those that take longer than 100 ms among the answered.
    fn found(delay: impl Fn(u64) -> Option<i64>) -> f64 {
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
            assert_eq!(scouts.places[place].fingerprint, Scouts::find(first).1);
            scouts.request(second, at(patience + 1));
            assert_eq!(scouts.places[place].fingerprint, Scouts::find(second).1);
            scouts.response(second, at(3 * patience + 1));
            assert_eq!(scouts.places[place].fingerprint, 0);
        }
        assert_eq!(scouts.answered, [0; OCTAVES]);
        assert_eq!(scouts.given_up.iter().sum::<u16>(), 8);
        assert_eq!(size_of::<Scouts>(), 384);
    }
}
