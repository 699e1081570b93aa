//! `dwell size queue`: size of the snapshots of a queue for a given error of a flow's share of it.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::{Answer, Asked};
use crate::Failure;
use crate::units::{self, share, time_flag};
use clap::Args;
use dwell_report::size::{ExpectedError, Parameters, Size, Traffic};
use dwell_simulate::queue::{Background, Bursts, Discipline, Passages, Settings};
use dwell_sketch::conquest::{Conquest, Counter, Culprit, Expected, Params, Trial};
use dwell_types::{Nanos, Timestamp};

/// Size of the snapshots of dwell queue --method conquest for a given error of a flow's size in the queue, or the error
/// of a given size.
///
/// Found by simulating bursts that fill the queue for times from the threshold to the longest delay, on a slower line if
/// that is too many packets; then shorter ones on a faster line, too, and the worse of both counts. The error is the
/// mean over packets delayed by at least the threshold, as a share of the queue. Windows longer than the threshold are
/// not recommended. More memory can have a larger error: from some 8 KiB on it is for many flows that share the queue,
/// with counters that confuse the few of --senders more often.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dwell size queue --error 0.5%
  dwell size queue --memory 64KiB --line-rate 100e9 --longest 1ms --threshold 100us --background 50%")]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) asked: Asked,
    /// Line rate behind the queue, in bits per second.
    #[arg(long, value_name = "BITS", value_parser = units::bits, default_value = "10G")]
    line_rate: f64,
    /// Longest delay to cover with finished windows.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "6.4ms")]
    longest: Nanos,
    /// Delay from which packets are analysed. Default: an eighth of --longest.
    #[arg(long, value_name = "TIME", value_parser = units::span)]
    threshold: Option<Nanos>,
    /// Share of the queue above which a flow is a culprit.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1%")]
    share: f64,
    /// Share of the line rate taken by small flows.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "30%")]
    background: f64,
    /// Number of concurrent small flows.
    #[arg(long, value_name = "N", value_parser = units::between::<u32>(1..=1 << 20), default_value = "200")]
    flows: u32,
    /// Number of large flows that burst together.
    #[arg(long, value_name = "N", value_parser = units::between::<u32>(1..=1 << 10), default_value = "2")]
    senders: u32,
}

/// Number of simulated packets, and the most of them in the longest queue: if there would be more, a slower line is
/// simulated, and shorter queues at a rate at which so many packets take a longest delay of so many thresholds.
const PACKETS: u64 = 100_000;
const MOST_QUEUED: f64 = 6_000.0;
const THRESHOLDS: f64 = 8.0;
const PACKET_BYTES: u32 = 1_500;
/// Shorter bursts, in packets, do not form a queue.
const LEAST_QUEUED: f64 = 4.0;

pub(super) fn answer(arguments: &Arguments) -> Result<Answer, Failure> {
    let &Arguments { line_rate, longest, share, background, flows, senders, .. } = arguments;
    let threshold = arguments.threshold.unwrap_or(Nanos::new((longest.get() / 8).max(1)));
    if threshold >= longest {
        return Err(Failure::usage(format!(
            "--threshold {threshold}: expected less than the longest delay, {longest}"
        )));
    }
    if longest > Params::LONGEST_WINDOW {
        return Err(Failure::usage(format!("--longest {longest}: expected at most {}", Params::LONGEST_WINDOW)));
    }
    if let Some(memory) = arguments.asked.memory.filter(|&memory| memory > Params::MOST_BYTES) {
        return Err(Failure::usage(format!("--memory: {memory} bytes, expected at most {}", Params::MOST_BYTES)));
    }
    let culprit = Culprit { share, delay: threshold };
    let departures = |rate: f64, longest: f64| {
        let passages = Passages::new(&settings(arguments, rate, threshold, longest)?, 0).map_err(Failure::usage)?;
        Ok::<_, Failure>(passages.map(|passage| passage.departure))
    };
    // Bits of the longest queue that is simulated.
    let most = MOST_QUEUED * f64::from(PACKET_BYTES) * 8.0;
    let slow = line_rate.min(most / longest.as_secs_f64());
    let mut trial = Trial::new(departures(slow, longest.as_secs_f64())?, culprit, longest);
    // On a slow line so few packets share a short window that they hardly share its counters.
    let fast = line_rate.min(most / THRESHOLDS / threshold.as_secs_f64());
    if fast > 2.0 * slow {
        trial = trial.and(departures(fast, most / fast)?);
    }
    let (params, expected) = match (arguments.asked.error, arguments.asked.memory) {
        (Some(error), _) => Params::for_queue_error(error, &trial).map_err(Failure::usage)?,
        (None, memory) => {
            let params = Params::for_queue(memory.unwrap_or(0), culprit, longest, 0).map_err(Failure::usage)?;
            let expected = trial.expected(&params).map_err(Failure::usage)?;
            (params, expected)
        }
    };
    if expected.packets == 0 {
        return Err(Failure::usage("no simulated packet reached the threshold"));
    }
    Ok(Answer {
        question: "queue",
        method: "conquest",
        traffic: Traffic::Queue {
            bits_per_second: line_rate,
            longest_ns: longest.get(),
            threshold_ns: threshold.get(),
            culprit_share: share,
            load_share: background,
            flows,
            senders,
        },
        exact: None,
        sizes: vec![size(&params, &expected, culprit, longest)],
    })
}

