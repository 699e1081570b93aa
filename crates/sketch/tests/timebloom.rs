//! Errors of the ring of Bloom filters in the thesis's setting [porcino23 ch. 4]: Poisson arrivals of 1,000 requests
//! per second, all answered within *t*_max = 10 s, 100 s of traffic, of which the first turn of the ring is not
//! evaluated. Seeds are fixed, so a run of the suite never fails by chance; with other seeds the tolerances would fail
//! with the stated probabilities.

mod common;

use common::any_event;
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{End, ExchangeWorkload, Settings};
use dwell_sketch::distribution::{Ambiguous, DelayStore};
use dwell_sketch::fridge::{self, Fridge};
use dwell_sketch::rivals::timebloom::{Cdf, Params, Policy, Prior, Reference, TimeBloom};
use dwell_sketch::{Event, FiltersError, Meter, Sample, Terms};
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};
use proptest::prelude::*;

const LONGEST: Nanos = Nanos::from_secs(10);
/// Enough bits to avoid false matches: what remains is the systematic error.
const PLENTY: u64 = 1 << 20;
/// The mean of the delays drawn by [`empirical`]; the function [`table`] has a mean of 328.6 ms.
const DRAWN_MEAN: Nanos = Nanos::new(427_000_000);

/// Table 4.1: a delay in milliseconds, and how many of 1,000 delays do not exceed it.
const TABLE: [(i64, usize); 17] = [
    (1, 5),
    (2, 9),
    (4, 12),
    (8, 15),
    (10, 19),
    (20, 56),
    (40, 200),
    (80, 345),
    (100, 438),
    (200, 664),
    (400, 881),
    (800, 923),
    (1_000, 939),
    (2_000, 971),
    (4_000, 992),
    (8_000, 997),
    (10_000, 1_000),
];

/// The thesis draws only the delays of the table.
fn empirical() -> Distribution {
    let mut below = 0;
    let values = TABLE.iter().flat_map(|&(delay, count)| {
        let equal = count - std::mem::replace(&mut below, count);
        std::iter::repeat_n(Nanos::new(delay * 1_000_000), equal)
    });
    Distribution::Empirical(values.collect())
}

fn uniform() -> Distribution {
    Distribution::Uniform { low: Nanos::ZERO, high: LONGEST }
}

/// The table with linear interpolation, as used by the thesis's policies.
fn table() -> Prior {
    let points = TABLE.map(|(delay, count)| (Nanos::new(delay * 1_000_000), count as f64 / 1e3));
    Prior::Known(Cdf::linear(&points).expect("the table is a distribution"))
}

/// A stream, and the true delay of each response.
type Stream = (Vec<Event>, Vec<i64>);

/// A stream in which a share of the requests is answered.
fn stream(delays: &Distribution, answered: f64, seed: u64) -> Stream {
    let settings = Settings { answered, ..Settings::poisson(1e3, delays.clone(), End::After(Nanos::from_secs(100))) };
    let mut workload = ExchangeWorkload::new(&settings, seed).expect("settings are in range");
    let (mut events, mut truth) = (Vec::new(), Vec::new());
    while let Some(event) = workload.next().map(Event::from) {
        events.push(event);
        if !event.is_request {
            truth.push(workload.delay().expect("there are no orphans").get());
        }
    }
    (events, truth)
}

fn streams(delays: &Distribution, seeds: u64) -> Vec<Stream> {
    (0..seeds).map(|seed| stream(delays, 1.0, seed)).collect()
}

fn params(bits: u64, filters: u32, policy: Policy, prior: &Prior) -> Params {
    let reference = if *prior == Prior::Uniform { Reference::SlotMiddle } else { Reference::ConditionalMean };
    Params { bits, filters, hashes: None, rate: 1e3, policy, reference, prior: prior.clone() }
}

fn terms(seed: u64) -> Terms {
    Terms { expiry: LONGEST, ..common::terms(seed) }
}

