use super::meter::{GroupMeter, MethodName};
use crate::experiment::Problem;
use crate::grid::{Configured, Entry};
use crate::value::{Invalid, Number, RATES, above_zero, available, memory, some, span, within};
use dwell_sketch::distribution::DelayStore;
use dwell_sketch::rivals::lut::WeightTable;
use dwell_sketch::rivals::staged::{self, Staged};
use dwell_sketch::rtt::{Method, Parameters, RttMeter, Settings};
use dwell_types::{Match, Nanos, hash};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One entry of `[[delay.methods]]`: a method and lists of parameters; every combination is a configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodEntry {
    method: String,
    /// Number of slots, whatever memory they take.
    slots: Option<Vec<Number>>,
    /// Total bytes.
    memory_bytes: Option<Vec<Number>>,
    entry_probability: Option<Vec<Number>>,
    /// Requests during an entry's lifetime: slots over entry probability.
    lifetime_requests: Option<Vec<Number>>,
    /// The same for several fridges with equal shares of the slots, each combination as a list.
    lifetimes: Option<Vec<Vec<Number>>>,
    fingerprint_bits: Option<u32>,
    expiry_ms: Option<f64>,
    /// Number of stages of an array, or of a fridge that has some.
    stages: Option<u32>,
    /// The longest possible delay, for methods that need it.
    longest_ms: Option<f64>,
    /// Requests per second, for methods that can use it.
    rate: Option<f64>,
}

/// A method with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Configuration {
    name: MethodName,
    size: Size,
    entering: Entering,
    fingerprint_bits: Option<u32>,
    expiry: Option<Nanos>,
    stages: Option<u32>,
    longest: Option<Nanos>,
    rate: Option<f64>,
}

/// Which requests enter the fridges.
#[derive(Clone, Debug, PartialEq)]
enum Entering {
    /// As found while running.
    Found,
    /// Each with this probability.
    With(f64),
    /// So that this many requests pass while an entry of each fridge stays.
    Lifetimes(Vec<f64>),
}

/// The limit of a configuration's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    /// No limit.
    Unbounded,
    /// A number of slots, with ample additional memory for the delays.
    Slots(u32),
    /// Total bytes.
    Memory(usize),
}

impl Entry for MethodEntry {
    type Item = Configuration;

    /// Every combination, each built once as a check, so that every returned configuration can be built.
    fn items(&self, _: f64) -> Result<Vec<Configuration>, Invalid> {
        let Some(name) = MethodName::all().find(|name| name.name() == self.method) else {
            let names = MethodName::all().map(MethodName::name).collect::<Vec<_>>().join(", ");
            return Err(Invalid::new("method", format!("'{}': expected one of {names}", self.method)));
        };
        let method = name.method();
        let &Self { fingerprint_bits, stages, rate, .. } = self;
        let expiry = self.expiry_ms.map(|ms| span("expiry_ms", ms)).transpose()?;
        let longest = self.longest_ms.map(|ms| span("longest_ms", ms)).transpose()?;
        rate.map(|rate| within("rate", rate, RATES)).transpose()?;
        let mut configurations = Vec::new();
        for size in self.sizes(method)? {
            for entering in self.entering(size)? {
                let configuration =
                    Configuration { name, size, entering, fingerprint_bits, expiry, stages, longest, rate };
                configuration.meter(0, 1).map_err(|problem| {
                    let parameters = configuration.parameters();
                    Invalid::new("method", format!("{} {parameters:?}: {problem}", self.method))
                })?;
                configurations.push(configuration);
            }
        }
        Ok(configurations)
    }
}

impl MethodEntry {
    fn sizes(&self, method: Method) -> Result<Vec<Size>, Invalid> {
        match (&self.slots, &self.memory_bytes) {
            (None, None) if !method.is_bounded() => Ok(vec![Size::Unbounded]),
            (None, None) => Err(Invalid::new("method", format!("{} needs slots or memory_bytes", self.method))),
            (Some(_), Some(_)) => Err(Invalid::new("memory_bytes", "either this or slots, not both")),
            (None, Some(_)) if !method.is_bounded() => Err(Invalid::new("memory_bytes", "this method has no bound")),
            (Some(slots), None) => sizes("slots", slots, |number| {
                let slots = number.whole("slots", 1..=u32::MAX.into())? as u32;
                available("slots", memory_of(slots) as f64)?;
                Ok(Size::Slots(slots))
            }),
            (None, Some(bytes)) => sizes("memory_bytes", bytes, |number| match number {
                Number::Value(bytes) => memory("memory_bytes", bytes).map(Size::Memory),
                Number::Auto => Err(Invalid::new("memory_bytes", "auto: expected a whole number")),
            }),
        }
    }

