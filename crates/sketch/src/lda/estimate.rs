use super::Lda;
use super::bank::Sampled;
use super::cells::Fields;
use crate::Foreign;
use crate::estimate::{Estimate, Z95};
use crate::moments::{self, Moments};
use dwell_types::Nanos;

/// The combined answer of the sketches of two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneWay {
    /// Packets at the sender.
    pub sent: u64,
    /// Packets at the receiver.
    pub received: u64,
    /// Cells of all banks.
    pub cells: u64,
    /// Cells that hold the same packets at both points, at least one.
    pub usable_cells: u64,
    /// Estimated number of packets that only one point counted, from the cells that differ: those that were lost, and
    /// those that passed the other point in another interval.
    pub apart: f64,
    /// Its variance.
    pub apart_variance: f64,
    /// Whether the receiver counted more packets in some cell than the sender: some were duplicated, or were sent in
    /// another interval. Losses alone do not do that.
    pub has_surplus: bool,
    /// Upper bound on the packets that were sent in this interval and arrived in another: they are not lost. Zero unless
    /// packets are known to be reordered around the borders of intervals ([`crate::summary::Join`]).
    pub elsewhere: f64,
    /// Banks with usable cells that were not used: their counts do not add up, as with many duplicate ids, or their
    /// sums have too few bits for these delays.
    pub unused_banks: u64,
    /// Mean and standard deviation of the delays; `packets` is the effective sample size. `None` with fewer than three
    /// usable cells.
    pub delays: Option<Moments>,
    /// Third central moment of the delays, in cubic nanoseconds; zero where it is unknown.
    pub third_ns3: f64,
    /// Σ (difference of neighbouring rows)² and the number of packets, over pairs of usable rows.
    pub(crate) neighbours: (f64, u64),
}

impl OneWay {
    /// Packets lost; `None` if more were received than sent.
    pub const fn lost(&self) -> Option<u64> {
        self.sent.checked_sub(self.received)
    }

    /// Packets that were received but not sent in this interval: duplicates, or packets of another interval. Each hides one
    /// loss from [`OneWay::lost`]. Half of the packets that only one point counted, beyond the net loss.
    pub fn surplus(&self) -> Estimate<f64> {
        let net = self.sent as f64 - self.received as f64;
        surplus(self.has_surplus, net, self.apart, self.apart_variance)
    }

    /// Share of the packets lost; `None` if none was sent, or more were received than sent.
    pub fn loss(&self) -> Option<f64> {
        let lost = self.lost().filter(|_| self.sent > 0)?;
        Some(lost as f64 / self.sent as f64)
    }

    /// The paper's standard deviation of the delays in nanoseconds, from differences of neighbouring rows as sums with
    /// random signs: √(*F* − *μ*²) [kompella12 eqs. 3, 5]. Zero where *F* is less than *μ*²; `None` without a pair of
    /// usable rows.
    ///
    /// Its error is large where delays deviate little from their mean: 57% for Pareto delays of shape 5.
    pub fn std_by_paper(&self) -> Option<f64> {
        let (squares, packets) = self.neighbours;
        let mean = self.delays.filter(|_| packets > 0)?.mean_ns;
        Some((squares / packets as f64 - mean * mean).max(0.0).sqrt())
    }
}

/// The packets that only the receiver counted, from the difference of both counts and the number of all that only one point
/// counted; zero if no cell shows that there are any.
pub(crate) fn surplus(has_surplus: bool, net: f64, apart: f64, variance: f64) -> Estimate<f64> {
    if !has_surplus {
        return Estimate::exact(0.0);
    }
    // There are at least as many as were received beyond those sent.
    let [value, low, high] = [0.0, -Z95, Z95].map(|z| ((apart + z * variance.sqrt() - net) / 2.0).max(-net).max(0.0));
    Estimate { value, low, high }
}

/// A usable cell.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    /// The sum of its delays, less as many times an expected one: exact, however far the clocks are apart.
    delay_ns: i128,
    /// The number of its packets.
    packets: u64,
}

impl Lda {
    /// Combines this sketch, the receiver's, with the sender's. The offset between the clocks should be about as small
    /// as the delays.
    pub fn since(&self, sender: &Self) -> Result<OneWay, Foreign> {
        self.since_about(sender, Nanos::ZERO)
    }

