//! From frames to observations: header parsing, pairing of requests with responses, and ids that identify a packet at
//! two points.
//!
//! ```
//! use dwell_observe::{Observer, Settings};
//! use dwell_types::{Frame, LinkType, Match, Observation, Timestamp};
//!
//! // A DNS query for the root, over UDP and IPv4, without a link layer.
//! let query = [
//!     0x45, 0, 0, 45, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc3, 0x50, 0, 53, 0, 25, 0, 0, //
//!     0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1,
//! ];
//! let at = Some(Timestamp::from_nanos(1_700_000_000_000_000_000));
//! let frame = Frame { at, link: LinkType::RAW, bytes: &query, wire_length: 45 };
//! let mut observer = Observer::new(Settings::default());
//! let mut seen = Vec::new();
//! // Any closure can take the observations, and so can a meter.
//! observer.observe(&frame, &mut |observation| seen.push(observation));
//! assert!(matches!(seen[..], [Observation::Request(query)] if query.series.matching == Match::Dns));
//! assert_eq!(observer.frames().decoded(), 1);
//! ```

// The parsed headers of one packet.
pub mod packet;
// Clients and servers.
mod role;
// From bytes to headers.
pub mod parse;
// From headers to requests and responses that share an id.
pub mod pair;
// Groups: which requests are reported together.
pub mod group;
// All steps together: from frames to observations.
mod observer;
pub use observer::{Frames, Observer, Settings};
// From headers to an id that is the same at every point of a packet's path.
pub mod crossing;
