//! What the fridge promises on average, over many seeded runs. Seeds are fixed, so a run of the suite never fails by
//! chance; with other seeds the tolerances would fail with the stated probabilities.

mod common;

use common::{Coverage, assert_unbiased, coverage, estimate, is_unbiased, means, nearest_rank, run, terms};
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{End, Settings};
use dwell_sketch::distribution::{Ambiguous, DelayStore};
use dwell_sketch::fridge::{Fridge, Params, Traffic};
use dwell_sketch::{Event, Meter, Sample};
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

fn fridge(slots: u32, p: Option<f64>, seed: u64) -> Fridge {
    let params = Params { entry_probability: p, ..Params::new(slots) };
    Fridge::new(params, terms(seed)).expect("parameters are in range")
}

/// Bins of a half decade, from 61 µs to 61 ms.
fn bin(delay: i64) -> Option<usize> {
    let bin = (2.0 * (delay as f64 / 61_200.0).log10()).floor();
    (0.0..6.0).contains(&bin).then_some(bin as usize)
}

/// For each bin of delays, the mean over runs of estimated over true number of exchanges, and its standard error.
fn ratios(weight: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    let settings = Settings {
        delays: Distribution::LogUniform { low: Nanos::new(61_200), high: Nanos::new(61_200_000) },
        ..Settings::fridge_synthetic(Nanos::new(0)).with_span(Nanos::new(200_000_000))
    };
    means(200, |seed| {
        let (samples, truth) = run(&mut fridge(SLOTS, Some(P), seed), &settings, seed);
        let (mut estimated, mut true_counts) = ([0.0; 6], [0.0; 6]);
        for sample in &samples {
            if let Some(bin) = bin(sample.since_first.get()) {
                estimated[bin] += weight(sample);
            }
        }
        truth.iter().filter_map(|&d| bin(d)).for_each(|bin| true_counts[bin] += 1.0);
        estimated.iter().zip(true_counts).map(|(estimated, count)| estimated / count).collect()
    })
}

const SLOTS: u32 = 1 << 10;
const P: f64 = 1.0 / 16.0;

#[test]
fn weights_are_unbiased_for_every_delay() {
    assert_unbiased(&ratios(|sample| sample.weight));
}

/// The paper's formula (eq. 3.1) with the counter of its switch program (§6.1) loses slow exchanges: with these delays
/// the six bins keep .993 .980 .936 .815 .524 .157 of their exchanges, to a hundredth and 6 standard errors. The test
/// above must fail on it.
#[test]
fn mixing_formula_and_counter_is_biased() {
    let mixed = |s: &Sample| (1.0 - P / f64::from(SLOTS)).powf(-(s.inserted_since as f64)) / P;
    let ratios = ratios(mixed);
    for ((mean, error), published) in ratios.iter().zip([0.993, 0.980, 0.936, 0.815, 0.524, 0.157]) {
        assert!((mean - published).abs() < 0.01 + 6.0 * error, "{ratios:.3?}");
    }
    assert!(!is_unbiased(&ratios));
}

/// 100 requests within 2 ms, ten times a second, answered after up to 80 ms: most have a good part of their own burst
/// behind them when they are answered, and nothing else. The mean error of the number of exchanges, over 200 runs of 100
/// bursts, and its standard error.
fn error_in_bursts(count: impl Fn(&Sample) -> f64) -> (f64, f64) {
    const RUNS: u64 = 200;
    let unit = |seed: u64, n: u64| hash::unit(hash::finish(hash::finish(seed + 1_000) ^ n));
    let errors = (0..RUNS).map(|seed| {
        let mut events = Vec::new();
        for n in 0..10_000u64 {
            let asked = (n / 100 * 100_000_000) as i64 + (unit(seed, 2 * n) * 2e6) as i64;
            let event = |at, is_request| {
                let (id, at) = (ExchangeId(hash::finish(n ^ seed << 32)), Timestamp::from_nanos(at));
                Event { id, at, token: 0, tag: 0, mark: 0, is_request }
            };
            events.push(event(asked, true));
            events.push(event(asked + (unit(seed, 2 * n + 1) * 8e7) as i64, false));
        }
        events.sort_by_key(|event| event.at);
        let mut samples = Vec::new();
        fridge(2_048, Some(1.0), seed).update(&events, &mut samples);
        samples.iter().map(&count).sum::<f64>() / 10_000.0 - 1.0
    });
    let (sum, squares) = errors.fold((0.0, 0.0), |(sum, squares), error| (sum + error, squares + error * error));
    let n = RUNS as f64;
    (sum / n, ((squares / n - (sum / n).powi(2)) / n).sqrt())
}

