//! The human-readable table: episodes and their culprits; below, what the numbers are based on.

use super::{AgainstExact, Culprit, Depth, Episode, Packets, QueueReport};
use crate::facts::Span;
use crate::footing::{self, item};
use crate::grid::Grid;
use crate::heading;
use crate::text;
use dwell_sketch::conquest::Unit;
use dwell_types::Nanos;
use std::io::{self, Write};

const HEADS: [&str; 7] = ["episode", "duration", "longest delay", "mean", "deepest queue", "packets", "bytes"];
/// Maximum number of episodes listed.
const MOST_EPISODES: usize = 20;

/// Writes the report; `threshold` is the delay from which on there is an episode.
pub fn write(report: &QueueReport, threshold: Nanos, to: &mut impl Write) -> io::Result<()> {
    heading::write(&sources(&report.sources), " → ", report.span_ns, to)?;
    writeln!(to)?;
    match (report.packets.departed, report.longest_delay_ns) {
        (0, _) => writeln!(to, "{}", nothing(&report.packets))?,
        (_, None) => writeln!(to, "No packet was seen on both sides of the queue.")?,
        (_, Some(longest)) if report.episodes.is_empty() => writeln!(
            to,
            "No episode: no delay reached {threshold} (--threshold). The longest was {}.",
            Nanos::new(longest)
        )?,
        _ => episodes(report, to)?,
    }
    writeln!(to)?;
    footing(report, to)
}

/// What was seen if no packet departed.
fn nothing(packets: &Packets) -> String {
    let arrived = packets.arrivals.map_or(0, |arrivals| arrivals.seen);
    match (arrived, packets.elsewhere) {
        (0, 0) => "No packets were seen.".to_owned(),
        (0, _) => "No packets of the measured direction were seen.".to_owned(),
        _ => format!("No packet departed; {} arrived.", text::count(arrived)),
    }
}

/// The captures where packets arrive, joined, then the one where they depart.
fn sources(sources: &[String]) -> Vec<String> {
    match sources.split_last() {
        Some((egress, ingress)) if !ingress.is_empty() => vec![text::few(ingress).join(" + "), egress.clone()],
        _ => sources.to_vec(),
    }
}

fn episodes(report: &QueueReport, to: &mut impl Write) -> io::Result<()> {
    let shown = worst(&report.episodes);
    let times = times(&shown, report.span_ns);
    let mut grid = Grid::default();
    grid.row(HEADS);
    for episode in &shown {
        row(&mut grid, times, episode);
        for culprit in &episode.culprits {
            grid.heading(words(culprit));
        }
    }
    grid.write(to)?;
    if shown.len() < report.episodes.len() {
        let all = text::count(report.episodes.len() as u64);
        writeln!(to, "The {} of {all} episodes with the longest delays.", shown.len())?;
    }
    Ok(())
}

/// The episodes with the longest delays, in chronological order.
fn worst(episodes: &[Episode]) -> Vec<&Episode> {
    let mut worst: Vec<&Episode> = episodes.iter().collect();
    worst.sort_by_key(|episode| std::cmp::Reverse(episode.peak_delay_ns));
    worst.truncate(MOST_EPISODES);
    worst.sort_by_key(|episode| episode.start_ns);
    worst
}

/// How the beginnings of these episodes are written: with their days, if the span above the table has several.
fn times(episodes: &[&Episode], span: Option<Span>) -> text::Times {
    let ends = span.into_iter().flat_map(|span| [span.start, span.end]);
    text::Times::in_milliseconds(episodes.iter().map(|episode| episode.start_ns).chain(ends))
}

fn row(grid: &mut Grid, times: text::Times, episode: &Episode) {
    let span = |ns: i64| Nanos::new(ns).to_string();
    grid.row([
        times.text(episode.start_ns),
        span(episode.end_ns.saturating_sub(episode.start_ns)),
        span(episode.peak_delay_ns),
        text::time(episode.mean_delay_ns),
        depth(episode.peak_queue),
        text::count(episode.packets),
        text::bytes(episode.bytes),
    ]);
}

