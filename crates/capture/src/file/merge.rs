//! Frames of several interfaces of a pcapng file, in the order of their times.
//!
//! Programs that capture on several interfaces write what the kernel hands them: a block of one interface's ring, then one
//! of another's. Each interface is (nearly) in order, but a response may stand before its request. So frames are held until
//! it is known that none of another interface is earlier: when each interface has one, or when the limits are reached.
//!
//! - **Time**: held frames span at most [`SPAN`]. Linux hands over a block at the latest 250 ms after its first frame, as
//!   dumpcap asks for; frames of the others are up to that much ahead. It is doubled, since the writer may be late itself.
//! - **Memory**: held frames take at most [`MOST_BYTES`] (and one frame), which is 250 ms of 1 Gbit/s in whole packets.
//!
//! What is farther apart than the span is not compared, but stays in the order of the file: so a wild time moves no other
//! frame, and neither do clocks of interfaces that were set, or differ. Frames without a time keep their place, too, and
//! those of one interface keep their order.
//!
//! A section with one interface holds nothing, and its frames are not copied. The same is true where several are declared,
//! as soon as only one of them had frames among the first [`MOST_BYTES`] of the section: the others are not waited for until
//! they have one.

use super::pcapng::Pcapng;
use super::window::Window;
use super::{Record, Trouble};
use dwell_types::{Frame, LinkType, Nanos, Timestamp};
use std::collections::BTreeMap;
use std::io::Read;

/// How far held frames are apart at most.
const SPAN: Nanos = Nanos::new(500_000_000);

/// The most memory of held frames, in bytes.
const MOST_BYTES: usize = 32 << 20;

/// What a held frame takes besides its bytes: its entry, of which nodes of the tree are half full, and its allocation.
const ENTRY_BYTES: usize = 128;

/// What follows in a file: a record, its end or trouble.
type Next = Result<Option<Record>, Trouble>;

/// The frames that are held, and whose they are.
#[derive(Default)]
pub(super) struct Merge {
    /// By time and place in the file. A time earlier than that of a held frame of the same interface counts as that.
    held: BTreeMap<(Timestamp, u64), Held>,
    /// Memory of the held frames.
    bytes: usize,
    /// The interfaces of the section that have had frames.
    interfaces: BTreeMap<u32, Waiting>,
    /// How many of these have a frame that is held.
    waiting: usize,
    /// Number of the section that is read, from 1.
    section: u64,
    /// Memory of all frames of the section that have been held.
    section_bytes: usize,
    /// Whether interfaces without frames are not waited for.
    is_settled: bool,
    /// What was read last, if held frames must be given before.
    after: Option<Next>,
    /// Place in the file of the next frame.
    place: u64,
    /// The bytes of the frame given last, if it had been held.
    given: Option<Box<[u8]>>,
}

/// A frame that has been copied.
struct Held {
    at: Timestamp,
    interface: u32,
    link: LinkType,
    wire_length: u32,
    bytes: Box<[u8]>,
}

/// The held frames of an interface.
#[derive(Default)]
struct Waiting {
    count: usize,
    /// The time that the last one counts with.
    latest: Timestamp,
}

impl Merge {
    /// The next record. Its frame is that of [`Merge::frame`], or of the window if there is none.
    pub(super) fn next<R: Read>(&mut self, pcapng: &mut Pcapng, window: &mut Window<R>) -> Next {
        self.given = None;
        while !self.is_ready(pcapng) {
            if let Some(passed) = self.advance(pcapng, window) {
                return passed;
            }
        }
        let record = self.give();
        // Reads what is buffered until the next frame is known, so that `is_used_up` knows whether there is one.
        while !self.is_ready(pcapng) && (self.after.is_some() || pcapng.has_packet(window.held())) {
            if let Some(passed) = self.advance(pcapng, window) {
                self.after = Some(passed);
                pcapng.read_directly(None);
                break;
            }
        }
        Ok(record)
    }

