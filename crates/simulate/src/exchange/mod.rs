//! Streams of requests and responses with ids already hashed, of which every true delay is known.
//!
//! ```
//! use dwell_simulate::exchange::{ExchangeWorkload, Settings, Truth, Workload};
//! use dwell_types::Nanos;
//!
//! let settings = Settings::fridge_synthetic(Nanos::new(64_000_000)).with_requests(10_000);
//! let mut workload = ExchangeWorkload::new(&settings, 1)?;
//! let mut truth = Truth::default();
//! while let Some(observation) = workload.next() {
//!     truth.update(&observation, workload.delay());
//!     // and whatever is under test takes the observation
//! }
//! assert_eq!(truth.requests, 10_000);
//! assert!(truth.delays.quantile(0.5) > Some(Nanos::new(7_000_000)));
//! # Ok::<(), dwell_simulate::exchange::SettingsError>(())
//! ```

// What a stream is like; presets from the papers.
mod settings;
pub use settings::{Arrivals, Bursts, End, Settings, SettingsError};
// When requests come.
mod arrivals;
// The stream.
mod workload;
pub use workload::ExchangeWorkload;
// What the stream contained.
mod truth;
pub use truth::Truth;

use dwell_types::{Nanos, Observation};

/// A stream of observations in time order, of which the truth is known.
pub trait Workload: Iterator<Item = Observation> {
    /// The true delay of the exchange that the last observation belongs to: `None` for a request that is never answered
    /// and for a response that answers nothing observed. A request's answer may lie after the end of the stream.
    fn delay(&self) -> Option<Nanos>;
}
