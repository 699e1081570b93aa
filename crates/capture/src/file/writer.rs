use dwell_types::{LinkType, Timestamp};
use std::io::{self, BufWriter, Write};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Writes frames to a pcap file: nanoseconds, little-endian, version 2.4. The same frames give the same bytes.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    writer: BufWriter<W>,
    snap_length: u32,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header. `snap_length` is the maximum number of bytes kept of a frame.
    pub fn new(writer: W, link: LinkType, snap_length: u32) -> io::Result<Self> {
        let mut writer = BufWriter::with_capacity(1 << 16, writer);
        let words = [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, snap_length, u32::from(link.0)];
        writer.write_all(words.map(u32::to_le_bytes).as_flattened())?;
        Ok(Self { writer, snap_length })
    }

    /// Writes one frame, cut at the snap length. `wire_length` is its length on the wire in bytes, if that is more than
    /// `bytes`.
    ///
    /// Fails for times before 1970 or after 2106, which the format cannot hold.
    pub fn write(&mut self, at: Timestamp, wire_length: u32, bytes: &[u8]) -> io::Result<()> {
        let nanos = at.as_nanos();
        let Ok(seconds) = u32::try_from(nanos.div_euclid(NANOS_PER_SECOND)) else {
            let message = format!("{nanos} ns is outside the 2³² seconds since 1970 that a pcap file can represent");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        let fraction = nanos.rem_euclid(NANOS_PER_SECOND) as u32;
        let kept = &bytes[..bytes.len().min(self.snap_length as usize)];
        let whole = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let words = [seconds, fraction, kept.len() as u32, wire_length.max(whole)];
        self.writer.write_all(words.map(u32::to_le_bytes).as_flattened())?;
        self.writer.write_all(kept)
    }

    /// Flushes the buffer and returns the inner writer. Without this, an error at the end goes unnoticed.
    pub fn finish(self) -> io::Result<W> {
        self.writer.into_inner().map_err(io::IntoInnerError::into_error)
    }
}
