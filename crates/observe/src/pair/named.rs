use super::leg::Legs;
use crate::group::PacketGroups;
use crate::role::Role;
use dwell_types::{ExchangeId, Leg, Match, Observation, Series, Sink};

/// Names the legs of a packet's observations and assigns their groups, then passes them on.
pub(super) struct Named<'a, S> {
    /// What the packet's sender is, if that is known and matters.
    pub(super) role: Option<Role>,
    /// `None` if legs are not named.
    pub(super) legs: Option<Legs>,
    /// `None` if there are no groups.
    pub(super) groups: Option<PacketGroups<'a>>,
    pub(super) sink: &'a mut S,
}

impl<S> Named<'_, S> {
    /// A series with its leg named and its group assigned.
    #[inline(always)]
    fn series(&mut self, mut series: Series, is_request: bool) -> Series {
        let own = is_request || is_own(series, self.role);
        if let Some(groups) = &mut self.groups {
            series.group = groups.number(own, is_request);
        }
        if let Some(legs) = &self.legs {
            series.leg = legs.of(series.leg, own);
        }
        series
    }
}

impl<S: Sink> Sink for Named<'_, S> {
    #[inline(always)]
    fn take(&mut self, mut seen: Observation) {
        let is_request = matches!(seen, Observation::Request(_));
        let (Observation::Request(sighting) | Observation::Response(sighting)) = &mut seen;
        sighting.series = self.series(sighting.series, is_request);
        self.sink.take(seen);
    }

    #[inline(always)]
    fn offer_responses(&mut self, id: ExchangeId, [first, second]: [Series; 2]) -> bool {
        let of = [self.series(first, false), self.series(second, false)];
        self.sink.offer_responses(id, of)
    }
}

/// Whether the request that a response of a series answers has the key of the response's packet rather than the
/// reversed one, as far as the packet alone can tell: false for most.
///
/// The *sum* of a handshake ends with a packet from the requesting side, and an edge of the spin bit follows another in
/// the same direction. A `tcp-flow` may be ended by either side, and was requested by the client; where ports tell who that is,
/// it is a guess that decides under which leg or group a response is counted; delays belong to the series of their requests.
#[inline(always)]
fn is_own(series: Series, sender: Option<Role>) -> bool {
    match series {
        Series { matching: Match::QuicSpin, .. } | Series { leg: Leg::Sum, .. } => true,
        Series { matching: Match::TcpFlow, .. } => sender == Some(Role::Client),
        _ => false,
    }
}
