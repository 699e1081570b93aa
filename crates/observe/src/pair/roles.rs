//! Who serves: the end that accepts the connection, as far as the capture tells, else that with the lower port.
//!
//! A SYN is the client's, and a SYN-ACK goes to the client. Of other segments ports tell: the service mostly has the lower one.
//! Only connections whose SYN-ACK said otherwise are remembered, or that have equal ports, until the next SYN on these ports.
//!
//! **State.** 8 bytes for each of them, in sets of four, of which a new one replaces that of which a segment was seen least
//! recently. Without it ports tell.
//!
//! **Broken by**: services on higher ports than their clients', in connections that began before the capture; ports that are used
//! again without a SYN in the capture.

use super::handshake;
use super::ids::Flow;
use crate::packet::Tcp;
use crate::role::Role;
use dwell_types::{FlowKey, hash};

/// The connections whose ports do not tell who serves.
#[derive(Debug)]
pub(super) struct Roles {
    /// Zero in a free place.
    sets: Box<[[u64; WAYS]]>,
    /// How many places are taken: mostly none.
    taken: usize,
}

const WAYS: usize = 4;
/// The lowest bits of a place: set in all that are taken; whether the lower endpoint is the client (see [`Flow::sender`]). The
/// others are those of the flow's hash.
const TAKEN: u64 = 0b10;
const CLIENT: u64 = 0b01;

impl Roles {
    /// As many as fit into `bytes`, at least one set.
    pub(super) fn within(bytes: usize) -> Self {
        let sets = (bytes / size_of::<[u64; WAYS]>()).clamp(1, u32::MAX as usize);
        Self { sets: vec![[0; WAYS]; sets].into(), taken: 0 }
    }

    pub(super) fn state_bytes(&self) -> usize {
        size_of_val(&*self.sets)
    }

    /// What the sender of a segment is, if that is known; and whether it begins a connection, of which nothing can be known.
    #[inline]
    pub(super) fn of(&mut self, flow: Flow, key: &FlowKey, segment: &Tcp<'_>) -> (Option<Role>, bool) {
        if handshake::opens(segment) {
            self.set(flow.hash, None);
            (Some(Role::Client), true)
        } else if handshake::accepts(segment) {
            let by_ports = Role::by_ports(key) == Some(Role::Server);
            (Some(Role::Server), self.set(flow.hash, (!by_ports).then_some(flow.receiver)))
        } else {
            let found = if self.taken > 0 { self.find(flow) } else { None };
            (found.or_else(|| Role::by_ports(key)), false)
        }
    }

    /// What the sender is, if ports do not tell.
    #[inline]
    fn find(&mut self, flow: Flow) -> Option<Role> {
        let (name, set) = self.place(flow.hash);
        let at = position(set, name)?;
        set[..=at].rotate_right(1);
        let client = set[0] & CLIENT != 0;
        Some(if client == flow.sender { Role::Client } else { Role::Server })
    }

    /// Remembers which side is the client, or that ports tell; returns whether that is new.
    #[inline(never)]
    fn set(&mut self, flow: u64, client: Option<bool>) -> bool {
        let (name, set) = self.place(flow);
        let found = position(set, name);
        let entry = client.map_or(0, |client| name | u64::from(client));
        let before = found.map_or(0, |at| set[at]);
        if found.is_some() || entry != 0 {
            let at = found.or_else(|| set.iter().position(|&entry| entry == 0)).unwrap_or(WAYS - 1);
            set[..=at].rotate_right(1);
            let replaced = std::mem::replace(&mut set[0], entry);
            self.taken = self.taken + usize::from(entry != 0) - usize::from(replaced != 0);
        }
        entry != before
    }

    #[inline]
    fn place(&mut self, flow: u64) -> (u64, &mut [u64; WAYS]) {
        let hash = hash::finish(flow);
        let place = hash::index(hash as u32, self.sets.len() as u32) as usize;
        (hash & !CLIENT | TAKEN, &mut self.sets[place])
    }
}

