//! Figures of an experiment's results.
//!
//! A definition may end with a table `[figure]`:
//!
//! ```toml
//! [figure]
//! title = "Error at p50"      # what it shows, if that is not all that the definition's title says
//! x = "entry_probability"     # on the x axis: a parameter, "workload" or "quantity"
//! label = "probability"       # its label, instead of the parameter's name
//! y = "rms_error"             # on the y axis: a number of the summaries
//! y_label = "error at p50"    # what the subtitle calls it
//! factor = 100                # by which it is multiplied, for percent where that is not what the axis shows
//! log = true                  # on a log scale; errors are logarithms anyway
//! workloads = ["busy"]        # without it, all
//! quantities = ["p50", "p95"] # a panel for each, unless on the x axis; "queue_*" for all with that prefix
//! only = { slots = 512 }      # omits cases with another value of a parameter
//! best = ["longest_ms"]       # of cases that differ only in these, the best: what tuning can reach
//! ```
//!
//! There is a panel for every workload and quantity, and a curve for every method with its other parameters. With
//! workloads on the x axis, those whose names agree up to the last comma share a panel. A method that finds a parameter
//! of `best` by itself has a curve of its own.
//!
//! Summaries suffice for intervals of means and shares. For root mean squares they do not, unless errors are normal,
//! and a few large ones often make up most of the square: those are drawn without.

use crate::case::{Case, Quantity, Range, Scale, label};
use crate::experiment::Experiment;
use crate::metrics::{self, AVERAGED, Summary};
use crate::value::{Invalid, some, within, written};
use dwell_report::plot::{self, Sweep, SweepPanel};
use dwell_sketch::estimate::{Estimate, Z95};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The `[figure]` table of a definition.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    title: Option<String>,
    x: String,
    label: Option<String>,
    y: Height,
    y_label: Option<String>,
    factor: Option<f64>,
    #[serde(default)]
    log: bool,
    quantities: Vec<String>,
    workloads: Option<Vec<String>>,
    #[serde(default)]
    only: BTreeMap<String, f64>,
    #[serde(default)]
    best: Vec<String>,
}

/// What may be on the x axis besides parameters.
const WORKLOAD: &str = "workload";
const QUANTITY: &str = "quantity";
/// A parameter that methods find by themselves if it is not given.
const FOUND: &str = "entry_probability";

/// A number of a [`Summary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Height {
    /// Median of |*e*|, in octaves.
    MedianError,
    /// Root mean square of *e*, in octaves.
    RmsError,
    /// The same, for averages of the estimates of ten seeds.
    TenRmsError,
    /// Mean of |estimate/truth − 1|.
    MeanRelativeError,
    /// The mean of the values as they are.
    Mean,
    /// The mean of shares or relative errors, in percent.
    Share,
    /// Share of the intervals that contain the truth.
    Covered,
}

/// What a figure shows of some summaries.
#[derive(Debug, PartialEq)]
struct Drawn {
    /// The label of the x axis.
    x: String,
    /// The label of the y axis.
    y: String,
    /// The positions on the x axis, from left to right.
    places: Vec<String>,
    /// Named after the workload and the quantity, where several of them are drawn; values have 95% intervals.
    panels: Vec<SweepPanel>,
}

