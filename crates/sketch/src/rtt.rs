//! The question "how long do responses take", whole: one meter per pairing rule, one store of delays, one memory budget.

use crate::ale::{self, Ale, AleError, Widths};
use crate::batch::BATCH;
use crate::bloomtime;
use crate::dart::{self, Dart, DartError};
use crate::ddbf::{self, Ddbf, DdbfError};
use crate::distribution::{Ambiguous, DelayStore, Distribution};
use crate::exact::Exact;
use crate::fridge::{Fridge, FridgeError, Params, Profile};
use crate::hash_sample::{HashSample, HashSampleError, Lifetime};
use crate::horizon::{Horizon, HorizonError};
use crate::mis::{Ladder, LadderError, Mis, MisError};
use crate::simple::{self, Overwrite, Simple, SimpleError};
use crate::timebloom::{self, TimeBloom, TimeBloomError};
use crate::top_flows::Line;
use crate::{Event, Exchanges, Fates, Gate, Meter, Risk, Sample};
use dwell_types::{ExchangeId, IdForm, Leg, Match, Nanos, Observation, Series, Sink, Timestamp, hash};
use std::fmt;

/// How delays are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Exact while it fits, then every id waits as long as its hash says.
    Auto,
    /// Every exchange, in as much memory as that takes.
    Exact,
    /// A fridge from the start.
    Fridge,
    /// A fridge whose lost entries count, too: the product limit of Kaplan and Meier.
    Km,
    /// Every exchange of the ids that a closing gate admits.
    HashSample,
    /// An array in which the last comer stays: biased, to compare with.
    Simple,
    /// An array in four stages, in which an entry stays for the longest delay: biased, to compare with.
    Stages,
    /// Several fridges of different lifetimes.
    Mis,
    /// Time-spaced Bloom filters.
    TimeBloom,
    /// Bloom filters in a window, the youngest match: biased, to compare with.
    BloomTime,
    /// Counting Bloom filters in a window of equal buckets: biased, to compare with.
    AleU,
    /// The same with buckets of doubling width.
    AleE,
    /// A Bloom filter of times: biased, to compare with.
    Ddbf,
    /// Ranges of sequence numbers, and the segments that these say can be measured: biased, for `tcp-ack` alone.
    Dart,
}

impl Method {
    /// Every method, the default first.
    pub const ALL: [Self; 14] = [
        Self::Auto,
        Self::Exact,
        Self::Fridge,
        Self::Km,
        Self::HashSample,
        Self::Simple,
        Self::Stages,
        Self::Mis,
        Self::TimeBloom,
        Self::BloomTime,
        Self::AleU,
        Self::AleE,
        Self::Ddbf,
        Self::Dart,
    ];

    /// Whether [`Settings::slots`] can be set.
    pub const fn has_slots(self) -> bool {
        matches!(self, Self::Fridge | Self::Km | Self::Simple | Self::Stages | Self::Mis)
    }

    /// Whether [`Settings::entry_probability`] can be set.
    pub const fn has_entry_probability(self) -> bool {
        matches!(self, Self::Fridge | Self::Km)
    }

    /// Whether what it loses or confuses depends on the delay, which its intervals do not show.
    pub const fn is_biased(self) -> bool {
        matches!(self, Self::Simple | Self::Dart) || self.has_longest()
    }

    /// What the ids must be made of that it is given.
    pub const fn ids(self) -> IdForm {
        if matches!(self, Self::Dart) { IdForm::Plain } else { IdForm::Hashed }
    }

    /// Whether it can measure what this rule pairs.
    pub const fn measures(self, matching: Match) -> bool {
        !matches!(self, Self::Dart) || matches!(matching, Match::TcpAck)
    }

    /// Whether [`Settings::longest`] can be set.
    pub const fn has_longest(self) -> bool {
        matches!(self, Self::Stages | Self::TimeBloom | Self::BloomTime | Self::AleU | Self::AleE | Self::Ddbf)
    }

    /// Whether [`Settings::stages`] can be set.
    pub const fn has_stages(self) -> bool {
        matches!(self, Self::Simple | Self::Stages)
    }

    /// Whether [`Settings::rate`] can be set.
    pub const fn has_rate(self) -> bool {
        matches!(self, Self::TimeBloom | Self::BloomTime | Self::AleU)
    }

    /// Bytes of a rule's meter without what it holds elsewhere.
    const fn meter_bytes(self) -> usize {
        match self {
            Self::Auto => size_of::<Horizon>(),
            Self::Exact => size_of::<Exact>(),
            Self::Fridge | Self::Km => size_of::<Fridge>(),
            Self::HashSample => size_of::<HashSample>(),
            Self::Simple | Self::Stages => size_of::<Simple>(),
            Self::Mis => size_of::<Mis>(),
            Self::TimeBloom | Self::BloomTime => size_of::<TimeBloom>(),
            Self::AleU | Self::AleE => size_of::<Ale>(),
            Self::Ddbf => size_of::<Ddbf>(),
            Self::Dart => size_of::<Dart>(),
        }
    }

