//! Reports built by hand, with numbers like those of real captures.
#![allow(dead_code, unreachable_pub, reason = "every test takes the reports that it needs")]

use dwell_report::facts::{Frames, Memory, MethodFacts, Parameter, Span};
use dwell_report::openmetrics::Label;
use dwell_report::quantiles::QUANTILES;
use dwell_report::rtt::openmetrics::Counted;
use dwell_report::rtt::{Bin, Delays, Flow, FlowResult, Quic, Requests, Responses, ResultLine, RttReport, SCHEMA};
use dwell_report::shape::CdfPoint;
use dwell_sketch::estimate::Estimate;
use std::collections::BTreeMap;
use std::io::{self, Write};

const START: i64 = 1_700_000_000_000_000_000;

/// Parameters of a result line.
struct Shape {
    matching: &'static str,
    leg: &'static str,
    group: &'static str,
    exchanges: u64,
    /// Share of the exchanges that were sampled; at 1 nothing is estimated.
    sampled: f64,
    /// Peaks of the density: weight, median in ns, scale of the logarithm.
    peaks: &'static [(f64, f64, f64)],
}

/// The share of exchanges that take at most `delay_ns`: a mixture of log-logistic distributions, which have a closed
/// form.
fn share(peaks: &[(f64, f64, f64)], delay_ns: f64) -> f64 {
    peaks.iter().map(|(weight, median, spread)| weight / (1.0 + (delay_ns / median).powf(-1.0 / spread))).sum()
}

/// The delay that the given share of exchanges does not exceed, found by bisection.
fn quantile(peaks: &[(f64, f64, f64)], wanted: f64) -> i64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle: f64 = (low + high) / 2.0;
        if share(peaks, middle.exp()) < wanted { low = middle } else { high = middle }
    }
    f64::exp(low).round() as i64
}

impl Shape {
    fn line(&self) -> ResultLine {
        let samples = (self.exchanges as f64 * self.sampled).round();
        let exact = self.sampled >= 1.0;
        // Half the width of a share's 95% interval.
        let half = |p: f64| if exact { 0.0 } else { 1.96 * (p * (1.0 - p) / samples).sqrt() };
        let delay = |p: f64| {
            Some(Estimate {
                value: quantile(self.peaks, p),
                low: quantile(self.peaks, (p - half(p)).max(1e-6)),
                high: quantile(self.peaks, (p + half(p)).min(1.0 - 1e-6)),
            })
        };
        let extreme = |p: f64| Some(Estimate::exact(quantile(self.peaks, p)));
        let number = self.exchanges as f64;
        let spread = if exact { 0.0 } else { 1.96 * number * ((1.0 - self.sampled) / samples).sqrt() };
        let (smallest, largest) = (0.5 / samples, 1.0 - 0.5 / samples);
        let mean = (1..200).map(|i| quantile(self.peaks, f64::from(i) / 200.0)).sum::<i64>() / 199;
        let mean_half = if exact { 0 } else { mean / 40 };
        let decades = (3..11).flat_map(|d| [1, 2, 5].map(|step| step * 10i64.pow(d)));
        let (from, to) = (quantile(self.peaks, smallest) * 2 / 5, quantile(self.peaks, largest) * 5 / 2);
        let edges: Vec<i64> = decades.filter(|e| (from..=to).contains(e)).collect();
        let histogram = edges
            .windows(2)
            .map(|e| {
                let below = |edge: i64| match edge {
                    e if Some(&e) == edges.first() => 0.0,
                    e if Some(&e) == edges.last() => number,
                    e if exact => (number * share(self.peaks, e as f64)).round(),
                    e => number * share(self.peaks, e as f64),
                };
                let value = below(e[1]) - below(e[0]);
                let half = number * half(value / number);
                Bin {
                    from_ns: e[0],
                    to_ns: e[1],
                    exchanges: Estimate { value, low: (value - half).max(0.0), high: value + half },
                }
            })
            .collect();
        let points = samples.min(400.0) as u32;
        let cdf = (0..points)
            .map(|i| {
                let p = (f64::from(i) + 0.5) / f64::from(points);
                let share = Estimate { value: p, low: (p - half(p)).max(0.0), high: (p + half(p)).min(1.0) };
                let delay_ns = quantile(self.peaks, p);
                CdfPoint { from_ns: delay_ns, delay_ns, share }
            })
            .collect();
        let not_admitted = self.exchanges - samples as u64;
        ResultLine {
            matching: self.matching,
            leg: self.leg,
            group: self.group.into(),
            requests: Requests {
                seen: self.exchanges + 106,
                not_admitted,
                matched: samples as u64,
                expired: 12,
                ambiguous: 87,
                pending: 7,
                ..Requests::default()
            },
            responses: Responses { seen: self.exchanges + 31, unmatched: not_admitted + 31 },
            samples: samples as u64,
            ambiguous_samples: if exact { 0 } else { 9 },
            exchanges: Some(Estimate { value: number, low: number - spread, high: number + spread }),
            delay_ns: Delays {
                mean: Some(Estimate { value: mean, low: mean - mean_half, high: mean + mean_half }),
                quantiles: QUANTILES.map(|(_, share)| delay(share)),
                min: extreme(smallest),
                max: extreme(largest),
            },
            histogram,
            cdf,
            ..ResultLine::default()
        }
    }
}

