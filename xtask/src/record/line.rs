//! The delay line: forwards every frame through the middle, delays it as planned, and logs what really happened.
//!
//! One thread, four packet sockets. A frame from the clients waits in stage near-out, crosses the point of observation
//! (sent on `point-near`, received on `point-far`), waits in far-out, and goes to the servers; the other way likewise.
//! Frames of one flow leave a stage in order of arrival, unless the plan lets one be overtaken. A frame's time of
//! arrival is the kernel's timestamp, not the time when this thread reads it.

use super::headers::{self, Headers};
use super::now_ns;
use super::plan::{Judge, Plan, Rule, Stage, Verdict};
use super::queue::Queues;
use anyhow::{Context, Result, bail, ensure};
use dwell_types::FlowKey;
use nix::cmsg_space;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvmsg, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeSpec, TimeValLike};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The log of one frame's way through the middle.
#[derive(Clone, Debug)]
pub(crate) struct Journey {
    /// The first [`HEAD`] bytes.
    pub(crate) head: Vec<u8>,
    /// Bytes on the wire.
    pub(crate) length: usize,
    /// Whether it came from the clients.
    pub(crate) outward: bool,
    /// Time of receipt from its host, by the kernel's timestamp; nanoseconds since the epoch.
    pub(crate) entered_ns: i64,
    /// The decision on entering.
    pub(crate) first: Verdict,
    /// When it was sent across the point of observation; `None` if dropped before.
    pub(crate) point: Option<Sent>,
    /// When it was received beyond the point.
    pub(crate) crossed_ns: Option<i64>,
    /// The decision beyond the point.
    pub(crate) second: Option<Verdict>,
    /// When it was sent to its destination; `None` if dropped on the way.
    pub(crate) left: Option<Sent>,
}

/// A frame was handed to the kernel between two clock readings, after `after_ns` and before `before_ns` (epoch time).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// When it was due: the time of receipt plus the drawn delay, or when the previous frame of its flow was due, if
    /// later.
    pub(crate) due_ns: i64,
    pub(crate) after_ns: i64,
    pub(crate) before_ns: i64,
}

impl Sent {
    /// The best estimate of the time of sending: the middle.
    pub(crate) fn at_ns(self) -> i64 {
        self.after_ns + self.error_ns()
    }

    /// The largest possible error of [`Sent::at_ns`].
    pub(crate) fn error_ns(self) -> i64 {
        (self.before_ns - self.after_ns) / 2
    }
}

impl Journey {
    /// The frame's headers, if it could be parsed.
    pub(crate) fn headers(&self) -> Option<Headers> {
        headers::parse(&self.head)
    }
}

/// The number of first bytes that are kept of a frame.
pub(crate) const HEAD: usize = 256;

const INTERFACES: [&str; 4] = ["to-client", "point-near", "point-far", "to-server"];
const TO_CLIENT: usize = 0;
const POINT_NEAR: usize = 1;
const POINT_FAR: usize = 2;
const TO_SERVER: usize = 3;

/// A waiting frame. Ordered by release time, then by arrival.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due_ns: i64,
    arrival: u64,
    journey: usize,
    /// Index of the interface on which it leaves.
    exit: usize,
    bytes: Vec<u8>,
}

struct Line {
    sockets: Vec<OwnedFd>,
    judge: Judge,
    queues: Queues,
    journeys: Vec<Journey>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    arrivals: u64,
    /// Release time of the last frame of each flow, per stage.
    last_due: HashMap<(Stage, FlowKey), i64>,
    /// Journeys in transit through the veth pair of the point, by the interface on which they will be received.
    crossing: [VecDeque<usize>; 4],
}

/// Runs on the current host until `stop` is set. Frames that are still waiting then are not sent.
pub(crate) fn run(plan: Plan, ready: &AtomicBool, stop: &AtomicBool) -> Result<Vec<Journey>> {
    // The kernel may otherwise delay our wake-ups by up to 50 µs.
    nix::sys::prctl::set_timerslack(1).context("cannot set the timer slack")?;
    let mut line = Line {
        sockets: INTERFACES.iter().map(|name| open(name)).collect::<Result<_>>()?,
        queues: Queues::new(plan.bottleneck),
        judge: Judge::new(plan),
        journeys: Vec::new(),
        waiting: BinaryHeap::new(),
        arrivals: 0,
        last_due: HashMap::new(),
        crossing: Default::default(),
    };
    ready.store(true, Ordering::Release);
    while !stop.load(Ordering::Acquire) {
        line.release()?;
        for interface in line.wait()? {
            line.receive(interface)?;
        }
    }
    Ok(line.journeys)
}

