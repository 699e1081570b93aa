//! Readings from files: CSV, or the output of `dwell owd --interval`.

use super::readings::{Delay, Reading};
use super::routes::Routes;
use crate::Topology;
use crate::lines::LineCount;
use crate::segments::{between, ends};
use dwell_logs::{Lines, LogError};
use serde::Deserialize;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// One reading from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its line, counted from 1; in JSON the line where its document begins.
    pub line: u64,
    /// The segment; `None` if the file names none.
    pub segment: Option<Named>,
    /// What was measured in the interval.
    pub reading: Reading,
}

/// The name of a segment, as in `dwell net paths --format csv`, without blanks around its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Its first router.
    pub from: String,
    /// Its last one.
    pub to: String,
    /// The routers between, separated by spaces.
    pub via: String,
}

/// What is wrong with a file that has no readings.
const NO_INTERVALS: &str = "no intervals: dwell owd writes them with --interval";

/// Reads a file in either format and passes on its rows, until one is refused; errors name it by its `path`. That it has
/// no intervals is an error, too. Returns a warning if its last line may be cut off.
pub fn read(
    path: &Path,
    mut source: impl BufRead,
    take: impl FnMut(Row) -> Result<(), LogError>,
) -> Result<Option<String>, LogError> {
    let unread = |error| LogError::Unread(path.to_owned(), error);
    let mut head = blanks(&mut source).map_err(unread)?;
    if source.fill_buf().map_err(unread)?.starts_with(b"{") {
        // JSON has no byte order mark.
        head.retain(u8::is_ascii_whitespace);
        return read_json(path, head.chain(source), take).map(|()| None);
    }
    read_csv(path, head.chain(source), take)
}

/// Takes the blanks and the byte order mark at the beginning.
fn blanks(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    const BLANK: &[u8] = b" \t\r\n\xef\xbb\xbf";
    const MOST: usize = 1 << 20;
    let mut blanks = Vec::new();
    while let Some(byte) = source.fill_buf()?.first().copied().filter(|byte| BLANK.contains(byte))
        && blanks.len() < MOST
    {
        blanks.push(byte);
        source.consume(1);
    }
    Ok(blanks)
}

/// The fields of `dwell.owd/1`, or of one of its lines, that are used.
#[derive(Deserialize)]
struct Document {
    schema: Option<String>,
    #[serde(default)]
    intervals: Vec<Line>,
    start_ns: Option<i64>,
    received: Option<u64>,
    lost: Option<u64>,
    effective_samples: Option<u64>,
    delay_ns: Option<Delays>,
}

#[derive(Deserialize)]
struct Line {
    start_ns: i64,
    received: u64,
    lost: u64,
    effective_samples: u64,
    delay_ns: Delays,
}

#[derive(Deserialize)]
struct Delays {
    mean: Option<Estimate>,
    std: Option<Estimate>,
}

#[derive(Deserialize)]
struct Estimate {
    value: f64,
}

/// Size limit of JSON in bytes, since it is held in memory as a whole.
const MOST_JSON: u64 = 1 << 30;

