//! In which order results are reported, and which of them a plot or a table draws: the first ones. Only these need a
//! distribution function.

use super::{Course, ResultLine, RttReport};
use crate::order::{FEWEST_SAMPLES, Rank, Slowness};
use dwell_types::Series;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::iter::once;

/// The most distribution functions in one plot: as many as can be told apart.
pub(crate) const MOST_CURVES: usize = 6;
/// Number of results with a histogram in the table.
const HISTOGRAMS: usize = 2;

/// By what groups are ordered, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The number of exchanges.
    #[default]
    Exchanges,
    /// A statistic of the delay.
    Delay(Slowness),
}

impl Order {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        once(Self::Exchanges).chain(Slowness::all().map(Self::Delay))
    }

    /// That of the results in these reports.
    pub(crate) fn of(reports: &[RttReport]) -> Self {
        reports.first().map(|report| report.order).unwrap_or_default()
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exchanges => "exchanges",
            Self::Delay(slowness) => slowness.name(),
        }
    }

    /// What the first ones are.
    pub(crate) fn first(self) -> String {
        match self {
            Self::Exchanges => "largest".to_owned(),
            Self::Delay(slowness) => slowness.first(),
        }
    }

    /// The rank of a result, given its lines in all intervals: by all their exchanges, or by the interval in which it was
    /// slowest.
    fn rank<'a>(self, lines: impl Iterator<Item = &'a ResultLine>) -> Rank {
        let value = |line: &ResultLine| match self {
            Self::Exchanges => (true, line.answered().round() as i64),
            Self::Delay(slowness) => slowness.of(line.samples, line.delay_ns.mean, &line.delay_ns.quantiles),
        };
        let mut is_group = false;
        let of_lines = lines.inspect(|line| is_group |= line.group != Series::OTHER).map(value);
        let most = of_lines.reduce(|a, b| match self {
            Self::Exchanges => (true, a.1 + b.1),
            Self::Delay(_) => a.max(b),
        });
        let (is_enough, most) = most.unwrap_or((false, i64::MIN));
        Reverse((is_group, is_enough, most))
    }

    /// Orders the results of each rule and leg.
    pub fn sort(self, lines: &mut [ResultLine]) {
        for of_rule in lines.chunk_by_mut(|a, b| (a.matching, a.leg) == (b.matching, b.leg)) {
            of_rule.sort_by_cached_key(|line| self.rank(once(line)));
        }
    }

    /// Orders the results of each rule and leg over intervals; rules as they are seen first.
    pub(super) fn sort_courses(self, courses: &mut [Course<'_>]) {
        let rule = |course: &Course<'_>| (course.first().matching, course.first().leg);
        let mut rules: Vec<_> = courses.iter().map(rule).collect();
        let mut known = HashSet::new();
        rules.retain(|rule| known.insert(*rule));
        let place = |course: &Course<'_>| rules.iter().position(|known| *known == rule(course));
        courses.sort_by_cached_key(|course| (place(course), self.rank(course.lines())));
    }

    /// Orders results over intervals, whatever their rules.
    pub(crate) fn rank_courses(self, courses: &mut [Course<'_>]) {
        courses.sort_by_cached_key(|course| self.rank(course.lines()));
    }

    /// The places of these results, in order.
    fn places(self, lines: &[ResultLine]) -> impl Iterator<Item = usize> {
        let mut places: Vec<usize> = (0..lines.len()).collect();
        places.sort_by_cached_key(|&place| self.rank(once(&lines[place])));
        places.into_iter()
    }

    /// The places of the results with a curve in a plot.
    pub(super) fn with_curves(self, lines: &[ResultLine]) -> impl Iterator<Item = usize> {
        self.places(lines).take(MOST_CURVES)
    }

    /// The places of the results with a histogram in the table.
    pub(super) fn with_histograms(self, lines: &[ResultLine]) -> impl Iterator<Item = usize> {
        self.places(lines).filter(|&place| lines[place].samples >= FEWEST_SAMPLES).take(HISTOGRAMS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Delays;
    use super::*;
    use crate::quantiles::{P95, QUANTILES};
    use dwell_sketch::estimate::Estimate;

    const BY_MEAN: Order = Order::Delay(Slowness::Mean);
    const BY_P95: Order = Order::Delay(Slowness::Quantile(P95));

    fn line(matching: &'static str, group: &str, samples: u64, p95: i64) -> ResultLine {
        let mut quantiles = [None; QUANTILES.len()];
        quantiles[P95] = (samples > 0).then(|| Estimate::exact(p95));
        ResultLine {
            matching,
            leg: "both",
            group: group.into(),
            samples,
            exchanges: (samples > 0).then(|| Estimate::exact(samples as f64)),
            delay_ns: Delays { mean: quantiles[P95].map(|_| Estimate::exact(-p95)), quantiles, ..Delays::default() },
            ..ResultLine::default()
        }
    }

    /// Rules as they come; few samples after many, and all others together last.
    fn lines() -> Vec<ResultLine> {
        vec![
            line("tcp-ack", "other", 1_000, 90),
            line("tcp-ack", "few", 19, 80),
            line("tcp-ack", "none", 0, 0),
            line("tcp-ack", "slow", 20, 70),
            line("tcp-ack", "many", 500, 60),
            line("dns", "one", 30, 5),
            line("dns", "two", 40, 4),
        ]
    }

    fn groups(lines: &[ResultLine]) -> Vec<&str> {
        lines.iter().map(|line| line.group.as_str()).collect()
    }

    #[test]
    fn groups_are_ordered_within_rules() {
        let sorted = |order: Order| {
            let mut lines = lines();
            order.sort(&mut lines);
            lines
        };
        let by_exchanges = ["many", "slow", "few", "none", "other", "two", "one"];
        assert_eq!(groups(&sorted(Order::Exchanges)), by_exchanges);
        assert_eq!(groups(&sorted(BY_P95)), ["slow", "many", "few", "none", "other", "one", "two"]);
        assert_eq!(groups(&sorted(BY_MEAN)), ["many", "slow", "few", "none", "other", "two", "one"]);
    }

    #[test]
    fn the_first_ones_are_drawn() {
        let drawn = |order: Order, lines: &[ResultLine]| {
            let names =
                |places: Vec<usize>| places.into_iter().map(|place| lines[place].group.clone()).collect::<Vec<_>>();
            (names(order.with_curves(lines).collect()), names(order.with_histograms(lines).collect()))
        };
        let (curves, histograms) = drawn(BY_P95, &lines());
        assert_eq!(curves, ["slow", "many", "one", "two", "few", "none"]);
        assert_eq!(histograms, ["slow", "many"]);
        let (curves, histograms) = drawn(Order::Exchanges, &lines()[..3]);
        assert_eq!((curves, histograms), (vec!["few".into(), "none".into(), "other".into()], vec!["other".into()]));
    }

    /// By the sum of their exchanges, or by the slowest interval of enough samples.
    #[test]
    fn intervals_count_together() {
        let report = |results: Vec<ResultLine>| RttReport { results, ..RttReport::default() };
        let reports = [
            report(vec![line("dns", "steady", 60, 10), line("dns", "worse", 50, 1), line("ntp", "only", 900, 1)]),
            report(vec![line("dns", "late", 5, 99), line("dns", "worse", 50, 30), line("dns", "steady", 19, 50)]),
        ];
        let ordered = |order: Order, sort: fn(Order, &mut [Course<'_>])| {
            let mut courses = Course::all(&reports);
            sort(order, &mut courses);
            courses.iter().map(|course| course.first().group.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(ordered(Order::Exchanges, Order::sort_courses), ["worse", "steady", "late", "only"]);
        assert_eq!(ordered(BY_P95, Order::sort_courses), ["worse", "steady", "late", "only"]);
        assert_eq!(ordered(BY_MEAN, Order::sort_courses), ["worse", "steady", "late", "only"]);
        assert_eq!(ordered(Order::Exchanges, Order::rank_courses), ["only", "worse", "steady", "late"]);
        assert_eq!(ordered(BY_P95, Order::rank_courses), ["worse", "steady", "only", "late"]);
    }
}
