//! A network of links with queues, of which it is known which links are at fault.
//!
//! Every link is a first-in-first-out queue with cross traffic. In each interval its load is drawn anew around its own
//! mean; packets arrive at Poisson times, are short or long, and one in so many of them is measured. A fault adds a
//! delay to a link, or loses packets on it, from an interval on. Probes cross several links and meet on each the queue
//! of that interval.
//!
//! ```
//! use dwell_simulate::network::{Fault, Harm, Network, Settings};
//! use dwell_types::Nanos;
//!
//! let fault = Fault { link: 2, from: 5, harm: Harm::Slow(Nanos::new(40_000)) };
//! let mut network = Network::new(&Settings::backbone(3), &[fault], 1)?;
//! for _ in 0..10 {
//!     network.advance();
//!     // What is under test measures network.passages(link), or network.probe(&[0, 2]).
//! }
//! assert!(network.probe(&[2]).expect("nothing is lost") > Nanos::new(40_000));
//! # Ok::<(), dwell_simulate::network::SettingsError>(())
//! ```

// What links are like, and what is wrong with one.
mod settings;
pub use settings::{Fault, Harm, LinkSettings, Settings, SettingsError};
// Queues, interval by interval.
mod links;
pub use links::{Network, Passage};
