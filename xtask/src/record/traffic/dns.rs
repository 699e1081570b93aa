//! DNS: dnsmasq with only local names; dig, kdig and the C library as clients.

use super::Draws;
use crate::record::host::{CLIENT, Daemon, LEGACY, SERVER, SERVERS_V4, SERVERS_V6, command, inside};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const NAMES: usize = 300;

fn name(number: usize) -> String {
    format!("host{number}.dwell.test")
}

/// dnsmasq without a configuration file, an upstream server or a cache on disk.
pub(super) fn server() -> Result<Daemon> {
    let mut command = command(SERVER, "dnsmasq");
    command.args(["--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--pid-file=", "--no-resolv"]);
    command.args(["--no-hosts", "--local=/dwell.test/", "--txt-record=text.dwell.test,a text of no great length"]);
    for number in 0..NAMES {
        let (high, low) = (number / 250, number % 250 + 1);
        command.arg(format!("--host-record={},192.0.2.{low},2001:db8:{high}::{low}", name(number)));
    }
    let mut daemon = Daemon::start(command)?;
    thread::sleep(Duration::from_millis(300));
    daemon.check("dnsmasq")?;
    Ok(daemon)
}

/// Two lists of queries for dig, one per client host.
pub(super) fn lists(seed: u64, span: Duration, scratch: &Path) -> Result<Vec<JoinHandle<Result<()>>>> {
    let mut threads = Vec::new();
    for (stream, host) in [CLIENT, LEGACY].into_iter().enumerate() {
        let path = scratch.join(format!("queries{stream}"));
        let mut draws = Draws::new(seed, 2_000_000 + stream as u64);
        // Queries run one at a time, so these are more than enough for the span.
        let lines: String = (0..span.as_millis() / 20).map(|_| query(&mut draws) + "\n").collect();
        fs::write(&path, lines).with_context(|| format!("cannot write {}", path.display()))?;
        threads.push(inside(host, move || dig(host, &path, span)));
    }
    Ok(threads)
}

/// Single queries by kdig, and getent through the C library's resolver.
pub(super) fn clients(seed: u64, span: Duration) -> Vec<JoinHandle<Result<()>>> {
    let mut threads = Vec::new();
    for (stream, host) in [CLIENT, LEGACY].into_iter().enumerate() {
        let mut draws = Draws::new(seed, 2_000_010 + stream as u64);
        threads.push(repeat(host, span, move || {
            let mut kdig = command(host, "kdig");
            kdig.args(query(&mut draws).split(' '));
            kdig
        }));
    }
    let mut draws = Draws::new(seed, 2_000_020);
    threads.push(repeat(CLIENT, span, move || {
        let mut getent = command(CLIENT, "getent");
        getent.args(["ahosts", &name(draws.below(NAMES))]);
        getent
    }));
    threads
}

/// A random query in the syntax of dig and kdig.
fn query(draws: &mut Draws) -> String {
    let kind = ["A", "A", "AAAA", "TXT", "MX"][draws.below(5)];
    let what = if kind == "TXT" { "text.dwell.test".to_owned() } else { name(draws.below(NAMES + 20)) };
    let far = draws.below(3);
    let server = if draws.uniform() < 0.3 { SERVERS_V6[far] } else { SERVERS_V4[far] };
    let tcp = if draws.uniform() < 0.15 { "+tcp " } else { "" };
    format!("{tcp}+time=1 +retry=3 @{server} {what} {kind}")
}

/// Runs one command after another until the end of the span. Unanswered queries are part of the traffic.
fn repeat(
    host: &'static str,
    span: Duration,
    mut next: impl FnMut() -> Command + Send + 'static,
) -> JoinHandle<Result<()>> {
    inside(host, move || {
        let begin = Instant::now();
        while begin.elapsed() < span {
            let mut command = next();
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.status().with_context(|| format!("cannot run {command:?}"))?;
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    })
}

/// Runs dig on a list of queries; stops at the end of the span.
fn dig(host: &str, list: &Path, span: Duration) -> Result<()> {
    let mut dig = command(host, "dig");
    dig.arg("-f").arg(list).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = dig.spawn().context("cannot run dig")?;
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() > span {
            child.kill()?;
            child.wait()?;
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
