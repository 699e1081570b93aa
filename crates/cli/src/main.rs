//! The `dwell` command: one file per subcommand, and the modules that they share.
//!
//! Results go to standard output, messages to standard error. Exit code 0; 1 if the run failed; 2 for wrong usage; 130
//! and 143 after Ctrl-C and SIGTERM, 129 after SIGHUP. A closed pipe is not a failure.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use dwell_capture::file::is_stopped;
use signals::Signals;
use std::io::{self, Write};
use std::process::ExitCode;

// `dwell rtt`: response times. The main path: read this first.
mod rtt;
// `dwell owd`: one-way delay and loss between two points.
mod owd;
// `dwell queue`: which flows built a queue.
mod queue;
// `dwell net`: which routers to instrument, who probes whom, and which segment is to blame.
mod net;
// `dwell size`: memory needed for a given error.
mod size;
// `dwell compare`: methods and memory sizes compared on the user's capture.
mod compare;
// `dwell simulate`: captures with known delays.
mod simulate;
// `dwell evaluate`: experiments with known true values.
mod evaluate;
// `dwell completions`: for shells.
mod completions;
// Shared by the subcommands, in the order of the data: numbers, sizes, times and choices on the command line.
mod units;
// Measurement points: the packets of a capture or log, and what was odd about them; several points in time order.
mod points;
// Time order and frame counts.
mod disorder;
mod frames;
// Output files: complete or absent.
mod output;
// What is too much to be chance.
mod doubt;
// Messages, progress bars, and signals.
mod messages;
mod progress;
mod signals;

/// Measures packet delays, and which flows cause them, passively and within a memory budget that you set.
#[derive(Parser)]
#[command(
    version,
    about,
    max_term_width = 100,
    arg_required_else_help = true,
    propagate_version = true,
    after_help = "\
Sizes: 65536, 64KiB, 1.5MiB. Times: 500ms, 10s, 2m; a number without a unit is seconds.
Exit codes: 0 with a report, also with warnings; 1 if the input or output failed; 2 for wrong usage;
130 after Ctrl-C, with a report of what was seen."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "a run has one value of it")]
enum Command {
    Rtt(rtt::Arguments),
    Owd(owd::Arguments),
    Queue(queue::Arguments),
    Net(net::Arguments),
    Size(size::Arguments),
    Compare(compare::Arguments),
    Simulate(simulate::Arguments),
    Evaluate(evaluate::Arguments),
    Completions(completions::Arguments),
}

/// Why a run failed.
#[derive(Debug)]
enum Failure {
    /// The command line is invalid.
    Usage(String),
    /// The input or the system failed.
    Run(anyhow::Error),
}

impl Failure {
    /// The command line is invalid for this reason.
    fn usage(words: impl ToString) -> Self {
        Self::Usage(words.to_string())
    }
}

/// Rejects a command line of which any of these is true, in the words for the first that is.
fn reject<'a>(mistakes: impl IntoIterator<Item = (bool, &'a str)>) -> Result<(), Failure> {
    let made = mistakes.into_iter().find(|&(is_made, _)| is_made);
    made.map_or(Ok(()), |(_, words)| Err(Failure::usage(words)))
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

fn main() -> ExitCode {
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let (_, command) = asked();
            let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            return usage(&format!("expected a command: {}", names.join(", ")));
        }
        Err(error) if error.use_stderr() => return usage(&first_line(&error)),
        Err(help) => {
            return match help.print().and_then(|()| io::stdout().flush()) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    failed(&anyhow::anyhow!("standard output: {error}"))
                }
                _ => ExitCode::SUCCESS,
            };
        }
    };
    let signals = match Signals::watch() {
        Ok(signals) => signals,
        Err(error) => return failed(&anyhow::Error::from(error).context("signals")),
    };
    let result = match arguments.command {
        Command::Rtt(arguments) => rtt::run(&arguments, &signals),
        Command::Owd(arguments) => owd::run(&arguments, &signals),
        Command::Queue(arguments) => queue::run(&arguments, &signals),
        Command::Net(arguments) => net::run(&arguments),
        Command::Size(arguments) => size::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments, &signals),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments, &signals),
        Command::Completions(arguments) => completions::run(&arguments, Arguments::command()),
    };
    match result {
        Ok(code) => code,
        Err(Failure::Usage(words)) => usage(&words),
        Err(Failure::Run(error)) if has_cause(&error, |e| e.kind() == io::ErrorKind::BrokenPipe) => signals.code(),
        Err(Failure::Run(error)) => {
            let code = failed(&error);
            if has_cause(&error, is_stopped) { signals.end(true, false) } else { code }
        }
    }
}

fn parse() -> Result<Arguments, clap::Error> {
    let matches = take_signs(Arguments::command()).try_get_matches()?;
    let arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut Arguments::command()))?;
    if has_limit_without_use(&matches) {
        messages::warn([
            "--memory limits nothing with --method exact; the default method is exact while everything fits",
        ]);
    }
    Ok(arguments)
}

