use super::action::{Action, Verdict};
use super::method::Configuration;
use crate::case::Measurement;
use crate::grid::{Measured, methods_seed};
use crate::queue::workload::Stream;
use dwell_simulate::queue::{Arrivals, Passage, Queue};
use dwell_types::FlowId;
use std::collections::VecDeque;

/// How long a mark takes to its sender.
const ROUND_TRIP: f64 = 100_000.0;

/// Bytes of one kind of flows.
#[derive(Clone, Copy, Default)]
struct Bytes {
    came: u64,
    dropped: u64,
    left: u64,
    marked: u64,
}

/// What was done, and what came of it.
#[derive(Default)]
struct Tally {
    /// Of small flows, and of bursts.
    bytes: [Bytes; 2],
    peak: u64,
    /// The largest queue of each stretch, if that is asked for.
    course: Vec<u64>,
    /// Of packets of small flows, in nanoseconds.
    delay: u64,
    delays: u64,
    /// Marks on their way, with when they get there.
    marks: VecDeque<(f64, FlowId)>,
}

impl Measured for Configuration {
    type Stream = Stream;

    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        configurations.iter().map(|configuration| run(stream, configuration, seed)).collect()
    }
}

/// As many packets as are asked for come to a queue, and what is done about them.
fn run(stream: &Stream, configuration: &Configuration, seed: u64) -> Result<Vec<Measurement>, String> {
    let settings = &stream.settings;
    let mut arrivals = Arrivals::new(settings, seed).map_err(|error| error.to_string())?;
    let mut queue = Queue::new(settings).map_err(|error| error.to_string())?;
    let mut action = Action::new(stream, configuration, methods_seed(seed))?;
    let mut tally = Tally::default();
    for _ in 0..settings.packets {
        let Some(arrival) = arrivals.next() else { break };
        while let Some(passage) = queue.depart_before(arrival.at) {
            let is_marked = action.leave(&passage);
            tally.leave(&passage, is_marked);
        }
        let verdict = match action.admits(&arrival, &mut queue) {
            Verdict::Admitted if !queue.offer(&arrival) => Verdict::Dropped,
            verdict => verdict,
        };
        let dropped = match verdict {
            Verdict::Admitted => 0,
            Verdict::Dropped => arrival.bytes,
            Verdict::DroppedBoth(other) => arrival.bytes + other,
        };
        let bytes = &mut tally.bytes[usize::from(arrival.is_burst)];
        bytes.came += u64::from(arrival.bytes);
        bytes.dropped += u64::from(dropped);
        tally.peak = tally.peak.max(queue.bytes());
        if let Some(length) = stream.course {
            tally.follow((arrival.at / (length * 1e6)) as usize, queue.bytes());
        }
        while let Some(&(_, flow)) = tally.marks.front().filter(|(at, _)| *at <= arrival.at) {
            tally.marks.pop_front();
            arrivals.slow_down(flow, arrival.at, ROUND_TRIP);
        }
    }
    Ok(tally.measurements(stream.course))
}

impl Tally {
    fn leave(&mut self, passage: &Passage, is_marked: bool) {
        let departure = &passage.departure;
        let bytes = &mut self.bytes[usize::from(passage.is_burst)];
        bytes.left += u64::from(departure.bytes);
        if is_marked {
            bytes.marked += u64::from(departure.bytes);
            self.marks.push_back((departure.departed.as_nanos() as f64 + ROUND_TRIP, departure.flow));
        }
        if let (Some(arrived), false) = (departure.arrived, passage.is_burst) {
            self.delay += (departure.departed - arrived).get().unsigned_abs();
            self.delays += 1;
        }
    }

    /// What is in the queue in a stretch.
    fn follow(&mut self, stretch: usize, bytes: u64) {
        self.course.resize(self.course.len().max(stretch + 1), 0);
        self.course[stretch] = self.course[stretch].max(bytes);
    }

    fn measurements(&self, course: Option<f64>) -> Vec<Measurement> {
        let [small, large] = self.bytes;
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let of_stretch = |(stretch, &bytes): (usize, &u64)| {
            Measurement::value(format!("queue_{}", stretch as f64 * course.unwrap_or(1.0)), bytes as f64)
        };
        let course = self.course.iter().enumerate().map(of_stretch);
        let whole = [
            Measurement::value("peak_bytes", self.peak as f64),
            Measurement::value("small_dropped", share(small.dropped, small.came)),
            Measurement::value("large_dropped", share(large.dropped, large.came)),
            Measurement::value("small_marked", share(small.marked, small.left)),
            Measurement::value("large_marked", share(large.marked, large.left)),
            Measurement::value("small_delay_ns", share(self.delay, self.delays)),
        ];
        whole.into_iter().chain(course).collect()
    }
}
