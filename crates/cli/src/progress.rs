//! Progress bars on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};

/// A bar over the bytes that are read, packet by packet.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// Packets since the bar was last updated.
    steps: u16,
}

impl Bar {
    /// A bar over this many bytes; hidden if their number is unknown.
    pub(crate) fn of_bytes(bytes: Option<u64>) -> Self {
        let bar = |bytes| bar(bytes, "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
        Self { bar: bytes.map_or_else(ProgressBar::hidden, bar), steps: 0 }
    }

    /// Counts one packet; the bar is updated every 65,536 packets.
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

/// A bar over the runs of an experiment.
pub(crate) fn of_runs(experiment: &str, runs: u64) -> ProgressBar {
    bar(runs, "{msg} {wide_bar} {pos}/{len} runs {eta}").with_message(experiment.to_owned())
}

/// A bar over the steps of a computation.
pub(crate) fn of_steps(what: &str, steps: u64) -> ProgressBar {
    bar(steps, "{msg} {wide_bar} {pos}/{len} steps at most {eta}").with_message(what.to_owned())
}

fn bar(length: u64, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(5));
    let style = ProgressStyle::with_template(template);
    if let Ok(style) = style { bar.with_style(style) } else { bar }
}
