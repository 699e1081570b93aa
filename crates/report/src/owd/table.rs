//! The human-readable table: all packets, then intervals, then flows; below, what the numbers are based on.

use super::{Interval, Line, OwdReport, PointFacts, whole};
use crate::footing::{self, item};
use crate::grid::Grid;
use crate::heading;
use crate::quantiles::{MAIN, QUANTILES};
use crate::text;
use dwell_types::Series;
use std::io::{self, Write};

/// Writes the report.
pub fn write(report: &OwdReport, to: &mut impl Write) -> io::Result<()> {
    heading::write(&report.sources, " → ", report.span_ns, to)?;
    writeln!(to)?;
    if report.total.sent == 0 && report.points.receiver.packets == 0 {
        writeln!(to, "No packets were seen.")?;
    } else {
        lines(report).write(to)?;
    }
    writeln!(to)?;
    footing(report, to)
}

fn lines(report: &OwdReport) -> Grid {
    let flows = report.flows.iter().map(|f| &f.line);
    let intervals = report.intervals.iter().map(|i| &i.line);
    let estimated = intervals.chain(flows).chain(&report.reverse).chain([&report.total]).any(Line::is_estimated);
    let mut grid = Grid::default();
    let mut head = ["", "sent", "lost", "loss", "mean", "deviation"].to_vec();
    head.extend(MAIN.map(|q| QUANTILES[q].0).into_iter().chain(["max"]));
    grid.row(head);
    row(&mut grid, Series::ALL, &report.total, estimated);
    if let Some(reverse) = &report.reverse {
        row(&mut grid, "reverse", reverse, estimated);
    }
    let times = text::Times::of_intervals(report.intervals.iter().map(Interval::span));
    if let Some(first) = report.intervals.first() {
        let day = if times.has_day { String::new() } else { format!(", {}", text::day(first.start_ns)) };
        grid.heading(format!("intervals{day}"));
    }
    for interval in &report.intervals {
        row(&mut grid, &format!("  {}", times.text(interval.start_ns)), &interval.line, estimated);
    }
    for flow in &report.flows {
        grid.heading(flow.flow.clone());
        if let Some(bytes) = flow.uncounted_bytes.filter(|&bytes| bytes > 0) {
            grid.heading(format!("  up to {} more counted as other", text::bytes(bytes)));
        }
        row(&mut grid, "", &flow.line, estimated);
    }
    grid
}

fn row(grid: &mut Grid, name: &str, line: &Line, estimated: bool) {
    let d = &line.delay_ns;
    let delays =
        || [d.mean, d.std].map(|e| e.map(whole)).into_iter().chain(MAIN.map(|q| d.quantiles[q])).chain([d.max]);
    let loss = text::or_dash(line.loss_rate, |e| text::percent(e.value));
    // If no packet could be compared, or none was sampled, the number of losses is not known.
    let is_known = line.received + line.lost > 0 || line.sent == 0;
    let lost = if is_known { text::count(line.lost) } else { text::DASH.into() };
    let mut cells = vec![name.to_owned(), text::count(line.sent), lost, loss];
    cells.extend(delays().map(text::delay));
    grid.row(cells);
    if estimated {
        let samples = text::count_of(line.effective_samples, "sample");
        let mut cells = vec![format!("  {samples}"), String::new(), String::new()];
        let rate = line.loss_rate.filter(|e| !e.is_exact());
        cells.push(rate.map_or_else(String::new, |e| format!("[{}–{}]", text::percent(e.low), text::percent(e.high))));
        cells.extend(delays().map(|d| d.map(text::interval).unwrap_or_default()));
        grid.row(cells);
    }
}

fn footing(report: &OwdReport, to: &mut impl Write) -> io::Result<()> {
    let total = &report.total;
    let is_lda = report.method.name == "lda";
    fates("sent", total, if is_lda { NOT_JOINED } else { "before or after what the receiver saw" }, to)?;
    if let Some(jitter) = total.jitter_ns {
        item("jitter", &text::time(jitter), to)?;
    }
    if let Some(reverse) = &report.reverse {
        fates("reverse", reverse, "before or after what the sender saw", to)?;
    }
    clocks(report, to)?;
    let unsent = if is_lda { NOT_JOINED } else { "not seen at the other point" };
    point("sender", &report.points.sender, unsent, to)?;
    point("receiver", &report.points.receiver, unsent, to)?;
    footing::memory(&report.memory, to)?;
    let how = match total.delay_ns.max {
        _ if report.method.exact => "exact: every packet was compared",
        Some(_) => "estimated, with 95% intervals; max is that of the sample",
        None => "estimated, with 95% intervals",
    };
    footing::method(&report.method, how, to)?;
    footing::warnings(&report.warnings, to)
}

/// What became of the packets of one direction.
fn fates(name: &str, line: &Line, uncovered: &str, to: &mut impl Write) -> io::Result<()> {
    let parts = [("received", line.received), ("lost", line.lost), (uncovered, line.uncovered)];
    item(name, &footing::sum_of(line.sent, &parts), to)?;
    if let Some(runs) = line.loss_runs.filter(|runs| runs.count > 0) {
        let longest = text::count(runs.longest);
        item("", &format!("lost in {}, the longest of {longest}", text::count_of(runs.count, "run")), to)?;
    }
    if line.ambiguous > 0 {
        let ambiguous = text::count(line.ambiguous);
        item(
            "",
            &format!("{ambiguous} of those received are ambiguous and have no delay: equal packets were in flight"),
            to,
        )?;
    }
    Ok(())
}

/// What the delays of both directions say about the clocks.
fn clocks(report: &OwdReport, to: &mut impl Write) -> io::Result<()> {
    match (report.clock_offset_ns, report.clock_drift) {
        (Some(offset), drift) => {
            item("clocks", &format!("the receiver's is {offset}, by delays of both directions"), to)?;
            drift.map_or(Ok(()), |drift| item("", &format!("a drift of {} is possible", drift.ppm), to))
        }
        (None, Some(drift)) => {
            let (start, end) = (drift.start_ns, drift.end_ns);
            item("clocks", &format!("the receiver's is {start} at first, and {end} at last,"), to)?;
            item("", &format!("a drift of {}, bounded by delays of both directions", drift.ppm), to)
        }
        (None, None) => Ok(()),
    }
}

const NOT_JOINED: &str = "in intervals that could not be joined";

fn point(name: &str, point: &PointFacts, unsent: &str, to: &mut impl Write) -> io::Result<()> {
    let mut words = vec![format!("{} compared", text::count_of(point.packets, "packet"))];
    let mut count = |number: u64, what: &str| {
        if number > 0 {
            words.push(format!("{} {what}", text::count(number)));
        }
    };
    count(point.unsent.unwrap_or(0), &format!("of them {unsent}"));
    count(point.duplicates.unwrap_or(0), "of them duplicates");
    count(point.elsewhere.unwrap_or(0), "of other directions or of one side");
    count(point.cut.unwrap_or(0), "truncated");
    item(name, &words.join(", "), to)?;
    match &point.frames {
        Some(frames) => footing::frames(frames, to),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of nine packets none was sampled, so that the fate of none is known; where none was sent, none was lost.
    #[test]
    fn losses_are_unknown_without_samples() {
        let lost = |sent| {
            let mut grid = Grid::default();
            row(&mut grid, "", &Line { sent, ..Line::default() }, false);
            let mut text = Vec::new();
            grid.write(&mut text).unwrap();
            String::from_utf8(text).unwrap().split_whitespace().nth(1).unwrap().to_owned()
        };
        assert_eq!([lost(9), lost(0)], ["–", "0"]);
    }
}
