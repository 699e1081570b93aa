//! Runs streams with known delays through one meter.

#![allow(dead_code, reason = "each test file needs some of it")]

use dwell_simulate::Distribution;
use dwell_simulate::exchange::{ExchangeWorkload, Settings};
use dwell_sketch::distribution::{self, Ambiguous, DelayStore};
use dwell_sketch::{Event, Meter, Sample, Terms};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp, hash};
use proptest::prelude::*;

pub(crate) fn terms(seed: u64) -> Terms {
    Terms { tags: 1, repeat: Repeat::Ambiguous, expiry: Nanos::from_secs(120), seed }
}

/// Feeds a meter; returns its samples and the true delays of all exchanges.
pub(crate) fn run(meter: &mut impl Meter, settings: &Settings, seed: u64) -> (Vec<Sample>, Vec<i64>) {
    let mut workload = ExchangeWorkload::new(settings, seed).expect("settings are in range");
    let (mut samples, mut truth, mut events) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let event = workload.next().map(Event::from);
        events.extend(event);
        if event.is_some_and(|event| !event.is_request) {
            truth.extend(workload.delay().map(Nanos::get));
        }
        if events.len() == 64 || event.is_none() {
            meter.update(&events, &mut samples);
            events.clear();
            rearrange(meter, &mut samples);
        }
        if event.is_none() {
            return (samples, truth);
        }
    }
}

/// Moves samples to other bands as the meter requires.
pub(crate) fn rearrange(meter: &mut impl Meter, samples: &mut [Sample]) {
    let Some(bands) = meter.take_new_bands() else { return };
    for sample in samples {
        sample.band = bands.of_delay(sample.band, sample.since_last);
        sample.repeat_band = bands.of(sample.repeat_band);
    }
}

/// The true quantile of sorted delays.
pub(crate) fn nearest_rank(sorted: &[i64], q: f64) -> i64 {
    sorted[(q * sorted.len() as f64).ceil() as usize - 1]
}

/// An estimated distribution, and the true delays in ascending order.
pub(crate) type Run = (distribution::Distribution, Vec<i64>);

/// What a meter estimates.
pub(crate) fn estimate(meter: &mut impl Meter, settings: &Settings, seed: u64) -> Run {
    let (samples, mut truth) = run(meter, settings, seed);
    let mut store = DelayStore::bounded(1, 1 << 20).expect("a megabyte is enough for one series");
    samples.iter().for_each(|sample| store.update(0, &sample.limited()));
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
    let edges: Vec<i64> = (0..=6).map(|octave| 1_000_000 << octave).collect();
    means(100, |seed| numbers(&estimate(&mut make(seed), settings, seed), &edges))
}

/// Estimated over true numbers of exchanges between these delays.
pub(crate) fn numbers((distribution, truth): &Run, edges: &[i64]) -> Vec<f64> {
    let rank = |edge: i64| truth.partition_point(|&delay| delay < edge) as f64;
    let numbers = distribution.histogram(edges).into_iter().zip(edges.windows(2));
    numbers.map(|(estimate, edges)| estimate.value / (rank(edges[1]) - rank(edges[0]))).collect()
}

/// The means of several values over so many seeds, and their standard errors.
pub(crate) fn means(runs: u64, values: impl Fn(u64) -> Vec<f64>) -> Vec<(f64, f64)> {
    let mut sums = Vec::new();
    for seed in 0..runs {
        let values = values(seed);
        sums.resize(values.len(), (0.0, 0.0));
        for ((sum, squares), value) in sums.iter_mut().zip(values) {
            (*sum, *squares) = (*sum + value, *squares + value * value);
        }
    }
    let n = runs as f64;
    sums.iter().map(|&(sum, squares)| (sum / n, ((squares / n - (sum / n).powi(2)) / n).sqrt())).collect()
}

/// Every mean is within 6 standard errors of 1, and these are small enough: six means exceed that by chance once in
/// 8·10⁷ choices of seeds. Its controls that must fail are samples without weights (`fridge_statistics.rs`,
/// `product_limit.rs`), and weights of another formula or of one fridge of several (`fridge_statistics.rs`,
/// `sampling_statistics.rs`).
pub(crate) fn is_unbiased(ratios: &[(f64, f64)]) -> bool {
    assert!(ratios.iter().all(|(_, error)| *error < 0.04), "too few runs to tell: {ratios:.4?}");
    ratios.iter().all(|(mean, error)| (mean - 1.0).abs() < 6.0 * error)
}

#[track_caller]
pub(crate) fn assert_unbiased(ratios: &[(f64, f64)]) {
    assert!(is_unbiased(ratios), "{ratios:.4?}");
}

