//! Whether the last values of a series are larger than usual.

use super::baseline::{Baseline, Shift, Value};
use super::null::Null;
use super::tails;

/// The verdict on a series at an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Statistics of the baseline.
    pub baseline: Baseline,
    /// The shift of the clearest window: the one whose score is the least probable without a change.
    pub shift: Shift,
    /// The p-value: the probability of so high a score in any of the windows if nothing has changed, whatever the tails of
    /// scores are.
    pub p_value: f64,
    /// ln of the ratio of the likelihoods of the values with and without a change of this series, whose size and
    /// beginning are unknown, if values are normal; up to a constant that is the same for all series.
    pub ln_odds: f64,
}

impl Verdict {
    /// Judges the last interval of a series, whose baseline is the intervals before `from`; `None` if too few have
    /// values. Without a change scores are distributed as `null` says.
    pub fn new(values: &[Option<Value>], from: usize, null: &Null) -> Option<Self> {
        Self::after(&Baseline::of(values.get(..from)?)?, values, from, null)
    }

    /// The same with the statistics of the baseline, which are those of any later interval.
    pub(super) fn after(baseline: &Baseline, values: &[Option<Value>], from: usize, null: &Null) -> Option<Self> {
        let freedom = baseline.freedom();
        let shifts: Vec<Shift> = baseline.shifts(values, from).collect();
        let windows = shifts.len() as f64;
        let ln_odds = ln_sum(shifts.iter().map(|shift| ln_odds(shift, freedom))) - windows.ln();
        let judged = shifts.iter().map(|shift| (null.beyond(shift.score, shift.intervals, freedom), *shift));
        let clearer = |a: &(f64, Shift), b: &(f64, Shift)| a.0.total_cmp(&b.0).then(b.1.score.total_cmp(&a.1.score));
        let (chance, shift) = judged.min_by(clearer)?;
        Some(Self { baseline: *baseline, shift, p_value: (windows * chance).min(1.0), ln_odds })
    }

    /// Whether the p-value is surely above `limit`, because it is by normal values; found in a fraction of the time.
    pub(super) fn is_quiet(baseline: &Baseline, values: &[Option<Value>], from: usize, limit: f64) -> bool {
        let scores = baseline.shifts(values, from).map(|shift| shift.score);
        let (windows, most) = scores.fold((0.0, f64::NEG_INFINITY), |(n, most), score| (n + 1.0, score.max(most)));
        (windows * tails::student(most, baseline.freedom())).min(1.0) > limit
    }
}

/// ln of the likelihood ratio of a score for a shift of unknown size, uniform above zero in units of the spread:
/// *F*(*t*)/*f*(*t*) times the width of *t* in these units.
fn ln_odds(shift: &Shift, freedom: f64) -> f64 {
    let below = tails::student(-shift.score, freedom);
    let ratio = match below > 0.0 {
        true => below.ln() - tails::ln_student_density(shift.score, freedom),
        // So far out, *F*(−*t*)/*f*(*t*) is *t*/*ν*: the density falls as the power *ν* + 1.
        false => (-shift.score / freedom).ln(),
    };
    ratio + shift.width.ln()
}

