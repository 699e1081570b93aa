use super::{Method, Settings, SettingsError};
use crate::ale::{self, Ale, Widths};
use crate::bloomtime;
use crate::dart::{self, Dart};
use crate::ddbf::{self, Ddbf};
use crate::exact::Exact;
use crate::fridge::Fridge;
use crate::hash_sample::{HashSample, Lifetime};
use crate::horizon::{Borrower, Horizon, Roomy};
use crate::mis::Mis;
use crate::simple::{self, Overwrite, Simple};
use crate::timebloom::{self, TimeBloom, TimeBloomError};
use crate::{Exchanges, Meter};
use dwell_types::{ExchangeId, Match, Nanos, Timestamp};
use std::fmt::Display;
use std::ops::{Deref, DerefMut};

/// A meter of any method; boxed, so that each takes only the memory that it needs.
#[derive(Clone, Debug)]
pub(super) enum AnyMeter {
    Auto(Box<Horizon>),
    Roomy(Box<Roomy>),
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

/// The methods common to all meters.
impl Deref for AnyMeter {
    type Target = dyn Meter;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Auto(meter) => &**meter,
            Self::Roomy(meter) => &**meter,
            Self::Exact(meter) => &**meter,
            Self::Fridge(meter) => &**meter,
            Self::HashSample(meter) => &**meter,
            Self::Simple(meter) => &**meter,
            Self::Mis(meter) => &**meter,
            Self::TimeBloom(meter) => &**meter,
            Self::Ale(meter) => &**meter,
            Self::Ddbf(meter) => &**meter,
            Self::Dart(meter) => &**meter,
        }
    }
}

impl DerefMut for AnyMeter {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Auto(meter) => &mut **meter,
            Self::Roomy(meter) => &mut **meter,
            Self::Exact(meter) => &mut **meter,
            Self::Fridge(meter) => &mut **meter,
            Self::HashSample(meter) => &mut **meter,
            Self::Simple(meter) => &mut **meter,
            Self::Mis(meter) => &mut **meter,
            Self::TimeBloom(meter) => &mut **meter,
            Self::Ale(meter) => &mut **meter,
            Self::Ddbf(meter) => &mut **meter,
            Self::Dart(meter) => &mut **meter,
        }
    }
}

/// A sampled request waits for this many times the 99.9th percentile of delays.
const LIFETIME: f64 = 2.0;

/// The data structure that holds a rule's requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Structure {
    /// A table of all open requests, or of those with sampled ids.
    Table,
    /// A table of the requests within their horizons.
    Horizons {
        /// The most requests that it holds.
        room: usize,
        /// The current sampling probabilities of the fastest and of the slowest exchanges, unless all are measured.
        chances: Option<(f64, f64)>,
    },
    /// One fridge or several.
    Fridge {
        /// Slots of all fridges.
        slots: u32,
        /// The current probability that a request enters.
        entry_probability: f64,
        /// Fingerprint bits of an entry.
        fingerprint_bits: u32,
    },
    /// An array indexed by hash.
    Array(Array),
    /// Bloom filters.
    Filters(Filters),
    /// A range tracker and a packet tracker.
    Trackers(dart::Params),
}

/// The array of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Slots of all stages.
    pub slots: u32,
    /// Stages.
    pub stages: u32,
    /// An entry stays until it is older than this; `None` if every newcomer overwrites.
    pub longest: Option<Nanos>,
}

/// Bloom filters of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filters {
    /// Number of filters.
    pub filters: u32,
    /// Bits of each, its counters and times included.
    pub bits: u64,
    /// Hash functions.
    pub hashes: u32,
    /// The longest delay that can be found.
    pub longest: Nanos,
}

impl AnyMeter {
    /// A meter for a rule, of the method in the settings, with tables of this many bytes.
    pub(super) fn new(
        settings: &Settings,
        matching: Match,
        bytes: usize,
        exchanges: Exchanges,
    ) -> Result<Self, SettingsError> {
        let slots = settings.slots_in(bytes, matching);
        Ok(match settings.method {
            Method::Exact => Self::Exact(Box::new(Exact::new(exchanges))),
            Method::Auto if bytes >= Roomy::LEAST_BYTES => {
                Self::Roomy(boxed(Roomy::new(bytes, matching.has_tokens(), exchanges))?)
            }
            Method::Auto => Self::Auto(boxed(Horizon::new(bytes, matching.has_tokens(), exchanges))?),
            Method::Fridge | Method::Km => {
                Self::Fridge(boxed(Fridge::new(settings.fridge(matching, slots), exchanges))?)
            }
            Method::HashSample => {
                let has_tokens = matching.has_tokens();
                Self::HashSample(boxed(HashSample::new(bytes, has_tokens, Lifetime::Learnt(LIFETIME), exchanges))?)
            }
            Method::Simple | Method::Stages => {
                let (usual, overwrite) = match settings.method {
                    Method::Stages => (4, Overwrite::WhenOlder(settings.longest_of(exchanges.expiry))),
                    _ => (1, Overwrite::Always),
                };
                let stages = settings.stages.unwrap_or(usual);
                let fingerprint_bits = settings.fingerprint_bits.unwrap_or(32);
                let params = simple::Params { slots, stages, fingerprint_bits, overwrite };
                Self::Simple(boxed(Simple::new(params, exchanges))?)
            }
            Method::Mis => Self::Mis(boxed(Mis::adaptive(slots, settings.fingerprint_bits.unwrap_or(32), exchanges))?),
            Method::TimeBloom | Method::BloomTime | Method::AleU | Method::AleE | Method::Ddbf => {
                filters(settings, bytes, exchanges)?
            }
            Method::Dart => {
                let needed = dart::Params::LEAST_BYTES;
                let params = dart::Params::budget(bytes).ok_or(SettingsError::Memory { given: bytes, needed })?;
                Self::Dart(boxed(Dart::new(params, exchanges))?)
            }
        })
    }