    /// The frame of a record, if it had been held.
    pub(super) fn frame(&self, record: Record) -> Option<Frame<'_>> {
        let Record { at, link, wire_length, .. } = record;
        self.given.as_ref().map(|bytes| Frame { at, link, bytes, wire_length })
    }

    /// Whether nothing can be given unless more is read than is buffered.
    pub(super) fn is_used_up<R: Read>(&self, pcapng: &Pcapng, window: &Window<R>) -> bool {
        self.after.is_none() && !self.is_ready(pcapng) && !pcapng.has_packet(window.held())
    }

    /// Whether the earliest of the held frames is the next one.
    fn is_ready(&self, pcapng: &Pcapng) -> bool {
        !self.held.is_empty()
            && match &self.after {
                Some(next) => !self.is_comparable(next, pcapng),
                None => self.waiting >= self.awaited(pcapng) || self.bytes >= MOST_BYTES,
            }
    }

    /// How many interfaces are to have a frame before one is given.
    fn awaited(&self, pcapng: &Pcapng) -> usize {
        if self.is_settled { self.interfaces.len() } else { pcapng.interfaces() }
    }

    /// Whether what was read last is a frame that may be earlier than held ones.
    fn is_comparable(&self, next: &Next, pcapng: &Pcapng) -> bool {
        let Ok(Some(Record { at: Some(at), .. })) = *next else { return false };
        let is_near = |((held, _), _): (&(Timestamp, u64), &Held)| !(at - *held).is_farther_than(SPAN);
        pcapng.sections() == self.section
            && self.held.first_key_value().is_none_or(is_near)
            && self.held.last_key_value().is_none_or(is_near)
    }

    /// Holds the next frame of the file, if it is comparable. What is not is returned once nothing is held.
    fn advance<R: Read>(&mut self, pcapng: &mut Pcapng, window: &mut Window<R>) -> Option<Next> {
        let next = self.after.take().unwrap_or_else(|| pcapng.next(window));
        if self.held.is_empty() && pcapng.sections() != self.section {
            self.interfaces.clear();
            (self.section, self.section_bytes, self.is_settled) = (pcapng.sections(), 0, false);
        }
        match next {
            Ok(Some(record @ Record { at: Some(at), .. })) if self.is_comparable(&next, pcapng) => {
                self.hold(record, at, pcapng, window)
            }
            _ if self.held.is_empty() => Some(next),
            _ => {
                self.after = Some(next);
                None
            }
        }
    }

    /// Holds a frame, or returns it if there are no other interfaces to wait for.
    fn hold<R: Read>(
        &mut self,
        record: Record,
        at: Timestamp,
        pcapng: &mut Pcapng,
        window: &Window<R>,
    ) -> Option<Next> {
        let interface = pcapng.last();
        self.interfaces.entry(interface).or_default();
        if self.awaited(pcapng) == 1 {
            // From now on, also if the section declares more.
            self.is_settled = true;
            pcapng.read_directly(Some(interface));
            return Some(Ok(Some(record)));
        }
        pcapng.read_directly(None);
        let Frame { link, bytes, wire_length, .. } = window.frame(record);
        let waiting = self.interfaces.entry(interface).or_default();
        waiting.latest = if waiting.count == 0 { at } else { at.max(waiting.latest) };
        waiting.count += 1;
        self.waiting += usize::from(waiting.count == 1);
        let memory = bytes.len() + ENTRY_BYTES;
        self.bytes += memory;
        self.section_bytes += memory;
        self.is_settled |= self.section_bytes >= MOST_BYTES;
        self.held.insert((waiting.latest, self.place), Held { at, interface, link, wire_length, bytes: bytes.into() });
        self.place += 1;
        None
    }

    /// Gives the earliest of the held frames.
    fn give(&mut self) -> Option<Record> {
        let (_, Held { at, interface, link, wire_length, bytes }) = self.held.pop_first()?;
        self.bytes -= bytes.len() + ENTRY_BYTES;
        if let Some(waiting) = self.interfaces.get_mut(&interface) {
            waiting.count -= 1;
            self.waiting -= usize::from(waiting.count == 0);
        }
        let record = Record { at: Some(at), link, wire_length, start: 0, length: bytes.len() };
        self.given = Some(bytes);
        Some(record)
    }
}
