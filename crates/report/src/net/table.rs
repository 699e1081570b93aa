//! Human-readable tables.

use super::{ChangeLine, LocalizeReport, Network, PathLine, PathsReport, PlanReport, Route, SegmentLine};
use crate::footing::{self, item};
use crate::grid::Grid;
use crate::text::{self, Times};
use std::io::{self, Write};

/// Writes a plan: one line per router.
pub fn write_plan(report: &PlanReport, to: &mut impl Write) -> io::Result<()> {
    head(&report.network, to)?;
    let already = report.instrumented.len();
    let has_costs = report.curve.iter().any(|point| point.cost != (point.routers - already) as f64);
    let mut grid = Grid::default();
    let mut heads = vec!["instrumented".to_owned(), "routers".into()];
    heads.extend(has_costs.then(|| "cost".into()));
    heads.extend(["probe hops", "of all", "segments", "mean hops", "longest"].map(Into::into));
    grid.row(heads);
    let all = report.curve.first().map_or(0, |point| point.probe_hops).max(1);
    for point in &report.curve {
        let none = if already > 0 { "already" } else { "none" };
        let mut cells = vec![point.added.clone().unwrap_or_else(|| none.into()), text::count(point.routers as u64)];
        cells.extend(has_costs.then(|| point.cost.to_string()));
        cells.extend([
            text::count(point.probe_hops),
            text::percent(point.probe_hops as f64 / all as f64),
            text::count(point.segments as u64),
            text::or_dash(point.granularity, |g| format!("{:.2}", g.mean)),
            text::or_dash(point.granularity, |g| g.max.to_string()),
        ]);
        grid.row(cells);
    }
    grid.write(to)?;
    writeln!(to)?;
    let what = match report.strategy {
        "greedy" if has_costs => "greedy: next is the router on most segments for its cost",
        "greedy" => "greedy: next is the router on most segments",
        "saving" if has_costs => "saving: next is the router that saves most probe hops for its cost",
        "saving" => "saving: next is the router that saves most probe hops",
        "swap" => "swap: no exchange of one router for another saves more probe hops; ordered by savings",
        _ => "random: routers in random order",
    };
    item("strategy", what, to)?;
    if already > 0 {
        item("already", &report.instrumented.join(", "), to)?;
    }
    if let (Some(least), Some(end)) = (report.least_probe_hops, report.curve.last()) {
        let size = if has_costs { "cost" } else { "size" };
        let fewer = text::percent(1.0 - least as f64 / end.probe_hops.max(1) as f64);
        let words = match least < end.probe_hops {
            true => format!("no plan of this {size} has fewer than {} probe hops, {fewer} fewer", text::count(least)),
            false => format!("no plan of this {size} has fewer probe hops"),
        };
        item("bound", &words, to)?;
    }
    footing::warnings(&report.warnings, to)
}

/// Writes who probes whom: one line per segment.
pub fn write_paths(report: &PathsReport, to: &mut impl Write) -> io::Result<()> {
    head(&report.network, to)?;
    let mut grid = Grid::default();
    grid.row(["from", "hops", "to"]);
    for probe in &report.probes {
        let via = if probe.via.is_empty() { String::new() } else { format!("  via {}", probe.via.join(", ")) };
        grid.row([probe.from.to_string(), probe.hops.to_string(), format!("{}{via}", probe.to)]);
    }
    grid.write_left(to)?;
    writeln!(to)?;
    item("segments", &format!("{} probed", text::count(report.probes.len() as u64)), to)?;
    let hops = format!(
        "{} for one probe of each segment, {} per second (--probes-per-second {})",
        text::count(report.probe_hops),
        text::count(report.probe_hops_per_second.round() as u64),
        report.probes_per_second
    );
    item("hops", &hops, to)?;
    let inner = format!(
        "{} of interfaces in {}, reporting {:.1} Mbit/s",
        text::count_of(report.inner_pairs, "pair"),
        text::count_of(report.instrumented.len() as u64, "instrumented router"),
        report.aggregator_bps as f64 / 1e6
    );
    item("inside", &inner, to)?;
    if let Some(overlap) = &report.overlap {
        let words = format!(
            "{}; {} of those before the failure are still probed for a time, {} in total",
            text::count_of(overlap.added as u64, "new segment"),
            text::count(overlap.dropped.len() as u64),
            text::count_of(overlap.probe_hops, "hop")
        );
        item("overlap", &words, to)?;
    }
    footing::warnings(&report.warnings, to)
}

