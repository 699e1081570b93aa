use super::index::{Index, Key, NONE, Slot};
use crate::batch::BATCH;
use crate::open::{Record, State, Wait};
use crate::repeats::byte;
use crate::{Event, Fates};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp};

/// All open requests.
///
/// An entry that goes leaves its room to the next that comes: while requests are answered, the same few entries are
/// used again and again, and stay near the processor.
#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Vec<Entry>,
    /// The first of the entries without a request, each of which names the next; [`NONE`] if there is none.
    free: u32,
    index: Index,
    /// Entries that the index names.
    indexed: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: ExchangeId,
    at: Timestamp,
    /// The entry of the last of equal requests; [`NONE`] if there was one only. Of a free one, the next that is free.
    last: u32,
    series: u16,
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
    /// The last of equal requests, or nothing: the index does not name it.
    Hidden,
}

/// What was found by an id: its entry, or where one would be.
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

    /// Whether a batch may need more room than there is.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.index.left() < BATCH || self.entries.len() + BATCH > self.index.end()
    }

    /// Makes room for a batch.
    pub(super) fn grow(&mut self) {
        let is_crowded = self.is_crowded();
        self.index.renew(is_crowded, |at| Key::of(self.entries[at as usize].id));
    }

    /// Whether there is to be twice as much, and not only what has gone cleared away.
    fn is_crowded(&self) -> bool {
        2 * self.indexed > self.index.room() || self.entries.len() + BATCH > self.index.end()
    }

    /// Asks for what an event with this id will read.
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

    /// Takes a request with an id that was not found.
    #[inline]
    pub(super) fn put(&mut self, found: Found, request: &Event) {
        let at = self.add(request, Kind::Open);
        self.index.put(found.slot, at);
        self.indexed += 1;
    }

    #[inline]
    fn add(&mut self, request: &Event, kind: Kind) -> u32 {
        let entry =
            Entry { id: request.id, at: request.at, last: NONE, series: request.tag, token: byte(request.token), kind };
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

    /// Room for a quarter more.
    #[cold]
    fn reserve(&mut self) {
        self.entries.reserve_exact(self.more());
    }

    /// For so many there is room when there has been none.
    fn more(&self) -> usize {
        BATCH.max(self.entries.len() / 4)
    }

    /// How long a request has waited, and what it was.
    #[inline]
    pub(super) fn look(&self, found: Found, now: Timestamp) -> Wait {
        self.wait(&self.entries[found.at as usize], now)
    }

    #[inline]
    fn wait(&self, first: &Entry, now: Timestamp) -> Wait {
        let mut wait = Wait::new(now - first.at, first.series, first.token, first.kind == Kind::Open);
        if let Some(last) = self.entries.get(first.last as usize) {
            wait.repeat(now - last.at, last.token);
        }
        wait
    }

    /// Takes a request with the id of one that is there.
    pub(super) fn repeat(&mut self, found: Found, request: &Event) {
        let before = self.entries[found.at as usize].last;
        if let Some(last) = self.entries.get_mut(before as usize) {
            (last.at, last.token) = (request.at, byte(request.token));
        } else {
            self.entries[found.at as usize].last = self.add(request, Kind::Hidden);
        }
    }

    /// Puts a request in the place of one with the same id.
    pub(super) fn replace(&mut self, found: Found, request: &Event) {
        self.forget_last(found.at);
        let entry = &mut self.entries[found.at as usize];
        (entry.at, entry.series, entry.token, entry.kind) = (request.at, request.tag, byte(request.token), Kind::Open);
    }

    /// Ends a wait. The entry remains only where later equal requests are to be ignored.
    #[inline(always)]
    pub(super) fn close(&mut self, found: Found, repeat: Repeat) {
        self.forget_last(found.at);
        match repeat {
            Repeat::Ambiguous => {
                self.index.remove(found.slot);
                self.indexed -= 1;
                self.free(found.at);
            }
            Repeat::Ignored => self.entries[found.at as usize].kind = Kind::Answered,
        }
    }

    #[inline]
    fn forget_last(&mut self, at: u32) {
        let last = std::mem::replace(&mut self.entries[at as usize].last, NONE);
        if last != NONE {
            self.free(last);
        }
    }

    #[inline]
    fn free(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        (entry.kind, entry.last) = (Kind::Hidden, self.free);
        self.free = at;
    }

    /// Removes what is not to be kept.
    pub(super) fn retain(&mut self, now: Timestamp, mut keep: impl FnMut(&Wait) -> bool) {
        for at in 0..self.entries.len() as u32 {
            let entry = &self.entries[at as usize];
            if entry.kind != Kind::Hidden && !keep(&self.wait(entry, now)) {
                let (at, slot) = self.index.find(Key::of(entry.id), |other| other == at);
                self.close(Found { at, slot }, Repeat::Ambiguous);
            }
        }
    }

    /// Gives away all that are known, the first of equal ones and the last if there were several, and their memory bit by
    /// bit.
    pub(super) fn drain(self, mut take: impl FnMut(ExchangeId, Record, Option<Record>)) {
        /// Entries whose memory is given back at once.
        const BIT: usize = 1 << 15;
        let Self { mut entries, index, .. } = self;
        drop(index);
        let record = |&Entry { at, series, token, .. }: &Entry, state| Record { at, series, token, state };
        let mut give = |first: &Entry, last: Option<&Entry>| {
            let state = match (first.kind, last) {
                (Kind::Hidden, _) => return,
                (Kind::Answered, _) => State::Answered,
                (Kind::Open, None) => State::Open,
                (Kind::Open, Some(_)) => State::Repeated,
            };
            take(first.id, record(first, state), last.map(|last| record(last, State::Last)));
        };
        // Where there are two, both must still be there.
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

    /// The ids of those that wait.
    pub(super) fn open_ids(&self) -> impl Iterator<Item = ExchangeId> {
        self.entries.iter().filter(|entry| entry.kind == Kind::Open).map(|entry| entry.id)
    }

    /// Counts what still waits: as expired if it is older than the expiry, else as pending.
    pub(super) fn count_open(&self, fates: &mut [Fates], now: Timestamp, expiry: Nanos) {
        for first in self.entries.iter().filter(|entry| entry.kind == Kind::Open) {
            fates[usize::from(first.series)].wait(self.wait(first, now).is_older(expiry));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.index.bytes()
    }

    /// Bytes that it may take, for a moment at least, if a batch comes now.
    pub(super) fn bytes_ahead(&self) -> usize {
        let more = if self.entries.len() + BATCH > self.entries.capacity() { self.more() } else { 0 };
        let renewed = if self.is_full() { self.index.bytes() << u32::from(self.is_crowded()) } else { 0 };
        self.bytes() + more * size_of::<Entry>() + renewed
    }
}
