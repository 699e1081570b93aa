use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

/// Some of the latest requested ids, where equal requests are one exchange ([`dwell_types::Repeat::Ignored`]) and the
/// meter may have dropped the first of them: it would take the next one for another exchange, with a shorter delay.
///
/// **State**: four bytes per id, in a bucket of four that evicts the least recently used. All are cleared when the
/// oldest may have expired.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    /// Most recent first; zero if empty.
    asked: Box<[[u32; WAYS]]>,
    began: Timestamp,
    expiry: Nanos,
}

const WAYS: usize = 4;
/// Enough buckets for thousands of flows.
const MOST: usize = 1 << 10;

impl Recent {
    /// A set in at most this many bytes, but at least one bucket.
    pub(super) fn within(bytes: usize, expiry: Nanos) -> Self {
        let buckets = 1 << (bytes / size_of::<[u32; WAYS]>()).clamp(1, MOST).ilog2();
        Self { asked: vec![[0; WAYS]; buckets].into(), began: Timestamp::MIN, expiry }
    }

    /// Adds a request; true if an equal one came recently.
    pub(super) fn is_repeated(&mut self, id: ExchangeId, at: Timestamp) -> bool {
        if (at - self.began).is_farther_than(self.expiry) {
            self.asked.fill([0; WAYS]);
            self.began = at;
        }
        let hash = id.0.wrapping_mul(hash::GOLDEN);
        let tag = (hash as u32).max(1);
        let bucket = (hash >> u32::BITS) as usize & (self.asked.len() - 1);
        let known = self.asked[bucket].iter().position(|&asked| asked == tag);
        self.asked[bucket][..=known.unwrap_or(WAYS - 1)].rotate_right(1);
        self.asked[bucket][0] = tag;
        known.is_some()
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equal_request_is_known_until_it_may_have_expired() {
        let mut recent = Recent::within(1 << 10, Nanos::new(100));
        let mut asks = |id: u64, at: i64| recent.is_repeated(ExchangeId(hash::finish(id)), Timestamp::from_nanos(at));
        assert_eq!(
            [asks(1, 0), asks(1, 5), asks(2, 5), asks(1, 100), asks(1, 101), asks(1, 102)],
            [false, true, false, true, false, true]
        );
        // The clock is set back.
        assert!(!asks(1, -50) && asks(1, -49));
    }

    /// With half as many ids as places most are still found, no absent id is taken for one of them, and an id that
    /// recurs often stays.
    #[test]
    fn others_take_the_place() {
        let mut recent = Recent::within(1 << 12, Nanos::new(1 << 40));
        let mut is_known = |id: u64| recent.is_repeated(ExchangeId(hash::finish(id)), Timestamp::from_nanos(0));
        assert_eq!((0..512).filter(|&id| is_known(id)).count(), 0);
        assert!((0..512).filter(|&id| is_known(id)).count() > 450);
        assert!(!is_known(7_000_000));
        for id in 1_000..100_000 {
            assert!(!is_known(id) && (id % 20 > 0 || is_known(7_000_000)), "{id}");
        }
        assert_eq!(recent.bytes(), 1 << 12);
    }

    #[test]
    fn bytes_are_kept_to() {
        let of = |bytes| Recent::within(bytes, Nanos::new(1)).bytes();
        assert_eq!([0, 16, 0xff, usize::MAX].map(of), [16, 16, 0x80, 1 << 14]);
    }
}
