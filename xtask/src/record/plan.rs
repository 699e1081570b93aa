//! What the delay line does to each frame: how long it holds it, and whether it drops it.
//!
//! Every draw is a seeded hash of the stage, the flow and the frame's number in its flow, so it does not depend on how
//! frames of different flows interleave. The delays are synthetic (lognormal); only the network stacks are real.

use super::headers::{Headers, Message};
use dwell_types::{Address, FlowKey, hash};
use std::collections::HashMap;
use std::f64::consts::TAU;
use std::net::IpAddr;

/// The four segments of the path. The point of observation lies between near and far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// From the clients to the point.
    NearOut,
    /// From the point to the servers.
    FarOut,
    /// From the servers to the point.
    FarBack,
    /// From the point to the clients.
    NearBack,
}

/// The rule that decided a frame's fate in one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The delay of its flow plus its own jitter.
    Plain,
    /// ARP, neighbour discovery and the like: a short fixed delay.
    Control,
    /// Dropped at random.
    Loss,
    /// Dropped as the first SYN or SYN-ACK of a connection selected for that.
    DropFirst,
    /// The first SYN or SYN-ACK of a connection selected for that, held 1.2–4 s, with the flow's later frames behind
    /// it.
    Hold,
    /// The same, but later frames of the flow overtake it.
    Overtaken,
    /// Dropped because the bottleneck's queue was full.
    QueueFull,
}

impl Rule {
    const ALL: [Self; 7] =
        [Self::Plain, Self::Control, Self::Loss, Self::DropFirst, Self::Hold, Self::Overtaken, Self::QueueFull];

    /// The rule of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Control => "control",
            Self::Loss => "loss",
            Self::DropFirst => "drop-first",
            Self::Hold => "hold",
            Self::Overtaken => "overtaken",
            Self::QueueFull => "queue-full",
        }
    }

    /// Whether the frame is dropped.
    pub(crate) fn drops(self) -> bool {
        matches!(self, Self::Loss | Self::DropFirst | Self::QueueFull)
    }
}

/// The fate of a frame in one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Time to hold it, as drawn. Frames of one flow keep their order, so it may become longer, but not shorter.
    pub(crate) hold_ns: i64,
    pub(crate) rule: Rule,
}

/// A lognormal delay per flow, plus lognormal jitter per frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    /// Median over the flows, in microseconds.
    pub(crate) flow_median_us: f64,
    /// Standard deviation of the logarithm over the flows.
    pub(crate) flow_sigma: f64,
    /// Median over the frames, in microseconds.
    pub(crate) jitter_median_us: f64,
    /// Standard deviation of the logarithm over the frames.
    pub(crate) jitter_sigma: f64,
}

/// Shares of the connections whose first SYN or SYN-ACK, or what is its equal in QUIC, is lost, held or overtaken. Their
/// sum is at most 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshakes {
    /// First SYN dropped before the point, which sees only a later SYN.
    pub(crate) syn_lost_before: f64,
    /// First SYN dropped beyond the point, which sees two; the second is answered.
    pub(crate) syn_lost_beyond: f64,
    /// First SYN-ACK dropped beyond the point, which sees two SYNs before an answer.
    pub(crate) answer_lost_beyond: f64,
    /// First SYN-ACK dropped between the point and the client: the point sees both twice.
    pub(crate) answer_lost_before: f64,
    /// First SYN held beyond the point; later ones wait behind it.
    pub(crate) syn_held: f64,
    /// First SYN-ACK held beyond the point; later ones wait behind it.
    pub(crate) answer_held: f64,
    /// First SYN held beyond the point and overtaken by the second.
    pub(crate) syn_overtaken: f64,
}

/// A link that sends one frame after another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bottleneck {
    pub(crate) bits_per_second: i64,
    /// How long a frame may wait for those in front of it; one that would have to wait longer is dropped.
    pub(crate) longest_wait_ns: i64,
}

/// The parameters of one recording.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Between the clients and the point, in each direction.
    pub(crate) near: Delay,
    /// Between the point and the three servers, in each direction.
    pub(crate) far: [Delay; 3],
    /// Probability that a stage drops an IP frame.
    pub(crate) loss: f64,
    /// Additional loss probability for DNS over UDP.
    pub(crate) dns_loss: f64,
    pub(crate) handshakes: Handshakes,
    /// The link between the point and the servers, in each direction; `None` for unlimited capacity.
    pub(crate) bottleneck: Option<Bottleneck>,
}

/// Applies a plan to frames.
#[derive(Debug)]
pub(crate) struct Judge {
    plan: Plan,
    /// Number of frames so far, per stage and flow.
    frames: HashMap<(Stage, FlowKey), u64>,
    /// Number of SYNs or SYN-ACKs so far, per stage and flow.
    opening: HashMap<(Stage, FlowKey), u64>,
}