    /// Bytes of a rule's table with which it measures something.
    const fn least_table(self) -> usize {
        const SLOTS: usize = 32;
        match self {
            Self::Auto | Self::HashSample => Horizon::LEAST_BYTES,
            Self::TimeBloom => timebloom::Params::LEAST_BYTES,
            Self::BloomTime => bloomtime::LEAST_BYTES,
            Self::AleU | Self::AleE => ale::Params::LEAST_BYTES,
            Self::Ddbf => ddbf::Params::LEAST_BYTES,
            Self::Dart => dart::Params::LEAST_BYTES,
            Self::Simple | Self::Stages => SLOTS * Simple::SLOT_BYTES,
            Self::Mis => SLOTS * Mis::SLOT_BYTES,
            // Some hundred bytes are for all slots together.
            Self::Exact | Self::Fridge | Self::Km => 1 << 10,
        }
    }

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Fridge => "fridge",
            Self::Km => "km",
            Self::HashSample => "hash-sample",
            Self::Simple => "simple",
            Self::Stages => "stages",
            Self::Mis => "mis",
            Self::TimeBloom => "timebloom",
            Self::BloomTime => "bloomtime",
            Self::AleU => "ale-u",
            Self::AleE => "ale-e",
            Self::Ddbf => "ddbf",
            Self::Dart => "dart",
        }
    }
}

/// What an [`RttMeter`] is built with.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The pairing rules to serve.
    pub matches: Vec<Match>,
    /// Whether legs are told apart by inside and outside.
    pub has_inside: bool,
    /// Number of groups, "other" included; 1 without grouping.
    pub groups: u16,
    /// How delays are found.
    pub method: Method,
    /// Bytes for everything together; ignored by [`Method::Exact`].
    pub memory: usize,
    /// Requests older than this are given up, for every rule but [`Match::TcpFlow`].
    pub expiry: Nanos,
    /// The same for [`Match::TcpFlow`], which measures how long flows last.
    pub flow_expiry: Nanos,
    /// Slots of each fridge, instead of what fits the memory.
    pub slots: Option<u32>,
    /// Entry probability of each fridge, instead of one found while running.
    pub entry_probability: Option<f64>,
    /// Bits of the fingerprints; `None` for 32, or what [`Params`] says where there is a fridge.
    pub fingerprint_bits: Option<u32>,
    /// Stages of an array, 1 to 6, instead of one that always overwrites or four in which entries stay.
    pub stages: Option<u32>,
    /// No delay is longer, for the methods that must know it, instead of a sixteenth of the expiry.
    pub longest: Option<Nanos>,
    /// Requests per second and rule, for the methods that can use it.
    pub rate: Option<f64>,
    /// Seed of all hashes.
    pub seed: u64,
    /// Whether [`RttMeter::reset_interval`] will be called.
    pub has_intervals: bool,
    /// Whether samples are kept until [`RttMeter::take_samples`].
    pub keeps_samples: bool,
}

impl Settings {
    /// What a flow's delays are told apart by: match and leg, in the order of reports.
    pub fn lines(&self) -> Vec<Line> {
        let of = |&matching: &Match| {
            let line = move |&leg: &Leg| Line { matching, leg, expiry: self.expiry_of(matching) };
            legs(matching, self.has_inside).iter().map(line)
        };
        Match::ALL.iter().filter(|matching| self.matches.contains(matching)).flat_map(of).collect()
    }

    /// When requests of a rule are given up.
    fn expiry_of(&self, matching: Match) -> Nanos {
        if matching == Match::TcpFlow { self.flow_expiry } else { self.expiry }
    }

    /// The longest delay of a rule with this expiry.
    fn longest_of(&self, expiry: Nanos) -> Nanos {
        /// Delays are shorter than the expiry by so much, unless it is known better.
        const MARGIN: i64 = 16;
        self.longest.unwrap_or(Nanos::new(expiry.get() / MARGIN)).min(expiry)
    }

    /// What the meter of a rule is told.
    fn exchanges(&self, matching: Match) -> Exchanges {
        let legs = legs(matching, self.has_inside).len();
        Exchanges {
            // At most 5 legs of 2¹³ groups.
            tags: legs as u16 * self.groups.clamp(1, Series::GROUPS),
            repeat: matching.repeat(),
            expiry: self.expiry_of(matching),
            seed: hash::word(self.seed, matching as u64),
        }
    }

