//! Hand-made packets, each for one rule of the parser.

use dwell_observe::packet::{Packet, Transport};
use dwell_observe::parse::{Key, LAYERS, Reject, parse};
use dwell_types::{LinkType, protocol};

/// The eight bytes of a UDP header to this port, for a payload of this length.
fn udp(port: u16, length: usize) -> Vec<u8> {
    [&[0xc3, 0x50][..], &port.to_be_bytes(), &(length as u16 + 8).to_be_bytes(), &[0, 0]].concat()
}

/// Ports 50000 and 80, sequence number 1, acknowledgement number 2, ACK, no options.
const TCP: [u8; 20] = [0xc3, 0x50, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0];

/// IPv4 from 10.0.0.1 to 10.0.0.2 with this fragment field and payload.
fn ipv4(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16 + 20).to_be_bytes();
    let [offset_high, offset_low] = fragment.to_be_bytes();
    let header = [0x45, 0, high, low, 0, 1, offset_high, offset_low, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header, payload].concat()
}

/// IPv6 with this payload.
fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0, high, low, next, 64][..], &[0x20; 16], &[0x30; 16], payload].concat()
}

fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &ether_type.to_be_bytes(), payload].concat()
}

fn inner(link: LinkType, bytes: &[u8]) -> Result<Packet<'_>, Reject> {
    parse(link, bytes, bytes.len() as u32, Key::Inner)
}

/// Transport protocol, destination port and payload length on the wire, of a raw IP packet.
fn found(bytes: &[u8]) -> Result<(u8, u16, usize), Reject> {
    inner(LinkType::RAW, bytes).map(|packet| {
        let length = match packet.transport {
            Transport::Tcp(tcp) => tcp.payload_length as usize,
            Transport::Udp(payload) | Transport::Icmp(payload) | Transport::Other(payload) => payload.len(),
        };
        (packet.flow.protocol, packet.flow.destination_port, length)
    })
}

#[test]
fn fragments() {
    const MORE: u16 = 0x2000;
    let datagram = [udp(53, 100), vec![0; 24]].concat();
    assert_eq!(found(&ipv4(protocol::UDP, MORE, &datagram)), Ok((protocol::UDP, 53, 24)), "what the first one has");
    assert_eq!(found(&ipv4(protocol::UDP, MORE | 4, &datagram)), Err(Reject::Fragment));
    assert_eq!(found(&ipv4(protocol::UDP, 4, &datagram)), Err(Reject::Fragment));
    assert_eq!(found(&ipv4(51, 4, &[0xff; 24])), Err(Reject::Fragment), "no authentication header");
    // The end of the segment, and so the number that will acknowledge it, is in another fragment.
    assert_eq!(found(&ipv4(protocol::TCP, MORE, &TCP)), Err(Reject::Fragment));
    assert_eq!(found(&ipv4(protocol::TCP, 0x4000, &TCP)), Ok((protocol::TCP, 80, 0)), "only “don't fragment”");

    let six = |place: u16, next, payload: &[u8]| {
        let [high, low] = place.to_be_bytes();
        ipv6(44, &[&[next, 0, high, low, 0, 0, 0, 9][..], payload].concat())
    };
    assert_eq!(found(&six(0, protocol::TCP, &TCP)), Ok((protocol::TCP, 80, 0)), "a whole packet (RFC 6946)");
    assert_eq!(found(&six(1, protocol::TCP, &TCP)), Err(Reject::Fragment));
    assert_eq!(found(&six(1, protocol::UDP, &datagram)), Ok((protocol::UDP, 53, 24)));
    assert_eq!(found(&six(8, protocol::UDP, &datagram)), Err(Reject::Fragment));
    assert_eq!(found(&six(8, 60, &[0xff; 24])), Err(Reject::Fragment), "no options");
    // The first fragment of a tunnelled packet: the inner header has its own length.
    let mut inside = ipv4(protocol::TCP, 0, &TCP);
    inside[2..4].copy_from_slice(&1040u16.to_be_bytes());
    assert_eq!(found(&ipv4(4, MORE, &inside)), Ok((protocol::TCP, 80, 1000)));
    assert_eq!(found(&ipv4(4, 4, &inside)), Err(Reject::Fragment));
}

