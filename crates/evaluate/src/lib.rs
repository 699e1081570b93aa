//! Measures sketches on streams with known truth: an experiment from its definition to its record.
//!
//! ```
//! use dwell_evaluate::{Definition, Extent, run};
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
//! let experiment = definition.experiment(Extent::Full);
//! let runs = run::all(experiment, definition.seeds, None)?;
//! let summaries = run::summarise(experiment, &runs);
//! assert!(summaries.iter().any(|s| s.quantity == "p50" && s.runs == 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Results depend only on the definition and its seeds: not on the number of threads, on what was finished before an
//! interruption, or on which other cases ran. A clock is read only for the facts in a record. In the order of an
//! experiment:

// Definitions of experiments.
pub mod definition;
pub use definition::{Definition, DefinitionError, Extent};
// Values as written in definitions.
mod value;
pub use value::is_available;
// A case: one configuration under one workload; and the measurements of a run of it.
mod case;
pub use case::{Case, Measurement, Quantity, Range, Run, Scale, Shown, label};
// The interface of an experiment to the code that runs it.
mod experiment;
pub use experiment::{Experiment, Problem};
// Experiments as grids of streams and configurations: the common part of all kinds.
mod grid;
// Kind: response times observed at one point.
mod delay;
// Kind: one-way delay between two points.
mod crossing;
// Kind: one-way delay of each flow between two points.
mod flows;
// Kind: errors of single delays measured by a ring of Bloom filters.
mod ring;
// Kind: which flows built a queue, and queue management based on that.
mod queue;
// Kind: which links of a network are at fault.
mod network;
// Kind: which routers of a network to instrument.
mod plan;
// The list of kinds, by the names of their tables.
mod kinds;
pub use kinds::Kind;
// Runs every case and seed, on all cores.
pub mod run;
// Summaries over the runs of a case.
pub mod metrics;
// What the tables of all kinds have in common.
mod table;
// Figures of the results.
pub mod figure;
pub use figure::Figure;
// Records: results with facts about how they were made.
pub mod record;
// The folder in which definitions and records lie.
mod collection;
pub use collection::Collection;
// Checks a fresh quick run against a record.
pub mod check;
// Compares methods on a given stream instead of a simulated one.
pub mod compare;
// Predicts the memory that a sketch needs, without traffic.
pub mod size;
#[cfg(test)]
mod test_support;