fn open(interface: &str) -> Result<OwnedFd> {
    let address = getifaddrs()
        .context("cannot list the interfaces")?
        .filter(|entry| entry.interface_name == interface)
        .find_map(|entry| entry.address?.as_link_addr().copied())
        .with_context(|| format!("no interface {interface}"))?;
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll)
        .context("cannot open a packet socket")?;
    setsockopt(&socket, sockopt::RcvBufForce, &(32 << 20)).context("cannot enlarge the receive buffer")?;
    setsockopt(&socket, sockopt::RxqOvfl, &1).context("cannot ask for drop counts")?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).context("cannot ask for times of receipt")?;
    bind(socket.as_raw_fd(), &address).with_context(|| format!("cannot bind to {interface}"))?;
    Ok(socket)
}

impl Line {
    /// Sends everything that is due.
    fn release(&mut self) -> Result<()> {
        loop {
            let after_ns = now_ns()?;
            let Some(next) = self.waiting.peek_mut().filter(|next| next.0.due_ns <= after_ns) else { return Ok(()) };
            let frame = std::collections::binary_heap::PeekMut::pop(next).0;
            send(self.sockets[frame.exit].as_raw_fd(), &frame.bytes, MsgFlags::empty())
                .with_context(|| format!("cannot send {} bytes on {}", frame.bytes.len(), INTERFACES[frame.exit]))?;
            let sent = Some(Sent { due_ns: frame.due_ns, after_ns, before_ns: now_ns()? });
            match frame.exit {
                POINT_NEAR => self.crossing[POINT_FAR].push_back(frame.journey),
                POINT_FAR => self.crossing[POINT_NEAR].push_back(frame.journey),
                _ => {
                    self.journeys[frame.journey].left = sent;
                    continue;
                }
            }
            self.journeys[frame.journey].point = sent;
        }
    }