/// The accuracy of a ring.
struct Errors {
    /// Mean absolute error in milliseconds.
    absolute: f64,
    /// Share of responses for which a wrong slot was chosen.
    wrong: f64,
}

/// Mean errors over streams, of the responses whose true delay satisfies `wanted`.
fn errors_of(params: &Params, streams: &[Stream], wanted: impl Fn(i64) -> bool) -> Errors {
    let (mut judged, mut absolute, mut wrong) = (0.0, 0.0, 0.0);
    for (seed, (events, truth)) in (0..).zip(streams) {
        let mut ring = TimeBloom::new(params.clone(), terms(seed)).expect("parameters are in range");
        let width = ring.slot_width().get();
        let mut samples = Vec::new();
        ring.update(events, &mut samples);
        assert_eq!(samples.len(), truth.len(), "every response finds a request");
        for (Sample { at, since_first, .. }, &delay) in samples.iter().zip(truth) {
            if at.as_nanos() > LONGEST.get() + width && wanted(delay) {
                let slot = |delay: i64| (at.as_nanos() - delay).div_euclid(width);
                judged += 1.0;
                absolute += (since_first.get() - delay).abs() as f64 / 1e6;
                wrong += f64::from(slot(delay) != slot(since_first.get()));
            }
        }
    }
    Errors { absolute: absolute / judged, wrong: wrong / judged }
}

fn errors(params: &Params, streams: &[Stream]) -> Errors {
    errors_of(params, streams, |_| true)
}

fn width_ms(filters: u32) -> f64 {
    1e4 / f64::from(filters - 1)
}

/// Mean absolute error, over the slot width Δ, if the true slot is always found, delays are uniform up to *t*_max and
/// the slot's middle stands for the request ([`Reference::SlotMiddle`]): (*b* − 7/6) / 4(*b* − 1).
///
/// The thesis states 1/4 [porcino23 §4.2.3]; the youngest bin, with 1/3 of a whole one's part, and the oldest, with
/// 1/2, make the difference.
fn slot_middle_error(filters: u32) -> f64 {
    let b = f64::from(filters);
    (b - 7.0 / 6.0) / (4.0 * (b - 1.0))
}

/// The same with [`Reference::ConditionalMean`]: (*b* − 4/3) / 4(*b* − 1). Both bins at the ends have 1/3 of a
/// whole one's part.
fn conditional_mean_error(filters: u32) -> f64 {
    let b = f64::from(filters);
    (b - 4.0 / 3.0) / (4.0 * (b - 1.0))
}

/// The result is near the expected value, and not near that of a wrong assumption.
#[track_caller]
fn assert_near(found: f64, expected: f64, wrong: f64, tolerance: f64, what: &str) {
    println!("{what}: {found:.1} ms, expected {expected:.1}");
    let is_near = |expected: f64| (found / expected - 1.0).abs() < tolerance;
    assert!(is_near(expected), "{what}: {found} ms, expected {expected} ± {tolerance}");
    assert!(!is_near(wrong), "{what}: {found} ms, and not {wrong} ± {tolerance}");
}

#[test]
fn systematic_errors_of_four_filters() {
    assert!((slot_middle_error(4) * width_ms(4) - 786.9).abs() < 0.2, "{}", slot_middle_error(4) * width_ms(4));
    assert!((conditional_mean_error(4) * width_ms(4) - 740.7).abs() < 0.1);
    assert!((slot_middle_error(1 << 20) - 0.25).abs() < 1e-6);
}

/// 270,000 responses whose errors are nearly uniform in `0..Δ/2`, and so deviate by .6 of their mean: .11% standard
/// error. ±.7% is 6 of them, exceeded in one of the four by chance once in 10⁸ choices of seeds. One filter too many
/// must be detected.
#[test]
fn systematic_error_of_uniform_delays() {
    let streams = streams(&uniform(), 3);
    for filters in [4, 32] {
        let middle = params(PLENTY, filters, Policy::Closest, &Prior::Uniform);
        let [expected, wrong] = [filters, filters + 1].map(|filters| slot_middle_error(filters) * width_ms(filters));
        assert_near(errors(&middle, &streams).absolute, expected, wrong, 0.007, "middle of the slot");
        let mean = Params { reference: Reference::ConditionalMean, ..middle };
        let [expected, wrong] =
            [filters, filters + 1].map(|filters| conditional_mean_error(filters) * width_ms(filters));
        assert_near(errors(&mean, &streams).absolute, expected, wrong, 0.007, "conditional mean");
    }
}

