//! Serialisation of a sketch.
//!
//! ```text
//! u64          seed
//! u8           bytes of a cell: 6, 7, 9 or 16
//! u64          packets
//! u64 n        banks; then for each, in the order of the parameters:
//!   u64        rows
//!   f64        probability
//!   u64        packets sampled
//! u64 c        cells, then their bytes
//! ```

use super::cells::Cells;
use super::{Bank, CellSize, Lda, Params};
use crate::codec::{CodecError, Kind, Reader, Writer};

const BANK_BYTES: usize = 24;

impl Lda {
    /// The sketch as bytes; equal contents give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::new(Kind::Lda);
        to.u64(self.params.seed);
        to.u8(self.params.cell.bytes() as u8);
        to.u64(self.packets);
        to.u64(self.params.banks.len() as u64);
        let mut first = 0;
        for bank in &self.params.banks {
            to.u64(bank.rows.into());
            to.f64(bank.probability);
            to.u64(self.banks.iter().find(|sampled| sampled.first == first).map_or(0, |sampled| sampled.packets));
            first += bank.rows as usize;
        }
        to.u64(self.cells.len() as u64);
        to.bytes(self.cells.as_bytes());
        to.finish()
    }

    /// The sketch written by [`Lda::to_bytes`]. Invalid bytes give an error, whatever they are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut from = Reader::new(bytes, Kind::Lda)?;
        let seed = from.u64()?;
        let cell = usize::from(from.u8()?);
        let cell = CellSize::ALL.into_iter().find(|size| size.bytes() == cell).ok_or(CodecError::Value("cells"))?;
        let packets = from.u64()?;
        let number = from.count(BANK_BYTES)?;
        let (mut banks, mut taken) = (Vec::with_capacity(number), Vec::with_capacity(number));
        for _ in 0..number {
            let rows = from.small("rows")?;
            banks.push(Bank { rows, probability: from.amount("probability")? });
            taken.push(from.u64()?);
        }
        let cells = from.count(cell.bytes())?;
        let params = Params { banks, cell, seed };
        if params.cells() != cells {
            return Err(CodecError::Value("number of cells"));
        }
        let mut sketch = Self::new(params).map_err(|_| CodecError::Value("banks"))?;
        sketch.packets = packets;
        let mut first = 0;
        for (rows, taken) in sketch.params.banks.iter().map(|bank| bank.rows).zip(taken) {
            if let Some(bank) = sketch.banks.iter_mut().find(|bank| bank.first == first) {
                bank.packets = taken;
            }
            first += rows as usize;
        }
        sketch.cells = Cells::of(cell, from.bytes(cells * cell.bytes())?);
        from.finish()?;
        Ok(sketch)
    }
}
