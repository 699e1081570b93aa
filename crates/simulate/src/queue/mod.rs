//! Packets that pass a queue of a given rate and buffer, of which it is known who was in the queue with them.
//!
//! ```
//! use dwell_simulate::queue::{Passages, Settings};
//!
//! let longest = Passages::new(&Settings::conquest_data_center().with_packets(10_000), 1)?
//!     .map(|passage| passage.queue_bytes)
//!     .max();
//! assert!(longest > Some(1500));
//! # Ok::<(), dwell_simulate::queue::SettingsError>(())
//! ```

// What the queue and its traffic are like; presets.
mod settings;
pub use settings::{Background, Bursts, Settings, SettingsError};
// What arrives.
mod arrivals;
pub use arrivals::{Arrival, Arrivals};
// What waits, and what leaves next.
mod discipline;
pub use discipline::Discipline;
mod buffer;
pub use buffer::{Passage, Queue};
// What departs.
mod passages;
pub use passages::{Event, Passages};
// Both as frames.
mod frames;
pub use frames::Frames;
