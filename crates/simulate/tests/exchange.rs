//! Streams of exchanges match their settings.
//!
//! Tolerances are six standard errors: each comparison fails by chance with a probability of 2·10⁻⁹. Negative checks
//! compare with the values that other settings would give, which must not match.

mod common;

use common::{assert_near, assert_share, is_near, is_share};
use dwell_simulate::exchange::{Arrivals, Bursts, End, ExchangeWorkload, Settings, SettingsError};
use dwell_simulate::{Delays, Distribution};
use dwell_types::{Nanos, Observation, Timestamp};
use std::collections::HashMap;

fn ms(value: i64) -> Nanos {
    Nanos::new(value * 1_000_000)
}

fn synthetic() -> Settings {
    Settings::fridge_synthetic(ms(64))
}

fn workload(settings: &Settings) -> ExchangeWorkload {
    ExchangeWorkload::new(settings, 5).expect("valid settings")
}

/// Counts and delays of a stream, as it tells them.
#[derive(Default)]
struct Truth {
    requests: u64,
    /// Requests that have a response, inside the stream or after its end.
    answered: u64,
    /// Responses without an observed request.
    orphans: u64,
    /// Of all exchanges whose response is inside the stream.
    delays: Delays,
}

impl Truth {
    /// The truth about a complete stream.
    fn of(mut workload: ExchangeWorkload) -> Self {
        let mut truth = Self::default();
        while let Some(observation) = workload.next() {
            truth.update(&observation, workload.delay());
        }
        truth
    }

    /// Adds an observation, with the value of [`ExchangeWorkload::delay`] at that time.
    fn update(&mut self, observation: &Observation, delay: Option<Nanos>) {
        match (observation, delay) {
            (Observation::Request(_), delay) => {
                self.requests += 1;
                self.answered += u64::from(delay.is_some());
            }
            (Observation::Response(_), Some(delay)) => self.delays.record(delay),
            (Observation::Response(_), None) => self.orphans += 1,
        }
    }

    /// Responses, orphans included.
    fn responses(&self) -> u64 {
        self.delays.len() as u64 + self.orphans
    }

    /// Exchanges whose response comes after the end of the stream.
    fn open(&self) -> u64 {
        self.answered - self.delays.len() as u64
    }
}

fn seen(observation: &Observation) -> (bool, u64, i64) {
    match observation {
        Observation::Request(s) => (true, s.id.0, s.at.as_nanos()),
        Observation::Response(s) => (false, s.id.0, s.at.as_nanos()),
    }
}

/// Naive pairing of the stream finds the truth that it reports: every delay, every orphan, every open exchange.
#[test]
fn truth_is_what_pairing_finds() {
    let settings = synthetic().with_orphan_share(0.5).with_correlated_bursts(ms(20));
    for settings in [settings.clone().with_requests(50_000), settings.with_span(ms(40))] {
        let mut workload = workload(&settings);
        let mut open = HashMap::new();
        let (mut paired, mut orphans, mut unanswered, mut latest) = (Vec::new(), 0, 0, i64::MIN);
        let mut truth = Truth::default();
        while let Some(observation) = workload.next() {
            truth.update(&observation, workload.delay());
            let (request, id, at) = seen(&observation);
            assert!(at >= latest, "{at} after {latest}");
            latest = at;
            if request {
                unanswered += u64::from(workload.delay().is_none());
                assert!(open.insert(id, at).is_none(), "id {id} twice");
            } else if let Some(sent) = open.remove(&id) {
                assert_eq!(workload.delay(), Some(Nanos::new(at - sent)));
                paired.push(Nanos::new(at - sent));
            } else {
                assert_eq!(workload.delay(), None);
                orphans += 1;
            }
        }
        paired.sort_unstable();
        assert_eq!(truth.delays.sorted(), paired);
        assert_eq!(truth.orphans, orphans);
        assert_eq!(truth.requests, truth.delays.len() as u64 + truth.open() + unanswered);
        assert_eq!(open.len() as u64, truth.open() + unanswered);
        match settings.end {
            End::AfterRequests(_) => assert_eq!((workload.open(), truth.open()), (0, 0)),
            End::After(_) => assert!(truth.open() > 1000 && workload.open() as u64 >= truth.open()),
        }
    }
}

#[test]
fn the_synthetic_trace_of_the_fridge_paper() {
    let mut truth = Truth::of(workload(&Settings::fridge_synthetic(ms(4096))));
    assert_eq!(truth.requests, 1_250_000);
    assert_eq!(truth.orphans, 0);
    assert_share(truth.answered, truth.requests, 0.4);
    let n = truth.responses();
    assert_eq!(n, truth.answered);
    // Log-uniform from 1 ms to 2¹² ms: twelve octaves of equal weight.
    for octave in [1, 6, 11] {
        let below = truth.delays.share_up_to(ms(1 << octave)) * n as f64;
        assert_share(below as u64, n, f64::from(octave) / 12.0);
        assert!(!is_share(below as u64, n, f64::from(octave) / 13.0), "thirteen octaves");
    }
    assert!(truth.delays.quantile(0.0) >= Some(ms(1)) && truth.delays.quantile(1.0) <= Some(ms(4096)));
}