    /// The fridge of a rule.
    fn fridge(&self, matching: Match, slots: u32) -> Params {
        Params {
            fingerprint_bits: self.fingerprint_bits,
            has_tokens: has_tokens(matching),
            entry_probability: self.entry_probability,
            product_limit: self.method == Method::Km,
            ..Params::new(slots)
        }
    }

    /// Slots of a rule in so many bytes, unless they are given.
    fn slots_in(&self, bytes: usize, matching: Match) -> u32 {
        let of = |slot_bytes: usize| u32::try_from(bytes / slot_bytes).unwrap_or(u32::MAX);
        self.slots.unwrap_or_else(|| match self.method {
            Method::Simple | Method::Stages => of(Simple::SLOT_BYTES),
            Method::Mis => of(Mis::SLOT_BYTES),
            _ => self.fridge(matching, 0).fitting(bytes, &self.exchanges(matching)).slots,
        })
    }

    /// Bytes that so many slots of a rule take.
    fn table_bytes(&self, slots: u32, matching: Match) -> Result<usize, SettingsError> {
        Ok(match self.method {
            Method::Simple | Method::Stages => slots as usize * Simple::SLOT_BYTES,
            Method::Mis => slots as usize * Mis::SLOT_BYTES,
            _ => self.fridge(matching, slots).table_bytes(&self.exchanges(matching))?,
        })
    }
}

