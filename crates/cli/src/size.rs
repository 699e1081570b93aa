//! `dwell size`: memory needed for a given error, from the analysis of the sketches, without traffic.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::Failure;
use crate::output::ReportArguments;
use crate::units::{self, share};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use dwell_report::json;
use dwell_report::size::{Asked, SizeReport, table};
use std::path::Path;
use std::process::ExitCode;

// Between two points.
mod owd;
// Per flow between two points.
mod flows;
// At a queue.
mod queue;
// At one point.
mod rtt;

/// How much memory a given error needs: predicted from traffic parameters, without traffic.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand)]
enum Question {
    Rtt(rtt::Arguments),
    Owd(owd::Arguments),
    Flows(flows::Arguments),
    Queue(queue::Arguments),
}

impl Question {
    fn asked(&self) -> &AskedArguments {
        match self {
            Self::Rtt(arguments) => &arguments.asked,
            Self::Owd(arguments) => &arguments.asked,
            Self::Flows(arguments) => &arguments.asked,
            Self::Queue(arguments) => &arguments.asked,
        }
    }

    fn answer(&self) -> Result<SizeReport, Failure> {
        match self {
            Self::Rtt(arguments) => rtt::answer(arguments),
            Self::Owd(arguments) => owd::answer(arguments),
            Self::Flows(arguments) => flows::answer(arguments),
            Self::Queue(arguments) => queue::answer(arguments),
        }
    }
}

/// What every question is asked by.
#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true).args(["error", "memory"]))]
struct AskedArguments {
    /// Find the least memory with at most this error.
    #[arg(long, value_name = "SHARE", value_parser = error)]
    error: Option<f64>,
    /// Predict the error in this much memory.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    memory: Option<usize>,
    #[command(flatten)]
    report: ReportArguments<Format>,
}

impl AskedArguments {
    /// What is asked for.
    fn what(&self) -> Asked {
        match self.error {
            Some(error) => Asked::Error(error),
            None => Asked::Memory(self.memory.unwrap_or_default()),
        }
    }
}

/// Smaller errors would need more memory than exists.
fn error(text: &str) -> Result<f64, String> {
    let error = share(text).ok().filter(|&error| error >= 1e-6);
    error.ok_or_else(|| "expected a share from 0.0001% to 100%, such as 1% or 0.01".to_owned())
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Human-readable.
    #[default]
    Table,
    /// One document, schema dwell.size/1.
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let asked = arguments.question.asked();
    asked.report.check([] as [&Path; 0], None, [])?;
    let mut to = asked.report.open()?;
    let report = arguments.question.answer()?;
    match asked.report.format() {
        Format::Table => table::write(&report, to.plain())?,
        Format::Json => json::write(&report, &mut to)?,
    }
    to.finish()?;
    Ok(ExitCode::SUCCESS)
}
