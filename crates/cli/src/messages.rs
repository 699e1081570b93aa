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

/// So many packets may be chance, or losses: no warning is of fewer.
pub(crate) const FEW: u64 = 20;

/// So many of `packets` are too many to be chance, or losses as usual.
pub(crate) fn many(packets: u64) -> u64 {
    FEW.max(packets / 50)
}

/// The question in warnings about packets that are seen twice.
pub(crate) const CAPTURED_TWICE: &str = "are packets captured twice, as at mirror ports (editcap -d removes the copies) or \
                                         with -i any (FILE%2 reads interface 2 only; or editcap -I 20 -d), or is a file named twice?";

/// Writes warnings to standard error.
pub(crate) fn warn(warnings: impl IntoIterator<Item: AsRef<str>>) {
    for warning in warnings {
        say(&format!("warning: {}", warning.as_ref()));
    }
}
