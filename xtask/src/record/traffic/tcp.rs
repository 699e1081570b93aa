//! TCP: connections of various sizes between kernel stacks; some are refused, some go to addresses without a host.

use super::Draws;
use crate::record::host::{CLIENT, LEGACY, NOBODY, SERVER, SERVERS_V4, SERVERS_V6, inside, join};
use anyhow::{Context, Result, anyhow};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const PORTS: [u16; 3] = [80, 443, 8080];
/// A port without a listener.
const CLOSED_PORT: u16 = 81;
/// Timeout of both sides.
const PATIENCE: Duration = Duration::from_secs(20);

/// The listeners, stopped on drop.
#[derive(Debug)]
pub(super) struct Server {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Server {
    pub(super) fn start() -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for port in PORTS {
            let stopped = Arc::clone(&stop);
            threads.push(inside(SERVER, move || {
                let listener = TcpListener::bind(("::", port)).with_context(|| format!("cannot listen on {port}"))?;
                listener.set_nonblocking(true)?;
                while !stopped.load(Ordering::Acquire) {
                    match listener.accept() {
                        // Broken connections are part of the traffic.
                        Ok((stream, _)) => drop(thread::spawn(move || serve(stream))),
                        Err(_) => thread::sleep(Duration::from_millis(2)),
                    }
                }
                Ok(())
            }));
        }
        Ok(Self { stop, threads })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            if let Err(error) = join(thread) {
                eprintln!("xtask: TCP server: {error:#}");
            }
        }
    }
}

/// A client's request: how many bytes it uploads and downloads, and how long the server waits before it responds.
#[derive(Clone, Copy, Debug)]
struct Wish {
    upload_bytes: u32,
    download_bytes: u32,
    think_ms: u32,
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut head = [0; 12];
    while stream.read_exact(&mut head).is_ok() {
        let [upload, download, think_ms] =
            [0, 4, 8].map(|at| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        std::io::copy(&mut (&mut stream).take(u64::from(upload)), &mut std::io::sink())?;
        thread::sleep(Duration::from_millis(u64::from(think_ms)));
        stream.write_all(&vec![b'.'; download as usize])?;
    }
    // The client may have disconnected already.
    drop(stream.shutdown(Shutdown::Both));
    Ok(())
}

fn ask(stream: &mut TcpStream, wish: Wish) -> std::io::Result<()> {
    let mut request = [wish.upload_bytes, wish.download_bytes, wish.think_ms].map(u32::to_be_bytes).concat();
    request.resize(request.len() + wish.upload_bytes as usize, b'.');
    stream.write_all(&request)
}

/// The plan of one connection.
#[derive(Clone, Debug)]
struct Visit {
    start: Duration,
    to: SocketAddr,
    wishes: Vec<Wish>,
    /// Whether to close with unread data, which resets the connection.
    abort: bool,
}

fn visit(visit: &Visit) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&visit.to, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    for &wish in &visit.wishes {
        ask(&mut stream, wish)?;
        let wanted = if visit.abort { wish.download_bytes / 2 } else { wish.download_bytes };
        std::io::copy(&mut (&mut stream).take(u64::from(wanted)), &mut std::io::sink())?;
    }
    Ok(())
}

/// Half of the connections come from each client host; starts are uniform over the span.
pub(super) fn clients(connections: u64, seed: u64, span: Duration) -> Vec<JoinHandle<Result<()>>> {
    [CLIENT, LEGACY]
        .into_iter()
        .enumerate()
        .map(|(i, host)| {
            let mut plans: Vec<Visit> =
                (0..connections).filter(|n| n % 2 == i as u64).map(|n| draw(seed, n, span)).collect();
            plans.sort_by_key(|plan| plan.start);
            visits(host, plans)
        })
        .collect()
}

