use super::workload::Stream;
use crate::experiment::Problem;
use crate::grid::{Configured, Entry};
use crate::value::{Invalid, Number, available, delay};
use dwell_sketch::Terms;
use dwell_sketch::rivals::timebloom::{Params, Policy, Prior, Reference, TimeBloom};
use dwell_types::Repeat;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One entry of `[[ring.methods]]`: every combination of the lists is a ring.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodEntry {
    policy: Vec<PolicyName>,
    /// The delay around which the policy is accurate, if it needs one.
    around_ms: Option<f64>,
    /// *N*: bits of all filters together.
    bits: Vec<Number>,
    /// *b*: number of filters.
    filters: Vec<u32>,
    /// The distribution of delays is learnt instead of given.
    #[serde(default)]
    learnt: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PolicyName {
    Closest,
    Farthest,
    Random,
    MostLikely,
    AroundMedian,
    AroundMean,
    Around,
    Bayes,
}

/// A ring.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Configuration {
    policy: Policy,
    bits: u64,
    filters: u32,
    learnt: bool,
}

/// The most bits of a ring: 1 TiB.
const MOST_BITS: u64 = 1 << 43;

impl Entry for MethodEntry {
    type Item = Configuration;

    fn items(&self, _: f64) -> Result<Vec<Configuration>, Invalid> {
        let mut configurations = Vec::new();
        for &policy in &self.policy {
            let policy = self.policy(policy)?;
            for &bits in &self.bits {
                let bits = bits.whole("bits", 1..=MOST_BITS)?;
                available("bits", bits as f64 / 8.0)?;
                let rings =
                    self.filters.iter().map(|&filters| Configuration { policy, bits, filters, learnt: self.learnt });
                configurations.extend(rings);
            }
        }
        if configurations.is_empty() {
            return Err(Invalid::new("policy", "expected at least one of policy, bits and filters each"));
        }
        Ok(configurations)
    }
}

impl MethodEntry {
    fn policy(&self, name: PolicyName) -> Result<Policy, Invalid> {
        Ok(match (name, self.around_ms) {
            (PolicyName::Around, Some(ms)) => Policy::Around(delay("around_ms", ms)?),
            (PolicyName::Around, None) => return Err(Invalid::new("around_ms", "missing: around what?")),
            (_, Some(_)) => return Err(Invalid::new("around_ms", "only of around")),
            (PolicyName::Closest, None) => Policy::Closest,
            (PolicyName::Farthest, None) => Policy::Farthest,
            (PolicyName::Random, None) => Policy::Random,
            (PolicyName::MostLikely, None) => Policy::MostLikely,
            (PolicyName::AroundMedian, None) => Policy::AroundMedian,
            (PolicyName::AroundMean, None) => Policy::AroundMean,
            (PolicyName::Bayes, None) => Policy::Bayes,
        })
    }
}

impl Configured for Configuration {
    fn name(&self) -> String {
        let name = match self {
            Self { policy: Policy::Bayes, learnt: true, .. } => "bayes-learnt",
            Self { policy, .. } => policy.name(),
        };
        name.to_owned()
    }

    fn parameters(&self) -> BTreeMap<String, f64> {
        let mut parameters =
            BTreeMap::from([("bits".to_owned(), self.bits as f64), ("filters".to_owned(), f64::from(self.filters))]);
        if let Policy::Around(delay) = self.policy {
            parameters.insert("around_ms".to_owned(), delay.get() as f64 / 1e6);
        }
        parameters
    }
}

impl Configuration {
    /// A ring for this stream. A slot is represented by its middle if delays are uniform, else by the conditional mean
    /// of the expected delays in it.
    pub(super) fn ring(&self, stream: &Stream, seed: u64) -> Result<TimeBloom, Problem> {
        let prior = if self.learnt { Prior::Learnt } else { stream.prior.clone() };
        let reference = if prior == Prior::Uniform { Reference::SlotMiddle } else { Reference::ConditionalMean };
        let &Self { policy, bits, filters, .. } = self;
        let params = Params { bits, filters, hashes: None, rate: stream.settings.rate, policy, reference, prior };
        let terms = Terms { tags: 1, repeat: Repeat::Ambiguous, expiry: stream.longest, seed };
        Ok(TimeBloom::new(params, terms)?)
    }
}
