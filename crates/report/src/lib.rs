//! Answers to output: tables, JSON, CSV, OpenMetrics, plots.
//!
//! Every form is a function from a report to a writer, in a file of its own. Errors are those of the writer: a closed
//! pipe comes back as [`std::io::ErrorKind::BrokenPipe`].

// What is answered, and what every answer says besides.
pub mod facts;
pub mod net;
pub mod owd;
pub mod queue;
pub mod rtt;
pub mod size;
// From meters.
mod answer;
// For people: the table, and what it is made of.
mod footing;
mod grid;
mod histogram;
pub mod table;
mod text;
// For programs.
pub mod csv;
pub mod json;
pub mod openmetrics;
// Sample by sample.
pub mod ppviz;
pub mod samples;
// Pictures.
pub mod plot;
