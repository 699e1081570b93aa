use super::bank::{Sampled, Taken};
use super::cells::Cells;
use super::{LdaError, Params};
use crate::Foreign;
use dwell_types::{PacketId, Timestamp, hash};

/// The sketch of the packets that passed one point in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Lda {
    pub(super) params: Params,
    /// Key of the hash function. The upper half of a packet's hash selects the bank and the row; the lower half is the
    /// digest.
    hash: u64,
    /// Hashes up to this one are sampled.
    last: u64,
    pub(super) banks: Vec<Sampled>,
    pub(super) cells: Cells,
    /// All packets, sampled or not.
    pub(super) packets: u64,
}

/// Packets per batch: all are hashed before the first of them touches a cell.
const BLOCK: usize = 128;

impl Lda {
    /// An empty sketch.
    pub fn new(params: Params) -> Result<Self, LdaError> {
        let shares = params.shares()?;
        let mut banks = Vec::with_capacity(shares.len());
        let mut first = 0;
        for (bank, &share) in params.banks.iter().zip(&shares) {
            let rows_per_upper = (u128::from(bank.rows) << 64) / u128::from(share);
            let rows_per_upper = u64::try_from(rows_per_upper).unwrap_or(u64::MAX);
            banks.push(Sampled { begin: 0, last: share, rows_per_upper, first, rows: bank.rows, packets: 0 });
            first += bank.rows as usize;
        }
        // Densest first, so that the search for a packet's bank mostly ends at once.
        banks.sort_by_key(|bank| std::cmp::Reverse(bank.last));
        let mut begin = 0;
        for bank in &mut banks {
            bank.begin = begin << 32;
            begin += bank.last;
            bank.last = (begin << 32).wrapping_sub(1);
        }
        let hash = hash::start(params.seed);
        let cells = Cells::new(params.cell, first);
        let last = banks.last().map_or(0, |bank| bank.last);
        Ok(Self { params, hash, last, banks, cells, packets: 0 })
    }

    /// Adds a packet that passed at this time.
    #[inline]
    pub fn update(&mut self, packet: PacketId, at: Timestamp) {
        self.packets = self.packets.wrapping_add(1);
        let place = hash::word(self.hash, packet.0);
        if place <= self.last {
            self.sample(Taken { place, at });
        }
    }

    /// Adds many packets with their times, faster than one by one: sampling is unpredictable, so this loop avoids
    /// branching on it.
    pub fn update_all(&mut self, packets: impl IntoIterator<Item = (PacketId, Timestamp)>) {
        let mut packets = packets.into_iter();
        let mut densest = [Taken::default(); BLOCK];
        let mut others = densest;
        loop {
            // Every packet is written to both arrays, but only the index of the right one advances.
            let (mut seen, mut in_densest, mut in_others) = (0, 0, 0);
            let limit = self.banks[0].last;
            for (packet, at) in packets.by_ref().take(BLOCK) {
                let place = hash::word(self.hash, packet.0);
                densest[in_densest % BLOCK] = Taken { place, at };
                others[in_others % BLOCK] = Taken { place, at };
                in_densest += usize::from(place <= limit);
                in_others += usize::from(place > limit && place <= self.last);
                seen += 1;
            }
            self.packets = self.packets.wrapping_add(seen);
            let bank = &mut self.banks[0];
            bank.packets = bank.packets.wrapping_add(in_densest as u64);
            self.cells.update_all(bank, &densest[..in_densest]);
            others[..in_others].iter().for_each(|&taken| self.sample(taken));
            if seen < BLOCK as u64 {
                return;
            }
        }
    }

    /// Adds a packet to the bank that samples it.
    #[inline]
    fn sample(&mut self, taken: Taken) {
        let Some(bank) = self.banks.iter_mut().find(|bank| taken.place <= bank.last) else { return };
        bank.packets = bank.packets.wrapping_add(1);
        self.cells.add(bank.cell(taken.place), taken.into());
    }

    /// Adds the contents of a sketch with the same parameters, as if this one had seen both streams.
    pub fn merge(&mut self, other: &Self) -> Result<(), Foreign> {
        self.check_same(other)?;
        self.packets = self.packets.wrapping_add(other.packets);
        for (bank, other) in self.banks.iter_mut().zip(&other.banks) {
            bank.packets = bank.packets.wrapping_add(other.packets);
        }
        self.cells.merge(&other.cells);
        Ok(())
    }

    /// Clears the sketch for the next interval.
    pub fn reset(&mut self) {
        self.packets = 0;
        self.banks.iter_mut().for_each(|bank| bank.packets = 0);
        self.cells.clear();
    }

    /// The parameters it was built with.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Packets so far, sampled or not.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes of cells and counters, equal to [`Params::state_bytes`].
    pub fn state_bytes(&self) -> usize {
        self.cells.state_bytes() + Params::counter_bytes(self.banks.len())
    }

    /// An error if the parameters differ.
    pub(super) fn check_same(&self, other: &Self) -> Result<(), Foreign> {
        let (ours, theirs) = (&self.params, &other.params);
        Foreign::check(ours.seed, theirs.seed, &[("banks or cells", ours == theirs)])
    }
}
