use super::arrivals::ArrivalTimes;
use super::{End, Settings, SettingsError};
use crate::chance::Chance;
use crate::distribution::{Sampler, rounded};
use crate::wheel::Wheel;
use dwell_types::{ExchangeId, Leg, Match, Nanos, Observation, Series, Sighting, Timestamp, hash};

/// Requests and responses in time order, as [`Settings`] describe them, whose true delays are known.
///
/// Ids are a bijection of a counter: no two exchanges of a stream share one, and orphan responses have their own. A
/// response comes before a request of the same nanosecond. Memory grows with the number of open exchanges only.
#[derive(Clone, Debug)]
pub struct ExchangeWorkload {
    answered: f64,
    delays: Sampler,
    /// Runs of orphans per request, and number of orphans in a run.
    orphan_runs: f64,
    orphan_run: u32,
    start: i64,
    /// Nothing is yielded at this time or later.
    stop: i64,
    /// Requests that are still to come.
    requests_left: u64,
    ids: Ids,
    arrivals: ArrivalTimes,
    chance: Chance,
    open: Wheel<Open>,
    delay: Option<Nanos>,
}

/// A response that is scheduled.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: ExchangeId,
    /// `None` for an orphan.
    delay: Option<Nanos>,
}

/// Makes ids out of consecutive numbers.
#[derive(Clone, Debug)]
struct Ids {
    start: u64,
    next: u64,
}

impl Ids {
    #[inline]
    fn next(&mut self) -> ExchangeId {
        self.next += 1;
        ExchangeId(hash::word(self.start, self.next))
    }
}

impl ExchangeWorkload {
    /// The stream for these settings and this seed.
    pub fn new(settings: &Settings, seed: u64) -> Result<Self, SettingsError> {
        settings.check()?;
        let mut chance = Chance::named(seed, b"exchange");
        let (stop, requests_left) = match settings.end {
            End::AfterRequests(requests) => (i64::MAX, requests),
            End::After(span) => ((settings.start + span).as_nanos(), u64::MAX),
        };
        Ok(Self {
            answered: settings.answered,
            delays: settings.delays.sampler().map_err(SettingsError::Delays)?,
            orphan_runs: settings.orphans / f64::from(settings.orphan_run),
            orphan_run: settings.orphan_run,
            start: settings.start.as_nanos(),
            stop,
            requests_left,
            ids: Ids { start: chance.bits(), next: 0 },
            arrivals: ArrivalTimes::new(settings, &mut chance),
            open: Wheel::new(settings.rate * (settings.answered + settings.orphans)),
            chance,
            delay: None,
        })
    }

    /// Scheduled responses: those to requests that are still open if the stream continues, and orphans.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    #[inline]
    fn request(&mut self, at: i64) -> Observation {
        let id = self.ids.next();
        self.delay = None;
        if self.chance.happens(self.answered) {
            let delay = rounded(self.delays.draw(&mut self.chance) * self.arrivals.delay_factor());
            self.delay = Some(Nanos::new(delay));
            self.open.push(at.saturating_add(delay), Open { id, delay: self.delay });
        }
        if self.orphan_runs > 0.0 {
            self.send_orphans(at);
        }
        self.requests_left -= 1;
        self.arrivals.tick(&mut self.chance);
        Observation::Request(sighting(id, at))
    }

    fn send_orphans(&mut self, at: i64) {
        let whole = self.orphan_runs as u32;
        let runs = whole + u32::from(self.chance.happens(self.orphan_runs - f64::from(whole)));
        for _ in 0..runs * self.orphan_run {
            let after = (self.chance.unit() * self.arrivals.gap()) as i64;
            let id = self.ids.next();
            self.open.push(at.saturating_add(after), Open { id, delay: None });
        }
    }

    /// The true delay of the exchange that the last observation belongs to: `None` for a request that is never answered
    /// and for a response without an observed request. The response to a request may come after the end of the stream.
    #[inline]
    pub fn delay(&self) -> Option<Nanos> {
        self.delay
    }
}

#[inline]
fn sighting(id: ExchangeId, at: i64) -> Sighting {
    const SERIES: Series = Series { matching: Match::Events, leg: Leg::Both, group: 0 };
    Sighting { id, at: Timestamp::from_nanos(at), token: 0, series: SERIES }
}

impl Iterator for ExchangeWorkload {
    type Item = Observation;

    #[inline]
    fn next(&mut self) -> Option<Observation> {
        let request_at = match self.requests_left {
            0 => i64::MAX,
            _ => self.start.saturating_add(self.arrivals.now() as i64),
        };
        let last = self.stop.saturating_sub(1);
        if let Some((at, open)) = self.open.pop_until(request_at.min(last)) {
            self.delay = open.delay;
            return Some(Observation::Response(sighting(open.id, at)));
        }
        (request_at <= last).then(|| self.request(request_at))
    }
}
