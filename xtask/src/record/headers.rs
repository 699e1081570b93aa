//! Parses the headers of frames, as far as the delay line and the truth need them.
//!
//! Deliberately a second, plain parser: the truth must not depend on the code that it is compared with. It only knows
//! what our own hosts send: Ethernet, IPv4 without fragments, IPv6 without extension headers.

use dwell_types::{Address, FlowKey, hash, protocol};

/// The headers of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Addresses and ports as sent; ports are zero for ICMP.
    pub(crate) flow: FlowKey,
    /// The payload of IP.
    pub(crate) message: Message,
}

/// The payload of IP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A TCP segment.
    Tcp(Segment),
    /// A DNS message.
    Dns(Dns),
    /// An NTP packet.
    Ntp { mode: u8, origin: u64, transmit: u64 },
    /// A datagram of QUIC.
    Quic(Quic),
    /// An ICMP or ICMPv6 echo.
    Echo { reply: bool, id: u16, sequence: u16 },
    /// Anything else.
    Other,
}

/// A TCP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    pub(crate) flags: u8,
    /// On the wire, in bytes.
    pub(crate) payload_length: u32,
    /// TSval and TSecr.
    pub(crate) timestamps: Option<(u32, u32)>,
    /// The DNS message that begins in this segment.
    pub(crate) dns: Option<Dns>,
}

/// The identifying fields of a DNS message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dns {
    pub(crate) id: u16,
    pub(crate) response: bool,
    /// Hash of the first question: its name in lower case, type and class.
    pub(crate) question: u64,
}

/// A datagram of QUIC, by its first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quic {
    pub(crate) packet: QuicPacket,
    /// Whether a client sent it.
    pub(crate) is_of_client: bool,
    /// Hashes of the connection ids of its receiver and its sender.
    pub(crate) destination: u64,
    pub(crate) source: u64,
    /// Bytes of an Initial packet after its header, or of the datagram if that is cut.
    pub(crate) length: usize,
}

/// A type of QUIC packet with a long header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuicPacket {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

/// The ports of our servers of QUIC: one begins at once, the other sends a Retry first.
pub(crate) const QUIC_PORTS: [u16; 2] = [443, 8443];

impl Quic {
    /// Whether it begins a handshake or, sent by the server, answers such a packet.
    pub(crate) fn opens(&self) -> bool {
        matches!(self.packet, QuicPacket::Initial | QuicPacket::Retry)
    }

    /// Whether it is a server's Retry or hello. What only acknowledges, with a PING or not, is shorter.
    pub(crate) fn asks_client(&self) -> bool {
        const LEAST_HELLO: usize = 64;
        !self.is_of_client
            && (self.packet == QuicPacket::Retry || self.packet == QuicPacket::Initial && self.length >= LEAST_HELLO)
    }
}

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;

impl Segment {
    pub(crate) fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Whether it is a SYN but not a SYN-ACK.
    pub(crate) fn opens(&self) -> bool {
        self.flags & (SYN | ACK) == SYN
    }

    /// Whether it is a SYN-ACK.
    pub(crate) fn answers(&self) -> bool {
        self.flags & (SYN | ACK) == SYN | ACK
    }

