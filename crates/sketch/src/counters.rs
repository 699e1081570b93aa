//! Counters of 4 bits, as counting filters have them.

/// An array of counters of 4 bits, sixteen to a word. A counter that has reached 15 stays there: what it stood for is
/// no longer known, and one that is too low would lose entries.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    words: Vec<u64>,
}

const BITS: usize = 4;
const PER_WORD: usize = 64 / BITS;
const MOST: u64 = (1 << BITS) - 1;
/// Every second counter of a word.
const EVEN: u64 = 0x0f0f_0f0f_0f0f_0f0f;

impl Counters {
    /// So many counters, rounded up to whole words.
    pub(crate) fn new(len: u32) -> Self {
        Self { words: vec![0; (len as usize).div_ceil(PER_WORD)] }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.words[at / PER_WORD] >> (at % PER_WORD * BITS) & MOST
    }

    #[inline]
    pub(crate) fn increment(&mut self, at: usize) {
        let is_below = self.get(at) < MOST;
        self.words[at / PER_WORD] += u64::from(is_below) << (at % PER_WORD * BITS);
    }

    #[inline]
    pub(crate) fn decrement(&mut self, at: usize) {
        let is_known = (1..MOST).contains(&self.get(at));
        self.words[at / PER_WORD] -= u64::from(is_known) << (at % PER_WORD * BITS);
    }

    /// Adds the counters of another array of the same length.
    pub(crate) fn add(&mut self, other: &Self) {
        for (word, &other) in self.words.iter_mut().zip(&other.words) {
            *word = add_even(*word, other) | add_even(*word >> BITS, other >> BITS) << BITS;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

/// Sums of the even counters, 15 where they are more.
fn add_even(a: u64, b: u64) -> u64 {
    let sums = (a & EVEN) + (b & EVEN);
    let over = sums >> BITS & (EVEN / MOST);
    (sums | (over * MOST)) & EVEN
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
                counters.add(other);
                plain.iter_mut().zip(&*other_plain).for_each(|(a, b)| *a = (*a + b).min(15));
                other.clear();
                other_plain.fill(0);
            }
            for (counters, plain) in &arrays {
                assert!(plain.iter().enumerate().all(|(at, &n)| counters.get(at) == u64::from(n)), "after {i}");
            }
        }
        assert!(arrays[0].1.contains(&15) && arrays[0].1.iter().any(|&n| n < 15));
        assert_eq!(Counters::new(LEN).state_bytes(), 24);
    }
}
