use crate::group::{Grouping, Groups};
use crate::pair::Pairing;
use crate::parse::{self, Key, Reject};
use dwell_types::{Frame, IdForm, LinkType, Match, Overhead, Prefix, Series, Sink, Timestamp};

/// What to observe.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The pairing rules.
    pub matches: Vec<Match>,
    /// Which IP header of a tunnelled packet determines its flow.
    pub key: Key,
    /// The prefixes that count as inside, for naming legs; empty if legs are not to be named by them.
    pub inside: Vec<Prefix>,
    /// Which requests are reported together.
    pub group: Option<Grouping>,
    /// The most groups besides "other", `1..=8191`.
    pub max_groups: usize,
    /// Seed of the ids.
    pub seed: u64,
    /// How the ids of `tcp-ack` are built.
    pub ids: IdForm,
    /// The memory that the observer shares with a meter: `quic-handshake` and `tcp-response` each follow connections that begin in
    /// an eighth of it, at most 2 MiB, with 24 bytes for one. Where it matters who serves, connections whose ports do not tell
    /// take an eighth of that, with 8 bytes for one.
    pub memory: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            matches: Match::USUAL.to_vec(),
            key: Key::Inner,
            inside: Vec::new(),
            group: None,
            max_groups: 1000,
            seed: 0,
            ids: IdForm::Hashed,
            memory: 256 << 10,
        }
    }
}

/// Counts of frames: `total = decoded + Σ rejected`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Frames seen.
    pub total: u64,
    rejected: [u64; Reject::ALL.len()],
}

impl Frames {
    /// Frames whose headers were parsed down to the transport.
    pub fn decoded(&self) -> u64 {
        self.total - self.rejected.iter().sum::<u64>()
    }

    #[inline(never)]
    pub(crate) fn reject(&mut self, reject: Reject) {
        self.rejected[reject as usize] += 1;
    }

    /// The other frames by reason, with every reason in the order of [`Reject::ALL`].
    pub fn rejected(&self) -> impl Iterator<Item = (Reject, u64)> {
        Reject::ALL.into_iter().zip(self.rejected)
    }

    /// Those that might have been parsed with a longer snap length.
    pub fn truncated(&self) -> u64 {
        self.rejected().filter(|(reject, _)| reject.is_truncated()).map(|(_, frames)| frames).sum()
    }
}

/// Turns frames into requests and responses.
#[derive(Debug)]
pub struct Observer {
    key: Key,
    /// Link type of the first frame that was rejected for it.
    unknown_link: Option<LinkType>,
    pairing: Pairing,
    frames: Frames,
}

impl Observer {
    /// Allocates all memory that it will ever use, except for a kilobyte ([`Observer::overhead`]).
    pub fn new(settings: Settings) -> Self {
        let Settings { matches, key, inside, group, max_groups, seed, ids, memory } = settings;
        let groups = group.map(|grouping| Groups::new(grouping, max_groups, seed));
        let pairing = Pairing::following_within(Overhead::of_table(memory), &matches, ids, inside, groups, seed);
        Self { key, unknown_link: None, pairing, frames: Frames::default() }
    }

    /// Passes the requests and responses in the frame to the sink, responses first.
    #[inline(always)]
    pub fn observe(&mut self, frame: &Frame<'_>, to: &mut impl Sink) {
        self.frames.total += 1;
        let Some(at) = frame.at else { return self.frames.reject(Reject::NoTimestamp) };
        // The path of nearly every packet: paired where it is parsed, so that its fields stay in registers.
        if self.pairing.needs_only_numbers()
            && let Some(link) = parse::common(frame.link, frame.bytes)
        {
            if let Some(ip) = link.v4()
                && self.observe_common(&ip, at, to)
            {
                return;
            }
            if let Some(ip) = link.v6()
                && self.observe_common(&ip, at, to)
            {
                return;
            }
        }
        self.observe_other(at, frame.link, frame.bytes, frame.wire_length, to);
    }

    /// Pairs the TCP segment or UDP datagram in an IP packet, if it is of the common kind; returns whether it was.
    #[inline(always)]
    fn observe_common(&mut self, ip: &parse::Ip<'_>, at: Timestamp, to: &mut impl Sink) -> bool {
        if let Some((ports, segment)) = ip.tcp() {
            return self.pairing.observe_tcp(&ip.flow(ports), &segment, at, to);
        }
        if let Some((ports, payload)) = ip.udp(self.key) {
            self.pairing.observe_udp(ip.flow(ports), payload, ip.is_cut(), at, to);
            return true;
        }
        false
    }

    // Takes the parts of the frame, not the frame, so that on the common path it is never stored in memory.
    #[inline(never)]
    fn observe_other(&mut self, at: Timestamp, link: LinkType, bytes: &[u8], wire_length: u32, to: &mut impl Sink) {
        if let Some(packet) = parse::common_packet(link, bytes, self.key) {
            return self.pairing.observe(&packet, at, to);
        }
        match parse::uncommon(link, bytes, wire_length, self.key) {
            Ok(packet) => self.pairing.observe(&packet, at, to),
            Err(reject) => {
                self.frames.reject(reject);
                if reject == Reject::LinkType {
                    self.unknown_link.get_or_insert(link);
                }
            }
        }
    }

    /// The link type of the first frame that was rejected for it.
    pub const fn unknown_link(&self) -> Option<LinkType> {
        self.unknown_link
    }

    /// Whether packets were decoded, but none from or to an address that counts as inside, although some do.
    pub fn is_nobody_inside(&self) -> bool {
        self.frames.decoded() > 0 && self.pairing.is_nobody_inside()
    }

    /// The rules, and what they know of connections.
    pub const fn pairing(&self) -> &Pairing {
        &self.pairing
    }

