//! Checks a recording against two independent sources: the capture's own timestamps, and tshark.

use super::capture::Captured;
use super::headers::Message;
use super::host::output;
use super::line::Journey;
use super::log::identity;
use super::truth::{Row, Rule, Truth, crossings};
use anyhow::{Result, ensure};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// How much the capture's timestamps differ from the line's log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// Frames compared: all of them.
    pub(crate) frames: usize,
    /// Frames whose timestamp lies between the clock readings before and after they were sent.
    pub(crate) inside: usize,
    /// Distance from the middle of the two readings in nanoseconds: median, 99th percentile and maximum.
    pub(crate) distance_ns: [i64; 3],
    /// The same for the delay between a frame's due time and when the line began to send it.
    pub(crate) lateness_ns: [i64; 3],
}

/// Median, 99th percentile, maximum; zeros without values.
pub(crate) fn spread(values: Vec<i64>) -> [i64; 3] {
    quantiles(values).unwrap_or_default()
}

/// Median, 99th percentile, maximum, if there are values. The quantile *q* of *n* is the ⌈*qn*⌉-th smallest, as in the
/// reports of `dwell`.
pub(crate) fn quantiles(mut values: Vec<i64>) -> Option<[i64; 3]> {
    values.sort_unstable();
    (!values.is_empty()).then(|| [50, 99, 100].map(|percent| values[(values.len() * percent).div_ceil(100) - 1]))
}

/// Compares capture and log frame by frame; fails unless both hold the same frames in the same order.
pub(crate) fn clocks(captured: &[Captured], journeys: &[Journey]) -> Result<Clocks> {
    let crossings = crossings(journeys);
    ensure!(crossings.len() == captured.len(), "{} frames captured, {} logged", captured.len(), crossings.len());
    let mut inside = 0;
    let mut distances = Vec::new();
    for (number, ((sent, journey), (at_ns, bytes))) in crossings.iter().zip(captured).enumerate() {
        ensure!(
            identity(bytes) == identity(&journey.head),
            "frame {} of the capture is not the logged one",
            number + 1
        );
        inside += usize::from((sent.after_ns..=sent.before_ns).contains(at_ns));
        distances.push((at_ns - sent.at_ns()).abs());
    }
    let lateness = crossings.iter().map(|(sent, _)| sent.after_ns - sent.due_ns).collect();
    Ok(Clocks { frames: captured.len(), inside, distance_ns: spread(distances), lateness_ns: spread(lateness) })
}

/// Compares the truth about ambiguous handshakes with the packets: of the SYN-ACKs that carry a timestamp echo and
/// answer an exchange with several SYNs, how many there are and how many echo the TSval of the SYN that the truth
/// considers answered.
pub(crate) fn echoes(journeys: &[Journey], truth: &Truth) -> (usize, usize) {
    let crossings = crossings(journeys);
    let timestamps = |frame: usize| match crossings.get(frame - 1)?.1.headers()?.message {
        Message::Tcp(segment) => segment.timestamps,
        _ => None,
    };
    let ambiguous = truth.rows.iter().filter(|row| row.rule == Rule::Beyond && row.requests > 1);
    let pairs: Vec<_> =
        ambiguous.filter_map(|row| Some((timestamps(row.frames.0)?.0, timestamps(row.frames.1)?.1))).collect();
    (pairs.len(), pairs.iter().filter(|(value, echo)| value == echo).count())
}

/// The results of tshark for the capture, compared with the truth.
#[derive(Clone, Debug)]
pub(crate) struct Tshark {
    /// Number of frames by display filter.
    pub(crate) counts: Vec<(&'static str, usize)>,
    pub(crate) comparisons: Vec<Comparison>,
}

/// One of tshark's delays compared with the truth, for exchanges with a single request.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) field: &'static str,
    pub(crate) rule: &'static str,
    /// Responses with a delay in both.
    pub(crate) both: usize,
    /// Responses with a delay only in tshark, or only in the truth.
    pub(crate) only: [usize; 2],
    /// Median, 99th percentile and maximum of the difference, in nanoseconds.
    pub(crate) difference_ns: [i64; 3],
    /// Responses where they differ by more than a millisecond.
    pub(crate) apart: usize,
}

