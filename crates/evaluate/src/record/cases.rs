//! `cases.csv`: one row per run and quantity. The column `rows` is the number of rows of the run, so that a run cut off
//! by an interruption is recognised.

use super::{RecordError, write as write_file};
use crate::case::{Case, Measurement, Run, Scale};
use dwell_report::csv::{Rows, text};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

const HEAD: [&str; 11] =
    ["workload", "method", "parameters", "seed", "rows", "quantity", "scale", "truth", "estimate", "low", "high"];

/// The rows for these runs.
pub(super) fn rows(cases: &[Case], runs: &[Run]) -> io::Result<Vec<u8>> {
    let mut lines = Rows::without_header(Vec::new());
    for run in runs {
        let Some(case) = cases.get(run.case) else { continue };
        let (label, seed, rows) = (case.label(), run.seed.to_string(), run.measurements.len().to_string());
        for measurement in &run.measurements {
            let (low, high) = measurement.interval.unzip();
            let [truth, estimate, low, high] = [measurement.truth, measurement.estimate, low, high].map(text);
            lines.write(&[
                &case.workload,
                &case.method,
                &label,
                &seed,
                &rows,
                &measurement.quantity,
                measurement.scale.name(),
                &truth,
                &estimate,
                &low,
                &high,
            ])?;
        }
    }
    lines.finish()
}

/// Writes the whole file.
pub(super) fn write(path: &Path, cases: &[Case], runs: &[Run]) -> Result<(), RecordError> {
    let mut bytes = HEAD.join(",").into_bytes();
    bytes.push(b'\n');
    bytes.extend(rows(cases, runs).map_err(|error| RecordError::File(path.to_owned(), error))?);
    write_file(path, &bytes)
}

/// Reads the complete runs.
pub(super) fn read(path: &Path, cases: &[Case]) -> Result<Vec<Run>, RecordError> {
    let indices: BTreeMap<(String, String, String), usize> = cases
        .iter()
        .enumerate()
        .map(|(index, case)| ((case.workload.clone(), case.method.clone(), case.label()), index))
        .collect();
    let text = super::read(path)?;
    // A truncated last line may look complete: ignore everything after the last line break.
    let whole_lines = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(whole_lines.as_bytes());
    let mut found: BTreeMap<(usize, u64), (usize, Vec<Measurement>)> = BTreeMap::new();
    // An unreadable row is the end of an interrupted run, which then lacks rows and is run again.
    for row in reader.records().map_while(Result::ok) {
        let Some((place, case_rows, measurement)) = parse(&row) else { continue };
        let (workload, method, label, seed) = place;
        let Some(&case) = indices.get(&(workload, method, label)) else { continue };
        let (rows, measurements) = found.entry((case, seed)).or_default();
        *rows = case_rows;
        measurements.push(measurement);
    }
    let complete = found.into_iter().filter(|(_, (rows, measurements))| *rows == measurements.len());
    Ok(complete.map(|((case, seed), (_, measurements))| Run { case, seed, measurements }).collect())
}

/// Workload, method, parameters and seed.
type Place = (String, String, String, u64);

fn parse(row: &csv::StringRecord) -> Option<(Place, usize, Measurement)> {
    if row.len() != HEAD.len() {
        return None;
    }
    let text = |column: usize| row[column].to_owned();
    let value = |column: usize| row[column].parse().ok();
    let place = (text(0), text(1), text(2), row[3].parse().ok()?);
    let scale = Scale::ALL.into_iter().find(|scale| scale.name() == &row[6])?;
    let interval = value(9).zip(value(10));
    let measurement = Measurement { quantity: text(5), scale, truth: value(7), estimate: value(8), interval };
    Some((place, row[4].parse().ok()?, measurement))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn cases() -> Vec<Case> {
        let case = |slots: f64| Case {
            stream: 0,
            workload: "T = 64 ms, \"quoted\"".into(),
            method: "fridge".into(),
            parameters: BTreeMap::from([("slots".into(), slots)]),
        };
        vec![case(64.0), case(4096.0)]
    }

    fn run(case: usize, seed: u64) -> Run {
        let measurement = |quantity: &str, estimate| Measurement {
            quantity: quantity.into(),
            scale: Scale::Log2,
            truth: Some(1e6 / 3.0),
            estimate,
            interval: estimate.map(|e: f64| (e / 2.0, e * 2.0)),
        };
        Run { case, seed, measurements: vec![measurement("p50", None), measurement("p99", Some(0.1 + seed as f64))] }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.csv");
        let runs = vec![run(0, 1), run(0, 2), run(1, 1)];
        write(&path, &cases(), &runs).unwrap();
        assert_eq!(read(&path, &cases()).unwrap(), runs);
    }

    /// However many bytes of the file were written, exactly the complete runs are read back, unchanged.
    #[test]
    fn a_cut_file_yields_its_whole_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.csv");
        let runs = vec![run(0, 1), run(0, 2), run(1, 1)];
        write(&path, &cases(), &runs).unwrap();
        let bytes = fs::read(&path).unwrap();
        for end in 0..bytes.len() {
            fs::write(&path, &bytes[..end]).unwrap();
            let found = read(&path, &cases()).unwrap();
            assert!(found.len() < 3 && found == runs[..found.len()], "{end}");
        }
    }
}