fn read_json(
    path: &Path,
    source: impl Read,
    mut take: impl FnMut(Row) -> Result<(), LogError>,
) -> Result<(), LogError> {
    let error = |line: usize, what: String| LogError::Line { path: path.to_owned(), number: line as u64, what };
    let mut text = Vec::new();
    let read = source.take(MOST_JSON + 1).read_to_end(&mut text);
    read.map_err(|error| LogError::Unread(path.to_owned(), error))?;
    let mut lines = LineCount::new(&text);
    if text.len() as u64 > MOST_JSON {
        let what = "expected at most 1 GiB of JSON: the CSV of dwell owd may be of any length".to_owned();
        return Err(error(lines.at(text.len()), what));
    }
    let (mut is_empty, mut line) = (true, 1);
    let mut stream = serde_json::Deserializer::from_slice(&text).into_iter::<Document>();
    loop {
        let blanks = text[stream.byte_offset()..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let first = lines.at(stream.byte_offset() + blanks);
        let Some(document) = stream.next() else { break };
        let document = document.map_err(|wrong| {
            let whole = wrong.to_string();
            let what = whole.split(" at line ").next().unwrap_or(&whole);
            error(wrong.line().max(1), format!("expected dwell.owd/1 in JSON: {what}"))
        })?;
        line = lines.at(stream.byte_offset());
        for interval in document.lines().map_err(|what| error(line, what))? {
            let reading = interval.reading().map_err(|what| error(line, what))?;
            is_empty = false;
            take(Row { line: first as u64, segment: None, reading })?;
        }
    }
    if is_empty { Err(error(line, NO_INTERVALS.to_owned())) } else { Ok(()) }
}

impl Document {
    /// The document's intervals, or the document itself if it is a single interval.
    fn lines(mut self) -> Result<Vec<Line>, String> {
        if let Some(schema) = self.schema.filter(|schema| schema != "dwell.owd/1") {
            return Err(format!("expected dwell.owd/1, found {schema}"));
        }
        if let Some(start_ns) = self.start_ns {
            let line = self.received.zip(self.lost).zip(self.effective_samples).zip(self.delay_ns);
            let Some((((received, lost), effective_samples), delay_ns)) = line else {
                return Err("an interval without received, lost, effective_samples or delay_ns".to_owned());
            };
            self.intervals.push(Line { start_ns, received, lost, effective_samples, delay_ns });
        }
        Ok(self.intervals)
    }
}

impl Line {
    fn reading(self) -> Result<Reading, String> {
        let Delays { mean, std } = self.delay_ns;
        let [mean, std] = [mean, std].map(|estimate| estimate.map(|estimate| estimate.value));
        let delay = delay([self.effective_samples, self.received], mean, std)?;
        Ok(Reading { start_ns: self.start_ns, received: self.received, lost: self.lost, delay })
    }
}

/// A delay within the limits; `None` if there are no samples or no mean. Samples are some of the packets received.
fn delay([samples, received]: [u64; 2], mean: Option<f64>, std: Option<f64>) -> Result<Option<Delay>, String> {
    if samples > received {
        return Err(format!("expected at most {received} effective_samples, as many as received, found {samples}"));
    }
    let Some(mean_ns) = mean.filter(|_| samples > 0) else { return Ok(None) };
    let delay = Delay { samples, mean_ns, std_ns: std.unwrap_or(0.0) };
    delay.check(received).map(|()| Some(delay))
}

fn read_csv(
    path: &Path,
    source: impl BufRead,
    mut take: impl FnMut(Row) -> Result<(), LogError>,
) -> Result<Option<String>, LogError> {
    let mut lines = Lines::of(path, source);
    let needed = ["start_ns", "received", "lost", "mean_ns", "std_ns"];
    let others = ["kind", "from", "to", "via", "effective_samples"];
    let ([start, received, lost, mean, std], [kind, from, to, via, samples]) = lines.columns(needed, others)?;
    let mut is_empty = true;
    while lines.advance()? {
        // Of the output of dwell owd, use only the intervals.
        if kind.is_some_and(|kind| lines.field(kind) != "interval") {
            continue;
        }
        let received = lines.whole_number(received, "packets as received")?;
        let samples = match samples {
            Some(column) => lines.whole_number(column, "packets as effective_samples")?,
            None => received,
        };
        let delay = delay([samples, received], time(&lines, mean, "mean_ns")?, time(&lines, std, "std_ns")?);
        let reading = Reading {
            start_ns: lines.whole_number(start, "nanoseconds as start_ns")?,
            received,
            lost: lines.whole_number(lost, "packets as lost")?,
            delay: delay.map_err(|what| lines.error(what))?,
        };
        let name = |column: usize| lines.field(column).trim().to_owned();
        let segment = from.zip(to).map(|(from, to)| Named {
            from: name(from),
            to: name(to),
            via: via.map(name).unwrap_or_default(),
        });
        is_empty = false;
        take(Row { line: lines.number(), segment, reading })?;
    }
    let warning = lines.whole()?;
    if is_empty { Err(lines.error(NO_INTERVALS)) } else { Ok(warning) }
}

/// The nanoseconds in a column, if any.
fn time(lines: &Lines<impl BufRead>, column: usize, name: &str) -> Result<Option<f64>, LogError> {
    match lines.field(column) {
        "" => Ok(None),
        text => match text.parse() {
            Ok(time) => Ok(Some(time)),
            Err(_) => Err(lines.error(format!("expected nanoseconds as {name}, found '{text}'"))),
        },
    }
}

/// Looks up the segments of a network by name.
#[derive(Clone, Debug)]
pub struct Names<'a> {
    topology: &'a Topology,
    routes: &'a Routes,
    /// The ends of each segment and its number, sorted by ends, then by the names between.
    sorted: Vec<([u32; 2], u32)>,
}

