use crate::{Distribution, DistributionError};
use core::fmt;
use dwell_types::{Nanos, Timestamp};

/// Settings of a stream of exchanges.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Time of the first request; with Poisson arrivals, the time at which the process begins.
    pub start: Timestamp,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// Requests per second, outside bursts.
    pub rate: f64,
    /// Periods of higher load; `None` for a steady load.
    pub bursts: Option<Bursts>,
    /// Share of the requests that are answered, in `0..=1`.
    pub answered: f64,
    /// The delays of responses.
    pub delays: Distribution,
    /// Orphans: responses without an observed request, per request, on average. Each comes within the mean gap after
    /// some request. See [`Settings::with_orphan_share`].
    pub orphans: f64,
    /// Orphans come in runs of this many, all within the mean gap after one request, as from scans and reflections; 1:
    /// independently.
    pub orphan_run: u32,
    /// When the stream ends.
    pub end: End,
}

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly spaced.
    Constant,
    /// Independently of each other.
    Poisson,
}

/// Load that alternates between calm and burst. Delays and load are correlated unless `delay_factor` is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Length of each calm period, including the first.
    pub calm: Nanos,
    /// Length of each burst.
    pub burst: Nanos,
    /// Factor of the request rate in a burst.
    pub rate_factor: f64,
    /// Factor of the delay of requests in a burst.
    pub delay_factor: f64,
}

/// When a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Requests stop after this many; every response is still part of the stream.
    AfterRequests(u64),
    /// The stream ends this long after the start, while some exchanges are still open.
    After(Nanos),
}

/// Why settings are invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingsError {
    /// Requests per second must be above zero and at most 10⁹.
    Rate(f64),
    /// The share of answered requests must be in `0..=1`.
    Answered(f64),
    /// Orphans per request must be in `0..=1000`.
    Orphans(f64),
    /// Runs of orphans must have from one to a million responses.
    OrphanRun(u32),
    /// Calm periods and bursts must last at least a microsecond, and factors be in `1e-3..=1e3`.
    Bursts(Bursts),
    /// The stream ends before it starts.
    End(Nanos),
    /// The distribution of delays is invalid.
    Delays(DistributionError),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{rate} requests per second: expected above 0 and up to 1e9"),
            Self::Answered(share) => write!(f, "share of answered requests {share}: expected a number from 0 to 1"),
            Self::Orphans(orphans) => write!(f, "{orphans} orphan responses per request: expected from 0 to 1000"),
            Self::OrphanRun(run) => write!(f, "runs of {run} orphan responses: expected from 1 to 1000000"),
            Self::Bursts(Bursts { calm, burst, rate_factor, delay_factor }) => write!(
                f,
                "bursts of {burst} after {calm} with rate × {rate_factor} and delay × {delay_factor}: expected at least 1 µs and factors from 0.001 to 1000"
            ),
            Self::End(span) => write!(f, "a stream of {span}: expected zero or more"),
            Self::Delays(error) => write!(f, "delays: {error}"),
        }
    }
}

impl core::error::Error for SettingsError {}

const MILLISECOND: i64 = 1_000_000;

impl Settings {
    /// Poisson arrivals at this rate from time 0 on, all answered, without bursts and orphans.
    pub fn poisson(rate: f64, delays: Distribution, end: End) -> Self {
        Self {
            start: Timestamp::from_nanos(0),
            arrivals: Arrivals::Poisson,
            rate,
            bursts: None,
            answered: 1.0,
            delays,
            orphans: 0.0,
            orphan_run: 1,
            end,
        }
    }

    /// The synthetic trace of the fridge paper [zheng22 §5]: 10⁶ requests per second, evenly spaced, of which 40% are
    /// answered after a log-uniform delay of 1 ms to `longest`; 1.25 M requests give the paper's 0.5 M delays and 1.75
    /// M packets. The paper says "between 0 and T", which is impossible for a log-uniform distribution.
    ///
    /// The requests stop after 1.25 s, so that for longer delays the paper's "insertions between request and response"
    /// never happen; [`Settings::with_span`] lets the requests continue instead. Report both.
    pub fn fridge_synthetic(longest: Nanos) -> Self {
        let delays = Distribution::LogUniform { low: Nanos::new(MILLISECOND), high: longest };
        Self {
            arrivals: Arrivals::Constant,
            answered: 0.4,
            ..Self::poisson(1e6, delays, End::AfterRequests(1_250_000))
        }
    }

    /// A stream with the published figures of the fridge paper's real trace [zheng22 §5]: 10 M packets in 11.4 s, 61%
    /// of them requests, 13% of these answered, mean delay 57.8 ms, 99th percentile 512 ms ("close to 2⁹ ms").
    ///
    /// 61% × 13% = 7.9% of the packets are answers; the other 31.1% are orphans, 79.7% of all responses. Poisson
    /// arrivals and the log-normal form are our choice. Half a percent of the answers come after the end, mostly slow
    /// ones: those inside have mean 56.5 ms and 99th percentile 494 ms.
    pub fn fridge_heavy_tailed() -> Self {
        let delays = Distribution::LogNormal { mean: Nanos::new(57_800_000), p99: Nanos::new(512 * MILLISECOND) };
        Self {
            answered: 0.13,
            orphans: 0.39 / 0.61 - 0.13,
            ..Self::poisson(6.1e6 / 11.4, delays, End::After(Nanos::new(11_400 * MILLISECOND)))
        }
    }

    /// The stream with bursts in which load and delays both double: for half of every `period`.
    pub fn with_correlated_bursts(mut self, period: Nanos) -> Self {
        let half = Nanos::new(period.get() / 2);
        self.bursts = Some(Bursts { calm: half, burst: half, rate_factor: 2.0, delay_factor: 2.0 });
        self
    }

    /// The stream with orphans as this `share` of all responses; 1 and more counts as 0.999.
    pub fn with_orphan_share(mut self, share: f64) -> Self {
        let share = share.min(0.999);
        self.orphans = self.answered * share / (1.0 - share);
        self
    }

    /// The stream with this many requests and all their responses: "requests stop".
    pub fn with_requests(mut self, requests: u64) -> Self {
        self.end = End::AfterRequests(requests);
        self
    }

    /// The stream that ends after `span`, with exchanges still open: "requests continue".
    pub fn with_span(mut self, span: Nanos) -> Self {
        self.end = End::After(span);
        self
    }

    pub(super) fn check(&self) -> Result<(), SettingsError> {
        if !(self.rate > 0.0 && self.rate <= 1e9) {
            return Err(SettingsError::Rate(self.rate));
        }
        if !(0.0..=1.0).contains(&self.answered) {
            return Err(SettingsError::Answered(self.answered));
        }
        if !(0.0..=1000.0).contains(&self.orphans) {
            return Err(SettingsError::Orphans(self.orphans));
        }
        if !(1..=1_000_000).contains(&self.orphan_run) {
            return Err(SettingsError::OrphanRun(self.orphan_run));
        }
        if let Some(bursts) = self.bursts {
            let long_enough = |span: Nanos| span.get() >= 1000;
            let sane = |factor: f64| (1e-3..=1e3).contains(&factor);
            let Bursts { calm, burst, rate_factor, delay_factor } = bursts;
            if !(long_enough(calm) && long_enough(burst) && sane(rate_factor) && sane(delay_factor)) {
                return Err(SettingsError::Bursts(bursts));
            }
        }
        match self.end {
            End::After(span) if span < Nanos::ZERO => Err(SettingsError::End(span)),
            _ => Ok(()),
        }
    }
}
