//! A recording at two points: the one-way delay of each packet between them, and which packets were lost.
//!
//! The points are the middle and the server's interface. Towards the server, the line sends a packet across the first
//! point and later to the second, and reads the clock before and after both. In the other direction, it likewise sends
//! it across the middle, but does not see it leave the server: for this it has only the kernel's time of receipt at the
//! other end of the veth pair.

use super::capture::{self, Captured, Point};
use super::headers::{self, Headers, Message};
use super::line::{Journey, Sent};
use super::log::identity;
use super::plan::Rule;
use super::truth::frame_numbers;
use super::verify::{self, Clocks, spread};
use super::{Recording, empty, keep, observe, readme, save_table};
use anyhow::{Context, Result, ensure};
use dwell_types::Nanos;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;
use std::path::Path;

/// Makes the recording in its folder.
pub(crate) fn record(recording: &Recording, folder: &Path, scratch: &Path) -> Result<()> {
    let pcaps = ["near.pcap", "server.pcap"].map(|name| scratch.join(name));
    let journeys = observe(recording, &[(Point::Middle, &pcaps[0]), (Point::Server, &pcaps[1])], scratch)?;
    let clocks = verify::clocks(&capture::read(&pcaps[0])?, &journeys)?;
    let server = Server::find(&capture::read(&pcaps[1])?, &journeys)?;
    let rows = rows(&journeys, &server.frames)?;

    empty(folder)?;
    let [near, far] = [&pcaps[0], &pcaps[1]].map(|pcap| keep(pcap, folder, recording.form));
    let names = [near?, far?];
    save_table(&table(&rows)?, folder, "truth.csv")?;
    let mut text = readme::head(recording)?;
    describe(&mut text, recording, &rows, &clocks, &server)?;
    writeln!(text)?;
    readme::files(&mut text, folder, &[&names[0], &names[1], "truth.csv.zst"])?;
    readme::made_with(&mut text, &["tshark", "dig", "chronyd", "python3"])?;
    readme::save(&text, folder)?;
    eprintln!("{}: {} packets between the points", recording.name, rows.len());
    Ok(())
}

/// The server's capture compared with the line's log.
#[derive(Debug)]
struct Server {
    /// The frame number in the capture of each journey, from 1.
    frames: HashMap<usize, usize>,
    /// Distance between the capture's timestamp and the middle of the line's two clock readings: median, 99th
    /// percentile, maximum.
    sent_ns: [i64; 3],
    /// From the capture's timestamp to the line's: the same.
    received_ns: [i64; 3],
}

impl Server {
    /// Finds the frames by their first bytes, identical ones in order: if two frames pass in opposite directions at the
    /// same time, either may be captured first. Fails unless capture and log hold the same frames.
    fn find(captured: &[Captured], journeys: &[Journey]) -> Result<Self> {
        let mut logged: Vec<(i64, usize)> =
            journeys.iter().enumerate().filter_map(|(index, journey)| Some((at_server(journey)?, index))).collect();
        logged.sort_unstable();
        let mut expected: HashMap<u32, VecDeque<usize>> = HashMap::new();
        for &(_, index) in &logged {
            expected.entry(identity(&journeys[index].head)).or_default().push_back(index);
        }
        let (mut frames, mut sent, mut received) = (HashMap::new(), Vec::new(), Vec::new());
        for (number, (at_ns, bytes)) in (1..).zip(captured) {
            let index = expected.get_mut(&identity(bytes)).and_then(VecDeque::pop_front);
            let index = index.with_context(|| format!("frame {number} of the server's capture is not in the log"))?;
            frames.insert(index, number);
            let journey = &journeys[index];
            match journey.left {
                Some(left) if journey.outward => sent.push((at_ns - left.at_ns()).abs()),
                _ => received.push(journey.entered_ns - at_ns),
            }
        }
        ensure!(frames.len() == logged.len(), "{} frames captured, {} logged", frames.len(), logged.len());
        Ok(Self { frames, sent_ns: spread(sent), received_ns: spread(received) })
    }
}

/// When a frame was at the server, according to the line.
fn at_server(journey: &Journey) -> Option<i64> {
    if journey.outward { journey.left.map(Sent::at_ns) } else { Some(journey.entered_ns) }
}

