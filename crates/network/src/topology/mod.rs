//! Routers and the links between them, read from the file formats in which network maps are published.

use crate::millionths::{self, MILLION};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

// Readers of the file formats.
mod cch;
mod graphml;
mod native;
mod rocketfuel;

/// A map of a network: routers and directed links.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    graph: DiGraph<Router, Weight>,
    /// Numbers of routers by name.
    names: HashMap<String, NodeIndex>,
    /// Routers with a measurement server; `None` if all have one.
    servers: Option<BTreeSet<u32>>,
    instrumented: Vec<u32>,
    /// Links of the file that were left out.
    pub remarks: Remarks,
}

/// A router.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Router {
    /// Unique name.
    pub(crate) name: Arc<str>,
    /// Latitude and longitude in degrees, if the file has them.
    pub(crate) place: Option<(f64, f64)>,
}

/// The routing weight of one direction of a link; paths minimise its sum. In millionths, so that sums of decimal
/// fractions compare exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Weight(pub(crate) u64);

impl Weight {
    /// The weight of a link for which the file has none.
    pub(crate) const ONE: Self = Self(MILLION);
}

/// With this limit no path of fewer than 18 million links overflows; costs of OSPF are at most 65,535.
const MOST_MILLIONTHS: u64 = 1_000_000 * MILLION;

impl std::str::FromStr for Weight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        millionths::parse(text, MOST_MILLIONTHS).map(Self).ok_or_else(|| {
            format!("a weight of '{text}': expected a number above 0 and up to 1000000, with at most 6 decimals")
        })
    }
}

/// Links in a file that make no difference to paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Parallel links in the same direction, other than the one with the least weight.
    pub parallel: usize,
    /// Links from a router to itself.
    pub loops: usize,
    /// Links to routers that the map does not contain.
    pub outside: usize,
}

/// Why a map cannot be read: where, what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyError {
    /// The line, counted from 1; zero if the error concerns the whole file.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "line {line}: {}", self.what),
        }
    }
}

impl std::error::Error for TopologyError {}

/// An error at a line.
fn at(line: usize, what: impl Into<String>) -> TopologyError {
    TopologyError { line, what: what.into() }
}

/// File formats of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Rocketfuel `weights.intra` or `latencies.intra`: from, to, number.
    Rocketfuel,
    /// Rocketfuel `.cch`: routers with their neighbours; every weight is 1.
    Cch,
    /// GraphML as written by the Internet Topology Zoo; links go both ways, and every weight is 1 unless the file has
    /// one.
    GraphMl,
    /// Our own, in TOML (`docs/formats/topology.md`).
    Native,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rocketfuel, Self::Cch, Self::GraphMl, Self::Native];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rocketfuel => "Rocketfuel weights",
            Self::Cch => "cch",
            Self::GraphMl => "GraphML",
            Self::Native => "TOML",
        }
    }

    /// Detects the format of a text by its first line that is neither empty nor a comment. A text that no reader
    /// recognises counts as Rocketfuel, whose errors say what a line should be.
    pub fn of(text: &str) -> Self {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let words: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        Self::ALL.into_iter().find(|format| format.recognises(&words)).unwrap_or(Self::Rocketfuel)
    }

    /// Whether a text whose first line has these words is in this format. No line is recognised as two formats.
    fn recognises(self, words: &[&str]) -> bool {
        match self {
            Self::Rocketfuel => rocketfuel::recognises(words),
            Self::Cch => cch::recognises(words),
            Self::GraphMl => graphml::recognises(words),
            Self::Native => native::recognises(words),
        }
    }

    /// Reads a text in this format.
    fn read(self, text: &str, builder: &mut Builder) -> Result<(), TopologyError> {
        match self {
            Self::Rocketfuel => rocketfuel::read(text, builder),
            Self::Cch => cch::read(text, builder),
            Self::GraphMl => graphml::read(text, builder),
            Self::Native => native::read(text, builder),
        }
    }
}