/// A line on which no response was seen.
fn unanswered(group: &str) -> ResultLine {
    ResultLine {
        matching: "dns",
        leg: "both",
        group: group.into(),
        requests: Requests { seen: 5, expired: 3, pending: 2, ..Requests::default() },
        ..ResultLine::default()
    }
}

const BEYOND: &[(f64, f64, f64)] = &[(0.85, 12.4e6, 0.22), (0.15, 118e6, 0.35)];
const BEFORE: &[(f64, f64, f64)] = &[(1.0, 0.41e6, 0.3)];
const SUM: &[(f64, f64, f64)] = &[(0.85, 13.1e6, 0.21), (0.15, 119e6, 0.34)];
const ACK: &[(f64, f64, f64)] = &[(0.6, 1.1e6, 0.3), (0.25, 42e6, 0.06), (0.15, 90e6, 0.4)];
const DNS: &[(f64, f64, f64)] = &[(0.7, 0.32e6, 0.15), (0.3, 21e6, 0.5)];

fn report(exact: bool, results: Vec<ResultLine>) -> RttReport {
    RttReport {
        schema: SCHEMA,
        sources: ["office.pcap.zst".into()].into(),
        span_ns: Some(Span { start: START, end: START + 598_000_000_000 }),
        frames: Some(Frames {
            total: 1_204_330,
            decoded: 1_204_112,
            rejected: BTreeMap::from([("no-ip", 200), ("cut-transport", 18)]),
        }),
        memory: Memory { budget_bytes: Some(1 << 26), state_bytes: 524_288 },
        method: MethodFacts {
            name: "auto",
            exact,
            parameters: BTreeMap::from([
                ("expiry_ns", Parameter::Span(60_000_000_000)),
                ("seed", Parameter::Integer(7_041_776)),
            ]),
        },
        results,
        ..RttReport::default()
    }
}

/// A flow with the delays of these lines.
fn flow(name: &str, packets: u64, uncounted_bytes: u64, lines: &[ResultLine]) -> Flow {
    let result = |line: &ResultLine| FlowResult {
        matching: line.matching,
        leg: line.leg,
        samples: line.samples,
        exchanges: line.exchanges,
        delay_ns: line.delay_ns,
    };
    let results = lines.iter().map(result).collect();
    Flow { flow: name.to_owned(), packets, bytes: 900 * packets, uncounted_bytes, results }
}

/// A report in which every exchange was measured.
pub fn exact() -> RttReport {
    let line =
        |matching, leg, exchanges, peaks| Shape { matching, leg, group: "all", exchanges, sampled: 1.0, peaks }.line();
    report(
        true,
        vec![
            line("tcp-handshake", "beyond", 2_104, BEYOND),
            line("tcp-handshake", "before", 2_087, BEFORE),
            line("tcp-handshake", "sum", 2_080, SUM),
            line("tcp-ack", "both", 48_221, ACK),
            unanswered("all"),
        ],
    )
}

/// [`exact`] with QUIC connections and its largest flows: one exact, one estimated, and the others without delays.
pub fn with_flows() -> RttReport {
    let mut report = exact();
    let estimated = sampled().results.swap_remove(1);
    report.flows = vec![
        flow("10.0.0.1:51000 → 192.0.2.7:443 tcp", 30_201, 0, &report.results[..4]),
        flow("[2001:db8::1]:50422 → [2001:db8:4700:10::7]:443 tcp", 8_100, 20_480, &[estimated]),
        flow("other", 1_165_811, 0, &[]),
    ];
    report.quic = Some(Quic {
        connections: 1_204,
        spinning: 310,
        not_spinning: 871,
        undecided: 23,
        evicted: 4,
        unknown_packets: 20_110,
    });
    report
}

/// A report with little memory, groups, a truncated file, and a group name that needs escaping in every format.
pub fn sampled() -> RttReport {
    let line = |matching, group, exchanges, sampled, peaks| {
        Shape { matching, leg: "both", group, exchanges, sampled, peaks }.line()
    };
    let mut report = report(
        false,
        vec![
            line("tcp-ack", "10.20.0.0/24", 1_318_402, 0.031, ACK),
            line("tcp-ack", "10.20.7.0/24", 88_210, 0.033, BEYOND),
            line("tcp-ack", "2001:db8:4700:10::/64", 20_118, 0.028, DNS),
            line("tcp-ack", "other", 911, 0.04, ACK),
            line("dns", "say \"hi\", \\ all", 4_120, 1.0, DNS),
            unanswered("10.20.9.0/24"),
        ],
    );
    report.sources = ["mirror-1.pcap".into(), "mirror-2.pcapng.gz".into()].into();
    report.warnings =
        vec!["mirror-2.pcapng.gz: cut in the middle of a block at byte 48,113,204; read up to there".into()];
    report.memory = Memory { budget_bytes: Some(65_536), state_bytes: 65_472 };
    let fridge = |slots, p| {
        Parameter::Map(BTreeMap::from([
            ("slots", Parameter::Integer(slots)),
            ("fingerprint_bits", Parameter::Integer(16)),
            ("entry_probability", Parameter::Real(p)),
            ("sampled_since_ns", Parameter::Moment(1_700_000_007_250_000_000)),
        ]))
    };
    report.method.name = "fridge";
    report.method.parameters.insert("ambiguous", Parameter::Text("bounds".into()));
    let rules = BTreeMap::from([("tcp-ack", fridge(3_072, 0.031_25)), ("dns", fridge(512, 1.0))]);
    report.method.parameters.insert("rules", Parameter::Map(rules));
    report.method.parameters.insert("relative_resolution", Parameter::Real(0.001_953));
    report
}

