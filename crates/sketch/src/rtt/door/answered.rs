use dwell_types::{ExchangeId, Timestamp};

/// Some of the latest answered ids: another response cannot match unless there was another request. Where time goes
/// backwards nothing is assumed: of two responses one may be too early or too late for the request.
///
/// **State**: as many ids as fit the nearest cache, direct-mapped by their lowest bits.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    ids: Box<[ExchangeId]>,
    latest: Timestamp,
}

const PLACES: usize = 1 << 11;

impl Answered {
    /// `None` if it takes more than this many bytes.
    pub(super) fn within(bytes: usize) -> Option<Self> {
        (PLACES * size_of::<ExchangeId>() <= bytes).then(|| Self::of(PLACES))
    }

    fn of(places: usize) -> Self {
        // Each place begins with an id that belongs elsewhere.
        let ids = (0..places as u64).map(|place| ExchangeId(place ^ 1)).collect();
        Self { ids, latest: Timestamp::MIN }
    }

    #[inline(always)]
    fn place(&mut self, id: ExchangeId) -> &mut ExchangeId {
        let last = self.ids.len() - 1;
        &mut self.ids[id.0 as usize & last]
    }

    /// Takes a request.
    #[inline(always)]
    pub(super) fn ask(&mut self, id: ExchangeId, at: Timestamp) {
        self.latest = self.latest.max(at);
        let answered = self.place(id);
        answered.0 ^= u64::from(*answered == id);
    }

    /// Takes a response; true if there was one with this id, and no request since.
    #[inline(always)]
    pub(super) fn is_repeated(&mut self, id: ExchangeId, at: Timestamp) -> bool {
        let is_early = at < self.latest;
        self.latest = self.latest.max(at);
        let before = std::mem::replace(self.place(id), ExchangeId(id.0 ^ u64::from(is_early)));
        !is_early & (before == id)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_repeated_until_somebody_asks() {
        let mut answered = Answered::of(PLACES);
        let now = Timestamp::from_nanos(5);
        for id in [0, 1, 2, PLACES as u64 - 1, u64::MAX].map(ExchangeId) {
            assert!(!answered.is_repeated(id, now), "{id:?}");
            assert!(answered.is_repeated(id, now) && answered.is_repeated(id, now));
            answered.ask(ExchangeId(id.0 ^ 1 << 40), now);
            assert!(answered.is_repeated(id, now));
            answered.ask(id, now);
            assert!(!answered.is_repeated(id, now) && answered.is_repeated(id, now));
        }
    }

    #[test]
    fn bytes_are_kept_to() {
        let of = |bytes| Answered::within(bytes).map(|answered| answered.bytes());
        assert_eq!([0x3fff, 0x4000, usize::MAX].map(of), [None, Some(0x4000), Some(0x4000)]);
    }

    /// Neither an id replaced by another one in its place nor one before the latest time counts as repeated.
    #[test]
    fn what_is_not_known_is_not_repeated() {
        let mut answered = Answered::of(PLACES);
        let (id, other) = (ExchangeId(3), ExchangeId(3 + PLACES as u64));
        let at = Timestamp::from_nanos;
        assert!(!answered.is_repeated(id, at(5)) && !answered.is_repeated(other, at(5)));
        assert!(!answered.is_repeated(id, at(6)) && answered.is_repeated(id, at(6)));
        assert!(
            !answered.is_repeated(id, at(5)) && !answered.is_repeated(id, at(6)) && answered.is_repeated(id, at(6))
        );
        answered.ask(other, at(9));
        assert!(!answered.is_repeated(id, at(8)));
    }
}
