use crate::parts::filters::{best_hashes, places};
use dwell_types::{ExchangeId, Timestamp, hash};

/// A ring of *b* Bloom filters, one per time slot, bit-sliced: the filters share their hash functions, and row *i* of
/// the memory holds bit *i* of every filter, side by side. A query reads *k* rows and combines them by "and", which
/// leaves the set of filters that match.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// `shape.rows` rows of `shape.stride` bits; the last word may be used in part.
    words: Box<[u64]>,
    /// Summary of the bits set in each group of [`STRETCH`] rows of words, one row per group: a reset skips the groups
    /// without bits of a filter. Empty if a reset of everything is fast enough.
    stretches: Vec<u64>,
    shape: Shape,
    /// *k*, 1 to 64.
    hashes: u32,
    /// Start of the seeded hash of ids.
    start: u64,
    /// Δ in nanoseconds, at least 1.
    width: i64,
    /// The present slot covers `begin..end` nanoseconds.
    slot: i64,
    begin: i64,
    end: i64,
    /// The position of the present slot's filter in a row. Columns count down as time passes, so that the column of a
    /// filter grows with its age.
    column: u32,
    /// Number of bits set in each column.
    ones: Box<[u32]>,
    /// The row that results from a query.
    matching: Box<[u64]>,
}

/// The memory layout of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// *b*.
    pub(super) filters: u32,
    /// *n*: bits of each filter.
    pub(super) rows: u32,
    /// Bits from one row to the next: *b*, rounded up to a power of two below 64 and to a multiple of 64 above, so that
    /// no row straddles words.
    stride: usize,
}

/// Rows of words summarised in one.
const STRETCH: usize = 64;
/// Rings with at least this many words have a summary: a scan of all takes as long as some hundred ids.
const LEAST_SUMMED_UP: usize = 1 << 15;

impl Shape {
    /// The layout for this many bits; `None` if there is no room for a row, or if there are more than 2³² − 1.
    pub(super) fn new(bits: u64, filters: u32) -> Option<Self> {
        let stride = stride(filters);
        let rows = u32::try_from(bits / stride as u64).ok().filter(|&rows| rows > 0)?;
        Some(Self { filters, rows, stride })
    }

    /// The most bits per filter for this many filters and bytes, which include the summary.
    pub(super) fn most_rows(bytes: usize, filters: u32) -> u32 {
        let stride = stride(filters);
        let rows = |bits: usize| u32::try_from(bits / stride).unwrap_or(u32::MAX);
        let shape = Self { filters, rows: rows(bytes * 8), stride };
        let line = 64 * shape.row_words();
        let lines = bytes * 8 / line;
        if shape.stretch_words() == 0 { shape.rows } else { rows((lines - lines.div_ceil(STRETCH + 1)) * line) }
    }

    /// Bytes in which so many bits per filter fit.
    pub(super) fn bytes_for(rows: u32, filters: u32) -> usize {
        let shape = Self { filters, rows, stride: stride(filters) };
        let words = shape.words();
        if words < LEAST_SUMMED_UP {
            return words * size_of::<u64>();
        }
        let lines = words.div_ceil(shape.row_words());
        (lines + lines.div_ceil(STRETCH) + 1) * shape.row_words() * size_of::<u64>()
    }

    /// Bits of all filters with so many bits each.
    pub(super) fn bits(rows: u32, filters: u32) -> u64 {
        u64::from(rows) * stride(filters) as u64
    }

    /// Words that a row spans.
    fn row_words(self) -> usize {
        self.stride.div_ceil(64)
    }

    fn words(self) -> usize {
        (self.rows as usize * self.stride).div_ceil(64)
    }

    /// Words of the summary.
    fn stretch_words(self) -> usize {
        let is_large = self.words() >= LEAST_SUMMED_UP;
        if is_large { self.words().div_ceil(self.row_words() * STRETCH) * self.row_words() } else { 0 }
    }

