//! OpenMetrics 1.0 text, for Prometheus and compatible tools. Unknown values are left out.

use super::{Flow, OF_FLOWS, Quic, Requests, Responses, ResultLine, RttReport};
use crate::facts::Frames;
use crate::openmetrics::{Histogram, Label, bounds, end, escaped, estimate, family, labelled, number, seconds};
use crate::quantiles::QUANTILES;
use std::collections::HashMap;
use std::io::{self, Write};

/// What has been counted in the reports of successive intervals: counters and histograms must not fall from one to the
/// next.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// In the order of their first reports.
    lines: Vec<Counters>,
    places: HashMap<String, usize>,
    frames: Option<Frames>,
}

/// The counters of one result.
#[derive(Clone, Debug)]
struct Counters {
    labels: String,
    samples: u64,
    ambiguous_samples: u64,
    /// The requests that are not open any more, by fate.
    requests: [(&'static str, u64); 5],
    responses: Responses,
    histogram: Histogram,
}

impl Counted {
    /// Counts what a report says.
    pub fn add(&mut self, report: &RttReport) {
        for line in &report.results {
            let labels = labels(line);
            let place = *self.places.entry(labels).or_insert_with_key(|labels| {
                self.lines.push(Counters::new(labels.clone()));
                self.lines.len() - 1
            });
            self.lines[place].add(line);
        }
        if let Some(frames) = &report.frames {
            self.frames.get_or_insert_default().add(frames);
        }
    }

    /// Writes what was counted so far; all that is not counted is that of the last report. No timestamps: values are
    /// current at the time of the scrape.
    pub fn write(&self, last: &RttReport, labels: &[Label], to: &mut impl Write) -> io::Result<()> {
        labelled(labels, to, |to| self.write_all(last, to))
    }

    fn write_all(&self, last: &RttReport, to: &mut impl Write) -> io::Result<()> {
        self.delay(to)?;
        quantiles(&last.results, to)?;
        exchanges(&last.results, to)?;
        self.counters(to)?;
        pending(&last.results, to)?;
        if !last.flows.is_empty() {
            flows(&last.flows, to)?;
        }
        if let Some(quic) = &last.quic {
            connections(quic, to)?;
        }
        end("rtt", self.frames.as_ref(), &last.memory, &last.method, to)
    }

    fn delay(&self, to: &mut impl Write) -> io::Result<()> {
        const NAME: &str = "dwell_rtt_delay_seconds";
        family(NAME, "histogram", Some("seconds"), "Delay from request to response, estimated for all exchanges.", to)?;
        self.lines.iter().try_for_each(|line| line.histogram.write(NAME, &line.labels, to))
    }

    fn counters(&self, to: &mut impl Write) -> io::Result<()> {
        family("dwell_rtt_samples", "counter", None, "Measured delays that the estimates rest on.", to)?;
        for Counters { labels, samples, .. } in &self.lines {
            writeln!(to, "dwell_rtt_samples_total{{{labels}}} {samples}")?;
        }
        family("dwell_rtt_ambiguous_samples", "counter", None, "Samples known only to lie between two bounds.", to)?;
        for Counters { labels, ambiguous_samples, .. } in &self.lines {
            writeln!(to, "dwell_rtt_ambiguous_samples_total{{{labels}}} {ambiguous_samples}")?;
        }
        family("dwell_rtt_requests", "counter", None, "Requests that are not open any more, by fate.", to)?;
        for Counters { labels, requests, .. } in &self.lines {
            for (fate, count) in requests {
                writeln!(to, "dwell_rtt_requests_total{{{labels},fate=\"{fate}\"}} {count}")?;
            }
        }
        family("dwell_rtt_responses", "counter", None, "Possible responses seen, by fate.", to)?;
        for Counters { labels, responses, .. } in &self.lines {
            let matched = responses.seen.saturating_sub(responses.unmatched);
            for (fate, count) in [("matched", matched), ("unmatched", responses.unmatched)] {
                writeln!(to, "dwell_rtt_responses_total{{{labels},fate=\"{fate}\"}} {count}")?;
            }
        }
        Ok(())
    }
}

impl Counters {
    fn new(labels: String) -> Self {
        Self {
            labels,
            samples: 0,
            ambiguous_samples: 0,
            requests: Requests::default().ended(),
            responses: Responses::default(),
            histogram: Histogram::default(),
        }
    }

    fn add(&mut self, line: &ResultLine) {
        self.samples += line.samples;
        self.ambiguous_samples += line.ambiguous_samples;
        for ((_, sum), (_, count)) in self.requests.iter_mut().zip(line.requests.ended()) {
            *sum += count;
        }
        self.responses.seen += line.responses.seen;
        self.responses.unmatched += line.responses.unmatched;
        if let (Some(exchanges), Some(mean)) = (line.exchanges, line.delay_ns.mean) {
            let bins = line.histogram.iter().map(|bin| (bin.to_ns, bin.exchanges.value));
            self.histogram.add(bins, Some(exchanges.value), mean.value as f64);
        }
    }
}

fn connections(quic: &Quic, to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_rtt_quic_connections";
    family(NAME, "gauge", None, "QUIC connections seen to begin, by whether they spin.", to)?;
    let states = [("spinning", quic.spinning), ("not-spinning", quic.not_spinning), ("undecided", quic.undecided)];
    states.iter().try_for_each(|(state, number)| writeln!(to, "{NAME}{{state=\"{state}\"}} {number}"))
}

fn quantiles(results: &[ResultLine], to: &mut impl Write) -> io::Result<()> {
    const NAME: &str = "dwell_rtt_delay_quantile_seconds";
    family(NAME, "gauge", Some("seconds"), "Quantiles of the delay with both ends of their 95% intervals.", to)?;
    for line in results {
        let labels = labels(line);
        for ((_, share), quantile) in QUANTILES.into_iter().zip(line.delay_ns.quantiles) {
            estimate(NAME, &format!("{labels},quantile=\"{share}\""), quantile, |ns| seconds(ns as f64), to)?;
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

fn pending(results: &[ResultLine], to: &mut impl Write) -> io::Result<()> {
    family("dwell_rtt_pending_requests", "gauge", None, "Requests that are open.", to)?;
    for line in results {
        writeln!(to, "dwell_rtt_pending_requests{{{}}} {}", labels(line), line.requests.pending)?;
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
        for (name, delay) in statistics {
            estimate(DELAY, &format!("{labels},statistic=\"{name}\""), delay, |ns| seconds(ns as f64), to)?;
        }
    }
    Ok(())
}

fn labels(line: &ResultLine) -> String {
    let [matching, leg, group] = [line.matching, line.leg, &line.group].map(escaped);
    format!("match=\"{matching}\",leg=\"{leg}\",group=\"{group}\"")
}