/// Where a set has the connection of this name.
#[inline]
fn position(set: &[u64; WAYS], name: u64) -> Option<usize> {
    set.iter().position(|entry| entry & !CLIENT == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::ids::Ids;
    use crate::pair::tests::{flow, segment};
    use Role::{Client, Server};
    use dwell_types::protocol;

    const SYN: u8 = Tcp::SYN;
    const SYN_ACK: u8 = Tcp::SYN | Tcp::ACK;

    /// Between these ports, from the end with the first one.
    fn between(source_port: u16, destination_port: u16) -> FlowKey {
        FlowKey { source_port, destination_port, ..flow(protocol::TCP) }
    }

    fn of(roles: &mut Roles, key: FlowKey, flags: u8) -> (Option<Role>, bool) {
        roles.of(Ids::new(1).flow(&key), &key, &segment(flags, 1, 1))
    }

    /// The roles of both senders, by segments without a SYN.
    fn later(roles: &mut Roles, key: FlowKey) -> [Option<Role>; 2] {
        [key, key.reversed()].map(|key| of(roles, key, Tcp::ACK).0)
    }

    /// Whatever the ports, who opens is the client; without a SYN-ACK ports tell.
    #[test]
    fn handshakes_tell_else_ports() {
        let by_handshake = [Some(Client), Some(Server)];
        for (ports, by_ports) in [
            ((40_000, 443), [Some(Client), Some(Server)]),
            ((40_000, 50_051), [Some(Server), Some(Client)]),
            ((443, 443), [None, None]),
        ] {
            let (mut roles, key) = (Roles::within(1 << 10), between(ports.0, ports.1));
            assert_eq!(later(&mut roles, key), by_ports);
            assert_eq!(of(&mut roles, key, SYN), (Some(Client), true));
            assert_eq!(later(&mut roles, key), by_ports, "a SYN that nobody has accepted");
            let is_exception = by_ports != by_handshake;
            assert_eq!(of(&mut roles, key.reversed(), SYN_ACK), (Some(Server), is_exception), "{ports:?}");
            assert_eq!(of(&mut roles, key.reversed(), SYN_ACK), (Some(Server), false), "a copy tells nothing new");
            assert_eq!(later(&mut roles, key), by_handshake);
            assert_eq!(later(&mut roles, FlowKey { source_port: 1, ..key })[0], Some(Server), "another connection");
        }
    }

    /// The same ports are used again, from the other side; then the beginning is missing but for its SYN.
    #[test]
    fn the_last_handshake_counts() {
        for key in [between(40_000, 50_051), between(443, 443)] {
            let mut roles = Roles::within(1 << 10);
            for (opens, is_new) in [(key, true), (key.reversed(), true), (key.reversed(), false), (key, true)] {
                assert_eq!(of(&mut roles, opens.reversed(), SYN_ACK).1, is_new);
                assert_eq!(later(&mut roles, opens), [Some(Client), Some(Server)]);
            }
            of(&mut roles, key, SYN);
            assert_eq!(later(&mut roles, key), [Role::by_ports(&key), Role::by_ports(&key.reversed())]);
            let free = [0; WAYS];
            assert!(roles.sets.iter().all(|set| *set == free) && roles.taken == 0, "what ports tell takes no place");
        }
    }

    /// In a full set, connections of which segments are seen keep their places.
    #[test]
    fn the_silent_make_room() {
        let mut roles = Roles::within(0);
        assert_eq!(roles.state_bytes(), WAYS * 8);
        let key = |port: u16| between(port, 60_000);
        let accept = |roles: &mut Roles, port| assert!(of(roles, key(port).reversed(), SYN_ACK).1);
        let known = |roles: &Roles, port| {
            let name = hash::finish(Ids::new(1).flow(&key(port)).hash) & !CLIENT | TAKEN;
            position(&roles.sets[0], name).is_some()
        };
        (1..=WAYS as u16).for_each(|port| accept(&mut roles, port));
        assert_eq!(of(&mut roles, key(1), Tcp::ACK).0, Some(Client));
        assert_eq!(of(&mut roles, key(2).reversed(), Tcp::ACK).0, Some(Server));
        accept(&mut roles, 5);
        assert_eq!([1, 2, 3, 4, 5].map(|port| known(&roles, port)), [true, true, false, true, true]);
        assert_eq!(of(&mut roles, key(3), Tcp::ACK).0, Some(Server), "as ports say");
        // What is forgotten leaves a place.
        of(&mut roles, key(2), SYN);
        accept(&mut roles, 6);
        assert_eq!([1, 2, 4, 5, 6].map(|port| known(&roles, port)), [true, false, true, true, true]);
    }

    /// Few of the connections that begin while as many as fit are under way have no place.
    #[test]
    fn many_have_a_place() {
        let mut roles = Roles::within(8 << 10);
        let keys = || (0..512).map(|n| between(1_000 + n, 50_051));
        keys().for_each(|key| assert_eq!(of(&mut roles, key.reversed(), SYN_ACK).0, Some(Server)));
        let known = keys().filter(|key| of(&mut roles, *key, Tcp::ACK).0 == Some(Client)).count();
        assert!(known > 480, "{known}");
    }
}
