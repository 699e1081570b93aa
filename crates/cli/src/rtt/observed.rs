use dwell_logs::EventLog;
use dwell_observe::{Frames, Observer};
use dwell_report::rtt::{Flow, Quic};
use dwell_sketch::distribution::Ambiguous;
use dwell_sketch::reuse::Reuse;
use dwell_sketch::top_flows::TopFlows;

/// Where the observations came from.
pub(super) enum Observed<'a> {
    /// Packets, with the largest flows if requested.
    Packets(&'a Observer, Option<&'a TopFlows>),
    /// A log, with how often its ids are reused.
    Events(&'a EventLog, &'a Reuse),
}

impl Observed<'_> {
    pub(super) fn group_name(&self, number: u16) -> String {
        match self {
            Self::Packets(observer, _) => observer.group_name(number),
            Self::Events(events, _) => events.group_name(number),
        }
    }

    pub(super) fn frames(&self) -> Option<Frames> {
        match self {
            Self::Packets(observer, _) => Some(*observer.frames()),
            Self::Events(..) => None,
        }
    }

    /// Whether no packet that may be a response was passed over.
    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Packets(observer, _) => observer.pairing().evicted_handshakes() == 0,
            Self::Events(..) => true,
        }
    }

    pub(super) fn quic(&self) -> Option<Quic> {
        let Self::Packets(observer, _) = self else { return None };
        let quic = observer.pairing().quic()?;
        Some(Quic {
            connections: quic.connections,
            spinning: quic.spinning,
            not_spinning: quic.not_spinning,
            undecided: quic.undecided,
            evicted: quic.evicted,
            unknown_packets: quic.unknown_packets,
        })
    }

    /// How many exchanges share an id, on average over exchanges. Ids of packets are unique.
    pub(super) fn exchanges_per_id(&self) -> f64 {
        match self {
            Self::Packets(..) => 1.0,
            Self::Events(_, reuse) => reuse.per_exchange().unwrap_or(1.0),
        }
    }

    pub(super) fn state_bytes(&self) -> usize {
        match self {
            Self::Packets(observer, flows) => observer.state_bytes() + flows.map_or(0, TopFlows::state_bytes),
            Self::Events(events, _) => events.state_bytes() + size_of::<Reuse>(),
        }
    }

    pub(super) fn flows(&self, most: usize, ambiguous: Ambiguous) -> Vec<Flow> {
        match self {
            Self::Packets(_, Some(flows)) => flows.answers(most, ambiguous).iter().map(Flow::new).collect(),
            Self::Packets(_, None) | Self::Events(..) => Vec::new(),
        }
    }
}
