//! Bars on standard error, where that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};

/// How much of so many bytes was read; none if it is not known how many there are.
pub(crate) fn of_bytes(bytes: Option<u64>) -> ProgressBar {
    bytes.map_or_else(ProgressBar::hidden, |bytes| bar(bytes, "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}"))
}

/// How many of so many runs of an experiment are done.
pub(crate) fn of_runs(experiment: &str, runs: u64) -> ProgressBar {
    bar(runs, "{msg} {wide_bar} {pos}/{len} runs {eta}").with_message(experiment.to_owned())
}

fn bar(length: u64, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(5));
    let style = ProgressStyle::with_template(template);
    if let Ok(style) = style { bar.with_style(style) } else { bar }
}
