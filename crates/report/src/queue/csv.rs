//! CSV: a row for each episode, followed by one for each of its culprits; fields are empty where JSON has `null`.

use super::{Culprit, Episode, QueueReport};
use crate::csv::Rows;
use std::io::{self, Write};

/// The columns of [`write()`], in order. Times in nanoseconds.
pub const COLUMNS: [&str; 23] = [
    "kind",
    "start_ns",
    "end_ns",
    "peak_delay_ns",
    "mean_delay_ns",
    "packets",
    "bytes",
    "culprit_packets",
    "peak_queue_bytes",
    "peak_queue_packets",
    "flows",
    "flow_p50_bytes",
    "flow_p90_bytes",
    "flow_p99_bytes",
    "flow_max_bytes",
    "flow",
    "share",
    "low",
    "high",
    "peak_share",
    "exact",
    "method",
    "sources",
];

/// Writes the header and all rows.
pub fn write(report: &QueueReport, to: &mut impl Write) -> io::Result<()> {
    let mut rows = Rows::new(to, COLUMNS)?;
    for episode in &report.episodes {
        rows.write(&record(report, episode, None))?;
        for culprit in &episode.culprits {
            rows.write(&record(report, episode, Some(culprit)))?;
        }
    }
    rows.flush()
}

/// An episode, or one of its culprits. For a culprit, bytes and `culprit_packets` are those of its flow, and fields
/// that do not apply to a flow are empty.
fn record(report: &QueueReport, episode: &Episode, culprit: Option<&Culprit>) -> Vec<String> {
    let mut cells = vec![
        if culprit.is_some() { "culprit" } else { "episode" }.to_owned(),
        episode.start_ns.to_string(),
        episode.end_ns.to_string(),
    ];
    cells.extend(culprit.map_or_else(|| of_episode(episode), of_culprit));
    cells.extend([report.method.exact.to_string(), report.method.name.to_owned(), report.sources.join(" ")]);
    cells
}

fn of_episode(episode: &Episode) -> Vec<String> {
    let text = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let sizes = episode.flow_bytes;
    let mut cells = vec![episode.peak_delay_ns.to_string(), episode.mean_delay_ns.to_string()];
    cells.extend([episode.packets, episode.bytes, episode.culprit_packets].map(|number| number.to_string()));
    cells.extend([episode.peak_queue.peak_queue_bytes, episode.peak_queue.peak_queue_packets].map(text));
    let sizes = [
        sizes.map(|s| s.flows),
        sizes.map(|s| s.p50),
        sizes.map(|s| s.p90),
        sizes.map(|s| s.p99),
        sizes.map(|s| s.max),
    ];
    cells.extend(sizes.map(text));
    cells.extend([const { String::new() }; 5]);
    cells
}

fn of_culprit(culprit: &Culprit) -> Vec<String> {
    let mut cells = vec![String::new(); 3];
    // Of a culprit's packets, only those that are culprits themselves are counted.
    cells.extend([culprit.bytes.to_string(), culprit.packets.to_string()]);
    cells.extend([const { String::new() }; 7]);
    cells.extend([culprit.flow.clone(), culprit.share.to_string()]);
    cells.extend([culprit.low.to_string(), culprit.high.to_string(), culprit.peak_share.to_string()]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Depth, FlowBytes};
    use dwell_sketch::conquest::Unit;

    #[test]
    fn every_cell_has_a_column() {
        let culprit = Culprit { flow: "f".into(), share: 0.5, bytes: 7, low: 6, high: 8, packets: 3, peak_share: 0.75 };
        let episode = Episode {
            start_ns: 1,
            end_ns: 2,
            peak_delay_ns: 3,
            mean_delay_ns: 2.5,
            packets: 4,
            bytes: 14,
            culprit_packets: 3,
            peak_queue: Depth::new(9, Unit::Bytes),
            flow_bytes: Some(FlowBytes { flows: 2, p50: 5, p90: 6, p99: 7, max: 8 }),
            culprits: vec![culprit],
        };
        let cells = |row: Vec<String>| {
            let named = COLUMNS[3..20].iter().zip(row).filter(|(_, cell)| !cell.is_empty());
            named.map(|(name, cell)| format!("{name}={cell}")).collect::<Vec<_>>().join(" ")
        };
        let rows = [of_episode(&episode), of_culprit(&episode.culprits[0])];
        assert!(rows.iter().all(|row| row.len() == 17), "{rows:?}");
        let [whole, culprit] = rows.map(cells);
        assert_eq!(
            whole,
            "peak_delay_ns=3 mean_delay_ns=2.5 packets=4 bytes=14 culprit_packets=3 peak_queue_bytes=9 flows=2 flow_p50_bytes=5 \
             flow_p90_bytes=6 flow_p99_bytes=7 flow_max_bytes=8"
        );
        assert_eq!(culprit, "bytes=7 culprit_packets=3 flow=f share=0.5 low=6 high=8 peak_share=0.75");
    }
}