#[test]
fn a_tunnel_without_ip_is_plain_udp() {
    let through = |port, payload: &[u8]| found(&ipv4(protocol::UDP, 0, &[&udp(port, payload.len()), payload].concat()));
    let ip = ipv4(protocol::TCP, 0, &TCP);
    let vxlan = |ether_type, payload: &[u8]| [&[8, 0, 0, 0, 0, 0, 7, 0], &ethernet(ether_type, payload)[..]].concat();

    assert_eq!(through(4789, &vxlan(0x0800, &ip)), Ok((protocol::TCP, 80, 0)));
    assert_eq!(through(8472, &vxlan(0x0800, &ip)), Ok((protocol::TCP, 80, 0)));
    assert_eq!(through(4789, &vxlan(0x0806, &[0; 28])), Ok((protocol::UDP, 4789, 50)), "ARP");
    assert_eq!(through(4789, &vxlan(0x0800, &[0x55; 40])), Ok((protocol::UDP, 4789, 62)), "no version of IP");
    assert_eq!(through(4789, &[8, 0, 0, 0, 0]), Ok((protocol::UDP, 4789, 5)), "too short for VXLAN");
    assert_eq!(
        through(4789, &[&[0; 8], &ethernet(0x0800, &ip)[..]].concat()),
        Ok((protocol::UDP, 4789, 62)),
        "no flag"
    );
    assert_eq!(through(4789, &vxlan(0x0800, &ip[..19])), Ok((protocol::UDP, 4789, 41)), "an IP header cut on the wire");

    let geneve = |first, payload: &[u8]| [&[first, 0, 8, 0, 0, 0, 7, 0], payload].concat();
    assert_eq!(through(6081, &geneve(0, &ip)), Ok((protocol::TCP, 80, 0)));
    assert_eq!(through(6081, &geneve(0x40, &ip)), Ok((protocol::UDP, 6081, 48)), "version 1");
    assert_eq!(through(6081, &geneve(0x3f, &ip)), Ok((protocol::UDP, 6081, 48)), "252 bytes of options");

    let gtp = |first, kind, rest: &[u8]| [&[first, kind, 0, rest.len() as u8, 0, 0, 0, 7], rest].concat();
    assert_eq!(through(2152, &gtp(0x30, 255, &ip)), Ok((protocol::TCP, 80, 0)));
    for flags in [0x31, 0x32, 0x33] {
        let numbered = [&[0, 1, 0, 0x85], &ip[..]].concat();
        assert_eq!(through(2152, &gtp(flags, 255, &numbered)), Ok((protocol::TCP, 80, 0)), "no extension");
    }
    assert_eq!(through(2152, &gtp(0x30, 26, &ip)), Ok((protocol::UDP, 2152, 48)), "an error indication");
    assert_eq!(through(2152, &gtp(0x20, 255, &ip)), Ok((protocol::UDP, 2152, 48)), "a protocol for charging");
    assert_eq!(through(2152, &gtp(0x50, 255, &ip)), Ok((protocol::UDP, 2152, 48)), "version 2");
    let short = [&[0x30, 255, 0, 19, 0, 0, 0, 7], &ip[..]].concat();
    assert_eq!(through(2152, &short), Ok((protocol::UDP, 2152, 48)), "an IP header cut by the length");
    assert_eq!(through(2152, &gtp(0x32, 1, &[0; 4])), Ok((protocol::UDP, 2152, 12)), "an echo request");
    assert_eq!(
        through(2152, &gtp(0x34, 255, &[0, 0, 0, 0x85, 0, 0, 0, 0])),
        Ok((protocol::UDP, 2152, 16)),
        "extension of length 0"
    );
    // The last byte of the GTP-U header's options, and of each extension, is the type of the next extension.
    let extended = [&[0, 0, 0, 0x85, 1, 0, 0, 0x85, 2, 0, 0, 0, 0, 0, 0, 0], &ip[..]].concat();
    assert_eq!(through(2152, &gtp(0x34, 255, &extended)), Ok((protocol::TCP, 80, 0)));

    // There is an IP header, so an error after it is that of the inner packet.
    assert_eq!(through(4789, &vxlan(0x0800, &ipv4(132, 0, &[0; 20]))), Err(Reject::Transport));
    assert_eq!(through(4789, &vxlan(0x0800, &ipv4(protocol::TCP, 4, &TCP))), Err(Reject::Fragment));
    // A tunnel in a tunnel, the inner one without IP: plain UDP of the inner flow.
    let nested = ipv4(protocol::UDP, 0, &[udp(6081, 50), vxlan(0x0806, &[0; 28])].concat());
    assert_eq!(through(4789, &vxlan(0x0800, &nested)), Ok((protocol::UDP, 6081, 50)));
}

#[test]
fn a_capture_cut_in_a_tunnel_does_not_change_the_flow() {
    let inside = [&[8, 0, 0, 0, 0, 0, 7, 0], &ethernet(0x0800, &ipv4(protocol::TCP, 0, &TCP))[..]].concat();
    let bytes = ipv4(protocol::UDP, 0, &[udp(4789, inside.len()), inside].concat());
    let cut = |length| parse(LinkType::RAW, &bytes[..length], bytes.len() as u32, Key::Inner).map(|p| p.flow.protocol);
    assert_eq!(cut(27), Err(Reject::TruncatedTransport));
    assert_eq!(cut(28), Err(Reject::TruncatedLink));
    assert_eq!(cut(49), Err(Reject::TruncatedLink));
    assert_eq!(cut(50), Err(Reject::TruncatedIp));
    assert_eq!(cut(70), Err(Reject::TruncatedTransport));
    assert_eq!(cut(84), Ok(protocol::TCP), "14 bytes of TCP");
}

#[test]
fn the_outer_key() {
    let outer = |bytes: &[u8]| {
        parse(LinkType::RAW, bytes, bytes.len() as u32, Key::Outer).map(|p| (p.flow.protocol, p.flow.destination_port))
    };
    let ip = ipv4(protocol::TCP, 0, &TCP);
    assert_eq!(outer(&ip), Ok((protocol::TCP, 80)));
    assert_eq!(
        outer(&ipv4(protocol::UDP, 0, &[&udp(2152, 48)[..], &[0x30, 255, 0, 40, 0, 0, 0, 7], &ip[..]].concat())),
        Ok((protocol::UDP, 2152))
    );
    assert_eq!(outer(&ipv4(47, 0, &[&[0, 0, 8, 0], &ip[..]].concat())), Err(Reject::Transport));
    assert_eq!(outer(&ipv4(4, 0, &ip)), Err(Reject::Transport));
}

#[test]
fn generic_routing() {
    let ip = ipv4(protocol::TCP, 0, &TCP);
    let gre = |header: &[u8], payload: &[u8]| found(&ipv4(47, 0, &[header, payload].concat()));
    let tcp = Ok((protocol::TCP, 80, 0));
    assert_eq!(gre(&[0, 0, 8, 0], &ip), tcp);
    assert_eq!(
        gre(&[0xb0, 0, 8, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], &ip),
        tcp,
        "checksum, key and sequence number"
    );
    assert_eq!(gre(&[0x40, 0, 8, 0, 1, 1, 1, 1], &ip), Err(Reject::LinkHeader), "routing");
    assert_eq!(gre(&[0, 2, 8, 0], &ip), Err(Reject::LinkHeader), "version 2");
    assert_eq!(gre(&[0, 0, 0x12, 0x34], &ip), Err(Reject::NotIp));
    assert_eq!(gre(&[0, 0, 0x65, 0x58], &ethernet(0x0800, &ip)), tcp);
    assert_eq!(gre(&[0, 0, 0x89, 9, 8, 0, 1, 1, 0, 1, 0, 7], &ip), tcp, "metadata of Cisco");
    // ERSPAN types I, II and III, then III with a platform-specific header and bare IP.
    assert_eq!(gre(&[0, 0, 0x88, 0xbe], &ethernet(0x0800, &ip)), tcp);
    assert_eq!(gre(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 7, 0, 7, 0, 0, 0, 1], &ethernet(0x0800, &ip)), tcp);
    let mut third = vec![0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 7, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0];
    assert_eq!(gre(&third, &ethernet(0x0800, &ip)), tcp);
    third[18..].copy_from_slice(&[2 << 2, 1]);
    third.extend([0; 8]);
    assert_eq!(gre(&third, &ip), tcp);
    // PPTP: with payload, bare acknowledgement, control.
    let pptp = |flags: [u8; 2], words: usize| [&flags, &[0x88, 0x0b, 0, 43, 0, 7][..], &vec![0; 4 * words]].concat();
    let framed = [&[0xff, 3, 0x21], &ip[..]].concat();
    assert_eq!(gre(&[0, 0, 0x88, 0x0b], &framed), tcp);
    assert_eq!(gre(&[0x30, 1, 8, 0, 0, 40, 0, 7, 0, 0, 0, 1], &ip), Err(Reject::LinkHeader), "version 1 without PPP");
    assert_eq!(gre(&[0x30, 1, 0x88, 0x0b, 0, 22, 0, 7, 0, 0, 0, 1], &framed), Err(Reject::IpHeader), "too short");
    assert_eq!(gre(&pptp([0x30, 0x81], 2), &framed), tcp);
    assert_eq!(gre(&pptp([0x30, 0x01], 1), &framed), tcp);
    assert_eq!(gre(&pptp([0x20, 0x81], 1), &[]), Err(Reject::NotIp));
    assert_eq!(gre(&pptp([0x30, 0x01], 1), &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4]), Err(Reject::NotIp), "link control");
}

