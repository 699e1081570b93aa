//! What TLS, and HTTP/2 on it, send by themselves, and no application has asked for.
//!
//! Records name their kind and length in clear (RFC 8446 §5.1). Handshakes and changes of the cipher are told by the kind, and up to
//! version 1.2 alerts. From version 1.3 on all else looks like data of the application: the client's Finished; the server's
//! session tickets, which answer it while the first request, sent at once after it, is being worked on (§4.6.1); alerts; and
//! in all versions HTTP/2's notices, which acknowledge settings or a ping, raise windows or reset streams (RFC 9113 §6), on
//! the way of a request and of its response. They are told by their lengths, and the numbers of what follows are counted
//! without them:
//!
//! - *Finished*: follows a change of the cipher in its segment (RFC 8446 §D.4), or the end of early data; or it is the first
//!   record of a connection that is known, and of a length that it has.
//! - *Tickets*: whole records of at most 300 bytes, or of at most 600 if HTTP/2's settings follow, that a server sends after a
//!   Finished, until it has a request with which the client acknowledges any of them.
//! - *Notices*: records of the lengths that HTTP/2's have, in the version at hand, if a Finished told it, else in any.
//!   Requests and responses of the same lengths are not measured. Where HTTP/2 is not encrypted, they are told by what they are
//!   (`http2`).
//!
//! Of records that are not captured the rest of a segment is taken to be one, or several as long as the last one before.
//!
//! **State.** The latest request of each connection with TLS or HTTP/2: 24 bytes, in sets of four, of which a new connection
//! replaces that which asked least recently. Without it the next response must follow the request directly.
//!
//! **Broken by**: longer tickets; a first response as short as a ticket; a ticket or settings sent only after a request that
//! acknowledges another ticket; ports that are used again without a SYN in the capture.

use super::http2;
use crate::packet::Tcp;
use dwell_types::hash;

/// A record's header: kind, version, length.
const HEADER: usize = 5;
const CHANGE_CIPHER: u8 = 20;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// The lengths of a Finished of version 1.3: a hash of 32 or 48 bytes, and 26 bytes of headers and tag.
const FINISHED: [usize; 2] = [58, 74];
/// The length of a message that ends early data.
const END_OF_EARLY_DATA: usize = 26;
/// The longest record that may be a session ticket. Most servers' have 70 to 289 bytes.
const LONGEST_TICKET: usize = 300;
/// The longest with several tickets, if it is followed by others which are no longer than the latter, as HTTP/2's settings are.
const LONGEST_TICKETS: usize = 600;
const LONGEST_SETTINGS: usize = 100;
/// What a record has besides data: version 1.3; version 1.2 with the ciphers of RFC 7905, and of RFC 5288.
const OVERHEADS: [usize; 3] = [22, 21, 29];
/// The lengths of what asks for nothing: an alert; HTTP/2's settings acknowledged, a window raised or a stream reset, a ping, and
/// settings and a window together, a window and a ping together.
const NOTICES: [usize; 6] = [2, 9, 13, 17, 22, 30];

/// Kind and length of the record that begins here, header included.
fn header(payload: &[u8]) -> Option<(u8, usize)> {
    match *payload.first_chunk::<HEADER>()? {
        [kind @ CHANGE_CIPHER..=DATA, 3, 0..=4, high, low] => {
            Some((kind, HEADER + usize::from(u16::from_be_bytes([high, low]))))
        }
        _ => None,
    }
}

/// Whether a record of this length asks for nothing, with one of these overheads.
fn is_notice(length: usize, overheads: &[usize]) -> bool {
    overheads.iter().any(|overhead| length.checked_sub(*overhead).is_some_and(|data| NOTICES.contains(&data)))
}

/// Whether a segment is whole records of such lengths, given their places.
fn is_all(segment: &Tcp<'_>, is_such: impl Fn(usize, usize) -> bool) -> bool {
    let (mut rest, mut last) = (segment.payload_length as usize, 0);
    let mut payload = segment.payload;
    for place in 0.. {
        if rest == 0 {
            break;
        }
        match header(payload) {
            Some((_, length)) if length <= rest && is_such(place, length) => (rest, last) = (rest - length, length),
            Some(_) => return false,
            None => {
                let is_known = payload.len() >= HEADER || place == 0;
                return !is_known && (rest.is_multiple_of(last) || is_such(place, rest));
            }
        }
        payload = payload.get(last..).unwrap_or_default();
    }
    true
}

fn may_be_tickets(segment: &Tcp<'_>) -> bool {
    let is_one = header(segment.payload).is_some_and(|(_, length)| length >= segment.payload_length as usize);
    let with_settings = |place, length| length <= if place == 0 { LONGEST_TICKETS } else { LONGEST_SETTINGS };
    is_all(segment, |_, length| length <= LONGEST_TICKET) || !is_one && is_all(segment, with_settings)
}

