//! Texts that are read as a whole.

use dwell_capture::Name;
use dwell_capture::file::Decompressed;
use std::io::Read;
use std::path::Path;

/// The whole of a text file, compressed or not, which holds what `what` says; `-` is standard input. The error names the
/// file.
pub fn whole(path: &Path, what: &str) -> Result<String, String> {
    /// Size limit in bytes: maps of millions of links.
    const MOST: u64 = 256 << 20;
    let name = Name(path);
    let mut bytes = Vec::new();
    let read = Decompressed::open(path, None).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("{name}: {error}"))?;
    if bytes.len() as u64 > MOST {
        return Err(format!("{name}: expected {what}, at most {} MiB after decompression, found more", MOST >> 20));
    }
    String::from_utf8(bytes).map_err(|_| {
        format!("{name}: not a text file: expected {what} as text, plain or compressed with gzip, xz or zstd")
    })
}
