//! Rocketfuel `weights.intra`: on each line the start of a link, its end, and its weight. Each direction has a line.

use super::{Builder, TopologyError, at};

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), TopologyError> {
    each_line(text, |line, [from, to, weight]| {
        let weight = weight.parse().map_err(|what: String| at(line, what))?;
        let (from, to) = (builder.router(from), builder.router(to));
        builder.link(from, to, weight);
        Ok(())
    })
}

/// The three words of every line that is neither empty nor a comment.
pub(super) fn each_line(
    text: &str,
    mut take: impl FnMut(usize, [&str; 3]) -> Result<(), TopologyError>,
) -> Result<(), TopologyError> {
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let Ok(words) = <[&str; 3]>::try_from(words) else {
            let found: String = content.chars().take(60).collect();
            return Err(at(line, format!("expected from, to and a weight, found '{found}'")));
        };
        take(line, words)?;
    }
    Ok(())
}
