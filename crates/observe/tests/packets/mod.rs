//! Random packets with known fields: a description, its bytes, and what a parser must find in them.

use dwell_observe::packet::{Packet, Tcp, Transport};
use dwell_observe::pair::PORTS;
use dwell_observe::parse::{Key, Reject, is_tunnel_port};
use dwell_types::{FlowKey, LinkType, protocol};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A packet: its link type, its headers from the outside in, and what the innermost IP header carries.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) link: LinkType,
    pub(crate) layers: Vec<Layer>,
    pub(crate) body: Body,
    /// Bytes after the packet that belong to the link layer.
    pub(crate) padding: usize,
}

/// A header.
#[derive(Clone, Debug)]
pub(crate) enum Layer {
    /// With `snap`, IEEE 802.3 with a length, LLC and SNAP; else Ethernet II.
    Ethernet {
        snap: bool,
    },
    Vlan {
        ether_type: u16,
        id: u16,
    },
    /// A stack of this many labels.
    Mpls {
        labels: u8,
    },
    /// Between MPLS and Ethernet.
    ControlWord,
    /// The instance tag of IEEE 802.1ah, in front of Ethernet.
    ProviderBridge,
    /// Cisco's tag, in front of Ethernet.
    FabricPath,
    /// A tag of this type and these bytes, in front of a type.
    Tag(u16, Vec<u8>),
    /// Cisco's metadata in GRE, behind the type of what it carries.
    Metadata,
    Pppoe,
    Ppp {
        framed: bool,
        compressed: bool,
    },
    /// Cisco HDLC, to one or to all.
    Hdlc {
        multicast: bool,
    },
    /// What some link types put before the frame.
    Before(Vec<u8>),
    /// Ethernet with a switch's tag behind the addresses.
    Tagged(Vec<u8>),
    /// A header of IEEE 802.11, with this before it, and SNAP.
    Wireless(Vec<u8>),
    Cooked,
    Cooked2,
    /// The address family of IPv6 on some system; that of IPv4 is 2 everywhere.
    Loopback {
        ipv6: u32,
        big_endian: bool,
    },
    /// The header of NFLOG, attributes of these lengths, and that of the packet.
    Logged {
        attributes: Vec<u8>,
        big_endian: bool,
    },
    Ip(Ip),
    /// Ethernet directly over IP.
    EthernetInIp,
    Gre {
        checksum: bool,
        key: bool,
        sequence: bool,
    },
    /// GRE and the mirror header of type II.
    Erspan,
    /// GRE version 1.
    Pptp {
        acknowledges: bool,
    },
    /// UDP and VXLAN.
    Vxlan,
    /// UDP and VXLAN-GPE; without the type of what follows, only for Ethernet.
    VxlanGpe {
        named: bool,
    },
    /// UDP to the port for MPLS labels.
    MplsInUdp,
    /// UDP and Geneve with this many words of options.
    Geneve {
        options: u8,
    },
    /// UDP and L2TP with this many bytes of padding.
    L2tp {
        length: bool,
        sequenced: bool,
        padding: Option<u8>,
    },
    /// UDP and GTP-U with extension headers of these lengths in words.
    GtpU {
        sequenced: bool,
        extensions: Vec<u8>,
    },
}

/// An IPv4 or IPv6 header.
#[derive(Clone, Debug)]
pub(crate) struct Ip {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) dscp: u8,
    /// IPv4 only: number of words of options.
    pub(crate) options: u8,
    /// IPv6 only: protocol numbers of extension headers, and the length field of each.
    pub(crate) extensions: Vec<(u8, u8)>,
}

/// The transport header and its payload.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Tcp { ports: [u16; 2], sequence: u32, acknowledgement: u32, flags: u8, options: TcpOptions, payload: Vec<u8> },
    Udp { ports: [u16; 2], payload: Vec<u8> },
    Icmp { payload: Vec<u8> },
}

/// The option lists that common TCP stacks send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TcpOptions {
    None,
    /// Two no-operations, timestamps.
    Timestamps(u32, u32),
    /// Maximum segment size, SACK permitted, timestamps, no-operation, window scale.
    Syn(u32, u32),
    /// Maximum segment size only.
    SegmentSize,
    /// A SACK block between no-operations, then timestamps.
    Sack(u32, u32),
}