/// Whether `--memory` is given to a method that has no limit.
fn has_limit_without_use(matches: &ArgMatches) -> bool {
    let is_given = |name| {
        matches.try_contains_id(name).is_ok_and(|is_there| is_there)
            && matches.value_source(name) == Some(ValueSource::CommandLine)
    };
    let is_exact = || matches.get_raw("method").is_some_and(|mut of| of.any(|method| method == "exact"));
    match matches.subcommand() {
        Some((_, below)) => has_limit_without_use(below),
        None => is_given("memory") && is_given("method") && is_exact(),
    }
}

/// Value names of options that take a number, size or time.
const NUMBERS: [&str; 13] =
    ["N", "P", "BITS", "BYTES", "COUNT", "DELAY", "INDEX", "LOW..HIGH", "RATIO", "SHARE", "SIZE", "SIZES", "TIME"];

/// Makes `-3` after an option that takes a number its value instead of a flag, so that the option's own error applies.
fn take_signs(command: clap::Command) -> clap::Command {
    let take = |argument: clap::Arg| {
        let names = argument.get_value_names().unwrap_or_default();
        let is_number = names.iter().any(|name| NUMBERS.contains(&name.as_str()));
        if is_number { argument.allow_hyphen_values(true) } else { argument }
    };
    command.mut_args(take).mut_subcommands(take_signs)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    messages::say(&chain(error));
    ExitCode::from(1)
}

fn usage(words: &str) -> ExitCode {
    messages::say(&format!("{words} (see {} --help)", asked().0));
    ExitCode::from(2)
}

/// The full name and definition of the subcommand that the command line begins with, or of the program itself.
fn asked() -> (String, clap::Command) {
    let (mut name, mut command) = ("dwell".to_owned(), Arguments::command());
    for word in std::env::args_os().skip(1) {
        let Some(next) = command.get_subcommands().find(|next| word == next.get_name()).cloned() else { break };
        name = format!("{name} {}", next.get_name());
        command = next;
    }
    (name, command)
}

/// The error in the command line, as one line.
fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut words = String::new();
    // Some messages continue: with a list of missing or possible values, or a tip.
    for line in lines.take_while(|line| !line.starts_with("Usage") && !line.starts_with("For more")) {
        if line.starts_with("tip: to pass '") {
            continue;
        }
        if !words.is_empty() {
            words += if words.ends_with(':') { " " } else { "; " };
        }
        words += line.trim_start_matches("error: ").trim_start_matches("tip: ");
    }
    words
}

/// An error with its causes, without repetition: some errors already include the text of their cause.
fn chain(error: &anyhow::Error) -> String {
    let mut words = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !words.ends_with(&cause) {
            words += ": ";
            words += &cause;
        }
    }
    words
}

/// Whether an I/O error that satisfies the predicate is among the causes.
fn has_cause(error: &anyhow::Error, is_it: impl Fn(&io::Error) -> bool) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref()).any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value names of options that take anything else; what begins with a minus sign is a flag after these.
    const TEXTS: [&str; 35] = [
        "A,B",
        "A,B=SHARE",
        "A,B=TIME",
        "AMBIGUOUS",
        "CAPTURE",
        "CLEANING",
        "COUNTER",
        "DIR",
        "DISCIPLINE",
        "FILE",
        "FILTER",
        "FORMAT",
        "FROM,TO",
        "INTERFACE",
        "KEY",
        "LIST",
        "METHOD",
        "MORE",
        "NAME=VALUE",
        "NAME|FILE",
        "POLICY",
        "PREFIX",
        "QUEUE",
        "RECEIVER",
        "ROUTERS",
        "RULE",
        "SENDER",
        "SHELL",
        "SORT",
        "STRATEGY",
        "TEXT",
        "TOPOLOGY",
        "TRAFFIC",
        "UNIT",
        "[SEGMENT=]FILE",
    ];

    fn value_names(command: &clap::Command) -> Vec<String> {
        let takes_value = |argument: &&clap::Arg| argument.get_action().takes_values();
        let names = command.get_arguments().filter(takes_value).map(|argument| {
            let names = argument.get_value_names().map(|names| names.iter().map(ToString::to_string).collect());
            names.unwrap_or_else(|| vec![argument.get_id().to_string()])
        });
        let below = command.get_subcommands().map(value_names);
        names.chain(below).flatten().collect()
    }

    /// Every value is known to be a number or a text, and every name is in use.
    #[test]
    fn every_value_is_a_number_or_a_text() {
        let mut names = value_names(&Arguments::command());
        names.sort_unstable();
        names.dedup();
        let mut known = [&NUMBERS[..], &TEXTS].concat();
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
