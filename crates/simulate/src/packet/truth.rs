use dwell_types::{Leg, Match, Nanos, Timestamp};

/// An exchange whose request and response passed the observation point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exchange {
    /// The pairing rule: `TcpHandshake`, `TcpAck`, `TcpResponse` or `Dns`.
    pub matching: Match,
    /// `Beyond`, `Before` and `Sum` for handshakes, else `Both`.
    pub leg: Leg,
    /// When the response passed.
    pub at: Timestamp,
    /// Time since the copy of the request passed that was really answered.
    pub delay: Nanos,
    /// Time since the first copy passed; the same if there was only one.
    pub since_first: Nanos,
    /// Time since the last copy passed before the response.
    pub since_last: Nanos,
}

/// Counts of one rule and leg. The remaining requests are unanswered: `requests − repeats − exchanges`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Requests that passed, copies included.
    pub requests: u64,
    /// Copies of a request that had passed before and had not been answered.
    pub repeats: u64,
    /// Requests whose response passed.
    pub exchanges: u64,
}

/// Counts of what passed the point so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Frames.
    pub frames: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Connections that began.
    pub flows: u64,
    /// DNS queries, not counting repetitions.
    pub queries: u64,
    /// SYN → SYN-ACK.
    pub beyond: Line,
    /// SYN-ACK → the client's ACK.
    pub before: Line,
    /// SYN → the client's ACK.
    pub sum: Line,
    /// A segment that takes sequence space → the first that acknowledges exactly its end.
    pub ack: Line,
    /// The last segment of a turn, with PSH → the first segment of the turn that answers it.
    pub response: Line,
    /// DNS query → answer.
    pub dns: Line,
}

impl Line {
    pub(super) fn request(&mut self, repeat: bool) {
        self.requests += 1;
        self.repeats += u64::from(repeat);
    }
}

impl Truth {
    /// The counts of a rule and leg; `None` for those not simulated.
    pub fn line(&self, matching: Match, leg: Leg) -> Option<&Line> {
        match (matching, leg) {
            (Match::TcpHandshake, Leg::Beyond) => Some(&self.beyond),
            (Match::TcpHandshake, Leg::Before) => Some(&self.before),
            (Match::TcpHandshake, Leg::Sum) => Some(&self.sum),
            (Match::TcpAck, Leg::Both) => Some(&self.ack),
            (Match::TcpResponse, Leg::Both) => Some(&self.response),
            (Match::Dns, Leg::Both) => Some(&self.dns),
            _ => None,
        }
    }

    /// Exchanges of all rules and legs.
    pub fn exchanges(&self) -> u64 {
        let lines = [self.beyond, self.before, self.sum, self.ack, self.response, self.dns];
        lines.iter().map(|line| line.exchanges).sum()
    }
}

/// When the copies of a request passed: the one that was answered, the first and the last, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copies {
    pub(super) answered: i64,
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Copies {
    /// A request without copies.
    pub(super) fn one(at: i64) -> Self {
        Self { answered: at, first: at, last: at }
    }
}

/// Records the truth about what passes.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) truth: Truth,
    /// The exchanges that the last frame completed.
    pub(super) answered: Vec<Exchange>,
}

impl Record {
    pub(super) fn exchange(&mut self, matching: Match, leg: Leg, at: i64, request: Copies) {
        let line = match (matching, leg) {
            (Match::Dns, _) => &mut self.truth.dns,
            (Match::TcpAck, _) => &mut self.truth.ack,
            (Match::TcpResponse, _) => &mut self.truth.response,
            (_, Leg::Beyond) => &mut self.truth.beyond,
            (_, Leg::Before) => &mut self.truth.before,
            _ => &mut self.truth.sum,
        };
        line.exchanges += 1;
        self.answered.push(Exchange {
            matching,
            leg,
            at: Timestamp::from_nanos(at),
            delay: Nanos::new(at - request.answered),
            since_first: Nanos::new(at - request.first),
            since_last: Nanos::new(at - request.last),
        });
    }
}
