//! The memory needed for a given error of the delays at one point.

use crate::value::is_available;
use dwell_report::size::{Asked, Exact, ExpectedError, Parameters, Size};
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{Arrivals, End, ExchangeWorkload, Settings as Stream};
use dwell_sketch::Structure;
use dwell_sketch::fridge::Traffic;
use dwell_sketch::rtt::{Method, RttMeter, Settings, SettingsError};
use dwell_types::{Match, Nanos, Observation, Overhead};

/// The exchanges that are expected, and how they are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The rule that the requests belong to.
    pub matching: Match,
    /// Requests per second, answered or not; of TCP handshakes, connections.
    pub rate: f64,
    /// Mean delay, log-normal; of TCP handshakes, of both sides together.
    pub mean: Nanos,
    /// 99th percentile of the delay, likewise; at most the span and the expiry, or it is never seen.
    pub p99: Nanos,
    /// Share of requests that are answered; of TCP handshakes, by both sides.
    pub answered: f64,
    /// Length of the capture, or of an interval.
    pub span: Nanos,
    /// How long to wait for a response, if not as usual.
    pub expiry: Option<Nanos>,
    /// What of the memory is not the meter's, but its observer's.
    pub observer: Overhead,
}

/// Quantiles that must have the requested error.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];
/// Range of memory sizes considered.
const LEAST_KIB: usize = 8;
const MOST: usize = 1 << 40;

/// The memory that holds all open requests, and fridges of increasing size. The error says what is wrong with the
/// expected exchanges or the memory.
pub fn size(asked: Asked, expected: &Expected) -> Result<(Exact, Vec<Size>), String> {
    let delays = expected.delays()?;
    let traffic = expected.traffic(&delays)?;
    if let Asked::Memory(memory) = asked {
        if !is_available(memory) {
            return Err("--memory: this machine does not have so much memory, and the tables are built".to_owned());
        }
        expected.meter(Method::Fridge, memory).map_err(|error| error.to_string())?;
    }
    Ok((expected.exact(&delays), expected.fridges(asked, &traffic, &delays)))
}

impl Expected {
    /// How long to wait for a response.
    pub fn expiry(&self) -> Nanos {
        self.expiry.unwrap_or(Settings::usual_expiry(self.matching))
    }

    /// Delays as the simulator draws them.
    fn delays(&self) -> Result<Vec<Nanos>, String> {
        const DRAWN: u64 = 100_000;
        let &Self { mean, p99, .. } = self;
        let settings = Stream {
            arrivals: Arrivals::Constant,
            ..Stream::poisson(1e6, Distribution::LogNormal { mean, p99 }, End::AfterRequests(DRAWN))
        };
        let mut workload = ExchangeWorkload::new(&settings, 0).map_err(|error| error.to_string())?;
        let mut delays = Vec::with_capacity(DRAWN as usize);
        while let Some(seen) = workload.next() {
            delays.extend(workload.delay().filter(|_| matches!(seen, Observation::Response(_))));
        }
        Ok(delays)
    }

    /// The traffic for a fridge.
    fn traffic(&self, delays: &[Nanos]) -> Result<Traffic, String> {
        let exchanges = self.rate * self.answered * self.span.get() as f64 / 1e9;
        // The first segment of a handshake waits for two answers, and the second, if there is one, for the third.
        let entering = if self.matching.is_handshake() { 2.0 + self.answered } else { 1.0 };
        let traffic = Traffic::new(self.rate * entering, self.span, exchanges, delays).filter(|_| exchanges >= 1.0);
        traffic.ok_or_else(|| "less than one exchange expected: use a higher rate or a longer --span".to_owned())
    }

    /// The meter that dwell rtt builds for captures in `memory` bytes, which has to share them with the observer.
    fn meter(&self, method: Method, memory: usize) -> Result<RttMeter, SettingsError> {
        let besides = self.observer;
        let settings = Settings::new(method, vec![self.matching], memory.saturating_sub(besides.of(memory)));
        RttMeter::new(&Settings { expiry: self.expiry, ..settings }).map_err(|error| match error {
            SettingsError::Memory { needed, .. } => {
                SettingsError::Memory { given: memory, needed: besides.leaving(needed) }
            }
            other => other,
        })
    }

