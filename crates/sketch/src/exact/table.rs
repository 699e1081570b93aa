use super::index::{Index, Key, NONE, Slot};
use crate::parts::batch::BATCH;
use crate::parts::open::{Record, State, Wait};
use crate::parts::repeats::byte;
use crate::{Event, Fates};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp};

/// All open requests.
///
/// A freed entry is reused by the next request: while requests are answered, the same few entries are used over and
/// over, and stay in the cache.
#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Vec<Entry>,
    /// Head of the free list, each entry of which names the next; [`NONE`] if it is empty.
    free: u32,
    index: Index,
    /// Entries in the index.
    indexed: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: ExchangeId,
    at: Timestamp,
    /// The entry of the last of equal requests; [`NONE`] if there was only one. For a free entry, the next free one.
    last: u32,
    tag: u16,
    /// One byte of the request's token.
    token: u8,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Waits for its response.
    Open,
    /// Kept to recognise equal requests (see [`Repeat::Ignored`]).
    Answered,
    /// The last of equal requests, or free: not in the index.
    Hidden,
}

/// The result of a search by id: the entry, or where one would be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// [`NONE`] if there is none.
    at: u32,
    slot: Slot,
}

impl Found {
    /// Whether there is a request with this id.
    #[inline]
    pub(super) fn is_known(self) -> bool {
        self.at != NONE
    }
}

