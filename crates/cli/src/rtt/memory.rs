//! How `--memory` is divided among what a run remembers besides the meter's tables.

use super::arguments::Arguments;
use crate::Failure;
use crate::units;
use dwell_sketch::rtt::{RttMeter, Settings, SettingsError};
use dwell_sketch::top_flows::{self, TopFlows};

/// The largest flows get a quarter of the memory, or their minimum if that is more.
pub(super) fn flows(arguments: &Arguments, settings: &Settings) -> Option<(TopFlows, Share)> {
    let flows = top_flows::Settings { lines: settings.lines(), top: arguments.top, memory: None, seed: arguments.seed };
    let share = Share { one_in: 4, least: flows.least_bytes(), most: usize::MAX };
    let memory = arguments.method.is_bounded().then_some(share.of(arguments.memory));
    arguments.flows.then(|| (TopFlows::new(&top_flows::Settings { memory, ..flows }), share))
}

/// Group names of a log get a sixteenth of the memory, within limits per name. `None` if memory is unbounded.
pub(super) fn names(arguments: &Arguments) -> Option<Share> {
    let most = usize::from(arguments.max_groups);
    arguments.method.is_bounded().then_some(Share { one_in: 16, least: 32 * most, most: 1_024 * most })
}

/// A consumer that gets a fixed share of the memory, within limits.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// The share is one byte in this many.
    one_in: usize,
    least: usize,
    most: usize,
}

impl Share {
    pub(super) fn of(self, memory: usize) -> usize {
        (memory / self.one_in).clamp(self.least, self.most)
    }
}

/// A meter with the memory that is left by the tables of the observer or log, and by a `share`.
pub(super) fn meter(
    arguments: &Arguments,
    settings: Settings,
    tables: impl Fn(usize) -> usize,
    share: Option<Share>,
) -> Result<RttMeter, Failure> {
    let besides = |memory: usize| tables(memory) + share.map_or(0, |share| share.of(memory));
    let memory = settings.memory.saturating_sub(besides(settings.memory));
    RttMeter::new(&Settings { memory, ..settings }).map_err(|error| {
        Failure::Usage(match error {
            SettingsError::Memory { needed, .. } => format!(
                "--memory of {} bytes is too small for these matches, groups and parameters: {} is enough",
                arguments.memory,
                units::enough(arguments.memory, |memory| needed + besides(memory))
            ),
            other => other.to_string(),
        })
    })
}
