//! Sketches against streams with known truth: an experiment from its definition to its record.
//!
//! ```
//! use dwell_evaluate::{Definition, Size, metrics, run};
//!
//! let text = r#"
//!     name = "small"
//!     title = "A fridge of 256 slots"
//!     source = "an example"
//!     seeds = 2
//!     [[delay.workloads]]
//!     name = "steady"
//!     rate = 1e5
//!     answered = 0.4
//!     delays = { distribution = "log-uniform", low_ms = 1, high_ms = 64 }
//!     requests = 10_000
//!     [[delay.methods]]
//!     method = "fridge"
//!     slots = [256]
//!     entry_probability = ["2^-3", "auto"]
//! "#;
//! let definition = Definition::parse("small.toml".as_ref(), text)?;
//! let experiment = definition.experiment(Size::Full);
//! let cases = run::all(experiment, definition.seeds, None)?;
//! let summaries = metrics::summarise(experiment, &cases);
//! assert!(summaries.iter().any(|s| s.quantity == "p50" && s.runs == 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Results depend on the definition and its seeds alone: not on the number of threads, on what was done before an
//! interruption, or on which other cases ran. A clock is read only for the facts of a record. In the order of an
//! experiment:

// What is to be done.
pub mod definition;
pub use definition::{Definition, DefinitionError, Size};
// Values as definitions write them.
mod value;
// One configuration under one workload, and what a run of it yields.
mod case;
pub use case::{Case, Measurement, Scale, Shown, label};
// What an experiment is for those that run it.
mod experiment;
pub use experiment::Experiment;
// Streams and methods: what all kinds of experiment have in common.
mod grid;
// How long do responses take, seen at one point?
mod delay;
// How long does one way take, between two points?
mod crossing;
// How long does each flow's way take, between two points?
mod flows;
// How far off is each delay that a ring of Bloom filters gives?
mod ring;
// Who built a queue, and what is to be done about that?
mod queue;
// Which links of a network are at fault?
mod network;
// These kinds, by the names of their tables.
mod kinds;
// Every case and seed, on all cores.
pub mod run;
// What the runs say together.
pub mod metrics;
// What is drawn of it.
pub mod figure;
pub use figure::Figure;
// What is kept: results beside the facts of their making.
pub mod record;
// A fresh quick run against a record.
pub mod check;
// Methods on a stream that is given, instead of one that is made.
pub mod compare;
#[cfg(test)]
mod test_support;
