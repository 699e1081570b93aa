use super::Join;

/// How memory is divided between the sketches of two points, the list of flows, and the sketches that wait for their
/// counterparts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Bytes for each sketch of all packets.
    pub sketch: usize,
    /// Bytes for each sketch of flows.
    pub flow_sketch: usize,
    /// Number of flows that the sender lists.
    pub listed: usize,
}

impl Shares {
    /// Maximum number of flows that a sender lists with names and packet counts.
    pub const MOST_LISTED: usize = 4_096;
    /// Bytes of a listed flow, with its name and its packet counts in the sender's sketches.
    const LISTED_BYTES: usize = 352;
    /// Minimum number of waiting sketches: one of each point.
    const LEAST_WAITING: usize = 2;
    /// Each point holds two sketches, since its next cut may still move.
    const SKETCHES: usize = 4 + Self::LEAST_WAITING;

    /// The shares of this many bytes. With flows a quarter is for their list; of the rest two fifths are for sketches of
    /// all packets, three for those of flows.
    pub fn of(memory: usize, has_flows: bool) -> Self {
        let spare = memory.saturating_sub(Self::LEAST_WAITING * Join::SUMMARY_BYTES);
        let [all, of_flows, list] = if has_flows { [spare / 10 * 3, spare / 20 * 9, spare / 4] } else { [spare, 0, 0] };
        Self {
            sketch: all / Self::SKETCHES,
            flow_sketch: of_flows / Self::SKETCHES,
            listed: Self::MOST_LISTED.min(list / Self::LISTED_BYTES),
        }
    }

    /// Bytes of two points with sketches of this many bytes, and of the list of flows.
    pub fn held_bytes(&self, sketch: usize) -> usize {
        (Self::SKETCHES - Self::LEAST_WAITING) * sketch + self.listed * Self::LISTED_BYTES
    }

    /// The same with the fewest waiting sketches.
    pub fn least_bytes(&self, sketch: usize) -> usize {
        self.held_bytes(sketch) + Self::LEAST_WAITING * (sketch + Join::SUMMARY_BYTES)
    }
}
