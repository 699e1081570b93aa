use crate::codec::{CodecError, MOST_COUNTED, Reader};
use crate::{Event, Fates};

/// Counts of the requests and responses of one series.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) responses: u64,
    pub(super) refused: u64,
    pub(super) ignored: u64,
    pub(super) ambiguous: u64,
    pub(super) resolved: u64,
    pub(super) evicted: u64,
    pub(super) expired: u64,
    pub(super) matched: u64,
    /// Responses of this series that found a request, of any series.
    pub(super) answers: u64,
}

/// Counts of events of one series: most batches have only one, and are counted at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    events: u64,
    requests: u64,
    /// Not zero if there are events of other series.
    pub(super) others: u16,
}

impl Tally {
    #[inline]
    pub(super) fn of<'a>(events: impl Iterator<Item = &'a Event>, tag: u16) -> Self {
        events.fold(Self::default(), |tally, event| Self {
            events: tally.events + 1,
            requests: tally.requests + u64::from(event.is_request),
            others: tally.others | event.tag ^ tag,
        })
    }
}

impl Counts {
    /// Counts a request that is overwritten while it waits.
    #[inline]
    pub(super) fn let_go(&mut self, is_expired: bool) {
        *(if is_expired { &mut self.expired } else { &mut self.evicted }) += 1;
    }

    /// All fates but those that need a look at the slots: how many requests still wait, and how many of them too long.
    pub(super) fn fates(&self) -> Fates {
        Fates {
            seen: self.requests - self.ignored,
            not_admitted: self.refused,
            matched: self.matched,
            evicted: self.evicted,
            expired: self.expired,
            ambiguous: self.ambiguous,
            responses: self.responses,
            unmatched: self.responses - self.answers,
            resolved: self.resolved,
            ..Fates::default()
        }
    }

    /// All counts, in the order of the fields.
    pub(super) fn all(&self) -> [u64; 10] {
        let Self { requests, responses, refused, ignored, ambiguous, resolved, evicted, expired, matched, answers } =
            *self;
        [requests, responses, refused, ignored, ambiguous, resolved, evicted, expired, matched, answers]
    }

    /// Reads the counts; rejects impossible numbers, and parts greater than the whole.
    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut all = [0; 10];
        for count in &mut all {
            *count = from.u64()?;
        }
        let [requests, responses, refused, ignored, ambiguous, resolved, evicted, expired, matched, answers] = all;
        if all.iter().any(|&count| count > MOST_COUNTED) || ignored > requests || answers > responses {
            return Err(CodecError::Value("counts"));
        }
        Ok(Self { requests, responses, refused, ignored, ambiguous, resolved, evicted, expired, matched, answers })
    }

    #[inline]
    pub(super) fn add(&mut self, all: Tally, admitted: Tally) {
        self.requests += all.requests;
        self.responses += all.events - all.requests;
        self.refused += all.requests - admitted.requests;
    }
}
