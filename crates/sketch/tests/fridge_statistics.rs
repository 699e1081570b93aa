//! What the fridge promises on average, over many seeded runs. Seeds are fixed, so a run of the suite never fails by
//! chance; the tolerances would fail for another choice of seeds with the probabilities that stand beside them.

mod common;

use common::{exchanges, nearest_rank, run};
use dwell_simulate::Distribution;
use dwell_simulate::exchange::Settings;
use dwell_sketch::Sample;
use dwell_sketch::distribution::{Ambiguous, DelayStore};
use dwell_sketch::fridge::{Fridge, Params, Traffic};
use dwell_types::Nanos;

fn fridge(slots: u32, p: Option<f64>, seed: u64) -> Fridge {
    let params = Params { entry_probability: p, ..Params::new(slots) };
    Fridge::new(params, exchanges(seed)).expect("parameters are in range")
}

/// Bins of a half decade, from 61 µs to 61 ms.
fn bin(delay: i64) -> Option<usize> {
    let bin = (2.0 * (delay as f64 / 61_200.0).log10()).floor();
    (0.0..6.0).contains(&bin).then_some(bin as usize)
}

/// For each bin of delays, the mean over runs of estimated over true number of exchanges, and its standard error.
fn ratios(runs: u64, weight: impl Fn(&Sample) -> f64) -> [(f64, f64); 6] {
    let settings = Settings {
        delays: Distribution::LogUniform { low: Nanos::new(61_200), high: Nanos::new(61_200_000) },
        ..Settings::fridge_synthetic(Nanos::new(0)).with_span(Nanos::new(200_000_000))
    };
    let mut sums = [(0.0, 0.0); 6];
    for seed in 0..runs {
        let (samples, truth) = run(&mut fridge(SLOTS, Some(P), seed), &settings, seed);
        let (mut estimated, mut true_counts) = ([0.0; 6], [0.0; 6]);
        for sample in &samples {
            if let Some(bin) = bin(sample.since_first.get()) {
                estimated[bin] += weight(sample);
            }
        }
        truth.iter().filter_map(|&d| bin(d)).for_each(|bin| true_counts[bin] += 1.0);
        for ((sum, squares), (e, t)) in sums.iter_mut().zip(estimated.iter().zip(true_counts)) {
            *sum += e / t;
            *squares += (e / t) * (e / t);
        }
    }
    let n = runs as f64;
    sums.map(|(sum, squares)| (sum / n, ((squares / n - (sum / n) * (sum / n)) / n).sqrt()))
}

const SLOTS: u32 = 1 << 10;
const P: f64 = 1.0 / 16.0;

/// Every bin is within 5 standard errors of 1: six bins exceed that by chance once in 3·10⁵ choices of seeds.
fn assert_unbiased(ratios: &[(f64, f64); 6]) {
    for (bin, (mean, error)) in ratios.iter().enumerate() {
        assert!((mean - 1.0).abs() < 5.0 * error, "bin {bin}: {mean} ± {error}: {ratios:.3?}");
        assert!(*error < 0.02, "bin {bin}: too few runs to tell: {error}");
    }
}

#[test]
fn weights_are_unbiased_for_every_delay() {
    assert_unbiased(&ratios(200, |sample| sample.weight));
}

/// The paper's formula (eq. 3.1) with the counter of its switch program (§6.1) loses the slow ones: with these delays the
/// six bins keep .993 .980 .936 .815 .524 .157 of their exchanges. The test above must fail on it.
#[test]
fn mixing_formula_and_counter_is_biased() {
    let mixed = |s: &Sample| (1.0 - P / f64::from(SLOTS)).powf(-(s.inserted_since as f64)) / P;
    let ratios = ratios(200, mixed);
    for ((mean, error), published) in ratios.iter().zip([0.993, 0.980, 0.936, 0.815, 0.524, 0.157]) {
        assert!((mean - published).abs() < 0.01 + 4.0 * error, "{ratios:.3?}");
    }
    assert!(std::panic::catch_unwind(|| assert_unbiased(&ratios)).is_err());
}

/// Without weights the survivors are the fast ones: the test of bias must fail on them, too.
#[test]
fn survivors_alone_are_biased() {
    let ratios = ratios(200, |_| 1.0 / P);
    assert!(ratios[5].0 < 0.3, "{ratios:.3?}");
    assert!(std::panic::catch_unwind(|| assert_unbiased(&ratios)).is_err());
}

