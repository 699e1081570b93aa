//! What tests of several kinds of experiment share.

use crate::metrics::{self, Summary};
use crate::{Definition, Size, run};
use std::path::Path;

/// A definition that is sound.
///
/// # Panics
/// If it is refused.
pub(crate) fn accepted(text: &str) -> Definition {
    Definition::parse(Path::new("x.toml"), text).unwrap()
}

/// A sound definition is refused once `from`, where it stands first, has become `to`: in one line that names the file
/// and has all of these words.
///
/// # Panics
/// If it is not, or `from` does not stand there.
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

/// What an experiment of full size gives over so many seeds.
///
/// # Panics
/// If its definition is refused, or it cannot be run.
pub(crate) fn measured(text: &str, seeds: u64) -> Vec<Summary> {
    let definition = accepted(text);
    let experiment = definition.experiment(Size::Full);
    metrics::summarise(experiment, &run::all(experiment, seeds, None).unwrap())
}

/// The mean of a quantity, of the first case that is the right one.
pub(crate) fn mean(summaries: &[Summary], quantity: &str, is_right: impl Fn(&Summary) -> bool) -> Option<f64> {
    summaries.iter().find(|summary| summary.quantity == quantity && is_right(summary)).and_then(|summary| summary.mean)
}
