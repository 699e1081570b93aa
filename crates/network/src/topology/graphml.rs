//! GraphML as written by the Internet Topology Zoo: nodes with `label`, `Latitude` and `Longitude`; edges, which go
//! both ways unless the graph is `directed`, with `weight` where it was added.

use super::{Builder, TopologyError, Weight, at, rocketfuel};
use crate::lines::LineCount;
use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::collections::{BTreeMap, HashMap};

/// An attribute that nodes or edges may have.
struct Key {
    name: String,
    /// What may have it: `node`, `edge`, or `all`, among others.
    of: String,
    /// Its value where the file gives none.
    default: String,
}

/// The node or edge that is being read.
#[derive(Default)]
struct Open {
    /// Attributes of the node or edge.
    attributes: HashMap<String, String>,
    /// Its data values by attribute name.
    data: HashMap<String, String>,
    line: usize,
}

/// What the text that is being read belongs to.
enum Place {
    /// The default of the key with this id.
    Default(String),
    /// The value of this attribute of the open node or edge.
    Data(String),
}

/// What was read so far.
#[derive(Default)]
struct State {
    keys: BTreeMap<String, Key>,
    /// The id of the key that is being read.
    key: Option<String>,
    /// Nodes may contain graphs.
    open: Vec<Open>,
    place: Option<Place>,
    /// Whether edges have one direction, for each graph that is open.
    directed: Vec<bool>,
    /// Edges, and whether they have one direction.
    edges: Vec<(Open, bool)>,
}

/// An element, rather than a name that begins like one.
pub(super) fn recognises(words: &[&str]) -> bool {
    let is_element = words.first().is_some_and(|first| first.starts_with('<')) && words.get(1) != Some(&"=");
    is_element && !rocketfuel::recognises(words)
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), TopologyError> {
    let mut reader = Reader::from_str(text);
    let mut state = State::default();
    let mut depth = 0usize;
    let mut lines = LineCount::new(text.as_bytes());
    loop {
        let event = reader.read_event();
        let line = lines.at(reader.buffer_position() as usize);
        match event.map_err(|error| at(line, error.to_string()))? {
            Event::Eof if depth > 0 => return Err(at(line, "the file ends inside an element")),
            Event::Eof => break,
            Event::Start(start) => {
                depth += 1;
                state.begin(&start, line)?;
            }
            Event::Empty(start) => {
                state.begin(&start, line)?;
                state.end(start.local_name().as_ref(), builder)?;
            }
            Event::Text(words) => state.append(&words.decode().map_err(|e| at(line, e.to_string()))?),
            Event::CData(words) => state.append(&words.decode().map_err(|e| at(line, e.to_string()))?),
            Event::GeneralRef(name) => state.append(&referred(&name, line)?),
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                state.end(end.local_name().as_ref(), builder)?;
            }
            _ => {}
        }
    }
    state.edges.iter().try_for_each(|(edge, is_directed)| connect(edge, *is_directed, builder))
}

/// The text that an entity such as `&amp;` stands for.
fn referred(name: &BytesRef<'_>, line: usize) -> Result<String, TopologyError> {
    if let Some(letter) = name.resolve_char_ref().map_err(|error| at(line, error.to_string()))? {
        return Ok(letter.into());
    }
    let name = name.decode().map_err(|error| at(line, error.to_string()))?;
    resolve_xml_entity(&name).map(str::to_owned).ok_or_else(|| at(line, format!("an unknown entity &{name};")))
}

