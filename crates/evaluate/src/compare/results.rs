use super::GOOD_OCTAVES;
use crate::delay::LARGEST;
use crate::metrics::{self, Summary};
use dwell_report::plot::{Sweep, SweepPanel};
use dwell_report::{csv, text};
use dwell_sketch::estimate::Estimate;
use dwell_sketch::rtt::{Method, Parameter};
use dwell_types::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The name of the JSON schema.
pub const SCHEMA: &str = "dwell.compare/1";

/// The results of a comparison, as in the JSON output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The files read.
    pub sources: Vec<String>,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    /// The number of seeds of every method's hashes, which are 1 to this number.
    pub seeds: u64,
    /// From which copy of a repeated request delays count, where that is unknown.
    pub ambiguous: &'static str,
    /// The memories, in increasing order.
    pub memory_bytes: Vec<usize>,
    /// The methods.
    pub methods: Vec<MethodFacts>,
    /// One per pairing rule.
    pub matches: Vec<MatchResult>,
}

/// Facts about a method apart from its results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodFacts {
    /// Its name.
    pub name: &'static str,
    /// How it finds its parameters.
    pub tuning: &'static str,
    /// What it has to be given that the others find out, and the values given; `None` if nothing.
    pub prior_knowledge: Option<String>,
}

impl MethodFacts {
    /// The facts of a method; the longest delay and the rate are those given to it, if any.
    pub fn new(method: Method, longest: Option<Nanos>, rate: Option<f64>) -> Self {
        let told = || {
            let longest = match longest {
                Some(longest) => format!("the longest delay, here {longest}"),
                None => "the longest delay, taken as a sixteenth of the expiry".to_owned(),
            };
            match rate {
                Some(rate) if method.has(Parameter::Rate) => format!("{longest}, and the rate, here {rate}/s"),
                _ => longest,
            }
        };
        Self { name: method.name(), tuning: method.tuning(), prior_knowledge: method.needs_longest().then(told) }
    }
}

/// The results of one matching rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchResult {
    /// Its name.
    #[serde(rename = "match")]
    pub matching: &'static str,
    /// One per leg with exchanges.
    pub legs: Vec<LegResult>,
    /// The recommended configuration; `None` without exchanges, or if no method gives an answer.
    pub recommended: Option<Recommended>,
}

/// The results of one leg.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LegResult {
    /// Its name.
    pub leg: &'static str,
    /// Number of exchanges in the truth.
    pub exchanges: u64,
    /// The truth.
    pub truth_ns: Quantiles,
    /// The results of every method in every memory, by memory.
    pub results: Vec<Line>,
}

/// True delays, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Quantiles {
    pub p50: Option<i64>,
    pub p95: Option<i64>,
    pub p99: Option<i64>,
}

/// One method in one memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The method.
    pub method: &'static str,
    /// Its memory.
    pub memory_bytes: usize,
    /// The least bytes that it needs, if more than the memory: then there are no results.
    pub needed_bytes: Option<usize>,
    /// The peak size of its data structures; mean over the seeds.
    pub state_bytes: Option<f64>,
    /// Number of delays that its estimates are based on; mean over the seeds.
    pub samples: Option<f64>,
    /// By quantity: `p50`, `p95`, `p99`, [`LARGEST`]; empty if it did not fit.
    pub errors: BTreeMap<String, Errors>,
}

/// Errors of one quantity over the seeds: log₂ of estimate over truth, in octaves (see [`crate::metrics`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// Seeds without an estimate, which are excluded below.
    pub missing: u64,
    /// Median of the magnitude, over single seeds.
    pub median_octaves: Option<f64>,
    /// Root mean square, over single seeds.
    pub rms_octaves: Option<f64>,
    /// Mean with its sign; `None` for the largest of several errors.
    pub mean_octaves: Option<f64>,
    /// Median after averaging the estimates of ten seeds; `None` with fewer than ten.
    pub ten_median_octaves: Option<f64>,
    /// Root mean square of the same.
    pub ten_rms_octaves: Option<f64>,
    /// Share of the 95% intervals that contain the truth; `None` for the largest of several errors.
    pub covered_share: Option<f64>,
}

impl Errors {
    /// These, unless so many of the seeds lack an estimate that the others do not speak for all.
    pub(super) fn told(&self, seeds: u64) -> Option<&Self> {
        Some(self).filter(|errors| metrics::is_told(errors.missing, seeds))
    }

    pub(super) fn new(summary: &Summary) -> Self {
        Self {
            missing: summary.missing,
            median_octaves: summary.median_error,
            rms_octaves: summary.rms_error,
            mean_octaves: summary.mean,
            ten_median_octaves: summary.ten_median_error,
            ten_rms_octaves: summary.ten_rms_error,
            covered_share: summary.covered,
        }
    }
}

