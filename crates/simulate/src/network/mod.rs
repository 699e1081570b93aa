//! A network of links with queues, some of which have known faults.
//!
//! Every link is a first-in-first-out queue with cross traffic. In each interval its load is drawn anew around the
//! link's mean; packets arrive at Poisson times, are short or long, and one in [`Settings::one_in`] is measured. A
//! fault adds a delay to a link, or loses packets on it, from some interval on. Probes cross several links and
//! experience the queue of that interval on each.
//!
//! ```
//! use dwell_simulate::network::{Fault, Harm, Network, Settings};
//! use dwell_types::Nanos;
//!
//! let fault = Fault { link: 2, from: 5, harm: Harm::Slow(Nanos::new(40_000)) };
//! let mut network = Network::new(&Settings::backbone(3), &[fault], 1)?;
//! for _ in 0..10 {
//!     network.advance();
//!     // The method under test measures network.passages(link), or network.probe(&[0, 2]).
//! }
//! assert!(network.probe(&[2]).expect("nothing is lost") > Nanos::new(40_000));
//! # Ok::<(), dwell_simulate::network::SettingsError>(())
//! ```

// Settings of links, and faults.
mod settings;
pub use settings::{Fault, Harm, LinkSettings, Settings, SettingsError};
// Simulation of the queues, interval by interval.
mod links;
pub use links::{Network, Passage};