/// The delay of frames that the plan does not cover.
const CONTROL_NS: i64 = 100_000;

impl Judge {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, frames: HashMap::new(), opening: HashMap::new() }
    }

    /// Decides on the next frame that enters a stage.
    pub(crate) fn judge(&mut self, stage: Stage, headers: Option<&Headers>) -> Verdict {
        let Some(headers) = headers.filter(|h| !is_control(h)) else {
            return Verdict { hold_ns: CONTROL_NS, rule: Rule::Control };
        };
        let flow = headers.flow;
        let count = self.frames.entry((stage, flow)).or_default();
        let number = *count;
        *count += 1;
        if let Some(is_syn) = is_syn(&headers.message) {
            let count = self.opening.entry((stage, flow)).or_default();
            *count += 1;
            if *count == 1
                && let Some(verdict) = self.first_of_handshake(stage, is_syn, flow)
            {
                return verdict;
            }
        }
        let loss = match headers.message {
            Message::Dns(_) => self.plan.loss + self.plan.dns_loss,
            _ => self.plan.loss,
        };
        if self.uniform(&[1, stage as u64, number], flow) < loss {
            return Verdict { hold_ns: 0, rule: Rule::Loss };
        }
        Verdict { hold_ns: self.draw(stage, flow, number), rule: Rule::Plain }
    }

    /// The verdict on the first SYN or SYN-ACK in this stage, if its connection is selected for special treatment.
    fn first_of_handshake(&self, stage: Stage, is_syn: bool, flow: FlowKey) -> Option<Verdict> {
        let shares = &self.plan.handshakes;
        let choices = [
            (shares.syn_lost_before, true, Stage::NearOut, Rule::DropFirst),
            (shares.syn_lost_beyond, true, Stage::FarOut, Rule::DropFirst),
            (shares.answer_lost_beyond, false, Stage::FarBack, Rule::DropFirst),
            (shares.answer_lost_before, false, Stage::NearBack, Rule::DropFirst),
            (shares.syn_held, true, Stage::FarOut, Rule::Hold),
            (shares.answer_held, false, Stage::FarBack, Rule::Hold),
            (shares.syn_overtaken, true, Stage::FarOut, Rule::Overtaken),
        ];
        let mut lot = self.uniform(&[2], flow.undirected());
        for (share, for_syn, at, rule) in choices {
            if lot < share {
                let hold_s = 1.2 + 2.8 * self.uniform(&[3], flow.undirected());
                let hold_ns = if rule.drops() { 0 } else { whole_micros(hold_s * 1e6) };
                return (for_syn == is_syn && at == stage).then_some(Verdict { hold_ns, rule });
            }
            lot -= share;
        }
        None
    }

    fn draw(&self, stage: Stage, flow: FlowKey, number: u64) -> i64 {
        let delay = match stage {
            Stage::NearOut | Stage::NearBack => self.plan.near,
            Stage::FarOut => self.plan.far[region(flow.destination)],
            Stage::FarBack => self.plan.far[region(flow.source)],
        };
        let of_flow = delay.flow_median_us * (delay.flow_sigma * self.normal(&[4, stage as u64], flow)).exp();
        let of_frame =
            delay.jitter_median_us * (delay.jitter_sigma * self.normal(&[5, stage as u64, number], flow)).exp();
        whole_micros(of_flow + of_frame)
    }

    /// A uniform draw on [0, 1).
    fn uniform(&self, words: &[u64], flow: FlowKey) -> f64 {
        let state = words.iter().fold(hash::start(self.plan.seed), |state, &word| hash::absorb(state, word));
        hash::unit(hash::finish(flow.absorb(state)))
    }

    /// A standard normal draw.
    fn normal(&self, words: &[u64], flow: FlowKey) -> f64 {
        normal([100, 101].map(|word| self.uniform(&[words, &[word]].concat(), flow)))
    }
}

/// A standard normal draw from two uniform ones on [0, 1), by Box and Muller.
pub(crate) fn normal([radius, angle]: [f64; 2]) -> f64 {
    (-2.0 * (1.0 - radius).ln()).sqrt() * (TAU * angle).cos()
}

/// Microseconds, rounded, as nanoseconds: whole microseconds keep the frame log small.
fn whole_micros(micros: f64) -> i64 {
    micros.round() as i64 * 1_000
}

/// Whether a message is a SYN (true) or a SYN-ACK (false), or its equal in QUIC: an Initial packet of the client, or an
/// Initial or Retry packet of the server.
fn is_syn(message: &Message) -> Option<bool> {
    match message {
        Message::Tcp(segment) => (segment.opens() || segment.answers()).then_some(segment.opens()),
        Message::Quic(quic) => quic.opens().then_some(quic.is_of_client),
        _ => None,
    }
}

