//! `dwell evaluate`: its options work, results are reproducible, and `--check` notices changed results.

use crate::run::{Run, assert_refusal, command, dwell, dwell_in, finish, testdata};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SMALL: &str = r#"
name = "small"
title = "Two fridges"
source = "a test"
seeds = 11
[quick]
seeds = 3
share = 0.5
[tolerance]
octaves = 0.001
[[delay.workloads]]
name = "all"
rate = 1e5
answered = 0.4
delays = { distribution = "log-uniform", low_ms = 1, high_ms = 64 }
requests = 4000
[[delay.workloads]]
name = "measured"
preset = "fridge-synthetic"
longest_ms = 16
span_ms = 20
measured_ms = [0, 4]
[[delay.methods]]
method = "fridge"
slots = ["2^8"]
entry_probability = ["2^-2", "auto"]
[[delay.methods]]
method = "exact"
"#;

/// A folder with the definition `small`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let definitions = folder.path().join("experiments/definitions");
    fs::create_dir_all(&definitions).unwrap();
    fs::write(definitions.join("small.toml"), SMALL).unwrap();
    folder
}

/// A run in that folder; it may print the path of its record.
#[track_caller]
fn evaluate(folder: &Path, more: &[&str]) -> Run {
    let run = dwell_in(folder, &[&["evaluate", "small"], more].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.starts_with("dwell: record in ") && run.err.lines().count() == 1, "{}", run.err);
    run
}

/// The only record whose name has this ending.
fn record(folder: &Path, ending: &str) -> PathBuf {
    let records = fs::read_dir(folder.join("experiments/record")).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = records.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    assert_eq!(found.len(), 1);
    found[0].clone()
}

fn bytes(folder: &Path) -> [Vec<u8>; 4] {
    ["definition.toml", "cases.csv", "results.csv", "result.json"].map(|name| fs::read(folder.join(name)).unwrap())
}

/// Fails unless a run was refused with this code, in one line that contains all words.
#[track_caller]
fn assert_refused(run: &Run, code: i32, words: &[&str]) {
    assert_refusal(run, &["evaluate"], code, words);
}

#[test]
fn experiments_are_listed() {
    let folder = folder();
    let below = folder.path().join("experiments/definitions");
    for place in [folder.path(), below.as_path()] {
        let run = dwell_in(place, &["evaluate", "--list"]).ok();
        assert_eq!(String::from_utf8(run.out).unwrap(), "small  Two fridges [a test]\n");
    }
}

/// All committed definitions can be read.
#[test]
fn the_committed_experiments_are_sound() {
    let run = dwell_in(Path::new(env!("CARGO_MANIFEST_DIR")), &["evaluate", "--list"]).ok();
    let listed = String::from_utf8(run.out).unwrap();
    for name in ["fridge-fig3 ", "fridge-fig5 ", "fridge-bursts ", "fridge-orphans "] {
        assert!(listed.contains(name), "{listed}");
    }
}

/// Full runs draw the figure of their definition, and `--draw` draws it again from the recorded results.
#[test]
fn figures_are_drawn() {
    let folder = folder();
    let drawn = "[figure]\nx = 'entry_probability'\ny = 'rms_error'\nquantities = ['p50', 'p95']\n";
    fs::write(folder.path().join("experiments/definitions/small.toml"), [SMALL, drawn].concat()).unwrap();
    evaluate(folder.path(), &["--quick"]);
    evaluate(folder.path(), &["--png"]);
    let (record, quick) = (record(folder.path(), "-small"), record(folder.path(), "-quick"));
    let figure = |name: &str| fs::read(record.join(name)).unwrap();
    let (svg, png) = (figure("figure.svg"), figure("figure.png"));
    assert!(svg.starts_with(b"<svg") && png.starts_with(b"\x89PNG") && !quick.join("figure.svg").exists());
    for name in ["figure.svg", "figure.png"] {
        fs::remove_file(record.join(name)).unwrap();
    }
    assert_refused(&dwell_in(folder.path(), &["evaluate", "small", "--quick", "--png"]), 2, &["--png", "full run"]);
    let of_quick = ["evaluate", "--draw", "small", "--record", quick.to_str().unwrap()];
    assert_refused(&dwell_in(folder.path(), &of_quick), 1, &["expected a full record of small, found a quick one of"]);
    let run = dwell_in(folder.path(), &["evaluate", "--draw", "small"]);
    assert!(
        run.err.lines().count() == 1 && figure("figure.svg") == svg && !record.join("figure.png").exists(),
        "{}",
        run.err
    );
}

