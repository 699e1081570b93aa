//! One capture of several interfaces, whose packets are told apart by name.

use crate::run::{assert_refusal, dwell_in, testdata};
use dwell_capture::{CaptureFiles, FrameSource, PcapWriter};
use dwell_types::LinkType;
use std::fs;

/// Both sides of a router in one capture of all its interfaces, as `tcpdump -i any` makes it, against two captures.
#[test]
fn one_capture_of_two_interfaces() {
    let folder = tempfile::tempdir().unwrap();
    let sides = ["ingress", "egress"].map(|name| testdata(&format!("queue/{name}.pcap.xz")));
    let mut packets = Vec::new();
    for (number, side) in [2u8, 3].into_iter().zip(&sides) {
        let mut files = CaptureFiles::open([side]).unwrap();
        while let Some(frame) = files.next_frame().unwrap() {
            assert_eq!(frame.link, LinkType::ETHERNET);
            let (header, rest) = frame.bytes.split_at(14);
            let cooked = [&header[12..], &[0, 0, 0, 0, 0, number, 0, 1, 0, 6], &header[6..12], &[0, 0], rest].concat();
            packets.push((frame.at.unwrap(), frame.wire_length + 6, cooked));
        }
    }
    packets.sort_by_key(|&(at, ..)| at);
    let any = folder.path().join("any.pcap");
    let mut writer = PcapWriter::new(fs::File::create(&any).unwrap(), LinkType::LINUX_SLL2, 65_535).unwrap();
    for (at, wire_length, bytes) in packets {
        writer.write(at, wire_length, &bytes).unwrap();
    }
    writer.finish().unwrap();

    for command in ["queue", "owd"] {
        let report = |inputs: [&str; 2]| {
            let mut report =
                dwell_in(folder.path(), &[&[command], &inputs[..], &["--format", "json"]].concat()).ok().json();
            assert_eq!(report["sources"].take(), serde_json::json!(inputs));
            report
        };
        assert_eq!(report(["any.pcap%2", "any.pcap%3"]), report([&sides[0], &sides[1]]), "{command}");
    }
    let refused = ["owd", "any.pcap%2", "any.pcap%eth0"];
    let words = ["any.pcap%eth0", "expected packets of interface eth0, found only those of 2, 3"];
    assert_refusal(&dwell_in(folder.path(), &refused), &refused, 1, &words);
    // The file behind the name is an input.
    let refused = ["rtt", "any.pcap%2", "--output", "any.pcap"];
    assert_refusal(&dwell_in(folder.path(), &refused), &refused, 2, &["any.pcap: is an input"]);
}
