//! The plain entries of one rule may borrow the memory that those of others leave unused. When these need their own,
//! loans are called back, and rules that exceed their own memory pack their entries.

use super::Rule;
use crate::horizon::Borrower;
use dwell_types::Timestamp;

/// Lends a rule's plain entries what those of the others leave of the total, or at least its own memory.
pub(super) fn lend(rules: &mut [Rule], number: usize, now: Timestamp) {
    let Some(Borrower { own, bytes, ahead }) = rules[number].meter.borrower() else { return };
    let (all, taken) = sums(rules);
    let left = all.saturating_sub(taken - bytes);
    if left < ahead && ahead <= own {
        call_back(rules, now);
    }
    rules[number].meter.lend(left.max(own), now);
}

/// Calls back all loans if more than the total is used: rules that have packed their entries lend nothing.
pub(super) fn settle(rules: &mut [Rule], now: Timestamp) {
    let (all, taken) = sums(rules);
    if taken > all {
        call_back(rules, now);
    }
}

fn call_back(rules: &mut [Rule], now: Timestamp) {
    for rule in rules {
        if let Some(Borrower { own, .. }) = rule.meter.borrower() {
            rule.meter.lend(own, now);
        }
    }
}

/// The total memory of the rules with plain entries, and what these use.
fn sums(rules: &[Rule]) -> (usize, usize) {
    let borrowers = rules.iter().filter_map(|rule| rule.meter.borrower());
    borrowers.fold((0, 0), |(all, taken), Borrower { own, bytes, .. }| (all + own, taken + bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{Method, RttMeter, Settings};
    use dwell_types::{ExchangeId, Leg, Match, Observation, Series, Sighting, Sink, hash};

    fn sighting(matching: Match, number: u64, now: i64) -> Sighting {
        let series = Series { matching, leg: Leg::Both, group: 0 };
        Sighting { id: ExchangeId(hash::finish(number)), at: Timestamp::from_nanos(now), token: 0, series }
    }

    fn rule_of(meter: &RttMeter, matching: Match) -> usize {
        usize::from(meter.rule_of[matching as usize])
    }

    fn borrower(meter: &RttMeter, matching: Match) -> Option<Borrower> {
        meter.rules[rule_of(meter, matching)].meter.borrower()
    }

    /// The plain entries of one rule borrow unused memory of others, and are packed when these need it. Memory is never
    /// exceeded and no request dropped.
    #[test]
    fn rules_lend_each_other_memory() {
        const MEMORY: usize = 64 << 20;
        let matches = Match::USUAL.to_vec();
        let mut meter = RttMeter::new(&Settings::new(Method::Auto, matches, MEMORY)).unwrap();
        let mut now = 0;
        let mut see = |meter: &mut RttMeter, matching, number, is_request| {
            now += 1;
            let seen = sighting(matching, number, now);
            meter.take(if is_request { Observation::Request(seen) } else { Observation::Response(seen) });
            assert!(
                number % 1_024 > 0 || meter.state_bytes() <= MEMORY,
                "{matching:?} {number}: {}",
                meter.state_bytes()
            );
        };
        let asked = [(Match::TcpAck, 1_300_000), (Match::Dns, 450_000)];
        (0..asked[0].1).for_each(|number| see(&mut meter, Match::TcpAck, number, true));
        assert!(borrower(&meter, Match::TcpAck).is_some_and(|Borrower { bytes, own, .. }| bytes > own + own / 4));
        let dns = rule_of(&meter, Match::Dns);
        for number in 0..asked[1].1 {
            see(&mut meter, Match::Dns, number, true);
            lend(&mut meter.rules, dns, Timestamp::from_nanos((asked[0].1 + number) as i64));
            let (all, taken) = sums(&meter.rules);
            let fits = |Borrower { bytes, ahead, own }| ahead > own || taken - bytes + ahead <= all;
            assert!(meter.rules[dns].meter.borrower().is_none_or(fits), "while the next batch is processed: {number}");
        }
        assert!(borrower(&meter, Match::TcpAck).is_none() && borrower(&meter, Match::TcpHandshake).is_some());
        for (matching, number) in asked {
            (0..number).for_each(|number| see(&mut meter, matching, number, false));
        }
        let answers = meter.estimate();
        let matched = answers.iter().map(|answer| (answer.series.matching, answer.fates.matched));
        assert_eq!(matched.collect::<Vec<_>>(), asked);
        assert!(meter.rules().all(|rule| rule.sampled_since.is_none()));
    }

    /// Where all others have packed their entries, a rule that has borrowed must, too.
    #[test]
    fn packed_rules_lend_nothing() {
        let settings = Settings::new(Method::Auto, Match::USUAL.to_vec(), 64 << 20);
        let mut meter = RttMeter::new(&settings).unwrap();
        for number in 0..1_300_000 {
            meter.take(Observation::Request(sighting(Match::TcpAck, number, number as i64)));
        }
        let now = Timestamp::from_nanos(1_300_000);
        settle(&mut meter.rules, now);
        assert!(borrower(&meter, Match::TcpAck).is_some_and(|Borrower { bytes, own, .. }| bytes > own));
        let others = meter.rules.iter_mut().filter(|rule| rule.matching != Match::TcpAck);
        others.for_each(|rule| rule.meter.lend(0, now));
        settle(&mut meter.rules, now);
        assert!(borrower(&meter, Match::TcpAck).is_none());
    }
}
