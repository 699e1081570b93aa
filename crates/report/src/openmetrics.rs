//! OpenMetrics 1.0 text, for Prometheus and what speaks its language. Unknown values are absent.

use crate::facts::{Frames, Memory};
use crate::rtt::{Flow, ResultLine, RttReport};
use dwell_sketch::estimate::Estimate;
use std::io::{self, Write};

/// The content type to serve this text with.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Writes one report. There are no timestamps: the values hold when they are read.
pub fn write(report: &RttReport, to: &mut impl Write) -> io::Result<()> {
    delay(&report.results, to)?;
    quantiles(&report.results, to)?;
    exchanges(&report.results, to)?;
    counters(&report.results, to)?;
    if !report.flows.is_empty() {
        flows(&report.flows, to)?;
    }
    common(report.frames.as_ref(), &report.memory, to)?;
    family("dwell_rtt_method", "info", None, "How delays were measured, and whether nothing was estimated.", to)?;
    let (name, exact) = (escaped(report.method.name), report.method.exact);
    writeln!(to, "dwell_rtt_method_info{{method=\"{name}\",exact=\"{exact}\"}} 1")?;
    writeln!(to, "# EOF")
}

/// What every report says: frames and memory.
pub(crate) fn common(frames: Option<&Frames>, memory: &Memory, to: &mut impl Write) -> io::Result<()> {
    if let Some(frames) = frames {
        family("dwell_frames", "counter", None, "Frames read, by fate: decoded, or the reason of rejection.", to)?;
        writeln!(to, "dwell_frames_total{{fate=\"decoded\"}} {}", frames.decoded)?;
        for (reason, count) in &frames.rejected {
            writeln!(to, "dwell_frames_total{{fate=\"{}\"}} {count}", escaped(reason))?;
        }
    }
    family("dwell_memory_state_bytes", "gauge", Some("bytes"), "What the data structures held at most.", to)?;
    writeln!(to, "dwell_memory_state_bytes {}", memory.state_bytes)?;
    if let Some(budget) = memory.budget_bytes {
        family("dwell_memory_budget_bytes", "gauge", Some("bytes"), "What the data structures may hold.", to)?;
        writeln!(to, "dwell_memory_budget_bytes {budget}")?;
    }
    Ok(())
}

pub(crate) fn family(name: &str, kind: &str, unit: Option<&str>, help: &str, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "# TYPE {name} {kind}")?;
    if let Some(unit) = unit {
        writeln!(to, "# UNIT {name} {unit}")?;
    }
    writeln!(to, "# HELP {name} {help}")
}

