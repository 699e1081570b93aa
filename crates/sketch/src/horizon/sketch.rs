use super::chooser::Chooser;
use super::curve::Curve;
use crate::exact::Exact;
use crate::parts::batch::BATCH;
use crate::parts::lapse::Swept;
use crate::parts::open::{Ahead, Open, OpenMeter, Place};
use crate::parts::repeats::Meets;
use crate::survival::{BANDS, Loss, Risk};
use crate::{Event, Fates, Gate, Meter, NewBands, Sample, Structure, Terms};
use dwell_types::{Nanos, Timestamp, hash};
use std::fmt;

/// Too few bytes for a table that can measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HorizonError {
    /// Bytes given.
    pub given: usize,
    /// Bytes needed at least.
    pub needed: usize,
}

impl fmt::Display for HorizonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table needs {} bytes, not {}", self.needed, self.given)
    }
}

impl std::error::Error for HorizonError {}

/// A table of the open requests that are within their horizons.
#[derive(Clone, Debug)]
pub struct Horizon {
    terms: Terms,
    curve: Curve,
    open: Open,
    /// The most entries within the bound.
    room: usize,
    chooser: Chooser,
    by_tag: Vec<AtRisk>,
    /// The average number of exchanges for which each response before the last change of thresholds stood: Σ 1/*q*² / Σ
    /// 1/*q*.
    each: [f32; BANDS],
    /// Responses since then.
    unfolded: u32,
    fates: Vec<Fates>,
    /// Requests to insert before thresholds are chosen again.
    until_choice: u64,
    began: Option<Timestamp>,
    latest: Timestamp,
    /// When answers began to be estimates.
    sampled_since: Option<Timestamp>,
    /// Whether the samples before that were assigned to bands, which are unused while every exchange is known.
    has_bands: bool,
}

/// The responses of one series, by the bands in which they were at risk.
#[derive(Clone, Copy, Debug, Default)]
struct AtRisk {
    /// Responses since the thresholds last changed, by the last band in which they were at risk.
    last: [u32; BANDS],
    /// Σ 1/*q* over the responses before, for every band: 24 bits are precise enough for estimates.
    before: [f32; BANDS],
}

impl AtRisk {
    /// Σ 1/*q* over all responses so far, and Σ 1/*q*² over those since the thresholds last changed.
    fn sums(&self, curve: &Curve) -> ([f64; BANDS], [f64; BANDS]) {
        let (mut sums, mut squares) = (self.before.map(f64::from), [0.0; BANDS]);
        let mut responses = 0.0;
        for band in (1..BANDS).rev() {
            responses += f64::from(self.last[band]);
            let each = curve.weight(band);
            sums[band] += responses * each;
            squares[band] = responses * each * each;
        }
        (sums, squares)
    }
}

/// Thresholds are chosen for this share of the room, and must fall if more than `MOST_KEPT` is still occupied after a
/// sweep.
const AIMED: f64 = 0.93;
const MOST_KEPT: f64 = 0.98;
/// Thresholds are chosen again once one part in `WINDOW` of the room was inserted, and `LEAST_WINDOW` requests, or as
/// many as there is room for, were seen: a nearly open table need not be examined more often.
const WINDOW: usize = 8;
const LEAST_WINDOW: f64 = 1024.0;

impl Horizon {
    /// With less memory a table cannot measure.
    pub(crate) const LEAST_BYTES: usize = Open::LEAST_BYTES;

    /// Bytes per series in addition to its counts.
    pub(crate) const SERIES_BYTES: usize = size_of::<AtRisk>();

