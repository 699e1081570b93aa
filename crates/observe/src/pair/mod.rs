//! From headers to requests and responses that share an id.
//!
//! Every rule looks at one packet at a time and keeps no state, except for tables of fixed size of QUIC's rules, of
//! `tcp-response` for connections and, for flows whose numbers begin again, of `tcp-ack`: it determines whether the
//! packet is a request or a response, and which fields give both the same id. Matching them is left to the caller, which
//! stores the requests. Where it matters who serves, connections whose ports do not tell are remembered, too (`roles`).
//!
//! | rule | request | response | id: the flow, the requesting side, and |
//! |---|---|---|---|
//! | `tcp-handshake` beyond | SYN | SYN-ACK | the sequence number after the SYN |
//! | `tcp-handshake` before | SYN-ACK | ACK of the client | the sequence numbers after both SYNs |
//! | `tcp-handshake` sum | SYN | ACK of the client | the sequence number after the SYN |
//! | `tcp-ack` | segment that takes sequence space | ACK of exactly its end | its end |
//! | `tcp-ts` | segment that takes sequence space | echo of its TSval | TSval |
//! | `tcp-response` | client's segment with payload and PSH | server's next segment with payload | the numbers after both |
//! | `tcp-flow` | SYN | FIN or RST of either side | nothing; not even the requesting side |
//! | `dns` | query | response | transaction id, opcode, question |
//! | `ntp` | client packet | server packet | transmit = originate timestamp |
//! | `icmp-echo` | echo request | echo reply | identifier, sequence |
//! | `quic-handshake` beyond | Initial packet of the client | first packet of the server | the client's connection id |
//! | `quic-handshake` before | that of the server | packet of the client to the server's id | the same |
//! | `quic-handshake` sum | Initial packet of the client | the same | the same |
//! | `quic-spin` | edge of the spin bit | next edge, same direction | number of the edge |

// The flow of a packet as a hash, and the ids made from it.
mod ids;
// Passing the observations of one packet to the sink.
mod emitter;
// `tcp-handshake`: SYN, SYN-ACK, ACK.
mod handshake;
// `tcp-ack`: segments and their acknowledgements.
mod ack;
// How often a flow has taken all numbers.
mod wraps;
// `tcp-ts`: the TCP timestamp option.
mod timestamps;
// Which end of a connection serves.
mod roles;
// `tcp-response`: what a client sends, and what the server sends in response.
mod response;
// `tcp-flow`: from the first SYN to the first FIN or RST.
mod lifetime;
// `dns`: queries and responses.
mod dns;
// `ntp`: client and server packets.
mod ntp;
// `icmp-echo`: ping.
mod echo;
// `quic-handshake` and `quic-spin`.
mod quic;
pub use quic::Quic;
// Legs: which part of the path an exchange measures.
mod leg;
use leg::Legs;
// Observations with their legs named and their groups assigned.
mod named;
use named::Named;

use crate::group::Groups;
use crate::packet::{Packet, Tcp, Transport};
use crate::role::Role;
use dwell_types::{FlowKey, IdForm, Match, Overhead, Prefix, Sink, Timestamp};
use emitter::Emitter;
use ids::{Flow, Ids};
use quic::{Handshakes, Spin};
use response::Connections;
use roles::Roles;
use wraps::Wraps;

/// The ports that rules know.
pub const PORTS: [u16; 3] = [dns::PORT, ntp::PORT, quic::PORT];

/// Finds the requests and responses in packets.
#[derive(Debug)]
pub struct Pairing {
    rules: Rules,
    inside: Box<[Prefix]>,
    /// Whether any packet was from or to an address inside.
    is_inside_seen: bool,
    /// Packets that the capture cuts before what a rule in use needs of them, at most 2³² − 1, and these rules, as bits
    /// by [`Match::number`].
    cut: u32,
    cut_rules: u16,
    groups: Option<Groups>,
    /// Whether legs must be named or groups assigned.
    names: bool,
    /// Whether neither is needed, and all rules but DNS use only a segment's flow and numbers.
    needs_only_numbers: bool,
}

/// The rules, and what they know besides the packet.
#[derive(Debug)]
struct Rules {
    used: Used,
    ids: Ids,
    wraps: Wraps,
    /// Present if it matters which end of a connection serves.
    followed: Option<Box<Followed>>,
    /// Present if `quic-handshake` is in use.
    handshakes: Option<Handshakes>,
    /// Present if `quic-spin` is in use.
    spin: Option<Spin>,
}

/// What is known of connections of TCP.
#[derive(Debug)]
struct Followed {
    roles: Roles,
    /// Present if `tcp-response` is in use.
    connections: Option<Connections>,
}

