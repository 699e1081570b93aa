use super::reference::{Bins, Part};
use super::{Cdf, Reference};
use dwell_types::{Nanos, hash};

/// How to choose among several matching filters.
///
/// No policy picks the true one: a meter cannot know it. With enough bits it is the only match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The youngest.
    Closest,
    /// The oldest.
    Farthest,
    /// Any, with equal probability.
    Random,
    /// The one whose bin is most likely under the prior; of equally likely ones the oldest [porcino23 Algorithm 1].
    MostLikely,
    /// The one nearest to the median delay under the prior; of two the younger [porcino23 Algorithm 2].
    AroundMedian,
    /// The one nearest to the mean delay under the prior; of two the younger.
    AroundMean,
    /// The one nearest to a delay that is known to be common; of two the younger.
    Around(Nanos),
    /// The median of all possible delays, each bin weighted by its probability under the prior over the probability of
    /// a false match of its filter. Ours; takes no reference time.
    Bayes,
}

impl Policy {
    /// Every policy that needs no further parameter, the usual one first.
    pub const ALL: [Self; 7] = [
        Self::Bayes,
        Self::Closest,
        Self::Farthest,
        Self::Random,
        Self::MostLikely,
        Self::AroundMedian,
        Self::AroundMean,
    ];

    /// The usual one.
    pub const USUAL: Self = Self::ALL[0];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closest => "closest",
            Self::Farthest => "farthest",
            Self::Random => "random",
            Self::MostLikely => "most-likely",
            Self::AroundMedian => "around-median",
            Self::AroundMean => "around-mean",
            Self::Around(_) => "around",
            Self::Bayes => "bayes",
        }
    }

    /// What it chooses, in a line for users.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Closest => "the shortest delay",
            Self::Farthest => "the longest delay",
            Self::Random => "any, with equal probability",
            Self::MostLikely => "the most likely delay",
            Self::AroundMedian => "the delay nearest to the median",
            Self::AroundMean => "the delay nearest to the mean",
            Self::Around(_) => "the delay nearest to a given one",
            Self::Bayes => "the median of what is possible, weighted by how likely it is",
        }
    }
}

/// The data of a response that has matched at least one filter.
pub(super) struct Query<'a> {
    /// Ages of the matching filters, ascending, never empty.
    pub(super) ages: &'a [u32],
    /// The bin if there is only one, for the policies and priors that need it.
    pub(super) only: Option<Part>,
    pub(super) bins: Bins,
    pub(super) cdf: &'a Cdf,
    /// Probability of a false match of the filter of an age.
    pub(super) false_positive: &'a dyn Fn(u32) -> f64,
    /// Random bits for this response.
    pub(super) random: u64,
}

/// The chosen slot, and a delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) age: u32,
    /// In nanoseconds.
    pub(super) delay: f64,
}

/// Probabilities closer than this to each other are equal, up to rounding.
const TIE: f64 = 1e-9;
/// Probabilities of a false match below this count as zero.
const NEVER: f64 = 1e-100;

/// The bin, if there is only one age.
#[inline]
pub(super) fn single(ages: &[u32], bins: &Bins, cdf: &Cdf) -> Option<Part> {
    if let &[age] = ages { Some(bins.bin(age).part(cdf)) } else { None }
}

