//! What responses tell that do not find their entry.

use super::EntryProbability;
use super::scale::Scale;
use crate::Event;
use crate::codec::{CodecError, MOST_COUNTED, Reader, Writer};
use crate::meter::Gate;
use crate::survival::{self, BANDS, Loss, NewBands, Risk, begin};
use dwell_types::{ExchangeId, hash};

/// The responses met so far, found or not, for the product limit.
///
/// A response of an admitted exchange finds its entry (its delay is known) or another's (then its exchange was open for
/// longer than that one is there: its delay is censored). On the scale of insertions, which is no time but what
/// overwrites, both are one draw: looking back from the response, the first insertion into its slot that is not its own
/// lies *Y* insertions back, geometrically distributed and independent of the *X* insertions since its request. The
/// entry is found if *X* < *Y*.
///
/// *X* is cut into bands, short ones at first, in units of *M* insertions. In a band the entries are weighed by their
/// chance to survive, as the fridge does, so that it does not matter where in the band they end; from band to band the
/// product limit counts.
///
/// All of them must have run the same risk: to be overwritten after a number of insertions that is geometrically
/// distributed, whatever the time. Two kinds would not, and are made to:
/// - A response that meets a slot which is still free, whose entry was given up, or whose own request was answered
///   already, could not have been overwritten for a number of insertions that is known at least. How many more that
///   would have lasted is drawn.
/// - When the gate opens wider, requests from before are not there. The responses to what passes only the wider gate
///   are left out until entries from before would be overwritten anyway.
///
/// While *p* is being searched it is much larger than later: what is slow is not followed then, only later. So what was
/// counted moves when *p* changes, to the bands where exchanges that last as long would be found now ([`Scale`]). A larger
/// *p* was followed up to an earlier band: of those behind it that time says nothing. An exchange that reaches across a
/// change is in the band of others that last as long, too, and runs the risk of all its insertions.
#[derive(Clone, Debug)]
pub(super) struct Censoring {
    counts: Vec<Counts>,
    slots: u32,
    scale: Scale,
    /// By how many octaves numbers on the scale have grown since bands were asked for.
    grown: i8,
    /// The narrower gates that still hold for responses, with their probabilities and the insertions until when; each
    /// is wider than the one before and holds for longer.
    narrow: Vec<(Gate, f64, u64)>,
}

/// What the responses of one series met. Each counts as many exchanges as it stands for.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Of the present *p*, by the band in which their entry was found or known to be overwritten: Σ 1/*p*.
    last: [f64; BANDS],
    /// Σ 1/*p*².
    squares: f64,
    /// Of earlier ones, and of those that reach back to them.
    earlier: [AtRisk; BANDS],
}

/// Those that were at risk when a band began: Σ 1/*q*, and Σ 1/*q*².
#[derive(Clone, Copy, Debug, Default)]
struct AtRisk {
    sum: f32,
    squares: f32,
}

impl Counts {
    #[inline]
    fn end(&mut self, band: u8, exchanges: f64) {
        self.last[usize::from(band)] += exchanges;
        self.squares += exchanges * exchanges;
    }

    /// The same for one that began while *p* was another; −ln of the chance to survive until a band begins is its
    /// `risk`.
    fn end_across(&mut self, band: u8, exchanges: f64, risk: impl Fn(usize) -> f64) {
        for (band, earlier) in self.earlier.iter_mut().enumerate().take(usize::from(band) + 1).skip(1) {
            let each = exchanges * risk(band).exp();
            earlier.sum += each as f32;
            earlier.squares += (each * each) as f32;
        }
    }

    /// Σ 1/*q* and Σ 1/*q*² of those that were at risk when each band began. Of the present *p*, entries survive *g M*
    /// insertions with probability e^−*g*.
    fn at_risk(&self, together: usize, stretch: f64) -> [(f64, f64); BANDS] {
        let all: f64 = self.last.iter().sum();
        let each = if all > 0.0 { self.squares / all } else { 0.0 };
        let mut left = all;
        std::array::from_fn(|band| {
            let AtRisk { sum, squares } = self.earlier[band];
            let weight = (stretch * begin_together(band, together)).exp();
            let at_risk = left * weight;
            left = (left - self.last[band]).max(0.0);
            (at_risk + f64::from(sum), at_risk * each * weight + f64::from(squares))
        })
    }

