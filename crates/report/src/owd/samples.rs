//! Every compared packet, when its fate is known: rows of CSV with the columns [`COLUMNS`].

use dwell_sketch::owd::{Fate, Passed};
use serde::{Serialize, Serializer};

/// The columns of the file, in order.
pub const COLUMNS: [&str; 7] = ["at_ns", "delay_ns", "weight", "fate", "direction", "bytes", "flow"];

/// A packet that was sent, for output.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The packet and its fate.
    pub passed: Passed,
    /// Whether it passed the receiver first.
    pub is_reverse: bool,
    /// The name of its flow; `None` if flows are not counted.
    pub flow: Option<String>,
}

/// A row with these columns.
impl Serialize for Sample {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Passed { sent, fate, weight } = self.passed;
        let (fate, delay) = match fate {
            Fate::Received(delay) => ("received", Some(delay.get())),
            Fate::Ambiguous | Fate::OneOfEqual { has_arrived: true } => ("received", None),
            Fate::Lost | Fate::OneOfEqual { has_arrived: false } => ("lost", None),
            Fate::Uncovered => ("uncovered", None),
        };
        let direction = if self.is_reverse { "reverse" } else { "forward" };
        (sent.at.as_nanos(), delay, weight, fate, direction, sent.bytes, &self.flow).serialize(to)
    }
}
