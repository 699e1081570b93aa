//! What TLS sends by itself, and no application has asked for.
//!
//! Its records name their kind and length in clear (RFC 8446 §5.1). Handshakes, alerts and changes of the cipher are told by the
//! kind. From version 1.3 on all else looks like data of the application: the client's Finished, which follows a change of
//! the cipher that is there for middleboxes only (RFC 8446 §D.4); the server's session tickets, which answer it while the first
//! request, sent at once after it, is being worked on (§4.6.1); what protocols above it say of themselves, as HTTP/2 does with
//! settings and windows.
//!
//! **State.** Connections of which the client's Finished was seen, but not yet a longer answer: eight bytes each, in sets of four, of
//! which a new one replaces the eldest.

use crate::packet::Tcp;
use dwell_types::hash;

/// A record's header: kind, version, length.
const HEADER: usize = 5;
const CHANGE_CIPHER: u8 = 20;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// The longest records in which clients ask for nothing, in bytes: settings acknowledged, a window raised, in HTTP/2's frames
/// of 9 bytes and more, and 22 bytes of TLS.
const LONGEST_NOTICE: usize = 48;
/// The longest record that may be a session ticket, in bytes. Most servers' have 70 to 255.
const LONGEST_TICKET: usize = 300;

/// What a client's segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// A message of TLS, or a notice.
    Own,
    /// The end of a handshake of version 1.3, and whether a request follows in the same segment.
    Finished { asks: bool },
    /// Anything else, also what is not TLS or was not captured.
    Data,
}

impl Sent {
    pub(super) fn of(segment: &Tcp<'_>) -> Self {
        match header(segment.payload) {
            Some((CHANGE_CIPHER, length)) => match segment.payload.get(length..).and_then(header) {
                Some((DATA, finished)) => Self::Finished { asks: segment.payload_length as usize > length + finished },
                Some(_) => Self::Own,
                None => Self::Finished { asks: false },
            },
            Some((CHANGE_CIPHER..=HANDSHAKE, _)) => Self::Own,
            Some((DATA, _)) if is_short(segment, LONGEST_NOTICE) => Self::Own,
            _ => Self::Data,
        }
    }
}

/// Whether a server's segment may be tickets and notices only.
pub(super) fn may_be_tickets(segment: &Tcp<'_>) -> bool {
    is_short(segment, LONGEST_TICKET)
}

/// Kind and length of the record that begins here, header included.
fn header(payload: &[u8]) -> Option<(u8, usize)> {
    match *payload.first_chunk::<HEADER>()? {
        [kind @ CHANGE_CIPHER..=DATA, 3, 0..=4, high, low] => {
            Some((kind, HEADER + usize::from(u16::from_be_bytes([high, low]))))
        }
        _ => None,
    }
}

/// Whether a segment is whole records of at most this many bytes each. Those behind the end of what was captured are taken to have the
/// length of the last one before.
fn is_short(segment: &Tcp<'_>, most: usize) -> bool {
    let (mut rest, mut last) = (segment.payload_length as usize, 0);
    let mut payload = segment.payload;
    while rest > 0 {
        match header(payload) {
            Some((_, length)) if length <= most.min(rest) => (rest, last) = (rest - length, length),
            Some(_) => return false,
            None => return payload.len() < HEADER && rest.is_multiple_of(last),
        }
        payload = payload.get(last..).unwrap_or_default();
    }
    true
}

/// The connections whose first requests may be answered by tickets.
#[derive(Debug)]
pub(in crate::pair) struct Openings {
    sets: Box<[[Opening; WAYS]]>,
    /// Segments of which too little was captured to tell whether they hold a record.
    unread: u64,
}

const WAYS: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Opening {
    /// Half of the hash of the flow; the other half names the set. Zero in a free place.
    name: u32,
    /// The number with which the server goes on, as the client knew when it sent its Finished.
    server: u32,
}

impl Openings {
    /// As many as fit into `bytes`, at least one set.
    pub(in crate::pair) fn within(bytes: usize) -> Self {
        let sets = (bytes / size_of::<[Opening; WAYS]>()).clamp(1, u32::MAX as usize);
        Self { sets: vec![[Opening::default(); WAYS]; sets].into(), unread: 0 }
    }

    pub(in crate::pair) fn state_bytes(&self) -> usize {
        size_of_val(&*self.sets)
    }

    /// Counts a segment whose payload was not captured.
    pub(super) fn read(&mut self, segment: &Tcp<'_>) {
        self.unread += u64::from(segment.payload.len() < HEADER.min(segment.payload_length as usize));
    }

    pub(in crate::pair) const fn unread(&self) -> u64 {
        self.unread
    }

    /// The client of this flow has finished its handshake.
    pub(super) fn open(&mut self, flow: u64, server: u32) {
        self.close(flow);
        let (name, set) = self.set(flow);
        let last = set.iter().position(|opening| opening.name == 0).unwrap_or(WAYS - 1);
        set[..=last].rotate_right(1);
        set[0] = Opening { name, server };
    }

    /// Where the server's numbers went on when it had finished its handshake, if it has not sent more than tickets since.
    pub(super) fn find(&mut self, flow: u64) -> Option<u32> {
        let (name, set) = self.set(flow);
        set.iter().find(|opening| opening.name == name).map(|opening| opening.server)
    }

    /// What follows is no ticket.
    pub(super) fn close(&mut self, flow: u64) {
        let (name, set) = self.set(flow);
        set.iter_mut().filter(|opening| opening.name == name).for_each(|opening| *opening = Opening::default());
    }

    fn set(&mut self, flow: u64) -> (u32, &mut [Opening; WAYS]) {
        let hash = hash::finish(flow);
        let place = hash::index(hash as u32, self.sets.len() as u32) as usize;
        ((hash >> 32) as u32 | 1, &mut self.sets[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flow is found until it is closed, and the eldest make room.
    #[test]
    fn the_eldest_make_room() {
        let mut openings = Openings::within(0);
        assert_eq!(openings.state_bytes(), WAYS * 8);
        for flow in 1..=WAYS as u64 {
            openings.open(flow, 10 * flow as u32);
        }
        openings.open(1, 11);
        assert_eq!([1, 2, 4, 5].map(|flow| openings.find(flow)), [Some(11), Some(20), Some(40), None]);
        openings.open(5, 50);
        assert_eq!([1, 2, 3, 4, 5].map(|flow| openings.find(flow)), [Some(11), None, Some(30), Some(40), Some(50)]);
        openings.close(4);
        openings.open(6, 60);
        assert_eq!([1, 3, 4, 5, 6].map(|flow| openings.find(flow)), [Some(11), Some(30), None, Some(50), Some(60)]);
    }

    /// Few of the flows that begin while as many as fit are open have no place.
    #[test]
    fn many_have_a_place() {
        let mut openings = Openings::within(1 << 13);
        let flows = 1u64..=512;
        flows.clone().for_each(|flow| openings.open(flow << 40, 7));
        assert!(flows.filter(|flow| openings.find(flow << 40) == Some(7)).count() > 480);
    }
}