    /// *p* is going to change.
    fn change(&mut self, together: usize, stretch: f64) {
        let nearest = |sum: f64| sum.min(f64::from(f32::MAX)) as f32;
        let at_risk = self.at_risk(together, stretch);
        let earlier = at_risk.map(|(sum, squares)| AtRisk { sum: nearest(sum), squares: nearest(squares) });
        *self = Self { earlier, ..Self::default() };
    }

    /// What lasted for so many insertions lasts for twice as many from now on, or for half as many.
    fn rescale(&mut self, twice: bool) {
        let factor = if twice { 2.0 } else { 0.5 };
        // What moves to a band was at risk when the first did.
        let first = |band: usize| (1..=survival::FOLLOWED).find(|&old| factor * begin(old) >= begin(band));
        let at_risk = |band| first(band).map_or(AtRisk::default(), |old| self.earlier[old]);
        self.earlier = std::array::from_fn(|band| if band == 0 { AtRisk::default() } else { at_risk(band) });
    }

    fn risk(&self, together: usize, stretch: f64) -> Risk {
        let mut risk = Risk::none(Loss::Gradual);
        for (band, (sum, squares)) in self.at_risk(together, stretch).into_iter().enumerate().skip(1) {
            let growth = stretch * (begin_together(band, together) - begin_together(band - 1, together));
            // Where none are left the next one would stand for so many.
            let next = risk.each[band - 1] * growth.exp();
            risk.at_risk[band] = sum;
            risk.each[band] = if sum > 0.0 { squares / sum } else { next };
        }
        risk
    }
}

/// Where a band begins: of bands that are taken as one only the first has entries, and others begin with the next.
fn begin_together(band: usize, together: usize) -> f64 {
    let first = 1 + band.saturating_sub(1).next_multiple_of(together);
    begin(first.min(BANDS - 1))
}

/// The band of `insertions` survived among `slots` slots. Small fridges, whose delays have little room, take several
/// bands as one.
#[inline]
fn band(insertions: u64, slots: u32) -> u8 {
    let band = survival::band(insertions.saturating_mul(8) / u64::from(slots)) - 1;
    (band - band % together(slots)) as u8 + 1
}

/// How many bands a fridge takes as one.
#[inline]
const fn together(slots: u32) -> usize {
    if slots < 1024 { 2 } else { 1 }
}

/// From 1 to the sparsest entry probability that is found.
const MOST_OCTAVES: u8 = 24;
/// A narrower gate holds for so many insertions per slot. One in e⁴ entries lives longer.
const LAG: u64 = 4;
/// If the gate opens more often than this while one holds, the first one goes on to hold.
const MOST_NARROW: usize = 16;

impl Censoring {
    /// Bytes per series, and besides.
    pub(super) const SERIES_BYTES: usize = size_of::<Counts>();
    pub(super) const OWN_BYTES: usize = size_of::<Self>() + MOST_NARROW * size_of::<(Gate, f64, u64)>() + Scale::BYTES;

    /// Of so many series.
    pub(super) fn new(tags: usize, slots: u32) -> Self {
        let narrow = Vec::with_capacity(MOST_NARROW);
        let counts = vec![Counts::default(); tags];
        Self { counts, slots, scale: Scale::new(0), grown: 0, narrow }
    }

    /// What the responses of a series met.
    pub(super) fn risk(&self, tag: usize) -> Option<Risk> {
        self.counts.get(tag).map(|counts| counts.risk(together(self.slots), self.scale.stretch()))
    }

    /// Begins to count anew.
    pub(super) fn forget(&mut self) {
        self.counts.fill(Counts::default());
        self.grown = 0;
    }

    /// *p* is going to be 2^(−step/8) after so many insertions.
    fn rescale(&mut self, step: u8, inserted: u64) {
        let (together, stretch) = (together(self.slots), self.scale.stretch());
        let Some(grown) = self.scale.change(step, inserted) else { return };
        for counts in &mut self.counts {
            counts.change(together, stretch);
            (0..grown.unsigned_abs()).for_each(|_| counts.rescale(grown > 0));
        }
        self.grown += grown;
    }

    /// Where the samples so far belong, if the scale has changed since the last call.
    pub(super) fn take_new_bands(&mut self) -> Option<NewBands> {
        let grown = std::mem::take(&mut self.grown);
        let once = NewBands::of_twice(grown > 0, together(self.slots));
        (0..grown.unsigned_abs()).map(|_| once).reduce(NewBands::then)
    }

    pub(super) fn state_bytes(&self) -> usize {
        size_of::<Self>()
            + self.counts.capacity() * size_of::<Counts>()
            + self.scale.state_bytes()
            + self.narrow.capacity() * size_of::<(Gate, f64, u64)>()
    }

