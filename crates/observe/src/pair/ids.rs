use dwell_types::{ExchangeId, FlowKey, Leg, Match, hash};

/// What ids are made from: one seeded hash of the flow per packet, the same for both directions, and one start value
/// per kind of exchange and direction.
///
/// `id = hash::word(flow ^ start[exchange][who asked], word)`. `hash::word` is a bijection of the word, so two
/// exchanges of one kind in one flow share an id only if they share the word.
#[derive(Debug)]
pub(super) struct Ids {
    seed: u64,
    starts: [[u64; 2]; Exchange::ALL.len()],
}

/// A kind of exchange with ids of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exchange {
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
}

/// The flow of a packet: its hash, and in which of the two directions it and its answer count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Seeded hash of the undirected key.
    pub(super) hash: u64,
    /// The side that asks if this packet is a request: 1 for the lower endpoint.
    pub(super) sender: usize,
    /// The side that asked if this packet is a response. Equal to `sender` only where both endpoints are the same, as
    /// with a host that pings itself.
    pub(super) receiver: usize,
}

impl Exchange {
    pub(super) const ALL: [Self; 10] = [
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
    ];

    /// The rule that it belongs to, and its leg as long as no inside is named.
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
        }
    }
}

impl Ids {
    pub(super) fn new(seed: u64) -> Self {
        let seed = hash::start(seed);
        let starts = Exchange::ALL
            .map(|exchange| [0, 1].map(|side| hash::finish(hash::absorb(seed, (exchange as u64) << 1 | side))));
        Self { seed, starts }
    }

    /// The same hash for both directions of a flow: `finish(key.undirected().absorb(seed))`.
    #[inline]
    pub(super) fn flow(&self, key: &FlowKey) -> Flow {
        let (source, destination) = (key.source, key.destination);
        if source.is_v4() && destination.is_v4() {
            // Address and port in one number: the order of `FlowKey::is_forward`, without a branch that half of the
            // packets mispredict.
            let sender = (source.halves().1 & 0xffff_ffff) << 16 | u64::from(key.source_port);
            let receiver = (destination.halves().1 & 0xffff_ffff) << 16 | u64::from(key.destination_port);
            let (lower, upper) = (sender.min(receiver), sender.max(receiver));
            let ports = (lower & 0xffff) << 24 | (upper & 0xffff) << 40 | u64::from(key.protocol);
            let state = hash::absorb(self.seed, lower >> 16 << 32 | upper >> 16);
            Flow {
                hash: hash::finish(hash::absorb(state, ports)),
                sender: usize::from(sender <= receiver),
                receiver: usize::from(receiver <= sender),
            }
        } else {
            Flow {
                hash: hash::finish(key.undirected().absorb(self.seed)),
                sender: usize::from(key.is_forward()),
                receiver: usize::from(key.reversed().is_forward()),
            }
        }
    }

    /// The id of the exchange of this kind that `side` of the flow began, and that `word` tells from others.
    #[inline]
    pub(super) fn id(&self, flow: u64, exchange: Exchange, side: usize, word: u64) -> ExchangeId {
        ExchangeId(hash::word(flow ^ self.starts[exchange as usize][side & 1], word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::{Address, protocol};
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

    proptest! {
        #[test]
        fn the_flow_is_that_of_the_undirected_key(key in key(), seed in any::<u64>()) {
            let ids = Ids::new(seed);
            let (there, back) = (ids.flow(&key), ids.flow(&key.reversed()));
            prop_assert_eq!(there.hash, hash::finish(key.undirected().absorb(hash::start(seed))));
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
        fn ids_differ_by_exchange_side_and_word(key in key(), i in 0usize..10, j in 0usize..10, side in 0usize..2,
                                                other in 0usize..2, word in 0u64..4, second in 0u64..4) {
            let ids = Ids::new(1);
            let flow = ids.flow(&key).hash;
            let a = ids.id(flow, Exchange::ALL[i], side, word);
            let b = ids.id(flow, Exchange::ALL[j], other, second);
            prop_assert_eq!(a == b, (i, side, word) == (j, other, second));
        }
    }
}
