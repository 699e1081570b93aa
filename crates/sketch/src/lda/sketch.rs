use super::cells::Cells;
use super::{Params, ParamsError};
use dwell_types::{PacketId, Timestamp, hash};
use std::fmt;

/// Why two sketches do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairError {
    /// They sample by different hashes.
    Seed {
        /// Of the one that was asked.
        ours: u64,
        /// Of the other one.
        theirs: u64,
    },
    /// Their banks or cells differ.
    Geometry,
}

impl fmt::Display for PairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed { ours, theirs } => write!(f, "the sketches have different seeds, {ours} and {theirs}"),
            Self::Geometry => f.write_str("the sketches have different banks or cells"),
        }
    }
}

impl std::error::Error for PairError {}

/// What passed one point in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Lda {
    pub(super) params: Params,
    /// Members of the hash family: one chooses the bank; of the other the upper half chooses the row, and the lower is the digest.
    hashes: [u64; 2],
    /// Hashes below the last limit are sampled.
    sampled: u64,
    pub(super) banks: Vec<Sampled>,
    pub(super) cells: Cells,
    /// All packets, sampled or not.
    pub(super) packets: u64,
}

/// One bank at work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampled {
    /// It takes hashes below this that no bank before it takes.
    limit: u64,
    /// Its first cell.
    pub(super) first: usize,
    pub(super) rows: u32,
    /// Packets that it took.
    pub(super) packets: u64,
}

impl Lda {
    /// An empty sketch.
    pub fn new(params: Params) -> Result<Self, ParamsError> {
        let shares = params.check()?;
        let mut order: Vec<usize> = (0..shares.len()).collect();
        // The densest first: most packets find their bank at once.
        order.sort_by_key(|&bank| std::cmp::Reverse(shares[bank]));
        let (mut limit, mut first) = (0, 0);
        let mut banks: Vec<Sampled> = Vec::with_capacity(shares.len());
        for bank in &params.banks {
            banks.push(Sampled { limit: 0, first, rows: bank.rows, packets: 0 });
            first += bank.rows as usize;
        }
        for &bank in &order {
            limit = (limit + shares[bank]).min(1 << 32);
            banks[bank].limit = limit;
        }
        banks.sort_by_key(|bank| bank.limit);
        let seed = hash::start(params.seed);
        let cells = Cells::new(params.cell, first);
        let hashes = [0, 1].map(|purpose| hash::start(hash::word(seed, purpose)));
        Ok(Self { params, hashes, sampled: limit, banks, cells, packets: 0 })
    }

    /// Takes a packet that passed at this time.
    #[inline]
    pub fn update(&mut self, packet: PacketId, at: Timestamp) {
        self.packets = self.packets.wrapping_add(1);
        let [bank, place] = self.hashes;
        let chosen = hash::word(bank, packet.0) >> 32;
        if chosen >= self.sampled {
            return;
        }
        let Some(bank) = self.banks.iter_mut().find(|bank| chosen < bank.limit) else { return };
        bank.packets = bank.packets.wrapping_add(1);
        let place = hash::word(place, packet.0);
        let row = hash::index((place >> 32) as u32, bank.rows);
        self.cells.update(bank.first + row as usize, place as u32, at);
    }

    /// Adds what a sketch of the same parameters saw: the same as one that saw both.
    pub fn merge(&mut self, other: &Self) -> Result<(), PairError> {
        self.pairs_with(other)?;
        self.packets = self.packets.wrapping_add(other.packets);
        for (bank, other) in self.banks.iter_mut().zip(&other.banks) {
            bank.packets = bank.packets.wrapping_add(other.packets);
        }
        self.cells.merge(&other.cells);
        Ok(())
    }

    /// Forgets everything, for the next interval.
    pub fn reset(&mut self) {
        self.packets = 0;
        self.banks.iter_mut().for_each(|bank| bank.packets = 0);
        self.cells.clear();
    }

    /// What it was built with.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Packets so far, sampled or not.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes of cells and counters, as [`Params::state_bytes`].
    pub fn state_bytes(&self) -> usize {
        self.cells.state_bytes() + Params::counter_bytes(self.banks.len())
    }

    /// Whether the two were built alike.
    pub(super) fn pairs_with(&self, other: &Self) -> Result<(), PairError> {
        if self.params.seed != other.params.seed {
            return Err(PairError::Seed { ours: self.params.seed, theirs: other.params.seed });
        }
        if self.params != other.params {
            return Err(PairError::Geometry);
        }
        Ok(())
    }
}
