use super::baseline::{Baseline, Value, WINDOWS, mean};
use super::losses::{Bursts, LossVerdict, Tally};
use super::null::Null;
use super::readings::Readings;
use super::routes::Routes;
use super::verdict::{Verdict, ln_sum};
use std::ops::Range;

/// How segments and paths are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The first intervals, this many, define what is usual.
    pub baseline: usize,
    /// The share of intervals with any false alarm in the whole network is at most this, between 0 and 1. Nothing is in
    /// alarm by a share of 0, less than 0, or NaN.
    pub false_alarms: f64,
}

/// Which segments and paths are slower or lossier than usual.
#[derive(Clone, Debug, PartialEq)]
pub struct Localization {
    /// The first intervals, this many, define what is usual.
    baseline: usize,
    /// By segment, whether it is on a path that was judged.
    asked: Vec<bool>,
    /// By segment: the verdict on its delay at the last interval; `None` if too few intervals have a delay, or if it is
    /// on no path that was judged.
    pub delays: Vec<Option<Verdict>>,
    /// By segment: the verdict on its losses at the last interval.
    pub losses: Vec<Option<LossVerdict>>,
    /// By segment: the probability that its delay has changed, if exactly one segment's has, besides others in alarm;
    /// zero without a verdict.
    pub probabilities: Vec<f64>,
    /// Delays and losses of segments are in alarm if their p-value is at most this.
    pub segment_alarm: f64,
    /// Paths are in alarm if their p-value is at most this.
    pub path_alarm: f64,
    /// Runs of consecutive alarms of a segment, ordered by when the change began.
    pub changes: Vec<Change>,
    /// The paths that were judged, as numbers and verdicts, in the order of `paths`.
    pub paths: Vec<(usize, Option<Verdict>)>,
    /// Correlation of neighbouring intervals in the baselines: the mean over all segments and its standard error. If it
    /// differs from zero, the stated false-alarm rate may not hold. `None` without baselines.
    pub correlation: Option<(f64, f64)>,
}

/// What became worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Packets take longer.
    Delay,
    /// More packets are lost.
    Loss,
}

/// A run of alarms of one segment in consecutive intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Number of the segment.
    pub segment: u32,
    /// What became worse.
    pub kind: Kind,
    /// The first interval of the window with the smallest p-value.
    pub since: usize,
    /// The interval of the first alarm.
    pub first_alarm: usize,
    /// The interval of the last alarm.
    pub last_alarm: usize,
    /// The smallest p-value of these alarms.
    pub p_value: f64,
}

/// The state of a path at the last interval.
#[derive(Clone, Debug, PartialEq)]
pub struct PathState {
    /// Mean delay in ns and its squared standard error, over the intervals of the path's window, or over the last
    /// interval if the path has no verdict.
    pub delay: Option<(f64, f64)>,
    /// Standard deviation of the delay in ns, assuming that delays on different segments are independent.
    pub std_ns: Option<f64>,
    /// Share of the packets lost in the last interval, assuming that losses on different segments are independent.
    pub loss: Option<f64>,
    /// Segments without a verdict on their delay.
    pub missing: Vec<u32>,
    /// The other segments, the most probable cause first.
    pub suspects: Vec<Suspect>,
}

/// A segment that may explain why a path is slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspect {
    /// Number of the segment.
    pub segment: u32,
    /// How much slower the segment is than usual in the path's window, in ns.
    pub excess_ns: f64,
    /// This excess as a share of the path's excess; `None` if the latter is not above zero.
    pub share: Option<f64>,
    /// The probability that it has changed, if exactly one of the path's segments has, besides others in alarm.
    pub probability: f64,
}