    /// The same if packets pass the receiver, by its clock, roughly `later` than the sender by the sender's clock:
    /// modular sums are resolved around this delay, and deviations are as exact as those of delays around zero.
    pub fn since_about(&self, sender: &Self, later: Nanos) -> Result<OneWay, Foreign> {
        self.check_same(sender)?;
        let cells: Vec<(Fields, Fields)> = sender.cells.iter().zip(self.cells.iter()).collect();
        let banks = || sender.banks.iter().map(|bank| (bank, &cells[bank.range()]));
        let (apart, apart_variance) = apart(banks());
        let count_bits = self.params.cell.count_bits();
        let mut answer = OneWay {
            sent: sender.packets,
            received: self.packets,
            cells: self.cells.len() as u64,
            usable_cells: 0,
            apart,
            apart_variance,
            has_surplus: banks().any(|(bank, cells)| has_surplus(bank, cells, count_bits)),
            elsewhere: 0.0,
            unused_banks: 0,
            delays: None,
            third_ns3: 0.0,
            neighbours: (0.0, 0),
        };
        let mut used: Vec<Row> = Vec::new();
        // From few packets per cell to many: the sparser banks predict the sums of the denser ones.
        let mut order: Vec<&Sampled> = sender.banks.iter().collect();
        order.sort_by(|a, b| per_row(a).total_cmp(&per_row(b)));
        for bank in order {
            let cells = &cells[bank.range()];
            let sum_bits = self.params.cell.sum_bits();
            let rows = counted(cells, bank, count_bits);
            let expected = mean(used.iter()).unwrap_or(0.0);
            let rows = rows.and_then(|rows| summed(cells, &rows, later, expected, sum_bits));
            let Some(rows) = rows else {
                answer.unused_banks += 1;
                continue;
            };
            add_neighbours(&mut answer.neighbours, &rows, later);
            used.extend(rows.into_iter().flatten());
        }
        answer.usable_cells = used.len() as u64;
        if let Some(delays) = moments_of(&used, self.packets.min(sender.packets)) {
            answer.third_ns3 = third_moment(&used, delays.mean_ns);
            answer.delays = Some(Moments { mean_ns: later.get() as f64 + delays.mean_ns, ..delays });
        }
        Ok(answer)
    }
}

/// Packets per row of a bank.
fn per_row(bank: &Sampled) -> f64 {
    bank.packets as f64 / f64::from(bank.rows)
}

/// Whether a cell holds the same packets at both points.
fn are_alike(sent: &Fields, received: &Fields) -> bool {
    sent.count == received.count && sent.digest == received.digest
}

/// Packets that only one point counted, and the variance of that estimate, from the bank with the smallest one: with *x* of
/// them per row on average, a share of e^−*x* of the *m* rows is alike, and the relative variance is
/// (e^*x* − 1)/(*m* *x*²).
fn apart<'a>(banks: impl Iterator<Item = (&'a Sampled, &'a [(Fields, Fields)])>) -> (f64, f64) {
    let told = banks.filter_map(|(bank, cells)| {
        let rows = f64::from(bank.rows);
        let alike = cells.iter().filter(|(sent, received)| are_alike(sent, received)).count() as f64;
        // If no row is alike, the estimate is only a lower bound: assume half a row.
        let each = -(alike.max(0.5) / rows).ln();
        (each > 0.0).then(|| (each * rows / bank.probability(), each.exp_m1() / (rows * each * each)))
    });
    let best = told.min_by(|a, b| a.1.total_cmp(&b.1));
    best.map_or((0.0, 0.0), |(packets, relative)| (packets, relative * packets * packets))
}

/// Whether the receiver counted more packets in some cell, of which counts of so many bits say how they differ: no cell
/// has so many packets that all of them could be missing and look as if there were more.
fn has_surplus(bank: &Sampled, cells: &[(Fields, Fields)], bits: u32) -> bool {
    let half = 1u64 << (bits - 1);
    let is_more = |(sent, received): &(Fields, Fields)| {
        let more = u64::from(received.count).wrapping_sub(sent.count.into()) & (2 * half - 1);
        (1..half).contains(&more)
    };
    per_row(bank) < half as f64 / 4.0 && cells.iter().any(is_more)
}

/// The number nearest to `expected` that is congruent to `residue` modulo 2^`bits`.
fn nearest(residue: i128, bits: u32, expected: f64) -> i128 {
    let modulus = 1i128 << bits;
    let turns = ((expected - residue as f64) / modulus as f64).round() as i128;
    residue.saturating_add(turns.saturating_mul(modulus))
}

/// The sender's packets per row; zero for rows that are not usable. `None` if they do not sum up to the bank's total.
fn counted(cells: &[(Fields, Fields)], bank: &Sampled, bits: u32) -> Option<Vec<u64>> {
    let expected = per_row(bank);
    let mut total = 0;
    let mut rows = Vec::with_capacity(cells.len());
    for (sent, received) in cells {
        let packets = u64::try_from(nearest(sent.count.into(), bits, expected)).ok()?;
        total += u128::from(packets);
        rows.push(if are_alike(sent, received) { packets } else { 0 });
    }
    (total == u128::from(bank.packets)).then_some(rows)
}

/// Sums that agree no better than random ones would with this probability are not taken for delays.
const CHANCE: f64 = 1e-3;

