use crate::Event;
use dwell_types::{Nanos, Timestamp};

/// A response that was matched to its request: one delay, and how many exchanges it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When the response was seen.
    pub at: Timestamp,
    /// Time from the first request with this id to the response.
    pub since_first: Nanos,
    /// Time from the last request with this id to the response. Less than `since_first` where the request was repeated
    /// and it is not known which copy was answered.
    pub since_last: Nanos,
    /// One over the probability that this exchange was sampled; at least 1. What a store makes of others is said at
    /// [`DelayStore::update`](crate::distribution::DelayStore::update).
    pub weight: f64,
    /// Where it is not known which of several requests was answered: one over the probability that all were seen, and
    /// not only the last. At least `weight`, and equal to it where repeated requests stay in the table.
    pub repeat_weight: f64,
    /// Requests inserted between the request and the response; zero for methods that do not count them.
    pub inserted_since: u64,
    /// How many insertions (or, with horizons, what age) it survived, as a band of the product limit of its series;
    /// zero if the weight alone is enough. Up to 31.
    pub band: u8,
    /// The same for the delay since the first request, where it is ambiguous. Zero with horizons: there would be many
    /// bins by band and delay, and their bands add little to the weight.
    pub repeat_band: u8,
    /// By how many eighths of octaves a product limit counts it for more than its weight: where a gate opened lately, it
    /// follows some bands only by the ids that passed before.
    pub limit_steps: i16,
    /// The series of the request, as the caller numbered it.
    pub tag: u16,
    /// The caller's mark, copied from the response.
    pub mark: u8,
}

impl Sample {
    /// The same delay with another weight, that is, standing for so many exchanges.
    #[inline]
    pub fn weighted(self, weight: f64) -> Self {
        Self { weight, repeat_weight: weight, ..self }
    }

    /// The same with the weight that it has in the product limit of its series.
    #[inline]
    pub fn limited(self) -> Self {
        let more = (f64::from(self.limit_steps) / 8.0).exp2();
        Self { weight: self.weight * more, repeat_weight: self.repeat_weight * more, limit_steps: 0, ..self }
    }

    /// A single delay with weight 1, of series zero and without a mark.
    #[inline]
    pub fn of(at: Timestamp, delay: Nanos) -> Self {
        Self {
            at,
            since_first: delay,
            since_last: delay,
            weight: 1.0,
            repeat_weight: 1.0,
            inserted_since: 0,
            band: 0,
            repeat_band: 0,
            limit_steps: 0,
            tag: 0,
            mark: 0,
        }
    }

    /// The delay of a response to a request of this series, with weight 1.
    #[inline]
    pub(crate) fn answer(response: &Event, tag: u16, delay: Nanos) -> Self {
        Self { tag, mark: response.mark, ..Self::of(response.at, delay) }
    }

    /// The sample of a method that stores no entries: weight 1, in the response's series.
    #[inline]
    pub(crate) fn alone(response: &Event, delay: Nanos) -> Self {
        Self::answer(response, response.tag, delay)
    }

    /// Whether it is ambiguous which of several requests was answered.
    #[inline]
    pub fn is_ambiguous(&self) -> bool {
        self.since_first != self.since_last
    }
}

/// What became of the requests and responses of one series.
///
/// `seen = not_admitted + matched + evicted + expired + ambiguous + pending`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Requests observed.
    pub seen: u64,
    /// Left out by sampling: on arrival, or when the sampling rate fell.
    pub not_admitted: u64,
    /// Matched with a response.
    pub matched: u64,
    /// Overwritten or dropped before a response came, and before the expiry.
    pub evicted: u64,
    /// Not answered before the expiry.
    pub expired: u64,
    /// Repeated a request that was still open.
    pub ambiguous: u64,
    /// Still open.
    pub pending: u64,
    /// Responses observed.
    pub responses: u64,
    /// Responses that matched no request.
    pub unmatched: u64,
    /// Matched although the request was repeated, because the response identifies the copy that it answers.
    pub resolved: u64,
}

impl Fates {
    /// Nothing counted yet, for each of so many series.
    pub(crate) fn none(tags: u16) -> Vec<Self> {
        vec![Self::default(); usize::from(tags)]
    }

    /// Counts a request that repeats an open one.
    #[inline]
    pub(crate) fn repeat(&mut self) {
        self.seen += 1;
        self.ambiguous += 1;
    }

    /// Counts a response.
    #[inline]
    pub(crate) fn respond(&mut self, is_matched: bool) {
        self.responses += 1;
        self.unmatched += u64::from(!is_matched);
    }

    /// Counts a matched request; `is_resolved`: the response identified which of several copies it answers.
    #[inline]
    pub(crate) fn answer(&mut self, is_resolved: bool) {
        self.matched += 1;
        self.resolved += u64::from(is_resolved);
    }

    /// Counts a request that sampling leaves out.
    #[inline]
    pub(crate) fn turn_away(&mut self) {
        self.seen += 1;
        self.not_admitted += 1;
    }

    /// Counts a request that is still in the table.
    #[inline]
    pub(crate) fn wait(&mut self, is_expired: bool) {
        *(if is_expired { &mut self.expired } else { &mut self.pending }) += 1;
    }

    /// Counts a request that is overwritten or dropped while it waits.
    #[inline]
    pub(crate) fn let_go(&mut self, is_expired: bool) {
        *(if is_expired { &mut self.expired } else { &mut self.evicted }) += 1;
    }

    /// Whether as many responses as requests of this series matched: otherwise some were counted in other series than
    /// their requests, as with the VLAN ids of a way back that differs.
    pub(crate) fn are_responses_at_home(&self) -> bool {
        self.responses == self.matched + self.unmatched
    }

    /// Whether every request has exactly one fate.
    pub fn is_conserved(&self) -> bool {
        self.seen == self.not_admitted + self.matched + self.evicted + self.expired + self.ambiguous + self.pending
    }

    /// The counts since an earlier snapshot; `pending` remains what is open now, so that
    /// `carried_over + seen = not_admitted + matched + evicted + expired + ambiguous + pending`.
    pub fn since(&self, then: &Self) -> Self {
        Self {
            seen: self.seen - then.seen,
            not_admitted: self.not_admitted - then.not_admitted,
            matched: self.matched - then.matched,
            evicted: self.evicted - then.evicted,
            expired: self.expired.saturating_sub(then.expired),
            ambiguous: self.ambiguous - then.ambiguous,
            pending: self.pending,
            responses: self.responses - then.responses,
            unmatched: self.unmatched - then.unmatched,
            resolved: self.resolved - then.resolved,
        }
    }

    /// Requests that were open at an earlier count: those pending then, and those counted as expired then that were
    /// answered after all because time went back.
    pub fn carried_over(&self, then: &Self) -> u64 {
        then.pending + then.expired.saturating_sub(self.expired)
    }
}
