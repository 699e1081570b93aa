//! The human-readable table: delays first, then what they are based on. At most 100 columns unless names or
//! intervals are longer.

use super::{self as rtt, Course, Dependent, Flow, OF_FLOWS, Order, Quic, ResultLine, RttReport, histogram};
use crate::facts::{Frames, Memory, Parameter, Span};
use crate::footing::{self, WIDTH};
use crate::grid::Grid;
use crate::heading;
use crate::order::FEWEST_SAMPLES;
use crate::quantiles::{MAIN, QUANTILES, names};
use crate::text;
use dwell_sketch::estimate::Estimate;
use dwell_types::{Nanos, Series};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Longer names get a line of their own.
const LONGEST_NAME: usize = 24;

/// Writes one report.
pub fn write(report: &RttReport, to: &mut impl Write) -> io::Result<()> {
    title(std::slice::from_ref(report), to)?;
    if report.results.is_empty() {
        writeln!(to, "\nNo requests or responses were seen.")?;
    } else {
        writeln!(to)?;
        delays(report, to)?;
    }
    if let Some(connections) = &report.quic {
        writeln!(to)?;
        quic(connections, to)?;
    }
    if !report.flows.is_empty() {
        writeln!(to)?;
        flows(&report.flows, to)?;
    }
    for place in report.order.with_histograms(&report.results) {
        writeln!(to)?;
        histogram::write(&report.results[place], to)?;
    }
    writeln!(to)?;
    footing(std::slice::from_ref(report), "; min and max are those of the sample", to)?;
    repeated(&report.results, to)
}

/// Which quantile depends on how repeated requests count, and which flags decide: of the line with the most samples.
fn repeated(lines: &[ResultLine], to: &mut impl Write) -> io::Result<()> {
    let dependent = || lines.iter().filter(|line| line.samples >= FEWEST_SAMPLES && line.dependent.is_some());
    let Some((line, of)) = dependent().max_by_key(|line| line.samples).and_then(|line| Some((line, line.dependent?)))
    else {
        return Ok(());
    };
    let Dependent { quantile, last, first } = of;
    let (name, requests) = (line.name(), text::count(line.ambiguous_samples));
    let others = match dependent().count() - 1 {
        0 => String::new(),
        others => format!("; likewise {}", text::of(others as u64, "other line")),
    };
    let words = format!(
        "{quantile} of {name} is {last} with --ambiguous last, which counts the repeated requests ({requests}) from their last \
         copies, {first} with first; bounds, as above, counts half of each; drop leaves them out, often the slowest{others}"
    );
    footing::item("repeated", &words, to)
}

/// Writes a time series: one report per interval, in order. Each result is a block with one line per interval.
pub fn write_series(reports: &[RttReport], to: &mut impl Write) -> io::Result<()> {
    title(reports, to)?;
    let mut results = Course::all(reports);
    results.retain(|result| result.lines().any(is_asked));
    Order::of(reports).sort_courses(&mut results);
    if results.is_empty() {
        writeln!(to, "\nNo requests or responses were seen.")?;
    }
    let times = text::Times::of_intervals(reports.iter().filter_map(RttReport::period));
    for result in results {
        writeln!(to)?;
        series(&result, reports, times, to)?;
    }
    if let Some(connections) = reports.last().and_then(|report| report.quic.as_ref()) {
        writeln!(to)?;
        quic(connections, to)?;
    }
    writeln!(to)?;
    // Estimated time series have no columns for minimum and maximum, so the footing need not explain these.
    footing(reports, "", to)
}

/// How many connections were measured, and how many were not.
fn quic(quic: &Quic, to: &mut impl Write) -> io::Result<()> {
    let [all, spinning, not_spinning, undecided] =
        [quic.connections, quic.spinning, quic.not_spinning, quic.undecided].map(text::count);
    writeln!(to, "QUIC connections: {all} seen from the start")?;
    if quic.connections > 0 {
        let words = format!("{spinning} use the spin bit and are measured, {not_spinning} do not");
        writeln!(to, "  {words}, {undecided} are undecided")?;
    }
    if quic.evicted > 0 {
        writeln!(to, "  {} of these were evicted", text::count(quic.evicted))?;
    }
    if quic.unknown_packets > 0 {
        let packets = text::count_of(quic.unknown_packets, "packet");
        writeln!(to, "  {packets} may belong to others, which began before or changed addresses")?;
    }
    Ok(())
}

