//! A group of snapshots in turn: one is written, the others are read or cleaned.

use super::counter::{Counters, Place, Turn};
use super::window::{Reading, Window};
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
    /// Of all flows, per snapshot.
    totals: Vec<u64>,
    counters: Counters,
    /// With [`Cleaning::Cyclic`].
    cycle: Option<Cycle>,
}

/// Cleaning by the packets that pass.
#[derive(Clone, Debug)]
struct Cycle {
    /// The index that the next packet empties.
    index: usize,
    /// Indices that were emptied in this window.
    emptied: usize,
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
            totals: vec![0; snapshots],
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

    /// The oldest window that can be read.
    pub(super) const fn oldest(&self) -> i64 {
        self.number.saturating_sub(self.finished)
    }

    /// Comes to the window of a moment, not before the one being written.
    #[inline]
    pub(super) fn advance(&mut self, at: i64) {
        if at >= self.ends {
            self.rotate(self.window.number(at));
        }
    }

    #[cold]
    fn rotate(&mut self, number: i64) {
        let steps = number.saturating_sub(self.number) as usize;
        self.number = number;
        self.ends = self.window.begins(number.saturating_add(1));
        match &mut self.cycle {
            Some(cycle) => {
                let next = (self.newest + steps % self.totals.len()) % self.totals.len();
                cycle.dirty += u64::from(!cycle.is_clean[next]);
                cycle.is_clean[next] = false;
                cycle.emptied = 0;
                self.newest = next;
            }
            None if steps < self.totals.len() => (0..steps).for_each(|_| self.begin_next()),
            None => {
                self.totals.fill(0);
                self.counters.clear_all();
            }
        }
    }

    fn begin_next(&mut self) {
        self.newest = self.after(self.newest);
        self.totals[self.newest] = 0;
        self.counters.clear(self.newest);
    }

    fn after(&self, snapshot: usize) -> usize {
        if snapshot + 1 == self.totals.len() { 0 } else { snapshot + 1 }
    }

    /// Adds to a flow in the window being written.
    #[inline]
    pub(super) fn add(&mut self, place: &Place, size: u32) {
        self.totals[self.newest] += u64::from(size);
        self.counters.add(self.newest, place, size);
        if self.cycle.is_some() {
            self.clean();
        }
    }

    fn clean(&mut self) {
        let (oldest, indices) = (self.after(self.newest), self.counters.indices());
        let Some(cycle) = &mut self.cycle else { return };
        self.counters.clear_index(oldest, cycle.index);
        self.totals[oldest] = 0;
        cycle.index = if cycle.index + 1 == indices { 0 } else { cycle.index + 1 };
        cycle.emptied += 1;
        cycle.is_clean[oldest] |= cycle.emptied >= indices;
    }

    /// The sizes in some windows, of which all can be read; `own` is what was added last.
    #[inline]
    pub(super) fn read(&self, place: &Place, reading: &Reading, own: u32) -> Sizes {
        if reading.windows.is_empty() {
            return Sizes::default();
        }
        let (start, end) = (*reading.windows.start(), *reading.windows.end());
        let turn = Turn { first: self.snapshot(start), len: (end - start + 1) as usize };
        let mut flow = self.counters.sum(turn, place) as f64;
        let mut queue = self.total(turn) as f64;
        if reading.first_share < 1.0 {
            // The packet itself departed at the end of the interval, so it counts in full.
            let own = if turn.first == self.newest { own } else { 0 };
            let without = 1.0 - reading.first_share;
            flow -= without * f64::from(self.counters.get(turn.first, place).saturating_sub(own));
            queue -= without * (self.totals[turn.first] - u64::from(own)) as f64;
        }
        Sizes { flow, queue }
    }

    #[inline]
    fn total(&self, turn: Turn) -> u64 {
        let end = turn.first + turn.len;
        match end.checked_sub(self.totals.len()) {
            None => self.totals[turn.first..end].iter().sum(),
            Some(around) => self.totals[turn.first..].iter().chain(&self.totals[..around]).sum(),
        }
    }

    /// The sizes of a flow in a window that can be read.
    pub(super) fn flow_in(&self, place: &Place, number: i64) -> u32 {
        self.counters.get(self.snapshot(number), place)
    }

    /// Where a window that can be read was written.
    #[inline]
    fn snapshot(&self, number: i64) -> usize {
        let age = (self.number - number) as usize;
        if age <= self.newest { self.newest - age } else { self.newest + self.totals.len() - age }
    }

    pub(super) fn dirty(&self) -> u64 {
        self.cycle.as_ref().map_or(0, |cycle| cycle.dirty)
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let flags = self.cycle.as_ref().map_or(0, |cycle| cycle.is_clean.capacity());
        self.counters.bytes() + self.totals.capacity() * size_of::<u64>() + flags
    }
}