    /// An empty table of at most `bytes`, not including the counts of the series. `has_tokens`: whether to store
    /// tokens.
    pub fn new(bytes: usize, has_tokens: bool, terms: Terms) -> Result<Self, HorizonError> {
        if bytes < Self::LEAST_BYTES {
            return Err(HorizonError { given: bytes, needed: Self::LEAST_BYTES });
        }
        let gate = Gate::new(hash::word(terms.seed, 2), 1.0);
        let (open, room) = Open::bounded(bytes, terms.tags, has_tokens, gate);
        let tags = usize::from(terms.tags);
        Ok(Self {
            terms,
            curve: Curve::open(gate, terms.expiry),
            open,
            room,
            chooser: Chooser::default(),
            by_tag: vec![AtRisk::default(); tags],
            each: [0.0; BANDS],
            unfolded: 0,
            fates: Fates::none(terms.tags),
            until_choice: 0,
            began: None,
            latest: Timestamp::MIN,
            sampled_since: None,
            has_bands: false,
        })
    }

    /// The most requests that the table holds.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Records the samples of a batch that began at `began`, from a table that holds all requests in place of this one.
    pub(super) fn know(&mut self, began: Timestamp, samples: &[Sample]) {
        self.began.get_or_insert(began);
        if self.unfolded > u32::MAX - BATCH as u32 {
            self.fold();
        }
        for sample in samples {
            let band = self.curve.band(sample.since_last);
            let first = if sample.is_ambiguous() { self.curve.band(sample.since_first) } else { band };
            self.count(sample.tag, band);
            self.chooser.sample(first, sample.repeat_weight);
        }
    }

    /// Takes over the requests of that table that have not expired; there is room for several times as many.
    pub(super) fn take_over(&mut self, exact: Exact, now: Timestamp) {
        let open = &mut self.open;
        let mut without_slot = Vec::new();
        (self.fates, self.latest) = exact.hand_over(now, |id, first, last| {
            if !open.take_in(id, &first, last.as_ref()) {
                without_slot.push(first);
            }
        });
        for request in without_slot.iter().filter(|request| request.state.is_open()) {
            self.fates[usize::from(request.tag)].let_go(false);
        }
    }

    /// The current sampling probabilities of the fastest and of the slowest exchanges.
    pub fn probabilities(&self) -> (f64, f64) {
        (self.curve.kept_probability(1), self.curve.kept_probability(BANDS - 1))
    }

    #[inline(never)]
    fn admit(&mut self, request: &Event, place: &Place) {
        if self.open.is_full() || (self.until_choice == 0 && self.sampled_since.is_some()) {
            self.make_room(request.at);
            if !self.curve.entry().admits(request.id) {
                return self.turn_away(request);
            }
        }
        match self.open.find(place) {
            Some(at) => self.meet(at, request),
            None => self.put(request, place),
        }
    }

    #[inline]
    fn turn_away(&mut self, request: &Event) {
        self.fates[usize::from(request.tag)].turn_away();
    }

    #[inline]
    fn put(&mut self, request: &Event, place: &Place) {
        let is_put = self.open.put(place, request)
            || self.make_way(request.at, |this| {
                this.curve.entry().admits(request.id).then(|| this.open.put(place, request))
            });
        if !is_put {
            return self.turn_away(request);
        }
        self.fates[usize::from(request.tag)].seen += 1;
        self.until_choice = self.until_choice.saturating_sub(1);
    }

    /// Lowers the thresholds by a tenth; false if requests are already admitted as rarely as a gate can.
    fn lower(&mut self, now: Timestamp) -> bool {
        let before = self.curve.entry();
        self.fold();
        // At least by one step, where a tenth is less.
        let lower = |chance: f64| (0.9 * chance).min(chance - Gate::STEP).max(Gate::STEP);
        self.set(&std::array::from_fn(|band| lower(self.curve.kept_probability(band.max(1)))), now);
        self.curve.entry() != before
    }

    /// Processes a request with the same id as one in the table.
    fn meet(&mut self, at: usize, request: &Event) {
        let met = self.open.look(at, request.at);
        let fates = &mut self.fates[usize::from(met.tag)];
        let is_gone = !self.curve.keeps(request.id, met.since_last);
        match met.meets(self.terms.expiry, self.terms.repeat) {
            Meets::Ignorable if !is_gone => self.open.ignore(at, &met, request.at, self.terms.repeat),
            Meets::Open if !is_gone => {
                fates.repeat();
                let is_noted = self.repeat(at, request, request.at);
                self.until_choice = self.until_choice.saturating_sub(u64::from(is_noted));
            }
            meets => {
                if met.is_open() {
                    fates.let_go(meets == Meets::Other);
                }
                self.open.replace(at, &met, request);
                self.fates[usize::from(request.tag)].seen += 1;
            }
        }
    }

