use super::packets::{Packets, Record};
use super::ranges::{Ranges, Sent};
use crate::parts::lapse::Swept;
use crate::{Event, Fates, Meter, Sample, Structure, Terms};
use dwell_types::{ExchangeId, Timestamp, hash};
use std::fmt;

/// The parameters of the trackers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Slots of the range tracker: directions of flows.
    pub ranges: u32,
    /// Slots of the packet tracker, in all stages together.
    pub packets: u32,
    /// Stages of the packet tracker, `1..=8`.
    pub stages: u32,
    /// How often evicted records may recirculate for one segment.
    pub rounds: u32,
}

const MOST_STAGES: u32 = 8;

impl Params {
    /// The least memory with which segments can be measured.
    pub const LEAST_BYTES: usize = 1536;

    /// Half of the bytes for each tracker, which lost least over all measurements (`docs/papers/sengupta22-dart.md`), or
    /// what the given size of the other leaves; `None` if they are too few.
    pub fn budget(bytes: usize, given: &GivenTrackers) -> Option<Self> {
        const ROUNDS: u32 = 8;
        let slots = bytes.checked_sub(given.stages_bytes())?;
        let besides = |other: Option<u32>, other_bytes: usize, slot_bytes: usize| {
            let left = other.map_or(slots / 2, |other| slots.saturating_sub(other as usize * other_bytes));
            u32::try_from(left / slot_bytes).unwrap_or(u32::MAX)
        };
        let fitting = Self {
            ranges: besides(given.packets, Packets::SLOT_BYTES, Ranges::SLOT_BYTES),
            packets: besides(given.ranges, Ranges::SLOT_BYTES, Packets::SLOT_BYTES),
            stages: STAGES,
            rounds: ROUNDS,
        };
        let params = Self {
            ranges: given.ranges.unwrap_or(fitting.ranges),
            packets: given.packets.unwrap_or(fitting.packets),
            stages: given.stages.unwrap_or(fitting.stages),
            rounds: given.rounds.unwrap_or(fitting.rounds),
        };
        (bytes >= given.least_bytes()).then_some(params)
    }
}

/// Stages of the packet tracker, unless they are given.
const STAGES: u32 = 4;

/// What is given of the trackers, instead of as fits the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenTrackers {
    /// See [`Params::ranges`]; rounded down to buckets of four.
    pub ranges: Option<u32>,
    /// See [`Params::packets`]; rounded down to a multiple of the stages.
    pub packets: Option<u32>,
    /// See [`Params::stages`].
    pub stages: Option<u32>,
    /// See [`Params::rounds`].
    pub rounds: Option<u32>,
}

impl GivenTrackers {
    fn stages_bytes(&self) -> usize {
        self.stages.unwrap_or(STAGES) as usize * size_of::<u64>()
    }

    /// The least bytes for [`Params::budget`].
    pub(crate) fn least_bytes(&self) -> usize {
        /// With a tracker of fewer slots segments cannot be measured.
        const LEAST_SLOTS: u32 = 47;
        self.ranges.unwrap_or(LEAST_SLOTS) as usize * Ranges::SLOT_BYTES
            + self.packets.unwrap_or(LEAST_SLOTS) as usize * Packets::SLOT_BYTES
            + self.stages_bytes()
    }

    /// Whether the size is determined.
    pub(crate) fn is_size(&self) -> bool {
        self.ranges.is_some() && self.packets.is_some()
    }
}

/// Why the trackers cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DartError {
    /// The number of stages must be 1 to 8.
    Stages(u32),
    /// Every stage needs a slot, and ranges come in buckets of four.
    Slots {
        /// Slots of the range tracker.
        ranges: u32,
        /// Slots of the packet tracker.
        packets: u32,
    },
}

impl fmt::Display for DartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stages(stages) => write!(f, "a packet tracker has 1 to {MOST_STAGES} stages, not {stages}"),
            Self::Slots { ranges, packets } => {
                write!(f, "there are at least 4 ranges and one packet per stage, not {ranges} and {packets}")
            }
        }
    }
}

