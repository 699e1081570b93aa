use crate::parts::repeats::{Meets, Tokens};
use crate::{Event, Sample, Terms};
use dwell_types::{Nanos, Repeat};

/// A request in a table, as seen at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// Time since the first of equal requests.
    pub(super) since_first: Nanos,
    /// Time since the last.
    pub(crate) since_last: Nanos,
    tokens: Tokens,
    pub(crate) tag: u16,
    is_open: bool,
    is_repeated: bool,
}

impl Wait {
    /// A request that was seen once, this long ago, with the tag of its series and one byte of its token.
    #[inline]
    pub(crate) fn new(since: Nanos, tag: u16, token: u8, is_open: bool) -> Self {
        let tokens = Tokens { first: token, last: token };
        Self { since_first: since, since_last: since, tokens, tag, is_open, is_repeated: false }
    }

    /// Records that it was repeated, last this long ago.
    #[inline]
    pub(crate) fn repeat(&mut self, since_last: Nanos, token: u8) {
        (self.since_last, self.tokens.last, self.is_repeated) = (since_last, token, true);
    }

    /// Whether it still waits for its response.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether it waits and was repeated.
    #[inline]
    pub(crate) fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// Whether more than `age` lies between the last equal request and that moment, in either direction.
    #[inline]
    pub(crate) fn is_older(&self, age: Nanos) -> bool {
        self.since_last.is_farther_than(age)
    }

    /// Whether more than the expiry has passed since the last equal request. One that is later than that moment has not
    /// expired: the present may be taken to be earlier than a timestamp that may be wrong.
    #[inline]
    pub(crate) fn has_expired(&self, expiry: Nanos) -> bool {
        self.since_last > expiry
    }

    /// Whether it is older than its kind is kept: requests that wait for `lifetime`, answered ones for `remembered`.
    #[inline]
    pub(crate) fn is_over(&self, lifetime: Nanos, remembered: Nanos) -> bool {
        self.is_older(if self.is_open { lifetime } else { remembered })
    }

    /// How an equal request at that moment relates to this one, if requests that wait are kept for this long.
    #[inline]
    pub(crate) fn meets(&self, lifetime: Nanos, repeat: Repeat) -> Meets {
        let is_over = self.is_over(lifetime, repeat.remembers(lifetime));
        let is_other = is_over || self.since_first > Terms::LONGEST_WAIT;
        if is_other { Meets::Other } else { Meets::equal(self.is_open, repeat) }
    }

    /// The sample of a response at that moment, with weight 1, and whether its token resolved which of several requests
    /// it answers.
    #[inline]
    pub(crate) fn sample(&self, response: &Event) -> (Sample, bool) {
        let &Self { since_first, since_last, tag, .. } = self;
        if !self.is_repeated {
            return (Sample::answer(response, tag, since_first), false);
        }
        let mut sample = Sample { since_last, ..Sample::answer(response, tag, since_first) };
        let is_resolved = sample.resolve(self.tokens.answered(response.token));
        // If time went back between the requests, the last one is the older one.
        let (shorter, longer) = (sample.since_last.min(sample.since_first), sample.since_last.max(sample.since_first));
        (Sample { since_last: shorter, since_first: longer, ..sample }, is_resolved)
    }
}
