use crate::Timestamp;

/// One captured frame, borrowed from the reader's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// When the frame was captured; `None` where the format stores no time (pcapng simple packet blocks).
    pub at: Option<Timestamp>,
    /// The link-layer header that the bytes begin with.
    pub link: LinkType,
    /// The captured bytes, cut at the snap length of the capture.
    pub bytes: &'a [u8],
    /// The frame's length on the wire, in bytes; at least `bytes.len()` in a sane capture.
    pub wire_length: u32,
}

/// A link-layer header type, numbered as in the LINKTYPE registry of the pcap format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: a 4-byte address family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet II and IEEE 802.3.
    pub const ETHERNET: Self = Self(1);
    /// PPP in HDLC-like framing or bare.
    pub const PPP: Self = Self(9);
    /// Raw IPv4 or IPv6, as some BSDs wrote it into files.
    pub const RAW_BSD: Self = Self(12);
    /// Raw IP as OpenBSD numbers it.
    pub const RAW_OPENBSD: Self = Self(14);
    /// PPP in HDLC-like framing (RFC 1662).
    pub const PPP_HDLC: Self = Self(50);
    /// PPP over Ethernet session packets, without the Ethernet header.
    pub const PPP_ETHER: Self = Self(51);
    /// Raw IPv4 or IPv6; the first nibble tells which.
    pub const RAW: Self = Self(101);
    /// Cisco HDLC (RFC 1547 §4.3.1).
    pub const CISCO_HDLC: Self = Self(104);
    /// IEEE 802.11, as Wi-Fi sends it.
    pub const IEEE_802_11: Self = Self(105);
    /// OpenBSD loopback: a 4-byte address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// IEEE 802.11 behind a radiotap header, which says how it was received.
    pub const RADIOTAP: Self = Self(127);
    /// Ethernet as Juniper's routers write it.
    pub const JUNIPER_ETHERNET: Self = Self(178);
    /// Per-packet information: a header that names the link type of what follows.
    pub const PPI: Self = Self(192);
    /// PPP with a direction byte in front.
    pub const PPP_WITH_DIRECTION: Self = Self(204);
    /// Cisco HDLC with a direction byte in front.
    pub const CISCO_HDLC_WITH_DIRECTION: Self = Self(205);
    /// Solaris' IP observability: an address family and more in front of IP.
    pub const IPNET: Self = Self(226);
    /// Raw IPv4, at least the first packet: some writers do not look at the others.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6, likewise.
    pub const IPV6: Self = Self(229);
    /// What Linux' packet filter logs: attributes, one of which is the packet.
    pub const NFLOG: Self = Self(239);
    /// IP over InfiniBand (RFC 4391 §6).
    pub const IP_OVER_INFINIBAND: Self = Self(242);
    /// What Darwin captures on several interfaces: a header that names the link type of what follows.
    pub const PKTAP: Self = Self(258);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
    /// Ethernet with a tag of Broadcom's switches behind the addresses.
    pub const BROADCOM: Self = Self(281);
    /// Ethernet with a tag of Broadcom's switches in front.
    pub const BROADCOM_PREPENDED: Self = Self(282);
    /// Ethernet with a tag of Marvell's switches (DSA) behind the addresses.
    pub const MARVELL: Self = Self(284);
    /// Ethernet with a tag of Marvell's switches behind a type field of its own (EDSA).
    pub const MARVELL_TYPED: Self = Self(285);
}