/// The histogram. Counts are estimates rounded to integers, because the format knows no others.
fn delay(results: &[ResultLine], to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_rtt_delay_seconds";
    family(NAME, "histogram", Some("seconds"), "Delay from request to response, estimated for all exchanges.", to)?;
    for line in results {
        let (Some(exchanges), Some(mean)) = (line.exchanges, line.delay_ns.mean) else { continue };
        let binned: f64 = line.histogram.iter().map(|b| b.exchanges.value).sum();
        if !(binned.is_finite() && exchanges.value.is_finite()) {
            continue;
        }
        let labels = labels(line);
        let (mut total, mut below_zero) = (0.0, false);
        for bin in &line.histogram {
            total += bin.exchanges.value;
            below_zero |= bin.to_ns < 0;
            let le = seconds(bin.to_ns as f64);
            writeln!(to, "{NAME}_bucket{{{labels},le=\"{le}\"}} {:.0}", total.round())?;
        }
        let total = total.max(exchanges.value);
        writeln!(to, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {:.0}", total.round())?;
        // With negative bucket bounds there must be no sum, and without a sum no count (OpenMetrics 1.0, Histogram).
        if !below_zero && mean.value >= 0 {
            writeln!(to, "{NAME}_count{{{labels}}} {:.0}", total.round())?;
            writeln!(to, "{NAME}_sum{{{labels}}} {}", number(mean.value as f64 / 1e9 * total))?;
        }
    }
    Ok(())
}

fn quantiles(results: &[ResultLine], to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_rtt_delay_quantile_seconds";
    family(NAME, "gauge", Some("seconds"), "Quantiles of the delay with both ends of their 95% intervals.", to)?;
    for line in results {
        let labels = labels(line);
        for (share, quantile) in line.delay_ns.quantiles() {
            for (bound, value) in quantile.iter().flat_map(bounds) {
                let value = seconds(value as f64);
                writeln!(to, "{NAME}{{{labels},quantile=\"{share}\",bound=\"{bound}\"}} {value}")?;
            }
        }
    }
    Ok(())
}

fn exchanges(results: &[ResultLine], to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_rtt_exchanges";
    family(NAME, "gauge", None, "Answered requests with both ends of their 95% interval.", to)?;
    for line in results {
        let labels = labels(line);
        for (bound, value) in line.exchanges.iter().flat_map(bounds).filter(|b| b.1.is_finite()) {
            writeln!(to, "{NAME}{{{labels},bound=\"{bound}\"}} {}", number(value))?;
        }
    }
    Ok(())
}

fn counters(results: &[ResultLine], to: &mut impl Write) -> io::Result<()> {
    family("dwell_rtt_samples", "counter", None, "Measured delays that the estimates rest on.", to)?;
    for line in results {
        writeln!(to, "dwell_rtt_samples_total{{{}}} {}", labels(line), line.samples)?;
    }
    family("dwell_rtt_ambiguous_samples", "counter", None, "Samples known only to lie between two bounds.", to)?;
    for line in results {
        writeln!(to, "dwell_rtt_ambiguous_samples_total{{{}}} {}", labels(line), line.ambiguous_samples)?;
    }
    family("dwell_rtt_requests", "counter", None, "Requests seen, by fate.", to)?;
    for line in results {
        let labels = labels(line);
        for (fate, count) in line.requests.fates() {
            writeln!(to, "dwell_rtt_requests_total{{{labels},fate=\"{fate}\"}} {count}")?;
        }
    }
    family("dwell_rtt_responses", "counter", None, "Possible responses seen, by fate.", to)?;
    for line in results {
        let labels = labels(line);
        let matched = line.responses.seen.saturating_sub(line.responses.unmatched);
        for (fate, count) in [("matched", matched), ("unmatched", line.responses.unmatched)] {
            writeln!(to, "dwell_rtt_responses_total{{{labels},fate=\"{fate}\"}} {count}")?;
        }
    }
    Ok(())
}

fn flows(flows: &[Flow], to: &mut impl Write) -> io::Result<()> {
    const DELAY: &str = "dwell_rtt_flow_delay_seconds";
    family("dwell_rtt_flow_packets", "counter", None, "Packets of the flows with the most bytes.", to)?;
    for flow in flows {
        writeln!(to, "dwell_rtt_flow_packets_total{{flow=\"{}\"}} {}", escaped(&flow.flow), flow.packets)?;
    }
    family("dwell_rtt_flow_bytes", "counter", Some("bytes"), "Bytes of these flows, from the IP header on.", to)?;
    for flow in flows {
        writeln!(to, "dwell_rtt_flow_bytes_total{{flow=\"{}\"}} {}", escaped(&flow.flow), flow.bytes)?;
    }
    family(DELAY, "gauge", Some("seconds"), "Delays of these flows with both ends of their 95% intervals.", to)?;
    for (flow, line) in flows.iter().flat_map(|flow| flow.results.iter().map(move |line| (flow, line))) {
        let labels = [("flow", flow.flow.as_str()), ("match", line.matching), ("leg", line.leg)];
        let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).join(",");
        let d = &line.delay_ns;
        let statistics = [("mean", d.mean), ("p50", d.p50), ("p95", d.p95), ("min", d.min), ("max", d.max)];
        for (name, estimate) in statistics {
            for (bound, value) in estimate.iter().flat_map(bounds) {
                let value = seconds(value as f64);
                writeln!(to, "{DELAY}{{{labels},statistic=\"{name}\",bound=\"{bound}\"}} {value}")?;
            }
        }
    }
    Ok(())
}

pub(crate) fn bounds<T: Copy>(estimate: &Estimate<T>) -> [(&'static str, T); 3] {
    [("low", estimate.low), ("value", estimate.value), ("high", estimate.high)]
}

fn labels(line: &ResultLine) -> String {
    let [matching, leg, group] = [line.matching, line.leg, &line.group].map(escaped);
    format!("match=\"{matching}\",leg=\"{leg}\",group=\"{group}\"")
}

/// A label value with backslash, double quote and line feed escaped.
pub(crate) fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(crate) fn seconds(nanos: f64) -> String {
    number(nanos / 1e9)
}

/// The canonical form of a number: the shortest digits that read back the same, with an exponent of at least two digits
/// below 0.0001 and from 1,000,000 on (OpenMetrics 1.0, Canonical Numbers).
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0.0".into();
    }
    if (1e-4..1e6).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_numbers() {
        let cases = [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.000_012_589, "1.2589e-05"),
            (1_000_000.0, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (1e10, "1e+10"),
            (-0.25, "-0.25"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(seconds(1_258_925.0), "0.001258925");
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
    }
}
