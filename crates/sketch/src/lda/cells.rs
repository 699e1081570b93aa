use super::bank::{Sampled, Taken};

/// Bits per cell; the variants list the bits of each field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellSize {
    /// Sum 24, count 12, digest 12.
    Bits48,
    /// Sum 32, count 12, digest 12.
    Bits56,
    /// Sum 40, count 16, digest 16.
    Bits72,
    /// Sum 64, count 32, digest 32.
    Bits128,
}

impl CellSize {
    /// All sizes, from small to large.
    pub const ALL: [Self; 4] = [Self::Bits48, Self::Bits56, Self::Bits72, Self::Bits128];

    /// Bytes per cell.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bits48 => 6,
            Self::Bits56 => 7,
            Self::Bits72 => 9,
            Self::Bits128 => 16,
        }
    }

    /// Bits of the sum of times.
    pub(super) const fn sum_bits(self) -> u32 {
        layout(self.bytes()).sum
    }

    /// Bits of the packet count, and also of the digest.
    pub(super) const fn count_bits(self) -> u32 {
        layout(self.bytes()).count
    }
}

/// Widths of a cell's fields, which are, from the lowest bit: sum, digest, count.
#[derive(Clone, Copy)]
struct Layout {
    sum: u32,
    /// Bits of the digest, too.
    count: u32,
}

const fn layout(bytes: usize) -> Layout {
    match bytes {
        6 => Layout { sum: 24, count: 12 },
        7 => Layout { sum: 32, count: 12 },
        9 => Layout { sum: 40, count: 16 },
        _ => Layout { sum: 64, count: 32 },
    }
}

const fn mask(bits: u32) -> u128 {
    (1 << bits) - 1
}

impl Layout {
    /// Packs these fields into a word: the sum and the count modulo their width, and the lowest bits of the digest.
    #[inline(always)]
    const fn pack(self, sum: u64, digest: u32, count: u32) -> u128 {
        let low = sum as u128 & mask(self.sum) | (digest as u128 & mask(self.count)) << self.sum;
        low | (count as u128 & mask(self.count)) << (self.sum + self.count)
    }

    #[inline(always)]
    const fn unpack(self, word: u128) -> Fields {
        Fields {
            sum: (word & mask(self.sum)) as u64,
            digest: (word >> self.sum & mask(self.count)) as u32,
            count: (word >> (self.sum + self.count) & mask(self.count)) as u32,
        }
    }
}

/// The contents of a cell, each modulo its width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) sum: u64,
    pub(super) digest: u32,
    pub(super) count: u32,
}

impl Fields {
    /// The contents of both cells combined.
    #[inline(always)]
    const fn plus(self, other: Self) -> Self {
        Self {
            sum: self.sum.wrapping_add(other.sum),
            digest: self.digest ^ other.digest,
            count: self.count.wrapping_add(other.count),
        }
    }
}

impl From<Taken> for Fields {
    /// One packet; its digest is the lower half of its hash.
    #[inline(always)]
    fn from(Taken { place, at }: Taken) -> Self {
        Self { sum: at.as_nanos() as u64, digest: place as u32, count: 1 }
    }
}

/// An array of cells, packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cells {
    size: CellSize,
    bytes: Vec<u8>,
}

impl Cells {
    /// This many empty cells.
    pub(super) fn new(size: CellSize, len: usize) -> Self {
        Self { size, bytes: vec![0; len * size.bytes()] }
    }

    /// Cells from their serialised bytes.
    pub(super) const fn of(size: CellSize, bytes: Vec<u8>) -> Self {
        Self { size, bytes }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.size.bytes()
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// Adds packets sampled by one bank.
    pub(super) fn update_all(&mut self, bank: &Sampled, packets: &[Taken]) {
        match self.size {
            CellSize::Bits48 => add_all::<6>(&mut self.bytes, bank, packets),
            CellSize::Bits56 => add_all::<7>(&mut self.bytes, bank, packets),
            CellSize::Bits72 => add_all::<9>(&mut self.bytes, bank, packets),
            CellSize::Bits128 => add_all::<16>(&mut self.bytes, bank, packets),
        }
    }

    /// Adds a packet, or the contents of another cell, to a cell.
    #[inline(always)]
    pub(super) fn add(&mut self, cell: usize, fields: Fields) {
        match self.size {
            CellSize::Bits48 => add::<6>(&mut self.bytes, cell, fields),
            CellSize::Bits56 => add::<7>(&mut self.bytes, cell, fields),
            CellSize::Bits72 => add::<9>(&mut self.bytes, cell, fields),
            CellSize::Bits128 => add::<16>(&mut self.bytes, cell, fields),
        }
    }

    /// Adds the cells of another array of the same size, cell by cell.
    pub(super) fn merge(&mut self, other: &Self) {
        other.iter().enumerate().for_each(|(cell, fields)| self.add(cell, fields));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Fields> {
        let layout = layout(self.size.bytes());
        self.bytes.chunks_exact(self.size.bytes()).map(move |cell| {
            let mut word = [0; 16];
            word[..cell.len()].copy_from_slice(cell);
            layout.unpack(u128::from_le_bytes(word))
        })
    }
}

/// Adds packets sampled by one bank, to cells of `BYTES` bytes each.
fn add_all<const BYTES: usize>(cells: &mut [u8], bank: &Sampled, packets: &[Taken]) {
    packets.iter().for_each(|&taken| add::<BYTES>(cells, bank.cell(taken.place), taken.into()));
}

/// Adds to the cell with this index, among cells of `BYTES` bytes each.
#[inline(always)]
fn add<const BYTES: usize>(cells: &mut [u8], cell: usize, fields: Fields) {
    let layout = layout(BYTES);
    let (cells, _) = cells.as_chunks_mut::<BYTES>();
    let mut word = [0; 16];
    word[..BYTES].copy_from_slice(&cells[cell]);
    let sum = layout.unpack(u128::from_le_bytes(word)).plus(fields);
    let word = layout.pack(sum.sum, sum.digest, sum.count).to_le_bytes();
    cells[cell].copy_from_slice(&word[..BYTES]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::{Timestamp, hash};

    /// Every cell size agrees with unpacked fields truncated on reading; an update leaves the neighbouring cells alone.
    #[test]
    fn cells_count_like_plain_numbers() {
        for size in CellSize::ALL {
            let (mut cells, mut plain) = (Cells::new(size, 5), [Fields::default(); 5]);
            for i in 0..200_000u64 {
                let (random, cell) = (hash::finish(i), (hash::finish(i) >> 7) as usize % 5);
                let taken = Taken { place: random, at: Timestamp::from_nanos(hash::finish(random) as i64) };
                cells.add(cell, taken.into());
                plain[cell] = plain[cell].plus(taken.into());
            }
            let bits = |field: u64, bits: u32| field & (u64::MAX >> (64 - bits));
            for (found, expected) in cells.iter().zip(plain) {
                assert_eq!(found.sum, bits(expected.sum, size.sum_bits()));
                assert_eq!(u64::from(found.digest), bits(expected.digest.into(), size.count_bits()));
                assert_eq!(u64::from(found.count), bits(expected.count.into(), size.count_bits()));
            }
            assert_eq!((cells.len(), cells.state_bytes()), (5, 5 * size.bytes()));
        }
    }
}