/// Why the settings cannot be met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingsError {
    /// Nothing to measure.
    NoMatches,
    /// The method cannot measure what this rule pairs.
    Match(Method, Match),
    /// More matches, legs and groups together than the store of delays tells apart.
    Series(usize),
    /// The memory is too small for what was asked.
    Memory {
        /// Bytes allowed.
        given: usize,
        /// Bytes below which nothing sensible fits.
        needed: usize,
    },
    /// A fridge parameter is out of range.
    Fridge(FridgeError),
    /// A parameter of the simple array is out of range.
    Simple(SimpleError),
    /// A parameter of the table of sampled ids is out of range.
    HashSample(HashSampleError),
    /// The table of the default method is too small.
    Horizon(HorizonError),
    /// The fridges of a ladder cannot be.
    Ladder(LadderError),
    /// A parameter of several fridges is out of range.
    Mis(MisError),
    /// A parameter of a ring of filters is out of range.
    TimeBloom(TimeBloomError),
    /// A parameter of a window of counting filters is out of range.
    Ale(AleError),
    /// A parameter of a filter of times is out of range.
    Ddbf(DdbfError),
    /// A parameter of a range tracker or packet tracker is out of range.
    Dart(DartError),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMatches => f.write_str("no matches to measure"),
            Self::Match(method, matching) => {
                let others = Match::ALL.into_iter().filter(|&matching| method.measures(matching));
                let names: Vec<&str> = others.map(Match::name).collect();
                write!(f, "{} measures {}, not {matching}", method.name(), names.join(", "))
            }
            Self::Series(series) => {
                write!(f, "{series} matches × legs × groups: expected at most {}", DelayStore::MOST_SERIES)
            }
            Self::Memory { given, needed } => {
                write!(f, "{given} bytes of memory are too few: these matches and groups need at least {needed}")
            }
            Self::Fridge(error) => error.fmt(f),
            Self::Simple(error) => error.fmt(f),
            Self::HashSample(error) => error.fmt(f),
            Self::Horizon(error) => error.fmt(f),
            Self::Ladder(error) => error.fmt(f),
            Self::Mis(error) => error.fmt(f),
            Self::TimeBloom(error) => error.fmt(f),
            Self::Ale(error) => error.fmt(f),
            Self::Ddbf(error) => error.fmt(f),
            Self::Dart(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SettingsError {}

impl From<SimpleError> for SettingsError {
    fn from(error: SimpleError) -> Self {
        Self::Simple(error)
    }
}

impl From<HashSampleError> for SettingsError {
    fn from(error: HashSampleError) -> Self {
        Self::HashSample(error)
    }
}

impl From<HorizonError> for SettingsError {
    fn from(error: HorizonError) -> Self {
        Self::Horizon(error)
    }
}

impl From<FridgeError> for SettingsError {
    fn from(error: FridgeError) -> Self {
        Self::Fridge(error)
    }
}

impl From<LadderError> for SettingsError {
    fn from(error: LadderError) -> Self {
        Self::Ladder(error)
    }
}

impl From<MisError> for SettingsError {
    fn from(error: MisError) -> Self {
        Self::Mis(error)
    }
}

impl From<TimeBloomError> for SettingsError {
    fn from(error: TimeBloomError) -> Self {
        Self::TimeBloom(error)
    }
}

impl From<AleError> for SettingsError {
    fn from(error: AleError) -> Self {
        Self::Ale(error)
    }
}

impl From<DdbfError> for SettingsError {
    fn from(error: DdbfError) -> Self {
        Self::Ddbf(error)
    }
}

impl From<DartError> for SettingsError {
    fn from(error: DartError) -> Self {
        Self::Dart(error)
    }
}

/// Takes observations, answers with distributions of delays per match, leg and group.
#[derive(Clone, Debug)]
pub struct RttMeter {
    rules: Box<[Rule]>,
    /// Index into `rules` by match; [`ABSENT`] if not served.
    rule_of: [u8; Match::ALL.len()],
    doors: [Door; Match::ALL.len()],
    store: DelayStore,
    groups: u16,
    most_bytes: usize,
    /// Samples of the batch at hand.
    samples: Vec<Sample>,
    kept: Option<Vec<(Series, Sample)>>,
}

/// A sampled request waits for so many times the 99.9th percentile of delays.
const LIFETIME: f64 = 2.0;

const ABSENT: u8 = u8::MAX;
/// Events of one rule that are taken together where no cache misses are to overlap.
const SMALL_BATCH: usize = 8;

/// What every observation of a rule meets first.
#[derive(Clone, Debug)]
struct Door {
    gate: Gate,
    /// The tag of the first group of each leg that this rule has.
    first_tag: [u16; Leg::ALL.len()],
    /// Responses and requests by tag that the gate kept from the meter.
    turned_away: Vec<[u64; 2]>,
}

impl Door {
    /// Of a rule that is not served.
    fn none() -> Self {
        Self { gate: Gate::OPEN, first_tag: [0; Leg::ALL.len()], turned_away: Vec::new() }
    }
}

/// One pairing rule with its meter and its series, `first_series..first_series + legs × groups`.
#[derive(Clone, Debug)]
struct Rule {
    matching: Match,
    meter: AnyMeter,
    legs: &'static [Leg],
    first_series: usize,
    /// Requests older than this are given up.
    expiry: Nanos,
    /// Events that wait for their batch to be full.
    queue: Vec<Event>,
    batch: usize,
    /// Counts at the end of the last interval; none in the first if it is the only one.
    reported: Box<[Fates]>,
}

/// A meter of any method: each takes the memory that it needs.
#[derive(Clone, Debug)]
enum AnyMeter {
    Auto(Box<Horizon>),
    Exact(Box<Exact>),
    Fridge(Box<Fridge>),
    HashSample(Box<HashSample>),
    Simple(Box<Simple>),
    Mis(Box<Mis>),
    TimeBloom(Box<TimeBloom>),
    Ale(Box<Ale>),
    Ddbf(Box<Ddbf>),
    Dart(Box<Dart>),
}

macro_rules! each_meter {
    ($meter:expr, $name:ident => $call:expr) => {
        match $meter {
            AnyMeter::Auto($name) => $call,
            AnyMeter::Exact($name) => $call,
            AnyMeter::Fridge($name) => $call,
            AnyMeter::HashSample($name) => $call,
            AnyMeter::Simple($name) => $call,
            AnyMeter::Mis($name) => $call,
            AnyMeter::TimeBloom($name) => $call,
            AnyMeter::Ale($name) => $call,
            AnyMeter::Ddbf($name) => $call,
            AnyMeter::Dart($name) => $call,
        }
    };
}

/// What one series answers.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Match, leg and group.
    pub series: Series,
    /// What became of its requests and responses, in this interval.
    pub fates: Fates,
    /// Requests that were open when the interval began.
    pub carried_over: u64,
    /// The delays.
    pub distribution: Distribution,
    /// Relative width of the bins that hold them.
    pub resolution: f64,
}

/// How one rule is being measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuleState {
    /// The rule.
    pub matching: Match,
    /// Since when answers are estimates; `None` while every exchange is known.
    pub sampled_since: Option<Timestamp>,
    /// Slots, present entry probability and fingerprint bits, where there is a fridge.
    pub fridge: Option<(u32, f64, u32)>,
    /// Requests that a table holds at most, where ids have horizons.
    pub room: Option<usize>,
    /// The chances with which the fastest and the slowest exchanges are sampled now, where ids have horizons.
    pub horizon: Option<(f64, f64)>,
    /// A simple array, where there is one.
    pub array: Option<Array>,
    /// Bloom filters, where there are some.
    pub filters: Option<Filters>,
    /// A range tracker and a packet tracker, where there are some.
    pub trackers: Option<dart::Params>,
}

/// The simple array of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Slots of all stages.
    pub slots: u32,
    /// Stages.
    pub stages: u32,
    /// An entry stays until it is older; `None` if any other overwrites it.
    pub longest: Option<Nanos>,
}