/// `  82% of the bytes, up to 95% of the queue: 10.0.0.1:443 → 10.0.0.2:51000 tcp`.
fn words(culprit: &Culprit) -> String {
    let [share, peak] = [culprit.share, culprit.peak_share].map(text::percent);
    let about = if culprit.low < culprit.high && !share.starts_with('<') { "at least " } else { "" };
    format!("  {about}{share} of the bytes, up to {peak} of the queue: {}", culprit.flow)
}

fn depth(depth: Depth) -> String {
    let packets = || depth.peak_queue_packets.map(|packets| text::count_of(packets, "packet"));
    depth.peak_queue_bytes.map(text::bytes).or_else(packets).unwrap_or_default()
}

fn footing(report: &QueueReport, to: &mut impl Write) -> io::Result<()> {
    let packets = &report.packets;
    if let Some(arrivals) = packets.arrivals {
        let parts = [
            ("matched", arrivals.matched),
            ("departed before arriving", arrivals.backwards),
            ("not departed within --longest", arrivals.expired),
            ("evicted for lack of memory", arrivals.evicted),
            ("equal to others that waited", arrivals.repeated),
            ("still waiting", arrivals.waiting),
        ];
        item("arrived", &footing::sum_of(arrivals.seen, &parts), to)?;
    }
    let parts = [
        ("matched", packets.matched),
        ("equal to others that waited", packets.ambiguous),
        ("not seen to arrive", packets.unknown.saturating_sub(packets.ambiguous)),
    ];
    item("departed", &footing::sum_of(packets.departed, &parts), to)?;
    if packets.incomplete > 0 {
        let incomplete = text::count(packets.incomplete);
        item("", &format!("{incomplete} of those matched found a queue that is only partly known"), to)?;
    }
    if packets.elsewhere > 0 {
        let elsewhere = text::count_of(packets.elsewhere, "packet");
        item("", &format!("besides {elsewhere} of other directions or of one side"), to)?;
    }
    if let Some(longest) = report.longest_delay_ns {
        let deepest = depth(report.peak_queue);
        item("queue", &format!("longest delay {}, deepest queue {deepest}", Nanos::new(longest)), to)?;
    }
    if let Some(scores) = &report.against_exact {
        item("compared", &compared(scores, report.unit), to)?;
    }
    if let Some(frames) = &report.frames {
        footing::frames(frames, to)?;
    }
    footing::memory(&report.memory, to)?;
    let how = match report.method.exact {
        true => "exact: every departure was recorded",
        false if report.method.parameters.contains_key("snapshots") => "estimated by snapshots",
        false => "not exact: see the warnings",
    };
    footing::method(&report.method, how, to)?;
    footing::warnings(&report.warnings, to)
}

/// How accurate snapshots are, by the exact queue.
fn compared(scores: &AgainstExact, unit: Unit) -> String {
    let size = |size: f64| match unit {
        Unit::Bytes => text::bytes(size.round() as u64),
        Unit::Packets => format!("{size:.1} packets"),
    };
    let unknown = match scores.unknown {
        0 => String::new(),
        unknown => format!("; {} waited for more than --longest", text::count(unknown)),
    };
    format!(
        "{} over the threshold: precision {}, recall {}, mean error of sizes {}{unknown}",
        text::count_of(scores.packets, "packet"),
        text::or_dash(scores.precision, text::percent),
        text::or_dash(scores.recall, text::percent),
        text::or_dash(scores.mean_error, size),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A single episode, on one of three days.
    #[test]
    fn the_day_of_an_episode_is_told() {
        const DAY: i64 = 86_400_000_000_000;
        let episode = Episode {
            start_ns: DAY,
            end_ns: DAY,
            peak_delay_ns: 0,
            mean_delay_ns: 0.0,
            packets: 0,
            bytes: 0,
            culprit_packets: 0,
            peak_queue: Depth::new(0, Unit::Bytes),
            flow_bytes: None,
            culprits: Vec::new(),
        };
        let text = |span| times(&[&episode], span).text(DAY);
        assert_eq!(text(Some(Span { start: 0, end: 2 * DAY })), "1970-01-02 00:00:00.000");
        assert_eq!(text(Some(Span { start: DAY, end: DAY + 1 })), "00:00:00.000");
        assert_eq!(text(None), "00:00:00.000");
    }
}
