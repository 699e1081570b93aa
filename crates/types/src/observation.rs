use crate::Timestamp;
use core::fmt;

/// A seeded 64-bit hash that a request and its response share, whatever the protocol.
///
/// Its upper half decides whether a sketch admits it: exchanges that are to be admitted together, or not at all, share
/// that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub u64);

/// What the ids of [`Match::TcpAck`] are made of. Those of every other rule are hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdForm {
    /// A hash of everything that the rule names.
    #[default]
    Hashed,
    /// For methods that follow sequence numbers. Upper half: a hash of the flow and of who asks. Lower half: the
    /// sequence number after the segment, or the acknowledgement number. [`Sighting::token`] of a request is the
    /// sequence number of the segment, and of a response 1 if its packet takes sequence space itself, else 0. A SYN
    /// asks for nothing here: it is a request without length, which says where the numbers begin.
    Plain,
}

/// One packet, or one line of a log, as pairing sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// Something that may be answered.
    Request(Sighting),
    /// Something that may be an answer.
    Response(Sighting),
}

/// Takes the observations of packets, one after another in the order of time.
///
/// A trait, so that a meter's way of taking one is inlined where it is made; any closure is one too.
pub trait Sink {
    /// Takes the next observation.
    fn take(&mut self, seen: Observation);

    /// Takes it if it is one: where about half are, a meter can do without a branch that is often foretold wrongly.
    #[inline(always)]
    fn take_if(&mut self, wanted: bool, seen: Observation) {
        if wanted {
            self.take(seen);
        }
    }

    /// Offers two responses of one rule, of these series, whose ids have the upper half of this one: whether they would
    /// be taken. If not, this call has counted them, and they need not be given.
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

/// What is known of a request or response when it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Shared by a request and its response.
    pub id: ExchangeId,
    /// When it was seen.
    pub at: Timestamp,
    /// Tells repeated requests apart: a response carrying the token of one of them answers that one. Zero where the
    /// protocol has none. Filled for TCP handshakes from the timestamp option (RFC 7323): TSval of the SYN and TSecr of
    /// the SYN-ACK, TSval of the SYN-ACK and TSecr of the ACK. Another thing with [`IdForm::Plain`].
    pub token: u32,
    /// Which line of the report it counts for.
    pub series: Series,
}

/// Which line of the report a sighting counts for: a response counts its exchange in the series of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// The rule that pairs.
    pub matching: Match,
    /// Which part of the way.
    pub leg: Leg,
    /// Index of the group, `0..Series::GROUPS`; zero is "all", or with grouping "other".
    pub group: u16,
}

impl Series {
    /// How many groups a series can tell apart: 13 bits.
    pub const GROUPS: u16 = 1 << 13;
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
    /// SYN → first FIN or RST of either side.
    TcpFlow,
    /// Query → response, over UDP or TCP.
    Dns,
    /// Client or symmetric-active packet → the packet whose originate timestamp names it.
    Ntp,
    /// Echo request → echo reply.
    IcmpEcho,
    /// One edge of the QUIC spin bit → the next edge in the same direction.
    QuicSpin,
    /// Requests and responses from a log, not from packets.
    Events,
}

/// What a request means that repeats the id of an open one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// A retransmission: the response may answer either.
    Ambiguous,
    /// Nothing: only the first of equal requests counts, even after it was answered.
    Ignored,
}

impl Match {
    /// Every rule, in the order of reports; `Match::ALL[m as usize] == m`.
    pub const ALL: [Self; 9] = [
        Self::TcpHandshake,
        Self::TcpAck,
        Self::TcpTs,
        Self::TcpFlow,
        Self::Dns,
        Self::Ntp,
        Self::IcmpEcho,
        Self::QuicSpin,
        Self::Events,
    ];

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
            Self::TcpFlow => "tcp-flow",
            Self::Dns => "dns",
            Self::Ntp => "ntp",
            Self::IcmpEcho => "icmp-echo",
            Self::QuicSpin => "quic-spin",
            Self::Events => "events",
        }
    }

    /// What a repeated request means under this rule.
    pub const fn repeat(self) -> Repeat {
        match self {
            // Many segments carry the same TSval, and every edge of a spin bit has its own number.
            Self::TcpTs | Self::QuicSpin => Repeat::Ignored,
            _ => Repeat::Ambiguous,
        }
    }

    /// Whether its requests have tokens.
    pub const fn has_tokens(self) -> bool {
        matches!(self, Self::TcpHandshake)
    }

    /// The legs of its exchanges, in the order of reports; `has_inside` where inside and outside are told apart.
    pub const fn legs(self, has_inside: bool) -> &'static [Leg] {
        match (self, has_inside) {
            (Self::Events, _) => &[Leg::Both],
            (Self::TcpHandshake, false) => &[Leg::Beyond, Leg::Before, Leg::Sum],
            (Self::TcpHandshake, true) => &[Leg::Outward, Leg::Inward, Leg::Inside, Leg::Outside, Leg::Sum],
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

/// Which part of the way an exchange measures, as seen from the point of observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Leg {
    /// Requests of both directions together: which side is which is not known.
    Both,
    /// Handshakes: from the point to the server and back.
    Beyond,
    /// Handshakes: from the point to the client and back.
    Before,
    /// Handshakes: both of these, as the client waits.
    Sum,
    /// `--inside`: the request went from inside to outside.
    Outward,
    /// `--inside`: the request came from outside to inside.
    Inward,
    /// `--inside`: both ends are inside.
    Inside,
    /// `--inside`: both ends are outside.
    Outside,
}

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