/// Bloom filters of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filters {
    /// How many.
    pub filters: u32,
    /// Of each, its counters and times included.
    pub bits: u64,
    /// Hash functions.
    pub hashes: u32,
    /// The longest delay that is found.
    pub longest: Nanos,
}

impl RttMeter {
    const OWN_BYTES: usize = size_of::<Self>() + DelayStore::SHARED_BYTES;

    /// An empty meter.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let groups = settings.groups.clamp(1, Series::GROUPS);
        let mut matches = settings.matches.clone();
        matches.sort_unstable();
        matches.dedup();
        if matches.is_empty() {
            return Err(SettingsError::NoMatches);
        }
        if let Some(&other) = matches.iter().find(|&&matching| !settings.method.measures(matching)) {
            return Err(SettingsError::Match(settings.method, other));
        }
        let series: usize = matches.iter().map(|&m| legs(m, settings.has_inside).len() * usize::from(groups)).sum();
        if series > DelayStore::MOST_SERIES {
            return Err(SettingsError::Series(series));
        }
        let split = Split::new(settings, &matches, series)?;
        let store = match split.store {
            None => DelayStore::unbounded(series),
            Some(bytes) => DelayStore::bounded(series, bytes)
                .ok_or(SettingsError::Memory { given: bytes, needed: DelayStore::least_bytes(series) })?,
        };
        let mut rule_of = [ABSENT; Match::ALL.len()];
        let mut doors = std::array::from_fn(|_| Door::none());
        let mut rules = Vec::with_capacity(matches.len());
        let mut first_series = 0;
        for &matching in &matches {
            let legs = legs(matching, settings.has_inside);
            let exchanges = settings.exchanges(matching);
            let tags = usize::from(exchanges.tags);
            let bytes = split.table(matching);
            let slots = settings.slots_in(bytes, matching);
            let meter = match settings.method {
                Method::Exact => AnyMeter::Exact(Box::new(Exact::new(exchanges))),
                Method::Auto => AnyMeter::Auto(Box::new(Horizon::new(bytes, has_tokens(matching), exchanges)?)),
                Method::Fridge | Method::Km => {
                    AnyMeter::Fridge(Box::new(Fridge::new(settings.fridge(matching, slots), exchanges)?))
                }
                Method::HashSample => {
                    let has_tokens = has_tokens(matching);
                    AnyMeter::HashSample(Box::new(HashSample::new(
                        bytes,
                        has_tokens,
                        Lifetime::Learnt(LIFETIME),
                        exchanges,
                    )?))
                }
                Method::Simple | Method::Stages => {
                    let (usual, overwrite) = match settings.method {
                        Method::Stages => (4, Overwrite::WhenOlder(settings.longest_of(exchanges.expiry))),
                        _ => (1, Overwrite::Always),
                    };
                    let stages = settings.stages.unwrap_or(usual);
                    let fingerprint_bits = settings.fingerprint_bits.unwrap_or(32);
                    let params = simple::Params { slots, stages, fingerprint_bits, overwrite };
                    AnyMeter::Simple(Box::new(Simple::new(params, exchanges)?))
                }
                Method::Mis => AnyMeter::Mis(Box::new(Mis::new(
                    Ladder::spread(slots)?,
                    settings.fingerprint_bits.unwrap_or(32),
                    exchanges,
                )?)),
                Method::TimeBloom | Method::BloomTime | Method::AleU | Method::AleE | Method::Ddbf => {
                    filters(settings, bytes, exchanges)?
                }
                Method::Dart => {
                    let needed = dart::Params::LEAST_BYTES;
                    let params = dart::Params::budget(bytes).ok_or(SettingsError::Memory { given: bytes, needed })?;
                    AnyMeter::Dart(Box::new(Dart::new(params, exchanges)?))
                }
            };
            let door = &mut doors[matching as usize];
            door.gate = each_meter!(&meter, meter => meter.gate());
            door.turned_away = vec![[0; 2]; tags];
            for (i, &leg) in legs.iter().enumerate() {
                door.first_tag[leg as usize] = i as u16 * groups;
            }
            rule_of[matching as usize] = rules.len() as u8;
            rules.push(Rule {
                matching,
                meter,
                legs,
                first_series,
                expiry: exchanges.expiry,
                queue: Vec::with_capacity(split.batch),
                batch: split.batch,
                reported: vec![Fates::default(); if settings.has_intervals { tags } else { 0 }].into(),
            });
            first_series += tags;
        }
        let mut meter = Self {
            rules: rules.into_boxed_slice(),
            rule_of,
            doors,
            store,
            groups,
            most_bytes: 0,
            samples: Vec::with_capacity(split.batch),
            kept: settings.keeps_samples.then(Vec::new),
        };
        let bytes = meter.state_bytes();
        if settings.method != Method::Exact && bytes > settings.memory {
            return Err(SettingsError::Memory { given: settings.memory, needed: bytes });
        }
        meter.most_bytes = bytes;
        Ok(meter)
    }

    /// Queues an event. Its parts come one by one: put together before the call, they would be read from memory before all
    /// of them have arrived there.
    #[inline(never)]
    fn admit(&mut self, id: ExchangeId, at: Timestamp, token: u32, tag: u16, is_request: bool, matching: Match) {
        let number = usize::from(self.rule_of[matching as usize]);
        let Some(rule) = self.rules.get_mut(number) else { return };
        rule.queue.push(Event { id, at, token, tag, is_request });
        if rule.queue.len() == rule.batch {
            self.take_batch(number);
        }
    }

    /// Takes the events that wait in a rule's queue.
    fn take_batch(&mut self, number: usize) {
        let rule = &mut self.rules[number];
        self.samples.clear();
        self.doors[rule.matching as usize].gate = each_meter!(&mut rule.meter, meter => {
            meter.update(&rule.queue, &mut self.samples);
            meter.gate()
        });
        rule.queue.clear();
        if !self.samples.is_empty() {
            self.keep(number);
        }
    }

    /// Puts the samples at hand, all of one rule, into the store.
    #[inline(never)]
    fn keep(&mut self, number: usize) {
        let rule = &self.rules[number];
        for sample in &self.samples {
            self.store.update(rule.first_series + usize::from(sample.tag), sample);
        }
        if let Some(kept) = &mut self.kept {
            kept.extend(self.samples.iter().map(|s| (rule.series(s.tag, self.groups), *s)));
        }
    }

    /// Takes everything that still waits for its batch to be full.
    pub fn flush(&mut self) {
        for number in 0..self.rules.len() {
            self.take_batch(number);
        }
    }

    /// The samples since the last call, in batches of the rules' events: not sorted by time across rules. Empty unless
    /// [`Settings::keeps_samples`].
    pub fn take_samples(&mut self) -> impl Iterator<Item = (Series, Sample)> {
        self.kept.iter_mut().flat_map(|kept| kept.drain(..))
    }

    /// The answers of all series that saw anything, in the order of matches, legs and groups.
    pub fn estimate(&mut self, ambiguous: Ambiguous) -> Vec<Answer> {
        self.flush();
        self.store.settle();
        let mut answers = Vec::new();
        for rule in &self.rules {
            let fates = rule.fates(&self.doors);
            for (tag, now) in fates.iter().enumerate() {
                let then = rule.reported.get(tag).copied().unwrap_or_default();
                let index = rule.first_series + tag;
                let distribution = match rule.risk(tag) {
                    None => self.store.distribution(index, ambiguous),
                    Some(risk) => self.store.distribution_at_risk(index, ambiguous, &risk),
                };
                let distribution = distribution.with_longest(rule.expiry);
                let fates = now.since(&then);
                if fates.seen + fates.responses + then.pending == 0 && distribution.samples() == 0 {
                    continue;
                }
                answers.push(Answer {
                    series: rule.series(tag as u16, self.groups),
                    fates,
                    carried_over: then.pending,
                    distribution,
                    resolution: self.store.resolution(index),
                });
            }
        }
        answers
    }

    /// Begins a new interval: delays and counts start anew, open requests stay.
    pub fn reset_interval(&mut self) {
        self.flush();
        self.most_bytes = self.most_bytes.max(self.state_bytes());
        for rule in &mut self.rules {
            rule.reported = rule.fates(&self.doors).into_boxed_slice();
            each_meter!(&mut rule.meter, meter => meter.forget_risk());
        }
        self.store.reset();
    }

    /// How each rule is being measured.
    pub fn rules(&self) -> impl Iterator<Item = RuleState> {
        self.rules.iter().map(|rule| {
            let describe = |f: &Fridge| (f.slots(), f.entry_probability().value(), f.fingerprint_bits());
            let always = Some(Timestamp::from_nanos(i64::MIN));
            let (sampled_since, fridge) = match &rule.meter {
                AnyMeter::Auto(horizon) => (horizon.sampled_since(), None),
                AnyMeter::Exact(_) => (None, None),
                AnyMeter::HashSample(sample) if sample.probability() == 1.0 => (None, None),
                AnyMeter::Fridge(fridge) => (always, Some(describe(fridge))),
                AnyMeter::Mis(mis) => (always, Some((mis.slots(), mis.ladder().probability(), mis.fingerprint_bits()))),
                _ => (always, None),
            };
            let horizon = match &rule.meter {
                AnyMeter::Auto(horizon) if sampled_since.is_some() => Some(horizon.probabilities()),
                _ => None,
            };
            let room = match &rule.meter {
                AnyMeter::Auto(horizon) => Some(horizon.room()),
                _ => None,
            };
            let trackers = match &rule.meter {
                AnyMeter::Dart(dart) => Some(dart.params()),
                _ => None,
            };
            let (array, filters) = (rule.meter.array(), rule.meter.filters());
            RuleState { matching: rule.matching, sampled_since, fridge, room, horizon, array, filters, trackers }
        })
    }

    /// Bytes that the data structures hold now.
    pub fn state_bytes(&self) -> usize {
        let rules: usize = self
            .rules
            .iter()
            .map(|rule| {
                each_meter!(&rule.meter, meter => meter.state_bytes() + size_of_val(&**meter))
                    + size_of::<Rule>()
                    + rule.reported.len() * size_of::<Fates>()
                    + rule.queue.capacity() * size_of::<Event>()
                    + self.doors[rule.matching as usize].turned_away.capacity() * size_of::<[u64; 2]>()
            })
            .sum();
        rules + self.store.state_bytes() + self.samples.capacity() * size_of::<Sample>() + Self::OWN_BYTES
    }

    /// The most that [`RttMeter::state_bytes`] was, as far as looked at.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes.max(self.state_bytes())
    }
}

