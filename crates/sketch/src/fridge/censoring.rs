//! What responses tell that do not find their entry.

use crate::Event;
use crate::codec::{CodecError, MOST_COUNTED, Reader, Writer};
use crate::meter::Gate;
use crate::survival::{self, BANDS, Loss, Risk, begin};
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
/// While *p* is being searched it is much larger than later. What such a time leaves open (exchanges that last longer
/// than is followed) would be given to the last that were found, which are fast ones then. So nothing is counted until
/// the search says that it knows slow ones: the samples of that time are weighed as in a fridge without product limit.
#[derive(Clone, Debug)]
pub(super) struct Censoring {
    counts: Vec<Counts>,
    slots: u32,
    /// Whether responses are counted.
    has_begun: bool,
    /// The narrower gates that still hold for responses, with their probabilities and the insertions until when; each
    /// is wider than the one before and holds for longer.
    narrow: Vec<(Gate, f64, u64)>,
}

/// Responses of one series by the band in which their entry was found or known to be overwritten. Each counts as many
/// exchanges as it stands for: 1/*p*.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    last: [f64; BANDS],
    /// Σ 1/*p*².
    squares: f64,
}

impl Counts {
    #[inline]
    fn end(&mut self, band: u8, exchanges: f64) {
        self.last[usize::from(band)] += exchanges;
        self.squares += exchanges * exchanges;
    }

    /// Entries survive *g M* insertions with probability e^−*g*.
    fn risk(&self, together: usize) -> Risk {
        let mut risk = Risk::none(Loss::Gradual);
        let all: f64 = self.last.iter().sum();
        if all <= 0.0 {
            return risk;
        }
        let each = self.squares / all;
        let mut left = all;
        for band in 1..BANDS {
            // Of bands that are taken as one only the first has entries.
            let first = 1 + (band - 1).next_multiple_of(together);
            let weight = begin(first.min(BANDS - 1)).exp();
            risk.at_risk[band] = left * weight;
            risk.each[band] = each * weight;
            left = (left - self.last[band]).max(0.0);
        }
        risk
    }
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
    match slots {
        0..1024 => 4,
        1024..4096 => 2,
        _ => 1,
    }
}

/// A narrower gate holds for so many insertions per slot. One in e⁴ entries lives longer.
const LAG: u64 = 4;
/// If the gate opens more often than this while one holds, the first one goes on to hold.
const MOST_NARROW: usize = 16;

impl Censoring {
    /// Bytes per series, and besides.
    pub(super) const SERIES_BYTES: usize = size_of::<Counts>();
    pub(super) const OWN_BYTES: usize = MOST_NARROW * size_of::<(Gate, f64, u64)>();

    /// Of so many series; waits for [`Censoring::begin`] if *p* is searched.
    pub(super) fn new(tags: usize, slots: u32, searches: bool) -> Self {
        let narrow = Vec::with_capacity(MOST_NARROW);
        Self { counts: vec![Counts::default(); tags], slots, has_begun: !searches, narrow }
    }

    /// From now on responses are counted.
    pub(super) fn begin(&mut self) {
        self.has_begun = true;
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// What the responses of a series met.
    pub(super) fn risk(&self, tag: usize) -> Option<Risk> {
        self.counts.get(tag).map(|counts| counts.risk(together(self.slots)))
    }

    /// Begins to count anew.
    pub(super) fn forget(&mut self) {
        self.counts.fill(Counts::default());
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<Counts>() + self.narrow.capacity() * size_of::<(Gate, f64, u64)>()
    }

    /// Of every series its bands and the squares; then the number of narrower gates, and each with its probability and
    /// its end.
    pub(super) fn write(&self, to: &mut Writer) {
        for counts in &self.counts {
            counts.last.iter().for_each(|&exchanges| to.f64(exchanges));
            to.f64(counts.squares);
        }
        to.u64(self.narrow.len() as u64);
        for &(_, p, until) in &self.narrow {
            to.f64(p);
            to.u64(until);
        }
    }

    /// Reads what was written of one of the same shape; `gate` is the one that is open.
    pub(super) fn read(mut self, gate: Gate, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        for counts in &mut self.counts {
            for exchanges in &mut counts.last {
                *exchanges = from.amount("number of exchanges")?;
            }
            counts.squares = from.amount("number of exchanges")?;
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

    /// The gate, which was open with probability `p`, is going to change.
    pub(super) fn change(&mut self, from: Gate, p: f64, to: Gate, inserted: u64) {
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

    /// A response found its entry after so many insertions; the band that it is in, or 0 if it is not counted.
    #[inline]
    pub(super) fn find(&mut self, tag: u16, insertions: u64, exchanges: f64) -> u8 {
        if !self.has_begun {
            return 0;
        }
        let band = band(insertions, self.slots);
        self.counts[usize::from(tag)].end(band, exchanges);
        band
    }

    /// A response did not: its exchange was open for more insertions than these.
    #[inline]
    pub(super) fn censor(&mut self, tag: u16, insertions: u64, exchanges: f64) {
        if self.has_begun {
            self.counts[usize::from(tag)].end(band(insertions, self.slots), exchanges);
        }
    }

    /// A response met a slot that was not overwritten for `least` insertions, and nobody knows for how many more.
    pub(super) fn censor_beyond(&mut self, response: &Event, least: u64, exchanges: f64) {
        // Exponentially distributed, from bits that nothing else looks at, and others for the same response again.
        let uniform =
            (hash::finish(response.id.0 ^ least ^ response.at.as_nanos() as u64) >> 11) as f64 / (1u64 << 53) as f64;
        let more = -(1.0 - uniform).ln() * f64::from(self.slots);
        self.censor(response.tag, least.saturating_add(more as u64), exchanges);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survival::FOLLOWED;

    #[test]
    fn bands_are_in_order_and_cover_everything() {
        for (slots, together) in [(1u32 << 12, 1), (1 << 11, 2), (1 << 9, 4)] {
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

    /// Half of the ids pass the wide gate, an eighth the narrow one.
    #[test]
    fn a_wider_gate_waits() {
        let wide = Gate::new(1, 0.5);
        let narrow = wide.with_probability(0.125);
        let mut censoring = Censoring::new(1, 100, false);
        let counted = |censoring: &mut Censoring, gate: Gate, p: f64, inserted: u64| -> f64 {
            (0..4_000u64)
                .map(|i| ExchangeId(hash::finish(i)))
                .filter(|&id| gate.admits(id))
                .filter_map(|id| Some(1.0 / censoring.probability(id, p, inserted)?))
                .sum()
        };
        let all = |sum: f64| assert!((sum / 4_000.0 - 1.0).abs() < 0.15, "{sum}");
        all(counted(&mut censoring, wide, 0.5, 10));
        censoring.change(wide, 0.5, narrow, 20);
        assert!(censoring.narrow.is_empty());
        all(counted(&mut censoring, narrow, 0.125, 21));
        censoring.change(narrow, 0.125, wide, 30);
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
        let mut censoring = Censoring::new(1, 10, false);
        let mut from = (base, 1.0);
        for i in 0..500u64 {
            let p = 0.5f64.powi((hash::finish(i) % 12) as i32);
            let to = base.with_probability(p);
            censoring.change(from.0, from.1, to, 3 * i);
            assert!(censoring.narrow.len() <= MOST_NARROW);
            assert!(censoring.narrow.iter().all(|(gate, _, _)| gate.is_narrower_than(to)));
            assert!(censoring.narrow.is_sorted_by(|a, b| a.0.is_narrower_than(b.0) && a.2 <= b.2));
            from = (to, p);
        }
    }
}
