//! Messages: one line on standard error, and text that is safe for a terminal.

use std::io::{self, Write};

/// Writes a message to standard error as one line. It may contain arbitrary text from files, so control characters are
/// escaped and long messages are cut.
pub(crate) fn say(words: &str) {
    eprintln!("dwell: {}", plain(words));
}

fn plain(words: &str) -> String {
    const MOST: usize = 2_000;
    let mut line = String::new();
    for letter in words.chars().take(MOST) {
        if letter.is_control() {
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

/// The question in warnings about packets that are seen twice.
pub(crate) const CAPTURED_TWICE: &str = "are packets captured twice, as at mirror ports or with -i any (editcap -d removes \
                                         the copies; of -i any, editcap -I 20 -d)?";

/// "1 seed", "2 seeds".
pub(crate) fn of(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// "1 line is", "2 lines are".
pub(crate) fn are(number: u64, noun: &str) -> String {
    format!("{} {}", of(number, noun), if number == 1 { "is" } else { "are" })
}

/// A writer for human-readable text: control characters from the input, such as in names of flows and routers, are
/// replaced by question marks.
pub(crate) struct Plain<'a, W>(pub(crate) &'a mut W);

impl<W: Write> Write for Plain<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (0..bytes.len()).find(|&place| control(&bytes[place..]) > 0) {
            None => self.0.write(bytes),
            Some(0) => self.0.write(b"?").map(|written| written * control(bytes)),
            Some(before) => self.0.write(&bytes[..before]),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Length of the control character that a text starts with, except for a line feed: one byte, or two in UTF-8 (C1),
/// which some terminals interpret, too.
fn control(text: &[u8]) -> usize {
    match text {
        [b'\n', ..] => 0,
        [byte, ..] if byte.is_ascii_control() => 1,
        [0xc2, 0x80..=0x9f, ..] => 2,
        _ => 0,
    }
}

/// Writes warnings to standard error.
pub(crate) fn warn(warnings: &[String]) {
    for warning in warnings {
        say(&format!("warning: {warning}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_for_people_holds_no_commands() {
        let mut text = Vec::new();
        Plain(&mut text).write_all("a\u{1b}[31m\tb\n\u{9b}2J é\u{7f}\u{a0}".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "a?[31m?b\n?2J é?\u{a0}");
    }
}
