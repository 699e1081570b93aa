use super::Arrival;
use dwell_types::FlowId;
use std::collections::{BTreeMap, VecDeque};

/// Which of the waiting packets leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// The one that arrived first.
    Fifo,
    /// Packets of the background; those of bursts only while none of the background waits.
    Priority,
    /// Flows in turn, each up to its byte credit: deficit round robin.
    RoundRobin {
        /// Credit in bytes that a flow receives per turn, at least one.
        quantum: u32,
    },
}

/// A waiting packet, and the state of the queue when it arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) arrival: Arrival,
    pub(super) flow_bytes: u64,
    pub(super) queue_bytes: u64,
}

/// The waiting packets, by discipline.
#[derive(Clone, Debug)]
pub(super) enum Waiting {
    Fifo(VecDeque<Entry>),
    /// Those of the background, and those of bursts.
    Priority([VecDeque<Entry>; 2]),
    RoundRobin(Turns),
}

impl Waiting {
    pub(super) fn new(discipline: Discipline) -> Self {
        match discipline {
            Discipline::Fifo => Self::Fifo(VecDeque::new()),
            Discipline::Priority => Self::Priority(Default::default()),
            Discipline::RoundRobin { quantum } => {
                Self::RoundRobin(Turns { quantum, flows: BTreeMap::new(), order: VecDeque::new(), has_saved: false })
            }
        }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        match self {
            Self::Fifo(entries) => entries.push_back(entry),
            Self::Priority(classes) => classes[usize::from(entry.arrival.is_burst)].push_back(entry),
            Self::RoundRobin(turns) => turns.push(entry),
        }
    }

    /// Takes the next packet, if its transmission can begin by `until`; the link is idle from `free` on.
    pub(super) fn pop(&mut self, free: f64, until: f64) -> Option<Entry> {
        if free > until {
            return None;
        }
        match self {
            Self::Fifo(entries) => entries.pop_front(),
            Self::Priority([small, large]) => small.pop_front().or_else(|| large.pop_front()),
            Self::RoundRobin(turns) => turns.pop(),
        }
    }
}

/// State of deficit round robin.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    quantum: u32,
    flows: BTreeMap<FlowId, Backlog>,
    /// The flows with waiting packets; it is the first one's turn.
    order: VecDeque<FlowId>,
    /// Whether the first flow has received its credit for this turn.
    has_saved: bool,
}

#[derive(Clone, Debug, Default)]
struct Backlog {
    /// Credit in bytes for this turn.
    saved: u64,
    entries: VecDeque<Entry>,
}

impl Turns {
    fn push(&mut self, entry: Entry) {
        let flow = entry.arrival.flow;
        let backlog = self.flows.entry(flow).or_default();
        if backlog.entries.is_empty() {
            self.order.push_back(flow);
        }
        backlog.entries.push_back(entry);
    }

    fn pop(&mut self) -> Option<Entry> {
        loop {
            let flow = *self.order.front()?;
            let backlog = self.flows.get_mut(&flow)?;
            if !self.has_saved {
                backlog.saved += u64::from(self.quantum);
                self.has_saved = true;
            }
            let bytes = u64::from(backlog.entries.front()?.arrival.bytes);
            if bytes > backlog.saved {
                self.order.rotate_left(1);
                self.has_saved = false;
                continue;
            }
            backlog.saved -= bytes;
            let entry = backlog.entries.pop_front();
            // A flow without waiting packets keeps no credit.
            if backlog.entries.is_empty() {
                self.flows.remove(&flow);
                self.order.pop_front();
                self.has_saved = false;
            }
            return entry;
        }
    }
}