    /// Drops requests beyond their horizons; if that frees too little, grows the table or lowers the thresholds.
    #[cold]
    fn make_room(&mut self, now: Timestamp) {
        let most = MOST_KEPT * self.room as f64;
        let ages = self.sweep(now);
        let is_tight = |ages: &[u32; BANDS]| ages.iter().map(|&n| f64::from(n)).sum::<f64>() > most;
        if !self.open.is_half_empty() && self.open.grow() {
            return;
        }
        if is_tight(&ages) || (self.until_choice == 0 && self.sampled_since.is_some()) {
            self.choose(&ages, now);
            // What waits now may be more than what waits on average.
            while is_tight(&self.sweep(now)) && self.lower(now) {}
        }
    }

    /// Chooses new thresholds, given the number of waiting requests by age.
    fn choose(&mut self, ages: &[u32; BANDS], now: Timestamp) {
        self.fold();
        // The number that wait, sampled or not. It is unknown for ages that have not been reached yet: when they are,
        // thresholds fall again.
        let each = |band: usize| f64::from(ages[band]) / self.curve.kept_probability(band.max(1));
        let waiting = std::array::from_fn(each);
        let known = self.curve.band(now - self.began.unwrap_or(now));
        let chances = self.chooser.choose(&self.curve, &waiting, known, AIMED * self.room as f64);
        self.set(&chances, now);
        self.chooser.fade();
        let seen = LEAST_WINDOW.max(self.room as f64) * self.curve.entry().probability();
        self.until_choice = (self.room / WINDOW).max(seen as usize) as u64;
    }

    /// Sets the thresholds; everything must have been folded.
    fn set(&mut self, chances: &[f64; BANDS], now: Timestamp) {
        self.sampled_since.get_or_insert(now);
        self.curve.set(chances);
    }

    /// Sums up the responses under the current thresholds, before they change.
    fn fold(&mut self) {
        let mut all = [(0.0, 0.0); BANDS];
        for at_risk in &mut self.by_tag {
            let (sums, squares) = at_risk.sums(&self.curve);
            for (band, all) in all.iter_mut().enumerate() {
                all.0 += sums[band];
                all.1 += f64::from(at_risk.before[band]) * f64::from(self.each[band]) + squares[band];
            }
            *at_risk = AtRisk { before: sums.map(|sum| sum as f32), last: [0; BANDS] };
        }
        self.each = all.map(|(sum, squares)| if sum > 0.0 { (squares / sum) as f32 } else { 0.0 });
        self.tell_responses();
    }

    /// Reports the responses under the current thresholds to the chooser.
    fn tell_responses(&mut self) {
        self.chooser.respond(f64::from(self.unfolded) * self.curve.weight(1));
        self.unfolded = 0;
    }

    /// Counts a response that was at risk up to a band.
    #[inline]
    fn count(&mut self, tag: u16, last: usize) {
        self.by_tag[usize::from(tag)].last[last] += 1;
        self.unfolded += 1;
    }

    /// Drops requests beyond their horizons; returns how many stay, by band of age.
    fn sweep(&mut self, now: Timestamp) -> [u32; BANDS] {
        let Terms { expiry, repeat, .. } = self.terms;
        let (remembered, curve, fates) = (repeat.remembers(expiry), &self.curve, &mut self.fates);
        let mut ages = [0; BANDS];
        self.open.retain(now, |slots, at, wait| {
            let is_expired = wait.is_over(expiry, remembered);
            let stays = !is_expired && curve.keeps_rank(slots.rank(at), wait.since_last);
            if stays {
                ages[curve.band(wait.since_last)] += 1;
            } else if wait.is_open() {
                let fates = &mut fates[usize::from(wait.tag)];
                fates.let_go(is_expired);
            }
            stays
        });
        ages
    }

