//! The cell of which per-flow sketches of two points consist: sum of times, packet count and digest.

use crate::codec::{CodecError, Reader, Writer};
use dwell_types::{PacketId, Timestamp};

/// What one point stores of the packets in one cell: the sum of their times, their number, and a digest of their ids.
/// 16 bytes.
///
/// The difference of two sums is the sum of the delays, if both cells contain the same packets [kompella12 §III-A]; the
/// digest shows whether they do [sanjuas11 §2.3.2].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Nanoseconds, modulo 2⁶⁴: the difference of two sums is exact as long as the delays sum up to less than 292
    /// years.
    sum: u64,
    /// The exclusive or of the packets' digests.
    digest: u32,
    /// Packets, modulo 2³².
    count: u32,
}

/// The difference of two cells that contain the same packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The sum of the delays in nanoseconds; negative if the clocks disagree.
    pub delay_ns: i64,
    /// The number of packets.
    pub packets: u32,
}

impl Cell {
    /// Adds a packet. `digest` is 32 bits of its id that determine neither its cell nor whether it is sampled.
    #[inline(always)]
    pub(crate) fn update(&mut self, digest: u32, at: Timestamp) {
        self.sum = self.sum.wrapping_add(at.as_nanos() as u64);
        self.digest ^= digest;
        self.count = self.count.wrapping_add(1);
    }

    /// Adds the same cell of another place or time.
    pub(crate) fn merge(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.digest ^= other.digest;
        self.count = self.count.wrapping_add(other.count);
    }

    /// Bytes that [`Cell::write`] writes: sum, then digest and count in one word.
    pub(crate) const BYTES: usize = 16;

    pub(crate) fn write(&self, to: &mut Writer) {
        to.u64(self.sum);
        to.u64(u64::from(self.count) << 32 | u64::from(self.digest));
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (sum, word) = (from.u64()?, from.u64()?);
        Ok(Self { sum, digest: word as u32, count: (word >> 32) as u32 })
    }

    /// Packets in this cell.
    pub(crate) const fn packets(&self) -> u32 {
        self.count
    }

    /// The delays from the cell at the sender to this one at the receiver; `None` if they contain different packets. A
    /// wrong `Some` has probability 2⁻³² per pair of cells with equal numbers of different packets.
    pub(crate) const fn since(&self, sender: &Self) -> Option<Difference> {
        if self.count != sender.count || self.digest != sender.digest {
            return None;
        }
        Some(Difference { delay_ns: self.sum.wrapping_sub(sender.sum) as i64, packets: self.count })
    }
}

/// The digest of a packet for [`Cell::update`].
#[inline(always)]
pub(crate) const fn digest(packet: PacketId) -> u32 {
    // Independent of the bits of the id itself, which select banks and rows.
    (packet.0.wrapping_mul(dwell_types::hash::INDEPENDENT) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn cell(packets: &[(u32, i64)]) -> Cell {
        let mut cell = Cell::default();
        for &(digest, nanos) in packets {
            cell.update(digest, at(nanos));
        }
        cell
    }

    #[test]
    fn equal_packets_give_the_sum_of_their_delays() {
        // Times whose sum wraps.
        let sent = cell(&[(1, i64::MAX - 5), (2, i64::MAX - 3), (3, 7)]);
        let received = cell(&[(2, i64::MAX - 1), (3, 10), (1, i64::MAX)]);
        assert_eq!(received.since(&sent), Some(Difference { delay_ns: 2 + 3 + 5, packets: 3 }));
        assert_eq!(sent.since(&received).map(|d| d.delay_ns), Some(-10));
    }

    #[test]
    fn different_packets_give_nothing() {
        let sent = cell(&[(1, 5), (2, 6)]);
        assert_eq!(cell(&[(1, 7)]).since(&sent), None);
        // Equally many packets, but different ones.
        assert_eq!(cell(&[(1, 7), (3, 9)]).since(&sent), None);
    }

    #[test]
    fn parts_merge() {
        let mut sent = cell(&[(1, 5)]);
        sent.merge(cell(&[(2, 6)]));
        assert_eq!(sent, cell(&[(2, 6), (1, 5)]));
    }
}
