use super::ids::{Exchange, Flow, Ids};
use dwell_types::{ExchangeId, Leg, Match, Observation, Series, Sighting, Timestamp};

/// The most observations that one packet gives: eight by TCP flags and options, the rest for further DNS messages in
/// one segment.
pub(super) const MOST: usize = 16;

/// The observations of one packet, in a place of their own that is filled anew for each.
#[derive(Debug)]
pub(super) struct Seen {
    items: [Observation; MOST],
    len: usize,
}

impl Seen {
    pub(super) const fn new() -> Self {
        let series = Series { matching: Match::TcpAck, leg: Leg::Both, group: 0 };
        let nothing = Sighting { id: ExchangeId(0), at: Timestamp::from_nanos(0), token: 0, series };
        Self { items: [Observation::Request(nothing); MOST], len: 0 }
    }

    /// Adds one; what does not fit is left out.
    #[inline]
    fn push(&mut self, seen: Observation) {
        if let Some(item) = self.items.get_mut(self.len) {
            *item = seen;
            self.len += 1;
        }
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[Observation] {
        &self.items[..self.len.min(MOST)]
    }

    #[inline]
    pub(super) fn as_mut_slice(&mut self) -> &mut [Observation] {
        &mut self.items[..self.len.min(MOST)]
    }
}

/// What a rule needs to add the observations of one packet.
pub(super) struct Gather<'a> {
    ids: &'a Ids,
    pub(super) flow: Flow,
    pub(super) at: Timestamp,
    seen: &'a mut Seen,
}

impl<'a> Gather<'a> {
    /// Forgets what the last packet was.
    #[inline]
    pub(super) fn new(ids: &'a Ids, flow: Flow, at: Timestamp, seen: &'a mut Seen) -> Self {
        seen.len = 0;
        Self { ids, flow, at, seen }
    }

    /// The same for a function that is not inlined: this one stays in registers.
    #[inline]
    pub(super) fn again(&mut self) -> Gather<'_> {
        Gather { ids: self.ids, flow: self.flow, at: self.at, seen: self.seen }
    }

    /// The packet asks: its sender is who asked.
    #[inline]
    pub(super) fn request(&mut self, exchange: Exchange, word: u64, token: u32) {
        let sighting = self.sighting(exchange, self.flow.sender, word, token);
        self.seen.push(Observation::Request(sighting));
    }

    /// The packet answers: its receiver is who asked.
    #[inline]
    pub(super) fn response(&mut self, exchange: Exchange, word: u64, token: u32) {
        let sighting = self.sighting(exchange, self.flow.receiver, word, token);
        self.seen.push(Observation::Response(sighting));
    }

    /// The packet answers an earlier one of the same sender.
    #[inline]
    pub(super) fn own_response(&mut self, exchange: Exchange, word: u64) {
        let sighting = self.sighting(exchange, self.flow.sender, word, 0);
        self.seen.push(Observation::Response(sighting));
    }

    /// The packet asks for something that either side may answer.
    #[inline]
    pub(super) fn shared_request(&mut self, exchange: Exchange) {
        let sighting = self.sighting(exchange, 0, 0, 0);
        self.seen.push(Observation::Request(sighting));
    }

    /// The packet answers, whichever side asked.
    #[inline]
    pub(super) fn shared_response(&mut self, exchange: Exchange) {
        let sighting = self.sighting(exchange, 0, 0, 0);
        self.seen.push(Observation::Response(sighting));
    }

    #[inline]
    fn sighting(&self, exchange: Exchange, side: usize, word: u64, token: u32) -> Sighting {
        let (matching, leg) = exchange.series();
        let id = self.ids.id(self.flow.hash, exchange, side, word);
        Sighting { id, at: self.at, token, series: Series { matching, leg, group: 0 } }
    }
}
