//! Streams of requests and responses with hashed ids and known true delays.
//!
//! ```
//! use dwell_simulate::exchange::{ExchangeWorkload, Settings, Truth};
//! use dwell_types::Nanos;
//!
//! let settings = Settings::fridge_synthetic(Nanos::new(64_000_000)).with_requests(10_000);
//! let mut workload = ExchangeWorkload::new(&settings, 1)?;
//! let mut truth = Truth::default();
//! while let Some(observation) = workload.next() {
//!     truth.update(&observation, workload.delay());
//!     // the method under test takes the observation
//! }
//! assert_eq!(truth.requests, 10_000);
//! assert!(truth.delays.quantile(0.5) > Some(Nanos::new(7_000_000)));
//! # Ok::<(), dwell_simulate::exchange::SettingsError>(())
//! ```

// Settings of a stream; presets from the papers.
mod settings;
pub use settings::{Arrivals, Bursts, End, Settings, SettingsError};
// Arrival times of requests.
mod arrivals;
// The stream of requests and responses.
mod workload;
pub use workload::ExchangeWorkload;
// Exact counts and delays of a stream.
mod truth;
pub use truth::Truth;
