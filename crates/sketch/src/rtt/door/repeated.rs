use dwell_types::{ExchangeId, Timestamp};

/// Some of the latest answered ids: another response cannot match unless there was another request. Where time goes
/// backwards nothing is assumed: of two responses one may be too early or too late for the request.
///
/// **State**: as many ids as fit the nearest cache, direct-mapped by their lowest bits.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    answered: Box<[ExchangeId]>,
    latest: Timestamp,
}

const PLACES: usize = 1 << 11;

impl Repeated {
    /// `None` if it takes more than this many bytes.
    pub(super) fn within(bytes: usize) -> Option<Self> {
        (PLACES * size_of::<ExchangeId>() <= bytes).then(|| Self::of(PLACES))
    }

    fn of(places: usize) -> Self {
        // Each place begins with an id that belongs elsewhere.
        let answered = (0..places as u64).map(|place| ExchangeId(place ^ 1)).collect();
        Self { answered, latest: Timestamp::from_nanos(i64::MIN) }
    }

    #[inline(always)]
    fn place(&mut self, id: ExchangeId) -> &mut ExchangeId {
        let last = self.answered.len() - 1;
        &mut self.answered[id.0 as usize & last]
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
        size_of_val(&*self.answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_repeated_until_somebody_asks() {
        let mut repeated = Repeated::of(PLACES);
        let now = Timestamp::from_nanos(5);
        for id in [0, 1, 2, PLACES as u64 - 1, u64::MAX].map(ExchangeId) {
            assert!(!repeated.is_repeated(id, now), "{id:?}");
            assert!(repeated.is_repeated(id, now) && repeated.is_repeated(id, now));
            repeated.ask(ExchangeId(id.0 ^ 1 << 40), now);
            assert!(repeated.is_repeated(id, now));
            repeated.ask(id, now);
            assert!(!repeated.is_repeated(id, now) && repeated.is_repeated(id, now));
        }
    }

    /// Neither an id replaced by another one in its place nor one before the latest time counts as repeated.
    #[test]
    fn what_is_not_known_is_not_repeated() {
        let mut repeated = Repeated::of(PLACES);
        let (id, other) = (ExchangeId(3), ExchangeId(3 + PLACES as u64));
        let at = Timestamp::from_nanos;
        assert!(!repeated.is_repeated(id, at(5)) && !repeated.is_repeated(other, at(5)));
        assert!(!repeated.is_repeated(id, at(6)) && repeated.is_repeated(id, at(6)));
        assert!(
            !repeated.is_repeated(id, at(5)) && !repeated.is_repeated(id, at(6)) && repeated.is_repeated(id, at(6))
        );
        repeated.ask(other, at(9));
        assert!(!repeated.is_repeated(id, at(8)));
    }
}