    /// How many frames were decoded, and how many rejected for which reason.
    pub const fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Number of groups so far, including number 0.
    pub fn groups(&self) -> usize {
        self.pairing.groups().map_or(1, Groups::count)
    }

    /// The name of a group in reports: `all` for number 0 without grouping, `other` with it.
    pub fn group_name(&self, number: u16) -> String {
        self.pairing.groups().map_or_else(|| Series::ALL.to_owned(), |groups| groups.name(number))
    }

    /// Size of the data structures in bytes.
    pub fn state_bytes(&self) -> usize {
        size_of::<Self>() - size_of::<Pairing>() + self.pairing.state_bytes()
    }

    /// What it takes of the memory that it shares with a meter: at most, since with `tcp-ack` it grows by a kilobyte when the
    /// numbers of a flow enter another quarter.
    pub fn overhead(&self) -> Overhead {
        self.pairing.overhead().and(size_of::<Self>() - size_of::<Pairing>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::{Leg, Observation};

    /// An IPv4 packet with a UDP datagram from port 50,000 to 53: a query for the root.
    const QUERY: [u8; 45] = [
        0x45, 0, 0, 45, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc3, 0x50, 0, 53, 0, 25, 0, 0, //
        0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1,
    ];

    fn frame(bytes: &[u8]) -> Frame<'_> {
        let at = Some(Timestamp::from_nanos(5));
        Frame { at, link: LinkType::RAW, bytes, wire_length: bytes.len() as u32 }
    }

    #[test]
    fn frames_are_counted_by_fate() {
        let mut observer = Observer::new(Settings::default());
        let mut seen = Vec::new();
        observer.observe(&frame(&QUERY), &mut |observation| seen.push(observation));
        let [Observation::Request(request)] = seen[..] else { panic!("{seen:?}") };
        assert_eq!((request.at, request.series.matching), (Timestamp::from_nanos(5), Match::Dns));
        assert_eq!((request.series.leg, request.series.group, request.token), (Leg::Both, 0, 0));

        for other in [
            Frame { at: None, ..frame(&QUERY) },
            Frame { wire_length: 45, ..frame(&QUERY[..10]) },
            Frame { link: LinkType(9999), ..frame(&QUERY) },
            Frame { link: LinkType(9998), ..frame(&QUERY) },
        ] {
            observer.observe(&other, &mut |seen| panic!("{seen:?}"));
        }
        let frames = observer.frames();
        assert_eq!((frames.total, frames.decoded()), (5, 1));
        let rejected: Vec<_> = frames.rejected().filter(|&(_, count)| count > 0).collect();
        assert_eq!(rejected, [(Reject::NoTimestamp, 1), (Reject::LinkType, 2), (Reject::TruncatedIp, 1)]);
        assert_eq!(observer.unknown_link(), Some(LinkType(9999)));
    }

    /// Over Ethernet, where datagrams take the short path, and over nothing: what ends before the end of its header is
    /// counted, if it was longer.
    #[test]
    fn cut_queries_are_counted() {
        let mut short = QUERY;
        (short[3], short[25]) = (39, 19);
        for (link, below) in
            [(LinkType::ETHERNET, &[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0][..]), (LinkType::RAW, &[])]
        {
            let mut observer = Observer::new(Settings::default());
            for (query, kept) in [(&QUERY, 45), (&QUERY, 40), (&QUERY, 39), (&short, 39)] {
                let bytes = [below, &query[..kept]].concat();
                observer.observe(&Frame { link, ..frame(&bytes) }, &mut |_| ());
            }
            let (packets, rules) = observer.pairing().cut();
            assert_eq!((packets, rules.collect::<Vec<_>>()), (1, vec![Match::Dns]), "{link:?}");
        }
    }

    #[test]
    fn names_and_sizes() {
        let all = Observer::new(Settings::default());
        assert_eq!((all.groups(), all.group_name(0)), (1, Series::ALL.to_owned()));
        assert_eq!(all.pairing().quic(), None);
        assert!(all.state_bytes() < 2048, "{}", all.state_bytes());

        let group = Some("src".parse().unwrap());
        let mut grouped =
            Observer::new(Settings { group, matches: vec![Match::QuicSpin, Match::Dns], ..Settings::default() });
        grouped.observe(&frame(&QUERY), &mut |_| ());
        assert_eq!((grouped.groups(), grouped.group_name(0)), (2, "other".to_owned()));
        assert_eq!(grouped.group_name(1), "src=10.0.0.1");
        assert_eq!(grouped.pairing().quic(), Some(crate::pair::Quic::default()));
    }

    /// Of every memory an observer holds what it says at most, and all but the rest of a set of its tables.
    #[test]
    fn it_takes_no_more_than_it_says() {
        let cases = [&Match::ALL[..], &[Match::TcpResponse], &[Match::QuicHandshake], &[Match::Dns]];
        for (matches, group) in cases.into_iter().flat_map(|matches| [(matches, None), (matches, Some("server"))]) {
            let group = group.map(|group| group.parse().unwrap());
            let settings = || Settings { matches: matches.to_vec(), group, max_groups: 9, ..Settings::default() };
            let of = |memory| Observer::new(Settings { memory, ..settings() });
            for memory in [8 << 10, 100_000, 64 << 20, 1 << 40] {
                let (observer, other) = (of(memory), of(1 << 20));
                let (held, most) = (observer.state_bytes(), observer.overhead().of(memory));
                assert_eq!(other.overhead(), observer.overhead(), "{matches:?}");
                assert!(held <= most && most - held < 2 * 96 + 32 + 4_096, "{matches:?} {memory}: {held} of {most}");
            }
        }
    }
}
