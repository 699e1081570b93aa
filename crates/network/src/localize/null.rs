//! How scores are distributed where nothing has changed.

use super::baseline::{Baseline, Value};
use super::tails;
use libm::{exp, log, log1p};

/// The distribution of scores without a change: Student's *t*, as for normal values, or one with a heavier tail, each
/// with the probability that the baselines give it.
///
/// Compared with the others of its baseline, a value has the score of an interval in which nothing changed. These scores
/// of all series together are a sample of the distribution; it shows how the tail falls, and is then extrapolated: what
/// scores exceed one by may have any generalised Pareto distribution, as most tails come close to one (Pickands 1975). A
/// p-value is the mean over all these shapes, so that it allows for the uncertainty of the choice.
///
/// A sum with heavy tails is large because one of its terms is (Foss, Korshunov and Zachary 2013, ch. 3): the mean of
/// *w* values exceeds *x* with *w* times the probability that one exceeds *wx*.
#[derive(Clone, Debug, PartialEq)]
pub struct Null {
    /// Probability that the scores are Student's.
    student: f64,
    /// The other tails, those that matter.
    heavy: Vec<Tail>,
    /// The share of scores in the tail.
    above: f64,
}

/// The generalised Pareto distribution of what scores exceed [`BODY`] by.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tail {
    probability: f64,
    /// 0 is exponential; above it, moments of the inverse order and higher do not exist.
    shape: f64,
    scale: f64,
}

/// Scores up to this are only counted: the tail need not have the shape of the rest.
const BODY: f64 = 1.0;
/// Probability of Student's distribution before anything is known.
const PRIOR: f64 = 0.9;
const SHAPES: [f64; 5] = [0.0, 0.1, 0.2, 0.35, 0.5];
const SCALES: [f64; 5] = [0.35, 0.5, 0.7, 1.0, 1.4];
const TAILS: usize = SHAPES.len() * SCALES.len();
/// Tails less probable than this are left out.
const NEGLIGIBLE: f64 = 1e-6;

impl Null {
    /// As these baselines show it.
    pub fn of<S: AsRef<[Option<Value>]>>(baselines: impl IntoIterator<Item = S>) -> Self {
        let tail = |shape| SCALES.map(|scale| Tail { probability: (1.0 - PRIOR) / TAILS as f64, shape, scale });
        let mut heavy: Vec<Tail> = SHAPES.iter().copied().flat_map(tail).collect();
        let (mut of_student, mut of_tails) = (0.0, vec![0.0; heavy.len()]);
        let (mut scores, mut large) = (0.0, 0.0);
        for baseline in baselines {
            let Some(usual) = Baseline::of(baseline.as_ref()) else { continue };
            let freedom = usual.freedom() - 1.0;
            for score in usual.own_scores(baseline.as_ref()) {
                scores += 1.0;
                if score <= BODY {
                    of_student += log(tails::student(-BODY, freedom));
                    continue;
                }
                large += 1.0;
                of_student += tails::ln_student_density(score, freedom);
                for (of_tail, tail) in of_tails.iter_mut().zip(&heavy) {
                    *of_tail += tail.ln_density(score);
                }
            }
        }
        // Never none or all.
        let above = (large + 0.5) / (scores + 1.0);
        // The share is estimated, too, which costs half of ln *n* (Schwarz 1978).
        let shared = large * log(above) + (scores - large) * log(1.0 - above) - 0.5 * log(scores.max(1.0));
        let most = of_tails.iter().fold(of_student, |most, &of_tail| most.max(of_tail + shared));
        let mut student = PRIOR * exp(of_student - most);
        heavy.iter_mut().zip(of_tails).for_each(|(tail, of_tail)| tail.probability *= exp(of_tail + shared - most));
        let sum = student + heavy.iter().map(|tail| tail.probability).sum::<f64>();
        student /= sum;
        heavy.iter_mut().for_each(|tail| tail.probability /= sum);
        heavy.retain(|tail| tail.probability > NEGLIGIBLE);
        Self { student, heavy, above }
    }