/// Bursts on a line of this rate that fill the queue for times from the threshold to the longest delay in seconds,
/// Pareto with the index 1.1, over small flows.
fn settings(arguments: &Arguments, rate: f64, threshold: Nanos, longest: f64) -> Result<Settings, Failure> {
    let &Arguments { senders, flows, background, .. } = arguments;
    let [least, queue] = [threshold.as_secs_f64(), longest].map(|time| rate * time / 8.0);
    if least < LEAST_QUEUED * f64::from(PACKET_BYTES) {
        return Err(Failure::usage(format!(
            "--threshold {threshold}: {least:.0} bytes of the line, expected at least 4 packets of 1500"
        )));
    }
    // Bursts arrive at least twice as fast as they depart; what departs during a burst is not part of the queue.
    let speed = f64::from(senders.max(2));
    let each = |bytes: f64| bytes * speed / (speed - 1.0 + background) / f64::from(senders);
    Ok(Settings {
        start: Timestamp::from_nanos(0),
        packets: PACKETS,
        rate,
        buffer_bytes: Some(queue as u64),
        discipline: Discipline::Fifo,
        background: Background {
            rate: background * rate,
            flows,
            skew: 0.0,
            flow_packets: (1, 1.1),
            packet_bytes: 64..=PACKET_BYTES,
        },
        bursts: Some(Bursts {
            every: Nanos::new((longest * 1.5e9).round() as i64),
            senders,
            rate: speed * rate / f64::from(senders),
            bytes: (each(least), each(queue)),
            shape: 1.1,
            packet_bytes: PACKET_BYTES,
        }),
    })
}

fn size(params: &Params, expected: &Expected, culprit: Culprit, longest: Nanos) -> Size {
    let bytes = Conquest::bytes(params);
    let (rows, columns) = match params.counter {
        Counter::CountMin { rows, columns, .. } => (Some(rows), columns),
        Counter::SpaceSaving { entries } => (None, entries),
    };
    Size {
        memory_bytes: bytes as u64,
        // With the counter, since dwell queue warns of few counters where nobody chose them, and here --senders did.
        command: Some(format!(
            "dwell queue --method conquest --sketch-bytes {bytes} --counter {} --longest {} --threshold {} --share {}",
            params.counter.kind().name(),
            time_flag(longest),
            time_flag(culprit.delay),
            culprit.share
        )),
        parameters: Parameters::Conquest {
            snapshots: params.snapshots,
            windows_ns: params.windows.iter().map(|window| window.get()).collect(),
            counter: params.counter.kind().name(),
            rows,
            columns,
        },
        errors: vec![ExpectedError {
            error: Some(expected.error),
            error_bytes: Some(expected.error_bytes),
            samples: Some(expected.packets as f64),
            windows_error: Some(expected.windows_error),
            counters_error: Some((expected.error - expected.windows_error).max(0.0)),
            precision: expected.precision,
            recall: expected.recall,
            ..ExpectedError::default()
        }],
    }
}
