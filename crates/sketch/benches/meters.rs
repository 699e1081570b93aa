//! Speed of the meters alone: requests and responses already hashed, state in the second-level cache.
//!
//! `cargo bench -p dwell-sketch`, or with ` -- PART` only the cases whose names contain that. Every case processes the
//! same stream of 4 M observations five times, prints the fastest and the median run in nanoseconds per observation,
//! and checks the result: a meter that is fast but wrong fails.

mod common;

use common::times;
use dwell_simulate::exchange::{ExchangeWorkload, Settings};
use dwell_sketch::exact::Exact;
use dwell_sketch::fridge::{Fridge, Params};
use dwell_sketch::horizon::Horizon;
use dwell_sketch::mis::{Ladder, Mis, Rung};
use dwell_sketch::rivals::ale::{self, Ale, Widths};
use dwell_sketch::rivals::bloomtime;
use dwell_sketch::rivals::dart::{self, Dart, GivenTrackers};
use dwell_sketch::rivals::ddbf::{self, Ddbf};
use dwell_sketch::rivals::hash_sample::{HashSample, Lifetime};
use dwell_sketch::rivals::simple::{self, Overwrite, Simple};
use dwell_sketch::rivals::timebloom::{self, Policy, Prior, Reference, TimeBloom};
use dwell_sketch::rtt::GivenFilters;
use dwell_sketch::{Event, Fates, Meter, Terms};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp, hash};
use std::cell::LazyCell;
use std::hint::black_box;

const REQUESTS: u64 = 2_800_000;
const DELAY: u64 = 2_000;

/// Requests one microsecond apart, 40% of them answered after 2,000 more.
fn stream() -> Vec<Event> {
    let event = |i: u64, at: u64, is_request| Event {
        id: ExchangeId(hash::finish(i)),
        at: Timestamp::from_nanos(at as i64 * 1_000),
        token: 0,
        tag: 0,
        mark: 0,
        is_request,
    };
    let mut stream = Vec::new();
    for i in 0..REQUESTS {
        stream.push(event(i, i, true));
        if i >= DELAY && hash::finish(i - DELAY) % 5 < 2 {
            stream.push(event(i - DELAY, i, false));
        }
    }
    stream
}

/// A stream of the fridge's paper [zheng22 §5].
fn paper(settings: Settings) -> Vec<Event> {
    let workload = ExchangeWorkload::new(&settings, 1).expect("a preset is in range");
    workload.map(Event::from).collect()
}

/// Fridges with the paper's settings, 2¹² slots, *p* found while running, and horizons.
fn streams_of_the_paper(terms: Terms) {
    let seconds = |s| Nanos::from_secs(s);
    let synthetic = Settings::fridge_synthetic(Nanos::new(4_096_000_000)).with_span(seconds(4));
    for (name, settings) in [("synthetic, 2^12 ms", synthetic), ("heavy-tailed", Settings::fridge_heavy_tailed())] {
        let fridge = format!("fridge 4096 slots, {name}");
        let horizon = format!("horizon 64 KiB, {name}");
        let stream = LazyCell::new(|| paper(settings));
        if is_wanted(&fridge) {
            time(&fridge, &stream, || Fridge::new(Params::new(1 << 12), terms).expect("parameters are in range"));
        }
        if is_wanted(&horizon) {
            time(&horizon, &stream, || Horizon::new(1 << 16, false, terms).expect("there is room"));
        }
    }
}

/// Whether a case with this name was requested.
fn is_wanted(name: &str) -> bool {
    std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).all(|part| name.contains(&part))
}

/// Measures a meter that must be accurate to 10%.
fn measure<M: Meter>(name: &str, stream: &[Event], make: impl Fn() -> M) {
    if !is_wanted(name) {
        return;
    }
    let ratio = time(name, stream, make);
    assert!((ratio - 1.0).abs() < 0.1, "{name}: {ratio} times as many exchanges as there are");
}

/// Measures a meter that loses exchanges, and prints how many it keeps.
fn measure_biased<M: Meter>(name: &str, stream: &[Event], make: impl Fn() -> M) {
    if !is_wanted(name) {
        return;
    }
    let ratio = time(name, stream, make);
    assert!(ratio > 0.1 && ratio <= 1.0, "{name}: {ratio}");
    println!("    keeps {ratio:.2} of the exchanges");
}

/// Prints the times; returns the estimated over the true number of exchanges.
fn time<M: Meter>(name: &str, stream: &[Event], make: impl Fn() -> M) -> f64 {
    let mut ratio = 0.0;
    let mut samples = Vec::new();
    let run = || {
        let (mut meter, mut weights) = (make(), 0.0);
        for batch in stream.chunks(64) {
            samples.clear();
            meter.update(batch, &mut samples);
            weights += samples.iter().map(|s| s.weight).sum::<f64>();
        }
        (meter, weights)
    };
    let [fastest, median] = times(stream.len() as u64, run, |(meter, weights)| {
        let fates = black_box(&meter).fates()[0];
        assert!(Fates::is_conserved(&fates) && fates.matched > 0, "{fates:?}");
        ratio = weights / fates.responses as f64;
    });
    println!("{name:28} {fastest:6.2} {median:6.2} ns/observation {:8.1} M/s", 1e3 / median);
    ratio
}

/// The lower limit: reads every event and hashes its id once.
fn walk(stream: &[Event]) {
    let sum = || stream.iter().fold(0u64, |sum, event| sum.wrapping_add(hash::word(1, event.id.0)));
    let [fastest, median] = times(stream.len() as u64, sum, |sum| _ = black_box(sum));
    println!("{:28} {fastest:6.2} {median:6.2} ns/observation", "read and hash");
}