impl Followed {
    /// What the sender of a segment is, if anything tells.
    #[inline(never)]
    fn role(&mut self, flow: Flow, key: &FlowKey, segment: &Tcp<'_>) -> Option<Role> {
        let (role, is_new) = self.roles.of(flow, key, segment);
        if is_new && let Some(connections) = &mut self.connections {
            connections.forget(flow.hash);
        }
        role
    }
}

/// What was determined of a packet before its rules are applied.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    /// `None` if nothing tells, or where it does not matter.
    role: Option<Role>,
    /// The flow of a segment whose role is known from it.
    flow: Option<Flow>,
}

/// Which rules are in use.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    handshake: bool,
    ack: bool,
    /// `ack` with plain ids.
    plain_ack: bool,
    timestamps: bool,
    lifetime: bool,
    dns: bool,
    ntp: bool,
    echo: bool,
}

impl Used {
    /// Whether all of them but DNS use only a segment's flow and numbers.
    const fn needs_only_numbers(self) -> bool {
        // All by name, so that adding a rule requires a decision here.
        let Self { handshake: _, ack: _, plain_ack, timestamps, lifetime, dns: _, ntp: _, echo: _ } = self;
        !(plain_ack | timestamps | lifetime)
    }
}

impl Pairing {
    /// Room for a thousand connections of each rule that follows them.
    const FOLLOWING_BYTES: usize = 24 << 10;

    /// Pairs by the given rules, with ids of this form, and legs named relative to `inside` if it is not empty. Ids depend
    /// on the seed. [`Match::Events`] is not a rule for packets and has no effect here.
    pub fn new(matches: &[Match], ids: IdForm, inside: Vec<Prefix>, groups: Option<Groups>, seed: u64) -> Self {
        Self::following_within(Self::FOLLOWING_BYTES, matches, ids, inside, groups, seed)
    }

    /// The same, with connections that begin followed in this many bytes by each rule that does so.
    pub(crate) fn following_within(
        bytes: usize,
        matches: &[Match],
        ids: IdForm,
        inside: Vec<Prefix>,
        groups: Option<Groups>,
        seed: u64,
    ) -> Self {
        let names = !inside.is_empty() || groups.is_some();
        let needs_roles = matches.contains(&Match::TcpResponse)
            || names && matches.contains(&Match::TcpFlow)
            || groups.as_ref().is_some_and(Groups::need_roles);
        let rules = Rules::new(matches, needs_roles, ids, seed, bytes);
        Self {
            needs_only_numbers: !names && rules.followed.is_none() && rules.used.needs_only_numbers(),
            rules,
            names,
            inside: inside.into(),
            is_inside_seen: false,
            cut: 0,
            cut_rules: 0,
            groups,
        }
    }

    /// Passes the requests and responses in the packet to the sink, responses first.
    #[inline(always)]
    pub fn observe(&mut self, packet: &Packet<'_>, at: Timestamp, sink: &mut impl Sink) {
        if packet.is_cut {
            self.see_cut(packet.flow, packet.transport);
        }
        if self.rules.followed.is_some() {
            return self.observe_followed(packet, at, sink);
        }
        self.observe_from(Sender::default(), packet, at, sink);
    }

    /// The same where it matters who serves. Separate, so that otherwise nothing is paid for it.
    #[inline(never)]
    fn observe_followed(&mut self, packet: &Packet<'_>, at: Timestamp, sink: &mut impl Sink) {
        let sender = self.rules.sender(packet);
        if let Some(groups) = &mut self.groups {
            groups.set_sender(sender.role);
        }
        self.observe_from(sender, packet, at, sink);
    }

    #[inline(always)]
    fn observe_from(&mut self, sender: Sender, packet: &Packet<'_>, at: Timestamp, sink: &mut impl Sink) {
        if !self.names {
            return self.rules.observe(packet, sender, at, sink);
        }
        let legs = Legs::new(&self.inside, &packet.flow);
        self.is_inside_seen |= legs.as_ref().is_some_and(Legs::touch_inside);
        let groups = self.groups.as_mut().map(|groups| groups.of(packet));
        self.rules.observe(packet, sender, at, &mut Named { role: sender.role, legs, groups, sink });
    }

    /// Whether legs and groups are not needed, and all rules but DNS use only a segment's flow and numbers.
    #[inline]
    pub(crate) const fn needs_only_numbers(&self) -> bool {
        self.needs_only_numbers
    }

    /// As [`Pairing::observe`] in that case; does nothing and returns false if this segment needs the general path.
    #[inline(always)]
    pub(crate) fn observe_tcp(&mut self, key: &FlowKey, segment: &Tcp<'_>, at: Timestamp, to: &mut impl Sink) -> bool {
        let is_paired = !(self.rules.used.dns && dns::is_tcp(key));
        if is_paired {
            self.rules.tcp::<false, _>(key, segment, Sender::default(), at, to);
        }
        is_paired
    }

