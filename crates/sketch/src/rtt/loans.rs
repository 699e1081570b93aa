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
            let series = Series { matching, leg: Leg::Both, group: 0 };
            let (id, at) = (ExchangeId(hash::finish(number)), Timestamp::from_nanos(now));
            let seen = Sighting { id, at, token: 0, series };
            meter.take(if is_request { Observation::Request(seen) } else { Observation::Response(seen) });
            assert!(
                number % 1_024 > 0 || meter.state_bytes() <= MEMORY,
                "{matching:?} {number}: {}",
                meter.state_bytes()
            );
        };
        let borrower = |meter: &RttMeter, matching: Match| {
            meter.rules[usize::from(meter.rule_of[matching as usize])].meter.borrower()
        };
        let asked = [(Match::TcpAck, 1_300_000), (Match::Dns, 450_000)];
        (0..asked[0].1).for_each(|number| see(&mut meter, Match::TcpAck, number, true));
        assert!(borrower(&meter, Match::TcpAck).is_some_and(|Borrower { bytes, own, .. }| bytes > own + own / 4));
        (0..asked[1].1).for_each(|number| see(&mut meter, Match::Dns, number, true));
        assert!(borrower(&meter, Match::TcpAck).is_none() && borrower(&meter, Match::TcpHandshake).is_some());
        for (matching, number) in asked {
            (0..number).for_each(|number| see(&mut meter, matching, number, false));
        }
        let answers = meter.estimate();
        let matched = answers.iter().map(|answer| (answer.series.matching, answer.fates.matched));
        assert_eq!(matched.collect::<Vec<_>>(), asked);
        assert!(meter.rules().all(|rule| rule.sampled_since.is_none()));
    }
}
