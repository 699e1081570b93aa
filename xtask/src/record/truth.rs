//! The results that a meter at the point of observation should find, from the delay line's own log.
//!
//! Times are when the line itself sent the frames across the point, not the capture's. Which of several identical
//! requests was answered is not guessed from what the point sees, but known from what the line did with each copy
//! beyond it:
//!
//! - TCP: the copy that reached the far end first, if it did so before the response left there. A SYN-ACK or an
//!   acknowledgement, original or retransmitted, answers that one.
//! - DNS, NTP, ICMP: the last copy to reach the far end before the response left there; each copy has its own answer.
//! - QUIC: one of these, depending on the packet (`quic`).
//!
//! An exchange lasts from the first request with its id to the first response. Later requests with the same id begin
//! another exchange.

use super::headers::{ACK, Dns, FIN, Headers, Message, PSH, RST, SYN, Segment};
use super::line::{Journey, Sent};
use dwell_types::FlowKey;
use std::collections::{BTreeMap, HashMap};

// QUIC.
mod quic;

/// One answered exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The matching rule and the leg, as in the reports of `dwell rtt`.
    pub(crate) rule: Rule,
    /// The request's addresses and ports.
    pub(crate) flow: FlowKey,
    /// When the answered request crossed the point; that of the first request, if none is known to be answered.
    pub(crate) request_ns: i64,
    /// From the answered request to the response; `None` if no copy reached the far end before the response left there.
    pub(crate) delay_ns: Option<i64>,
    /// The largest possible error of `delay_ns`: half the time that the line took to send both frames.
    pub(crate) error_ns: i64,
    /// From the first request of the exchange to the response.
    pub(crate) since_first_ns: i64,
    /// From its last request to the response.
    pub(crate) since_last_ns: i64,
    /// Number of requests in the exchange. Packets of QUIC that were sent at once are one.
    pub(crate) requests: usize,
    /// Number of earlier exchanges with this id.
    pub(crate) earlier: u32,
    /// Frame numbers of the request and the response, in order of crossing the point, from 1.
    pub(crate) frames: (usize, usize),
}

/// A matching rule and leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// SYN → SYN-ACK.
    Beyond,
    /// SYN-ACK → the client's first segment after the SYN that acknowledges it.
    Before,
    /// SYN → the client's first segment after the SYN, if it acknowledges.
    Sum,
    /// Segment with payload, SYN or FIN → first segment with ACK set that acknowledges exactly its end, RST included.
    Ack,
    /// First segment with a new TSval that takes sequence space → first segment that echoes it.
    Ts,
    /// A client's segment with payload and PSH → the server's first segment with payload that acknowledges exactly its end and
    /// begins where the request's acknowledgement ends.
    Response,
    /// First SYN → first FIN or RST from either side.
    Flow,
    /// Query → response, UDP or TCP.
    Dns,
    /// Client packet → server packet whose origin timestamp is the client's transmit timestamp.
    Ntp,
    /// Echo request → echo reply.
    Echo,
    /// A QUIC client's Initial packet → the server's first packet.
    QuicBeyond,
    /// The server's hello or Retry → the client's next packet.
    QuicBefore,
    /// A client's Initial packet → the same.
    QuicSum,
}

impl Rule {
    /// Names of the match and the leg.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Beyond => ("tcp-handshake", "beyond"),
            Self::Before => ("tcp-handshake", "before"),
            Self::Sum => ("tcp-handshake", "sum"),
            Self::Ack => ("tcp-ack", "both"),
            Self::Ts => ("tcp-ts", "both"),
            Self::Response => ("tcp-response", "both"),
            Self::Flow => ("tcp-flow", "both"),
            Self::Dns => ("dns", "both"),
            Self::Ntp => ("ntp", "both"),
            Self::Echo => ("icmp-echo", "both"),
            Self::QuicBeyond => ("quic-handshake", "beyond"),
            Self::QuicBefore => ("quic-handshake", "before"),
            Self::QuicSum => ("quic-handshake", "sum"),
        }
    }

    /// Which of several identical requests is answered.
    fn answered(self, open: &[Copy], left_ns: i64) -> Option<usize> {
        match self {
            // By definition the first request, whatever happened to it.
            Self::Ts | Self::Flow => Some(0),
            Self::Dns | Self::Ntp | Self::Echo => {
                let arrivals = open.iter().zip(0..).filter_map(|(copy, at)| Some((arrived_ns(copy, left_ns)?, at)));
                arrivals.max().map(|(_, at)| at)
            }
            _ => arrived_first(open, left_ns, |_| true),
        }
    }

    /// Whether several frames may be one request.
    fn has_flights(self) -> bool {
        matches!(self, Self::QuicBeyond | Self::QuicBefore | Self::QuicSum)
    }
}

