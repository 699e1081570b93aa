use super::history::History;
use super::repeated::Repeated;
use super::slot::Layout;
use crate::Exchanges;
use dwell_types::Repeat;
use std::fmt;

/// What a fridge is built with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// *M*, at least 2.
    pub slots: u32,
    /// Bits of the id's hash that an entry keeps, `1..=32`; `None` for 16, or as many as the number of a slot has if
    /// that is more.
    pub fingerprint_bits: Option<u32>,
    /// Whether requests carry tokens that tell equal ones apart: a byte of each entry.
    pub has_tokens: bool,
    /// *p*, or `None` to find it while running.
    pub entry_probability: Option<f64>,
    /// Whether responses that do not find their entry count: the samples are then to be weighed with
    /// [`crate::Meter::risk`].
    pub product_limit: bool,
}

impl Params {
    /// Of a fridge with so many slots that finds everything else itself.
    pub const fn new(slots: u32) -> Self {
        Self { slots, fingerprint_bits: None, has_tokens: false, entry_probability: None, product_limit: false }
    }

    /// The same with as many slots as fit in so many bytes.
    pub fn fitting(self, bytes: usize, exchanges: &Exchanges) -> Self {
        let fits = |slots: u32| Self { slots, ..self }.table_bytes(exchanges).is_ok_and(|needed| needed <= bytes);
        let (mut slots, mut step) = (0, 1 << 31);
        while step > 0 {
            if fits(slots | step) {
                slots |= step;
            }
            step >>= 1;
        }
        Self { slots, ..self }
    }

    pub(super) fn layout(&self, exchanges: &Exchanges) -> Result<Layout, FridgeError> {
        Layout::new(self.slots, self.fingerprint_bits, exchanges.tags, self.has_tokens, exchanges.expiry)
    }

    /// Bytes of the slots and of what is kept for all of them.
    pub fn table_bytes(&self, exchanges: &Exchanges) -> Result<usize, FridgeError> {
        let repeated = if exchanges.repeat == Repeat::Ambiguous { Repeated::bytes(self.slots) } else { 0 };
        let history = History::bytes(self.slots, self.keeps_changes());
        Ok(self.layout(exchanges)?.table_bytes(self.slots) + history + repeated)
    }

    /// Whether *p* changes, and a sample's weight depends on what it was.
    pub(super) const fn keeps_changes(&self) -> bool {
        self.entry_probability.is_none() && !self.product_limit
    }
}

/// Why a fridge cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FridgeError {
    /// Survival can only be judged by what happens to other slots: at least two are needed.
    Slots(u32),
    /// A fingerprint has 1 to 32 bits, and less beside the number of one of very many series.
    FingerprintBits {
        /// Bits asked for.
        bits: u32,
        /// Bits that there is room for.
        most: u32,
    },
    /// A probability lies above 0 and up to 1.
    EntryProbability(f64),
}

impl fmt::Display for FridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots(slots) => write!(f, "a fridge needs at least 2 slots, not {slots}"),
            Self::FingerprintBits { bits, most } => write!(f, "a fingerprint has 1 to {most} bits here, not {bits}"),
            Self::EntryProbability(p) => write!(f, "an entry probability is above 0 and at most 1, not {p}"),
        }
    }
}

impl std::error::Error for FridgeError {}