/// What a client's segment begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// A handshake, an alert or a change of the cipher.
    Handshake,
    /// The end of a handshake of version 1.3, and whether a request follows it.
    Finished { asks: bool },
    /// What asks for nothing, and nothing else.
    Notice,
    /// Any other record, or a request of HTTP/2 in clear.
    Request,
    /// Anything else, or the rest of one.
    Unknown,
}

impl Sent {
    /// Of a connection of which this is known; its name is zero if that is nothing.
    fn of(segment: &Tcp<'_>, known: &Connection) -> Self {
        let Some((kind, length)) = header(segment.payload) else {
            return match segment {
                segment if http2::is_notice(segment) => Self::Notice,
                segment if http2::is_request(segment) => Self::Request,
                _ => Self::Unknown,
            };
        };
        let second = segment.payload.get(length..).and_then(header);
        let finished = match (kind, second) {
            (CHANGE_CIPHER..=HANDSHAKE, Some((DATA, finished))) => length + finished,
            (CHANGE_CIPHER..=HANDSHAKE, _) => return Self::Handshake,
            (_, Some((DATA, finished))) if length == END_OF_EARLY_DATA && FINISHED.contains(&finished) => {
                length + finished
            }
            _ if known.name == 0 && FINISHED.contains(&length) => length,
            _ if known.is_notice(segment) => return Self::Notice,
            _ => return Self::Request,
        };
        Self::Finished { asks: segment.payload_length as usize > finished }
    }
}

/// What is known of connections with TLS or HTTP/2.
#[derive(Debug)]
pub(in crate::pair) struct Connections {
    sets: Box<[[Connection; WAYS]]>,
    /// Segments of which too little was captured to tell whether they hold a record.
    unread: u64,
}

const WAYS: usize = 4;

/// One of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Connection {
    /// Half of the hash of the flow; the other half names the set. Zero in a free place.
    name: u32,
    /// The end of the request and its acknowledgement number, by which it is known.
    request: [u32; 2],
    /// Where the client's numbers go on, and the server's, after notices and tickets.
    next: [u32; 2],
    stage: Stage,
    /// Whether it is known to be of version 1.3.
    is_recent: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The client has finished the handshake, but asked for nothing.
    #[default]
    Finished,
    /// A request is open that the client sent before anything came since then.
    First,
    /// A request is open with which the client acknowledges what came since then.
    Second,
    /// Another one is open.
    Later,
    /// None is open.
    Answered,
}

impl Connection {
    /// Whether this is a copy of the end of the request.
    fn is_request(&self, segment: &Tcp<'_>) -> bool {
        self.stage != Stage::Finished && self.request[0] == segment.end()
    }

    fn is_notice(&self, segment: &Tcp<'_>) -> bool {
        let overheads = if self.is_recent { &OVERHEADS[..1] } else { &OVERHEADS };
        is_all(segment, |_, length| is_notice(length, overheads))
    }

    /// Whether the server may have sent this segment before it had the request, or together with it.
    fn may_be_tickets(&self, segment: &Tcp<'_>) -> bool {
        let is_early = match self.stage {
            Stage::Finished | Stage::First => true,
            Stage::Second => self.next[0] != segment.acknowledgement,
            Stage::Later | Stage::Answered => false,
        };
        is_early && may_be_tickets(segment)
    }

    /// The stage after another request with this acknowledgement number.
    fn after(&self, acknowledgement: u32) -> Stage {
        let is_same = self.request[1] == acknowledgement;
        match self.stage {
            Stage::Finished | Stage::First if is_same => Stage::First,
            Stage::Finished | Stage::First => Stage::Second,
            Stage::Second if is_same => Stage::Second,
            _ => Stage::Later,
        }
    }
}

impl Connections {
    /// As many as fit into `bytes`, at least one set.
    pub(in crate::pair) fn within(bytes: usize) -> Self {
        let sets = (bytes / size_of::<[Connection; WAYS]>()).clamp(1, u32::MAX as usize);
        Self { sets: vec![[Connection::default(); WAYS]; sets].into(), unread: 0 }
    }

    pub(in crate::pair) fn state_bytes(&self) -> usize {
        size_of_val(&*self.sets)
    }

    /// How many segments were passed whose payload was not captured.
    pub(in crate::pair) const fn unread(&self) -> u64 {
        self.unread
    }

    /// Another connection begins: what was known of the one before does not hold.
    pub(in crate::pair) fn forget(&mut self, flow: u64) {
        if let Some(known) = self.find(flow) {
            *known = Connection::default();
        }
    }

