use super::upper;
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

/// Upper halves of the ids that were asked for within the expiry: two bits of a word for each, and for some others.
///
/// **Model**: two generations of bits. When there are fewer than eight for each id of the younger one, either the older
/// one has expired and goes, or there are twice as many from then on, as far as memory allows.
///
/// **State**: 16 to 32 bits for each id that was asked for in the last two expiries.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Both generations, a power of two of words: answers look only here.
    all: Vec<u64>,
    /// The younger one.
    young: Vec<u64>,
    /// Ids that the younger one did not seem to know.
    ids: usize,
    began: Timestamp,
    expiry: Nanos,
    /// Of words in a generation.
    most: usize,
}

/// Words of a generation to begin with.
const FIRST_WORDS: usize = 1 << 10;
/// At least so many bits for an id.
const SPARSE: usize = 8;

impl Asked {
    /// In so many bytes, or as many as are needed if these are [`usize::MAX`]; `None` if they are too few.
    pub(super) fn within(bytes: usize, expiry: Nanos) -> Option<Self> {
        let most = bytes / (2 * size_of::<u64>());
        let words = if bytes == usize::MAX { FIRST_WORDS } else { most };
        (words >= FIRST_WORDS).then(|| Self { most, ..Self::of(1 << words.ilog2(), expiry) })
    }

    fn of(words: usize, expiry: Nanos) -> Self {
        let (all, young) = (vec![0; words], vec![0; words]);
        Self { all, young, ids: 0, began: Timestamp::from_nanos(0), expiry, most: words }
    }

    #[inline(always)]
    fn place(&self, id: ExchangeId) -> (usize, u64) {
        let (upper, spread) = (upper(id), upper(id).wrapping_mul(hash::GOLDEN as u32) >> 20);
        let bits = 1 << (spread % u64::BITS) | 1 << (spread / u64::BITS);
        (upper as usize & (self.all.len() - 1), bits)
    }

    /// Takes a request.
    #[inline(never)]
    pub(super) fn ask(&mut self, id: ExchangeId, now: Timestamp) {
        if self.ids == 0 {
            self.began = now;
        }
        let (word, bits) = self.place(id);
        self.all[word] |= bits;
        let young = &mut self.young[word];
        self.ids += usize::from(*young & bits != bits);
        *young |= bits;
        if self.ids * SPARSE > self.all.len() * u64::BITS as usize {
            self.make_room(now);
        }
    }

    /// Whether an answer may find its request: false only if none with this upper half was seen for an expiry.
    #[inline(always)]
    pub(super) fn is_asked(&self, id: ExchangeId) -> bool {
        let (word, bits) = self.place(id);
        self.all[word] & bits == bits
    }

    #[cold]
    fn make_room(&mut self, now: Timestamp) {
        if (now - self.began).is_farther_than(self.expiry) {
            std::mem::swap(&mut self.all, &mut self.young);
            self.young.fill(0);
            self.ids = 0;
        } else if 2 * self.all.len() <= self.most {
            // Who has one bit more in a place is in either of the two that were one.
            self.all.extend_from_within(..);
            self.young.extend_from_within(..);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        (self.all.capacity() + self.young.capacity()) * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;

    /// Through doublings and generations whoever asked within the expiry is known, and of those who did not hardly
    /// more than one in four is taken for one: what was doubled stays as dense as it was.
    #[test]
    fn whoever_asked_is_known() {
        let expiry = 50_000;
        let mut asked = Asked::within(usize::MAX, Nanos::new(expiry)).unwrap();
        let id = |i: i64| ExchangeId(hash::finish(i as u64) & !0xffff_ffff | 7);
        for i in 0..400_000 {
            asked.ask(id(i), Timestamp::from_nanos(i));
            assert!(asked.is_asked(id((i - i % expiry).max(i - 1_000))) && asked.is_asked(id((i - expiry).max(0))));
        }
        assert!((0..400_000).rev().take(expiry as usize).all(|i| asked.is_asked(id(i))));
        let others = (1_000_000..1_100_000).filter(|&i| asked.is_asked(id(i))).count();
        assert!(others < 25_000, "{others} of 100,000");
        assert!(asked.bytes() <= 4 * 2 * expiry as usize, "{} bytes", asked.bytes());
    }

    /// Nobody is forgotten where one time is wild.
    #[test]
    fn a_wild_time_forgets_nobody() {
        let mut asked = Asked::within(usize::MAX, Nanos::from_secs(1)).unwrap();
        asked.ask(ExchangeId(5 << 32), Timestamp::from_nanos(7));
        asked.ask(ExchangeId(6 << 32), Timestamp::from_nanos(i64::MAX));
        assert!(asked.is_asked(ExchangeId(5 << 32 | 99)) && asked.is_asked(ExchangeId(6 << 32)));
        assert!(!asked.is_asked(ExchangeId(7 << 32)));
    }
}