impl State {
    fn begin(&mut self, start: &BytesStart<'_>, line: usize) -> Result<(), TopologyError> {
        let mut attributes = HashMap::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| at(line, error.to_string()))?;
            let value = attribute.unescape_value().map_err(|error| at(line, error.to_string()))?;
            attributes
                .insert(String::from_utf8_lossy(attribute.key.local_name().as_ref()).into_owned(), value.into_owned());
        }
        match start.local_name().as_ref() {
            b"key" => {
                if let (Some(id), Some(name)) = (attributes.get("id"), attributes.get("attr.name")) {
                    let of = attributes.get("for").map_or("all", String::as_str).to_owned();
                    self.keys.insert(id.clone(), Key { name: name.to_lowercase(), of, default: String::new() });
                    self.key = Some(id.clone());
                }
            }
            b"default" => self.place = self.key.clone().map(Place::Default),
            b"graph" => {
                self.directed.push(attributes.get("edgedefault").is_some_and(|default| default == "directed"));
            }
            b"node" | b"edge" => self.open.push(Open { attributes, data: HashMap::new(), line }),
            b"data" => {
                let name = attributes.get("key").map(|id| self.keys.get(id).map_or(id, |key| &key.name).clone());
                if let (Some(open), Some(name)) = (self.open.last_mut(), name) {
                    // Even an empty value replaces the default. Names differ by more than capital letters.
                    if open.data.insert(name.clone(), String::new()).is_some() {
                        return Err(at(line, format!("a second value of '{name}'")));
                    }
                    self.place = Some(Place::Data(name));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Where the text that is being read belongs.
    fn value(&mut self) -> Option<&mut String> {
        match self.place.as_ref()? {
            Place::Default(id) => self.keys.get_mut(id).map(|key| &mut key.default),
            Place::Data(name) => self.open.last_mut()?.data.get_mut(name),
        }
    }

    fn append(&mut self, words: &str) {
        if let Some(value) = self.value() {
            value.push_str(words);
        }
    }

    fn end(&mut self, name: &[u8], builder: &mut Builder) -> Result<(), TopologyError> {
        match name {
            b"key" => self.key = None,
            b"data" | b"default" => {
                if let Some(value) = self.value() {
                    *value = value.trim().to_owned();
                }
                self.place = None;
            }
            b"node" => {
                let Some(node) = self.close("node") else { return Ok(()) };
                let Some(id) = node.attributes.get("id") else { return Err(at(node.line, "a node without an id")) };
                if builder.keys.contains_key(id) {
                    return Err(at(node.line, format!("two nodes have the id '{id}'")));
                }
                let degrees = |name: &str, most: f64| {
                    node.value(name)?.parse::<f64>().ok().filter(|degrees| degrees.abs() <= most)
                };
                let label = node.value("label").unwrap_or(id);
                // Some count longitudes eastward only.
                builder.named(id, label, degrees("latitude", 90.0).zip(degrees("longitude", 360.0)));
            }
            b"graph" => _ = self.directed.pop(),
            b"edge" => {
                let Some(edge) = self.close("edge") else { return Ok(()) };
                let is_directed = match edge.attributes.get("directed").map(String::as_str) {
                    Some(directed) => matches!(directed, "true" | "1"),
                    None => self.directed.last().copied().unwrap_or(false),
                };
                self.edges.push((edge, is_directed));
            }
            _ => {}
        }
        Ok(())
    }

    /// The node or edge that was being read, with the defaults of what it lacks.
    fn close(&mut self, of: &str) -> Option<Open> {
        let mut open = self.open.pop()?;
        for key in self.keys.values().filter(|key| (key.of == of || key.of == "all") && !key.default.is_empty()) {
            open.data.entry(key.name.clone()).or_insert_with(|| key.default.clone());
        }
        Some(open)
    }
}

impl Open {
    /// The value of an attribute, unless it is empty.
    fn value(&self, name: &str) -> Option<&str> {
        self.data.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

fn connect(edge: &Open, is_directed: bool, builder: &mut Builder) -> Result<(), TopologyError> {
    let end = |name: &str| {
        let id = edge.attributes.get(name).ok_or_else(|| at(edge.line, format!("an edge without {name}")))?;
        builder.keys.get(id).copied().ok_or_else(|| at(edge.line, format!("an edge to an unknown node '{id}'")))
    };
    let (from, to) = (end("source")?, end("target")?);
    let weight = match edge.value("weight") {
        Some(weight) => weight.parse().map_err(|what: String| at(edge.line, what))?,
        None => Weight::ONE,
    };
    builder.link(from, to, weight);
    if !is_directed {
        builder.link(to, from, weight);
    }
    Ok(())
}