    /// Sleeps until a frame is due or arrives; returns the interfaces with frames to read.
    fn wait(&self) -> Result<Vec<usize>> {
        const LONGEST_NS: i64 = 50_000_000;
        let until_due = match self.waiting.peek() {
            Some(next) => (next.0.due_ns - now_ns()?).clamp(0, LONGEST_NS),
            None => LONGEST_NS,
        };
        let mut sets: Vec<PollFd<'_>> =
            self.sockets.iter().map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN)).collect();
        match ppoll(&mut sets, Some(TimeSpec::nanoseconds(until_due)), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => bail!("cannot wait for frames: {error}"),
        }
        Ok((0..sets.len()).filter(|&i| sets[i].any() == Some(true)).collect())
    }

    /// Reads one frame from an interface, if there is one.
    fn receive(&mut self, interface: usize) -> Result<()> {
        let mut bytes = vec![0; 65_536];
        let mut control = cmsg_space!(u32, TimeSpec);
        let mut buffers = [IoSliceMut::new(&mut bytes)];
        let descriptor = self.sockets[interface].as_raw_fd();
        let message = match recvmsg::<LinkAddr>(descriptor, &mut buffers, Some(&mut control), MsgFlags::MSG_DONTWAIT) {
            Ok(message) => message,
            Err(nix::errno::Errno::EAGAIN) => return Ok(()),
            Err(error) => bail!("cannot receive on {}: {error}", INTERFACES[interface]),
        };
        let mut at_ns = None;
        for note in message.cmsgs().context("a control message is cut")? {
            match note {
                ControlMessageOwned::RxqOvfl(lost) => {
                    ensure!(lost == 0, "the kernel dropped {lost} frames of {}", INTERFACES[interface]);
                }
                ControlMessageOwned::ScmTimestampns(at) => at_ns = Some(at.num_nanoseconds()),
                _ => {}
            }
        }
        // Frames that we sent are also shown to the socket: ignore them.
        const PACKET_OUTGOING: u8 = 4;
        let length = message.bytes;
        if message.address.is_some_and(|address| address.pkttype() == PACKET_OUTGOING) {
            return Ok(());
        }
        bytes.truncate(length);
        self.accept(interface, bytes, at_ns.context("the kernel does not say when a frame came")?)
    }

    /// Decides on a received frame and queues it.
    fn accept(&mut self, interface: usize, bytes: Vec<u8>, at_ns: i64) -> Result<()> {
        let (stage, exit) = match interface {
            TO_CLIENT => (Stage::NearOut, POINT_NEAR),
            POINT_FAR => (Stage::FarOut, TO_SERVER),
            TO_SERVER => (Stage::FarBack, POINT_FAR),
            _ => (Stage::NearBack, TO_CLIENT),
        };
        let headers = headers::parse(&bytes);
        let verdict = self.queues.pass(stage, at_ns, bytes.len(), self.judge.judge(stage, headers.as_ref()));
        let head = &bytes[..bytes.len().min(HEAD)];
        let journey = match stage {
            Stage::NearOut | Stage::FarBack => {
                self.journeys.push(Journey {
                    head: head.to_vec(),
                    length: bytes.len(),
                    outward: stage == Stage::NearOut,
                    entered_ns: at_ns,
                    first: verdict,
                    point: None,
                    crossed_ns: None,
                    second: None,
                    left: None,
                });
                self.journeys.len() - 1
            }
            Stage::FarOut | Stage::NearBack => {
                let journey =
                    self.crossing[interface].pop_front().context("a frame crossed the point that was not sent")?;
                let entry = &mut self.journeys[journey];
                ensure!(entry.head == head, "frames crossed the point out of order");
                entry.crossed_ns = Some(at_ns);
                entry.second = Some(verdict);
                journey
            }
        };
        if verdict.rule.drops() {
            return Ok(());
        }
        let mut due_ns = at_ns + verdict.hold_ns;
        if let Some(headers) = headers
            && verdict.rule != Rule::Overtaken
        {
            let last = self.last_due.entry((stage, headers.flow)).or_insert(due_ns);
            due_ns = due_ns.max(*last);
            *last = due_ns;
        }
        self.arrivals += 1;
        self.waiting.push(Reverse(Waiting { due_ns, arrival: self.arrivals, journey, exit, bytes }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::headers::{ACK, SYN, Segment, tests::tcp};
    use crate::record::plan::{Delay, Handshakes};

    fn line(handshakes: Handshakes) -> Line {
        let delay = Delay { flow_median_us: 1e3, flow_sigma: 0.5, jitter_median_us: 1e3, jitter_sigma: 2.0 };
        let (far, bottleneck) = ([delay; 3], None);
        let plan = Plan { seed: 1, near: delay, far, loss: 0.0, dns_loss: 0.0, handshakes, bottleneck };
        Line {
            sockets: Vec::new(),
            queues: Queues::new(None),
            judge: Judge::new(plan),
            journeys: Vec::new(),
            waiting: BinaryHeap::new(),
            arrivals: 0,
            last_due: HashMap::new(),
            crossing: Default::default(),
        }
    }

    fn frame(port: u16, sequence: u32, flags: u8) -> Vec<u8> {
        let segment = Segment { sequence, acknowledgement: 0, flags, payload_length: 0, timestamps: None, dns: None };
        tcp((0x0a0a_0001, port), (0x0a14_0101, 80), &segment)
    }

    /// The journeys in the order of their release.
    fn order(mut line: Line) -> Vec<usize> {
        std::iter::from_fn(|| line.waiting.pop().map(|next| next.0.journey)).collect()
    }

    /// Jitter of σ = 2 would reorder frames that arrive 10 µs apart: it must not within a flow, but does between flows.
    #[test]
    fn frames_of_one_flow_keep_their_order() {
        let mut line = line(Handshakes::default());
        for number in 0..200 {
            line.accept(TO_CLIENT, frame(number as u16 % 2, number, ACK), i64::from(number) * 10_000).unwrap();
        }
        let order = order(line);
        assert_eq!(order.len(), 200);
        for flow in 0..2 {
            assert!(order.iter().filter(|&&journey| journey % 2 == flow).is_sorted());
        }
        assert!(!order.is_sorted());
    }

    #[test]
    fn a_held_syn_holds_the_next_and_an_overtaken_one_does_not() {
        let far = |handshakes| {
            let mut line = line(handshakes);
            for (number, at_ns) in [0, 1_000_000_000].into_iter().enumerate() {
                line.accept(TO_CLIENT, frame(1, 7, SYN), at_ns).unwrap();
                // Stands for release, which sends a frame across the point.
                line.waiting.clear();
                line.crossing[POINT_FAR].push_back(number);
            }
            for at_ns in [10_000_000, 1_010_000_000] {
                line.accept(POINT_FAR, frame(1, 7, SYN), at_ns).unwrap();
            }
            order(line)
        };
        assert_eq!(far(Handshakes { syn_held: 1.0, ..Handshakes::default() }), [0, 1]);
        assert_eq!(far(Handshakes { syn_overtaken: 1.0, ..Handshakes::default() }), [1, 0]);
        assert_eq!(far(Handshakes { syn_lost_beyond: 1.0, ..Handshakes::default() }), [1]);
    }

    #[test]
    fn what_comes_out_must_have_gone_in() {
        let mut line = line(Handshakes::default());
        assert!(line.accept(POINT_FAR, frame(1, 1, ACK), 0).is_err());
        line.accept(TO_CLIENT, frame(1, 1, ACK), 0).unwrap();
        line.crossing[POINT_FAR].push_back(0);
        assert!(line.accept(POINT_FAR, frame(1, 2, ACK), 0).is_err());
    }
}