/// Counts of one rule's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Requests seen at the point.
    pub(crate) requests: usize,
    /// Requests that repeat an open one.
    pub(crate) repeats: usize,
    /// Exchanges answered.
    pub(crate) answered: usize,
}

/// The exchanges in the order of the responses, and the counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    pub(crate) rows: Vec<Row>,
    pub(crate) counts: BTreeMap<Rule, Count>,
}

/// One copy of a request.
#[derive(Clone, Copy, Debug)]
struct Copy {
    point: Sent,
    arrived: Option<Sent>,
    frame: usize,
    /// Whether a client sent it.
    outward: bool,
    /// When it left its sender.
    sent_ns: i64,
    /// Of QUIC: hash of the sender's connection id, and how many packets it sent before to the receiver's.
    id: u64,
    number: usize,
    /// Whether it is a request of its own, not part of that before.
    begins: bool,
}

/// Among those that are chosen, the copy that reached the far end first, before the response left there.
fn arrived_first(copies: &[Copy], left_ns: i64, is_chosen: impl Fn(&Copy) -> bool) -> Option<usize> {
    let chosen = copies.iter().zip(0..).filter(|(copy, _)| is_chosen(copy));
    chosen.filter_map(|(copy, at)| Some((arrived_ns(copy, left_ns)?, at))).min().map(|(_, at)| at)
}

/// When a copy reached the far end, if it did before this time.
fn arrived_ns(copy: &Copy, left_ns: i64) -> Option<i64> {
    copy.arrived.map(Sent::at_ns).filter(|&at_ns| at_ns < left_ns)
}

/// What a request has in common with its response: the rule, the request's flow and up to two numbers.
type Id = (Rule, FlowKey, u64, u64);

#[derive(Debug, Default)]
struct Exchanges {
    open: HashMap<Id, Vec<Copy>>,
    closed: HashMap<Id, u32>,
    /// Of QUIC, by the client's flow and id.
    connections: HashMap<(FlowKey, u64), quic::Connection>,
    truth: Truth,
}

/// Matches requests and responses among the frames that crossed the point.
pub(crate) fn truth(journeys: &[Journey]) -> Truth {
    let mut exchanges = Exchanges::default();
    let numbers = quic::numbers(journeys);
    for (frame, (point, index)) in (1..).zip(order(journeys)) {
        let journey = &journeys[index];
        if let Some(headers) = journey.headers() {
            let Journey { left: arrived, entered_ns: sent_ns, outward, .. } = *journey;
            let number = numbers[index];
            exchanges.observe(&headers, Copy { point, arrived, frame, outward, sent_ns, id: 0, number, begins: true });
        }
    }
    exchanges.truth
}

/// The frames that crossed the point, in order.
pub(crate) fn crossings(journeys: &[Journey]) -> Vec<(Sent, &Journey)> {
    order(journeys).into_iter().map(|(point, index)| (point, &journeys[index])).collect()
}

/// The number of each journey's frame in order of crossing the point, from 1; `None` for those that did not cross it.
pub(crate) fn frame_numbers(journeys: &[Journey]) -> Vec<Option<usize>> {
    let mut numbers = vec![None; journeys.len()];
    for (number, (_, index)) in (1..).zip(order(journeys)) {
        numbers[index] = Some(number);
    }
    numbers
}

/// When the journeys that crossed the point did so, and their places in the log, in order of crossing.
fn order(journeys: &[Journey]) -> Vec<(Sent, usize)> {
    let mut order: Vec<_> =
        journeys.iter().zip(0..).filter_map(|(journey, index)| Some((journey.point?, index))).collect();
    order.sort_by_key(|(point, _)| point.after_ns);
    order
}

