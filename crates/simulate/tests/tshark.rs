//! Checks simulated frames with Wireshark's dissectors. Skipped, visibly, where `tshark` is not installed.

use dwell_capture::file::PcapWriter;
use dwell_simulate::Distribution;
use dwell_simulate::packet::{PacketWorkload, Settings, Truth};
use dwell_types::{LinkType, Nanos};
use std::path::Path;
use std::process::Command;

/// Writes all frames into a file.
fn write(settings: &Settings, seed: u64, path: &Path) -> Truth {
    let mut workload = PacketWorkload::new(settings, seed).expect("valid settings");
    let file = std::fs::File::create(path).expect("a temporary file");
    let mut writer = PcapWriter::new(file, LinkType::ETHERNET, settings.snap_length).expect("a header");
    while let Some(frame) = workload.next_frame() {
        writer.write(frame.at.expect("a time"), frame.wire_length, frame.bytes).expect("a record");
    }
    writer.finish().expect("the end of the file");
    *workload.truth()
}

/// Number of frames in the file that match a display filter.
fn count(path: &Path, filter: &str) -> u64 {
    let mut tshark = Command::new("tshark");
    for check in ["tcp", "udp", "ip"] {
        tshark.args(["-o", &format!("{check}.check_checksum:TRUE")]);
    }
    let output = tshark.arg("-nr").arg(path).args(["-Y", filter, "-T", "fields", "-e", "frame.number"]).output();
    let output = output.expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.iter().filter(|&&byte| byte == b'\n').count() as u64
}

#[test]
fn tshark_agrees() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pcap");
    let usual = Settings { flows: 1000, queries: 500, snap_length: 65_535, ..Settings::small() };
    let slow = Distribution::LogNormal { mean: Nanos::new(300_000_000), p99: Nanos::from_secs(3) };
    let rough =
        Settings { syn_loss: 0.2, data_loss: 0.03, query_loss: 0.3, one_way: 0.1, beyond: slow, ..usual.clone() };
    for (name, settings) in [("usual", usual), ("rough", rough)] {
        let truth = write(&settings, 1, &path);
        let count = |filter| count(&path, filter);
        assert_eq!(count("_ws.malformed || _ws.expert.severity == error"), 0, "{name}");
        assert_eq!(count("ip.checksum.status == Bad || tcp.checksum.status == Bad || udp.checksum.status == Bad"), 0);
        assert_eq!(count("tcp.checksum.status == Good || udp.checksum.status == Good"), truth.frames, "{name}");
        assert_eq!(count("tcp.flags.syn == 1 && tcp.flags.ack == 0"), truth.beyond.requests, "{name}");
        assert_eq!(count("tcp.flags.syn == 1 && tcp.flags.ack == 1"), truth.before.requests, "{name}");
        assert_eq!(count("dns.time"), truth.dns.exchanges, "{name}");
        // A copy of the SYN after the SYN-ACK makes tshark forget the SYN-ACK, whose ACK is then no sample.
        let late_copies = truth.sum.repeats - truth.beyond.repeats;
        let samples = count("tcp.analysis.ack_rtt");
        assert!(
            samples <= truth.ack.exchanges && truth.ack.exchanges <= samples + late_copies,
            "{name}: {samples}, {truth:?}"
        );
    }
}