/// How often intervals contain the true value over many runs.
pub(crate) struct Coverage {
    /// The shares for the quantiles, the number of exchanges and the mean.
    pub(crate) shares: [f64; 6],
    /// Those of controls that must fail: intervals half as wide, and twice.
    pub(crate) halved: [f64; 6],
    pub(crate) doubled: [f64; 6],
    /// The fewest samples of a run.
    pub(crate) samples: u64,
}

pub(crate) fn coverage(run: impl Fn(u64) -> Run, runs: u64) -> Coverage {
    let (mut covered, mut samples) = ([[0.0; 6]; 3], u64::MAX);
    for seed in 0..runs {
        let (distribution, truth) = run(seed);
        samples = samples.min(distribution.samples());
        let mut update = |of: usize, low: f64, value: f64, high: f64, truth: f64| {
            for (covered, width) in covered.iter_mut().zip([1.0, 0.5, 2.0]) {
                let holds = (value - width * (value - low)..=value + width * (high - value)).contains(&truth);
                covered[of] += f64::from(u8::from(holds)) / runs as f64;
            }
        };
        for (of, q) in [0.5, 0.9, 0.95, 0.99].into_iter().enumerate() {
            let estimate = distribution.quantile(q).expect("samples are many");
            let truth = nearest_rank(&truth, q) as f64;
            update(of, estimate.low as f64, estimate.value as f64, estimate.high as f64, truth);
        }
        let estimate = distribution.exchanges().expect("samples are many");
        update(4, estimate.low, estimate.value, estimate.high, truth.len() as f64);
        let mean = truth.iter().sum::<i64>() / truth.len() as i64;
        let estimate = distribution.mean().expect("samples are many");
        update(5, estimate.low as f64, estimate.value as f64, estimate.high as f64, mean as f64);
    }
    let [shares, halved, doubled] = covered;
    Coverage { shares, halved, doubled, samples }
}

/// Whether each share is at least as large as the least, and .993 at most on average.
pub(crate) fn is_covered(shares: &[f64; 6], least: f64) -> bool {
    shares.iter().all(|&share| share >= least) && shares.iter().sum::<f64>() / shares.len() as f64 <= 0.993
}

/// The 95% intervals contain the true value in a share of `least` or more of 250 runs, for each of six quantities, and
/// in .993 at most on average over these. A share over .993 occurs by chance, if .95 is correct, once in 10⁸ choices of
/// seeds or less, if three of six are independent. Intervals half as wide must fail the first condition, and twice as
/// wide the second.
pub(crate) fn assert_covered<M: Meter>(make: impl Fn(u64) -> M, settings: &Settings, least: f64) {
    let Coverage { shares, halved, doubled, .. } = coverage(|seed| estimate(&mut make(seed), settings, seed), 250);
    println!("{shares:.3?}");
    assert!(is_covered(&shares, least), "{shares:.4?}");
    assert!(!is_covered(&halved, least) && !is_covered(&doubled, least), "{halved:.4?} {doubled:.4?}");
}

/// Any of 40 ids at any time, mostly within 40 s.
pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    let at = prop_oneof![8 => 0..40_000_000_000i64, 1 => any::<i64>()];
    (0..40u64, at, any::<bool>()).prop_map(|(id, at, is_request)| Event {
        id: ExchangeId(hash::finish(id)),
        at: Timestamp::from_nanos(at),
        token: 0,
        tag: 0,
        mark: 0,
        is_request,
    })
}

/// The share of slow exchanges that a meter estimates with its product limit, and that of its samples without weights,
/// if 400,000, this far apart, are answered twice, 300 requests apart: one in ten after 2,000 requests, the others after 100.
pub(crate) fn answered_twice(meter: &mut impl Meter, apart_ns: i64) -> (f64, f64) {
    let mut events = Vec::new();
    for i in 0..400_000 {
        let id = ExchangeId(hash::finish(i));
        let delay = if i % 10 == 0 { 2_000 } else { 100 };
        for (after, is_request) in [(0, true), (delay, false), (delay + 300, false)] {
            let at = Timestamp::from_nanos(apart_ns * (i + after) as i64 + i64::from(!is_request));
            events.push(Event { id, at, token: 0, tag: 0, mark: 0, is_request });
        }
    }
    events.sort_by_key(|event| event.at);
    let mut samples = Vec::new();
    meter.update(&events, &mut samples);
    let mut store = DelayStore::bounded(1, 1 << 16).expect("room for one series");
    samples.iter().for_each(|sample| store.update(0, sample));
    let risk = meter.risk(0).expect("there is a product limit");
    let counts =
        store.distribution_at_risk(0, Ambiguous::Bounds, &risk).histogram(&[0, 1_000 * apart_ns, 10_000 * apart_ns]);
    let slow = samples.iter().filter(|sample| sample.since_last.get() > 1_000 * apart_ns).count();
    (counts[1].value / (counts[0].value + counts[1].value), slow as f64 / samples.len() as f64)
}