    /// The same for a datagram, the end of which may be cut off.
    #[inline(always)]
    pub(crate) fn observe_udp(
        &mut self,
        key: FlowKey,
        payload: &[u8],
        is_cut: bool,
        at: Timestamp,
        to: &mut impl Sink,
    ) {
        if is_cut {
            self.see_cut(key, Transport::Udp(payload));
        }
        self.rules.udp(key, payload, at, to);
    }

    /// Counts a packet whose end is cut off, if a rule in use needs what is missing.
    #[inline(never)]
    fn see_cut(&mut self, key: FlowKey, transport: Transport<'_>) {
        let lacking = self.rules.lacking(&key, transport).into_iter().flatten();
        let rules = lacking.fold(0, |rules, matching| rules | 1 << matching.number());
        self.cut = self.cut.saturating_add(u32::from(rules != 0));
        self.cut_rules |= rules;
    }

    /// How many packets the capture cuts before what a rule in use needs of them, and these rules.
    pub fn cut(&self) -> (u32, impl Iterator<Item = Match>) {
        (self.cut, Match::of_packets().filter(|matching| self.cut_rules >> matching.number() & 1 != 0))
    }

    /// Whether prefixes count as inside, and no packet was from or to an address in them.
    pub(crate) const fn is_nobody_inside(&self) -> bool {
        !self.inside.is_empty() && !self.is_inside_seen
    }

    /// The groups of the requests seen, if there is grouping.
    pub const fn groups(&self) -> Option<&Groups> {
        self.groups.as_ref()
    }

    /// Counts of QUIC connections, if `quic-spin` is among the rules.
    pub fn quic(&self) -> Option<Quic> {
        self.rules.spin.as_ref().map(Spin::quic)
    }

    /// Handshakes of QUIC that were evicted while more packets could still have come, if `quic-handshake` is among the rules.
    pub fn evicted_handshakes(&self) -> u64 {
        self.rules.handshakes.as_ref().map_or(0, Handshakes::evicted)
    }

    /// Segments whose payload was not captured, so that `tcp-response` cannot tell what TLS sends by itself in them.
    pub fn unread_payloads(&self) -> u64 {
        self.rules.connections().map_or(0, Connections::unread)
    }

    /// The tables in which connections are followed: their shares, in eighths of a table, and their bytes.
    fn following(&self) -> [usize; 2] {
        let roles = self.rules.followed.as_ref().map(|followed| (1, followed.roles.state_bytes()));
        let connections = self.rules.connections().map(|connections| (8, connections.state_bytes()));
        let handshakes = self.rules.handshakes.as_ref().map(|handshakes| (8, handshakes.state_bytes()));
        let tables = || [roles, connections, handshakes].into_iter().flatten();
        [tables().map(|(eighths, _)| eighths).sum(), tables().map(|(_, bytes)| bytes).sum()]
    }

    /// What takes part of a memory: at most, and with tables of whatever size.
    pub(crate) fn overhead(&self) -> Overhead {
        let [eighths, bytes] = self.following();
        Overhead::new(self.most_bytes() - bytes, eighths)
    }

    /// The most that the data structures grow to, in bytes.
    fn most_bytes(&self) -> usize {
        let wraps = if self.rules.used.ack { Wraps::MOST_BYTES } else { 0 };
        self.state_bytes() - self.rules.wraps.state_bytes() + wraps
    }

    /// Size of the data structures in bytes; with `tcp-ack` it grows when the numbers of a flow enter another quarter.
    pub fn state_bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.inside)
            + self.groups.as_ref().map_or(0, Groups::state_bytes)
            + self.rules.followed.as_ref().map_or(0, |_| size_of::<Followed>())
            + self.following()[1]
            + self.rules.spin.as_ref().map_or(0, Spin::state_bytes)
            + self.rules.wraps.state_bytes()
    }
}

impl Rules {
    fn new(matches: &[Match], needs_roles: bool, form: IdForm, seed: u64, following: usize) -> Self {
        let (mut used, mut connections, mut handshakes, mut spin) = (Used::default(), None, None, None);
        for matching in matches {
            match matching {
                Match::TcpHandshake => used.handshake = true,
                Match::TcpAck => match form {
                    IdForm::Hashed => used.ack = true,
                    IdForm::Plain => used.plain_ack = true,
                },
                Match::TcpTs => used.timestamps = true,
                Match::TcpResponse => connections = Some(Connections::within(following)),
                Match::TcpFlow => used.lifetime = true,
                Match::Dns => used.dns = true,
                Match::Ntp => used.ntp = true,
                Match::IcmpEcho => used.echo = true,
                Match::QuicHandshake => handshakes = Some(Handshakes::within(following)),
                Match::QuicSpin => spin = Some(Spin::new()),
                Match::Events => {}
            }
        }
        let followed = needs_roles.then(|| Box::new(Followed { roles: Roles::within(following / 8), connections }));
        Self { used, ids: Ids::new(seed), wraps: Wraps::default(), followed, handshakes, spin }
    }

