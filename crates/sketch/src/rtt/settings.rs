use super::{Method, Parameter, Parameters};
use crate::Terms;
use crate::distribution::{Ambiguous, DelayStore};
use crate::fridge::Params;
use crate::rivals::ale::{self, Widths};
use crate::rivals::hash_sample::HashSample;
use crate::rivals::timebloom;
use crate::rivals::{bloomtime, ddbf};
use crate::top_flows::Line;
use dwell_types::{Leg, Match, Nanos, Series, hash};
use std::fmt;

/// What an [`super::RttMeter`] is built with.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The pairing rules to measure.
    pub matches: Vec<Match>,
    /// Whether legs are distinguished by inside and outside.
    pub has_inside: bool,
    /// Number of groups, including "other", the first; 1 without grouping. 0 counts as 1, and more than
    /// [`Series::GROUPS`] as that many.
    pub groups: u16,
    /// The method by which delays are measured.
    pub method: Method,
    /// Bytes for everything together; ignored by unbounded methods.
    pub memory: usize,
    /// Requests older than this are given up: above zero, and up to [`Terms::LONGEST_WAIT`]. `None` for what is usual
    /// with each rule.
    pub expiry: Option<Nanos>,
    /// What is given of the method, only parameters that it has.
    pub parameters: Parameters,
    /// How ambiguous samples will count.
    pub ambiguous: Ambiguous,
    /// Seed of all hashes.
    pub seed: u64,
    /// Whether [`super::RttMeter::end_interval`] will be called.
    pub has_intervals: bool,
    /// Whether samples are kept until [`super::RttMeter::take_samples`].
    pub keeps_samples: bool,
}

impl Settings {
    /// The usual expiry of a rule's requests: longer than the retransmissions of a SYN take, 1 + 2 + … + 64 s; a day for
    /// flows.
    pub fn usual_expiry(matching: Match) -> Nanos {
        Nanos::from_secs(if matching == Match::TcpFlow { 86_400 } else { 128 })
    }

    /// One group, the usual expiries, all other parameters found while running, no intervals.
    pub fn new(method: Method, matches: Vec<Match>, memory: usize) -> Self {
        Self {
            matches,
            has_inside: false,
            groups: 1,
            method,
            memory,
            expiry: None,
            parameters: Parameters::default(),
            ambiguous: Ambiguous::Bounds,
            seed: 0,
            has_intervals: false,
            keeps_samples: false,
        }
    }