impl TcpOptions {
    fn bytes(self) -> Vec<u8> {
        let stamps = |value: u32, echo: u32| [&[8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat();
        match self {
            Self::None => vec![],
            Self::Timestamps(value, echo) => [vec![1, 1], stamps(value, echo)].concat(),
            Self::Syn(value, echo) => [vec![2, 4, 5, 180, 4, 2], stamps(value, echo), vec![1, 3, 3, 7]].concat(),
            Self::SegmentSize => vec![2, 4, 5, 180],
            Self::Sack(value, echo) => {
                [vec![1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9], stamps(value, echo), vec![0, 0]].concat()
            }
        }
    }

    fn timestamps(self) -> Option<(u32, u32)> {
        match self {
            Self::Timestamps(value, echo) | Self::Syn(value, echo) | Self::Sack(value, echo) => Some((value, echo)),
            Self::None | Self::SegmentSize => None,
        }
    }
}

/// The type of the header at the front of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ipv4,
    Ipv6,
    Ethernet,
    Ppp,
    EtherType(u16),
    Protocol(u8),
    /// Known only from the link type.
    Link,
}

const MPLS: u16 = 0x8847;
const PPPOE: u16 = 0x8864;
const PROVIDER_BRIDGE: u16 = 0x88e7;

impl Kind {
    fn ether_type(self) -> u16 {
        match self {
            Self::Ipv4 => 0x0800,
            Self::Ipv6 => 0x86dd,
            Self::Ethernet => 0x6558,
            Self::Ppp => 0x880b,
            Self::EtherType(number) => number,
            Self::Protocol(_) | Self::Link => panic!("{self:?} has no Ethernet type"),
        }
    }

    fn protocol(self) -> u8 {
        match self {
            Self::Ipv4 => 4,
            Self::Ipv6 => 41,
            Self::EtherType(MPLS) => 137,
            Self::Protocol(number) => number,
            _ => panic!("{self:?} has no IP protocol number"),
        }
    }

    fn ppp(self) -> u16 {
        match self {
            Self::Ipv4 => 0x0021,
            Self::Ipv6 => 0x0057,
            Self::EtherType(MPLS) => 0x0281,
            _ => panic!("{self:?} has no PPP protocol number"),
        }
    }

    fn vxlan_gpe(self) -> u8 {
        match self {
            Self::Ipv4 => 1,
            Self::Ipv6 => 2,
            Self::Ethernet => 3,
            _ => panic!("{self:?} has no number in VXLAN-GPE"),
        }
    }
}

fn with_udp(port: u16, payload: Vec<u8>) -> (Kind, Vec<u8>) {
    let mut udp = TUNNEL_SOURCE.to_be_bytes().to_vec();
    udp.extend(port.to_be_bytes());
    udp.extend((payload.len() as u16 + 8).to_be_bytes());
    udp.extend([0, 0]);
    (Kind::Protocol(protocol::UDP), [udp, payload].concat())
}

/// The source port of UDP tunnels.
const TUNNEL_SOURCE: u16 = 49_152;

impl Layer {
    /// The destination port, if this is a UDP tunnel.
    fn port(&self) -> Option<u16> {
        match self {
            Self::Vxlan => Some(4789),
            Self::VxlanGpe { .. } => Some(4790),
            Self::MplsInUdp => Some(6635),
            Self::Geneve { .. } => Some(6081),
            Self::L2tp { .. } => Some(1701),
            Self::GtpU { .. } => Some(2152),
            _ => None,
        }
    }

