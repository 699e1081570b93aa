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
