//! OpenMetrics 1.0 text: all packets, and each flow. No timestamps: values are current at the time of the scrape.

use super::{Line, OwdReport};
use crate::openmetrics::{Histogram, bounds, common, escaped, family, number, seconds};
use crate::quantiles::names;
use std::io::{self, Write};

/// Writes one report.
pub fn write(report: &OwdReport, to: &mut impl Write) -> io::Result<()> {
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
    common(report.frames.as_ref(), &report.memory, to)?;
    // Not of type "info", which the older text format lacks: node_exporter rejects files that contain it.
    family("dwell_owd_method_info", "gauge", None, "How delays were measured, and whether nothing was estimated.", to)?;
    let (name, exact) = (escaped(report.method.name), report.method.exact);
    writeln!(to, "dwell_owd_method_info{{method=\"{name}\",exact=\"{exact}\"}} 1")?;
    writeln!(to, "# EOF")
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
        for (bound, value) in line.loss_rate.iter().flat_map(bounds) {
            writeln!(to, "{NAME}{{{labels},bound=\"{bound}\"}} {}", number(value))?;
        }
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
            histogram.add(line.histogram.iter().map(|bin| (bin.to_ns, bin.packets.value)), 0.0, mean.value);
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
        for (name, estimate) in [("mean", d.mean), ("std", d.std)].into_iter().chain(real) {
            for (bound, value) in estimate.iter().flat_map(bounds) {
                writeln!(to, "{NAME}{{{labels},statistic=\"{name}\",bound=\"{bound}\"}} {}", seconds(value))?;
            }
        }
    }
    Ok(())
}