/// The competitors of the fridge, at 64 KiB and at 1 MiB. The simple array is biased, so only its share is printed.
fn rivals(stream: &[Event], terms: Terms) {
    for kib in [64, 1024] {
        let slots = |bytes| ((kib << 10) / bytes) as u32;
        for stages in [1, 4] {
            let overwrite = Overwrite::WhenOlder(Nanos::new(2 * DELAY as i64 * 1_000));
            let params = simple::Params { slots: slots(Simple::SLOT_BYTES), stages, fingerprint_bits: 32, overwrite };
            let name = format!("simple {kib} KiB, {stages} stages");
            measure_biased(&name, stream, || Simple::new(params, terms).expect("parameters are in range"));
        }
        for lifetime in [Lifetime::Given(Nanos::new(2 * DELAY as i64 * 1_000)), Lifetime::Learnt(2.0)] {
            let is_given = matches!(lifetime, Lifetime::Given(_));
            let name = format!("hash sample {kib} KiB, {}", if is_given { "given" } else { "learnt" });
            measure(&name, stream, || {
                HashSample::new(kib << 10, false, lifetime, terms).expect("parameters are in range")
            });
        }
        for admitted in [1.0, 0.125] {
            let rung = |share: f64| Rung { slots: slots(2 * Mis::SLOT_BYTES), probability: admitted * share };
            let ladder = Ladder::new(vec![rung(0.75), rung(0.25)]).expect("rungs are in range");
            let name = format!("mis {kib} KiB, R {admitted}");
            measure(&name, stream, || Mis::new(ladder.clone(), 32, terms).expect("parameters are in range"));
        }
    }
}

/// 64 KiB in 64 filters; for the 45,000 requests of the last 45 ms 8 hash functions are best.
fn ring(policy: Policy, prior: &Prior, terms: Terms) -> TimeBloom {
    let params = timebloom::Params {
        bits: 1 << 19,
        filters: 64,
        hashes: None,
        rate: 1e6,
        policy,
        reference: Reference::ConditionalMean,
        prior: prior.clone(),
    };
    let terms = Terms { expiry: Nanos::new(45_000_000), ..terms };
    TimeBloom::new(params, terms).expect("parameters are in range")
}

/// Filters of 64 KiB with known longest delay and rate, and trackers. They lose exchanges, or produce false ones.
fn filters(stream: &[Event], terms: Terms) {
    const BYTES: usize = 1 << 16;
    let (longest, rate) = (Nanos::new(45_000_000), Some(1e6));
    let terms = Terms { expiry: longest, ..terms };
    if is_wanted("bloomtime") {
        let params = bloomtime::budget(BYTES, longest, rate, &GivenFilters::default()).expect("64 KiB are enough");
        time("bloomtime", stream, || TimeBloom::new(params.clone(), terms).expect("parameters are in range"));
    }
    for (name, widths) in [("ale-u", Widths::Uniform), ("ale-e", Widths::Exponential)] {
        if is_wanted(name) {
            let params =
                ale::Params::budget(BYTES, widths, longest, rate, &GivenFilters::default()).expect("64 KiB are enough");
            time(name, stream, || Ale::new(params, terms).expect("parameters are in range"));
        }
    }
    if is_wanted("ddbf") {
        let params = ddbf::Params::budget(BYTES, &GivenFilters::default()).expect("64 KiB are enough");
        time("ddbf", stream, || Ddbf::new(params, terms).expect("parameters are in range"));
    }
    if is_wanted("dart") {
        let params = dart::Params::budget(BYTES, &GivenTrackers::default()).expect("64 KiB are enough");
        time("dart", stream, || Dart::new(params, terms).expect("parameters are in range"));
    }
}

fn main() {
    let stream = stream();
    println!("{} observations, {} bytes each", stream.len(), size_of::<Event>());
    walk(&stream);
    let terms = Terms { tags: 1, repeat: Repeat::Ambiguous, expiry: Nanos::from_secs(100), seed: 1 };
    for (slots, p) in
        [(1 << 11, None), (1 << 14, None), (1 << 11, Some(1.0)), (1 << 14, Some(1.0)), (1 << 16, Some(1.0))]
    {
        let params = Params { entry_probability: p, ..Params::new(slots) };
        let name = format!("fridge {slots} slots, p {}", p.map_or("auto".into(), |p: f64| p.to_string()));
        measure(&name, &stream, || Fridge::new(params, terms).expect("parameters are in range"));
    }
    for (slots, p) in [(1 << 11, None), (1 << 13, None), (1 << 13, Some(1.0 / 16.0)), (1 << 13, Some(1.0))] {
        let params = Params { entry_probability: p, product_limit: true, ..Params::new(slots) };
        let name = format!("km {slots} slots, p {}", p.map_or("auto".into(), |p: f64| p.to_string()));
        if is_wanted(&name) {
            time(&name, &stream, || Fridge::new(params, terms).expect("parameters are in range"));
        }
    }
    streams_of_the_paper(terms);
    rivals(&stream, terms);
    for (policy, prior) in
        [(Policy::Closest, Prior::Uniform), (Policy::Bayes, Prior::Uniform), (Policy::Bayes, Prior::Learnt)]
    {
        let name = format!("timebloom {policy:?}, {prior:?}");
        measure(&name, &stream, || ring(policy, &prior, terms));
    }
    filters(&stream, terms);
    measure("exact", &stream, || Exact::new(terms));
}
