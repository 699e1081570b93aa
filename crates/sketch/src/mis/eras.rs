//! Fridges that change: what they were when an entry entered, and what may have overwritten it since.

use super::Ladder;
use crate::parts::array::Places;
use dwell_types::{ExchangeId, hash};

/// The fridges between two changes, side by side in one array.
#[derive(Clone, Debug)]
pub(super) struct Era {
    ladder: Ladder,
    /// One per fridge; unused ones receive nothing.
    parts: [Part; Ladder::MOST_RUNGS],
    /// Requests inserted before it; wraps.
    first: u32,
}

/// The slots of one fridge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Takes hashes up to this that no earlier fridge takes.
    threshold: u32,
    places: Places,
}

/// The present fridges, and earlier ones of which entries may be left.
#[derive(Clone, Debug)]
pub(super) struct Eras {
    present: Era,
    /// Earlier eras, in order.
    earlier: Vec<Era>,
    fingerprint_bits: u32,
    seed: u64,
    /// Odd; the upper half of an id's product with it selects the fridge.
    factor: u64,
}

/// Where the entry of an id is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The slot, in the common array.
    pub(super) at: usize,
    pub(super) fingerprint: u32,
}

/// How many earlier eras are kept at most. Older entries count as overwritten.
const MOST: usize = 3;

impl Eras {
    /// Heap bytes of all eras, with [`Ladder::MOST_RUNGS`] fridges each.
    pub(super) const BYTES: usize = (MOST + 1) * (size_of::<Era>() + Ladder::BYTES);

    pub(super) fn new(ladder: Ladder, fingerprint_bits: u32, seed: u64) -> Self {
        let factor = hash::start(hash::word(seed, 3)) | 1;
        let seed = hash::word(seed, 1);
        let present = Era::new(ladder, fingerprint_bits, seed, 0);
        Self { present, earlier: Vec::new(), fingerprint_bits, seed, factor }
    }

    pub(super) fn fingerprint_bits(&self) -> u32 {
        self.fingerprint_bits
    }

    /// Starts a new era with these fridges, after this many insertions.
    pub(super) fn begin(&mut self, ladder: Ladder, inserted: u32) {
        if self.earlier.len() == MOST {
            self.earlier.remove(0);
        }
        let present = Era::new(ladder, self.fingerprint_bits, self.seed, inserted);
        self.earlier.reserve_exact(1);
        self.earlier.push(std::mem::replace(&mut self.present, present));
    }

    #[inline]
    pub(super) fn present(&self) -> &Ladder {
        &self.present.ladder
    }

    /// The place of an id in the present fridges.
    #[inline]
    pub(super) fn place(&self, id: ExchangeId) -> Place {
        self.present.place(id, self.factor)
    }

    /// The eras from this index on, the present one last.
    fn from(&self, era: usize) -> impl Iterator<Item = &Era> + Clone {
        self.earlier[era..].iter().chain(std::iter::once(&self.present))
    }

    /// The place of an id's entry and the era in which it entered, tried from the latest: `inserted` returns the number
    /// of insertions up to the entry's own, if there is one at a place.
    #[inline]
    pub(super) fn find(&self, id: ExchangeId, inserted: impl Fn(Place) -> Option<u32>) -> Option<(usize, Place)> {
        let in_era = |number: usize, era: &Era| {
            let place = era.place(id, self.factor);
            (self.era_of(inserted(place)?)? == number).then_some((number, place))
        };
        let present = in_era(self.earlier.len(), &self.present);
        present.or_else(|| self.earlier.iter().enumerate().rev().find_map(|(number, era)| in_era(number, era)))
    }

    /// The era in which an entry entered, after this many insertions, its own included; `None` if it is older than all
    /// eras that are kept.
    #[inline]
    fn era_of(&self, inserted: u32) -> Option<usize> {
        let is_later = |era: &Era| inserted.wrapping_sub(era.first).wrapping_sub(1) < 1 << 31;
        if self.earlier.is_empty() || is_later(&self.present) {
            return Some(self.earlier.len());
        }
        self.earlier.iter().rposition(is_later)
    }

