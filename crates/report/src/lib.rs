//! Reports and how they are written: tables, JSON, CSV, OpenMetrics, plots.
//!
//! There is one folder for each of `rtt`, `owd`, `queue`, `net` and `size`, with the report as a data type and one file
//! per output format: a function from a report to a writer. Errors are those of the writer: a closed pipe is returned as
//! [`std::io::ErrorKind::BrokenPipe`]. What `evaluate` and `compare` show is beside their measures in `dwell-evaluate`,
//! which writes and draws with [`text`] and [`plot`].

// The reports of these subcommands, and the facts, quantiles and shapes that several of them have.
pub mod facts;
pub mod net;
pub mod owd;
pub mod quantiles;
pub mod queue;
pub mod rtt;
pub mod shape;
pub mod size;
// Building blocks of the human-readable formats.
mod footing;
mod grid;
mod heading;
mod order;
mod round;
pub mod text;
// Building blocks of the machine-readable formats.
pub mod csv;
pub mod json;
pub mod openmetrics;
// Plots.
pub mod plot;