const FILTERS: [&str; 15] = [
    "tcp.flags.syn==1 && tcp.flags.ack==0",
    "tcp.flags.syn==1 && tcp.flags.ack==1",
    "tcp.flags.reset==1",
    "tcp.analysis.retransmission",
    "tcp.analysis.ack_rtt",
    "dns.flags.response==0",
    "dns.flags.response==1",
    "dns.time",
    "ntp",
    "quic.long.packet_type==0 || quic.long.packet_type_v2==1",
    "quic.long.packet_type==3 || quic.long.packet_type_v2==0",
    "quic.header_form==0",
    "icmp.type==8 || icmpv6.type==128",
    "icmp.type==0 || icmpv6.type==129",
    "arp || icmpv6.type in {130..143}",
];

pub(crate) fn tshark(capture: &Path, truth: &Truth) -> Result<Tshark> {
    let capture = capture.to_string_lossy();
    let mut counts = Vec::new();
    for filter in FILTERS {
        let lines = output("tshark", &["-n", "-r", &capture, "-Y", filter, "-T", "fields", "-e", "frame.number"])?;
        counts.push((filter, lines.lines().count()));
    }
    let fields = "frame.number,tcp.analysis.ack_rtt,dns.time,icmp.resptime,icmpv6.resptime,tcp.analysis.initial_rtt";
    let mut arguments = vec!["-n", "-r", &capture, "-T", "fields", "-E", "separator=,", "-E", "occurrence=f"];
    arguments.extend(fields.split(',').flat_map(|field| ["-e", field]));
    let table = output("tshark", &arguments)?;
    let column = |at: usize, unit_ns: f64| -> HashMap<usize, i64> {
        let row = |line: &str| {
            let mut cells = line.split(',');
            let number = cells.next()?.parse().ok()?;
            let value: f64 = cells.nth(at - 1)?.parse().ok()?;
            Some((number, (value * unit_ns).round() as i64))
        };
        table.lines().filter_map(row).collect()
    };
    let mut echoes = column(3, 1e6);
    echoes.extend(column(4, 1e6));
    // tshark repeats it on every segment after the handshake.
    let mut handshakes = column(5, 1e9);
    let ends: HashSet<usize> = truth.rows.iter().filter(|row| row.rule == Rule::Sum).map(|row| row.frames.1).collect();
    handshakes.retain(|frame, _| ends.contains(frame));
    let comparisons = vec![
        compare("tcp.analysis.initial_rtt", Rule::Sum, &handshakes, truth),
        compare("tcp.analysis.ack_rtt", Rule::Ack, &column(1, 1e9), truth),
        compare("dns.time", Rule::Dns, &column(2, 1e9), truth),
        compare("icmp.resptime, icmpv6.resptime", Rule::Echo, &echoes, truth),
    ];
    Ok(Tshark { counts, comparisons })
}

fn compare(field: &'static str, rule: Rule, delays: &HashMap<usize, i64>, truth: &Truth) -> Comparison {
    let rows: HashMap<usize, &Row> =
        truth.rows.iter().filter(|row| row.rule == rule).map(|row| (row.frames.1, row)).collect();
    let both = delays.iter().filter_map(|(frame, delay)| Some((rows.get(frame)?, delay)));
    let differences: Vec<i64> = both
        .filter(|(row, _)| row.requests == 1 && row.earlier == 0)
        .map(|(row, delay)| (row.since_first_ns - delay).abs())
        .collect();
    Comparison {
        field,
        rule: rule.names().0,
        both: delays.keys().filter(|frame| rows.contains_key(frame)).count(),
        only: [
            delays.keys().filter(|frame| !rows.contains_key(frame)).count(),
            rows.keys().filter(|frame| !delays.contains_key(frame)).count(),
        ],
        apart: differences.iter().filter(|&&difference| difference > 1_000_000).count(),
        difference_ns: spread(differences),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_smallest_that_enough_values_do_not_exceed() {
        assert_eq!(quantiles((1..=150).rev().collect()), Some([75, 149, 150]));
        assert_eq!(quantiles((1..=19).collect()), Some([10, 19, 19]));
        assert_eq!(quantiles((1..=200).collect()), Some([100, 198, 200]));
        assert_eq!((quantiles(vec![7]), quantiles(vec![])), (Some([7; 3]), None));
        assert_eq!(spread(vec![]), [0; 3]);
    }
}
