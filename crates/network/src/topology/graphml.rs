//! GraphML as written by the Internet Topology Zoo: nodes with `label`, `Latitude` and `Longitude`; edges, which go
//! both ways unless the graph is `directed`, with `LinkSpeedRaw` in bits per second, and `weight` and `delay`
//! (milliseconds) where these were added.

use super::{Builder, Link, TopologyError, Weight, at};
use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::collections::HashMap;

/// The node or edge that is being read.
#[derive(Default)]
struct Open {
    /// Attributes of the node or edge.
    attributes: HashMap<String, String>,
    /// Its data values by attribute name.
    data: HashMap<String, String>,
    line: usize,
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), TopologyError> {
    let mut reader = Reader::from_str(text);
    let mut keys: HashMap<String, String> = HashMap::new();
    let (mut open, mut key, mut is_directed) = (None::<Open>, None::<String>, false);
    let mut edges = Vec::new();
    let mut depth = 0usize;
    // Newlines are counted incrementally: `line` is the line number at byte `counted`.
    let (mut counted, mut line) = (0, 1);
    loop {
        let event = reader.read_event();
        let read = (reader.buffer_position() as usize).min(text.len());
        line += text.as_bytes()[counted..read].iter().filter(|&&byte| byte == b'\n').count();
        counted = read;
        match event.map_err(|error| at(line, error.to_string()))? {
            Event::Eof if depth > 0 => return Err(at(line, "the file ends inside an element")),
            Event::Eof => break,
            Event::Start(start) => {
                depth += 1;
                begin(&start, line, &mut keys, &mut open, &mut key, &mut is_directed)?;
            }
            Event::Empty(start) => {
                begin(&start, line, &mut keys, &mut open, &mut key, &mut is_directed)?;
                // An empty element has no text.
                key = None;
                close(start.local_name().as_ref(), &mut open, &mut edges, builder)?;
            }
            Event::Text(words) => {
                append(&mut open, key.as_deref(), &words.decode().map_err(|e| at(line, e.to_string()))?)
            }
            Event::CData(words) => {
                append(&mut open, key.as_deref(), &words.decode().map_err(|e| at(line, e.to_string()))?)
            }
            Event::GeneralRef(name) => append(&mut open, key.as_deref(), &referred(&name, line)?),
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                if end.local_name().as_ref() == b"data"
                    && let (Some(open), Some(key)) = (&mut open, key.take())
                    && let Some(value) = open.data.get_mut(&key)
                {
                    *value = value.trim().to_owned();
                }
                close(end.local_name().as_ref(), &mut open, &mut edges, builder)?;
            }
            _ => {}
        }
    }
    for edge in edges {
        connect(&edge, is_directed, builder)?;
    }
    Ok(())
}

/// Appends text to the value of a key.
fn append(open: &mut Option<Open>, key: Option<&str>, words: &str) {
    if let (Some(open), Some(key)) = (open, key) {
        open.data.entry(key.to_owned()).or_default().push_str(words);
    }
}

/// The text that an entity such as `&amp;` stands for.
fn referred(name: &BytesRef<'_>, line: usize) -> Result<String, TopologyError> {
    if let Some(letter) = name.resolve_char_ref().map_err(|error| at(line, error.to_string()))? {
        return Ok(letter.into());
    }
    let name = name.decode().map_err(|error| at(line, error.to_string()))?;
    resolve_xml_entity(&name).map(str::to_owned).ok_or_else(|| at(line, format!("an unknown entity &{name};")))
}

fn begin(
    start: &BytesStart<'_>,
    line: usize,
    keys: &mut HashMap<String, String>,
    open: &mut Option<Open>,
    key: &mut Option<String>,
    is_directed: &mut bool,
) -> Result<(), TopologyError> {
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
                keys.insert(id.clone(), name.to_lowercase());
            }
        }
        b"graph" => *is_directed = attributes.get("edgedefault").is_some_and(|default| default == "directed"),
        b"node" | b"edge" => *open = Some(Open { attributes, data: HashMap::new(), line }),
        b"data" => *key = attributes.get("key").map(|id| keys.get(id).unwrap_or(id).clone()),
        _ => {}
    }
    Ok(())
}

fn close(
    name: &[u8],
    open: &mut Option<Open>,
    edges: &mut Vec<Open>,
    builder: &mut Builder,
) -> Result<(), TopologyError> {
    match name {
        b"node" => {
            let Some(node) = open.take() else { return Ok(()) };
            let Some(id) = node.attributes.get("id") else { return Err(at(node.line, "a node without an id")) };
            let degrees =
                |name: &str| node.data.get(name).and_then(|text| text.parse::<f64>().ok()).filter(|d| d.is_finite());
            let label = node.data.get("label").filter(|label| !label.is_empty()).unwrap_or(id);
            builder.named(id, label, degrees("latitude").zip(degrees("longitude")));
        }
        b"edge" => edges.extend(open.take()),
        _ => {}
    }
    Ok(())
}

fn connect(edge: &Open, is_directed: bool, builder: &mut Builder) -> Result<(), TopologyError> {
    let end = |name: &str| {
        let id = edge.attributes.get(name).ok_or_else(|| at(edge.line, format!("an edge without {name}")))?;
        builder.keys.get(id).copied().ok_or_else(|| at(edge.line, format!("an edge to an unknown node '{id}'")))
    };
    let (from, to) = (end("source")?, end("target")?);
    let number = |name: &str| edge.data.get(name).and_then(|text| text.parse::<f64>().ok()).filter(|&n| n >= 0.0);
    let weight = match edge.data.get("weight") {
        Some(weight) => weight.parse().map_err(|what: String| at(edge.line, what))?,
        None => Weight::ONE,
    };
    let link = Link { weight, delay_ms: number("delay"), capacity: number("linkspeedraw") };
    builder.link(from, to, link);
    let both = edge.attributes.get("directed").map_or(!is_directed, |directed| directed != "true");
    if both {
        builder.link(to, from, link);
    }
    Ok(())
}