    /// Each era since an entry entered, and how many requests were inserted in it after the entry: the entry's own
    /// number is `inserted`, the last one's `now`.
    fn since(&self, era: usize, inserted: u32, now: u32) -> impl Iterator<Item = (&Era, f64)> + Clone {
        let ends = self.from(era).skip(1).map(|next| next.first).chain(std::iter::once(now));
        self.from(era).zip(ends).enumerate().map(move |(i, (of, end))| {
            let begin = if i == 0 { inserted } else { of.first };
            (of, f64::from(end.wrapping_sub(begin)))
        })
    }

    /// How many requests were offered since an entry entered.
    pub(super) fn offered_since(&self, era: usize, inserted: u32, now: u32) -> f64 {
        self.since(era, inserted, now).map(|(era, insertions)| insertions / era.ladder.probability()).sum()
    }

    /// One over the probability that an exchange is sampled whose request entered in this era, as the insertion with
    /// this number, and whose response comes `now`: the balance heuristic over all slots where it may have been. If
    /// fridges have changed since, each slot is overwritten with the probability of the fridges that contained it; and
    /// the response must pass the present gate, too.
    #[inline]
    pub(super) fn weight(&self, era: usize, inserted: u32, now: u32) -> f64 {
        if era == self.earlier.len() {
            return self.present.ladder.weight(u64::from(now.wrapping_sub(inserted)));
        }
        self.weight_of_earlier(era, inserted, now)
    }

    #[cold]
    fn weight_of_earlier(&self, era: usize, inserted: u32, now: u32) -> f64 {
        let since = self.since(era, inserted, now);
        let mut borders: Vec<u32> = self.from(era).flat_map(|era| era.ladder.borders()).collect();
        borders.sort_unstable();
        borders.dedup();
        let ladder = &self.earlier[era].ladder;
        let chance_between = |ends: &[u32]| {
            let rung = ladder.rungs()[ladder.rung_at(ends[0])?];
            let entered = rung.probability / f64::from(rung.slots) * f64::from(ends[1] - ends[0]);
            let decay = |(era, insertions): (&Era, f64)| {
                era.ladder.rung_at(ends[0]).map_or(0.0, |k| insertions * era.ladder.decay(k))
            };
            Some(entered * (-since.clone().map(decay).sum::<f64>()).exp())
        };
        let chance: f64 = borders.windows(2).filter_map(chance_between).sum();
        let passing = (self.present().probability() / ladder.probability()).min(1.0);
        1.0 / (passing * chance)
    }

    /// Drops eras of which hardly any entry is left, given the number of insertions.
    pub(super) fn forget(&mut self, now: u32) {
        /// A ten-thousandth is left.
        const LARGEST_EXPONENT: f64 = 9.0;
        let is_over = |era: &usize| {
            let end = self.from(*era).nth(1).map_or(now, |next| next.first);
            let decays = self.since(*era, end, now).map(|(era, insertions)| insertions * era.ladder.least_decay());
            decays.sum::<f64>() > LARGEST_EXPONENT
        };
        let over = (0..self.earlier.len()).take_while(is_over).count();
        self.earlier.drain(..over);
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        self.earlier.capacity() * size_of::<Era>() + self.from(0).map(|era| era.ladder.bytes()).sum::<usize>()
    }
}

impl Era {
    /// A request that passes the gate goes to fridge *k* with probability *r*ₖ/*R*.
    fn new(ladder: Ladder, fingerprint_bits: u32, seed: u64, first: u32) -> Self {
        let places = |k: usize, first: u32, slots: u32| Part {
            threshold: u32::MAX,
            places: Places::new(hash::word(seed, k as u64), first, slots, fingerprint_bits),
        };
        let mut parts = [places(0, 0, 0); Ladder::MOST_RUNGS];
        let mut share = 0.0;
        for (k, (rung, first)) in ladder.rungs().iter().zip(ladder.borders()).enumerate() {
            share += rung.probability / ladder.probability();
            parts[k] = places(k, first, rung.slots);
            if k + 1 < ladder.rungs().len() {
                parts[k].threshold = (share * 2f64.powi(32) - 1.0) as u32;
            }
        }
        Self { ladder, parts, first }
    }

