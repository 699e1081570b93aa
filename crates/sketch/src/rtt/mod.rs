//! A complete meter for response times at one point: one meter per pairing rule, one store of delays, one memory
//! budget.

// The methods.
mod method;
pub use method::Method;
// What is given of them.
mod parameters;
pub use crate::parts::filters::GivenFilters;
pub use parameters::{Parameter, Parameters};
// Settings, and why they may be invalid.
mod settings;
pub use settings::{Settings, SettingsError};
// How memory is divided.
mod split;
use split::Split;
// Filters that keep irrelevant observations from the meters.
mod door;
use door::Door;
// The meter of a rule, of whichever method.
mod any;
use any::AnyMeter;
// Memory that rules lend each other.
mod loans;

use crate::distribution::{Ambiguous, DelayStore, Distribution};
use crate::parts::batch::begin;
use crate::{Event, Fates, Sample, Structure};
use dwell_types::{ExchangeId, Leg, Match, Nanos, Observation, Series, Sighting, Sink, Timestamp};
use std::ops::Range;

/// Takes observations and estimates the distributions of delays per match, leg and group.
#[derive(Debug)]
pub struct RttMeter {
    rules: Box<[Rule]>,
    /// Index into `rules` by match; [`ABSENT`] if not measured.
    rule_of: [u8; Match::ALL.len()],
    doors: [Door; Match::ALL.len()],
    store: DelayStore,
    groups: u16,
    ambiguous: Ambiguous,
    most_bytes: usize,
    /// Samples of the current batch.
    samples: Vec<Sample>,
    kept: Option<Vec<(Series, Sample)>>,
    /// Set on every event from now on: see [`RttMeter::mark`].
    mark: u8,
}

const ABSENT: u8 = u8::MAX;

/// The group of sightings whose own is beyond [`Settings::groups`].
const OTHER: u16 = 0;

/// One pairing rule with its meter and its series: legs × groups.
#[derive(Debug)]
struct Rule {
    matching: Match,
    meter: AnyMeter,
    legs: &'static [Leg],
    /// The number of its first series in the store.
    first_series: usize,
    /// Requests older than this are given up.
    expiry: Nanos,
    /// The current batch, processed when it is full. A meter that takes each event at once needs only its length.
    queue: Box<[Event]>,
    /// Number of events of the current batch so far.
    waiting: usize,
    /// Counts at the end of the previous interval, by tag; empty without intervals.
    reported: Box<[Fates]>,
}

/// The results of one series.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Match, leg and group.
    pub series: Series,
    /// What became of its requests and responses, in this interval.
    pub fates: Fates,
    /// Requests that were open when the interval began (see [`Fates::carried_over`]).
    pub carried_over: u64,
    /// The delays.
    pub distribution: Distribution,
    /// Relative width of the bins in which the delays are stored.
    pub resolution: f64,
}

/// How one rule is being measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuleState {
    /// The rule.
    pub matching: Match,
    /// When answers began to be estimates; `None` while every exchange is measured.
    pub sampled_since: Option<Timestamp>,
    /// The data structure that holds its requests.
    pub structure: Structure,
}

impl RttMeter {
    const OWN_BYTES: usize = size_of::<Self>() + DelayStore::SHARED_BYTES;

