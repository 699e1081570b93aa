//! Frames on a simulated link, with every exchange known.
//!
//! The observation point is on an Ethernet link between clients (*before* it) and servers (*beyond* it). TCP
//! connections open, send in turns with slow start and delayed acknowledgements, lose segments on either side of the
//! point, and end with FIN, RST or silence; scanners send SYNs; DNS clients send queries. Each segment is caused by
//! another one that passed the point before, so the truth about exchanges comes from the connections themselves, not
//! from pairing the segments that passed.
//!
//! Simplified: connections are half-duplex (a turn begins when all data of the other side's turn has been received);
//! retransmitted segments are not lost again and have no PSH, so they ask nothing under `TcpResponse`; there is one hole at a
//! time, no selective acknowledgement, no spurious retransmission except of SYNs; segments of one direction are never
//! reordered; payload is zeros, except for DNS.
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

// Settings of the traffic.
mod settings;
pub use settings::{Settings, SettingsError, Sizes};
// Addresses and ports of connections and queries.
mod address;
// Events, and the agenda on which they are scheduled.
mod event;
// One TCP connection, from SYN to its end.
mod flow;
// One DNS query and its response.
mod query;
// Building frames from header fields.
pub(crate) mod frame;
// All connections and queries together, in time order.
mod workload;
pub use workload::PacketWorkload;
// Exact counts and exchanges of the frames so far.
mod truth;
pub use truth::{Exchange, Line, Truth};