    /// The sequence number that follows this segment.
    pub(crate) fn end(&self) -> u32 {
        self.sequence
            .wrapping_add(self.payload_length)
            .wrapping_add(u32::from(self.has(SYN)))
            .wrapping_add(u32::from(self.has(FIN)))
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The headers of an Ethernet frame; `None` for ARP and anything else that is not IP.
pub(crate) fn parse(frame: &[u8]) -> Option<Headers> {
    let ip = frame.get(14..)?;
    let (source, destination, number, body, body_length) = match be16(frame, 12)? {
        0x0800 => {
            let header = usize::from(ip.first()? & 15) * 4;
            let length = usize::from(be16(ip, 2)?);
            let addresses = (Address::v4(be32(ip, 12)?), Address::v4(be32(ip, 16)?));
            (addresses.0, addresses.1, *ip.get(9)?, ip.get(header..)?, length.checked_sub(header)?)
        }
        0x86dd => {
            let address = |at: usize| Some(Address::v6(ip.get(at..at + 16)?.try_into().ok()?));
            (address(8)?, address(24)?, *ip.get(6)?, ip.get(40..)?, usize::from(be16(ip, 4)?))
        }
        _ => return None,
    };
    let ports = match number {
        protocol::TCP | protocol::UDP => (be16(body, 0)?, be16(body, 2)?),
        _ => (0, 0),
    };
    let flow = FlowKey { source, destination, source_port: ports.0, destination_port: ports.1, protocol: number };
    let message = match number {
        protocol::TCP => Message::Tcp(segment(body, body_length, ports)?),
        protocol::UDP => datagram(body.get(8..)?, body_length.checked_sub(8)?, ports),
        protocol::ICMP | protocol::ICMPV6 => echo(body),
        _ => Message::Other,
    };
    Some(Headers { flow, message })
}

fn segment(body: &[u8], length: usize, ports: (u16, u16)) -> Option<Segment> {
    let header = usize::from(body.get(12)? >> 4) * 4;
    let payload_length = u32::try_from(length.checked_sub(header)?).ok()?;
    let dns = match body.get(header + 2..) {
        Some(message) if payload_length > 14 && (ports.0 == 53 || ports.1 == 53) => dns(message),
        _ => None,
    };
    Some(Segment {
        sequence: be32(body, 4)?,
        acknowledgement: be32(body, 8)?,
        flags: *body.get(13)?,
        payload_length,
        timestamps: timestamps(body.get(20..header)?),
        dns,
    })
}

fn timestamps(mut options: &[u8]) -> Option<(u32, u32)> {
    loop {
        match *options.first()? {
            0 => return None,
            1 => options = &options[1..],
            8 => return Some((be32(options, 2)?, be32(options, 6)?)),
            _ => options = options.get(usize::from(*options.get(1)?).max(2)..)?,
        }
    }
}

fn datagram(payload: &[u8], length: usize, ports: (u16, u16)) -> Message {
    let known = match ports {
        (53, _) | (_, 53) => dns(payload).map(Message::Dns),
        (123, _) | (_, 123) => ntp(payload),
        (from, to) if QUIC_PORTS.contains(&from) || QUIC_PORTS.contains(&to) => {
            quic(payload, length, QUIC_PORTS.contains(&to)).map(Message::Quic)
        }
        _ => None,
    };
    known.unwrap_or(Message::Other)
}

fn dns(message: &[u8]) -> Option<Dns> {
    let mut end = 12;
    while *message.get(end)? != 0 {
        end += usize::from(message[end]) + 1;
    }
    let question = message.get(12..end + 5)?.to_ascii_lowercase();
    let question = hash::bytes(hash::start(0), &question);
    Some(Dns { id: be16(message, 0)?, response: message[2] & 0x80 != 0, question })
}

fn ntp(payload: &[u8]) -> Option<Message> {
    Some(Message::Ntp { mode: payload.first()? & 7, origin: be64(payload, 24)?, transmit: be64(payload, 40)? })
}

/// A datagram that begins with a long header (RFC 9000 §17.2, RFC 9369 §3.2).
fn quic(payload: &[u8], length: usize, is_of_client: bool) -> Option<Quic> {
    let first = *payload.first().filter(|first| **first & 0x80 != 0)?;
    let types = [QuicPacket::Initial, QuicPacket::ZeroRtt, QuicPacket::Handshake, QuicPacket::Retry];
    let number = usize::from(first >> 4 & 3);
    let packet = match be32(payload, 1)? {
        1 => types[number],
        // The same in version 2, but begun one later.
        0x6b33_43cf => types[(number + 3) % 4],
        _ => return None,
    };
    let id = |at: usize| {
        let end = at + 1 + usize::from(*payload.get(at)?);
        Some((hash::bytes(hash::start(0), payload.get(at + 1..end)?), end))
    };
    let (destination, end) = id(5)?;
    let (source, end) = id(end)?;
    let length = initial_length(payload, end).unwrap_or(length);
    Some(Quic { packet, is_of_client, destination, source, length })
}

/// The length that an Initial packet states, after its token.
fn initial_length(packet: &[u8], at: usize) -> Option<usize> {
    // The first two bits of a number are the logarithm of how many bytes it takes.
    let number = |at: usize| {
        let bytes = 1usize << (packet.get(at)? >> 6);
        let digits = packet.get(at..at + bytes)?.iter();
        let number = digits.fold(0usize, |number, &byte| number << 8 | usize::from(byte));
        Some((number & !(3 << (8 * bytes - 2)), at + bytes))
    };
    let (token, at) = number(at)?;
    Some(number(at.checked_add(token)?)?.0)
}

fn echo(body: &[u8]) -> Message {
    let reply = match body.first() {
        Some(8 | 128) => false,
        Some(0 | 129) => true,
        _ => return Message::Other,
    };
    match (be16(body, 4), be16(body, 6)) {
        (Some(id), Some(sequence)) => Message::Echo { reply, id, sequence },
        _ => Message::Other,
    }
}

/// A short name of the kind of frame, for readers of the frame log.
pub(crate) fn kind(headers: Option<&Headers>) -> &'static str {
    match headers.map(|h| &h.message) {
        Some(Message::Tcp(segment)) if segment.opens() => "syn",
        Some(Message::Tcp(segment)) if segment.answers() => "syn-ack",
        Some(Message::Tcp(segment)) if segment.has(RST) => "rst",
        Some(Message::Tcp(segment)) if segment.has(FIN) => "fin",
        Some(Message::Tcp(segment)) if segment.payload_length > 0 => "data",
        Some(Message::Tcp(_)) => "ack",
        Some(Message::Dns(_)) => "dns",
        Some(Message::Ntp { .. }) => "ntp",
        Some(Message::Quic(Quic { packet: QuicPacket::Initial, .. })) => "initial",
        Some(Message::Quic(Quic { packet: QuicPacket::Retry, .. })) => "retry",
        Some(Message::Quic(_)) => "quic",
        Some(Message::Echo { .. }) => "echo",
        Some(Message::Other) => "other",
        None => "no-ip",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An Ethernet frame with IPv4 and TCP, checksums zero.
    pub(crate) fn tcp(from: (u32, u16), to: (u32, u16), segment: &Segment) -> Vec<u8> {
        let options: Vec<u8> = segment.timestamps.map_or(Vec::new(), |(value, echo)| {
            [&[1, 1, 8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat()
        });
        let header = 20 + options.len();
        let length = 20 + header as u16 + segment.payload_length as u16;
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(length.to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, protocol::TCP, 0, 0]);
        frame.extend(from.0.to_be_bytes());
        frame.extend(to.0.to_be_bytes());
        frame.extend(from.1.to_be_bytes());
        frame.extend(to.1.to_be_bytes());
        frame.extend(segment.sequence.to_be_bytes());
        frame.extend(segment.acknowledgement.to_be_bytes());
        frame.extend([(header as u8 / 4) << 4, segment.flags, 0, 0, 0, 0, 0, 0]);
        frame.extend(options);
        frame.resize(frame.len() + segment.payload_length as usize, 0);
        frame
    }

    /// An Ethernet frame with IPv4 and UDP, checksums zero, of a datagram of which only the beginning is given.
    pub(crate) fn udp(from: (u32, u16), to: (u32, u16), payload: &[u8], length: u16) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend((28 + length).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, protocol::UDP, 0, 0]);
        frame.extend(from.0.to_be_bytes());
        frame.extend(to.0.to_be_bytes());
        frame.extend(from.1.to_be_bytes());
        frame.extend(to.1.to_be_bytes());
        frame.extend((8 + length).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(payload);
        frame
    }

    /// The beginning of a packet with a long header.
    pub(crate) fn long(first: u8, version: u32, destination: &[u8], source: &[u8]) -> Vec<u8> {
        let mut packet = [&[first][..], &version.to_be_bytes()].concat();
        for id in [destination, source] {
            packet.push(id.len() as u8);
            packet.extend(id);
        }
        packet
    }

    #[test]
    fn packets_of_quic_are_told_by_type_version_and_ids() {
        let (client, server) = ((0x0a0a_0001, 5000), (0x0a14_0101, 443));
        let read = |frame: &[u8]| match parse(frame).unwrap().message {
            Message::Quic(quic) => Some(quic),
            _ => None,
        };
        let of = |first, version| read(&udp(client, server, &long(first, version, &[1; 8], &[2]), 1200));
        let types = [QuicPacket::Initial, QuicPacket::ZeroRtt, QuicPacket::Handshake, QuicPacket::Retry];
        for (number, packet) in (0..).zip(types) {
            assert_eq!(of(0xc0 | number << 4, 1).unwrap().packet, packet);
            assert_eq!(of(0xc0 | ((number + 1) % 4) << 4, 0x6b33_43cf).unwrap().packet, packet);
        }
        assert_eq!((of(0xc0, 7), of(0x40, 1)), (None, None));
        let sent = of(0xc0, 1).unwrap();
        assert!(sent.is_of_client && sent.opens() && !sent.asks_client());
        let answer = |first, length| read(&udp(server, client, &long(first, 1, &[2], &[1; 8]), length)).unwrap();
        let hello = answer(0xc0, 1200);
        assert_eq!((hello.destination, hello.source), (sent.source, sent.destination));
        assert_eq!([hello, answer(0xc0, 63), answer(0xf0, 60)].map(|quic| quic.asks_client()), [true, false, true]);
        let stated = |rest: &[u8]| {
            let packet = [&long(0xc0, 1, &[2], &[1; 8]), rest].concat();
            read(&udp(server, client, &packet, 1200)).unwrap().asks_client()
        };
        // Without a token and behind one, in one byte and in two; padded without being longer.
        assert!(!stated(&[0, 25]) && !stated(&[0, 0x40, 63]) && stated(&[0, 0x40, 64]));
        assert!(!stated(&[1, 0xff, 63]) && stated(&[1, 0xff, 0x44, 0]));
        assert!(!answer(0xe0, 1200).asks_client() && !answer(0xe0, 1200).opens());
        let cut = long(0xc0, 1, &[1; 8], &[2]);
        assert!((0..cut.len()).all(|length| read(&udp(client, server, &cut[..length], 1200)).is_none()));
        assert_eq!(kind(parse(&udp(client, server, &cut, 1200)).as_ref()), "initial");
    }

    #[test]
    fn a_segment_survives_the_way_through_bytes() {
        let segment = Segment {
            sequence: u32::MAX,
            acknowledgement: 7,
            flags: SYN | ACK,
            payload_length: 3,
            timestamps: Some((11, 12)),
            dns: None,
        };
        let frame = tcp((0x0a0a_0001, 5000), (0x0a14_0101, 80), &segment);
        let headers = parse(&frame).unwrap();
        assert_eq!(headers.flow.to_string(), "10.10.0.1:5000 → 10.20.1.1:80 tcp");
        assert_eq!(headers.message, Message::Tcp(segment.clone()));
        assert_eq!(segment.end(), 3);
        assert_eq!(kind(Some(&headers)), "syn-ack");
        for length in 0..frame.len() - 3 {
            assert_eq!(parse(&frame[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn a_dns_question_is_found_whatever_its_case() {
        let message = |flags: u8, name: &[u8]| {
            [&[0x12, 0x34, flags, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4], name, &[0, 0, 1, 0, 1]].concat()
        };
        let query = dns(&message(1, b"host")).unwrap();
        let response = dns(&message(0x81, b"HOST")).unwrap();
        assert_eq!((query.id, query.response), (0x1234, false));
        assert_eq!(response, Dns { response: true, ..query });
        assert_ne!(query.question, dns(&message(1, b"hosu")).unwrap().question);
        assert_eq!(dns(&message(1, b"host")[..15]), None);
    }
}
