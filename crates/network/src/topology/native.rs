//! Our own format, in TOML: `docs/formats/topology.md`.

use super::{Builder, TopologyError, Weight, at, cch, rocketfuel};
use crate::lines::LineCount;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    router: Vec<Router>,
    #[serde(default)]
    link: Vec<Spanned<Line>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Router {
    name: String,
    latitude: Option<f64>,
    longitude: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    from: String,
    to: String,
    weight: Option<Number>,
    /// Not used, and neither is the capacity.
    #[serde(default, rename = "delay_ms")]
    _delay_ms: IgnoredAny,
    #[serde(default, rename = "capacity_bps")]
    _capacity_bps: IgnoredAny,
    #[serde(default)]
    one_way: bool,
}

/// A number, or a string of decimal digits.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Whole(i64),
    Real(f64),
    Digits(String),
}

/// A value or the head of a table.
pub(super) fn recognises(words: &[&str]) -> bool {
    match words {
        [_, "=", ..] => true,
        [first, ..] => {
            let key = first.split_once('=').map_or("", |(key, _)| key);
            let is_value = matches!(key, "router" | "link" | "name" | "from" | "to");
            (first.starts_with('[') || is_value) && !rocketfuel::recognises(words) && !cch::recognises(words)
        }
        [] => false,
    }
}

fn parse(digits: &str, line: usize) -> Result<Weight, TopologyError> {
    digits.parse().map_err(|what: String| at(line, what))
}

/// Latitude and longitude, if a router has both.
fn place(router: &Router) -> Result<Option<(f64, f64)>, TopologyError> {
    let degrees = match (router.latitude, router.longitude) {
        (None, None) => return Ok(None),
        (latitude, longitude) => latitude.zip(longitude),
    };
    let is_there = |&(latitude, longitude): &(f64, f64)| latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
    let degrees = degrees.filter(is_there).ok_or_else(|| {
        let expected = "a latitude from -90 to 90 with a longitude from -180 to 180";
        at(0, format!("router '{}': expected {expected}", router.name))
    })?;
    Ok(Some(degrees))
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), TopologyError> {
    let mut lines = LineCount::new(text.as_bytes());
    let file: File = toml::from_str(text)
        .map_err(|error| at(error.span().map_or(1, |span| lines.at(span.start)), error.message().to_owned()))?;
    for router in &file.router {
        let name = router.name.trim();
        if builder.keys.contains_key(name) {
            return Err(at(0, format!("two routers are named '{name}'")));
        }
        let index = builder.router(name);
        builder.topology.graph[index].place = place(router)?;
    }
    let is_closed = !file.router.is_empty();
    for spanned in &file.link {
        let (line, link) = (lines.at(spanned.span().start), spanned.get_ref());
        let ends = [&link.from, &link.to].map(|name| name.trim());
        if let Some(unknown) = ends.into_iter().find(|&name| is_closed && !builder.keys.contains_key(name)) {
            return Err(at(line, format!("unknown router '{unknown}'")));
        }
        let weight = match &link.weight {
            None => Weight::ONE,
            Some(Number::Whole(number)) => parse(&number.to_string(), line)?,
            Some(Number::Real(number)) => parse(&number.to_string(), line)?,
            Some(Number::Digits(digits)) => parse(digits, line)?,
        };
        let [from, to] = ends.map(|name| builder.router(name));
        builder.link(from, to, weight);
        if !link.one_way {
            builder.link(to, from, weight);
        }
    }
    Ok(())
}
