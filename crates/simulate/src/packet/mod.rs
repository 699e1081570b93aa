//! Frames of a simulated link, of which every exchange is known.
//!
//! The point of observation stands between clients (*before* it) and servers (*beyond* it) on an Ethernet link. TCP
//! connections open, send in turns with slow start and delayed acknowledgements, lose segments on either side of the
//! point, and end with FIN, RST or silence; scanners send SYNs; DNS clients ask. Each segment is caused by another that
//! passed the point before, so the truth about exchanges comes from the connections themselves, not from pairing what
//! passed.
//!
//! Simplified: connections are half-duplex (a turn begins when the other side's was received completely); retransmitted
//! segments are not lost again; there is one hole at a time, no selective acknowledgement, no spurious retransmission
//! but of SYNs; segments of one direction are never reordered; payload is zeros, but for DNS.
//!
//! ```
//! use dwell_simulate::packet::{PacketWorkload, Settings};
//!
//! let mut workload = PacketWorkload::new(&Settings::small(), 1)?;
//! let mut delays = Vec::new();
//! while let Some(frame) = workload.next_frame() {
//!     assert!(frame.bytes.len() <= 96);
//!     delays.extend_from_slice(workload.answered());
//! }
//! assert_eq!(delays.len() as u64, workload.truth().exchanges());
//! # Ok::<(), dwell_simulate::packet::SettingsError>(())
//! ```

// What the traffic is like.
mod settings;
pub use settings::{Settings, SettingsError, Sizes};
// Who talks to whom.
mod address;
// What happens, and when.
mod event;
// One TCP connection, from SYN to the end.
mod flow;
// One DNS query and its answer.
mod query;
// Headers to bytes.
pub(crate) mod frame;
// All of them together, in time order.
mod workload;
pub use workload::PacketWorkload;
// What passed.
mod truth;
pub use truth::{Exchange, Line, Truth};
