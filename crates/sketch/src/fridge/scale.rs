use super::EntryProbability;
use crate::codec::{CodecError, MOST_COUNTED, Reader, Writer};
use crate::steps;

/// How the product limit counts insertions: as if *p* were rounded down to a power of two. Exchanges that last for
/// equally many offered requests have equal numbers whenever that power is the same, and otherwise differ by a factor
/// of two per octave. Insertions from before *p* changed count by the *p* of their time.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    now: Unit,
    /// Earlier periods that responses may still look back to, in order.
    before: Vec<Period>,
}

/// The unit of insertions at one *p*, 2^(−step/8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    step: u8,
}

/// A period with another *p* than now.
#[derive(Clone, Copy, Debug)]
struct Period {
    /// Number of insertions up to its end.
    until: u64,
    unit: Unit,
}

/// More changes of *p* than occur during the life of an entry. Beyond that the earliest are merged, with the least *p*.
const MOST_PERIODS: usize = 16;

impl Unit {
    /// *p* counts as the power of two 2^−octave.
    fn octave(self) -> u8 {
        self.step.div_ceil(8)
    }

    /// How many insertions are counted as one.
    fn stretch(self) -> f64 {
        1.0 / EntryProbability::ONE.at_step(8 * self.octave() - self.step)
    }

    /// How much an insertion counts on the scale of another unit.
    fn on(self, other: Self) -> f64 {
        (f64::from(self.octave()) - f64::from(other.octave())).exp2() / self.stretch()
    }
}

impl Scale {
    /// Bytes on the heap.
    pub(super) const BYTES: usize = MOST_PERIODS * size_of::<Period>();

    /// For *p* = 2^(−step/8), unchanged so far.
    pub(super) fn new(step: u8) -> Self {
        Self { now: Unit { step }, before: Vec::with_capacity(MOST_PERIODS) }
    }

    /// How many insertions are counted as one now.
    #[inline]
    pub(super) fn stretch(&self) -> f64 {
        self.now.stretch()
    }

    /// To be called before *p* changes to 2^(−step/8) after this many insertions. Returns by how many octaves numbers
    /// grow; `None` if *p* does not change.
    pub(super) fn change(&mut self, step: u8, inserted: u64) -> Option<i8> {
        let (before, now) = (self.now, Unit { step });
        if before == now {
            return None;
        }
        if self.before.len() == MOST_PERIODS {
            let dropped = self.before.remove(0).unit;
            let earliest = &mut self.before[0].unit;
            if dropped.step > earliest.step {
                *earliest = dropped;
            }
        }
        self.before.push(Period { until: inserted, unit: before });
        self.now = now;
        Some(before.octave() as i8 - now.octave() as i8)
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
        self.before.iter().rev().filter_map(move |&Period { until, unit }| {
            let is_sparser = unit.step > sparsest;
            sparsest = sparsest.max(unit.step);
            let back = inserted.saturating_sub(until) as f64;
            is_sparser.then(|| (self.number(back, inserted), unit.step))
        })
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

    /// Writes the number of earlier periods, and for each the number of insertions up to its end, and its step.
    pub(super) fn write(&self, to: &mut Writer) {
        to.u8(self.before.len() as u8);
        for &Period { until, unit } in &self.before {
            to.u64(until);
            to.u8(unit.step);
        }
    }

    /// Reads what was written of a scale whose present step is this one.
    pub(super) fn read(step: u8, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut scale = Self::new(step);
        for _ in 0..from.u8()? {
            let period = Period { until: from.u64()?, unit: Unit { step: from.u8()? } };
            let is_later = scale.before.last().is_none_or(|last| last.until <= period.until);
            let is_full = scale.before.len() == MOST_PERIODS;
            if !is_later || is_full || period.until > MOST_COUNTED || period.unit.step > steps::LAST {
                return Err(CodecError::Value("changes of the entry probability"));
            }
            scale.before.push(period);
        }
        Ok(scale)
    }
}