impl std::error::Error for DartError {}

/// A range tracker and a packet tracker.
#[derive(Clone, Debug)]
pub struct Dart {
    terms: Terms,
    ranges: Ranges,
    packets: Packets,
    rounds: u32,
    fates: Vec<Fates>,
    latest: Timestamp,
}

/// The halves of a plain id: flow and direction, and a sequence number.
#[inline]
fn halves(id: ExchangeId) -> (u32, u32) {
    ((id.0 >> 32) as u32, id.0 as u32)
}

impl Dart {
    /// Empty trackers. Ids must be [plain](dwell_types::IdForm::Plain).
    pub fn new(params: Params, terms: Terms) -> Result<Self, DartError> {
        let Params { ranges, packets, stages, rounds } = params;
        if !(1..=MOST_STAGES).contains(&stages) {
            return Err(DartError::Stages(stages));
        }
        if packets < stages || ranges < 4 {
            return Err(DartError::Slots { ranges, packets });
        }
        Ok(Self {
            terms,
            ranges: Ranges::new(ranges, terms.expiry, hash::word(terms.seed, 1)),
            packets: Packets::new(packets, stages, hash::word(terms.seed, 2)),
            rounds,
            fates: Fates::none(terms.tags),
            latest: Timestamp::MIN,
        })
    }

    /// The parameters, with the actual numbers of slots.
    pub fn params(&self) -> Params {
        Params {
            ranges: self.ranges.slots(),
            packets: self.packets.slots(),
            stages: self.packets.stages(),
            rounds: self.rounds,
        }
    }

    #[inline]
    fn request(&mut self, request: &Event) {
        self.latest = self.latest.max(request.at);
        let ((signature, end), start) = (halves(request.id), request.token);
        let fates = &mut self.fates[usize::from(request.tag)];
        fates.seen += 1;
        if start == end {
            fates.not_admitted += 1;
            return self.ranges.forget(signature);
        }
        match self.ranges.send(signature, start, end, request.at) {
            Sent::Again => fates.ambiguous += 1,
            Sent::Refused => fates.not_admitted += 1,
            Sent::New if self.was_sent(request) => self.fates[usize::from(request.tag)].ambiguous += 1,
            Sent::New => self.enter(Record::new(signature, end, request.at, request.tag)),
        }
    }

    /// Whether the segment is already in flight although its range is new, since the flow had lost its place meanwhile.
    /// Then neither can be measured.
    fn was_sent(&mut self, request: &Event) -> bool {
        let (signature, end) = halves(request.id);
        let Some(record) = self.packets.take(signature, end) else { return false };
        let is_open = !record.is_older(request.at, self.terms.expiry);
        self.fates[usize::from(record.tag())].let_go(!is_open);
        if is_open {
            self.ranges.collapse(signature, end);
        }
        is_open
    }

    /// Inserts a record. One that it evicts recirculates, if the range tracker says that it can still be measured.
    #[inline]
    fn enter(&mut self, record: Record) {
        let (mut record, stages) = (record, self.packets.stages());
        for round in 0..=self.rounds {
            let Some(evicted) = self.packets.put(record, (round % stages) as usize) else { return };
            record = evicted;
            if !self.ranges.holds(record.signature, record.end) {
                break;
            }
        }
        let is_expired = record.is_older(self.latest, self.terms.expiry);
        self.fates[usize::from(record.tag())].let_go(is_expired);
    }

    #[inline]
    fn response(&mut self, response: &Event) -> Option<Sample> {
        self.latest = self.latest.max(response.at);
        let sample = self.answer(response);
        self.fates[usize::from(response.tag)].respond(sample.is_some());
        sample
    }