    /// The probability of a larger score than `score` of a window of so many intervals with values, if Student's has this
    /// many degrees of freedom; at least as large as by Student's distribution.
    pub(super) fn beyond(&self, score: f64, intervals: usize, freedom: f64) -> f64 {
        let student = tails::student(score, freedom);
        let w = intervals as f64;
        let heavier = |tail: &Tail| {
            let one = self.above * tail.beyond(w.sqrt() * score);
            tail.probability * (w * one).clamp(student, 1.0)
        };
        (self.student * student + self.heavy.iter().map(heavier).sum::<f64>()).clamp(student, 1.0)
    }
}

impl Tail {
    fn ln_density(&self, score: f64) -> f64 {
        let excess = (score - BODY) / self.scale;
        let falls = if self.shape > 0.0 { (1.0 / self.shape + 1.0) * log1p(self.shape * excess) } else { excess };
        -falls - log(self.scale)
    }

    /// The share of scores in the tail that are larger than this one.
    fn beyond(&self, score: f64) -> f64 {
        let excess = ((score - BODY) / self.scale).max(0.0);
        exp(if self.shape > 0.0 { -log1p(self.shape * excess) / self.shape } else { -excess })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::localize::Verdict;
    use crate::localize::test_support::normal;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    impl Null {
        /// Of normal values.
        pub(in crate::localize) const NORMAL: Self = Self { student: 1.0, heavy: Vec::new(), above: 0.0 };
    }

    const BASELINE: usize = 20;

    /// The p-value of an alarm in so many segments, if a hundredth of the intervals may have a false one.
    fn alarm(segments: usize) -> f64 {
        0.01 / segments as f64
    }

    fn exponential(random: &mut Pcg64Mcg) -> f64 {
        -(1.0 - random.random::<f64>()).ln()
    }

    fn log_normal(random: &mut Pcg64Mcg) -> f64 {
        (0.75 * normal(random)).exp()
    }

    /// Student's with three degrees of freedom.
    fn student(random: &mut Pcg64Mcg) -> f64 {
        let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
        normal(random) / (squares / 3.0).sqrt()
    }

    /// All segments of a network in which nothing changes.
    fn network(random: &mut Pcg64Mcg, segments: usize, draw: Draw) -> Vec<Vec<Option<Value>>> {
        let value = |random: &mut Pcg64Mcg| Some(Value { value: draw(random), variance: 1e-9 });
        (0..segments).map(|_| (0..BASELINE + 8).map(|_| value(random)).collect()).collect()
    }

    fn null(network: &[Vec<Option<Value>>]) -> Null {
        Null::of(network.iter().map(|segment| &segment[..BASELINE]))
    }

    /// Whether any segment is in alarm at the last interval.
    fn has_alarm(network: &[Vec<Option<Value>>], null: &Null) -> bool {
        let is_alarm = |segment: &Vec<Option<Value>>| {
            Verdict::new(segment, BASELINE, null).unwrap().p_value <= alarm(network.len())
        };
        network.iter().any(is_alarm)
    }

    /// Draws the mean of an interval.
    type Draw = fn(&mut Pcg64Mcg) -> f64;

    const KINDS: [(&str, Draw); 4] =
        [("normal", normal), ("exponential", exponential), ("log-normal", log_normal), ("t₃", student)];

    /// How many of 300 networks without a change have a false alarm, by the null distribution and by Student's alone.
    fn false_alarms(segments: usize, draw: Draw) -> (u32, u32) {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let (mut found, mut naive) = (0, 0);
        for _ in 0..300 {
            let network = network(&mut random, segments, draw);
            found += u32::from(has_alarm(&network, &null(&network)));
            naive += u32::from(has_alarm(&network, &Null::NORMAL));
        }
        (found, naive)
    }

    /// Of 300 networks of 32 segments at most ten have a false alarm where three are meant (with other seeds more in one
    /// of 3,000), whatever the tails. By Student's distribution alone each kind that is not normal has over 30.
    #[test]
    fn false_alarms_are_as_rare_as_stated() {
        for (name, draw) in KINDS {
            let (found, naive) = false_alarms(32, draw);
            eprintln!("{name}: {found}, by Student's alone {naive}");
            assert!(found <= 10, "{name}: {found}");
            assert!(name == "normal" || naive > 30, "{name}: {naive} by Student's alone");
        }
    }

    /// Four baselines tell less: up to 6% of these networks have a false alarm, but never more than by Student's alone.
    #[test]
    fn few_segments_have_fewer_false_alarms() {
        for (name, draw) in KINDS {
            let (found, naive) = false_alarms(4, draw);
            eprintln!("{name}: {found}, by Student's alone {naive}");
            assert!(found <= naive && found <= 18, "{name}: {found} {naive}");
        }
    }

    /// Where means are normal, hardly anything is lost: of 300 networks in which a segment is slower by three standard
    /// deviations for four intervals, at most an alarm in twenty is missed (binomial, rarer than 10⁻⁴ if a hundredth is).
    #[test]
    fn normal_values_are_judged_as_before() {
        let mut random = Pcg64Mcg::seed_from_u64(12);
        let (mut found, mut before) = (0, 0);
        for _ in 0..300 {
            let mut network = network(&mut random, 32, normal);
            network[0][BASELINE + 4..].iter_mut().flatten().for_each(|value| value.value += 3.0);
            let p_value = |null: &Null| Verdict::new(&network[0], BASELINE, null).unwrap().p_value;
            found += u32::from(p_value(&null(&network)) <= alarm(32));
            before += u32::from(p_value(&Null::NORMAL) <= alarm(32));
        }
        assert!(before > 150 && found <= before && found * 20 >= before * 19, "{found} of {before}");
    }

    /// Of 100 networks with exponential means a segment that is slower by six standard deviations for eight intervals is
    /// found in more than 30 with baselines of 20 intervals (here in 57), and in more than 80 with 60 (in all).
    #[test]
    fn more_is_known_of_long_baselines() {
        let mut random = Pcg64Mcg::seed_from_u64(14);
        for (baseline, least) in [(20, 30), (60, 80)] {
            let mut found = 0;
            for _ in 0..100 {
                let value = |random: &mut Pcg64Mcg| Some(Value { value: exponential(random), variance: 1e-9 });
                let mut network: Vec<Vec<_>> =
                    (0..32).map(|_| (0..baseline + 8).map(|_| value(&mut random)).collect()).collect();
                network[0][baseline..].iter_mut().flatten().for_each(|value| value.value += 6.0);
                let null = Null::of(network.iter().map(|segment| &segment[..baseline]));
                let verdict = Verdict::new(&network[0], baseline, &null).unwrap();
                found += u32::from(verdict.p_value <= alarm(32));
            }
            eprintln!("{baseline}: {found}");
            assert!(found > least, "{baseline}: {found}");
        }
    }

    /// Too few baselines to tell, or none: Student's.
    #[test]
    fn nothing_known_is_normal() {
        assert!((Null::of([[None; 3]; 2]).student - PRIOR).abs() < 1e-12);
        let value = |value| Some(Value { value, variance: 1e-9 });
        let few = Null::of([[value(1.0), value(2.0), value(1.5), value(1.2)]]);
        assert!(few.student > 0.8, "{few:?}");
        for score in [-50.0, -1.0, 0.0, 3.0, 1e9] {
            for null in [&few, &Null::NORMAL] {
                let chances = [1, 2, 8].map(|w| null.beyond(score, w, 3.0));
                assert!(
                    chances.iter().all(|&chance| (tails::student(score, 3.0) * 0.999..=1.0).contains(&chance)),
                    "{chances:?}"
                );
            }
        }
    }
}
