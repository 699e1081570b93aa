//! Time per frame to read a file from the page cache, compared with a bare `read` of the same bytes and with the
//! `pcap-file` crate. Every case checks that it saw every frame and byte.
#![allow(missing_docs, reason = "the harness makes public functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dwell_capture::{CaptureFiles, FrameSource, PcapWriter};
use dwell_types::{LinkType, Timestamp};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

const FRAMES: u64 = 1_000_000;

/// What one pass over a file counts: frames, and their captured bytes.
type Seen = (u64, u64);

/// One way of reading a file.
type Case = fn(&Path) -> Seen;

/// Frames of 54 to 94 bytes, as in a TCP capture whose snap length keeps only headers.
fn generate(path: &Path) -> Seen {
    let mut writer =
        PcapWriter::new(File::create(path).expect("a file"), LinkType::ETHERNET, 65_535).expect("a header");
    let content: Vec<u8> = (0..=255).collect();
    let (mut state, mut at_ns, mut bytes) = (1u64, 1_700_000_000_000_000_000i64, 0);
    for _ in 0..FRAMES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = [54, 66, 66, 78, 94, 94, 66][(state >> 40) as usize % 7];
        at_ns += (state >> 50) as i64;
        bytes += length as u64;
        writer.write(Timestamp::from_nanos(at_ns), 1_500, &content[..length]).expect("a record");
    }
    writer.finish().expect("a whole file");
    (FRAMES, bytes)
}

/// The same frames as pcapng, in enhanced packet blocks.
fn as_pcapng(from: &Path, to: &Path) {
    let mut bytes = Vec::new();
    let mut block = |kind: u32, body: &[&[u8]]| {
        let length: usize = body.iter().map(|part| part.len()).sum();
        let whole = (12 + length.next_multiple_of(4)) as u32;
        bytes.extend(kind.to_le_bytes());
        bytes.extend(whole.to_le_bytes());
        body.iter().for_each(|part| bytes.extend_from_slice(part));
        bytes.resize(bytes.len() + length.next_multiple_of(4) - length, 0);
        bytes.extend(whole.to_le_bytes());
    };
    block(0x0a0d_0d0a, &[&0x1a2b_3c4du32.to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]]);
    block(1, &[&[1, 0, 0, 0, 0, 0, 0, 0], &[9, 0, 1, 0, 9, 0, 0, 0]]);
    let mut files = CaptureFiles::open([from]).expect("the pcap file");
    while let Some(frame) = files.next_frame().expect("a sound file") {
        let ticks = frame.at.map_or(0, Timestamp::as_nanos) as u64;
        let words = [0, (ticks >> 32) as u32, ticks as u32, frame.bytes.len() as u32, frame.wire_length];
        block(6, &[words.map(u32::to_le_bytes).as_flattened(), frame.bytes]);
    }
    fs::write(to, bytes).expect("a file");
}

fn dwell(path: &Path) -> Seen {
    let mut files = CaptureFiles::open([path]).expect("the file");
    let mut seen = (0, 0);
    while let Some(frame) = files.next_frame().expect("a sound file") {
        seen.0 += 1;
        seen.1 += frame.bytes.len() as u64;
    }
    seen
}

fn pcap_file(path: &Path) -> Seen {
    let mut reader = pcap_file::pcap::PcapReader::new(File::open(path).expect("the file")).expect("its header");
    let mut seen = (0, 0);
    while let Some(packet) = reader.next_packet() {
        seen.0 += 1;
        seen.1 += packet.expect("a sound file").data.len() as u64;
    }
    seen
}

/// The system call alone: the lower bound for any reader based on `read`.
fn bare_read(path: &Path) -> Seen {
    let mut file = File::open(path).expect("the file");
    let mut buffer = vec![0; 256 << 10];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer).expect("readable") {
            0 => return (FRAMES, bytes - 24 - 16 * FRAMES),
            count => bytes += count as u64,
        }
    }
}

fn read(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let pcap = folder.path().join("frames.pcap");
    let pcapng = folder.path().join("frames.pcapng");
    let gzip = folder.path().join("frames.pcap.gz");
    let expected = generate(&pcap);
    as_pcapng(&pcap, &pcapng);
    let mut packed = Vec::new();
    let plain = File::open(&pcap).expect("the file");
    flate2::read::GzEncoder::new(plain, flate2::Compression::fast()).read_to_end(&mut packed).expect("room");
    fs::write(&gzip, packed).expect("a file");

    let cases: [(&str, &PathBuf, Case); 5] = [
        ("bare-read", &pcap, bare_read),
        ("dwell-pcap", &pcap, dwell),
        ("dwell-pcapng", &pcapng, dwell),
        ("dwell-gzip", &gzip, dwell),
        ("pcap-file-crate", &pcap, pcap_file),
    ];
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Elements(FRAMES)).sample_size(20);
    for (name, path, case) in cases {
        group.bench_function(name, |bencher| bencher.iter(|| assert_eq!(case(path), expected)));
    }
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
