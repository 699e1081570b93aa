use super::ids::{Exchange, Flow, Ids};
use dwell_types::{ExchangeId, FlowKey, Observation, Series, Sighting, Sink, Timestamp};

/// What a rule needs to give the observations of one packet to whoever wants them, one after another.
pub(super) struct Gather<'a, S> {
    pub(super) ids: &'a Ids,
    pub(super) flow: Flow,
    pub(super) at: Timestamp,
    /// Takes each of them. Where that is inlined, an observation never is in memory.
    pub(super) sink: &'a mut S,
}

impl<'a, S: Sink> Gather<'a, S> {
    #[inline(always)]
    pub(super) fn new(ids: &'a Ids, key: &FlowKey, at: Timestamp, sink: &'a mut S) -> Self {
        Self { ids, flow: ids.flow(key), at, sink }
    }

    /// The same for a function that is not inlined: this one stays in registers.
    #[inline]
    pub(super) fn again(&mut self) -> Gather<'_, S> {
        Gather { ids: self.ids, flow: self.flow, at: self.at, sink: self.sink }
    }

    /// The packet asks: its sender is who asked.
    #[inline(always)]
    pub(super) fn request(&mut self, exchange: Exchange, word: u64, token: u32) {
        let id = self.ids.id(self.flow.hash, exchange, self.flow.sender, word);
        self.asks(exchange, id, token);
    }

    /// The packet asks if it is `wanted`, which is as likely as not.
    #[inline(always)]
    pub(super) fn request_if(&mut self, wanted: bool, exchange: Exchange, word: u64) {
        let id = self.ids.id(self.flow.hash, exchange, self.flow.sender, word);
        let sighting = self.sighting(exchange, id, 0);
        self.sink.take_if(wanted, Observation::Request(sighting));
    }

    /// The packet answers: its receiver is who asked.
    #[inline(always)]
    pub(super) fn response(&mut self, exchange: Exchange, word: u64, token: u32) {
        let id = self.ids.id(self.flow.hash, exchange, self.flow.receiver, word);
        self.answers(exchange, id, token);
    }

    /// The packet answers an earlier one of the same sender.
    #[inline(always)]
    pub(super) fn own_response(&mut self, exchange: Exchange, word: u64) {
        let id = self.ids.id(self.flow.hash, exchange, self.flow.sender, word);
        self.answers(exchange, id, 0);
    }

    /// The packet asks for something that either side may answer.
    #[inline(always)]
    pub(super) fn shared_request(&mut self, exchange: Exchange) {
        self.asks(exchange, self.ids.id(self.flow.hash, exchange, 0, 0), 0);
    }

    /// The packet answers, whichever side asked.
    #[inline(always)]
    pub(super) fn shared_response(&mut self, exchange: Exchange) {
        self.answers(exchange, self.ids.id(self.flow.hash, exchange, 0, 0), 0);
    }

    /// The packet asks, with an id of the rule's own.
    #[inline(always)]
    pub(super) fn asks(&mut self, exchange: Exchange, id: ExchangeId, token: u32) {
        let sighting = self.sighting(exchange, id, token);
        self.sink.take(Observation::Request(sighting));
    }

    /// The packet answers, with an id of the rule's own.
    #[inline(always)]
    pub(super) fn answers(&mut self, exchange: Exchange, id: ExchangeId, token: u32) {
        let sighting = self.sighting(exchange, id, token);
        self.sink.take(Observation::Response(sighting));
    }

    /// Whether two answers of one rule are wanted whose ids have the upper half of this one; else they are not to be given.
    #[inline(always)]
    pub(super) fn wants_answers(&mut self, id: ExchangeId, [first, second]: [Exchange; 2]) -> bool {
        self.sink.offer_responses(id, [series(first), series(second)])
    }

    #[inline(always)]
    fn sighting(&self, exchange: Exchange, id: ExchangeId, token: u32) -> Sighting {
        Sighting { id, at: self.at, token, series: series(exchange) }
    }
}

/// What an exchange counts for where there are no groups.
#[inline(always)]
fn series(exchange: Exchange) -> Series {
    let (matching, leg) = exchange.series();
    Series { matching, leg, group: 0 }
}
