use super::Method;
use crate::Exchanges;
use crate::distribution::DelayStore;
use crate::fridge::Params;
use crate::top_flows::Line;
use dwell_types::{Leg, Match, Nanos, Series, hash};
use std::fmt;

/// What an [`super::RttMeter`] is built with.
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
    /// Whether [`super::RttMeter::reset_interval`] will be called.
    pub has_intervals: bool,
    /// Whether samples are kept until [`super::RttMeter::take_samples`].
    pub keeps_samples: bool,
}

impl Settings {
    /// One group, everything found while running, no intervals, and one expiry for all rules.
    pub fn new(method: Method, matches: Vec<Match>, memory: usize, expiry: Nanos) -> Self {
        Self {
            matches,
            has_inside: false,
            groups: 1,
            method,
            memory,
            expiry,
            flow_expiry: expiry,
            slots: None,
            entry_probability: None,
            fingerprint_bits: None,
            stages: None,
            longest: None,
            rate: None,
            seed: 0,
            has_intervals: false,
            keeps_samples: false,
        }
    }

    /// Groups that are told apart: 1 to [`Series::GROUPS`].
    pub(super) fn told_groups(&self) -> u16 {
        self.groups.clamp(1, Series::GROUPS)
    }

    /// What a flow's delays are told apart by: match and leg, in the order of reports.
    pub fn lines(&self) -> Vec<Line> {
        let of = |&matching: &Match| {
            let line = move |&leg: &Leg| Line { matching, leg, expiry: self.expiry_of(matching) };
            matching.legs(self.has_inside).iter().map(line)
        };
        Match::ALL.iter().filter(|matching| self.matches.contains(matching)).flat_map(of).collect()
    }

    /// When requests of a rule are given up.
    fn expiry_of(&self, matching: Match) -> Nanos {
        if matching == Match::TcpFlow { self.flow_expiry } else { self.expiry }
    }

    /// What a rule may take to know of responses that they answer nothing.
    pub(super) fn door_bytes(&self) -> usize {
        /// A small part of the memory; where there is little, requests need it more.
        const PART: usize = 1 << 7;
        if self.method == Method::Exact { usize::MAX } else { self.memory / PART }
    }

    /// What a rule may take to know requests that were made before.
    pub(super) fn repeat_bytes(&self) -> usize {
        const PART: usize = 1 << 4;
        self.memory / PART
    }

    /// The longest delay of a rule with this expiry.
    pub(super) fn longest_of(&self, expiry: Nanos) -> Nanos {
        /// Delays are shorter than the expiry by so much, unless it is known better.
        const MARGIN: i64 = 16;
        self.longest.unwrap_or(Nanos::new(expiry.get() / MARGIN)).min(expiry)
    }

    /// What the meter of a rule is told.
    pub(super) fn exchanges(&self, matching: Match) -> Exchanges {
        let legs = matching.legs(self.has_inside).len();
        Exchanges {
            // At most 5 legs of 2¹³ groups.
            tags: legs as u16 * self.told_groups(),
            repeat: matching.repeat(),
            expiry: self.expiry_of(matching),
            seed: hash::word(self.seed, matching as u64),
        }
    }

    /// The fridge of a rule.
    pub(super) fn fridge(&self, matching: Match, slots: u32) -> Params {
        Params {
            fingerprint_bits: self.fingerprint_bits,
            has_tokens: matching.has_tokens(),
            entry_probability: self.entry_probability,
            product_limit: self.method == Method::Km,
            ..Params::new(slots)
        }
    }

    /// Slots of a rule in so many bytes, unless they are given.
    pub(super) fn slots_in(&self, bytes: usize, matching: Match) -> u32 {
        self.slots.unwrap_or_else(|| match self.method.slot_bytes() {
            Some((slot, rest)) => u32::try_from(bytes.saturating_sub(rest) / slot).unwrap_or(u32::MAX),
            None => self.fridge(matching, 0).fitting(bytes, &self.exchanges(matching)).slots,
        })
    }

    /// Bytes that so many slots of a rule take.
    pub(super) fn table_bytes(&self, slots: u32, matching: Match) -> Result<usize, SettingsError> {
        Ok(match self.method.slot_bytes() {
            Some((slot, rest)) => slots as usize * slot + rest,
            None => {
                self.fridge(matching, slots).table_bytes(&self.exchanges(matching)).map_err(SettingsError::parameter)?
            }
        })
    }
}

/// Why the settings cannot be met.
#[derive(Clone, Debug, PartialEq)]
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
    /// A parameter of the method is out of range.
    Parameter(String),
}

impl SettingsError {
    /// What a method's own error becomes.
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
            Self::Memory { given, needed } => {
                write!(f, "{given} bytes of memory are too few: these matches and groups need at least {needed}")
            }
            Self::Parameter(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for SettingsError {}
