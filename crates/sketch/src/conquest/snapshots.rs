//! A group of snapshots in rotation: one is written, the others are read or cleaned.

use super::counter::{Counters, Place, Turn};
use super::window::{Newest, Reading, Window};
use super::{Cleaning, Params};
use dwell_types::Nanos;

/// Snapshots of windows of one length.
#[derive(Clone, Debug)]
pub(super) struct Snapshots {
    window: Window,
    /// The window being written, its end in nanoseconds, and the snapshot that it is written to.
    number: i64,
    ends: i64,
    newest: usize,
    /// Finished windows that can be read.
    finished: i64,
    /// Total of all flows since the beginning.
    all: u64,
    /// The same total when each snapshot's window began.
    before: Vec<u64>,
    counters: Counters,
    /// Present with [`Cleaning::Cyclic`].
    cycle: Option<Cycle>,
}

/// Cleaning by the packets that pass.
#[derive(Clone, Debug)]
struct Cycle {
    /// The index that the next packet empties.
    index: u32,
    /// Number of indices emptied in this window.
    emptied: u32,
    is_clean: Vec<bool>,
    /// Snapshots that were written before they were clean.
    dirty: u64,
}

/// Sizes of a flow and of all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sizes {
    pub(super) flow: f64,
    pub(super) queue: f64,
}

impl Snapshots {
    pub(super) fn new(params: &Params, span: Nanos) -> Self {
        let snapshots = params.snapshots as usize;
        Self {
            window: Window::new(span),
            number: i64::MIN,
            ends: i64::MIN,
            newest: 0,
            finished: params.finished().into(),
            all: 0,
            before: vec![0; snapshots],
            counters: Counters::new(params.counter, params.snapshots),
            cycle: (params.cleaning == Cleaning::Cyclic).then(|| Cycle {
                index: 0,
                emptied: 0,
                is_clean: vec![true; snapshots],
                dirty: 0,
            }),
        }
    }

    pub(super) const fn window(&self) -> Window {
        self.window
    }

    /// The window being written.
    pub(super) const fn number(&self) -> i64 {
        self.number
    }

    /// The window being written, as seen by a packet that departs now.
    #[inline]
    pub(super) const fn newest(&self, departed: i64) -> Newest {
        Newest { number: self.number, ends: self.ends, departed: Some(departed) }
    }

    /// The oldest window that can be read.
    pub(super) const fn oldest(&self) -> i64 {
        self.number.saturating_sub(self.finished)
    }

    /// Moves on to the window of a moment, but not before the one being written.
    #[inline]
    pub(super) fn advance(&mut self, at: i64) {
        if at >= self.ends {
            self.rotate(self.window.number(at));
        }
    }

    #[cold]
    fn rotate(&mut self, number: i64) {
        let (steps, snapshots) = (number.saturating_sub(self.number) as usize, self.before.len());
        let written = self.newest;
        self.number = number;
        self.ends = self.window.begins(number.saturating_add(1));
        self.newest = (self.newest + steps % snapshots) % snapshots;
        // Windows without packets are over, too. Their snapshots are empty: only others take the time to clear them.
        let mut end = self.before[self.after(self.newest)];
        for back in 0..steps.min(snapshots) {
            let snapshot = (self.newest + snapshots - back) % snapshots;
            let begin = std::mem::replace(&mut self.before[snapshot], self.all);
            if self.cycle.is_none() && (snapshot == written || begin < end) {
                self.counters.clear(snapshot);
            }
            end = begin;
        }
        if let Some(cycle) = &mut self.cycle {
            cycle.dirty += u64::from(!cycle.is_clean[self.newest]);
            cycle.is_clean[self.newest] = false;
            cycle.emptied = 0;
        }
    }

    #[inline]
    fn after(&self, snapshot: usize) -> usize {
        if snapshot + 1 == self.before.len() { 0 } else { snapshot + 1 }
    }

    /// Adds to a flow in the window being written. Returns whether its counter is full then.
    #[inline]
    pub(super) fn add(&mut self, place: &Place, size: u32) -> bool {
        self.all += u64::from(size);
        let is_full = self.counters.add(self.newest, place, size);
        if self.cycle.is_some() {
            self.clean();
        }
        is_full
    }

    fn clean(&mut self) {
        let (oldest, indices) = (self.after(self.newest), self.counters.indices());
        let Some(cycle) = &mut self.cycle else { return };
        self.counters.clear_index(oldest, cycle.index as usize);
        cycle.index = if cycle.index + 1 == indices { 0 } else { cycle.index + 1 };
        cycle.emptied += 1;
        cycle.is_clean[oldest] |= cycle.emptied >= indices;
    }

    /// The sizes in some windows, all of which must be readable, plus a packet that departs and is not counted yet. It
    /// counts in full with the window being written, since it departs at the end of the interval; adding it here avoids
    /// waiting for its counters to be written.
    #[inline(always)]
    pub(super) fn read(&self, place: &Place, reading: &Reading, own: u32) -> Sizes {
        if reading.first > reading.last {
            return Sizes::default();
        }
        let turn = Turn { first: self.snapshot(reading.first), len: (reading.last - reading.first + 1) as usize };
        let own = if reading.last == self.number { own } else { 0 };
        let begun = self.before[turn.first];
        let all = self.until(self.snapshot(reading.last)) - begun;
        // With cyclic cleaning a snapshot may hold more than its window.
        let most = if self.cycle.is_some() { u64::MAX } else { self.all - begun };
        let read = self.counters.read(turn, place, most);
        // Signed integers convert to floats in a single instruction.
        let mut flow = (read.all + u64::from(own)) as i64 as f64;
        let mut queue = (all + u64::from(own)) as i64 as f64;
        if reading.first_share < 1.0 {
            let without = 1.0 - reading.first_share;
            flow -= without * f64::from(read.first);
            queue -= without * (self.until(turn.first) - begun) as i64 as f64;
        }
        // A snapshot that was not cleaned in time holds more than its window, but no flow has more than the total.
        Sizes { flow: if self.cycle.is_some() { flow.min(queue) } else { flow }, queue }
    }

    /// Total of all flows, up to the end of a snapshot's window.
    #[inline]
    fn until(&self, snapshot: usize) -> u64 {
        if snapshot == self.newest { self.all } else { self.before[self.after(snapshot)] }
    }

    /// The size of a flow in a window that can be read.
    pub(super) fn flow_in(&self, place: &Place, number: i64) -> u32 {
        self.counters.get(self.snapshot(number), place)
    }

    /// The snapshot of a window that can be read.
    #[inline]
    fn snapshot(&self, number: i64) -> usize {
        let age = (self.number - number) as usize;
        if age <= self.newest { self.newest - age } else { self.newest + self.before.len() - age }
    }

    pub(super) fn dirty(&self) -> u64 {
        self.cycle.as_ref().map_or(0, |cycle| cycle.dirty)
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let flags = self.cycle.as_ref().map_or(0, |cycle| cycle.is_clean.capacity());
        self.counters.bytes() + self.before.capacity() * size_of::<u64>() + flags
    }
}
