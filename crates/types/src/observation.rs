use crate::{Nanos, Timestamp};
use core::fmt;

/// A seeded 64-bit hash that a request and its response share, whatever the protocol.
///
/// All bits must look random, since meters do not hash them again (a counter must be hashed, as by
/// [`hash::word`](crate::hash::word)). The upper half decides whether a sketch admits the exchange: exchanges that must
/// be admitted together, or not at all, have the same upper half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub u64);

/// How the ids of [`Match::TcpAck`] are built. Those of every other rule are always hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdForm {
    /// A hash of all fields that identify an exchange under the rule.
    #[default]
    Hashed,
    /// For methods that follow sequence numbers. Upper half: a hash of the flow and of the direction of the request.
    /// Lower half: the sequence number after the segment, or the acknowledgement number. [`Sighting::token`] of a
    /// request is the sequence number of the segment; of a response it is 1 if its packet takes sequence space itself,
    /// else 0. A SYN expects no response here: it is a request of length zero, which says where the numbers begin.
    Plain,
}

/// One packet, or one line of a log, as a request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A packet that may be answered.
    Request(Sighting),
    /// A packet that may be the answer to a request.
    Response(Sighting),
}

/// Consumes the observations of packets, one after another in time order.
///
/// A trait rather than a closure type, so that a meter's implementation is inlined at the call; every closure is one
/// too.
pub trait Sink {
    /// Consumes the next observation.
    fn take(&mut self, seen: Observation);

    /// Consumes it if `wanted`. Where about half are wanted, a meter can avoid a branch that is often mispredicted.
    #[inline(always)]
    fn take_if(&mut self, wanted: bool, seen: Observation) {
        if wanted {
            self.take(seen);
        }
    }

    /// Announces two responses of one rule, in these two series, whose ids share the upper half of this one. Returns
    /// whether to pass them to [`Sink::take`]; if not, this call has already counted them, and they must not be passed.
    #[inline(always)]
    fn offer_responses(&mut self, _id: ExchangeId, _of: [Series; 2]) -> bool {
        true
    }
}

impl<F: FnMut(Observation)> Sink for F {
    #[inline(always)]
    fn take(&mut self, seen: Observation) {
        self(seen);
    }
}

/// What is known of a request or response at the moment it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Shared by a request and its response.
    pub id: ExchangeId,
    /// When it was seen.
    pub at: Timestamp,
    /// Distinguishes repeated requests: a response answers the one whose token it carries. Zero where the protocol has
    /// none. Taken from the timestamp option (RFC 7323) for TCP handshakes: TSval of the SYN and TSecr of the SYN-ACK,
    /// TSval of the SYN-ACK and TSecr of the ACK. Has a different meaning with [`IdForm::Plain`].
    pub token: u32,
    /// The line of the report that it counts for.
    pub series: Series,
}

/// The line of the report that a sighting counts for. An exchange counts for the series of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// The pairing rule.
    pub matching: Match,
    /// The part of the path.
    pub leg: Leg,
    /// Index of the group, `0..Series::GROUPS`; zero is [`Series::ALL`], or [`Series::OTHER`] if there are groups.
    pub group: u16,
}

impl Series {
    /// The number of distinct groups: 13 bits.
    pub const GROUPS: u16 = 1 << 13;

    /// The name of the group that everything is in, where there is no grouping.
    pub const ALL: &'static str = "all";

    /// The name of the group that collects all groups, or flows, without a place of their own.
    pub const OTHER: &'static str = "other";
}

/// A rule that pairs requests with responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Match {
    /// SYN → SYN-ACK, SYN-ACK → ACK, and SYN → ACK as their sum.
    TcpHandshake,
    /// A segment that takes sequence space → the first segment that acknowledges exactly its end.
    TcpAck,
    /// First segment with a TSval → first segment that echoes it.
    TcpTs,
    /// End of what a client sends → beginning of what the server sends in response.
    TcpResponse,
    /// SYN → first FIN or RST of either side.
    TcpFlow,
    /// Query → response, over UDP or TCP.
    Dns,
    /// Client or symmetric-active packet → the packet whose originate timestamp names it.
    Ntp,
    /// Echo request → echo reply.
    IcmpEcho,
    /// Client's Initial packet → the server's first packet, that → the client's next packet, and their sum.
    QuicHandshake,
    /// One edge of the QUIC spin bit → the next edge in the same direction.
    QuicSpin,
    /// Requests and responses from a log, not from packets.
    Events,
}

/// How a rule treats a request that repeats the id of an open one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// As a retransmission: the response may answer either.
    Ambiguous,
    /// It is ignored: only the first of equal requests counts, even after it was answered.
    Ignored,
    /// Likewise, but an answered id is forgotten [`Repeat::LONGEST_TICK`] after the answer or the last equal request.
    IgnoredInTick,
}

impl Repeat {
    /// A TSval that was seen is not sent for longer, unless its clock stands still: ticks take a millisecond to a second
    /// (RFC 7323 §5.4).
    pub const LONGEST_TICK: Nanos = Nanos::from_secs(1);

    /// How long an answered request is remembered, where requests are kept for this long.
    #[inline]
    pub fn remembers(self, lifetime: Nanos) -> Nanos {
        if self == Self::IgnoredInTick { lifetime.min(Self::LONGEST_TICK) } else { lifetime }
    }
}