/// The configuration with the least memory that is good enough on every leg, or else the most accurate one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommended {
    /// The method.
    pub method: &'static str,
    /// Its memory.
    pub memory_bytes: usize,
    /// Median over the seeds of its largest error from p5 to p95, on the worst leg.
    pub max_error_octaves: f64,
    /// That leg.
    pub worst_leg: &'static str,
    /// Whether this is below 5%, and every seed has an estimate on every leg.
    pub is_good: bool,
}

/// The configuration to recommend for all legs. Ties in memory are broken by error, then by the order of the methods.
pub(super) fn recommend(legs: &[LegResult]) -> Option<Recommended> {
    let candidates = legs.first()?.results.len();
    let judged: Vec<(u64, Recommended)> = (0..candidates).filter_map(|number| judge(legs, number)).collect();
    let good = judged.iter().filter(|(_, judged)| judged.is_good).map(|(_, judged)| judged);
    let least = good
        .min_by(|a, b| (a.memory_bytes.cmp(&b.memory_bytes)).then(a.max_error_octaves.total_cmp(&b.max_error_octaves)));
    let best = || {
        let best = judged.iter().min_by(|(a_missing, a), (b_missing, b)| {
            (a_missing.cmp(b_missing)).then(a.max_error_octaves.total_cmp(&b.max_error_octaves))
        });
        best.map(|(_, best)| best)
    };
    least.or_else(best).cloned()
}

impl MatchResult {
    /// By memory and method, in the order of the results, the median of the largest error on the worst leg, in octaves;
    /// `None` if it is missing on some leg, as where it is that of too few of these seeds.
    fn worst_errors(&self, seeds: u64) -> Vec<(&'static str, usize, Option<f64>)> {
        let lines = self.legs.first().map_or(&[][..], |leg| &leg.results);
        let told = |leg: &LegResult, number: usize| leg.results.get(number)?.errors.get(LARGEST)?.told(seeds).map(drop);
        let error = |number| {
            self.legs.iter().try_for_each(|leg| told(leg, number))?;
            judge(&self.legs, number).map(|(_, judged)| judged.max_error_octaves)
        };
        lines.iter().enumerate().map(|(number, line)| (line.method, line.memory_bytes, error(number))).collect()
    }
}

/// One candidate on its worst leg, and how many estimates are missing.
fn judge(legs: &[LegResult], number: usize) -> Option<(u64, Recommended)> {
    let mut missing = 0;
    let mut worst: Option<Recommended> = None;
    for leg in legs {
        let line = leg.results.get(number)?;
        let errors = line.errors.get(LARGEST)?;
        missing += errors.missing;
        let error = match errors.median_octaves {
            Some(error) => error,
            // No quantity of this leg has a ratio to the truth.
            None if errors.missing == 0 => continue,
            None => return None,
        };
        if worst.as_ref().is_none_or(|worst| error > worst.max_error_octaves) {
            let (method, memory_bytes) = (line.method, line.memory_bytes);
            worst = Some(Recommended {
                method,
                memory_bytes,
                max_error_octaves: error,
                worst_leg: leg.leg,
                is_good: false,
            });
        }
    }
    let worst = worst?;
    Some((missing, Recommended { is_good: missing == 0 && worst.max_error_octaves < GOOD_OCTAVES, ..worst }))
}

/// A row of the CSV: the errors of a quantity by one method in one memory; without them if the method did not fit.
struct Row<'a> {
    seeds: u64,
    matching: &'static str,
    leg: &'a LegResult,
    line: &'a Line,
    of: Option<(&'a String, &'a Errors)>,
}

impl Row<'_> {
    const COLUMNS: [csv::Column<Self>; 15] = [
        ("match", |row| row.matching.to_owned()),
        ("leg", |row| row.leg.leg.to_owned()),
        ("exchanges", |row| row.leg.exchanges.to_string()),
        ("method", |row| row.line.method.to_owned()),
        ("memory_bytes", |row| row.line.memory_bytes.to_string()),
        ("needed_bytes", |row| csv::text(row.line.needed_bytes)),
        ("quantity", |row| csv::text(row.of.map(|(quantity, _)| quantity))),
        ("seeds", |row| row.cell(|_| Some(row.seeds))),
        ("missing", |row| row.cell(|errors| Some(errors.missing))),
        ("median_octaves", |row| row.cell(|errors| errors.median_octaves)),
        ("rms_octaves", |row| row.cell(|errors| errors.rms_octaves)),
        ("mean_octaves", |row| row.cell(|errors| errors.mean_octaves)),
        ("ten_median_octaves", |row| row.cell(|errors| errors.ten_median_octaves)),
        ("ten_rms_octaves", |row| row.cell(|errors| errors.ten_rms_octaves)),
        ("covered_share", |row| row.cell(|errors| errors.covered_share)),
    ];

    fn cell<T: ToString>(&self, of: impl FnOnce(&Errors) -> Option<T>) -> String {
        csv::text(self.of.and_then(|(_, errors)| of(errors)))
    }
}