/// Every exchange was measured, but some requests were repeated: the higher quantiles have bounds.
pub fn bounded() -> RttReport {
    let mut report = exact();
    report.results.truncate(1);
    report.results[0].ambiguous_samples = 40;
    if let Some(highest) = report.results[0].delay_ns.quantiles.last_mut().and_then(Option::as_mut) {
        highest.high = 1_012_000_000;
    }
    report
}

/// Twelve intervals of ten seconds, with a slow period in the middle, then one interval in which no response matched,
/// and one without any packet.
pub fn series(sampled: f64) -> Vec<RttReport> {
    (0..12)
        .map(|i| {
            let peaks = if (5..7).contains(&i) { BEYOND } else { ACK };
            let line = |leg, exchanges, peaks| {
                Shape { matching: "tcp-ack", leg, group: "all", exchanges, sampled, peaks }.line()
            };
            let mut results = vec![line("outward", 40_000 + 1_000 * i, peaks), line("inward", 9_000 + 90 * i, DNS)];
            if i == 8 {
                let responses = Responses { seen: 3, unmatched: 3 };
                results[1] = ResultLine { matching: "tcp-ack", leg: "inward", responses, ..unanswered("all") };
            }
            if i == 9 {
                results.remove(1);
            }
            if i > 0 {
                for line in results.iter_mut().filter(|line| line.samples > 0) {
                    line.requests.carried_over = 7;
                    line.requests.matched += 7;
                }
            }
            let mut report = report(sampled >= 1.0, results);
            let start = START + i as i64 * 10_000_000_000;
            report.span_ns = Some(Span { start: start + 5_000_000, end: start + 9_998_000_000 });
            report.interval_ns = Some(Span { start, end: start + 10_000_000_000 });
            report
        })
        .collect()
}

/// Two lines of [`sampled`] and an unanswered one, for formats that write everything.
pub fn short() -> RttReport {
    let mut report = sampled();
    report.results = vec![report.results.swap_remove(4), report.results.swap_remove(3), unanswered("10.20.9.0/24")];
    report.flows = vec![
        flow("10.0.0.1:51000 → 192.0.2.7:443 tcp", 8_100, 20_480, &report.results[1..2]),
        flow("other", 1_196_012, 0, &[]),
    ];
    report
}

/// Values that no real capture produces: every format must handle them without panicking.
pub fn absurd() -> RttReport {
    let mut report = sampled();
    report.span_ns = Some(Span { start: i64::MIN, end: i64::MAX });
    report.memory = Memory { budget_bytes: None, state_bytes: u64::MAX };
    report.frames = None;
    report.sources = vec!["ü\n\"".repeat(80); 3].into();
    let d = |value, low, high| Some(Estimate { value, low, high });
    let lines = &mut report.results;
    lines[0].delay_ns.quantiles[0] = d(i64::MIN, i64::MIN, i64::MAX);
    lines[0].delay_ns.quantiles[QUANTILES.len() - 1] = d(i64::MAX, -1, i64::MAX);
    lines[0].delay_ns.mean = d(-5, -9, 0);
    lines[0].histogram.insert(0, Bin { from_ns: i64::MIN, to_ns: -1, exchanges: Estimate::exact(3.0) });
    lines[1].exchanges = Some(Estimate { value: f64::NAN, low: f64::NEG_INFINITY, high: f64::INFINITY });
    lines[1].group = "a \"very\" long, long name\nwith a second line ".repeat(5);
    lines[2].histogram = vec![Bin { from_ns: 7, to_ns: 7, exchanges: Estimate::exact(f64::INFINITY) }];
    lines[2].cdf =
        vec![CdfPoint { from_ns: 0, delay_ns: 0, share: Estimate { value: f64::NAN, low: -1.0, high: 2.0 } }];
    lines[3].requests.seen = u64::MAX;
    lines[3].requests.matched = u64::MAX;
    lines[3].responses = Responses { seen: 0, unmatched: u64::MAX };
    report
}

/// Writes one report as OpenMetrics.
pub fn openmetrics(report: &RttReport, to: &mut impl Write) -> io::Result<()> {
    labelled_openmetrics(report, &[], to)
}

/// The same, with more labels.
pub fn labelled_openmetrics(report: &RttReport, labels: &[Label], to: &mut impl Write) -> io::Result<()> {
    let mut counted = Counted::default();
    counted.add(report);
    counted.write(report, labels, to)
}