/// Delays within one slot width of *t*_max: half of them are in the last bin. The thesis takes the middle of its slot,
/// which half of the time is beyond *t*_max: Δ/4 over all of them. A bin that ends at *t*_max reduces the last bin's
/// part by a third: (1/8 + 1/12)Δ. 8,700 responses, .8% standard error: ±5% is six of them, 2·10⁻⁹. Each variant must
/// fail with the error of the other.
#[test]
fn delays_near_the_longest_one() {
    let streams = streams(&uniform(), 3);
    let middle = params(PLENTY, 32, Policy::Closest, &Prior::Uniform);
    let mean = Params { reference: Reference::ConditionalMean, ..middle.clone() };
    let width_ns = LONGEST.get() / 31;
    let width_ms = width_ns as f64 / 1e6;
    let expected = [width_ms / 4.0, width_ms * (1.0 / 8.0 + 1.0 / 12.0)];
    for (params, expected, wrong) in [(middle, expected[0], expected[1]), (mean, expected[1], expected[0])] {
        let found = errors_of(&params, &streams, |delay| delay > LONGEST.get() - width_ns).absolute;
        assert_near(found, expected, wrong, 0.05, "last slot");
    }
}

/// The thesis's setting; its text says "almost 35" and "roughly 190 ms", the digits are from another reconstruction of
/// it. Wrong choices are few and cost up to seconds, so they dominate the deviation: 1% of 270,000 responses at *b* =
/// 128 gives 2% standard error of the part that they add, 3.4% at *b* = 32 gives 1.3%; loads that differ from run to
/// run add 1% of it. Of the whole that is 1 to 1.9%, and about as much again in the other reconstruction: ±5%, less
/// than the difference between the best and the worst of these policies, is exceeded by chance once in 10 choices of
/// seeds; ±11% would be once in 10⁸. Seeds are fixed. Ignoring wrong choices, or for 4 filters the middle, predicts too
/// little.
///
/// The thesis centers on .427 s, the mean of the delays that it draws; the function through the points of its table has
/// a mean of .3286 s, which is the better center.
#[test]
fn mean_errors_of_the_thesis() {
    let (drawn, prior) = (streams(&empirical(), 3), table());
    for (bits, filters, policy, expected) in [
        (PLENTY, 4, Policy::Closest, 208.5),
        (1 << 17, 128, Policy::MostLikely, 33.4),
        (1 << 17, 128, Policy::AroundMedian, 34.4),
        (1 << 17, 128, Policy::Closest, 34.7),
        (1 << 17, 128, Policy::Around(DRAWN_MEAN), 37.3),
    ] {
        let found = errors(&params(bits, filters, policy, &prior), &drawn).absolute;
        let wrong = width_ms(filters) * if filters == 4 { 1.0 / 8.0 } else { 1.0 / 4.0 };
        assert_near(found, expected, wrong, 0.05, &format!("empirical, {filters} filters, {policy:?}"));
    }
    let around = |policy| errors(&params(1 << 17, 128, policy, &prior), &drawn).absolute;
    let (mean, drawn_mean) = (around(Policy::AroundMean), around(Policy::Around(DRAWN_MEAN)));
    println!("around the mean of the table: {mean:.1} ms");
    assert!(mean < drawn_mean, "{mean} {drawn_mean}");
    let drawn = streams(&uniform(), 3);
    for (policy, expected) in [(Policy::MostLikely, 197.9), (Policy::AroundMedian, 196.6), (Policy::Closest, 193.9)] {
        let found = errors(&params(1 << 17, 32, policy, &Prior::Uniform), &drawn).absolute;
        assert_near(found, expected, width_ms(32) / 4.0, 0.05, &format!("uniform, 32 filters, {policy:?}"));
    }
}