fn title(reports: &[RttReport], to: &mut impl Write) -> io::Result<()> {
    let Some(first) = reports.first() else { return Ok(()) };
    let spans = || reports.iter().filter_map(|r| r.span_ns);
    let ends = spans().map(|span| span.start).min().zip(spans().map(|span| span.end).max());
    heading::write(&text::few(&first.sources), ", ", ends.map(|(start, end)| Span { start, end }), to)
}

/// The grid of delays: one line per result if nothing was estimated, otherwise a second line with the intervals.
fn delays(report: &RttReport, to: &mut impl Write) -> io::Result<()> {
    let results: Vec<&ResultLine> = report.results.iter().filter(|l| is_asked(l)).collect();
    let estimated = results.iter().any(|l| has_intervals(l));
    let mut grid = Grid::default();
    let extremes: &[&str] = if estimated { &[] } else { &["min", "max"] };
    grid.row([&["", "exchanges"][..], &names(), &["mean"], extremes].concat());
    if estimated {
        // If everything was measured, only repeated requests can widen the bounds.
        let all = results.iter().all(|l| l.exchanges.is_none() || l.is_complete());
        let (of, to) = if all { ("", "bounds") } else { ("95%", "95%") };
        grid.row([&["  sampled, min–max", of][..], &names().map(|_| to), &[to]].concat());
    }
    let with_groups: BTreeSet<String> = results.iter().filter(|l| l.group != Series::ALL).map(|l| l.rule()).collect();
    let mut rule = String::new();
    for &line in &results {
        let grouped = with_groups.contains(&line.rule());
        if grouped && rule != line.rule() {
            rule = line.rule();
            grid.heading(rule.clone());
        }
        let name = if grouped { format!("  {}", line.group) } else { line.rule() };
        let d = &line.delay_ns;
        let columns = || d.quantiles.into_iter().chain([d.mean]);
        let mut row = vec![name, answered(line, report)];
        row.extend(columns().map(text::delay));
        if !estimated {
            row.extend([d.min, d.max].map(text::delay));
        }
        if text::width(&row[0]) > LONGEST_NAME {
            grid.heading(std::mem::take(&mut row[0]));
        }
        grid.row(row);
        if estimated {
            let mut row = vec![rests_on(line), line.exchanges.map(text::plus_minus).unwrap_or_default()];
            row.extend(columns().map(|c| c.map(text::interval).unwrap_or_default()));
            grid.row(row);
        }
    }
    grid.write(to)
}

/// The number of answered requests; `–` if it is not known. Without samples it is known to be 0 if everything was
/// measured and nothing matched, or if no packet could be a response. (Those of a group may count in another group.)
fn answered(line: &ResultLine, report: &RttReport) -> String {
    let is_unanswered = line.group == Series::ALL && line.responses.seen == 0;
    let is_none = line.requests.matched == 0 && (report.method.exact || is_unanswered);
    match line.exchanges {
        Some(exchanges) => text::count(exchanges.value.round() as u64),
        None if is_none => "0".into(),
        None => text::DASH.into(),
    }
}

/// The flows, each with one line per match and leg, and a second one with the intervals if there are any.
fn flows(flows: &[Flow], to: &mut impl Write) -> io::Result<()> {
    let mut grid = Grid::default();
    grid.row([&["flows", "exchanges"][..], &OF_FLOWS.map(|q| QUANTILES[q].0), &["mean", "min", "max"]].concat());
    for flow in flows {
        let mut size = format!("  {}, {}", text::count_of(flow.packets, "packet"), text::bytes(flow.bytes));
        if flow.uncounted_bytes > 0 {
            size += &format!(", up to {} more counted as other", text::bytes(flow.uncounted_bytes));
        }
        grid.heading(flow.flow.clone());
        grid.heading(size);
        for line in &flow.results {
            let d = &line.delay_ns;
            let estimates = || OF_FLOWS.map(|q| d.quantiles[q]).into_iter().chain([d.mean]);
            let exchanges = text::or_dash(line.exchanges, |e| text::count(e.value.round() as u64));
            let mut row = vec![format!("  {}", rtt::rule(line.matching, line.leg)), exchanges];
            row.extend(estimates().chain([d.min, d.max]).map(text::delay));
            grid.row(row);
            let is_estimated = line.exchanges.is_some_and(|e| !e.is_exact());
            if is_estimated || estimates().flatten().any(|e| !e.is_exact()) {
                let samples = text::count_of(line.samples, "sample");
                let mut row = vec![format!("  {samples}"), line.exchanges.map(text::plus_minus).unwrap_or_default()];
                row.extend(estimates().map(|delay| delay.map(text::interval).unwrap_or_default()));
                grid.row(row);
            }
        }
    }
    grid.write(to)
}