    /// By how many octaves numbers on the scale have grown, and what it was before; of every series its bands, the
    /// squares, and what was at risk earlier; then the number of narrower gates, and each with its probability and its
    /// end.
    pub(super) fn write(&self, to: &mut Writer) {
        to.u8(self.grown as u8);
        self.scale.write(to);
        for counts in &self.counts {
            counts.last.iter().for_each(|&exchanges| to.f64(exchanges));
            to.f64(counts.squares);
            counts.earlier.iter().flat_map(|earlier| [earlier.sum, earlier.squares]).for_each(|sum| to.f32(sum));
        }
        to.u64(self.narrow.len() as u64);
        for &(_, p, until) in &self.narrow {
            to.f64(p);
            to.u64(until);
        }
    }

    /// Reads what was written of one of the same shape; `gate` is the one that is open, and `p` its probability.
    pub(super) fn read(mut self, gate: Gate, p: EntryProbability, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        (self.grown, self.scale) = (from.u8()? as i8, Scale::read(p.step(), from)?);
        if self.grown.unsigned_abs() > MOST_OCTAVES {
            return Err(CodecError::Value("scale"));
        }
        for counts in &mut self.counts {
            for exchanges in &mut counts.last {
                *exchanges = from.amount("number of exchanges")?;
            }
            counts.squares = from.amount("number of exchanges")?;
            for AtRisk { sum, squares } in &mut counts.earlier {
                (*sum, *squares) = (from.small_amount("exchanges at risk")?, from.small_amount("exchanges at risk")?);
            }
        }
        let narrow = from.count(16)?;
        for _ in 0..narrow {
            let (p, until) = (from.amount("entry probability")?, from.u64()?);
            self.narrow.push((gate.with_probability(p), p, until));
        }
        let is_wrong = |&(_, p, until): &(Gate, f64, u64)| !(p > 0.0 && p <= 1.0) || until > MOST_COUNTED;
        if narrow > MOST_NARROW || self.narrow.iter().any(is_wrong) {
            return Err(CodecError::Value("gates"));
        }
        Ok(self)
    }

    /// The gate, which was open with the probability `p`, is going to change.
    pub(super) fn change(&mut self, (from, p): (Gate, f64), (to, next): (Gate, EntryProbability), inserted: u64) {
        self.rescale(next.step(), inserted);
        // What is not narrower than the new gate holds nothing back.
        self.narrow.retain(|(gate, _, _)| gate.is_narrower_than(to));
        if !from.is_narrower_than(to) {
            return;
        }
        let until = inserted + LAG * u64::from(self.slots);
        let is_full = self.narrow.len() == MOST_NARROW;
        match self.narrow.last_mut() {
            Some(last) if is_full || !last.0.is_narrower_than(from) => last.2 = until,
            _ => self.narrow.push((from, p, until)),
        }
    }

    /// The probability that a response had to pass the gate, if it counts; the gate is open with probability `p`.
    #[inline]
    pub(super) fn probability(&mut self, id: ExchangeId, p: f64, inserted: u64) -> Option<f64> {
        while self.narrow.first().is_some_and(|&(_, _, until)| inserted >= until) {
            self.narrow.remove(0);
        }
        match self.narrow.first() {
            Some(&(gate, narrow, _)) => gate.admits(id).then_some(narrow),
            None => Some(p),
        }
    }

    /// The probability of the narrowest gate that still holds for responses, if one does.
    pub(super) fn narrowest(&self) -> Option<f64> {
        self.narrow.first().map(|&(_, p, _)| p)
    }

    /// A response found its entry after so many insertions, the last of which has the number `inserted`; the band that
    /// it is in.
    #[inline]
    pub(super) fn find(&mut self, tag: u16, insertions: u64, inserted: u64, exchanges: f64) -> u8 {
        self.end_after(tag, insertions, inserted, exchanges).unwrap_or(survival::FOLLOWED as u8 + 1)
    }

    /// A response did not: its exchange was open for more insertions than these.
    #[inline]
    pub(super) fn censor(&mut self, tag: u16, insertions: u64, inserted: u64, exchanges: f64) {
        self.end_after(tag, insertions, inserted, exchanges);
    }