#[test]
fn bursts_are_counted_without_bias() {
    let (error, deviation) = error_in_bursts(|sample| sample.weight);
    assert!(error.abs() < 0.002 + 5.0 * deviation, "{error} {deviation}");
    // The control: survivors alone, as if nothing had been inserted since.
    let (error, deviation) = error_in_bursts(|_| 1.0);
    assert!(error.abs() > 0.01 + 5.0 * deviation, "{error} {deviation}");
}

/// Without weights the survivors are the fast ones: the test for bias must fail on them, too.
#[test]
fn survivors_alone_are_biased() {
    let ratios = ratios(|_| 1.0 / P);
    assert!(ratios[5].0 < 0.3, "{ratios:.3?}");
    assert!(!is_unbiased(&ratios));
}

/// The 95% intervals contain the true value in 93 to 97 of 100 runs with at least 1,400 samples, for the number of
/// exchanges, the mean and each quantile. Without Student's factor and half a step those of p99 contain it in 92.9%.
/// 800 other seeds would put one of the six shares outside that range by chance once in 10. Intervals half as wide, or
/// twice, are the controls that must fail.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let settings = Settings {
        delays: Distribution::LogUniform { low: Nanos::new(1_000_000), high: Nanos::new(64_000_000) },
        ..Settings::fridge_synthetic(Nanos::new(0)).with_requests(110_000)
    };
    let Coverage { shares, halved, doubled, samples } =
        coverage(|seed| estimate(&mut fridge(1 << 11, Some(1.0 / 16.0), seed), &settings, seed), 800);
    assert!(samples >= 1_400, "{samples}");
    let is_right = |shares: &[f64; 6]| shares.iter().all(|share| (0.93..=0.97).contains(share));
    assert!(is_right(&shares), "{shares:.4?}");
    assert!(!is_right(&halved) && !is_right(&doubled), "{halved:.4?} {doubled:.4?}");
}

/// A request far in the future, or a clock that is set back by a minute, after 3,000 slow requests; then come 200 times as
/// many per second. The probability still follows, so that the median is right to 5%; one that stays, the control, has an
/// error of 20% and more.
#[test]
fn wild_times_do_not_stop_the_search() {
    let median = |wild: i64, back: i64, p: Option<f64>| {
        let unit = |n: u64| hash::unit(hash::finish(hash::finish(77) ^ n));
        let mut events = Vec::new();
        let mut now = 1_000_000_000_000;
        for n in 0..300_000u64 {
            now += if n < 3_000 { 1_000_000 } else { 5_000 };
            let shift = if n < 3_000 { 0 } else { back };
            let wild = if n == 3_000 { wild } else { 0 };
            let event = |order: i64, at: i64, is_request| {
                let (id, at) = (ExchangeId(hash::finish(n)), Timestamp::from_nanos(at - shift));
                (order, Event { id, at, token: 0, tag: 0, mark: 0, is_request })
            };
            let answered = now + (-5e7 * (1.0 - unit(n)).ln()) as i64;
            events.push(event(now, now + wild, true));
            if wild == 0 {
                events.push(event(answered, answered, false));
            }
        }
        events.sort_by_key(|&(order, _)| order);
        let mut samples = Vec::new();
        let mut fridge = fridge(2_048, p, 1);
        for batch in events.chunks(64) {
            fridge.update(&batch.iter().map(|&(_, event)| event).collect::<Vec<_>>(), &mut samples);
        }
        let mut store = DelayStore::unbounded(1);
        samples.iter().for_each(|sample| store.update(0, sample));
        let median = store.distribution(0, Ambiguous::Bounds).quantile(0.5).expect("samples are many").value;
        median as f64 / (5e7 * 2f64.ln()) - 1.0
    };
    const LATER: i64 = 100_000_000_000_000_000;
    for (wild, back) in [(0, 0), (LATER, 0), (-LATER, 0), (0, 60_000_000_000)] {
        let error = median(wild, back, None);
        assert!(error.abs() < 0.05, "{wild} {back}: {error}");
    }
    let error = median(0, 0, Some(1.0));
    assert!(error.abs() > 0.1, "{error}");
}