impl Sink for RttMeter {
    /// Takes one observation. Observations of rules that are not served are passed over.
    ///
    /// Inlined where the rule is known, this is a count and a comparison for everything that no meter wants.
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
        let door = &mut self.doors[series.matching as usize];
        let tag = door.first_tag[series.leg as usize] + series.group.min(self.groups - 1);
        if door.gate.admits_if(wanted, sighting.id) {
            self.admit(sighting.id, sighting.at, sighting.token, tag, is_request, series.matching);
        } else {
            door.turned_away[usize::from(tag)][usize::from(is_request)] += u64::from(wanted);
        }
    }
}

impl AnyMeter {
    fn array(&self) -> Option<Array> {
        let Self::Simple(simple) = self else { return None };
        let longest = match simple.overwrite() {
            Overwrite::Always => None,
            Overwrite::WhenOlder(age) => Some(age),
        };
        Some(Array { slots: simple.slots(), stages: simple.stages(), longest })
    }

    fn filters(&self) -> Option<Filters> {
        match self {
            Self::TimeBloom(ring) => Some(Filters {
                filters: ring.filters(),
                bits: ring.filter_bits().into(),
                hashes: ring.hashes(),
                longest: ring.longest(),
            }),
            Self::Ale(ale) => Some(Filters {
                filters: ale.params().buckets + 1,
                bits: 4 * u64::from(ale.params().counters),
                hashes: ale.params().hashes,
                longest: ale.longest(),
            }),
            Self::Ddbf(ddbf) => Some(Filters {
                filters: 1,
                bits: 36 * u64::from(ddbf.params().cells),
                hashes: ddbf.params().hashes,
                longest: ddbf.longest(),
            }),
            _ => None,
        }
    }
}