impl Figure {
    /// Checks that every name is that of something that the experiment has, and that so many seeds give what is drawn.
    pub(crate) fn check(&self, experiment: &dyn Experiment, seeds: u64) -> Result<(), Invalid> {
        some("quantities", &self.quantities)?;
        self.workloads.as_ref().map(|names| some("workloads", names)).transpose()?;
        let cases = experiment.cases();
        let parameters = distinct(cases.iter().flat_map(|case| case.parameters.keys().cloned()));
        if self.x != WORKLOAD && self.x != QUANTITY {
            named("x", &self.x, &[&[WORKLOAD.to_owned(), QUANTITY.to_owned()], &parameters[..]].concat())?;
        }
        let workloads = distinct(cases.iter().map(|case| case.workload.clone()));
        self.workloads.iter().flatten().try_for_each(|name| named("workloads", name, &workloads))?;
        self.best.iter().try_for_each(|name| named("best", name, &parameters))?;
        if !self.best.is_empty() && !self.y.is_error() {
            return Err(Invalid::new("best", "only where y is an error, of which the least is the best"));
        }
        for (name, &value) in &self.only {
            named("only", name, &parameters)?;
            within("only", value, ..)?;
        }
        if let Some(factor) = self.factor {
            within("factor", factor, (Bound::Excluded(0.0), Bound::Unbounded))?;
            if self.y.axis(self.log) == plot::YScale::Share {
                return Err(Invalid::new("factor", format!("not beside {}, which is in percent", written(&self.y))));
            }
        }
        self.check_seeds(seeds)?;
        let drawn: Vec<&Case> = cases.iter().filter(|case| self.has(&case.workload, &case.parameters)).collect();
        if drawn.is_empty() {
            return Err(Invalid::new("only", "leaves no case"));
        }
        let quantities: Vec<Quantity> = drawn.iter().flat_map(|case| experiment.quantities(case)).collect();
        let names = distinct(quantities.iter().map(|quantity| quantity.name.to_string()));
        if let Some(name) = self.quantities.iter().find(|asked| !names.iter().any(|known| is_meant(asked, known))) {
            return named("quantities", name, &names);
        }
        let largest = experiment.shown().largest.map(|(name, _)| name);
        let is_asked = |known: &&Quantity| self.quantities.iter().any(|asked| is_meant(asked, &known.name));
        quantities.iter().filter(is_asked).try_for_each(|quantity| self.check_height(quantity, largest))
    }

    /// Checks that so many seeds give what is drawn.
    pub(crate) fn check_seeds(&self, seeds: u64) -> Result<(), Invalid> {
        if self.y == Height::TenRmsError && seeds < AVERAGED as u64 {
            return Err(Invalid::new("y", format!("ten_rms_error of {seeds} seeds: expected at least {AVERAGED}")));
        }
        Ok(())
    }

    /// Checks that a quantity has the number that is drawn, on the axis on which it is; `largest` has no mean.
    fn check_height(&self, quantity: &Quantity, largest: Option<&str>) -> Result<(), Invalid> {
        let Quantity { name, scale, .. } = quantity;
        let is_largest = largest == Some(&**name);
        if !self.y.is_of(quantity, is_largest) {
            let known = Height::ALL.into_iter().filter(|height| height.is_of(quantity, is_largest));
            let known = known.map(|height| written(&height)).collect::<Vec<_>>().join(", ");
            return Err(Invalid::new("y", format!("{name} has no {}: expected {known}", written(&self.y))));
        }
        if self.log && self.y == Height::Mean && matches!(scale, Scale::Log2 | Scale::Relative) {
            return Err(Invalid::new("log", format!("not of the mean of {name}, which may be negative")));
        }
        Ok(())
    }

    /// Whether cases of a workload with these parameters are drawn.
    fn has(&self, workload: &String, parameters: &BTreeMap<String, f64>) -> bool {
        let is_asked = |(name, value)| parameters.get(name).is_none_or(|own| own == value);
        self.only.iter().all(is_asked) && self.workloads.as_ref().is_none_or(|names| names.contains(workload))
    }

    /// The figure of these results, with words about their origin; `None` if they have nothing that it shows. `title` is
    /// that of the definition, `shares` are the quantities whose intervals end at zero and one.
    pub(crate) fn sweep(&self, title: &str, origin: &str, summaries: &[Summary], shares: &[String]) -> Option<Sweep> {
        let Drawn { x, y, places, panels } = self.draw(summaries, shares);
        let mut values = panels.iter().flat_map(|panel| &panel.curves).flat_map(|(_, values)| values).flatten();
        values.clone().next()?;
        let bars = if values.any(|value| value.low < value.high) { " Bars: 95% intervals." } else { "" };
        let title = self.title.as_deref().unwrap_or(title).to_owned();
        let subtitle = format!("{y}, {origin}.{bars}");
        Some(Sweep { title, subtitle, x, places, y: self.y.axis(self.log), mark: None, panels })
    }

