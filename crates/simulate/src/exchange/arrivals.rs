use super::{Arrivals, Bursts, Settings};
use crate::chance::Chance;

/// The times of requests: a process of constant rate, on a clock that runs faster during bursts.
#[derive(Clone, Debug)]
pub(super) struct ArrivalTimes {
    arrivals: Arrivals,
    /// Mean gap outside bursts, in nanoseconds.
    gap: f64,
    /// Nanoseconds since the start.
    now: f64,
    load: Load,
}

/// The current load: calm or burst.
#[derive(Clone, Debug)]
struct Load {
    bursts: Option<Bursts>,
    in_burst: bool,
    /// One divided by the factor of the rate.
    slowness: f64,
    /// When the load changes next, in nanoseconds since the start.
    until: f64,
}

impl ArrivalTimes {
    /// The clock at the time of the first request.
    pub(super) fn new(settings: &Settings, chance: &mut Chance) -> Self {
        let until = settings.bursts.map_or(f64::INFINITY, |bursts| bursts.calm.get() as f64);
        let load = Load { bursts: settings.bursts, in_burst: false, slowness: 1.0, until };
        let mut clock = Self { arrivals: settings.arrivals, gap: 1e9 / settings.rate, now: 0.0, load };
        if clock.arrivals == Arrivals::Poisson {
            clock.tick(chance);
        }
        clock
    }

    /// Time of the next request, in nanoseconds since the start.
    #[inline]
    pub(super) fn now(&self) -> f64 {
        self.now
    }

    /// Mean gap between the next request and the one after it, in nanoseconds.
    #[inline]
    pub(super) fn gap(&self) -> f64 {
        self.gap * self.load.slowness
    }

    /// Factor for the delay of the next request.
    #[inline]
    pub(super) fn delay_factor(&self) -> f64 {
        match self.load.bursts {
            Some(bursts) if self.load.in_burst => bursts.delay_factor,
            _ => 1.0,
        }
    }

    /// Advances to the request after the next.
    #[inline]
    pub(super) fn tick(&mut self, chance: &mut Chance) {
        let mut work = match self.arrivals {
            Arrivals::Constant => self.gap,
            Arrivals::Poisson => self.gap * chance.exponential(),
        };
        while self.now + work * self.load.slowness >= self.load.until {
            work -= (self.load.until - self.now) / self.load.slowness;
            self.now = self.load.until;
            self.load.change();
        }
        self.now += work * self.load.slowness;
    }
}

impl Load {
    #[cold]
    fn change(&mut self) {
        let Some(bursts) = self.bursts else { return };
        self.in_burst = !self.in_burst;
        let (factor, length) = if self.in_burst { (bursts.rate_factor, bursts.burst) } else { (1.0, bursts.calm) };
        self.slowness = 1.0 / factor;
        self.until += length.get() as f64;
    }
}