impl Query<'_> {
    /// Chooses a slot, and a delay in it.
    #[inline]
    pub(super) fn choose(&self, policy: Policy, reference: Reference) -> Choice {
        let age = match policy {
            Policy::Closest => self.ages[0],
            Policy::Farthest => self.ages[self.ages.len() - 1],
            Policy::Random => self.ages[hash::index((self.random >> 32) as u32, self.ages.len() as u32) as usize],
            Policy::MostLikely => self.most_likely(),
            Policy::AroundMedian => self.nearest(self.cdf.quantile(0.5)),
            Policy::AroundMean => self.nearest(self.cdf.mean()),
            Policy::Around(delay) => self.nearest(delay.get() as f64),
            Policy::Bayes => return self.posterior_median(),
        };
        Choice { age, delay: self.bins.delay(reference, age, self.cdf) }
    }

    fn most_likely(&self) -> u32 {
        let (mut best, mut most) = (self.ages[self.ages.len() - 1], 0.0);
        for &age in self.ages.iter().rev() {
            let probability = self.bins.bin(age).probability(self.cdf);
            if probability > most + TIE {
                (best, most) = (age, probability);
            }
        }
        best
    }

    fn nearest(&self, delay: f64) -> u32 {
        let center = self.bins.age(delay);
        self.ages.iter().copied().min_by_key(|age| age.abs_diff(center)).unwrap_or(center)
    }

    /// The odds that the request is in the filter of an age: P(bin), over the probability of a false match of this
    /// filter, which there would have been if the request were elsewhere.
    pub(super) fn odds(&self, age: u32) -> f64 {
        self.bins.bin(age).probability(self.cdf) / (self.false_positive)(age).max(NEVER)
    }

    /// The delay that the response exceeds with probability one half, given which filters match.
    fn posterior_median(&self) -> Choice {
        // The odds do not matter.
        if let Some(only) = &self.only {
            return Choice { age: self.ages[0], delay: only.quantile(0.5, self.cdf) };
        }
        let choice = |age, share| {
            let delay = self.bins.bin(age).part(self.cdf).quantile(share, self.cdf);
            Choice { age, delay }
        };
        let mut rest = self.ages.iter().map(|&age| self.odds(age)).sum::<f64>() / 2.0;
        for &age in self.ages {
            let odds = self.odds(age);
            if odds > 0.0 && odds >= rest {
                return choice(age, rest / odds);
            }
            rest -= odds;
        }
        choice(self.ages[0], 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(policy: Policy, ages: &[u32], cdf: &Cdf, false_positive: &dyn Fn(u32) -> f64) -> Choice {
        let bins = Bins { elapsed: 6, width: 10, longest: 70 };
        let only = single(ages, &bins, cdf);
        let query = Query { ages, only, bins, cdf, false_positive, random: 1 << 63 };
        query.choose(policy, Reference::ConditionalMean)
    }

    /// The example of the thesis, figure 3.7: eight filters, a response six tenths into its slot, a uniform
    /// distribution whose median lies in bin 3.
    #[test]
    fn each_policy_has_its_order() {
        let uniform = Cdf::uniform(Nanos::new(70));
        let age = |policy, ages: &[u32]| choose(policy, ages, &uniform, &|_| 0.1).age;
        let all = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(age(Policy::Closest, &all), 0);
        assert_eq!(age(Policy::Farthest, &all), 7);
        assert_eq!(age(Policy::Random, &all), 4);
        assert_eq!(age(Policy::MostLikely, &all), 6, "of equal ones the oldest");
        assert_eq!(age(Policy::MostLikely, &[0, 7]), 0, "six tenths against four");
        for (ages, chosen) in [(&all[..], 3), (&[2, 4], 2), (&[1, 4], 4), (&[0, 6, 7], 0), (&[7], 7)] {
            assert_eq!(age(Policy::AroundMedian, ages), chosen, "{ages:?}");
            assert_eq!(age(Policy::AroundMean, ages), chosen, "{ages:?}");
        }
    }

    #[test]
    fn the_posterior_median_weighs_bins_by_their_filters() {
        let uniform = Cdf::uniform(Nanos::new(70));
        let alone = choose(Policy::Bayes, &[3], &uniform, &|_| 0.1);
        assert_eq!((alone.age, alone.delay.round()), (3, 31.0), "the middle of 26..36");
        // Odds 1 : 1: the border between them. Odds 3 : 1: at two thirds of the first.
        let equal = choose(Policy::Bayes, &[1, 5], &uniform, &|_| 0.1);
        assert!((equal.delay - 16.0).abs() < 1e-6 || (equal.delay - 46.0).abs() < 1e-6, "{equal:?}");
        let unequal = choose(Policy::Bayes, &[1, 5], &uniform, &|age| if age == 5 { 0.3 } else { 0.1 });
        assert!((unequal.delay - (6.0 + 20.0 / 3.0)).abs() < 1e-6, "{unequal:?}");
        let impossible = choose(Policy::Bayes, &[4], &Cdf::uniform(Nanos::new(20)), &|_| 0.0);
        assert_eq!((impossible.age, impossible.delay), (4, 41.0), "a bin without probability, by its middle");
    }
}