/// Whether there is anything to show: some groups only have possible responses, which matched no request.
fn is_asked(line: &ResultLine) -> bool {
    line.group == Series::ALL || line.requests.seen + line.requests.carried_over > 0
}

/// Whether anything was estimated, and is not written like what is exact.
fn has_intervals(line: &ResultLine) -> bool {
    let d = &line.delay_ns;
    let is_shown = |delay: &Estimate<i64>| !text::interval(*delay).is_empty();
    !(line.is_complete() || line.exchanges.is_none()) || d.quantiles.iter().chain([&d.mean]).flatten().any(is_shown)
}

/// `  3.2%, 1.02 ms–3.05 s`.
fn rests_on(line: &ResultLine) -> String {
    let share = match line.coverage() {
        Some(_) if line.is_complete() => "all".into(),
        Some(share) => text::percent(share),
        None => return "  no samples".into(),
    };
    match (line.delay_ns.min, line.delay_ns.max) {
        (Some(min), Some(max)) => format!("  {share}, {}–{}", Nanos::new(min.value), Nanos::new(max.value)),
        _ => format!("  {share}"),
    }
}

/// One result over time: the main quantiles with their intervals or, if nothing was estimated, all, mean and maximum.
fn series(result: &Course<'_>, reports: &[RttReport], times: text::Times, to: &mut impl Write) -> io::Result<()> {
    let estimated = result.lines().any(has_intervals);
    let mut grid = Grid::default();
    let name: &str = &result.first().name();
    grid.row(match estimated {
        true => [&[name, "exchanges", "sampled"][..], &MAIN.map(|q| QUANTILES[q].0)].concat(),
        false => [&[name, "exchanges"][..], &names(), &["mean", "max"]].concat(),
    });
    for (report, line) in result.over(reports) {
        let Some(Span { start, .. }) = report.period() else { continue };
        let time = format!("  {}", times.text(start));
        let Some(line) = line else {
            grid.row([time, "0".into()]);
            continue;
        };
        let d = &line.delay_ns;
        let mut row = vec![time, answered(line, report)];
        if line.samples == 0 {
            grid.row(row);
            continue;
        }
        if estimated {
            row.push(match line.coverage() {
                Some(_) if line.is_complete() => "all".into(),
                share => text::or_dash(share, text::percent),
            });
            row.extend(MAIN.map(|q| text::delay_with_interval(d.quantiles[q])));
        } else {
            row.extend(d.quantiles.into_iter().chain([d.mean, d.max]).map(text::delay));
        }
        grid.row(row);
    }
    grid.write(to)
}

/// Fates of requests, frames, memory, method and warnings; `extremes` explains the minimum and maximum of a sample.
fn footing(reports: &[RttReport], extremes: &str, to: &mut impl Write) -> io::Result<()> {
    let Some(last) = reports.last() else { return Ok(()) };
    if reports.iter().any(|r| !r.results.is_empty()) {
        requests(reports, to)?;
        writeln!(to)?;
    }
    if let Some(frames) = frames(reports) {
        footing::frames(&frames, to)?;
    }
    let state_bytes = reports.iter().map(|r| r.memory.state_bytes).max().unwrap_or_default();
    footing::memory(&Memory { state_bytes, ..last.memory }, to)?;
    let how = match reports.iter().all(|r| r.method.exact) {
        true if reports.iter().flat_map(|r| &r.results).any(|l| l.ambiguous_samples > 0) => {
            "exact, except unresolved exchanges (requests repeated before the response)".to_owned()
        }
        true => "exact: every exchange was measured".to_owned(),
        false => format!("estimated from a sample, with 95% intervals{extremes}"),
    };
    let mut method = last.method.clone();
    reports.iter().for_each(|report| coarsest(&mut method.parameters, &report.method.parameters));
    footing::method(&method, &how, to)?;
    footing::warnings(reports.iter().flat_map(|r| &r.warnings), to)
}