    /// Counts a response that was at risk for so many insertions; the band in which that ends, if it is followed.
    #[inline]
    fn end_after(&mut self, tag: u16, insertions: u64, inserted: u64, exchanges: f64) -> Option<u8> {
        let followed = begin(survival::FOLLOWED + 1) * f64::from(self.slots);
        if let Some(since) = self.scale.since_change(followed, inserted) {
            return self.end_lately(tag, (insertions, since), inserted, exchanges);
        }
        let band = |insertions: f64| band((insertions / self.scale.stretch()) as u64, self.slots);
        let (band, end) = (band(insertions as f64), band(followed));
        // What is not followed is at risk in the last band that is.
        let last = end - together(self.slots) as u8;
        self.counts[usize::from(tag)].end(band.min(last), exchanges);
        (band < end).then_some(band)
    }

    /// The same where *p* changed so few insertions ago that exchanges which are followed reach across.
    #[cold]
    fn end_lately(&mut self, tag: u16, (insertions, since): (u64, u64), inserted: u64, exchanges: f64) -> Option<u8> {
        let Self { counts, scale, slots, .. } = self;
        let (together, each_slot) = (together(*slots), f64::from(*slots));
        let followed = begin(survival::FOLLOWED + 1) * each_slot;
        let band = |insertions: f64| band(scale.number(insertions, inserted) as u64, *slots);
        let (band, end) = (band(insertions as f64), band(followed));
        let last = end.saturating_sub(together as u8);
        if last == 0 {
            // So much was inserted that nothing is followed through a band.
            return None;
        }
        let counts = &mut counts[usize::from(tag)];
        if insertions <= since && band <= last {
            counts.end(band, exchanges);
        } else {
            let insertions = |band| scale.insertions(begin_together(band, together) * each_slot, inserted);
            counts.end_across(band.min(last), exchanges, |band| insertions(band) / each_slot);
        }
        (band < end).then_some(band)
    }

