use super::upper;
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

/// Upper halves of the ids that were requested and may be answered: a Bloom filter with two bits of one word per id.
///
/// **Model**: when only eight bits per id are left, the filter is rebuilt from the open requests, if the meter knows
/// them: they are few, and the filter stays in the nearest cache. Otherwise two generations of bits hold all ids
/// requested within the expiry: when the younger one is full, the older one is cleared if it has expired. If neither
/// makes room, the filter is doubled, as far as memory allows.
///
/// **State**: 32 to 64 bits per open request, or 16 to 32 per request in the last two expiries.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Both generations, a power of two of words: responses are looked up only here.
    all: Vec<u64>,
    /// The younger generation.
    young: Vec<u64>,
    /// How many more ids the younger generation takes.
    left: usize,
    /// The younger generation holds all ids requested since then.
    began: Timestamp,
    expiry: Nanos,
    /// Maximum words of a generation.
    most: usize,
}

/// Initial words of a generation.
const FIRST_WORDS: usize = 1 << 10;
/// Bytes of one word in both generations.
const WORD_BYTES: usize = 2 * size_of::<u64>();
/// Least number of bits per id.
const SPARSE: usize = 8;

impl Asked {
    /// A filter of at most this many bytes; `None` if they are too few.
    pub(super) fn within(bytes: usize, expiry: Nanos) -> Option<Self> {
        let most = bytes / WORD_BYTES;
        let (all, young) = (vec![0; FIRST_WORDS], vec![0; FIRST_WORDS]);
        let began = Timestamp::MIN;
        let mut asked = Self { all, young, left: 0, began, expiry, most };
        asked.left = asked.room();
        (most >= FIRST_WORDS).then_some(asked)
    }

    /// Ids that a generation takes.
    fn room(&self) -> usize {
        self.young.len() * u64::BITS as usize / SPARSE
    }

    #[inline(always)]
    fn place(&self, id: ExchangeId) -> (usize, u64) {
        let (upper, spread) = (upper(id), upper(id).wrapping_mul(hash::GOLDEN as u32) >> 20);
        let bits = 1 << (spread % u64::BITS) | 1 << (spread / u64::BITS);
        (upper as usize & (self.all.len() - 1), bits)
    }

    /// Adds the id of a request.
    #[inline(never)]
    pub(super) fn ask(&mut self, id: ExchangeId) {
        let (word, bits) = self.place(id);
        self.all[word] |= bits;
        let young = &mut self.young[word];
        self.left = self.left.saturating_sub(usize::from(*young & bits != bits));
        *young |= bits;
    }

    /// Whether a response may match: false only if no request with this upper half came within the expiry, or none is
    /// open any more.
    #[inline(always)]
    pub(super) fn is_asked(&self, id: ExchangeId) -> bool {
        let (word, bits) = self.place(id);
        self.all[word] & bits == bits
    }

    /// Whether it is time to make room.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Makes room. `open` are all requests that are open at `now`, if known.
    #[cold]
    pub(super) fn make_room(&mut self, now: Timestamp, open: Option<impl Iterator<Item = ExchangeId>>) {
        let is_known = open.is_some();
        let is_expired = (now - self.began).is_farther_than(self.expiry);
        if is_known || is_expired {
            std::mem::swap(&mut self.all, &mut self.young);
            self.young.fill(0);
            (self.left, self.began) = (self.room(), now);
        }
        if let Some(open) = open {
            self.all.fill(0);
            open.for_each(|id| self.ask(id));
        }
        if 2 * self.left <= self.room() && 2 * self.all.len() <= self.most {
            // An id whose index gains a bit is in one of the two copies of its old word.
            self.left += self.room();
            self.all.extend_from_within(..);
            self.young.extend_from_within(..);
        }
        // Not again at once, however little room was made.
        self.left = self.left.max(self.room() / 2);
    }

    pub(super) fn bytes(&self) -> usize {
        (self.all.capacity() + self.young.capacity()) * size_of::<u64>()
    }