/// Requests continue: the stream ends at 1.25 s, so that the latest responses are missing.
#[test]
fn open_exchanges_stay_open() {
    let settings = Settings::fridge_synthetic(ms(4096)).with_span(ms(1250));
    let mut workload = workload(&settings);
    let mut truth = Truth::default();
    while let Some(observation) = workload.next() {
        truth.update(&observation, workload.delay());
        assert!(seen(&observation).2 < 1_250_000_000);
    }
    assert_eq!(truth.requests, 1_250_000);
    assert_eq!(workload.open() as u64, truth.open());
    // A delay d is seen with probability 1 − d/1.25 s: E = ∫ (1 − x/1250)⁺ dx/(x ln 4096), x from 1 ms to 1250 ms.
    let share = ((1250f64).ln() - (1.0 - 1.0 / 1250.0)) / 4096f64.ln();
    assert_share(truth.delays.len() as u64, truth.answered, share);
    // The share if every delay below 1.25 s were seen must not match.
    assert!(!is_share(truth.delays.len() as u64, truth.answered, 1250f64.ln() / 4096f64.ln()));
}

/// 61% of the packets are requests, 13% of them answered, and the remaining 31.1% of all packets are orphans.
#[test]
fn the_heavy_tailed_trace_of_the_fridge_paper() {
    let mut truth = Truth::of(workload(&Settings::fridge_heavy_tailed()));
    let total = truth.requests + truth.responses();
    // Poisson counts: the standard deviation of 10⁷ packets in clusters of 1 to 3 is below 2 √10⁷.
    assert!((total as f64 - 10e6).abs() < 5e3 + 6.0 * 2.0 * 10e6f64.sqrt(), "{total} packets");
    assert_near(truth.requests as f64, 6.1e6, 6.1e6f64.sqrt());
    assert_share(truth.answered, truth.requests, 0.13);
    assert!(!is_share(truth.answered, truth.responses(), 0.13), "of the responses");
    assert_share(truth.orphans, truth.requests, 0.39 / 0.61 - 0.13);
    assert!((truth.orphans as f64 / truth.responses() as f64 - 0.797).abs() < 0.002);
    // A delay d is seen with probability 1 − d/11.4 s. So E = (m − E d²/11.4 s)/(1 − m/11.4 s) = 56.49 ms, with a
    // standard deviation below 135 ms.
    let n = truth.delays.len() as f64;
    let mean = truth.delays.mean().unwrap();
    assert_near(mean, 56.49e6, 135e6 / n.sqrt());
    assert!(!is_near(mean, 57.8e6, 135e6 / n.sqrt()), "as if all were seen");
    // P(delay > 512 ms) among the seen: (.01 − E[d; d > 512 ms]/11.4 s)/(1 − m/11.4 s) = .009271.
    let beyond = (1.0 - truth.delays.share_up_to(ms(512))) * n;
    assert_share(beyond as u64, n as u64, 0.009_271);
    assert!(!is_share(beyond as u64, n as u64, 0.01), "as if all were seen");
}

/// In a burst the request rate is doubled, and responses take twice as long.
#[test]
fn load_and_delay_double_together() {
    let settings = Settings {
        delays: Distribution::Constant(ms(3)),
        answered: 1.0,
        ..synthetic().with_correlated_bursts(ms(20)).with_span(ms(1000))
    };
    let mut workload = workload(&settings);
    let mut counts = [0u64; 2];
    while let Some(observation) = workload.next() {
        let (request, _, at) = seen(&observation);
        if request {
            let burst = at / 10_000_000 % 2;
            counts[burst as usize] += 1;
            assert_eq!(workload.delay(), Some(ms(3 * (burst + 1))));
        }
    }
    // 500 ms of calm and of bursts at 1 and 2 requests per µs; each of the 50 changes may shift one request.
    assert!(counts[0].abs_diff(500_000) <= 50 && counts[1].abs_diff(1_000_000) <= 50, "{counts:?}");

    let poisson = Settings { arrivals: Arrivals::Poisson, ..settings };
    let truth = Truth::of(ExchangeWorkload::new(&poisson, 9).unwrap());
    assert_near(truth.requests as f64, 1.5e6, 1.5e6f64.sqrt());
    assert!(!is_near(truth.requests as f64, 1e6, 1e6f64.sqrt()), "bursts are no more than calm");
}

/// The standard deviation of the gaps of a Poisson process equals their mean (the variance of n exponentials has a
/// relative standard error of √(8/n)). Regular gaps have the same mean and no variance.
#[test]
fn poisson_arrivals_are_irregular() {
    let moments = |arrivals| {
        let settings = Settings { arrivals, rate: 1e4, answered: 0.0, ..synthetic().with_requests(200_000) };
        let times: Vec<i64> = workload(&settings).map(|observation| seen(&observation).2).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e5).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        (mean, gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64)
    };
    let ((mean, variance), n) = (moments(Arrivals::Poisson), 200_000f64);
    assert_near(mean, 1.0, (1.0 / n).sqrt());
    assert_near(variance, 1.0, (8.0 / n).sqrt());
    assert!(!is_near(moments(synthetic().arrivals).1, 1.0, (8.0 / n).sqrt()));
}

