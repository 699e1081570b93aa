//! Answers to output: tables, JSON, CSV, OpenMetrics, plots.
//!
//! There is a folder per question, with the answer as data, and one file per form: a function from a report to a
//! writer. Errors are those of the writer: a closed pipe comes back as [`std::io::ErrorKind::BrokenPipe`].

// What is answered, and what every answer says besides.
pub mod facts;
pub mod net;
pub mod owd;
pub mod queue;
pub mod rtt;
pub mod size;
// Of what forms for people are made.
mod footing;
mod grid;
mod text;
// What forms for programs share.
mod csv;
pub mod json;
mod openmetrics;
// Pictures.
pub mod plot;