    /// A response met a slot that was not overwritten for `least` insertions, and nobody knows for how many more.
    pub(super) fn censor_beyond(&mut self, response: &Event, least: u64, inserted: u64, exchanges: f64) {
        // Exponentially distributed, from bits that nothing else looks at, and others for the same response again.
        let uniform =
            (hash::finish(response.id.0 ^ least ^ response.at.as_nanos() as u64) >> 11) as f64 / (1u64 << 53) as f64;
        let more = -(1.0 - uniform).ln() * f64::from(self.slots);
        self.censor(response.tag, least.saturating_add(more as u64), inserted, exchanges);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survival::FOLLOWED;

    /// A probability of 2^−octave.
    fn found_at(octave: u8) -> EntryProbability {
        EntryProbability::cautious(1 << 20, f64::from(1 << 16) * 2f64.powi(octave.into()))
    }

    #[test]
    fn bands_are_in_order_and_cover_everything() {
        for (slots, together) in [(1u32 << 12, 1), (1 << 9, 2)] {
            let mut last = 0;
            for insertions in 0..20 * u64::from(slots) {
                let here = band(insertions, slots);
                assert!(here >= last && (1..BANDS as u8).contains(&here));
                let from = begin(usize::from(here)) * f64::from(slots);
                assert!(insertions as f64 >= from);
                let next = usize::from(here) + together;
                if next <= FOLLOWED + 1 {
                    assert!((insertions as f64) < begin(next) * f64::from(slots));
                }
                last = here;
            }
            assert_eq!(usize::from(last), FOLLOWED + 1);
            assert_eq!(band(u64::MAX, slots), last);
        }
    }

    /// For 40 *M* requests everything enters, then for 40 *M* one in eight. Exchanges that wait for 12 *M* requests are not
    /// followed at first, and few that wait for 4 *M* are found; later, both are. What the first half left open is shared
    /// out as the second half tells, and those that reach from one into the other are where others are that last as long.
    /// Two twins fail: on the scale of insertions most of the slowest are missed; where all insertions count like those
    /// of now, those that reach across seem slower than they are.
    #[test]
    fn what_p_was_does_not_matter() {
        const SLOTS: f64 = 4_096.0;
        const CHANGE: f64 = 40.0;
        const EACH: u64 = 400_000;
        /// Requests offered while an exchange lasts, per slot, and their share.
        const CLASSES: [(f64, f64); 3] = [(0.5, 0.9), (4.0, 0.05), (12.0, 0.05)];
        let insertions = |offered: f64| offered.min(CHANGE) + 0.125 * (offered - CHANGE).max(0.0);
        let told = |is_rescaled: bool, is_across: bool| {
            let gate = Gate::new(1, 1.0);
            let mut censoring = Censoring::new(1, SLOTS as u32);
            let mut found: Vec<(usize, u8, f64)> = Vec::new();
            for (octave, p, from) in [(0u8, 1.0, 0.0), (3, 0.125, CHANGE)] {
                if is_rescaled {
                    censoring.change((gate, 1.0), (gate, found_at(octave)), (from * SLOTS) as u64);
                }
                if let Some(bands) = censoring.take_new_bands() {
                    found.iter_mut().for_each(|(_, band, _)| *band = bands.of(*band));
                }
                for (class, &(lasts, share)) in CLASSES.iter().enumerate() {
                    let responses = (EACH as f64 * share * p) as u64;
                    for i in 0..responses {
                        let uniform = (hash::finish(i << 8 | (class as u64) << 4 | u64::from(octave)) >> 11) as f64
                            / (1u64 << 53) as f64;
                        let now = from + CHANGE * (i as f64 + 0.5) / responses as f64;
                        let (waited, survives) = (insertions(now) - insertions(now - lasts), -(1.0 - uniform).ln());
                        let inserted = if is_across { (insertions(now) * SLOTS) as u64 } else { u64::MAX };
                        let seen = (waited.min(survives) * SLOTS) as u64;
                        if waited < survives {
                            found.push((class, censoring.find(0, seen, inserted, 1.0 / p), waited.exp() / p));
                        } else {
                            censoring.censor(0, seen, inserted, 1.0 / p);
                        }
                    }
                }
            }
            let mut weights = [0.0; BANDS];
            found.iter().for_each(|&(_, band, weight)| weights[usize::from(band)] += weight);
            let survival = censoring.risk(0).unwrap().survival(&weights).unwrap();
            let of = |wanted| {
                let found = found.iter().filter(|&&(class, _, _)| class == wanted);
                found.map(|&(_, band, weight)| weight * survival.factors[usize::from(band)]).sum::<f64>()
            };
            [0, 1, 2].map(|class| of(class) / (2.0 * EACH as f64 * CLASSES[class].1))
        };
        let shares = told(true, true);
        assert!(shares.iter().all(|share| (share - 1.0).abs() < 0.1), "{shares:?}");
        let twins = [told(true, false)[2], told(false, false)[2]];
        assert!(twins[0] < 0.75 && twins[1] < 0.5, "{twins:?}");
    }

    /// Half of the ids pass the wide gate, an eighth the narrow one.
    #[test]
    fn a_wider_gate_waits() {
        let wide = Gate::new(1, 0.5);
        let narrow = wide.with_probability(0.125);
        let mut censoring = Censoring::new(1, 100);
        let counted = |censoring: &mut Censoring, gate: Gate, p: f64, inserted: u64| -> f64 {
            (0..4_000u64)
                .map(|i| ExchangeId(hash::finish(i)))
                .filter(|&id| gate.admits(id))
                .filter_map(|id| Some(1.0 / censoring.probability(id, p, inserted)?))
                .sum()
        };
        let all = |sum: f64| assert!((sum / 4_000.0 - 1.0).abs() < 0.15, "{sum}");
        all(counted(&mut censoring, wide, 0.5, 10));
        censoring.change((wide, 0.5), (narrow, found_at(3)), 20);
        assert!(censoring.narrow.is_empty());
        all(counted(&mut censoring, narrow, 0.125, 21));
        censoring.change((narrow, 0.125), (wide, found_at(1)), 30);
        assert_eq!(censoring.probability(ExchangeId(0), 0.5, 31), Some(0.125));
        all(counted(&mut censoring, wide, 0.5, 429));
        assert_eq!(censoring.narrow.len(), 1);
        all(counted(&mut censoring, wide, 0.5, 430));
        assert!(censoring.narrow.is_empty());
    }

    /// However the gate moves, what holds responses back is narrower than it, and rises.
    #[test]
    fn narrow_gates_rise() {
        let base = Gate::new(3, 1.0);
        let mut censoring = Censoring::new(1, 10);
        let mut from = (base, 1.0);
        for i in 0..500u64 {
            let p = 0.5f64.powi((hash::finish(i) % 12) as i32);
            let to = base.with_probability(p);
            censoring.change(from, (to, found_at((hash::finish(i) % 12) as u8)), 3 * i);
            assert!(censoring.narrow.len() <= MOST_NARROW);
            assert!(censoring.narrow.iter().all(|(gate, _, _)| gate.is_narrower_than(to)));
            assert!(censoring.narrow.is_sorted_by(|a, b| a.0.is_narrower_than(b.0) && a.2 <= b.2));
            from = (to, p);
        }
    }
}