    /// The sample of a response whose request is in the table and within its horizon, which ends with the band `last`.
    #[inline(never)]
    fn answer(&mut self, response: &Event, place: &Place, last: usize) -> Option<Sample> {
        let found = self.open.find(place).map(|at| (at, self.open.look(at, response.at)));
        if found.is_some_and(|(_, wait)| !wait.is_open()) {
            // A repeated response counts as unmatched, as it will when the entry is gone.
            self.count(response.tag, last);
            return None;
        }
        let in_time = found.filter(|(_, wait)| !wait.is_older(self.terms.expiry));
        let answered = in_time.map(|(at, wait)| (at, wait, wait.sample(response)));
        let in_time = |sample: &Sample| self.curve.band(sample.since_last) <= last;
        let Some((at, wait, (sample, is_resolved))) = answered.filter(|(_, _, (sample, _))| in_time(sample)) else {
            self.count(response.tag, last);
            return None;
        };
        let band = self.curve.band(sample.since_last);
        self.count(response.tag, band);
        self.open.close(at, &wait, response.at, self.terms.repeat);
        self.fates[usize::from(wait.tag)].answer(is_resolved);
        let sample = sample.weighted(self.curve.weight(band));
        let sample = if sample.is_ambiguous() { self.repeated(sample, (band, last)) } else { sample };
        self.chooser.sample(self.curve.band(sample.since_first), sample.repeat_weight);
        Some(Sample { band: if self.sampled_since.is_some() { band as u8 } else { 0 }, ..sample })
    }

    /// The sample of a repeated request: the repetition counts as seen if the id's horizon reaches from the first
    /// request to the last. If the first was still there only for want of a sweep, it is ignored.
    fn repeated(&self, sample: Sample, (band, last): (usize, usize)) -> Sample {
        let gap = Nanos::new(sample.since_first.get().saturating_sub(sample.since_last.get()));
        let gap = self.curve.band(gap).max(band);
        if gap > last {
            return Sample { since_first: sample.since_last, ..sample };
        }
        Sample { repeat_weight: self.curve.weight(gap), ..sample }
    }

    /// Before a batch: sums up responses and raises thresholds where that is due.
    fn begin_batch(&mut self) {
        let is_due = self.curve.is_due(self.latest);
        if is_due || self.unfolded > u32::MAX - BATCH as u32 {
            self.fold();
        }
        if is_due {
            self.curve.rise(self.latest);
        }
    }
}

impl Swept for Horizon {
    fn latest(&mut self) -> &mut Timestamp {
        &mut self.latest
    }

    fn drop_old(&mut self, now: Timestamp) {
        self.sweep(now);
    }
}

impl OpenMeter for Horizon {
    fn open(&mut self) -> &mut Open {
        &mut self.open
    }

    #[inline]
    fn request(&mut self, request: &Event, place: impl FnOnce(&Open) -> Place) {
        self.latest = self.latest.max(request.at);
        if self.curve.entry().admits(request.id) {
            self.admit(request, &place(&self.open));
        } else {
            self.turn_away(request);
        }
    }

    #[inline]
    fn response(&mut self, response: &Event, place: impl FnOnce(&Open) -> Place) -> Option<Sample> {
        self.latest = self.latest.max(response.at);
        let sample = self.curve.counts(response.id).then(|| place(&self.open)).and_then(|place| {
            let last = self.curve.last_band(response.id);
            if place.is_vacant() {
                self.count(response.tag, last);
                return None;
            }
            self.answer(response, &place, last)
        });
        self.fates[usize::from(response.tag)].respond(sample.is_some());
        sample
    }

    fn look_ahead(&mut self, batch: &[Event]) -> Ahead {
        let Self { open, fates, latest, by_tag, unfolded, curve, .. } = self;
        let mut censored = 0;
        let sifted = open.look_ahead(batch, |event, is_kept| {
            *latest = (*latest).max(event.at);
            if is_kept {
                return;
            }
            let tag = usize::from(event.tag);
            fates[tag].respond(false);
            if curve.counts(event.id) {
                let last = curve.last_band(event.id);
                by_tag[tag].last[last] += 1;
                censored += 1;
            }
        });
        *unfolded += censored;
        sifted
    }