impl Exchanges {
    /// Handles a frame.
    fn observe(&mut self, headers: &Headers, copy: Copy) {
        let left_ns = copy.sent_ns;
        let (flow, reverse) = (headers.flow, headers.flow.reversed());
        match headers.message {
            Message::Tcp(ref segment) => self.segment(flow, segment, copy, left_ns),
            Message::Dns(dns) => self.dns(flow, dns, copy, left_ns),
            Message::Ntp { mode: 1 | 3, transmit, .. } => self.request((Rule::Ntp, flow, transmit, 0), copy),
            Message::Ntp { mode: 2 | 4, origin, .. } => {
                self.response((Rule::Ntp, reverse, origin, 0), copy, left_ns);
            }
            Message::Echo { reply: false, id, sequence } => {
                self.request((Rule::Echo, flow, u64::from(id), u64::from(sequence)), copy);
            }
            Message::Echo { reply: true, id, sequence } => {
                self.response((Rule::Echo, reverse, u64::from(id), u64::from(sequence)), copy, left_ns);
            }
            Message::Quic(quic) => self.quic(flow, quic, copy),
            Message::Ntp { .. } | Message::Other => {}
        }
    }

    fn segment(&mut self, flow: FlowKey, segment: &Segment, copy: Copy, left_ns: i64) {
        let reverse = flow.reversed();
        let end = u64::from(segment.end());
        let acknowledges = u64::from(segment.acknowledgement);
        let starts = u64::from(segment.sequence);
        // The segment as a response.
        if segment.answers() {
            self.response((Rule::Beyond, reverse, acknowledges, 0), copy, left_ns);
        } else if segment.has(ACK) && !segment.has(RST) {
            self.response((Rule::Before, reverse, acknowledges, starts), copy, left_ns);
            self.response((Rule::Sum, flow, starts, 0), copy, left_ns);
        }
        if segment.has(ACK) {
            self.response((Rule::Ack, reverse, acknowledges, 0), copy, left_ns);
            if let Some((_, echo @ 1..)) = segment.timestamps {
                self.response((Rule::Ts, reverse, u64::from(echo), 0), copy, left_ns);
            }
        }
        let has_data = segment.payload_length > 0 && segment.has(ACK) && !segment.has(SYN | RST);
        if has_data && !copy.outward {
            self.response((Rule::Response, reverse, acknowledges, starts), copy, left_ns);
        }
        if segment.has(FIN | RST) {
            self.response((Rule::Flow, flow.undirected(), 0, 0), copy, left_ns);
        }
        // The segment as a request.
        if segment.opens() {
            self.request((Rule::Beyond, flow, end, 0), copy);
            self.request((Rule::Sum, flow, end, 0), copy);
            self.request((Rule::Flow, flow.undirected(), 0, 0), copy);
        }
        if segment.answers() {
            self.request((Rule::Before, flow, end, acknowledges), copy);
        }
        if (segment.payload_length > 0 || segment.has(SYN | FIN)) && !segment.has(RST) {
            self.request((Rule::Ack, flow, end, 0), copy);
            if let Some((value @ 1.., _)) = segment.timestamps {
                let id = (Rule::Ts, flow, u64::from(value), 0);
                // Only the first segment with this TSval counts.
                if !self.open.contains_key(&id) && !self.closed.contains_key(&id) {
                    self.request(id, copy);
                }
            }
        }
        if has_data && copy.outward && segment.has(PSH) {
            self.request((Rule::Response, flow, end, acknowledges), copy);
        }
        if let Some(dns) = segment.dns {
            self.dns(flow, dns, copy, left_ns);
        }
    }

    fn dns(&mut self, flow: FlowKey, Dns { id, response, question }: Dns, copy: Copy, left_ns: i64) {
        if response {
            self.response((Rule::Dns, flow.reversed(), u64::from(id), question), copy, left_ns);
        } else {
            self.request((Rule::Dns, flow, u64::from(id), question), copy);
        }
    }

    fn request(&mut self, id: Id, copy: Copy) {
        let copies = self.open.entry(id).or_default();
        let is_part = |last: &Copy| id.0.has_flights() && quic::is_part(copy, *last);
        let begins = !copies.last().is_some_and(is_part);
        copies.push(Copy { begins, ..copy });
        let count = self.truth.counts.entry(id.0).or_default();
        count.requests += usize::from(begins);
        count.repeats += usize::from(begins && copies.len() > 1);
    }