impl Table {
    pub(super) const ENTRY_BYTES: usize = size_of::<Entry>();

    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), free: NONE, index: Index::new(), indexed: 0 }
    }

    /// Whether the next batch may need more room than there is.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.index.left() < BATCH || self.entries.len() + BATCH > self.index.end()
    }

    /// Makes room for a batch.
    pub(super) fn grow(&mut self) {
        let is_crowded = self.is_crowded();
        self.index.renew(is_crowded, |at| Key::of(self.entries[at as usize].id));
    }

    /// Whether to double the size, instead of only clearing removed entries.
    fn is_crowded(&self) -> bool {
        2 * self.indexed > self.index.room() || self.entries.len() + BATCH > self.index.end()
    }

    /// Prefetches what an event with this id will read.
    #[inline]
    pub(super) fn prefetch(&self, id: ExchangeId) {
        self.index.prefetch(Key::of(id));
    }

    /// The first request with an id.
    #[inline]
    pub(super) fn find(&self, id: ExchangeId) -> Found {
        let (at, slot) = self.index.find(Key::of(id), |at| self.entries[at as usize].id == id);
        Found { at, slot }
    }

    /// Inserts a request whose id was not found.
    #[inline]
    pub(super) fn put(&mut self, found: Found, request: &Event) {
        let at = self.add(request, Kind::Open);
        self.index.put(found.slot, at);
        self.indexed += 1;
    }

    #[inline]
    fn add(&mut self, request: &Event, kind: Kind) -> u32 {
        let entry =
            Entry { id: request.id, at: request.at, last: NONE, tag: request.tag, token: byte(request.token), kind };
        let at = self.free;
        let Some(free) = self.entries.get_mut(at as usize) else { return self.push(entry) };
        self.free = free.last;
        *free = entry;
        at
    }

    #[inline]
    fn push(&mut self, entry: Entry) -> u32 {
        let at = self.entries.len();
        if at == self.entries.capacity() {
            self.reserve();
        }
        self.entries.push(entry);
        at as u32
    }

    /// Reserves room for a quarter more.
    #[cold]
    fn reserve(&mut self) {
        self.entries.reserve_exact(self.more());
    }

    /// By how many entries the capacity grows.
    fn more(&self) -> usize {
        BATCH.max(self.entries.len() / 4)
    }

    /// The state of a request, as seen at `now`.
    #[inline]
    pub(super) fn look(&self, found: Found, now: Timestamp) -> Wait {
        self.wait(&self.entries[found.at as usize], now)
    }

    #[inline]
    fn wait(&self, first: &Entry, now: Timestamp) -> Wait {
        let mut wait = Wait::new(now - first.at, first.tag, first.token, first.kind == Kind::Open);
        if let Some(last) = self.entries.get(first.last as usize) {
            wait.repeat(now - last.at, last.token);
        }
        wait
    }

    /// Records a repetition of a request in the table.
    pub(super) fn repeat(&mut self, found: Found, request: &Event) {
        let before = self.entries[found.at as usize].last;
        if let Some(last) = self.entries.get_mut(before as usize) {
            (last.at, last.token) = (request.at, byte(request.token));
        } else {
            self.entries[found.at as usize].last = self.add(request, Kind::Hidden);
        }
    }

    /// Replaces the entry of a request with the same id.
    pub(super) fn replace(&mut self, found: Found, request: &Event) {
        self.forget_last(found.at);
        let entry = &mut self.entries[found.at as usize];
        (entry.at, entry.tag, entry.token, entry.kind) = (request.at, request.tag, byte(request.token), Kind::Open);
    }

    /// Ends a wait. The entry remains only if later equal requests are to be ignored.
    #[inline(always)]
    pub(super) fn close(&mut self, found: Found, now: Timestamp, repeat: Repeat) {
        self.forget_last(found.at);
        match repeat {
            Repeat::Ambiguous => {
                self.index.remove(found.slot);
                self.indexed -= 1;
                self.free(found.at);
            }
            Repeat::Ignored => self.entries[found.at as usize].kind = Kind::Answered,
            Repeat::IgnoredInTick => {
                let entry = &mut self.entries[found.at as usize];
                (entry.kind, entry.at) = (Kind::Answered, now);
            }
        }
    }

    /// Records that an equal request was ignored, from which on an answered one is remembered for another tick.
    pub(super) fn ignore(&mut self, found: Found, now: Timestamp, repeat: Repeat) {
        let entry = &mut self.entries[found.at as usize];
        if repeat == Repeat::IgnoredInTick && entry.kind == Kind::Answered {
            entry.at = now;
        }
    }

    #[inline]
    fn forget_last(&mut self, at: u32) {
        let last = self.entries[at as usize].last;
        if last != NONE {
            self.entries[at as usize].last = NONE;
            self.free(last);
        }
    }

    #[inline]
    fn free(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        (entry.kind, entry.last) = (Kind::Hidden, self.free);
        self.free = at;
    }

    /// Removes entries for which `keep` is false.
    pub(super) fn retain(&mut self, now: Timestamp, mut keep: impl FnMut(&Wait) -> bool) {
        for at in 0..self.entries.len() as u32 {
            let entry = &self.entries[at as usize];
            if entry.kind != Kind::Hidden && !keep(&self.wait(entry, now)) {
                let (at, slot) = self.index.find(Key::of(entry.id), |other| other == at);
                self.close(Found { at, slot }, now, Repeat::Ambiguous);
            }
        }
    }

    /// Passes on all requests, the first of equal ones and, if there were several, the last; frees their memory piece
    /// by piece.
    pub(super) fn drain(self, mut take: impl FnMut(ExchangeId, Record, Option<Record>)) {
        /// Entries whose memory is freed at a time.
        const BIT: usize = 1 << 15;
        let Self { mut entries, index, .. } = self;
        drop(index);
        let record = |&Entry { at, tag, token, .. }: &Entry, state| Record { at, tag, token, state };
        let mut give = |first: &Entry, last: Option<&Entry>| {
            let state = match (first.kind, last) {
                (Kind::Hidden, _) => return,
                (Kind::Answered, _) => State::Answered,
                (Kind::Open, None) => State::Open,
                (Kind::Open, Some(_)) => State::Repeated,
            };
            take(first.id, record(first, state), last.map(|last| record(last, State::Last)));
        };
        // Pairs first, while both entries still exist.
        for at in 0..entries.len() {
            let first = entries[at];
            if let Some(last) = entries.get(first.last as usize).filter(|_| first.kind != Kind::Hidden) {
                give(&first, Some(last));
                entries[at].kind = Kind::Hidden;
            }
        }
        while let Some(entry) = entries.pop() {
            give(&entry, None);
            if entries.len().is_multiple_of(BIT) {
                entries.shrink_to_fit();
            }
        }
    }

    /// The ids of the open requests.
    pub(super) fn open_ids(&self) -> impl Iterator<Item = ExchangeId> {
        self.entries.iter().filter(|entry| entry.kind == Kind::Open).map(|entry| entry.id)
    }

    /// Counts all open requests: as expired if they are older than the expiry, else as pending.
    pub(super) fn count_open(&self, fates: &mut [Fates], now: Timestamp, expiry: Nanos) {
        for first in self.entries.iter().filter(|entry| entry.kind == Kind::Open) {
            fates[usize::from(first.tag)].wait(self.wait(first, now).has_expired(expiry));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.index.bytes()
    }

    /// The peak number of bytes while processing another batch.
    pub(super) fn bytes_ahead(&self) -> usize {
        let more = if self.entries.len() + BATCH > self.entries.capacity() { self.more() } else { 0 };
        let renewed = if self.is_full() { self.index.bytes() << u32::from(self.is_crowded()) } else { 0 };
        self.bytes() + more * size_of::<Entry>() + renewed
    }
}
