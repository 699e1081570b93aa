use super::window::Window;
use super::{ByteOrder, MAX_FRAME, Record, Trouble, first_words};
use dwell_types::{LinkType, Timestamp};
use std::io::Read;

/// Length of the file header in bytes.
pub(super) const FILE_HEADER: usize = 24;

/// The largest captured length that is accepted in a file that states a smaller snap length, in bytes: the default snap
/// length of current tools. Some writers store whole packets of 64 KiB and more (segmentation offload) under a smaller
/// snap length.
const SOUND_LENGTH: u32 = 262_144;

/// A kind of pcap file: what the magic number at its beginning stands for.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    order: ByteOrder,
    /// Nanoseconds per unit of the second half of a timestamp.
    unit_ns: i64,
    /// Length of a record header in bytes: 16, or 24 with Kuznetzov's additions.
    record_header: usize,
}

impl Kind {
    /// The kind of a file that begins with these bytes.
    pub(super) fn of(magic: [u8; 4]) -> Option<Self> {
        [false, true].into_iter().find_map(|big_endian| {
            let order = ByteOrder { big_endian };
            let (unit_ns, record_header) = match order.u32(magic) {
                0xa1b2_c3d4 => (1_000, 16),
                0xa1b2_3c4d => (1, 16),
                0xa1b2_cd34 => (1_000, 24),
                _ => return None,
            };
            Some(Self { order, unit_ns, record_header })
        })
    }
}

/// A pcap file: what its header says about the records.
pub(super) struct Pcap {
    kind: Kind,
    link: LinkType,
    /// The largest captured length that is accepted, in bytes.
    limit: u32,
    /// Little-endian, plain record headers, lengths in the usual order: true of nearly every file.
    usual: bool,
    /// Version before 2.4: its writers disagreed on which of the two lengths comes first.
    unordered_lengths: bool,
}

impl Pcap {
    /// Reads the file header, whose magic number has been recognised already.
    pub(super) fn open<R: Read>(window: &mut Window<R>, kind: Kind) -> Result<Self, Trouble> {
        let offset = window.offset();
        window.hold(FILE_HEADER)?;
        let Some(words) = first_words::<6>(window.held()) else {
            return Err(window.cut(offset, format!("a pcap file header of {FILE_HEADER} bytes")));
        };
        let order = kind.order;
        let [_, _, _, _, snap_length, link] = order.words(words);
        let (mut major, mut minor) = (order.u16([words[1][0], words[1][1]]), order.u16([words[1][2], words[1][3]]));
        // Some writers store the version, and only that, in network order whatever the order of the rest.
        if major == 2u16.swap_bytes() {
            (major, minor) = (major.swap_bytes(), minor.swap_bytes());
        }
        if major != 2 {
            let found = format!("pcap {major}.{minor}");
            return Err(Trouble::Version { offset: offset + 4, expected: "pcap 2.x", found });
        }
        window.advance(FILE_HEADER);
        let unordered_lengths = minor < 4;
        Ok(Self {
            kind,
            // The upper half describes frame check sequences, not the link type.
            link: LinkType(link as u16),
            limit: snap_length.clamp(SOUND_LENGTH, MAX_FRAME),
            usual: !order.big_endian && kind.record_header == 16 && !unordered_lengths,
            unordered_lengths,
        })
    }

    /// The next record of a file of the usual kind, if it is buffered.
    #[inline(always)]
    pub(super) fn next_held<R: Read>(&self, window: &mut Window<R>) -> Option<Record> {
        if !self.usual {
            return None;
        }
        let held = window.held();
        let [seconds, fraction, captured, wire_length] = first_words::<4>(held)?.map(u32::from_le_bytes);
        let whole = captured as usize + 16;
        // Empty frames take the slow path, too, since they may be the header of another file (see below): 0 − 1 wraps.
        if captured.wrapping_sub(1) >= self.limit || whole > held.len() {
            return None;
        }
        let start = window.position() + 16;
        window.advance(whole);
        Some(self.record(seconds, fraction, wire_length, start, captured))
    }

    /// Whether these bytes begin with a whole record.
    pub(super) fn is_whole(&self, held: &[u8]) -> bool {
        let length = |words| {
            let [_, _, captured, wire_length] = self.kind.order.words(words);
            if self.unordered_lengths { captured.min(wire_length) } else { captured }
        };
        first_words::<4>(held).is_some_and(|words| self.kind.record_header + length(words) as usize <= held.len())
    }

    #[inline(always)]
    fn record(&self, seconds: u32, fraction: u32, wire_length: u32, start: usize, captured: u32) -> Record {
        // At most 2³² s + 2³² µs: no overflow.
        let nanos = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.kind.unit_ns;
        let at = Some(Timestamp::from_nanos(nanos));
        Record { at, link: self.link, wire_length, start, length: captured as usize }
    }

    /// The kind of another file, if its header stands in place of a record, as after `cat a.pcap b.pcap`. Read as a
    /// record it would be an empty frame decades from now, at the one fraction of a second that encodes the version.
    fn another_file(head: &[[u8; 4]; 4]) -> Option<Kind> {
        let [magic, version, zone, _] = *head;
        Kind::of(magic).filter(|_| matches!(version, [2, 0, 4, 0] | [0, 2, 0, 4]) && zone == [0; 4])
    }

    /// The next record of any kind of file, with every check, read from the stream if it is not buffered.
    #[inline(never)]
    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> Result<Option<Record>, Trouble> {
        while window.hold(16)?
            && let Some(kind) = first_words::<4>(window.held()).and_then(Self::another_file)
        {
            *self = Self::open(window, kind)?;
        }
        let offset = window.offset();
        let Kind { order, record_header, .. } = self.kind;
        if !window.hold(record_header)? {
            if window.is_finished() {
                return Ok(None);
            }
            return Err(window.cut(offset, format!("a record header of {record_header} bytes")));
        }
        let Some(words) = first_words::<4>(window.held()) else { return Ok(None) };
        let [seconds, fraction, mut captured, mut wire_length] = order.words(words);
        if self.unordered_lengths && captured > wire_length {
            (captured, wire_length) = (wire_length, captured);
        }
        if captured > self.limit {
            let expected = format!("a captured length of at most {}", self.limit);
            return Err(Trouble::Damaged { offset: offset + 8, expected, found: captured.to_string() });
        }
        let whole = record_header + captured as usize;
        if !window.hold(whole)? {
            return Err(window.cut(offset, format!("a record of {whole} bytes")));
        }
        let start = window.position() + record_header;
        window.advance(whole);
        Ok(Some(self.record(seconds, fraction, wire_length, start, captured)))
    }
}