    /// What is shown of these summaries.
    fn draw(&self, summaries: &[Summary], shares: &[String]) -> Drawn {
        let is_share = |summary: &Summary| shares.iter().any(|share| is_meant(&summary.quantity, share));
        let is_drawn = |summary: &&Summary| {
            self.quantities.iter().any(|asked| is_meant(asked, &summary.quantity))
                && self.has(&summary.workload, &summary.parameters)
        };
        let drawn: Vec<&Summary> = summaries.iter().filter(is_drawn).collect();
        let varying = varying(&drawn, &self.x);
        let places = self.places(&drawn);
        let curve_names = distinct(drawn.iter().map(|summary| self.curve(summary, &varying)));
        let several = |of: fn(&Self, &Summary) -> String| distinct(drawn.iter().map(|s| of(self, s))).len() > 1;
        let (workloads, quantities) = (several(Self::workload), several(Self::quantity));
        let panel_of = |summary: &Summary| {
            let mut name = if workloads { self.workload(summary) } else { String::new() };
            if quantities {
                name += if workloads { ": " } else { "" };
                name += &self.quantity(summary);
            }
            name
        };
        let mut panels: Vec<SweepPanel> = Vec::new();
        for name in distinct(drawn.iter().map(|summary| panel_of(summary))) {
            let curves = curve_names.iter().map(|curve| (curve.clone(), vec![None; places.len()])).collect();
            panels.push(SweepPanel { name, curves });
        }
        for summary in &drawn {
            // The errors of a few runs are not those of all.
            let told = Some(summary).filter(|summary| metrics::is_told(summary.missing, summary.runs));
            let (Some(value), name) =
                (told.and_then(|summary| self.y.of(summary, is_share(summary))), panel_of(summary))
            else {
                continue;
            };
            let value = self.factor.map_or(value, |factor| value.map(|value| value * factor));
            let curve = self.curve(summary, &varying);
            let panel = panels.iter_mut().find(|panel| panel.name == name);
            let found = panel.and_then(|panel| panel.curves.iter_mut().find(|(name, _)| *name == curve));
            let Some((_, values)) = found else { continue };
            // A parameter found while running has no position on the x axis: its value is drawn at all of them.
            let place = self.place(summary).and_then(|place| places.iter().position(|p| *p == place));
            let range = place.map_or(0..places.len(), |place| place..place + 1);
            for known in &mut values[range] {
                let is_better = known.is_none_or(|known: Estimate<f64>| value.value.abs() < known.value.abs());
                if is_better {
                    *known = Some(value);
                }
            }
        }
        let x = match (&self.label, self.x.as_str()) {
            (Some(label), _) => label.clone(),
            (None, WORKLOAD | QUANTITY) => String::new(),
            (None, parameter) => parameter.replace('_', " "),
        };
        let name = || self.y.name(drawn.first().map_or(Scale::Value, |summary| summary.scale)).to_owned();
        let y = self.y_label.clone().unwrap_or_else(name);
        Drawn { x, y, places: shortened(places), panels }
    }