    /// An empty meter.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let mut settings = settings.clone();
        settings.matches.sort_unstable();
        settings.matches.dedup();
        settings.check()?;
        Self::fitting(&settings).map_err(|error| match error {
            SettingsError::Memory { needed, .. } => {
                SettingsError::Memory { given: settings.memory, needed: Self::least_memory(&settings, needed) }
            }
            other => other,
        })
    }

    /// The least sufficient memory, searched from `needed` upwards: what a method needs besides its tables is known only
    /// once they are built. Beyond `LARGE`, only reached with a given number of slots, nothing is built.
    fn least_memory(settings: &Settings, mut needed: usize) -> usize {
        const LARGE: usize = 1 << 30;
        while needed <= LARGE {
            match Self::fitting(&Settings { memory: needed, ..settings.clone() }) {
                Err(SettingsError::Memory { needed: more, .. }) if more > needed => needed = more,
                _ => break,
            }
        }
        needed
    }

    /// A meter that fits the memory.
    fn fitting(settings: &Settings) -> Result<Self, SettingsError> {
        let mut split = Split::new(settings)?;
        loop {
            let meter = Self::divided(settings, &split)?;
            if !settings.method.is_bounded() {
                return Ok(meter);
            }
            // What methods need besides their tables is known only after building them; the tables will still grow.
            let store = split.store.map_or(0, |most| most - meter.store.state_bytes());
            let growth = |rule: &Rule| {
                rule.meter.growing_bytes().map_or(0, |bytes| split.table(rule.matching).saturating_sub(bytes))
            };
            let tables: usize = meter.rules.iter().map(growth).sum();
            let doors: usize = meter.doors.iter().map(Door::growth).sum();
            let (needed, given) = (meter.state_bytes() + store + tables + doors, settings.memory);
            if needed <= given {
                return Ok(meter);
            }
            split = split.less(needed - given).ok_or(SettingsError::Memory { given, needed })?;
        }
    }

    /// A meter whose memory is divided according to `split`.
    fn divided(settings: &Settings, split: &Split) -> Result<Self, SettingsError> {
        let (groups, series) = (settings.distinct_groups(), settings.series());
        let store = match split.store {
            None => DelayStore::unbounded(series),
            Some(bytes) => DelayStore::bounded(series, bytes)
                .ok_or(SettingsError::Memory { given: bytes, needed: DelayStore::least_bytes(series) })?,
        };
        let mut rule_of = [ABSENT; Match::ALL.len()];
        let mut doors = std::array::from_fn(|_| Door::none());
        let mut rules = Vec::with_capacity(settings.matches.len());
        let mut first_series = 0;
        for &matching in &settings.matches {
            let terms = settings.terms(matching);
            let tags = usize::from(terms.tags);
            let bytes = split.table(matching);
            let meter = AnyMeter::new(settings, matching, bytes, terms)?;
            doors[matching as usize] = Door::new(settings, matching, &*meter);
            rule_of[matching as usize] = rules.len() as u8;
            rules.push(Rule {
                matching,
                meter,
                legs: matching.legs(settings.has_inside),
                first_series,
                expiry: terms.expiry,
                queue: vec![Event::NONE; split.batch].into(),
                waiting: 0,
                reported: vec![Fates::default(); if settings.has_intervals { tags } else { 0 }].into(),
            });
            first_series += tags;
        }
        Ok(Self {
            rules: rules.into_boxed_slice(),
            rule_of,
            doors,
            store,
            groups,
            ambiguous: settings.ambiguous,
            most_bytes: 0,
            samples: Vec::with_capacity(split.batch),
            kept: settings.keeps_samples.then(Vec::new),
            mark: 0,
        })
    }

    /// The door of a series, and its tag.
    #[inline(always)]
    fn door(&mut self, series: Series) -> (&mut Door, u16) {
        let door = &mut self.doors[series.matching as usize];
        let group = if series.group < self.groups { series.group } else { OTHER };
        let tag = door.first_tag[series.leg as usize] + group;
        (door, tag)
    }

    /// Queues an event, or processes it if its meter takes each at once. Its fields are passed one by one: assembled before the
    /// call, they would be read back from memory before the stores have completed.
    #[inline(never)]
    fn admit<const IS_REQUEST: bool>(&mut self, id: ExchangeId, at: Timestamp, token: u32, tag: u16, matching: Match) {
        let Some(rule) = self.rules.get_mut(usize::from(self.rule_of[matching as usize])) else { return };
        if matches!(rule.meter, AnyMeter::AtOnce(_)) {
            return self.admit_at_once::<IS_REQUEST>(id, at, token, tag, matching);
        }
        let place = rule.waiting;
        rule.queue[place] = Event { id, at, token, tag, mark: self.mark, is_request: IS_REQUEST };
        rule.waiting = place + 1;
        rule.meter.prefetch(id);
        if place + 1 == rule.queue.len() {
            self.take_batch(usize::from(self.rule_of[matching as usize]));
        }
    }

    /// Processes an event of a meter that takes each at once.
    #[inline(never)]
    fn admit_at_once<const IS_REQUEST: bool>(
        &mut self,
        id: ExchangeId,
        at: Timestamp,
        token: u32,
        tag: u16,
        matching: Match,
    ) {
        let number = usize::from(self.rule_of[matching as usize]);
        let rule = &mut self.rules[number];
        let AnyMeter::AtOnce(fridge) = &mut rule.meter else { return };
        rule.waiting += 1;
        let is_full = rule.waiting == rule.queue.len();
        // Most responses that might end a handshake do not.
        if IS_REQUEST || fridge.may_hold(id) {
            let event = Event { id, at, token, tag, mark: self.mark, is_request: IS_REQUEST };
            fridge.take_at_once(&event, &mut self.samples);
            if !self.samples.is_empty() {
                self.keep(number);
            }
        } else {
            fridge.pass_over(tag);
        }
        if is_full {
            self.take_batch(number);
        }
    }

    /// Processes the events in a rule's queue. If it has plain entries, they may need memory of other rules.
    #[inline(never)]
    fn take_batch(&mut self, number: usize) {
        let rule = &self.rules[number];
        let now = rule.meter.borrower().and_then(|_| rule.begin_of_batch());
        if let Some(now) = now {
            loans::lend(&mut self.rules, number, now);
        }
        self.update(number);
        if let Some(now) = now {
            loans::settle(&mut self.rules, now);
        }
    }

    #[inline]
    fn update(&mut self, number: usize) {
        let rule = &mut self.rules[number];
        let door = &mut self.doors[rule.matching as usize];
        if door.turns_responses_away() && rule.meter.is_filling() {
            door.tell(|tag, responses| rule.meter.pass_by(tag, responses));
        }
        match &mut rule.meter {
            AnyMeter::AtOnce(fridge) => fridge.adapt(),
            meter => meter.update(&rule.queue[..rule.waiting], &mut self.samples),
        }
        door.gate = rule.meter.gate();
        if !rule.meter.remembers_all() {
            door.forget_futile();
        } else if let Some(now) = rule.begin_of_batch() {
            door.learn(&*rule.meter, now);
        }
        rule.waiting = 0;
        if !self.samples.is_empty() {
            self.keep(number);
        }
        let rule = &mut self.rules[number];
        if let Some(bands) = rule.meter.take_new_bands() {
            self.store.rearrange(rule.series(self.groups), &bands);
        }
    }

    /// Puts the current samples, all of one rule, into the store.
    #[inline(never)]
    fn keep(&mut self, number: usize) {
        let rule = &self.rules[number];
        for sample in &self.samples {
            let series = rule.first_series + usize::from(sample.tag);
            if sample.limit_steps == 0 || rule.has_intervals() {
                self.store.update_for(self.ambiguous, series, sample);
            } else {
                self.store.update_for(self.ambiguous, series, &sample.limited());
            }
        }
        if let Some(kept) = &mut self.kept {
            kept.extend(self.samples.iter().map(|s| (rule.series_of(s.tag, self.groups), *s)));
        }
        self.samples.clear();
    }

    /// Sets the present time: requests older than their expiry are no longer pending, even if their rule has seen
    /// nothing since.
    pub fn advance(&mut self, now: Timestamp) {
        self.flush();
        for rule in &mut self.rules {
            rule.meter.advance(now);
        }
    }

    /// Processes everything that is queued in incomplete batches.
    pub fn flush(&mut self) {
        for number in 0..self.rules.len() {
            self.take_batch(number);
        }
    }

    /// Marks all following events, and with them the samples of the responses among them.
    pub fn mark(&mut self, mark: u8) {
        self.mark = mark;
    }

    /// The samples since the last call, in the order in which batches were processed: not sorted by time across rules.
    /// Empty unless [`Settings::keeps_samples`].
    pub fn take_samples(&mut self) -> impl Iterator<Item = (Series, Sample)> {
        self.kept.iter_mut().flat_map(|kept| kept.drain(..))
    }

    /// The answers of all series with observations, in the order of matches, legs and groups.
    pub fn estimate(&mut self) -> Vec<Answer> {
        let fates = self.settle();
        self.answers(&fates)
    }

    /// The same, and begins a new interval: delays and counts are reset, open requests stay.
    pub fn end_interval(&mut self) -> Vec<Answer> {
        let fates = self.settle();
        let answers = self.answers(&fates);
        self.most_bytes = self.most_bytes.max(self.state_bytes());
        for (rule, fates) in self.rules.iter_mut().zip(fates) {
            rule.reported = fates.into_boxed_slice();
        }
        self.store.reset();
        answers
    }

    /// Processes all events and samples; returns the fates of each rule, for which large tables are scanned.
    fn settle(&mut self) -> Vec<Vec<Fates>> {
        self.flush();
        self.store.settle();
        self.rules.iter().map(|rule| rule.fates(&self.doors)).collect()
    }

    fn answers(&self, fates: &[Vec<Fates>]) -> Vec<Answer> {
        let mut answers = Vec::new();
        for (rule, fates) in self.rules.iter().zip(fates) {
            let are_at_home = fates.iter().all(Fates::are_responses_at_home);
            for (tag, now) in fates.iter().enumerate() {
                let then = rule.reported.get(tag).copied().unwrap_or_default();
                let index = rule.first_series + tag;
                let fates = now.since(&then);
                if fates.seen + fates.responses + then.pending == 0 && !self.store.has_samples(index) {
                    continue;
                }
                // Each sample has the weight of its own where responses belong to other series, which say nothing about
                // it, and in intervals: where one has few exchanges, mostly none is at risk when the slow ones end, and
                // its product limit would not know of them.
                let risk = if are_at_home && !rule.has_intervals() { rule.meter.risk(tag) } else { None };
                let distribution = match risk {
                    None => self.store.distribution(index, self.ambiguous),
                    Some(risk) => self.store.distribution_at_risk(index, self.ambiguous, &risk.among(fates.responses)),
                };
                let distribution = distribution.with_longest(rule.expiry).with_rounding(rule.meter.rounding());
                answers.push(Answer {
                    series: rule.series_of(tag as u16, self.groups),
                    fates,
                    carried_over: now.carried_over(&then),
                    distribution,
                    resolution: self.store.resolution(index),
                });
            }
        }
        answers
    }

    /// The store of all delays so far: of the current interval, if there are any. Its series are numbered as answers are
    /// ordered, those without observations included: by match, then by leg ([`Match::legs`]), then by group. It does not
    /// know what [`crate::Meter::risk`] says of a method with a product limit, nor an expiry or rounding.
    pub fn store(&mut self) -> &DelayStore {
        self.flush();
        &self.store
    }

    /// How each rule is being measured.
    pub fn rules(&self) -> impl Iterator<Item = RuleState> {
        self.rules.iter().map(|Rule { matching, meter, .. }| RuleState {
            matching: *matching,
            sampled_since: meter.sampled_since(),
            structure: meter.structure(),
        })
    }

    /// Bytes that the data structures hold now.
    pub fn state_bytes(&self) -> usize {
        let rules: usize = self.rules.iter().map(Rule::state_bytes).sum();
        let doors: usize = self.doors.iter().map(Door::bytes).sum();
        rules + doors + self.store.state_bytes() + self.samples.capacity() * size_of::<Sample>() + Self::OWN_BYTES
    }

    /// The largest value of [`RttMeter::state_bytes`] at the moments when it was checked.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes.max(self.state_bytes())
    }
}