/// In runs of a hundred there are as many orphans as one by one, 80,000 with a standard deviation of 2,828, and they
/// come together: none or a hundred between two requests. Orphans that come one by one must fail.
#[test]
fn orphans_come_in_runs() {
    let between = |orphan_run| {
        let settings = Settings { orphan_run, ..synthetic().with_orphan_share(0.5).with_requests(200_000) };
        let (mut workload, mut between) = (workload(&settings), vec![0u64]);
        while let Some(observation) = workload.next() {
            match (seen(&observation).0, workload.delay()) {
                (true, _) => between.push(0),
                (false, None) => *between.last_mut().unwrap() += 1,
                (false, Some(_)) => (),
            }
        }
        between
    };
    let is_in_runs = |between: &[u64]| between.iter().all(|orphans| orphans % 100 == 0);
    let (together, alone) = (between(100), between(1));
    assert!(is_in_runs(&together) && !is_in_runs(&alone));
    assert_near(together.iter().sum::<u64>() as f64, 80_000.0, 2_828.0);
}

#[test]
fn orphan_shares() {
    for share in [0.0, 0.05, 0.8] {
        let truth = Truth::of(workload(&synthetic().with_orphan_share(share).with_requests(200_000)));
        // Answers and orphans vary independently: twice the binomial variance exceeds theirs.
        let error = (2.0 * share / truth.responses() as f64).sqrt();
        assert_near(truth.orphans as f64 / truth.responses() as f64, share, error);
        let of_answers = truth.orphans as f64 / truth.answered as f64;
        assert!(share < 0.5 || !is_near(of_answers, share, error), "a share of the answers is larger: {of_answers}");
    }
}

/// Hash of the first 100,000 observations of the presets. It changes only when streams are changed deliberately.
#[test]
fn the_same_stream_everywhere() {
    let digest = |settings: &Settings, seed: u64| {
        let mut workload = ExchangeWorkload::new(settings, seed).unwrap();
        let mut state = 0;
        for _ in 0..100_000 {
            let (request, id, at) = seen(&workload.next().unwrap());
            let delay = workload.delay().map_or(-1, Nanos::get);
            for word in [u64::from(request), id, at as u64, delay as u64] {
                state = dwell_types::hash::absorb(state, word);
            }
        }
        dwell_types::hash::finish(state)
    };
    let heavy = Settings::fridge_heavy_tailed();
    let other_forms = |delays| Settings { delays, ..heavy.clone().with_correlated_bursts(ms(7)) };
    let digests = [
        digest(&synthetic(), 1),
        digest(&heavy, 1),
        digest(&other_forms(Distribution::Weibull { scale: ms(9), shape: 0.6 }), 1),
        digest(&other_forms(Distribution::Pareto { least: ms(1), shape: 1.1 }), 1),
    ];
    assert_ne!(digest(&synthetic(), 1), digest(&synthetic(), 2));
    assert_eq!(
        digests.map(|digest| format!("{digest:016x}")),
        ["540880e7616f5ef6", "59a522ee3a3e8066", "7ee26c030673974d", "d0943a3332b5602d"]
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |settings: Settings| ExchangeWorkload::new(&settings, 1).unwrap_err();
    assert_eq!(error(Settings { rate: 0.0, ..synthetic() }), SettingsError::Rate(0.0));
    assert_eq!(error(Settings { answered: 1.1, ..synthetic() }), SettingsError::Answered(1.1));
    assert_eq!(error(Settings { orphans: -1.0, ..synthetic() }), SettingsError::Orphans(-1.0));
    assert_eq!(error(Settings { orphan_run: 0, ..synthetic() }), SettingsError::OrphanRun(0));
    assert_eq!(error(synthetic().with_span(ms(-1))), SettingsError::End(ms(-1)));
    assert!(matches!(error(Settings::fridge_synthetic(ms(0))), SettingsError::Delays(_)));
    let bursts = Bursts { calm: ms(1), burst: Nanos::ZERO, rate_factor: 2.0, delay_factor: 2.0 };
    let refused = error(Settings { bursts: Some(bursts), ..synthetic() });
    assert_eq!(refused, SettingsError::Bursts(bursts));
    assert!(refused.to_string().starts_with("bursts of 0 ns after 1.00 ms"), "{refused}");
}

#[test]
fn a_stream_may_start_anywhere() {
    let settings = Settings { start: Timestamp::from_nanos(-5_000_000), ..synthetic().with_requests(20_000) };
    let times: Vec<i64> = workload(&settings).map(|observation| seen(&observation).2).collect();
    assert_eq!(times[0], -5_000_000);
    assert!(times.is_sorted() && *times.last().unwrap() > 0);
}