    /// All positions on the x axis: parameters in increasing order, others in order of appearance.
    fn places(&self, drawn: &[&Summary]) -> Vec<String> {
        if self.x == WORKLOAD || self.x == QUANTITY {
            return distinct(drawn.iter().filter_map(|summary| self.place(summary)));
        }
        let mut values: Vec<f64> =
            drawn.iter().filter_map(|summary| summary.parameters.get(&self.x).copied()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.into_iter().map(short).collect()
    }

    /// A case's position on the x axis; `None` if it has no such parameter.
    fn place(&self, summary: &Summary) -> Option<String> {
        match self.x.as_str() {
            WORKLOAD => {
                let name = &summary.workload;
                Some(name.rsplit_once(", ").map_or(name.as_str(), |(_, last)| last).to_owned())
            }
            QUANTITY => Some(summary.quantity.clone()),
            parameter => summary.parameters.get(parameter).copied().map(short),
        }
    }

    /// The workload in a panel's name.
    fn workload(&self, summary: &Summary) -> String {
        let name = &summary.workload;
        let shared = if self.x == WORKLOAD { name.rsplit_once(", ").map_or("", |(first, _)| first) } else { name };
        shared.to_owned()
    }

    fn quantity(&self, summary: &Summary) -> String {
        if self.x == QUANTITY { String::new() } else { summary.quantity.clone() }
    }

    fn curve(&self, summary: &Summary, varying: &BTreeMap<String, Vec<String>>) -> String {
        let mut parameters = summary.parameters.clone();
        let named = varying.get(&summary.method);
        parameters.retain(|name, _| {
            *name != self.x && !self.best.contains(name) && named.is_some_and(|named| named.contains(name))
        });
        // A parameter that varies and is absent was found while running.
        let is_found = |name: &String| (*name == self.x || name == FOUND) && !summary.parameters.contains_key(name);
        let is_auto = named.is_some_and(|named| named.iter().any(is_found));
        let words = [summary.method.as_str(), if is_auto { "auto" } else { "" }, &label(&parameters)];
        let mut curve = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let is_tuned =
            |name: &&String| summary.parameters.contains_key(*name) && named.is_some_and(|named| named.contains(name));
        for name in self.best.iter().filter(is_tuned) {
            curve += &format!(", best {name}");
        }
        curve
    }
}

impl Height {
    const ALL: [Self; 7] = [
        Self::MedianError,
        Self::RmsError,
        Self::TenRmsError,
        Self::MeanRelativeError,
        Self::Mean,
        Self::Share,
        Self::Covered,
    ];

    const fn is_error(self) -> bool {
        match self {
            Self::MedianError | Self::RmsError | Self::TenRmsError | Self::MeanRelativeError => true,
            Self::Mean | Self::Share | Self::Covered => false,
        }
    }

    /// Whether summaries of a quantity have this number.
    fn is_of(self, quantity: &Quantity, is_largest: bool) -> bool {
        match self {
            Self::MedianError | Self::RmsError | Self::TenRmsError => quantity.scale == Scale::Log2,
            Self::MeanRelativeError => quantity.scale == Scale::Relative,
            Self::Mean => !is_largest,
            Self::Share => quantity.range != Range::Any,
            Self::Covered => quantity.has_interval && !is_largest,
        }
    }

    /// The number with its 95% interval, where the runs are enough for one.
    fn of(self, summary: &Summary, is_share: bool) -> Option<Estimate<f64>> {
        let runs = summary.runs.saturating_sub(summary.missing).max(1) as f64;
        let around = |value: f64, error: f64| Estimate { value, low: value - Z95 * error, high: value + Z95 * error };
        let between = |value: Option<f64>, ends: Option<[f64; 2]>| {
            let value = value?;
            Some(ends.map_or_else(|| Estimate::exact(value), |[low, high]| Estimate { value, low, high }))
        };
        match self {
            Self::MedianError => between(summary.median_error, summary.median_error_interval),
            Self::RmsError => between(summary.rms_error, summary.rms_error_interval),
            Self::TenRmsError => between(summary.ten_rms_error, summary.ten_rms_error_interval),
            Self::MeanRelativeError => summary.mean_relative_error.map(|mean| {
                let squares = summary.rms_relative_error.map_or(0.0, |rms| rms * rms - mean * mean);
                around(mean, (squares.max(0.0) / runs).sqrt())
            }),
            Self::Mean | Self::Share => {
                let mean = summary.mean.map(|mean| around(mean, summary.standard_error.unwrap_or(0.0)));
                if is_share { mean.map(cut) } else { mean }
            }
            Self::Covered => summary.covered.map(|share| cut(around(share, (share * (1.0 - share) / runs).sqrt()))),
        }
    }

