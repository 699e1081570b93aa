//! The size of the snapshots of a queue for a given error of a flow's share of it.

use dwell_report::size::{Asked, ExpectedError, Parameters, Size};
use dwell_simulate::queue::{Background, Bursts, Discipline, Passages, Settings};
use dwell_sketch::conquest::{Conquest, Counter, Culprit, Params, Trial};
use dwell_types::{Nanos, Timestamp};

/// The queue that is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Line rate behind the queue, in bits per second.
    pub line_rate: f64,
    /// Longest delay to cover with finished windows.
    pub longest: Nanos,
    /// Which flow is a culprit, and from which delay on packets are analysed; shorter than the longest.
    pub culprit: Culprit,
    /// Share of the line rate taken by small flows.
    pub background: f64,
    /// Number of concurrent small flows.
    pub flows: u32,
    /// Number of large flows that burst together.
    pub senders: u32,
}

/// Number of simulated packets, and the most of them in the longest queue: if there would be more, a slower line is
/// simulated, and shorter queues at a rate at which so many packets take a longest delay of so many thresholds.
const PACKETS: u64 = 100_000;
const MOST_QUEUED: f64 = 6_000.0;
const THRESHOLDS: f64 = 8.0;
const PACKET_BYTES: u32 = 1_500;
/// Shorter bursts, in packets, do not form a queue.
const LEAST_QUEUED: f64 = 4.0;

/// The parameters of the snapshots, and their size. The error says what is wrong with the expected queue.
pub fn size(asked: Asked, expected: &Expected) -> Result<(Params, Size), String> {
    let &Expected { line_rate, longest, culprit, .. } = expected;
    let departures = |rate: f64, longest: f64| {
        let passages = Passages::new(&expected.settings(rate, longest)?, 0).map_err(|error| error.to_string())?;
        Ok::<_, String>(passages.map(|passage| passage.departure))
    };
    // Bits of the longest queue that is simulated.
    let most = MOST_QUEUED * f64::from(PACKET_BYTES) * 8.0;
    let slow = line_rate.min(most / longest.as_secs_f64());
    let mut trial = Trial::new(departures(slow, longest.as_secs_f64())?, culprit, longest);
    // On a slow line so few packets share a short window that they hardly share its counters.
    let fast = line_rate.min(most / THRESHOLDS / culprit.delay.as_secs_f64());
    if fast > 2.0 * slow {
        trial = trial.and(departures(fast, most / fast)?);
    }
    let found = match asked {
        Asked::Error(error) => Params::for_queue_error(error, &trial),
        Asked::Memory(bytes) => Params::for_queue(bytes, culprit, longest, 0)
            .and_then(|params| trial.expected(&params).map(|expected| (params, expected))),
    };
    let (params, foretold) = found.map_err(|error| error.to_string())?;
    if foretold.packets == 0 {
        return Err("no simulated packet reached the threshold".to_owned());
    }
    let (rows, columns) = match params.counter {
        Counter::CountMin { rows, columns, .. } => (Some(rows), columns),
        Counter::SpaceSaving { entries } => (None, entries),
    };
    let size = Size {
        memory_bytes: Conquest::bytes(&params) as u64,
        command: None,
        parameters: Parameters::Conquest {
            snapshots: params.snapshots,
            windows_ns: params.windows.iter().map(|window| window.get()).collect(),
            counter: params.counter.kind().name(),
            rows,
            columns,
        },
        errors: vec![ExpectedError {
            error: Some(foretold.error),
            error_bytes: Some(foretold.error_bytes),
            samples: Some(foretold.packets as f64),
            windows_error: Some(foretold.windows_error),
            counters_error: Some((foretold.error - foretold.windows_error).max(0.0)),
            precision: foretold.precision,
            recall: foretold.recall,
            ..ExpectedError::default()
        }],
    };
    Ok((params, size))
}

impl Expected {
    /// Bursts on a line of this rate that fill the queue for times from the threshold to the longest delay in seconds,
    /// Pareto with the index 1.1, over small flows.
    fn settings(&self, rate: f64, longest: f64) -> Result<Settings, String> {
        let &Self { senders, flows, background, culprit: Culprit { delay: threshold, .. }, .. } = self;
        let [least, queue] = [threshold.as_secs_f64(), longest].map(|time| rate * time / 8.0);
        if least < LEAST_QUEUED * f64::from(PACKET_BYTES) {
            return Err(format!(
                "--threshold {threshold}: {least:.0} bytes of the line, expected at least 4 packets of 1500"
            ));
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
}
