//! Texts that are read as a whole.

use crate::LogError;
use dwell_capture::file::Decompressed;
use dwell_types::Nanos;
use std::io::Read;
use std::path::Path;

/// The longest delay that a person writes down, in milliseconds: eleven days.
pub const LONGEST_MS: f64 = 1e9;

/// The whole of a text file, compressed or not, which holds what `what` says; `-` is standard input.
pub fn whole(path: &Path, what: &str) -> Result<String, LogError> {
    /// Size limit in bytes: maps of millions of links.
    const MOST: u64 = 256 << 20;
    let wrong = |what| LogError::Text { path: path.to_owned(), what };
    let mut bytes = Vec::new();
    let read = Decompressed::open(path, None).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes));
    read.map_err(|error| LogError::Unread(path.to_owned(), error))?;
    if bytes.len() as u64 > MOST {
        return Err(wrong(format!("expected {what}, at most {} MiB after decompression, found more", MOST >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| {
        wrong(format!("not a text file: expected {what} as text, plain or compressed with gzip, xz or zstd"))
    })
}

/// The delays in a text file, in milliseconds, separated by blanks, commas or lines; lines that begin with `#` are left
/// out.
pub fn delays(path: &Path) -> Result<Vec<Nanos>, LogError> {
    delays_in(path, &whole(path, "delays in milliseconds")?)
}

fn delays_in(path: &Path, text: &str) -> Result<Vec<Nanos>, LogError> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#'));
    let fields = lines.flat_map(|(number, line)| {
        line.split([' ', '\t', ',']).filter(|field| !field.is_empty()).map(move |field| (number, field))
    });
    let delay = |(number, field): (u64, &str)| {
        delay(field).map_err(|what| LogError::Line { path: path.to_owned(), number, what })
    };
    fields.map(delay).collect()
}

/// A number of milliseconds.
fn delay(field: &str) -> Result<Nanos, String> {
    let ms = field.parse().map_err(|_| format!("'{field}' is not a number"))?;
    if (0.0..=LONGEST_MS).contains(&ms) {
        Ok(milliseconds(ms))
    } else {
        Err(format!("{field}: expected from 0 to {LONGEST_MS:e}"))
    }
}

/// Milliseconds to nanoseconds, rounded; values out of range become the nearest that is in range.
pub fn milliseconds(ms: f64) -> Nanos {
    Nanos::new((ms * 1e6).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_separated_by_anything_usual() {
        let found = |text: &str| delays_in(Path::new("delays"), text).map_err(|error| error.to_string());
        let micros = |of: &[i64]| Ok(of.iter().map(|&micros| Nanos::new(1_000 * micros)).collect::<Vec<_>>());
        assert_eq!(
            found("# in milliseconds\n7 7.5\n\n9,8\t.04\r\n# 5\n1e9"),
            micros(&[7_000, 7_500, 9_000, 8_000, 40, 1_000_000_000_000])
        );
        assert_eq!(found("# none\n"), micros(&[]));
        for (text, expected) in [
            ("7\n\nnine\n", "line 3: 'nine' is not a number"),
            ("#\n-1", "line 2: -1: expected from 0 to 1e9"),
            ("1 2e9", "line 1: 2e9: expected from 0 to 1e9"),
            ("NaN", "line 1: NaN: expected from 0 to 1e9"),
        ] {
            assert_eq!(found(text), Err(format!("delays: {expected}")));
        }
    }
}
