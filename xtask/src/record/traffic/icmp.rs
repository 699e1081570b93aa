//! ICMP and ICMPv6: ping to every server.

use crate::record::host::{CLIENT, LEGACY, SERVERS_V4, SERVERS_V6, command, inside};
use anyhow::{Context, Result};
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::Duration;

/// One ping per server and address family, alternating between the client hosts.
pub(super) fn clients(span: Duration, pause: Duration) -> Vec<JoinHandle<Result<()>>> {
    let targets = SERVERS_V4.into_iter().chain(SERVERS_V6);
    let start = |(number, target): (usize, &'static str)| {
        let host = if number % 2 == 0 { CLIENT } else { LEGACY };
        let count = (span.as_secs_f64() / pause.as_secs_f64()).round() as u64;
        inside(host, move || {
            let mut ping = command(host, "ping");
            ping.args(["-q", "-i", &pause.as_secs_f64().to_string(), "-c", &count.to_string(), target])
                .stdout(Stdio::null());
            // Lost echoes make ping return 1; they are intended.
            ping.status().context("cannot run ping")?;
            Ok(())
        })
    };
    targets.enumerate().map(start).collect()
}