/// All exchanges take 15 µs, a few of an entry's ticks: every interval of a quantile and of the extremes contains that;
/// the mean is not tested. Without widening by the rounding, few intervals do.
#[test]
fn what_ticks_round_is_in_the_intervals() {
    const DELAY: i64 = 15_000;
    let settings = Settings {
        delays: Distribution::Constant(Nanos::new(DELAY)),
        ..Settings::fridge_synthetic(Nanos::new(0)).with_requests(50_000)
    };
    let held = |distribution: &dwell_sketch::distribution::Distribution| {
        let (min, max) = distribution.extremes().expect("samples are many");
        let mut estimates = vec![min, max];
        estimates.extend([0.01, 0.05, 0.5, 0.9, 0.95, 0.99].map(|q| distribution.quantile(q).expect("as before")));
        estimates.iter().filter(|estimate| (estimate.low..=estimate.high).contains(&DELAY)).count()
    };
    let mut fridge = fridge(1 << 12, Some(1.0), 1);
    let (distribution, truth) = estimate(&mut fridge, &settings, 1);
    assert!(held(&distribution) < 4, "{:?}", distribution.quantile(0.99));
    let mean = distribution.mean().expect("as before").value;
    assert!((mean - DELAY).abs() < 50, "{mean}");
    let distribution = distribution.with_rounding(fridge.rounding());
    assert_eq!(held(&distribution), 8);
    for ([_, delay], share) in distribution.cdf(100) {
        assert!((share.low..=share.high).contains(&f64::from(u8::from(delay >= DELAY))), "{delay}: {share:?}");
    }
    let [below, from] = distribution.histogram(&[0, DELAY, 2 * DELAY])[..] else { panic!("three edges") };
    assert!(below.low == 0.0 && below.value > 1_000.0, "{below:?}");
    assert!((from.low..=from.high).contains(&(truth.len() as f64)) && from.value < from.high - 1_000.0, "{from:?}");
}

/// Where all requests are measured, means are wrong by what ticks round, and their intervals say so: of 40 intervals of 95%,
/// fewer than 32 hold the true value with a probability of 10⁻⁴. Without rounding, the control, hardly any does.
#[test]
fn what_ticks_round_is_in_the_interval_of_the_mean() {
    let settings = Settings {
        delays: Distribution::Constant(Nanos::new(15_000)),
        ..Settings::fridge_synthetic(Nanos::new(0)).with_requests(1_000)
    };
    let mut held = [0; 2];
    for seed in 0..40 {
        let mut fridge = fridge(1 << 12, Some(1.0), seed);
        let (distribution, _) = estimate(&mut fridge, &settings, seed);
        let rounded = distribution.clone().with_rounding(fridge.rounding());
        for (held, distribution) in held.iter_mut().zip([distribution, rounded]) {
            let mean = distribution.mean().expect("there are samples");
            *held += usize::from((mean.low..=mean.high).contains(&15_000));
        }
    }
    assert!(held[0] < 8 && held[1] >= 32, "{held:?}");
}

/// After starting, a fridge finds a probability about as good as the best fixed one: three quarters of the errors of
/// the estimated p50 and p95 over runs are at most 4 times those of the best of seven fixed probabilities, including
/// the time of the search: 1.5 s of traffic. Of 16 errors the third quartile is 1.4 times the best's, and its logarithm
/// deviates by .3: other seeds exceed 4 once in 5,000. (Their mean square would depend on one or two errors of
/// octaves.) Admitting everything is the control that must fail.
#[test]
fn the_entry_probability_is_found() {
    let settings = Settings::fridge_heavy_tailed().with_span(Nanos::new(1_500_000_000));
    let error = |p: Option<f64>| {
        let mut errors = Vec::new();
        for seed in 0..8 {
            let (samples, mut truth) = run(&mut fridge(1 << 12, p, seed), &settings, seed);
            let mut store = DelayStore::bounded(1, 1 << 20).unwrap();
            samples.iter().for_each(|sample| store.update(0, sample));
            let distribution = store.distribution(0, Ambiguous::Bounds);
            truth.sort_unstable();
            for q in [0.5, 0.95] {
                let true_value = nearest_rank(&truth, q) as f64;
                let estimate = distribution.quantile(q).map_or(1.0, |e| e.value as f64);
                errors.push((estimate / true_value).log2().abs());
            }
        }
        errors.sort_by(f64::total_cmp);
        errors[errors.len() * 3 / 4]
    };
    let (found, wrong) = (error(None), error(Some(1.0)));
    let best = (3..10).map(|octave| error(Some(0.5f64.powi(octave)))).fold(f64::INFINITY, f64::min);
    assert!(found < 4.0 * best && wrong >= 4.0 * best, "found: {found}, all: {wrong}, best fixed: {best}");
}

