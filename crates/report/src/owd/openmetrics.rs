//! OpenMetrics 1.0 text: all packets, and each flow. No timestamps: values are current at the time of the scrape.

use super::{Line, OwdReport};
use crate::openmetrics::{Histogram, Label, end, escaped, estimate, family, labelled, number, seconds};
use crate::quantiles::names;
use std::io::{self, Write};

/// Writes one report.
pub fn write(report: &OwdReport, labels: &[Label], to: &mut impl Write) -> io::Result<()> {
    labelled(labels, to, |to| write_all(report, to))
}

fn write_all(report: &OwdReport, to: &mut impl Write) -> io::Result<()> {
    let mut lines = vec![("direction=\"forward\",flow=\"\"".to_owned(), &report.total)];
    if let Some(reverse) = &report.reverse {
        lines.push(("direction=\"reverse\",flow=\"\"".to_owned(), reverse));
    }
    let flows = report.flows.iter().map(|f| (format!("direction=\"forward\",flow=\"{}\"", escaped(&f.flow)), &f.line));
    lines.extend(flows);
    packets(&lines, to)?;
    loss_rate(&lines, to)?;
    histograms(&lines, to)?;
    delays(&lines, to)?;
    end("owd", report.frames.as_ref(), &report.memory, &report.method, to)
}

type Lines<'a> = [(String, &'a Line)];

fn packets(lines: &Lines<'_>, to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_owd_packets";
    family(NAME, "counter", None, "Packets sent, by fate.", to)?;
    for (labels, line) in lines {
        for (fate, count) in [("received", line.received), ("lost", line.lost), ("uncovered", line.uncovered)] {
            writeln!(to, "{NAME}_total{{{labels},fate=\"{fate}\"}} {count}")?;
        }
    }
    Ok(())
}

fn loss_rate(lines: &Lines<'_>, to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_owd_loss_ratio";
    family(
        NAME,
        "gauge",
        Some("ratio"),
        "Share of the packets that was lost, with both ends of its 95% interval.",
        to,
    )?;
    for (labels, line) in lines {
        estimate(NAME, labels, line.loss_rate, number, to)?;
    }
    Ok(())
}

fn histograms(lines: &Lines<'_>, to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_owd_delay_seconds";
    family(
        NAME,
        "histogram",
        Some("seconds"),
        "One-way delay, estimated for all packets that arrived and are not ambiguous.",
        to,
    )?;
    for (labels, line) in lines {
        let mut histogram = Histogram::default();
        if let Some(mean) = line.delay_ns.mean.filter(|_| !line.histogram.is_empty()) {
            histogram.add(line.histogram.iter().map(|bin| (bin.to_ns, bin.packets.value)), None, mean.value);
        }
        histogram.write(NAME, labels, to)?;
    }
    Ok(())
}

fn delays(lines: &Lines<'_>, to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_owd_delay_statistic_seconds";
    family(
        NAME,
        "gauge",
        Some("seconds"),
        "Statistics of the one-way delay with both ends of their 95% intervals.",
        to,
    )?;
    for (labels, line) in lines {
        let d = &line.delay_ns;
        let whole = names().into_iter().zip(d.quantiles).chain([("min", d.min), ("max", d.max)]);
        let real = whole.map(|(name, e)| (name, e.map(|e| e.map(|ns| ns as f64))));
        for (name, delay) in [("mean", d.mean), ("std", d.std)].into_iter().chain(real) {
            estimate(NAME, &format!("{labels},statistic=\"{name}\""), delay, seconds, to)?;
        }
    }
    Ok(())
}
