use super::drift::Drift;
use super::latest::Latest;
use super::matching::{Passed, Sent};
use super::meter::{OwdMeter, Side, Totals};
use dwell_types::{Crossing, Nanos, Timestamp};

/// The meters of both directions between two points, of which the sender of one is the receiver of the other. What is
/// known of one direction shows which delays of the other are impossible, and both bound how much the clocks differ.
///
/// All sides are those of the forward direction. Without a meter of the reverse one, this is the forward one alone.
#[derive(Clone, Debug)]
pub struct BothWays {
    forward: OwdMeter,
    reverse: Option<OwdMeter>,
    /// How far the receiver's clock is ahead, for the order of packets.
    ahead: Nanos,
    /// The latest delays of the forward direction and of the reverse one.
    latest: [Latest; 2],
}

/// Results for all packets, by direction.
#[derive(Clone, Debug)]
pub struct BothTotals {
    /// From the sender to the receiver.
    pub forward: Totals,
    /// From the receiver to the sender, if that is measured.
    pub reverse: Option<Totals>,
    /// How far the receiver's clock is ahead, in ns, at least and at most: no delay was below zero. The least is above the
    /// most if the delays of both directions contradict each other; `None` if one of them has none.
    pub offset_ns: Option<[i64; 2]>,
    /// How the clocks run apart, if that is known.
    pub drift: Option<Drift>,
}

impl BothWays {
    /// From meters that have seen nothing. For clocks that differ by more than the delays: the receiver's times are given
    /// less `ahead`, so that packets of both points come in about the order in which they passed. Delays remain those by
    /// the clocks as they are.
    pub fn new(forward: OwdMeter, reverse: Option<OwdMeter>, ahead: Nanos) -> Self {
        let behind = Nanos::new(ahead.get().saturating_neg());
        Self {
            forward: forward.with_receiver_set_back(ahead),
            reverse: reverse.map(|reverse| reverse.with_receiver_set_back(behind)),
            ahead,
            latest: [Latest::default(); 2],
        }
    }

    /// Processes the next crossing at either point, in the order of time after `ahead` was taken off the receiver's; its
    /// own time is by the clock of its point. Returns the number of its flow if that is new ([`OwdMeter::update`]). Calls
    /// `each` for every packet whose fate became known before this crossing, with whether it goes back.
    ///
    /// A crossing of the reverse direction counts as one of the forward direction if only that is measured.
    #[inline]
    pub fn update(
        &mut self,
        side: Side,
        is_reverse: bool,
        crossing: &Crossing,
        mut each: impl FnMut(&Passed, bool),
    ) -> Option<usize> {
        let Self { forward, reverse, ahead, latest: [there, back] } = self;
        let at = if side == Side::Receiver { crossing.at - *ahead } else { crossing.at };
        let crossing = Crossing { at, ..*crossing };
        match reverse {
            Some(reverse) if is_reverse => {
                let each = |passed: &Passed| each(&by_receiver(passed, *ahead), true);
                reverse.update_against(side.opposite(), &crossing, there, back, each);
                None
            }
            Some(_) => forward.update_against(side, &crossing, back, there, |passed| each(passed, false)),
            None => forward.update_each(side, &crossing, |passed| each(passed, false)),
        }
    }

    /// The capture of one point has ended, with whatever it saw at `until` by its clock.
    pub fn end_side(&mut self, side: Side, until: Timestamp) {
        match side {
            Side::Receiver => self.forward.end_receiver(until - self.ahead),
            Side::Sender => {
                if let Some(reverse) = &mut self.reverse {
                    reverse.end_receiver(until);
                }
            }
        }
    }

    /// Both captures have ended. Calls `each` for every packet whose fate is known now, with whether it goes back.
    pub fn end_each(&mut self, mut each: impl FnMut(&Passed, bool)) {
        let Self { forward, reverse, ahead, .. } = self;
        forward.end_each(|passed| each(passed, false));
        if let Some(reverse) = reverse {
            reverse.end_each(|passed| each(&by_receiver(passed, *ahead), true));
        }
    }

    /// All packets; after [`BothWays::end_each`].
    pub fn total(&self) -> BothTotals {
        let (forward, reverse) = (self.forward.total(), self.reverse.as_ref().map(OwdMeter::total));
        let least = |totals: &Totals| totals.distribution.extremes().map(|(least, _)| least.value);
        let offset_ns =
            reverse.as_ref().and_then(least).zip(least(&forward)).map(|(back, there)| [back.saturating_neg(), there]);
        let [there, back] = &self.latest;
        BothTotals { forward, reverse, offset_ns, drift: Drift::of(there, back, self.ahead) }
    }

    /// The meter of the forward direction.
    pub const fn forward(&self) -> &OwdMeter {
        &self.forward
    }

    /// The same, to take its flows and intervals.
    pub const fn forward_mut(&mut self) -> &mut OwdMeter {
        &mut self.forward
    }

    /// Whether no packet of either direction was dropped by sampling.
    pub fn is_exact(&self) -> bool {
        self.meters().all(OwdMeter::is_exact)
    }

    /// Bytes of the data structures.
    pub fn state_bytes(&self) -> usize {
        self.meters().map(OwdMeter::state_bytes).sum()
    }

    fn meters(&self) -> impl Iterator<Item = &OwdMeter> {
        std::iter::once(&self.forward).chain(&self.reverse)
    }
}

/// A packet that goes back, sent when the receiver's clock says.
fn by_receiver(passed: &Passed, ahead: Nanos) -> Passed {
    Passed { sent: Sent { at: passed.sent.at + ahead, ..passed.sent }, ..*passed }
}

impl BothTotals {
    /// What is said of the packets that each point sent, and of those that arrived there: of the sender, then of the
    /// receiver.
    pub fn by_point<T>(&self, sent: impl Fn(&Totals) -> T, arrived: impl Fn(&Totals) -> T) -> [[Option<T>; 2]; 2] {
        let reverse = self.reverse.as_ref();
        [[Some(sent(&self.forward)), reverse.map(&arrived)], [reverse.map(&sent), Some(arrived(&self.forward))]]
    }
}