/// Errors are predicted from the traffic: over 30 runs, whose root mean square deviates by 13%, within a factor of 2.2.
/// That is six of these deviations, 2·10⁻⁹. A run's number of samples deviates by 2.3%, eight of which are allowed.
/// Assuming that all offered requests enter must fail.
#[test]
fn errors_are_known_beforehand() {
    const RUNS: u64 = 30;
    const SPAN: Nanos = Nanos::new(400_000_000);
    let settings = Settings {
        answered: 0.4,
        delays: Distribution::LogNormal { mean: Nanos::new(5_000_000), p99: Nanos::new(30_000_000) },
        ..Settings::fridge_synthetic(Nanos::new(0)).with_span(SPAN)
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
            let traffic = Traffic::new(settings.rate, SPAN, delays.len() as f64, &delays).expect("there are delays");
            for (i, quantile) in [0.5, 0.95].into_iter().enumerate() {
                let estimate = distribution.quantile(quantile).expect("there are samples").value as f64;
                squares[i] += (estimate / nearest_rank(&truth, quantile) as f64).log2().powi(2) / RUNS as f64;
                expected[i] += traffic.quantile_error(SLOTS, probability, quantile) / RUNS as f64;
            }
            let sampled = samples.len() as f64 / traffic.samples(SLOTS, probability);
            assert!((0.8..1.25).contains(&sampled), "{sampled}");
        }
        for (square, expected) in squares.into_iter().zip(expected) {
            println!("p = {probability}: {:.4} octaves, {expected:.4} expected", square.sqrt());
            let is_near = |expected: f64| (1.0 / 2.2..2.2).contains(&(square.sqrt() / expected));
            assert!(is_near(expected) && !is_near(expected * probability.sqrt()), "{square} {expected}");
        }
    }
}

/// Where nearly all exchanges fit, most of the error of p50 is due to the search for the entry probability and to the
/// bins of a small store. Over 40 runs, whose root mean square deviates by 11%, errors are within a factor of 1.75 of
/// the prediction. That is five of these deviations, 6·10⁻⁷. The prediction for the samples alone must fail.
#[test]
fn the_search_and_the_bins_are_foretold() {
    const RUNS: u64 = 40;
    const FEW_SLOTS: u32 = 800;
    const QUANTILES: [f64; 2] = [0.5, 0.95];
    const SPAN: Nanos = Nanos::new(10_000_000_000);
    let delays = Distribution::LogNormal { mean: Nanos::new(2_000_000), p99: Nanos::new(24_000_000) };
    let settings = Settings::poisson(3_000.0, delays, End::AfterRequests(30_000));
    let (mut squares, mut expected, mut of_samples) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    for seed in 0..RUNS {
        let (samples, mut truth) = run(&mut fridge(FEW_SLOTS, None, seed), &settings, seed);
        let mut store = DelayStore::bounded(1, 2_480).unwrap();
        samples.iter().for_each(|sample| store.update(0, sample));
        let distribution = store.distribution(0, Ambiguous::Bounds);
        let delays: Vec<Nanos> = truth.iter().map(|&delay| Nanos::new(delay)).collect();
        truth.sort_unstable();
        let traffic = Traffic::new(settings.rate, SPAN, delays.len() as f64, &delays).expect("there are delays");
        let probability = traffic.best_probability(FEW_SLOTS);
        let bins = store.bin_errors(&delays, QUANTILES);
        for (i, quantile) in QUANTILES.into_iter().enumerate() {
            let estimate = distribution.quantile(quantile).expect("there are samples").value as f64;
            squares[i] += (estimate / nearest_rank(&truth, quantile) as f64 - 1.0).powi(2) / RUNS as f64;
            let of_fridge = traffic.quantile_error(FEW_SLOTS, probability, quantile);
            let all = of_fridge.hypot(traffic.search_error(FEW_SLOTS, probability, quantile));
            expected[i] += (all.exp2() - 1.0).hypot(bins[i]) / RUNS as f64;
            of_samples[i] += (of_fridge.exp2() - 1.0) / RUNS as f64;
        }
    }
    let is_near = |i: usize, expected: f64| (1.0 / 1.75..1.75).contains(&(squares[i].sqrt() / expected));
    assert!(is_near(0, expected[0]) && is_near(1, expected[1]), "{squares:?} {expected:?}");
    assert!(!is_near(0, of_samples[0]), "{squares:?} {of_samples:?}");
}
