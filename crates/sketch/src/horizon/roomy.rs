use super::{Horizon, HorizonError};
use crate::exact::Exact;
use crate::parts::batch::{BATCH, begin};
use crate::{Event, Fates, Gate, Meter, NewBands, Risk, Sample, Structure, Terms};
use dwell_types::{ExchangeId, Timestamp};

/// A [`Horizon`] in memory larger than the caches.
///
/// It begins with plain entries, which take more room but are found faster. They are packed when they would exceed
/// their memory, long before a request must be dropped. The samples are the same either way.
#[derive(Clone, Debug)]
pub struct Roomy {
    plain: Option<Plain>,
    /// Until plain entries are packed it holds no requests, but knows of all samples.
    packed: Horizon,
    /// Of the packed table.
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Plain {
    exact: Exact,
    most_bytes: usize,
}

/// Memory of plain entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Borrower {
    /// What they take now.
    pub(crate) bytes: usize,
    /// The peak while processing another batch.
    pub(crate) ahead: usize,
    /// The memory that the table owns once they are packed.
    pub(crate) own: usize,
}

impl Roomy {
    /// With less memory plain entries gain little, since most of it is cached.
    pub(crate) const LEAST_BYTES: usize = 4 << 20;

    /// See [`Horizon::new`].
    pub fn new(bytes: usize, has_tokens: bool, terms: Terms) -> Result<Self, HorizonError> {
        let packed = Horizon::new(bytes, has_tokens, terms)?;
        let plain = Plain { exact: Exact::new(terms), most_bytes: bytes };
        Ok(Self { plain: Some(plain), packed, bytes })
    }

    /// The memory of the plain entries, until they are packed.
    pub(crate) fn borrower(&self) -> Option<Borrower> {
        let exact = self.exact()?;
        Some(Borrower { bytes: exact.bytes(), ahead: exact.bytes_ahead(), own: self.bytes })
    }

    /// Sets the memory that plain entries may take from now on, as far as the packed table has room for all of them;
    /// packs them if they take more.
    pub(crate) fn lend(&mut self, bytes: usize, now: Timestamp) {
        let Some(plain) = &mut self.plain else { return };
        plain.most_bytes = bytes.min(self.packed.room() * Exact::LEAST_ENTRY_BYTES);
        if plain.exact.bytes() > plain.most_bytes {
            self.pack(now);
        }
    }

    /// The table of plain entries, until they are packed.
    #[inline]
    pub(crate) fn exact(&self) -> Option<&Exact> {
        self.plain.as_ref().map(|plain| &plain.exact)
    }

    #[cold]
    fn pack(&mut self, now: Timestamp) {
        if let Some(Plain { exact, .. }) = self.plain.take() {
            exact.unmatched().enumerate().for_each(|(tag, responses)| self.packed.pass_by(tag, responses));
            self.packed.take_over(exact, now);
        }
    }
}

