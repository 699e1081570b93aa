use crate::ale::{self, Ale};
use crate::bloomtime;
use crate::dart::{self, Dart};
use crate::ddbf::{self, Ddbf};
use crate::exact::Exact;
use crate::fridge::Fridge;
use crate::hash_sample::HashSample;
use crate::horizon::Horizon;
use crate::mis::{Ladder, Mis};
use crate::simple::Simple;
use crate::timebloom::{self, TimeBloom};
use dwell_types::{IdForm, Match};

/// The method by which delays are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Exact while it fits, then each id is kept for as long as its hash determines.
    Auto,
    /// Every exchange, in as much memory as that takes.
    Exact,
    /// A fridge from the start.
    Fridge,
    /// A fridge that accounts for lost entries by the product limit of Kaplan and Meier.
    Km,
    /// Every exchange of a share of the ids, which falls as memory fills.
    HashSample,
    /// An array in which the newest entry stays: biased, for comparison.
    Simple,
    /// An array in four stages, in which an entry stays for the longest delay: biased, for comparison.
    Stages,
    /// Several fridges with different lifetimes.
    Mis,
    /// Time-spaced Bloom filters.
    TimeBloom,
    /// Bloom filters in a window, the youngest match: biased, for comparison.
    BloomTime,
    /// Counting Bloom filters in a window of equal buckets: biased, for comparison.
    AleU,
    /// The same with buckets of doubling width.
    AleE,
    /// A Bloom filter of times: biased, for comparison.
    Ddbf,
    /// Ranges of sequence numbers, and the segments that are measurable by these: biased, only for `tcp-ack`.
    Dart,
}

// Only a method that is in `ALL` can be chosen: begin there.
const _: () = assert!(Method::Dart as usize + 1 == Method::ALL.len());

/// What differs between methods; see the questions of the same names.
#[derive(Clone, Copy)]
struct Properties {
    is_bounded: bool,
    is_biased: bool,
    has_slots: bool,
    most_entry_probabilities: usize,
    has_stages: bool,
    has_longest: bool,
    has_rate: bool,
    ids: IdForm,
    /// The only rule that it can measure, if not all.
    only: Option<Match>,
}

impl Properties {
    /// Those of a method that needs no parameters.
    const PLAIN: Self = Self {
        is_bounded: true,
        is_biased: false,
        has_slots: false,
        most_entry_probabilities: 0,
        has_stages: false,
        has_longest: false,
        has_rate: false,
        ids: IdForm::Hashed,
        only: None,
    };
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

    /// What can be said of it: each method is in one line, so that a new one must decide.
    const fn properties(self) -> Properties {
        const PLAIN: Properties = Properties::PLAIN;
        match self {
            Self::Auto | Self::HashSample => PLAIN,
            Self::Exact => Properties { is_bounded: false, ..PLAIN },
            Self::Fridge | Self::Km => Properties { has_slots: true, most_entry_probabilities: 1, ..PLAIN },
            Self::Mis => Properties { has_slots: true, most_entry_probabilities: Ladder::MOST_RUNGS, ..PLAIN },
            Self::Simple => Properties { is_biased: true, has_slots: true, has_stages: true, ..PLAIN },
            Self::Stages => {
                Properties { is_biased: true, has_slots: true, has_stages: true, has_longest: true, ..PLAIN }
            }
            Self::AleE | Self::Ddbf => Properties { is_biased: true, has_longest: true, ..PLAIN },
            Self::TimeBloom | Self::BloomTime | Self::AleU => {
                Properties { is_biased: true, has_longest: true, has_rate: true, ..PLAIN }
            }
            Self::Dart => Properties { is_biased: true, ids: IdForm::Plain, only: Some(Match::TcpAck), ..PLAIN },
        }
    }

    /// Whether it keeps to [`super::Settings::memory`].
    pub const fn is_bounded(self) -> bool {
        self.properties().is_bounded
    }

    /// Whether [`super::Settings::slots`] and [`super::Settings::fingerprint_bits`] can be set.
    pub const fn has_slots(self) -> bool {
        self.properties().has_slots
    }

    /// How many [`super::Settings::entry_probabilities`] can be set.
    pub const fn most_entry_probabilities(self) -> usize {
        self.properties().most_entry_probabilities
    }

