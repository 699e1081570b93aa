use super::upper;
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

/// Upper halves of the ids that were asked for and may be answered: two bits of a word for each, and for some others.
///
/// **Model**: when there are eight bits for each id, those that still wait are asked for anew, if the meter knows them:
/// they are few, and what tells them stays in a processor's nearest cache. If it does not, two generations of bits tell
/// all that were asked for within the expiry: when the younger one has eight bits for each id, the older one goes if it
/// has expired. If neither makes room there are twice as many bits from then on, as far as memory allows.
///
/// **State**: 32 to 64 bits for each id that waits, or 16 to 32 for each that was asked for in the last two expiries.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Both generations, a power of two of words: answers look only here.
    all: Vec<u64>,
    /// The younger one.
    young: Vec<u64>,
    /// How many more ids the younger one is to take.
    left: usize,
    /// The younger one knows all that were asked for since then.
    began: Timestamp,
    expiry: Nanos,
    /// Of words in a generation.
    most: usize,
}

/// Words of a generation to begin with.
const FIRST_WORDS: usize = 1 << 10;
/// Of a word in both generations.
const WORD_BYTES: usize = 2 * size_of::<u64>();
/// At least so many bits for an id.
const SPARSE: usize = 8;

impl Asked {
    /// In at most so many bytes; `None` if they are too few.
    pub(super) fn within(bytes: usize, expiry: Nanos) -> Option<Self> {
        let most = bytes / WORD_BYTES;
        let (all, young) = (vec![0; FIRST_WORDS], vec![0; FIRST_WORDS]);
        let began = Timestamp::from_nanos(i64::MIN);
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

    /// Takes a request.
    #[inline(never)]
    pub(super) fn ask(&mut self, id: ExchangeId) {
        let (word, bits) = self.place(id);
        self.all[word] |= bits;
        let young = &mut self.young[word];
        self.left = self.left.saturating_sub(usize::from(*young & bits != bits));
        *young |= bits;
    }

    /// Whether an answer may find its request: false only if none with this upper half was seen for an expiry, or if it
    /// does not wait any more.
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

    /// Makes room at a moment before which all requests that wait are these, if they are known.
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
            // Who has one bit more in a place is in either of the two that were one.
            self.left += self.room();
            self.all.extend_from_within(..);
            self.young.extend_from_within(..);
        }
        // Not at once again, whatever it brought.
        self.left = self.left.max(self.room() / 2);
    }

    pub(super) fn bytes(&self) -> usize {
        (self.all.capacity() + self.young.capacity()) * size_of::<u64>()
    }

    /// Bytes that it may take besides.
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

    /// Of so many who never asked, how many are taken for one who did.
    fn mistaken(asked: &Asked) -> usize {
        (1_000_000..1_100_000).filter(|&i| asked.is_asked(id(i))).count()
    }

    /// Through doublings and generations whoever asked within the expiry is known, and of those who did not hardly
    /// more than one in four is taken for one: what was doubled stays as dense as it was.
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

    /// Where those who wait are known, the others are forgotten soon, and who waits for ever is not. When they are no
    /// longer known, all of them still are for an expiry.
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

    /// Where all wait and memory forbids more, room is not made for each.
    #[test]
    fn room_is_seldom_made() {
        let mut asked = Asked::within(0xbfff, Nanos::from_secs(1)).unwrap();
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
