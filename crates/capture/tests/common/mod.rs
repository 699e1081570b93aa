//! Builds capture files byte by byte, and collects everything that is read from them.
#![allow(dead_code, reason = "every test binary uses a part of this")]

use dwell_capture::{CaptureError, CaptureFile, Cut, FrameSource};
use dwell_types::Timestamp;
use std::io::{Cursor, Read, Write};

/// A frame that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) at_ns: Option<i64>,
    pub(crate) link: u16,
    pub(crate) wire_length: u32,
    pub(crate) bytes: Vec<u8>,
}

/// Everything that was read from a file.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) frames: Vec<Owned>,
    pub(crate) cut: Option<Cut>,
    pub(crate) error: Option<CaptureError>,
}

/// Reads compressed data, directly and ahead, which must give the same.
pub(crate) fn read_compressed(bytes: &[u8]) -> Outcome {
    let outcome = read(bytes);
    let ahead = read_all(CaptureFile::open("test", Cursor::new(bytes.to_vec())).and_then(CaptureFile::ahead));
    assert_eq!(format!("{ahead:?}"), format!("{outcome:?}"));
    outcome
}

/// Reads everything, and checks the invariants that hold for every file.
pub(crate) fn read(reader: impl Read) -> Outcome {
    read_all(CaptureFile::open("test", reader))
}

fn read_all<R: Read>(file: Result<CaptureFile<R>, CaptureError>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut file = match file {
        Ok(file) => file,
        Err(error) => {
            assert_eq!(error.frames(), 0);
            return Outcome { error: Some(error), ..outcome };
        }
    };
    loop {
        match file.next_frame() {
            Ok(Some(frame)) => outcome.frames.push(Owned {
                at_ns: frame.at.map(Timestamp::as_nanos),
                link: frame.link.0,
                wire_length: frame.wire_length,
                bytes: frame.bytes.to_vec(),
            }),
            Ok(None) => break,
            Err(error) => {
                assert_eq!(error.frames(), outcome.frames.len() as u64, "{error}");
                outcome.error = Some(error);
                break;
            }
        }
    }
    assert!(matches!(file.next_frame(), Ok(None)), "nothing follows the end");
    assert_eq!(file.frames(), outcome.frames.len() as u64);
    outcome.cut = file.cut().cloned();
    outcome
}

/// The peak memory of this process.
pub(crate) fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Yields at most `1..=limit` bytes per call, in a repeating pattern.
pub(crate) struct Trickle<R> {
    pub(crate) reader: R,
    pub(crate) limit: usize,
    pub(crate) turn: usize,
}

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.turn += 1;
        let length = buffer.len().min(self.turn % self.limit + 1);
        self.reader.read(&mut buffer[..length])
    }
}

pub(crate) const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(crate) const NANOSECONDS: u32 = 0xa1b2_3c4d;
pub(crate) const MODIFIED: u32 = 0xa1b2_cd34;

/// A pcap file under construction.
pub(crate) struct Pcap {
    pub(crate) bytes: Vec<u8>,
    big_endian: bool,
    extra: usize,
}

impl Pcap {
    pub(crate) fn new(magic: u32, big_endian: bool) -> Self {
        Self::with_header(magic, big_endian, (2, 4), 65_535, 1)
    }

    pub(crate) fn with_header(magic: u32, big_endian: bool, version: (u16, u16), snap_length: u32, link: u32) -> Self {
        let mut file = Self { bytes: Vec::new(), big_endian, extra: if magic == MODIFIED { 8 } else { 0 } };
        file.u32(magic).u16(version.0).u16(version.1).u32(0).u32(0).u32(snap_length).u32(link);
        file
    }

    pub(crate) fn record(
        &mut self,
        seconds: u32,
        fraction: u32,
        captured: u32,
        wire_length: u32,
        bytes: &[u8],
    ) -> &mut Self {
        self.u32(seconds).u32(fraction).u32(captured).u32(wire_length);
        self.bytes.extend(vec![0xee; self.extra]);
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }
}