    fn entering(&self, size: Size) -> Result<Vec<Entering>, Invalid> {
        let Some(lifetimes) = &self.lifetimes else {
            let found = |p: Option<f64>| p.map_or(Entering::Found, Entering::With);
            return Ok(self.entry_probabilities(size)?.into_iter().map(found).collect());
        };
        let wrong = |problem: String| Invalid::new("lifetimes", problem);
        if self.entry_probability.is_some() || self.lifetime_requests.is_some() {
            return Err(wrong("either this or entry_probability or lifetime_requests".to_owned()));
        }
        if lifetimes.is_empty() || lifetimes.iter().any(Vec::is_empty) {
            return Err(wrong("empty: expected at least one list of at least one".to_owned()));
        }
        let Size::Slots(_) = size else { return Err(wrong("expected only beside slots".to_owned())) };
        let lifetime = |number: &Number| match *number {
            Number::Value(lifetime) => above_zero("lifetimes", lifetime, MOST_LIFETIME),
            Number::Auto => Err(wrong("auto: expected a number".to_owned())),
        };
        let several = |several: &Vec<Number>| several.iter().map(lifetime).collect::<Result<_, _>>();
        lifetimes.iter().map(|lifetimes| several(lifetimes).map(Entering::Lifetimes)).collect()
    }

    fn entry_probabilities(&self, size: Size) -> Result<Vec<Option<f64>>, Invalid> {
        let (key, numbers) = match (&self.entry_probability, &self.lifetime_requests) {
            (None, None) => return Ok(vec![None]),
            (Some(_), Some(_)) => return Err(Invalid::new("lifetime_requests", "either this or entry_probability")),
            (Some(numbers), None) => ("entry_probability", numbers),
            (None, Some(numbers)) => ("lifetime_requests", numbers),
        };
        let probability = |number: &Number| match (*number, size) {
            (Number::Auto, _) => Ok(None),
            (Number::Value(p), _) if key == "entry_probability" => above_zero(key, p, 1.0).map(Some),
            (Number::Value(lifetime), Size::Slots(slots)) => {
                let lifetime = above_zero(key, lifetime, MOST_LIFETIME)?;
                Ok(Some((f64::from(slots) / lifetime).min(1.0)))
            }
            (Number::Value(_), _) => Err(Invalid::new(key, "expected only beside slots")),
        };
        some(key, numbers)?.iter().map(probability).collect()
    }
}

/// The most requests during an entry's lifetime.
const MOST_LIFETIME: f64 = 1e15;

/// The memory beside this many slots.
const fn memory_of(slots: u32) -> usize {
    /// Enough for every delay of the largest stream.
    const AMPLE: usize = 64 << 20;
    const BYTES_PER_SLOT: usize = 24;
    AMPLE + slots as usize * BYTES_PER_SLOT
}

/// A size for each number of a list.
fn sizes(key: &str, numbers: &[Number], size: impl Fn(Number) -> Result<Size, Invalid>) -> Result<Vec<Size>, Invalid> {
    some(key, numbers)?.iter().copied().map(size).collect()
}

impl Configured for Configuration {
    fn name(&self) -> String {
        self.name.name().to_owned()
    }

    fn parameters(&self) -> BTreeMap<String, f64> {
        let mut parameters = BTreeMap::new();
        let mut add = |name: &str, value: f64| parameters.insert(name.to_owned(), value);
        match self.size {
            Size::Unbounded => None,
            Size::Slots(slots) => add("slots", slots.into()),
            Size::Memory(bytes) => add("memory_bytes", bytes as f64),
        };
        match &self.entering {
            Entering::Found => (),
            Entering::With(p) => _ = add("entry_probability", *p),
            Entering::Lifetimes(lifetimes) => {
                for (number, &lifetime) in (1..).zip(lifetimes) {
                    add(&format!("lifetime_{number}"), lifetime);
                }
            }
        }
        self.fingerprint_bits.map(|bits| add("fingerprint_bits", bits.into()));
        self.expiry.map(|expiry| add("expiry_ms", expiry.get() as f64 / 1e6));
        self.stages.map(|stages| add("stages", stages.into()));
        self.longest.map(|longest| add("longest_ms", longest.get() as f64 / 1e6));
        self.rate.map(|rate| add("rate", rate));
        parameters
    }
}

