//! Links match their settings, and a fault changes nothing else. Tolerances are six standard errors: a correct
//! generator exceeds them for 2·10⁻⁹ of the seeds.

mod common;

use common::{assert_near, assert_share, is_near, is_share};
use dwell_simulate::network::{Fault, Harm, LinkSettings, Network, Passage, Settings, SettingsError};
use dwell_types::Nanos;

fn settings(load: f64, spread: f64) -> Settings {
    let propagation = Nanos::new(1_000_000);
    let link = LinkSettings { rate: 1e9, load, spread, propagation, loss: 0.01 };
    Settings { links: vec![link; 3], interval: Nanos::new(50_000_000), one_in: 2 }
}

/// The passages of every link over all intervals.
fn run(settings: &Settings, faults: &[Fault], intervals: u32) -> Vec<Vec<Passage>> {
    let mut network = Network::new(settings, faults, 5).expect("valid settings");
    let mut all = vec![Vec::new(); settings.links.len()];
    for _ in 0..intervals {
        network.advance();
        for (link, all) in (0..).zip(&mut all) {
            all.extend_from_slice(network.passages(link));
        }
    }
    all
}

fn delays(passages: &[Passage]) -> Vec<f64> {
    passages.iter().filter_map(|passage| passage.delay).map(|delay| delay.get() as f64).collect()
}

/// The mean wait in an M/G/1 queue is λ E[S²] / 2(1 − ρ) (Pollaczek and Khinchine). At a load of .5 the interval means
/// of .4 M packets are within 3% of it for a hundred seeds (their own standard error is .5%; the test allows six of
/// them: 2·10⁻⁹). A formula that ignores the variation of lengths, E[S²] = E[S]², must fail.
#[test]
fn queues_are_as_long_as_the_formula_says() {
    for load in [0.2, 0.5] {
        let all = run(&settings(load, 0.0), &[], 200);
        let (short, long) = (64.0 * 8.0, 1_500.0 * 8.0);
        let mean = (short + long) / 2.0;
        let square = (short * short + long * long) / 2.0;
        let expected = 1e6 + mean + load / mean * square / (2.0 * (1.0 - load));
        for passages in &all {
            let delays = delays(passages);
            let found = delays.iter().sum::<f64>() / delays.len() as f64;
            let is_right = |expected: f64| is_near((found - 1e6) / (expected - 1e6), 1.0, 0.005);
            assert!(is_right(expected), "{load}: {found}, expected {expected}");
            assert!(!is_right(1e6 + mean + load * mean / (2.0 * (1.0 - load))), "{load}: {found}");
            let packets = 200.0 * 50e6 * load / mean / 2.0;
            assert_near(passages.len() as f64, packets, packets.sqrt());
            assert!(!is_near(passages.len() as f64, 2.0 * packets, packets.sqrt()), "as if all were watched");
            let lost = (passages.len() - delays.len()) as u64;
            assert_share(lost, passages.len() as u64, 0.01);
            assert!(!is_share(lost, passages.len() as u64, 0.02), "as if all links were crossed");
            assert!(passages.is_sorted_by_key(|passage| passage.at));
        }
        assert!(all[0] != all[1], "each link has numbers of its own");
    }
}

/// Varying loads make interval means vary more than their packets do. The deviation of 200 means has a standard error
/// of 5%, the ratio of two 7%; the ratio is 2.8, nine of them above 1.5 (10⁻¹⁸). Another link with a steady load varies
/// less.
#[test]
fn loads_vary() {
    let spreads_of_means = |spread: f64| {
        let settings = settings(0.5, spread);
        let mut network = Network::new(&settings, &[], 5).expect("valid settings");
        let mut means = [Vec::new(), Vec::new()];
        for _ in 0..200 {
            network.advance();
            for (link, means) in (1..).zip(&mut means) {
                let delays = delays(network.passages(link));
                means.push(delays.iter().sum::<f64>() / delays.len() as f64);
            }
        }
        means.map(|means| {
            let mean = means.iter().sum::<f64>() / 200.0;
            (means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 199.0).sqrt()
        })
    };
    let ([steady, other], [varying, _]) = (spreads_of_means(0.0), spreads_of_means(0.1));
    let varies = |deviation: f64| deviation > 1.5 * steady;
    assert!(varies(varying) && !varies(other), "{varying} {other} {steady}");
}