/// A pcapng file under construction.
#[derive(Default)]
pub(crate) struct Pcapng {
    pub(crate) bytes: Vec<u8>,
    pub(crate) big_endian: bool,
    /// Whether lengths of blocks lack the padding, which they should include.
    pub(crate) lengths_lack_padding: bool,
}

impl Pcapng {
    pub(crate) fn new(big_endian: bool) -> Self {
        let mut file = Self { big_endian, ..Self::default() };
        file.section(big_endian);
        file
    }

    pub(crate) fn u16(&self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn u32(&self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn u64(&self, value: u64) -> [u8; 8] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn words(&self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|&word| self.u32(word)).collect()
    }

    pub(crate) fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let padding = body.len().next_multiple_of(4) - body.len();
        let counted = if self.lengths_lack_padding { 0 } else { padding };
        let length = self.u32((12 + body.len() + counted) as u32);
        self.bytes.extend(self.u32(kind));
        self.bytes.extend(length);
        self.bytes.extend_from_slice(body);
        self.bytes.extend(vec![0; padding]);
        self.bytes.extend(length);
        self
    }

    pub(crate) fn section(&mut self, big_endian: bool) -> &mut Self {
        self.big_endian = big_endian;
        let mut body = self.words(&[0x1a2b_3c4d]);
        body.extend(self.u16(1));
        body.extend(self.u16(0));
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    pub(crate) fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = [self.u16(code), self.u16(value.len() as u16)].concat();
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    pub(crate) fn interface(&mut self, link: u16, snap_length: u32, options: &[(u16, &[u8])]) -> &mut Self {
        let mut body = [self.u16(link), self.u16(0)].concat();
        body.extend(self.u32(snap_length));
        for (code, value) in options {
            body.extend(self.option(*code, value));
        }
        if !options.is_empty() {
            body.extend([0; 4]);
        }
        self.block(1, &body)
    }

    pub(crate) fn enhanced(&mut self, interface: u32, ticks: u64, wire_length: u32, bytes: &[u8]) -> &mut Self {
        let length = bytes.len() as u32;
        let mut body = self.words(&[interface, (ticks >> 32) as u32, ticks as u32, length, wire_length]);
        body.extend_from_slice(bytes);
        self.block(6, &body)
    }

    pub(crate) fn obsolete(
        &mut self,
        interface: u16,
        drops: u16,
        ticks: u64,
        wire_length: u32,
        bytes: &[u8],
    ) -> &mut Self {
        let mut body = [self.u16(interface), self.u16(drops)].concat();
        body.extend(self.words(&[(ticks >> 32) as u32, ticks as u32, bytes.len() as u32, wire_length]));
        body.extend_from_slice(bytes);
        self.block(2, &body)
    }

    pub(crate) fn simple(&mut self, wire_length: u32, bytes: &[u8]) -> &mut Self {
        let mut body = self.words(&[wire_length]);
        body.extend_from_slice(bytes);
        self.block(3, &body)
    }
}

pub(crate) fn frame(at_ns: i64, link: u16, wire_length: u32, bytes: &[u8]) -> Owned {
    Owned { at_ns: Some(at_ns), link, wire_length, bytes: bytes.to_vec() }
}

/// Compresses with each supported compression: pairs of its name and the compressed bytes.
pub(crate) fn compressed(plain: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    [("gzip", gzip(plain)), ("xz", xz(plain)), ("zstd", zstd(plain))]
}

pub(crate) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzEncoder::new(plain, flate2::Compression::new(6)).read_to_end(&mut bytes).unwrap();
    bytes
}

pub(crate) fn xz(plain: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    liblzma::read::XzEncoder::new(plain, 1).read_to_end(&mut bytes).unwrap();
    bytes
}

/// As the zstd tool compresses a file: with its size at the beginning and a checksum at the end.
pub(crate) fn zstd(plain: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.set_pledged_src_size(Some(plain.len() as u64)).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}
