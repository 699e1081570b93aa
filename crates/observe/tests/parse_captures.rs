//! Runs the parser on every capture in the folder that `DWELL_DATA` names: it must never panic, and on the captures of
//! the table it must count what tshark counts.
//!
//! The table was made by tshark 4.0 with reassembly of IP fragments and TCP streams off, from the fields
//! `frame.protocols` (the transport above the innermost IP header that is not quoted in an ICMP error), `tcp.len`,
//! `tcp.seq_raw`, `tcp.ack_raw` and `tcp.options.timestamp.tsval`.

use dwell_capture::{CaptureFiles, FrameSource};
use dwell_observe::packet::Transport;
use dwell_observe::parse::{Key, Reject, parse};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The counts that are compared with tshark's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    tcp: u64,
    udp: u64,
    icmp: u64,
    /// Sum of the payload lengths of TCP segments, in bytes.
    tcp_bytes: u64,
    /// TCP segments with a timestamp option.
    timestamps: u64,
    /// Sum of all sequence and acknowledgement numbers, modulo 2³².
    numbers: u32,
    rejected: [u64; Reject::ALL.len()],
}

impl Counts {
    fn columns(&self) -> [u64; 6] {
        [self.tcp, self.udp, self.icmp, self.tcp_bytes, self.timestamps, self.numbers.into()]
    }
}

/// Counts the packets up to the end of the file, or to the first error in it.
fn count(path: &Path, key: Key) -> Counts {
    let mut counts = Counts::default();
    let Ok(mut source) = CaptureFiles::open([path]) else { return counts };
    while let Ok(Some(frame)) = source.next_frame() {
        match parse(frame.link, frame.bytes, frame.wire_length, key) {
            Err(reject) => counts.rejected[reject as usize] += 1,
            Ok(packet) => match packet.transport {
                Transport::Udp(_) => counts.udp += 1,
                Transport::Icmp(_) => counts.icmp += 1,
                Transport::Other(_) => unreachable!("only parse::any yields it"),
                Transport::Tcp(tcp) => {
                    counts.tcp += 1;
                    counts.tcp_bytes += u64::from(tcp.payload_length);
                    counts.timestamps += u64::from(tcp.timestamps().is_some());
                    counts.numbers = counts.numbers.wrapping_add(tcp.sequence).wrapping_add(tcp.acknowledgement);
                }
            },
        }
    }
    counts
}

fn data() -> Option<PathBuf> {
    let folder = env::var_os("DWELL_DATA").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: DWELL_DATA names no folder");
    }
    folder
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of captures") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}

#[test]
fn no_capture_is_too_much() {
    let Some(data) = data() else { return };
    let mut files = vec![];
    walk(&data, &mut files);
    let mut decoded = 0;
    for path in files {
        for key in [Key::Inner, Key::Outer] {
            let counts = count(&path, key);
            decoded += counts.tcp + counts.udp + counts.icmp;
        }
    }
    assert!(decoded > 0, "no packet in {}", data.display());
}

#[test]
fn agrees_with_tshark() {
    let Some(data) = data() else { return };
    let mut compared = 0;
    for (file, expected) in TSHARK.iter().chain(DIFFERENT) {
        let path = data.join("captures").join(file);
        if path.exists() {
            assert_eq!(count(&path, Key::Inner).columns(), *expected, "{file}");
            compared += 1;
        } else {
            println!("skipped: {} is missing", path.display());
        }
    }
    println!("{compared} captures compared");
}

#[test]
fn every_rejected_frame_has_its_reason() {
    let Some(data) = data() else { return };
    for (file, expected) in REJECTED {
        let path = data.join("captures").join(file);
        if path.exists() {
            let rejected = count(&path, Key::Inner).rejected;
            let found: Vec<_> = Reject::ALL.into_iter().zip(rejected).filter(|(_, count)| *count > 0).collect();
            assert_eq!(found, *expected, "{file}");
        } else {
            println!("skipped: {} is missing", path.display());
        }
    }
}