/// A packet between the points.
#[derive(Debug)]
struct Row<'a> {
    journey: &'a Journey,
    headers: Headers,
    /// The decision of the stage between the points.
    rule: Rule,
    sent_ns: i64,
    /// The delay; `None` if it was dropped.
    delay_ns: Option<i64>,
    /// The largest possible error of `delay_ns`, as far as the line knows.
    error_ns: i64,
    /// Its frame numbers in the captures of the middle and of the server, from 1.
    frames: [Option<usize>; 2],
}

/// Every IP packet that came to one of the points from outside, in order of sending.
fn rows<'a>(journeys: &'a [Journey], server: &HashMap<usize, usize>) -> Result<Vec<Row<'a>>> {
    let middle = frame_numbers(journeys);
    let mut rows = Vec::new();
    for (index, journey) in journeys.iter().enumerate() {
        let frames = [middle[index], server.get(&index).copied()];
        let (verdict, sent, error_ns, arrived) = match (journey.outward, journey.point) {
            (true, None) => continue,
            (true, Some(point)) => (journey.second, point.at_ns(), point.error_ns(), journey.left),
            (false, point) => (Some(journey.first), journey.entered_ns, 0, point),
        };
        let rule = verdict.context("a frame was still in the middle at the end")?.rule;
        ensure!(rule.drops() != arrived.is_some(), "a frame was still held at the end");
        let Some(headers) = journey.headers() else { continue };
        rows.push(Row {
            journey,
            headers,
            rule,
            sent_ns: sent,
            delay_ns: arrived.map(|arrived| arrived.at_ns() - sent),
            error_ns: error_ns + arrived.map_or(0, Sent::error_ns),
            frames,
        });
    }
    rows.sort_by_key(|row| row.sent_ns);
    Ok(rows)
}

/// The truth as CSV.
fn table(rows: &[Row<'_>]) -> Result<String> {
    let mut text = String::from(
        "direction,kind,bytes,rule,sent_ns,delay_ns,error_ns,near_frame,server_frame,\
         source,source_port,destination,destination_port,protocol\n",
    );
    let optional = |value: Option<i64>| value.map(|value| value.to_string()).unwrap_or_default();
    for row in rows {
        let frame = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
        let flow = row.headers.flow;
        writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            direction(row),
            headers::kind(Some(&row.headers)),
            row.journey.length - ETHERNET,
            row.rule.name(),
            row.sent_ns,
            optional(row.delay_ns),
            row.error_ns,
            frame(row.frames[0]),
            frame(row.frames[1]),
            flow.source,
            flow.source_port,
            flow.destination,
            flow.destination_port,
            flow.protocol,
        )?;
    }
    Ok(text)
}

/// Length of the Ethernet header.
const ETHERNET: usize = 14;