#[test]
fn ethernet_and_labels_in_ip() {
    let ip = ipv4(protocol::TCP, 0, &TCP);
    let (frame, tcp) = (ethernet(0x0800, &ip), Ok((protocol::TCP, 80, 0)));
    assert_eq!(found(&ipv4(97, 0, &[&[0x30, 0], &frame[..]].concat())), tcp);
    assert_eq!(found(&ipv4(97, 0, &[&[0x20, 0], &frame[..]].concat())), Err(Reject::LinkHeader), "version 2");
    let over = |port: u16, payload: &[u8]| {
        found(&ipv4(protocol::UDP, 0, &[udp(port, payload.len()), payload.to_vec()].concat()))
    };
    assert_eq!(over(6635, &[&[0, 1, 0x21, 64], &ip[..]].concat()), tcp);
    let gpe = |flags: u8, next: u8, payload: &[u8]| over(4790, &[&[flags, 0, 0, next, 0, 0, 7, 0], payload].concat());
    assert_eq!((gpe(0x0c, 1, &ip), gpe(0x0c, 2, &ipv6(protocol::TCP, &TCP))), (tcp, tcp));
    assert_eq!((gpe(0x0c, 3, &frame), gpe(0x08, 0, &frame)), (tcp, tcp));
    // No IP inside: the datagram itself.
    assert_eq!(gpe(0x0c, 4, &ip), Ok((protocol::UDP, 4790, 8 + ip.len())), "a service header");
    assert_eq!(gpe(0x1c, 1, &ip), Ok((protocol::UDP, 4790, 8 + ip.len())), "version 1");
    let bridged =
        ethernet(0x88e7, &[&[0, 0, 1, 7], &ethernet(0x8100, &[&[0, 9, 8, 0], &ip[..]].concat())[..]].concat());
    let packet = inner(LinkType::ETHERNET, &bridged).unwrap();
    assert_eq!((packet.flow.destination_port, packet.vlan), (80, Some(9)));
}

#[test]
fn ppp_in_l2tp() {
    let ip = ipv4(protocol::TCP, 0, &TCP);
    let framed = [&[0xff, 3, 0, 0x21], &ip[..]].concat();
    let tcp = Ok((protocol::TCP, 80, 0));
    let over = |header: &[u8], payload: &[u8]| {
        found(&ipv4(protocol::UDP, 0, &[&udp(1701, header.len() + payload.len()), header, payload].concat()))
    };
    let plain = |length: usize| Ok((protocol::UDP, 1701, length));
    assert_eq!(over(&[0, 2, 0, 7, 0, 9], &framed), tcp);
    assert_eq!(over(&[0, 2, 0, 7, 0, 9], &[&[0x21], &ip[..]].concat()), tcp, "without address and control");
    assert_eq!(over(&[1, 2, 0, 7, 0, 9], &framed), tcp, "priority");
    assert_eq!(over(&[0x40, 2, 0, 52, 0, 7, 0, 9], &framed), tcp, "length");
    assert_eq!(over(&[0x40, 2, 0, 52, 0, 7, 0, 9], &[&framed[..], &[0; 5]].concat()), tcp, "length and a trailer");
    assert_eq!(over(&[8, 2, 0, 7, 0, 9, 0, 1, 0, 0], &framed), tcp, "sequence numbers");
    assert_eq!(over(&[2, 2, 0, 7, 0, 9, 0, 3, 1, 1, 1], &framed), tcp, "three bytes of padding");
    assert_eq!(over(&[0x4a, 2, 0, 59, 0, 7, 0, 9, 0, 1, 0, 0, 0, 1, 9], &framed), tcp, "all of them");
    let six = [&[0, 0x57][..], &ipv6(protocol::TCP, &TCP)].concat();
    assert_eq!(over(&[0, 2, 0, 7, 0, 9], &six), tcp);

    // No IP inside: the datagram itself.
    assert_eq!(over(&[0xc8, 2, 0, 20, 0, 7, 0, 0, 0, 1, 0, 1], &[0x80, 8, 0, 0, 0, 0, 0, 1]), plain(20), "control");
    assert_eq!(over(&[0x80, 2, 0, 7, 0, 9], &framed), plain(50), "control, though malformed");
    assert_eq!(over(&[0, 2, 0, 7, 0, 9], &[0xff, 3, 0xc0, 0x21, 9, 1, 0, 8, 0, 0, 0, 0]), plain(18), "link control");
    assert_eq!(over(&[0, 1, 0, 7, 0, 9], &framed), plain(50), "version 1, which is L2F");
    assert_eq!(over(&[0, 3, 0, 0, 0, 0, 0, 9], &framed), plain(52), "version 3");
    assert_eq!(over(&[0x40, 2, 0, 3, 0, 7, 0, 9], &framed), plain(52), "shorter than its length field");
    assert_eq!(over(&[0x40, 2, 0, 7, 0, 7, 0, 9], &framed), plain(52), "shorter than its header");
    assert_eq!(over(&[2, 2, 0, 7, 0, 9, 0, 200], &framed), plain(52), "200 bytes of padding");
    assert_eq!(over(&[0x40, 2, 0, 31, 0, 7, 0, 9], &framed), plain(52), "an IP header cut by the length");
    for length in 0..6 {
        assert_eq!(over(&[0, 2, 0, 7, 0, 9][..length], &[]), plain(length));
    }
    // What the capture cuts is no message of another kind.
    let bytes =
        ipv4(protocol::UDP, 0, &[udp(1701, 8 + framed.len()), vec![0x40, 2, 0, 52, 0, 7, 0, 9], framed].concat());
    let cut = |length| parse(LinkType::RAW, &bytes[..length], bytes.len() as u32, Key::Inner).map(|p| p.flow.protocol);
    assert_eq!([28, 30, 32, 36, 38].map(cut), [Err(Reject::TruncatedLink); 5]);
    assert_eq!(
        (cut(40), cut(60), cut(74)),
        (Err(Reject::TruncatedIp), Err(Reject::TruncatedTransport), Ok(protocol::TCP))
    );
}

