//! CSV: a row for each episode, followed by one for each of its culprits; fields are empty where JSON has `null`.

use super::{Culprit, Episode, FlowBytes, QueueReport};
use crate::csv::{self, Column, text};
use crate::facts::MethodFacts;
use std::io::{self, Write};

/// An episode, or one of its culprits.
struct Row<'a> {
    episode: &'a Episode,
    culprit: Option<&'a Culprit>,
    method: &'a MethodFacts,
    sources: &'a [String],
}

impl Row<'_> {
    /// Times in nanoseconds. For a culprit, bytes and `culprit_packets` are those of its flow.
    const COLUMNS: [Column<Self>; 23] = [
        ("kind", |row| if row.culprit.is_some() { "culprit" } else { "episode" }.to_owned()),
        ("start_ns", |row| row.episode.start_ns.to_string()),
        ("end_ns", |row| row.episode.end_ns.to_string()),
        ("peak_delay_ns", |row| text(row.whole().map(|episode| episode.peak_delay_ns))),
        ("mean_delay_ns", |row| text(row.whole().map(|episode| episode.mean_delay_ns))),
        ("packets", |row| text(row.whole().map(|episode| episode.packets))),
        ("bytes", |row| row.culprit.map_or(row.episode.bytes, |culprit| culprit.bytes).to_string()),
        // Of a culprit's packets, only those that are culprits themselves are counted.
        ("culprit_packets", |row| {
            row.culprit.map_or(row.episode.culprit_packets, |culprit| culprit.packets).to_string()
        }),
        ("peak_queue_bytes", |row| text(row.whole().and_then(|episode| episode.peak_queue.peak_queue_bytes))),
        ("peak_queue_packets", |row| text(row.whole().and_then(|episode| episode.peak_queue.peak_queue_packets))),
        ("flows", |row| text(row.flow_bytes().map(|bytes| bytes.flows))),
        ("flow_p50_bytes", |row| text(row.flow_bytes().map(|bytes| bytes.p50))),
        ("flow_p90_bytes", |row| text(row.flow_bytes().map(|bytes| bytes.p90))),
        ("flow_p99_bytes", |row| text(row.flow_bytes().map(|bytes| bytes.p99))),
        ("flow_max_bytes", |row| text(row.flow_bytes().map(|bytes| bytes.max))),
        ("flow", |row| text(row.culprit.map(|culprit| &culprit.flow))),
        ("share", |row| text(row.culprit.map(|culprit| culprit.share))),
        ("low", |row| text(row.culprit.map(|culprit| culprit.low))),
        ("high", |row| text(row.culprit.map(|culprit| culprit.high))),
        ("peak_share", |row| text(row.culprit.map(|culprit| culprit.peak_share))),
        ("exact", |row| row.method.exact.to_string()),
        ("method", |row| row.method.name.to_owned()),
        ("sources", |row| row.sources.join(" ")),
    ];

    /// The episode, for what does not apply to a culprit.
    fn whole(&self) -> Option<&Episode> {
        self.culprit.is_none().then_some(self.episode)
    }

    fn flow_bytes(&self) -> Option<FlowBytes> {
        self.whole()?.flow_bytes
    }
}

/// Writes the header and all rows.
pub fn write(report: &QueueReport, to: &mut impl Write) -> io::Result<()> {
    let QueueReport { method, sources, .. } = report;
    let rows = report.episodes.iter().flat_map(|episode| {
        let culprits = std::iter::once(None).chain(episode.culprits.iter().map(Some));
        culprits.map(move |culprit| Row { episode, culprit, method, sources })
    });
    csv::write(Row::COLUMNS, rows, to)
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
        let method = MethodFacts { name: "exact", exact: true, ..MethodFacts::default() };
        let [whole, culprit] = [None, episode.culprits.first()].map(|culprit| {
            let row = Row { episode: &episode, culprit, method: &method, sources: &[] };
            let named = Row::COLUMNS[3..20].iter().map(|(name, cell)| (name, cell(&row)));
            let named = named.filter(|(_, cell)| !cell.is_empty());
            named.map(|(name, cell)| format!("{name}={cell}")).collect::<Vec<_>>().join(" ")
        });
        assert_eq!(
            whole,
            "peak_delay_ns=3 mean_delay_ns=2.5 packets=4 bytes=14 culprit_packets=3 peak_queue_bytes=9 flows=2 flow_p50_bytes=5 \
             flow_p90_bytes=6 flow_p99_bytes=7 flow_max_bytes=8"
        );
        assert_eq!(culprit, "bytes=7 culprit_packets=3 flow=f share=0.5 low=6 high=8 peak_share=0.75");
    }
}
