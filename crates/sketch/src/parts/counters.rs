//! Counters of 4 bits, as in counting filters.

/// An array of counters of 4 bits, two to a byte. A counter that has reached 15 stays there: its true value is no
/// longer known, and one that is too low would lose entries.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    pairs: Box<[u8]>,
    /// For a large array that is emptied often: emptying takes only the time of the stretches in use.
    held: Option<Box<Held>>,
}

/// Which stretches of an array are in use, a bit each.
#[derive(Clone, Debug)]
struct Held {
    words: Box<[u64]>,
}

const BITS: usize = Counters::BITS as usize;
const PER_BYTE: usize = 8 / BITS;
const MOST: u8 = (1 << BITS) - 1;
/// Bytes of a stretch.
const STRETCH: usize = 1 << 10;
/// Arrays of at least this many bytes have such bits.
const LARGE: usize = 1 << 16;

impl Counters {
    /// Bits of a counter.
    pub(crate) const BITS: u32 = 4;

    /// This many counters, rounded up to whole bytes.
    pub(crate) fn new(len: u32) -> Self {
        Self { pairs: vec![0; (len as usize).div_ceil(PER_BYTE)].into(), held: None }
    }

    /// The same, for an array that is emptied often.
    pub(crate) fn resettable(len: u32) -> Self {
        let counters = Self::new(len);
        let bytes = counters.pairs.len();
        Self { held: (bytes >= LARGE).then(|| Box::new(Held::new(bytes))), ..counters }
    }

    /// The most resettable counters, a multiple of 16 and at most 2³² − 16, that fit this many bytes.
    pub(crate) fn most_resettable(bytes: usize) -> u32 {
        let beside = if bytes >= LARGE { Held::bytes(bytes) } else { 0 };
        u32::try_from((bytes - beside) / 8 * 16).unwrap_or(u32::MAX - 15)
    }

    /// Bytes in which so many resettable counters fit.
    pub(crate) fn bytes_for(len: u32) -> usize {
        let bytes = (len as usize).div_ceil(16) * 8;
        // The bits of the stretches take some bytes themselves, which have bits, too.
        let beside = Held::bytes(bytes) + size_of::<u64>();
        if bytes + beside >= LARGE { (bytes + beside).next_multiple_of(8) } else { bytes }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> u8 {
        self.pairs[at / PER_BYTE] >> (at % PER_BYTE * BITS) & MOST
    }

    #[inline]
    pub(crate) fn increment(&mut self, at: usize) {
        let is_below = self.get(at) < MOST;
        self.pairs[at / PER_BYTE] += u8::from(is_below) << (at % PER_BYTE * BITS);
        if let Some(held) = &mut self.held {
            held.insert(at / PER_BYTE / STRETCH);
        }
    }

    #[inline]
    pub(crate) fn decrement(&mut self, at: usize) {
        let is_known = (1..MOST).contains(&self.get(at));
        self.pairs[at / PER_BYTE] -= u8::from(is_known) << (at % PER_BYTE * BITS);
    }

    /// Adds the counters of another array of the same length, which is emptied.
    pub(crate) fn take_from(&mut self, other: &mut Self) {
        let add_all = |pairs: &mut [u8], others: &mut [u8]| {
            for (pair, other) in pairs.iter_mut().zip(others) {
                *pair = add(*pair, std::mem::take(other));
            }
        };
        let (Some(held), Some(others)) = (&mut self.held, &mut other.held) else {
            return add_all(&mut self.pairs, &mut other.pairs);
        };
        for stretch in others.drain() {
            held.insert(stretch);
            let [pairs, others] = [&mut self.pairs, &mut other.pairs].map(|pairs| stretch_of(pairs, stretch));
            add_all(pairs, others);
        }
    }

    pub(crate) fn clear(&mut self) {
        match &mut self.held {
            Some(held) => held.drain().for_each(|stretch| stretch_of(&mut self.pairs, stretch).fill(0)),
            None => self.pairs.fill(0),
        }
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.pairs.len() + self.held.as_ref().map_or(0, |_| Held::bytes(self.pairs.len()))
    }
}

impl Held {
    fn new(bytes: usize) -> Self {
        Self { words: vec![0; Self::words(bytes)].into() }
    }

    fn words(bytes: usize) -> usize {
        bytes.div_ceil(STRETCH * 64)
    }

    /// The size for an array of this many bytes.
    fn bytes(bytes: usize) -> usize {
        size_of::<Self>() + Self::words(bytes) * size_of::<u64>()
    }

    #[inline]
    fn insert(&mut self, stretch: usize) {
        self.words[stretch / 64] |= 1 << (stretch % 64);
    }

    /// The stretches in use, none of which is afterwards.
    fn drain(&mut self) -> impl Iterator<Item = usize> {
        let words = self.words.iter_mut().enumerate();
        words.flat_map(|(at, word)| {
            let mut word = std::mem::take(word);
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

/// The bytes of a stretch; the last one may be shorter.
fn stretch_of(pairs: &mut [u8], stretch: usize) -> &mut [u8] {
    let end = pairs.len().min((stretch + 1) * STRETCH);
    &mut pairs[stretch * STRETCH..end]
}

/// The sums of both pairs of counters, at most 15.
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

    /// They equal 8-bit counters that stop at 15, whether adjacent or far apart in a large array.
    #[test]
    fn they_count_like_counters_that_stop() {
        const FEW: u32 = 37;
        for (len, apart) in [(FEW, 1), (FEW * 5_003, 5_003)] {
            let empty = || (Counters::resettable(len), [0u8; FEW as usize]);
            let mut arrays = [empty(), empty()];
            assert_eq!(arrays[0].0.held.is_some(), apart > 1);
            for i in 0..4_000u64 {
                let random = hash::finish(i);
                let at = (random % u64::from(FEW)) as usize;
                let (counters, plain) = &mut arrays[(random >> 32 & 1) as usize];
                if random >> 40 & 15 < 9 {
                    counters.increment(at * apart);
                    plain[at] = (plain[at] + 1).min(15);
                } else {
                    counters.decrement(at * apart);
                    plain[at] -= u8::from((1..15).contains(&plain[at]));
                }
                let [(counters, plain), (other, other_plain)] = &mut arrays;
                match i % 1_000 {
                    499 if i < 2_000 => {
                        counters.clear();
                        plain.fill(0);
                    }
                    999 => {
                        counters.take_from(other);
                        plain.iter_mut().zip(&*other_plain).for_each(|(a, b)| *a = (*a + b).min(15));
                        other_plain.fill(0);
                    }
                    _ => {}
                }
                for (counters, plain) in &arrays {
                    let is_as_plain = plain.iter().enumerate().all(|(at, &n)| counters.get(at * apart) == n);
                    assert!(is_as_plain, "after {i}, {apart} apart");
                }
            }
            assert!(arrays[0].1.contains(&15) && arrays[0].1.iter().any(|&n| n < 15));
        }
        assert_eq!(Counters::new(FEW).state_bytes(), 19);
    }

    #[test]
    fn as_many_as_fit() {
        for bytes in [0, 7, 1_000, LARGE - 1, LARGE, LARGE + 40, 1_000_003, 1 << 24] {
            let held = Counters::resettable(Counters::most_resettable(bytes)).state_bytes();
            assert!(held <= bytes && held + 64 > bytes, "{held} of {bytes}");
        }
    }
}