#[test]
fn tags_of_every_type() {
    let ip = ipv4(protocol::TCP, 0, &TCP);
    let tagged = |ether_type, tag: &[u8]| {
        let bytes = ethernet(ether_type, &[tag, &ip[..]].concat());
        inner(LinkType::ETHERNET, &bytes).map(|packet| (packet.flow.destination_port, packet.vlan))
    };
    for ether_type in [0x8100, 0x88a8, 0x9100, 0x9200] {
        assert_eq!(tagged(ether_type, &[0x20, 9, 8, 0]), Ok((80, Some(9))), "{ether_type:x}");
        assert_eq!(tagged(ether_type, &[0, 9, 0x92, 0, 0, 7, 8, 0]), Ok((80, Some(9))), "{ether_type:x}");
    }
    // Tags without a VLAN id: redundant paths, virtual interfaces, port extenders, metadata of Cisco.
    for (ether_type, bytes) in [(0x892f, 4), (0xf1c1, 4), (0x8926, 4), (0x893f, 6), (0x8909, 6)] {
        assert_eq!(tagged(ether_type, &[&vec![7; bytes], &[8, 0][..]].concat()), Ok((80, None)), "{ether_type:x}");
    }
    assert_eq!(tagged(0x8903, &[&[0, 1][..], &[2; 12], &[8, 0]].concat()), Ok((80, None)), "FabricPath");
    assert_eq!(tagged(0x880b, &[0xff, 3, 0, 0x21]), Ok((80, None)), "PPP");
    assert_eq!(inner(LinkType::ETHERNET, &ethernet(0x9200, &[0, 9, 8])), Err(Reject::LinkHeader));
    assert_eq!(tagged(0x9200, &[0, 9, 8, 6]), Err(Reject::NotIp), "ARP");
}