impl Sink for RttMeter {
    /// Takes one observation. Observations of rules that are not measured are ignored; those of groups beyond
    /// [`Settings::groups`] count as [`Series::OTHER`], and those of a leg that its rule does not have
    /// ([`Match::legs`]) as of its first.
    ///
    /// Inlined where the rule is known, this is a count and a comparison for everything that is not admitted.
    #[inline(always)]
    fn take(&mut self, seen: Observation) {
        self.take_if(true, seen);
    }

    #[inline(always)]
    fn take_if(&mut self, wanted: bool, seen: Observation) {
        let (sighting, is_request) = match seen {
            Observation::Request(sighting) => (sighting, true),
            Observation::Response(sighting) => (sighting, false),
        };
        let series = sighting.series;
        let (door, tag) = self.door(series);
        // `&` instead of `&&`: the branch would be unpredictable.
        let wanted = wanted & !(is_request && door.is_mere_repeat(wanted, &sighting));
        if door.admits(wanted, &sighting, is_request) {
            let Sighting { id, at, token, .. } = sighting;
            if is_request {
                self.admit::<true>(id, at, token, tag, series.matching);
            } else {
                self.admit::<false>(id, at, token, tag, series.matching);
            }
        } else {
            door.turn_away(wanted, tag, is_request);
        }
    }