/// The 95% intervals hold the truth in 93 to 97 of 100 runs with at least 1,400 samples, for the number of exchanges, the
/// mean and each quantile. Without Student's factor those of p99 hold it in 92.9%. 800 other seeds would put one of the six shares outside by
/// chance once in 10.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    const RUNS: u64 = 800;
    let settings = Settings {
        delays: Distribution::LogUniform { low: Nanos::new(1_000_000), high: Nanos::new(64_000_000) },
        ..Settings::fridge_synthetic(Nanos::new(0)).with_requests(110_000)
    };
    const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];
    let mut covered = [0u32; QUANTILES.len() + 2];
    for seed in 0..RUNS {
        let (samples, mut truth) = run(&mut fridge(1 << 11, Some(1.0 / 16.0), seed), &settings, seed);
        assert!(samples.len() >= 1_400, "{}", samples.len());
        let mut store = DelayStore::bounded(1, 1 << 20).unwrap();
        samples.iter().for_each(|sample| store.update(0, sample));
        let distribution = store.distribution(0, Ambiguous::Bounds);
        truth.sort_unstable();
        for (covered, q) in covered.iter_mut().zip(QUANTILES) {
            let estimate = distribution.quantile(q).unwrap();
            let true_value = nearest_rank(&truth, q);
            *covered += u32::from(estimate.low <= true_value && true_value <= estimate.high);
        }
        let exchanges = distribution.exchanges().unwrap();
        covered[4] += u32::from(exchanges.low <= truth.len() as f64 && truth.len() as f64 <= exchanges.high);
        let mean = truth.iter().sum::<i64>() / truth.len() as i64;
        let estimate = distribution.mean().unwrap();
        covered[5] += u32::from(estimate.low <= mean && mean <= estimate.high);
    }
    let shares = covered.map(|runs| f64::from(runs) / RUNS as f64);
    assert!(shares.iter().all(|share| (0.93..=0.97).contains(share)), "{shares:.4?}");
}

/// From where it begins, a fridge finds a probability about as good as the best fixed one: the error of
/// the estimated p50 and p95 over runs is at most 1.7 times that of the best of seven fixed probabilities, the time of finding
/// included: 1.5 s of traffic.
#[test]
fn the_entry_probability_is_found() {
    let settings = Settings::fridge_heavy_tailed().with_span(Nanos::new(1_500_000_000));
    let error = |p: Option<f64>| {
        let mut squares = 0.0;
        for seed in 0..8 {
            let (samples, mut truth) = run(&mut fridge(1 << 12, p, seed), &settings, seed);
            let mut store = DelayStore::bounded(1, 1 << 20).unwrap();
            samples.iter().for_each(|sample| store.update(0, sample));
            let distribution = store.distribution(0, Ambiguous::Bounds);
            truth.sort_unstable();
            for q in [0.5, 0.95] {
                let true_value = nearest_rank(&truth, q) as f64;
                let estimate = distribution.quantile(q).map_or(1.0, |e| e.value as f64);
                squares += (estimate / true_value).log2().powi(2);
            }
        }
        (squares / 16.0).sqrt()
    };
    let found = error(None);
    let best = (3..10).map(|octave| error(Some(0.5f64.powi(octave)))).fold(f64::INFINITY, f64::min);
    assert!(found < 1.7 * best, "found: {found}, best fixed: {best}");
}

/// Errors are told beforehand from what the traffic is like: over 30 runs, whose root mean square deviates by 13%, within a factor of 1.45. That is
/// exceeded in one of the four by chance once in 50 choices of seeds.
#[test]
fn errors_are_known_beforehand() {
    const RUNS: u64 = 30;
    let settings = Settings {
        answered: 0.4,
        delays: Distribution::LogNormal { mean: Nanos::new(5_000_000), p99: Nanos::new(30_000_000) },
        ..Settings::fridge_synthetic(Nanos::new(0)).with_span(Nanos::new(400_000_000))
    };
    for probability in [1.0 / 32.0, 1.0 / 128.0] {
        let mut squares = [0.0; 2];
        let mut expected = [0.0; 2];
        for seed in 0..RUNS {
            let (samples, mut truth) = run(&mut fridge(SLOTS, Some(probability), seed), &settings, seed);
            truth.sort_unstable();
            let mut store = DelayStore::unbounded(1);
            samples.iter().for_each(|sample| store.update(0, sample));
            let distribution = store.distribution(0, Ambiguous::Bounds);
            let delays: Vec<Nanos> = truth.iter().map(|&delay| Nanos::new(delay)).collect();
            let traffic = Traffic::new(settings.rate, delays.len() as f64, &delays).expect("there are delays");
            for (i, quantile) in [0.5, 0.95].into_iter().enumerate() {
                let estimate = distribution.quantile(quantile).expect("there are samples").value as f64;
                squares[i] += (estimate / nearest_rank(&truth, quantile) as f64).log2().powi(2) / RUNS as f64;
                expected[i] += traffic.quantile_error(SLOTS, probability, quantile) / RUNS as f64;
            }
            let sampled = samples.len() as f64 / traffic.samples(SLOTS, probability);
            assert!((0.8..1.25).contains(&sampled), "{sampled}");
        }
        for (square, expected) in squares.into_iter().zip(expected) {
            let ratio = square.sqrt() / expected;
            println!("p = {probability}: {:.4} octaves, {expected:.4} expected", square.sqrt());
            assert!((1.0 / 1.45..1.45).contains(&ratio), "{ratio}");
        }
    }
}