    /// A meter of `memory` bytes, and the structure in which it holds requests; `None` if that is too little, or more
    /// than there is.
    fn built(&self, method: Method, memory: usize) -> Option<(RttMeter, Structure)> {
        let meter = is_available(memory).then(|| self.meter(method, memory).ok())??;
        let structure = meter.rules().next()?.structure;
        Some((meter, structure))
    }

    /// Number of requests that the default method holds in `memory` bytes.
    fn room(&self, memory: usize) -> usize {
        match self.built(Method::Auto, memory) {
            Some((_, Structure::Horizons { room, .. })) => room,
            _ => 0,
        }
    }

    /// Number of slots of a fridge in `memory` bytes, and its meter.
    fn fridge(&self, memory: usize) -> Option<(u32, RttMeter)> {
        match self.built(Method::Fridge, memory)? {
            (meter, Structure::Fridge { slots, .. }) => Some((slots, meter)),
            _ => None,
        }
    }

    /// Memory that holds all open requests.
    fn exact(&self, delays: &[Nanos]) -> Exact {
        let &Self { rate, answered, span, .. } = self;
        // Requests stay until they are answered or expire, or until the end.
        let longest = self.expiry().min(span);
        let sum = |longest: Nanos| delays.iter().map(|&delay| delay.min(longest).as_secs_f64()).sum::<f64>();
        let mean = self.mean.as_secs_f64() * sum(longest) / sum(Nanos::new(i64::MAX));
        let open = rate * (answered * mean + (1.0 - answered) * longest.as_secs_f64());
        let most = open + 5.0 * open.sqrt();
        // A handshake waits for the other side, then for this one, and all the time for both together.
        let entries = if self.matching.is_handshake() { 2.0 } else { 1.0 };
        let bytes = memories().find(|&bytes| self.room(bytes) as f64 >= entries * most);
        Exact {
            open_requests: open,
            most_open_requests: most,
            memory_bytes: bytes.map(|bytes| bytes as u64),
            command: None,
        }
    }

    /// Fridges of increasing size, up to the first with the requested error, or as large as this machine's memory.
    fn fridges(&self, asked: Asked, traffic: &Traffic, delays: &[Nanos]) -> Vec<Size> {
        /// As many samples of a fridge fill all bins.
        const MANY: usize = 20_000;
        let given = match asked {
            Asked::Error(_) => None,
            Asked::Memory(bytes) => Some(bytes),
        };
        let mut sizes = Vec::new();
        for bytes in given.into_iter().chain(memories().filter(|_| given.is_none())) {
            let Some((slots, mut meter)) = self.fridge(bytes) else { continue };
            let probability = traffic.best_probability(slots);
            let samples = traffic.samples(slots, probability);
            let stored = &delays[..(samples.ceil() as usize).clamp(1, MANY).min(delays.len())];
            let bins = meter.store().bin_errors(stored, QUANTILES);
            let error = |(quantile, bins): (f64, f64)| {
                let of_samples = traffic.quantile_error(slots, probability, quantile);
                let of_search = traffic.search_error(slots, probability, quantile);
                let error = (of_samples.hypot(of_search).exp2() - 1.0).hypot(bins);
                ExpectedError {
                    quantile: Some(quantile),
                    error: Some(error),
                    samples: Some(samples),
                    ..ExpectedError::default()
                }
            };
            let errors: Vec<ExpectedError> = QUANTILES.into_iter().zip(bins).map(error).collect();
            let is_enough = |asked: f64| errors.iter().filter_map(|line| line.error).all(|error| error <= asked);
            let is_last = matches!(asked, Asked::Error(error) if is_enough(error));
            sizes.push(Size {
                memory_bytes: bytes as u64,
                command: None,
                parameters: Parameters::Fridge { slots, entry_probability: probability },
                errors,
            });
            if is_last {
                break;
            }
        }
        sizes
    }
}

fn memories() -> impl Iterator<Item = usize> {
    (0..).map(|step| LEAST_KIB << 10 << step).take_while(|&bytes| bytes <= MOST)
}
