//! Streams with known truth through one meter.

#![allow(dead_code, reason = "each test file needs some of it")]

use dwell_simulate::Distribution;
use dwell_simulate::exchange::{ExchangeWorkload, Settings, Workload};
use dwell_sketch::distribution::{self, Ambiguous, DelayStore};
use dwell_sketch::{Event, Exchanges, Meter, Sample};
use dwell_types::{ExchangeId, Nanos, Observation, Repeat, Timestamp, hash};
use proptest::prelude::*;

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

/// The distribution that a meter estimates, and the true delays in rising order.
pub(crate) fn estimate(
    meter: &mut impl Meter,
    settings: &Settings,
    seed: u64,
) -> (distribution::Distribution, Vec<i64>) {
    let (samples, mut truth) = run(meter, settings, seed);
    let mut store = DelayStore::bounded(1, 1 << 20).expect("a megabyte is enough for one series");
    samples.iter().for_each(|sample| store.update(0, sample));
    truth.sort_unstable();
    let distribution = match meter.risk(0) {
        Some(risk) => store.distribution_at_risk(0, Ambiguous::Bounds, &risk),
        None => store.distribution(0, Ambiguous::Bounds),
    };
    (distribution, truth)
}

/// 10⁶ requests per second, 40% answered after 1 to 64 ms.
pub(crate) fn log_uniform() -> Settings {
    Settings {
        delays: Distribution::LogUniform { low: Nanos::new(1_000_000), high: Nanos::new(64_000_000) },
        ..Settings::fridge_synthetic(Nanos::new(0)).with_span(Nanos::new(300_000_000))
    }
}

/// For each octave of delay, the mean over runs of estimated over true number of exchanges, and its standard error.
pub(crate) fn ratios<M: Meter>(make: impl Fn(u64) -> M, settings: &Settings) -> Vec<(f64, f64)> {
    const RUNS: u64 = 100;
    let edges: Vec<i64> = (0..=6).map(|octave| 1_000_000 << octave).collect();
    let mut sums = vec![(0.0, 0.0); edges.len() - 1];
    for seed in 0..RUNS {
        let (distribution, truth) = estimate(&mut make(seed), settings, seed);
        let rank = |edge: i64| truth.partition_point(|&delay| delay < edge) as f64;
        for ((sum, squares), (estimate, edges)) in
            sums.iter_mut().zip(distribution.histogram(&edges).iter().zip(edges.windows(2)))
        {
            let ratio = estimate.value / (rank(edges[1]) - rank(edges[0]));
            (*sum, *squares) = (*sum + ratio, *squares + ratio * ratio);
        }
    }
    let n = RUNS as f64;
    sums.iter().map(|&(sum, squares)| (sum / n, ((squares / n - (sum / n).powi(2)) / n).sqrt())).collect()
}

/// Every octave within 5 standard errors of 1, which six exceed by chance once in 3·10⁵ choices of seeds; and these are
/// small enough to tell.
pub(crate) fn assert_unbiased(ratios: &[(f64, f64)]) {
    for (octave, (mean, error)) in ratios.iter().enumerate() {
        assert!((mean - 1.0).abs() < 5.0 * error, "octave {octave}: {mean} ± {error}: {ratios:.3?}");
        assert!(*error < 0.03, "octave {octave}: too few runs to tell: {error}");
    }
}

/// The 95% intervals hold the truth in a share of `least` to .985 of the runs, for each quantile, the mean and the number of exchanges. With
/// intervals that are right, 250 other seeds would put one of the six shares below .91 or above .985 by chance once in 30.
pub(crate) fn assert_covered<M: Meter>(make: impl Fn(u64) -> M, settings: &Settings, least: f64) {
    const RUNS: u64 = 250;
    const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];
    let mut covered = [0u32; QUANTILES.len() + 2];
    for seed in 0..RUNS {
        let (distribution, truth) = estimate(&mut make(seed), settings, seed);
        for (covered, q) in covered.iter_mut().zip(QUANTILES) {
            let (estimate, truth) = (distribution.quantile(q).expect("samples are many"), nearest_rank(&truth, q));
            *covered += u32::from(estimate.low <= truth && truth <= estimate.high);
        }
        let (exchanges, number) = (distribution.exchanges().expect("samples are many"), truth.len() as f64);
        covered[4] += u32::from(exchanges.low <= number && number <= exchanges.high);
        let mean = truth.iter().sum::<i64>() / truth.len() as i64;
        let estimate = distribution.mean().expect("samples are many");
        covered[5] += u32::from(estimate.low <= mean && mean <= estimate.high);
    }
    let shares = covered.map(|runs| f64::from(runs) / RUNS as f64);
    assert!(shares.iter().all(|share| (least..=0.985).contains(share)), "{shares:.4?}");
}

/// Any of 40 ids at any time, mostly within 40 s.
pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    let at = prop_oneof![8 => 0..40_000_000_000i64, 1 => any::<i64>()];
    (0..40u64, at, any::<bool>()).prop_map(|(id, at, is_request)| Event {
        id: ExchangeId(hash::finish(id)),
        at: Timestamp::from_nanos(at),
        token: 0,
        tag: 0,
        is_request,
    })
}