/// Most likely ≈ closest < median < mean ≪ random < farthest [porcino23 fig. 4.8]. The nearest pair, closest and
/// median, differ by 126 of 180,000 responses. They choose from the same candidates, so that the median's share is 7.3
/// ± .8% larger over seeds: nine standard deviations; most likely and closest differ by 0 ± .7%, and the others by far
/// more. A false alarm: below 10⁻¹⁰. The farthest is the control for the random one and for the mean: it must fail to
/// be better.
#[test]
fn shares_of_wrong_choices_are_ordered() {
    let (streams, prior) = (streams(&empirical(), 2), table());
    let wrong = |policy| errors(&params(1 << 17, 128, policy, &prior), &streams).wrong;
    let most_likely = wrong(Policy::MostLikely);
    let closest = wrong(Policy::Closest);
    let median = wrong(Policy::AroundMedian);
    let mean = wrong(Policy::Around(DRAWN_MEAN));
    let (random, farthest) = (wrong(Policy::Random), wrong(Policy::Farthest));
    println!("{most_likely:.4} {closest:.4} {median:.4} {mean:.4} {random:.4} {farthest:.4}");
    assert!((most_likely / closest - 1.0).abs() < 0.1, "{most_likely} {closest}");
    assert!(most_likely < median && closest < median && median < 0.8 * mean, "{most_likely} {closest} {median} {mean}");
    let is_better = |wrong: f64| wrong < random / 5.0;
    assert!(is_better(mean) && !is_better(farthest) && random < 0.7 * farthest, "{mean} {random} {farthest}");
}

/// On the same streams, the posterior median has smaller errors than the best of the thesis's policies: by 12% and 30%
/// if delays are uniform, by 1.5% if they are short and known, by 4% if they are learnt. The difference between
/// policies on one stream has a standard error of at most 1% of the error: over 9 choices of seeds .897 ± .009, .698 ±
/// .009, .983 ± .005 and .959 ± .005. So the limits, .92, .75, 1 and .98, are exceeded by chance once in 1,000; seeds
/// are fixed. The worst of the policies is the control that must fail.
#[test]
fn bayes_beats_every_policy_of_the_thesis() {
    const THESIS: [Policy; 6] = [
        Policy::Closest,
        Policy::Farthest,
        Policy::Random,
        Policy::MostLikely,
        Policy::AroundMedian,
        Policy::AroundMean,
    ];
    let cases = [
        ("uniform", uniform(), Prior::Uniform, 32, 0.92),
        ("uniform", uniform(), Prior::Uniform, 128, 0.75),
        ("empirical", empirical(), table(), 128, 1.0),
        ("empirical, learnt", empirical(), Prior::Learnt, 128, 0.98),
    ];
    for (name, delays, prior, filters, share) in cases {
        let streams = streams(&delays, 2);
        let error = |policy| errors(&params(1 << 17, filters, policy, &prior), &streams).absolute;
        let thesis = THESIS.map(error);
        let best = thesis.iter().copied().fold(f64::INFINITY, f64::min);
        let bayes = error(Policy::Bayes);
        println!("{name}, {filters} filters: best {best:.1} ms, Bayes {bayes:.1} ms");
        let beats = |error: f64| error < share * best;
        assert!(beats(bayes) && !thesis.into_iter().all(beats), "{name}: best {best}, Bayes {bayes}");
    }
}