/// Averages of ten need ten seeds: fewer are refused before anything is run. No empty figure is drawn.
#[test]
fn nothing_is_not_drawn() {
    let folder = folder();
    let drawn = "[figure]\nx = 'entry_probability'\ny = 'ten_rms_error'\nquantities = ['p50']\n";
    let few = [SMALL, drawn].concat();
    fs::write(folder.path().join("experiments/definitions/small.toml"), &few).unwrap();
    let run = dwell_in(folder.path(), &["evaluate", "small", "--seeds", "9"]);
    assert_refused(&run, 2, &["--seeds: small: figure.y: ten_rms_error of 9 seeds: expected at least 10", "--quick"]);
    assert!(!folder.path().join("experiments/record").exists());
    let none = few
        .replace("ten_rms", "rms")
        .replace("answered = 0.4", "answered = 0")
        .replace("['p50']", "['p50']\nworkloads = ['all']");
    fs::write(folder.path().join("experiments/definitions/small.toml"), none).unwrap();
    let run = dwell_in(folder.path(), &["evaluate", "small", "--seeds", "3"]);
    assert!(run.code == 0 && run.err.starts_with("dwell: no figure: "), "{}", run.err);
    fs::write(folder.path().join("experiments/definitions/small.toml"), SMALL).unwrap();
    let run = dwell_in(folder.path(), &["evaluate", "small", "--seeds", "3", "--png", "--record", "without"]);
    assert!(run.code == 0 && run.err.starts_with("dwell: no figure: small has no table [figure]"), "{}", run.err);
    assert!(!record(folder.path(), "-small").join("figure.svg").exists());
}

/// Runs `small`, then `other` with its delays from a file, and removes one of the program and this file while `small` runs.
#[cfg(unix)]
fn while_the_first_runs(remove: &str) -> (tempfile::TempDir, Run) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = folder.path();
    let definitions = place.join("experiments/definitions");
    fs::create_dir_all(&definitions).unwrap();
    fs::write(definitions.join("small.toml"), SMALL.replace("seeds = 11", "seeds = 300")).unwrap();
    let other = SMALL.replace("small", "other").replace(
        r#"{ distribution = "log-uniform", low_ms = 1, high_ms = 64 }"#,
        r#"{ distribution = "file", path = "delays.txt" }"#,
    );
    fs::write(definitions.join("other.toml"), other).unwrap();
    fs::write(place.join("delays.txt"), "7\n8\n").unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_dwell"), place.join("program")).unwrap();
    let mut command = Command::new(place.join("program"));
    command.args(["evaluate", "small", "other"]).env_clear().current_dir(place);
    let running = std::thread::spawn(move || finish(command));
    let records = place.join("experiments/record");
    let has_facts = |entry: fs::DirEntry| entry.path().join("facts.json").exists();
    while !fs::read_dir(&records).is_ok_and(|mut found| found.any(|entry| has_facts(entry.unwrap()))) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    fs::remove_file(place.join(remove)).unwrap();
    (folder, running.join().unwrap())
}

/// What a record is known by is never the hash of nothing.
#[cfg(unix)]
#[test]
fn what_is_removed_meanwhile_is_no_empty_file() {
    let (folder, run) = while_the_first_runs("program");
    assert_eq!(run.code, 0, "{}", run.err);
    let [first, second] = ["-small", "-other"].map(|ending| {
        let facts = fs::read(record(folder.path(), ending).join("facts.json")).unwrap();
        serde_json::from_slice::<Value>(&facts).unwrap()["program"].as_str().unwrap().to_owned()
    });
    assert_eq!(first, second);
    let (_folder, run) = while_the_first_runs("delays.txt");
    assert!(run.code == 1 && run.err.contains("delays.txt: No such file"), "{}", run.err);
}

