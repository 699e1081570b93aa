use super::method::Configuration;
use super::workload::Stream;
use crate::case::{Measurement, Quantity, STATE_BYTES, Scale};
use crate::experiment::Problem;
use crate::grid::Measured;
use crate::run::methods_seed;
use dwell_simulate::exchange::ExchangeWorkload;
use dwell_sketch::estimate::Estimate;
use dwell_sketch::rivals::timebloom::{TimeBloom, false_positive_probability};
use dwell_sketch::{Event, Meter, Sample};
use dwell_types::{Nanos, Timestamp};

/// Mean of |estimate − truth| over the responses, in milliseconds.
pub(super) const ERROR: Quantity = Quantity::value("error_ms");
/// Mean of |estimate − truth| over truth.
const RELATIVE_ERROR: Quantity = Quantity::magnitude("relative_error");
/// Hashes of a filter.
const HASHES: Quantity = Quantity::value("hashes");
/// Requests in a slot.
const LOAD: Quantity = Quantity::value("load");
/// Share of set bits in the last complete filter.
const OCCUPANCY: Quantity = Quantity::share("occupancy");
/// Filters that match a response.
const CANDIDATES: Quantity = Quantity::value("candidates");
/// Share of the responses whose request was looked for in another slot, or not found.
pub(super) const WRONG_SHARE: Quantity = Quantity::share("wrong_share");
/// Share of the responses without a request that matched one.
pub(super) const FALSE_SHARE: Quantity = Quantity::share("false_share");
/// The same, relative to its expected value.
const FALSE_OF_EXPECTED: Quantity = Quantity::plain("false_of_expected", Scale::Ratio);
/// Of a course: requests in the observed filter after so many milliseconds, as is the [`OCCUPANCY`] of that one.
const STORED: Quantity = Quantity::value("stored");

impl Measured for Configuration {
    type Stream = Stream;

    fn suits(&self, stream: &Stream) -> Result<(), Problem> {
        self.ring(stream, 0).map(drop)
    }

    fn quantities(&self, stream: &Stream) -> Vec<Quantity> {
        let mut all = vec![ERROR, HASHES, LOAD, CANDIDATES, STATE_BYTES, RELATIVE_ERROR];
        all.extend([OCCUPANCY, WRONG_SHARE, FALSE_SHARE, FALSE_OF_EXPECTED]);
        if stream.course.is_some() {
            all.extend([STORED, OCCUPANCY].map(|quantity| quantity.of(Quantity::ANY)));
        }
        all
    }

    /// Runs all rings at once, so that the stream is generated only once.
    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem> {
        let mut workload = ExchangeWorkload::new(&stream.settings, seed)?;
        let seed = methods_seed(seed);
        let judged = configurations
            .iter()
            .map(|configuration| Ok(Judged::new(configuration.ring(stream, seed)?, stream.course.map(Course::new))));
        let mut judged: Vec<Judged> = judged.collect::<Result<_, Problem>>()?;
        while let Some(seen) = workload.next() {
            let (event, delay) = (Event::from(seen), workload.delay());
            for ring in &mut judged {
                if event.is_request { ring.request(&event) } else { ring.response(&event, delay) }
            }
        }
        Ok(judged.iter().map(|ring| ring.measurements(stream.settings.rate)).collect())
    }
}

/// A ring, and statistics of the responses after its first turn.
struct Judged {
    ring: TimeBloom,
    samples: Vec<Sample>,
    answers: u64,
    /// Answers for which an estimate was found.
    found: u64,
    /// Sum of |estimate − truth| in milliseconds.
    absolute: f64,
    /// Sum of |estimate − truth| over truth.
    relative: f64,
    /// Total number of matching filters, and sum of the shares of set bits in the last complete filter.
    candidates: u64,
    occupancy: f64,
    /// Responses whose request was found in the wrong slot, or not found.
    wrong: u64,
    orphans: u64,
    /// Orphans for which a request was found nevertheless.
    found_orphans: u64,
    course: Option<Course>,
}

/// The content of one filter over time, sampled at the end of each time slice: Fig. 4.4.
struct Course {
    /// In milliseconds.
    length: f64,
    /// Requests added to it since it was last reset, and the slot of the last one.
    stored: u64,
    slot: i64,
    /// At the end of each time slice, the number of requests and the share of set bits.
    slices: Vec<(u64, f64)>,
}