/// Number of segments listed in a ranking; those in alarm are always listed.
const RANKED: usize = 5;
/// Maximum number of paths, of changes, and of segments without a delay, listed.
const SHOWN: usize = 10;

/// Writes which segments are suspicious, which paths are slow and why, and earlier alarms.
pub fn write_localize(report: &LocalizeReport, to: &mut impl Write) -> io::Result<()> {
    head(&report.network, to)?;
    let intervals = report.intervals;
    writeln!(
        to,
        "{} intervals, the first {} as baseline; state at {}",
        text::count(intervals.count as u64),
        text::count(intervals.baseline as u64),
        text::moment(intervals.last_ns)
    )?;
    writeln!(to)?;
    let times = times(report);
    delays(&report.segments, times, to)?;
    losses(&report.segments, times, to)?;
    without_delay(&report.segments, intervals.count, to)?;
    for line in report.path_lines.iter().take(SHOWN) {
        path(line, times, to)?;
    }
    changes(&report.changes, times, to)?;
    let rate = format!(
        "* marks an alarm; at most {} of intervals have a false alarm if means are independent",
        text::percent(report.false_alarms)
    );
    item("alarms", &rate, to)?;
    let slow = format!(
        "{} slow of {} judged; {} of these with too few measurements of some segment",
        text::count(report.slow_paths as u64),
        text::count(report.judged_paths as u64),
        text::count(report.incomplete_paths as u64)
    );
    item("paths", &slow, to)?;
    if let Some(hops) = report.granularity {
        let words =
            format!("{:.2} links on average, at most {}; faults are not located within a segment", hops.mean, hops.max);
        item("segments", &words, to)?;
    }
    footing::warnings(&report.warnings, to)
}

/// `a1 → a3 via a2`.
fn route(route: &Route) -> String {
    let via = if route.via.is_empty() { String::new() } else { format!(" via {}", route.via.join(", ")) };
    text::plain(&format!("{} → {}{via}", route.from, route.to)).into_owned()
}

/// `0.021`, `2e-5`; what is too small for a number, `<1e-300`.
fn chance(p_value: f64) -> String {
    match p_value {
        p if p >= 0.001 => format!("{p:.3}"),
        p if p >= 1e-300 => format!("{p:.0e}"),
        _ => "<1e-300".to_owned(),
    }
}

fn mark(alarm: bool) -> &'static str {
    if alarm { " *" } else { "" }
}

/// How the times of alarms and their beginnings are written.
fn times(report: &LocalizeReport) -> Times {
    let delays = report.segments.iter().filter_map(|line| line.delay);
    let losses = report.segments.iter().filter_map(|line| line.loss);
    let paths = report.path_lines.iter().filter_map(|line| line.delay);
    let changes = report.changes.iter().flat_map(|line| [line.since_ns, line.first_alarm_ns, line.last_alarm_ns]);
    let since = delays.map(|d| d.since_ns).chain(losses.map(|loss| loss.since_ns)).chain(paths.map(|d| d.since_ns));
    Times::of(since.chain(changes).chain([report.intervals.last_ns]))
}

