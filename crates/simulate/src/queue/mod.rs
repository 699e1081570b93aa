//! Packets that pass through a queue of a given rate and buffer, with known queue contents for each packet.
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

// Settings of the queue and its traffic; presets.
mod settings;
pub use settings::{Background, Bursts, Settings, SettingsError};
// Arrivals at the queue.
mod arrivals;
pub use arrivals::{Arrival, Arrivals};
// Scheduling disciplines: which waiting packet leaves next.
mod discipline;
pub use discipline::Discipline;
// The queue: offers and departures.
mod buffer;
pub use buffer::{Passage, Queue};
// The whole simulation: arrivals and departures.
mod passages;
pub use passages::{Event, Passages};
// Arrivals and departures as frames.
mod frames;
pub use frames::Frames;
