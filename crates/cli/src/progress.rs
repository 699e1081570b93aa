//! Bars on standard error, where that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};

/// How much of what is read packet by packet was read.
pub(crate) struct Reading {
    bar: ProgressBar,
    /// Packets since the bar was moved.
    steps: u16,
}

impl Reading {
    /// Of so many bytes; no bar if it is not known how many there are.
    pub(crate) fn of_bytes(bytes: Option<u64>) -> Self {
        let bar = |bytes| bar(bytes, "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
        Self { bar: bytes.map_or_else(ProgressBar::hidden, bar), steps: 0 }
    }

    /// One more packet: the bar moves with every 65,536th.
    #[inline]
    pub(crate) fn step(&mut self, read: impl FnOnce() -> u64) {
        self.steps = self.steps.wrapping_add(1);
        if self.steps == 0 {
            self.bar.set_position(read());
        }
    }

    pub(crate) fn end(self) {
        self.bar.finish_and_clear();
    }
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
