//! Is the link at fault named, and no other? Queues with cross traffic, an aggregator at each end of every link, one link at fault.
//!
//! `DWELL_TRIALS=1000 cargo test --release -p dwell-network --test localize -- --nocapture` prints the figures of `docs/guide/net.md`.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod tomography;
mod trial;

use dwell_network::localize::{Kind, Localization, Value, Verdict};
use dwell_simulate::network::{Fault, Harm, LinkSettings, Settings};
use dwell_types::Nanos;
use tomography::Tomography;
use trial::{BASELINE, Bed, RATE, spreads};

/// So many trials each: fewer where tests must be quick.
fn trials() -> u64 {
    std::env::var("DWELL_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(16)
}

/// A fault of so many times the spread of its link's own interval means.
fn slow(spreads: &[f64], link: u32, times: f64) -> Option<Fault> {
    let delay = Nanos::new((times * spreads[link as usize]) as i64);
    Some(Fault { link, from: BASELINE as u32, harm: Harm::Slow(delay) })
}

/// The longest path over a link.
fn longest(bed: &Bed, link: u32) -> usize {
    let over = bed.all.iter().copied().filter(|&path| bed.links[path].contains(&link));
    over.max_by_key(|&path| bed.links[path].len()).unwrap()
}

/// How often the link at fault came first after 1, 2, 4 and 8 intervals.
#[derive(Default)]
struct Found {
    of_all: u64,
    of_its_path: u64,
    alarmed: u64,
    of_ends: u64,
    of_few_ends: u64,
}

/// The first of the links that end-to-end delays make slower, each judged like a measured one.
fn by_tomography(bed: &Bed, ends: &[Vec<f64>], which: &[usize]) -> Option<u32> {
    let paths: Vec<Vec<u32>> = which.iter().map(|&path| bed.links[path].clone()).collect();
    let tomography = Tomography { paths: &paths, links: bed.links(), ridge: 1e-6 };
    let solved: Vec<Vec<f64>> = ends
        .iter()
        .map(|delays| tomography.solve(&which.iter().map(|&path| delays[path]).collect::<Vec<_>>()))
        .collect();
    let odds = (0..bed.links()).filter_map(|link| {
        let series: Vec<_> = solved.iter().map(|links| Some(Value { value: links[link], variance: 1.0 })).collect();
        Some((link as u32, Verdict::new(&series, BASELINE, series.len() - 1)?.ln_odds))
    });
    odds.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(link, _)| link)
}

/// In 1,000 trials it came first among all links 999 times after eight intervals, by tomography between the corners 127 times: of 16, three misses have a chance of
/// 6·10⁻⁷, and so have eleven hits of the other.
#[test]
fn a_link_slowed_by_three_of_its_spreads_is_named() {
    let bed = Bed::new(Settings::backbone);
    let spreads = spreads(&bed.settings);
    let corners = |path: &usize| {
        let routers = bed.routes.path_routers(*path);
        [0, 5, 6, 11].contains(&routers[0]) && [0, 5, 6, 11].contains(routers.last().unwrap())
    };
    let few: Vec<usize> = bed.all.iter().copied().filter(corners).collect();
    let windows = [1, 2, 4, 8];
    let mut found: [Found; 4] = Default::default();
    let trials = trials();
    let (mut certainty, mut right) = (0.0, 0);
    for seed in 0..trials {
        let link = (seed % bed.links() as u64) as u32;
        let run = bed.run(slow(&spreads, link, 3.0), BASELINE + 8, seed, true);
        for (found, intervals) in found.iter_mut().zip(windows) {
            let until = BASELINE + intervals;
            let readings = &run.readings[..until * bed.links()];
            let answer = bed.localize(readings, &bed.all);
            let first = answer.ranking()[0];
            found.of_all += u64::from(first == link);
            certainty += answer.probabilities[first as usize];
            right += u64::from(first == link);
            found.of_its_path += u64::from(bed.localize(readings, &[longest(&bed, link)]).ranking()[0] == link);
            found.alarmed += u64::from(answer.delays[link as usize].unwrap().p_value <= answer.segment_alarm);
            let ends = &run.ends[..until];
            found.of_ends += u64::from(by_tomography(&bed, ends, &bed.all) == Some(link));
            found.of_few_ends += u64::from(by_tomography(&bed, ends, &few) == Some(link));
        }
    }
    for (found, intervals) in found.iter().zip(windows) {
        let share = |count: u64| 100.0 * count as f64 / trials as f64;
        eprintln!(
            "{intervals} intervals: first of all {:.1}%, first of its path {:.1}%, alarm {:.1}%; tomography between all {:.1}%, corners {:.1}%",
            share(found.of_all),
            share(found.of_its_path),
            share(found.alarmed),
            share(found.of_ends),
            share(found.of_few_ends)
        );
    }
    let all = 4.0 * trials as f64;
    eprintln!("probability of the first {:.3}, right {:.3}", certainty / all, right as f64 / all);
    let last = &found[3];
    assert!(trials - last.of_all <= trials / 20 + 2 && trials - last.of_its_path <= trials / 20 + 2);
    assert!(3 * last.of_few_ends < 2 * last.of_all, "{} {}", last.of_few_ends, last.of_all);
}