/// Neighbour discovery, multicast listener reports and other ICMPv6 that is not an echo.
fn is_control(headers: &Headers) -> bool {
    headers.message == Message::Other && headers.flow.protocol != dwell_types::protocol::UDP
}

/// The server that an address belongs to: `10.20.r.0/24` and `fd00:20:r::/48`, r from 1.
fn region(address: Address) -> usize {
    let number = match IpAddr::from(address) {
        IpAddr::V4(v4) => u16::from(v4.octets()[2]),
        IpAddr::V6(v6) => v6.segments()[2],
    };
    usize::from(number.clamp(1, 3) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::headers::{ACK, Quic, QuicPacket, SYN, Segment};

    fn plan() -> Plan {
        let delay = Delay { flow_median_us: 5_000.0, flow_sigma: 0.5, jitter_median_us: 300.0, jitter_sigma: 1.0 };
        let far = [5e3, 2e4, 6e4].map(|flow_median_us| Delay { flow_median_us, ..delay });
        let handshakes = Handshakes::default();
        Plan { seed: 1, near: delay, far, loss: 0.0, dns_loss: 0.0, handshakes, bottleneck: None }
    }

    fn headers(port: u16, flags: u8) -> Headers {
        let flow = FlowKey {
            source: Address::v4(0x0a0a_0001),
            destination: Address::v4(0x0a14_0201),
            source_port: port,
            destination_port: 80,
            protocol: dwell_types::protocol::TCP,
        };
        let (sequence, acknowledgement) = (1, 1);
        let segment = Segment { sequence, acknowledgement, flags, payload_length: 0, timestamps: None, dns: None };
        Headers { flow, message: Message::Tcp(segment) }
    }

    /// Over 4,000 flows the median of a lognormal with σ = .5 lies within 4% (5 standard errors, 1.25 · .5/√4000 = 1%
    /// each) of its parameter, here plus jitter of .3 ms, which adds .3 to .5.
    #[test]
    fn delays_have_the_planned_median() {
        let mut judge = Judge::new(plan());
        let mut draw = |stage| {
            let mut draws: Vec<i64> =
                (0..4_000).map(|port| judge.judge(stage, Some(&headers(port, ACK))).hold_ns).collect();
            draws.sort_unstable();
            draws[2_000] as f64 / 1e6
        };
        let near = draw(Stage::NearOut);
        let far = draw(Stage::FarOut);
        assert!((5.1..5.8).contains(&near), "{near} ms");
        assert!((19.5..21.3).contains(&far), "{far} ms");
    }

    /// Of 4,000 connections, share .2: 800 ± 25; the bounds are five standard deviations either way.
    #[test]
    fn only_the_first_syn_of_the_chosen_is_held() {
        let handshakes = Handshakes { syn_held: 0.2, answer_held: 0.3, ..Handshakes::default() };
        let mut judge = Judge::new(Plan { handshakes, ..plan() });
        let (mut held, mut again) = (0, 0);
        for port in 0..4_000 {
            let syn = headers(port, SYN);
            assert_eq!(judge.judge(Stage::NearOut, Some(&syn)).rule, Rule::Plain);
            let first = judge.judge(Stage::FarOut, Some(&syn));
            if first.rule == Rule::Hold {
                assert!((1_200_000_000..=4_000_000_000).contains(&first.hold_ns));
                held += 1;
            }
            again += u32::from(judge.judge(Stage::FarOut, Some(&syn)).rule != Rule::Plain);
        }
        assert!((675..925).contains(&held), "{held} held");
        assert_eq!(again, 0);
    }

    /// Packets of QUIC that open a handshake, and only these, are dropped as SYNs are.
    #[test]
    fn the_first_initial_packet_of_the_chosen_is_dropped() {
        let quic = |packet, is_of_client| {
            let message = Message::Quic(Quic { packet, is_of_client, destination: 1, source: 2, length: 1200 });
            Headers { message, ..headers(7, 0) }
        };
        let mut judge =
            Judge::new(Plan { handshakes: Handshakes { answer_lost_beyond: 1.0, ..Handshakes::default() }, ..plan() });
        let mut rule = |packet, of_client| judge.judge(Stage::FarBack, Some(&quic(packet, of_client))).rule;
        assert_eq!(rule(QuicPacket::Handshake, false), Rule::Plain);
        assert_eq!(rule(QuicPacket::Initial, false), Rule::DropFirst);
        assert_eq!(rule(QuicPacket::Initial, false), Rule::Plain);
        assert_eq!(is_syn(&quic(QuicPacket::Initial, true).message), Some(true));
        assert_eq!(is_syn(&quic(QuicPacket::Retry, false).message), Some(false));
    }

    #[test]
    fn draws_repeat_and_depend_on_the_seed() {
        let draw = |seed| Judge::new(Plan { seed, ..plan() }).judge(Stage::NearOut, Some(&headers(7, ACK)));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