/// ln of the sum of numbers given by their ln; −∞ for none.
pub(super) fn ln_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let terms: Vec<f64> = terms.collect();
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + terms.iter().map(|term| (term - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::localize::test_support::{self, normal, values};
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    #[test]
    fn a_step_is_found_where_it_is() {
        let mut series = values(&[1.0, 3.0, 2.0, 1.0, 3.0, 2.0]);
        series.extend(values(&[2.0, 2.0, 2.0, 2.0, 8.0, 8.5]));
        let verdict = Verdict::new(&series, 6, &Null::NORMAL).unwrap();
        assert_eq!((verdict.shift.first, verdict.shift.intervals), (10, 2));
        assert!((verdict.shift.excess - 6.25).abs() < 1e-12 && verdict.p_value < 0.001, "{verdict:?}");
        let before = Verdict::new(&series[..10], 6, &Null::NORMAL).unwrap();
        assert!(before.p_value > 0.5 && before.ln_odds + 3.0 < verdict.ln_odds, "{before:?}");
        assert_eq!(Verdict::new(&series, 2, &Null::NORMAL), None, "two intervals are no baseline");
        assert_eq!(Verdict::new(&series[..6], 6, &Null::NORMAL), None, "nothing behind the baseline");
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let mut series = values(&[1.0, 3.0, 2.0, 1.0, 3.0, 2.0, 9.0]);
        series[2] = None;
        series.push(None);
        let verdict = Verdict::new(&series, 6, &Null::NORMAL).unwrap();
        assert_eq!((verdict.baseline.intervals, verdict.shift.first, verdict.shift.intervals), (5, 6, 1));
        series[6] = None;
        assert_eq!(Verdict::new(&series, 6, &Null::NORMAL), None);
    }

    /// What is quiet has a p-value above the limit; by normal values, so has all else.
    #[test]
    fn quiet_intervals_have_no_alarm() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        for series in 0..200 {
            let values: Vec<f64> =
                (0..16).map(|i| normal(&mut random) + if i > 10 { f64::from(series) / 20.0 } else { 0.0 }).collect();
            let values = test_support::values(&values);
            let usual = Baseline::of(&values[..8]).unwrap();
            for intervals in 9..=16 {
                let values = &values[..intervals];
                let normal = Verdict::new(values, 8, &Null::NORMAL).unwrap().p_value;
                assert!(!Verdict::is_quiet(&usual, values, 8, normal));
                assert!(Verdict::is_quiet(&usual, values, 8, normal * 0.999));
            }
        }
    }

    /// A value with fewer packets than usual is less certain, and the spread is never below what the packets imply.
    #[test]
    fn few_packets_count_less() {
        let mut series = values(&[1.0, 3.0, 2.0, 1.0, 3.0, 2.0, 6.0]);
        let sure = Verdict::new(&series, 6, &Null::NORMAL).unwrap();
        series[6] = Some(Value { value: 6.0, variance: 4.0 });
        let unsure = Verdict::new(&series, 6, &Null::NORMAL).unwrap();
        assert!(unsure.p_value > 4.0 * sure.p_value, "{} {}", unsure.p_value, sure.p_value);
        let still: Vec<_> = vec![Some(Value { value: 5.0, variance: 0.09 }); 7];
        assert_eq!(Baseline::of(&still).unwrap().spread, 0.3);
        let jump = [still, vec![Some(Value { value: 50.0, variance: 0.09 })]].concat();
        let verdict = Verdict::new(&jump, 6, &Null::NORMAL).unwrap();
        assert!(verdict.p_value < 1e-8 && verdict.ln_odds.is_finite(), "{verdict:?}");
    }

    /// The stated p-value holds even for the shortest baselines: of 40,000 unchanged series, the share called changed
    /// is within six standard errors of it (2·10⁻⁹), or below. A test that takes the estimated spread for the true one
    /// exceeds that.
    #[test]
    fn chances_hold_for_short_baselines() {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        for (from, rate) in [(3, 0.01), (6, 0.01), (20, 0.01)] {
            let trials = 40_000;
            let (mut single, mut any, mut naive) = (0, 0, 0);
            for _ in 0..trials {
                let series: Vec<_> =
                    (0..from + 8).map(|_| Some(Value { value: normal(&mut random), variance: 1e-6 })).collect();
                let verdict = Verdict::new(&series, from, &Null::NORMAL).unwrap();
                any += u32::from(verdict.p_value <= rate);
                let last = Verdict::new(&series[..=from], from, &Null::NORMAL).unwrap();
                single += u32::from(last.p_value <= rate);
                naive += u32::from(tails::student(last.shift.score, 1e9) <= rate);
            }
            let expected = f64::from(trials) * rate;
            let bound = 6.0 * expected.sqrt();
            assert!((f64::from(single) - expected).abs() < bound, "{from}: {single} of {expected}");
            assert!(f64::from(any) < expected + bound, "{from}: {any} of {expected}");
            // Bonferroni's bound over four overlapping windows is not overly conservative.
            assert!(f64::from(any) > 0.3 * expected, "{from}: {any} of {expected}");
            assert!(f64::from(naive) > expected + bound, "{from}: {naive} of {expected}");
        }
    }
}
