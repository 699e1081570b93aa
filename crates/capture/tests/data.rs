//! Compares every capture in the folder that the environment variable `DWELL_DATA` names with the table there.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use dwell_capture::{CaptureError, CaptureFiles, FrameSource, InputState};
use dwell_types::Timestamp;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Valid captures that are rejected or read differently, and why.
const EXCEPTIONS: [(&str, &str); 1] = [("captures/formats/solaris.snoop", "snoop is neither pcap nor pcapng")];

fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("DWELL_DATA").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        println!("skipped: DWELL_DATA names no folder");
        eprintln!("skipped: DWELL_DATA names no folder");
    }
    folder
}

/// The rows of MANIFEST.tsv, by column name.
fn manifest(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let row = |line: &str| columns.iter().map(|&c| c.to_owned()).zip(line.split('\t').map(str::to_owned)).collect();
    lines.map(row).collect()
}

struct Outcome {
    frames: u64,
    captured_bytes: u64,
    earliest_ns: Option<i64>,
    warnings: usize,
    is_damaged: bool,
    error: Option<CaptureError>,
}

fn read(path: &Path) -> Outcome {
    let mut outcome =
        Outcome { frames: 0, captured_bytes: 0, earliest_ns: None, warnings: 0, is_damaged: false, error: None };
    let mut files = match CaptureFiles::open([path]) {
        Ok(files) => files,
        Err(error) => return Outcome { error: Some(error), ..outcome },
    };
    loop {
        match files.next_frame() {
            Ok(Some(frame)) => {
                let at_ns = frame.at.map(Timestamp::as_nanos);
                outcome.earliest_ns = [outcome.earliest_ns, at_ns].into_iter().flatten().min();
                outcome.frames += 1;
                outcome.captured_bytes += frame.bytes.len() as u64;
            }
            Ok(None) => break,
            Err(error) => {
                outcome.error = Some(error);
                break;
            }
        }
    }
    assert_eq!(files.frames(), outcome.frames);
    (outcome.warnings, outcome.is_damaged) = (files.warnings().len(), files.is_damaged());
    outcome
}

/// Converts a time in the manifest to nanoseconds, if it consists of seconds, a point, and six or nine digits.
fn nanos(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.')?;
    let unit = match fraction.len() {
        6 => 1_000,
        9 => 1,
        _ => return None,
    };
    seconds
        .parse::<i64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(i64::from(fraction.parse::<u32>().ok()?) * unit)
}

#[test]
fn frame_counts_of_sound_captures() {
    let Some(folder) = data() else { return };
    let (mut files, mut times) = (0, 0);
    for row in manifest(&folder) {
        let path = &row["path"];
        let Ok(packets) = row["packets"].parse::<u64>() else { continue };
        if !path.starts_with("captures/") {
            continue;
        }
        let outcome = read(&folder.join(path));
        if let Some((_, reason)) = EXCEPTIONS.iter().find(|(exception, _)| exception == path) {
            println!("{path}: {reason}");
            assert!(matches!(outcome.error, Some(CaptureError::NotACapture { .. })), "{path}: {:?}", outcome.error);
            continue;
        }
        assert!(outcome.error.is_none(), "{path}: {}", outcome.error.unwrap());
        assert_eq!((outcome.frames, outcome.warnings), (packets, 0), "{path}");
        // Not every tick count fits the range of a timestamp.
        if let (Some(expected), Some(earliest)) = (nanos(&row["first_packet_epoch_s"]), outcome.earliest_ns) {
            assert_eq!(earliest, expected, "{path}: time of the earliest packet");
            times += 1;
        }
        files += 1;
    }
    println!("{files} captures, {times} times");
    assert!(files > 50 && times > 50);
}

#[test]
fn malformed_captures_end_in_time_and_say_why() {
    let Some(folder) = data() else { return };
    let mut files = 0;
    for row in manifest(&folder) {
        let path = &row["path"];
        if !path.starts_with("captures-malformed/") {
            continue;
        }
        let started = Instant::now();
        let outcome = read(&folder.join(path));
        assert!(started.elapsed() < Duration::from_secs(5), "{path}: {:?}", started.elapsed());
        if !path.ends_with(".gz") {
            assert!(outcome.captured_bytes <= row["bytes"].parse().unwrap(), "{path}");
        }
        // tshark's verdict, and its packet count unless it gave up.
        let (reference, packets) = (row["opens_cleanly"].as_str(), row["packets"].parse::<u64>().ok());
        let Outcome { frames, warnings, is_damaged, error, .. } = outcome;
        println!("{path}: {frames} frames, {warnings} warnings, {error:?}; reference: {packets:?}, {reference}");
        if reference == "yes" {
            assert!(error.is_none(), "{path}: {}", error.unwrap());
            assert_eq!((Some(frames), warnings), (packets, 0), "{path}");
        } else if reference.contains("cut short") {
            assert!(warnings == 1 || error.is_some(), "{path}");
            assert!(Some(frames) >= packets, "{path}: {frames} frames");
        } else if reference.contains("damaged") {
            assert!(is_damaged || error.is_some(), "{path}: {frames} frames");
        }
        files += 1;
    }
    println!("{files} captures");
    assert!(files > 50);
}