/// A file, and its [`Counts::columns`].
type Row = (&'static str, [u64; 6]);

/// Captures that dwell reads differently from tshark, with dwell's counts.
const DIFFERENT: &[Row] = &[
    // Longer than 64 KiB and so without an IP length: tshark 4.0 stops there, dwell uses the length of the frame.
    ("encap/bigtcp-ipv6.pcap", [1, 0, 0, 79_968, 1, 1_821_095_037]),
    // Six segments without payload, whose IP length includes six bytes of Ethernet padding; tshark ends the segment at
    // the PPPoE length (34,520 bytes), dwell at the IP length.
    ("encap/pppoe-qinq-86.pcap", [86, 0, 0, 34_556, 1, 1_318_615_447]),
    // Cut captures that give the captured length as the length on the wire. tshark takes that as the end of the segment
    // (12,584, 1,188 and 1,728 bytes), dwell uses the IP length.
    ("tcp/tcptrace-fast-port-reuse.pcap", [513, 0, 0, 185_816, 496, 1_090_899_397]),
    ("tcp/tcptrace-long-rtt.pcap", [42, 0, 0, 31_441, 41, 777_688_681]),
    ("tcp/tcptrace-six-syns.pcap", [68, 0, 0, 44_981, 66, 100_738_845]),
];

/// Captures with rejected frames, and the counts by reason.
const REJECTED: &[(&str, &[(Reject, u64)])] = &[
    // Spanning tree, a discovery protocol and ARP inside the mirrored frames.
    ("encap/erspan2-108.pcap", &[(Reject::NotIp, 108)]),
    // ARP, later fragments, SCTP.
    ("encap/ip-fragments-3000.pcap", &[(Reject::NotIp, 4), (Reject::Fragment, 1550), (Reject::Transport, 47)]),
    ("encap/sctp-829.pcap", &[(Reject::Transport, 829)]),
    ("formats/unknown-linktype-isis.pcap", &[(Reject::NotIp, 14)]),
    ("formats/wifi-radiotap.pcap", &[(Reject::NotIp, 10)]),
    // The precision time protocol directly over Ethernet.
    ("two-point/three-hop-ptp/point1-s1-in.pcap", &[(Reject::NotIp, 7058)]),
];

/// Captures on which dwell and tshark agree, with the counts.
const TSHARK: &[Row] = &[
    ("derived/trunk-mix.pcap", [129_664, 21_779, 240, 169_133_270, 112_350, 2_993_112_338]),
    ("dns/authoritative-knot-17k.pcap", [956, 16_348, 189, 102_956, 95, 1_153_220_369]),
    ("dns/client-464.pcap", [0, 464, 0, 0, 0, 0]),
    ("dns/gold-2k.pcap.xz", [0, 1_998, 0, 0, 0, 0]),
    ("dns/tcp-ipv6-180flows.pcap", [1_800, 0, 0, 20_000, 1_800, 2_435_845_108]),
    ("dns/udp-tcp-load-16k.pcap", [13_176, 2_971, 0, 248_395, 13_176, 2_212_773_623]),
    ("encap/4in6-4.pcap", [4, 0, 0, 1_596, 0, 2_292_931_223]),
    ("encap/6in4-127.pcap", [75, 4, 48, 23_597, 75, 3_445_994_015]),
    ("encap/erspan2-108.pcap", [0, 0, 0, 0, 0, 0]),
    ("encap/geneve-39.pcap", [33, 0, 6, 4_396, 33, 3_189_883_192]),
    ("encap/gre-40.pcap", [22, 8, 10, 2_623, 22, 2_668_214_684]),
    ("encap/gtp-u-102.pcap", [0, 0, 102, 0, 0, 0]),
    ("encap/icmp-tunnel-ping.pcap", [0, 0, 2_000, 0, 0, 0]),
    ("encap/ip-fragments-3000.pcap", [256, 1_140, 3, 6_052, 256, 898_585_206]),
    ("encap/ipip-5.pcap", [4, 0, 1, 412, 1, 1_128_156_525]),
    ("encap/ipv6-ext-headers.pcap", [0, 1, 0, 0, 0, 0]),
    ("encap/mpls-58.pcap", [19, 12, 10, 75, 0, 2_082_802_191]),
    ("encap/mpls-vlan-mixed-47.pcap", [47, 0, 0, 12_979, 36, 2_360_144_690]),
    ("encap/ppp-mptcp-2560.pcap", [2_554, 0, 6, 2_359_320, 2_554, 3_425_088_494]),
    ("encap/qinq-dot1ad.pcapng", [0, 0, 0, 0, 0, 0]),
    ("encap/sctp-829.pcap", [0, 0, 0, 0, 0, 0]),
    ("encap/sctp-www-84.pcap", [0, 0, 0, 0, 0, 0]),
    ("encap/vxlan-127.pcap", [119, 8, 0, 69_876, 116, 4_278_717_599]),
    ("formats/fddi.pcap", [529, 0, 0, 446_749, 1, 400_037_636]),
    ("formats/invalid-microseconds.pcap", [3, 0, 0, 0, 3, 4_254_318_468]),
    ("formats/linux-cooked.pcap", [17, 0, 0, 598, 17, 1_408_811_405]),
    ("formats/linux-cooked2.pcap", [1, 0, 0, 0, 0, 1_383_749_032]),
    ("formats/long-mixed.pcapng", [15, 3_921, 68, 20, 10, 1_314_903_333]),
    ("formats/microsecond-big-endian-netlink.pcap", [0, 0, 0, 0, 0, 0]),
    ("formats/mixed-linktypes.pcapng", [159, 0, 0, 46_679, 158, 3_044_574_065]),
    ("formats/modified-magic.pcap", [0, 0, 1, 0, 0, 0]),
    ("formats/multi-interface.pcapng", [0, 6, 0, 0, 0, 0]),
    ("formats/nanosecond-big-endian.pcap", [10, 0, 0, 1_522, 10, 2_138_679_717]),
    ("formats/ns-vlan-gated-789.pcap", [60, 729, 0, 1_452, 60, 3_642_075_487]),
    ("formats/null-linktype.pcap", [470, 0, 0, 331_296, 470, 2_506_364_861]),
    ("formats/pcap-v2.2.pcap", [40, 0, 0, 8_650, 0, 1_592_708_100]),
    ("formats/raw-ip.pcap", [92, 8, 0, 24_437, 50, 65_177_158]),
    ("formats/test001-be.pcapng", [0, 4, 0, 0, 0, 0]),
    ("formats/test001-le.pcapng", [0, 4, 0, 0, 0, 0]),
    ("formats/test010-le.pcapng", [0, 4, 0, 0, 0, 0]),
    ("formats/test016-be.pcapng", [0, 4, 0, 0, 0, 0]),
    ("formats/test016-le.pcapng", [0, 4, 0, 0, 0, 0]),
    ("formats/test017-le.pcapng", [0, 0, 0, 0, 0, 0]),
    ("formats/too-many-interfaces.pcapng", [0, 1, 0, 0, 0, 0]),
    ("formats/two-interfaces-two-linktypes.pcapng", [32, 32, 0, 3_045, 32, 3_081_220_440]),
    ("formats/unknown-linktype-isis.pcap", [0, 0, 0, 0, 0, 0]),
    ("formats/wifi-radiotap.pcap", [0, 0, 0, 0, 0, 0]),
    ("ntp/ntp-35.pcap", [0, 35, 0, 0, 0, 0]),
    ("ntp/ntp-56.pcap", [0, 56, 0, 0, 0, 0]),
    ("ntp/ntp-8.pcap", [0, 8, 0, 0, 0, 0]),
    ("ntp/ntp-control-21.pcap", [0, 21, 0, 0, 0, 0]),
    ("ntp/ntp-sync-32.pcap", [0, 32, 0, 0, 0, 0]),
    ("quic/chromium.pcap", [0, 917, 0, 0, 0, 0]),
    ("quic/delay-bit.pcap", [0, 5_231, 0, 0, 0, 0]),
    ("quic/spin-aiortc.pcap", [0, 69, 0, 0, 0, 0]),
    ("quic/spin-v18-long.pcap", [0, 59, 0, 0, 0, 0]),
    ("quic/v25-lsquic.pcap", [0, 147, 0, 0, 0, 0]),
    ("quic/v25-mvfst.pcap", [0, 177, 14, 0, 0, 0]),
    ("tcp/app-alexa-121flows.pcapng", [3_325, 65, 14, 1_220_782, 1_368, 2_041_947_349]),
    ("tcp/cc-traffic-299flows.pcap", [7_931, 0, 0, 1_417_600, 7_931, 2_097_052_270]),
    ("tcp/desktop-66flows.pcap", [4_492, 139, 0, 3_426_041, 4_445, 2_462_504_296]),
    ("tcp/echo-500flows-82k.pcap.gz", [82_582, 0, 0, 52_022, 82_582, 4_267_779_531]),
    ("tcp/ftp-long-rtt-series.pcap", [8_317, 0, 0, 201_017, 0, 3_847_831_025]),
    ("tcp/memcached-20k-truncated.pcap", [20_421, 0, 0, 551_979, 20_421, 629_874_019]),
    ("tcp/mixed-126flows.pcap", [4_321, 269, 109, 2_570_195, 0, 4_099_250_225]),
    ("tcp/mlab-ndt-download-18k.pcap", [18_240, 0, 0, 22_167_731, 18_240, 135_001_859]),
    ("tcp/mlab-ndt-download-5k-lossy.pcap", [5_180, 0, 0, 81_242_542, 5_178, 2_782_825_237]),
    ("tcp/mlab-ndt-slow-336.pcap", [336, 0, 0, 155_595, 336, 1_792_403_904]),
    ("tcp/mlab-ndt-upload-146k.pcap", [146_172, 0, 0, 153_418_903, 145_936, 574_261_880]),
    ("tcp/p2p-gnutella-137flows.pcap", [5_735, 1_692, 29, 3_409_087, 0, 993_561_896]),
    ("tcp/p2p-skype-97flows.pcap", [2_564, 492, 8, 384_540, 2_352, 3_538_390_799]),
    ("tcp/tcp-transfer-41k-snap80.pcap", [41_316, 0, 0, 50_348_778, 41_316, 3_751_412_973]),
    ("tcp/tcptrace-dsack-15k.pcap", [15_710, 0, 0, 16_787_352, 15_710, 2_015_042_324]),
    ("tcp/tcptrace-first-segment-out-of-order.pcap", [243, 0, 0, 64_181, 243, 617_519_430]),
    ("tcp/tcptrace-hardware-dups.pcap", [1_458, 0, 0, 1_168_534, 0, 473_990_152]),
    ("tcp/tcptrace-http-61flows.pcap", [1_270, 0, 0, 481_918, 0, 1_734_818_801]),
    ("tcp/tls-73flows.pcap", [1_095, 0, 0, 191_644, 1_022, 2_425_065_116]),
    ("tcp/video-netflix-47flows.pcap", [2_246, 44, 0, 1_261_586, 2_208, 41_690_290]),
    ("tcp/vlan-smb-7k.pcap", [7_276, 0, 0, 2_212_923, 0, 3_517_133_859]),
    ("tcp/web-attack-833flows.pcap", [9_989, 0, 0, 729_522, 9_989, 383_592_583]),
    ("tcp/web-espn-25flows.pcapng", [928, 28, 0, 587_340, 928, 3_326_248_236]),
    ("tcp/web-reddit-ipv6-60flows.pcap", [4_174, 0, 0, 2_193_709, 4_102, 1_864_765_489]),
    ("two-point/end-to-end/client.pcap", [2_781, 5, 10, 3_143_764, 2_470, 323_358_999]),
    ("two-point/end-to-end/server.pcap", [2_775, 5, 10, 3_106_116, 2_462, 3_285_093_459]),
    ("two-point/three-hop-ptp/point1-s1-in.pcap", [0, 0, 13, 0, 0, 0]),
    ("two-point/three-hop-ptp/point2-s2-in.pcap", [0, 0, 33, 0, 0, 0]),
    ("two-point/three-hop-ptp/point3-s3-in.pcap", [0, 0, 50, 0, 0, 0]),
    ("two-point/tsn-bridge/tap-downstream.pcap", [0, 1_000, 0, 0, 0, 0]),
    ("two-point/tsn-bridge/tap-upstream.pcap", [0, 1_000, 0, 0, 0, 0]),
];