impl Rule {
    /// What the responses of a series met in this interval.
    fn risk(&self, tag: usize) -> Option<Risk> {
        each_meter!(&self.meter, meter => meter.risk(tag))
    }

    fn fates(&self, doors: &[Door; Match::ALL.len()]) -> Vec<Fates> {
        let mut fates = each_meter!(&self.meter, meter => meter.fates());
        for (fates, [responses, requests]) in fates.iter_mut().zip(&doors[self.matching as usize].turned_away) {
            fates.seen += requests;
            fates.not_admitted += requests;
            fates.responses += responses;
            fates.unmatched += responses;
        }
        fates
    }

    #[inline]
    fn series(&self, tag: u16, groups: u16) -> Series {
        Series { matching: self.matching, leg: self.legs[usize::from(tag / groups)], group: tag % groups }
    }
}

/// A meter of filters in so many bytes, which knows the longest delay.
fn filters(settings: &Settings, bytes: usize, exchanges: Exchanges) -> Result<AnyMeter, SettingsError> {
    let longest = settings.longest_of(exchanges.expiry);
    let (rate, exchanges) = (settings.rate, Exchanges { expiry: longest, ..exchanges });
    if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
        return Err(TimeBloomError::Rate(rate).into());
    }
    let too_few = SettingsError::Memory { given: bytes, needed: settings.method.least_table() };
    let ale = |widths| -> Result<AnyMeter, SettingsError> {
        let params = ale::Params::budget(bytes, widths, longest, rate).ok_or(too_few)?;
        Ok(AnyMeter::Ale(Box::new(Ale::new(params, exchanges)?)))
    };
    match settings.method {
        Method::AleU => ale(Widths::Uniform),
        Method::AleE => ale(Widths::Exponential),
        Method::Ddbf => {
            Ok(AnyMeter::Ddbf(Box::new(Ddbf::new(ddbf::Params::budget(bytes).ok_or(too_few)?, exchanges)?)))
        }
        method => {
            let budget = if method == Method::BloomTime { bloomtime::budget } else { timebloom::Params::budget };
            let params = budget(bytes, longest, rate).ok_or(too_few)?;
            Ok(AnyMeter::TimeBloom(Box::new(TimeBloom::new(params, exchanges)?)))
        }
    }
}

