//! Readings from files: CSV, or the output of `dwell owd --interval`.

use super::readings::{Delay, Reading};
use super::routes::Routes;
use crate::Topology;
use serde::Deserialize;
use std::collections::HashMap;
use std::fmt;

/// One reading from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its line, counted from 1; in JSON the line where its document ends.
    pub line: usize,
    /// The segment; `None` if the file names none.
    pub segment: Option<Named>,
    /// What was measured in the interval.
    pub reading: Reading,
}

/// The name of a segment, as in `dwell net paths --format csv`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Named {
    /// Its first router.
    pub from: String,
    /// Its last one.
    pub to: String,
    /// The routers between, separated by spaces.
    pub via: String,
}

impl Named {
    /// Without the blanks around each field.
    fn trimmed(&self) -> Self {
        let [from, to, via] = [&self.from, &self.to, &self.via].map(|name| name.trim().to_owned());
        Self { from, to, via }
    }
}

/// Why a file cannot be read: where, what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Line number, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for FileError {}

/// Limit for times in nanoseconds, 31 years, so that their squares and sums stay finite.
const LONGEST_NS: f64 = 1e18;

/// Reads a file in either format; a file without intervals is an error.
pub fn read(text: &str) -> Result<Vec<Row>, FileError> {
    let text = text.trim_start_matches('\u{feff}');
    let rows = if text.trim_start().starts_with('{') { read_json(text) } else { read_csv(text) }?;
    if rows.is_empty() {
        let what = "no intervals: dwell owd writes them with --interval".to_owned();
        return Err(FileError { line: text.lines().count().max(1), what });
    }
    Ok(rows)
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

fn read_json(text: &str) -> Result<Vec<Row>, FileError> {
    let mut rows = Vec::new();
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Document>();
    while let Some(document) = stream.next() {
        let document = document.map_err(|error| {
            let whole = error.to_string();
            let what = whole.split(" at line ").next().unwrap_or(&whole);
            FileError { line: error.line().max(1), what: format!("expected dwell.owd/1 in JSON: {what}") }
        })?;
        let line = 1 + text.as_bytes()[..stream.byte_offset()].iter().filter(|&&byte| byte == b'\n').count();
        for interval in document.lines().map_err(|what| FileError { line, what })? {
            let reading = interval.reading().map_err(|what| FileError { line, what })?;
            rows.push(Row { line, segment: None, reading });
        }
    }
    Ok(rows)
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
        let delay = delay(self.effective_samples, mean, std)?;
        Ok(Reading { start_ns: self.start_ns, received: self.received, lost: self.lost, delay })
    }
}

/// A delay within the limits; `None` if there are no samples or no mean.
fn delay(samples: u64, mean: Option<f64>, std: Option<f64>) -> Result<Option<Delay>, String> {
    let Some(mean_ns) = mean.filter(|_| samples > 0) else { return Ok(None) };
    let std_ns = std.unwrap_or(0.0);
    if mean_ns.abs() < LONGEST_NS && (0.0..LONGEST_NS).contains(&std_ns) {
        return Ok(Some(Delay { samples, mean_ns, std_ns }));
    }
    Err(format!(
        "a delay of {mean_ns} ns with a deviation of {std_ns} ns: expected up to 1e18 ns, the deviation from 0"
    ))
}

/// The indices of the CSV columns that are used.
struct Columns {
    kind: Option<usize>,
    from: Option<usize>,
    to: Option<usize>,
    via: Option<usize>,
    start: usize,
    received: usize,
    lost: usize,
    samples: Option<usize>,
    mean: usize,
    std: usize,
}

impl Columns {
    fn of(head: &csv::StringRecord) -> Result<Self, FileError> {
        let column = |wanted| head.iter().position(|name| name == wanted);
        let need = |wanted| {
            column(wanted).ok_or_else(|| {
                let found = head.iter().take(10).collect::<Vec<_>>().join(",");
                let expected = "from,to,via,start_ns,received,lost,effective_samples,mean_ns,std_ns";
                FileError { line: 1, what: format!("no column {wanted}: expected {expected}, found '{found}'") }
            })
        };
        Ok(Self {
            kind: column("kind"),
            from: column("from"),
            to: column("to"),
            via: column("via"),
            start: need("start_ns")?,
            received: need("received")?,
            lost: need("lost")?,
            samples: column("effective_samples"),
            mean: need("mean_ns")?,
            std: need("std_ns")?,
        })
    }
}

