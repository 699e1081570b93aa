//! What tests of several kinds of experiment share.

use crate::Definition;
use std::path::Path;

/// A definition that is sound.
///
/// # Panics
/// If it is refused.
pub(crate) fn accepted(text: &str) -> Definition {
    Definition::parse(Path::new("x.toml"), text).unwrap()
}

/// A sound definition is refused once `from`, where it stands first, has become `to`: in one line that names the file and has all of these words.
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
