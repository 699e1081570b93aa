//! Packets that travel from one point to another, with hashed ids and known true delays.
//!
//! ```
//! use dwell_simulate::crossing::{Loss, Passages, Settings, Truth};
//!
//! let settings = Settings { loss: Loss::Uniform(0.01), ..Settings::lda_weibull() }.with_packets(10_000);
//! let mut truth = Truth::default();
//! for passage in Passages::new(&settings, 1)? {
//!     truth.update(&passage);
//!     // the method under test sees the packet at passage.sent at one point and at passage.received at the other
//! }
//! assert_eq!(truth.sent, 10_000);
//! assert!(truth.mean() > Some(180.0) && truth.lost > 50);
//! # Ok::<(), dwell_simulate::crossing::SettingsError>(())
//! ```

// Settings of a stream; presets from the papers.
mod settings;
pub use settings::{Loss, Settings, SettingsError};
// The stream of packets.
mod stream;
pub use stream::{Passage, Passages};
// A path for packets whose times are given, such as frames of a capture.
mod path;
pub use path::{Arrived, Path, PathSettings};
// Times of active probes sent beside the stream.
mod probes;
pub use probes::ProbeTimes;
// Exact counts and moments of a stream.
mod truth;
pub use truth::Truth;
// Streams of many flows of very unequal size.
pub mod flows;
