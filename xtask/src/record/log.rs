//! Logs for a capture: what the line did with every frame, and the truth derived from that.

use super::headers;
use super::line::Journey;
use super::truth::{Row, Truth, frame_numbers};
use anyhow::Result;
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
