//! The bottleneck between the point and the servers: one queue in each direction, shared by all flows.

use super::plan::{Bottleneck, Rule, Stage, Verdict};

/// Both queues, first in, first out.
#[derive(Debug)]
pub(crate) struct Queues {
    bottleneck: Option<Bottleneck>,
    /// When the link will have sent everything queued, in each direction.
    busy_until_ns: [i64; 2],
}

impl Queues {
    pub(crate) const fn new(bottleneck: Option<Bottleneck>) -> Self {
        Self { bottleneck, busy_until_ns: [0; 2] }
    }

    /// Queues an arriving frame, unless another rule drops or holds it: adds its waiting time and its transmission time
    /// to the drawn delay.
    pub(crate) fn pass(&mut self, stage: Stage, at_ns: i64, bytes: usize, verdict: Verdict) -> Verdict {
        let way = match stage {
            Stage::FarOut => 0,
            Stage::FarBack => 1,
            Stage::NearOut | Stage::NearBack => return verdict,
        };
        let Some(bottleneck) = self.bottleneck.filter(|_| verdict.rule == Rule::Plain) else { return verdict };
        let begin_ns = self.busy_until_ns[way].max(at_ns);
        if begin_ns - at_ns > bottleneck.longest_wait_ns {
            return Verdict { hold_ns: 0, rule: Rule::QueueFull };
        }
        self.busy_until_ns[way] = begin_ns + bytes as i64 * 8 * 1_000_000_000 / bottleneck.bits_per_second;
        Verdict { hold_ns: verdict.hold_ns + self.busy_until_ns[way] - at_ns, ..verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 8 Mbit/s, 1,000 bytes take a millisecond. Of four simultaneous frames, the fourth would wait longer than two.
    #[test]
    fn frames_wait_for_each_other() {
        const MS: i64 = 1_000_000;
        let bottleneck = Bottleneck { bits_per_second: 8_000_000, longest_wait_ns: 2 * MS };
        let mut queues = Queues::new(Some(bottleneck));
        let plain = Verdict { hold_ns: 5 * MS, rule: Rule::Plain };
        let mut pass = |stage, at_ns, verdict| queues.pass(stage, at_ns, 1_000, verdict);
        let holds: Vec<i64> = (0..3).map(|_| pass(Stage::FarOut, 0, plain).hold_ns).collect();
        assert_eq!(holds, [6 * MS, 7 * MS, 8 * MS]);
        assert_eq!(pass(Stage::FarOut, 0, plain), Verdict { hold_ns: 0, rule: Rule::QueueFull });
        assert_eq!(pass(Stage::FarBack, 0, plain).hold_ns, 6 * MS);
        assert_eq!(pass(Stage::NearOut, 0, plain), plain);
        let lost = Verdict { hold_ns: 0, rule: Rule::Loss };
        assert_eq!(pass(Stage::FarOut, 0, lost), lost);
        assert_eq!(pass(Stage::FarOut, 3 * MS, plain).hold_ns, 6 * MS);
    }
}