    /// Prepends this header.
    fn wrap(&self, kind: Kind, inside: Vec<u8>) -> (Kind, Vec<u8>) {
        let front = |header: Vec<u8>| [header, inside.clone()].concat();
        let behind = |header: &[u8], number: u16| [header, &number.to_be_bytes()].concat();
        match self {
            Self::Ethernet { snap: false } => (Kind::Ethernet, front(behind(&[2; 12], kind.ether_type()))),
            Self::Ethernet { snap: true } => {
                let header =
                    [behind(&[2; 12], inside.len() as u16 + 8), behind(&[0xaa, 0xaa, 3, 0, 0, 0], kind.ether_type())];
                (Kind::Ethernet, front(header.concat()))
            }
            Self::Vlan { ether_type, id } => {
                (Kind::EtherType(*ether_type), front(behind(&(id | 0x2000).to_be_bytes(), kind.ether_type())))
            }
            Self::Mpls { labels } => {
                let stack = (1..=*labels).flat_map(|i| [0x12, 0x34, 0x50 | u8::from(i == *labels), 64]);
                (Kind::EtherType(MPLS), front(stack.collect()))
            }
            Self::ControlWord => (Kind::Ethernet, front(vec![0; 4])),
            Self::ProviderBridge => (Kind::EtherType(PROVIDER_BRIDGE), front(vec![0x20, 0, 1, 7])),
            Self::FabricPath => (Kind::EtherType(0x8903), front(vec![0, 0x5f])),
            Self::Tag(ether_type, tag) => (Kind::EtherType(*ether_type), front(behind(tag, kind.ether_type()))),
            Self::Metadata => {
                let header = [&kind.ether_type().to_be_bytes()[..], &[1, 1, 0, 1, 0, 9]].concat();
                (Kind::EtherType(0x8909), front(header))
            }
            Self::Pppoe => (Kind::EtherType(PPPOE), front(behind(&[0x11, 0, 0, 7], inside.len() as u16))),
            Self::Ppp { framed, compressed } => {
                let address: &[u8] = if *framed { &[0xff, 3] } else { &[] };
                let number = kind.ppp();
                let header = match compressed {
                    true if number < 0x100 => [address, &[number as u8]].concat(),
                    _ => behind(address, number),
                };
                (Kind::Ppp, front(header))
            }
            Self::Hdlc { multicast } => {
                let address = if *multicast { 0x8f } else { 0x0f };
                (Kind::Link, front(behind(&[address, 0], kind.ether_type())))
            }
            Self::Before(header) => (Kind::Link, front(header.clone())),
            Self::Tagged(tag) => (Kind::Link, front(behind(&[&[2; 12], &tag[..]].concat(), kind.ether_type()))),
            Self::Wireless(header) => {
                (Kind::Link, front(behind(&[&header[..], &[0xaa, 0xaa, 3, 0, 0, 0]].concat(), kind.ether_type())))
            }
            Self::Cooked => (Kind::Link, front(behind(&[0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0], kind.ether_type()))),
            Self::Cooked2 => {
                let rest = [0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0];
                (Kind::Link, front([&kind.ether_type().to_be_bytes()[..], &rest].concat()))
            }
            Self::Loopback { ipv6, big_endian } => {
                let family = if kind == Kind::Ipv4 { 2 } else { *ipv6 };
                let header = if *big_endian { family.to_be_bytes() } else { family.to_le_bytes() };
                (Kind::Link, front(header.to_vec()))
            }
            Self::Logged { attributes, big_endian } => {
                let attribute = |kind: u16, length: usize| {
                    let header = [length as u16 + 4, kind];
                    header.map(|n| if *big_endian { n.to_be_bytes() } else { n.to_le_bytes() }).concat()
                };
                let mut header = vec![2, 0, 0, 5];
                for &length in attributes {
                    header.extend(attribute(10, length.into()));
                    header.resize(header.len() + usize::from(length).next_multiple_of(4), 0);
                }
                header.extend(attribute(9, inside.len()));
                (Kind::Link, front(header))
            }
            Self::Ip(ip) => ip.wrap(kind.protocol(), inside),
            Self::EthernetInIp => (Kind::Protocol(97), front(vec![0x30, 0])),
            Self::Gre { checksum, key, sequence } => {
                let bits = u8::from(*checksum) << 7 | u8::from(*key) << 5 | u8::from(*sequence) << 4;
                let mut header = behind(&[bits, 0], kind.ether_type());
                header.resize(4 + 4 * bits.count_ones() as usize, 0x45);
                (Kind::Protocol(47), front(header))
            }
            Self::Erspan => {
                let header = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 7, 0, 7, 0, 0, 0, 1];
                (Kind::Protocol(47), front(header.to_vec()))
            }
            Self::Pptp { acknowledges } => {
                let mut header = vec![0x30, 1 | u8::from(*acknowledges) << 7, 0x88, 0x0b];
                header.extend((inside.len() as u16).to_be_bytes());
                header.extend([0, 7, 0, 0, 0, 1]);
                if *acknowledges {
                    header.extend([0, 0, 0, 2]);
                }
                (Kind::Protocol(47), front(header))
            }
            Self::Vxlan => with_udp(4789, front(vec![8, 0, 0, 0, 0, 0, 7, 0])),
            Self::VxlanGpe { named: false } => with_udp(4790, front(vec![8, 0, 0, 0, 0, 0, 7, 0])),
            Self::VxlanGpe { named: true } => with_udp(4790, front(vec![12, 0, 0, kind.vxlan_gpe(), 0, 0, 7, 0])),
            Self::MplsInUdp => with_udp(6635, inside),
            Self::Geneve { options } => {
                let mut header = behind(&[*options, 0], kind.ether_type());
                header.extend([0, 0, 7, 0]);
                header.resize(8 + 4 * usize::from(*options), 0x45);
                with_udp(6081, front(header))
            }
            Self::L2tp { length, sequenced, padding } => {
                let mut rest = vec![0, 7, 0, 9];
                if *sequenced {
                    rest.extend([0, 1, 0, 0]);
                }
                if let Some(padding) = padding {
                    rest.extend([0, *padding]);
                    rest.resize(rest.len() + usize::from(*padding), 0x45);
                }
                let bits = u8::from(*length) << 6 | u8::from(*sequenced) << 3 | u8::from(padding.is_some()) << 1;
                let mut header = vec![bits, 2];
                if *length {
                    header.extend((4 + rest.len() as u16 + inside.len() as u16).to_be_bytes());
                }
                header.extend(rest);
                with_udp(1701, front(header))
            }
            Self::GtpU { sequenced, extensions } => {
                const EXTENSION: u8 = 0x85;
                let mut options = vec![];
                if *sequenced || !extensions.is_empty() {
                    options.extend([0, 1, 0, if extensions.is_empty() { 0 } else { EXTENSION }]);
                }
                for (i, words) in extensions.iter().enumerate() {
                    let end = options.len() + 4 * usize::from(*words);
                    options.push(*words);
                    options.resize(end, 0);
                    options[end - 1] = if i + 1 < extensions.len() { EXTENSION } else { 0 };
                }
                let bits = u8::from(!extensions.is_empty()) << 2 | u8::from(*sequenced) << 1;
                let length = (options.len() + inside.len()) as u16;
                let header = [behind(&[0x30 | bits, 255], length), vec![0, 0, 0, 7], options].concat();
                with_udp(2152, front(header))
            }
        }
    }
}

