//! `cargo xtask truth [NAME…]`: derives the truth of committed recordings anew, from the log of frames and the capture. With it,
//! exchanges of a new pairing rule are known without another recording.

use super::readme::{self, replace_section};
use super::truth::{self, Truth};
use super::{Question, Recording, Scratch, capture, host, log, save_table};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

/// Adds what is new to the truth of a recording, and to its README. Fails if anything of the old truth would be missing.
pub(super) fn derive(recording: &Recording, folder: &Path) -> Result<()> {
    ensure!(recording.question == Question::Exchanges, "its truth is not about exchanges");
    let scratch = Scratch::new()?;
    let capture = format!("{}.pcap{}", recording.name, recording.form.suffix());
    let captured = capture::read_kept(&folder.join(&capture), recording.form, &scratch.0)?;
    let journeys = log::journeys(&table(folder, "frames.csv")?, &captured)?;
    let truth = truth::truth(&journeys);
    let (old, new) = (table(folder, "truth.csv")?, log::truth(&truth)?);
    let mut lines = new.lines();
    for line in old.lines() {
        ensure!(lines.any(|new| new == line), "this exchange is not found again: {line}");
    }
    if old == new {
        return Ok(());
    }
    save_table(&new, folder, "truth.csv")?;
    describe(folder, &capture, &truth)?;
    eprintln!("{}: {} exchanges, {} before", recording.name, new.lines().count() - 1, old.lines().count() - 1);
    Ok(())
}

/// Brings the README of a recording up to date with its truth.
fn describe(folder: &Path, capture: &str, truth: &Truth) -> Result<()> {
    let old = fs::read_to_string(folder.join("README.md")).context("cannot read its README")?;
    let mut files = String::new();
    readme::files(&mut files, folder, &[capture, "truth.csv.zst", "frames.csv.zst"])?;
    let mut exchanges = String::new();
    readme::exchanges(&mut exchanges, truth)?;
    let text = replace_section(&old, &files, "\n## ")?;
    readme::save(&replace_section(&text, exchanges.trim_start(), "\n## ")?, folder)
}

/// A table that is compressed with zstd.
fn table(folder: &Path, name: &str) -> Result<String> {
    host::output("zstd", &["-dc", &folder.join(format!("{name}.zst")).to_string_lossy()])
}
