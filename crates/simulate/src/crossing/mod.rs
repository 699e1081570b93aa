//! Packets on their way from one point to another, with ids already hashed, of which every true delay is known.
//!
//! ```
//! use dwell_simulate::crossing::{Loss, Passages, Settings, Truth};
//!
//! let settings = Settings { loss: Loss::Uniform(0.01), ..Settings::lda_weibull() }.with_packets(10_000);
//! let mut truth = Truth::default();
//! for passage in Passages::new(&settings, 1)? {
//!     truth.update(&passage);
//!     // what is under test takes passage.at_sender() at one point and passage.at_receiver() at the other
//! }
//! assert_eq!(truth.sent, 10_000);
//! assert!(truth.mean() > Some(180.0) && truth.lost > 50);
//! # Ok::<(), dwell_simulate::crossing::SettingsError>(())
//! ```

// What a stream is like; presets from the papers.
mod settings;
pub use settings::{FlowSizes, Flows, Loss, Settings, SettingsError};
// The stream.
mod stream;
pub use stream::{Passage, Passages};
// Probes beside it.
mod probes;
pub use probes::ProbeTimes;
// What the stream contained.
mod truth;
pub use truth::Truth;
// Streams of many flows of very unequal size.
pub mod flows;
