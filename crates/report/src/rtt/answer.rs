//! Converts the results of a meter into lines of the report.

use super::{Bin, Delays, Dependent, Flow, FlowResult, Order, Requests, Responses, ResultLine};
use crate::quantiles::{self, QUANTILES};
use crate::shape::{bins, cdf};
use dwell_sketch::Fates;
use dwell_sketch::distribution::Distribution;
use dwell_sketch::estimate::Estimate;
use dwell_sketch::rtt::Answer;
use dwell_sketch::top_flows::{FlowAnswer, Line};
use dwell_types::{Nanos, Series};
use std::collections::BTreeSet;

impl ResultLine {
    /// The line of one series, without its distribution function. `group` is the name of its group; `is_all` means that no exchange began earlier.
    pub fn new(answer: &Answer, group: String, is_all: bool) -> Self {
        let distribution = &answer.distribution;
        let fates = &answer.fates;
        // Every exchange has a request, and all of these were counted; some methods use a response more than once.
        let most = if is_all { fates.seen.max(distribution.samples()) as f64 } else { f64::INFINITY };
        let exchanges = distribution.exchanges().map(|all| with_missed(all, fates));
        let share = exchanges.map_or(1.0, |all| (most / all.value).min(1.0));
        Self {
            matching: answer.series.matching.name(),
            leg: answer.series.leg.name(),
            group,
            requests: Requests {
                carried_over: answer.carried_over,
                seen: fates.seen,
                not_admitted: fates.not_admitted,
                matched: fates.matched,
                evicted: fates.evicted,
                expired: fates.expired,
                ambiguous: fates.ambiguous,
                pending: fates.pending,
            },
            responses: Responses { seen: fates.responses, unmatched: fates.unmatched },
            samples: distribution.samples(),
            ambiguous_samples: distribution.ambiguous_samples(),
            exchanges: exchanges.map(|all| at_most(all, most, distribution.samples() as f64)),
            delay_ns: delays(distribution),
            histogram: bins(distribution, share)
                .into_iter()
                .map(|([from_ns, to_ns], exchanges)| Bin { from_ns, to_ns, exchanges })
                .collect(),
            cdf: Vec::new(),
            dependent: dependent(distribution),
        }
    }

    /// Adds the distribution functions of those lines that a plot or a table draws. Each line belongs to the answer at its
    /// place.
    pub fn add_cdfs(lines: &mut [Self], answers: &[Answer], order: Order) {
        for place in order.with_curves(lines).chain(order.with_histograms(lines)).collect::<BTreeSet<_>>() {
            lines[place].cdf = cdf(&answers[place].distribution);
        }
    }
}

/// The number of exchanges, with those that may have been missed where no sample stands for others: of the requests that were
/// not kept until their end, as many as there are responses that match nothing.
fn with_missed(exchanges: Estimate<f64>, fates: &Fates) -> Estimate<f64> {
    let missed = fates.unmatched.min(fates.evicted + fates.not_admitted);
    if exchanges.is_exact() { Estimate { high: exchanges.high + missed as f64, ..exchanges } } else { exchanges }
}

/// The quantile that depends most on how ambiguous samples count, if it can double.
fn dependent(distribution: &Distribution) -> Option<Dependent> {
    if distribution.ambiguous_samples() == 0 {
        return None;
    }
    let ratio = |ends: [i64; 2]| ends[1] as f64 / ends[0].max(1) as f64;
    let all = QUANTILES.into_iter().filter_map(|(name, share)| Some((name, distribution.quantile_ends(share)?)));
    let (quantile, ends) = all.max_by(|a, b| ratio(a.1).total_cmp(&ratio(b.1))).filter(|most| ratio(most.1) >= 2.0)?;
    let [last, first] = ends.map(Nanos::new);
    Some(Dependent { quantile, last, first })
}

/// Limits an estimated number of exchanges, of which these are `samples`, to `most`. An interval that lies above it keeps
/// its width below the value, as far as there are samples: an estimate does not become exact.
fn at_most(all: Estimate<f64>, most: f64, samples: f64) -> Estimate<f64> {
    let value = all.value.min(most);
    let low = all.low.min(value - (all.value - all.low)).max(samples);
    Estimate { value, low: low.min(value), high: all.high.min(most) }
}

