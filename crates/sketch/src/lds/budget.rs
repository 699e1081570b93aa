use super::{Lds, LdsError, Params};

/// Number of rows: best if one flow in 50 may be disturbed in all of its rows, *R* = −ln ε [sanjuas11 §3.1].
const ROWS: usize = 4;
/// Cells per flow and row if packets are lost [sanjuas11 §5.2].
const CELLS_PER_FLOW: u32 = 5;

impl Params {
    /// The largest sketch of at most this many bytes for flows that lose up to `lost_per_flow` packets each; no byte
    /// sums.
    ///
    /// One cell per flow and row without losses. With losses five, and sampling rates that fall geometrically from 1 in
    /// the first row to one lost packet per cell in the last. This adds no cells: each then has five times as many
    /// flows, and the error of a flow without losses is that of a sketch with a fifth of the bytes. One class.
    pub fn budget(bytes: usize, lost_per_flow: f64, seed: u64) -> Result<Self, LdsError> {
        let has_losses = lost_per_flow > 0.0;
        let cells_per_flow = if has_losses { CELLS_PER_FLOW } else { 1 };
        let lowest = (f64::from(CELLS_PER_FLOW) / lost_per_flow.max(1.0)).clamp(Self::LEAST_RATE, 1.0);
        let rate = |row: usize| if has_losses { lowest.powf(row as f64 / (ROWS - 1) as f64) } else { 1.0 };
        let mut params = Self { cells_per_flow, rates: (0..ROWS).map(rate).collect(), ..Self::new(1, 1, seed) };
        let fixed = Lds::fixed_bytes(&params);
        let columns = bytes.saturating_sub(fixed) / (ROWS * Lds::CELL_BYTES);
        if columns < cells_per_flow as usize {
            return Err(LdsError::Bytes {
                given: bytes,
                needed: fixed + ROWS * Lds::CELL_BYTES * cells_per_flow as usize,
            });
        }
        params.columns = columns.min((Self::MOST_CELLS / ROWS as u64) as usize) as u32;
        Ok(params)
    }
}