    /// Bytes by which it may still grow.
    pub(super) fn growth(&self) -> usize {
        let most = 1 << self.most.ilog2();
        (most - self.all.len()) * WORD_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;
    use std::collections::VecDeque;

    type Ids = VecDeque<ExchangeId>;

    fn nobody() -> Option<std::iter::Empty<ExchangeId>> {
        None
    }

    fn id(i: i64) -> ExchangeId {
        ExchangeId(hash::finish(i as u64) & !0xffff_ffff | 7)
    }

    /// Of 100,000 ids never requested, how many are taken for requested ones.
    fn mistaken(asked: &Asked) -> usize {
        (1_000_000..1_100_000).filter(|&i| asked.is_asked(id(i))).count()
    }

    /// Through doublings and generations every id requested within the expiry is found, and at most one in four of the
    /// others: doubling keeps the density.
    #[test]
    fn whoever_asked_is_known() {
        let expiry = 50_000;
        let mut asked = Asked::within(usize::MAX, Nanos::new(expiry)).unwrap();
        for i in 0..400_000 {
            asked.ask(id(i));
            if asked.is_full() {
                asked.make_room(Timestamp::from_nanos(i), nobody());
            }
            assert!(asked.is_asked(id((i - i % expiry).max(i - 1_000))) && asked.is_asked(id((i - expiry).max(0))));
        }
        assert!((0..400_000).rev().take(expiry as usize).all(|i| asked.is_asked(id(i))));
        assert!(mistaken(&asked) < 25_000, "{} of 100,000", mistaken(&asked));
        assert!(asked.bytes() <= 4 * 2 * expiry as usize, "{} bytes", asked.bytes());
    }

    /// Where open requests are known, others are soon forgotten, but those that wait for ever are not. When they are no
    /// longer known, all are still kept for an expiry.
    #[test]
    fn whoever_waits_is_known() {
        let expiry = 50_000;
        let mut asked = Asked::within(usize::MAX, Nanos::new(expiry)).unwrap();
        let mut waiting = Ids::new();
        for i in 0..400_000 {
            asked.ask(id(i));
            waiting.push_back(id(i));
            if waiting.len() > 3_000 && i % 1_000 > 0 {
                waiting.pop_front();
            }
            if asked.is_full() {
                asked.make_room(Timestamp::from_nanos(i), Some(waiting.iter().copied()));
            }
            assert!(asked.is_asked(waiting[0]) && asked.is_asked(id(i)));
        }
        assert!(waiting.iter().all(|&id| asked.is_asked(id)));
        assert!(mistaken(&asked) < 5_000, "{} of 100,000", mistaken(&asked));
        assert_eq!(asked.bytes(), WORD_BYTES * FIRST_WORDS);
        for i in 400_000..400_000 + expiry {
            asked.ask(id(i));
            if asked.is_full() {
                asked.make_room(Timestamp::from_nanos(i), nobody());
            }
        }
        assert!(waiting.iter().all(|&id| asked.is_asked(id)));
    }

    /// The filter takes what it is given, up to a power of two, or is absent.
    #[test]
    fn bytes_are_kept_to() {
        let of = |bytes| Asked::within(bytes, Nanos::from_secs(1)).map(|asked| (asked.bytes(), asked.growth()));
        assert_eq!([0x3fff, 0x4000, 0xbfff].map(of), [None, Some((0x4000, 0)), Some((0x4000, 0x4000))]);
    }

    /// If every request stays open and memory is exhausted, the filter is not rebuilt for each new one.
    #[test]
    fn room_is_seldom_made() {
        let mut asked = Asked::within(0x8000, Nanos::from_secs(1)).unwrap();
        assert_eq!(asked.bytes() + asked.growth(), 1 << 15);
        let mut made = 0;
        for i in 0..100_000 {
            asked.ask(id(i));
            if asked.is_full() {
                made += 1;
                asked.make_room(Timestamp::from_nanos(i), Some((0..=i).map(id)));
            }
        }
        assert!(made > 1 && made < 100, "{made} times");
        assert!((0..100_000).all(|i| asked.is_asked(id(i))));
        assert_eq!((asked.bytes(), asked.growth()), (1 << 15, 0));
    }
}
