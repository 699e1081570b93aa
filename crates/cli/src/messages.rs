//! Messages: one line on standard error, safe for a terminal.

use dwell_report::text::is_command;
use std::io::{self, Write};

/// Writes a message to standard error as one line. It may contain arbitrary text from files, so control characters are
/// escaped and long messages are cut.
pub(crate) fn say(words: &str) {
    // A message that cannot be written ends nothing: the report and the exit code do not depend on who listens.
    let _ = writeln!(io::stderr(), "dwell: {}", plain(words));
}

fn plain(words: &str) -> String {
    const MOST: usize = 2_000;
    let mut line = String::new();
    for letter in words.chars().take(MOST) {
        if is_command(letter) {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    if words.chars().nth(MOST).is_some() {
        line.push('…');
    }
    line
}

/// Writes warnings to standard error.
pub(crate) fn warn(warnings: impl IntoIterator<Item: AsRef<str>>) {
    for warning in warnings {
        say(&format!("warning: {}", warning.as_ref()));
    }
}
