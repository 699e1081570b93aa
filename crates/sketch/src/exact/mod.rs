//! Every exchange remembered until it is answered or expires: the exact reference of the delay sketches.
//!
//! **Answers**: the delay of every exchange, weight 1.
//!
//! **Model**: ids differ between exchanges that are open at the same time. Requests older than the expiry are dropped,
//! so a delay above the expiry is not measured; the request is counted as `expired`.
//!
//! **State**: 24 bytes for each open request, twice that for a repeated one, and 6 to 13 in an index, whose numbers
//! include bits of the id, so that most absent ids are recognised there. Times do not wrap. Where later equal requests
//! are ignored, answered ones stay for a tick, or until they expire ([`dwell_types::Repeat`]).
//!
//! **Cost**: one read of 32 bytes of the index per request or response, and of one entry if it is found or inserted.
//!
//! **Estimate**: none needed. A request that repeats an open id is counted as ambiguous; its exchange gives a sample
//! with both bounds, unless the response's token identifies the request that it answers.

use crate::parts::batch::{BATCH, begin};
use crate::parts::open::Record;
use crate::parts::repeats::Meets;
use crate::{Event, Fates, Meter, Sample, Structure, Terms};
use dwell_types::{ExchangeId, Nanos, Timestamp};

// The index from ids to entries.
mod index;
// The entries: one per request.
mod table;
use table::{Found, Table};

/// A table of all open requests.
#[derive(Clone, Debug)]
pub struct Exact {
    terms: Terms,
    open: Table,
    fates: Vec<Fates>,
    latest: Timestamp,
    swept: Timestamp,
}

impl Exact {
    /// A lower bound of the memory per request.
    pub(crate) const LEAST_ENTRY_BYTES: usize = Table::ENTRY_BYTES;

    /// A table that grows as needed.
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            open: Table::new(),
            fates: Fates::none(terms.tags),
            latest: Timestamp::MIN,
            swept: Timestamp::MIN,
        }
    }

    /// Prefetches the memory that an event with this id will need. To be called before [`Meter::update`], which
    /// prefetches only for the batches after the first.
    #[inline]
    pub(crate) fn prefetch(&self, id: ExchangeId) {
        self.open.prefetch(id);
    }

    /// Bytes that grow with the number of open requests.
    pub(crate) fn bytes(&self) -> usize {
        self.open.bytes()
    }

    /// The peak while processing another batch.
    pub(crate) fn bytes_ahead(&self) -> usize {
        self.open.bytes_ahead()
    }

    /// Unmatched responses so far, by tag.
    pub(crate) fn unmatched(&self) -> impl Iterator<Item = u64> {
        self.fates.iter().map(|fates| fates.unmatched)
    }

    /// Passes all requests that have not expired at `now` to `take`: the first of equal ones and, if there were
    /// several, the last; their memory is freed piece by piece. Returns the counts and the latest time.
    pub(crate) fn hand_over(
        mut self,
        now: Timestamp,
        take: impl FnMut(ExchangeId, Record, Option<Record>),
    ) -> (Vec<Fates>, Timestamp) {
        self.sweep(now);
        self.open.drain(take);
        (self.fates, self.latest)
    }

    /// Drops expired requests, then grows if that freed little.
    #[cold]
    fn make_room(&mut self, now: Timestamp) {
        let Terms { expiry, repeat, .. } = self.terms;
        // In either direction: after the clock was set back, too.
        if (now - self.swept).is_farther_than(repeat.remembers(Nanos::new(expiry.get() / 4))) {
            self.sweep(now);
        }
        self.open.grow();
    }

    fn sweep(&mut self, now: Timestamp) {
        self.swept = now;
        let Terms { expiry, repeat, .. } = self.terms;
        let (remembered, fates) = (repeat.remembers(expiry), &mut self.fates);
        self.open.retain(now, |wait| {
            let is_over = wait.is_over(expiry, remembered);
            if is_over && wait.is_open() {
                fates[usize::from(wait.tag)].expired += 1;
            }
            !is_over
        });
    }

    #[inline]
    fn request(&mut self, found: Found, request: &Event) {
        if found.is_known() {
            return self.meet(found, request);
        }
        self.open.put(found, request);
        self.fates[usize::from(request.tag)].seen += 1;
    }

    /// Processes a request with the same id as one in the table.
    #[inline(never)]
    fn meet(&mut self, found: Found, request: &Event) {
        let met = self.open.look(found, request.at);
        let fates = &mut self.fates[usize::from(met.tag)];
        match met.meets(self.terms.expiry, self.terms.repeat) {
            Meets::Ignorable => self.open.ignore(found, request.at, self.terms.repeat),
            Meets::Open => {
                fates.repeat();
                self.open.repeat(found, request);
            }
            Meets::Other => {
                fates.expired += u64::from(met.is_open());
                self.open.replace(found, request);
                self.fates[usize::from(request.tag)].seen += 1;
            }
        }
    }

    /// Processes a response; returns a sample if its request is known.
    #[inline]
    fn response(&mut self, found: Found, response: &Event) -> Option<Sample> {
        let known = found.is_known().then(|| self.open.look(found, response.at));
        let fates = &mut self.fates[usize::from(response.tag)];
        let Some(wait) = known.filter(|wait| wait.is_open() && !wait.is_older(self.terms.expiry)) else {
            fates.respond(false);
            return None;
        };
        fates.respond(true);
        self.open.close(found, response.at, self.terms.repeat);
        let (sample, is_resolved) = wait.sample(response);
        self.fates[usize::from(wait.tag)].answer(is_resolved);
        Some(sample)
    }
}

