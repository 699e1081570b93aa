use dwell_types::{Address, ExchangeId, FlowKey, Leg, Match, hash};

/// The seeds of ids: an id combines one seeded hash of the flow per packet, the same for both directions, with one
/// start value per kind of exchange and direction.
///
/// `id = hash::word(flow ^ start[kind][requesting side], word)`. `hash::word` is a bijection of the word, so two
/// exchanges of one kind in one flow share an id only if they share the word. The three exchanges of a handshake count
/// as one kind (see [`Handshake`]).
#[derive(Debug)]
pub(super) struct Ids {
    seeds: [u64; 3],
    starts: [[u64; 2]; Kind::ALL.len()],
}

/// A kind of exchange with ids of its own. New ones come last: the position is part of the seed of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Beyond,
    Before,
    Sum,
    Ack,
    Timestamps,
    Lifetime,
    Dns,
    Ntp,
    Echo,
    Spin,
    QuicBeyond,
    QuicBefore,
    QuicSum,
    Response,
}

const _: () = assert!(Kind::ALL.len() == Kind::Response as usize + 1, "every kind is listed");

/// The flow of a packet: its hash, and the requesting side if the packet is a request or a response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Hash of both endpoints, whatever the direction. Not uniform: ids hash it further.
    pub(super) hash: u64,
    /// The requesting side if this packet is a request: `true` for the lower endpoint.
    pub(super) sender: bool,
    /// The requesting side if this packet is a response. Equal to `sender` only if both endpoints are the same, as with
    /// a host that pings itself.
    pub(super) receiver: bool,
}

impl Kind {
    pub(super) const ALL: [Self; 14] = [
        Self::Beyond,
        Self::Before,
        Self::Sum,
        Self::Ack,
        Self::Timestamps,
        Self::Lifetime,
        Self::Dns,
        Self::Ntp,
        Self::Echo,
        Self::Spin,
        Self::QuicBeyond,
        Self::QuicBefore,
        Self::QuicSum,
        Self::Response,
    ];

    /// The rule that it belongs to, and its leg if `--inside` is not given.
    #[inline]
    pub(super) const fn series(self) -> (Match, Leg) {
        match self {
            Self::Beyond => (Match::TcpHandshake, Leg::Beyond),
            Self::Before => (Match::TcpHandshake, Leg::Before),
            Self::Sum => (Match::TcpHandshake, Leg::Sum),
            Self::Ack => (Match::TcpAck, Leg::Both),
            Self::Timestamps => (Match::TcpTs, Leg::Both),
            Self::Lifetime => (Match::TcpFlow, Leg::Both),
            Self::Dns => (Match::Dns, Leg::Both),
            Self::Ntp => (Match::Ntp, Leg::Both),
            Self::Echo => (Match::IcmpEcho, Leg::Both),
            Self::Spin => (Match::QuicSpin, Leg::Both),
            Self::QuicBeyond => (Match::QuicHandshake, Leg::Beyond),
            Self::QuicBefore => (Match::QuicHandshake, Leg::Before),
            Self::QuicSum => (Match::QuicHandshake, Leg::Sum),
            Self::Response => (Match::TcpResponse, Leg::Both),
        }
    }
}

/// The ids of one handshake: the upper half is the same, the lowest two bits distinguish the legs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake(u64);

impl Handshake {
    const LEG: u64 = 0b11;

    #[inline(always)]
    pub(super) const fn beyond(self) -> ExchangeId {
        ExchangeId(self.0 & !Self::LEG)
    }

    #[inline(always)]
    pub(super) const fn sum(self) -> ExchangeId {
        ExchangeId(self.0 & !Self::LEG | 1)
    }

    /// `server`: the server's sequence number after its SYN.
    #[inline(always)]
    pub(super) const fn before(self, server: u32) -> ExchangeId {
        const LOWER: u64 = u32::MAX as u64;
        let lower = hash::word(self.0, server as u64) & LOWER;
        ExchangeId(self.0 & !LOWER | lower & !Self::LEG | 2)
    }
}

impl Ids {
    pub(super) fn new(seed: u64) -> Self {
        let seed = hash::start(seed);
        let seeds = [1, 2, 3].map(|n| hash::word(seed, n));
        let starts =
            Kind::ALL.map(|kind| [0, 1].map(|side| hash::finish(hash::absorb(seed, (kind as u64) << 1 | side))));
        Self { seeds, starts }
    }

    /// The same hash for both directions of a flow: both endpoints, folded.
    #[inline(always)]
    pub(super) fn flow(&self, key: &FlowKey) -> Flow {
        let rest = |port: u16| u64::from(key.protocol) << 48 | u64::from(port);
        let (sender, receiver) = if key.source.is_v4() && key.destination.is_v4() {
            let endpoint = |address: Address, port| (address.halves().1 & 0xffff_ffff) << 16 | rest(port);
            (endpoint(key.source, key.source_port), endpoint(key.destination, key.destination_port))
        } else {
            let endpoint = |address: Address, port| {
                let (high, low) = address.halves();
                hash::fold(high ^ self.seeds[1], low ^ self.seeds[2]) ^ rest(port)
            };
            (endpoint(key.source, key.source_port), endpoint(key.destination, key.destination_port))
        };
        Flow {
            hash: hash::fold(sender ^ self.seeds[0], receiver ^ self.seeds[0]),
            sender: sender <= receiver,
            receiver: sender >= receiver,
        }
    }