/// Segments that are slower than usual, in order of probability; writes nothing if there are none.
fn delays(segments: &[SegmentLine], times: Times, to: &mut impl Write) -> io::Result<()> {
    let mut slower: Vec<_> = segments.iter().filter_map(|line| Some((line, line.delay?))).collect();
    slower.retain(|(_, delay)| delay.alarm || delay.excess_ns > 0.0);
    if slower.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::default();
    let heads = ["slower", "now", "usual", "excess", "score", "p-value", "probability", "since"];
    grid.row(heads);
    for (_, (line, d)) in (0..).zip(slower).filter(|(number, (_, d))| *number < RANKED || d.alarm) {
        grid.row([
            route(&line.segment) + mark(d.alarm),
            text::time(d.found_ns),
            text::time(d.usual_ns),
            text::time(d.excess_ns),
            format!("{:.1}", d.score),
            chance(d.p_value),
            text::or_dash(line.probability, text::percent),
            times.text(d.since_ns),
        ]);
    }
    grid.write(to)?;
    writeln!(to)
}

/// Segments whose losses are unlikely to be chance, the most suspicious first; writes nothing if there are none.
fn losses(segments: &[SegmentLine], times: Times, to: &mut impl Write) -> io::Result<()> {
    const WORTH_A_LOOK: f64 = 0.01;
    let mut lossy: Vec<_> = segments.iter().filter_map(|line| Some((line, line.loss?))).collect();
    lossy.retain(|(_, loss)| loss.alarm || loss.p_value < WORTH_A_LOOK);
    lossy.sort_by(|a, b| b.1.ln_odds.total_cmp(&a.1.ln_odds));
    if lossy.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::default();
    grid.row(["lossier", "now", "usual", "p-value", "since"]);
    for (line, loss) in lossy {
        grid.row([
            route(&line.segment) + mark(loss.alarm),
            text::percent(loss.found),
            text::percent(loss.usual),
            chance(loss.p_value),
            times.text(loss.since_ns),
        ]);
    }
    grid.write(to)?;
    writeln!(to)
}

/// Segments that were measured but whose delay is not known; writes nothing if there are none.
fn without_delay(segments: &[SegmentLine], intervals: usize, to: &mut impl Write) -> io::Result<()> {
    let unknown: Vec<_> = segments.iter().filter(|line| line.delay.is_none() && line.intervals > 0).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::default();
    grid.row(["delay unknown", "measured"]);
    for line in unknown.iter().take(SHOWN) {
        let [measured, all] = [line.intervals, intervals].map(|number| text::count(number as u64));
        grid.row([route(&line.segment), format!("{measured} of {all} intervals")]);
    }
    grid.write(to)?;
    more(unknown.len(), to)
}

/// Says how many lines were left out of a list of this many, and ends it.
fn more(lines: usize, to: &mut impl Write) -> io::Result<()> {
    if lines > SHOWN {
        writeln!(to, "and {} more", text::count((lines - SHOWN) as u64))?;
    }
    writeln!(to)
}

fn path(line: &PathLine, times: Times, to: &mut impl Write) -> io::Result<()> {
    let now = text::delay_with_interval(line.delay_ns.map(|e| e.map(|ns| ns.round() as i64)));
    let alarm = mark(line.delay.is_some_and(|d| d.alarm));
    writeln!(to, "{}{alarm}", route(&line.path))?;
    if let Some(d) = line.delay {
        let (usual, since) = (text::time(d.usual_ns), times.text(d.since_ns));
        let (excess, chance) = (text::time(d.excess_ns.abs()), chance(d.p_value));
        let than = if d.excess_ns < 0.0 { "less" } else { "more" };
        writeln!(to, "  {now}, usually {usual}: {excess} {than} since {since}, p-value {chance}")?;
    }
    for missing in &line.missing {
        writeln!(to, "  {} has too few measurements", route(missing))?;
    }
    let mut grid = Grid::default();
    for suspect in line.suspects.iter().take(RANKED) {
        grid.row([
            format!("  {}", route(&suspect.segment)),
            text::time(suspect.excess_ns),
            suspect.share.map_or_else(String::new, |share| format!("{:.0}% of the excess", 100.0 * share)),
            format!("probability {}", text::percent(suspect.probability)),
        ]);
    }
    grid.write(to)?;
    writeln!(to)
}

