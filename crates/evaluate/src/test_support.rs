//! Helpers for the tests of several kinds of experiment.

use crate::metrics::Summary;
use crate::{Definition, Extent, run};
use std::path::Path;

/// Parses a valid definition.
///
/// # Panics
/// If the definition is rejected.
pub(crate) fn accepted(text: &str) -> Definition {
    Definition::parse(Path::new("x.toml"), text).unwrap()
}

/// Checks that a valid definition is rejected after `from`, at its first occurrence, is replaced by `to`: with a
/// one-line error that names the file and contains all of these words.
///
/// # Panics
/// If it is accepted, or `from` does not occur.
pub(crate) fn assert_refused(sound: &str, from: &str, to: &str, words: &[&str]) {
    let text = sound.replacen(from, to, 1);
    assert_ne!(text, sound, "{from}");
    let Err(error) = Definition::parse(Path::new("x.toml"), &text) else { panic!("accepted: {text}") };
    let said = error.to_string();
    assert!(said.starts_with("x.toml: ") && said.lines().count() == 1, "{said}");
    for word in words {
        assert!(said.contains(word), "{to}: '{said}' does not say '{word}'");
    }
}

/// The same for each of some replacements, with the words that must be said.
///
/// # Panics
/// If one is accepted, or a `from` does not occur.
pub(crate) fn assert_each_refused(sound: &str, cases: &[(&str, &str, &str)]) {
    cases.iter().for_each(|&(from, to, words)| assert_refused(sound, from, to, &[words]));
}

/// Summaries of an experiment of full size over this many seeds.
///
/// # Panics
/// If its definition is rejected, or it cannot be run.
pub(crate) fn measured(text: &str, seeds: u64) -> Vec<Summary> {
    let definition = accepted(text);
    let experiment = definition.experiment(Extent::Full);
    run::summarise(experiment, &run::all(experiment, seeds, None).unwrap())
}

/// The mean of a quantity, in the first summary for which `is_right` holds.
pub(crate) fn mean(summaries: &[Summary], quantity: &str, is_right: impl Fn(&Summary) -> bool) -> Option<f64> {
    summaries.iter().find(|summary| summary.quantity == quantity && is_right(summary)).and_then(|summary| summary.mean)
}