impl Meter for Roomy {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        let mut left = events;
        while let Some(plain) = &mut self.plain {
            let (batch, behind) = left.split_at(left.len().min(BATCH));
            let (Some(first), Some(now)) = (batch.first(), begin(batch)) else { return };
            if plain.exact.bytes_ahead() > plain.most_bytes {
                self.pack(now);
                break;
            }
            let before = samples.len();
            plain.exact.update(batch, samples);
            self.packed.know(first.at, &samples[before..]);
            left = behind;
        }
        if !left.is_empty() {
            self.packed.update(left, samples);
        }
    }

    fn advance(&mut self, now: Timestamp) {
        match &mut self.plain {
            Some(plain) => plain.exact.advance(now),
            None => self.packed.advance(now),
        }
    }

    fn gate(&self) -> Gate {
        self.packed.gate()
    }

    fn remembers_all(&self) -> bool {
        self.packed.remembers_all()
    }

    fn is_filling(&self) -> bool {
        self.packed.is_filling()
    }

    fn open_ids(&self) -> Option<Box<dyn Iterator<Item = ExchangeId> + '_>> {
        self.plain.as_ref().and_then(|plain| plain.exact.open_ids())
    }

    fn pass_by(&mut self, tag: usize, responses: u64) {
        self.packed.pass_by(tag, responses);
    }

    fn risk(&self, tag: usize) -> Option<Risk> {
        self.packed.risk(tag)
    }

    fn take_new_bands(&mut self) -> Option<NewBands> {
        self.packed.take_new_bands()
    }

    fn fates(&self) -> Vec<Fates> {
        self.plain.as_ref().map_or_else(|| self.packed.fates(), |plain| plain.exact.fates())
    }

    fn structure(&self) -> Structure {
        self.packed.structure()
    }

    fn sampled_since(&self) -> Option<Timestamp> {
        self.packed.sampled_since()
    }

    fn growing_bytes(&self) -> Option<usize> {
        self.packed.growing_bytes()
    }

    fn state_bytes(&self) -> usize {
        self.exact().map_or(0, Exact::state_bytes) + self.packed.state_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{request, response, terms};
    use dwell_types::{Match, Nanos, hash};

    /// The two variants in this many bytes, with and without plain entries.
    fn both(bytes: usize, matching: Match) -> (Roomy, Horizon) {
        let roomy = Roomy::new(bytes, true, terms(matching, Nanos::from_secs(100))).unwrap();
        let horizon = roomy.packed.clone();
        (roomy, horizon)
    }

    /// Samples, counts and risks, at several times, of a stream where a third is never answered and some repeat.
    fn of_stream(meter: &mut impl Meter, requests: u64) -> (Vec<Sample>, Vec<Fates>, Vec<Option<Risk>>) {
        let (mut samples, mut fates, mut risks) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..requests {
            let at = i as i64 * 1_000;
            let tag = |i: u64| (i % 2) as u16;
            let answered = i.saturating_sub(1 + hash::finish(i) % 900);
            let event = |event: Event, i: u64| Event { tag: tag(i), token: i as u32 % 5, ..event };
            let mut batch = vec![event(response(!i, at), i)];
            if answered % 3 > 0 {
                batch.push(event(response(hash::finish(answered), at), answered));
            }
            batch.push(event(request(hash::finish(i), at), i));
            if i % 50 == 49 {
                batch.push(event(request(hash::finish(i - i % 40), at), i - i % 40));
            }
            if meter.remembers_all() {
                meter.pass_by(usize::from(tag(i)), 1);
            }
            meter.update(&batch, &mut samples);
            if i % 7_001 == 0 {
                fates.extend(meter.fates());
                risks.extend((0..2).map(|tag| meter.risk(tag)));
            }
        }
        fates.extend(meter.fates());
        risks.extend((0..2).map(|tag| meter.risk(tag)));
        (samples, fates, risks)
    }

    /// Whether or not requests are packed, and some dropped after that, samples, counts and risks equal those of a
    /// table that was packed from the start.
    #[test]
    fn nobody_can_tell() {
        for matching in [Match::Dns, Match::TcpTs, Match::TcpHandshake] {
            // Answered requests stay in the table where equal ones are ignored.
            let some = if matching == Match::TcpTs { 3 << 20 } else { 1 << 20 };
            for (bytes, is_packed, is_sampled) in [(40 << 20, false, false), (some, true, false), (1 << 19, true, true)]
            {
                let (mut roomy, mut horizon) = both(bytes, matching);
                let expected = of_stream(&mut horizon, 100_000);
                let found = of_stream(&mut roomy, 100_000);
                assert_eq!(roomy.plain.is_none(), is_packed, "{matching:?} {bytes}");
                assert_eq!(horizon.sampled_since().is_some(), is_sampled, "{matching:?} {bytes}");
                assert_eq!(roomy.packed.sampled_since(), horizon.sampled_since());
                assert!(found.0 == expected.0, "samples of {matching:?} in {bytes}");
                assert!(found.1 == expected.1, "counts of {matching:?} in {bytes}");
                assert!(found.2 == expected.2, "risks of {matching:?} in {bytes}");
                assert_eq!(found.2.iter().any(Option::is_some), is_sampled);
            }
        }
    }

    /// While requests that are never answered are packed and the table grows, memory stays within its bound.
    #[test]
    fn memory_is_bounded() {
        let bytes = 1 << 20;
        let (mut roomy, _) = both(bytes, Match::TcpAck);
        let besides = roomy.state_bytes();
        let mut most_plain = 0;
        for i in 0..3_000 {
            let batch: Vec<Event> = (64 * i..64 * (i + 1)).map(|i| request(hash::finish(i), i as i64)).collect();
            roomy.update(&batch, &mut Vec::new());
            assert!(roomy.state_bytes() <= bytes + besides, "{} bytes", roomy.state_bytes());
            most_plain = roomy.plain.as_ref().map_or(most_plain, |plain| plain.exact.bytes());
        }
        assert!(most_plain > bytes / 4 && roomy.plain.is_none() && !roomy.remembers_all());
    }

    /// A single wild timestamp at any point around packing expires no other request.
    #[test]
    fn a_wild_time_expires_nothing() {
        const REQUESTS: u64 = 2_400;
        for wild in (0..REQUESTS).step_by(7) {
            let (mut roomy, _) = both(1 << 16, Match::Dns);
            let at = |i: u64| if i == wild { i64::MAX / 3 } else { i as i64 };
            let events: Vec<Event> = (0..REQUESTS).map(|i| request(hash::finish(i), at(i))).collect();
            roomy.update(&events, &mut Vec::new());
            assert!(roomy.plain.is_none());
            let responses: Vec<Event> = (0..REQUESTS).map(|i| response(hash::finish(i), at(i) + 500)).collect();
            roomy.update(&responses, &mut Vec::new());
            assert!(roomy.fates()[0].matched >= REQUESTS - 1, "wild at {wild}: {:?}", roomy.fates()[0]);
        }
    }
}