fn changes(changes: &[ChangeLine], times: Times, to: &mut impl Write) -> io::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::default();
    grid.row(["alarms", "kind", "since", "first", "last", "p-value"]);
    let earlier = changes.len().saturating_sub(SHOWN);
    for change in &changes[earlier..] {
        let mut cells = vec![route(&change.segment), change.kind.into()];
        cells.extend([change.since_ns, change.first_alarm_ns, change.last_alarm_ns].map(|ns| times.text(ns)));
        cells.push(chance(change.p_value));
        grid.row(cells);
    }
    grid.write(to)?;
    if earlier > 0 {
        writeln!(to, "and {} before", text::count(earlier as u64))?;
    }
    writeln!(to)
}

fn head(network: &Network, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{}", text::plain(&network.source))?;
    let mode = if network.mode == "single" { "one path per pair" } else { "all equally short paths" };
    let count = |number: usize| text::count(number as u64);
    let count_of = |number: usize, noun: &str| text::count_of(number as u64, noun);
    let mut routers = count_of(network.routers, "router");
    if network.servers < network.routers {
        routers += &format!(", {} with a measurement server", count(network.servers));
    }
    let mut links = count_of(network.links, "link");
    if network.failed_links > 0 {
        links += &format!(", {} removed as failed", count(network.failed_links));
    }
    writeln!(to, "{routers}, {links}, {} ({mode})", count_of(network.paths, "path"))?;
    writeln!(to)
}

#[cfg(test)]
mod tests {
    use super::super::{Intervals, LOCALIZE_SCHEMA};
    use super::*;

    fn report(source: &str) -> LocalizeReport {
        let network = Network {
            source: source.into(),
            routers: 2,
            servers: 1,
            links: 1,
            failed_links: 0,
            paths: 1,
            mode: "single",
            unreachable_pairs: 0,
        };
        LocalizeReport {
            schema: LOCALIZE_SCHEMA,
            network,
            warnings: Vec::new(),
            instrumented: Vec::new(),
            granularity: None,
            intervals: Intervals { count: 24, baseline: 20, first_ns: 0, last_ns: 2_300_000_000 },
            false_alarms: 0.01,
            segment_alarm: 0.0,
            path_alarm: 0.0,
            segments: Vec::new(),
            judged_paths: 0,
            incomplete_paths: 0,
            slow_paths: 0,
            path_lines: Vec::new(),
            changes: Vec::new(),
        }
    }

    fn table(report: &LocalizeReport) -> String {
        let mut text = Vec::new();
        write_localize(report, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// Names of files and routers are parts of one line, whatever is in them.
    #[test]
    fn names_do_not_break_lines() {
        let path = Route { from: "a\n1".into(), to: "a3".into(), via: vec!["a\t2".into()], hops: 2 };
        let nothing = PathLine {
            path: path.clone(),
            delay_ns: None,
            std_ns: None,
            loss: None,
            delay: None,
            missing: vec![path],
            suspects: Vec::new(),
        };
        let text = table(&LocalizeReport { path_lines: vec![nothing], ..report("m\nap") });
        assert!(text.starts_with("m?ap\n"), "{text}");
        assert!(text.contains("\na?1 → a3 via a?2\n  a?1 → a3 via a?2 has too few measurements\n"), "{text}");
    }

    /// Intervals shorter than a second are told apart above the table, as in it.
    #[test]
    fn the_last_interval_is_named_exactly() {
        let text = table(&report("map"));
        assert!(text.contains("state at 1970-01-01 00:00:02.300 UTC\n"), "{text}");
        assert!(
            text.contains("\n2 routers, 1 with a measurement server, 1 link, 1 path (one path per pair)\n"),
            "{text}"
        );
    }
}