    fn response(&mut self, id: Id, response: Copy, left_ns: i64) {
        self.response_to(id, response, |copies| id.0.answered(copies, left_ns));
    }

    /// Handles a response to one of the open copies of a request.
    fn response_to(&mut self, id: Id, response: Copy, answered: impl FnOnce(&[Copy]) -> Option<usize>) {
        let Some(copies) = self.open.remove(&id) else { return };
        let answered = answered(&copies);
        let begins: Vec<&Copy> = copies.iter().filter(|copy| copy.begins).collect();
        // What was sent at once is timed from its first frame.
        let request = copies[(0..=answered.unwrap_or(0)).rev().find(|&at| copies[at].begins).unwrap_or(0)];
        let at = response.point.at_ns();
        let closed = self.closed.entry(id).or_default();
        self.truth.rows.push(Row {
            rule: id.0,
            flow: id.1,
            request_ns: request.point.at_ns(),
            delay_ns: answered.map(|_| at - request.point.at_ns()),
            error_ns: request.point.error_ns() + response.point.error_ns(),
            since_first_ns: at - copies[0].point.at_ns(),
            since_last_ns: at - begins[begins.len() - 1].point.at_ns(),
            requests: begins.len(),
            earlier: *closed,
            frames: (request.frame, response.frame),
        });
        *closed += 1;
        self.truth.counts.entry(id.0).or_default().answered += 1;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::headers::tests::tcp;
    use crate::record::plan::{self, Verdict};

    const CLIENT: (u32, u16) = (0x0a0a_0001, 5000);
    const SERVER: (u32, u16) = (0x0a14_0101, 80);
    pub(crate) const MS: i64 = 1_000_000;

    pub(crate) fn segment(flags: u8, sequence: u32, acknowledgement: u32) -> Segment {
        Segment { sequence, acknowledgement, flags, payload_length: 0, timestamps: None, dns: None }
    }

    /// A segment that entered, crossed and left at these times in milliseconds.
    pub(crate) fn journey(outward: bool, segment: &Segment, entered: i64, crossed: i64, left: Option<i64>) -> Journey {
        let (from, to) = if outward { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        journey_of(outward, tcp(from, to, segment), entered, crossed, left)
    }

    /// The same of any frame.
    pub(crate) fn journey_of(outward: bool, head: Vec<u8>, entered: i64, crossed: i64, left: Option<i64>) -> Journey {
        let sent = |ms: i64| Sent { due_ns: ms * MS, after_ns: ms * MS, before_ns: ms * MS + 200 };
        let verdict = Verdict { hold_ns: 0, rule: plan::Rule::Plain };
        Journey {
            length: head.len(),
            head,
            outward,
            entered_ns: entered * MS,
            first: verdict,
            point: Some(sent(crossed)),
            crossed_ns: Some(crossed * MS),
            second: Some(verdict),
            left: left.map(sent),
        }
    }

    pub(crate) fn of(truth: &Truth, rule: Rule) -> Vec<&Row> {
        truth.rows.iter().filter(|row| row.rule == rule).collect()
    }

    /// The first SYN takes three seconds to arrive and is the one answered, after two more have crossed the point.
    #[test]
    fn a_held_syn_is_answered_first() {
        let syn = segment(SYN, 100, 0);
        let answer = segment(SYN | ACK, 900, 101);
        let acknowledgement = segment(ACK, 101, 901);
        let truth = truth(&[
            journey(true, &syn, 0, 5, Some(3_000)),
            journey(true, &syn, 1_000, 1_005, Some(3_001)),
            journey(true, &syn, 2_000, 2_005, Some(3_002)),
            journey(false, &answer, 3_001, 3_010, Some(3_020)),
            journey(true, &acknowledgement, 3_021, 3_030, Some(3_040)),
        ]);
        let beyond = of(&truth, Rule::Beyond)[0];
        assert_eq!((beyond.delay_ns, beyond.requests), (Some(3_005 * MS), 3));
        assert_eq!((beyond.since_first_ns, beyond.since_last_ns), (3_005 * MS, 1_005 * MS));
        assert_eq!(beyond.error_ns, 200);
        assert_eq!(of(&truth, Rule::Before)[0].delay_ns, Some(20 * MS));
        let sum = of(&truth, Rule::Sum)[0];
        assert_eq!((sum.delay_ns, sum.since_last_ns), (Some(3_025 * MS), 1_025 * MS));
        assert_eq!(sum.frames, (1, 5));
        assert_eq!(truth.counts[&Rule::Beyond], Count { requests: 3, repeats: 2, answered: 1 });
    }

    /// The first SYN is lost beyond the point: the second is the answered one.
    #[test]
    fn a_lost_syn_is_not_answered() {
        let syn = segment(SYN, u32::MAX, 0);
        let answer = segment(SYN | ACK, 900, 0);
        let lost = truth(&[
            journey(true, &syn, 0, 5, None),
            journey(true, &syn, 1_000, 1_005, Some(1_010)),
            journey(false, &answer, 1_011, 1_015, Some(1_020)),
        ]);
        let beyond = of(&lost, Rule::Beyond)[0];
        assert_eq!((beyond.delay_ns, beyond.since_first_ns), (Some(10 * MS), 1_010 * MS));
        assert_eq!(beyond.frames, (2, 3));
        // A second SYN that never arrives after an answered handshake has no answer.
        let again = truth(&[
            journey(true, &syn, 0, 5, Some(10)),
            journey(false, &answer, 11, 15, None),
            journey(true, &syn, 1_000, 1_005, None),
            journey(false, &answer, 1_011, 1_015, Some(1_020)),
        ]);
        let rows = of(&again, Rule::Beyond);
        assert_eq!((rows[0].delay_ns, rows[0].earlier), (Some(10 * MS), 0));
        assert_eq!((rows[1].delay_ns, rows[1].earlier), (None, 1));
    }

    /// Exact acknowledgements across the wrap of the sequence space; a refused connection's RST acknowledges its SYN.
    #[test]
    fn acknowledgements() {
        let data = Segment { payload_length: 10, ..segment(ACK, u32::MAX - 4, 1) };
        let too_little = segment(ACK, 1, 4);
        let exact = segment(ACK, 1, 5);
        let acknowledged = truth(&[
            journey(true, &data, 0, 5, Some(10)),
            journey(false, &too_little, 11, 15, Some(20)),
            journey(false, &exact, 11, 16, Some(20)),
            journey(false, &exact, 11, 17, Some(20)),
        ]);
        let delays: Vec<_> = of(&acknowledged, Rule::Ack).iter().map(|row| row.delay_ns).collect();
        assert_eq!(delays, [Some(11 * MS)]);
        let refused = truth(&[
            journey(true, &segment(SYN, 1, 0), 0, 5, Some(10)),
            journey(false, &segment(RST | ACK, 0, 2), 11, 15, Some(20)),
        ]);
        assert_eq!(of(&refused, Rule::Ack).len(), 1);
        assert_eq!(of(&refused, Rule::Flow).len(), 1);
        assert_eq!(of(&refused, Rule::Beyond).len(), 0);
    }

    /// The server acknowledges a request of two segments, and responds later; the ACK that the client missed is no response, nor
    /// is what follows.
    #[test]
    fn responses_with_data() {
        let part = |flags, sequence| Segment { payload_length: 10, ..segment(ACK | flags, sequence, 900) };
        let answer = |sequence| Segment { payload_length: 5, ..segment(ACK, sequence, 120) };
        let responded = truth(&[
            journey(true, &part(0, 100), 0, 5, Some(10)),
            journey(true, &part(PSH, 110), 1, 6, Some(11)),
            journey(false, &segment(ACK, 900, 120), 12, 15, Some(20)),
            journey(false, &answer(900), 50, 55, Some(60)),
            journey(false, &answer(905), 51, 56, Some(61)),
        ]);
        let rows = of(&responded, Rule::Response);
        assert_eq!(rows.iter().map(|row| (row.delay_ns, row.frames)).collect::<Vec<_>>(), [(Some(49 * MS), (2, 4))]);
        assert_eq!(responded.counts[&Rule::Response], Count { requests: 1, repeats: 0, answered: 1 });
    }
}
