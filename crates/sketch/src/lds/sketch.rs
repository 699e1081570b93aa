use super::{LdsError, Params};
use crate::Foreign;
use crate::parts::cell::{Cell, digest};
use dwell_types::{Crossing, FlowId, Timestamp, hash};
use std::ops::Range;

/// A lossy difference sketch: the packets of many flows at one point, summarised. See the [module](super).
#[derive(Clone, Debug, PartialEq)]
pub struct Lds {
    params: Params,
    rows: Vec<Row>,
    /// The cells, row by row, `columns` each.
    pub(super) cells: Vec<Cell>,
    /// Bytes of the packets in each cell, not weighted, modulo 2⁶⁴; empty without [`Params::has_bytes`].
    pub(super) bytes: Vec<u64>,
}

/// How one row hashes and samples.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    /// Key of the hash of flows that two rows share: *h* is its upper half for rows 0, 2, …, its lower half for rows 1,
    /// 3, ….
    flows: u64,
    /// Key of the hash *h′* of packets.
    packets: u64,
    /// A packet is sampled if its 32-bit hash is below this.
    threshold: u64,
    /// Whether the packet's hash is needed: to select the cell or to sample.
    asks_packet: bool,
}

impl Row {
    fn new(params: &Params, row: usize) -> Self {
        let rate = params.rates[row];
        let seed = hash::start(params.seed);
        let start = |purpose: u64, number: usize| hash::start(hash::word(seed, purpose << 32 | number as u64));
        Self {
            flows: start(1, row / 2),
            packets: start(2, row),
            threshold: ((rate * (1u64 << 32) as f64) as u64).max(1),
            asks_packet: rate < 1.0 || params.cells_per_flow > 1,
        }
    }
}

impl Lds {
    /// Bytes of a cell.
    pub const CELL_BYTES: usize = size_of::<Cell>();

    /// An empty sketch.
    pub fn new(params: Params) -> Result<Self, LdsError> {
        params.check()?;
        let cells = params.cells() as usize;
        Ok(Self {
            rows: (0..params.rows()).map(|row| Row::new(&params, row)).collect(),
            cells: vec![Cell::default(); cells],
            bytes: vec![0; if params.has_bytes { cells } else { 0 }],
            params,
        })
    }

    /// The parameters it was built with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Adds a packet of class 0.
    #[inline]
    pub fn update(&mut self, crossing: &Crossing) {
        self.update_class(crossing, 0);
    }

    /// Adds a packet of a class; a class without a weight counts as the last one.
    #[inline]
    pub fn update_class(&mut self, crossing: &Crossing, class: u8) {
        let cell = weighted(digest(crossing.packet), crossing.at, self.weight(class));
        let columns = self.params.columns;
        let (mut first, mut flow) = (0, 0);
        for (number, row) in self.rows.iter().enumerate() {
            flow = if number % 2 == 0 { hash::word(row.flows, crossing.flow.0) } else { flow << 32 };
            let mut column = hash::index((flow >> 32) as u32, columns);
            if row.asks_packet {
                let bits = hash::word(row.packets, crossing.packet.0);
                if u64::from(bits as u32) >= row.threshold {
                    first += columns as usize;
                    continue;
                }
                column = around(column + hash::index((bits >> 32) as u32, self.params.cells_per_flow), columns);
            }
            let at = first + column as usize;
            self.cells[at].merge(cell);
            if let Some(bytes) = self.bytes.get_mut(at) {
                *bytes = bytes.wrapping_add(u64::from(crossing.bytes));
            }
            first += columns as usize;
        }
    }