impl Topology {
    /// Reads a map in any of the formats, with or without a byte order mark.
    pub fn read(text: &str) -> Result<Self, TopologyError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut builder = Builder::default();
        Format::of(text).read(text, &mut builder)?;
        let topology = builder.topology;
        if topology.graph.edge_count() == 0 {
            let what = match topology.remarks {
                Remarks { loops: 0, outside: 0, .. } => {
                    let [others @ .., last] = Format::ALL.map(Format::name);
                    format!("no links: expected {} or {last}", others.join(", "))
                }
                Remarks { outside: 0, .. } => "no links other than from a router to itself".to_owned(),
                _ => "no links between routers of the map".to_owned(),
            };
            return Err(at(0, what));
        }
        Ok(topology)
    }

    /// The number of links without one in the opposite direction.
    pub fn one_way(&self) -> usize {
        let edges = self.graph.edge_references();
        edges.filter(|link| self.graph.find_edge(link.target(), link.source()).is_none()).count()
    }

    /// Adds to every one-way link one in the opposite direction with the same weight.
    pub fn make_both_ways(&mut self) {
        for link in self.graph.edge_indices() {
            let Some((from, to)) = self.graph.edge_endpoints(link) else { continue };
            if self.graph.find_edge(to, from).is_none() {
                let back = self.graph[link];
                self.graph.add_edge(to, from, back);
            }
        }
    }

    /// Removes the links between two routers, in both directions; returns how many there were.
    pub fn fail(&mut self, a: u32, b: u32) -> usize {
        let [a, b] = [a, b].map(|router| NodeIndex::new(router as usize));
        let before = self.links();
        for (from, to) in [(a, b), (b, a)] {
            if let Some(link) = self.graph.find_edge(from, to) {
                self.graph.remove_edge(link);
            }
        }
        before - self.links()
    }

    /// Whether a router has a measurement server: the shortest paths between these are to be measured.
    pub fn has_server(&self, router: u32) -> bool {
        let is_router = (router as usize) < self.routers();
        is_router && self.servers.as_ref().is_none_or(|servers| servers.contains(&router))
    }

    /// The number of routers with a measurement server.
    pub fn servers(&self) -> usize {
        self.servers.as_ref().map_or_else(|| self.routers(), BTreeSet::len)
    }

    /// Leaves measurement servers at these routers only; what is no router has none.
    pub fn set_servers(&mut self, routers: impl IntoIterator<Item = u32>) {
        let number = self.routers();
        self.servers = Some(routers.into_iter().filter(|&router| (router as usize) < number).collect());
    }

    /// The routers that are instrumented according to the file, in its order.
    pub fn instrumented(&self) -> &[u32] {
        &self.instrumented
    }

    /// The graph of routers and links; each link is its weight.
    pub(crate) fn graph(&self) -> &DiGraph<Router, Weight> {
        &self.graph
    }

    /// The number of routers.
    pub fn routers(&self) -> usize {
        self.graph.node_count()
    }

    /// The number of links, counting each direction.
    pub fn links(&self) -> usize {
        self.graph.edge_count()
    }

    /// The routers at the ends of each link, in its direction.
    pub fn ends(&self) -> impl Iterator<Item = (u32, u32)> {
        self.graph.edge_references().map(|link| (link.source().index() as u32, link.target().index() as u32))
    }

    /// The name of a router, by its number.
    pub fn name(&self, router: u32) -> &str {
        self.graph.node_weight(NodeIndex::new(router as usize)).map_or("?", |router| &router.name)
    }

    /// The same, shared: where names are listed many times.
    pub fn shared_name(&self, router: u32) -> Arc<str> {
        self.graph.node_weight(NodeIndex::new(router as usize)).map_or_else(|| "?".into(), |router| router.name.clone())
    }

    /// The number of a router, by its name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.names.get(name).map(|index| index.index() as u32)
    }
}

/// A map under construction.
#[derive(Default)]
struct Builder {
    topology: Topology,
    /// Routers by their key in the file, which need not be their name.
    keys: HashMap<String, NodeIndex>,
}

