//! What horizons promise on average, over many seeded runs. Seeds are fixed, so a run of the suite never fails by
//! chance; with other seeds the tolerances would fail with the stated probabilities.

mod common;

use common::{answered_twice, assert_covered, assert_unbiased, estimate, exchanges, log_uniform, nearest_rank, ratios};
use dwell_simulate::exchange::Settings;
use dwell_sketch::fridge::{Fridge, Params};
use dwell_sketch::hash_sample::{HashSample, Lifetime};
use dwell_sketch::horizon::Horizon;
use dwell_sketch::simple::{self, Overwrite, Simple};
use dwell_sketch::{Exchanges, Meter};
use dwell_types::{Nanos, Repeat};

/// Room for 2,550 of the 30,000 requests that wait for 64 ms or less at any time, and of the orphans besides.
fn small(seed: u64) -> Horizon {
    Horizon::new(1 << 15, false, exchanges(seed)).expect("32 KiB are enough")
}

#[test]
fn every_delay_is_counted_without_bias() {
    assert_unbiased(&ratios(small, &log_uniform()));
}

/// Responses that match no observed request are censored for ever.
#[test]
fn four_of_five_responses_may_answer_nothing() {
    assert_unbiased(&ratios(small, &log_uniform().with_orphan_share(0.8)));
}

/// Rate and delays double together for 25 ms of every 50: methods that count requests instead of time, or depend on the
/// expiry, are off by .3 octaves and more here (`docs/papers/zheng22-fridge.md`).
#[test]
fn bursts_do_not_matter() {
    assert_unbiased(&ratios(small, &log_uniform().with_correlated_bursts(Nanos::new(50_000_000))));
}

/// Where later equal requests are ignored, answered ones stay in the table. When second responses counted only once
/// those were gone, the share of slow exchanges became .35. Of 40,000 some 4,000 are found: six standard deviations of
/// 1.6% (2·10⁻⁹). The samples without weights, the control that must fail, give 2.9%.
#[test]
fn responses_that_come_twice_change_nothing() {
    let exchanges = Exchanges { repeat: Repeat::Ignored, ..exchanges(1) };
    let (slow, alone) = answered_twice(&mut Horizon::new(1 << 13, false, exchanges).expect("8 KiB are enough"));
    let is_tenth = |share: f64| (share - 0.1).abs() < 6.0 * 0.0016;
    assert!(is_tenth(slow) && !is_tenth(alone), "{slow} {alone}");
}

/// The 99th percentile rests on few samples here, some of which are the heaviest; the quantity with the worst intervals
/// is covered in 92% of the runs. Fewer than 80% of 250 would then cover it by chance in 6·10⁻¹⁰ of the choices of
/// seeds.
#[test]
fn intervals_hold_the_truth_nearly_as_often_as_they_say() {
    for settings in [log_uniform(), log_uniform().with_orphan_share(0.5)] {
        let larger = |seed| Horizon::new(1 << 16, false, exchanges(seed)).expect("64 KiB are enough");
        assert_covered(larger, &settings.with_span(Nanos::new(150_000_000)), 0.80);
    }
}

/// Root mean square of the largest error in octaves between p5 and p95.
fn error<M: Meter>(make: impl Fn(u64) -> M, settings: &Settings) -> f64 {
    const RUNS: u64 = 12;
    let mut squares = 0.0;
    for seed in 0..RUNS {
        let (distribution, truth) = estimate(&mut make(seed), settings, seed);
        let octaves = |q: f64| {
            let estimate = distribution.quantile(q).map_or(f64::INFINITY, |e| e.value as f64);
            (estimate / nearest_rank(&truth, q) as f64).log2().abs()
        };
        squares += (1..=19).map(|i| octaves(f64::from(i) / 20.0)).fold(0.0f64, f64::max).powi(2);
    }
    (squares / RUNS as f64).sqrt()
}

/// In equal bytes. Among unanswered requests horizons are nearly as good as the product limit of a fridge, which holds
/// 2.4 times as many requests, and better than one gate for all; without them they are as good as the gate, and the
/// fridge is not. Over 6 choices of seeds the ratios were, among them, 1.6 to the fridge and .7 to the gate, and 1.0 and
/// .3 without; their logarithms deviate by .22 and .17, and by .1 and .12. The first two limits are thus exceeded by
/// chance once in 4,000 and in 70 choices, the others in 10⁸ and in 10⁵. Seeds are fixed. The controls that must fail
/// are an array that always overwrites among them, and the fridge without.
#[test]
fn horizons_suit_traffic_with_and_without_unanswered_requests() {
    const BYTES: usize = 1 << 16;
    let horizon = |seed| Horizon::new(BYTES, false, exchanges(seed)).expect("64 KiB are enough");
    let gate = |seed| HashSample::new(BYTES, false, Lifetime::Learnt(2.0), exchanges(seed)).expect("64 KiB are enough");
    let limit = |seed| {
        let params = Params { product_limit: true, ..Params::new(0) };
        Fridge::new(params.fitting(BYTES, &exchanges(seed)), exchanges(seed)).expect("parameters are in range")
    };
    let array = |seed| {
        let overwrite = Overwrite::Always;
        let params = simple::Params { slots: BYTES as u32 / 12, stages: 1, fingerprint_bits: 32, overwrite };
        Simple::new(params, exchanges(seed)).expect("parameters are in range")
    };
    let unanswered = Settings { orphans: 0.0, ..Settings::fridge_heavy_tailed() }.with_span(Nanos::new(3_000_000_000));
    let answered = Settings { answered: 1.0, rate: 100_000.0, ..unanswered.clone() };
    let (horizons, gates, limits) = (error(horizon, &unanswered), error(gate, &unanswered), error(limit, &unanswered));
    println!("among unanswered requests: {horizons:.3} {gates:.3} {limits:.3}");
    let is_good = |error: f64| error < 3.5 * limits && error < gates;
    let overwritten = error(array, &unanswered);
    assert!(is_good(horizons) && !is_good(overwritten), "{horizons:.3} {gates:.3} {limits:.3} {overwritten:.3}");
    let (horizons, gates, limits) = (error(horizon, &answered), error(gate, &answered), error(limit, &answered));
    println!("all answered: {horizons:.3} {gates:.3} {limits:.3}");
    let is_good = |error: f64| error < 1.8 * gates;
    assert!(is_good(horizons) && !is_good(limits) && horizons < 0.5 * limits, "{horizons:.3} {gates:.3} {limits:.3}");
}
