//! What the product limit promises on average, over many seeded runs. Seeds are fixed, so a run of the suite never
//! fails by chance; with other seeds the tolerances would fail with the stated probabilities.

mod common;

use common::{
    answered_twice, assert_covered, assert_unbiased, estimate, is_unbiased, log_uniform, nearest_rank, ratios, run,
    terms,
};
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{Bursts, End, ExchangeWorkload, Settings};
use dwell_sketch::fridge::{Fridge, Params};
use dwell_sketch::{Event, Meter};
use dwell_types::{Nanos, Timestamp};
use std::ops::Range;

fn fridge(slots: u32, p: Option<f64>, product_limit: bool, seed: u64) -> Fridge {
    let params = Params { entry_probability: p, product_limit, ..Params::new(slots) };
    Fridge::new(params, terms(seed)).expect("parameters are in range")
}

/// With 2¹⁰ slots and *p* = 1/16 the slowest of [`log_uniform`] last for 4 lifetimes.
fn limited(seed: u64) -> Fridge {
    fridge(1 << 10, Some(1.0 / 16.0), true, seed)
}

#[test]
fn every_delay_is_counted_without_bias() {
    assert_unbiased(&ratios(limited, &log_uniform()));
}

/// Responses that match no observed request are censored for ever.
#[test]
fn four_of_five_responses_may_answer_nothing() {
    assert_unbiased(&ratios(limited, &log_uniform().with_orphan_share(0.8)));
}

/// The load falls to a tenth, as at night, and delays do not. *p* rises, and what the dense time still follows goes on to
/// count: when numbers of insertions doubled with *p*, its slow exchanges left the scale, and p95 was 21% low.
#[test]
fn slow_exchanges_stay_when_the_load_falls() {
    let seconds = |seconds: i64| Nanos::new(seconds * 1_000_000_000);
    let delays = Distribution::LogNormal { mean: Nanos::new(33_000_000), p99: Nanos::new(205_000_000) };
    let night = Bursts { calm: seconds(2), burst: seconds(12), rate_factor: 0.1, delay_factor: 1.0 };
    let settings =
        Settings { bursts: Some(night), ..Settings::poisson(100_000.0, delays, End::AfterRequests(320_000)) };
    let errors = (0..6).map(|seed| {
        let (found, mut truth) = estimate(&mut fridge(1_536, None, true, seed), &settings, seed);
        truth.sort_unstable();
        [0.5, 0.95, 0.99].map(|share| {
            let (found, truth) = (found.quantile(share).unwrap(), nearest_rank(&truth, share));
            assert!(found.low <= truth && truth <= found.high, "{seed}: {share} {found:?} {truth}");
            found.value as f64 / truth as f64 - 1.0
        })
    });
    let errors: Vec<_> = errors.collect();
    let means = [0, 1, 2].map(|at| errors.iter().map(|of| of[at]).sum::<f64>() / errors.len() as f64);
    assert!(means[0].abs() < 0.01 && means[1].abs() < 0.03 && means[2].abs() < 0.08, "{means:?} {errors:?}");
}

/// How many exchanges end from one time to another, in nanoseconds, by the samples' weights, and by those that they have in
/// the product limit, both over the true number; of 100 runs.
fn weights(slots: u32, settings: &Settings, within: Range<i64>) -> [f64; 2] {
    let is_within = |at: Timestamp| within.contains(&at.as_nanos());
    let (mut own, mut limited, mut truth) = (0.0, 0.0, 0.0);
    for seed in 0..100 {
        let mut meter = fridge(slots, None, true, seed);
        let mut workload = ExchangeWorkload::new(settings, seed).expect("settings are in range");
        let mut samples = Vec::new();
        while let Some(event) = workload.next().map(Event::from) {
            meter.update(&[event], &mut samples);
            let is_end = !event.is_request && workload.delay().is_some();
            truth += f64::from(u8::from(is_end && is_within(event.at)));
        }
        for sample in samples.iter().filter(|sample| is_within(sample.at)) {
            own += sample.weight;
            limited += sample.limited().weight;
        }
    }
    [own, limited].map(|weights| weights / truth)
}

/// *p* rises: where the load falls to a hundredth after two seconds, and where the search began too sparse. The weights of
/// samples add up to the exchanges that end soon after, as answers of intervals must; over other seeds the ratio deviates
/// by .005. The twin has the weights of the product limit, which until entries have lived as long as they are followed
/// knows some bands only by the ids that passed before: it counts too many. With the *p* of as many insertions ago as are
/// interpolated, not of the request's time, too many are missing in the second stream.
#[test]
fn samples_count_by_themselves_when_the_gate_opens() {
    let seconds = |seconds: f64| Nanos::new((seconds * 1e9) as i64);
    let fast = Distribution::LogNormal { mean: seconds(0.033), p99: seconds(0.205) };
    let calm = Bursts { calm: seconds(2.0), burst: seconds(12.0), rate_factor: 0.01, delay_factor: 1.0 };
    let falling = Settings { bursts: Some(calm), ..Settings::poisson(20_000.0, fast, End::AfterRequests(41_000)) };
    let slow = Distribution::LogNormal { mean: seconds(0.36), p99: seconds(1.21) };
    let steady = Settings::poisson(5_000.0, slow, End::AfterRequests(8_000));
    let of_falling = weights(1_536, &falling, 3_500_000_000..5_000_000_000);
    let of_steady = weights(4_096, &steady, 400_000_000..1_400_000_000);
    for [own, limited] in [of_falling, of_steady] {
        assert!((own - 1.0).abs() < 0.03 && limited > own + 0.02, "{of_falling:?} {of_steady:?}");
    }
}

