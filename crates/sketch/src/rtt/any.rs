use super::{Method, Settings, SettingsError};
use crate::exact::Exact;
use crate::fridge::Fridge;
use crate::horizon::{Borrower, Horizon, Roomy};
use crate::mis::{Ladder, Mis, Rung};
use crate::rivals::ale::{self, Ale, Widths};
use crate::rivals::bloomtime;
use crate::rivals::dart::{self, Dart};
use crate::rivals::ddbf::{self, Ddbf};
use crate::rivals::hash_sample::{HashSample, Lifetime};
use crate::rivals::simple::{self, Overwrite, Simple};
use crate::rivals::timebloom::{self, Policy, TimeBloom};
use crate::{Meter, Terms};
use dwell_types::{ExchangeId, Match, Timestamp};
use std::fmt::Display;
use std::ops::{Deref, DerefMut};

/// A meter of any method, boxed, so that each takes only the memory that it needs. Those that are asked for something for
/// every event are known by type: to prefetch, or to take it at once, without a queue, where the table is cached.
#[derive(Debug)]
pub(super) enum AnyMeter {
    Roomy(Box<Roomy>),
    Exact(Box<Exact>),
    AtOnce(Box<Fridge>),
    Other(Box<dyn Meter>),
}

/// The methods common to all meters.
impl Deref for AnyMeter {
    type Target = dyn Meter;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Roomy(meter) => &**meter,
            Self::Exact(meter) => &**meter,
            Self::AtOnce(meter) => &**meter,
            Self::Other(meter) => &**meter,
        }
    }
}

impl DerefMut for AnyMeter {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Roomy(meter) => &mut **meter,
            Self::Exact(meter) => &mut **meter,
            Self::AtOnce(meter) => &mut **meter,
            Self::Other(meter) => &mut **meter,
        }
    }
}

/// A sampled request waits for this many times the 99.9th percentile of delays, unless its lifetime is given.
const LIFETIME: f64 = 2.0;

impl AnyMeter {
    /// A meter for a rule, of the method in the settings, with tables of this many bytes.
    pub(super) fn new(settings: &Settings, matching: Match, bytes: usize, terms: Terms) -> Result<Self, SettingsError> {
        let slots = settings.slots_in(bytes, matching);
        let has_tokens = matching.has_tokens();
        let parameters = &settings.parameters;
        let fingerprint_bits = parameters.fingerprint_bits.unwrap_or(32);
        let array = |usual_stages, overwrite| {
            let stages = parameters.stages.unwrap_or(usual_stages);
            simple::Params { slots, stages, fingerprint_bits, overwrite }
        };
        // Of filters: they find no longer delays, and their meter expects no later responses.
        let (longest, rate) = (settings.longest_of(terms.expiry), parameters.rate);
        let within = Terms { expiry: longest, ..terms };
        let filters = &parameters.filters;
        let too_few = || SettingsError::Memory { given: bytes, needed: settings.method.least_table() };
        let ring = |params: Option<timebloom::Params>| other(TimeBloom::new(params.ok_or_else(too_few)?, within));
        let ale = |widths| {
            let params = ale::Params::budget(bytes, widths, longest, rate, filters).ok_or_else(too_few)?;
            other(Ale::new(params, within))
        };
        match settings.method {
            Method::Exact => Ok(Self::Exact(Box::new(Exact::new(terms)))),
            Method::Auto if bytes >= Roomy::LEAST_BYTES => boxed(Roomy::new(bytes, has_tokens, terms)).map(Self::Roomy),
            Method::Auto => other(Horizon::new(bytes, has_tokens, terms)),
            Method::Fridge | Method::Km => boxed(Fridge::new(settings.fridge(matching, slots), terms))
                .map(|fridge| if fridge.can_take_at_once() { Self::AtOnce(fridge) } else { Self::Other(fridge) }),
            Method::HashSample => {
                let lifetime = parameters.longest.map_or(Lifetime::Learnt(LIFETIME), Lifetime::Given);
                let table = HashSample::new(bytes, has_tokens, lifetime, terms);
                let probability = parameters.entry_probabilities.first().copied().unwrap_or(1.0);
                other(table.and_then(|table| table.with_probability(probability)))
            }
            Method::Simple => other(Simple::new(array(1, Overwrite::Always), terms)),
            Method::Stages => other(Simple::new(array(4, Overwrite::WhenOlder(longest)), terms)),
            Method::Mis if parameters.entry_probabilities.is_empty() => {
                other(Mis::adaptive(slots, fingerprint_bits, terms))
            }
            Method::Mis => {
                let probabilities = &parameters.entry_probabilities;
                let slots = slots / probabilities.len() as u32;
                let rungs = probabilities.iter().map(|&probability| Rung { slots, probability }).collect();
                let ladder = Ladder::new(rungs).map_err(SettingsError::parameter)?;
                other(Mis::new(ladder, fingerprint_bits, terms))
            }
            Method::TimeBloom => {
                let params = timebloom::Params::budget(bytes, longest, rate, filters, parameters.prior());
                let policy = parameters.policy.unwrap_or(Policy::USUAL);
                ring(params.map(|params| timebloom::Params { policy, ..params }))
            }
            Method::BloomTime => ring(bloomtime::budget(bytes, longest, rate, filters)),
            Method::AleU => ale(Widths::Uniform),
            Method::AleE => ale(Widths::Exponential),
            Method::Ddbf => other(Ddbf::new(ddbf::Params::budget(bytes, filters).ok_or_else(too_few)?, within)),
            Method::Dart => {
                other(Dart::new(dart::Params::budget(bytes, &parameters.trackers()).ok_or_else(too_few)?, terms))
            }
        }
    }

    /// Prefetches the memory that an event with this id will need, where its address is known and it may not be cached.
    #[inline]
    pub(super) fn prefetch(&self, id: ExchangeId) {
        let exact = match self {
            Self::Exact(exact) => Some(&**exact),
            Self::Roomy(roomy) => roomy.exact(),
            Self::AtOnce(_) | Self::Other(_) => None,
        };
        if let Some(exact) = exact {
            exact.prefetch(id);
        }
    }

    /// The memory of its plain entries, while it has any.
    pub(super) fn borrower(&self) -> Option<Borrower> {
        match self {
            Self::Roomy(roomy) => roomy.borrower(),
            Self::Exact(_) | Self::AtOnce(_) | Self::Other(_) => None,
        }
    }

    /// See [`Roomy::lend`].
    pub(super) fn lend(&mut self, bytes: usize, now: Timestamp) {
        if let Self::Roomy(roomy) = self {
            roomy.lend(bytes, now);
        }
    }
}

fn other<M: Meter + 'static>(meter: Result<M, impl Display>) -> Result<AnyMeter, SettingsError> {
    boxed(meter).map(|meter| AnyMeter::Other(meter))
}

fn boxed<M>(meter: Result<M, impl Display>) -> Result<Box<M>, SettingsError> {
    meter.map(Box::new).map_err(SettingsError::parameter)
}