    /// The ids of the handshake that `side` of the flow opened with a SYN; `client` is the sequence number after it.
    #[inline(always)]
    pub(super) fn handshake(&self, flow: u64, side: bool, client: u32) -> Handshake {
        Handshake(self.id(flow, Kind::Beyond, side, client.into()).0)
    }

    /// The id of the exchange of this kind that `side` of the flow requested; `word` distinguishes it from others.
    #[inline]
    pub(super) fn id(&self, flow: u64, kind: Kind, side: bool, word: u64) -> ExchangeId {
        ExchangeId(hash::word(flow ^ self.starts[kind as usize][usize::from(side)], word))
    }

    /// The id of the exchange that `side` of the flow requested, with this lower half unhashed (see
    /// [`dwell_types::IdForm`]).
    #[inline]
    pub(super) fn plain(&self, flow: u64, kind: Kind, side: bool, lower: u32) -> ExchangeId {
        ExchangeId(self.id(flow, kind, side, 0).0 >> 32 << 32 | u64::from(lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::protocol;
    use proptest::prelude::*;

    fn address() -> impl Strategy<Value = Address> {
        // Few addresses, so that equal ones occur, and a mapped one from the IPv6 side.
        prop_oneof![
            (0u32..4).prop_map(Address::v4),
            any::<u32>().prop_map(Address::v4),
            any::<[u8; 16]>().prop_map(Address::v6),
            (0u8..4).prop_map(|last| Address::v6([0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last])),
        ]
    }

    prop_compose! {
        fn key()(source in address(), destination in address(), source_port in 0u16..3, destination_port in 0u16..3,
                 tcp in any::<bool>()) -> FlowKey {
            let protocol = if tcp { protocol::TCP } else { protocol::UDP };
            FlowKey { source, destination, source_port, destination_port, protocol }
        }
    }

    /// Ids of flows between structured endpoints fill buckets evenly: χ² over 1,024 buckets has mean 1,023 and standard
    /// deviation 45; 1,023 ± 270 is six of them.
    #[test]
    fn structured_flows_are_hashed_evenly() {
        let ids = Ids::new(5);
        let v6 = |n: u32| {
            let mut address = [0x20; 16];
            address[12..].copy_from_slice(&n.to_be_bytes());
            Address::v6(address)
        };
        for (clients, ports, servers, is_v4) in [
            (1, 60_000, 4, true),
            (1 << 18, 1, 1, true),
            (512, 512, 1, true),
            (1 << 16, 1, 4, false),
            (64, 1024, 4, false),
        ] {
            let address = |n: u32| if is_v4 { Address::v4(0x0a00_0000 + n) } else { v6(n) };
            let (mut high, mut low) = (vec![0f64; 1024], vec![0f64; 1024]);
            let mut n = 0.0;
            for (client, port, server) in every(clients, ports, servers) {
                let key = FlowKey {
                    source: address(client),
                    destination: address(1 << 20 | server),
                    source_port: port as u16,
                    destination_port: 443,
                    protocol: protocol::TCP,
                };
                let id = ids.id(ids.flow(&key).hash, Kind::Lifetime, false, 0).0;
                high[(id >> 54) as usize] += 1.0;
                low[(id & 1023) as usize] += 1.0;
                n += 1.0;
            }
            for buckets in [high, low] {
                let expected = n / 1024.0;
                let chi2: f64 = buckets.iter().map(|c| (c - expected).powi(2) / expected).sum();
                assert!((chi2 - 1023.0).abs() < 270.0, "{clients} {ports} {servers} {is_v4}: χ² = {chi2}");
            }
        }
    }

    fn every(clients: u32, ports: u32, servers: u32) -> impl Iterator<Item = (u32, u32, u32)> {
        (0..clients * ports * servers).map(move |n| (n % clients, n / clients % ports, n / clients / ports))
    }

    proptest! {
        #[test]
        fn both_directions_are_one_flow(key in key(), seed in any::<u64>()) {
            let ids = Ids::new(seed);
            let (there, back) = (ids.flow(&key), ids.flow(&key.reversed()));
            prop_assert_eq!(there.hash, back.hash);
            prop_assert_eq!(there.sender, back.receiver);
            prop_assert_eq!(there.receiver, back.sender);
            prop_assert_eq!(there.sender == there.receiver, key == key.reversed());
        }

        #[test]
        fn different_flows_differ(a in key(), b in key()) {
            let ids = Ids::new(1);
            prop_assert_eq!(ids.flow(&a).hash == ids.flow(&b).hash, a.undirected() == b.undirected());
        }

        #[test]
        fn a_handshake_has_three_ids_with_one_upper_half(flow: u64, side: bool, client: u32, server: u32,
                                                         other: u32) {
            let ids = Ids::new(1).handshake(flow, side, client);
            let three = [ids.beyond(), ids.sum(), ids.before(server)];
            prop_assert!(three.iter().all(|id| id.0 >> 32 == three[0].0 >> 32));
            prop_assert!(three[0] != three[1] && three[1] != three[2] && three[0] != three[2]);
            // Only 30 bits, but this test meets no collision.
            prop_assert_eq!(ids.before(server) == ids.before(other), server == other);
        }

        #[test]
        fn ids_differ_by_kind_side_and_word(key in key(), i in 0..Kind::ALL.len(), j in 0..Kind::ALL.len(),
                                            side: bool, other: bool, word in 0u64..4, second in 0u64..4) {
            let ids = Ids::new(1);
            let flow = ids.flow(&key).hash;
            let a = ids.id(flow, Kind::ALL[i], side, word);
            let b = ids.id(flow, Kind::ALL[j], other, second);
            prop_assert_eq!(a == b, (i, side, word) == (j, other, second));
        }
    }
}
