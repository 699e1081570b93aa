//! Every format with absurd reports, and with writers that fail.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use dwell_report::csv::Rows;
use dwell_report::rtt::{RttReport, csv, ppviz, samples, table};
use dwell_report::{json, plot};
use dwell_types::{Leg, Match, Nanos, Timestamp};
use std::io::{self, ErrorKind, Write};

type Form = (&'static str, fn(&RttReport, &mut Pipe) -> io::Result<()>);

const FORMS: [Form; 11] = [
    ("table", |r, to| table::write(r, to)),
    ("table series", |r, to| table::write_series(&[r.clone(), r.clone()], to)),
    ("json", |r, to| json::write(r, to)),
    ("jsonl", |r, to| json::write_line(r, to)),
    ("csv", |r, to| csv::write_head(to).and_then(|()| csv::write_rows(r, to))),
    ("csv series", |r, to| (0..100).try_for_each(|_| csv::write_rows(r, to))),
    ("openmetrics", |r, to| common::openmetrics(r, to)),
    ("svg", |r, to| plot::write(r, plot::Image::Svg, to)),
    ("png", |r, to| plot::write(r, plot::Image::Png, to)),
    ("svg series", |r, to| plot::write_series(&[r.clone(), r.clone()], plot::Image::Svg, to)),
    ("samples", |_, to| {
        let mut writer = Rows::new(to, samples::COLUMNS)?;
        for _ in 0..1_000 {
            writer.write(&sample())?;
        }
        writer.finish().map(|_| ())
    }),
];

fn sample() -> samples::Sample<'static> {
    samples::Sample {
        at: Timestamp::from_nanos(1_700_000_000_000_000_000),
        delay: Nanos::new(-42),
        weight: 12.5,
        inserted_since: 3,
        matching: Match::TcpHandshake,
        leg: Leg::Beyond,
        group: "a, \"b\"",
        flow: None,
    }
}

/// A writer that accepts `room` bytes and is then closed.
struct Pipe {
    room: usize,
    written: usize,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        self.written += taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_comes_back_as_such() {
    let report = common::exact();
    for (name, write) in FORMS {
        let mut all = Pipe { room: usize::MAX, written: 0 };
        write(&report, &mut all).unwrap();
        assert!(all.written > 0, "{name}");
        for room in [0, 1, all.written / 2, all.written - 1] {
            let mut pipe = Pipe { room, written: 0 };
            let kind = write(&report, &mut pipe).map_err(|e| e.kind());
            assert_eq!(kind, Err(ErrorKind::BrokenPipe), "{name} after {room} of {} bytes", all.written);
        }
    }
}

#[test]
fn absurd_values_are_written_without_panic() {
    for (name, write) in FORMS {
        let mut all = Pipe { room: usize::MAX, written: 0 };
        write(&common::absurd(), &mut all).unwrap();
        assert!(all.written > 0, "{name}");
    }
}

#[test]
fn samples_have_one_row_each() {
    let mut text = Vec::new();
    let mut writer = Rows::new(&mut text, samples::COLUMNS).unwrap();
    writer.write(&sample()).unwrap();
    writer.write(&samples::Sample { group: "all", weight: 1.0, ..sample() }).unwrap();
    writer.finish().unwrap();
    let expected = "\
        at_ns,delay_ns,weight,inserted_since,match,group,leg\n\
        1700000000000000000,-42,12.5,3,tcp-handshake,\"a, \"\"b\"\"\",beyond\n\
        1700000000000000000,-42,1.0,3,tcp-handshake,all,beyond\n";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn ppviz_reports_a_closed_pipe() {
    let mut writer = ppviz::Writer::new(Pipe { room: 10, written: 0 });
    assert_eq!(writer.write(&sample()).map_err(|e| e.kind()), Err(ErrorKind::BrokenPipe));
}