    /// Adds the contents of another sketch, as if this one had seen its packets.
    pub fn merge(&mut self, other: &Self) -> Result<(), Foreign> {
        self.check_same(other)?;
        self.cells.iter_mut().zip(&other.cells).for_each(|(cell, other)| cell.merge(*other));
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(bytes, other)| *bytes = bytes.wrapping_add(*other));
        Ok(())
    }

    /// Clears the sketch.
    pub fn reset(&mut self) {
        self.cells.fill(Cell::default());
        self.bytes.fill(0);
    }

    /// Bytes of the cells, the rows and the parameters.
    pub fn state_bytes(&self) -> usize {
        Self::fixed_bytes(&self.params) + self.cells.len() * Self::CELL_BYTES + self.bytes.len() * 8
    }

    /// Bytes of everything but the cells.
    pub(super) fn fixed_bytes(params: &Params) -> usize {
        size_of::<Self>()
            + params.rows() * (size_of::<Row>() + size_of::<f64>())
            + params.weights.len() * size_of::<u32>()
    }

    /// The weight of a class: how many packets one of its packets counts as.
    #[inline]
    pub(super) fn weight(&self, class: u8) -> u32 {
        let weights = &self.params.weights;
        weights[usize::from(class).min(weights.len() - 1)]
    }

    /// The indices of a flow's cells in one row.
    pub(super) fn cells_of(&self, flow: FlowId, row: usize) -> impl Iterator<Item = usize> + use<> {
        let (columns, k) = (self.params.columns, self.params.cells_per_flow);
        let half = 32 * (row as u32 % 2);
        let base = hash::index((hash::word(self.rows[row].flows, flow.0) << half >> 32) as u32, columns);
        let first = row * columns as usize;
        (base..base + k).map(move |column| first + around(column, columns) as usize)
    }

    /// The indices of the cells of one row.
    pub(super) fn row(&self, row: usize) -> Range<usize> {
        let columns = self.params.columns as usize;
        row * columns..(row + 1) * columns
    }

    /// An error if the parameters differ.
    pub(super) fn check_same(&self, other: &Self) -> Result<(), Foreign> {
        let (a, b) = (&self.params, &other.params);
        let are_same = [
            ("columns", a.columns == b.columns),
            ("cells per flow", a.cells_per_flow == b.cells_per_flow),
            ("rows or sampling rates", a.rates == b.rates),
            ("weights", a.weights == b.weights),
            ("sums of bytes", a.has_bytes == b.has_bytes),
        ];
        Foreign::check(a.seed, b.seed, &are_same)
    }
}

#[inline(always)]
fn around(column: u32, columns: u32) -> u32 {
    if column < columns { column } else { column - columns }
}

/// What a packet adds to its cells: its time `weight` times, its digest once.
#[inline(always)]
fn weighted(digest: u32, at: Timestamp, weight: u32) -> Cell {
    let mut sum = Cell::default();
    sum.update(digest, at);
    if weight > 1 {
        sum.merge(copies(at, weight - 1));
    }
    sum
}