/// Attributes of a logged packet, in both byte orders: hook and mark before it, each up to a multiple of four bytes.
#[test]
fn packets_that_a_filter_logged() {
    let ip = ipv4(protocol::TCP, 0, &TCP);
    for is_little in [true, false] {
        let number = |number: u16| if is_little { number.to_le_bytes() } else { number.to_be_bytes() };
        let attribute = |kind: u16, contents: &[u8]| {
            let mut bytes = [number(contents.len() as u16 + 4), number(kind)].concat();
            bytes.extend(contents);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let log = |payload: &[u8]| [vec![2, 0, 0, 5], attribute(1, &[8, 0, 3]), attribute(9, payload)].concat();
        let port = |bytes: &[u8]| inner(LinkType::NFLOG, bytes).map(|packet| packet.flow.destination_port);
        assert_eq!((port(&log(&ip)), port(&log(&ipv6(protocol::TCP, &TCP)))), (Ok(80), Ok(80)));
        let without = [vec![2, 0, 0, 5], attribute(1, &[8, 0, 3])].concat();
        assert_eq!(port(&without), Err(Reject::LinkHeader));
        assert_eq!(
            port(&[log(&ip[..19]), ip[20..].to_vec()].concat()),
            Err(Reject::IpHeader),
            "the packet ends before"
        );
        let short = [vec![2, 0, 0, 5], number(3).to_vec(), number(1).to_vec()].concat();
        assert_eq!(port(&short), Err(Reject::LinkHeader), "shorter than its own header");
    }
}

#[test]
fn mpls_tells_nothing_but_the_first_nibble() {
    let ip = ipv4(protocol::TCP, 0, &TCP);
    let under = |payload: &[u8]| {
        let bytes = ethernet(0x8847, &[&[0, 1, 0x20, 64, 0, 1, 0x31, 64], payload].concat());
        inner(LinkType::ETHERNET, &bytes).map(|packet| packet.flow.destination_port)
    };
    assert_eq!(under(&ip), Ok(80));
    assert_eq!(under(&ipv6(protocol::TCP, &TCP)), Ok(80));
    assert_eq!(under(&[&[0; 4], &ethernet(0x0800, &ip)[..]].concat()), Ok(80), "control word");
    assert_eq!(under(&[0x10, 0, 0, 0x21]), Err(Reject::NotIp), "associated channel");
    assert_eq!(under(&[]), Err(Reject::LinkHeader));
}

#[test]
fn lengths_that_ip_states() {
    let with_length = |length: u16| {
        let mut bytes = ipv4(protocol::TCP, 0, &[&TCP[..], &[7; 30]].concat());
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        found(&bytes).map(|(_, _, payload)| payload)
    };
    assert_eq!(with_length(70), Ok(30));
    assert_eq!(with_length(60), Ok(20), "the rest is padding");
    assert_eq!(with_length(1500), Ok(1460), "the rest was cut");
    assert_eq!(with_length(0), Ok(30), "as long as the frame");
    assert_eq!(with_length(39), Err(Reject::TransportHeader));
    assert_eq!(with_length(20), Err(Reject::TransportHeader));
    assert_eq!(with_length(19), Err(Reject::IpHeader));

    // Segments beyond 64 KiB have no IP length: that of the frame counts, of which only the headers are captured.
    let mut bytes = ethernet(0x86dd, &ipv6(protocol::TCP, &TCP));
    bytes[18..20].fill(0);
    let packet = parse(LinkType::ETHERNET, &bytes, 180_074, Key::Inner).expect("a packet");
    assert!(matches!(packet.transport, Transport::Tcp(tcp) if tcp.payload_length == 180_000));
    // Ethernet's padding is not payload.
    let mut padded = ethernet(0x0800, &ipv4(protocol::TCP, 0, &TCP));
    padded.resize(60, 0);
    let packet = inner(LinkType::ETHERNET, &padded).expect("a packet");
    assert!(matches!(packet.transport, Transport::Tcp(tcp) if tcp.payload_length == 0 && tcp.payload.is_empty()));
}

#[test]
fn ip_headers_that_lie() {
    let mut bytes = ipv4(protocol::TCP, 0, &TCP);
    let with_first = |bytes: &mut Vec<u8>, first| {
        bytes[0] = first;
        found(bytes)
    };
    assert_eq!(with_first(&mut bytes, 0x44), Err(Reject::IpHeader), "16 bytes of header");
    assert_eq!(with_first(&mut bytes, 0x4f), Err(Reject::IpHeader), "60 bytes of header in 40 of packet");
    assert_eq!(with_first(&mut bytes, 0x55), Err(Reject::IpVersion));
    assert_eq!(found(&ipv6(0, &[6, 9, 0, 0, 0, 0, 0, 0])), Err(Reject::IpHeader), "80 bytes of options in 8");
    assert_eq!(found(&ipv6(59, &[0; 20])), Err(Reject::Transport), "no next header");
    assert_eq!(found(&ipv4(58, 0, &[128, 0, 0, 0, 0, 0, 0, 0])), Err(Reject::Transport), "the other version's ICMP");
    assert_eq!(found(&ipv6(1, &[8, 0, 0, 0, 0, 0, 0, 0])), Err(Reject::Transport), "the other version's ICMP");
    assert_eq!(found(&ipv4(protocol::ICMP, 0, &[8, 0, 0])), Err(Reject::TransportHeader));
    assert_eq!(found(&[]), Err(Reject::IpHeader));
}

/// Ends of a flow as numbers: those of [`ipv6`] have 0x20 and 0x30 in all bytes, others only one byte.
fn ends(bytes: &[u8], wire: usize) -> Result<[u64; 2], Reject> {
    parse(LinkType::RAW, bytes, wire as u32, Key::Outer)
        .map(|packet| [packet.flow.source, packet.flow.destination].map(|end| end.halves().1 & 0xff))
}

/// A routing header in front of TCP: its length in units of eight bytes as stated, type, segments left, addresses.
fn routed(length: u8, kind: u8, left: u8, addresses: &[u8]) -> Vec<u8> {
    let addresses = addresses.iter().flat_map(|&last| [[0xfd; 15].as_slice(), &[last]].concat());
    [&[protocol::TCP, length, kind, left, 0, 0, 0, 0][..], &addresses.collect::<Vec<_>>(), &TCP].concat()
}

#[test]
fn routing_headers_name_the_final_destination() {
    let to = |length, kind, left, addresses: &[u8]| {
        let bytes = ipv6(43, &routed(length, kind, left, addresses));
        ends(&bytes, bytes.len()).map(|ends| ends[1])
    };
    // On the way: the last of a source route, the home address, the first of a segment list.
    assert_eq!((to(6, 0, 1, &[1, 2, 3]), to(6, 0, 3, &[1, 2, 3])), (Ok(3), Ok(3)));
    assert_eq!(to(2, 2, 1, &[1]), Ok(1));
    assert_eq!((to(6, 4, 2, &[1, 2, 3]), to(4, 4, 1, &[1, 2])), (Ok(1), Ok(1)));
    assert_eq!(to(2, 4, 1, &[1]), Ok(1), "a list without the segment that comes first");
    // Arrived.
    for kind in [0, 2, 4] {
        assert_eq!(to(2, kind, 0, &[1]), Ok(0x30), "type {kind}");
    }
    // Types that say nothing, or not so simply.
    for kind in [1, 3, 5, 6, 253, 255] {
        assert_eq!(to(2, kind, 1, &[1]), Ok(0x30), "type {kind}");
    }
    // More segments left than there are; no segment; two home addresses.
    assert_eq!((to(4, 0, 3, &[1, 2]), to(4, 4, 255, &[1, 2]), to(2, 2, 2, &[1])), (Ok(0x30), Ok(0x30), Ok(0x30)));
    assert_eq!((to(0, 0, 1, &[]), to(0, 2, 1, &[]), to(0, 4, 1, &[])), (Ok(0x30), Ok(0x30), Ok(0x30)));
    assert_eq!(to(4, 2, 1, &[1, 2]), Ok(0x30));
    // A header that ends inside an address: TCP follows eight bytes after its list.
    let half = [&routed(3, 4, 1, &[1])[..24], &[0; 8], &TCP].concat();
    let half = ipv6(43, &half);
    assert_eq!(ends(&half, half.len()), Ok([0x20, 1]));

    // Behind options, before a fragment header, and one after another, as the nodes of the route will read them.
    let segment_list = routed(2, 4, 1, &[1]);
    let optional = ipv6(0, &[&[43, 0, 1, 4, 0, 0, 0, 0], &segment_list[..]].concat());
    assert_eq!(ends(&optional, optional.len()), Ok([0x20, 1]));
    let twice = ipv6(43, &[&[43][..], &routed(2, 0, 1, &[7])[1..24], &segment_list].concat());
    assert_eq!(ends(&twice, twice.len()), Ok([0x20, 1]));
}

#[test]
fn home_addresses_are_the_source() {
    let home = [&[0xfd; 15][..], &[9]].concat();
    let from = |options: &[u8]| {
        let length = (options.len() / 8) as u8;
        let bytes = ipv6(60, &[&[protocol::TCP, length], options, &TCP].concat());
        ends(&bytes, bytes.len()).map(|ends| ends[0])
    };
    // Eight bytes of alignment and the option; the same with other padding.
    assert_eq!(from(&[&[1, 2, 0, 0, 0xc9, 16][..], &home].concat()), Ok(9));
    assert_eq!(from(&[&[0, 0, 0, 0, 0xc9, 16][..], &home].concat()), Ok(9));
    // Other options and lengths; a length beyond the end, and an address beyond it.
    assert_eq!(from(&[&[1, 2, 0, 0, 0xc8, 16][..], &home].concat()), Ok(0x20));
    assert_eq!(from(&[&[1, 2, 0, 0, 0xc9, 15][..], &home].concat()), Ok(0x20));
    assert_eq!(from(&[0x1e, 255, 0, 0, 0xc9, 16]), Ok(0x20));
    assert_eq!(from(&[0, 0, 0, 0, 0xc9, 16]), Ok(0x20));
    // As a correspondent and a mobile node write to each other.
    let there = ipv6(43, &routed(2, 2, 1, &[9]));
    assert_eq!(ends(&there, there.len()), Ok([0x20, 9]));
}

/// A packet is never taken for one of another flow because the capture or the packet ends early.
#[test]
fn routing_headers_that_are_cut() {
    let home = [&[0xfd; 15][..], &[9]].concat();
    let options = [&[43, 2, 1, 2, 0, 0, 0xc9, 16][..], &home].concat();
    for kind in [0, 2, 4] {
        let bytes = ipv6(60, &[&options[..], &routed(2, kind, 1, &[1])].concat());
        let wire = bytes.len();
        assert_eq!(ends(&bytes, wire), Ok([9, 1]));
        for captured in 0..wire {
            // The first 14 bytes of TCP are enough.
            match ends(&bytes[..captured], wire) {
                Ok(ends) => assert!(ends == [9, 1] && captured >= 40 + 24 + 24 + 14, "{captured} bytes: {ends:?}"),
                Err(reject) => assert!(reject.is_truncated(), "{captured} bytes: {reject:?}"),
            }
            // The packet itself ends there.
            let mut short = bytes[..captured].to_vec();
            if let Some([high, low]) = short.get_mut(4..6).and_then(|length| length.as_mut_array()) {
                let payload = captured.saturating_sub(40) as u16;
                [*high, *low] = payload.to_be_bytes();
            }
            assert!(ends(&short, captured).is_err(), "{captured} bytes");
        }
    }
    // Every length, type and number of segments left, in headers longer and shorter than the packet.
    for length in 0..=255 {
        for kind in 0..=5 {
            for left in 0..=255 {
                let bytes = ipv6(43, &routed(length, kind, left, &[1, 2, 3]));
                if let Ok([source, destination]) = ends(&bytes, bytes.len()) {
                    assert_eq!(source, 0x20);
                    assert!([1, 2, 3, 0x30].contains(&destination), "{length} {kind} {left}: {destination}");
                }
            }
        }
    }
}

#[test]
fn many_headers() {
    // The number of extension headers is limited only by the bytes that they take.
    let mut next = protocol::TCP;
    let mut payload = TCP.to_vec();
    for i in 0..200 {
        payload = [&[next, 0, 1, 4, 0, 0, 0, 0], &payload[..]].concat();
        next = [60, 43, 135, 139, 140][i % 5];
    }
    assert_eq!(found(&ipv6(next, &payload)), Ok((protocol::TCP, 80, 0)));
    // The length of an authentication header has another unit, also with IPv4.
    let authenticated =
        [&[protocol::TCP, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &TCP].concat();
    assert_eq!(found(&ipv6(51, &authenticated)), Ok((protocol::TCP, 80, 0)));
    assert_eq!(found(&ipv4(51, 0, &authenticated)), Ok((protocol::TCP, 80, 0)));

    // Found by fuzzing: a message of one byte, which says that nothing follows, is truncated if it is not captured.
    let message = ipv6(140, &[59]);
    assert_eq!(inner(LinkType::RAW, &message), Err(Reject::Transport));
    assert_eq!(parse(LinkType::RAW, &message[..40], 41, Key::Inner), Err(Reject::TruncatedIp));

    // The number of tags, labels and tunnels is limited: here the IPv4 header counts, too, and Ethernet does not.
    let tagged = |tags: usize| {
        let tags = [0x81, 0, 0, 7].repeat(tags);
        let bytes = [&[2; 12], &tags[..], &[8, 0], &ipv4(protocol::TCP, 0, &TCP)].concat();
        inner(LinkType::ETHERNET, &bytes).map(|packet| packet.vlan)
    };
    assert_eq!(tagged(LAYERS - 1), Ok(Some(7)));
    assert_eq!(tagged(LAYERS), Err(Reject::Layers));
    assert_eq!(tagged(10_000), Err(Reject::Layers));
    // Found by fuzzing: the limit is the same for every link type.
    let cooked_and_tagged = |tags: usize| {
        let tags = [0x81, 0, 0, 7].repeat(tags);
        let bytes =
            [&[0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0], &tags[..], &[8, 0], &ipv4(protocol::TCP, 0, &TCP)].concat();
        inner(LinkType::LINUX_SLL, &bytes).map(|packet| packet.vlan)
    };
    assert_eq!(cooked_and_tagged(LAYERS - 1), Ok(Some(7)));
    assert_eq!(cooked_and_tagged(LAYERS), Err(Reject::Layers));
    let russian_doll = (0..LAYERS).fold(ipv4(protocol::TCP, 0, &TCP), |inside, _| ipv4(4, 0, &inside));
    assert_eq!(found(&russian_doll), Err(Reject::Layers));
}

#[test]
fn link_types() {
    let (four, six) = (ipv4(protocol::TCP, 0, &TCP), ipv6(protocol::TCP, &TCP));
    let behind = |link, header: &[u8], ip: &[u8]| {
        let bytes = [header, ip].concat();
        inner(link, &bytes).map(|packet| packet.flow.source.is_v4())
    };
    for link in [LinkType::RAW, LinkType::RAW_BSD, LinkType::RAW_OPENBSD] {
        assert_eq!((behind(link, &[], &four), behind(link, &[], &six)), (Ok(true), Ok(false)), "{link:?}");
    }
    assert_eq!((behind(LinkType::IPV4, &[], &four), behind(LinkType::IPV6, &[], &six)), (Ok(true), Ok(false)));
    for link in [LinkType::NULL, LinkType::LOOP] {
        assert_eq!(behind(link, &[2, 0, 0, 0], &four), Ok(true));
        assert_eq!(behind(link, &[0, 0, 0, 2], &four), Ok(true));
        for family in [24, 28, 30] {
            assert_eq!(behind(link, &[family, 0, 0, 0], &six), Ok(false));
            assert_eq!(behind(link, &[0, 0, 0, family], &six), Ok(false));
        }
        assert_eq!(behind(link, &[7, 0, 0, 0], &four), Err(Reject::NotIp));
        assert_eq!(behind(link, &[2, 0, 0, 0], &six), Err(Reject::IpVersion));
    }
    for link in [LinkType::PPP, LinkType::PPP_HDLC, LinkType::CISCO_HDLC] {
        assert_eq!(behind(link, &[0xff, 3, 0, 0x21], &four), Ok(true));
        assert_eq!(behind(link, &[0, 0x57], &six), Ok(false));
        assert_eq!(behind(link, &[0x21], &four), Ok(true), "compressed protocol field");
        assert_eq!(behind(link, &[0x0f, 0, 8, 0], &four), Ok(true), "Cisco HDLC");
        assert_eq!(behind(link, &[0xff, 3, 0xc0, 0x21], &[1, 1, 0, 4]), Err(Reject::NotIp), "link control");
        assert_eq!(behind(link, &[0xff, 0x13, 0, 0x21], &four), Err(Reject::NotIp), "numbered");
        for kind in [0x81, 0x83] {
            assert_eq!(behind(link, &[0xff, 3, 2, kind, 0, 1, 0x21, 64], &four), Ok(true), "labels");
        }
        assert_eq!(behind(link, &[0x8f, 0, 0x86, 0xdd], &six), Ok(false), "Cisco HDLC, to all");
        assert_eq!(behind(link, &[0x8f, 0, 0x80, 0x35], &[0; 18]), Err(Reject::NotIp), "keepalive");
        assert_eq!(behind(link, &[0xff], &[]), Err(Reject::LinkHeader));
    }
    for link in [LinkType::PPP_WITH_DIRECTION, LinkType::CISCO_HDLC_WITH_DIRECTION] {
        assert_eq!(behind(link, &[1, 0xff, 3, 0, 0x21], &four), Ok(true));
        assert_eq!(behind(link, &[0, 0x0f, 0, 8, 0], &four), Ok(true));
    }
    assert_eq!(behind(LinkType::PPP_ETHER, &[0x11, 0, 0, 7, 0, 42, 0, 0x21], &four), Ok(true));
    assert_eq!(
        behind(LinkType::PPP_ETHER, &[0x11, 0, 0, 7, 0, 21, 0, 0x21], &four),
        Err(Reject::IpHeader),
        "too short"
    );
    assert_eq!(behind(LinkType::PPP_ETHER, &[0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0], &[]), Err(Reject::NotIp), "discovery");
    assert_eq!(behind(LinkType::PPP_ETHER, &[0x21, 0, 0, 7, 0, 42, 0, 0x21], &four), Err(Reject::LinkHeader));

    let cooked = |device: u16, protocol: u16| {
        [&[0, 0][..], &device.to_be_bytes(), &[0, 6, 2, 2, 2, 2, 2, 2, 0, 0], &protocol.to_be_bytes()].concat()
    };
    assert_eq!(behind(LinkType::LINUX_SLL, &cooked(1, 0x0800), &four), Ok(true));
    assert_eq!(behind(LinkType::LINUX_SLL, &[cooked(1, 4), vec![6, 6, 3]].concat(), &four), Ok(true), "LLC");
    assert_eq!(behind(LinkType::LINUX_SLL, &cooked(824, 0x0800), &four), Err(Reject::NotIp), "netlink");
    let cooked_2 = [&[0x86, 0xdd][..], &[0; 18]].concat();
    assert_eq!(behind(LinkType::LINUX_SLL2, &cooked_2, &six), Ok(false));

    assert_eq!(behind(LinkType(107), &[], &four), Err(Reject::LinkType), "frame relay");
    assert_eq!(behind(LinkType(u16::MAX), &[], &[]), Err(Reject::LinkType));
}

#[test]
fn frames_of_switches_routers_and_systems() {
    let four = ipv4(protocol::TCP, 0, &TCP);
    let vlan = |link, header: &[u8]| inner(link, &[header, &four].concat()).map(|packet| packet.vlan);
    let tagged = |tag: &[u8]| [&[2; 12], tag, &[8, 0]].concat();
    assert_eq!(vlan(LinkType::MARVELL, &tagged(&[0xc0, 8, 0x20, 7])), Ok(None), "the VLAN of a port");
    assert_eq!(vlan(LinkType::MARVELL, &tagged(&[0xe0, 8, 0x32, 7])), Ok(Some(0x207)));
    assert_eq!(vlan(LinkType::MARVELL_TYPED, &tagged(&[0xda, 0xda, 0, 0, 0x20, 8, 0, 7])), Ok(Some(7)));
    assert_eq!(vlan(LinkType::MARVELL, &[2; 15]), Err(Reject::LinkHeader));
    assert_eq!(vlan(LinkType::BROADCOM, &tagged(&[0, 0, 0, 8])), Ok(None));
    assert_eq!(
        vlan(LinkType::BROADCOM_PREPENDED, &[&[0, 0, 0, 8], &tagged(&[0x81, 0, 0, 9])[..]].concat()),
        Ok(Some(9))
    );

    assert_eq!(vlan(LinkType::JUNIPER_ETHERNET, &[b"MGC\0", &tagged(&[])[..]].concat()), Ok(None));
    for header in [&b"MGC\x82\0\x03\x01\x01\x07"[..], b"MGC\x82\0\x03\x01\x01\x07\x02\0\0\0", b"MGC\x02\x02\0\0\0"] {
        assert_eq!(vlan(LinkType::JUNIPER_ETHERNET, header), Ok(None), "without its header");
    }
    assert_eq!(vlan(LinkType::JUNIPER_ETHERNET, b"MGD\x02"), Err(Reject::LinkHeader));

    let infiniband = |ether_type: [u8; 2]| [&[0; 40][..], &ether_type, &[0, 0]].concat();
    assert_eq!(vlan(LinkType::IP_OVER_INFINIBAND, &infiniband([8, 0])), Ok(None));
    assert_eq!(vlan(LinkType::IP_OVER_INFINIBAND, &infiniband([8, 6])), Err(Reject::NotIp));
    let solaris = |family: u8| [&[1, family][..], &[0; 22]].concat();
    assert_eq!(vlan(LinkType::IPNET, &solaris(2)), Ok(None));
    assert_eq!(vlan(LinkType::IPNET, &solaris(26)), Err(Reject::IpVersion));
    assert_eq!(vlan(LinkType::IPNET, &solaris(1)), Err(Reject::NotIp));

    let named = |length: u32, kind: u32, link: LinkType, rest: usize| {
        let numbers = [length, kind, link.0.into()].map(u32::to_le_bytes).concat();
        [numbers, vec![0; rest]].concat()
    };
    assert_eq!(vlan(LinkType::PKTAP, &named(108, 1, LinkType::RAW_BSD, 96)), Ok(None));
    assert_eq!(vlan(LinkType::PKTAP, &named(65_536, 1, LinkType::RAW_BSD, 65_524)), Ok(None));
    let strange = named(12, 1, LinkType::JUNIPER_ETHERNET, 0);
    assert_eq!(vlan(LinkType::PKTAP, &strange), Err(Reject::LinkHeader), "an error of what is inside");
    assert_eq!(vlan(LinkType::PKTAP, &named(108, 0, LinkType::RAW_BSD, 96)), Err(Reject::NotIp), "no packet");
    assert_eq!(vlan(LinkType::PKTAP, &named(12, 1, LinkType::PKTAP, 0)), Err(Reject::NotIp), "in itself");
    assert_eq!(vlan(LinkType::PKTAP, &named(12, 1, LinkType(266), 0)), Err(Reject::NotIp), "USB");
    assert_eq!(vlan(LinkType::PKTAP, &named(11, 1, LinkType::RAW, 0)), Err(Reject::LinkHeader));
    assert_eq!(vlan(LinkType::PKTAP, &named(u32::MAX, 1, LinkType::RAW, 0)), Err(Reject::LinkHeader));
    assert_eq!(vlan(LinkType::PPI, &[0, 0, 8, 0, 101, 0, 0, 0]), Ok(None));
    assert_eq!(vlan(LinkType::PPI, &[0, 0, 9, 0, 101, 0, 0, 0, 7]), Ok(None));
    assert_eq!(vlan(LinkType::PPI, &[0, 0, 4, 0, 101, 0, 0, 0]), Ok(None), "shorter than itself");
    assert_eq!(vlan(LinkType::PPI, &[0, 0, 8, 0, 101, 0, 1, 0]), Err(Reject::NotIp), "no such link type");
}

/// Data of Wi-Fi: with a fourth address, a quality of service, more control bits, and padding.
#[test]
fn wireless_frames() {
    let four = ipv4(protocol::TCP, 0, &TCP);
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let frame = |kind: u8, flags: u8, more: &[u8]| [&[kind, flags][..], &[0; 22], more, &snap, &four].concat();
    let port = |link, bytes: &[u8]| inner(link, bytes).map(|packet| packet.flow.destination_port);
    let data = |kind, flags, more: &[u8]| port(LinkType::IEEE_802_11, &frame(kind, flags, more));
    assert!(data(0x08, 1, &[]).is_ok());
    assert_eq!(data(0x08, 3, &[2; 6]), data(0x08, 1, &[]));
    assert_eq!(data(0x88, 2, &[0, 0]), data(0x08, 1, &[]));
    assert_eq!(data(0x88, 3, &[2, 2, 2, 2, 2, 2, 7, 0]), data(0x08, 1, &[]));
    assert_eq!(data(0x88, 0x82, &[0, 0, 3, 3, 3, 3]), data(0x08, 1, &[]), "a control field of 802.11n");
    assert_eq!(data(0x08, 0x41, &[]), Err(Reject::NotIp), "encrypted");
    assert_eq!(data(0x88, 2, &[0x80, 0]), Err(Reject::NotIp), "several packets");
    assert_eq!(data(0x48, 1, &[]), Err(Reject::NotIp), "no data");
    assert_eq!(data(0x80, 0, &[]), Err(Reject::NotIp), "a beacon");
    assert_eq!(data(0, 0, &[]), Err(Reject::NotIp), "an association");
    let mut later = frame(0x08, 1, &[]);
    later[22] = 1;
    assert_eq!(port(LinkType::IEEE_802_11, &later), Err(Reject::Fragment));

    let received = |header: &[u8], more: &[u8]| port(LinkType::RADIOTAP, &[header, &frame(0x88, 2, more)].concat());
    let good = data(0x08, 1, &[]);
    assert_eq!(received(&[0, 0, 8, 0, 0, 0, 0, 0], &[0, 0]), good);
    assert_eq!(received(&[0, 0, 4, 0, 0, 0, 0, 0], &[0, 0]), good, "shorter than itself");
    assert_eq!(received(&[0, 0, 9, 0, 4, 0, 0, 0, 0x40], &[0, 0]), good, "a rate, and no flags");
    assert_eq!(received(&[0, 0, 9, 0, 2, 0, 0, 0, 0x10], &[0, 0]), good, "with its checksum");
    assert_eq!(received(&[0, 0, 9, 0, 2, 0, 0, 0, 0x20], &[0, 0, 9, 9]), good, "padded");
    assert_eq!(received(&[0, 0, 9, 0, 2, 0, 0, 0, 0x40], &[0, 0]), Err(Reject::LinkHeader), "a wrong checksum");
    let timed = |words: usize, flags: u8| {
        let words = (1..=words)
            .flat_map(|number| [if number == 1 { 3 } else { 0 }, 0, 0, if number < words { 0x80 } else { 0 }]);
        let fields = [vec![0, 0, 0, 0], words.collect()].concat();
        let mut header =
            [&fields, &vec![0; fields.len().next_multiple_of(8) - fields.len() + 8][..], &[flags]].concat();
        header[2] = header.len() as u8;
        header
    };
    for words in 1..4 {
        assert_eq!(received(&timed(words, 0x20), &[0, 0, 9, 9]), good, "{words} words of fields");
        assert_eq!(received(&timed(words, 0), &[0, 0]), good, "{words} words of fields");
    }
    assert_eq!(port(LinkType::RADIOTAP, &[0, 0, 200, 0, 0, 0, 0, 0, 0]), Err(Reject::LinkHeader));
    assert_eq!(port(LinkType::RADIOTAP, &[0, 0, 8, 0, 0, 0, 0, 0x80]), Err(Reject::LinkHeader));
}

#[test]
fn ethernet_with_a_length_field() {
    let ip = ipv4(protocol::TCP, 0, &TCP);
    let behind = |llc: &[u8], payload: &[u8]| {
        let bytes = [ethernet((llc.len() + payload.len()) as u16, llc), payload.to_vec(), vec![0xee; 9]].concat();
        inner(LinkType::ETHERNET, &bytes).map(|packet| packet.flow.destination_port)
    };
    assert_eq!(behind(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &ip), Ok(80));
    assert_eq!(behind(&[0xaa, 0xaa, 3, 0, 0, 0xf8, 8, 0], &ip), Ok(80));
    assert_eq!(behind(&[0xaa, 0xaa, 3, 0, 0, 0xc, 0x20, 0], &[0; 20]), Err(Reject::NotIp), "a vendor's own");
    assert_eq!(behind(&[6, 6, 3], &ip), Ok(80));
    // Up to 1,500 the field is a length.
    for (length, expected) in [(1_500, Ok(80)), (1_501, Err(Reject::NotIp))] {
        assert_eq!(behind(&[6, 6, 3], &[&ip[..], &vec![0; length - 43]].concat()), expected, "{length}");
    }
    assert_eq!(behind(&[0x42, 0x42, 3], &[0; 35]), Err(Reject::NotIp), "spanning tree");
    assert_eq!(behind(&[0xaa, 0xaa], &[]), Err(Reject::LinkHeader));
    assert_eq!(inner(LinkType::ETHERNET, &ethernet(0x0806, &[0; 28])), Err(Reject::NotIp), "ARP");
    assert_eq!(inner(LinkType::ETHERNET, &ethernet(1535, &ip)), Err(Reject::NotIp), "neither length nor type");
    assert_eq!(inner(LinkType::ETHERNET, &[2; 13]), Err(Reject::LinkHeader));
    assert_eq!(parse(LinkType::ETHERNET, &[2; 13], 60, Key::Inner), Err(Reject::TruncatedLink));
}