/// The prior learnt from the matches is better than the table with linear interpolation, since the drawn delays have
/// steps: 18 ms instead of 33, each ± 2%: the limit of .7 is eight standard deviations off. The thesis's choice with
/// the same table is the control that must fail.
#[test]
fn a_learnt_prior_finds_what_the_table_does_not_say() {
    let streams = streams(&empirical(), 2);
    let error = |prior: &Prior| errors(&params(1 << 17, 128, Policy::Bayes, prior), &streams).absolute;
    let (learnt, known) = (error(&Prior::Learnt), error(&table()));
    let thesis = errors(&params(1 << 17, 128, Policy::MostLikely, &table()), &streams).absolute;
    println!("learnt {learnt:.1} ms, known {known:.1} ms");
    let is_better = |error: f64| error < 0.7 * known;
    assert!(is_better(learnt) && !is_better(thesis));
}

/// Root mean square, over streams, of ln(estimated/true) for p50, p90 and p99.
fn quantile_errors<M: Meter>(streams: &[Stream], make: impl Fn(u64) -> M) -> [f64; 3] {
    let mut squares = [0.0; 3];
    for (seed, (events, truth)) in (0..).zip(streams) {
        let mut samples = Vec::new();
        make(seed).update(events, &mut samples);
        let mut store = DelayStore::bounded(1, 1 << 20).expect("room for one series");
        samples.iter().for_each(|sample| store.update(0, sample));
        let distribution = store.distribution(0, Ambiguous::Bounds);
        let mut truth = truth.clone();
        truth.sort_unstable();
        for (square, q) in squares.iter_mut().zip([0.5, 0.9, 0.99]) {
            let true_value = truth[(q * truth.len() as f64).ceil() as usize - 1] as f64;
            let estimate = distribution.quantile(q).expect("there are samples").value as f64;
            *square += (estimate / true_value).ln().powi(2) / streams.len() as f64;
        }
    }
    squares.map(f64::sqrt)
}

/// At equal bytes (16 KiB), with 87% of the requests never answered, the ring's quantiles are better than those of a
/// fridge, which has 2,400 samples instead of 12,900. If all are answered, neither is much better, which is the control
/// that must fail. Errors are of six runs each: the logarithm of their ratio (4 at p90, 6 at p99) deviates by .35, so
/// that it is below 1.1 by chance in one of 8,000 choices of seeds. Of those below .4 the largest is .06, and deviates
/// by a third.
#[test]
fn a_fridge_of_the_same_size() {
    let delays = Distribution::LogNormal { mean: DRAWN_MEAN, p99: Nanos::from_secs(3) };
    let both = |answered: f64| {
        let streams: Vec<_> = (0..6).map(|seed| stream(&delays, answered, seed)).collect();
        let ring = quantile_errors(&streams, |seed| {
            let params = params(1 << 17, 128, Policy::Bayes, &Prior::Learnt);
            TimeBloom::new(params, terms(seed)).expect("parameters are in range")
        });
        let fridge = quantile_errors(&streams, |seed| {
            let params = fridge::Params::new(682);
            Fridge::new(params, terms(seed)).expect("parameters are in range")
        });
        println!("{answered} answered: ring {ring:.3?}, fridge {fridge:.3?}");
        (ring, fridge)
    };
    let (ring, fridge) = both(0.13);
    let wins = |ring: [f64; 3], fridge: [f64; 3]| (1..3).all(|of| 1.1 * ring[of] < fridge[of]);
    assert!(wins(ring, fridge), "{ring:?} {fridge:?}");
    let (ring, fridge) = both(1.0);
    assert!(!wins(ring, fridge), "{ring:?} {fridge:?}");
    assert!(ring.iter().chain(&fridge).all(|&error| error < 0.4), "{ring:?} {fridge:?}");
}

fn small(policy: Policy, prior: &Prior) -> TimeBloom {
    let params = Params { rate: 20.0, ..params(1 << 10, 5, policy, prior) };
    TimeBloom::new(params, terms(1)).expect("parameters are in range")
}

