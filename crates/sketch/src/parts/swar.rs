//! The eight bytes of a word, compared in parallel (SWAR).

/// A one in each byte.
pub(crate) const LOW: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
pub(crate) const HIGH: u64 = LOW << 7;

/// Marks the bytes equal to `byte` by setting the highest bit of each.
#[inline]
pub(crate) const fn equal(bytes: u64, byte: u8) -> u64 {
    let different = bytes ^ ((byte as u64) * LOW);
    !(((different & !HIGH) + !HIGH) | different) & HIGH
}

/// The index of the lowest marked byte.
#[inline]
pub(crate) const fn first(marked: u64) -> usize {
    (marked.trailing_zeros() / 8) as usize
}
