use super::{Method, SettingsError};
use crate::parts::filters::GivenFilters;
use crate::rivals::dart::GivenTrackers;
use crate::rivals::timebloom::{Cdf, Policy, Prior};
use dwell_types::Nanos;

/// What is given of a method, instead of what it finds. Each method has some of these ([`Method::parameters`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Slots of a rule's table (with [`Method::Mis`], of all its fridges together), instead of as many as fit the
    /// memory. [`Method::HashSample`] rounds down to a number that it can reach by doubling.
    pub slots: Option<u32>,
    /// Entry probabilities of a rule's fridges, 2⁻²⁴ or more, instead of those that they find while running: one for
    /// [`Method::Fridge`] and [`Method::Km`]; for [`Method::Mis`] those of as many fridges, with equal shares of the
    /// slots. Or that with which [`Method::HashSample`] begins, instead of 1.
    pub entry_probabilities: Vec<f64>,
    /// Fingerprint bits, instead of 32 or of a fridge's default (see [`crate::fridge::Params`]).
    pub fingerprint_bits: Option<u32>,
    /// An upper bound of delays, for the methods that need one, instead of a sixteenth of the expiry. Or how long
    /// [`Method::HashSample`] keeps requests, instead of a time that it learns.
    pub longest: Option<Nanos>,
    /// Stages of an array, 1 to 6, instead of one in which newcomers overwrite, or four in which entries stay; or of a
    /// packet tracker, 1 to 8, instead of 4.
    pub stages: Option<u32>,
    /// Requests per second and rule, for the methods that can use this.
    pub rate: Option<f64>,
    /// What filters are like, instead of as fits the memory, the longest delay and the rate.
    pub filters: GivenFilters,
    /// How [`Method::TimeBloom`] chooses among matches, instead of as usual.
    pub policy: Option<Policy>,
    /// What is known of the delays, for [`Method::TimeBloom`], instead of what it learns.
    pub prior: Option<Cdf>,
    /// Slots of the range tracker of [`Method::Dart`], instead of as many as fit half of the memory.
    pub ranges: Option<u32>,
    /// The same for its packet tracker.
    pub packets: Option<u32>,
    /// How often records that this evicts may go round, instead of 8 times.
    pub rounds: Option<u32>,
}

/// One of [`Parameters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// [`Parameters::slots`].
    Slots,
    /// [`Parameters::entry_probabilities`].
    EntryProbability,
    /// [`Parameters::fingerprint_bits`].
    FingerprintBits,
    /// [`Parameters::longest`].
    Longest,
    /// [`Parameters::stages`].
    Stages,
    /// [`Parameters::rate`].
    Rate,
    /// The number of [`Parameters::filters`].
    Filters,
    /// The bits of each of these.
    Bits,
    /// The hash functions of these.
    Hashes,
    /// [`Parameters::policy`].
    Policy,
    /// [`Parameters::prior`](field@Parameters::prior).
    Prior,
    /// [`Parameters::ranges`].
    Ranges,
    /// [`Parameters::packets`].
    Packets,
    /// [`Parameters::rounds`].
    Rounds,
}

impl Parameter {
    /// The name of its flag on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::EntryProbability => "entry-probability",
            Self::FingerprintBits => "fingerprint-bits",
            Self::Longest => "longest",
            Self::Stages => "stages",
            Self::Rate => "rate",
            Self::Filters => "filters",
            Self::Bits => "bits",
            Self::Hashes => "hashes",
            Self::Policy => "policy",
            Self::Prior => "prior",
            Self::Ranges => "ranges",
            Self::Packets => "packets",
            Self::Rounds => "rounds",
        }
    }
}

impl Parameters {
    /// Those that are given.
    pub fn given(&self) -> impl Iterator<Item = Parameter> + use<> {
        let GivenFilters { filters, bits, hashes } = self.filters;
        let all = [
            (Parameter::Slots, self.slots.is_some()),
            (Parameter::EntryProbability, !self.entry_probabilities.is_empty()),
            (Parameter::FingerprintBits, self.fingerprint_bits.is_some()),
            (Parameter::Longest, self.longest.is_some()),
            (Parameter::Stages, self.stages.is_some()),
            (Parameter::Rate, self.rate.is_some()),
            (Parameter::Filters, filters.is_some()),
            (Parameter::Bits, bits.is_some()),
            (Parameter::Hashes, hashes.is_some()),
            (Parameter::Policy, self.policy.is_some()),
            (Parameter::Prior, self.prior.is_some()),
            (Parameter::Ranges, self.ranges.is_some()),
            (Parameter::Packets, self.packets.is_some()),
            (Parameter::Rounds, self.rounds.is_some()),
        ];
        all.into_iter().filter(|&(_, is_given)| is_given).map(|(parameter, _)| parameter)
    }

    /// Checks what can be checked before anything is built.
    pub(super) fn check(&self, method: Method) -> Result<(), SettingsError> {
        if let Some(parameter) = self.given().find(|&parameter| !method.has(parameter)) {
            return Err(SettingsError::NotOf(parameter, method));
        }
        let (given, most) = (self.entry_probabilities.len(), method.most_entry_probabilities());
        if given > most {
            return Err(SettingsError::EntryProbabilities { method, given, most });
        }
        self.filters.check(method.place_bits()).map_err(SettingsError::parameter)?;
        match self.rate {
            Some(rate) if !(rate.is_finite() && rate > 0.0) => Err(SettingsError::Rate(rate)),
            _ => Ok(()),
        }
    }

    /// What is known of a rule's delays.
    pub(super) fn prior(&self) -> Prior {
        self.prior.clone().map_or(Prior::Learnt, Prior::Known)
    }

    /// What is given of a rule's trackers.
    pub(super) fn trackers(&self) -> GivenTrackers {
        let &Self { ranges, packets, stages, rounds, .. } = self;
        GivenTrackers { ranges, packets, stages, rounds }
    }
}
