//! `dwell evaluate`: experiments with known true values, from their definitions to their records.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::output::Output;
use crate::signals::Signals;
use crate::{Failure, has_cause, messages, progress};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use dwell_evaluate::check::{self, Moved};
use dwell_evaluate::record::{self, Facts, Record, Results};
use dwell_evaluate::{Collection, Definition, Experiment, Extent, Run, run};
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

// Figures of the results.
mod figure;

/// Run an experiment: methods on simulated streams with known delays, over many seeds.
///
/// Definitions are TOML files; NAME stands for experiments/definitions/NAME.toml in this or a parent directory. The
/// same definition and seeds give the same numbers, whatever the number of threads.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dwell evaluate --list
  dwell evaluate fridge-bursts --quick
  dwell evaluate fridge-fig3 --seeds 20 --record /tmp/fig3
  dwell evaluate --check                          every experiment
  dwell evaluate --draw                           redraw figure.svg of all latest records")]
pub(crate) struct Arguments {
    /// Names of experiments, or .toml files.
    #[arg(value_name = "NAME|FILE", required_unless_present_any = ["list", "check", "draw"])]
    experiments: Vec<String>,
    /// List all experiments.
    #[arg(long, conflicts_with_all = ["experiments", "check", "draw", "quick", "seeds", "threads", "record", "format"])]
    list: bool,
    /// Run the shorter streams and fewer seeds of the definition's quick size.
    #[arg(long)]
    quick: bool,
    /// Run the quick size and compare with its latest record (in a git repository, the latest that git keeps), or with
    /// --record; exit code 1 if a result changed or there is no record.
    #[arg(long, conflicts_with_all = ["quick", "seeds", "format"])]
    check: bool,
    /// Redraw the figures of the latest records, or of --record, without running anything.
    #[arg(long, conflicts_with_all = ["check", "quick", "seeds", "threads", "format"])]
    draw: bool,
    /// Also draw figure.png.
    #[arg(long, conflicts_with_all = ["list", "check"])]
    png: bool,
    /// Number of seeds, instead of the definition's.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u64>(1..=Definition::MOST_SEEDS))]
    seeds: Option<u64>,
    /// Number of threads, at most one per core, which is the default.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u16>(1..=u16::MAX.into()))]
    threads: Option<u16>,
    /// Directory of the record, instead of experiments/record/DATE-NAME (DATE-NAME.2 if that is of another build); an
    /// unfinished record is continued.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Human-readable.
    Table,
    /// One document per experiment, schema dwell.evaluate/1.
    Json,
    /// One row per case and quantity.
    Csv,
}

