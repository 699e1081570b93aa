use super::bed::{BASELINE, Ends, Run};
use super::method::{Configuration, MOST_INTERVALS, MethodName};
use super::tomography::Tomography;
use super::workload::{Stream, Wrong};
use crate::case::{Measurement, Quantity};
use crate::experiment::Problem;
use crate::grid::Measured;
use dwell_network::localize::{Localization, Null, Readings, Settings, Value, Verdict};
use dwell_simulate::network::Fault;
use dwell_types::hash;

/// Share of the links at fault that are ranked first of all links.
pub(super) const FIRST: Quantity = Quantity::share("first");
/// The same, of the links of the longest path over the first of them.
pub(super) const FIRST_OF_PATH: Quantity = Quantity::share("first_of_path");
/// Share of the links at fault with an alarm.
pub(super) const ALARM: Quantity = Quantity::share("alarm");
/// Whether there is an alarm of a sound link or path.
pub(super) const FALSE_ALARM: Quantity = Quantity::share("false_alarm");

/// A method's verdict on a link.
#[derive(Clone, Copy)]
struct Judged {
    link: u32,
    /// Evidence of a change: the larger, the likelier.
    evidence: f64,
    is_alarm: bool,
}

/// A method's verdict on a network.
struct Answer {
    /// The links, the most likely to be at fault first.
    links: Vec<Judged>,
    /// Whether there is any alarm on something that is not at fault.
    is_false: bool,
}

impl Measured for Configuration {
    type Stream = Stream;

    fn quantities(&self, stream: &Stream) -> Vec<Quantity> {
        let of_faults = if stream.faults > 0 { &[FIRST, FIRST_OF_PATH, ALARM][..] } else { &[] };
        [&[FALSE_ALARM], of_faults].concat()
    }

    /// Runs the network once for all methods.
    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem> {
        let (at_fault, longest) = at_fault(stream, seed);
        let fault = |(&link, wrong): (&u32, Wrong)| {
            let deviation = stream
                .bed
                .deviation(link)
                .ok_or_else(|| Problem("links have hardly any packet in an interval".to_owned()))?;
            Ok::<_, Problem>(Fault { link, from: BASELINE as u32, harm: wrong.harm(deviation) })
        };
        let wrong = at_fault.iter().filter_map(|link| Some((link, stream.fault?)));
        let faults: Vec<Fault> = wrong.map(fault).collect::<Result<_, _>>()?;
        let with_ends = configurations.iter().any(|configuration| configuration.method != MethodName::Segments);
        let run = stream.bed.run(&faults, BASELINE + MOST_INTERVALS, seed, with_ends)?;
        let judge = |configuration: &&Configuration| {
            let until = BASELINE + configuration.intervals;
            let answer = match configuration.method {
                MethodName::Segments => by_segments(stream, &run, until, &at_fault)?,
                MethodName::Tomography => by_tomography(stream, &run, until, |_| true),
                MethodName::TomographyCorners => {
                    by_tomography(stream, &run, until, |path| is_between_corners(stream, path))
                }
            };
            Ok(measurements(&answer, &at_fault, stream.bed.routes.path(longest)))
        };
        configurations.iter().map(judge).collect()
    }
}

/// The links at fault; and the longest path through the first of them, which contains the others.
fn at_fault(stream: &Stream, seed: u64) -> (Vec<u32>, usize) {
    let routes = &stream.bed.routes;
    let first = (seed % routes.segments() as u64) as u32;
    let over = (0..routes.paths()).filter(|&path| routes.path(path).contains(&first));
    let longest = over.max_by_key(|&path| routes.path(path).len()).unwrap_or(0);
    let mut links = vec![first];
    let mut others: Vec<u32> = routes.path(longest).iter().copied().filter(|&link| link != first).collect();
    while links.len() < stream.faults && !others.is_empty() {
        let drawn = hash::word(u64::from_le_bytes(*b"at fault"), seed) % others.len() as u64;
        links.push(others.swap_remove(drawn as usize));
    }
    links.truncate(stream.faults);
    (links, longest)
}

