use super::GOOD_ERROR;
use crate::metrics;
use dwell_report::plot::{Sweep, SweepPanel};
use dwell_report::{csv, text};
use dwell_sketch::estimate::Estimate;
use dwell_sketch::owd::{Tally, Totals};
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The name of the JSON schema.
pub const SCHEMA: &str = "dwell.compare-owd/1";

/// The quantities with errors, by their names in the results: mean delay, standard deviation, share of packets lost.
pub(super) const MEAN: &str = "mean";
pub(super) const STD: &str = "std";
pub(super) const LOSS: &str = "loss";
/// These, and their names in tables and plots.
pub(super) const QUANTITIES: [(&str, &str); 3] = [(MEAN, "mean"), (STD, "deviation"), (LOSS, "loss")];

/// A method to measure between two points without recording every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// An aggregator with the default banks.
    Lda,
    /// An aggregator with the paper's two banks.
    LdaPaper,
    /// The same small sample of packets, stored at both points.
    Trajectory,
    /// Active probes at times of a Poisson process.
    Probes,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 4] = [Self::Lda, Self::LdaPaper, Self::Trajectory, Self::Probes];

    /// Whether `dwell owd` has it; the others are only compared.
    pub const fn is_offered(self) -> bool {
        match self {
            Self::Lda => true,
            Self::LdaPaper | Self::Trajectory | Self::Probes => false,
        }
    }

    /// The name on the command line and in the results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lda => "lda",
            Self::LdaPaper => "lda-paper",
            Self::Trajectory => "trajectory",
            Self::Probes => "probes",
        }
    }

    const fn tuning(self) -> &'static str {
        match self {
            Self::Lda => "four banks for .01% to 10% loss of up to a million packets",
            Self::LdaPaper => "two banks of equal rows, tuned to .5% and 10% loss of a million packets",
            Self::Trajectory => "none to find",
            Self::Probes => "a probe of 64 bytes for every 64 bytes of memory in each interval",
        }
    }
}

/// The results of a comparison, as in the JSON output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The files read, the sender's first.
    pub sources: Vec<String>,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    /// The number of seeds of every method's hashes, which are 1 to this number.
    pub seeds: u64,
    /// Length of an interval.
    pub interval_ns: i64,
    /// The memories, in increasing order.
    pub memory_bytes: Vec<usize>,
    /// The methods.
    pub methods: Vec<MethodFacts>,
    /// The packets that were compared or excluded.
    pub packets: Packets,
    /// The truth over all intervals.
    pub truth: Truths,
    /// The results of every method in every memory, by memory.
    pub results: Vec<Line>,
    /// The recommended configuration of a method that `dwell owd` has; `None` if none of these gives an answer.
    pub recommended: Option<Recommended>,
}

/// Facts about a method apart from its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MethodFacts {
    /// Its name.
    pub name: &'static str,
    /// How it finds its parameters.
    pub tuning: &'static str,
    /// Whether `dwell owd` has it; the others are only compared.
    pub is_offered: bool,
}

impl From<Method> for MethodFacts {
    fn from(method: Method) -> Self {
        Self { name: method.name(), tuning: method.tuning(), is_offered: method.is_offered() }
    }
}

/// Packets by their fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Packets {
    /// Seen at the sender.
    pub sent: u64,
    /// Of these, those that arrived.
    pub received: u64,
    /// Of those sent, the lost ones.
    pub lost: u64,
    /// Excluded: received while an identical packet was in flight, so with an ambiguous delay; included in `received`.
    pub ambiguous: u64,
    /// Excluded: sent while the receiver's capture was not running.
    pub uncovered: u64,
    /// Excluded: seen only at the receiver.
    pub unsent: u64,
    /// Intervals that were compared.
    pub intervals: u64,
    /// Intervals with fewer than three received packets, which were not compared.
    pub intervals_too_short: u64,
}

impl Packets {
    pub(super) fn new(totals: &Totals, intervals: u64, intervals_too_short: u64) -> Self {
        let tally = &totals.tally;
        let count = |value: f64| value.round() as u64;
        Self {
            sent: totals.sent,
            received: count(tally.received().value),
            lost: count(tally.lost().value),
            ambiguous: count(tally.ambiguous().value),
            uncovered: count(tally.uncovered().value),
            unsent: count(totals.unsent),
            intervals,
            intervals_too_short,
        }
    }
}

/// The true values, from all packets; `None` if none arrived.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Truths {
    /// Mean delay.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the delays.
    pub std_ns: Option<f64>,
    /// Share of the packets lost.
    pub loss_share: Option<f64>,
}

impl Truths {
    pub(super) fn new(sent: u64, tally: &Tally) -> Self {
        Self {
            mean_ns: tally.mean(sent).map(|mean| mean.value),
            std_ns: tally.standard_deviation(sent).map(|deviation| deviation.value),
            loss_share: tally.loss_rate(sent).map(|rate| rate.value),
        }
    }
}