impl Course {
    /// The observed filter is the one whose first slot is the third: that of the tag 2Δ.
    const FILTER: i64 = 2;

    fn new(length: f64) -> Self {
        Self { length, stored: 0, slot: 0, slices: Vec::new() }
    }

    /// Called before each request.
    fn follow(&mut self, at: Timestamp, ring: &TimeBloom) {
        let slice = (at.as_nanos() as f64 / (self.length * 1e6)) as usize;
        if slice > self.slices.len() {
            let set = ring.occupancy_of_slot(Self::FILTER);
            // A turn without a request in this filter's slot has emptied it nevertheless.
            self.slices.resize(slice, (if set > 0.0 { self.stored } else { 0 }, set));
        }
        let slot = at.as_nanos().div_euclid(ring.slot_width().get());
        if slot.rem_euclid(ring.filters().into()) == Self::FILTER {
            self.stored = if slot == self.slot { self.stored + 1 } else { 1 };
            self.slot = slot;
        }
    }
}

impl Judged {
    fn new(ring: TimeBloom, course: Option<Course>) -> Self {
        Self {
            ring,
            samples: Vec::new(),
            answers: 0,
            found: 0,
            absolute: 0.0,
            relative: 0.0,
            candidates: 0,
            occupancy: 0.0,
            wrong: 0,
            orphans: 0,
            found_orphans: 0,
            course,
        }
    }

    fn request(&mut self, request: &Event) {
        if let Some(course) = &mut self.course {
            course.follow(request.at, &self.ring);
        }
        self.ring.update(&[*request], &mut self.samples);
    }

    /// Handles a response with its true delay; `None` for an orphan.
    fn response(&mut self, response: &Event, delay: Option<Nanos>) {
        self.samples.clear();
        self.ring.update(&[*response], &mut self.samples);
        let (at, width) = (response.at.as_nanos(), self.ring.slot_width().get());
        if at <= self.ring.longest().get() + width {
            return;
        }
        let Some(delay) = delay else {
            self.orphans += 1;
            self.found_orphans += self.samples.len() as u64;
            return;
        };
        self.answers += 1;
        self.candidates += self.ring.candidates() as u64;
        self.occupancy += self.ring.occupancy();
        let slot = |delay: Nanos| (at - delay.get()).div_euclid(width);
        match self.samples.first() {
            Some(sample) => {
                self.found += 1;
                let error = (sample.since_first.get() - delay.get()).abs() as f64;
                self.absolute += error / 1e6;
                self.relative += error / delay.get().max(1) as f64;
                self.wrong += u64::from(slot(delay) != slot(sample.since_first));
            }
            None => self.wrong += 1,
        }
    }

    fn measurements(&self, rate: f64) -> Vec<Measurement> {
        let share = |part: f64, of: u64| (of > 0).then(|| part / of as f64);
        let load = rate * self.ring.slot_width().get() as f64 / 1e9;
        let chance = false_positive_probability(self.ring.filter_bits(), self.ring.hashes(), load);
        let found = 1.0 - (1.0 - chance).powf(f64::from(self.ring.filters() - 1));
        let false_share = share(self.found_orphans as f64, self.orphans);
        let mut measured = vec![
            ERROR.measured(share(self.absolute, self.found)),
            RELATIVE_ERROR.measured(share(self.relative, self.found)),
            HASHES.measured(f64::from(self.ring.hashes())),
            LOAD.measured(load),
            OCCUPANCY.measured(share(self.occupancy, self.answers)),
            CANDIDATES.measured(share(self.candidates as f64, self.answers)),
            WRONG_SHARE.measured(share(self.wrong as f64, self.answers)),
            FALSE_SHARE.measured(false_share),
            FALSE_OF_EXPECTED.estimated(Some(found), false_share.map(Estimate::exact)),
            STATE_BYTES.measured(self.ring.state_bytes() as f64),
        ];
        if let Some(course) = &self.course {
            for (i, &(stored, set)) in course.slices.iter().enumerate() {
                let end = (i + 1) as f64 * course.length;
                measured.push(STORED.of(end).measured(stored as f64));
                measured.push(OCCUPANCY.of(end).measured(set));
            }
        }
        measured
    }
}
