use std::fmt;

/// Why a frame yields no packet. The names appear in reports under `frames.rejected`.
///
/// *Truncated* means cut at the snap length: the frame on the wire had the bytes. A header that is longer than the
/// packet itself is an error of the packet, not of the capture, and counts under `link-header`, `ip-header` or
/// `transport-header`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reject {
    /// The capture format stores no time for the frame. Never returned by the parser, only by its caller.
    NoTimestamp,
    /// The link type is not supported.
    LinkType,
    /// The capture is cut inside a header below IP or between two IP headers.
    TruncatedLink,
    /// A header below IP or between two IP headers is longer than what carries it, or has an undefined version or
    /// option.
    LinkHeader,
    /// What the link or the tunnel carries is not IP: ARP, LLDP, spanning tree, PPP control, a PPTP acknowledgement.
    NotIp,
    /// The capture is cut inside an IP header, including IPv6 extension headers.
    TruncatedIp,
    /// The version field of the IP header differs from the announced one, or is neither 4 nor 6.
    IpVersion,
    /// An IP header, extension headers included, that is shorter than its minimum or longer than its packet.
    IpHeader,
    /// A fragment without the transport header, or the first fragment of a TCP segment.
    Fragment,
    /// The IP packet carries none of TCP, UDP and the ICMP of its version: SCTP, ESP, IGMP, no next header.
    Transport,
    /// The capture is cut before the part of the transport header that is needed.
    TruncatedTransport,
    /// A TCP, UDP or ICMP header that is shorter than its minimum or longer than its packet.
    TransportHeader,
    /// More consecutive headers than are followed ([`LAYERS`](super::LAYERS)).
    Layers,
}

impl Reject {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::NoTimestamp,
        Self::LinkType,
        Self::TruncatedLink,
        Self::LinkHeader,
        Self::NotIp,
        Self::TruncatedIp,
        Self::IpVersion,
        Self::IpHeader,
        Self::Fragment,
        Self::Transport,
        Self::TruncatedTransport,
        Self::TransportHeader,
        Self::Layers,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoTimestamp => "no-timestamp",
            Self::LinkType => "link-type",
            Self::TruncatedLink => "truncated-link",
            Self::LinkHeader => "link-header",
            Self::NotIp => "not-ip",
            Self::TruncatedIp => "truncated-ip",
            Self::IpVersion => "ip-version",
            Self::IpHeader => "ip-header",
            Self::Fragment => "fragment",
            Self::Transport => "transport",
            Self::TruncatedTransport => "truncated-transport",
            Self::TransportHeader => "transport-header",
            Self::Layers => "layers",
        }
    }

    /// Whether the frame might have been parsed with a longer snap length.
    pub const fn is_truncated(self) -> bool {
        matches!(self, Self::TruncatedLink | Self::TruncatedIp | Self::TruncatedTransport)
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Reject {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_listed_in_order_with_names_of_their_own() {
        for (i, &reject) in Reject::ALL.iter().enumerate() {
            assert_eq!(reject as usize, i);
            assert!(Reject::ALL[..i].iter().all(|other| other.name() != reject.name()));
        }
        assert_eq!(Reject::Layers as usize + 1, Reject::ALL.len());
    }
}