#[test]
fn what_cannot_be_run_is_refused() {
    let folder = folder();
    let place = folder.path();
    assert_refused(&dwell_in(place, &["evaluate"]), 2, &["NAME|FILE"]);
    assert_refused(&dwell_in(place, &["evaluate", "smal"]), 2, &["'smal'", "small", ".toml"]);
    assert_refused(&dwell_in(place, &["evaluate", "small", "--seeds", "0"]), 2, &["'0'", "--seeds", "from 1 to"]);
    assert_refused(&dwell_in(place, &["evaluate", "small", "--check", "--quick"]), 2, &["--check", "--quick"]);
    assert_refused(&dwell_in(place, &["evaluate", "small", "small", "--record", "r"]), 2, &["--record", "one"]);
    assert_refused(&dwell_in(place, &["evaluate", "none.toml"]), 1, &["none.toml", "No such file"]);
    assert_refused(&dwell_in(place, &["evaluate", "small", "--check"]), 1, &["no quick record", "--quick"]);
    assert_refused(&dwell_in(place, &["evaluate", "small", "--draw"]), 1, &["small: no full record to draw"]);
    let elsewhere = tempfile::tempdir().unwrap();
    assert_refused(&dwell_in(elsewhere.path(), &["evaluate", "--list"]), 1, &["experiments/definitions"]);

    // Nor is the record of another experiment drawn anew or taken for its own.
    fs::write(place.join("other.toml"), SMALL).unwrap();
    let renamed = dwell_in(place, &["evaluate", "other.toml", "--record", "r"]);
    assert_refused(&renamed, 1, &["other.toml: name is 'small'"]);
    fs::write(place.join("other.toml"), SMALL.replace("small", "other")).unwrap();
    assert_eq!(dwell_in(place, &["evaluate", "other.toml", "--quick", "--record", "of-other"]).code, 0);
    let drawn = dwell_in(place, &["evaluate", "--draw", "small", "--record", "of-other"]);
    assert_refused(&drawn, 1, &["expected a full record of small, found a quick one of other"]);

    fs::write(place.join("file"), "text").unwrap();
    let refused = dwell_in(place, &["evaluate", "small", "--record", "file"]);
    assert_refused(&refused, 1, &["file: expected a directory", "not a file"]);

    // Other files are not overwritten, except those with which a record of this definition begins.
    fs::create_dir(place.join("own")).unwrap();
    let own = |name: &str, text: &str| fs::write(place.join("own").join(name), text).unwrap();
    own("results.csv", "mine");
    let refused = dwell_in(place, &["evaluate", "small", "--record", "own"]);
    assert_refused(&refused, 1, &["own: holds other files than a record", "expected a directory, new, empty"]);
    fs::rename(place.join("own/results.csv"), place.join("own/definition.toml")).unwrap();
    assert_refused(&dwell_in(place, &["evaluate", "small", "--record", "own"]), 1, &["own: holds other files"]);
    assert_eq!(fs::read(place.join("own/definition.toml")).unwrap(), b"mine");
    own("definition.toml", SMALL);
    own("cases.csv", "cut off");
    evaluate(place, &["--quick", "--record", "own"]);

    // The definition in a record can be run again.
    let again = ["evaluate", "own/definition.toml", "--quick", "--record", "again"];
    assert_eq!(dwell_in(place, &again).code, 0);

    let broken = [
        (SMALL.replace("slots", "slogs"), &["unknown field `slogs`", "slots"][..]),
        (SMALL.replace("seeds = 11", "seeds = -1"), &["line 5", "seeds = -1"]),
        (SMALL.replace("answered = 0.4", "answered = 4"), &["delay.workloads[0]", "from 0 to 1"]),
        (SMALL.replace("\"exact\"", "\"guess\""), &["delay.methods[1].method", "'guess'", "fridge"]),
        (SMALL.replace("4000", "9223372036854775807"), &["line 16, delay.workloads[0].requests", "from 1 to 1e10"]),
        (SMALL.replace("span_ms = 20", "span_ms = 9e8"), &["line 21, delay.workloads[1].span_ms", "from 1 to 1e10"]),
        // These would never end.
        (SMALL.replace("rate = 1e5", "rate = 1e-9"), &["line 13, delay.workloads[0].rate: 1e-9: expected from 0.001"]),
        (SMALL.replace("rate = 1e5", "rate = 1e-300"), &["line 13, delay.workloads[0].rate: 1e-300: expected from"]),
        (SMALL.replace("[\"2^8\"]", "[\"2^40\"]"), &["delay.methods[0].slots", "a whole number from 1 to"]),
        ("just words".to_owned(), &["line 1", "'just words'"]),
    ];
    for (text, words) in broken {
        fs::write(place.join("broken.toml"), text).unwrap();
        let refused = dwell_in(place, &["evaluate", "broken.toml", "--record", "r"]);
        assert_refused(&refused, 1, &[&["broken.toml: "], words].concat());
        assert!(!place.join("r").exists());
    }
}