/// A time added this many times, by doubling.
fn copies(at: Timestamp, number: u32) -> Cell {
    let (mut sum, mut doubled) = (Cell::default(), Cell::default());
    doubled.update(0, at);
    for bit in 0..32 - number.leading_zeros() {
        if number >> bit & 1 == 1 {
            sum.merge(doubled);
        }
        doubled.merge(doubled);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lds::Comparison;
    use dwell_types::PacketId;

    fn crossing(packet: u64, flow: u64, at: i64) -> Crossing {
        let packet = PacketId(hash::finish(packet));
        Crossing { packet, flow: FlowId(hash::finish(flow)), at: Timestamp::from_nanos(at), bytes: 100 }
    }

    fn params() -> Params {
        let rates = vec![1.0, 0.25, 1.0];
        Params { cells_per_flow: 3, rates, weights: vec![1, 7], has_bytes: true, ..Params::new(1, 50, 1) }
    }

    fn fed(packets: std::ops::Range<u64>) -> Lds {
        let mut sketch = Lds::new(params()).unwrap();
        packets.for_each(|i| sketch.update_class(&crossing(i, i % 9, i as i64), (i % 9 == 0).into()));
        sketch
    }

    #[test]
    fn merged_it_is_as_if_one_had_seen_all() {
        let mut parts = fed(0..400);
        parts.merge(&fed(400..1_000)).unwrap();
        assert_eq!(parts, fed(0..1_000));
        parts.reset();
        assert_eq!(parts, Lds::new(params()).unwrap());
        let bytes = parts.cells.capacity() * 16 + parts.bytes.capacity() * 8;
        assert_eq!(parts.state_bytes(), bytes + Lds::fixed_bytes(&parts.params));
        let fixed = |rows| Lds::fixed_bytes(&Params { rates: vec![1.0; rows], ..params() });
        assert_eq!(fixed(2) - fixed(1), 40, "as the module says");
    }

    /// A packet of weight 7 equals 7 packets at the same time, but only one in the digest.
    #[test]
    fn weights_are_copies() {
        for weight in [1, 2, 3, 7, 25, 100, Params::MOST_WEIGHT] {
            let mut expected = Cell::default();
            expected.update(5, Timestamp::from_nanos(1 << 60));
            (1..weight).for_each(|_| expected.update(0, Timestamp::from_nanos(1 << 60)));
            assert_eq!(weighted(5, Timestamp::from_nanos(1 << 60), weight), expected, "{weight}");
        }
    }

    #[test]
    fn a_flow_stays_in_its_cells_and_uses_them_all() {
        let mut sketch = Lds::new(params()).unwrap();
        // The cells of the last flows wrap around the end of their rows.
        for flow in 0..200 {
            sketch.reset();
            (0..300).for_each(|i| sketch.update(&crossing(i, flow, 0)));
            for row in 0..3 {
                let used: Vec<usize> = sketch.row(row).filter(|&cell| sketch.cells[cell] != Cell::default()).collect();
                let mut cells: Vec<usize> = sketch.cells_of(FlowId(hash::finish(flow)), row).collect();
                cells.sort_unstable();
                assert_eq!(used, cells, "flow {flow}, row {row}");
            }
        }
    }

    /// The second row samples a quarter of 100,000 packets, ± 6 standard errors of 137 (2·10⁻⁹). Rows that sample all
    /// must fail.
    #[test]
    fn rows_sample_at_their_rates() {
        let mut sketch = Lds::new(params()).unwrap();
        (0..100_000).for_each(|i| sketch.update(&crossing(i, i % 100, 0)));
        let packets = |row| sketch.row(row).map(|cell| u64::from(sketch.cells[cell].packets())).sum::<u64>();
        assert_eq!((packets(0), packets(2)), (100_000, 100_000));
        let is_quarter = |packets: u64| packets.abs_diff(25_000) < 822;
        assert!(is_quarter(packets(1)) && !is_quarter(packets(0)), "{}", packets(1));
        let bytes: u64 = sketch.row(1).map(|cell| sketch.bytes[cell]).sum();
        assert_eq!(bytes, packets(1) * 100);
    }

    #[test]
    fn strangers_are_named() {
        let other = |change: fn(&mut Params)| {
            let mut params = params();
            change(&mut params);
            Lds::new(params).unwrap()
        };
        let mut sketch = fed(0..10);
        let cases: [(Lds, Foreign); 6] = [
            (other(|p| p.seed = 2), Foreign::Seed { ours: 1, theirs: 2 }),
            (other(|p| p.columns = 51), Foreign::Geometry("columns")),
            (other(|p| p.cells_per_flow = 1), Foreign::Geometry("cells per flow")),
            (other(|p| p.rates = vec![1.0]), Foreign::Geometry("rows or sampling rates")),
            (other(|p| p.weights = vec![1]), Foreign::Geometry("weights")),
            (other(|p| p.has_bytes = false), Foreign::Geometry("sums of bytes")),
        ];
        for (stranger, error) in cases {
            assert_eq!(sketch.merge(&stranger), Err(error));
            assert_eq!(Comparison::new(&sketch, &stranger).err(), Some(error));
        }
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        type Change = fn(&mut Params);
        let cases: [(Change, LdsError); 10] = [
            (|p| p.rates.clear(), LdsError::Rows(0)),
            (|p| p.rates = vec![1.0; 65], LdsError::Rows(65)),
            (|p| p.cells_per_flow = 0, LdsError::Columns { columns: 50, cells_per_flow: 0 }),
            (|p| p.cells_per_flow = 51, LdsError::Columns { columns: 50, cells_per_flow: 51 }),
            (|p| (p.columns, p.cells_per_flow) = (99, 65), LdsError::Columns { columns: 99, cells_per_flow: 65 }),
            (|p| p.columns = u32::MAX, LdsError::Cells(3 * u64::from(u32::MAX))),
            (|p| p.rates[1] = 0.0, LdsError::Rate(0.0)),
            (|p| p.rates[1] = 1e-9, LdsError::Rate(1e-9)),
            (|p| p.weights.clear(), LdsError::Classes(0)),
            (|p| p.weights[0] = 0, LdsError::Weight(0)),
        ];
        for (change, error) in cases {
            let mut params = params();
            change(&mut params);
            assert_eq!(Lds::new(params).err(), Some(error));
        }
    }

    #[test]
    fn bytes_come_back() {
        let sketch = fed(0..1_000);
        let bytes = sketch.to_bytes();
        assert_eq!(Lds::from_bytes(&bytes), Ok(sketch));
        for end in 0..bytes.len() {
            assert!(Lds::from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        for at in (0..bytes.len()).step_by(7) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(Lds::from_bytes(&changed).is_err(), "{at}");
        }
    }

    #[test]
    fn a_budget_is_used_and_kept() {
        for (bytes, lost) in [(1_000, 0.0), (1 << 20, 0.0), (1 << 20, 500.0), (5_000_000, 3.0)] {
            let params = Params::budget(bytes, lost, 1).unwrap();
            let least = if lost > 0.0 { (5.0 / f64::max(lost, 5.0), 5) } else { (1.0, 1) };
            assert_eq!(params.cells_per_flow, least.1);
            assert!((params.rates[3] - least.0).abs() < 1e-12 && params.rates[0] == 1.0, "{params:?}");
            let state = Lds::new(params).unwrap().state_bytes();
            assert!(state <= bytes && state + 64 > bytes, "{state} of {bytes}");
        }
        assert!(matches!(Params::budget(300, 0.0, 1), Err(LdsError::Bytes { given: 300, needed }) if needed > 300));
    }
}