impl Localization {
    /// Judges these paths, and all segments on them, at the last interval; `changes` holds the alarms of all intervals.
    pub fn new(routes: &Routes, readings: &Readings, paths: &[usize], settings: &Settings) -> Self {
        let asked = on_paths(routes, paths);
        let alarm = |judged: usize| settings.false_alarms / 3.0 / (judged.max(1) as f64);
        let mut found = Self {
            baseline: settings.baseline,
            delays: vec![None; routes.segments()],
            losses: vec![None; routes.segments()],
            probabilities: vec![0.0; routes.segments()],
            segment_alarm: alarm(asked.iter().filter(|is_asked| **is_asked).count()),
            path_alarm: alarm(paths.len()),
            asked,
            changes: Vec::new(),
            paths: Vec::new(),
            correlation: None,
        };
        let from = settings.baseline;
        if readings.starts().len() <= from {
            found.paths = paths.iter().map(|&path| (path, None)).collect();
            return found;
        }
        let is_judged = |&segment: &u32| found.is_asked(segment) && readings.is_measured(segment);
        let measured: Vec<u32> = (0..routes.segments() as u32).filter(is_judged).collect();
        let baselines: Vec<_> = measured.iter().map(|&segment| means(readings, segment, 0..from)).collect();
        let null = Null::of(&baselines);
        let bursts = Bursts::of(measured.iter().map(|&segment| &readings.of(segment)[..from]));
        for &segment in &measured {
            found.judge_delays(readings, segment, &null);
            found.judge_losses(readings, segment, bursts);
        }
        found.changes.sort_by_key(|change| (change.since, change.segment, change.kind));
        for (segment, _, probability) in found.shares(&measured) {
            found.probabilities[segment as usize] = probability;
        }
        found.judge_paths(routes, readings, paths, &measured, &null);
        let correlations: Vec<f64> = baselines.iter().filter_map(|values| correlation(values)).collect();
        found.correlation = mean_correlation(&correlations, from);
        found
    }

    /// Judges the delay of a segment at the last interval, and finds its alarms in all.
    fn judge_delays(&mut self, readings: &Readings, segment: u32, null: &Null) {
        let (from, alarm) = (self.baseline, self.segment_alarm);
        let values = means(readings, segment, 0..readings.starts().len());
        let Some(usual) = Baseline::of(&values[..from]) else { return };
        self.delays[segment as usize] = Verdict::after(&usual, &values, from, null);
        self.changes.extend(changes(segment, Kind::Delay, from..values.len(), alarm, |at| {
            let values = &values[..=at];
            // Nearly all intervals are quiet.
            if Verdict::is_quiet(&usual, values, from, alarm) {
                return None;
            }
            Verdict::after(&usual, values, from, null).map(|verdict| (verdict.p_value, verdict.shift.first))
        }));
    }

    /// The same for its losses.
    fn judge_losses(&mut self, readings: &Readings, segment: u32, bursts: Bursts) {
        let (from, alarm) = (self.baseline, self.segment_alarm);
        let readings = readings.of(segment);
        let before = Tally::of(&readings[..from]);
        if !before.is_baseline() {
            return;
        }
        self.losses[segment as usize] = LossVerdict::after(&before, readings, from, bursts);
        self.changes.extend(changes(segment, Kind::Loss, from..readings.len(), alarm, |at| {
            let readings = &readings[..=at];
            if LossVerdict::is_quiet(&before, readings, from, bursts, alarm) {
                return None;
            }
            LossVerdict::after(&before, readings, from, bursts).map(|verdict| (verdict.p_value, verdict.first))
        }));
    }

    /// Judges these paths at the last interval, by the delays of the segments that were measured.
    fn judge_paths(&mut self, routes: &Routes, readings: &Readings, paths: &[usize], measured: &[u32], null: &Null) {
        let (from, intervals) = (self.baseline, readings.starts().len());
        // There may be many paths, and many intervals that no window reaches.
        let begin = intervals.saturating_sub(WINDOWS[WINDOWS.len() - 1]).max(from);
        let mut parts = vec![Vec::new(); routes.segments()];
        for &segment in measured {
            parts[segment as usize] = means(readings, segment, (0..from).chain(begin..intervals));
        }
        let verdict = |path: usize| {
            let parts = routes.path(path).iter().map(|&segment| &parts[segment as usize][..]);
            let mut verdict = judge(parts, from, null)?;
            verdict.shift.first += begin - from;
            Some(verdict)
        };
        self.paths = paths.iter().map(|&path| (path, verdict(path))).collect();
    }