    /// Takes a client's segment with data; returns the numbers of the request, if it asks for something: its end and its
    /// acknowledgement number, of a copy those of the first one.
    pub(super) fn asks(&mut self, flow: u64, segment: &Tcp<'_>) -> Option<[u32; 2]> {
        let known = self.find(flow).copied();
        self.read(segment);
        let numbers = [segment.end(), segment.acknowledgement];
        let is_repeated = known.is_some_and(|known| (segment.end().wrapping_sub(known.request[0]) as i32) < 0);
        let new = |stage| Connection { request: numbers, next: numbers, stage, ..Connection::default() };
        match Sent::of(segment, &known.unwrap_or_default()) {
            Sent::Handshake => None,
            Sent::Finished { asks } => {
                if !is_repeated {
                    let stage = if asks { Stage::First } else { Stage::Finished };
                    self.set(flow, Connection { is_recent: true, ..new(stage) });
                }
                asks.then_some(numbers)
            }
            Sent::Notice => {
                if let Some(known) = self.find(flow).filter(|known| known.next[0] == segment.sequence) {
                    known.next[0] = segment.end();
                }
                None
            }
            Sent::Request | Sent::Unknown if known.is_some_and(|known| known.is_request(segment)) => {
                known.map(|known| known.request)
            }
            sent => {
                match known {
                    Some(known) if !is_repeated => {
                        let stage = known.after(segment.acknowledgement);
                        self.set(flow, Connection { is_recent: known.is_recent, ..new(stage) });
                    }
                    None if sent == Sent::Request => self.set(flow, new(Stage::Later)),
                    _ => {}
                }
                Some(numbers)
            }
        }
    }

    /// Takes a server's segment with data; returns the numbers of the request that it would answer.
    pub(super) fn answers(&mut self, flow: u64, segment: &Tcp<'_>) -> Option<[u32; 2]> {
        self.read(segment);
        if let Some((CHANGE_CIPHER..=HANDSHAKE, _)) = header(segment.payload) {
            return None;
        }
        let numbers = [segment.acknowledgement, segment.sequence];
        let is_notice = http2::is_notice(segment);
        let Some(known) = self.find(flow) else { return (!is_notice).then_some(numbers) };
        if is_notice || known.is_notice(segment) || known.may_be_tickets(segment) {
            if known.next[1] == segment.sequence {
                known.next[1] = segment.end();
            }
            return None;
        }
        let is_next = known.next == numbers && known.stage != Stage::Answered;
        known.stage = Stage::Answered;
        Some(if is_next { known.request } else { numbers })
    }

    /// Counts a segment whose payload was not captured.
    fn read(&mut self, segment: &Tcp<'_>) {
        self.unread += u64::from(segment.payload.len() < HEADER.min(segment.payload_length as usize));
    }

    fn find(&mut self, flow: u64) -> Option<&mut Connection> {
        let (name, set) = self.place(flow);
        set.iter_mut().find(|connection| connection.name == name)
    }

    fn set(&mut self, flow: u64, connection: Connection) {
        let (name, set) = self.place(flow);
        let place = |wanted| set.iter().position(|connection: &Connection| connection.name == wanted);
        let last = place(name).or_else(|| place(0)).unwrap_or(WAYS - 1);
        set[..=last].rotate_right(1);
        set[0] = Connection { name, ..connection };
    }

    fn place(&mut self, flow: u64) -> (u32, &mut [Connection; WAYS]) {
        let hash = hash::finish(flow);
        let place = hash::index(hash as u32, self.sets.len() as u32) as usize;
        ((hash >> 32) as u32 | 1, &mut self.sets[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(server: u32) -> Connection {
        Connection { next: [0, server], ..Connection::default() }
    }

    fn of(connections: &mut Connections, flow: u64) -> Option<u32> {
        connections.find(flow).map(|connection| connection.next[1])
    }

    /// Who has asked least recently makes room for a new one.
    #[test]
    fn the_silent_make_room() {
        let mut connections = Connections::within(0);
        assert_eq!(connections.state_bytes(), WAYS * 24);
        for flow in 1..=WAYS as u64 {
            connections.set(flow, at(10 * flow as u32));
        }
        connections.set(1, at(11));
        assert_eq!([1, 2, 4, 5].map(|flow| of(&mut connections, flow)), [Some(11), Some(20), Some(40), None]);
        connections.set(5, at(50));
        assert_eq!([1, 2, 3, 5].map(|flow| of(&mut connections, flow)), [Some(11), None, Some(30), Some(50)]);
    }

    /// Few of the connections that begin while as many as fit are under way have no place.
    #[test]
    fn many_have_a_place() {
        let mut connections = Connections::within(24 << 10);
        let flows = 1u64..=512;
        flows.clone().for_each(|flow| connections.set(flow << 40, at(7)));
        assert!(flows.filter(|flow| of(&mut connections, flow << 40) == Some(7)).count() > 480);
    }

    #[test]
    fn notices_have_lengths_of_their_own() {
        let of = |overheads: &[usize]| (0..=60).filter(|&length| is_notice(length, overheads)).collect::<Vec<_>>();
        assert_eq!(of(&OVERHEADS), [23, 24, 30, 31, 34, 35, 38, 39, 42, 43, 44, 46, 51, 52, 59]);
        assert_eq!(of(&OVERHEADS[..1]), [24, 31, 35, 39, 44, 52]);
    }
}
