//! Logs for a capture: what the line did with every frame, and the truth derived from that. The first is read again if
//! another truth is to be derived from it.

use super::capture::Captured;
use super::headers;
use super::line::{Journey, Sent};
use super::plan::{Rule, Verdict};
use super::truth::{Row, Truth, frame_numbers};
use anyhow::{Context, Result, ensure};
use dwell_types::hash;
use std::fmt::Write;

/// Bytes of a frame that identify it: no capture here has a shorter snap length.
pub(crate) const IDENTIFYING: usize = 96;

/// 32 bits that identify a frame by its first [`IDENTIFYING`] bytes.
pub(crate) fn identity(frame: &[u8]) -> u32 {
    (hash::bytes(hash::start(0), &frame[..frame.len().min(IDENTIFYING)]) >> 32) as u32
}

/// One line per frame that the line received, in the order of receipt.
pub(crate) fn frames(journeys: &[Journey]) -> Result<String> {
    let mut text = String::from(
        "frame,direction,kind,bytes,identity,entered_ns,\
         first_rule,first_drawn_ns,first_held_ns,first_error_ns,crossed_ns,\
         second_rule,second_drawn_ns,second_held_ns,second_error_ns\n",
    );
    for (journey, number) in journeys.iter().zip(frame_numbers(journeys)) {
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let direction = if journey.outward { "out" } else { "back" };
        let kind = headers::kind(journey.headers().as_ref());
        write!(
            text,
            "{number},{direction},{kind},{},{:08x},{},{},{}",
            journey.length,
            identity(&journey.head),
            journey.entered_ns,
            journey.first.rule.name(),
            journey.first.hold_ns,
        )?;
        match journey.point {
            Some(sent) => write!(text, ",{},{}", sent.at_ns() - journey.entered_ns, sent.error_ns())?,
            None => text.push_str(",,"),
        }
        match (journey.point, journey.crossed_ns, journey.second) {
            (Some(sent), Some(crossed), Some(second)) => {
                write!(text, ",{},{},{}", crossed - sent.at_ns(), second.rule.name(), second.hold_ns)?;
                match journey.left {
                    Some(left) => writeln!(text, ",{},{}", left.at_ns() - crossed, left.error_ns())?,
                    None => text.push_str(",,\n"),
                }
            }
            _ => text.push_str(",,,,,\n"),
        }
    }
    Ok(text)
}

/// The journeys in a log of frames and the capture of those that crossed the point. Nothing is known of the contents of frames
/// that were dropped before, nor when frames were due.
pub(crate) fn journeys(frames: &str, captured: &[Captured]) -> Result<Vec<Journey>> {
    let lines = frames.lines().skip(1).zip(2..);
    lines.map(|(line, n)| journey(line, captured).with_context(|| format!("line {n} of the log of frames"))).collect()
}

fn journey(line: &str, captured: &[Captured]) -> Result<Journey> {
    let fields: Vec<&str> = line.split(',').collect();
    ensure!(fields.len() == 15, "{} columns", fields.len());
    let number = |at: usize| -> Result<Option<i64>> {
        let text = fields[at];
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).with_context(|| format!("no number: {text}")) }
    };
    let given = |at: usize| number(at)?.with_context(|| format!("column {} is empty", at + 1));
    let verdict = |at: usize| -> Result<Option<Verdict>> {
        let Some(hold_ns) = number(at + 1)? else { return Ok(None) };
        Ok(Some(Verdict { hold_ns, rule: Rule::named(fields[at]).context("unknown rule")? }))
    };
    // Sent this long after a moment; the columns are the time held and the error.
    let sent = |since: i64, at: usize| -> Result<Option<Sent>> {
        let (Some(held), Some(error)) = (number(at)?, number(at + 1)?) else { return Ok(None) };
        let at_ns = since + held;
        Ok(Some(Sent { due_ns: at_ns, after_ns: at_ns - error, before_ns: at_ns + error }))
    };
    let entered_ns = given(5)?;
    let point = sent(entered_ns, 8)?;
    let crossed_ns = point.zip(number(10)?).map(|(point, after)| point.at_ns() + after);
    let left = crossed_ns.map(|crossed| sent(crossed, 13)).transpose()?.flatten();
    let head = match number(0)? {
        None => Vec::new(),
        Some(frame) => {
            let place = usize::try_from(frame - 1)?;
            let (_, bytes) = captured.get(place).with_context(|| format!("frame {frame} was not captured"))?;
            ensure!(format!("{:08x}", identity(bytes)) == fields[4], "frame {frame} is another one");
            bytes.clone()
        }
    };
    Ok(Journey {
        head,
        length: usize::try_from(given(3)?)?,
        outward: fields[1] == "out",
        entered_ns,
        first: verdict(6)?.context("no first rule")?,
        point,
        crossed_ns,
        second: verdict(11)?,
        left,
    })
}