    /// *k* for *m* ids per filter.
    pub(super) fn hashes(self, load: f64) -> u32 {
        best_hashes(self.rows, load)
    }
}

/// Bits from one row of this many filters to the next.
fn stride(filters: u32) -> usize {
    (if filters < 64 { filters.next_power_of_two() } else { filters.next_multiple_of(64) }) as usize
}

impl Ring {
    /// An empty ring whose slots last `width` nanoseconds.
    pub(super) fn new(shape: Shape, hashes: u32, width: i64, seed: u64) -> Self {
        Self {
            words: vec![0; shape.words()].into(),
            stretches: vec![0; shape.stretch_words()],
            shape,
            hashes,
            start: hash::start(seed),
            width,
            slot: i64::MIN,
            begin: i64::MIN,
            end: i64::MIN,
            column: 0,
            ones: vec![0; shape.filters as usize].into(),
            matching: vec![0; shape.row_words()].into(),
        }
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// *k*.
    pub(super) fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Δ in nanoseconds.
    pub(super) fn width(&self) -> i64 {
        self.width
    }

    /// The number of turns of the ring at the present slot, counted from slot 0 at time zero.
    pub(super) fn turn(&self) -> i64 {
        self.slot.div_euclid(i64::from(self.shape.filters))
    }

    /// Slots of the present turn before the present one.
    pub(super) fn slots_into_turn(&self) -> u32 {
        self.shape.filters - 1 - self.column
    }

    /// Nanoseconds from the beginning of the present slot, `0..Δ`. A time that went backwards counts as the beginning.
    #[inline]
    pub(super) fn elapsed(&self, at: Timestamp) -> i64 {
        at.as_nanos().saturating_sub(self.begin).clamp(0, self.width - 1)
    }

    /// Moves on to a moment; returns whether that began another slot. A filter is reset before it is filled again: it
    /// is filled for Δ, then frozen for T − Δ = *t*_max.
    #[inline]
    pub(super) fn advance(&mut self, at: Timestamp) -> bool {
        if at.as_nanos() < self.end {
            return false;
        }
        self.turn_to(at.as_nanos().div_euclid(self.width));
        true
    }

    #[cold]
    fn turn_to(&mut self, slot: i64) {
        let filters = i64::from(self.shape.filters);
        let before = std::mem::replace(&mut self.slot, slot).max(slot.saturating_sub(filters));
        self.begin = slot.saturating_mul(self.width);
        self.end = self.begin.saturating_add(self.width);
        self.matching.fill(0);
        for slot in before..slot {
            let column = self.column_of(slot + 1);
            if std::mem::take(&mut self.ones[column as usize]) > 0 {
                self.matching[column as usize / 64] |= 1 << (column % 64);
            }
        }
        self.column = self.column_of(slot);
        self.clear_columns();
    }

    /// Resets the filters whose bits are set in `matching`: one bit in every row for each.
    fn clear_columns(&mut self) {
        let row_words = self.matching.len();
        for (word, &columns) in self.matching.iter().enumerate().filter(|(_, columns)| **columns != 0) {
            let reset = (0..64).step_by(self.shape.stride).fold(0, |bits, row| bits | columns << row);
            let clear =
                |words: &mut [u64]| words.iter_mut().skip(word).step_by(row_words).for_each(|word| *word &= !reset);
            if self.stretches.is_empty() {
                clear(&mut self.words);
                continue;
            }
            let stretches = self.stretches.iter_mut().skip(word).step_by(row_words);
            for (words, held) in self.words.chunks_mut(row_words * STRETCH).zip(stretches) {
                if *held & reset != 0 {
                    *held &= !reset;
                    clear(words);
                }
            }
        }
    }

    /// The *k* rows of an id.
    #[inline]
    fn rows(&self, id: ExchangeId) -> impl Iterator<Item = usize> + use<> {
        places(hash::word(self.start, id.0), self.shape.rows, self.hashes)
    }

    /// Inserts an id into the filter of the present slot.
    #[inline]
    pub(super) fn insert(&mut self, id: ExchangeId) {
        let column = self.column as usize;
        let stride = self.shape.stride;
        let rows = self.rows(id);
        let words = &mut *self.words;
        let set = if stride < 64 {
            rows.map(|row| row * stride + column).map(|at| put(&mut words[at / 64], 1 << (at % 64))).sum()
        } else {
            let (row_words, lane, bit) = (stride / 64, column / 64, 1 << (column % 64));
            rows.map(|row| put(&mut words[row * row_words + lane], bit)).sum::<u32>()
        };
        self.ones[column] += set;
        if !self.stretches.is_empty() {
            self.sum_up(id);
        }
    }

    /// Sets an id's bits in the summary.
    #[inline(never)]
    fn sum_up(&mut self, id: ExchangeId) {
        let column = self.column as usize;
        let (stride, row_words) = (self.shape.stride, self.matching.len());
        for row in self.rows(id) {
            let line = row * stride.min(64) / 64;
            self.stretches[line / STRETCH * row_words + column / 64] |= 1 << ((row * stride + column) % 64);
        }
    }

    /// Ages of all filters that match an id, in slots, ascending; age 0 is the present slot.
    #[inline]
    pub(super) fn find(&mut self, id: ExchangeId, ages: &mut Vec<u32>) {
        ages.clear();
        let (filters, column) = (self.shape.filters, self.column);
        let stride = self.shape.stride;
        if stride <= 64 {
            let all = u64::MAX >> (64 - filters);
            let words = &*self.words;
            let row = if stride == 64 {
                self.rows(id).fold(all, |left, row| left & words[row])
            } else {
                self.rows(id).fold(all, |left, row| left & words[row * stride / 64] >> (row * stride % 64))
            };
            push_ones(row >> column, 0, ages);
            push_ones(row & !(u64::MAX << column), filters - column, ages);
            return;
        }
        self.matching.fill(u64::MAX);
        for row in self.rows(id) {
            let words = &self.words[row * self.matching.len()..][..self.matching.len()];
            self.matching.iter_mut().zip(words).for_each(|(left, word)| *left &= word);
        }
        for (base, &row) in (0..).step_by(64).zip(&self.matching) {
            push_ones(row, base, ages);
        }
        let older = ages.partition_point(|&at| at < column);
        ages.iter_mut().for_each(|at| *at = if *at < column { *at + filters - column } else { *at - column });
        ages.rotate_left(older);
    }

    /// The probability that the filter of an age matches an id that is not in it, at its present load: the share of set
    /// bits to the power *k* [porcino23 eq. 4.1].
    #[inline]
    pub(super) fn false_positive(&self, age: u32) -> f64 {
        self.occupancy(age).powi(self.hashes as i32)
    }

    /// The share of set bits in the filter of an age, which must be less than the number of filters.
    #[inline]
    pub(super) fn occupancy(&self, age: u32) -> f64 {
        self.share_set((self.column + age) % self.shape.filters)
    }

    /// The same for the filter that was or will be filled in a slot.
    pub(super) fn occupancy_of_slot(&self, slot: i64) -> f64 {
        self.share_set(self.column_of(slot))
    }

    #[inline]
    fn share_set(&self, column: u32) -> f64 {
        f64::from(self.ones[column as usize]) / f64::from(self.shape.rows)
    }

    /// The column of the filter of a slot.
    fn column_of(&self, slot: i64) -> u32 {
        let filters = i64::from(self.shape.filters);
        (filters - 1 - slot.rem_euclid(filters)) as u32
    }

    /// Bytes of the filters and of the counts.
    pub(super) fn state_bytes(&self) -> usize {
        (self.words.len() + self.stretches.len() + self.matching.len()) * size_of::<u64>()
            + self.ones.len() * size_of::<u32>()
    }
}

/// Sets one bit; returns 1 if it was clear.
#[inline]
fn put(word: &mut u64, bit: u64) -> u32 {
    let was_clear = *word & bit == 0;
    *word |= bit;
    u32::from(was_clear)
}

/// Appends the positions of the set bits, plus a base, ascending.
#[inline]
fn push_ones(mut word: u64, base: u32, places: &mut Vec<u32>) {
    while word != 0 {
        places.push(base + word.trailing_zeros());
        word &= word - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::filters::{MOST_HASHES, false_positive_probability};
    use dwell_simulate::Distribution;
    use dwell_simulate::exchange::{End, ExchangeWorkload, Settings};
    use dwell_types::{Nanos, Observation};

    const WIDTH: i64 = 10;

    fn ring(bits: u64, filters: u32) -> Ring {
        let shape = Shape::new(bits, filters).unwrap();
        Ring::new(shape, shape.hashes(20.0), WIDTH, 1)
    }

    fn at(ns: i64) -> Timestamp {
        Timestamp::from_nanos(ns)
    }

    fn find(ring: &mut Ring, id: u64) -> Vec<u32> {
        let mut ages = vec![77];
        ring.find(ExchangeId(id), &mut ages);
        ages
    }

    /// The ring equals separate Bloom filters, one per slot, each a list of its rows.
    #[test]
    fn the_ring_is_as_many_separate_filters() {
        for filters in [2, 3, 5, 8, 33, 63, 64, 65, 100, 128, 192] {
            let mut ring = ring(u64::from(filters) * 90, filters);
            let mut separate: Vec<Vec<usize>> = Vec::new();
            for id in 0..3_000u64 {
                let now = id as i64;
                ring.advance(at(now));
                ring.insert(ExchangeId(id));
                separate.resize_with((now / WIDTH) as usize + 1, Vec::new);
                separate.last_mut().unwrap().extend(ring.rows(ExchangeId(id)));
                let asked = if id % 3 == 0 { id | 1 << 40 } else { id - (id * 7) % (id + 1).min(400) };
                let rows: Vec<usize> = ring.rows(ExchangeId(asked)).collect();
                let matches = |slot: &Vec<usize>| rows.iter().all(|row| slot.contains(row));
                let recent = separate.iter().rev().take(filters as usize);
                let ages: Vec<u32> = (0..).zip(recent).filter(|(_, slot)| matches(slot)).map(|(age, _)| age).collect();
                assert_eq!(find(&mut ring, asked), ages, "{filters} filters, id {id} asks for {asked}");
                let mut ones = separate.last().unwrap().clone();
                ones.sort_unstable();
                ones.dedup();
                assert_eq!(ring.ones[ring.column as usize] as usize, ones.len());
            }
        }
    }

    /// A request is found for *t*_max, whatever the phase; and no longer than T.
    #[test]
    fn a_request_is_found_for_as_long_as_promised() {
        let longest = 4 * WIDTH;
        for phase in -25..25 {
            for delay in 0..=longest + WIDTH {
                let mut ring = ring(1 << 20, 5);
                ring.advance(at(phase));
                ring.insert(ExchangeId(9));
                ring.advance(at(phase + delay));
                let ages = find(&mut ring, 9);
                assert!(ages.len() <= 1 && (delay > longest || ages.len() == 1), "{phase} + {delay}");
                if let [age] = ages[..] {
                    let latest = ring.elapsed(at(phase + delay)) + i64::from(age) * WIDTH;
                    assert!((latest - WIDTH..=latest).contains(&delay));
                }
            }
        }
    }

    #[test]
    fn time_may_jump_and_go_backwards() {
        let mut ring = ring(1 << 16, 64);
        let moments = [0, -1, 500, 499, -1_000, i64::MAX, i64::MIN, 0, i64::MAX - 1];
        for (id, now) in (0..).zip(moments) {
            ring.advance(at(now));
            ring.insert(ExchangeId(id));
            assert!(find(&mut ring, id).contains(&0));
            assert!((0..WIDTH).contains(&ring.elapsed(at(now))));
        }
        assert_eq!(find(&mut ring, 4), [], "far in the past");
        assert!(find(&mut ring, 5).contains(&0), "time did not go back from the end of all time");
    }

    /// With few or many ids per filter, and few or all slots reset at a time, no bit of a reset filter remains, and all
    /// bits of the others do.
    #[test]
    fn resetting_leaves_no_bit_behind() {
        for (filters, rows) in [(3u32, 500), (32, 500), (64, 500), (200, 500), (3, 600_000), (64, 32_768), (200, 8_300)]
        {
            let mut ring = ring(u64::from(filters.next_power_of_two()) * rows, filters);
            assert_eq!(ring.stretches.is_empty(), rows == 500);
            let mut slots: Vec<(i64, Vec<usize>)> = Vec::new();
            let mut slot = -2_000;
            for round in 0..3_000u64 {
                let random = hash::finish(round);
                let steps = [0, 0, 1, 1, 1, 2, 7, 40, 300, 1_000][(random % 10) as usize];
                slot += steps;
                ring.advance(at(slot * WIDTH));
                slots.retain(|&(then, _)| slot - then < i64::from(filters));
                let ids = [0, 1, 1, 1, 2, 3, 15, 16, 17, 30][(random >> 8) as usize % 10];
                for id in (0..ids).map(|id| ExchangeId(random ^ id)) {
                    slots.push((slot, ring.rows(id).collect()));
                    ring.insert(id);
                }
                let stride = ring.shape.stride;
                let mut bits: Vec<usize> = Vec::new();
                for (then, rows) in &slots {
                    bits.extend(rows.iter().map(|row| row * stride + ring.column_of(*then) as usize));
                }
                bits.sort_unstable();
                bits.dedup();
                let set = ring.words.iter().map(|word| word.count_ones() as usize).sum::<usize>();
                assert_eq!(set, bits.len(), "{filters} filters, round {round}");
                assert!(bits.iter().all(|bit| ring.words[bit / 64] >> (bit % 64) & 1 == 1));
                assert_eq!(ring.ones.iter().sum::<u32>() as usize, set);
            }
        }
    }

    /// Each of 20,000 moments is some slots or turns after the one before: scanning all of 8 MiB each time would take a
    /// minute.
    #[test]
    fn filters_that_hold_little_are_reset_quickly() {
        for period in [1, 100] {
            let mut ring = ring(1 << 26, 256);
            let begin = std::time::Instant::now();
            for (id, steps) in (0..20_000).zip([1, 100, 255, 256, 100_000].into_iter().cycle()) {
                ring.advance(at((ring.slot.max(0) + steps) * WIDTH));
                if id % period == 0 {
                    ring.insert(ExchangeId(id));
                }
            }
            assert!(begin.elapsed().as_secs() < 10, "an id in every {period}");
        }
    }

    #[test]
    fn impossible_shapes_are_refused() {
        assert_eq!(Shape::new(63, 64), None);
        assert_eq!(Shape::new(u64::MAX, 64), None);
        assert_eq!(Shape::new(100, 3).map(|shape| shape.rows), Some(25), "three of four bits are used");
        let shape = Shape::new(1 << 17, 128).unwrap();
        assert_eq!((shape.rows, shape.words(), shape.hashes(78.74)), (1024, 2048, 9));
        assert_eq!((shape.hashes(1e9), shape.hashes(1e-9)), (1, MOST_HASHES));
    }

    /// Fills a ring with 1,000 requests per second for 100 s, *t*_max 10 s; after each slot but those of the first
    /// turn, evaluates `look`. Returns the mean.
    fn mean_over_slots(bits: u64, filters: u32, seeds: u64, look: impl Fn(&mut Ring, u64) -> f64) -> f64 {
        let width = 10_000_000_000 / i64::from(filters - 1);
        let end = End::After(Nanos::from_secs(100));
        let settings = Settings { answered: 0.0, ..Settings::poisson(1e3, Distribution::Constant(Nanos::ZERO), end) };
        let (mut sum, mut slots) = (0.0, 0);
        for seed in 0..seeds {
            let shape = Shape::new(bits, filters).unwrap();
            let mut ring = Ring::new(shape, shape.hashes(1e3 * width as f64 / 1e9), width, seed);
            for seen in ExchangeWorkload::new(&settings, seed).unwrap() {
                let Observation::Request(request) = seen else { continue };
                if ring.advance(request.at) && ring.turn() > 0 {
                    sum += look(&mut ring, slots);
                    slots += 1;
                }
                ring.insert(request.id);
            }
        }
        sum / slots as f64
    }

    /// 127 frozen filters, 10 foreign ids after each of 4,600 slots: 13,600 false matches, whose number has a standard
    /// error of 1.0% since loads differ (relative deviation of a filter's chance .75; 4,600 filters) and .9% by chance:
    /// ±8.2% is six of both, exceeded by chance in 2·10⁻⁹ of the choices of seeds. With 200 ids and twice the bits
    /// 1,200, 3% by chance and 3% by loads: ±26% is six. The textbook's formula, which assumes the same load in all
    /// filters, must fail.
    #[test]
    fn foreign_ids_match_as_often_as_the_mixture_says() {
        for (bits, hashes, ids, tolerance) in [(1 << 17, 9, 10, 0.082), (1 << 18, 18, 200, 0.26)] {
            let per_filter = mean_over_slots(bits, 128, 4, |ring, slot| {
                let foreign = (0..ids).map(|i| hash::finish(u64::MAX - slot * ids - i));
                let found: usize = foreign.map(|id| find(ring, id).iter().filter(|&&age| age > 0).count()).sum();
                found as f64 / (127 * ids) as f64
            });
            let expected = false_positive_probability((bits / 128) as u32, hashes, 1e4 / 127.0);
            let is_near = |expected: f64| (per_filter / expected - 1.0).abs() < tolerance;
            assert!(is_near(expected), "{bits} bits: {per_filter}, expected {expected}");
            let steady = (1.0 - (-f64::from(hashes) * 1e4 / 127.0 * 128.0 / bits as f64).exp()).powi(hashes as i32);
            assert!(!is_near(steady), "{bits} bits: {per_filter}, steady {steady}");
        }
    }

    /// The same by the share of set bits, which also works where no foreign id would ever match. A filter's probability
    /// has a relative deviation of .25 with 2 functions (1,120 filters), .75 with 9 (4,600), and 6 with 36 (184,000):
    /// standard errors of .7%, 1.1% and 1.4%; the tolerance is six of them. Counting one bit per request must fail.
    #[test]
    fn set_bits_are_as_the_mixture_says() {
        for (bits, filters, hashes, seeds) in [(1 << 15, 32, 2, 4), (1 << 17, 128, 9, 4), (1 << 19, 512, 36, 40)] {
            let found = mean_over_slots(bits, filters, seeds, |ring, _| {
                assert_eq!(ring.hashes(), hashes);
                ring.false_positive(1)
            });
            let load = 1e4 / f64::from(filters - 1);
            let expected = |load: f64| false_positive_probability((bits / u64::from(filters)) as u32, hashes, load);
            let is_near = |expected: f64| (found / expected - 1.0).abs() < 0.085;
            assert!(is_near(expected(load)), "{filters} filters: {found}, expected {}", expected(load));
            assert!(!is_near(expected(load / f64::from(hashes))), "{filters} filters: {found}");
        }
    }
}
