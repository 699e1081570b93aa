//! Serialisation of a sketch.
//!
//! ```text
//! u64          seed
//! u64 u64      columns, cells per flow
//! u8           1 with byte sums, else 0
//! u64 n        rows, then their rates, f64
//! u64 n        classes, then their weights, u64
//! u64 n        cells, row by row; for each
//!   u64        sum of times, nanoseconds
//!   u32 u32    digest, packets
//!   u64        bytes, with byte sums
//! ```

use super::{Lds, Params};
use crate::codec::{CodecError, Kind, Reader, Writer};
use crate::parts::cell::Cell;

impl Lds {
    /// The sketch as bytes; equal contents give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Params { columns, cells_per_flow, rates, weights, has_bytes, seed } = self.params();
        let mut to = Writer::new(Kind::Lds);
        to.u64(*seed);
        to.u64((*columns).into());
        to.u64((*cells_per_flow).into());
        to.u8((*has_bytes).into());
        to.u64(rates.len() as u64);
        rates.iter().for_each(|&rate| to.f64(rate));
        to.u64(weights.len() as u64);
        weights.iter().for_each(|&weight| to.u64(weight.into()));
        to.u64(self.cells.len() as u64);
        for (index, cell) in self.cells.iter().enumerate() {
            cell.write(&mut to);
            if let Some(&bytes) = self.bytes.get(index) {
                to.u64(bytes);
            }
        }
        to.finish()
    }

    /// The sketch written by [`Lds::to_bytes`]. Invalid bytes give an error, whatever they are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut from = Reader::new(bytes, Kind::Lds)?;
        let seed = from.u64()?;
        let columns = from.small("columns")?;
        let cells_per_flow = from.small("cells per flow")?;
        let has_bytes = match from.u8()? {
            0 => false,
            1 => true,
            _ => return Err(CodecError::Value("sums of bytes")),
        };
        let rows = from.count(8)?;
        let rates = (0..rows).map(|_| from.amount("rate")).collect::<Result<_, _>>()?;
        let classes = from.count(8)?;
        let weights = (0..classes).map(|_| from.small("weight")).collect::<Result<_, _>>()?;
        let cells = from.count(Cell::BYTES + if has_bytes { 8 } else { 0 })?;
        let params = Params { columns, cells_per_flow, rates, weights, has_bytes, seed };
        if params.cells() != cells as u64 {
            return Err(CodecError::Value("number of cells"));
        }
        let mut sketch = Self::new(params).map_err(|_| CodecError::Value("parameters"))?;
        for index in 0..cells {
            sketch.cells[index] = Cell::read(&mut from)?;
            if let Some(bytes) = sketch.bytes.get_mut(index) {
                *bytes = from.u64()?;
            }
        }
        from.finish()?;
        Ok(sketch)
    }
}