/// The numbers are plausible and the same to the last bit, whatever the number of threads.
#[test]
fn results_repeat() {
    let (one, two) = (folder(), folder());
    let json = evaluate(one.path(), &["--threads", "1", "--format", "json"]).json();
    evaluate(two.path(), &["--threads", "3"]);
    let first = record(one.path(), "-small");
    assert_eq!(bytes(&first), bytes(&record(two.path(), "-small")));
    assert_eq!(json, serde_json::from_slice::<Value>(&fs::read(first.join("result.json")).unwrap()).unwrap());

    let summaries = json["summaries"].as_array().unwrap();
    let find = |workload: &str, method: &str, quantity: &str| {
        let is_it = |s: &&Value| s["workload"] == workload && s["method"] == method && s["quantity"] == quantity;
        summaries.iter().find(is_it).unwrap()
    };
    for workload in ["all", "measured"] {
        for quantity in ["p50", "p99", "max_p05_p95"] {
            assert_eq!(find(workload, "exact", quantity)["rms_error"], 0.0);
            let error = find(workload, "fridge", quantity)["rms_error"].as_f64().unwrap();
            assert!((0.001..5.0).contains(&error), "{workload} {quantity}: {error}");
            assert!(find(workload, "fridge", quantity)["ten_rms_error"].is_f64());
        }
        assert_eq!(find(workload, "exact", "exchanges")["mean"], 1.0);
        assert_eq!(find(workload, "exact", "octave_20")["mean"], 1.0);
        assert_eq!(find(workload, "exact", "p50")["covered"], 1.0);
    }
    let facts: Value = serde_json::from_slice(&fs::read(first.join("facts.json")).unwrap()).unwrap();
    assert_eq!((&facts["seeds"], &facts["size"]), (&11.into(), &"full".into()));
    assert!(facts["duration_seconds"].as_f64() > Some(0.0) && facts["program"].as_str().unwrap().len() == 16);
}