    /// The scale of the y axis; `by_logarithm` is for what is not an error, which always is a logarithm.
    const fn axis(self, by_logarithm: bool) -> plot::YScale {
        match self {
            Self::MedianError | Self::RmsError | Self::TenRmsError => plot::YScale::Logarithmic,
            Self::MeanRelativeError | Self::Share => plot::YScale::Share,
            Self::Mean | Self::Covered if by_logarithm => plot::YScale::Logarithmic,
            Self::Mean | Self::Covered => plot::YScale::Linear,
        }
    }

    /// The label of the y axis.
    const fn name(self, scale: Scale) -> &'static str {
        match self {
            Self::MedianError => "median error, octaves",
            Self::RmsError => "root mean square error, octaves",
            Self::TenRmsError => "root mean square error of averages of ten, octaves",
            Self::MeanRelativeError => "mean relative error",
            Self::Mean => match scale {
                Scale::Log2 => "mean error, octaves",
                Scale::Relative => "mean of estimate over truth less one",
                Scale::Ratio => "mean of estimate over truth",
                Scale::Value => "mean",
            },
            Self::Share => "share",
            Self::Covered => "share of intervals that hold the truth",
        }
    }
}

/// Checks that a name is one of the known ones.
fn named(key: &str, name: &String, known: &[String]) -> Result<(), Invalid> {
    if known.contains(name) {
        return Ok(());
    }
    let expected =
        if known.is_empty() { "there are none".to_owned() } else { format!("expected {}", known.join(", ")) };
    Err(Invalid::new(key, format!("'{name}': {expected}")))
}