    /// Whether what it loses or confuses depends on the delay, which its intervals do not show.
    pub const fn is_biased(self) -> bool {
        self.properties().is_biased
    }

    /// The form of ids that it needs.
    pub const fn ids(self) -> IdForm {
        self.properties().ids
    }

    /// Whether it can measure the exchanges of this rule.
    pub const fn measures(self, matching: Match) -> bool {
        match self.properties().only {
            None => true,
            Some(only) => only as usize == matching as usize,
        }
    }

    /// Whether [`super::Settings::longest`] can be set.
    pub const fn has_longest(self) -> bool {
        self.properties().has_longest
    }

    /// Whether [`super::Settings::stages`] can be set.
    pub const fn has_stages(self) -> bool {
        self.properties().has_stages
    }

    /// Whether [`super::Settings::rate`] can be set.
    pub const fn has_rate(self) -> bool {
        self.properties().has_rate
    }

    /// Bytes of a rule's meter itself, without its heap.
    pub(super) const fn meter_bytes(self) -> usize {
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

    /// Bytes per slot and fixed bytes, where a table consists of slots only.
    pub(super) const fn slot_bytes(self) -> Option<(usize, usize)> {
        match self {
            Self::Simple | Self::Stages => Some((Simple::SLOT_BYTES, 0)),
            Self::Mis => Some((Mis::SLOT_BYTES, Mis::REST_BYTES)),
            Self::Auto | Self::Exact | Self::Fridge | Self::Km | Self::HashSample => None,
            Self::TimeBloom | Self::BloomTime | Self::AleU | Self::AleE | Self::Ddbf | Self::Dart => None,
        }
    }

    /// Least bytes of a rule's table with which it can measure.
    pub(super) const fn least_table(self) -> usize {
        const SLOTS: usize = 32;
        match self {
            Self::Auto => Horizon::LEAST_BYTES,
            Self::HashSample => HashSample::LEAST_BYTES,
            Self::TimeBloom => timebloom::Params::LEAST_BYTES,
            Self::BloomTime => bloomtime::LEAST_BYTES,
            Self::AleU | Self::AleE => ale::Params::LEAST_BYTES,
            Self::Ddbf => ddbf::Params::LEAST_BYTES,
            Self::Dart => dart::Params::LEAST_BYTES,
            Self::Exact | Self::Fridge | Self::Km | Self::Simple | Self::Stages | Self::Mis => {
                match self.slot_bytes() {
                    Some((slot, rest)) => SLOTS * slot + rest,
                    // Some hundred bytes are shared by all slots.
                    None => 1 << 10,
                }
            }
        }
    }

    /// What it does, in a line for users.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Auto => {
                "every exchange while it fits, then a sample that keeps slow exchanges as long as memory allows"
            }
            Self::Exact => "every exchange, without memory limit",
            Self::Fridge => "a sample; survivors stand for overwritten requests (Zheng et al. 2022)",
            Self::Km => "a sample; overwritten requests are accounted for by the product limit",
            Self::HashSample => "all exchanges of some ids",
            Self::Simple => "whatever was not overwritten; loses slow exchanges",
            Self::Stages => "hash tables in four stages; loses exchanges that wait longest",
            Self::Mis => "several fridges with different lifetimes",
            Self::TimeBloom => "Bloom filters, one per time slot",
            Self::BloomTime => "as timebloom, but takes the youngest match; for comparison",
            Self::AleU => "counting filters in equal buckets of time; for comparison",
            Self::AleE => "counting filters in buckets of doubling width; for comparison",
            Self::Ddbf => "a Bloom filter of times; for comparison",
            Self::Dart => "only TCP segments whose acknowledgement is unambiguous",
        }
    }

    /// How it finds its parameters, for users.
    pub const fn tuning(self) -> &'static str {
        match self {
            Self::Auto => "every exchange while it fits, then by age the share with the least predicted error",
            Self::Exact | Self::Simple | Self::Stages => "none to find",
            Self::Fridge | Self::Km => "entry probability searched while running",
            Self::HashSample => "sampling rate from the memory, lifetime learnt while running",
            Self::Mis => "one to four lifetimes, searched while running",
            Self::TimeBloom => "filters from the memory, delays learnt while running",
            Self::BloomTime | Self::AleU | Self::AleE | Self::Ddbf => "filters from the memory",
            Self::Dart => "half of the memory for ranges, half for packets; tcp-ack only",
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