/// One method in one memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The method.
    pub method: Method,
    /// Size limit of a sketch of an interval at each point.
    pub memory_bytes: usize,
    /// The least bytes that it needs, if more than the limit: then there are no results.
    pub needed_bytes: Option<usize>,
    /// Packets or probes per interval that its estimates are based on; mean over seeds and intervals.
    pub packets: Option<f64>,
    /// By quantity: `loss`, `mean`, `std`; empty if it did not fit.
    pub errors: BTreeMap<&'static str, Errors>,
}

/// Errors of one quantity over all seeds and intervals: (estimate − truth)/|truth|.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// Number of combinations of seed and interval whose truth is not zero.
    pub runs: u64,
    /// Those without an estimate, which are excluded below.
    pub missing: u64,
    /// Median of the magnitude.
    pub median_relative: Option<f64>,
    /// Root mean square.
    pub rms_relative: Option<f64>,
    /// Mean with its sign: the bias.
    pub mean_relative: Option<f64>,
    /// Share of the 95% intervals that contain the truth; `None` for the loss.
    pub covered_share: Option<f64>,
}

impl Errors {
    /// These, unless so many runs lack an estimate that the others do not speak for all.
    pub(super) fn told(&self) -> Option<&Self> {
        Some(self).filter(|errors| metrics::is_told(errors.missing, errors.runs))
    }
}

/// Of the methods that `dwell owd` has, the configuration with the least memory that is good enough, or else the most
/// accurate one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommended {
    /// The method.
    pub method: Method,
    /// Its memory.
    pub memory_bytes: usize,
    /// The median error of its mean.
    pub mean_error_relative: f64,
    /// Whether this is below [`GOOD_ERROR`], and at most one run in 20 has no estimate.
    pub is_good: bool,
    /// The command that measures so; `None` if the direction cannot be named in it.
    pub command: Option<String>,
}

impl Recommended {
    /// Ties in memory are broken by error, then by root mean square error, then by the order of the methods. If nothing
    /// is good, configurations that too often lack an estimate come last. `command` gives the command for a method in so
    /// much memory.
    pub fn of(lines: &[Line], command: impl FnOnce(Method, usize) -> Option<String>) -> Option<Self> {
        let judged: Vec<Judged> = lines.iter().filter_map(Judged::new).collect();
        let good = judged.iter().filter(|judged| judged.verdict.is_good);
        let least = good.min_by(|a, b| {
            let (smaller, larger) = (a.verdict.memory_bytes, b.verdict.memory_bytes);
            smaller.cmp(&larger).then_with(|| a.cmp_error(b))
        });
        let best = || judged.iter().min_by(|a, b| a.is_rare.cmp(&b.is_rare).then_with(|| a.cmp_error(b)));
        let verdict = least.or_else(best)?.verdict.clone();
        Some(Self { command: command(verdict.method, verdict.memory_bytes), ..verdict })
    }
}

/// The assessment of a method in a memory.
struct Judged {
    verdict: Recommended,
    rms: f64,
    /// Whether more than one run in 20 has no estimate.
    is_rare: bool,
}

impl Judged {
    fn new(line: &Line) -> Option<Self> {
        let errors = line.errors.get(MEAN).filter(|_| line.method.is_offered())?;
        let (mean_error_relative, rms) = (errors.median_relative?, errors.rms_relative?);
        let is_rare = errors.told().is_none();
        let is_good = !is_rare && mean_error_relative < GOOD_ERROR;
        let (method, memory_bytes) = (line.method, line.memory_bytes);
        let verdict = Recommended { method, memory_bytes, mean_error_relative, is_good, command: None };
        Some(Self { verdict, rms, is_rare })
    }

    fn cmp_error(&self, other: &Self) -> Ordering {
        let median = |judged: &Self| judged.verdict.mean_error_relative;
        median(self).total_cmp(&median(other)).then(self.rms.total_cmp(&other.rms))
    }
}

/// A row of the CSV: the errors of a quantity by one method in one memory; without them if the method did not fit.
struct Row<'a> {
    line: &'a Line,
    of: Option<(&'a &'static str, &'a Errors)>,
}

impl Row<'_> {
    const COLUMNS: [csv::Column<Self>; 10] = [
        ("method", |row| row.line.method.name().to_owned()),
        ("memory_bytes", |row| row.line.memory_bytes.to_string()),
        ("needed_bytes", |row| csv::text(row.line.needed_bytes)),
        ("quantity", |row| csv::text(row.of.map(|(quantity, _)| quantity))),
        ("runs", |row| row.cell(|errors| Some(errors.runs))),
        ("missing", |row| row.cell(|errors| Some(errors.missing))),
        ("median_relative", |row| row.cell(|errors| errors.median_relative)),
        ("rms_relative", |row| row.cell(|errors| errors.rms_relative)),
        ("mean_relative", |row| row.cell(|errors| errors.mean_relative)),
        ("covered_share", |row| row.cell(|errors| errors.covered_share)),
    ];

    fn cell<T: ToString>(&self, of: impl FnOnce(&Errors) -> Option<T>) -> String {
        csv::text(self.of.and_then(|(_, errors)| of(errors)))
    }
}

