//! The filters with times, at equal bits, in the setting of porcino23 §4.1: Poisson arrivals of 1,000 requests per
//! second, *t*_max = 10 s, 100 s of traffic. Delays are log-normal with the mean of its table 4.1. Seeds are fixed, so
//! a run of the suite never fails by chance.

mod common;

use common::any_event;
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{End, ExchangeWorkload, Settings};
use dwell_sketch::rivals::ale::{self, Ale, Widths};
use dwell_sketch::rivals::bloomtime;
use dwell_sketch::rivals::ddbf::{self, Ddbf};
use dwell_sketch::rivals::hash_sample::{HashSample, Lifetime};
use dwell_sketch::rivals::simple::{self, Overwrite, Simple};
use dwell_sketch::rivals::timebloom::{self, Prior, TimeBloom};
use dwell_sketch::rtt::GivenFilters;
use dwell_sketch::{Event, Fates, Meter, Terms};
use dwell_types::Nanos;
use proptest::prelude::*;

const LONGEST: Nanos = Nanos::from_secs(10);
const RATE: f64 = 1e3;

fn terms() -> Terms {
    Terms { expiry: LONGEST, ..common::terms(1) }
}

/// The accuracy of a meter on one stream.
#[derive(Clone, Copy, Debug)]
struct Score {
    /// Mean absolute error in milliseconds, over the delays that it gave.
    absolute: f64,
    /// Mean signed error.
    bias: f64,
    /// Share of the responses for which it gave a delay.
    found: f64,
}

fn score(name: &str, meter: &mut dyn Meter, answered: f64) -> Score {
    let settings = Settings {
        answered,
        ..Settings::poisson(
            RATE,
            Distribution::LogNormal { mean: Nanos::new(427_000_000), p99: Nanos::from_secs(3) },
            End::After(Nanos::from_secs(100)),
        )
    };
    let mut workload = ExchangeWorkload::new(&settings, 1).expect("settings are in range");
    let (mut samples, mut responses, mut absolute, mut bias, mut found) = (Vec::new(), 0.0, 0.0, 0.0, 0.0);
    while let Some(event) = workload.next().map(Event::from) {
        samples.clear();
        meter.update(&[event], &mut samples);
        // The first turn is not evaluated: filters are still filling.
        if event.at.as_nanos() < 2 * LONGEST.get() {
            continue;
        }
        if let (false, Some(truth)) = (event.is_request, workload.delay()) {
            responses += 1.0;
            if let Some(sample) = samples.first() {
                let error = (sample.since_first.get() - truth.get()) as f64 / 1e6;
                (absolute, bias, found) = (absolute + error.abs(), bias + error, found + 1.0);
            }
        }
    }
    let score = Score { absolute: absolute / found, bias: bias / found, found: found / responses };
    println!(
        "{name:12} {answered:4} answered: {:6.1} ms, bias {:6.1}, found {:.3}",
        score.absolute, score.bias, score.found
    );
    assert!(meter.fates().iter().all(Fates::is_conserved));
    score
}

/// Every method in this many bytes.
fn scores(bytes: usize, answered: f64) -> [Score; 7] {
    let (rate, terms) = (Some(RATE), terms());
    let slots = (bytes / Simple::SLOT_BYTES) as u32;
    let overwrite = Overwrite::WhenOlder(LONGEST);
    let stages = simple::Params { slots, stages: 4, fingerprint_bits: 32, overwrite };
    let ring = |params: Option<_>| TimeBloom::new(params.expect("it fits"), terms).expect("in range");
    let ale = |widths| {
        let params = ale::Params::budget(bytes, widths, LONGEST, rate, &GivenFilters::default());
        Ale::new(params.expect("it fits"), terms).expect("in range")
    };
    let mut ddbf =
        Ddbf::new(ddbf::Params::budget(bytes, &GivenFilters::default()).expect("it fits"), terms).expect("in range");
    let mut stages = Simple::new(stages, terms).expect("in range");
    let mut table = HashSample::new(bytes, false, Lifetime::Given(LONGEST), terms).expect("in range");
    [
        score(
            "ring",
            &mut ring(timebloom::Params::budget(bytes, LONGEST, rate, &GivenFilters::default(), Prior::Learnt)),
            answered,
        ),
        score("bloomtime", &mut ring(bloomtime::budget(bytes, LONGEST, rate, &GivenFilters::default())), answered),
        score("ale-u", &mut ale(Widths::Uniform), answered),
        score("ale-e", &mut ale(Widths::Exponential), answered),
        score("ddbf", &mut ddbf, answered),
        score("4 stages", &mut stages, answered),
        score("table", &mut table, answered),
    ]
}

