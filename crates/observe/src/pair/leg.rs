use dwell_types::{FlowKey, Leg, Prefix};

/// The legs of the observations of one packet, by the direction of the request: outward, inward, inside, outside.
pub(super) struct Legs {
    there: Leg,
    back: Leg,
}

impl Legs {
    /// `None` if no prefixes count as inside.
    pub(super) fn new(inside: &[Prefix], packet: &FlowKey) -> Option<Self> {
        if inside.is_empty() {
            return None;
        }
        let is_inside = |address| inside.iter().any(|prefix| prefix.contains(address));
        let there = way(is_inside(packet.source), is_inside(packet.destination));
        let back = match there {
            Leg::Outward => Leg::Inward,
            Leg::Inward => Leg::Outward,
            same => same,
        };
        Some(Self { there, back })
    }

    /// Whether any end of the packet is inside.
    pub(super) fn touch_inside(&self) -> bool {
        self.there != Leg::Outside
    }

    /// What a rule's `leg` is called if the request has the packet's `own` key, or the reversed one. The sum of a handshake
    /// stays the sum; and where both ends are on one side, its way does not tell what is beyond the point from what is
    /// before.
    #[inline(always)]
    pub(super) fn of(&self, leg: Leg, own: bool) -> Leg {
        let way = if own { self.there } else { self.back };
        match (leg, way) {
            (Leg::Sum, _) | (Leg::Beyond | Leg::Before, Leg::Inside | Leg::Outside) => leg,
            _ => way,
        }
    }
}

const fn way(source_inside: bool, destination_inside: bool) -> Leg {
    match (source_inside, destination_inside) {
        (true, false) => Leg::Outward,
        (false, true) => Leg::Inward,
        (true, true) => Leg::Inside,
        (false, false) => Leg::Outside,
    }
}

#[cfg(test)]
mod tests {
    use crate::packet::Tcp;
    use crate::pair::tests::{self, Pair, segment};
    use dwell_types::{FlowKey, Leg, Match, Observation, protocol};

    fn legs(pair: &mut Pair, client: bool, segment: &Tcp<'_>) -> Vec<(char, Match, Leg)> {
        let seen = if client { pair.client(segment) } else { pair.server(segment) };
        let leg = |observation: &Observation| match observation {
            Observation::Request(s) => ('?', s.series.matching, s.series.leg),
            Observation::Response(s) => ('!', s.series.matching, s.series.leg),
        };
        seen.seen.iter().map(leg).collect()
    }

    /// The client of the tests is 10.0.0.1, the server 192.0.2.7.
    #[test]
    fn legs_take_the_way_of_the_request() {
        use Leg::*;
        // The legs of handshakes, and of everything else.
        let cases = [
            (&["10.0.0.0/8"][..], [Outward, Inward], [Outward, Inward]),
            (&["192.0.2.0/24", "2001:db8::/32"][..], [Inward, Outward], [Inward, Outward]),
            (&["10.0.0.0/8", "192.0.2.7"][..], [Beyond, Before], [Inside, Inside]),
            (&["172.16.0.0/12"][..], [Beyond, Before], [Outside, Outside]),
        ];
        let (hs, ack) = (Match::TcpHandshake, Match::TcpAck);
        for (inside, [beyond, before], [there, back]) in cases {
            let mut pair = Pair::inside(&[hs, ack], inside);
            let syn = legs(&mut pair, true, &segment(Tcp::SYN, 1, 0));
            assert_eq!(syn, [('?', hs, beyond), ('?', hs, Sum), ('?', ack, there)], "{inside:?}");
            let answer = legs(&mut pair, false, &segment(Tcp::SYN | Tcp::ACK, 1, 2));
            assert_eq!(
                answer,
                [('!', hs, beyond), ('!', ack, there), ('?', hs, before), ('?', ack, back)],
                "{inside:?}"
            );
            let third = legs(&mut pair, true, &segment(Tcp::ACK, 2, 2));
            assert_eq!(third, [('!', hs, before), ('!', hs, Sum), ('!', ack, back)], "{inside:?}");
        }
    }

    /// Whichever side ends a connection, its leg is that of the SYN, if the client has the higher port, or the SYN-ACK was seen.
    #[test]
    fn connections_have_the_leg_of_their_client() {
        let flow = Match::TcpFlow;
        for (inside, leg) in [("10.0.0.0/8", Leg::Outward), ("192.0.2.0/24", Leg::Inward)] {
            let mut pair = Pair::inside(&[flow], &[inside]);
            assert_eq!(legs(&mut pair, true, &segment(Tcp::SYN, 1, 0)), [('?', flow, leg)]);
            for is_client in [true, false] {
                assert_eq!(legs(&mut pair, is_client, &segment(Tcp::FIN | Tcp::ACK, 2, 2)), [('!', flow, leg)]);
            }
            // A service on a higher port than its client's; sides change if its SYN-ACK is not in the capture.
            for is_accepted in [true, false] {
                let key = FlowKey { destination_port: 50_051, ..tests::flow(protocol::TCP) };
                let mut pair = Pair::inside(&[flow], &[inside]);
                pair.key = key;
                legs(&mut pair, true, &segment(Tcp::SYN, 1, 0));
                if is_accepted {
                    legs(&mut pair, false, &segment(Tcp::SYN | Tcp::ACK, 1, 2));
                }
                for is_client in [true, false] {
                    let [(_, _, of)] = legs(&mut pair, is_client, &segment(Tcp::FIN | Tcp::ACK, 2, 2))[..] else {
                        panic!()
                    };
                    assert_eq!(of == leg, is_accepted, "{inside} {is_client}");
                }
            }
        }
    }

    #[test]
    fn without_prefixes_nothing_is_named() {
        let mut pair = Pair::new(&[Match::TcpAck]);
        assert_eq!(legs(&mut pair, true, &segment(Tcp::SYN, 1, 0)), [('?', Match::TcpAck, Leg::Both)]);
    }
}
