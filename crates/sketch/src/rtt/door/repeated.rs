use dwell_types::ExchangeId;

/// Some of the ids that were answered last: a response with such an id answers nothing, since nobody has asked again.
///
/// **State**: as many ids as stay in a processor's nearest cache, each in the place that its lowest bits name, until
/// another one comes there.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    answered: Box<[ExchangeId]>,
}

const PLACES: usize = 1 << 11;

impl Repeated {
    pub(super) fn new() -> Self {
        Self::of(PLACES)
    }

    /// Knows nothing, and is not asked.
    pub(super) fn none() -> Self {
        Self::of(2)
    }

    fn of(places: usize) -> Self {
        // In each place an id that belongs in another.
        Self { answered: (0..places as u64).map(|place| ExchangeId(place ^ 1)).collect() }
    }

    #[inline(always)]
    fn place(&mut self, id: ExchangeId) -> &mut ExchangeId {
        let last = self.answered.len() - 1;
        &mut self.answered[id.0 as usize & last]
    }

    /// Takes a request.
    #[inline(always)]
    pub(super) fn ask(&mut self, id: ExchangeId) {
        let answered = self.place(id);
        answered.0 ^= u64::from(*answered == id);
    }

    /// Takes a response; true if one with this id has come before, and nobody has asked since.
    #[inline(always)]
    pub(super) fn is_repeated(&mut self, id: ExchangeId) -> bool {
        std::mem::replace(self.place(id), id) == id
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
        let mut repeated = Repeated::new();
        let ids = [0, 1, 2, PLACES as u64 - 1, u64::MAX].map(ExchangeId);
        for id in ids {
            assert!(!repeated.is_repeated(id), "{id:?}");
            assert!(repeated.is_repeated(id) && repeated.is_repeated(id));
            repeated.ask(ExchangeId(id.0 ^ 1 << 40));
            assert!(repeated.is_repeated(id));
            repeated.ask(id);
            assert!(!repeated.is_repeated(id) && repeated.is_repeated(id));
        }
    }

    /// Another id in the same place.
    #[test]
    fn what_is_not_known_is_not_repeated() {
        let mut repeated = Repeated::new();
        let (id, other) = (ExchangeId(3), ExchangeId(3 + PLACES as u64));
        assert!(!repeated.is_repeated(id) && !repeated.is_repeated(other) && !repeated.is_repeated(id));
    }
}
