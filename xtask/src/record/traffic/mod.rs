//! The traffic: real servers and clients on real stacks. Only what they send, and when, is generated.

use super::host::Daemon;
use super::plan::normal;
use anyhow::Result;
use dwell_types::hash;
use std::thread::JoinHandle;
use std::time::Duration;

mod dns;
mod icmp;
mod ntp;
mod quic;
mod tcp;

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// This many connections, over this time.
    Tcp(u64),
    /// Long transfers, so that queues grow.
    Transfers,
    /// Clients of dnsmasq, over about this time.
    Dns,
    /// The same without dig, which sends most queries.
    FewDns,
    /// Clients of chronyd.
    Ntp,
    /// This many connections of QUIC, over this time.
    Quic(u64),
    /// ping and ping -6, with this time between echoes.
    Icmp(Duration),
}

/// The running servers, stopped on drop.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    daemons: Vec<Daemon>,
    tcp: Option<tcp::Server>,
}

impl Servers {
    /// Starts the servers needed for this traffic.
    pub(crate) fn start(kinds: &[Kind], scratch: &std::path::Path) -> Result<Self> {
        let mut servers = Self::default();
        for kind in kinds {
            match kind {
                Kind::Tcp(_) => servers.tcp = Some(tcp::Server::start()?),
                Kind::Dns | Kind::FewDns => servers.daemons.push(dns::server()?),
                Kind::Ntp => servers.daemons.push(ntp::server(scratch)?),
                Kind::Quic(_) => servers.daemons.push(quic::server(scratch)?),
                // These need no server of their own: the TCP server and the kernel answer them.
                Kind::Transfers | Kind::Icmp(_) => {}
            }
        }
        Ok(servers)
    }
}

/// Starts the clients; they are finished when all threads are.
pub(crate) fn clients(
    kind: Kind,
    seed: u64,
    span: Duration,
    scratch: &std::path::Path,
) -> Result<Vec<JoinHandle<Result<()>>>> {
    match kind {
        Kind::Tcp(connections) => Ok(tcp::clients(connections, seed, span)),
        Kind::Transfers => Ok(tcp::transfers(span)),
        Kind::Dns => Ok([dns::lists(seed, span, scratch)?, dns::clients(seed, span)].into_iter().flatten().collect()),
        Kind::FewDns => Ok(dns::clients(seed, span)),
        Kind::Ntp => Ok(ntp::clients(span, scratch)),
        Kind::Quic(connections) => quic::clients(connections, seed, span, scratch),
        Kind::Icmp(pause) => Ok(icmp::clients(span, pause)),
    }
}

/// A sequence of seeded draws.
#[derive(Clone, Copy, Debug)]
struct Draws {
    start: u64,
    count: u64,
}

impl Draws {
    fn new(seed: u64, stream: u64) -> Self {
        Self { start: hash::absorb(hash::start(seed), stream), count: 0 }
    }

    /// A uniform draw on [0, 1).
    fn uniform(&mut self) -> f64 {
        self.count += 1;
        hash::unit(hash::word(self.start, self.count))
    }

    /// A uniform draw from `0..len`.
    fn below(&mut self, len: usize) -> usize {
        ((self.uniform() * len as f64) as usize).min(len - 1)
    }

    /// A lognormal draw, given the median and the standard deviation of the logarithm.
    fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        median * (sigma * normal([self.uniform(), self.uniform()])).exp()
    }
}
