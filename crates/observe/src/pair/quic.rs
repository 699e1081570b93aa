//! The long headers of QUIC (RFC 8999, RFC 9000 §17.2), which name a connection in clear while it is set up.

// `quic-handshake`: the client's first packets, the server's, and the client's next.
mod handshake;
pub(super) use handshake::Handshakes;
// `quic-spin`: the spin bit.
mod spin;
pub use spin::Quic;
pub(super) use spin::Spin;

use dwell_types::FlowKey;

/// The port of HTTP/3.
pub(super) const PORT: u16 = 443;
/// The first bit of a long header.
const LONG: u8 = 0x80;
/// Set in every packet of RFC 9000, unless RFC 9287 was negotiated.
const QUIC: u8 = 0x40;
/// RFC 9369, whose packet types have other numbers.
const VERSION_2: u32 = 0x6b33_43cf;

/// A packet with a long header, of a version that is known.
#[derive(Clone, Copy, Debug)]
struct Long<'a> {
    /// Begins or continues the exchange of keys.
    is_initial: bool,
    /// Asks the client to begin again, and to prove its address.
    is_retry: bool,
    /// The ids that the receiver and the sender chose, which may be empty; `None` if cut off, or of a draft that stores
    /// them in another way.
    destination: Option<&'a [u8]>,
    source: Option<&'a [u8]>,
    /// What follows the ids.
    rest: &'a [u8],
}

impl<'a> Long<'a> {
    /// Reads the long header of a packet, as far as it is there.
    fn read(packet: &'a [u8]) -> Option<Self> {
        let (&first, rest) = packet.split_first().filter(|(first, _)| *first & LONG != 0)?;
        let (version, rest) = rest.split_first_chunk().map(|(version, rest)| (u32::from_be_bytes(*version), rest))?;
        let [initial, retry] = match version {
            VERSION_2 => [1, 0],
            _ if knows(version) => [0, 3],
            _ => return None,
        };
        let ids = if has_lengths(version) { rest } else { &[] };
        let (destination, rest) = id(ids).unzip();
        let (source, rest) = rest.and_then(id).unzip();
        let kind = first >> 4 & 0b11;
        let rest = rest.unwrap_or_default();
        Some(Self { is_initial: kind == initial, is_retry: kind == retry, destination, source, rest })
    }

    /// How many bytes of an Initial packet follow its header: its number, and what it says.
    fn length(&self) -> Option<u64> {
        let (token, rest) = integer(self.rest)?;
        let rest = rest.get(usize::try_from(token).ok()?..)?;
        Some(integer(rest)?.0)
    }
}

/// A connection id, and what follows it.
fn id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    const LONGEST: u8 = 20;
    let (&length, rest) = bytes.split_first().filter(|(length, _)| **length <= LONGEST)?;
    rest.split_at_checked(length.into())
}

/// An integer of variable length (RFC 9000 §16), and what follows it.
fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let (more, rest) = rest.split_at_checked((1 << (first >> 6)) - 1)?;
    Some((more.iter().fold(u64::from(first & 0x3f), |number, &byte| number << 8 | u64::from(byte)), rest))
}

/// The place in a set of what a new entry replaces: the first of the lowest rank.
fn lowest<T, K: Ord>(set: &[T], rank: impl Fn(&T) -> K) -> usize {
    (0..set.len()).min_by_key(|&way| rank(&set[way])).unwrap_or_default()
}

/// Whether packets of a version look like those of RFC 9000.
const fn knows(version: u32) -> bool {
    match version {
        // RFC 9000, RFC 9369, drafts 17 to 34.
        1 | VERSION_2 | 0xff00_0011..=0xff00_0022 => true,
        // mvfst, msquic, Telecom Italia's experiments on measurability.
        _ => matches!(version >> 4, 0xfac_eb00 | 0xabc_d000 | 0xf0f_0f1f),
    }
}

/// Whether each connection id has a length of its own: drafts 17 to 21 have both lengths in one byte.
const fn has_lengths(version: u32) -> bool {
    !matches!(version, 0xff00_0011..=0xff00_0015)
}

/// Whether this is the flow of a server of HTTP.
fn is_http(key: &FlowKey) -> bool {
    [key.source_port, key.destination_port].contains(&PORT)
}

/// Whether a packet of such a flow that is cut ends before the spin bit, or the version that a long header names.
pub(super) fn is_cut(key: &FlowKey, payload: &[u8]) -> bool {
    let needed = if payload.first().is_some_and(|first| first & LONG != 0) { 1 + size_of::<u32>() } else { 1 };
    is_http(key) && payload.len() < needed
}

/// Whether one with a long header ends before both connection ids; or, in such a flow, before the version.
pub(super) fn is_header_cut(key: &FlowKey, payload: &[u8]) -> bool {
    let is_long = payload.first().is_none_or(|first| first & LONG != 0);
    is_long && Long::read(payload).map_or_else(|| is_cut(key, payload), |long| long.source.is_none())
}
