//! What the delays of both directions between two addresses tell about their order and their common causes.

use dwell_types::{Address, Timestamp};
use std::cmp::Ordering;

/// Source and destination.
pub(super) type Ends = (Address, Address);

/// A delay in nanoseconds, and when it became known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) delay: i64,
    pub(super) at: Timestamp,
}

impl Known {
    /// Which of two is longer, if they differ by more than the resolution of captures and the drift of clocks meanwhile.
    fn compare(self, other: Self) -> Ordering {
        const RESOLUTION: i64 = 1_000;
        let more = self.delay.saturating_sub(other.delay);
        let drift = (self.at - other.at).drift().get();
        if more.saturating_abs() <= RESOLUTION.saturating_add(drift) { Ordering::Equal } else { more.cmp(&0) }
    }
}

/// What the two directions between a pair of addresses show together, whatever the offset of the clocks: the direction
/// with the lower source first.
#[derive(Clone, Debug, Default)]
pub(super) struct Both {
    /// Of either direction, in the order in which they became known.
    pub(super) delays: [Vec<Known>; 2],
    /// Whether these came after `before`.
    are_new: [bool; 2],
    /// Those of both directions a while ago.
    before: Option<[Known; 2]>,
    pub(super) order: Order,
    pub(super) changes: Changes,
}

/// How many delays were compared with the latest of the other direction, and in how many of these comparisons the first
/// direction took longer, and shorter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Order {
    pub(super) compared: usize,
    pub(super) longer: usize,
    pub(super) shorter: usize,
}

impl Order {
    /// Whether the first direction took longer, by most of the packets that followed one of the other direction: a clock
    /// that drifts moves medians.
    pub(super) fn outcome(self) -> Ordering {
        self.longer.cmp(&self.shorter)
    }
}

/// How often the delays of both directions have changed since the ones before in the same sense, and in opposite senses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changes {
    pub(super) compared: usize,
    pub(super) alike: usize,
    pub(super) opposite: usize,
}

impl Both {
    /// Adds a delay of the first direction (`way` 0) or of the second one (1).
    pub(super) fn add(&mut self, way: usize, known: Known) {
        if let Some(&other) = self.delays[1 - way].last() {
            let order = if way == 0 { known.compare(other) } else { other.compare(known) };
            self.order.compared += 1;
            self.order.longer += usize::from(order == Ordering::Greater);
            self.order.shorter += usize::from(order == Ordering::Less);
        }
        self.delays[way].push(known);
        self.are_new[way] = true;
        if self.are_new == [true; 2]
            && let [Some(&first), Some(&second)] = self.delays.each_ref().map(|delays| delays.last())
        {
            if let Some(before) = self.before {
                self.changes.compared += 1;
                match first.compare(before[0]) as i64 * second.compare(before[1]) as i64 {
                    1 => self.changes.alike += 1,
                    -1 => self.changes.opposite += 1,
                    _ => {}
                }
            }
            (self.before, self.are_new) = (Some([first, second]), [false; 2]);
        }
    }
}

/// The pair of addresses, and which of its directions this is.
pub(super) fn way((source, destination): Ends) -> (Ends, usize) {
    if source <= destination { ((source, destination), 0) } else { ((destination, source), 1) }
}