    /// The segments with a verdict, and the probability of each, if exactly one has changed, besides others in alarm.
    ///
    /// A segment in alarm competes with those that are not; these compete with each other and with the weakest alarm.
    fn shares(&self, segments: &[u32]) -> Vec<(u32, Verdict, f64)> {
        let known: Vec<(u32, Verdict)> =
            segments.iter().filter_map(|&segment| Some((segment, self.delays[segment as usize]?))).collect();
        let is_alarm = |verdict: &Verdict| verdict.p_value <= self.segment_alarm;
        let (alarms, quiet): (Vec<_>, Vec<_>) = known.iter().partition(|(_, verdict)| is_alarm(verdict));
        let least = alarms.iter().map(|(_, verdict)| verdict.ln_odds).min_by(f64::total_cmp);
        let of_quiet = ln_sum(quiet.iter().map(|(_, verdict)| verdict.ln_odds));
        let share = |(segment, verdict): (u32, Verdict)| {
            let rival = if is_alarm(&verdict) { Some(verdict.ln_odds) } else { least };
            (segment, verdict, (verdict.ln_odds - ln_sum([of_quiet].into_iter().chain(rival))).exp())
        };
        known.into_iter().map(share).collect()
    }

    /// Segments with a verdict on their delay, the most probable cause first.
    pub fn ranking(&self) -> Vec<u32> {
        let mut ranking: Vec<u32> =
            (0..).zip(&self.delays).filter_map(|(segment, verdict)| verdict.and(Some(segment))).collect();
        let odds = |segment: u32| self.delays[segment as usize].map_or(f64::NEG_INFINITY, |verdict| verdict.ln_odds);
        ranking.sort_by(|&a, &b| odds(b).total_cmp(&odds(a)));
        ranking
    }

    /// Whether a segment is on a path that was judged.
    pub fn is_asked(&self, segment: u32) -> bool {
        self.asked.get(segment as usize) == Some(&true)
    }

    /// Whether the path with this verdict is slower than usual.
    pub fn is_slow(&self, verdict: &Verdict) -> bool {
        verdict.p_value <= self.path_alarm
    }

    /// The state of a path, given its verdict, at the last interval.
    pub fn path(&self, routes: &Routes, readings: &Readings, path: usize, verdict: Option<&Verdict>) -> PathState {
        let parts = routes.path(path);
        let last = readings.starts().len().saturating_sub(1);
        let first = verdict.map_or(last, |verdict| verdict.shift.first);
        let window = complete(parts, readings, first..readings.starts().len());
        let n = window.len() as f64;
        let sum = |of: &dyn Fn(u32, usize) -> Option<f64>| -> f64 {
            let terms =
                parts.iter().flat_map(|&segment| window.iter().filter_map(move |&interval| of(segment, interval)));
            terms.sum()
        };
        let mean = || sum(&|s, i| Some(readings.mean(s, i)?.value)) / n;
        let variance = || sum(&|s, i| Some(readings.mean(s, i)?.variance)) / (n * n);
        let std = || (sum(&|s, i| Some(readings.delay(s, i)?.std_ns.powi(2))) / n).sqrt();
        let kept = |segment: &u32| Some(1.0 - readings.of(*segment).get(last).copied()??.loss()?);
        PathState {
            delay: (n > 0.0).then(|| (mean(), variance())),
            std_ns: (n > 0.0).then(std),
            loss: parts.iter().map(kept).product::<Option<f64>>().map(|kept| 1.0 - kept),
            missing: parts.iter().copied().filter(|&segment| self.delays[segment as usize].is_none()).collect(),
            suspects: self.suspects(parts, readings, &window, verdict.map_or(0.0, |verdict| verdict.shift.excess)),
        }
    }

    /// The segments of a path that have a verdict, the most probable cause first, given the path's excess and the
    /// intervals of its window in which all its segments were measured.
    fn suspects(&self, parts: &[u32], readings: &Readings, window: &[usize], excess: f64) -> Vec<Suspect> {
        // The baseline of the path, too, has only intervals in which all its segments were measured.
        let baseline = complete(parts, readings, 0..self.baseline.min(readings.starts().len()));
        let mean = |segment: u32, intervals: &[usize]| {
            let means = intervals.iter().filter_map(|&interval| Some(readings.delay(segment, interval)?.mean_ns));
            (!intervals.is_empty()).then(|| means.sum::<f64>() / intervals.len() as f64)
        };
        let suspect = |(segment, own, probability): (u32, Verdict, f64)| {
            let usual = mean(segment, &baseline).unwrap_or(own.baseline.mean);
            let excess_ns = mean(segment, window).map_or(own.shift.excess, |now| now - usual);
            Suspect { segment, excess_ns, share: (excess > 0.0).then(|| excess_ns / excess), probability }
        };
        let mut suspects: Vec<Suspect> = self.shares(parts).into_iter().map(suspect).collect();
        suspects.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        suspects
    }
}