    /// Checks what can be checked before anything is built; each match is there once.
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let method = self.method;
        if self.matches.is_empty() {
            return Err(SettingsError::NoMatches);
        }
        if let Some(&other) = self.matches.iter().find(|&&matching| !method.measures(matching)) {
            return Err(SettingsError::Match(method, other));
        }
        if self.series() > DelayStore::MOST_SERIES {
            return Err(SettingsError::Series(self.series()));
        }
        let mut expiries = self.matches.iter().map(|&matching| self.expiry_of(matching));
        if let Some(expiry) = expiries.find(|&expiry| expiry <= Nanos::ZERO || expiry > Terms::LONGEST_WAIT) {
            return Err(SettingsError::Expiry(expiry));
        }
        self.parameters.check(method)
    }

    /// Number of series of all rules together: legs × groups of each match.
    pub(super) fn series(&self) -> usize {
        self.matches.iter().map(|&matching| usize::from(self.terms(matching).tags)).sum()
    }

    /// Number of groups that are distinguished: 1 to [`Series::GROUPS`].
    pub(super) fn distinct_groups(&self) -> u16 {
        self.groups.clamp(1, Series::GROUPS)
    }

    /// The lines of each flow in a report: match and leg, in order.
    pub fn lines(&self) -> Vec<Line> {
        let of = |&matching: &Match| {
            let line = move |&leg: &Leg| Line { matching, leg, expiry: self.expiry_of(matching) };
            matching.legs(self.has_inside).iter().map(line)
        };
        Match::ALL.iter().filter(|matching| self.matches.contains(matching)).flat_map(of).collect()
    }

    /// The expiry of a rule's requests.
    pub(super) fn expiry_of(&self, matching: Match) -> Nanos {
        self.expiry.unwrap_or(Self::usual_expiry(matching))
    }

    /// Memory in which a rule may recognise unmatched responses.
    pub(super) fn door_bytes(&self) -> usize {
        /// A small part of the memory; if there is little, requests need it more.
        const PART: usize = 1 << 7;
        if self.method.is_bounded() { self.memory / PART } else { usize::MAX }
    }

    /// Memory in which a rule may recognise repeated requests.
    pub(super) fn repeat_bytes(&self) -> usize {
        const PART: usize = 1 << 4;
        self.memory / PART
    }

    /// The longest delay of a rule with this expiry.
    pub(super) fn longest_of(&self, expiry: Nanos) -> Nanos {
        /// Delays are shorter than the expiry by this factor, unless an upper bound is given.
        const MARGIN: i64 = 16;
        self.parameters.longest.unwrap_or(Nanos::new((expiry.get() / MARGIN).max(1))).min(expiry)
    }

    /// The parameters for a rule's meter.
    pub(super) fn terms(&self, matching: Match) -> Terms {
        let legs = matching.legs(self.has_inside).len();
        Terms {
            // At most 5 legs of 2¹³ groups.
            tags: legs as u16 * self.distinct_groups(),
            repeat: matching.repeat(),
            expiry: self.expiry_of(matching),
            seed: hash::word(self.seed, matching.number()),
        }
    }

    /// The fridge of a rule.
    pub(super) fn fridge(&self, matching: Match, slots: u32) -> Params {
        Params {
            fingerprint_bits: self.parameters.fingerprint_bits,
            has_tokens: matching.has_tokens(),
            entry_probability: self.parameters.entry_probabilities.first().copied(),
            product_limit: self.method == Method::Km,
            ..Params::new(slots)
        }
    }

    /// Slots of a rule that fit this many bytes, unless their number is given.
    pub(super) fn slots_in(&self, bytes: usize, matching: Match) -> u32 {
        self.parameters.slots.unwrap_or_else(|| match self.method.slot_bytes() {
            Some((slot, rest)) => u32::try_from(bytes.saturating_sub(rest) / slot).unwrap_or(u32::MAX),
            None => self.fridge(matching, 0).fitting(bytes, &self.terms(matching)).slots,
        })
    }

    /// The least bytes of a rule's table with the given parameters, and whether these determine its size.
    pub(super) fn least_table(&self, matching: Match) -> Result<(usize, bool), SettingsError> {
        if let Some(slots) = self.parameters.slots {
            return Ok((self.table_bytes(slots, matching)?, true));
        }
        let filters = &self.parameters.filters;
        let are_given = filters.filters.is_some() && filters.bits.is_some();
        Ok(match self.method {
            Method::TimeBloom => (timebloom::Params::least_bytes(filters, &self.parameters.prior()), are_given),
            Method::BloomTime => (bloomtime::least_bytes(filters), are_given),
            Method::AleU => (ale::Params::least_bytes(Widths::Uniform, filters), are_given),
            Method::AleE => (ale::Params::least_bytes(Widths::Exponential, filters), are_given),
            Method::Ddbf => (ddbf::Params::least_bytes(filters), filters.bits.is_some()),
            Method::Dart => (self.parameters.trackers().least_bytes(), self.parameters.trackers().is_size()),
            _ => (self.method.least_table(), false),
        })
    }

    /// Bytes of a rule's table with this many slots.
    fn table_bytes(&self, slots: u32, matching: Match) -> Result<usize, SettingsError> {
        Ok(match self.method.slot_bytes() {
            Some((slot, rest)) => slots as usize * slot + rest,
            None if self.method == Method::HashSample => {
                HashSample::table_bytes(slots, matching.has_tokens(), &self.terms(matching))
                    .map_err(SettingsError::parameter)?
            }
            None => {
                self.fridge(matching, slots).table_bytes(&self.terms(matching)).map_err(SettingsError::parameter)?
            }
        })
    }
}

/// Why the settings are invalid.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingsError {
    /// There are no matches to measure.
    NoMatches,
    /// The method cannot measure the exchanges of this rule.
    Match(Method, Match),
    /// More series (matches × legs × groups) than the store of delays supports.
    Series(usize),
    /// An expiry that is not above zero, or longer than [`Terms::LONGEST_WAIT`].
    Expiry(Nanos),
    /// The rate must be a number above zero.
    Rate(f64),
    /// The memory is too small for these settings.
    Memory {
        /// Bytes given.
        given: usize,
        /// The least that works.
        needed: usize,
    },
    /// The method does not have this parameter.
    NotOf(Parameter, Method),
    /// More entry probabilities than the method can have fridges.
    EntryProbabilities {
        /// The method.
        method: Method,
        /// How many were given.
        given: usize,
        /// How many there can be.
        most: usize,
    },
    /// A parameter of the method is out of range.
    Parameter(String),
}

impl SettingsError {
    /// Wraps a method's own error.
    pub(super) fn parameter(error: impl fmt::Display) -> Self {
        Self::Parameter(error.to_string())
    }
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
            Self::Expiry(expiry) => {
                write!(f, "an expiry of {expiry}: expected more than zero and at most {}", Terms::LONGEST_WAIT)
            }
            Self::Rate(rate) => write!(f, "{rate} requests per second: expected a finite number above zero"),
            Self::Memory { given, needed } => {
                write!(f, "{given} bytes of memory are too few: these matches and groups need at least {needed}")
            }
            Self::NotOf(parameter, method) => {
                write!(f, "{} has no parameter {}", method.name(), parameter.name())
            }
            Self::EntryProbabilities { method, given, most } => {
                write!(f, "{given} entry probabilities: {} has at most {most}", method.name())
            }
            Self::Parameter(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for SettingsError {}
