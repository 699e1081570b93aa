//! From observations to answers: streaming delay sketches in bounded memory.
//!
//! Nothing here handles packets, clocks or files: meters take requests and responses and return weighted delays; a
//! store of distributions takes weighted delays and returns quantiles with confidence intervals. All results are
//! deterministic for a given seed.
//!
//! The complete meter for one point takes requests and responses that share an id, from any source:
//!
//! ```
//! use dwell_sketch::rtt::{Method, RttMeter, Settings, SettingsError};
//! use dwell_types::{ExchangeId, Leg, Match, Observation, Series, Sighting, Sink, Timestamp, hash};
//!
//! let settings = Settings::new(Method::Auto, vec![Match::Events], 64 << 10);
//! let mut meter = RttMeter::new(&settings)?;
//! let seen = |call: u64, at_ns: i64| Sighting {
//!     // All bits of an id must look random: those who sample compare them with thresholds.
//!     id: ExchangeId(hash::word(hash::start(0), call)),
//!     at: Timestamp::from_nanos(at_ns),
//!     token: 0,
//!     series: Series { matching: Match::Events, leg: Leg::Both, group: 0 },
//! };
//! for call in 0..100_000 {
//!     let at = call as i64 * 10_000;
//!     meter.take(Observation::Request(seen(call, at)));
//!     meter.take(Observation::Response(seen(call, at + 2_000)));
//! }
//! let answers = meter.estimate();
//! let median = answers[0].distribution.quantile(0.5).expect("there are samples");
//! assert!(median.low <= 2_000 && 2_000 <= median.high);
//! assert_eq!(answers[0].fates.seen, 100_000);
//! assert!(meter.most_bytes() <= 64 << 10);
//! # Ok::<(), SettingsError>(())
//! ```
//!
//! With [`dwell_observe`](../dwell_observe) in front of it (`Observer::observe` takes a frame and a
//! [`Sink`](dwell_types::Sink), which a meter is) it measures packets: `crates/cli/src/rtt.rs` is that loop.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("dwell needs a 64-bit machine: sizes of tables are multiplied in usize");

// A value and its 95% interval.
pub mod estimate;
// A weighted delay sample, and the counts of what became of the requests.
mod sample;
pub use sample::{Fates, Sample};
// Meters turn requests and responses into weighted delays: the trait, then one module per method.
mod meter;
pub use meter::{Event, Gate, Meter, Rounding, Terms};
mod structure;
pub use structure::Structure;
// The default: every exchange while all fit, and of those that are slow or rare enough after that.
pub mod exact;
pub mod horizon;
// Fridges, with the product limit and in pairs of several lifetimes.
pub mod fridge;
pub mod mis;
// The product limit (Kaplan–Meier), for exchanges that were dropped before their response came.
mod survival;
pub use survival::{NewBands, Risk};
// The store of weighted delays, and quantiles with intervals.
pub mod distribution;
// The flows with the most bytes, each with its own delays.
pub mod top_flows;
// Detects ids that several exchanges share.
pub mod reuse;
// The complete meter for one observation point.
pub mod rtt;
// The complete meter for one-way delay between two points.
pub mod owd;
// Mean and standard deviation of one-way delays, with intervals; and per flow.
pub mod lda;
pub mod lds;
pub mod moments;
// Per-interval sketches that one point sends to the other.
pub mod summary;
// Which flows built a queue: from snapshots of flows, then from every packet, by episode.
pub mod conquest;
pub mod queue;
// The methods that these are compared with.
pub mod rivals;
// Serialization of sketches, and why two of them cannot be combined.
pub mod codec;
mod foreign;
pub use foreign::Foreign;
// Building blocks that several methods share.
mod parts;
pub use parts::filters::FiltersError;

#[cfg(test)]
mod test_support;