    /// The sample of an acknowledgement that gives a delay, if its record is still there.
    #[inline]
    fn answer(&mut self, response: &Event) -> Option<Sample> {
        let (signature, number) = halves(response.id);
        if !self.ranges.acknowledge(signature, number, response.token == 0, response.at) {
            return None;
        }
        let record = self.packets.take(signature, number)?;
        let fates = &mut self.fates[usize::from(record.tag())];
        if record.is_older(response.at, self.terms.expiry) {
            fates.expired += 1;
            return None;
        }
        fates.matched += 1;
        Some(Sample::answer(response, record.tag(), record.age(response.at)))
    }
}

impl Swept for Dart {
    fn latest(&mut self) -> &mut Timestamp {
        &mut self.latest
    }

    /// Removes expired segments.
    fn drop_old(&mut self, now: Timestamp) {
        let (expiry, fates) = (self.terms.expiry, &mut self.fates);
        self.packets.retain(|record| {
            let is_old = record.is_older(now, expiry);
            fates[usize::from(record.tag())].expired += u64::from(is_old);
            !is_old
        });
    }
}

impl Meter for Dart {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        self.take_parts(events, |this, part| {
            for event in part {
                if event.is_request {
                    this.request(event);
                } else {
                    samples.extend(this.response(event));
                }
            }
        });
    }

    fn advance(&mut self, now: Timestamp) {
        self.pass(now);
    }

    fn fates(&self) -> Vec<Fates> {
        let mut fates = self.fates.clone();
        for record in self.packets.iter() {
            let is_expired = record.age(self.latest) > self.terms.expiry;
            fates[usize::from(record.tag())].wait(is_expired);
        }
        fates
    }

    fn structure(&self) -> Structure {
        Structure::Trackers(self.params())
    }

    fn state_bytes(&self) -> usize {
        self.ranges.state_bytes() + self.packets.state_bytes() + self.fates.capacity() * size_of::<Fates>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{self, terms};
    use dwell_types::{Match, Nanos};

    const GOOD: Params = Params { ranges: 64, packets: 64, stages: 2, rounds: 4 };
    const BARE: u32 = 0;

    fn dart(params: Params) -> Dart {
        Dart::new(params, terms(Match::TcpAck, Nanos::from_secs(100))).unwrap()
    }

    fn event(flow: u32, number: u32, token: u32, at_ns: i64, is_request: bool) -> Event {
        let id = ExchangeId(u64::from(flow) << 32 | u64::from(number));
        Event { id, at: Timestamp::from_nanos(at_ns), token, tag: 0, mark: 0, is_request }
    }

    /// Feeds one event; returns the delay that it gives.
    fn take(dart: &mut Dart, event: Event) -> Option<i64> {
        test_support::take(dart, event).map(|sample| sample.since_first.get())
    }

    fn send(dart: &mut Dart, flow: u32, numbers: (u32, u32), at_ns: i64) {
        assert_eq!(take(dart, event(flow, numbers.1, numbers.0, at_ns, true)), None);
    }

    #[test]
    fn an_acknowledgement_answers_the_segment_that_ends_there() {
        let mut dart = dart(GOOD);
        send(&mut dart, 1, (10, 20), 100);
        send(&mut dart, 1, (20, 30), 110);
        send(&mut dart, 2, (10, 20), 120);
        assert_eq!(take(&mut dart, event(1, 30, BARE, 200, false)), Some(90));
        assert_eq!(take(&mut dart, event(1, 20, BARE, 210, false)), None, "it came before");
        assert_eq!(take(&mut dart, event(2, 20, BARE, 220, false)), Some(100));
        let fates = dart.fates()[0];
        assert_eq!((fates.matched, fates.pending, fates.responses, fates.unmatched), (2, 1, 3, 1));
        assert!(fates.is_conserved());
    }

    /// Segments in flight when something is retransmitted are not measured; later ones are.
    #[test]
    fn a_retransmission_leaves_nothing_to_measure() {
        let mut dart = dart(GOOD);
        send(&mut dart, 1, (10, 20), 100);
        send(&mut dart, 1, (20, 30), 110);
        send(&mut dart, 1, (10, 20), 120);
        assert_eq!(take(&mut dart, event(1, 30, BARE, 125, false)), None);
        send(&mut dart, 1, (30, 40), 130);
        assert_eq!(take(&mut dart, event(1, 40, BARE, 150, false)), Some(20));
        let fates = dart.fates()[0];
        assert_eq!((fates.seen, fates.matched, fates.ambiguous, fates.pending), (4, 1, 1, 2));
    }

    /// A SYN is not measured, and a new connection on the same ports is not taken for a retransmission by an old one.
    #[test]
    fn a_syn_begins_anew() {
        for has_syn in [false, true] {
            let mut dart = dart(GOOD);
            send(&mut dart, 1, (1_000, 2_000), 100);
            if has_syn {
                send(&mut dart, 1, (500, 500), 200);
            }
            send(&mut dart, 1, (500, 600), 210);
            assert_eq!(take(&mut dart, event(1, 600, BARE, 220, false)), has_syn.then_some(10));
            assert_eq!(dart.fates()[0].not_admitted, u64::from(has_syn));
            assert!(dart.fates()[0].is_conserved());
        }
    }

    /// After 78 h a record's time has wrapped.
    #[test]
    fn what_is_old_never_looks_young() {
        for gap in [99_000_000_000, (1 << 48) - 5, (1 << 48) + 5, 3 << 48] {
            let mut dart = dart(GOOD);
            send(&mut dart, 1, (10, 20), 100);
            let is_young = gap < 100_000_000_000;
            assert_eq!(take(&mut dart, event(1, 20, BARE, 100 + gap, false)), is_young.then_some(gap));
            assert_eq!(dart.fates()[0].expired, u64::from(!is_young));
            assert!(dart.fates()[0].is_conserved());
        }
    }

    /// The range of a flow that had lost its place is new; the record shows that the segment is not.
    #[test]
    fn a_segment_that_waits_is_known_again() {
        let mut dart = dart(Params { ranges: 4, ..GOOD });
        send(&mut dart, 1, (10, 20), 100);
        assert_eq!(take(&mut dart, event(1, 10, BARE, 110, false)), None, "which empties the range");
        (2..6).for_each(|flow| send(&mut dart, flow, (10, 20), 120));
        assert_eq!(dart.fates()[0].not_admitted, 0);
        assert_eq!(take(&mut dart, event(2, 20, BARE, 130, false)), Some(10));
        send(&mut dart, 1, (10, 20), 140);
        assert_eq!(take(&mut dart, event(1, 20, BARE, 150, false)), None);
        let fates = dart.fates()[0];
        assert_eq!((fates.ambiguous, fates.evicted), (1, 1));
        assert!(fates.is_conserved());
    }

    /// With one slot, a record that can no longer be measured is replaced; of two that can, one is lost.
    #[test]
    fn evicted_records_have_second_chances() {
        let one = Params { packets: 1, stages: 1, ..GOOD };
        let mut dart = dart(one);
        send(&mut dart, 1, (10, 20), 100);
        send(&mut dart, 1, (30, 40), 110);
        assert_eq!(dart.fates()[0].evicted, 1);
        assert_eq!(take(&mut dart, event(1, 40, BARE, 120, false)), Some(10));
        for (rounds, first, second) in [(0, None, Some(20)), (1, Some(30), None), (4, None, Some(20))] {
            let mut dart = self::dart(Params { rounds, ..one });
            send(&mut dart, 1, (10, 20), 100);
            send(&mut dart, 2, (10, 20), 110);
            assert_eq!(take(&mut dart, event(1, 20, BARE, 130, false)), first, "{rounds}");
            assert_eq!(take(&mut dart, event(2, 20, BARE, 130, false)), second, "{rounds}");
            assert!(dart.fates()[0].is_conserved());
        }
    }

    /// Recirculation keeps segments of flows with equal rates longer: with ¾ of the slots in use nearly all are kept,
    /// and without it many are not. Every segment is acknowledged after 700 others; 1,024 slots in 4 stages. Without
    /// recirculation, the control that must fail, .85 are kept, with it .999; shares of 1,000 flows have standard
    /// errors of .011 and .001, and the limits are eight of these off.
    #[test]
    fn rounds_keep_what_can_be_measured() {
        let kept = |rounds| {
            let mut dart = dart(Params { ranges: 1 << 13, packets: 1 << 10, stages: 4, rounds });
            let mut kept = 0;
            for i in 0..100_000u32 {
                let (flow, start) = (hash::finish((i % 1_000).into()) as u32, i / 1_000 * 10);
                send(&mut dart, flow, (start, start + 10), i.into());
                if let Some(earlier) = i.checked_sub(700) {
                    let (flow, start) = (hash::finish((earlier % 1_000).into()) as u32, earlier / 1_000 * 10);
                    kept += u32::from(take(&mut dart, event(flow, start + 10, BARE, i.into(), false)) == Some(700));
                }
            }
            assert!(dart.fates()[0].is_conserved());
            f64::from(kept) / 99_300.0
        };
        let [none, eight] = [0, 8].map(kept);
        assert!(none < 0.95 && eight > 0.99, "{none} {eight}");
    }

    #[test]
    fn every_request_has_one_fate() {
        for params in [GOOD, Params { ranges: 8, packets: 1 << 10, stages: 8, rounds: 8 }] {
            let mut dart = dart(params);
            for i in 0..50_000u64 {
                let random = hash::finish(i);
                let (flow, number) = ((random & 31) as u32, (i as u32 / 30).wrapping_mul(10).wrapping_sub(2_000));
                let (at, back) = (i as i64 * 40_000_000, (random >> 8 & 7) as u32 / 3 * 10);
                let tag = (random >> 16 & 1) as u16;
                let start = number.wrapping_sub(back);
                take(&mut dart, Event { tag, ..event(flow, start.wrapping_add(10), start, at, true) });
                take(&mut dart, Event { tag, ..event(flow, number, (random >> 20 & 1) as u32, at + 5, false) });
            }
            let fates = dart.fates();
            assert!(fates.iter().all(Fates::is_conserved), "{fates:?}");
            let sum = |of: fn(&Fates) -> u64| fates.iter().map(of).sum::<u64>();
            assert_eq!((sum(|f| f.seen), sum(|f| f.responses)), (50_000, 50_000));
            let kinds = [sum(|f| f.matched), sum(|f| f.ambiguous), sum(|f| f.evicted), sum(|f| f.pending + f.expired)];
            assert!(kinds.iter().all(|&count| count > 0), "{kinds:?}");
        }
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let terms = terms(Match::TcpAck, Nanos::from_secs(1));
        for (params, error) in [
            (Params { stages: 0, ..GOOD }, DartError::Stages(0)),
            (Params { stages: 9, ..GOOD }, DartError::Stages(9)),
            (Params { packets: 1, ..GOOD }, DartError::Slots { ranges: 64, packets: 1 }),
            (Params { ranges: 3, ..GOOD }, DartError::Slots { ranges: 3, packets: 64 }),
        ] {
            assert_eq!(Dart::new(params, terms).unwrap_err(), error);
        }
        assert_eq!(GivenTrackers::default().least_bytes(), Params::LEAST_BYTES);
        assert_eq!(Params::budget(Params::LEAST_BYTES - 1, &GivenTrackers::default()), None);
        for bytes in [Params::LEAST_BYTES, 10_007, 1 << 20] {
            let dart = dart(Params::budget(bytes, &GivenTrackers::default()).unwrap());
            assert!(dart.ranges.state_bytes() + dart.packets.state_bytes() <= bytes, "{bytes}");
        }
    }
}