impl Ip {
    fn wrap(&self, protocol: u8, inside: Vec<u8>) -> (Kind, Vec<u8>) {
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let header_length = 20 + 4 * usize::from(self.options);
                let total = (header_length + inside.len()) as u16;
                let mut header = vec![0x45 + self.options, self.dscp << 2];
                header.extend(total.to_be_bytes());
                header.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
                header.extend(source.octets());
                header.extend(destination.octets());
                header.resize(header_length, 1);
                (Kind::Ipv4, [header, inside].concat())
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let (mut next, mut inside) = (protocol, inside);
                for &(extension, length) in self.extensions.iter().rev() {
                    let bytes = match extension {
                        // The length of an authentication header counts words of four bytes, without the first two.
                        51 => 4 * (usize::from(length) + 2),
                        // A fragment header of a packet that is not fragmented.
                        44 => 8,
                        _ => 8 * (usize::from(length) + 1),
                    };
                    let mut header = vec![next, if extension == 44 { 0 } else { length }];
                    // A routing header of a type for experiments: those that are known may name another destination.
                    header.push(if extension == 43 { 253 } else { 0 });
                    header.resize(bytes, 0);
                    (next, inside) = (extension, [header, inside].concat());
                }
                let first = 6 << 28 | u32::from(self.dscp) << 22;
                let mut header = first.to_be_bytes().to_vec();
                header.extend((inside.len() as u16).to_be_bytes());
                header.extend([next, 64]);
                header.extend(source.octets());
                header.extend(destination.octets());
                (Kind::Ipv6, [header, inside].concat())
            }
            mixed => panic!("addresses of two versions: {mixed:?}"),
        }
    }
}

