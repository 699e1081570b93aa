//! Streams of requests and responses with hashed ids and known true delays.
//!
//! ```
//! use dwell_simulate::Delays;
//! use dwell_simulate::exchange::{ExchangeWorkload, Settings};
//! use dwell_types::{Nanos, Observation};
//!
//! let settings = Settings::fridge_synthetic(Nanos::new(64_000_000)).with_requests(10_000);
//! let mut workload = ExchangeWorkload::new(&settings, 1)?;
//! let mut truth = Delays::default();
//! while let Some(observation) = workload.next() {
//!     // the method under test takes the observation
//!     if let (Observation::Response(_), Some(delay)) = (observation, workload.delay()) {
//!         truth.record(delay);
//!     }
//! }
//! assert!(truth.quantile(0.5) > Some(Nanos::new(7_000_000)));
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
