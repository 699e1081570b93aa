use super::EntryProbability;
use crate::codec::{CodecError, MOST_COUNTED, Reader, Writer};
use crate::parts::steps;
use dwell_types::Timestamp;

/// How the product limit counts insertions: as if *p* were a power of two that is not greater. Exchanges that last for
/// equally many offered requests have equal numbers whenever that power is the same, and otherwise differ by a factor
/// of two per octave. Insertions from before *p* changed count by the *p* of their time.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    now: Unit,
    /// Earlier periods that responses may still look back to, in order.
    before: Vec<Period>,
}

/// The unit of insertions at one *p*, 2^(−step/8): *p* counts as 2^−octave, which is at most *p*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    step: u8,
    octave: u8,
}

/// A period with another *p* than now.
#[derive(Clone, Copy, Debug)]
struct Period {
    /// Number of insertions up to its end.
    until: u64,
    /// When it ended.
    ended: Tick,
    unit: Unit,
}

/// A time in units of 2¹⁶ ns (66 µs) that wraps after 78 h: in the bytes that a [`Period`] has anyway.
#[derive(Clone, Copy, Debug)]
struct Tick(u32);

impl Tick {
    fn of(at: Timestamp) -> Self {
        Self((at.as_nanos() >> 16) as u32)
    }

    fn is_after(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0).cast_signed() > 0
    }
}

/// More changes of *p* than occur during the life of an entry. Beyond that the earliest are merged, with the least *p*.
const MOST_PERIODS: usize = 16;

impl Unit {
    /// The greatest unit at this *p*.
    fn at(step: u8) -> Self {
        Self { step, octave: step.div_ceil(8) }
    }

    /// Reads the octave of a unit at this *p*.
    fn read(step: u8, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let unit = Self { step, octave: from.u8()? };
        let is_valid = step <= steps::LAST && (Self::at(step).octave..=steps::LAST / 8).contains(&unit.octave);
        is_valid.then_some(unit).ok_or(CodecError::Value("scale"))
    }

    /// How many insertions are counted as one.
    fn stretch(self) -> f64 {
        1.0 / EntryProbability::ONE.at_step(8 * self.octave - self.step)
    }

    /// How much an insertion counts on the scale of another unit.
    fn on(self, other: Self) -> f64 {
        (f64::from(self.octave) - f64::from(other.octave)).exp2() / self.stretch()
    }
}

impl Scale {
    /// Bytes on the heap.
    pub(super) const BYTES: usize = MOST_PERIODS * size_of::<Period>();

    /// For *p* = 2^(−step/8), unchanged so far.
    pub(super) fn new(step: u8) -> Self {
        Self { now: Unit::at(step), before: Vec::with_capacity(MOST_PERIODS) }
    }

    /// How many insertions are counted as one now.
    #[inline]
    pub(super) fn stretch(&self) -> f64 {
        self.now.stretch()
    }

    /// The present *p* as 2^(−step/8).
    pub(super) fn step(&self) -> u8 {
        self.now.step
    }

    /// By how many octaves numbers may grow if *p* changes to 2^(−step/8); negative if they must shrink.
    pub(super) fn room(&self, step: u8) -> i8 {
        self.now.octave as i8 - Unit::at(step).octave as i8
    }

    /// To be called before *p* changes to 2^(−step/8) at this time, after this many insertions, and numbers grow by so many
    /// octaves, at most as many as there is room for.
    pub(super) fn change(&mut self, step: u8, grown: i8, at: Timestamp, inserted: u64) {
        let (before, now) = (self.now, Unit { step, octave: self.now.octave.saturating_add_signed(-grown) });
        if self.before.len() == MOST_PERIODS {
            let dropped = self.before.remove(0).unit;
            let earliest = &mut self.before[0].unit;
            if dropped.step > earliest.step {
                *earliest = dropped;
            }
        }
        self.before.push(Period { until: inserted, ended: Tick::of(at), unit: before });
        self.now = now;
    }