/// Thousands of requests come before the first response, and *p* falls by octaves at once. What is found while no band is
/// followed counts by itself: it was lost as soon as a band was followed, 3 to 14% of the exchanges, and no interval
/// contained the truth.
#[test]
fn what_is_found_before_bands_are_followed_stays() {
    let delays = Distribution::LogUniform { low: Nanos::new(50_000_000), high: Nanos::new(200_000_000) };
    let settings = Settings::poisson(100_000.0, delays, End::AfterRequests(200_000));
    let mut held = 0;
    for seed in 0..8 {
        let (found, truth) = estimate(&mut fridge(2_400, None, true, seed), &settings, seed);
        let (number, all) = (found.exchanges().unwrap(), truth.len() as f64);
        assert!((number.value / all - 1.0).abs() < 0.04, "{seed}: {number:?} of {all}");
        held += usize::from(number.low <= all && all <= number.high);
    }
    assert!(held >= 6, "{held}");
}

/// The control that must fail: found entries without a weight for survival.
#[test]
fn found_entries_alone_are_biased() {
    let settings = log_uniform();
    let mut survivors = [0.0; 6];
    let mut true_counts = [0.0; 6];
    for seed in 0..20 {
        let (samples, truth) = run(&mut limited(seed), &settings, seed);
        let octave = |delay: i64| ((delay / 1_000_000).max(1).ilog2() as usize).min(5);
        samples.iter().for_each(|s| survivors[octave(s.since_first.get())] += 16.0);
        truth.iter().for_each(|&delay| true_counts[octave(delay)] += 1.0);
    }
    let ratios: Vec<(f64, f64)> = survivors.iter().zip(true_counts).map(|(s, t)| (s / t, 0.01)).collect();
    assert!(!is_unbiased(&ratios), "{ratios:.3?}");
}

/// Fewer than 84% of 250 would hold by chance in 10⁻¹⁰ of the choices of seeds if 95% is correct, and in 10⁻⁵ if 92%
/// is, as at p99.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for settings in [log_uniform(), log_uniform().with_orphan_share(0.5)] {
        let settings = settings.with_span(Nanos::new(150_000_000));
        assert_covered(|seed| fridge(1 << 11, Some(1.0 / 16.0), true, seed), &settings, 0.84);
    }
}

/// Where hardly anything is overwritten, a few responses without a request are not taken for slow exchanges: longer ones
/// would have been found. Counting them, as if the tail went on, is the control that must fail.
#[test]
fn few_responses_without_a_request_are_no_slow_exchanges() {
    for share in [0.01, 0.2] {
        let settings = log_uniform().with_orphan_share(share);
        let (distribution, truth) = estimate(&mut fridge(1 << 18, Some(1.0), true, 1), &settings, 1);
        let (number, answered) = (distribution.exchanges().unwrap().value, truth.len() as f64);
        let is_right = |number: f64| (number / answered - 1.0).abs() < 0.002;
        assert!(is_right(number) && !is_right(number + share * answered), "{share}: {number} of {answered}");
    }
}

/// If every response has its request, half of the slots are enough: the largest error between p5 and p95 is smaller
/// than that of a plain fridge with as many slots, each with the best of four fixed probabilities. Eight runs are too
/// few to show it for every choice of seeds: their ratio is .84, and its logarithm deviates by .17 (over 6), so that
/// half of the choices exceed .9 and one in seven exceeds 1. Seeds are fixed. The plain fridge itself is the control
/// that must fail.
#[test]
fn the_product_limit_beats_the_plain_fridge() {
    let settings = Settings { orphans: 0.0, ..Settings::fridge_heavy_tailed() }.with_span(Nanos::new(3_000_000_000));
    let error = |product_limit: bool| {
        let of = |octave: i32| {
            let mut squares = 0.0;
            for seed in 0..8 {
                let mut fridge = fridge(1 << 11, Some(0.5f64.powi(octave)), product_limit, seed);
                let (distribution, truth) = estimate(&mut fridge, &settings, seed);
                let error = |q: f64| {
                    let estimate = distribution.quantile(q).map_or(1.0, |estimate| estimate.value as f64);
                    (estimate / nearest_rank(&truth, q) as f64).log2().abs()
                };
                squares += (1..20).map(|q| error(0.05 * f64::from(q))).fold(0.0, f64::max).powi(2);
            }
            (squares / 8.0).sqrt()
        };
        (5..9).map(of).fold(f64::INFINITY, f64::min)
    };
    let (limit, plain) = (error(true), error(false));
    let beats = |error: f64| error < 0.9 * plain;
    assert!(beats(limit) && !beats(plain), "{limit} against {plain}");
}

/// Of 40,000 slow exchanges of [`answered_twice`], 2,000 requests long where there are 1,000 slots, 5,400 are found:
/// their share deviates by 1.4%, six times which is allowed (2·10⁻⁹). When second responses counted only once their
/// entry was gone, it became .29. The samples without weights, the control that must fail, give 1.6%.
#[test]
fn responses_that_come_twice_change_nothing() {
    let (slow, alone) = answered_twice(&mut fridge(1_000, Some(1.0), true, 1), 1_000);
    let is_tenth = |share: f64| (share - 0.1).abs() < 6.0 * 0.0014;
    assert!(is_tenth(slow) && !is_tenth(alone), "{slow} {alone}");
}
