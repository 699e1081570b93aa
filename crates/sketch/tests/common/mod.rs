//! Streams with known truth through one meter.

use dwell_simulate::exchange::{ExchangeWorkload, Settings, Workload};
use dwell_sketch::{Event, Exchanges, Meter, Sample};
use dwell_types::{Nanos, Observation, Repeat};

pub(crate) fn exchanges(seed: u64) -> Exchanges {
    Exchanges { tags: 1, repeat: Repeat::Ambiguous, expiry: Nanos::from_secs(120), seed }
}

/// Feeds a meter; gives its samples and the true delays of all exchanges.
pub(crate) fn run(meter: &mut impl Meter, settings: &Settings, seed: u64) -> (Vec<Sample>, Vec<i64>) {
    let mut workload = ExchangeWorkload::new(settings, seed).expect("settings are in range");
    let (mut samples, mut truth, mut events) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let seen = workload.next();
        if let Some(seen) = &seen {
            let (sighting, is_request) = match seen {
                Observation::Request(sighting) => (sighting, true),
                Observation::Response(sighting) => (sighting, false),
            };
            events.push(Event { id: sighting.id, at: sighting.at, token: 0, tag: 0, is_request });
            if !is_request {
                truth.extend(workload.delay().map(Nanos::get));
            }
        }
        if events.len() == 64 || seen.is_none() {
            meter.update(&events, &mut samples);
            events.clear();
        }
        if seen.is_none() {
            return (samples, truth);
        }
    }
}

/// The truth at a quantile, of sorted delays.
pub(crate) fn nearest_rank(sorted: &[i64], q: f64) -> i64 {
    sorted[(q * sorted.len() as f64).ceil() as usize - 1]
}
