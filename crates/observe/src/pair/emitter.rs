use super::ids::{Flow, Ids, Kind};
use dwell_types::{ExchangeId, FlowKey, Observation, Series, Sighting, Sink, Timestamp};

/// Passes the observations of one packet to the sink, one after another, as its rules find them.
pub(super) struct Emitter<'a, S> {
    pub(super) ids: &'a Ids,
    pub(super) flow: Flow,
    pub(super) at: Timestamp,
    /// Receives each of them. Where that is inlined, an observation is never stored in memory.
    pub(super) sink: &'a mut S,
}

impl<'a, S: Sink> Emitter<'a, S> {
    #[inline(always)]
    pub(super) fn new(ids: &'a Ids, key: &FlowKey, at: Timestamp, sink: &'a mut S) -> Self {
        Self { ids, flow: ids.flow(key), at, sink }
    }

    /// A reborrow for a function that is not inlined, so that this one stays in registers.
    #[inline]
    pub(super) fn reborrow(&mut self) -> Emitter<'_, S> {
        Emitter { ids: self.ids, flow: self.flow, at: self.at, sink: self.sink }
    }

    /// The packet is a request; its sender is the requesting side.
    #[inline(always)]
    pub(super) fn request(&mut self, kind: Kind, word: u64, token: u32) {
        let id = self.ids.id(self.flow.hash, kind, self.flow.sender, word);
        self.request_with(kind, id, token);
    }

    /// The packet is a request if `wanted`, which is as likely as not.
    #[inline(always)]
    pub(super) fn request_if(&mut self, wanted: bool, kind: Kind, word: u64) {
        let id = self.ids.id(self.flow.hash, kind, self.flow.sender, word);
        let sighting = self.sighting(kind, id, 0);
        self.sink.take_if(wanted, Observation::Request(sighting));
    }

    /// The packet is a response; its receiver is the requesting side.
    #[inline(always)]
    pub(super) fn response(&mut self, kind: Kind, word: u64, token: u32) {
        let id = self.ids.id(self.flow.hash, kind, self.flow.receiver, word);
        self.response_with(kind, id, token);
    }

    /// The packet is a response to an earlier one of the same sender.
    #[inline(always)]
    pub(super) fn own_response(&mut self, kind: Kind, word: u64) {
        let id = self.ids.id(self.flow.hash, kind, self.flow.sender, word);
        self.response_with(kind, id, 0);
    }

    /// The packet is a request that either side may answer.
    #[inline(always)]
    pub(super) fn shared_request(&mut self, kind: Kind) {
        self.request_with(kind, self.ids.id(self.flow.hash, kind, false, 0), 0);
    }

    /// The packet is a response, whichever side sent the request.
    #[inline(always)]
    pub(super) fn shared_response(&mut self, kind: Kind) {
        self.response_with(kind, self.ids.id(self.flow.hash, kind, false, 0), 0);
    }

    /// The packet is a request, with an id that the rule has computed.
    #[inline(always)]
    pub(super) fn request_with(&mut self, kind: Kind, id: ExchangeId, token: u32) {
        let sighting = self.sighting(kind, id, token);
        self.sink.take(Observation::Request(sighting));
    }

    /// The packet is a response, with an id that the rule has computed.
    #[inline(always)]
    pub(super) fn response_with(&mut self, kind: Kind, id: ExchangeId, token: u32) {
        let sighting = self.sighting(kind, id, token);
        self.sink.take(Observation::Response(sighting));
    }

    /// Whether two responses of one rule, whose ids share this upper half, are wanted; if not, they must not be passed.
    #[inline(always)]
    pub(super) fn wants_responses(&mut self, id: ExchangeId, [first, second]: [Kind; 2]) -> bool {
        self.sink.offer_responses(id, [series(first), series(second)])
    }

    #[inline(always)]
    fn sighting(&self, kind: Kind, id: ExchangeId, token: u32) -> Sighting {
        Sighting { id, at: self.at, token, series: series(kind) }
    }
}

/// The series of exchanges of this kind if there are no groups.
#[inline(always)]
fn series(kind: Kind) -> Series {
    let (matching, leg) = kind.series();
    Series { matching, leg, group: 0 }
}