    fn admit_less(&mut self, now: Timestamp) -> bool {
        self.lower(now)
    }
}

impl Meter for Horizon {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        self.began = self.began.or(events.first().map(|event| event.at));
        let seen = self.take_parts(events, |this, part| {
            for batch in part.chunks(BATCH) {
                this.begin_batch();
                this.take_batch(batch, samples);
            }
        });
        // Until now the caller may have filtered events by the previous gate.
        if self.curve.has_risen() {
            self.curve.begin(seen);
        }
    }

    fn advance(&mut self, now: Timestamp) {
        self.pass(now);
    }

    fn gate(&self) -> Gate {
        self.curve.entry()
    }

    fn remembers_all(&self) -> bool {
        self.sampled_since.is_none()
    }

    fn is_filling(&self) -> bool {
        self.open.is_filling()
    }

    fn pass_by(&mut self, tag: usize, responses: u64) {
        let mut left = responses;
        while left > 0 {
            if self.unfolded == u32::MAX {
                self.fold();
            }
            let some = u32::try_from(left).unwrap_or(u32::MAX).min(u32::MAX - self.unfolded);
            // While nothing was dropped, responses are at risk in all bands.
            self.by_tag[tag].last[BANDS - 1] += some;
            self.unfolded += some;
            left -= u64::from(some);
        }
    }

    fn risk(&self, tag: usize) -> Option<Risk> {
        self.sampled_since?;
        let counted = self.by_tag.get(tag)?;
        let (at_risk, squares) = counted.sums(&self.curve);
        // What earlier responses stood for is known only for all series together.
        let each = |band: usize| match at_risk[band] {
            0.0 => self.curve.weight(band),
            sum => (f64::from(counted.before[band]) * f64::from(self.each[band]) + squares[band]) / sum,
        };
        Some(Risk { at_risk, each: std::array::from_fn(each), loss: Loss::AtBorders, responses: None })
    }

    fn take_new_bands(&mut self) -> Option<NewBands> {
        let are_due = self.sampled_since.is_some() && !self.has_bands;
        self.has_bands |= are_due;
        are_due.then(|| NewBands::by_age(self.curve.ages()))
    }

    fn fates(&self) -> Vec<Fates> {
        let mut fates = self.fates.clone();
        self.open.count_open(&mut fates, self.latest, self.terms.expiry);
        fates
    }

    fn structure(&self) -> Structure {
        let chances = self.sampled_since().map(|_| self.probabilities());
        Structure::Horizons { room: self.room(), chances }
    }

    fn sampled_since(&self) -> Option<Timestamp> {
        self.sampled_since
    }

    fn growing_bytes(&self) -> Option<usize> {
        Some(self.open.bytes())
    }

    fn state_bytes(&self) -> usize {
        self.open.bytes() + self.by_tag.capacity() * size_of::<AtRisk>() + self.fates.capacity() * size_of::<Fates>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{Ambiguous, DelayStore};
    use crate::test_support::{
        assert_batches_agree, assert_exact, assert_nothing_is_lost_unsaid, feed, request, response, take, terms,
    };
    use dwell_types::{ExchangeId, Match};

    const SLOT: usize = 13;

    fn horizon(bytes: usize, matching: Match) -> Horizon {
        Horizon::new(bytes, true, terms(matching, Nanos::from_secs(100))).unwrap()
    }

    /// In a small table the free slots may be out of reach, so that a request finds none: then thresholds fall, and the
    /// table reports that not every exchange is known.
    #[test]
    fn no_request_is_lost_unsaid() {
        let open = horizon(Horizon::LEAST_BYTES, Match::TcpAck).room() as u64 - 1;
        assert_nothing_is_lost_unsaid(
            open,
            &[0],
            || horizon(Horizon::LEAST_BYTES, Match::TcpAck),
            Horizon::remembers_all,
        );
    }

    /// The same for a repeated request that needs a second slot: if it finds none, the exchange does not count as
    /// unrepeated.
    #[test]
    fn no_repeat_is_lost_unsaid() {
        let open = horizon(Horizon::LEAST_BYTES, Match::Dns).room() as u64 / 2 - 1;
        assert_nothing_is_lost_unsaid(
            open,
            &[0, 5],
            || horizon(Horizon::LEAST_BYTES, Match::Dns),
            Horizon::remembers_all,
        );
    }

    /// While nothing was dropped, samples and counts equal those of the exact table; the bands have no effect.
    #[test]
    fn with_room_it_is_exact() {
        for matching in [Match::Dns, Match::TcpHandshake, Match::TcpTs] {
            let mut horizon = horizon(1 << 20, matching);
            assert_exact(&mut horizon, matching);
            assert_eq!((horizon.sampled_since(), horizon.risk(0)), (None, None));
        }
    }

    /// Unmatched responses are withheld from one table, to which their number is reported before it may be full:
    /// thresholds, samples and risks equal those of a table that processed all of them. If reported too late, they
    /// differ.
    #[test]
    fn what_was_passed_by_counts() {
        let run = |passes_by: bool, tells_in_time: bool| {
            let mut horizon = horizon(2_000 * SLOT, Match::TcpAck);
            let (mut samples, mut passed) = (Vec::new(), 0);
            for i in 0..40_000u64 {
                let (at, answered) = (i as i64 * 1_000, hash::finish(i.saturating_sub(30) / 3 * 3));
                let mut batch = vec![response(answered, at)];
                if passes_by && horizon.remembers_all() {
                    passed += 2;
                } else {
                    batch.extend([response(answered, at), response(!answered, at)]);
                }
                // The request that may close the gate comes last: the others were filtered by the open gate.
                batch.push(request(hash::finish(i), at));
                if tells_in_time && horizon.is_filling() || !horizon.remembers_all() {
                    horizon.pass_by(0, std::mem::take(&mut passed));
                }
                horizon.update(&batch, &mut samples);
            }
            assert!(horizon.sampled_since().is_some());
            let risk = horizon.risk(0).unwrap();
            (samples, horizon.probabilities(), risk.at_risk, risk.each)
        };
        let all = run(false, true);
        assert!(run(true, true) == all);
        assert!(run(true, false) != all);
    }

    /// A table beyond the cache knows beforehand of most responses that they match nothing: they count as elsewhere.
    #[test]
    fn batches_change_nothing() {
        let far = |matching| {
            let mut horizon = horizon(2 << 20, matching);
            let waiting: Vec<Event> = (0..40_000).map(|i| request(hash::finish(1 << 32 | i), 0)).collect();
            horizon.update(&waiting, &mut Vec::new());
            assert!(horizon.open.is_far_for(BATCH) && horizon.remembers_all());
            horizon
        };
        assert_batches_agree(|| far(Match::Dns));
        let mut horizon = far(Match::Dns);
        let absent: Vec<Event> = (0..64).map(|i| response(hash::finish(1 << 40 | i), 1)).collect();
        horizon.update(&absent, &mut Vec::new());
        assert_eq!((horizon.unfolded, horizon.by_tag[0].last[BANDS - 1], horizon.fates()[0].unmatched), (64, 64, 64));
    }

    /// Requests from before a clock was set back by more than the expiry are other ones; what waited has expired, and
    /// what was answered had its fate.
    #[test]
    fn what_a_request_replaces_has_one_fate() {
        let late = 1_000_000_000_000;
        for (is_answered, expected) in [(false, (0, 2)), (true, (1, 1))] {
            let mut horizon = horizon(400 * SLOT, Match::TcpTs);
            take(&mut horizon, request(1, late));
            assert_eq!(is_answered, is_answered && take(&mut horizon, response(1, late + 1)).is_some());
            take(&mut horizon, request(1, 0));
            let fates = horizon.fates()[0];
            assert!(fates.is_conserved(), "{fates:?}");
            assert_eq!((fates.seen, (fates.matched, fates.expired)), (2, expected));
        }
    }

    /// The latest possible time, after a request that is earlier than the one it repeats.
    #[test]
    fn no_time_is_too_late() {
        let mut horizon = horizon(400 * SLOT, Match::Dns);
        horizon.update(&[request(1, 1), request(1, -1), response(1, i64::MAX - 1)], &mut Vec::new());
        assert!(horizon.fates().iter().all(Fates::is_conserved));
    }

    #[test]
    fn memory_is_bounded_and_every_request_has_one_fate() {
        for matching in [Match::Dns, Match::TcpTs] {
            let bytes = 400 * SLOT;
            let mut horizon = horizon(bytes, matching);
            let before = horizon.state_bytes() - horizon.open.bytes();
            feed(&mut horizon, 200_000, 30);
            assert!(horizon.open.bytes() <= bytes && horizon.state_bytes() == before + horizon.open.bytes());
            let fates = horizon.fates();
            assert!(fates.iter().all(Fates::is_conserved), "{fates:?}");
            assert!(fates.iter().all(|f| f.matched > 1_000 && f.evicted > 1_000 && f.pending > 0), "{fates:?}");
            assert!(horizon.sampled_since().is_some() && horizon.risk(0).is_some());
        }
    }

    /// Half of the requests wait for ever. They are dropped soon, and what is answered within 30 µs is still seen: of
    /// 100,000, a share of .85 has a standard error of .0011. The control, the probability of the slowest for all, must
    /// fail.
    #[test]
    fn the_unanswered_do_not_crowd_out_the_answered() {
        let mut horizon = horizon(400 * SLOT, Match::Dns);
        let samples = feed(&mut horizon, 200_000, 30);
        let are_enough = |samples: f64| samples > 85_000.0;
        let (fastest, slowest) = horizon.probabilities();
        assert!(are_enough(samples.len() as f64) && !are_enough(1e5 * slowest), "{} of 100,000", samples.len());
        assert!(fastest > 0.8 && slowest < 0.01, "{fastest} {slowest}");
    }

    /// One exchange in five is requested again after 400 µs and answered 10 µs later, among others that fill the
    /// table: most first requests are gone by then. The repeats that are seen stand for the others.
    #[test]
    fn repeats_that_are_seen_stand_for_those_that_are_not() {
        let mut horizon = horizon(200 * SLOT, Match::Dns);
        let (mut samples, exchanges) = (Vec::new(), 400_000u64);
        for i in 0..exchanges {
            let at = i as i64 * 1_000;
            let id = |i: u64| hash::finish(2 * i);
            horizon.update(&[request(hash::finish(2 * i + 1), at), request(id(i), at + 1)], &mut samples);
            if i >= 410 {
                if (i - 400) % 5 == 0 {
                    horizon.update(&[request(id(i - 400), at + 2)], &mut samples);
                }
                let asked = if i % 5 == 0 { i - 410 } else { i - 10 };
                horizon.update(&[response(id(asked), at + 3)], &mut samples);
            }
        }
        let seen = samples.iter().filter(|sample| sample.is_ambiguous()).count();
        assert!((1_000..40_000).contains(&seen), "{seen} of 80,000: most are not seen as repeats, but enough");
        let mut store = DelayStore::unbounded(1);
        samples.iter().for_each(|sample| store.update(0, &Sample { tag: 0, ..*sample }));
        let slow = |ambiguous| {
            let distribution = store.distribution_at_risk(0, ambiguous, &horizon.risk(0).unwrap());
            let counts = distribution.histogram(&[0, 100_000, 1_000_000]);
            counts[1].value / (counts[0].value + counts[1].value)
        };
        // 80,000 of 400,000; a count of some hundreds has a standard error of about 5%, six times which is allowed
        // (2·10⁻⁹). The control, only those seen as repeats, must fail.
        let is_fifth = |share: f64| (share - 0.2).abs() < 0.06;
        let alone = seen as f64 / exchanges as f64;
        assert!(is_fifth(slow(Ambiguous::First)) && !is_fifth(alone), "{} {alone}", slow(Ambiguous::First));
        assert!(slow(Ambiguous::Last) < 0.01, "{}", slow(Ambiguous::Last));
    }

    /// A repetition weighs as much as the longer one of its two waits, for the next copy and for the response. A first
    /// request that is still there although its horizon has ended since is ignored.
    #[test]
    fn repetitions_count_within_horizons() {
        let horizon = horizon(400 * SLOT, Match::Dns);
        let (short, [kept, over]) = (1_000, [19, 29].map(|band| horizon.curve.end(band) as i64));
        let chances = std::array::from_fn(|band| [1.0, 0.5, 0.25][(band / 10).clamp(0, 2)]);
        let mut ends = horizon.clone();
        ends.set(&chances, Timestamp::from_nanos(0));
        let mut ids = (0..).map(hash::finish).filter(|&id| ends.curve.last_band(ExchangeId(id)) == 19);
        for (gap, wait, expected) in [
            (short, kept - 1, (kept - 1 + short, 2.0)),
            (kept - 1, short, (kept - 1 + short, 2.0)),
            (over - 1, short, (short, 1.0)),
        ] {
            let (id, mut horizon) = (ids.next().unwrap(), horizon.clone());
            horizon.update(&[request(id, 0), request(id, gap)], &mut Vec::new());
            horizon.set(&chances, Timestamp::from_nanos(gap));
            let sample = take(&mut horizon, response(id, gap + wait)).unwrap();
            assert_eq!((sample.since_first.get(), sample.repeat_weight.round()), expected, "{gap} {wait}");
        }
    }

    /// A response counts with the thresholds of its time, whether they rise or fall after that: rising ones hold for an
    /// age once that has passed, from the next batch on.
    #[test]
    fn responses_count_as_when_they_came() {
        let mut horizon = horizon(400 * SLOT, Match::Dns);
        let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
        for chance in [0.5, 1.0] {
            horizon.set(&[chance; BANDS], at(0));
        }
        let id = (0..).map(hash::finish).find(|&id| horizon.curve.counts(ExchangeId(id))).unwrap();
        let sums = |horizon: &Horizon| {
            let (sums, _) = horizon.by_tag[0].sums(&horizon.curve);
            [1, BANDS - 1].map(|band| sums[band].round())
        };
        for (seconds, expected) in [(0, [2.0, 2.0]), (1, [4.0, 4.0]), (300, [5.0, 6.0]), (301, [6.0, 7.0])] {
            horizon.update(&[Event { at: at(seconds), ..response(id, 0) }], &mut Vec::new());
            assert_eq!(sums(&horizon), expected, "{seconds} s");
        }
        assert!(horizon.lower(at(302)));
        assert_eq!(sums(&horizon), [6.0, 7.0]);
        // Σ 1/*q*² / Σ 1/*q*.
        let each = horizon.risk(0).unwrap().each;
        assert!((6.0 * each[1] - 10.0).abs() < 1e-2 && (7.0 * each[BANDS - 1] - 13.0).abs() < 1e-2, "{each:?}");
    }

    /// More responses than 32 bits count, passed by at once.
    #[test]
    fn any_number_passes_by() {
        let mut horizon = horizon(400 * SLOT, Match::TcpAck);
        for _ in 0..2 {
            horizon.pass_by(0, 5 << 32);
        }
        let (sums, _) = horizon.by_tag[0].sums(&horizon.curve);
        assert!((sums[1] / (10u64 << 32) as f64 - 1.0).abs() < 1e-6, "{sums:?}");
    }

    #[test]
    fn too_little_memory_is_refused() {
        let terms = terms(Match::Dns, Nanos::from_secs(1));
        let needed = Horizon::LEAST_BYTES;
        assert!(Horizon::new(needed, true, terms).is_ok());
        assert_eq!(Horizon::new(needed - 1, true, terms).unwrap_err(), HorizonError { given: needed - 1, needed });
    }
}
