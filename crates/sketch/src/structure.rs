use crate::rivals::dart;
use dwell_types::Nanos;

/// The data structure that holds a meter's requests, with its present parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Structure {
    /// A table of all open requests.
    Table,
    /// A table of the open requests with sampled ids.
    Sample {
        /// The most slots of the table.
        slots: usize,
        /// The current probability that an id is sampled.
        probability: f64,
        /// How long a request waits.
        longest: Nanos,
    },
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
    Array {
        /// Slots of all stages.
        slots: u32,
        /// Stages.
        stages: u32,
        /// An entry stays until it is older than this; `None` if every newcomer overwrites.
        longest: Option<Nanos>,
    },
    /// Bloom filters.
    Filters {
        /// Number of filters.
        filters: u32,
        /// Bits of each, its counters and times included.
        bits: u64,
        /// Hash functions.
        hashes: u32,
        /// The longest delay that can be found.
        longest: Nanos,
    },
    /// A range tracker and a packet tracker.
    Trackers(dart::Params),
}