/// Whether the requests of a rule have tokens.
const fn has_tokens(matching: Match) -> bool {
    matches!(matching, Match::TcpHandshake)
}

/// The legs of which a rule has series.
fn legs(matching: Match, has_inside: bool) -> &'static [Leg] {
    match (matching, has_inside) {
        (Match::Events, _) | (_, false) if matching != Match::TcpHandshake => &[Leg::Both],
        (_, false) => &[Leg::Beyond, Leg::Before, Leg::Sum],
        (Match::TcpHandshake, true) => &[Leg::Outward, Leg::Inward, Leg::Inside, Leg::Outside, Leg::Sum],
        (_, true) => &[Leg::Outward, Leg::Inward, Leg::Inside, Leg::Outside],
    }
}

/// How the memory is divided: a quarter for the store of delays, or more where that is little, for each rule the least that it measures with, and the rest
/// among the rules, four parts to each rule that sees every segment and one to each other. With a fixed number of slots the store has what these leave.
struct Split {
    store: Option<usize>,
    /// What each table has, and what is divided besides.
    least: usize,
    rest: usize,
    parts: usize,
    /// Events of a rule that are taken together.
    batch: usize,
}

impl Split {
    fn parts(matching: Match) -> usize {
        match matching {
            Match::TcpAck | Match::TcpTs | Match::Events => 4,
            _ => 1,
        }
    }

    fn new(settings: &Settings, matches: &[Match], series: usize) -> Result<Self, SettingsError> {
        /// With so much per series, the store has as much as the tables.
        const EVEN: usize = 3 << 10;
        /// What a processor keeps near.
        const CACHE: usize = 1 << 20;
        let parts = matches.iter().map(|&m| Self::parts(m)).sum();
        let least = settings.method.least_table();
        let mut split = Self { store: None, least, rest: 0, parts, batch: BATCH };
        if settings.method == Method::Exact {
            return Ok(split);
        }
        let (series_limit, limit) = match settings.method {
            Method::Auto => (Horizon::SERIES_BYTES, 0),
            Method::Fridge => (0, size_of::<Profile>()),
            Method::Km => (Fridge::LIMIT_BYTES.0, Fridge::LIMIT_BYTES.1 + size_of::<Profile>()),
            _ => (0, 0),
        };
        let fates = size_of::<Fates>() * if settings.has_intervals { 2 } else { 1 };
        let counts = series * (fates + size_of::<[u64; 2]>() + series_limit);
        let least_store = DelayStore::least_bytes(series);
        let bytes_of = |slots| matches.iter().map(|&matching| settings.table_bytes(slots, matching)).sum();
        let tables: Option<usize> = settings.slots.map(bytes_of).transpose()?;
        let least_tables = matches.len() * split.least;
        let least = least_store.saturating_add(tables.unwrap_or(least_tables));
        split.batch = if least.max(settings.memory) < CACHE { SMALL_BATCH } else { BATCH };
        let queue = split.batch * size_of::<Event>();
        let rules = matches.len() * (size_of::<Rule>() + settings.method.meter_bytes() + limit + queue);
        let overhead = counts + rules + split.batch * size_of::<Sample>() + RttMeter::OWN_BYTES;
        let needed = least.saturating_add(overhead);
        if needed > settings.memory {
            return Err(SettingsError::Memory { given: settings.memory, needed });
        }
        let left = settings.memory - overhead;
        // The error that bins make falls as the store grows, that of sampling as the root of the tables does: s² = EVEN t, and s + t = left.
        let even = (EVEN * series) as f64;
        let balanced = 0.5 * even * ((1.0 + 4.0 * left as f64 / even).sqrt() - 1.0);
        let store = tables.map_or_else(
            || (left / 4).max(balanced as usize).clamp(least_store, left - least_tables),
            |tables| left - tables,
        );
        split.store = Some(store);
        split.rest = (left - store).saturating_sub(least_tables);
        Ok(split)
    }

    fn table(&self, matching: Match) -> usize {
        self.least + self.rest * Self::parts(matching) / self.parts.max(1)
    }
}