/// Alarms of any kind in a sound network, by kind.
fn alarms(answer: &Localization, interval: usize) -> [bool; 3] {
    let at = |kind| answer.changes.iter().any(|c| c.kind == kind && (c.first_alarm..=c.last_alarm).contains(&interval));
    let path = answer.paths.iter().any(|(_, verdict)| verdict.is_some_and(|verdict| answer.is_slow(&verdict)));
    [at(Kind::Delay), at(Kind::Loss), path]
}

/// Eight intervals with a rate each make at most eight times the rate for a run. Of 1,000 runs far fewer raise an alarm; six standard errors of the bound
/// besides are not reached once in 10⁸.
#[test]
fn alarms_are_as_rare_as_stated() {
    let bed = Bed::new(Settings::backbone);
    let trials = trials();
    let mut counts = [0u64; 3];
    let (mut any, mut intervals, mut runs) = (0, 0, 0);
    for seed in 0..trials {
        let before = any;
        let run = bed.run(None, BASELINE + 8, 1_000_000 + seed, false);
        for until in BASELINE + 1..=BASELINE + 8 {
            let answer = bed.localize(&run.readings[..until * bed.links()], &bed.all);
            let now = alarms(&answer, until - 1);
            counts.iter_mut().zip(now).for_each(|(count, alarm)| *count += u64::from(alarm));
            any += u64::from(now.contains(&true));
            intervals += 1;
        }
        runs += u64::from(any > before);
    }
    let [delay, loss, paths] = counts;
    eprintln!(
        "alarms in {any} of {intervals} intervals, {runs} of {trials} runs: delay {delay}, loss {loss}, paths {paths}"
    );
    let most = 8.0 * RATE * trials as f64;
    assert!(runs as f64 <= most + 6.0 * most.sqrt(), "{runs} of {trials}");
}

/// Links of 50 Mb/s, seen for a second at a time.
fn slow_links(links: u32) -> Settings {
    let backbone = Settings::backbone(links);
    let links = backbone.links.iter().map(|&link| LinkSettings { rate: 50e6, ..link }).collect();
    Settings { links, interval: Nanos::new(1_000_000_000), ..backbone }
}

/// `testdata/net/ladder-slow.csv` is what aggregators say of 24 seconds, of which in the last four the link from b3 to b4 is slower by four times the
/// spread of its seconds. `DWELL_UPDATE_SNAPSHOTS=1` writes it.
#[test]
fn the_committed_measurements_can_be_made_again() {
    let bed = Bed::new(slow_links);
    let [b3, b4] = ["b3", "b4"].map(|name| bed.topology.find(name).unwrap());
    let fault = slow(&spreads(&bed.settings), bed.routes.find(&[b3, b4]).unwrap(), 4.0);
    let run = bed.run(fault, BASELINE + 4, 1, false);
    let mut text = "from,to,via,start_ns,received,lost,effective_samples,mean_ns,std_ns\n".to_owned();
    for (link, reading) in run.readings {
        let [from, to] = [0, 1].map(|end| bed.topology.name(bed.routes.routers(link)[end]));
        let (start_ns, delay) = (1_795_338_000_000_000_000 + reading.start_ns, reading.delay.unwrap());
        let (samples, mean, std) = (delay.samples, delay.mean_ns.round(), delay.std_ns.round());
        text += &format!("{from},{to},,{start_ns},{},{},{samples},{mean},{std}\n", reading.received, reading.lost);
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/net/ladder-slow.csv");
    if std::env::var_os("DWELL_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    assert!(std::fs::read_to_string(file).unwrap() == text, "{file} is not what is simulated");
}
