//! Networks made by `dwell simulate --network`: `dwell net localize` finds the faults.

use crate::run::{assert_refusal, dwell_in, names, testdata};
use serde_json::Value;
use std::path::Path;

const ALL: [&str; 2] = ["--routers", "12"];

/// Measures the ladder, whose routers are instrumented as the first flags say.
fn measure(folder: &Path, instrumented: &[&str], faults: &[&str]) {
    let map = testdata("net/ladder.toml");
    let run = dwell_in(folder, &[&["simulate", "--network", &map, "-w", "m.csv"], instrumented, faults].concat());
    assert!(run.code == 0 && run.err.contains("dwell: 40 intervals of "), "{}", run.err);
}

/// The lines of the segments that `dwell net localize` reports.
fn localize(folder: &Path, instrumented: &[&str], faults: &[&str]) -> Vec<Value> {
    measure(folder, instrumented, faults);
    let map = testdata("net/ladder.toml");
    let what = ["net", "localize", &map, "--measurements", "m.csv", "--format", "json"];
    let report = dwell_in(folder, &[&what[..], instrumented].concat()).ok().json();
    report["segments"].as_array().unwrap().clone()
}

fn ends(line: &Value) -> String {
    format!("{},{}", line["from"].as_str().unwrap(), line["to"].as_str().unwrap())
}

/// A fault on any link is the first that is reported, and its link alone is in alarm: delays of 200 µs are ten standard
/// deviations of interval means and more, and 2% of hundreds of packets are lost where it was one in 10,000. (By definition
/// one network in 100 may have a false alarm.)
#[test]
fn a_fault_is_found_first() {
    let folder = tempfile::tempdir().unwrap();
    let usual = localize(folder.path(), &ALL, &[]);
    assert_eq!(usual.len(), 32);
    let has_alarm = |line: &Value, kind: &str| line[kind]["alarm"] == true;
    assert!(!usual.iter().any(|line| has_alarm(line, "delay") || has_alarm(line, "loss")));
    for link in usual.iter().map(ends).step_by(5) {
        let slow = localize(folder.path(), &ALL, &["--slow", &format!("{link}=200us")]);
        let alarms = |lines: &[Value], kind| -> Vec<String> {
            lines.iter().filter(|line| has_alarm(line, kind)).map(ends).collect()
        };
        assert_eq!((ends(&slow[0]), alarms(&slow, "delay")), (link.clone(), vec![link.clone()]));
        assert_eq!(alarms(&slow, "loss").len(), 0, "{link}");
        let lossy = localize(folder.path(), &ALL, &["--lossy", &format!("{link}=2%"), "--since", "25"]);
        assert_eq!(alarms(&lossy, "loss"), [&*link]);
        assert_eq!(alarms(&lossy, "delay").len(), 0, "{link}");
    }
}

/// Where segments are longer, those with the link in them are slow, and no others.
#[test]
fn a_fault_is_in_every_segment_over_its_link() {
    let folder = tempfile::tempdir().unwrap();
    let slow = localize(folder.path(), &["--instrumented", "b1,b5"], &["--slow", "b3,b4=500us"]);
    let is_over = |line: &Value| {
        let via = line["via"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        let ends = ends(line);
        let (from, to) = ends.split_once(',').unwrap();
        let routers: Vec<&str> = [from].into_iter().chain(via).chain([to]).collect();
        routers.windows(2).any(|ends| ends == ["b3", "b4"])
    };
    let over = slow.iter().filter(|line| is_over(line)).count();
    assert!(over > 3 && over < slow.len() / 2, "{over} of {}", slow.len());
    assert!(slow.iter().all(|line| (line["delay"]["alarm"] == true) == is_over(line)));
    assert!(slow[..over].iter().all(is_over));
}

/// The same seed gives the same queues with and without a fault, so a slow link is slower by exactly so much, from the
/// first interval with the fault on.
#[test]
fn a_fault_begins_when_it_should() {
    let folder = tempfile::tempdir().unwrap();
    let means = |faults: &[&str]| -> Vec<i64> {
        measure(folder.path(), &ALL, faults);
        let mut reader = csv::Reader::from_path(folder.path().join("m.csv")).unwrap();
        let head = ["from", "to", "via", "start_ns", "received", "lost", "effective_samples", "mean_ns", "std_ns"];
        assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), head);
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 40 * 32);
        let link = rows.iter().filter(|row| &row[0] == "b3" && &row[1] == "b4");
        link.map(|row| row[7].parse().unwrap()).collect()
    };
    let (usual, slow) = (means(&["--seed", "7"]), means(&["--seed", "7", "--slow", "b3,b4=30us", "--since", "33"]));
    let more: Vec<i64> = usual.iter().zip(&slow).map(|(usual, slow)| slow - usual).collect();
    assert_eq!(more, [[0; 33].as_slice(), &[30_000; 7]].concat());
    assert!(means(&["--seed", "8"]) != usual);
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let map = testdata("net/ladder.toml");
    let cases: [(i32, &[&str], &[&str]); 15] = [
        (2, &["--network", &map], &["--write"]),
        (2, &["--network", &map, "-w", "new", "--path"], &["--network", "--path"]),
        (2, &["--network", &map, "-w", "new", "--truth", "other"], &["--network", "--truth"]),
        (2, &["--network", &map, "-w", "new", "--flows", "3"], &["--network", "--flows"]),
        (2, &["--network", &map, "-w", "new", "--slow", "b3,b4"], &["--slow b3,b4: expected A,B=TIME"]),
        (2, &["--network", &map, "-w", "new", "--slow", "b3,b4=fast"], &["--slow b3,b4=fast", "500ms"]),
        (2, &["--network", &map, "-w", "new", "--slow", "b3=1ms"], &["expected two routers"]),
        (2, &["--network", &map, "-w", "new", "--slow", "b3,a6=1ms"], &["no link from the first to the second"]),
        (2, &["--network", &map, "-w", "new", "--slow", "b3,b9=1ms"], &["--slow b9: no router of this name"]),
        (2, &["--network", &map, "-w", "new", "--lossy", "b3,b4=2"], &["--lossy b3,b4=2", "up to 1"]),
        (2, &["--network", &map, "-w", "new", "--lossy", "b3,b4=2%", "--since", "40"], &["--since 40", "40"]),
        (2, &["--network", &map, "-w", "new", "--since", "5"], &["--slow", "--lossy"]),
        (2, &["--network", &map, "-w", &map], &["is an input"]),
        (2, &["-w", "new", "--routers", "3"], &["--network"]),
        (1, &["--network", "none", "-w", "new"], &["none"]),
    ];
    for (code, arguments, words) in cases {
        let run = dwell_in(folder.path(), &[&["simulate"], arguments].concat());
        assert_refusal(&run, arguments, code, words);
        assert!(names(folder.path()).is_empty(), "{arguments:?}");
    }
}