/// Of the parameters that differ between intervals, those of the least accurate one: the coarsest resolution, the smallest
/// probabilities, the earliest time since which exchanges were sampled.
fn coarsest(all: &mut BTreeMap<&'static str, Parameter>, of: &BTreeMap<&'static str, Parameter>) {
    for (&name, value) in of {
        match (all.entry(name).or_insert_with(|| value.clone()), value) {
            (Parameter::Map(all), Parameter::Map(of)) => coarsest(all, of),
            (Parameter::Real(all), Parameter::Real(of)) if name == "relative_resolution" => *all = all.max(*of),
            (Parameter::Real(all), Parameter::Real(of)) => *all = all.min(*of),
            (Parameter::Moment(all), Parameter::Moment(of)) => *all = (*all).min(*of),
            _ => (),
        }
    }
}

/// Requests and responses by fate, summed over groups, without columns that are zero everywhere; as two grids if
/// one would be too wide. For a series: those open at its beginning and at its end, and the sums of all other fates.
fn requests(reports: &[RttReport], to: &mut impl Write) -> io::Result<()> {
    /// First column of the second grid.
    const SECOND: usize = 8;
    let mut rules: Vec<(String, [Column; 11])> = Vec::new();
    for (i, report) in reports.iter().enumerate() {
        for line in &report.results {
            let columns = columns(line, i == 0, i + 1 == reports.len());
            match rules.iter_mut().find(|r| r.0 == line.rule()) {
                Some((_, sums)) => sums.iter_mut().zip(columns).for_each(|(sum, c)| sum.1 = sum.1.saturating_add(c.1)),
                None => rules.push((line.rule(), columns)),
            }
        }
    }
    let all = rules.first().map_or(0, |rule| rule.1.len());
    let grid = |columns: std::ops::Range<usize>| {
        let shown: Vec<usize> = columns.filter(|&c| rules.iter().any(|r| r.1[c].1 > 0)).collect();
        let mut grid = Grid::default();
        let heads = rules.iter().take(1).flat_map(|rule| shown.iter().map(|&c| rule.1[c].0.to_owned()));
        grid.row(std::iter::once(String::new()).chain(heads));
        for (rule, counts) in &rules {
            let cells = shown.iter().map(|&c| text::count(counts[c].1));
            grid.row(std::iter::once(rule.clone()).chain(cells));
        }
        grid
    };
    let whole = grid(0..all);
    if whole.width() <= WIDTH {
        return whole.write(to);
    }
    grid(0..SECOND).write(to)?;
    writeln!(to)?;
    grid(SECOND..all).write(to)
}

/// A column heading and the count below it.
type Column = (&'static str, u64);

/// The fates of a line's requests and responses; `is_first` and `is_last` tell the position of its report in a series.
fn columns(line: &ResultLine, is_first: bool, is_last: bool) -> [Column; 11] {
    let requests = &line.requests;
    [
        ("carried over", if is_first { requests.carried_over } else { 0 }),
        ("requests", requests.seen),
        ("matched", requests.matched),
        ("not admitted", requests.not_admitted),
        ("evicted", requests.evicted),
        ("expired", requests.expired),
        ("ambiguous", requests.ambiguous),
        ("pending", if is_last { requests.pending } else { 0 }),
        ("responses", line.responses.seen),
        ("unmatched", line.responses.unmatched),
        ("unresolved", line.ambiguous_samples),
    ]
}

/// The frames of all reports, added up.
fn frames(reports: &[RttReport]) -> Option<Frames> {
    let mut all = reports.iter().filter_map(|r| r.frames.as_ref());
    let mut sum = all.next()?.clone();
    all.for_each(|frames| sum.add(frames));
    Some(sum)
}
