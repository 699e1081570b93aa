//! Our own format, in TOML: `docs/formats/topology.md`.

use super::{Builder, TopologyError, Weight, at, cch, rocketfuel};
use crate::lines::LineCount;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::HashSet;
use std::ops::Range;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Routers with a measurement server; all if left out.
    servers: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    instrumented: Vec<Spanned<String>>,
    #[serde(default)]
    router: Vec<Router>,
    #[serde(default)]
    link: Vec<Link>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Router {
    name: Spanned<String>,
    latitude: Option<Spanned<f64>>,
    longitude: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    from: Spanned<String>,
    to: Spanned<String>,
    weight: Option<Spanned<Number>>,
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
            let is_value = matches!(key, "servers" | "instrumented" | "router" | "link" | "name" | "from" | "to");
            (first.starts_with('[') || is_value) && !rocketfuel::recognises(words) && !cch::recognises(words)
        }
        [] => false,
    }
}

/// The text of a map, for the lines of what is wrong in it.
struct Text<'a>(&'a str);

impl Text<'_> {
    /// An error at the line where a value begins.
    fn error(&self, span: Range<usize>, what: impl Into<String>) -> TopologyError {
        at(LineCount::new(self.0.as_bytes()).at(span.start), what)
    }

    /// The name of a router, without blanks around it.
    fn name<'f>(&self, name: &'f Spanned<String>) -> Result<&'f str, TopologyError> {
        match name.get_ref().trim() {
            "" => Err(self.error(name.span(), "a router without a name")),
            name => Ok(name),
        }
    }

    fn weight(&self, number: &Spanned<Number>) -> Result<Weight, TopologyError> {
        let weight = match number.get_ref() {
            Number::Whole(number) => number.to_string().parse(),
            Number::Real(number) => number.to_string().parse(),
            Number::Digits(digits) => digits.parse(),
        };
        weight.map_err(|what: String| self.error(number.span(), what))
    }

    /// Latitude and longitude, if a router has both.
    fn place(&self, router: &Router) -> Result<Option<(f64, f64)>, TopologyError> {
        let error = |span| {
            let expected = "a latitude from -90 to 90 with a longitude from -180 to 180";
            self.error(span, format!("router '{}': expected {expected}", router.name.get_ref().trim()))
        };
        let wrong = |degrees: &Spanned<f64>, most: f64| {
            let is_there = degrees.get_ref().abs() <= most;
            (!is_there).then(|| error(degrees.span()))
        };
        match (&router.latitude, &router.longitude) {
            (None, None) => Ok(None),
            (Some(alone), None) | (None, Some(alone)) => Err(error(alone.span())),
            (Some(latitude), Some(longitude)) => match wrong(latitude, 90.0).or_else(|| wrong(longitude, 180.0)) {
                Some(error) => Err(error),
                None => Ok(Some((*latitude.get_ref(), *longitude.get_ref()))),
            },
        }
    }

    /// The numbers of different routers that the map has.
    fn routers(&self, names: &[Spanned<String>], builder: &Builder) -> Result<Vec<u32>, TopologyError> {
        let mut routers = Vec::new();
        let mut seen = HashSet::new();
        for spanned in names {
            let name = self.name(spanned)?;
            let Some(router) = builder.topology.find(name) else {
                return Err(self.error(spanned.span(), format!("unknown router '{name}'")));
            };
            if !seen.insert(router) {
                return Err(self.error(spanned.span(), format!("router '{name}' a second time")));
            }
            routers.push(router);
        }
        Ok(routers)
    }
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), TopologyError> {
    let file: File = toml::from_str(text)
        .map_err(|error| Text(text).error(error.span().unwrap_or_default(), error.message().to_owned()))?;
    let text = Text(text);
    for router in &file.router {
        let name = text.name(&router.name)?;
        if builder.keys.contains_key(name) {
            return Err(text.error(router.name.span(), format!("two routers are named '{name}'")));
        }
        let index = builder.router(name);
        builder.topology.graph[index].place = text.place(router)?;
    }
    let is_closed = !file.router.is_empty();
    for link in &file.link {
        for end in [&link.from, &link.to] {
            let name = text.name(end)?;
            if is_closed && !builder.keys.contains_key(name) {
                return Err(text.error(end.span(), format!("unknown router '{name}'")));
            }
        }
        let weight = link.weight.as_ref().map_or(Ok(Weight::ONE), |weight| text.weight(weight))?;
        let [from, to] = [&link.from, &link.to].map(|name| builder.router(name.get_ref().trim()));
        builder.link(from, to, weight);
        if !link.one_way {
            builder.link(to, from, weight);
        }
    }
    builder.topology.instrumented = text.routers(&file.instrumented, builder)?;
    if let Some(servers) = &file.servers {
        let routers = text.routers(servers.get_ref(), builder)?;
        if routers.len() < 2 {
            return Err(text.error(servers.span(), "expected at least two routers with a server"));
        }
        builder.topology.set_servers(routers);
    }
    Ok(())
}
