use super::history::History;
use super::repeated::Repeated;
use super::slot::Layout;
use crate::{Gate, Terms};
use dwell_types::Repeat;
use std::fmt;

/// The parameters of a fridge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// *M*, at least 2.
    pub slots: u32,
    /// Bits of the id's hash stored in an entry, `1..=32`; `None` for 16, or for as many as a slot number has if that
    /// is more.
    pub fingerprint_bits: Option<u32>,
    /// Whether requests carry tokens that distinguish equal ones: a byte of each entry.
    pub has_tokens: bool,
    /// *p*, from 2⁻²⁴ to 1, or `None` to find it while running.
    pub entry_probability: Option<f64>,
    /// Whether responses that do not find their entry count: the samples must then be weighted by
    /// [`crate::Meter::risk`].
    pub product_limit: bool,
}

impl Params {
    /// A fridge with this many slots that finds all else itself.
    pub const fn new(slots: u32) -> Self {
        Self { slots, fingerprint_bits: None, has_tokens: false, entry_probability: None, product_limit: false }
    }

    /// The same with as many slots as fit this many bytes, with all that grows with them or with changes of *p*. What is
    /// kept besides them is not counted: about 1 kB and 80 bytes per series, with the product limit 1.4 kB and 600 bytes.
    pub fn fitting(self, bytes: usize, terms: &Terms) -> Self {
        let fits = |slots: u32| Self { slots, ..self }.table_bytes(terms).is_ok_and(|needed| needed <= bytes);
        let (mut slots, mut step) = (0, 1 << 31);
        while step > 0 {
            if fits(slots | step) {
                slots |= step;
            }
            step >>= 1;
        }
        Self { slots, ..self }
    }

    pub(super) fn layout(&self, terms: &Terms) -> Result<Layout, FridgeError> {
        Layout::new(self.slots, self.fingerprint_bits, terms.tags, self.has_tokens, terms.expiry)
    }

    /// Bytes of the slots and of the data shared by all of them.
    pub(crate) fn table_bytes(&self, terms: &Terms) -> Result<usize, FridgeError> {
        let repeated = if terms.repeat == Repeat::Ambiguous { Repeated::bytes(self.slots) } else { 0 };
        let history = History::bytes(self.slots, self.keeps_changes());
        Ok(self.layout(terms)?.table_bytes(self.slots) + history + repeated)
    }

    /// Whether *p* changes, and the weights of samples depend on its earlier values.
    pub(super) const fn keeps_changes(&self) -> bool {
        self.entry_probability.is_none() && !self.product_limit
    }
}

/// Why a fridge cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FridgeError {
    /// Survival is judged by what happens to other slots: at least two are needed.
    Slots(u32),
    /// A fingerprint has 1 to 32 bits, and fewer with very many series.
    FingerprintBits {
        /// Bits requested.
        bits: u32,
        /// Most bits that fit.
        most: u32,
    },
    /// A probability must be at least 2⁻²⁴ and at most 1.
    EntryProbability(f64),
}

impl fmt::Display for FridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots(slots) => write!(f, "a fridge needs at least 2 slots, not {slots}"),
            Self::FingerprintBits { bits, most } => write!(f, "a fingerprint has 1 to {most} bits here, not {bits}"),
            Self::EntryProbability(p) => write!(f, "an entry probability is {}, not {p:?}", Gate::RANGE),
        }
    }
}

impl std::error::Error for FridgeError {}