/// By segment, whether any of these paths contains it.
fn on_paths(routes: &Routes, paths: &[usize]) -> Vec<bool> {
    let mut is_on = vec![false; routes.segments()];
    for &segment in paths.iter().flat_map(|&path| routes.path(path)) {
        is_on[segment as usize] = true;
    }
    is_on
}

/// The mean delays of a segment in these intervals.
fn means(readings: &Readings, segment: u32, intervals: impl Iterator<Item = usize>) -> Vec<Option<Value>> {
    intervals.map(|interval| readings.mean(segment, interval)).collect()
}

/// Those of these intervals in which the delays of all these segments are known.
fn complete(parts: &[u32], readings: &Readings, among: Range<usize>) -> Vec<usize> {
    among.filter(|&interval| parts.iter().all(|&segment| readings.delay(segment, interval).is_some())).collect()
}

/// The verdict on a path at the last interval, given the delays of its segments: its own are their sums, where all are
/// known. The first intervals, `from` of them, are the baseline.
fn judge<'a>(parts: impl Iterator<Item = &'a [Option<Value>]>, from: usize, null: &Null) -> Option<Verdict> {
    let parts: Vec<&[Option<Value>]> = parts.collect();
    let sum = |interval: usize| {
        parts.iter().try_fold(Value { value: 0.0, variance: 0.0 }, |sum, part| {
            let next = part[interval]?;
            Some(Value { value: sum.value + next.value, variance: sum.variance + next.variance })
        })
    };
    let intervals = parts.iter().map(|part| part.len()).min()?;
    let values: Vec<Option<Value>> = (0..intervals).map(sum).collect();
    Verdict::new(&values, from, null)
}

/// Runs of consecutive alarms; `at` gives the p-value at an interval and the first interval of its window.
fn changes(
    segment: u32,
    kind: Kind,
    intervals: Range<usize>,
    alarm: f64,
    at: impl Fn(usize) -> Option<(f64, usize)>,
) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for interval in intervals {
        let Some((p_value, since)) = at(interval).filter(|&(p_value, _)| p_value <= alarm) else { continue };
        match changes.last_mut().filter(|change| change.last_alarm + 1 == interval) {
            Some(change) => {
                change.last_alarm = interval;
                if p_value < change.p_value {
                    (change.p_value, change.since) = (p_value, since);
                }
            }
            None => {
                changes.push(Change { segment, kind, since, first_alarm: interval, last_alarm: interval, p_value });
            }
        }
    }
    changes
}

/// Correlation of neighbouring intervals; `None` if fewer than four are known or all are equal.
fn correlation(values: &[Option<Value>]) -> Option<f64> {
    let (intervals, Value { value: mean, .. }) = mean(values)?;
    let squares: f64 = values.iter().flatten().map(|v| (v.value - mean).powi(2)).sum();
    let pairs = values.windows(2).filter_map(|pair| Some((pair[0]?.value - mean) * (pair[1]?.value - mean)));
    (intervals >= 4 && squares > 0.0).then(|| pairs.sum::<f64>() / squares)
}