impl Builder {
    /// The router of this name, added if new.
    fn router(&mut self, name: &str) -> NodeIndex {
        self.named(name, name, None)
    }

    /// The router with this key in the file, added if new; if its name is taken, it gets another one. Blanks around a
    /// name are not part of it, so that names are the same in any form of output.
    fn named(&mut self, key: &str, name: &str, place: Option<(f64, f64)>) -> NodeIndex {
        if let Some(&known) = self.keys.get(key) {
            return known;
        }
        let Topology { graph, names, .. } = &mut self.topology;
        let mut name = name.trim().to_owned();
        while name.is_empty() || names.contains_key(&name) {
            name = format!("{name}#{}", key.trim());
        }
        let index = graph.add_node(Router { name: name.as_str().into(), place });
        names.insert(name, index);
        self.keys.insert(key.to_owned(), index);
        index
    }

    /// Adds one direction of a link. Of parallel links only the one with the least weight is kept.
    fn link(&mut self, from: NodeIndex, to: NodeIndex, weight: Weight) {
        if from == to {
            self.topology.remarks.loops += 1;
            return;
        }
        let graph = &mut self.topology.graph;
        match graph.find_edge(from, to) {
            None => {
                graph.add_edge(from, to, weight);
            }
            Some(known) => {
                self.topology.remarks.parallel += 1;
                graph[known] = graph[known].min(weight);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_exact() {
        let weight = |text: &str| text.parse::<Weight>().map(|weight| weight.0);
        assert_eq!(weight("2.5").unwrap() + weight("6.5").unwrap(), weight("9").unwrap());
        let tenths: u64 = (0..10).map(|_| weight("0.1").unwrap()).sum();
        assert_eq!(tenths, Weight::ONE.0);
        assert!(weight("65535").unwrap() < weight("1000000").unwrap());
        for wrong in ["", ".", "0", "-1", "0.0000001", "1e3", "nan", "1.5.2", "99999999999", "1000001"] {
            assert!(weight(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn formats_are_told_apart() {
        assert_eq!(Format::of("San+Jose,+CA4062 Anaheim,+CA4101 2.5\n"), Format::Rocketfuel);
        assert_eq!(Format::of("4626 @Here + bb\t(5) &1 -> <13004>  =1.2.3.4 r0\n"), Format::Cch);
        assert_eq!(Format::of("<?xml version=\"1.0\"?><graphml/>"), Format::GraphMl);
        assert_eq!(Format::of("# a map\n[[link]]\nfrom = \"a\"\n"), Format::Native);
        assert_eq!(Format::of("name = \"lab\"\n"), Format::Native);
        assert_eq!(Format::of("weight = 5\n"), Format::Native);
        assert_eq!(Format::of("[[link]] # 1\n"), Format::Native);
        assert_eq!(Format::of("link=[{from=\"a\", to=\"b\"}]\n"), Format::Native);
        assert_eq!(Format::of("servers=[\"a\", \"b\"]\n"), Format::Native);
        assert_eq!(Format::of("instrumented=[]\n"), Format::Native);
        assert_eq!(Format::of("link=a b 2.5\n"), Format::Rocketfuel);
        for name in ["a", "<q>", "[n]", "@b", "1"] {
            for other in ["b", "@c", "<r>", "->"] {
                assert_eq!(Format::of(&format!("{name} {other} 2.5\n")), Format::Rocketfuel, "{name} {other}");
            }
        }
    }

    #[test]
    fn no_line_has_two_formats() {
        let words = ["a", "1", "2.5", "=", "link=[1]", "[[link]]", "[link]", "[", "@b", "<x", "<x>", "->", "-3"];
        let mut lines = vec![vec![]];
        for start in 0.. {
            let Some(line) = lines.get(start).cloned() else { break };
            if line.len() < 4 {
                lines.extend(words.iter().map(|&word| [&line[..], &[word]].concat()));
            }
            let by: Vec<_> = Format::ALL.into_iter().filter(|format| format.recognises(&line)).collect();
            assert!(by.len() < 2, "{line:?} is {by:?}");
        }
    }

    #[test]
    fn the_documentation_names_every_format() {
        let page = include_str!("../../../../docs/formats/topology.md").replace('`', "");
        for format in Format::ALL {
            let has_row =
                page.lines().any(|line| line.split('|').nth(1).is_some_and(|cell| cell.contains(format.name())));
            assert!(has_row, "{}", format.name());
        }
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        let error = |text: &str| Topology::read(text).unwrap_err().to_string();
        assert_eq!(error(""), "no links: expected Rocketfuel weights, cch, GraphML or TOML");
        assert_eq!(error("a a 1\nb b 1\n"), "no links other than from a router to itself");
        assert_eq!(error("a b 1\na c\n"), "line 2: expected from, to and a weight, found 'a c'");
        assert!(error("a b 1\n\nb a -3\n").starts_with("line 3: a weight of '-3'"));
        assert!(error("<graphml><graph><edge source=\"1\" target=\"2\"/></graph></graphml>").contains("'1'"));
        assert!(error("<graphml><graph>").contains("line 1"));
        assert!(error("[[link]]\nfrom = \"a\"\n").contains("line"));
        assert!(error("1 @x (1) -> <2> =a r0\n2 @x (1) -> <one> =b r0\n").starts_with("line 2"));
    }

    /// Delay and capacity of a link may stand in the file, and are nowhere used.
    #[test]
    fn what_is_not_used_may_be_anything() {
        let map = |more: &str| Topology::read(&format!("[[link]]\nfrom = \"a\"\nto = \"b\"\n{more}\n"));
        for more in ["delay_ms = 8.1\ncapacity_bps = 10e9", "delay_ms = nan", "capacity_bps = \"10 Gbit/s\""] {
            assert_eq!(map(more).unwrap().links(), 2, "{more}");
        }
        assert!(map("delay = 8.1").unwrap_err().to_string().contains("unknown field `delay`"));
    }

    /// Routers with servers, and instrumented ones, may come before the links that name them.
    #[test]
    fn servers_and_instrumented_routers() {
        let links = "[[link]]\nfrom = \"a\"\nto = \"b\"\n[[link]]\nfrom = \"b\"\nto = \"c\"\n";
        let map = |keys: &str| Topology::read(&format!("{keys}\n{links}"));
        let plain = map("").unwrap();
        assert_eq!((plain.servers(), plain.instrumented()), (3, &[][..]));
        let some = map("instrumented = [ 'b' ]\nservers = ['c', ' a ']").unwrap();
        assert_eq!((some.servers(), some.instrumented()), (2, &[1][..]));
        assert_eq!([0, 1, 2].map(|router| some.has_server(router)), [true, false, true]);
        for (keys, expected) in [
            ("servers = ['a',\n'x']", "line 2: unknown router 'x'"),
            ("\ninstrumented = ['x']", "line 2: unknown router 'x'"),
            ("servers = ['a', 'b',\n\n' a']", "line 3: router 'a' a second time"),
            ("instrumented = ['a',\n'a']\nservers = ['a']", "line 2: router 'a' a second time"),
            ("\nservers = ['a']", "line 2: expected at least two routers with a server"),
            ("servers = []", "line 1: expected at least two routers with a server"),
            ("servers = ['a', ' ']", "line 1: a router without a name"),
        ] {
            assert_eq!(map(keys).unwrap_err().to_string(), expected, "{keys}");
        }
    }

    /// What is wrong in TOML is named by its own line, not by that of its table.
    #[test]
    fn values_of_toml_have_lines() {
        let error = |text: &str| Topology::read(text).unwrap_err().to_string();
        let link = "[[link]]\nfrom = \"a\"\nto = \"b\"\n";
        assert!(error(&format!("{link}\nweight = -2")).starts_with("line 5: a weight of '-2'"));
        assert!(error(&format!("{link}weight = 1e-7")).starts_with("line 4: a weight of '0.0000001'"));
        assert!(error(&format!("{link}weight = true")).starts_with("line 4: "));
        assert_eq!(error(&format!("{link}[[router]]\nname = \"a\"\n")), "line 3: unknown router 'b'");
        assert_eq!(error("[[link]]\nfrom = \"a\"\nto = \"\"\n"), "line 3: a router without a name");
        assert_eq!(
            error(&format!("[[router]]\nlatitude = 1\nname = \" \"\n{link}")),
            "line 3: a router without a name"
        );
    }

    /// Edges would not say which of two nodes they mean.
    #[test]
    fn ids_of_graphml_are_unique() {
        let map = "<graphml><graph>\n<node id=\"0\"/>\n<node id=\"1\"/>\n<node id=\"0\">\n</node>\n\
                   <edge source=\"0\" target=\"1\"/></graph></graphml>";
        assert_eq!(Topology::read(map).unwrap_err().to_string(), "line 4: two nodes have the id '0'");
        assert_eq!(Topology::read(&map.replacen("\"0\"", "\"2\"", 1)).unwrap().routers(), 3);
    }

    /// A byte order mark is no part of the first router's name, nor of anything else.
    #[test]
    fn byte_order_marks_are_skipped() {
        for map in [
            "a b 1\nb a 1\n",
            "1 @x (1) -> <2> =a r0\n2 @x (1) -> <1> =b r0\n",
            "[[link]]\nfrom = \"a\"\nto = \"b\"\n",
            "<graphml><graph><node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"/></graph></graphml>",
        ] {
            let topology = Topology::read(&format!("\u{feff}{map}")).unwrap();
            assert_eq!((topology.routers(), topology.links(), topology.find("a")), (2, 2, Some(0)), "{map}");
        }
    }

    /// Entities and CDATA belong to the words around them, blanks at the ends do not.
    #[test]
    fn names_in_graphml_are_whole() {
        let node = |id: &str, label: &str| format!("<node id=\"{id}\"><data key=\"l\">{label}</data></node>");
        let map = |last: &str| {
            let nodes =
                [node("a", " AT&amp;T &#233;t&#xE9; "), node("b", "<![CDATA[X & <Y>]]>"), node("c", last)].concat();
            let edges = "<edge source=\"a\" target=\"b\"/><edge source=\"b\" target=\"c\"/>";
            let key = "<key id=\"l\" attr.name=\"label\" for=\"node\"/>";
            format!("<graphml>{key}<graph edgedefault=\"undirected\">{nodes}{edges}</graph></graphml>")
        };
        let topology = Topology::read(&map("C")).unwrap();
        assert_eq!([0, 1, 2].map(|router| topology.name(router)), ["AT&T été", "X & <Y>", "C"]);
        assert!(Topology::read(&map("&what;")).unwrap_err().to_string().contains("&what;"));
    }

    /// What the file says of one router or link replaces the default of the key, which holds for either or for both.
    #[test]
    fn keys_of_graphml_have_defaults() {
        let map = |key: &str, first: &str| {
            let nodes = ["a", "b", "c"].map(|id| format!("<node id=\"{id}\"/>")).concat();
            let edges = format!(
                "<edge source=\"a\" target=\"b\">{first}</edge><edge source=\"a\" target=\"c\"><data key=\"w\">3</data></edge>"
            );
            let map = format!("<graphml>{key}<graph edgedefault=\"directed\">{nodes}{edges}</graph></graphml>");
            let map = Topology::read(&map).unwrap();
            map.graph().edge_weights().map(|weight| weight.0 as f64 / MILLION as f64).collect::<Vec<_>>()
        };
        let key = |of: &str| format!("<key id=\"w\" attr.name=\"weight\"{of}>\n<default> 5 </default>\n</key>");
        for of in ["", " for=\"all\"", " for=\"edge\""] {
            assert_eq!(map(&key(of), ""), [5.0, 3.0], "{of}");
            assert_eq!(map(&key(of), "<data key=\"w\">2</data>"), [2.0, 3.0], "{of}");
            assert_eq!(map(&key(of), "<data key=\"w\"/>"), [1.0, 3.0], "{of}: empty, not the default");
        }
        assert_eq!(map(&key(" for=\"node\""), ""), [1.0, 3.0]);
    }

    /// Each graph has a direction of its own, also inside a node of another one; each edge may have another.
    #[test]
    fn graphs_of_graphml_have_their_own_directions() {
        let edge = |from: &str, to: &str, more: &str| format!("<edge source=\"{from}\" target=\"{to}\" {more}/>");
        let inner = format!("<graph edgedefault=\"undirected\"><node id=\"i\"/>{}</graph>", edge("a", "i", ""));
        let nodes = format!("<node id=\"a\">{inner}</node><node id=\"b\"/>");
        let ways = edge("a", "b", "") + &edge("b", "i", "directed=\"1\"") + &edge("i", "b", "directed=\"false\"");
        let second = format!("<graph edgedefault=\"undirected\">{}</graph>", edge("a", "a", ""));
        let map = format!("<graphml><graph edgedefault=\"directed\">{nodes}{ways}</graph>{second}</graphml>");
        let topology = Topology::read(&map).unwrap();
        let of = |name: &str| topology.find(name).unwrap();
        let is_linked = |from, to| {
            topology.graph().contains_edge(NodeIndex::new(of(from) as usize), NodeIndex::new(of(to) as usize))
        };
        let pairs = [("a", "i"), ("i", "a"), ("a", "b"), ("b", "a"), ("b", "i"), ("i", "b")];
        assert_eq!(pairs.map(|(from, to)| is_linked(from, to)), [true, true, true, false, true, true]);
        let data = "<data key=\"weight\">2</data><data key=\"weight\">3</data>";
        let twice = map.replace("<node id=\"b\"/>", &format!("<node id=\"b\">{data}</node>"));
        assert!(Topology::read(&twice).unwrap_err().to_string().contains("line 1: a second value of 'weight'"));
    }

    /// Half a place, or one that is nowhere, is not drawn at zero.
    #[test]
    fn places_are_on_the_globe() {
        let map = |place: &str| {
            let link = "[[link]]\nfrom = \"a\"\nto = \"b\"\n";
            Topology::read(&format!("[[router]]\nname = \"a\"\n{place}\n[[router]]\nname = \"b\"\n{link}"))
        };
        assert!(map("latitude = -90\nlongitude = 180.0").is_ok() && map("").is_ok());
        for (place, line) in [
            ("latitude = nan\nlongitude = 1", 3),
            ("latitude = 91\nlongitude = 0", 3),
            ("latitude = 0\nlongitude = -181", 4),
            ("\nlongitude = 7", 4),
        ] {
            let error = map(place).unwrap_err().to_string();
            assert!(error.starts_with(&format!("line {line}: router 'a': expected a latitude")), "{place}: {error}");
        }
    }

    /// GraphML comes from many programs: what is no place on the globe is none, so that all others can be drawn.
    #[test]
    fn places_of_graphml_are_on_the_globe() {
        let place = |latitude: &str, longitude: &str| {
            let key = |id: &str| format!("<key id=\"{id}\" attr.name=\"{id}\" for=\"node\"/>");
            let data = |id: &str, value: &str| format!("<data key=\"{id}\">{value}</data>");
            let places = data("Latitude", latitude) + &data("Longitude", longitude);
            let nodes = format!("<node id=\"a\">{places}</node><node id=\"b\"/>");
            let graph = format!("<graph>{nodes}<edge source=\"a\" target=\"b\"/></graph>");
            let map = format!("<graphml>{}{}{graph}</graphml>", key("Latitude"), key("Longitude"));
            Topology::read(&map).unwrap().graph()[NodeIndex::new(0)].place
        };
        assert_eq!([place("-90", "180"), place("90.0", "-7.5")], [Some((-90.0, 180.0)), Some((90.0, -7.5))]);
        assert_eq!(place("10", "350"), Some((10.0, 350.0)), "eastward only");
        for (latitude, longitude) in [("1e308", "0"), ("91", "0"), ("0", "-361"), ("nan", "0"), ("0", "inf"), ("0", "")]
        {
            assert_eq!(place(latitude, longitude), None, "{latitude} {longitude}");
        }
    }

    /// What follows a value belongs to nothing, even if the value is empty.
    #[test]
    fn empty_values_of_graphml_end_at_once() {
        let key = |id: &str, name: &str| format!("<key id=\"{id}\" attr.name=\"{name}\" for=\"node\"/>\n");
        let keys = key("l", "label") + &key("c", "Country");
        for empty in ["<data key=\"l\"/>", "<data key=\"l\"></data>", "<data key=\"l\"> </data>"] {
            let nodes = format!("<node id=\"n0\">{empty}\n  <data key=\"c\">X</data>\n</node>\n<node id=\"n1\"/>");
            let edge = "<edge source=\"n0\" target=\"n1\"/>";
            let map = Topology::read(&format!("<graphml>{keys}<graph>\n{nodes}{edge}</graph></graphml>")).unwrap();
            assert_eq!(map.name(0), "n0", "{empty}");
        }
    }

    #[test]
    fn blanks_around_names_are_not_part_of_them() {
        let link = |from: &str, to: &str| format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
        let map = Topology::read(&(link(" a", "x y\\t") + &link("a", "b "))).unwrap();
        assert_eq!([0, 1, 2].map(|router| map.name(router)), ["a", "x y", "b"]);
        let twice = "[[router]]\nname = \"a\"\n[[router]]\nname = \" a\"\n";
        assert_eq!(Topology::read(twice).unwrap_err().to_string(), "line 4: two routers are named 'a'");
        let node = |id: &str| format!("<node id=\"{id}\"/>");
        let nodes = [node("a"), node(" a "), node(" ")].concat();
        let edges = "<edge source=\"a\" target=\" a \"/><edge source=\"a\" target=\" \"/>";
        let map = Topology::read(&format!("<graphml><graph>{nodes}{edges}</graph></graphml>")).unwrap();
        assert_eq!([0, 1, 2].map(|router| map.name(router)), ["a", "a#a", "#"]);
    }

    #[test]
    fn parallel_links_and_loops_are_left_out_and_counted() {
        let map = Topology::read("a b 3\na b 2\nb a 1\na a 1\na b 2.5\n").unwrap();
        assert_eq!((map.routers(), map.links()), (2, 2));
        assert_eq!(map.remarks, Remarks { parallel: 2, loops: 1, outside: 0 });
        let (a, b) = (NodeIndex::new(0), NodeIndex::new(1));
        assert_eq!(map.graph()[map.graph().find_edge(a, b).unwrap()], Weight(2 * MILLION));
        assert_eq!((map.find("b"), map.name(0), map.find("c")), (Some(1), "a", None));
    }

    #[test]
    fn what_is_no_router_has_no_server() {
        let mut map = Topology::read("a b 3\n").unwrap();
        assert!(map.has_server(1) && !map.has_server(2));
        map.set_servers([0, 99]);
        assert!(map.servers() == 1 && map.has_server(0) && !map.has_server(99));
    }

    #[test]
    fn links_may_be_made_to_go_both_ways() {
        let mut map = Topology::read("a b 3\nb a 1\nb c 2\n").unwrap();
        assert_eq!((map.links(), map.one_way()), (3, 1));
        map.make_both_ways();
        assert_eq!((map.links(), map.one_way()), (4, 0));
        let weight = |from: &str, to: &str| {
            let [from, to] = [from, to].map(|name| NodeIndex::new(map.find(name).unwrap() as usize));
            map.graph()[map.graph().find_edge(from, to).unwrap()]
        };
        assert_eq!((weight("c", "b"), weight("a", "b")), (Weight(2 * MILLION), Weight(3 * MILLION)));
    }
}
