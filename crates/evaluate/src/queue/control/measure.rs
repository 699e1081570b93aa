use super::action::{Action, Verdict};
use super::method::Configuration;
use crate::case::{Measurement, Quantity};
use crate::experiment::Problem;
use crate::grid::Measured;
use crate::queue::measure::share;
use crate::queue::workload::Stream;
use crate::run::methods_seed;
use dwell_simulate::queue::{Arrivals, Passage, Queue};
use dwell_types::FlowId;
use std::collections::VecDeque;

/// The largest queue.
pub(super) const PEAK: Quantity = Quantity::value("peak_bytes");
/// Shares of the bytes of small flows, and of bursts, that were dropped or marked.
pub(super) const SMALL_DROPPED: Quantity = Quantity::share("small_dropped");
pub(super) const LARGE_DROPPED: Quantity = Quantity::share("large_dropped");
pub(super) const SMALL_MARKED: Quantity = Quantity::share("small_marked");
pub(super) const LARGE_MARKED: Quantity = Quantity::share("large_marked");
/// Mean delay of the packets of small flows.
pub(super) const SMALL_DELAY: Quantity = Quantity::value("small_delay_ns");
/// Of a course: the largest queue in the time slice that begins after this many milliseconds.
const QUEUE: Quantity = Quantity::value("queue");

/// Time until a mark reaches the sender, in nanoseconds.
const ROUND_TRIP: f64 = 100_000.0;

/// Byte counts of one kind of flow.
#[derive(Clone, Copy, Default)]
struct Bytes {
    came: u64,
    dropped: u64,
    left: u64,
    marked: u64,
}

/// The totals of a run.
#[derive(Default)]
struct Tally {
    /// For small flows, and for bursts.
    bytes: [Bytes; 2],
    peak: u64,
    /// The largest queue in each time slice, if requested.
    course: Vec<u64>,
    /// Sum of the delays of packets of small flows, in nanoseconds, and their number.
    delay: u64,
    delays: u64,
    /// Marks in flight, with their time of arrival.
    marks: VecDeque<(f64, FlowId)>,
}

impl Measured for Configuration {
    type Stream = Stream;

    fn suits(&self, stream: &Stream) -> Result<(), Problem> {
        Action::new(stream, self, 0).map(drop)
    }

    fn quantities(&self, stream: &Stream) -> Vec<Quantity> {
        let mut all = vec![PEAK, SMALL_DELAY, SMALL_DROPPED, LARGE_DROPPED, SMALL_MARKED, LARGE_MARKED];
        if stream.course.is_some() {
            all.push(QUEUE.of(Quantity::ANY));
        }
        all
    }

    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem> {
        configurations.iter().map(|configuration| run(stream, configuration, seed)).collect()
    }
}

/// Runs the requested number of arriving packets through a queue with an action.
fn run(stream: &Stream, configuration: &Configuration, seed: u64) -> Result<Vec<Measurement>, Problem> {
    let settings = &stream.settings;
    let mut arrivals = Arrivals::new(settings, seed)?;
    let mut queue = Queue::new(settings)?;
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

    /// Records the queue's length in a time slice.
    fn follow(&mut self, slice: usize, bytes: u64) {
        self.course.resize(self.course.len().max(slice + 1), 0);
        self.course[slice] = self.course[slice].max(bytes);
    }

    fn measurements(&self, course: Option<f64>) -> Vec<Measurement> {
        let [small, large] = self.bytes;
        let of_slice =
            |(slice, &bytes): (usize, &u64)| QUEUE.of(slice as f64 * course.unwrap_or(1.0)).measured(bytes as f64);
        let course = self.course.iter().enumerate().map(of_slice);
        let whole = [
            PEAK.measured(self.peak as f64),
            SMALL_DROPPED.measured(share(small.dropped, small.came)),
            LARGE_DROPPED.measured(share(large.dropped, large.came)),
            SMALL_MARKED.measured(share(small.marked, small.left)),
            LARGE_MARKED.measured(share(large.marked, large.left)),
            SMALL_DELAY.measured(share(self.delay, self.delays)),
        ];
        whole.into_iter().chain(course).collect()
    }
}
