/// The sequence numbers of one direction of a flow whose acknowledgements give delays: those above `left`, up to
/// `right`. Numbers wrap at 2³².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    /// The highest number that was acknowledged, or from which on nothing is ambiguous.
    left: u32,
    /// The number after the last segment.
    right: u32,
}

/// The largest window of TCP in bytes [RFC 7323 §2.3]: segments further behind are no retransmissions.
const LARGEST_WINDOW: u32 = 1 << 30;

impl Range {
    /// The range of a flow's first segment.
    pub(super) const fn new(start: u32, end: u32) -> Self {
        Self { left: start, right: end }
    }

    /// Processes the segment from `start` to before `end`. Returns whether it is new: after a retransmission nothing
    /// that is in flight can be measured.
    #[inline]
    pub(super) fn send(&mut self, start: u32, end: u32) -> bool {
        let behind = self.right.wrapping_sub(start);
        let is_again = (1..=LARGEST_WINDOW).contains(&behind);
        if is_again {
            let is_further = end.wrapping_sub(start) > behind;
            self.right = if is_further { end } else { self.right };
            self.left = self.right;
        } else if behind == 0 && end.wrapping_sub(self.left) <= LARGEST_WINDOW {
            self.right = end;
        } else {
            // Behind a hole only the new segment is unambiguous.
            *self = Self::new(start, end);
        }
        !is_again
    }

    /// Processes an acknowledgement number. Returns whether it answers a segment that ends there. A repetition of the
    /// last number, in a `bare` acknowledgement, is a sign of loss or of reordering: nothing in flight can be measured
    /// any more.
    #[inline]
    pub(super) fn acknowledge(&mut self, number: u32, is_bare: bool) -> bool {
        let answers = self.holds(number);
        if answers {
            self.left = number;
        } else if number == self.left && is_bare {
            self.left = self.right;
        }
        answers
    }

    /// Whether an acknowledgement of this number would give a delay.
    #[inline]
    pub(super) const fn holds(self, number: u32) -> bool {
        let ahead = number.wrapping_sub(self.left);
        ahead != 0 && ahead <= self.right.wrapping_sub(self.left)
    }

    /// Whether nothing can be measured.
    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.left == self.right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The state of each byte of a stream with unbounded numbers.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Byte {
        Unsent,
        /// Its acknowledgement gives a delay.
        Clear,
        /// Acknowledged, or ambiguous.
        Done,
    }

    /// The rules byte by byte, for a short stream without wrapping.
    struct Bytes([Byte; 64]);

    impl Bytes {
        fn done(&mut self, to: usize) {
            self.0[..to].fill(Byte::Done);
        }

        fn sent(&self) -> usize {
            self.0.iter().rposition(|&byte| byte != Byte::Unsent).map_or(0, |last| last + 1)
        }

        fn send(&mut self, start: usize, end: usize) -> bool {
            let sent = self.sent();
            let is_new = start >= sent;
            if !is_new {
                self.done(end.max(sent));
            } else {
                if start > sent {
                    self.done(start);
                }
                self.0[start..end].fill(Byte::Clear);
            }
            is_new
        }

        fn acknowledge(&mut self, number: usize, is_bare: bool) -> bool {
            let answers = self.0[number - 1] == Byte::Clear;
            let is_last = self.0[..number].iter().all(|&byte| byte == Byte::Done)
                && self.0.get(number).is_some_and(|&byte| byte != Byte::Done);
            if answers {
                self.done(number);
            } else if is_last && is_bare {
                self.done(self.sent());
            }
            answers
        }
    }

    proptest! {
        /// Wherever the numbers begin, even just before they wrap, the range agrees with the model of bytes.
        #[test]
        fn a_range_says_what_its_bytes_say(
            first in prop_oneof![any::<u32>(), (u32::MAX - 64)..=u32::MAX],
            steps in prop::collection::vec((any::<bool>(), 0usize..60, 1usize..5, any::<bool>()), 1..40),
        ) {
            let number = |at: usize| first.wrapping_add(at as u32);
            let mut bytes = Bytes([Byte::Unsent; 64]);
            bytes.send(0, 2);
            let mut range = Range::new(number(0), number(2));
            for (is_segment, at, length, is_bare) in steps {
                if is_segment {
                    prop_assert_eq!(range.send(number(at), number(at + length)), bytes.send(at, at + length));
                } else {
                    let to = (at + length).min(63);
                    prop_assert_eq!(range.acknowledge(number(to), is_bare), bytes.acknowledge(to, is_bare), "{} {:?}", to, range);
                }
                for to in 1..64 {
                    prop_assert_eq!(range.holds(number(to)), bytes.0[to - 1] == Byte::Clear, "{} {:?}", to, range);
                }
                prop_assert_eq!(range.is_empty(), bytes.0.iter().all(|&byte| byte != Byte::Clear));
            }
        }
    }

    #[test]
    fn each_rule_once() {
        let range = || Range::new(u32::MAX - 9, 100);
        let after = |change: fn(&mut Range) -> bool| {
            let mut range = range();
            let is_new = change(&mut range);
            (is_new, range.left, range.right)
        };
        assert_eq!(after(|r| r.send(100, 200)), (true, u32::MAX - 9, 200), "in order");
        assert_eq!(after(|r| r.send(150, 200)), (true, 150, 200), "behind a hole");
        assert_eq!(after(|r| r.send(50, 100)), (false, 100, 100), "again");
        assert_eq!(after(|r| r.send(50, 130)), (false, 130, 130), "again, and further");
        assert_eq!(after(|r| r.send(100u32.wrapping_sub(1 << 30), 5)), (false, 100, 100), "the largest window");
        assert_eq!(
            after(|r| r.send(99u32.wrapping_sub(1 << 30), 5)),
            (true, 99u32.wrapping_sub(1 << 30), 5),
            "another connection"
        );
        assert_eq!(after(|r| r.acknowledge(u32::MAX, true)), (true, u32::MAX, 100), "a part");
        assert_eq!(after(|r| r.acknowledge(100, true)), (true, 100, 100), "all");
        assert_eq!(after(|r| r.acknowledge(101, true)), (false, u32::MAX - 9, 100), "more than was sent");
        assert_eq!(after(|r| r.acknowledge(u32::MAX - 10, true)), (false, u32::MAX - 9, 100), "an old one");
        assert_eq!(after(|r| r.acknowledge(u32::MAX - 9, true)), (false, 100, 100), "the last one again");
        assert_eq!(after(|r| r.acknowledge(u32::MAX - 9, false)), (false, u32::MAX - 9, 100), "the same beside data");
    }

    /// If acknowledgements take another path, the range moves on, and never spans more than a window.
    #[test]
    fn without_acknowledgements_it_moves_on() {
        let mut range = Range::new(0, 0);
        for i in 0..100_000u32 {
            let start = i.wrapping_mul(65_536);
            assert!(range.send(start, start.wrapping_add(65_536)));
            assert!(range.right.wrapping_sub(range.left) <= LARGEST_WINDOW && !range.is_empty());
        }
    }
}