pub(crate) fn run(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    if arguments.list {
        return list();
    }
    if arguments.record.is_some() && arguments.experiments.len() != 1 {
        return Err(Failure::usage("--record requires exactly one experiment"));
    }
    if arguments.check {
        return check_all(arguments);
    }
    if arguments.draw {
        return draw_all(arguments);
    }
    if arguments.quick && arguments.png {
        return Err(Failure::usage("--png requires a full run: quick ones have no figure"));
    }
    let definitions = definitions(&arguments.experiments)?;
    if let Some(seeds) = arguments.seeds.filter(|_| !arguments.quick) {
        let checked = definitions.iter().try_for_each(|definition| definition.check_seeds(seeds));
        checked.map_err(|problem| Failure::usage(format!("--seeds: {problem}, or --quick, which draws none")))?;
    }
    for definition in definitions {
        measure(arguments, &definition, signals)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one experiment, writes its record and prints its results.
fn measure(arguments: &Arguments, definition: &Definition, signals: &Signals) -> Result<()> {
    let extent = if arguments.quick { Extent::Quick } else { Extent::Full };
    let seeds = arguments.seeds.unwrap_or(definition.seeds(extent));
    let facts = Facts::here(extent.name(), seeds, &definition.inputs)?;
    let (record, finished) = match &arguments.record {
        Some(folder) => Record::begin(folder, definition, extent, facts)?,
        None => collection()?.begin(definition, extent, &facts)?,
    };
    let folder = record.folder().to_owned();
    signals.set_last_words(format!("unfinished: the same command with --record {} continues it", folder.display()));
    let begin = Instant::now();
    let runs = runs(arguments, definition, extent, seeds, finished, |runs| record.append(runs))?;
    let results = Results::new(definition, extent, seeds, run::summarise(definition.experiment(extent), &runs));
    record.finish(&runs, &results, begin.elapsed().as_secs_f64())?;
    signals.set_last_words(String::new());
    figure::write(definition, &results, &folder, arguments.png)?;
    print(definition.experiment(extent), &results, arguments.format)?;
    messages::say(&format!("record in {}", folder.display()));
    Ok(())
}

/// All runs, including those finished earlier, with a progress bar.
fn runs(
    arguments: &Arguments,
    definition: &Definition,
    extent: Extent,
    seeds: u64,
    finished: Vec<Run>,
    keep: impl Fn(&[Run]) -> io::Result<()> + Sync,
) -> Result<Vec<Run>> {
    let experiment = definition.experiment(extent);
    let progress = progress::of_runs(&definition.name, experiment.cases().len() as u64 * seeds);
    progress.inc(finished.iter().filter(|run| run.seed <= seeds).count() as u64);
    let runs = run::rest(experiment, seeds, arguments.threads.map(usize::from), finished, |runs| {
        keep(runs)?;
        progress.inc(runs.len() as u64);
        Ok(())
    });
    progress.finish_and_clear();
    Ok(runs?)
}

fn print(experiment: &dyn Experiment, results: &Results, format: Format) -> Result<()> {
    let mut to = Output::stdout();
    match format {
        Format::Table => results.write_table(experiment, to.plain())?,
        Format::Json => results.write_json(&mut to)?,
        Format::Csv => record::write_csv(&results.summaries, &mut to)?,
    }
    to.finish()
}

/// Draws the figures of existing records.
fn draw_all(arguments: &Arguments) -> Result<ExitCode, Failure> {
    for definition in named_or_all(arguments)? {
        let Some(folder) = recorded(arguments, &definition, Extent::Full, None)? else {
            if arguments.experiments.is_empty() {
                continue;
            }
            let Definition { name, .. } = definition;
            return Err(anyhow::anyhow!("{name}: no full record to draw: create one with dwell evaluate {name}").into());
        };
        let results = Results::of(&definition, Extent::Full, &folder)?;
        for path in figure::write(&definition, &results, &folder, arguments.png)? {
            messages::say(&path.display().to_string());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn named_or_all(arguments: &Arguments) -> Result<Vec<Definition>, Failure> {
    if arguments.experiments.is_empty() {
        Ok(collection()?.definitions()?)
    } else {
        definitions(&arguments.experiments)
    }
}

/// The record given by `--record`, or else the latest, among `these` if they are given; `None` if there is none.
fn recorded(
    arguments: &Arguments,
    definition: &Definition,
    extent: Extent,
    these: Option<&HashSet<PathBuf>>,
) -> Result<Option<PathBuf>> {
    match &arguments.record {
        Some(folder) => Ok(Some(folder.clone())),
        None => Ok(collection()?.latest(definition, extent, these)),
    }
}

/// Compares new quick runs with their records: those that git keeps, if it keeps any, since the user's own are of the
/// code that is to be checked.
fn check_all(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let kept = if arguments.record.is_none() { collection()?.kept() } else { None };
    let mut is_as_recorded = true;
    for definition in named_or_all(arguments)? {
        if let Some(folder) = recorded(arguments, &definition, Extent::Quick, kept.as_ref())? {
            is_as_recorded &= check(arguments, &definition, &folder)?.is_empty();
        } else {
            let name = &definition.name;
            let keep = if kept.is_some() { ", and keep it in git" } else { "" };
            messages::say(&format!(
                "{name}: no quick record to compare with: create one with dwell evaluate {name} --quick{keep}"
            ));
            is_as_recorded = false;
        }
    }
    Ok(if is_as_recorded { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Compares one new quick run with a record.
fn check(arguments: &Arguments, definition: &Definition, folder: &Path) -> Result<Vec<Moved>> {
    let recorded = Results::of(definition, Extent::Quick, folder)?;
    let runs = runs(arguments, definition, Extent::Quick, recorded.seeds, Vec::new(), |_| Ok(()))?;
    let fresh = run::summarise(definition.experiment(Extent::Quick), &runs);
    let moved = check::compare(&recorded.summaries, &fresh, &definition.tolerance);
    let verdict = if moved.is_empty() { "as recorded".to_owned() } else { format!("{} numbers changed", moved.len()) };
    let print = || {
        let mut to = Output::stdout();
        for moved in &moved {
            writeln!(to, "{}: {moved}", definition.name)?;
        }
        writeln!(to, "{}: {} summaries, {verdict} in {}", definition.name, fresh.len(), folder.display())?;
        to.finish()
    };
    match print() {
        // Whoever reads it, the exit code tells of all experiments.
        Err(error) if has_cause(&error, |e| e.kind() == io::ErrorKind::BrokenPipe) => Ok(moved),
        printed => printed.map(|()| moved),
    }
}

/// Lists the experiments, one per line.
fn list() -> Result<ExitCode, Failure> {
    let mut to = Output::stdout();
    let definitions = collection()?.definitions()?;
    let width = definitions.iter().map(|definition| definition.name.len()).max().unwrap_or(0);
    for Definition { name, title, source, .. } in definitions {
        writeln!(to, "{name:width$}  {title} [{source}]")?;
    }
    to.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The definitions with the given names or in the given files.
fn definitions(experiments: &[String]) -> Result<Vec<Definition>, Failure> {
    let read = |experiment: &String| {
        if Path::new(experiment).extension().is_some_and(|ending| ending == "toml") {
            return Ok(Definition::read(experiment.as_ref())?);
        }
        let collection = collection()?;
        match collection.named(experiment)? {
            Some(definition) => Ok(definition),
            None => Err(Failure::usage(format!(
                "no experiment '{experiment}': expected a .toml file, or one of {}",
                collection.names()?.join(", ")
            ))),
        }
    };
    experiments.iter().map(read).collect()
}

/// The experiments of this folder or the nearest parent that has some.
fn collection() -> Result<Collection> {
    Collection::nearest(&std::env::current_dir()?)
        .context("no experiments/definitions in this or a parent directory: give a .toml file and --record")
}