    /// Prefetches the memory that an event with this id will need, where its address is known and it may not be cached.
    #[inline]
    pub(super) fn prefetch(&self, id: ExchangeId) {
        let exact = match self {
            Self::Exact(exact) => Some(&**exact),
            Self::Roomy(roomy) => roomy.exact(),
            _ => None,
        };
        if let Some(exact) = exact {
            exact.prefetch(id);
        }
    }

    /// The memory of its plain entries, while it has any.
    pub(super) fn borrower(&self) -> Option<Borrower> {
        match self {
            Self::Roomy(roomy) => roomy.borrower(),
            _ => None,
        }
    }

    /// See [`Roomy::lend`].
    pub(super) fn lend(&mut self, bytes: usize, now: Timestamp) {
        if let Self::Roomy(roomy) = self {
            roomy.lend(bytes, now);
        }
    }

    /// Current bytes of its table, if that can grow.
    pub(super) fn growing_bytes(&self) -> Option<usize> {
        match self {
            Self::Auto(horizon) => Some(horizon.table_bytes()),
            Self::Roomy(roomy) => Some(roomy.horizon().table_bytes()),
            Self::HashSample(sample) => Some(sample.table_bytes()),
            _ => None,
        }
    }

    /// When its answers began to be estimates; `None` while every exchange is measured.
    pub(super) fn sampled_since(&self) -> Option<Timestamp> {
        match self {
            Self::Auto(horizon) => horizon.sampled_since(),
            Self::Roomy(roomy) => roomy.horizon().sampled_since(),
            Self::Exact(_) => None,
            Self::HashSample(sample) if sample.probability() == 1.0 => None,
            _ => Some(Timestamp::from_nanos(i64::MIN)),
        }
    }

    pub(super) fn structure(&self) -> Structure {
        match self {
            Self::Exact(_) | Self::HashSample(_) => Structure::Table,
            Self::Auto(horizon) => horizons(horizon),
            Self::Roomy(roomy) => horizons(roomy.horizon()),
            Self::Fridge(fridge) => Structure::Fridge {
                slots: fridge.slots(),
                entry_probability: fridge.entry_probability().value(),
                fingerprint_bits: fridge.fingerprint_bits(),
            },
            Self::Mis(mis) => Structure::Fridge {
                slots: mis.slots(),
                entry_probability: mis.ladder().probability(),
                fingerprint_bits: mis.fingerprint_bits(),
            },
            Self::Simple(simple) => Structure::Array(Array {
                slots: simple.slots(),
                stages: simple.stages(),
                longest: match simple.overwrite() {
                    Overwrite::Always => None,
                    Overwrite::WhenOlder(age) => Some(age),
                },
            }),
            Self::TimeBloom(ring) => Structure::Filters(Filters {
                filters: ring.filters(),
                bits: ring.filter_bits().into(),
                hashes: ring.hashes(),
                longest: ring.longest(),
            }),
            Self::Ale(ale) => Structure::Filters(Filters {
                filters: ale.params().buckets + 1,
                bits: 4 * u64::from(ale.params().counters),
                hashes: ale.params().hashes,
                longest: ale.longest(),
            }),
            Self::Ddbf(ddbf) => Structure::Filters(Filters {
                filters: 1,
                bits: 36 * u64::from(ddbf.params().cells),
                hashes: ddbf.params().hashes,
                longest: ddbf.longest(),
            }),
            Self::Dart(dart) => Structure::Trackers(dart.params()),
        }
    }
}

/// A filter-based meter in this many bytes, for a known longest delay.
fn filters(settings: &Settings, bytes: usize, exchanges: Exchanges) -> Result<AnyMeter, SettingsError> {
    let longest = settings.longest_of(exchanges.expiry);
    let (rate, exchanges) = (settings.rate, Exchanges { expiry: longest, ..exchanges });
    if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
        return Err(SettingsError::parameter(TimeBloomError::Rate(rate)));
    }
    let too_few = || SettingsError::Memory { given: bytes, needed: settings.method.least_table() };
    let ale = |widths| -> Result<AnyMeter, SettingsError> {
        let params = ale::Params::budget(bytes, widths, longest, rate).ok_or_else(too_few)?;
        Ok(AnyMeter::Ale(boxed(Ale::new(params, exchanges))?))
    };
    match settings.method {
        Method::AleU => ale(Widths::Uniform),
        Method::AleE => ale(Widths::Exponential),
        Method::Ddbf => {
            Ok(AnyMeter::Ddbf(boxed(Ddbf::new(ddbf::Params::budget(bytes).ok_or_else(too_few)?, exchanges))?))
        }
        method => {
            let budget = if method == Method::BloomTime { bloomtime::budget } else { timebloom::Params::budget };
            let params = budget(bytes, longest, rate).ok_or_else(too_few)?;
            Ok(AnyMeter::TimeBloom(boxed(TimeBloom::new(params, exchanges))?))
        }
    }
}

fn boxed<M>(meter: Result<M, impl Display>) -> Result<Box<M>, SettingsError> {
    meter.map(Box::new).map_err(SettingsError::parameter)
}

fn horizons(horizon: &Horizon) -> Structure {
    let chances = horizon.sampled_since().map(|_| horizon.probabilities());
    Structure::Horizons { room: horizon.room(), chances }
}
