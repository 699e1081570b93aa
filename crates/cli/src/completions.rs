//! `dwell completions`: completion of commands, flags and their values in a shell.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::Failure;
use crate::output::Output;
use clap_complete::Shell;
use std::io::Write;
use std::process::ExitCode;

/// Print what makes a shell complete commands, flags and their values.
///
/// bash: dwell completions bash > ~/.local/share/bash-completion/completions/dwell
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, mut command: clap::Command) -> Result<ExitCode, Failure> {
    // Into memory first: a pipe that is closed would make the generator panic.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "dwell", &mut script);
    let mut to = Output::stdout();
    to.write_all(&script)?;
    to.finish()?;
    Ok(ExitCode::SUCCESS)
}
