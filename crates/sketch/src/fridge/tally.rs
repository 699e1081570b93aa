use crate::{Event, Fates};

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

    /// Counts these events, of which the gate admitted some; responses as unmatched until they are found to match.
    #[inline]
    pub(super) fn count(self, admitted: Self, fates: &mut Fates) {
        let responses = self.events - self.requests;
        fates.seen += self.requests;
        fates.not_admitted += self.requests - admitted.requests;
        fates.responses += responses;
        fates.unmatched += responses;
    }
}