    fn connections(&self) -> Option<&Connections> {
        self.followed.as_ref()?.connections.as_ref()
    }

    #[inline(always)]
    fn sender(&mut self, packet: &Packet<'_>) -> Sender {
        let key = &packet.flow;
        match (&packet.transport, &mut self.followed) {
            (Transport::Tcp(segment), Some(followed)) => {
                let flow = self.ids.flow(key);
                Sender { role: followed.role(flow, key, segment), flow: Some(flow) }
            }
            _ => Sender { role: Role::by_ports(key), flow: None },
        }
    }

    #[inline(always)]
    fn observe(&mut self, packet: &Packet<'_>, sender: Sender, at: Timestamp, sink: &mut impl Sink) {
        match packet.transport {
            Transport::Tcp(segment) => self.tcp::<true, _>(&packet.flow, &segment, sender, at, sink),
            Transport::Udp(payload) => self.udp(packet.flow, payload, at, sink),
            Transport::Icmp(message) => self.icmp(packet.flow, message, at, sink),
            Transport::Other(_) => {}
        }
    }

    /// Applies the rules for handshakes and acknowledgements, and all others in use if `OTHERS`.
    #[inline(always)]
    fn tcp<const OTHERS: bool, S: Sink>(
        &mut self,
        key: &FlowKey,
        segment: &Tcp<'_>,
        Sender { role, flow }: Sender,
        at: Timestamp,
        sink: &mut S,
    ) {
        let (used, wraps) = (self.used, &mut self.wraps);
        let flow = flow.unwrap_or_else(|| self.ids.flow(key));
        let to = &mut Emitter { ids: &self.ids, flow, at, sink };
        let dns = OTHERS && used.dns && dns::is_tcp(key) && !segment.payload.is_empty();
        if used.handshake {
            handshake::responses(segment, to);
        }
        if used.ack {
            ack::response(segment, wraps, to);
        }
        if OTHERS {
            if used.plain_ack {
                ack::plain_response(segment, to);
            }
            if used.timestamps {
                timestamps::response(segment, to);
            }
            if role == Some(Role::Server)
                && let Some(Followed { connections: Some(connections), .. }) = self.followed.as_deref_mut()
            {
                response::response(segment, connections, &mut to.reborrow());
            }
            if used.lifetime {
                lifetime::response(segment, to);
            }
            if dns {
                dns::segment(segment, key, dns::Qr::Response, to.reborrow());
            }
        }
        if used.handshake {
            handshake::requests(segment, to);
        }
        if used.ack {
            ack::request(segment, wraps, to);
        }
        if OTHERS {
            if used.plain_ack {
                ack::plain_request(segment, to);
            }
            if used.timestamps {
                timestamps::request(segment, to);
            }
            if role == Some(Role::Client)
                && let Some(Followed { connections: Some(connections), .. }) = self.followed.as_deref_mut()
            {
                response::request(segment, connections, &mut to.reborrow());
            }
            if used.lifetime {
                lifetime::request(segment, to);
            }
            if dns {
                dns::segment(segment, key, dns::Qr::Query, to.reborrow());
            }
        }
    }

    /// The rules that lack bytes of a packet whose end is cut off. Those of TCP's handshakes and acknowledgements need none
    /// beyond what every segment has.
    fn lacking(&self, key: &FlowKey, transport: Transport<'_>) -> [Option<Match>; 2] {
        let Used { timestamps, dns, ntp, echo, .. } = self.used;
        match transport {
            Transport::Tcp(segment) => {
                let is_message_cut = dns && dns::is_tcp(key) && dns::is_segment_cut(&segment);
                let is_option_cut = timestamps && segment.is_header_cut && segment.timestamps().is_none();
                [is_message_cut.then_some(Match::Dns), is_option_cut.then_some(Match::TcpTs)]
            }
            Transport::Udp(payload) if dns::is_udp(key) => {
                [(dns && dns::is_header_cut(payload)).then_some(Match::Dns), None]
            }
            Transport::Udp(payload) if ntp::is_ntp(key) => [(ntp && ntp::is_cut(payload)).then_some(Match::Ntp), None],
            Transport::Udp(payload) => {
                let is_handshake_cut = self.handshakes.is_some() && quic::is_header_cut(key, payload);
                let is_spin_cut = self.spin.is_some() && quic::is_cut(key, payload);
                [is_handshake_cut.then_some(Match::QuicHandshake), is_spin_cut.then_some(Match::QuicSpin)]
            }
            Transport::Icmp(message) => {
                [(echo && echo::is_cut(key.protocol, message)).then_some(Match::IcmpEcho), None]
            }
            Transport::Other(_) => [None; 2],
        }
    }

