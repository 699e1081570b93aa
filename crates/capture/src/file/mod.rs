//! Captures in files and pipes.
//!
//! Supported: pcap in microseconds and nanoseconds, in both byte orders, with plain and with modified (Kuznetzov)
//! record headers; pcapng with any number of sections and up to 65,536 interfaces in each. Either may be compressed
//! with gzip, xz or zstd. Format and compression are recognised by the first bytes, never by the file name.
//!
//! Frames are yielded in the order of the file, except that those of several interfaces of a pcapng section are merged by
//! time: programs that capture on several interfaces write blocks of one after blocks of another. To that end frames are
//! copied and held: at most half a second of them, and at most 32 MiB. Frames of a single interface are not.
//!
//! Concatenated files (`cat a b`) in one stream are read to the end if they are of one format.
//!
//! The kind of defect decides what happens:
//! - The file or its compressed data ends in the middle of a record or block: everything before is yielded, and
//!   a [`Cut`](crate::Cut) says where it was truncated.
//! - The file violates its format (an impossible length, a block whose two lengths differ, corrupt compressed data):
//!   everything before is yielded, then [`CaptureError::Damaged`](crate::CaptureError). No attempt is made to find the
//!   next record.
//! - It is not a capture in the first place (missing, empty, another format, a header that is incomplete or of an
//!   unknown version): an error before any frame.
//!
//! For [`CaptureFiles`] each of these is a [`Warning`](crate::Warning), as long as any file has a frame; but a path that
//! is missing, unreadable or a directory is always an error, before anything is read.
//!
//! Memory is bounded whatever the input claims: a record or block that must be buffered has at most 16 MiB, everything
//! else is skipped, and buffers grow only with bytes that have really arrived. Frames held to be merged take 32 MiB, and an
//! entry per interface that has any. Decompression may take 8 MiB to 128 MiB
//! more, depending on the window that the file was compressed with. [`CaptureFiles`] decompress in a thread of their
//! own, which is at most 1 MiB ahead.

// Opening and reading files, pipes and standard input, and stopping a blocked read.
mod source;
use source::Source;
pub use source::{Stop, is_stopped};
// Recognising the compression, and decompressing.
mod compression;
pub use compression::{Decompressed, is_cut};
// The buffered part of the stream.
mod window;
// The two file formats.
mod pcap;
mod pcapng;
// Reading the packets of one interface only.
mod choice;
// Merging the packets of several interfaces by time.
mod merge;
// Reading one capture.
mod reader;
pub use reader::CaptureFile;
// Reading several captures, one after the other.
mod files;
pub use files::CaptureFiles;
// Writing pcap files, for simulated captures and tests.
mod writer;
pub use writer::PcapWriter;

use dwell_types::{LinkType, Timestamp};
use std::io;

/// The most bytes that a frame can have; a greater length counts as damage.
const MAX_FRAME: u32 = 16 << 20;

/// A frame as a range of the window's buffer: [`dwell_types::Frame`] before it borrows.
#[derive(Clone, Copy)]
struct Record {
    at: Option<Timestamp>,
    link: LinkType,
    wire_length: u32,
    /// Where the bytes begin in the window's buffer.
    start: usize,
    /// Captured length in bytes.
    length: usize,
}

/// Why the next record cannot be read.
enum Trouble {
    Io { offset: u64, error: io::Error },
    Version { offset: u64, expected: &'static str, found: String },
    Cut { offset: u64, expected: String, found: String },
    Damaged { offset: u64, expected: String, found: String },
}

/// Reads integers in the byte order of a file or section.
#[derive(Clone, Copy)]
struct ByteOrder {
    big_endian: bool,
}

impl ByteOrder {
    #[inline(always)]
    fn u16(self, bytes: [u8; 2]) -> u16 {
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline(always)]
    fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    #[inline(always)]
    fn u64(self, bytes: [u8; 8]) -> u64 {
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    /// The words of a header, in order.
    #[inline(always)]
    fn words<const N: usize>(self, words: &[[u8; 4]; N]) -> [u32; N] {
        words.map(|word| self.u32(word))
    }
}

/// The first `N` words of four bytes, if there are that many.
#[inline(always)]
fn first_words<const N: usize>(bytes: &[u8]) -> Option<&[[u8; 4]; N]> {
    bytes.as_chunks::<4>().0.first_chunk::<N>()
}