impl Results {
    /// Writes CSV: one row per leg, method, memory and quantity; a single row without quantity if a method did not fit.
    pub fn write_csv(&self, to: &mut impl Write) -> io::Result<()> {
        let legs = self.matches.iter().flat_map(|matched| matched.legs.iter().map(|leg| (matched.matching, leg)));
        let lines = legs.flat_map(|(matching, leg)| leg.results.iter().map(move |line| (matching, leg, line)));
        let rows = lines.flat_map(|(matching, leg, line)| {
            let of = line.errors.iter().map(Some).chain(line.errors.is_empty().then_some(None));
            of.map(move |of| Row { seeds: self.seeds, matching, leg, line, of })
        });
        csv::write(Row::COLUMNS, rows, to)
    }

    /// The largest errors of every match against memory.
    pub fn sweep(&self) -> Sweep {
        let panel = |matched: &MatchResult| {
            let errors = matched.worst_errors(self.seeds);
            let error = |method: &str, bytes: usize| {
                let (.., octaves) = errors.iter().find(|error| (error.0, error.1) == (method, bytes))?;
                octaves.map(|octaves| Estimate::exact(octaves.exp2() - 1.0))
            };
            let curve = |method: &MethodFacts| {
                let values = self.memory_bytes.iter().map(|&bytes| error(method.name, bytes));
                (method.name.to_owned(), values.collect())
            };
            SweepPanel { name: matched.matching.to_owned(), curves: self.methods.iter().map(curve).collect() }
        };
        let title = format!("Error against memory, {}", text::of(self.seeds, "seed"));
        let subtitle = "Median over the seeds of the largest error from p5 to p95, on the worst leg.";
        Sweep::of_memories(title, subtitle, &self.memory_bytes, self.matches.iter().map(panel).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leg with a line per memory and median error; `None`: did not fit. `missing` applies to all lines.
    fn leg(leg: &'static str, lines: &[(usize, Option<f64>)], missing: u64) -> LegResult {
        let line = |&(memory_bytes, error): &(usize, Option<f64>)| {
            let errors = Errors {
                missing,
                median_octaves: error,
                rms_octaves: error,
                mean_octaves: None,
                ten_median_octaves: None,
                ten_rms_octaves: None,
                covered_share: None,
            };
            Line {
                method: "m",
                memory_bytes,
                needed_bytes: None,
                state_bytes: None,
                samples: None,
                errors: error.map(|_| (LARGEST.to_owned(), errors)).into_iter().collect(),
            }
        };
        let truth_ns = Quantiles { p50: None, p95: None, p99: None };
        LegResult { leg, exchanges: 1, truth_ns, results: lines.iter().map(line).collect() }
    }

    #[test]
    fn the_least_good_memory_is_recommended_else_the_best() {
        assert_eq!(GOOD_OCTAVES, 1.05f64.log2());
        assert_eq!(recommend(&[]), None);
        assert_eq!(recommend(&[leg("a", &[(1, None)], 0)]), None);
        let first = [(1, None), (2, Some(0.06)), (2, Some(0.05)), (3, Some(0.0))];
        let one = recommend(&[leg("a", &first, 0)]).unwrap();
        assert_eq!((one.memory_bytes, one.max_error_octaves, one.is_good), (2, 0.05, true));
        // The worst leg decides.
        let second = [(1, Some(0.0)), (2, Some(0.0)), (2, Some(0.5)), (3, Some(0.01))];
        let two = recommend(&[leg("a", &first, 0), leg("b", &second, 0)]).unwrap();
        assert_eq!((two.memory_bytes, two.max_error_octaves, two.worst_leg), (2, 0.06, "a"));
        // A configuration with missing estimates is never good enough.
        let rare = recommend(&[leg("a", &first, 0), leg("b", &second, 1)]).unwrap();
        assert_eq!((rare.memory_bytes, rare.worst_leg, rare.is_good), (3, "b", false));
        let poor = recommend(&[leg("a", &[(1, Some(0.3)), (2, Some(0.2)), (3, Some(0.4))], 0)]).unwrap();
        assert_eq!((poor.memory_bytes, poor.is_good), (2, false));
    }

    /// Errors of some seeds are not drawn as if they were those of all.
    #[test]
    fn errors_of_few_seeds_are_not_drawn() {
        let errors = |missing| {
            let legs = vec![leg("a", &[(1, Some(0.1))], 0), leg("b", &[(1, Some(0.2))], missing)];
            MatchResult { matching: "dns", legs, recommended: None }.worst_errors(20)
        };
        assert_eq!(errors(1), [("m", 1, Some(0.2))]);
        assert_eq!(errors(2), [("m", 1, None)]);
    }
}