/// The usable rows of a bank, whose sums have `bits` bits. Delays are relative to `later`, around `expected`. `None` if
/// they vary too much for that.
fn summed(
    cells: &[(Fields, Fields)],
    packets: &[u64],
    later: Nanos,
    expected: f64,
    bits: u32,
) -> Option<Vec<Option<Row>>> {
    let row = |(&(sent, received), &packets): (&(Fields, Fields), &u64)| {
        let sum = i128::from(received.sum) - i128::from(sent.sum);
        let residue = sum.wrapping_sub(times(packets, later)).rem_euclid(1 << bits);
        let delay_ns = nearest(residue, bits, packets as f64 * expected);
        (packets > 0).then_some(Row { delay_ns, packets })
    };
    let rows: Vec<Option<Row>> = cells.iter().zip(packets).map(row).collect();
    let usable: Vec<Row> = rows.iter().flatten().copied().collect();
    let range = (1i128 << bits) as f64;
    let square = |mean: f64| -> f64 {
        usable.iter().map(|row| ((row.delay_ns as f64 - row.packets as f64 * mean) / range).powi(2)).sum()
    };
    let own = square(mean(usable.iter()).unwrap_or(0.0));
    // Sums spread uniformly over the whole range have a variance of 1/12.
    let are_narrow = own <= usable.len() as f64 / 64.0;
    // Few of them may be near each other, or near what is expected, by chance: the volume of such points in a cube.
    let number = usable.len() as u32;
    let near_each_other = || f64::from(number).sqrt() * ball(number - 1, own);
    let near_expected = || ball(number, square(expected));
    let is_no_chance = number == 0 || near_each_other().min(near_expected()) <= CHANCE;
    (are_narrow && is_no_chance).then_some(rows)
}

/// So many times this delay.
fn times(packets: u64, delay: Nanos) -> i128 {
    i128::from(packets) * i128::from(delay.get())
}

/// The volume of a ball of so many dimensions with this squared radius.
fn ball(dimensions: u32, square: f64) -> f64 {
    let two_more = |dimensions: u32| std::f64::consts::TAU * square / f64::from(dimensions);
    let (first, volume) = if dimensions.is_multiple_of(2) { (2, 1.0) } else { (3, 2.0 * square.sqrt()) };
    (first..=dimensions).step_by(2).map(two_more).fold(volume, |volume, factor| volume * factor)
}

/// The third central moment. That of a sum of *n* delays is *n* times that of one, and the standard deviation of its
/// cube grows as *n*^1.5, so rows are weighted by 1/*n*².
fn third_moment(rows: &[Row], mean_ns: f64) -> f64 {
    let (cubes, weight) = rows.iter().fold((0.0, 0.0), |(cubes, weight), row| {
        let packets = row.packets as f64;
        (cubes + (row.delay_ns as f64 - packets * mean_ns).powi(3) / (packets * packets), weight + packets.recip())
    });
    cubes / weight
}

/// Mean delay in nanoseconds; `None` without rows.
fn mean<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<f64> {
    let (delay, packets) =
        rows.fold((0i128, 0u64), |(d, n), row| (d.saturating_add(row.delay_ns), n.saturating_add(row.packets)));
    (packets > 0).then(|| delay as f64 / packets as f64)
}

/// Combines rows 2*i* and 2*i* + 1, whose delays are relative to `later` [kompella12 §III-E].
fn add_neighbours(neighbours: &mut (f64, u64), rows: &[Option<Row>], later: Nanos) {
    let sum = |row: &Row| row.delay_ns.saturating_add(times(row.packets, later)) as f64;
    for pair in rows.chunks_exact(2) {
        if let [Some(even), Some(odd)] = pair {
            neighbours.0 += (sum(odd) - sum(even)).powi(2);
            neighbours.1 = neighbours.1.saturating_add(even.packets).saturating_add(odd.packets);
        }
    }
}

/// The estimate from all usable rows, with the standard deviation from the spread between them.
fn moments_of(rows: &[Row], population: u64) -> Option<Moments> {
    // A stranger's sketch may claim to have no packets, but have them in its cells.
    if rows.len() < 3 || population == 0 {
        return None;
    }
    let mean_ns = mean(rows.iter())?;
    let square = |row: &Row| {
        let packets = row.packets as f64;
        (row.delay_ns as f64 - packets * mean_ns).powi(2) / packets
    };
    let (variance, log_std_error) = moments::variance(rows.iter().map(square), rows.len() as f64);
    Some(Moments {
        packets: rows.iter().fold(0, |packets, row| packets.saturating_add(row.packets)),
        population,
        mean_ns,
        std_ns: variance.sqrt(),
        log_std_error,
        freedom: rows.len() as u64 - 1,
    })
}
