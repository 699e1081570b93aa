//! Streams of passages match their settings.
//!
//! Tolerances are six standard errors: each comparison fails by chance with a probability of 2·10⁻⁹. Negative checks
//! compare with the values that other settings would give, which must not match.

mod common;

use common::{assert_near, is_near};
use dwell_simulate::Distribution;
use dwell_simulate::crossing::{Loss, Passage, Passages, ProbeTimes, Settings, SettingsError, Truth};
use dwell_types::{Nanos, Timestamp, hash};
use std::collections::HashSet;

fn passages(settings: &Settings) -> Vec<Passage> {
    Passages::new(settings, 5).expect("valid settings").collect()
}

fn truth(passages: &[Passage]) -> Truth {
    let mut truth = Truth::default();
    passages.iter().for_each(|passage| truth.update(passage));
    truth
}

fn weibull(packets: u64) -> Settings {
    Settings::lda_weibull().with_packets(packets)
}

/// Mean 200.1 ns and standard deviation 351.8 ns; the fourth central moment of this Weibull is 40.5 variances squared,
/// so a million packets have standard errors of .35 ns and 1.1 ns. Rounding does not change the mean.
#[test]
fn delays_are_those_of_the_lda_paper() {
    let seen = passages(&weibull(1_000_000));
    let truth = truth(&seen);
    let (mean, std) = (truth.mean().unwrap(), truth.std().unwrap());
    assert_near(mean, 200.1, 0.36);
    assert_near(std, 351.8, 1.1);
    assert!(!is_near(std, mean, 1.1), "exponential delays");
    assert_eq!(seen.iter().map(|passage| passage.packet).collect::<HashSet<_>>().len(), seen.len());
    let naive: i64 = seen.iter().filter_map(Passage::delay).map(Nanos::get).sum();
    assert_eq!(naive as f64 / seen.len() as f64, mean);
}

/// Runs of lost packets have the mean length in the settings, and the share of lost packets is that in the settings. A
/// share from *n* runs of mean *b* has a variance of about 2 share (1 − share) b/packets.
#[test]
fn losses_come_alone_or_in_bursts() {
    let packets = 1_000_000;
    let none = truth(&passages(&weibull(packets)));
    assert_eq!((none.lost, none.both), (0, packets));
    for (loss, mean_run) in [
        (Loss::Uniform(0.2), 1.25),
        (Loss::Uniform(0.001), 1.001),
        (Loss::Bursts { share: 0.05, packets: 100.0 }, 100.0),
        (Loss::Bursts { share: 0.5, packets: 1.0 }, 1.0),
    ] {
        let seen = passages(&Settings { loss, ..weibull(packets) });
        let truth = truth(&seen);
        assert_eq!((truth.sent, truth.received + truth.lost, truth.both), (packets, packets, truth.received));
        let share = loss.share();
        let error = (2.0 * share * (1.0 - share) * mean_run / packets as f64).sqrt();
        let found = truth.lost as f64 / packets as f64;
        assert_near(found, share, error);
        let is_telling = mean_run < 2.0 && share > 0.01;
        assert!(!is_telling || !is_near(found / (1.0 - found), share, error), "{loss:?}: lost per packet received");
        let runs = seen.chunk_by(|a, b| a.is_lost == b.is_lost).filter(|run| run[0].is_lost).count() as f64;
        let mean = truth.lost as f64 / runs;
        assert_near(mean, mean_run, mean_run / runs.sqrt());
        // The mean run length if packets were lost independently must not match.
        assert!(
            mean_run < 2.0 || !is_near(mean, 1.0 / (1.0 - share), mean_run / runs.sqrt()),
            "{loss:?}: runs of {mean}"
        );
    }
}

/// The two intervals differ in the packets at their ends; a packet that only one of them contains has no delay.
#[test]
fn intervals_may_be_displaced() {
    let seen = passages(&Settings { displaced: 100, ..weibull(1_000) });
    let truth = truth(&seen);
    assert_eq!((seen.len(), truth.sent, truth.received, truth.both, truth.lost), (1_100, 1_000, 1_000, 900, 0));
    assert!(seen[..100].iter().all(|passage| passage.received.is_none()));
    assert!(seen[1_000..].iter().all(|passage| passage.sent.is_none()));
}

/// The number of probes in a second is as requested, and its variance is that of a Poisson process: over 1,000 parts of
/// a second, mean and variance are 10 with standard errors of .1 and .46. The zero variance of regular probes must not
/// match.
#[test]
fn probes_come_irregularly() {
    let mut times = ProbeTimes::new(10_000.0, Timestamp::from_nanos(-5), 3).unwrap();
    let counts: Vec<f64> = (1..=1_000).map(|ms| f64::from(times.due(Timestamp::from_nanos(ms * 1_000_000)))).collect();
    let mean = counts.iter().sum::<f64>() / 1_000.0;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 999.0;
    assert_near(mean, 10.0, 0.1);
    assert_near(variance, 10.0, 0.46);
    assert!(!is_near(0.0, 10.0, 0.46));
    assert!(ProbeTimes::new(0.0, Timestamp::from_nanos(0), 1).is_err());
}

/// Hash of the first passages of a stream with all features. It changes only when streams are changed deliberately.
#[test]
fn the_same_stream_everywhere() {
    let settings = Settings { loss: Loss::Bursts { share: 0.1, packets: 5.0 }, displaced: 10, ..weibull(50_000) };
    let digest = |seed| {
        let words = Passages::new(&settings, seed).unwrap().flat_map(|passage| {
            let at = passage.sent.map_or(-1, Timestamp::as_nanos);
            let delay = passage.delay().map_or(-1, Nanos::get);
            [passage.packet.0, at as u64, delay as u64]
        });
        hash::finish(words.fold(0, hash::absorb))
    };
    assert_ne!(digest(1), digest(2));
    assert_eq!(format!("{:016x}", digest(1)), "6bb08076032aaebf");
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |settings: Settings| Passages::new(&settings, 1).unwrap_err();
    let sound = || weibull(1);
    assert_eq!(error(Settings { rate: 0.0, ..sound() }), SettingsError::Rate(0.0));
    for loss in [
        Loss::Uniform(1.0),
        Loss::Uniform(f64::NAN),
        Loss::Bursts { share: 0.1, packets: 0.5 },
        Loss::Bursts { share: 0.9, packets: 2.0 },
    ] {
        assert!(matches!(error(Settings { loss, ..sound() }), SettingsError::Loss(_)), "{loss:?}");
    }
    let delays = Distribution::Constant(Nanos::new(-1));
    assert!(matches!(error(Settings { delays, ..sound() }), SettingsError::Delays(_)));
}
