use super::Culprit;
use dwell_types::Nanos;

/// What was in the queue with a packet: what departed between its arrival and its departure, including itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queued {
    /// Size of its own flow, in bytes or packets ([`super::Unit`]).
    pub flow_size: u64,
    /// Size of all flows, in the same unit and the same windows.
    pub queue_size: u64,
    /// The first over the second; absent if nothing was counted.
    pub share: Option<f64>,
    /// Whether the packet waited long enough, and its flow had more than its share.
    pub is_culprit: bool,
    /// Whether all of the time from arrival to departure was seen and is still stored. If not, the sizes lack what is
    /// missing, and the share is that of the rest.
    pub is_complete: bool,
}

/// What a sketch, or the exact reference, could not use, or not fully.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that departed.
    pub packets: u64,
    /// Packets whose arrival is unknown, or later than their departure: counted as part of the queue, but without an
    /// answer.
    pub unknown: u64,
    /// Answers that are incomplete.
    pub incomplete: u64,
    /// Packets that departed before the packet before them: counted as if at the same time.
    pub late: u64,
    /// Snapshots that were written before they were clean.
    pub dirty: u64,
}

impl Culprit {
    /// The most flows of a queue that can be culprits at a time: one over *α*, rounded up.
    pub fn most(self) -> usize {
        // A share of zero has no bound: the cast stops at the largest number.
        (1.0 / self.share).ceil() as usize
    }

    /// Makes an answer from sizes; `is_complete` as in [`Queued`].
    #[inline]
    pub(super) fn judge(self, delay: Nanos, flow: f64, queue: f64, is_complete: bool) -> Queued {
        let share = (queue > 0.0).then(|| flow / queue);
        Queued {
            flow_size: (flow + 0.5) as i64 as u64,
            queue_size: (queue + 0.5) as i64 as u64,
            share,
            is_culprit: delay >= self.delay && share > Some(self.share),
            is_complete,
        }
    }
}

/// The accuracy of a sketch, compared with the exact reference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Packets that waited for *τ*, and not for longer than the exact reference remembers.
    pub packets: u64,
    /// Packets that waited for longer, and are compared with nothing.
    pub unknown: u64,
    /// Culprits according to both.
    pub both: u64,
    /// Culprits according to the sketch only.
    pub sketch_only: u64,
    /// Culprits according to the exact reference only.
    pub exact_only: u64,
    /// The sum of absolute errors of flow sizes, in bytes or packets.
    pub error: u64,
}

impl Scores {
    /// Counts a packet, with the answers of the sketch and of the exact reference.
    pub fn add(&mut self, found: &Queued, truth: &Queued) {
        self.packets += 1;
        match (found.is_culprit, truth.is_culprit) {
            (true, true) => self.both += 1,
            (true, false) => self.sketch_only += 1,
            (false, true) => self.exact_only += 1,
            (false, false) => {}
        }
        self.error += found.flow_size.abs_diff(truth.flow_size);
    }

    /// The share of the sketch's culprits that are correct; `None` if there are none.
    pub fn precision(&self) -> Option<f64> {
        share(self.both, self.both + self.sketch_only)
    }

    /// The share of the actual culprits that the sketch found; `None` if there are none.
    pub fn recall(&self) -> Option<f64> {
        share(self.both, self.both + self.exact_only)
    }

    /// The mean absolute error of flow sizes, in bytes or packets; `None` without packets.
    pub fn mean_error(&self) -> Option<f64> {
        share(self.error, self.packets)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