fn read_csv(text: &str) -> Result<Vec<Row>, FileError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(text.as_bytes());
    let mut lines = LineCount { text: text.as_bytes(), at: 0, line: 1 };
    let columns = match reader.headers() {
        Ok(head) => Columns::of(head)?,
        Err(error) => return Err(csv_error(&error, &mut lines)),
    };
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| csv_error(&error, &mut lines))? {
        let line = lines.of(record.position());
        let field = |column: usize| record.get(column).unwrap_or_default();
        let optional = |column: Option<usize>| column.map(field).unwrap_or_default().to_owned();
        // Of the output of dwell owd, use only the intervals.
        if columns.kind.is_some_and(|column| field(column).trim() != "interval") {
            continue;
        }
        let reading = fields(&columns, |column| field(column).trim()).map_err(|what| FileError { line, what })?;
        let segment = columns.from.zip(columns.to).map(|(from, to)| Named {
            from: field(from).to_owned(),
            to: field(to).to_owned(),
            via: optional(columns.via),
        });
        rows.push(Row { line, segment, reading });
    }
    Ok(rows)
}

/// Counts lines as records are read; the reader itself takes the second character of a line ending for part of the
/// next record.
struct LineCount<'a> {
    text: &'a [u8],
    /// The byte up to which lines are counted.
    at: usize,
    /// The line of this byte.
    line: usize,
}

impl LineCount<'_> {
    /// The line in which a record begins. Records come in order.
    fn of(&mut self, position: Option<&csv::Position>) -> usize {
        let start = position.map_or(self.at, |position| position.byte() as usize).clamp(self.at, self.text.len());
        let blank = self.text[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let passed = &self.text[self.at..start + blank];
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count();
        self.at = start + blank;
        self.line
    }
}

fn csv_error(error: &csv::Error, lines: &mut LineCount<'_>) -> FileError {
    let line = lines.of(error.position());
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("expected {expected_len} fields, found {len}")
        }
        _ => error.to_string(),
    };
    FileError { line, what }
}

fn fields<'a>(columns: &Columns, field: impl Fn(usize) -> &'a str) -> Result<Reading, String> {
    fn whole<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
        text.parse().map_err(|_| format!("expected a whole number as {what}, found '{text}'"))
    }
    let real = |column: usize, what: &str| match field(column) {
        "" => Ok(None),
        text => text.parse::<f64>().map(Some).map_err(|_| format!("expected nanoseconds as {what}, found '{text}'")),
    };
    let received = whole(field(columns.received), "received")?;
    let samples = match columns.samples {
        Some(column) => whole(field(column), "effective_samples")?,
        None => received,
    };
    Ok(Reading {
        start_ns: whole(field(columns.start), "start_ns")?,
        received,
        lost: whole(field(columns.lost), "lost")?,
        delay: delay(samples, real(columns.mean, "mean_ns")?, real(columns.std, "std_ns")?)?,
    })
}

/// Looks up the segments of a network by name.
#[derive(Clone, Debug)]
pub struct Names {
    /// `None` where two segments have the same name, since names of routers contain blanks.
    numbers: HashMap<Named, Option<u32>>,
}

impl Names {
    /// The names of these segments.
    pub fn new(topology: &Topology, routes: &Routes) -> Self {
        let named = |segment| {
            let names: Vec<&str> = routes.routers(segment).iter().map(|&router| topology.name(router)).collect();
            let (from, rest) = names.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
            let (to, via) = rest.split_last().map_or(("", &[][..]), |(last, rest)| (*last, rest));
            Named { from: from.to_owned(), to: to.to_owned(), via: via.join(" ") }
        };
        let mut numbers = HashMap::new();
        for segment in 0..routes.segments() as u32 {
            numbers.entry(named(segment)).and_modify(|number| *number = None).or_insert(Some(segment));
        }
        Self { numbers }
    }

