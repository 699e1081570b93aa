use super::Parameter;
use crate::exact::Exact;
use crate::fridge::Fridge;
use crate::horizon::Horizon;
use crate::mis::{Ladder, Mis};
use crate::parts::counters::Counters;
use crate::rivals::ale::{self, Ale};
use crate::rivals::bloomtime;
use crate::rivals::dart::{self, Dart};
use crate::rivals::ddbf::{self, Ddbf};
use crate::rivals::hash_sample::HashSample;
use crate::rivals::simple::Simple;
use crate::rivals::timebloom::{self, TimeBloom};
use Parameter::{
    Bits, EntryProbability, Filters, FingerprintBits, Hashes, Longest, Packets, Policy, Prior, Ranges, Rate, Rounds,
    Slots, Stages,
};
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

/// What differs between methods; see the questions of the same names.
#[derive(Clone, Copy)]
struct Properties {
    is_bounded: bool,
    is_biased: bool,
    /// What can be set.
    parameters: &'static [Parameter],
    ids: IdForm,
    /// The only rule that it can measure, if not all.
    only: Option<Match>,
}

/// Those of a method without parameters.
const PLAIN: Properties =
    Properties { is_bounded: true, is_biased: false, parameters: &[], ids: IdForm::Hashed, only: None };

/// All that is said of a method.
struct Row {
    method: Method,
    /// On the command line and in reports.
    name: &'static str,
    /// What it does, in a line for users.
    summary: &'static str,
    /// How it finds its parameters, for users.
    tuning: &'static str,
    sizes: Sizes,
    properties: Properties,
}

/// Bytes of a rule.
struct Sizes {
    /// Of its meter itself, without its heap.
    meter: usize,
    /// Per slot and fixed bytes, where its table consists of slots only.
    slots: Option<(usize, usize)>,
    /// The least table with which it can measure.
    least_table: usize,
}

impl Sizes {
    const fn of<M>(least_table: usize) -> Self {
        Self { meter: size_of::<M>(), slots: None, least_table }
    }

    /// Of a meter whose table has some fixed bytes, and slots, at least 32.
    const fn in_slots<M>(slot: usize, rest: usize) -> Self {
        Self { slots: Some((slot, rest)), ..Self::of::<M>(32 * slot + rest) }
    }
}

/// Least bytes of a table where all slots share some hundred.
const LEAST: usize = 1 << 10;