impl Configuration {
    /// Builds a meter for simulated exchanges.
    pub(super) fn meter(&self, seed: u64, groups: u16) -> Result<GroupMeter, Problem> {
        let store = || DelayStore::unbounded(groups.into());
        match self.name {
            MethodName::Rtt(_) => Ok(GroupMeter::Rtt(Box::new(self.rtt_meter(false, seed, groups)?))),
            MethodName::Table => {
                let (slots, p) = self.slots_and_probability()?;
                let table = WeightTable::new(slots, p)?;
                Ok(GroupMeter::Table(Box::new(self.rtt_meter(true, seed, groups)?), table, store()))
            }
            MethodName::Staged => {
                let (slots, entry_probability) = self.slots_and_probability()?;
                let stages = self.stages.ok_or_else(|| Problem("expected stages".to_owned()))?;
                let Self { fingerprint_bits: None, expiry: None, longest: None, rate: None, .. } = self else {
                    return Err(Problem("has no fingerprint_bits, expiry_ms, longest_ms or rate".to_owned()));
                };
                let fridge = Staged::new(staged::Params { slots, stages, entry_probability }, seed);
                Ok(GroupMeter::Staged(fridge?, store()))
            }
            MethodName::Ivw => {
                let (Size::Slots(slots), Entering::Lifetimes(lifetimes)) = (self.size, &self.entering) else {
                    return Err(Problem("expected slots and lifetimes".to_owned()));
                };
                let slots = slots / lifetimes.len() as u32;
                let fridge = |(seed, &lifetime): (u64, &f64)| {
                    let alone = Self {
                        name: MethodName::Rtt(Method::Fridge),
                        size: Size::Slots(slots),
                        entering: Entering::With((f64::from(slots) / lifetime).min(1.0)),
                        ..self.clone()
                    };
                    alone.rtt_meter(true, seed, groups)
                };
                // Fridges of their own, with hashes of their own.
                let seeds = (0..).map(|k| hash::word(seed, k));
                Ok(GroupMeter::Ivw(seeds.zip(lifetimes).map(fridge).collect::<Result<_, _>>()?))
            }
        }
    }

    /// The parameters of a fridge that finds none of them.
    fn slots_and_probability(&self) -> Result<(u32, f64), Problem> {
        match (self.size, &self.entering) {
            (Size::Slots(slots), &Entering::With(p)) => Ok((slots, p)),
            _ => Err(Problem("expected slots and a fixed entry_probability or lifetime_requests".to_owned())),
        }
    }

    fn rtt_meter(&self, keeps_samples: bool, seed: u64, groups: u16) -> Result<RttMeter, Problem> {
        let (slots, memory) = match self.size {
            Size::Unbounded => (None, usize::MAX),
            Size::Slots(slots) => (Some(slots), memory_of(slots)),
            Size::Memory(bytes) => (None, bytes),
        };
        let entry_probabilities = match &self.entering {
            Entering::Found => Vec::new(),
            Entering::With(p) => vec![*p],
            Entering::Lifetimes(lifetimes) => {
                let each = f64::from(slots.unwrap_or(0)) / lifetimes.len() as f64;
                lifetimes.iter().map(|lifetime| (each / lifetime).min(1.0)).collect()
            }
        };
        let parameters = Parameters {
            slots,
            entry_probabilities,
            fingerprint_bits: self.fingerprint_bits,
            longest: self.longest,
            stages: self.stages,
            rate: self.rate,
            ..Parameters::default()
        };
        let meter = RttMeter::new(&Settings {
            groups,
            expiry: self.expiry,
            parameters,
            seed,
            keeps_samples,
            ..Settings::new(self.name.method(), vec![Match::Events], memory)
        });
        Ok(meter?)
    }
}