#[test]
fn nonsense_parameters_are_refused() {
    let good = params(1 << 10, 5, Policy::Closest, &Prior::Uniform);
    let error =
        |params: Params, expiry| TimeBloom::new(params, Terms { expiry: Nanos::new(expiry), ..terms(1) }).unwrap_err();
    for (params, expected) in [
        (Params { filters: 1, ..good.clone() }, FiltersError::Filters { given: 1, most: 4_096 }),
        (Params { filters: 4_097, ..good.clone() }, FiltersError::Filters { given: 4_097, most: 4_096 }),
        (Params { bits: 7, ..good.clone() }, FiltersError::Bits(7)),
        (Params { bits: u64::MAX, ..good.clone() }, FiltersError::Bits(u64::MAX)),
        (Params { hashes: Some(0), ..good.clone() }, FiltersError::Hashes(0)),
        (Params { hashes: Some(65), ..good.clone() }, FiltersError::Hashes(65)),
        (Params { rate: 0.0, ..good.clone() }, FiltersError::Rate(0.0)),
        (Params { rate: f64::INFINITY, ..good.clone() }, FiltersError::Rate(f64::INFINITY)),
    ] {
        assert_eq!(error(params, 1_000), expected);
    }
    assert!(matches!(error(Params { rate: f64::NAN, ..good.clone() }, 1), FiltersError::Rate(_)));
    for expiry in [i64::MIN, -1, 0, i64::MAX] {
        assert_eq!(error(good.clone(), expiry), FiltersError::Longest(Nanos::new(expiry)));
    }
    assert!(TimeBloom::new(good, Terms { expiry: Nanos::new(1), ..terms(1) }).is_ok());
}

#[test]
fn bits_are_accounted_for() {
    let ring = TimeBloom::new(params(1 << 17, 128, Policy::Closest, &Prior::Uniform), terms(1)).unwrap();
    assert_eq!((ring.filter_bits(), ring.hashes(), ring.slot_width().get()), (1_024, 9, 78_740_158));
    let beside = ring.state_bytes() - (1 << 14);
    assert!((128 * 4..2_048).contains(&beside), "{beside} bytes beside the filters");
}

/// A meter without deletion: a request may be answered twice, and an equal one is inserted again.
#[test]
fn requests_answered_twice_are_matched_twice_and_counted_once() {
    let mut ring = small(Policy::Closest, &Prior::Uniform);
    let event = |second: i64, is_request| Event {
        id: ExchangeId(hash::finish(7)),
        at: Timestamp::from_parts(second, 0),
        token: 0,
        tag: 0,
        mark: 0,
        is_request,
    };
    let mut samples = Vec::new();
    ring.update(&[event(0, true), event(3, false), event(6, false), event(7, true), event(9, false)], &mut samples);
    let delays: Vec<i64> = samples.iter().map(|sample| sample.since_first.get() / 1_000_000).collect();
    // Slots of 2.5 s: the middle of the first one, and of the elapsed part of the third one.
    assert_eq!(delays, [1_750, 4_750, 2_750]);
    ring.update(&[event(40, false)], &mut samples);
    let fates = ring.fates()[0];
    assert_eq!((fates.seen, fates.matched, fates.responses, fates.unmatched), (2, 2, 4, 1));
    assert!(fates.is_conserved());
}

proptest! {
    /// No order of events causes a panic; delays are in `0..=t_max`, except for the middle of a last slot half of which
    /// is beyond; each request has one fate.
    #[test]
    fn anything_may_come(events in prop::collection::vec(any_event(), 0..200)) {
        for policy in [Policy::Closest, Policy::Random, Policy::AroundMean, Policy::Bayes] {
            for prior in [Prior::Uniform, Prior::Learnt, table()] {
                let mut ring = small(policy, &prior);
                let mut samples = Vec::new();
                ring.update(&events, &mut samples);
                let most = LONGEST.get() + ring.slot_width().get() / 2;
                prop_assert!(samples.iter().all(|sample| (0..=most).contains(&sample.since_first.get())));
                let fates = ring.fates()[0];
                prop_assert!(fates.is_conserved());
                prop_assert_eq!(fates.responses, fates.unmatched + samples.len() as u64);
            }
        }
    }
}