impl Meter for Exact {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        let mut batches = events.chunks(BATCH).peekable();
        while let Some(batch) = batches.next() {
            if self.open.is_full()
                && let Some(now) = begin(batch)
            {
                self.make_room(now);
            }
            if let Some(next) = batches.peek() {
                next.iter().for_each(|event| self.prefetch(event.id));
            }
            for event in batch {
                self.latest = self.latest.max(event.at);
                // The unpredictable branch comes first: it is resolved long before the entry is found.
                if event.is_request {
                    self.request(self.open.find(event.id), event);
                } else if let Some(sample) = self.response(self.open.find(event.id), event) {
                    samples.push(sample);
                }
            }
        }
    }

    fn remembers_all(&self) -> bool {
        true
    }

    fn open_ids(&self) -> Option<Box<dyn Iterator<Item = ExchangeId> + '_>> {
        Some(Box::new(self.open.open_ids()))
    }

    fn advance(&mut self, now: Timestamp) {
        self.latest = now;
    }

    fn fates(&self) -> Vec<Fates> {
        let mut fates = self.fates.clone();
        self.open.count_open(&mut fates, self.latest, self.terms.expiry);
        fates
    }

    fn structure(&self) -> Structure {
        Structure::Table
    }

    fn sampled_since(&self) -> Option<Timestamp> {
        None
    }

    fn state_bytes(&self) -> usize {
        self.open.bytes() + self.fates.capacity() * size_of::<Fates>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_batches_agree, request, response, take, terms};
    use dwell_types::{Match, hash};

    fn exact(matching: Match, expiry_s: i64) -> Exact {
        Exact::new(terms(matching, Nanos::from_secs(expiry_s)))
    }

    #[test]
    fn a_response_gives_the_delay_of_its_request_once() {
        let mut exact = exact(Match::TcpAck, 10);
        take(&mut exact, Event { tag: 0, ..request(1, 100) });
        take(&mut exact, Event { tag: 1, ..request(2, 150) });
        let sample = take(&mut exact, response(1, 350)).unwrap();
        assert_eq!((sample.since_first.get(), sample.weight, sample.tag), (250, 1.0, 0));
        assert_eq!(take(&mut exact, response(1, 400)), None);
        let fates = exact.fates();
        assert_eq!((fates[0].seen, fates[0].matched, fates[0].pending), (1, 1, 0));
        assert_eq!((fates[0].responses, fates[0].unmatched), (2, 1));
        assert_eq!((fates[1].seen, fates[1].pending), (1, 1));
        assert!(fates.iter().all(Fates::is_conserved));
    }

    /// A handshake answered after its SYN was repeated: the token identifies the SYN, or else both bounds are kept.
    /// Dropping it (Karn's rule) would lose every handshake that is slower than the retransmission timer.
    #[test]
    fn repeated_requests_keep_both_bounds_unless_the_response_names_one() {
        let second = 1_000_000_000;
        for (token, since_first, since_last) in [(0, 3_700, 700), (11, 3_700, 3_700), (13, 700, 700), (12, 3_700, 700)]
        {
            let mut exact = exact(Match::TcpHandshake, 60);
            for (at, token) in [(0, 11), (1, 12), (3, 13)] {
                take(&mut exact, Event { token, ..request(5, at * second) });
            }
            let sample = take(&mut exact, Event { token, ..response(5, 3_700_000_000) }).unwrap();
            assert_eq!(
                (sample.since_first.get() / 1_000_000, sample.since_last.get() / 1_000_000),
                (since_first, since_last),
                "token {token}"
            );
            let fates = exact.fates()[0];
            assert_eq!((fates.seen, fates.ambiguous, fates.matched), (3, 2, 1));
            assert_eq!(fates.resolved, u64::from(since_first == since_last));
            assert!(fates.is_conserved());
        }
    }

    #[test]
    fn equal_requests_are_ignored_where_the_rule_says_so_even_after_the_answer() {
        let mut exact = exact(Match::TcpTs, 10);
        take(&mut exact, Event { tag: 0, ..request(5, 0) });
        take(&mut exact, Event { tag: 0, ..request(5, 10) });
        assert_eq!(take(&mut exact, response(5, 100)).unwrap().since_first.get(), 100);
        take(&mut exact, Event { tag: 0, ..request(5, 110) });
        assert_eq!(take(&mut exact, response(5, 120)), None);
        let fates = exact.fates()[0];
        assert_eq!((fates.seen, fates.matched, fates.ambiguous), (1, 1, 0));
        assert!(fates.is_conserved());
    }

    const MS: i64 = 1_000_000;

    /// A late segment with an answered TSval is ignored within a second of the last one, however long they go on; after
    /// that it counts as a request, which nothing answers if it was only delayed.
    #[test]
    fn an_answered_tsval_is_forgotten_after_a_tick() {
        let mut exact = exact(Match::TcpTs, 100);
        take(&mut exact, request(5, 0));
        assert_eq!(take(&mut exact, response(5, 20 * MS)).unwrap().since_first.get(), 20 * MS);
        let mut seen_at = |at: i64| {
            assert_eq!(take(&mut exact, request(5, at * MS)), None);
            let fates = exact.fates()[0];
            assert!(fates.is_conserved());
            (fates.seen, fates.pending)
        };
        for at in [900, 1_020, 2_020, 3_000] {
            assert_eq!(seen_at(at), (1, 0), "{at} ms");
        }
        assert_eq!(seen_at(4_001), (2, 1));
    }

    /// A TSval each millisecond for 200 s, answered after 50 ms: answered ones take memory for two seconds at most, while a
    /// request that is open for longer stays.
    #[test]
    fn answered_tsvals_leave_the_memory() {
        let (mut exact, mut samples) = (exact(Match::TcpTs, 100), Vec::new());
        exact.update(&[request(1, 0)], &mut samples);
        let mut most_bytes = 0;
        for i in 0..200_000 {
            let (asked, answered) = (hash::finish(i), hash::finish(i.wrapping_sub(50)));
            exact.update(&[request(asked, i as i64 * MS), response(answered, i as i64 * MS)], &mut samples);
            if i == 90_000 {
                exact.update(&[response(1, i as i64 * MS)], &mut samples);
            }
            most_bytes = most_bytes.max(exact.state_bytes());
        }
        assert_eq!(samples.len(), 200_001 - 50);
        assert!(most_bytes < 4_000 * 24, "{most_bytes} bytes");
    }

    /// Nothing is answered for an hour, and half a minute later the clock is set back by a year: what has expired
    /// leaves the memory before as after.
    #[test]
    fn a_clock_that_is_set_back_keeps_nothing_for_ever() {
        let (mut exact, mut samples) = (exact(Match::Dns, 10), Vec::new());
        let year = 365 * 24 * 3_600_000 * MS;
        for at in (0..3_600_000).step_by(50) {
            let ahead = if at < 30_000 { year } else { 0 };
            exact.update(&[request(hash::finish(at), at as i64 * MS + ahead)], &mut samples);
        }
        let fates = exact.fates()[0];
        assert!(fates.is_conserved() && fates.pending <= 201, "{fates:?}");
        assert!(exact.state_bytes() < 1_000 * 24, "{} bytes", exact.state_bytes());
    }

    /// Requests with one id every hour, for longer than slots can represent times: only the last 36 hours count as one
    /// exchange, however many there are.
    #[test]
    fn repeats_for_days_are_more_than_one_exchange() {
        let hour = 3_600_000_000_000;
        for hours in [30, 40, 70, 100] {
            let mut exact = exact(Match::TcpFlow, 24 * 3600);
            (0..hours).for_each(|i| _ = take(&mut exact, request(5, i * hour)));
            let sample = take(&mut exact, response(5, (hours - 1) * hour + 7)).unwrap();
            assert_eq!(sample.since_last.get(), 7, "{hours} hours");
            assert_eq!(sample.since_first.get(), (hours - 1) % 37 * hour + 7, "{hours} hours");
            let fates = exact.fates()[0];
            assert_eq!((fates.expired, fates.matched), ((hours as u64 - 1) / 37, 1));
            assert!(fates.is_conserved());
        }
    }

    /// A repeated request has an earlier timestamp than the first: the bounds of the delay are still ordered.
    #[test]
    fn bounds_are_ordered_where_time_goes_back() {
        let mut exact = exact(Match::Dns, 10);
        for at in [10_000, 9_000] {
            take(&mut exact, request(5, at));
        }
        let sample = take(&mut exact, response(5, 20_000)).unwrap();
        assert_eq!((sample.since_last.get(), sample.since_first.get()), (10_000, 11_000));
    }

    /// A request that expired at the end of an interval but is answered after time went back is carried over.
    #[test]
    fn intervals_are_conserved_where_time_goes_back() {
        let mut exact = exact(Match::Dns, 1);
        take(&mut exact, request(5, 0));
        take(&mut exact, request(6, 3_000_000_000));
        let then = exact.fates()[0];
        assert!(take(&mut exact, response(5, 500_000_000)).is_some());
        let now = exact.fates()[0];
        let between = now.since(&then);
        assert_eq!((then.expired, between.expired, between.matched, now.carried_over(&then)), (1, 0, 1, 2));
        assert!(Fates { seen: between.seen + now.carried_over(&then), ..between }.is_conserved());
    }

    #[test]
    fn batches_change_nothing() {
        for matching in [Match::Dns, Match::TcpTs] {
            assert_batches_agree(|| exact(matching, 10));
        }
    }

    /// A single wild timestamp, anywhere in a growing table, expires no other request.
    #[test]
    fn a_wild_time_expires_nothing() {
        for wild in 0..400 {
            let mut exact = exact(Match::Dns, 10);
            let at = |i: u64| if i == wild { i64::MAX / 2 } else { i as i64 };
            let events: Vec<Event> = (0..400).map(|i| request(hash::finish(i), at(i))).collect();
            exact.update(&events, &mut Vec::new());
            let responses: Vec<Event> = (0..400).map(|i| response(hash::finish(i), at(i) + 500)).collect();
            exact.update(&responses, &mut Vec::new());
            assert!(exact.fates()[0].matched >= 399, "wild at {wild}: {:?}", exact.fates()[0]);
        }
    }

    #[test]
    fn old_requests_expire_and_their_ids_may_come_again() {
        let mut exact = exact(Match::Dns, 1);
        take(&mut exact, Event { tag: 0, ..request(5, 0) });
        assert_eq!(take(&mut exact, response(5, 1_000_000_001)), None);
        take(&mut exact, Event { tag: 0, ..request(5, 2_000_000_000) });
        assert_eq!(take(&mut exact, response(5, 2_000_000_007)).unwrap().since_first.get(), 7);
        let fates = exact.fates()[0];
        assert_eq!((fates.seen, fates.expired, fates.matched, fates.ambiguous), (2, 1, 1, 0));
        assert!(fates.is_conserved());
    }
}