fn direction(row: &Row<'_>) -> &'static str {
    if row.journey.outward { "out" } else { "back" }
}

/// A readable name of the kind of traffic.
fn traffic(row: &Row<'_>) -> &'static str {
    match &row.headers.message {
        Message::Tcp(segment) if segment.timestamps.is_some() => "TCP with timestamps",
        Message::Tcp(_) => "TCP without",
        Message::Dns(_) => "DNS over UDP",
        Message::Echo { .. } => "Echoes",
        _ => "Others",
    }
}

/// Statistics of the contents, and of the accuracy of the truth.
fn describe(
    text: &mut String,
    recording: &Recording,
    rows: &[Row<'_>],
    clocks: &Clocks,
    server: &Server,
) -> Result<()> {
    writeln!(
        text,
        "{} frames near, {} at the server, cut at {} bytes, nanosecond timestamps.",
        clocks.frames,
        server.frames.len(),
        recording.snap
    )?;
    writeln!(text, "\n## What is in it, by the truth\n")?;
    writeln!(
        text,
        "Packets between the points: `out` to the server, `back` from it. *Lost* by chance, *full* since they met a"
    )?;
    writeln!(text, "full queue.\n")?;
    writeln!(
        text,
        "| way | traffic | sent | lost | full | p50 | p99 | max |\n|---|---|---:|---:|---:|---:|---:|---:|"
    )?;
    let mut groups: BTreeMap<(&str, &str), Vec<&Row<'_>>> = BTreeMap::new();
    for row in rows {
        for name in ["All", traffic(row)] {
            groups.entry((direction(row), name)).or_default().push(row);
        }
    }
    for ((way, name), rows) in &groups {
        let full = rows.iter().filter(|row| row.rule == Rule::QueueFull).count();
        let lost = rows.iter().filter(|row| row.delay_ns.is_none()).count() - full;
        let [median, most, max] = readme::quantiles(rows.iter().filter_map(|row| row.delay_ns).collect());
        writeln!(text, "| {way} | {name} | {} | {lost} | {full} | {median} | {most} | {max} |", rows.len())?;
    }

    writeln!(text, "\n## How good the truth is\n")?;
    writeln!(text, "Each capture holds exactly the frames that the line logged there.\n")?;
    writeln!(text, "| distance between capture and log | median | p99 | max |\n|---|---:|---:|---:|")?;
    let errors = spread(rows.iter().filter(|row| row.delay_ns.is_some()).map(|row| row.error_ns).collect());
    for (what, spread) in [
        ("near, from the middle of the line's two clock readings", clocks.distance_ns),
        ("at the server, `out`: the same", server.sent_ns),
        ("at the server, `back`: from the capture to the kernel's time of receipt in the middle", server.received_ns),
        ("possible error of a delay, `error_ns`", errors),
    ] {
        let [median, most, max] = spread.map(Nanos::new);
        writeln!(text, "| {what} | {median} | {most} | {max} |")?;
    }
    let [median, most, max] = clocks.lateness_ns.map(Nanos::new);
    writeln!(
        text,
        "\nThe line released frames later than drawn by {median} (median), {most} (p99), {max} (max) near; the truth"
    )?;
    writeln!(text, "uses the real times.")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::headers::ACK;
    use crate::record::plan::Verdict;
    use crate::record::truth::tests::{MS, journey, segment};

    /// One packet out in 7 ms, one lost on the way out, one back in 5 ms.
    fn journeys() -> [Journey; 3] {
        let mut lost = journey(true, &segment(ACK, 2, 1), 1, 6, None);
        lost.second = Some(Verdict { hold_ns: 0, rule: Rule::Loss });
        [journey(true, &segment(ACK, 1, 1), 0, 5, Some(12)), lost, journey(false, &segment(ACK, 1, 2), 4, 9, Some(14))]
    }

    #[test]
    fn each_direction_has_its_points() {
        let journeys = journeys();
        let captured = [(4 * MS, journeys[2].head.clone()), (12 * MS, journeys[0].head.clone())];
        let server = Server::find(&captured, &journeys).unwrap();
        let rows = rows(&journeys, &server.frames).unwrap();
        let found: Vec<_> = rows.iter().map(|row| (direction(row), row.delay_ns, row.frames)).collect();
        let expected = [
            ("back", Some(5 * MS + 100), [Some(3), Some(1)]),
            ("out", Some(7 * MS), [Some(1), Some(2)]),
            ("out", None, [Some(2), None]),
        ];
        assert_eq!(found, expected);
        assert_eq!(rows.iter().map(|row| row.error_ns).collect::<Vec<_>>(), [100, 200, 100]);
        assert_eq!((server.sent_ns[2], server.received_ns[2]), (100, 0));
        assert!(table(&rows).unwrap().contains("out,ack,40,loss,6000100,,100,2,,10.10.0.1,5000,10.20.1.1,80,6\n"));
    }

    /// Rejects an extra frame, a missing one, and one whose fate is unknown.
    #[test]
    fn what_does_not_agree_is_refused() {
        let mut journeys = journeys();
        let mut captured = vec![(4 * MS, journeys[2].head.clone()), (12 * MS, journeys[0].head.clone())];
        assert!(Server::find(&captured[..1], &journeys).is_err());
        captured.push((13 * MS, journeys[1].head.clone()));
        assert!(Server::find(&captured, &journeys).is_err());
        journeys[0].left = None;
        assert!(rows(&journeys, &HashMap::new()).is_err());
    }
}