/// In 16 KiB, with 87% of the requests never answered, a table of fingerprints has room for one exchange in ten (their
/// delays are exact); the filters find all, and the ring's slots have smaller errors than the counting filters.
/// Neighbours in this order differ by a half or more, and errors deviate by 3 to 8% from seed to seed: six standard
/// deviations (10⁻⁹). `ddbf` is between bloomtime and `ale-e`, one and a half of its own deviations above the ring.
/// With uniform and exponential widths exchanged the order must fail.
#[test]
fn with_many_unanswered_requests_the_ring_wins() {
    let [ring, bloomtime, ale_u, ale_e, ddbf, stages, table] = scores(1 << 14, 0.13);
    let is_order = |scores: &[Score]| scores.windows(2).all(|pair| 1.05 * pair[0].absolute < pair[1].absolute);
    assert!(is_order(&[bloomtime, ring, ale_e, ale_u]) && is_order(&[bloomtime, ddbf, ale_e]));
    assert!(!is_order(&[bloomtime, ring, ale_u, ale_e]));
    assert!([ring, bloomtime, ale_u, ale_e, ddbf].iter().all(|score| score.found > 0.99));
    assert!(stages.found < 0.12 && table.found < 0.12 && stages.absolute < 1e-3 && table.absolute < 1e-3);
    // The known directions of their errors.
    assert!(ddbf.bias < -0.99 * ddbf.absolute && ale_u.bias < -0.3 * ale_u.absolute);
}

/// In 32 KiB, with all requests answered, the table holds the open ones and nothing else: it finds 99% of the delays
/// exactly, where the filters have errors. Wrong deletions lose ALE-U some of its entries. It was the same for each of
/// 9 other choices of seeds; the shares are of 80,000 responses. The ring is the control that must fail, since none of
/// its delays is exact.
#[test]
fn where_all_are_answered_the_table_wins() {
    let [ring, bloomtime, ale_u, ale_e, ddbf, stages, table] = scores(1 << 15, 1.0);
    let is_exact = |score: &Score| score.found > 0.99 && score.absolute < 1e-3;
    assert!(is_exact(&table) && is_exact(&stages) && !is_exact(&ring));
    assert!([ring, bloomtime, ale_u, ale_e, ddbf].iter().all(|score| score.absolute > 5.0));
    assert!(ale_u.found < 0.99 && ring.found > 0.999);
}

proptest! {
    /// No order of events causes a panic; no delay is negative or beyond the covered time; each request has one fate.
    #[test]
    fn anything_may_come(events in prop::collection::vec(any_event(), 0..200), longest in 1..20_000_000_000i64) {
        let terms = Terms { expiry: Nanos::new(longest), ..terms() };
        let ale = |widths, buckets| {
            Ale::new(ale::Params { widths, buckets, counters: 70, hashes: 3 }, terms).expect("in range")
        };
        let meters: [&mut dyn Meter; 4] = [
            &mut ale(Widths::Uniform, 3),
            &mut ale(Widths::Uniform, 100),
            &mut ale(Widths::Exponential, 9),
            &mut Ddbf::new(ddbf::Params { cells: 70, hashes: 3 }, terms).expect("in range"),
        ];
        for meter in meters {
            let mut samples = Vec::new();
            meter.update(&events, &mut samples);
            prop_assert!(samples.iter().all(|sample| (0..=2 * longest + 2_000).contains(&sample.since_first.get())));
            let fates = meter.fates()[0];
            prop_assert!(fates.is_conserved());
            prop_assert_eq!(fates.responses, fates.unmatched + samples.len() as u64);
        }
    }
}