impl Body {
    fn wrap(&self, ipv6: bool) -> (Kind, Vec<u8>) {
        match self {
            Self::Tcp { ports, sequence, acknowledgement, flags, options, payload } => {
                let options = options.bytes();
                let mut tcp: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
                tcp.extend(sequence.to_be_bytes());
                tcp.extend(acknowledgement.to_be_bytes());
                tcp.extend([(5 + options.len() as u8 / 4) << 4, *flags, 1, 0, 0, 0, 0, 0]);
                (Kind::Protocol(protocol::TCP), [tcp, options, payload.clone()].concat())
            }
            Self::Udp { ports, payload } => {
                let mut udp: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
                udp.extend((payload.len() as u16 + 8).to_be_bytes());
                udp.extend([0, 0]);
                (Kind::Protocol(protocol::UDP), [udp, payload.clone()].concat())
            }
            Self::Icmp { payload } => {
                let protocol = if ipv6 { protocol::ICMPV6 } else { protocol::ICMP };
                (Kind::Protocol(protocol), payload.clone())
            }
        }
    }

    /// The TCP options.
    fn options(&self) -> Vec<u8> {
        if let Self::Tcp { options, .. } = self { options.bytes() } else { vec![] }
    }

    fn transport<'a>(&'a self, bytes: &'a [u8]) -> Transport<'a> {
        match self {
            Self::Tcp { sequence, acknowledgement, flags, options, payload, .. } => {
                let segment = Tcp {
                    sequence: *sequence,
                    acknowledgement: *acknowledgement,
                    flags: *flags,
                    payload_length: payload.len() as u32,
                    is_header_cut: false,
                    options: bytes,
                    payload,
                };
                assert_eq!(segment.timestamps(), options.timestamps());
                Transport::Tcp(segment)
            }
            Self::Udp { payload, .. } => Transport::Udp(payload),
            Self::Icmp { payload } => Transport::Icmp(payload),
        }
    }
}

impl Sample {
    /// The bytes of the frame.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.suffix(0);
        bytes.resize(bytes.len() + self.padding, 0xee);
        bytes
    }

    /// The bytes of the layers from this index on, and of the body.
    fn suffix(&self, from: usize) -> Vec<u8> {
        let innermost = self.ips().last().expect("a sample has an IP header").1;
        let body = self.body.wrap(innermost.source.is_ipv6());
        let wrapped = self.layers[from..].iter().rev().fold(body, |(kind, inside), layer| layer.wrap(kind, inside));
        wrapped.1
    }

    /// The IP headers with their indices among the layers, the outermost first.
    fn ips(&self) -> impl Iterator<Item = (usize, &Ip)> {
        self.layers.iter().enumerate().filter_map(|(i, layer)| match layer {
            Layer::Ip(ip) => Some((i, ip)),
            _ => None,
        })
    }

    /// Whether there are headers between the outermost IP header and the body.
    pub(crate) fn has_tunnel(&self) -> bool {
        self.ips().next().is_some_and(|(i, _)| i + 1 < self.layers.len())
    }

    /// Passes what a parser must find to `check`, by closure since the packet borrows from local bytes.
    pub(crate) fn expect(&self, key: Key, check: impl FnOnce(Result<Packet<'_>, Reject>)) {
        let mut ips = self.ips();
        let (place, ip) = match key {
            Key::Inner => ips.last(),
            Key::Outer => ips.next(),
        }
        .expect("a sample has an IP header");
        let vlan = self.layers[..place].iter().find_map(|layer| match layer {
            Layer::Vlan { id, .. } => Some(*id),
            _ => None,
        });
        let packet = |protocol, [source_port, destination_port]: [u16; 2], transport| Packet {
            flow: FlowKey {
                source: ip.source.into(),
                destination: ip.destination.into(),
                source_port,
                destination_port,
                protocol,
            },
            vlan,
            dscp: ip.dscp,
            identification: u64::from(ip.source.is_ipv4()),
            length: self.suffix(place).len() as u32,
            is_cut: false,
            transport,
        };
        match self.layers.get(place + 1) {
            None => {
                let (protocol, ports) = match &self.body {
                    Body::Tcp { ports, .. } => (protocol::TCP, *ports),
                    Body::Udp { ports, .. } => (protocol::UDP, *ports),
                    Body::Icmp { .. } if ip.source.is_ipv4() => (protocol::ICMP, [0; 2]),
                    Body::Icmp { .. } => (protocol::ICMPV6, [0; 2]),
                };
                let options = self.body.options();
                check(Ok(packet(protocol, ports, self.body.transport(&options))));
            }
            Some(tunnel) => match tunnel.port() {
                Some(port) => {
                    let datagram = self.suffix(place + 1);
                    check(Ok(packet(protocol::UDP, [TUNNEL_SOURCE, port], Transport::Udp(&datagram[8..]))));
                }
                None => check(Err(Reject::Transport)),
            },
        }
    }
}