    #[inline]
    fn place(&self, id: ExchangeId, factor: u64) -> Place {
        let chooser = (id.0.wrapping_mul(factor) >> 32) as u32;
        let rung: usize = self.parts.iter().map(|part| usize::from(chooser > part.threshold)).sum();
        let (at, fingerprint) = self.parts[rung].places.of(id);
        Place { at, fingerprint }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rung;
    use super::*;

    fn ladder(rungs: &[(u32, f64)]) -> Ladder {
        Ladder::new(rungs.iter().map(|&(slots, probability)| Rung { slots, probability }).collect()).unwrap()
    }

    #[test]
    fn the_same_fridges_begun_anew_are_no_change() {
        let same = || ladder(&[(64, 0.5), (192, 0.1)]);
        let mut eras = Eras::new(same(), 32, 1);
        let before = eras.weight(0, 10, 510);
        eras.begin(same(), 200);
        eras.begin(same(), 300);
        assert!((eras.weight(0, 10, 510) / before - 1.0).abs() < 1e-9);
        assert_eq!(eras.weight(2, 310, 510), same().weight(200));
        assert!((eras.offered_since(0, 10, 510) - 500.0 / 0.6).abs() < 1e-9);
        assert_eq!([1, 200, 201, 300, 301, 600].map(|inserted| eras.era_of(inserted)), [0, 0, 1, 1, 2, 2].map(Some));
    }

    /// Simulated slot by slot, an entry that entered two fridges, and then experienced 20 insertions into these and 60
    /// into one larger fridge, survives as often as its weight says, within 4 standard errors (6·10⁻⁵). The weights of
    /// the first fridges or of the last one alone must fail.
    #[test]
    fn entries_outlive_what_the_fridges_of_the_time_do() {
        const RUNS: u64 = 100_000;
        let (first, second) = (ladder(&[(16, 0.5), (48, 0.25)]), ladder(&[(60, 0.5)]));
        let mut eras = Eras::new(first.clone(), 32, 1);
        let now = Eras::new(second.clone(), 32, 1);
        eras.begin(second.clone(), 21);
        let mut found = 0.0;
        for run in 0..RUNS {
            let id = |number: u64| ExchangeId(hash::finish(hash::finish(run) ^ number));
            let own = eras.earlier[0].place(id(0), eras.factor).at;
            let is_left = (1..21).all(|number| eras.earlier[0].place(id(number), eras.factor).at != own)
                && (21..81).all(|number| now.place(id(number)).at != own);
            found += f64::from(u8::from(is_left)) / RUNS as f64;
        }
        // Two thirds also pass the gate of the second ladder; and three quarters of all passed that of the first.
        let chance = |weight: f64| 1.0 / weight / (0.5 / 0.75) / 0.75;
        let is_right = |chance: f64| (found - chance).abs() < 4.0 * (found * (1.0 - found) / RUNS as f64).sqrt();
        assert!(is_right(chance(eras.weight(0, 1, 81))), "{found} {}", chance(eras.weight(0, 1, 81)));
        assert!(!is_right(chance(first.weight(80))) && !is_right(chance(second.weight(80))));
    }

    #[test]
    fn eras_end() {
        let mut eras = Eras::new(ladder(&[(64, 0.5)]), 32, 1);
        eras.begin(ladder(&[(64, 0.25)]), 1_000);
        eras.forget(1_100);
        assert_eq!(eras.earlier.len(), 1, "one entry in five is left");
        eras.forget(2_000);
        assert_eq!(eras.earlier.len(), 0);
        for inserted in 3..9 {
            eras.begin(ladder(&[(64, 0.5)]), 1_000 * inserted);
        }
        assert_eq!((eras.earlier.len(), eras.era_of(0)), (MOST, None));
    }
}