const _: () = assert!(Match::Events as usize + 1 == Match::ALL.len());

impl Match {
    /// Every rule, in the order of reports; `Match::ALL[m as usize] == m`.
    pub const ALL: [Self; 11] = [
        Self::TcpHandshake,
        Self::TcpAck,
        Self::TcpTs,
        Self::TcpResponse,
        Self::TcpFlow,
        Self::Dns,
        Self::Ntp,
        Self::IcmpEcho,
        Self::QuicHandshake,
        Self::QuicSpin,
        Self::Events,
    ];

    /// The rules that are measured unless others are asked for.
    pub const USUAL: [Self; 3] = [Self::TcpHandshake, Self::TcpAck, Self::Dns];

    /// The rules that pair packets, in the same order.
    pub fn of_packets() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|&matching| matching != Self::Events)
    }

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpHandshake => "tcp-handshake",
            Self::TcpAck => "tcp-ack",
            Self::TcpTs => "tcp-ts",
            Self::TcpResponse => "tcp-response",
            Self::TcpFlow => "tcp-flow",
            Self::Dns => "dns",
            Self::Ntp => "ntp",
            Self::IcmpEcho => "icmp-echo",
            Self::QuicHandshake => "quic-handshake",
            Self::QuicSpin => "quic-spin",
            Self::Events => "events",
        }
    }

    /// A number for seeds. Those of existing rules never change, so that a new rule changes no result.
    pub const fn number(self) -> u64 {
        match self {
            Self::TcpHandshake => 0,
            Self::TcpAck => 1,
            Self::TcpTs => 2,
            Self::TcpFlow => 3,
            Self::Dns => 4,
            Self::Ntp => 5,
            Self::IcmpEcho => 6,
            Self::QuicSpin => 7,
            Self::Events => 8,
            Self::QuicHandshake => 9,
            Self::TcpResponse => 10,
        }
    }

    /// How this rule treats a repeated request.
    pub const fn repeat(self) -> Repeat {
        match self {
            // Many segments carry the same TSval, within a tick.
            Self::TcpTs => Repeat::IgnoredInTick,
            // Each edge of a spin bit has a number of its own.
            Self::QuicSpin => Repeat::Ignored,
            Self::TcpHandshake
            | Self::TcpAck
            | Self::TcpResponse
            | Self::TcpFlow
            | Self::Dns
            | Self::Ntp
            | Self::IcmpEcho
            | Self::QuicHandshake
            | Self::Events => Repeat::Ambiguous,
        }
    }

    /// Whether requests of this rule carry tokens.
    pub const fn has_tokens(self) -> bool {
        matches!(self, Self::TcpHandshake)
    }

    /// Whether its exchanges are the legs of handshakes, and their sum.
    pub const fn is_handshake(self) -> bool {
        matches!(self, Self::TcpHandshake | Self::QuicHandshake)
    }

    /// The legs of this rule's exchanges, in the order of reports; `has_inside` if `--inside` separates inside from
    /// outside.
    pub const fn legs(self, has_inside: bool) -> &'static [Leg] {
        match (self, has_inside) {
            (Self::Events, _) => &[Leg::Both],
            (_, false) if self.is_handshake() => &[Leg::Beyond, Leg::Before, Leg::Sum],
            (_, true) if self.is_handshake() => &[Leg::Outward, Leg::Inward, Leg::Beyond, Leg::Before, Leg::Sum],
            (_, false) => &[Leg::Both],
            (_, true) => &[Leg::Outward, Leg::Inward, Leg::Inside, Leg::Outside],
        }
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which part of the path an exchange measures, as seen from the observation point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Leg {
    /// Requests of both directions together, because the sides are not known.
    Both,
    /// Handshakes: from the observation point to the server and back; with `--inside`, of those with both ends on one side.
    Beyond,
    /// Handshakes: from the observation point to the client and back; likewise.
    Before,
    /// Handshakes: the two together, which is how long the client waits.
    Sum,
    /// `--inside`: the request went from inside to outside.
    Outward,
    /// `--inside`: the request came from outside to inside.
    Inward,
    /// `--inside`: both ends are inside. Not of handshakes.
    Inside,
    /// `--inside`: both ends are outside. Not of handshakes.
    Outside,
}

const _: () = assert!(Leg::Outside as usize + 1 == Leg::ALL.len());

impl Leg {
    /// Every leg; `Leg::ALL[l as usize] == l`.
    pub const ALL: [Self; 8] =
        [Self::Both, Self::Beyond, Self::Before, Self::Sum, Self::Outward, Self::Inward, Self::Inside, Self::Outside];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Beyond => "beyond",
            Self::Before => "before",
            Self::Sum => "sum",
            Self::Outward => "outward",
            Self::Inward => "inward",
            Self::Inside => "inside",
            Self::Outside => "outside",
        }
    }
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_in_the_order_of_their_numbers() {
        for (i, &leg) in Leg::ALL.iter().enumerate() {
            assert_eq!(leg as usize, i);
        }
        for (i, &matching) in Match::ALL.iter().enumerate() {
            assert_eq!(matching as usize, i);
        }
    }
}