    /// Whether *p* changed within the last `insertions`; if not, earlier periods no longer matter.
    #[inline]
    pub(super) fn has_changed_within(&mut self, insertions: f64, inserted: u64) -> bool {
        let Some(last) = self.before.last() else { return false };
        let is_within = (inserted.saturating_sub(last.until) as f64) < insertions;
        if !is_within {
            self.before.clear();
        }
        is_within
    }

    /// The present period and those before, as seen after this many insertions: how many insertions back each reaches,
    /// and how much one of them counts.
    fn back(&self, inserted: u64) -> impl Iterator<Item = (f64, f64)> {
        let periods = || self.before.iter().rev();
        let ends = periods().map(move |period| inserted.saturating_sub(period.until) as f64);
        let units = [self.now].into_iter().chain(periods().map(|period| period.unit));
        ends.chain([f64::INFINITY]).zip(units.map(|unit| unit.on(self.now)))
    }

    /// The numbers beyond which *p* was less than at all times since, and its step there.
    pub(super) fn sparser(&self, inserted: u64) -> impl Iterator<Item = (f64, u8)> {
        let mut sparsest = self.now.step;
        self.before.iter().rev().filter_map(move |&Period { until, unit, .. }| {
            let is_sparser = unit.step > sparsest;
            sparsest = sparsest.max(unit.step);
            let back = inserted.saturating_sub(until) as f64;
            is_sparser.then(|| (self.number(back, inserted), unit.step))
        })
    }

    /// The step of *p* at a time, as far as is remembered. Not by insertions: how many came since a request is known by
    /// interpolation only, which is wrong where their rate changes with *p*.
    pub(super) fn step_at(&self, at: Timestamp) -> u8 {
        let later = self.before.iter().rev().take_while(|period| period.ended.is_after(Tick::of(at)));
        later.last().map_or(self.now.step, |period| period.unit.step)
    }

    /// The number on the scale for the last `insertions` of all that were `inserted`.
    pub(super) fn number(&self, insertions: f64, inserted: u64) -> f64 {
        let (mut number, mut from) = (0.0, 0.0);
        for (to, each) in self.back(inserted) {
            number += (insertions.min(to) - from).max(0.0) * each;
            from = to;
        }
        number
    }

    /// How many insertions correspond to this number.
    pub(super) fn insertions(&self, number: f64, inserted: u64) -> f64 {
        let (mut before, mut from) = (0.0, 0.0);
        for (to, each) in self.back(inserted) {
            let up_to = before + (to - from) * each;
            if number <= up_to {
                return from + (number - before) / each;
            }
            (before, from) = (up_to, to);
        }
        from
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.before.capacity() * size_of::<Period>()
    }

    /// Writes the present octave and the number of earlier periods, and for each the number of insertions up to its end,
    /// when that was, its step and octave.
    pub(super) fn write(&self, to: &mut Writer) {
        to.u8(self.now.octave);
        to.u8(self.before.len() as u8);
        for &Period { until, ended, unit } in &self.before {
            to.u64(until);
            to.u32(ended.0);
            to.u8(unit.step);
            to.u8(unit.octave);
        }
    }

    /// Reads what was written of a scale whose present step is this one.
    pub(super) fn read(step: u8, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut scale = Self::new(step);
        scale.now = Unit::read(step, from)?;
        for _ in 0..from.u8()? {
            let (until, ended, step) = (from.u64()?, Tick(from.u32()?), from.u8()?);
            let period = Period { until, ended, unit: Unit::read(step, from)? };
            let is_later = scale.before.last().is_none_or(|last| last.until <= period.until);
            let is_full = scale.before.len() == MOST_PERIODS;
            if !is_later || is_full || period.until > MOST_COUNTED {
                return Err(CodecError::Value("changes of the entry probability"));
            }
            scale.before.push(period);
        }
        Ok(scale)
    }
}