/// Starts each visit at its time.
fn visits(host: &'static str, plans: Vec<Visit>) -> JoinHandle<Result<()>> {
    inside(host, move || {
        let begin = std::time::Instant::now();
        let mut threads = Vec::new();
        for plan in plans {
            thread::sleep(plan.start.saturating_sub(begin.elapsed()));
            // Refused and unanswered connections are intended.
            threads.push(thread::spawn(move || drop(visit(&plan))));
        }
        for thread in threads {
            thread.join().map_err(|_| anyhow!("a TCP client panicked"))?;
        }
        Ok(())
    })
}

/// An upload after a quarter of the span, a download after half of it, and an upload by each host after three quarters.
pub(super) fn transfers(span: Duration) -> Vec<JoinHandle<Result<()>>> {
    const BYTES: u32 = 1_000_000;
    let to = SocketAddr::new(address(SERVERS_V4[0]), PORTS[0]);
    let transfer = |quarters: u32, upload_bytes, download_bytes| {
        let wishes = vec![Wish { upload_bytes, download_bytes, think_ms: 0 }];
        Visit { start: span * quarters / 4, to, wishes, abort: false }
    };
    let by_client = vec![transfer(1, BYTES, 1), transfer(2, 0, BYTES), transfer(3, BYTES / 2, 1)];
    vec![visits(CLIENT, by_client), visits(LEGACY, vec![transfer(3, BYTES / 2, 1)])]
}

/// The addresses are constants of this program, so parsing cannot fail.
fn address(text: &str) -> IpAddr {
    text.parse().unwrap_or(IpAddr::from([127, 0, 0, 1]))
}

fn draw(seed: u64, number: u64, span: Duration) -> Visit {
    let mut draws = Draws::new(seed, 1_000_000 + number);
    let start = span.mul_f64(draws.uniform());
    let v6 = draws.uniform() < 0.35;
    let server = draws.below(3);
    let lot = draws.uniform();
    let nobody = lot < 0.03;
    let refused = (0.03..0.07).contains(&lot);
    let abort = (0.07..0.12).contains(&lot);
    let host = match (nobody, v6) {
        (true, _) => NOBODY[usize::from(v6)],
        (false, false) => SERVERS_V4[server],
        (false, true) => SERVERS_V6[server],
    };
    let port = if refused { CLOSED_PORT } else { PORTS[draws.below(3)] };
    let rounds = 1 + draws.below(3);
    let wishes = (0..rounds).map(|_| Wish {
        upload_bytes: draws.lognormal(300.0, 1.5).min(30_000.0) as u32,
        download_bytes: draws.lognormal(3_000.0, 1.6).min(120_000.0) as u32,
        think_ms: draws.lognormal(4.0, 1.2).min(400.0) as u32,
    });
    let wishes = wishes.collect();
    Visit { start, to: SocketAddr::new(address(host), port), wishes, abort }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_are_of_every_sort() {
        let visits: Vec<Visit> = (0..400).map(|n| draw(1, n, Duration::from_secs(60))).collect();
        let count = |is: &dyn Fn(&Visit) -> bool| visits.iter().filter(|visit| is(visit)).count();
        assert!((4..30).contains(&count(&|visit| visit.to.port() == CLOSED_PORT)));
        assert!((3..30).contains(&count(&|visit| NOBODY.contains(&visit.to.ip().to_string().as_str()))));
        assert!((100..180).contains(&count(&|visit| visit.to.is_ipv6())));
        assert_eq!(count(&|visit| visit.to.ip().is_loopback()), 0);
    }

    /// Client and server work together, over the loopback interface.
    #[test]
    fn a_visit_is_served() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let server = thread::spawn(move || serve(listener.accept().unwrap().0).is_ok());
        let wish = Wish { upload_bytes: 1_000, download_bytes: 50_000, think_ms: 1 };
        let plan = Visit { start: Duration::ZERO, to, wishes: vec![wish; 2], abort: false };
        visit(&plan).unwrap();
        assert!(server.join().unwrap());
    }
}
