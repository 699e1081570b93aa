//! HTTP/2's frames where nothing encrypts them (RFC 9113 §4.1): gRPC within a data centre, or behind a proxy.

use crate::packet::Tcp;

/// A frame's header: length, type, flags, stream.
const HEADER: usize = 9;
/// What a client sends first, and its settings follow.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const ACK: u8 = 1;

/// What a frame says of itself.
#[derive(Clone, Copy)]
struct Frame {
    /// Bytes after the header.
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

impl Frame {
    fn read(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, ref stream @ ..] = bytes.first_chunk::<HEADER>()?;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        Some(Self { length, kind, flags, stream: u32::from_be_bytes(*stream) })
    }

    /// Whether it asks for nothing and answers nothing. All have lengths, streams and flags of their own.
    const fn is_notice(self) -> bool {
        match (self.kind, self.length, self.stream) {
            (PING, 8, 0) => self.flags & !ACK == 0,
            (SETTINGS, 0, 0) => self.flags & !ACK == 0,
            (SETTINGS, length, 0) => length.is_multiple_of(6) && length < 256 && self.flags == 0,
            (WINDOW_UPDATE, 4, stream) => stream >> 31 == 0 && self.flags == 0,
            (RST_STREAM, 4, 1..0x8000_0000) | (PRIORITY, 5, 1..0x8000_0000) => self.flags == 0,
            (GOAWAY, 8..256, 0) => self.flags == 0,
            _ => false,
        }
    }
}

/// Whether a segment holds notices, and nothing else, after the preface if it has that.
pub(super) fn is_notice(segment: &Tcp<'_>) -> bool {
    let mut payload = segment.payload.strip_prefix(PREFACE).unwrap_or(segment.payload);
    let mut rest = segment.payload_length as usize - (segment.payload.len() - payload.len());
    while rest > 0 {
        let frame = Frame::read(payload).filter(|frame| frame.is_notice() && HEADER + frame.length <= rest);
        let Some(frame) = frame else { return false };
        rest -= HEADER + frame.length;
        payload = payload.get(HEADER + frame.length..).unwrap_or_default();
    }
    true
}

/// Whether a client's segment begins with a request's header.
pub(super) fn is_request(segment: &Tcp<'_>) -> bool {
    /// End of the stream, of the headers; padding, priority.
    const FLAGS: u8 = 0x01 | 0x04 | 0x08 | 0x20;
    let frame = Frame::read(segment.payload.strip_prefix(PREFACE).unwrap_or(segment.payload));
    frame.is_some_and(|frame| {
        let is_client = frame.stream % 2 == 1 && frame.stream >> 31 == 0;
        frame.kind == HEADERS && is_client && (1..1 << 14).contains(&frame.length) && frame.flags & !FLAGS == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: usize, kind: u8, flags: u8, stream: u32) -> Vec<u8> {
        let length_bytes = (length as u32).to_be_bytes();
        [&length_bytes[1..], &[kind, flags], &stream.to_be_bytes(), &vec![7; length]].concat()
    }

    fn is(of: fn(&Tcp<'_>) -> bool, payload: &[u8], captured: usize) -> bool {
        let length = payload.len() as u32;
        of(&Tcp { payload_length: length, payload: &payload[..captured.min(payload.len())], ..Tcp::default() })
    }

    #[test]
    fn notices_ask_for_nothing() {
        let (ping, window) = (frame(8, PING, ACK, 0), frame(4, WINDOW_UPDATE, 0, 5));
        let headers = frame(40, HEADERS, 5, 7);
        let settings = [PREFACE, &frame(18, SETTINGS, 0, 0), &frame(4, WINDOW_UPDATE, 0, 0)].concat();
        let notices = [ping.clone(), window.clone(), [window.clone(), ping.clone()].concat(), settings.clone()];
        for notice in &notices {
            assert!(is(is_notice, notice, usize::MAX) && !is(is_request, notice, usize::MAX));
            assert!(!is(is_notice, &[&notice[..], &headers].concat(), usize::MAX), "a request follows");
            assert!(!is(is_notice, &notice[..notice.len() - 1], usize::MAX), "not whole");
        }
        // The last header is captured, or not.
        let both = [window, ping.clone()].concat();
        assert!(is(is_notice, &both, 13 + HEADER) && !is(is_notice, &both, 13 + HEADER - 1));
        for odd in [frame(8, PING, 2, 0), frame(8, PING, 0, 1), frame(9, PING, 0, 0), frame(7, SETTINGS, 0, 0), headers]
        {
            assert!(!is(is_notice, &odd, usize::MAX), "{odd:?}");
        }
        assert!(!is(is_notice, b"GET / HTTP/1.1\r\n\r\n", usize::MAX));
        assert!(is(is_notice, &ping.repeat(3), usize::MAX));
    }

    #[test]
    fn requests_begin_with_headers_of_a_clients_stream() {
        let headers = |kind, flags, stream| is(is_request, &frame(40, kind, flags, stream), HEADER);
        assert!(headers(HEADERS, 5, 7) && headers(HEADERS, 0x25, 1));
        assert!(!headers(HEADERS, 5, 8) && !headers(0, 5, 7) && !headers(HEADERS, 0x45, 7));
        assert!(is(is_request, &[PREFACE, &frame(40, HEADERS, 5, 1)].concat(), usize::MAX));
        assert!(!is(is_request, PREFACE, usize::MAX));
    }
}
