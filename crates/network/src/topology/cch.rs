//! Rocketfuel `.cch`: `uid @location [+] [bb] (neighbours) [&external] -> <uid> … [{-external} …] =name rn`.
//!
//! Lines that begin with a minus are addresses outside the network and are skipped. Links have no weights, and go both
//! ways only if both ends list each other.

use super::{Builder, TopologyError, Weight, at, rocketfuel};

/// A number and a place, and more than Rocketfuel's two names and a weight.
pub(super) fn recognises(words: &[&str]) -> bool {
    matches!(words, [first, place, ..] if !first.starts_with(['[', '<']) && place.starts_with('@'))
        && !rocketfuel::recognises(words)
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), TopologyError> {
    let lines = || (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with(['-', '#']));
    let mut routers = Vec::new();
    for (line, content) in lines() {
        let uid = content.split_whitespace().next().unwrap_or_default();
        if uid.parse::<u64>().is_err() {
            return Err(at(line, format!("expected the number of a router, found '{}'", cut(uid))));
        }
        let name = content.rsplit_once('=').and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or_default();
        routers.push((builder.named(uid, name.trim_end_matches('!'), None), line, content));
    }
    for (from, line, content) in routers {
        let Some((_, neighbours)) = content.split_once("->") else {
            return Err(at(line, "expected '->' and the neighbours of the router"));
        };
        for word in neighbours.split_whitespace().take_while(|word| !word.starts_with('=')) {
            let Some(uid) = word.strip_prefix('<').and_then(|word| word.strip_suffix('>')) else {
                // {-external}
                continue;
            };
            if uid.parse::<u64>().is_err() {
                return Err(at(line, format!("expected the number of a router in '<{}>'", cut(uid))));
            }
            match builder.keys.get(uid).copied() {
                Some(to) => builder.link(from, to, Weight::ONE),
                None => builder.topology.remarks.outside += 1,
            }
        }
    }
    Ok(())
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}