fn ip(extensible: bool) -> impl Strategy<Value = Ip> {
    let addresses = prop_oneof![
        any::<[u32; 2]>().prop_map(|both| both.map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))),
        // Not IPv4-mapped: the parser would take that for an IPv4 address.
        any::<[[u8; 15]; 2]>().prop_map(|both| {
            both.map(|low| {
                let mut octets = [0x20; 16];
                octets[1..].copy_from_slice(&low);
                IpAddr::V6(Ipv6Addr::from(octets))
            })
        }),
    ];
    let extension =
        prop_oneof![(Just(0), 0..4u8), (Just(43), 0..4u8), (Just(60), 0..4u8), (Just(51), 1..7u8), Just((44, 0))];
    let most = if extensible { 4u8 } else { 0 };
    (addresses, 0..64u8, 0..=most, vec(extension, 0..=usize::from(most))).prop_map(
        |([source, destination], dscp, options, mut extensions)| {
            // Hop-by-hop options come first or not at all.
            for (kind, _) in extensions.iter_mut().skip(1) {
                if *kind == 0 {
                    *kind = 60;
                }
            }
            Ip { source, destination, dscp, options, extensions }
        },
    )
}

/// TCP, UDP or ICMP; no tunnel.
pub(crate) fn body() -> impl Strategy<Value = Body> {
    let options = (0..5, any::<u32>(), any::<u32>()).prop_map(|(choice, value, echo)| match choice {
        0 => TcpOptions::None,
        1 => TcpOptions::Timestamps(value, echo),
        2 => TcpOptions::Syn(value, echo),
        3 => TcpOptions::SegmentSize,
        _ => TcpOptions::Sack(value, echo),
    });
    let port = any::<u16>().prop_filter("a tunnel's port", |port| !is_tunnel_port(*port));
    let port = prop_oneof![3 => port, 1 => prop::sample::select(&PORTS[..])];
    let ports = [port.clone(), port];
    let query = [&[0, 17, 0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &[0, 0, 1, 0, 1]].concat();
    let payload = prop_oneof![4 => vec(any::<u8>(), 0..60), 1 => Just(query)];
    prop_oneof![
        3 => (ports.clone(), any::<[u32; 2]>(), any::<u8>(), options, payload).prop_map(
            |(ports, [sequence, acknowledgement], flags, options, payload)| {
                Body::Tcp { ports, sequence, acknowledgement, flags, options, payload }
            }
        ),
        1 => (ports, vec(any::<u8>(), 0..60)).prop_map(|(ports, payload)| Body::Udp { ports, payload }),
        1 => vec(any::<u8>(), 8..60).prop_map(|payload| Body::Icmp { payload }),
    ]
}

fn tags() -> impl Strategy<Value = Vec<Layer>> {
    tags_of(&[0x8100, 0x88a8, 0x9100, 0x9200])
}

fn tags_of(types: &'static [u16]) -> impl Strategy<Value = Vec<Layer>> {
    let tag = (prop::sample::select(types), 0..4096u16);
    vec(tag.prop_map(|(ether_type, id)| Layer::Vlan { ether_type, id }), 0..3)
}

/// Ethernet with or without VLAN tags: supported by other parsers, too.
fn plain_ethernet() -> impl Strategy<Value = Vec<Layer>> {
    tags_of(&[0x8100, 0x88a8, 0x9100]).prop_map(|tags| [vec![Layer::Ethernet { snap: false }], tags].concat())
}

fn ppp() -> impl Strategy<Value = Layer> {
    any::<[bool; 2]>().prop_map(|[framed, compressed]| Layer::Ppp { framed, compressed })
}

fn bare_ppp() -> impl Strategy<Value = Layer> {
    any::<bool>().prop_map(|compressed| Layer::Ppp { framed: false, compressed })
}

fn mpls() -> impl Strategy<Value = Layer> {
    (1..4u8).prop_map(|labels| Layer::Mpls { labels })
}

/// An Ethernet pseudowire.
fn pseudowire() -> impl Strategy<Value = Vec<Layer>> {
    (mpls(), plain_ethernet()).prop_map(|(mpls, inner)| [vec![mpls, Layer::ControlWord], inner].concat())
}

/// Ethernet with everything that may be between it and IP.
fn ethernet() -> impl Strategy<Value = Vec<Layer>> {
    let shims = prop_oneof![
        3 => Just(vec![]),
        1 => mpls().prop_map(|mpls| vec![mpls]),
        1 => pseudowire(),
        1 => bare_ppp().prop_map(|ppp| vec![Layer::Pppoe, ppp]),
        1 => plain_ethernet().prop_map(|inner| [vec![Layer::ProviderBridge], inner].concat()),
        1 => plain_ethernet().prop_map(|inner| [vec![Layer::FabricPath], inner].concat()),
        1 => prop::sample::select(vec![(0x892f, 4), (0xf1c1, 4), (0x8926, 4), (0x893f, 6), (0x8909, 6)])
            .prop_map(|(ether_type, bytes)| vec![Layer::Tag(ether_type, vec![0x10; bytes])]),
    ];
    (any::<bool>(), tags(), shims)
        .prop_map(|(snap, tags, shims)| [vec![Layer::Ethernet { snap }], tags, shims].concat())
}

/// The headers between one IP header and the next.
fn tunnel() -> impl Strategy<Value = Vec<Layer>> {
    let gre = || any::<[bool; 3]>().prop_map(|[checksum, key, sequence]| vec![Layer::Gre { checksum, key, sequence }]);
    let geneve = || (0..4u8).prop_map(|options| vec![Layer::Geneve { options }]);
    let l2tp = (any::<[bool; 2]>(), prop::option::of(0..9u8)).prop_map(|([length, sequenced], padding)| Layer::L2tp {
        length,
        sequenced,
        padding,
    });
    let gtp_u = (any::<bool>(), vec(1..4u8, 0..3));
    let over = |outer: BoxedStrategy<Vec<Layer>>, inner: BoxedStrategy<Vec<Layer>>| {
        (outer, inner).prop_map(|(outer, inner)| [outer, inner].concat())
    };
    prop_oneof![
        Just(vec![]),
        mpls().prop_map(|mpls| vec![mpls]),
        over(Just(vec![Layer::EthernetInIp]).boxed(), ethernet().boxed()),
        gre(),
        over(gre().boxed(), ethernet().boxed()),
        over(gre().boxed(), Just(vec![Layer::Metadata]).boxed()),
        over(Just(vec![Layer::Erspan]).boxed(), ethernet().boxed()),
        (any::<bool>(), ppp()).prop_map(|(acknowledges, ppp)| vec![Layer::Pptp { acknowledges }, ppp]),
        over(Just(vec![Layer::Vxlan]).boxed(), ethernet().boxed()),
        Just(vec![Layer::VxlanGpe { named: true }]),
        over(any::<bool>().prop_map(|named| vec![Layer::VxlanGpe { named }]).boxed(), ethernet().boxed()),
        mpls().prop_map(|mpls| vec![Layer::MplsInUdp, mpls]),
        over(Just(vec![Layer::MplsInUdp]).boxed(), pseudowire().boxed()),
        (l2tp, ppp()).prop_map(|(l2tp, ppp)| vec![l2tp, ppp]),
        geneve(),
        over(geneve().boxed(), ethernet().boxed()),
        gtp_u.prop_map(|(sequenced, extensions)| vec![Layer::GtpU { sequenced, extensions }]),
    ]
}

/// Frames of every link type with every encapsulation.
pub(crate) fn sample() -> impl Strategy<Value = Sample> {
    let none = || Just(vec![]);
    let ppp = || ppp().prop_map(|ppp| vec![ppp]);
    let loopback = (prop::sample::select(vec![24, 28, 30]), any::<bool>())
        .prop_map(|(ipv6, big_endian)| vec![Layer::Loopback { ipv6, big_endian }]);
    let hdlc = || any::<bool>().prop_map(|multicast| vec![Layer::Hdlc { multicast }]);
    let before = |header: Vec<u8>, inside| [vec![Layer::Before(header)], inside].concat();
    let directed = prop_oneof![ppp(), hdlc()].prop_map(move |inside| before(vec![1], inside));
    let tagged = |link: LinkType, tag: &[u8]| (link, Layer::Tagged(tag.to_vec()));
    let tagged = prop::sample::select(vec![
        tagged(LinkType::MARVELL, &[0xc1, 8, 0x10, 7]),
        tagged(LinkType::MARVELL_TYPED, &[0xda, 0xda, 0, 0, 0xc1, 8, 0x10, 7]),
        tagged(LinkType::BROADCOM, &[0, 0, 0, 8]),
    ]);
    let tagged = (tagged, tags()).prop_map(|((link, tag), tags)| (link, [vec![tag], tags].concat()));
    let named = [&[108, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0][..], &[7; 96]].concat();
    let wrapped = prop::sample::select(vec![
        (LinkType::BROADCOM_PREPENDED, vec![0, 0, 0, 8]),
        (LinkType::JUNIPER_ETHERNET, b"MGC\x81\0\x03\x01\x01\x07".to_vec()),
        (LinkType::JUNIPER_ETHERNET, b"MGC\0".to_vec()),
        (LinkType::PPI, vec![0, 0, 12, 0, 1, 0, 0, 0, 7, 7, 7, 7]),
        (LinkType::PKTAP, named),
    ]);
    let wrapped = (wrapped, ethernet()).prop_map(move |((link, header), inside)| (link, before(header, inside)));
    let data = [&[0x88, 1, 0, 0][..], &[2; 18], &[0x10, 0, 0, 0]].concat();
    let received = [&[0, 0, 8, 0, 0, 0, 0, 0][..], &data].concat();
    let wireless = prop::sample::select(vec![(LinkType::IEEE_802_11, data), (LinkType::RADIOTAP, received)])
        .prop_map(|(link, header)| (link, vec![Layer::Wireless(header)]));
    let logged = (vec(0..9u8, 0..4), any::<bool>())
        .prop_map(|(attributes, big_endian)| vec![Layer::Logged { attributes, big_endian }]);
    let below = prop_oneof![
        6 => (Just(LinkType::ETHERNET), ethernet()),
        1 => (Just(LinkType::LINUX_SLL), tags().prop_map(|tags| [vec![Layer::Cooked], tags].concat())),
        1 => (Just(LinkType::LINUX_SLL2), tags().prop_map(|tags| [vec![Layer::Cooked2], tags].concat())),
        1 => (prop::sample::select(vec![LinkType::RAW, LinkType::RAW_BSD, LinkType::RAW_OPENBSD]), none()),
        1 => (prop::sample::select(vec![LinkType::NULL, LinkType::LOOP]), loopback),
        1 => (prop::sample::select(vec![LinkType::IPV4, LinkType::IPV6]), none()),
        1 => (
            prop::sample::select(vec![LinkType::PPP, LinkType::PPP_HDLC, LinkType::CISCO_HDLC]),
            prop_oneof![ppp(), hdlc()],
        ),
        1 => (
            prop::sample::select(vec![LinkType::PPP_WITH_DIRECTION, LinkType::CISCO_HDLC_WITH_DIRECTION]),
            directed,
        ),
        1 => (Just(LinkType::NFLOG), logged),
        1 => prop_oneof![tagged, wrapped, wireless],
        1 => (Just(LinkType::PPP_ETHER), bare_ppp().prop_map(|ppp| vec![Layer::Pppoe, ppp])),
    ];
    let tunnels = vec((tunnel(), ip(true)), 0..3);
    (below, ip(true), tunnels, body(), 0..20usize).prop_map(
        |((link, mut layers), outermost, tunnels, body, padding)| {
            layers.push(Layer::Ip(outermost));
            for (tunnel, ip) in tunnels {
                layers.extend(tunnel);
                layers.push(Layer::Ip(ip));
            }
            Sample { link, layers, body, padding }
        },
    )
}

/// Ethernet, VLAN tags, one IP header: supported by other parsers, too, and mostly parsed on the common path.
pub(crate) fn plain_sample() -> impl Strategy<Value = Sample> {
    let ip = prop_oneof![ip(false), ip(true)];
    (plain_ethernet(), ip, body(), 0..20usize).prop_map(|(mut layers, ip, body, padding)| {
        layers.push(Layer::Ip(ip));
        Sample { link: LinkType::ETHERNET, layers, body, padding }
    })
}