/// Judges links like `dwell net localize`.
fn by_segments(stream: &Stream, run: &Run, until: usize, at_fault: &[u32]) -> Result<Answer, Problem> {
    let routes = &stream.bed.routes;
    let links = routes.segments();
    let readings = Readings::new(&run.readings[..until * links], 1)?;
    let all: Vec<usize> = (0..routes.paths()).collect();
    let settings = Settings { baseline: BASELINE, false_alarms: stream.false_alarms };
    let found = Localization::new(routes, &readings, &all, &settings);
    let judged = |link: u32| {
        // A link that loses everything has no delay.
        let (delay, loss) = (found.delays[link as usize], found.losses[link as usize]);
        let (evidence, chance) = match stream.fault {
            Some(Wrong::Lossy(_)) => loss.map(|verdict| (verdict.ln_odds, verdict.p_value)),
            Some(Wrong::Slow(_)) | None => delay.map(|verdict| (verdict.ln_odds, verdict.p_value)),
        }?;
        Some(Judged { link, evidence, is_alarm: chance <= found.segment_alarm })
    };
    let is_sound = |link: &u32| !at_fault.contains(link);
    let has_alarm = |link: u32| {
        let delay = found.delays[link as usize].map_or(1.0, |verdict| verdict.p_value);
        found.losses[link as usize].map_or(delay, |verdict| verdict.p_value.min(delay)) <= found.segment_alarm
    };
    let is_slow = |(path, verdict): &(usize, Option<Verdict>)| {
        routes.path(*path).iter().all(is_sound) && verdict.is_some_and(|verdict| found.is_slow(&verdict))
    };
    let mut answer = Answer {
        links: (0..links as u32).filter_map(judged).collect(),
        is_false: (0..links as u32).any(|link| is_sound(&link) && has_alarm(link)) || found.paths.iter().any(is_slow),
    };
    answer.links.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
    Ok(answer)
}

/// Infers the delays, or losses, of links from those of some whole paths, and judges them like measured ones.
fn by_tomography(stream: &Stream, run: &Run, until: usize, is_probed: impl Fn(usize) -> bool) -> Answer {
    let routes = &stream.bed.routes;
    let probed: Vec<usize> = (0..routes.paths()).filter(|&path| is_probed(path)).collect();
    let paths: Vec<&[u32]> = probed.iter().map(|&path| routes.path(path)).collect();
    let tomography = Tomography { paths: &paths, links: routes.segments(), ridge: 1e-6 };
    let of = |ends: &Ends| match stream.fault {
        Some(Wrong::Lossy(_)) => Some(ends.decay),
        Some(Wrong::Slow(_)) | None => ends.mean_ns,
    };
    let solve = |ends: &Vec<Ends>| {
        let delays: Option<Vec<f64>> = probed.iter().map(|&path| of(&ends[path])).collect();
        Some(tomography.solve(&delays?))
    };
    let solved: Vec<Option<Vec<f64>>> = run.ends[..until].iter().map(solve).collect();
    let series = |link: u32| {
        let value = |links: &Option<Vec<f64>>| {
            Some(Value { value: links.as_ref()?[link as usize], variance: f64::MIN_POSITIVE })
        };
        solved.iter().map(value).collect::<Vec<Option<Value>>>()
    };
    let null = Null::of((0..routes.segments() as u32).map(|link| series(link)[..BASELINE].to_vec()));
    let judged = |link: u32| {
        let verdict = Verdict::new(&series(link), BASELINE, &null)?;
        let is_alarm = verdict.p_value <= stream.false_alarms / routes.segments() as f64;
        Some(Judged { link, evidence: verdict.ln_odds, is_alarm })
    };
    let mut links: Vec<Judged> = (0..routes.segments() as u32).filter_map(judged).collect();
    links.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
    Answer { links, is_false: false }
}

/// Whether both ends of a path have the fewest links, as corners of the lattice do.
fn is_between_corners(stream: &Stream, path: usize) -> bool {
    let routes = &stream.bed.routes;
    let begins =
        |router: u32| (0..routes.segments() as u32).filter(move |&link| routes.routers(link)[0] == router).count();
    let routers = routes.path_routers(path);
    [routers.first(), routers.last()].into_iter().flatten().all(|&router| begins(router) == 2)
}

fn measurements(answer: &Answer, at_fault: &[u32], longest: &[u32]) -> Vec<Measurement> {
    let is_at_fault = |judged: &Judged| at_fault.contains(&judged.link);
    let share =
        |named: &mut dyn Iterator<Item = Judged>| named.filter(is_at_fault).count() as f64 / at_fault.len() as f64;
    let links = || answer.links.iter().copied();
    let is_false = answer.is_false || links().any(|judged| judged.is_alarm && !is_at_fault(&judged));
    let mut all = vec![FALSE_ALARM.measured(f64::from(u8::from(is_false)))];
    if !at_fault.is_empty() {
        let on_path = links().filter(|judged| longest.contains(&judged.link));
        all.extend([
            FIRST.measured(share(&mut links().take(at_fault.len()))),
            FIRST_OF_PATH.measured(share(&mut on_path.take(at_fault.len()))),
            ALARM.measured(share(&mut links().filter(|judged| judged.is_alarm))),
        ]);
    }
    all
}
