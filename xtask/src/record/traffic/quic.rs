//! QUIC: connections of various sizes between aioquic and itself (`quic.py` beside this file).

use super::Draws;
use crate::check::root;
use crate::record::headers::QUIC_PORTS;
use crate::record::host::{CLIENT, Daemon, LEGACY, NOBODY, SERVER, SERVERS_V4, SERVERS_V6, command, inside, run};
use anyhow::{Context, Result, bail, ensure};
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Connections that last for 40 round trips and more, two per server.
const LONG: u64 = 6;
/// Pieces that the server sends in such a connection, by its distance, and milliseconds between them.
const PIECES: [(u32, u32); 3] = [(100, 8), (160, 12), (220, 30)];

/// The program, on a host.
fn program(host: &str) -> Command {
    let mut command = command(host, "python3");
    command.arg(root().join("xtask/src/record/traffic/quic.py"));
    command
}

/// Listens at all addresses, with a fresh certificate. It takes two datagrams.
pub(super) fn server(scratch: &Path) -> Result<Daemon> {
    let [certificate, key, ready] = ["certificate.pem", "key.pem", "ready"].map(|name| scratch.join(name));
    let (to_certificate, to_key) = (certificate.display(), key.display());
    run(&format!(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=dwell.test -out {to_certificate} -keyout {to_key}"
    ))?;
    let mut command = program(SERVER);
    command.arg("serve").args([&certificate, &key, &ready]).args(QUIC_PORTS.map(|port| port.to_string()));
    command.args(SERVERS_V4).args(SERVERS_V6);
    let mut daemon = Daemon::start(command)?;
    for _ in 0..400 {
        daemon.check("quic.py, which needs aioquic,")?;
        if ready.exists() {
            return Ok(daemon);
        }
        thread::sleep(Duration::from_millis(50));
    }
    bail!("quic.py does not listen")
}

/// One program per client host, with half of the connections each.
pub(super) fn clients(
    connections: u64,
    seed: u64,
    span: Duration,
    scratch: &Path,
) -> Result<Vec<JoinHandle<Result<()>>>> {
    let mut threads = Vec::new();
    for (i, host) in [CLIENT, LEGACY].into_iter().enumerate() {
        let visits = (0..connections).filter(|n| n % 2 == i as u64).map(|n| draw(seed, n, span));
        let lines: String = visits.map(|visit| format!("{visit}\n")).collect();
        let plan = scratch.join(format!("visits{i}"));
        fs::write(&plan, lines).with_context(|| format!("cannot write {}", plan.display()))?;
        threads.push(inside(host, move || {
            let mut client = program(host);
            client.arg("visit").arg(plan).stdout(Stdio::null()).stderr(Stdio::null());
            let status = client.status().context("cannot run quic.py")?;
            ensure!(status.success(), "quic.py: {status}");
            Ok(())
        }));
    }
    Ok(threads)
}

/// What a client asks for in one stream.
#[derive(Clone, Copy, Debug)]
struct Wish {
    upload_bytes: u32,
    pieces: u32,
    bytes: u32,
    pause_ms: u32,
}

/// The plan of one connection; its text is a line for `quic.py`.
#[derive(Clone, Debug)]
struct Visit {
    start: Duration,
    address: &'static str,
    port: u16,
    version: u8,
    has_long_hello: bool,
    wishes: Vec<Wish>,
}

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, address, port, version, has_long_hello, .. } = self;
        let hello = if *has_long_hello { "long" } else { "short" };
        write!(f, "{:.3} {address} {port} {version} {hello}", start.as_secs_f64())?;
        for Wish { upload_bytes, pieces, bytes, pause_ms } in &self.wishes {
            write!(f, " {upload_bytes}:{pieces}:{bytes}:{pause_ms}")?;
        }
        Ok(())
    }
}

fn draw(seed: u64, number: u64, span: Duration) -> Visit {
    let mut draws = Draws::new(seed, 3_000_000 + number);
    let start = span.mul_f64(draws.uniform());
    let is_long = number < LONG;
    let server = if is_long { (number / 2) as usize } else { draws.below(3) };
    let v6 = if is_long { number % 2 == 1 } else { draws.uniform() < 0.35 };
    let nobody = !is_long && draws.uniform() < 0.03;
    let address = match (nobody, v6) {
        (true, _) => NOBODY[usize::from(v6)],
        (false, false) => SERVERS_V4[server],
        (false, true) => SERVERS_V6[server],
    };
    let port = QUIC_PORTS[usize::from(!is_long && draws.uniform() < 0.25)];
    let version = if draws.uniform() < 0.12 { 2 } else { 1 };
    let has_long_hello = draws.uniform() < 0.15;
    let wishes = if is_long {
        let (pieces, pause_ms) = PIECES[server];
        vec![Wish { upload_bytes: 100, pieces, bytes: 200, pause_ms }]
    } else {
        let mut wish = || Wish {
            upload_bytes: draws.lognormal(150.0, 1.2).min(5_000.0) as u32,
            pieces: 1,
            bytes: draws.lognormal(1_500.0, 1.2).min(20_000.0) as u32,
            pause_ms: 0,
        };
        let second = wish();
        let both = [wish(), second];
        both[..1 + draws.below(2)].to_vec()
    };
    Visit { start, address, port, version, has_long_hello, wishes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_are_of_every_sort() {
        let visits: Vec<Visit> = (0..400).map(|n| draw(1, n, Duration::from_secs(30))).collect();
        let count = |is: &dyn Fn(&Visit) -> bool| visits.iter().filter(|visit| is(visit)).count();
        assert!((60..140).contains(&count(&|visit| visit.port == QUIC_PORTS[1])));
        assert!((3..30).contains(&count(&|visit| NOBODY.contains(&visit.address))));
        assert!((25..75).contains(&count(&|visit| visit.version == 2)));
        assert!((30..90).contains(&count(&|visit| visit.has_long_hello)));
        assert_eq!(count(&|visit| visit.wishes[0].pieces > 1), LONG as usize);
    }

    #[test]
    fn a_visit_is_a_line() {
        let wish = Wish { upload_bytes: 1, pieces: 2, bytes: 3, pause_ms: 4 };
        let start = Duration::from_millis(1_500);
        let (address, port, version) = (SERVERS_V4[0], 443, 1);
        let visit = Visit { start, address, port, version, has_long_hello: true, wishes: vec![wish; 2] };
        assert_eq!(visit.to_string(), "1.500 10.20.1.1 443 1 long 1:2:3:4 1:2:3:4");
    }
}