impl Results {
    /// Writes CSV: one row per method, memory and quantity; a single row without quantity if a method did not fit.
    pub fn write_csv(&self, to: &mut impl Write) -> io::Result<()> {
        let rows = self.results.iter().flat_map(|line| {
            let of = line.errors.iter().map(Some).chain(line.errors.is_empty().then_some(None));
            of.map(move |of| Row { line, of })
        });
        csv::write(Row::COLUMNS, rows, to)
    }

    /// The median errors of each quantity against memory, without those of too few runs.
    pub fn sweep(&self) -> Sweep {
        let error = |method: &str, bytes: usize, quantity: &str| {
            let line = self.results.iter().find(|line| (line.method.name(), line.memory_bytes) == (method, bytes))?;
            line.errors.get(quantity)?.told()?.median_relative.map(Estimate::exact)
        };
        let panel = |(quantity, name): (&str, &str)| {
            let curve = |method: &MethodFacts| {
                let values = self.memory_bytes.iter().map(|&bytes| error(method.name, bytes, quantity));
                (method.name.to_owned(), values.collect())
            };
            SweepPanel { name: name.to_owned(), curves: self.methods.iter().map(curve).collect() }
        };
        let title = format!("Error between two points against memory, {}", text::of(self.seeds, "seed"));
        let panels = QUANTITIES.into_iter().map(panel).collect();
        let subtitle = "Median over seeds and intervals; no point where more than one run in 20 has no estimate.";
        Sweep::of_memories(title, subtitle, &self.memory_bytes, panels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(memory_bytes: usize, error: Option<f64>, missing: u64) -> Line {
        let errors = Errors {
            runs: 10,
            missing,
            median_relative: error,
            rms_relative: error,
            mean_relative: error,
            covered_share: None,
        };
        let errors = error.map(|_| ("mean", errors)).into_iter().collect();
        Line { method: Method::Lda, memory_bytes, needed_bytes: None, packets: None, errors }
    }

    #[test]
    fn the_least_good_memory_is_recommended_else_the_best() {
        let command = |_, memory| Some(format!("{memory}"));
        let of = |lines: &[Line]| {
            let recommended = Recommended::of(lines, command)?;
            assert_eq!(recommended.command, command(recommended.method, recommended.memory_bytes));
            Some((recommended.memory_bytes, recommended.mean_error_relative, recommended.is_good))
        };
        assert_eq!(of(&[line(1, None, 0)]), None);
        let lines = [line(1, Some(0.05), 0), line(2, Some(0.04), 0), line(2, Some(0.03), 0), line(3, Some(0.01), 0)];
        assert_eq!(of(&lines), Some((2, 0.03, true)));
        // A method that often has no estimate is not good enough.
        assert_eq!(of(&[line(1, Some(0.01), 1), line(2, Some(0.2), 0)]), Some((2, 0.2, false)));
        assert_eq!(of(&[line(1, Some(0.3), 0), line(2, Some(0.2), 0)]), Some((2, 0.2, false)));
        // Nor is one that `dwell owd` does not have, however good.
        let compared = Line { method: Method::Trajectory, ..line(1, Some(0.0), 0) };
        assert_eq!(of(&[compared.clone(), line(2, Some(0.03), 0)]), Some((2, 0.03, true)));
        assert_eq!(of(&[compared]), None);
    }

    /// The median of the few runs that have an estimate is not drawn as if it were that of all.
    #[test]
    fn errors_of_few_runs_are_not_drawn() {
        let results = Results {
            schema: SCHEMA,
            sources: Vec::new(),
            warnings: Vec::new(),
            seeds: 10,
            interval_ns: 1,
            memory_bytes: vec![1, 2],
            methods: vec![Method::Lda.into()],
            packets: Packets {
                sent: 0,
                received: 0,
                lost: 0,
                ambiguous: 0,
                uncovered: 0,
                unsent: 0,
                intervals: 1,
                intervals_too_short: 0,
            },
            truth: Truths { mean_ns: None, std_ns: None, loss_share: None },
            results: vec![line(1, Some(0.01), 9), line(2, Some(0.02), 0)],
            recommended: None,
        };
        let drawn = results.sweep();
        let (_, values) = &drawn.panels[0].curves[0];
        assert_eq!(*values, [None, Some(Estimate::exact(0.02))]);
    }
}