#[test]
fn an_interrupted_run_goes_on() {
    let (whole, cut) = (folder(), folder());
    evaluate(whole.path(), &[]);
    // Fewer seeds, the last of which is cut in the middle of a line.
    evaluate(cut.path(), &["--seeds", "4"]);
    let begun = record(cut.path(), "-small");
    let cases = fs::read(begun.join("cases.csv")).unwrap();
    fs::write(begun.join("cases.csv"), &cases[..cases.len() * 2 / 3]).unwrap();
    fs::remove_file(begun.join("result.json")).unwrap();
    evaluate(cut.path(), &[]);
    assert_eq!(bytes(&begun), bytes(&record(whole.path(), "-small")));

    // Recorded runs are not repeated: a number that no run could give is kept.
    let cases = fs::read_to_string(begun.join("cases.csv")).unwrap();
    let line = cases.lines().find(|line| line.contains(",state_bytes,")).unwrap();
    let forged = line.replace(line.split(',').nth(8).unwrap(), "1");
    fs::write(begun.join("cases.csv"), cases.replacen(line, &forged, 1)).unwrap();
    evaluate(cut.path(), &[]);
    assert!(fs::read_to_string(begun.join("cases.csv")).unwrap().contains(&forged));

    // Runs of more seeds are not discarded.
    let all = |folder: &Path| [bytes(folder).concat(), fs::read(folder.join("facts.json")).unwrap()];
    let before = all(&begun);
    let refused = dwell_in(cut.path(), &["evaluate", "small", "--seeds", "4"]);
    assert_refused(&refused, 1, &["-small: the record has 11 seeds: expected --seeds 11 or more, or another --record"]);
    assert!(all(&begun) == before);

    // Results of different definitions or programs are not mixed.
    let definition = cut.path().join("experiments/definitions/small.toml");
    fs::write(&definition, SMALL.replace("0.4", "0.5")).unwrap();
    let folder = begun.to_str().unwrap();
    let into = |folder: &str| dwell_in(cut.path(), &["evaluate", "small", "--record", folder]);
    assert_refused(&into(folder), 1, &["-small", "another definition", "remove"]);
    fs::write(&definition, SMALL).unwrap();
    let facts = fs::read_to_string(begun.join("facts.json")).unwrap();
    let at = facts.find("\"program\": \"").unwrap() + 12;
    fs::write(begun.join("facts.json"), format!("{}0000{}", &facts[..at], &facts[at + 4..])).unwrap();
    assert_refused(&into(folder), 1, &["-small", "another build"]);
    // Without --record there is room beside it, also for a third one.
    assert!(evaluate(cut.path(), &[]).err.ends_with("-small.2\n"));
    assert!(evaluate(cut.path(), &[]).err.ends_with("-small.2\n"), "it is continued");
    fs::write(&definition, SMALL.replace("2^8", "2^7")).unwrap();
    assert!(evaluate(cut.path(), &[]).err.ends_with("-small.3\n"));
}

#[test]
fn a_check_tells_what_moved() {
    let folder = folder();
    let place = folder.path();
    let none = dwell_in(place, &["evaluate", "--check"]);
    let words = "dwell: small: no quick record to compare with: create one with dwell evaluate small --quick\n";
    assert_eq!((none.code, none.err.as_str()), (1, words));
    evaluate(place, &["--quick"]);
    for check in [&["evaluate", "--check"][..], &["evaluate", "small", "--check"]] {
        let said = String::from_utf8(dwell_in(place, check).ok().out).unwrap();
        assert!(said.starts_with("small: ") && said.contains("as recorded") && said.lines().count() == 1, "{said}");
    }

    // A record with one error beyond the tolerance, and one within it.
    let path = record(place, "-small-quick").join("result.json");
    let mut results: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for (index, by) in [(0, 0.0009), (1, 0.0011)] {
        let error = &mut results["summaries"][index]["rms_error"];
        *error = (error.as_f64().unwrap() + by).into();
    }
    fs::write(&path, results.to_string()).unwrap();
    let run = dwell(&["evaluate", "x.toml", "--check", "--record", path.to_str().unwrap()]);
    assert_refused(&run, 1, &["x.toml"]);
    let run = dwell_in(place, &["evaluate", "--check"]);
    let said = String::from_utf8(run.out).unwrap();
    assert_eq!((run.code, run.err.as_str(), said.lines().count()), (1, "", 2), "{said}");
    for word in ["small: all, fridge", "slots=256, p95: rms error was", "may move by 0.0010", "1 numbers changed"] {
        assert!(said.contains(word), "{said} does not say {word}");
    }

    // Nobody reads it.
    let mut child = command(&["evaluate", "--check"]).current_dir(place).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// The user's own record, made of the code that is to be checked, hides nothing; what git keeps counts.
#[test]
fn a_check_compares_with_what_git_keeps() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: git is not installed");
        return;
    }
    let folder = folder();
    let place = folder.path();
    let git = |arguments: &[&str]| {
        let done = Command::new("git").current_dir(place).args(arguments).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet"]);
    evaluate(place, &["--quick"]);
    assert_eq!(dwell_in(place, &["evaluate", "--check"]).code, 0, "it keeps none, so all count");
    git(&["add", "."]);
    let kept = record(place, "-small-quick");
    let path = kept.join("result.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"rms_error\":", "\"rms_error\":9")).unwrap();
    fs::create_dir(kept.with_file_name("2999-12-31-small-quick")).unwrap();
    fs::write(kept.with_file_name("2999-12-31-small-quick").join("result.json"), &text).unwrap();
    let moved = dwell_in(place, &["evaluate", "--check"]);
    assert_eq!(moved.code, 1, "{}", String::from_utf8_lossy(&moved.out));
    git(&["add", "."]);
    assert_eq!(dwell_in(place, &["evaluate", "--check"]).code, 0, "the later one is kept, too");
}