    // Not a loop over both: that would store them in memory.
    #[inline(always)]
    fn offer_responses(&mut self, id: ExchangeId, [first, second]: [Series; 2]) -> bool {
        let takes = self.doors[first.matching as usize].may_admit(id);
        if !takes {
            let (door, tag) = self.door(first);
            door.turn_away(true, tag, false);
            let (door, tag) = self.door(second);
            door.turn_away(true, tag, false);
        }
        takes
    }
}

impl Rule {
    fn fates(&self, doors: &[Door; Match::ALL.len()]) -> Vec<Fates> {
        let mut fates = self.meter.fates();
        for (fates, [responses, requests]) in fates.iter_mut().zip(doors[self.matching as usize].turned_away.iter()) {
            fates.seen += requests;
            fates.not_admitted += requests;
            fates.responses += responses;
            fates.unmatched += responses;
        }
        fates
    }

    /// Whether answers of intervals are added up, so that each must be right on average.
    #[inline]
    fn has_intervals(&self) -> bool {
        !self.reported.is_empty()
    }

    /// When the current batch begins, if it has two events at least: a single one may have a wild timestamp.
    #[inline]
    fn begin_of_batch(&self) -> Option<Timestamp> {
        begin(&self.queue[..self.waiting]).filter(|_| self.waiting > 1)
    }

    /// The numbers of its series in the store.
    fn series(&self, groups: u16) -> Range<usize> {
        self.first_series..self.first_series + self.legs.len() * usize::from(groups)
    }

    #[inline]
    fn series_of(&self, tag: u16, groups: u16) -> Series {
        Series { matching: self.matching, leg: self.legs[usize::from(tag / groups)], group: tag % groups }
    }

    fn state_bytes(&self) -> usize {
        let meter = self.meter.state_bytes() + size_of_val(&*self.meter);
        size_of::<Self>() + meter + size_of_val(&*self.queue) + size_of_val(&*self.reported)
    }
}
