//! Answers to output: tables, JSON, CSV, OpenMetrics, plots.

// What is answered.
pub mod rtt;