/// Whether the name of a quantity in a figure, which may end in `*`, is or includes that of a measured one; there, `#`
/// at the end stands for any number.
pub(crate) fn is_meant(asked: &str, known: &str) -> bool {
    let numbered = |asked: &str| {
        let number = known.strip_suffix(Quantity::ANY).and_then(|first| asked.strip_prefix(first));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    match asked.strip_suffix('*') {
        Some(beginning) => known.starts_with(beginning) || numbered(beginning),
        None => asked == known || numbered(asked),
    }
}

/// The quantities of an experiment that are shares.
pub(crate) fn shares(experiment: &dyn Experiment) -> Vec<String> {
    let cases = experiment.cases();
    let quantities = cases.iter().flat_map(|case| experiment.quantities(case));
    distinct(quantities.filter(|quantity| quantity.range == Range::Share).map(|quantity| quantity.name.into_owned()))
}

/// A share's interval without what lies below zero or above one.
fn cut(share: Estimate<f64>) -> Estimate<f64> {
    Estimate { low: share.low.max(0.0), high: share.high.min(1.0), ..share }
}

/// By method, the parameters that differ between its cases.
fn varying(drawn: &[&Summary], x: &str) -> BTreeMap<String, Vec<String>> {
    let mut varying: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for method in distinct(drawn.iter().map(|summary| summary.method.clone())) {
        let cases: Vec<_> = drawn.iter().filter(|summary| summary.method == method).collect();
        let names = distinct(cases.iter().flat_map(|summary| summary.parameters.keys().cloned()));
        let differs = |name: &String| {
            let value = |summary: &Summary| summary.parameters.get(name).map(|value| value.to_bits());
            cases.windows(2).any(|pair| value(pair[0]) != value(pair[1]))
        };
        varying.insert(method, names.into_iter().filter(|name| name == x || differs(name)).collect());
    }
    varying
}

fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// A parameter's value, formatted as in [`label`].
fn short(value: f64) -> String {
    label(&BTreeMap::from([(String::new(), value)])).trim_start_matches('=').to_owned()
}

/// Position labels without their common prefix: `error_1_9`, `error_10_99` become `1–9` and `10–99`.
fn shortened(places: Vec<String>) -> Vec<String> {
    let word = |place: &String| place.split_once('_').map(|(first, _)| first.to_owned());
    let first = places.first().and_then(word);
    if places.len() < 2 || first.is_none() || !places.iter().all(|place| word(place) == first) {
        return places;
    }
    places.iter().filter_map(|place| place.split_once('_')).map(|(_, rest)| rest.replace('_', "–")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Extent;
    use crate::record::Results;
    use crate::test_support::{accepted, assert_each_refused};

    fn summary(workload: &str, method: &str, parameters: &[(&str, f64)], quantity: &str, rms: f64) -> Summary {
        let parameters = parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Summary {
            workload: workload.to_owned(),
            method: method.to_owned(),
            parameters,
            quantity: quantity.to_owned(),
            scale: Scale::Log2,
            runs: 50,
            rms_error: Some(rms),
            mean: Some(rms),
            standard_error: Some(0.0),
            ..Summary::default()
        }
    }

    fn figure(text: &str) -> Figure {
        toml::from_str(text).unwrap()
    }

    fn values(drawn: &Drawn, panel: usize, curve: &str) -> Vec<Option<f64>> {
        let curves = &drawn.panels[panel].curves;
        let (_, values) = curves.iter().find(|(name, _)| name == curve).unwrap_or_else(|| panic!("{curves:?}"));
        values.iter().map(|value| value.map(|v| v.value)).collect()
    }

    #[test]
    fn what_is_found_while_running_is_a_level() {
        let summaries = [
            summary("w", "fridge", &[("p", 0.5), ("slots", 9.0)], "p50", 0.2),
            summary("w", "fridge", &[("p", 0.25), ("slots", 9.0)], "p50", 0.1),
            summary("w", "fridge", &[("slots", 9.0)], "p50", 0.3),
            summary("w", "fridge", &[("slots", 9.0)], "p99", 7.0),
        ];
        let drawn = figure("x = 'p'\ny = 'rms_error'\nquantities = ['p50']").draw(&summaries, &[]);
        assert_eq!(drawn.places, ["2^-2", "2^-1"]);
        assert_eq!((drawn.panels.len(), drawn.panels[0].name.as_str()), (1, ""));
        assert_eq!(values(&drawn, 0, "fridge"), [Some(0.1), Some(0.2)]);
        assert_eq!(values(&drawn, 0, "fridge auto"), [Some(0.3), Some(0.3)]);
        assert_eq!(drawn.panels[0].curves[0].1[0], Some(Estimate::exact(0.1)));
    }

    /// The error of the few runs with an estimate is not drawn as if it were that of all.
    #[test]
    fn errors_of_few_runs_are_not_drawn() {
        let case = |p, missing| Summary { missing, ..summary("w", "fridge", &[("p", p)], "p50", 0.1) };
        let drawn = figure("x = 'p'\ny = 'rms_error'\nquantities = ['p50']").draw(&[case(0.25, 2), case(0.5, 3)], &[]);
        assert_eq!(values(&drawn, 0, "fridge"), [Some(0.1), None]);
    }

    #[test]
    fn a_figure_may_have_a_title_of_its_own() {
        let summaries = [summary("w", "fridge", &[("p", 0.5)], "p50", 0.2)];
        let title = |more: &str| {
            let text = format!("{more}x = 'p'\ny = 'rms_error'\nquantities = ['p50']");
            figure(&text).sweep("all", "10 seeds", &summaries, &[]).unwrap().title
        };
        assert_eq!((title(""), title("title = 'p50'\n")), ("all".to_owned(), "p50".to_owned()));
    }

    #[test]
    fn tuning_takes_the_best() {
        let case = |slots: f64, p: f64, rms| summary("w", "fridge", &[("p", p), ("slots", slots)], "p50", rms);
        let summaries = [case(1.0, 0.5, 0.9), case(1.0, 0.25, 0.4), case(2.0, 0.5, 0.2), case(2.0, 0.25, 0.3)];
        let drawn = figure("x = 'slots'\ny = 'rms_error'\nquantities = ['p50']\nbest = ['p']").draw(&summaries, &[]);
        assert_eq!(values(&drawn, 0, "fridge, best p"), [Some(0.4), Some(0.2)]);
        let all = figure("x = 'slots'\ny = 'rms_error'\nquantities = ['p50']").draw(&summaries, &[]);
        assert_eq!(values(&all, 0, "fridge p=2^-2"), [Some(0.4), Some(0.3)]);
    }

    #[test]
    fn what_finds_a_parameter_itself_is_not_among_the_tuned() {
        let case = |parameters: &[(&str, f64)], rms| summary("w", "fridge", parameters, "p50", rms);
        let summaries = [
            case(&[("entry_probability", 0.5), ("slots", 1.0)], 0.9),
            case(&[("entry_probability", 0.25), ("slots", 1.0)], 0.4),
            case(&[("slots", 1.0)], 0.1),
        ];
        let text = "x = 'slots'\ny = 'rms_error'\nquantities = ['p50']\nbest = ['entry_probability']";
        let drawn = figure(text).draw(&summaries, &[]);
        assert_eq!(values(&drawn, 0, "fridge, best entry_probability"), [Some(0.4)]);
        assert_eq!(values(&drawn, 0, "fridge auto"), [Some(0.1)]);
    }

    #[test]
    fn shares_end_at_one() {
        let share = |workload: &str, value| Summary {
            standard_error: Some(0.25),
            ..summary(workload, "paper", &[], "recall", value)
        };
        let shares = ["recall".to_owned()];
        let summaries = [share("calm", 0.75), share("busy", 0.5)];
        let text = "x = 'quantity'\ny = 'mean'\nquantities = ['recall']\nworkloads = ['calm']";
        let drawn = figure(text).draw(&summaries, &shares);
        let expected = Estimate { value: 0.75, low: 0.75 - 0.25 * Z95, high: 1.0 };
        assert_eq!(drawn.panels.iter().map(|panel| panel.curves[0].1[0]).collect::<Vec<_>>(), [Some(expected)]);
        let drawn = figure(&[text, "\nfactor = 100\ny_label = 'recall, %'"].concat()).draw(&summaries, &shares);
        assert_eq!((values(&drawn, 0, "paper"), drawn.y.as_str()), (vec![Some(75.0)], "recall, %"));
    }

    /// Intervals of shares end at one, whatever kind of experiment measures them; those of relative errors do not.
    #[test]
    fn the_experiment_knows_its_shares() {
        let definition = accepted(
            r#"
name = "n"
title = "t"
source = "s"
seeds = 1
[[ring.workloads]]
name = "w"
rate = 1000
delays = { distribution = "pareto", least_ms = 1, shape = 2 }
longest_ms = 100
span_ms = 1000
course_ms = 100
[[ring.methods]]
policy = ["closest"]
bits = [32768]
filters = [4]
[figure]
x = "filters"
y = "share"
quantities = ["occupancy", "occupancy_100", "relative_error"]
"#,
        );
        let of = |quantity: &str| Summary {
            scale: Scale::Value,
            standard_error: Some(0.25),
            ..summary("w", "closest", &[("filters", 4.0)], quantity, 0.75)
        };
        let summaries = ["occupancy", "occupancy_100", "relative_error"].map(of).to_vec();
        let drawn = Results::new(&definition, Extent::Full, 1, summaries).sweep(&definition).unwrap();
        let tops = drawn.panels.iter().map(|panel| panel.curves[0].1[0].unwrap().high).collect::<Vec<_>>();
        assert_eq!(tops, [1.0, 1.0, 0.75 + 0.25 * Z95]);
    }

    #[test]
    fn workloads_along_the_axis_share_panels() {
        let case = |workload: &str, rms| summary(workload, "lda", &[("rows", 512.0)], "mean", rms);
        let summaries = [case("A, loss 1", 0.1), case("A, loss 2", 0.2), case("B, loss 1", 0.3)];
        let drawn = figure("x = 'workload'\ny = 'mean'\nquantities = ['mean']").draw(&summaries, &[]);
        assert_eq!(drawn.places, ["loss 1", "loss 2"]);
        assert_eq!(drawn.panels.iter().map(|panel| panel.name.as_str()).collect::<Vec<_>>(), ["A", "B"]);
        assert_eq!(
            (values(&drawn, 0, "lda"), values(&drawn, 1, "lda")),
            (vec![Some(0.1), Some(0.2)], vec![Some(0.3), None])
        );
        let sizes = [summary("w", "lds", &[], "error_1_9", 0.5), summary("w", "lds", &[], "error_10_99", 0.4)];
        let drawn = figure("x = 'quantity'\ny = 'share'\nquantities = ['error_1_9', 'error_10_99']").draw(&sizes, &[]);
        assert_eq!(drawn.places, ["1–9", "10–99"]);
        assert_eq!(values(&drawn, 0, "lds"), [Some(0.5), Some(0.4)]);
        let all = figure("x = 'quantity'\ny = 'share'\nquantities = ['error_*']");
        assert_eq!(all.draw(&[&sizes[..], &summaries].concat(), &[]), drawn);
    }

    #[test]
    fn what_names_nothing_is_refused() {
        let sound = r#"
name = "n"
title = "t"
source = "s"
seeds = 1
[[delay.workloads]]
name = "w"
preset = "fridge-heavy-tailed"
[[delay.methods]]
method = "fridge"
slots = [512, 1024]
entry_probability = [0.5, "auto"]
[figure]
x = "slots"
y = "rms_error"
factor = 100
quantities = ["p50", "p9*"]
workloads = ["w"]
only = { slots = 512 }
best = ["entry_probability"]
"#;
        accepted(sound);
        let means = sound.replace("rms_error", "mean").replace("best = [\"entry_probability\"]", "log = true");
        accepted(&means.replace("\"p50\", \"p9*\"", "\"octave_20\", \"octave_*\", \"exch*\""));
        let cases = [
            ("\"p50\"", "\"p95\"", "line 20, figure.log: not of the mean of p95, which may be negative"),
            (
                "\"p50\", \"p9*\"",
                "\"max_p05_p95\"",
                "figure.y: max_p05_p95 has no mean: expected median_error, rms_error, ten_",
            ),
            ("\"mean\"\nfactor = 100", "\"share\"", "figure.y: p50 has no share: expected median_error"),
            ("\"mean", "\"share", "line 16, figure.factor: not beside share, which is in percent"),
        ];
        assert_each_refused(&means, &cases);
        let cases = [
            ("\"slots\"\ny", "\"slogs\"\ny", "line 14, figure.x: 'slogs': expected workload, quantity, entry_prob"),
            ("\"p50\"", "\"p51\"", "line 17, figure.quantities: 'p51': expected p50, p95, p99, max_p05_p95, exch"),
            ("\"p50\"", "\"octave_x\"", "figure.quantities: 'octave_x': expected"),
            ("\"p50\"", "\"q*\"", "figure.quantities: 'q*': expected"),
            ("workloads = [\"w\"]", "workloads = [\"nope\"]", "figure.workloads: 'nope': expected w"),
            ("only = { slots", "only = { foo", "figure.only: 'foo': expected entry_probability, slots"),
            ("only = { slots = 512", "only = { slots = nan", "figure.only: NaN"),
            ("only = { slots = 512", "only = { slots = 513", "figure.only: leaves no case"),
            ("best = [\"entry", "best = [\"foo\", \"entry", "figure.best: 'foo': expected entry_probability, slots"),
            ("\"rms_error", "\"mean", "figure.best: only where y is an error"),
            ("\"p50\"", "\"octave_2*\"", "line 15, figure.y: octave_# has no rms_error: expected mean, covered"),
            ("\"rms_error", "\"share", "figure.best: only where y is an error"),
            ("workloads = [\"w\"]", "workloads = []", "line 18, figure.workloads: empty"),
            ("\"rms_error", "\"ten_rms_error", "line 15, figure.y: ten_rms_error of 1 seeds: expected at least 10"),
            ("factor = 100", "factor = 0", "figure.factor: 0: expected above 0"),
            ("factor = 100", "factor = nan", "figure.factor: NaN: expected above 0"),
        ];
        assert_each_refused(sound, &cases);
    }
}