/// The committed quick records are what the code gives: a change that alters them must be intended, and renew them.
#[test]
fn the_committed_records_hold() {
    let run = dwell_in(Path::new(env!("CARGO_MANIFEST_DIR")), &["evaluate", "--check"]);
    let said = String::from_utf8(run.out).unwrap();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{said}");
    assert!(said.lines().count() >= 4 && said.lines().all(|line| line.contains("as recorded")), "{said}");
}

/// Delays from a file: a record names the file with its hash, and is not continued with another one.
#[test]
fn delays_may_come_from_a_file() {
    let folder = folder();
    let small = SMALL.replace(
        r#"{ distribution = "log-uniform", low_ms = 1, high_ms = 64 }"#,
        r#"{ distribution = "file", path = "delays.txt" }"#,
    );
    fs::write(folder.path().join("experiments/definitions/small.toml"), small).unwrap();
    let delays = folder.path().join("delays.txt");
    fs::write(&delays, "# in milliseconds\n7 7.5\n\n9,8\t40\n").unwrap();
    let how = ["--record", "record", "--format", "csv"];
    evaluate(folder.path(), &how);
    let facts: Value = serde_json::from_slice(&fs::read(folder.path().join("record/facts.json")).unwrap()).unwrap();
    assert_eq!(facts["inputs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["delays.txt"]);
    let run = |text: &str| {
        fs::write(&delays, text).unwrap();
        dwell_in(folder.path(), &[&["evaluate", "small"], &how[..]].concat())
    };
    assert_refused(&run("7 9\n"), 1, &["record", "file of delays"]);
    assert_refused(&run("7\n\nnine\n"), 1, &["small.toml: line", "delays.txt: line 3: 'nine' is not a number"]);
    assert_refused(&run("7\n-1\n"), 1, &["delays.txt: line 2", "-1"]);
    assert_refused(&run("# none\n"), 1, &["small.toml: line", "no values to draw from"]);
    fs::remove_file(&delays).unwrap();
    let run = dwell_in(folder.path(), &["evaluate", "small"]);
    assert_refused(&run, 1, &["small.toml: line", "delays.txt: No such file"]);
}

/// The definitions that the guide shows can be run as they stand, the first with the figure shown after it.
#[test]
fn the_guides_definitions_run() {
    let guide = fs::read_to_string(testdata("../docs/guide/evaluate.md")).unwrap();
    let mut shown = guide.split("```toml\n").skip(1).map(|after| after.split("```").next().unwrap().to_owned());
    let first = shown.next().unwrap() + &shown.next().unwrap();
    let head = "name = \"my-question\"\ntitle = \"A part\"\nsource = \"the guide\"\nseeds = 2\n[quick]\nshare = 0.01\n";
    let parts: Vec<String> = shown.map(|part| format!("{head}{part}")).collect();
    assert_eq!(parts.len(), 4);
    let folder = tempfile::tempdir().unwrap();
    for (place, text) in parts.into_iter().chain([first]).enumerate() {
        fs::write(folder.path().join("my-question.toml"), &text).unwrap();
        let to = place.to_string();
        let run = dwell_in(folder.path(), &["evaluate", "my-question.toml", "--quick", "--record", &to]);
        assert_eq!(run.code, 0, "{}\n{text}", run.err);
    }
}
