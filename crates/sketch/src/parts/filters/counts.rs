use crate::Fates;

/// What a meter without entries can count of the fates of its requests, per series.
///
/// A request belongs to a turn, a period no shorter than any delay, and so does a match, by its estimated delay. In
/// each turn, at most as many requests count as matched as there were, however many responses matched.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// The turn to which the second of a tag's `turns` refers.
    turn: i64,
    by_tag: Vec<OfTag>,
}

/// The counts of one series.
#[derive(Clone, Copy, Debug, Default)]
struct OfTag {
    /// The previous turn and the present one.
    turns: [Turn; 2],
    /// Fates of the requests of earlier turns, and the responses.
    fates: Fates,
}

/// Requests of one turn, and responses that were matched to it.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    seen: u64,
    answers: u64,
}

impl Turn {
    fn matched(self) -> u64 {
        self.answers.min(self.seen)
    }
}

impl Counts {
    pub(crate) fn new(tags: u16) -> Self {
        Self { turn: i64::MIN, by_tag: vec![OfTag::default(); usize::from(tags)] }
    }

    /// Moves on to this turn: what is older than the one before has expired.
    #[inline]
    pub(crate) fn advance(&mut self, turn: i64) {
        if turn > self.turn {
            let steps = turn.saturating_sub(self.turn).min(2);
            self.turn = turn;
            for _ in 0..steps {
                self.by_tag.iter_mut().for_each(OfTag::turn_on);
            }
        }
    }

    #[inline]
    pub(crate) fn request(&mut self, tag: u16) {
        self.by_tag[usize::from(tag)].turns[1].seen += 1;
    }

    /// Counts a response that matched no filter.
    #[inline]
    pub(crate) fn unmatched(&mut self, tag: u16) {
        let fates = &mut self.by_tag[usize::from(tag)].fates;
        fates.responses += 1;
        fates.unmatched += 1;
    }

    /// Counts a response whose request is assumed to lie in the present turn, or in the one before.
    #[inline]
    pub(crate) fn matched(&mut self, tag: u16, in_present_turn: bool) {
        let of_tag = &mut self.by_tag[usize::from(tag)];
        of_tag.fates.responses += 1;
        of_tag.turns[usize::from(in_present_turn)].answers += 1;
    }

    pub(crate) fn fates(&self) -> Vec<Fates> {
        self.by_tag.iter().map(OfTag::fates).collect()
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.by_tag.capacity() * size_of::<OfTag>()
    }
}

impl OfTag {
    fn turn_on(&mut self) {
        let [ended, present] = self.turns;
        self.turns = [present, Turn::default()];
        self.fates.seen += ended.seen;
        self.fates.matched += ended.matched();
        self.fates.expired += ended.seen - ended.matched();
    }

    fn fates(&self) -> Fates {
        let mut fates = self.fates;
        for turn in self.turns {
            fates.seen += turn.seen;
            fates.matched += turn.matched();
            fates.pending += turn.seen - turn.matched();
        }
        fates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_one_fate() {
        let mut counts = Counts::new(1);
        counts.advance(-3);
        (0..10).for_each(|_| counts.request(0));
        (0..4).for_each(|_| counts.matched(0, true));
        counts.unmatched(0);
        let fates = |counts: &Counts| {
            let fates = counts.fates()[0];
            assert!(fates.is_conserved(), "{fates:?}");
            (fates.seen, fates.matched, fates.pending, fates.expired)
        };
        assert_eq!(fates(&counts), (10, 4, 6, 0));
        counts.advance(-2);
        (0..20).for_each(|_| counts.matched(0, false));
        assert_eq!(fates(&counts), (10, 10, 0, 0), "no more than there were");
        counts.request(0);
        counts.advance(i64::MAX);
        assert_eq!(fates(&counts), (11, 10, 0, 1));
        assert_eq!((counts.fates()[0].responses, counts.fates()[0].unmatched), (25, 1));
    }
}
