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
//! What is farther apart than the span is not compared, but stays in the order of the file: a wild time only ends the
//! waiting, and interfaces whose clocks differ are not merged. Frames without a time keep their place, too, and those of one
//! interface keep their order.
//!
//! A section with one interface holds nothing, and its frames are not copied. The same is true where several are declared,
//! as soon as only one of them had frames among the first [`MOST_BYTES`] of the section: the others are not waited for until
//! they have one.

use super::pcapng::Pcapng;
use super::window::Window;
use super::{Record, Trouble};
use dwell_types::{Frame, Nanos, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::Read;

/// How far held frames are apart at most.
const SPAN: Nanos = Nanos::new(500_000_000);

/// The most memory of held frames, in bytes.
const MOST_BYTES: usize = 32 << 20;

/// Capacity of a chunk in bytes, unless a single frame is larger.
const CHUNK_BYTES: usize = 64 << 10;

/// What follows in a file: a record, its end or trouble.
type Next = Result<Option<Record>, Trouble>;

/// The frames that are held: a queue for each interface, all in one list.
#[derive(Default)]
pub(super) struct Merge {
    /// In the order of the file, from the first one that is held; some of those after it have been given.
    frames: VecDeque<Held>,
    /// Number of the first of `frames`.
    first: u64,
    /// The bytes of `frames`, in the same order.
    chunks: VecDeque<Vec<u8>>,
    /// Number of the first of `chunks`.
    first_chunk: u64,
    /// Memory that `frames` and their bytes take.
    bytes: usize,
    /// The first held frame of each interface that has any: its time and number.
    heads: BinaryHeap<Reverse<(Timestamp, u64)>>,
    /// The latest time of all that have been held since none was.
    latest: Timestamp,
    /// The interfaces of the section that have had frames, with the number of the last one that was held.
    interfaces: BTreeMap<u32, Option<u64>>,
    /// Number of the section that is read, from 1.
    section: u64,
    /// Memory of all frames of the section that have been held.
    section_bytes: usize,
    /// Whether interfaces without frames are not waited for.
    is_settled: bool,
    /// What was read last, if held frames must be given before.
    after: Option<Next>,
    /// The chunk of the frame given last, if it had been held.
    given: Option<u64>,
}

/// A frame that has been copied.
struct Held {
    /// Its bytes are a range of the chunk of this number.
    record: Record,
    chunk: u64,
    /// The next held frame of the same interface: its time and number.
    next: Option<(Timestamp, u64)>,
    is_given: bool,
}

/// What a frame of so many bytes takes while it is held; the list may have twice the capacity that it needs.
fn memory(length: usize) -> usize {
    length + 2 * size_of::<Held>()
}

impl Merge {
    /// The next record. Its frame is that of [`Merge::frame`], or of the window if there is none.
    pub(super) fn next<R: Read>(&mut self, pcapng: &mut Pcapng, window: &mut Window<R>) -> Next {
        self.forget_given();
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
        let chunk = self.chunks.get((self.given? - self.first_chunk) as usize)?;
        let Record { at, link, wire_length, start, length } = record;
        Some(Frame { at, link, bytes: &chunk[start..start + length], wire_length })
    }

    /// Whether nothing can be given unless more is read than is buffered.
    pub(super) fn is_used_up<R: Read>(&self, pcapng: &Pcapng, window: &Window<R>) -> bool {
        self.after.is_none() && !self.is_ready(pcapng) && !pcapng.has_packet(window.held())
    }

    /// Whether the earliest of the held frames is the next one.
    fn is_ready(&self, pcapng: &Pcapng) -> bool {
        !self.heads.is_empty()
            && match &self.after {
                Some(next) => !self.is_comparable(next, pcapng),
                None => self.heads.len() >= self.awaited(pcapng) || self.bytes >= MOST_BYTES,
            }
    }

    /// How many interfaces are to have a frame before one is given.
    fn awaited(&self, pcapng: &Pcapng) -> usize {
        if self.is_settled { self.interfaces.len() } else { pcapng.interfaces() }
    }

    /// Whether what was read last is a frame that may be earlier than held ones.
    fn is_comparable(&self, next: &Next, pcapng: &Pcapng) -> bool {
        let Ok(Some(Record { at: Some(at), .. })) = *next else { return false };
        let is_near = |held: Timestamp| !(at - held).is_farther_than(SPAN);
        let are_near = self.heads.peek().is_none_or(|&Reverse((first, _))| is_near(first) && is_near(self.latest));
        pcapng.sections() == self.section && are_near
    }

    /// Holds the next frame of the file, if it is comparable. What is not is returned once nothing is held.
    fn advance<R: Read>(&mut self, pcapng: &mut Pcapng, window: &mut Window<R>) -> Option<Next> {
        let next = self.after.take().unwrap_or_else(|| pcapng.next(window));
        if self.heads.is_empty() && pcapng.sections() != self.section {
            self.interfaces.clear();
            (self.section, self.section_bytes, self.is_settled) = (pcapng.sections(), 0, false);
        }
        match next {
            Ok(Some(record @ Record { at: Some(at), .. })) if self.is_comparable(&next, pcapng) => {
                self.hold(record, at, pcapng, window)
            }
            _ if self.heads.is_empty() => Some(next),
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
        self.latest = if self.heads.is_empty() { at } else { at.max(self.latest) };
        let number = self.first + self.frames.len() as u64;
        let before = self.interfaces.insert(interface, Some(number)).flatten();
        match before.and_then(|before| self.frames.get_mut(before.checked_sub(self.first)? as usize)) {
            Some(before) if !before.is_given => before.next = Some((at, number)),
            _ => self.heads.push(Reverse((at, number))),
        }
        let bytes = window.frame(record).bytes;
        let (chunk, start) = self.copy(bytes);
        self.frames.push_back(Held { record: Record { start, ..record }, chunk, next: None, is_given: false });
        self.bytes += memory(bytes.len());
        self.section_bytes += memory(bytes.len());
        self.is_settled |= self.section_bytes >= MOST_BYTES;
        None
    }

    /// Copies bytes to the last chunk; returns its number, and where in it they begin.
    fn copy(&mut self, bytes: &[u8]) -> (u64, usize) {
        let mut chunk = self.chunks.pop_back().unwrap_or_default();
        if chunk.capacity() - chunk.len() < bytes.len() {
            self.chunks.push_back(chunk);
            chunk = Vec::with_capacity(bytes.len().max(CHUNK_BYTES));
        }
        let place = (self.first_chunk + self.chunks.len() as u64, chunk.len());
        chunk.extend_from_slice(bytes);
        self.chunks.push_back(chunk);
        place
    }

    /// Gives the earliest of the held frames.
    fn give(&mut self) -> Option<Record> {
        let Reverse((_, number)) = self.heads.pop()?;
        let held = self.frames.get_mut((number - self.first) as usize)?;
        held.is_given = true;
        self.given = Some(held.chunk);
        self.heads.extend(held.next.map(Reverse));
        Some(held.record)
    }

    /// Frees what is not needed any more, now that the last frame has been used.
    fn forget_given(&mut self) {
        self.given = None;
        while let Some(held) = self.frames.front()
            && held.is_given
        {
            self.bytes -= memory(held.record.length);
            self.frames.pop_front();
            self.first += 1;
        }
        let end = self.first_chunk + self.chunks.len() as u64;
        let needed = self.frames.front().map_or(end, |held| held.chunk);
        if needed > self.first_chunk {
            self.chunks.drain(..(needed - self.first_chunk) as usize);
            self.first_chunk = needed;
        }
    }
}