impl Flow {
    /// The lines of one flow.
    pub fn new(answer: &FlowAnswer) -> Self {
        let result = |(line, distribution): &(Line, Distribution)| FlowResult {
            matching: line.matching.name(),
            leg: line.leg.name(),
            samples: distribution.samples(),
            exchanges: distribution.exchanges(),
            delay_ns: delays(distribution),
        };
        Self {
            flow: answer.key.map_or_else(|| Series::OTHER.to_owned(), |key| key.to_string()),
            packets: answer.packets,
            bytes: answer.bytes,
            uncounted_bytes: answer.uncounted_bytes,
            results: answer.delays.iter().map(result).collect(),
        }
    }
}

fn delays(distribution: &Distribution) -> Delays {
    let (min, max) = distribution.extremes().unzip();
    Delays { mean: distribution.mean(), quantiles: quantiles::of(distribution), min, max }
}

#[cfg(test)]
mod tests {
    use super::super::order::MOST_CURVES;
    use super::*;
    use crate::order::FEWEST_SAMPLES;
    use dwell_sketch::Sample;
    use dwell_sketch::distribution::{Ambiguous, DelayStore};
    use dwell_types::{Leg, Match, Timestamp};

    /// Where every sample is one exchange, responses that match nothing may be those of requests that were not kept, as far as
    /// there are any; where samples stand for others, their variance says it.
    #[test]
    fn missed_exchanges_are_in_the_interval() {
        let missed = |fates: Fates| {
            let Estimate { low, value, high } = with_missed(Estimate::exact(7.0), &fates);
            assert_eq!((low, value), (7.0, 7.0));
            high - value
        };
        assert_eq!(missed(Fates { unmatched: 9, ..Fates::default() }), 0.0);
        assert_eq!(missed(Fates { evicted: 2, not_admitted: 3, ..Fates::default() }), 0.0);
        assert_eq!(missed(Fates { unmatched: 9, evicted: 2, not_admitted: 3, ..Fates::default() }), 5.0);
        assert_eq!(missed(Fates { unmatched: 1, evicted: 2, ..Fates::default() }), 1.0);
        let sampled = Estimate { low: 6.0, value: 7.0, high: 8.0 };
        assert_eq!(with_missed(sampled, &Fates { unmatched: 9, evicted: 9, ..Fates::default() }), sampled);
    }

    /// Many results with few samples of great weight, and one with enough for a histogram.
    #[test]
    fn what_has_a_histogram_has_a_distribution_function() {
        let answer = |samples: u64, weight: f64| {
            let mut store = DelayStore::unbounded(1);
            for delay in 1..=samples {
                let sample = Sample::of(Timestamp::from_nanos(0), Nanos::new(delay as i64));
                store.update(0, &sample.weighted(weight));
            }
            Answer {
                series: Series { matching: Match::Dns, leg: Leg::Both, group: 0 },
                fates: Fates::default(),
                carried_over: 0,
                distribution: store.distribution(0, Ambiguous::Bounds),
                resolution: 0.0,
            }
        };
        let mut answers: Vec<Answer> = (0..9).map(|_| answer(5, 100.0)).collect();
        answers.push(answer(FEWEST_SAMPLES, 1.0));
        let line = |answer| ResultLine::new(answer, String::new(), false);
        let mut lines: Vec<ResultLine> = answers.iter().map(line).collect();
        ResultLine::add_cdfs(&mut lines, &answers, Order::default());
        assert!(!lines[9].cdf.is_empty());
        assert_eq!(lines.iter().filter(|line| !line.cdf.is_empty()).count(), MOST_CURVES + 1);
    }

    /// An interval that lies above the limit keeps its width: nothing estimated looks exact, and what is exact stays so.
    #[test]
    fn a_limit_makes_no_estimate_exact() {
        let estimate = |value, low, high| Estimate { value, low, high };
        assert_eq!(at_most(estimate(30.0, 25.0, 35.0), 20.0, 3.0), estimate(20.0, 15.0, 20.0));
        assert_eq!(at_most(estimate(400.0, 80.0, 720.0), 200.0, 3.0), estimate(200.0, 3.0, 200.0));
        assert_eq!(at_most(estimate(18.0, 15.0, 22.0), 20.0, 3.0), estimate(18.0, 15.0, 20.0));
        assert_eq!(at_most(Estimate::exact(20.0), 20.0, 20.0), Estimate::exact(20.0));
    }
}