    // UDP and ICMP are rare, or slow anyway, and take a copy of the flow, so that on the common path it is not stored in
    // memory.

    #[inline(never)]
    fn udp(&mut self, key: FlowKey, payload: &[u8], at: Timestamp, sink: &mut impl Sink) {
        let to = &mut Emitter::new(&self.ids, &key, at, sink);
        // The port determines the protocol, whether or not its rule is in use.
        if dns::is_udp(&key) {
            if self.used.dns {
                dns::datagram(payload, to);
            }
        } else if ntp::is_ntp(&key) {
            if self.used.ntp {
                ntp::observe(payload, to);
            }
        } else {
            if let Some(handshakes) = &mut self.handshakes {
                handshakes.observe(&key, payload, to);
            }
            if let Some(spin) = &mut self.spin {
                spin.observe(&key, payload, to);
            }
        }
    }

    #[inline(never)]
    fn icmp(&mut self, key: FlowKey, message: &[u8], at: Timestamp, sink: &mut impl Sink) {
        if self.used.echo {
            echo::observe(key.protocol, message, &mut Emitter::new(&self.ids, &key, at, sink));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::{Address, Leg, Observation, Sighting, protocol};

    /// From 10.0.0.1, port 50,000, to 192.0.2.7, port 443.
    pub(super) fn flow(protocol: u8) -> FlowKey {
        FlowKey {
            source: Address::v4(0x0a00_0001),
            destination: Address::v4(0xc000_0207),
            source_port: 50_000,
            destination_port: 443,
            protocol,
        }
    }

    /// A segment without payload or options.
    pub(super) fn segment(flags: u8, sequence: u32, acknowledgement: u32) -> Tcp<'static> {
        Tcp { sequence, acknowledgement, flags, ..Tcp::default() }
    }

    /// Options with TSval and TSecr.
    pub(super) fn timestamps(value: u32, echo: u32) -> &'static [u8] {
        [&[1, 1, 8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat().leak()
    }

    /// The observations of one packet.
    pub(super) struct Said {
        pub(super) seen: Vec<Observation>,
    }

    impl Said {
        /// The legs of its requests.
        pub(super) fn requests(&self) -> Vec<Leg> {
            self.seen
                .iter()
                .filter_map(|o| matches!(o, Observation::Request(_)).then_some(sighting(o).series.leg))
                .collect()
        }

        pub(super) fn request(&self, leg: Leg) -> Sighting {
            self.find(|o| matches!(o, Observation::Request(s) if s.series.leg == leg)).unwrap()
        }

        pub(super) fn response(&self, leg: Leg) -> Sighting {
            self.find(|o| matches!(o, Observation::Response(s) if s.series.leg == leg)).unwrap()
        }

        /// Whether this packet answers the first request that the other packet is on that leg.
        pub(super) fn answers(&self, other: &Self, leg: Leg) -> bool {
            let request = other.request(leg);
            self.find(|o| matches!(o, Observation::Response(s) if s.id == request.id && s.series == request.series))
                .is_some()
        }

        fn find(&self, wanted: impl Fn(&Observation) -> bool) -> Option<Sighting> {
            self.seen.iter().find(|o| wanted(o)).map(sighting)
        }
    }

    fn sighting(observation: &Observation) -> Sighting {
        let (Observation::Request(s) | Observation::Response(s)) = observation;
        *s
    }

    /// The two ends of a flow, and the pairing of their packets. Each packet comes 1 ms after the one before.
    pub(super) struct Pair {
        pairing: Pairing,
        pub(super) key: FlowKey,
        now: i64,
    }

    impl Pair {
        pub(super) fn new(matches: &[Match]) -> Self {
            Self::between(matches, flow(protocol::TCP))
        }

        pub(super) fn between(matches: &[Match], key: FlowKey) -> Self {
            Self { pairing: Pairing::new(matches, IdForm::Hashed, Vec::new(), None, 7), key, now: 0 }
        }

        pub(super) fn plain(matches: &[Match]) -> Self {
            Self { pairing: Pairing::new(matches, IdForm::Plain, Vec::new(), None, 7), ..Self::new(matches) }
        }

        pub(super) fn inside(matches: &[Match], inside: &[&str]) -> Self {
            let inside = inside.iter().map(|prefix| prefix.parse().unwrap()).collect();
            Self { pairing: Pairing::new(matches, IdForm::Hashed, inside, None, 7), ..Self::new(matches) }
        }

        pub(super) fn client(&mut self, segment: &Tcp<'_>) -> Said {
            self.packet(self.key, Transport::Tcp(*segment))
        }

        pub(super) fn server(&mut self, segment: &Tcp<'_>) -> Said {
            self.packet(self.key.reversed(), Transport::Tcp(*segment))
        }

        pub(super) fn client_udp(&mut self, payload: &[u8]) -> Said {
            self.packet(self.key, Transport::Udp(payload))
        }

        pub(super) fn server_udp(&mut self, payload: &[u8]) -> Said {
            self.packet(self.key.reversed(), Transport::Udp(payload))
        }

        pub(super) fn client_icmp(&mut self, message: &[u8]) -> Said {
            self.packet(self.key, Transport::Icmp(message))
        }

        pub(super) fn server_icmp(&mut self, message: &[u8]) -> Said {
            self.packet(self.key.reversed(), Transport::Icmp(message))
        }

        pub(super) fn quic(&self) -> Quic {
            self.pairing.quic().unwrap()
        }

        pub(super) fn unread_payloads(&self) -> u64 {
            self.pairing.unread_payloads()
        }

        /// The time of the last packet, in nanoseconds.
        pub(super) const fn now(&self) -> i64 {
            self.now
        }

        /// Advances the time of the next packet, in nanoseconds.
        pub(super) fn wait(&mut self, nanos: i64) {
            self.now += nanos;
        }

        pub(super) fn packet(&mut self, flow: FlowKey, transport: Transport<'_>) -> Said {
            self.now += 1_000_000;
            let packet = Packet { flow, vlan: None, dscp: 0, identification: 0, length: 0, is_cut: false, transport };
            let mut seen = Vec::new();
            self.pairing.observe(&packet, Timestamp::from_nanos(self.now), &mut |observation| seen.push(observation));
            Said { seen }
        }
    }

    /// What the capture cuts off is missed only by the rules in use that need it.
    #[test]
    fn what_is_cut_off_is_missed() {
        let tcp = |length: u32, payload: &'static [u8], options: &'static [u8]| {
            let is_header_cut = options.len() < 12;
            Transport::Tcp(Tcp { payload_length: length, payload, options, is_header_cut, ..segment(Tcp::ACK, 1, 1) })
        };
        let options_cut = |options: &'static [u8]| {
            Transport::Tcp(Tcp { payload_length: 9, options, is_header_cut: true, ..segment(Tcp::ACK, 1, 1) })
        };
        let to = |protocol: u8, port: u16| FlowKey { destination_port: port, ..flow(protocol) };
        let (whole, ntp, ping) = (timestamps(5, 6), &[4 << 3 | 3; 48], &[8, 0, 1, 2, 3, 4, 5, 6]);
        let cases = [
            (&[Match::TcpTs][..], to(protocol::TCP, 443), tcp(9, &[], &whole[..11]), tcp(9, &[], whole)),
            (&[Match::Dns][..], to(protocol::TCP, 53), tcp(30, &[0; 13], whole), tcp(30, &[0; 14], whole)),
            (&[Match::Dns][..], to(protocol::UDP, 53), Transport::Udp(&[0; 11]), Transport::Udp(&[0; 12])),
            (&[Match::Ntp][..], to(protocol::UDP, 123), Transport::Udp(&ntp[..47]), Transport::Udp(ntp)),
            (
                &[Match::Ntp][..],
                to(protocol::UDP, 123),
                Transport::Udp(&[4 << 3 | 4; 31]),
                Transport::Udp(&[4 << 3 | 4; 32]),
            ),
            (&[Match::IcmpEcho][..], to(protocol::ICMP, 0), Transport::Icmp(&ping[..7]), Transport::Icmp(ping)),
            (
                &[Match::QuicHandshake, Match::QuicSpin],
                to(protocol::UDP, 443),
                Transport::Udp(&[0xc0, 0, 0, 0]),
                Transport::Udp(&[0xe0, 0, 0, 0, 1, 0, 0]),
            ),
            (
                &[Match::QuicHandshake, Match::QuicSpin],
                to(protocol::UDP, 443),
                Transport::Udp(&[]),
                Transport::Udp(&[0x40]),
            ),
            (
                &[Match::QuicHandshake],
                to(protocol::UDP, 443),
                Transport::Udp(&[0xc0, 0, 0, 0, 1, 1, 7, 1]),
                Transport::Udp(&[0xc0, 0, 0, 0, 1, 1, 7, 1, 8]),
            ),
            // Options behind the timestamps; another message; a segment without any; a datagram without a mode.
            (&[Match::TcpTs][..], to(protocol::TCP, 443), tcp(9, &[], &whole[..11]), options_cut(whole)),
            (&[Match::TcpTs][..], to(protocol::TCP, 443), options_cut(&[]), tcp(9, &[], &[1; 12])),
            (
                &[Match::IcmpEcho][..],
                to(protocol::ICMP, 0),
                Transport::Icmp(&ping[..7]),
                Transport::Icmp(&[3, 0, 1, 2, 3]),
            ),
            (&[Match::Dns][..], to(protocol::TCP, 53), tcp(30, &[], whole), tcp(0, &[], whole)),
            (&[Match::Ntp][..], to(protocol::UDP, 123), Transport::Udp(&[]), Transport::Udp(&[4 << 3 | 6])),
        ];
        for (lacking, flow, short, enough) in cases {
            let cut = |rules: &[Match], transport, is_cut| {
                let mut pairing = Pairing::new(rules, IdForm::Hashed, Vec::new(), None, 1);
                let packet = Packet { flow, vlan: None, dscp: 0, identification: 0, length: 99, is_cut, transport };
                pairing.observe(&packet, Timestamp::from_nanos(1), &mut |_: Observation| {});
                let (packets, rules) = pairing.cut();
                (packets, rules.collect::<Vec<_>>())
            };
            let others: Vec<Match> = Match::ALL.into_iter().filter(|other| !lacking.contains(other)).collect();
            assert_eq!(cut(&Match::ALL, short, true), (1, lacking.to_vec()), "{short:?}");
            for (rules, transport, is_cut) in
                [(&others[..], short, true), (&Match::ALL, enough, true), (&Match::ALL, short, false)]
            {
                assert_eq!(cut(rules, transport, is_cut), (0, vec![]), "{transport:?}");
            }
        }
    }

    /// With all rules at once and any flags, no request precedes a response.
    #[test]
    fn responses_come_first() {
        let payload = [&[0, 17][..], &[0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]].concat();
        let key = FlowKey { destination_port: 53, ..flow(protocol::TCP) };
        for flags in 0..=0x1f {
            let mut pair = Pair::between(&Match::ALL, key);
            let payload_length = payload.len() as u32;
            let all = Tcp { payload: &payload, payload_length, options: timestamps(5, 6), ..segment(flags, 1, 2) };
            let seen = pair.client(&all).seen;
            assert!(seen.len() <= 9, "{} of {flags:#x}", seen.len());
            assert!(seen.is_sorted_by_key(|o| matches!(o, Observation::Request(_))), "{flags:#x}");
        }
    }

    /// Found by fuzzing: a query on port 53 was also taken for a server's response on port 123.
    #[test]
    fn a_datagram_is_of_one_protocol() {
        let mut payload = [7; 48];
        payload[..6].copy_from_slice(&[4 << 3 | 4, 9, 1, 0, 0, 1]);
        let key = FlowKey { source_port: 123, destination_port: 53, ..flow(protocol::UDP) };
        let seen = Pair::between(&Match::ALL, key).client_udp(&payload).seen;
        assert_eq!(seen.iter().map(|o| sighting(o).series.matching).collect::<Vec<_>>(), [Match::Dns]);
        let key = FlowKey { destination_port: 443, ..key };
        let seen = Pair::between(&Match::ALL, key).client_udp(&payload).seen;
        assert_eq!(seen.iter().map(|o| sighting(o).series.matching).collect::<Vec<_>>(), [Match::Ntp]);
    }

    #[test]
    fn a_response_is_in_the_group_of_its_request() {
        let grouping = Groups::new("src/24".parse().unwrap(), 10, 1);
        let matches = [Match::TcpHandshake, Match::TcpAck];
        let mut pairing = Pairing::new(&matches, IdForm::Hashed, Vec::new(), Some(grouping), 1);
        let mut groups = |source: u32, destination: u32, flags: u8| {
            let (source, destination) = (Address::v4(source), Address::v4(destination));
            let flow = FlowKey { source, destination, ..flow(protocol::TCP) };
            let transport = Transport::Tcp(segment(flags, 1, 1));
            let packet = Packet { flow, vlan: None, dscp: 0, identification: 0, length: 40, is_cut: false, transport };
            let mut groups = Vec::new();
            let at = Timestamp::from_nanos(1);
            pairing.observe(&packet, at, &mut |seen| groups.push(sighting(&seen).series.group));
            groups
        };
        let (client, server) = (0x0a01_0203, 0xc000_0201);
        assert_eq!(groups(client, server, Tcp::SYN), [1, 1, 1]);
        // Two responses to the client's requests, then two requests of the server.
        assert_eq!(groups(server, client, Tcp::SYN | Tcp::ACK), [1, 1, 2, 2]);
        // Responses for *before* (requested by the server), *sum* (by the client) and the server's SYN, from other
        // hosts of the same groups.
        assert_eq!(groups(client + 6, server + 7, Tcp::ACK), [2, 1, 2]);
        let names: Vec<_> = (0..3).map(|number| pairing.groups().unwrap().name(number)).collect();
        assert_eq!(names, ["other", "src=10.1.2.0/24", "src=192.0.2.0/24"]);
    }

    /// The groups of what both ends of a connection say, in any direction: who accepts serves, else who has the lower port. As of
    /// all protocols without handshakes.
    #[test]
    fn groups_know_who_serves() {
        let (client, server) = ("client=10.0.0.1 server=192.0.2.7", "client=192.0.2.7 server=10.0.0.1");
        for (port, by_ports) in [(443, format!("{client} port=443")), (50_051, format!("{server} port=50000"))] {
            let there = FlowKey { destination_port: port, ..flow(protocol::TCP) };
            let by_handshake = format!("{client} port={port}");
            let on_the_other_side = format!("{server} port=50000");
            let syn = segment(Tcp::SYN, 0, 0);
            let syn_ack = segment(Tcp::SYN | Tcp::ACK, 0, 1);
            let data = Tcp { payload_length: 1, ..segment(Tcp::ACK, 1, 1) };
            let groups = || Some(Groups::new("client,server,port".parse().unwrap(), 10, 1));
            let new = || Pairing::new(&[Match::TcpAck, Match::Dns], IdForm::Hashed, Vec::new(), groups(), 1);
            let group = |pairing: &mut Pairing, flow, transport| {
                let packet =
                    Packet { flow, vlan: None, dscp: 0, identification: 0, length: 40, is_cut: false, transport };
                let mut group = None;
                let at = Timestamp::from_nanos(1);
                pairing.observe(&packet, at, &mut |seen| group = Some(sighting(&seen).series.group));
                pairing.groups().unwrap().name(group.unwrap())
            };
            let both = |pairing: &mut Pairing, segment| {
                let [one, other] = [there, there.reversed()].map(|flow| group(pairing, flow, Transport::Tcp(segment)));
                assert_eq!(one, other, "{port}");
                one
            };
            // A connection that began before, and one that begins; then another one from the other side; then one without SYN-ACK.
            let mut pairing = new();
            assert_eq!(both(&mut pairing, data), by_ports);
            assert_eq!(group(&mut pairing, there, Transport::Tcp(syn)), by_handshake);
            assert_eq!(group(&mut pairing, there.reversed(), Transport::Tcp(syn_ack)), by_handshake);
            assert_eq!(both(&mut pairing, data), by_handshake);
            assert_eq!(group(&mut pairing, there, Transport::Tcp(syn_ack)), on_the_other_side);
            assert_eq!(both(&mut pairing, data), on_the_other_side);
            assert_eq!(group(&mut pairing, there, Transport::Tcp(syn)), by_handshake);
            assert_eq!(both(&mut pairing, data), by_ports);
        }
        let groups = Groups::new("port".parse().unwrap(), 10, 1);
        let mut pairing = Pairing::new(&[Match::Dns], IdForm::Hashed, Vec::new(), Some(groups), 1);
        let flow = FlowKey { source_port: 53, destination_port: 50_000, ..flow(protocol::UDP) };
        let query = [0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1];
        let transport = Transport::Udp(&query);
        let packet = Packet { flow, vlan: None, dscp: 0, identification: 0, length: 45, is_cut: false, transport };
        pairing.observe(&packet, Timestamp::from_nanos(1), &mut |_: Observation| ());
        assert_eq!(pairing.groups().unwrap().name(1), "port=53");
    }

    /// Who serves is remembered only where it matters.
    #[test]
    fn roles_take_memory_where_they_matter() {
        let tables = |matches: &[Match], inside: bool, group: Option<&str>| {
            let inside = if inside { vec!["10.0.0.0/8".parse().unwrap()] } else { Vec::new() };
            let groups = group.map(|group| Groups::new(group.parse().unwrap(), 10, 1));
            Pairing::new(matches, IdForm::Hashed, inside, groups, 1).following()[0]
        };
        let usual = &Match::USUAL[..];
        for group in [None, Some("src/24"), Some("src,dst,src-port,dst-port,vlan,dscp,protocol")] {
            assert_eq!([tables(usual, false, group), tables(usual, true, group)], [0, 0], "{group:?}");
        }
        for group in ["client", "server/24", "port", "src,port"] {
            assert_eq!(tables(usual, false, Some(group)), 1, "{group}");
        }
        let flow = &[Match::TcpFlow][..];
        let of = [tables(flow, false, None), tables(flow, true, None), tables(flow, false, Some("src"))];
        assert_eq!(of, [0, 1, 1]);
        assert_eq!(tables(&Match::ALL, true, Some("server")), 1 + 2 * 8);
        assert_eq!(tables(&[Match::TcpResponse], false, None), 1 + 8);
    }

    #[test]
    fn no_rule_no_observation() {
        let mut pair = Pair::new(&[Match::Events]);
        assert!(pair.client(&segment(Tcp::SYN, 1, 0)).seen.is_empty());
        assert!(pair.pairing.quic().is_none() && pair.pairing.groups().is_none());
    }
}
