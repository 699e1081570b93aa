//! Rocketfuel `weights.intra`: on each line the start of a link, its end, and its weight. Each direction has a line.

use super::{Builder, TopologyError, Weight, at};

/// Two names, which may begin with any letter but must not look like TOML, and a weight.
pub(super) fn recognises(words: &[&str]) -> bool {
    matches!(words, [from, to, weight] if !from.starts_with("[[") && *to != "=" && weight.parse::<Weight>().is_ok())
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), TopologyError> {
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let [from, to, weight] = words[..] else {
            let found: String = content.chars().take(60).collect();
            return Err(at(line, format!("expected from, to and a weight, found '{found}'")));
        };
        let weight = weight.parse().map_err(|what: String| at(line, what))?;
        let (from, to) = (builder.router(from), builder.router(to));
        builder.link(from, to, weight);
    }
    Ok(())
}
