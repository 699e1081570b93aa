//! `dwell size`: how much memory for which error? From the sketches' analysis, without traffic.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::{Failure, units};
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

/// A share above 0 and up to 1: `1%` or `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / scale);
    share
        .filter(|&share| share > 0.0 && share <= 1.0)
        .ok_or_else(|| "expected a share above 0 and up to 1, such as 1% or 0.01".to_owned())
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares() {
        for (text, expected) in [("1%", 0.01), ("0.25", 0.25), ("100%", 1.0), (".5 %", 0.005)] {
            assert_eq!(share(text), Ok(expected), "{text}");
        }
        for text in ["", "0", "-1%", "101%", "2", "few", "NaN"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
