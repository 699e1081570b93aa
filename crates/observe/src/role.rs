//! Clients and servers.

use dwell_types::FlowKey;

/// What the sender of a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

impl Role {
    /// As ports tell: `None` if they are equal.
    #[inline]
    pub(crate) const fn by_ports(key: &FlowKey) -> Option<Self> {
        match (key.is_to_server(), key.reversed().is_to_server()) {
            (true, _) => Some(Self::Client),
            (_, true) => Some(Self::Server),
            _ => None,
        }
    }
}