#[test]
fn a_fault_changes_one_link_from_its_interval_on() {
    let settings = settings(0.3, 0.05);
    let sound = run(&settings, &[], 6);
    let slow = run(&settings, &[Fault { link: 1, from: 4, harm: Harm::Slow(Nanos::new(7)) }], 6);
    assert!(sound[0] == slow[0] && sound[2] == slow[2]);
    let border = 4 * 50_000_000;
    for (before, after) in sound[1].iter().zip(&slow[1]) {
        let extra = if before.at.as_nanos() < border { 0 } else { 7 };
        assert_eq!(after.delay, before.delay.map(|delay| delay + Nanos::new(extra)));
    }
    let lossy = run(&settings, &[Fault { link: 2, from: 4, harm: Harm::Lossy(0.5) }], 6);
    assert!(sound[0] == lossy[0] && sound[1] == lossy[1]);
    let (before, after): (Vec<Passage>, Vec<Passage>) =
        lossy[2].iter().partition(|passage| passage.at.as_nanos() < border);
    let lose = |passages: &[Passage], share: f64| {
        is_share((passages.len() - delays(passages).len()) as u64, passages.len() as u64, share)
    };
    assert!(lose(&before, 0.01) && lose(&after, 0.505) && !lose(&after, 0.01));
    // Faults of one link add up, and those of different links are independent.
    let slow_link = |link| Fault { link, from: 4, harm: Harm::Slow(Nanos::new(7)) };
    let twice = run(&settings, &[slow_link(1), slow_link(0), slow_link(1)], 6);
    assert!(sound[2] == twice[2] && sound[0] != twice[0]);
    let last = |passages: &[Passage]| passages.iter().rev().find_map(|passage| passage.delay).expect("one arrives");
    assert_eq!(last(&twice[1]), last(&sound[1]) + Nanos::new(14));
}

#[test]
fn probes_cross_all_links() {
    let mut network = Network::new(&settings(0.3, 0.05), &[], 5).expect("valid settings");
    assert_eq!(network.probe(&[0]), None, "nothing has passed");
    network.advance();
    let probes: Vec<_> = (0..20_000).map(|_| network.probe(&[0, 2])).collect();
    assert!(probes.iter().flatten().all(|&delay| delay > Nanos::new(2_000_000)));
    let lost = probes.iter().filter(|probe| probe.is_none()).count() as u64;
    assert_share(lost, 20_000, 1.0 - 0.99 * 0.99);
    assert!(!is_share(lost, 20_000, 0.01), "as if one link lost");
}

#[test]
fn impossible_networks_are_refused() {
    let error = |change: fn(&mut Settings)| {
        let mut settings = settings(0.5, 0.1);
        change(&mut settings);
        Network::new(&settings, &[], 1).map(|_| ()).expect_err("impossible").to_string()
    };
    assert!(error(|s| s.links[1].load = 1.0).contains("a load of 1"));
    assert!(error(|s| s.links[1].rate = f64::NAN).contains("bits per second"));
    assert!(error(|s| s.links[1].spread = -1.0).contains("a spread of -1"));
    assert!(error(|s| s.links[1].loss = 2.0).contains("a share of 2"));
    assert!(error(|s| s.links[1].propagation = Nanos::new(-1)).contains("a delay"));
    assert!(error(|s| s.interval = Nanos::ZERO).contains("intervals"));
    assert!(error(|s| s.one_in = 0).contains("one packet in none"));
    let fault = Fault { link: 3, from: 0, harm: Harm::Lossy(0.1) };
    assert_eq!(Network::new(&settings(0.5, 0.1), &[fault], 1).map(|_| ()), Err(SettingsError::Link(3)));
}
