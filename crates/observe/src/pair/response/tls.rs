//! What TLS, and HTTP/2 on it, send by themselves, and no application has asked for.
//!
//! Records name their kind and length in clear (RFC 8446 §5.1). Handshakes, alerts and changes of the cipher are told by the
//! kind. From version 1.3 on all else looks like data of the application: the client's Finished; the server's session tickets,
//! which answer it while the first request, sent at once after it, is being worked on (§4.6.1); and HTTP/2's notices, which
//! acknowledge settings or a ping, raise windows or reset streams (RFC 9113 §6), on the way of a request and of its response.
//! They are told by their lengths, and the numbers of what follows are counted without them:
//!
//! - *Finished*: follows a change of the cipher in its segment (RFC 8446 §D.4), or is the first record of a connection and of the
//!   one length that it has.
//! - *Tickets*: all whole records of at most 300 bytes that a server sends after a Finished, until the client has sent a request with
//!   which it acknowledges any of them, or that it sends before it has received a request.
//! - *Notices*: records of the lengths that HTTP/2's have.
//!
//! **State.** The latest request of each connection: 24 bytes, in sets of four, of which a new connection replaces the eldest.
//! Without it the next response must follow the request directly.

use crate::packet::Tcp;
use dwell_types::hash;

/// A record's header: kind, version, length.
const HEADER: usize = 5;
const CHANGE_CIPHER: u8 = 20;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// The lengths of a Finished of version 1.3: a hash of 32 or 48 bytes, and 26 bytes of headers and tag.
const FINISHED: [usize; 2] = [58, 74];
/// The longest record that may be a session ticket. Most servers' have 70 to 289 bytes.
const LONGEST_TICKET: usize = 300;
/// What a record has besides data: version 1.3; version 1.2 with the ciphers of RFC 7905, and of RFC 5288.
const OVERHEADS: [usize; 3] = [22, 21, 29];
/// The lengths of HTTP/2's notices: settings acknowledged, a window raised or a stream reset, a ping, and the first two
/// together.
const NOTICES: [usize; 4] = [9, 13, 17, 22];

/// Kind and length of the record that begins here, header included.
fn header(payload: &[u8]) -> Option<(u8, usize)> {
    match *payload.first_chunk::<HEADER>()? {
        [kind @ CHANGE_CIPHER..=DATA, 3, 0..=4, high, low] => {
            Some((kind, HEADER + usize::from(u16::from_be_bytes([high, low]))))
        }
        _ => None,
    }
}

fn is_notice(length: usize) -> bool {
    OVERHEADS.iter().any(|overhead| length.checked_sub(*overhead).is_some_and(|data| NOTICES.contains(&data)))
}

/// Whether a segment is whole records of such lengths. Those behind the end of what was captured are taken to have the length
/// of the last one before.
fn is_all(segment: &Tcp<'_>, is_such: impl Fn(usize) -> bool) -> bool {
    let (mut rest, mut last) = (segment.payload_length as usize, 0);
    let mut payload = segment.payload;
    while rest > 0 {
        match header(payload) {
            Some((_, length)) if length <= rest && is_such(length) => (rest, last) = (rest - length, length),
            Some(_) => return false,
            None => return payload.len() < HEADER && rest.is_multiple_of(last),
        }
        payload = payload.get(last..).unwrap_or_default();
    }
    true
}

/// The latest requests of connections with TLS.
#[derive(Debug)]
pub(in crate::pair) struct Connections {
    sets: Box<[[Connection; WAYS]]>,
    /// Segments of which too little was captured to tell whether they hold a record.
    unread: u64,
}

const WAYS: usize = 4;

/// Numbers of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Connection {
    /// Half of the hash of the flow; the other half names the set. Zero in a free place.
    name: u32,
    /// The end of the request and its acknowledgement number, by which it is known.
    request: [u32; 2],
    /// Where the client's numbers go on, and the server's, after notices and tickets.
    next: [u32; 2],
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The client has finished the handshake, but asked for nothing.
    #[default]
    Finished,
    /// A request is open that the client sent before anything came since then.
    First,
    /// Another one is open.
    Later,
    /// None is open.
    Answered,
}

impl Stage {
    /// Whether tickets may come after the client's latest segment has reached the server.
    const fn may_have_tickets(self) -> bool {
        matches!(self, Self::Finished | Self::First)
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

    /// Takes a segment with data of the client of this flow; returns whether it asks for something.
    pub(super) fn asks(&mut self, flow: u64, segment: &Tcp<'_>) -> bool {
        self.read(segment);
        let numbers = [segment.end(), segment.acknowledgement];
        let new = |stage| Connection { name: 0, request: numbers, next: numbers, stage };
        let first = header(segment.payload);
        let finished = match first {
            Some((CHANGE_CIPHER..=HANDSHAKE, length)) => match segment.payload.get(length..).and_then(header) {
                Some((DATA, finished)) => Some(length + finished),
                _ => return false,
            },
            Some((_, length)) if FINISHED.contains(&length) && self.find(flow).is_none() => Some(length),
            _ => None,
        };
        if let Some(end) = finished {
            let asks = segment.payload_length as usize > end;
            self.set(flow, new(if asks { Stage::First } else { Stage::Finished }));
            return asks;
        }
        let is_notice = first.is_some() && is_all(segment, is_notice);
        let Some(known) = self.find(flow) else {
            if first.is_some() && !is_notice {
                self.set(flow, new(Stage::Later));
            }
            return !is_notice;
        };
        if is_notice {
            if known.next[0] == segment.sequence {
                known.next[0] = segment.end();
            }
            return false;
        }
        // As long as nothing has come since the Finished, it is answered together with this.
        let is_first = known.stage.may_have_tickets() && known.request[1] == segment.acknowledgement;
        let stage = if is_first { Stage::First } else { Stage::Later };
        *known = Connection { name: known.name, ..new(stage) };
        true
    }

    /// Takes a segment with data of the server of this flow; returns the numbers of the request that it would answer.
    pub(super) fn answers(&mut self, flow: u64, segment: &Tcp<'_>) -> Option<[u32; 2]> {
        self.read(segment);
        if let Some((CHANGE_CIPHER..=HANDSHAKE, _)) = header(segment.payload) {
            return None;
        }
        let numbers = [segment.acknowledgement, segment.sequence];
        let Some(known) = self.find(flow) else { return Some(numbers) };
        let may_be_tickets = known.stage.may_have_tickets() || known.next[0] != segment.acknowledgement;
        if is_all(segment, is_notice) || may_be_tickets && is_all(segment, |length| length <= LONGEST_TICKET) {
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

    /// The eldest makes room for a new one; a known one is replaced where it is.
    #[test]
    fn the_eldest_make_room() {
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
        let notices: Vec<usize> = (0..=60).filter(|&length| is_notice(length)).collect();
        assert_eq!(notices, [30, 31, 34, 35, 38, 39, 42, 43, 44, 46, 51]);
    }
}