/// In the order of the variants.
const ROWS: &[Row] = &[
    Row {
        method: Method::Auto,
        name: "auto",
        summary: "every exchange while it fits, then a sample that keeps slow exchanges as long as memory allows",
        tuning: "every exchange while it fits, then by age the share with the least predicted error",
        sizes: Sizes::of::<Horizon>(Horizon::LEAST_BYTES),
        properties: PLAIN,
    },
    Row {
        method: Method::Exact,
        name: "exact",
        summary: "every exchange, without memory limit",
        tuning: "none to find",
        sizes: Sizes::of::<Exact>(LEAST),
        properties: Properties { is_bounded: false, ..PLAIN },
    },
    Row {
        method: Method::Fridge,
        name: "fridge",
        summary: "a sample; survivors stand for overwritten requests (Zheng et al. 2022)",
        tuning: "entry probability searched while running",
        sizes: Sizes::of::<Fridge>(LEAST),
        properties: Properties { parameters: &[Slots, EntryProbability, FingerprintBits], ..PLAIN },
    },
    Row {
        method: Method::Km,
        name: "km",
        summary: "a sample; overwritten requests are accounted for by the product limit",
        tuning: "entry probability searched while running",
        sizes: Sizes::of::<Fridge>(LEAST),
        properties: Properties { parameters: &[Slots, EntryProbability, FingerprintBits], ..PLAIN },
    },
    Row {
        method: Method::HashSample,
        name: "hash-sample",
        summary: "all exchanges of some ids",
        tuning: "sampling rate from the memory, lifetime learnt while running",
        sizes: Sizes::of::<HashSample>(HashSample::LEAST_BYTES),
        properties: Properties { parameters: &[Slots, EntryProbability, Longest], ..PLAIN },
    },
    Row {
        method: Method::Simple,
        name: "simple",
        summary: "whatever was not overwritten; loses slow exchanges",
        tuning: "none to find",
        sizes: Sizes::in_slots::<Simple>(Simple::SLOT_BYTES, 0),
        properties: Properties { is_biased: true, parameters: &[Slots, FingerprintBits, Stages], ..PLAIN },
    },
    Row {
        method: Method::Stages,
        name: "stages",
        summary: "hash tables in four stages; loses exchanges that wait longest",
        tuning: "none to find",
        sizes: Sizes::in_slots::<Simple>(Simple::SLOT_BYTES, 0),
        properties: Properties { is_biased: true, parameters: &[Slots, FingerprintBits, Stages, Longest], ..PLAIN },
    },
    Row {
        method: Method::Mis,
        name: "mis",
        summary: "several fridges with different lifetimes",
        tuning: "one to four lifetimes, searched while running",
        sizes: Sizes::in_slots::<Mis>(Mis::SLOT_BYTES, Mis::REST_BYTES),
        properties: Properties { parameters: &[Slots, EntryProbability, FingerprintBits], ..PLAIN },
    },
    Row {
        method: Method::TimeBloom,
        name: "timebloom",
        summary: "Bloom filters, one per time slot",
        tuning: "filters from the memory, delays learnt while running",
        sizes: Sizes::of::<TimeBloom>(timebloom::Params::LEAST_BYTES),
        properties: Properties {
            is_biased: true,
            parameters: &[Longest, Rate, Filters, Bits, Hashes, Policy, Prior],
            ..PLAIN
        },
    },
    Row {
        method: Method::BloomTime,
        name: "bloomtime",
        summary: "as timebloom, but takes the youngest match; for comparison",
        tuning: "filters from the memory",
        sizes: Sizes::of::<TimeBloom>(bloomtime::LEAST_BYTES),
        properties: Properties { is_biased: true, parameters: &[Longest, Rate, Filters, Bits, Hashes], ..PLAIN },
    },
    Row {
        method: Method::AleU,
        name: "ale-u",
        summary: "counting filters in equal buckets of time; for comparison",
        tuning: "filters from the memory",
        sizes: Sizes::of::<Ale>(ale::Params::LEAST_BYTES),
        properties: Properties { is_biased: true, parameters: &[Longest, Rate, Filters, Bits, Hashes], ..PLAIN },
    },
    Row {
        method: Method::AleE,
        name: "ale-e",
        summary: "counting filters in buckets of doubling width; for comparison",
        tuning: "filters from the memory",
        sizes: Sizes::of::<Ale>(ale::Params::LEAST_BYTES),
        properties: Properties { is_biased: true, parameters: &[Longest, Filters, Bits, Hashes], ..PLAIN },
    },
    Row {
        method: Method::Ddbf,
        name: "ddbf",
        summary: "a Bloom filter of times; for comparison",
        tuning: "filters from the memory",
        sizes: Sizes::of::<Ddbf>(ddbf::Params::LEAST_BYTES),
        properties: Properties { is_biased: true, parameters: &[Longest, Bits, Hashes], ..PLAIN },
    },
    Row {
        method: Method::Dart,
        name: "dart",
        summary: "only TCP segments whose acknowledgement is unambiguous",
        tuning: "half of the memory for ranges, half for packets; tcp-ack only",
        sizes: Sizes::of::<Dart>(dart::Params::LEAST_BYTES),
        properties: Properties {
            is_biased: true,
            parameters: &[Stages, Ranges, Packets, Rounds],
            ids: IdForm::Plain,
            only: Some(Match::TcpAck),
            ..PLAIN
        },
    },
];

impl Method {
    /// Every method, the default first.
    pub const ALL: [Self; ROWS.len()] = {
        let mut all = [Self::Auto; ROWS.len()];
        let mut number = 0;
        while number < all.len() {
            all[number] = ROWS[number].method;
            assert!(all[number] as usize == number);
            number += 1;
        }
        all
    };

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    const fn properties(self) -> Properties {
        self.row().properties
    }

    /// Whether it keeps to [`super::Settings::memory`].
    pub const fn is_bounded(self) -> bool {
        self.properties().is_bounded
    }

    /// What can be set.
    pub fn parameters(self) -> &'static [Parameter] {
        self.properties().parameters
    }

    /// Whether a parameter can be set.
    pub fn has(self, parameter: Parameter) -> bool {
        self.parameters().contains(&parameter)
    }

    /// Whether it must be told the longest delay, rather than learn it.
    pub fn needs_longest(self) -> bool {
        self.has(Parameter::Longest) && self != Self::HashSample
    }

    /// Bits of what a filter consists of: bits, counters, or cells with times.
    pub(super) const fn place_bits(self) -> u32 {
        match self {
            Self::AleU | Self::AleE => Counters::BITS,
            Self::Ddbf => ddbf::CELL_BITS,
            _ => 1,
        }
    }

    /// How many [`super::Parameters::entry_probabilities`] can be set.
    pub(super) fn most_entry_probabilities(self) -> usize {
        match self {
            Self::Mis => Ladder::MOST_RUNGS,
            _ => usize::from(self.has(Parameter::EntryProbability)),
        }
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

    /// Bytes of a rule's meter itself, without its heap.
    pub(super) const fn meter_bytes(self) -> usize {
        self.row().sizes.meter
    }

    /// Bytes per slot and fixed bytes, where a table consists of slots only.
    pub(super) const fn slot_bytes(self) -> Option<(usize, usize)> {
        self.row().sizes.slots
    }

    /// Least bytes of a rule's table with which it can measure.
    pub(super) const fn least_table(self) -> usize {
        self.row().sizes.least_table
    }

    /// What it does, in a line for users.
    pub const fn summary(self) -> &'static str {
        self.row().summary
    }

    /// How it finds its parameters, for users.
    pub const fn tuning(self) -> &'static str {
        self.row().tuning
    }

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        self.row().name
    }
}