impl<'a> Names<'a> {
    /// The names of these segments.
    pub fn new(topology: &'a Topology, routes: &'a Routes) -> Self {
        let names = Self { topology, routes, sorted: Vec::new() };
        let ends_of = |segment| (ends(routes.routers(segment)), segment);
        let mut sorted: Vec<_> = (0..routes.segments() as u32).map(ends_of).collect();
        sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| names.via(a.1).cmp(names.via(b.1))));
        Self { sorted, ..names }
    }

    /// The letters of the names of the routers between the ends of a segment, separated by spaces.
    fn via(&self, segment: u32) -> impl Iterator<Item = u8> {
        let names = between(self.routes.routers(segment)).iter().map(|&router| self.topology.name(router).bytes());
        names.enumerate().flat_map(|(number, name)| (number > 0).then_some(b' ').into_iter().chain(name))
    }

    /// The segments of this name: several, where names of routers contain blanks.
    fn named(&self, named: &Named) -> &[([u32; 2], u32)] {
        let ends = self.topology.find(&named.from).zip(self.topology.find(&named.to));
        let Some(ends) = ends.map(|(from, to)| [from, to]) else { return &[] };
        let order = |of: &([u32; 2], u32)| of.0.cmp(&ends).then_with(|| self.via(of.1).cmp(named.via.bytes()));
        let from = &self.sorted[self.sorted.partition_point(|of| order(of).is_lt())..];
        &from[..from.iter().take_while(|of| order(of).is_eq()).count()]
    }

    /// The number of the segment that a row of the file at `path` belongs to.
    pub fn find(&self, path: &Path, row: &Row) -> Result<u32, LogError> {
        let error = |what| LogError::Line { path: path.to_owned(), number: row.line, what };
        let Some(named) = &row.segment else {
            let what = "no segment is named: expected SEGMENT=FILE, or CSV with the columns from,to,via";
            return Err(error(what.to_owned()));
        };
        let what = match self.named(named) {
            [(_, segment)] => return Ok(*segment),
            [] => "is not a segment: dwell net paths lists them",
            [_, _, ..] => "is more than one segment, since names contain blanks: name its routers as SEGMENT=FILE",
        };
        let via = if named.via.is_empty() { String::new() } else { format!(" via {}", named.via) };
        Err(error(format!("'{}' to '{}'{via} {what}", named.from, named.to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::{Mode, Paths};
    use crate::segments::Segments;
    use proptest::prelude::*;

    const HEAD: &str = "from,to,via,start_ns,received,lost,effective_samples,mean_ns,std_ns\n";

    fn read(text: &str) -> Result<Vec<Row>, LogError> {
        let mut rows = Vec::new();
        super::read(Path::new("all"), text.as_bytes(), |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// What is wrong, without the name of the file.
    fn what(error: &LogError) -> String {
        error.to_string().strip_prefix("all: ").unwrap().to_owned()
    }

    fn error(text: &str) -> String {
        what(&read(text).unwrap_err())
    }

    /// The segment of a row.
    fn find(names: &Names<'_>, row: &Row) -> Result<u32, String> {
        names.find(Path::new("all"), row).map_err(|error| what(&error))
    }

    #[test]
    fn csv_of_many_segments() {
        let rows = read(&format!("{HEAD}a,c,b,100,9,1,8,5.5,2\na,b,,200,0,0,0,,\n")).unwrap();
        let delay = Some(Delay { samples: 8, mean_ns: 5.5, std_ns: 2.0 });
        assert_eq!(rows[0].reading, Reading { start_ns: 100, received: 9, lost: 1, delay });
        assert_eq!((rows[1].line, rows[1].reading.delay), (3, None));
        let topology = Topology::read("a b 1\nb c 1\n").unwrap();
        let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap();
        let routes = Routes::new(&Segments::new(paths, topology.routers()));
        let names = Names::new(&topology, &routes);
        let numbers: Vec<u32> = rows.iter().map(|row| find(&names, row).unwrap()).collect();
        assert_eq!(numbers.iter().map(|&n| routes.routers(n).len()).collect::<Vec<_>>(), [3, 2]);
        let stranger = &read(&format!("{HEAD}a,c,,100,9,1,8,5.5,2\n")).unwrap()[0];
        assert!(find(&names, stranger).unwrap_err().starts_with("line 2: 'a' to 'c' is not a segment"));
        let nameless = &read("start_ns,received,lost,mean_ns,std_ns\n1,2,3,4,5\n").unwrap()[0];
        assert_eq!(nameless.reading.delay.unwrap().samples, 2);
        let expected = "no segment is named: expected SEGMENT=FILE, or CSV with the columns from,to,via";
        assert_eq!(find(&names, nameless).unwrap_err(), format!("line 2: {expected}"));
        // Of JSON, the line where the document begins.
        let interval = "{\"start_ns\":1,\n\"received\":1,\"lost\":0,\"effective_samples\":0,\n\"delay_ns\":{}}";
        let documents = &read(&format!("\n{interval}\n\n{interval}\n")).unwrap();
        assert_eq!(find(&names, &documents[0]).unwrap_err(), format!("line 2: {expected}"));
        assert_eq!(documents[1].line, 6);
    }

    /// Blanks around names do not matter; where those in them make a name ambiguous it is refused.
    #[test]
    fn names_may_contain_blanks() {
        let link = |from: &str, to: &str| format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nweight = 1\n");
        let map = [link("a", "b"), link("A", "x y"), link("x y", "B"), link("A", "x"), link("x", "y")].concat()
            + "[[link]]\nfrom = \"y\"\nto = \"B\"\nweight = 0.000001\n";
        let map = map.replace("to = \"y\"\nweight = 1", "to = \"y\"\nweight = 0.999999");
        let topology = Topology::read(&map).unwrap();
        let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap();
        let routes = Routes::new(&Segments::new(paths, topology.routers()));
        let names = Names::new(&topology, &routes);
        let find = |names_of: &str| {
            let rows = read(&format!("{HEAD}{names_of},100, 9 ,1,8,5.5 ,2\n")).unwrap();
            find(&names, &rows[0]).map(|segment| {
                let name = |&router| topology.name(router);
                routes.routers(segment).iter().map(name).collect::<Vec<_>>().join("|")
            })
        };
        assert_eq!(find("\" a\",b ,").unwrap(), "a|b");
        assert_eq!(find(" x y ,B,").unwrap(), "x y|B");
        let ambiguous = find("A,B,x y").unwrap_err();
        assert!(ambiguous.starts_with("line 2: 'A' to 'B' via x y is more than one segment"), "{ambiguous}");
        assert!(find("x,b,").unwrap_err().contains("is not a segment"));
    }

    #[test]
    fn what_owd_writes() {
        let line = |start: i64, mean: &str| {
            format!(
                "{{\"start_ns\":{start},\"end_ns\":9,\"sent\":5,\"received\":4,\"lost\":1,\"effective_samples\":4,\"delay_ns\":{{\"mean\":{mean},\"std\":null}}}}"
            )
        };
        let known = line(7, "{\"value\":2.5,\"low\":2,\"high\":3}");
        let last = "{\"schema\":\"dwell.owd/1\",\"intervals\":[],\"total\":{\"received\":4}}";
        for text in [
            format!("{{\"schema\":\"dwell.owd/1\",\n\"intervals\":[\n{known},\n{}],\n\"flows\":[]}}\n", line(8, "null")),
            format!("{known}\n{}\n{last}\n", line(8, "null")),
            "kind,start_ns,received,lost,effective_samples,mean_ns,std_ns\ntotal,1,4,1,4,9,9\ninterval,7,4,1,4,2.5,\ninterval,8,4,1,4,,\n".to_owned(),
        ] {
            let rows = read(&text).unwrap();
            let delay = Some(Delay { samples: 4, mean_ns: 2.5, std_ns: 0.0 });
            assert_eq!(rows[0].reading, Reading { start_ns: 7, received: 4, lost: 1, delay }, "{text}");
            assert_eq!((rows.len(), rows[1].reading.start_ns, rows[1].reading.delay), (2, 8, None), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        assert_eq!(
            error(""),
            "line 1: expected the columns start_ns,received,lost,mean_ns,std_ns[,kind][,from][,to][,via]\
             [,effective_samples], found ''"
        );
        assert!(error(HEAD).starts_with("line 1: no intervals"));
        assert_eq!(
            error(&format!("{HEAD}a,b,,1,2,3\n")),
            "line 2: expected as many fields as on the first line, 9, found 6"
        );
        assert_eq!(
            error(&format!("{HEAD}a,b,,1,4,3,4,5,6\na,b,,x,4,3,4,5,6\n")),
            "line 3: expected a whole number of nanoseconds as start_ns, found 'x'"
        );
        // Whatever ends a line, and lines without a record.
        for ends in ["\n", "\r\n", "\n\n", "\r\n\r\n"] {
            let text = format!("\n{HEAD}a,b,,1,4,3,4,5,6\na,b,,x,4,3,4,5,6\n").replace('\n', ends);
            let line = 1 + text[..text.find('x').unwrap()].matches('\n').count();
            assert!(error(&text).starts_with(&format!("line {line}: expected a whole")), "{ends:?}: {}", error(&text));
            let short = format!("{HEAD}a,b,,1,4,3,4,5,6\na,b,1\n").replace('\n', ends);
            let line = 1 + short[..short.find("a,b,1").unwrap()].matches('\n').count();
            let expected = format!("line {line}: expected as many fields as on the first line, 9, found 3");
            assert_eq!(error(&short), expected, "{ends:?}");
            let json = "\n{\"start_ns\":\n1}\n".replace('\n', ends);
            let line = 1 + json[..json.find('}').unwrap()].matches('\n').count();
            assert!(
                error(&json).starts_with(&format!("line {line}: an interval without")),
                "{ends:?}: {}",
                error(&json)
            );
        }
        assert!(error(&format!("{HEAD}a").replace('\n', "\r")).contains("a carriage return alone"));
        assert!(error(&HEAD.replace("std_ns", "std_ns,mean_ns")).contains("found 'mean_ns' twice"));
        for (row, found) in [("a,b,,1,4,3,4,5,\"6", 2), ("a,b,,1,4,3,4,5,6\n\"a\n\",b,,1,4,3,4,5,6", 3)] {
            assert_eq!(
                error(&format!("{HEAD}{row}\n")),
                format!("line {found}: expected a closing quotation mark in the line")
            );
        }
        for (mean, std) in [("inf", "1"), ("1", "-1"), ("nan", "1"), ("1", "nan"), ("1e19", "1")] {
            assert!(error(&format!("{HEAD}a,b,,1,4,3,4,{mean},{std}\n")).starts_with("line 2: a delay of"));
        }
        assert!(error(&format!("{HEAD}a,b,,1,4,3,4,slow,6\n")).contains("'slow'"));
        let samples = "expected at most 4 effective_samples, as many as received, found 5";
        assert_eq!(error(&format!("{HEAD}a,b,,1,4,3,4,5,6\na,b,,2,4,3,5,5,6\n")), format!("line 3: {samples}"));
        let json = "\n{\"start_ns\":1,\"received\":4,\"lost\":0,\n\"effective_samples\":5,\"delay_ns\":{}}";
        assert_eq!(error(json), format!("line 3: {samples}"));
        assert!(error("{\n\"intervals\": [}").starts_with("line 2: expected dwell.owd/1 in JSON"));
        assert!(error("{\"schema\":\"dwell.rtt/1\"}").contains("found dwell.rtt/1"));
        assert!(error("{\"schema\":\"dwell.owd/1\",\"intervals\":[]}").contains("--interval"));
        assert!(
            error("{\"start_ns\":1,\"received\":\"x\"}").starts_with("line 1"),
            "{}",
            error("{\"start_ns\":1,\"received\":\"x\"}")
        );
    }

    proptest! {
        /// Reading never panics, whatever a file holds, and all values read are finite.
        #[test]
        fn any_file_is_read_or_refused(start in 0usize..5, text in "[-0-9a-z,.\"{}:\\[\\]\n]{0,80}") {
            let heads = ["", HEAD, "start_ns,received,lost,mean_ns,std_ns\n1,2,3,", "{\"start_ns\":", "{\"intervals\":["];
            for row in read(&(heads[start].to_owned() + &text)).unwrap_or_default() {
                prop_assert!(row.reading.delay.is_none_or(|delay| delay.std_ns.is_finite() && delay.mean_ns.is_finite()));
            }
        }
    }
}