    /// The number of the segment that a row belongs to.
    pub fn find(&self, row: &Row) -> Result<u32, FileError> {
        let error = |what| FileError { line: row.line, what };
        let Some(named) = &row.segment else {
            return Err(error("expected the columns from,to,via, or SEGMENT=FILE".to_owned()));
        };
        let found = self.numbers.get(&named.trimmed());
        found.copied().flatten().ok_or_else(|| {
            let via = if named.via.is_empty() { String::new() } else { format!(" via {}", named.via) };
            let what = match found {
                Some(_) => "is more than one segment, since names contain blanks: name its routers as SEGMENT=FILE",
                None => "is not a segment: dwell net paths lists them",
            };
            error(format!("'{}' to '{}'{via} {what}", named.from, named.to))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::{Mode, Paths};
    use crate::segments::Segments;
    use proptest::prelude::*;

    const HEAD: &str = "from,to,via,start_ns,received,lost,effective_samples,mean_ns,std_ns\n";

    fn error(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn csv_of_many_segments() {
        let rows = read(&format!("{HEAD}a,c,b,100,9,1,8,5.5,2\na,b,,200,0,0,0,,\n")).unwrap();
        let delay = Some(Delay { samples: 8, mean_ns: 5.5, std_ns: 2.0 });
        assert_eq!(rows[0].reading, Reading { start_ns: 100, received: 9, lost: 1, delay });
        assert_eq!((rows[1].line, rows[1].reading.delay), (3, None));
        let topology = Topology::read("a b 1\nb c 1\n").unwrap();
        let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap();
        let routes = Routes::new(&paths, &Segments::new(paths.clone(), topology.routers()));
        let names = Names::new(&topology, &routes);
        let numbers: Vec<u32> = rows.iter().map(|row| names.find(row).unwrap()).collect();
        assert_eq!(numbers.iter().map(|&n| routes.routers(n).len()).collect::<Vec<_>>(), [3, 2]);
        let stranger = &read(&format!("{HEAD}a,c,,100,9,1,8,5.5,2\n")).unwrap()[0];
        assert!(names.find(stranger).unwrap_err().to_string().starts_with("line 2: 'a' to 'c' is not a segment"));
        let nameless = &read("start_ns,received,lost,mean_ns,std_ns\n1,2,3,4,5\n").unwrap()[0];
        assert_eq!(nameless.reading.delay.unwrap().samples, 2);
        assert!(names.find(nameless).unwrap_err().to_string().contains("from,to,via"));
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
        let routes = Routes::new(&paths, &Segments::new(paths.clone(), topology.routers()));
        let names = Names::new(&topology, &routes);
        let find = |names_of: &str| {
            let rows = read(&format!("{HEAD}{names_of},100, 9 ,1,8,5.5 ,2\n")).unwrap();
            names.find(&rows[0]).map(|segment| {
                let name = |&router| topology.name(router);
                routes.routers(segment).iter().map(name).collect::<Vec<_>>().join("|")
            })
        };
        assert_eq!(find("\" a\",b ,").as_deref(), Ok("a|b"));
        assert_eq!(find(" x y ,B,").as_deref(), Ok("x y|B"));
        let ambiguous = find("A,B,x y").unwrap_err().to_string();
        assert!(ambiguous.starts_with("line 2: 'A' to 'B' via x y is more than one segment"), "{ambiguous}");
        assert!(find("x,b,").unwrap_err().to_string().contains("is not a segment"));
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
            "line 1: no column start_ns: expected from,to,via,start_ns,received,lost,effective_samples,mean_ns,std_ns, found ''"
        );
        assert!(error(HEAD).starts_with("line 1: no intervals"));
        assert_eq!(error(&format!("{HEAD}a,b,,1,2,3\n")), "line 2: expected 9 fields, found 6");
        assert_eq!(
            error(&format!("{HEAD}a,b,,1,2,3,4,5,6\na,b,,x,2,3,4,5,6\n")),
            "line 3: expected a whole number as start_ns, found 'x'"
        );
        // Whatever ends a line, and lines without a record.
        for ends in ["\n", "\r\n", "\n\n", "\r\n\r\n"] {
            let text =
                format!("{HEAD}a,b,,1,2,3,4,5,6\n\"a\n\",b,,1,2,3,4,5,6\na,b,,x,2,3,4,5,6\n").replace('\n', ends);
            let line = 1 + text[..text.find('x').unwrap()].matches('\n').count();
            assert!(error(&text).starts_with(&format!("line {line}: expected a whole")), "{ends:?}: {}", error(&text));
            let short = format!("{HEAD}a,b,,1,2,3,4,5,6\na,b,1\n").replace('\n', ends);
            let line = 1 + short[..short.find("a,b,1").unwrap()].matches('\n').count();
            assert_eq!(error(&short), format!("line {line}: expected 9 fields, found 3"), "{ends:?}");
        }
        for (mean, std) in [("inf", "1"), ("1", "-1"), ("nan", "1"), ("1", "nan"), ("1e19", "1")] {
            assert!(error(&format!("{HEAD}a,b,,1,2,3,4,{mean},{std}\n")).starts_with("line 2: a delay of"));
        }
        assert!(error(&format!("{HEAD}a,b,,1,2,3,4,slow,6\n")).contains("'slow'"));
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
                prop_assert!(row.reading.delay.is_none_or(|delay| delay.variance().is_finite() && delay.mean_ns.is_finite()));
            }
        }
    }
}
