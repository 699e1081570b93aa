//! Counters of 4 bits, as counting filters have them.

/// An array of counters of 4 bits, two to a byte. A counter that has reached 15 stays there: what it stood for is no
/// longer known, and one that is too low would lose entries.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    pairs: Vec<u8>,
}

const BITS: usize = 4;
const PER_BYTE: usize = 8 / BITS;
const MOST: u8 = (1 << BITS) - 1;

impl Counters {
    /// So many counters, rounded up to whole bytes.
    pub(crate) fn new(len: u32) -> Self {
        Self { pairs: vec![0; (len as usize).div_ceil(PER_BYTE)] }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> u8 {
        self.pairs[at / PER_BYTE] >> (at % PER_BYTE * BITS) & MOST
    }

    #[inline]
    pub(crate) fn increment(&mut self, at: usize) {
        let is_below = self.get(at) < MOST;
        self.pairs[at / PER_BYTE] += u8::from(is_below) << (at % PER_BYTE * BITS);
    }

    #[inline]
    pub(crate) fn decrement(&mut self, at: usize) {
        let is_known = (1..MOST).contains(&self.get(at));
        self.pairs[at / PER_BYTE] -= u8::from(is_known) << (at % PER_BYTE * BITS);
    }

    /// Adds the counters of another array of the same length, which are zero afterwards.
    pub(crate) fn take_from(&mut self, other: &mut Self) {
        for (pair, other) in self.pairs.iter_mut().zip(&mut other.pairs) {
            *pair = add(*pair, *other);
            *other = 0;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.pairs.fill(0);
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.pairs.capacity()
    }
}

/// Sums of both counters, 15 where they are more.
#[inline]
fn add(a: u8, b: u8) -> u8 {
    let low = ((a & MOST) + (b & MOST)).min(MOST);
    let high = a.saturating_add(b & !MOST) & !MOST;
    high | low
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;

    /// Counters of 8 bits that stop at 15, one by one.
    #[test]
    fn they_count_like_counters_that_stop() {
        const LEN: u32 = 37;
        let mut arrays = [(Counters::new(LEN), [0u8; LEN as usize]), (Counters::new(LEN), [0u8; LEN as usize])];
        for i in 0..4_000u64 {
            let random = hash::finish(i);
            let at = (random % u64::from(LEN)) as usize;
            let (counters, plain) = &mut arrays[(random >> 32 & 1) as usize];
            if random >> 40 & 15 < 9 {
                counters.increment(at);
                plain[at] = (plain[at] + 1).min(15);
            } else {
                counters.decrement(at);
                plain[at] -= u8::from((1..15).contains(&plain[at]));
            }
            if i % 1_000 == 999 {
                let [(counters, plain), (other, other_plain)] = &mut arrays;
                counters.take_from(other);
                plain.iter_mut().zip(&*other_plain).for_each(|(a, b)| *a = (*a + b).min(15));
                other_plain.fill(0);
            }
            for (counters, plain) in &arrays {
                assert!(plain.iter().enumerate().all(|(at, &n)| counters.get(at) == n), "after {i}");
            }
        }
        assert!(arrays[0].1.contains(&15) && arrays[0].1.iter().any(|&n| n < 15));
        assert_eq!(Counters::new(LEN).state_bytes(), 19);
    }
}
