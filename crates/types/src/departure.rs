use crate::{FlowId, Nanos, Timestamp};

/// A packet that leaves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When it entered the queue; `None` if that was not observed.
    pub arrived: Option<Timestamp>,
    /// When it left, by the same clock.
    pub departed: Timestamp,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// Its length on the wire in bytes, from the IP header on.
    pub bytes: u32,
}

impl Departure {
    /// How long it was in the queue; negative if its timestamps say that it left before it entered.
    #[inline]
    pub fn delay(&self) -> Option<Nanos> {
        Some(self.departed - self.arrived?)
    }
}
