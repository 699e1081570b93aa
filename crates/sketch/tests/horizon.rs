//! What horizons promise on average, over many seeded runs. Seeds are fixed, so a run of the suite never fails by
//! chance; with other seeds the tolerances would fail with the stated probabilities.

mod common;

use common::{
    Run, answered_twice, assert_covered, assert_unbiased, coverage, estimate, is_covered, is_unbiased, log_uniform,
    means, nearest_rank, numbers, ratios, rearrange, terms,
};
use dwell_simulate::exchange::Settings;
use dwell_sketch::distribution::{Ambiguous, DelayStore};
use dwell_sketch::fridge::{Fridge, Params};
use dwell_sketch::horizon::Horizon;
use dwell_sketch::rivals::hash_sample::{HashSample, Lifetime};
use dwell_sketch::rivals::simple::{self, Overwrite, Simple};
use dwell_sketch::{Event, Meter, Sample, Terms};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp, hash};

/// Room for 2,550 of the 30,000 requests that wait for 64 ms or less at any time, and of the orphans besides.
fn small(seed: u64) -> Horizon {
    Horizon::new(1 << 15, false, terms(seed)).expect("32 KiB are enough")
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
    for (repeat, apart_ns) in [(Repeat::Ignored, 1_000), (Repeat::IgnoredInTick, 50_000)] {
        let terms = Terms { repeat, ..terms(1) };
        let mut horizon = Horizon::new(1 << 13, false, terms).expect("8 KiB are enough");
        let (slow, alone) = answered_twice(&mut horizon, apart_ns);
        let is_tenth = |share: f64| (share - 0.1).abs() < 6.0 * 0.0016;
        assert!(is_tenth(slow) && !is_tenth(alone), "{repeat:?}: {slow} {alone}");
    }
}

/// The 99th percentile rests on few samples here, some of which are the heaviest; the quantity with the worst intervals
/// is covered in 92% of the runs. Fewer than 80% of 250 would then cover it by chance in 6·10⁻¹⁰ of the choices of
/// seeds.
#[test]
fn intervals_hold_the_truth_nearly_as_often_as_they_say() {
    for settings in [log_uniform(), log_uniform().with_orphan_share(0.5)] {
        let larger = |seed| Horizon::new(1 << 16, false, terms(seed)).expect("64 KiB are enough");
        assert_covered(larger, &settings.with_span(Nanos::new(150_000_000)), 0.80);
    }
}

/// 30,000 requests, 100 µs apart. A fifth is never answered, the others after 1 to 20 ms, or one in four of them after 20
/// to 400 ms. What is open after 100 ms is requested again, and after 300 ms once more. Returns the events, and the
/// delays of the exchanges that were requested once, in ascending order.
fn retried(seed: u64) -> (Vec<Event>, Vec<i64>) {
    let (mut events, mut truth) = (Vec::new(), Vec::new());
    for n in 0..30_000u64 {
        let random = |draw: u64| hash::unit(hash::finish(seed << 32 | n << 2 | draw));
        let milliseconds = if random(1) < 0.75 { 20f64.powf(random(2)) } else { 20.0 * 20f64.powf(random(2)) };
        let answered = (random(3) > 0.2).then_some((1e6 * milliseconds) as i64);
        let mut add = |after: i64, is_request: bool| {
            let at = Timestamp::from_nanos(100_000 * n as i64 + after);
            let id = ExchangeId(hash::finish(!(seed << 32 | n)));
            events.push(Event { id, at, token: 0, tag: 0, mark: 0, is_request });
        };
        let sent = [0, 100_000_000, 300_000_000].into_iter().filter(|&after| answered.is_none_or(|end| after < end));
        let sent = sent.map(|after| add(after, true)).count();
        answered.into_iter().for_each(|end| add(end, false));
        truth.extend(answered.filter(|_| sent == 1));
    }
    events.sort_by_key(|event| event.at);
    truth.sort_unstable();
    (events, truth)
}

/// What is estimated, in 8 KiB, of the exchanges of [`retried`] that were requested once. `is_told`: whether repeats
/// that are recognised stand for the others.
fn once(is_told: bool, seed: u64) -> Run {
    let (events, truth) = retried(seed);
    let mut meter = Horizon::new(1 << 13, false, terms(seed)).expect("8 KiB are enough");
    let mut samples = Vec::new();
    for events in events.chunks(64) {
        meter.update(events, &mut samples);
        rearrange(&mut meter, &mut samples);
    }
    let mut store = DelayStore::bounded(1, 1 << 20).expect("a megabyte is enough for one series");
    for sample in &samples {
        let repeat_weight = if is_told { sample.repeat_weight } else { sample.weight };
        store.update_for(Ambiguous::Drop, 0, &Sample { repeat_weight, ..*sample });
    }
    let risk = meter.risk(0).expect("memory is full");
    (store.distribution_at_risk(0, Ambiguous::Drop, &risk), truth)
}

/// With `drop` a repeated request whose first copy was dropped must not count as one that was sent once. Five means
/// deviate by more than six standard errors once in 10⁸ choices of seeds. Of three choices of 250 seeds the quantity with
/// the worst intervals was covered in 92%; fewer than 80% would then be by chance once in 2·10⁹. Where repeats that are
/// recognised do not stand for others, the control that must fail both, numbers are up to 4% too high and 68% of their
/// intervals contain the true one.
#[test]
fn exchanges_that_were_requested_once_are_told_from_the_others() {
    // How often intervals contain the true value; and estimates over true values: numbers by delay, and the mean.
    let measured = |is_told, seeds| {
        let runs: Vec<Run> = (0..seeds).map(|seed| once(is_told, seed)).collect();
        let ratios = means(seeds, |seed| {
            let run = &runs[seed as usize];
            let mean = run.0.mean().expect("samples are many").value as f64;
            let true_mean = (run.1.iter().sum::<i64>() / run.1.len() as i64) as f64;
            [numbers(run, &[0, 5_000_000, 20_000_000, 50_000_000, 100_000_000]), vec![mean / true_mean]].concat()
        });
        (coverage(|seed| runs[seed as usize].clone(), seeds).shares, ratios)
    };
    let (covered, ratios) = measured(true, 250);
    println!("{covered:.3?} {ratios:.4?}");
    assert!(is_covered(&covered, 0.8) && is_unbiased(&ratios), "{covered:.3?} {ratios:.4?}");
    let (covered, ratios) = measured(false, 100);
    assert!(!is_covered(&covered, 0.8) && !is_unbiased(&ratios), "{covered:.3?} {ratios:.4?}");
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
    let horizon = |seed| Horizon::new(BYTES, false, terms(seed)).expect("64 KiB are enough");
    let gate = |seed| HashSample::new(BYTES, false, Lifetime::Learnt(2.0), terms(seed)).expect("64 KiB are enough");
    let limit = |seed| {
        let params = Params { product_limit: true, ..Params::new(0) };
        Fridge::new(params.fitting(BYTES, &terms(seed)), terms(seed)).expect("parameters are in range")
    };
    let array = |seed| {
        let overwrite = Overwrite::Always;
        let params = simple::Params { slots: BYTES as u32 / 12, stages: 1, fingerprint_bits: 32, overwrite };
        Simple::new(params, terms(seed)).expect("parameters are in range")
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