/// One line per answered exchange, in the order of the responses.
pub(crate) fn truth(truth: &Truth) -> Result<String> {
    let mut text = String::from(
        "match,leg,request_ns,delay_ns,error_ns,since_first_ns,since_last_ns,requests,earlier,\
         request_frame,response_frame,source,source_port,destination,destination_port\n",
    );
    for row in &truth.rows {
        let (matching, leg) = row.rule.names();
        let delay = row.delay_ns.map(|delay| delay.to_string()).unwrap_or_default();
        let Row { flow, frames, .. } = row;
        writeln!(
            text,
            "{matching},{leg},{},{delay},{},{},{},{},{},{},{},{},{},{},{}",
            row.request_ns,
            row.error_ns,
            row.since_first_ns,
            row.since_last_ns,
            row.requests,
            row.earlier,
            frames.0,
            frames.1,
            flow.source,
            flow.source_port,
            flow.destination,
            flow.destination_port,
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::headers::{ACK, PSH, SYN};
    use crate::record::truth;
    use crate::record::truth::tests::{journey, segment};

    /// What is read from the log and the capture has the same truth as what was logged, and only in this capture.
    #[test]
    fn a_log_is_read_again() {
        let data = headers::Segment { payload_length: 9, ..segment(ACK | PSH, 100, 7) };
        let answer = headers::Segment { payload_length: 9, ..segment(ACK, 7, 109) };
        let mut dropped = journey(true, &segment(SYN, 1, 0), 1, 2, None);
        (dropped.point, dropped.crossed_ns, dropped.second) = (None, None, None);
        let logged = [
            journey(true, &data, 0, 5, None),
            dropped,
            journey(true, &data, 900, 905, Some(910)),
            journey(false, &answer, 911, 915, Some(920)),
        ];
        let crossed = logged.iter().filter_map(|journey| Some((journey.point?.at_ns(), journey.head.clone())));
        let captured: Vec<Captured> = crossed.collect();
        let text = frames(&logged).unwrap();
        let read = journeys(&text, &captured).unwrap();
        // All but what was dropped is logged in the same words.
        let of_crossed = |journeys: &[Journey]| frames(&[&journeys[..1], &journeys[2..]].concat()).unwrap();
        assert_eq!(of_crossed(&read), of_crossed(&logged));
        let (ours, theirs) = (truth::truth(&read), truth::truth(&logged));
        assert_eq!(ours.rows, theirs.rows);
        assert_eq!(ours.rows.len(), 2, "acknowledged, and answered");
        let other: Vec<Captured> = captured.iter().rev().cloned().collect();
        for (captured, error) in
            [(&other[..], "line 2 of the log of frames"), (&captured[..2], "line 5 of the log of frames")]
        {
            assert_eq!(journeys(&text, captured).unwrap_err().to_string(), error);
        }
        assert!(journeys(&text.replacen("plain", "plane", 1), &captured).is_err());
    }
}
