use std::fmt;

/// Parameters of a sketch; must be equal at both points.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Cells in each row, *C*; at least `cells_per_flow`.
    pub columns: u32,
    /// Cells of a row that the packets of a flow are spread over, *k*. The more, the more survive losses; but columns
    /// must grow with them, or flows disturb each other *k* times as often. 1 to [`Params::MOST_CELLS_PER_FLOW`].
    pub cells_per_flow: u32,
    /// Sampling rate of each row, from [`Params::LEAST_RATE`] to 1; one entry per row, *R* of them, 1 to
    /// [`Params::MOST_ROWS`].
    pub rates: Vec<f64>,
    /// Weight of a packet of each class: how many packets it counts as; 1 to [`Params::MOST_CLASSES`] entries, each
    /// from 1 to [`Params::MOST_WEIGHT`].
    pub weights: Vec<u32>,
    /// Whether each cell also sums up bytes, in 8 more bytes.
    pub has_bytes: bool,
    /// Seed of all hashes.
    pub seed: u64,
}

/// Why a sketch cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LdsError {
    /// Too few or too many rows.
    Rows(usize),
    /// Fewer columns than a flow has cells, or a flow without a cell, or with too many.
    Columns {
        /// As given.
        columns: u32,
        /// As given.
        cells_per_flow: u32,
    },
    /// More cells than [`Params::MOST_CELLS`].
    Cells(u64),
    /// A sampling rate outside [`Params::LEAST_RATE`] to 1.
    Rate(f64),
    /// Too few or too many classes.
    Classes(usize),
    /// A weight outside 1 to [`Params::MOST_WEIGHT`].
    Weight(u32),
    /// No sketch that [`Params::for_flow_error`] considers has so small an error.
    Error(f64),
    /// Too few bytes to hold a row.
    Bytes {
        /// The bytes given.
        given: usize,
        /// The least bytes needed.
        needed: usize,
    },
}

impl fmt::Display for LdsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => write!(f, "{rows} rows: expected from 1 to {}", Params::MOST_ROWS),
            Self::Columns { columns, cells_per_flow } => {
                let most = columns.min(&Params::MOST_CELLS_PER_FLOW);
                write!(f, "{cells_per_flow} cells per flow in {columns} columns: expected from 1 to {most}")
            }
            Self::Cells(cells) => write!(f, "{cells} cells: expected at most {}", Params::MOST_CELLS),
            Self::Rate(rate) => write!(f, "sampling rate {rate}: expected from 2^-24 to 1"),
            Self::Classes(classes) => write!(f, "{classes} classes: expected from 1 to {}", Params::MOST_CLASSES),
            Self::Weight(weight) => write!(f, "weight {weight}: expected from 1 to {}", Params::MOST_WEIGHT),
            Self::Error(error) => write!(f, "no sketch up to {} bytes has an error of {error}", Params::MOST_BYTES),
            Self::Bytes { given, needed } => write!(f, "a sketch of these rows needs {needed} bytes, not {given}"),
        }
    }
}

impl std::error::Error for LdsError {}

impl Params {
    /// More rows do not help: four are best if 2% of the flows may be disturbed [sanjuas11 §3.1].
    pub const MOST_ROWS: usize = 64;
    /// Decoding takes memory for every cell of every flow, however small a stranger's sketch is; the paper's has five
    /// [sanjuas11 §5.2].
    pub const MOST_CELLS_PER_FLOW: u32 = 64;
    /// Hashes of 32 bits decide what is sampled: this rate is applied to within 2⁻⁸.
    pub const LEAST_RATE: f64 = 1.0 / (1u32 << 24) as f64;
    /// A class is one byte.
    pub const MOST_CLASSES: usize = 256;
    /// Counts of weighted packets have 32 bits.
    pub const MOST_WEIGHT: u32 = 1 << 16;
    /// Cell indices have 32 bits.
    pub const MOST_CELLS: u64 = 1 << 31;

    /// `rows` rows that sample all packets, one cell per flow and row, one class.
    pub fn new(rows: usize, columns: u32, seed: u64) -> Self {
        Self { columns, cells_per_flow: 1, rates: vec![1.0; rows], weights: vec![1], has_bytes: false, seed }
    }

    /// The number of rows, *R*.
    pub fn rows(&self) -> usize {
        self.rates.len()
    }

    /// The number of cells in all rows.
    pub fn cells(&self) -> u64 {
        self.rates.len() as u64 * u64::from(self.columns)
    }

    pub(super) fn check(&self) -> Result<(), LdsError> {
        let &Self { columns, cells_per_flow, .. } = self;
        if !(1..=Self::MOST_ROWS).contains(&self.rows()) {
            return Err(LdsError::Rows(self.rows()));
        }
        if !(1..=columns.min(Self::MOST_CELLS_PER_FLOW)).contains(&cells_per_flow) {
            return Err(LdsError::Columns { columns, cells_per_flow });
        }
        if self.cells() > Self::MOST_CELLS {
            return Err(LdsError::Cells(self.cells()));
        }
        if let Some(&rate) = self.rates.iter().find(|&&rate| !(Self::LEAST_RATE..=1.0).contains(&rate)) {
            return Err(LdsError::Rate(rate));
        }
        if !(1..=Self::MOST_CLASSES).contains(&self.weights.len()) {
            return Err(LdsError::Classes(self.weights.len()));
        }
        match self.weights.iter().find(|weight| !(1..=Self::MOST_WEIGHT).contains(*weight)) {
            Some(&weight) => Err(LdsError::Weight(weight)),
            None => Ok(()),
        }
    }
}
