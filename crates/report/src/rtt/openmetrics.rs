//! OpenMetrics 1.0 text, for Prometheus and compatible tools. Unknown values are left out.

use super::answer::next_edge;
use super::{Flow, OF_FLOWS, Quic, ResultLine, RttReport};
use crate::openmetrics::{bounds, common, escaped, family, number, seconds};
use crate::quantiles::QUANTILES;
use std::io::{self, Write};

/// Writes one report. No timestamps: values are current at the time of the scrape.
pub fn write(report: &RttReport, to: &mut impl Write) -> io::Result<()> {
    delay(&report.results, to)?;
    quantiles(&report.results, to)?;
    exchanges(&report.results, to)?;
    counters(&report.results, to)?;
    if !report.flows.is_empty() {
        flows(&report.flows, to)?;
    }
    if let Some(quic) = &report.quic {
        connections(quic, to)?;
    }
    common(report.frames.as_ref(), &report.memory, to)?;
    // Not of type "info", which the older text format lacks: node_exporter rejects files that contain it.
    family("dwell_rtt_method_info", "gauge", None, "How delays were measured, and whether nothing was estimated.", to)?;
    let (name, exact) = (escaped(report.method.name), report.method.exact);
    writeln!(to, "dwell_rtt_method_info{{method=\"{name}\",exact=\"{exact}\"}} 1")?;
    writeln!(to, "# EOF")
}

fn connections(quic: &Quic, to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_rtt_quic_connections";
    family(NAME, "gauge", None, "QUIC connections seen to begin, by whether they spin.", to)?;
    let states = [("spinning", quic.spinning), ("not-spinning", quic.not_spinning), ("undecided", quic.undecided)];
    states.iter().try_for_each(|(state, number)| writeln!(to, "{NAME}{{state=\"{state}\"}} {number}"))
}

/// The upper edges of all buckets, in nanoseconds: 1, 2 and 5 times powers of ten, from a microsecond to beyond the
/// longest time that a request may wait. Every series has all of them, whatever its delays: a sum over several series
/// is a histogram only then.
fn edges() -> impl Iterator<Item = i64> {
    const FIRST: i64 = 1_000;
    const LAST: i64 = 200_000_000_000_000;
    std::iter::successors(Some(FIRST), |&edge| Some(next_edge(edge))).take_while(|&edge| edge <= LAST)
}

/// The histogram. Counts are estimates rounded to integers, since the format allows only integers.
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
        let mut bins = line.histogram.iter().peekable();
        let mut total = 0.0;
        for edge in edges() {
            while let Some(bin) = bins.next_if(|bin| bin.to_ns <= edge) {
                total += bin.exchanges.value;
            }
            let le = seconds(edge as f64);
            writeln!(to, "{NAME}_bucket{{{labels},le=\"{le}\"}} {:.0}", total.round())?;
        }
        let total = binned.max(exchanges.value);
        writeln!(to, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {:.0}", total.round())?;
        // A sum that negative delays lower is no counter; without a sum there is no count (OpenMetrics 1.0, Histogram).
        if line.histogram.iter().all(|bin| bin.to_ns >= 0) && mean.value >= 0 {
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
        for ((_, share), quantile) in QUANTILES.into_iter().zip(line.delay_ns.quantiles) {
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
        let quantiles = OF_FLOWS.map(|q| (QUANTILES[q].0, d.quantiles[q]));
        let statistics = [("mean", d.mean)].into_iter().chain(quantiles).chain([("min", d.min), ("max", d.max)]);
        for (name, estimate) in statistics {
            for (bound, value) in estimate.iter().flat_map(bounds) {
                let value = seconds(value as f64);
                writeln!(to, "{DELAY}{{{labels},statistic=\"{name}\",bound=\"{bound}\"}} {value}")?;
            }
        }
    }
    Ok(())
}

fn labels(line: &ResultLine) -> String {
    let [matching, leg, group] = [line.matching, line.leg, &line.group].map(escaped);
    format!("match=\"{matching}\",leg=\"{leg}\",group=\"{group}\"")
}