/// The mean over segments and its standard error; corrects the bias of −1/*B* that the estimated mean causes.
fn mean_correlation(correlations: &[f64], baseline: usize) -> Option<(f64, f64)> {
    let (segments, intervals) = (correlations.len() as f64, baseline as f64);
    let mean = correlations.iter().sum::<f64>() / segments + 1.0 / intervals;
    (!correlations.is_empty()).then(|| (mean, 1.0 / (segments * intervals).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topology;
    use crate::localize::{Delay, Reading};
    use crate::paths::{Mode, Paths};
    use crate::segments::Segments;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    const SETTINGS: Settings = Settings { baseline: 10, false_alarms: 0.05 };

    /// A line of three links; b and c are instrumented.
    fn line() -> (Topology, Routes) {
        let topology = Topology::read("a b 1\nb c 1\nc d 1\n").unwrap();
        let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap();
        let mut segments = Segments::new(paths, topology.routers());
        ["b", "c"].iter().for_each(|name| segments.cut(topology.find(name).unwrap()));
        (topology, Routes::new(&segments))
    }

    /// Deterministic stand-in for noise: neighbouring intervals and segments differ.
    fn noise(segment: u32, interval: usize) -> f64 {
        ((interval * interval * 7 + interval * 3 + segment as usize * 11) % 13) as f64 - 6.0
    }

    fn reading(segment: u32, interval: usize, extra: f64, lost: u64) -> (u32, Reading) {
        let mean_ns = 1_000.0 * f64::from(segment + 1) + noise(segment, interval) + extra;
        let delay = Some(Delay { samples: 900, mean_ns, std_ns: 30.0 });
        (segment, Reading { start_ns: interval as i64, received: 1_000 - lost, lost, delay })
    }

    /// Segment 1 is 60 ns slower from interval 12 to 15 of 20, segment 2 loses 5% from 17 on.
    fn readings() -> Vec<(u32, Reading)> {
        let at = |segment, interval| {
            let extra = if segment == 1 && (12..16).contains(&interval) { 60.0 } else { 0.0 };
            reading(segment, interval, extra, if segment == 2 && interval >= 17 { 50 } else { 1 })
        };
        (0..3).flat_map(|segment| (0..20).map(move |interval| at(segment, interval))).collect()
    }

    fn until(end: i64) -> Readings {
        let read: Vec<_> = readings().into_iter().filter(|(_, reading)| reading.start_ns < end).collect();
        Readings::new(&read, 1).unwrap()
    }

    #[test]
    fn a_slow_path_is_explained_by_its_segment() {
        let (topology, routes) = line();
        let [a, d] = ["a", "d"].map(|name| topology.find(name).unwrap());
        let paths = routes.paths_between(a, d);
        let readings = until(14);
        let found = Localization::new(&routes, &readings, &paths, &SETTINGS);
        assert_eq!(found.ranking()[0], 1);
        assert!(found.probabilities[1] > 0.99 && (found.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let (path, verdict) = found.paths[0];
        let verdict = verdict.unwrap();
        assert!(found.is_slow(&verdict) && verdict.shift.first == 12, "{verdict:?}");
        let state = found.path(&routes, &readings, path, Some(&verdict));
        let sum: f64 = state.suspects.iter().filter_map(|suspect| suspect.share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "parts of the excess add up: {sum}");
        assert_eq!(state.suspects[0].segment, 1);
        assert!((state.suspects[0].excess_ns - 60.0).abs() < 8.0, "{state:?}");
        let (mean, variance) = state.delay.unwrap();
        assert!((mean - 6_060.0).abs() < 15.0 && (variance - 3.0 * 901.0 / 900.0 / 2.0).abs() < 1e-9);
        assert!((state.std_ns.unwrap() - 2_700f64.sqrt()).abs() < 1e-9);
        assert!((state.loss.unwrap() - (1.0 - 0.999f64.powi(3))).abs() < 1e-12);
    }

    /// The parts of an excess add up even if a segment misses intervals of the baseline in which another was slower.
    #[test]
    fn parts_add_up_over_gaps() {
        let (topology, routes) = line();
        let [a, d] = ["a", "d"].map(|name| topology.find(name).unwrap());
        let paths = routes.paths_between(a, d);
        let at = |segment, interval: usize| {
            let slow = (segment == 0 && interval >= 10) || (segment == 1 && interval < 3);
            reading(segment, interval, if slow { 300.0 } else { 0.0 }, 0)
        };
        let read = (0..3).flat_map(|segment| (0..12).map(move |interval| at(segment, interval)));
        let read: Vec<_> = read.filter(|&(segment, reading)| segment != 0 || reading.start_ns >= 3).collect();
        let readings = Readings::new(&read, 1).unwrap();
        let found = Localization::new(&routes, &readings, &paths, &SETTINGS);
        let (path, verdict) = found.paths[0];
        let verdict = verdict.unwrap();
        let state = found.path(&routes, &readings, path, Some(&verdict));
        let sum: f64 = state.suspects.iter().map(|suspect| suspect.excess_ns).sum();
        assert!((sum - verdict.shift.excess).abs() < 1e-6, "{sum} of {}: {state:?}", verdict.shift.excess);
        assert!(verdict.shift.excess > 280.0);
    }

    /// With two slow segments, both are named, each with a probability above 99%; the third is not.
    #[test]
    fn several_at_once_are_named() {
        let (topology, routes) = line();
        let [a, d] = ["a", "d"].map(|name| topology.find(name).unwrap());
        let paths = routes.paths_between(a, d);
        let extra = |segment, interval| match (segment, interval) {
            (0, 12..) => 90.0,
            (2, 13..) => 60.0,
            _ => 0.0,
        };
        let read: Vec<_> = (0..3)
            .flat_map(|segment| (0..15).map(move |interval| reading(segment, interval, extra(segment, interval), 1)))
            .collect();
        let readings = Readings::new(&read, 1).unwrap();
        let found = Localization::new(&routes, &readings, &paths, &SETTINGS);
        assert_eq!(found.ranking(), [0, 2, 1]);
        assert!([0, 2].iter().all(|&segment: &usize| found.probabilities[segment] > 0.99), "{:?}", found.probabilities);
        assert!(found.probabilities[1] < 0.01, "{:?}", found.probabilities);
        let (path, verdict) = found.paths[0];
        let suspects = found.path(&routes, &readings, path, verdict.as_ref()).suspects;
        let named: Vec<u32> = suspects.iter().filter(|s| s.probability > 0.99).map(|s| s.segment).collect();
        assert!(named.contains(&0) && named.contains(&2) && named.len() == 2, "{suspects:?}");
    }

    #[test]
    fn what_is_over_stays_known() {
        let (_, routes) = line();
        let all: Vec<usize> = (0..routes.paths()).collect();
        let found = Localization::new(&routes, &until(20), &all, &SETTINGS);
        let changes: Vec<_> = found.changes.iter().map(|c| (c.segment, c.kind, c.since, c.first_alarm)).collect();
        assert_eq!(changes, [(1, Kind::Delay, 12, 12), (2, Kind::Loss, 17, 17)]);
        assert!((15..20).contains(&found.changes[0].last_alarm), "{:?}", found.changes[0]);
        assert_eq!(found.changes[1].last_alarm, 19);
        assert!(found.losses[2].unwrap().p_value <= found.segment_alarm && found.losses[1].unwrap().p_value > 0.1);
    }

    #[test]
    fn only_what_was_asked_for_is_judged() {
        let (topology, routes) = line();
        let [a, c, d] = ["a", "c", "d"].map(|name| topology.find(name).unwrap());
        let found = Localization::new(&routes, &until(14), &routes.paths_between(a, c), &SETTINGS);
        assert!(found.delays[2].is_none() && !found.is_asked(2) && found.delays[0].is_some());
        assert_eq!(found.segment_alarm, 0.05 / 3.0 / 2.0);
        let read: Vec<_> = readings().into_iter().filter(|&(segment, _)| segment != 1).collect();
        let readings = Readings::new(&read, 1).unwrap();
        let paths = routes.paths_between(a, d);
        let found = Localization::new(&routes, &readings, &paths, &SETTINGS);
        assert_eq!(found.paths, [(paths[0], None)], "the sum is not known");
        let state = found.path(&routes, &readings, paths[0], None);
        assert_eq!((state.missing, state.delay, state.loss), (vec![1], None, None));
        assert_eq!(state.suspects.len(), 2);
        let early = Localization::new(&routes, &until(10), &paths, &SETTINGS);
        assert!(early.delays.iter().all(Option::is_none) && early.paths.len() == 1, "nothing behind the baseline");
    }

    /// Of a baseline that is too short nothing is known, and no time is spent on it: milliseconds, where judging every
    /// interval takes a minute.
    #[test]
    fn too_short_a_baseline_is_none() {
        let (_, routes) = line();
        let all: Vec<usize> = (0..routes.paths()).collect();
        let read: Vec<_> = (0..3).flat_map(|segment| (0..20_000).map(move |i| reading(segment, i, 0.0, 1))).collect();
        let readings = Readings::new(&read, 1).unwrap();
        let begin = Instant::now();
        for baseline in 0..3 {
            let found = Localization::new(&routes, &readings, &all, &Settings { baseline, ..SETTINGS });
            assert_eq!((&found.delays[..], &found.losses[..]), (&[None; 3][..], &[None; 3][..]));
            assert!(found.changes.is_empty() && found.paths.iter().all(|(_, verdict)| verdict.is_none()));
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }

    #[test]
    fn what_is_unknown_is_no_path() {
        let (_, routes) = line();
        let found = Localization::new(&routes, &until(20), &[usize::MAX], &SETTINGS);
        assert_eq!(found.paths, [(usize::MAX, None)]);
        assert!(found.changes.is_empty() && !found.is_asked(0) && !found.is_asked(u32::MAX));
    }

    #[test]
    fn no_share_of_false_alarms_is_no_alarm() {
        let (_, routes) = line();
        let all: Vec<usize> = (0..routes.paths()).collect();
        for false_alarms in [0.0, -1.0, f64::NAN] {
            let found = Localization::new(&routes, &until(14), &all, &Settings { false_alarms, ..SETTINGS });
            assert!(found.changes.is_empty() && found.ranking()[0] == 1, "{false_alarms}");
            assert!(found.paths.iter().all(|(_, verdict)| !found.is_slow(&verdict.unwrap())), "{false_alarms}");
        }
    }

    /// Only a level that wanders gives a correlation of neighbouring intervals that is significantly above zero.
    #[test]
    fn wandering_levels_show() {
        let (_, routes) = line();
        let all: Vec<usize> = (0..routes.paths()).collect();
        let settings = Settings { baseline: 18, ..SETTINGS };
        let of = |extra: &dyn Fn(usize) -> f64| {
            let read: Vec<_> =
                (0..3).flat_map(|s| (0..20).map(move |i| (s, i))).map(|(s, i)| reading(s, i, extra(i), 0)).collect();
            Localization::new(&routes, &Readings::new(&read, 1).unwrap(), &all, &settings).correlation.unwrap()
        };
        let (mean, error) = of(&|_| 0.0);
        assert!(mean.abs() < 4.0 * error, "{mean} {error}");
        let (mean, error) = of(&|interval| if interval % 10 < 5 { 40.0 } else { 0.0 });
        assert!(mean > 4.0 * error, "{mean} {error}");
    }

    /// A number of packets: few, many, or absurdly many.
    fn packets() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..3, 0u64..2_000, Just(u64::MAX), any::<u64>()]
    }

    prop_compose! {
        fn any_reading()(received in packets(), lost in packets(), samples in packets(), mean in -1e18..1e18f64, std in 0.0..1e18f64, scale in 0i32..19)
            -> Reading {
            let by = 10f64.powi(-scale);
            let samples = samples.min(received);
            let delay = Delay { samples, mean_ns: mean * by, std_ns: std * by };
            Reading { start_ns: 0, received, lost, delay: (samples > 0).then_some(delay) }
        }
    }

    proptest! {
        /// All p-values and probabilities are in [0, 1], whatever was measured.
        #[test]
        fn any_readings_are_judged(read in proptest::collection::vec((0u32..3, any_reading()), 0..60), last in 4i64..20) {
            let (_, routes) = line();
            let mut at = [0i64; 3];
            let read: Vec<(u32, Reading)> = read.into_iter().map(|(segment, reading)| {
                at[segment as usize] += 1;
                (segment, Reading { start_ns: at[segment as usize] % last + 100 * (at[segment as usize] / last), ..reading })
            }).collect();
            let readings = Readings::new(&read, 1).unwrap();
            let paths: Vec<usize> = (0..routes.paths()).collect();
            let found = Localization::new(&routes, &readings, &paths, &Settings { baseline: 4, false_alarms: 0.5 });
            let is_chance = |p: f64| (0.0..=1.0).contains(&p);
            prop_assert!(found.probabilities.iter().all(|&p| is_chance(p)), "{:?}", found.probabilities);
            for verdict in found.delays.iter().chain(found.paths.iter().map(|(_, verdict)| verdict)).flatten() {
                prop_assert!(is_chance(verdict.p_value) && verdict.shift.score.is_finite(), "{verdict:?}");
            }
            prop_assert!(found.losses.iter().flatten().all(|v| is_chance(v.p_value) && is_chance(v.found)), "{:?}", found.losses);
            for (path, verdict) in &found.paths {
                let state = found.path(&routes, &readings, *path, verdict.as_ref());
                prop_assert!(state.suspects.iter().all(|suspect| is_chance(suspect.probability)), "{state:?}");
            }
        }
    }
}
