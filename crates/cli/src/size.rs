//! `dwell size`: how much memory for which error? From the sketches' analysis, without traffic.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::Failure;
use clap::{Args, Subcommand};
use std::process::ExitCode;

// Two points.
mod owd;
// One point.
mod rtt;

/// How much memory for which error: from what the traffic is like, without traffic.
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
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.question {
        Question::Rtt(arguments) => rtt::run(arguments),
        Question::Owd(arguments) => owd::run(arguments),
    }
}
