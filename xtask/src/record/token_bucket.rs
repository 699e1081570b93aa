//! A real queue: a Linux token bucket between two hosts ([`host::bucket`]), captured on both sides, while one sender
//! occasionally sends bursts.
//!
//! Meanwhile the kernel is polled for the length of the queue.

use super::capture::{self, Form, Point};
use super::host::{self, BUCKET, FROM, Offload, TO, TO_ADDRESS};
use super::{Scratch, empty, keep, now_ns, readme};
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The name of the recording.
pub(crate) const NAME: &str = "queue";

const TCP_PORT: u16 = 7_000;
const UDP_PORT: u16 = 7_001;

const SPAN: Duration = Duration::from_secs(12);
/// Bytes of a frame that are captured.
const SNAP: u32 = 96;
const BITS_PER_SECOND: u32 = 8_000_000;
/// Datagrams per burst, and the payload of each.
const DATAGRAMS: usize = 60;
const DATAGRAM: [u8; 1_000] = [b'.'; 1_000];
/// Time between bursts.
const PAUSE: Duration = Duration::from_millis(1_300);

/// When a burst was sent, and from which source port.
struct Burst {
    start_ns: i64,
    end_ns: i64,
    port: u16,
}

/// The content of the bucket at some time between two clock readings.
struct Sample {
    after_ns: i64,
    before_ns: i64,
    bytes: u64,
    packets: u64,
}

/// Makes the recording.
pub(crate) fn record(testdata: &Path) -> Result<()> {
    let scratch = Scratch::new()?;
    eprintln!("{NAME}: recording for {} s and a little more", SPAN.as_secs());
    let pcaps = ["ingress.pcap", "egress.pcap"].map(|name| scratch.0.join(name));
    let (bursts, samples) = observe(&pcaps[0], &pcaps[1])?;
    ensure!(samples.len() > 20, "the bucket was asked {} times only while something waited", samples.len());

    let folder = testdata.join(NAME);
    let frames = [capture::read(&pcaps[0])?.len(), capture::read(&pcaps[1])?.len()];
    empty(&folder)?;
    for pcap in &pcaps {
        keep(pcap, &folder, Form::PcapXz)?;
    }
    let mut truth = "start_ns,end_ns,port,packets\n".to_owned();
    for Burst { start_ns, end_ns, port } in &bursts {
        writeln!(truth, "{start_ns},{end_ns},{port},{DATAGRAMS}")?;
    }
    let mut backlog = "after_ns,before_ns,bytes,packets\n".to_owned();
    for Sample { after_ns, before_ns, bytes, packets } in &samples {
        writeln!(backlog, "{after_ns},{before_ns},{bytes},{packets}")?;
    }
    for (name, text) in [("truth.csv", truth), ("backlog.csv", backlog)] {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    describe(&folder, frames, bursts.len(), samples.len())?;
    eprintln!("{NAME}: {} bursts, {} samples of what waited", bursts.len(), samples.len());
    Ok(())
}

/// Records traffic; returns the bursts and the samples of the queue.
fn observe(ingress: &Path, egress: &Path) -> Result<(Vec<Burst>, Vec<Sample>)> {
    let _hosts = host::bucket(&format!("rate {BITS_PER_SECOND}bit burst 5000b limit 400000b"), Offload::Off)?;
    let tcpdumps = capture::start(&[(Point::Ingress, ingress), (Point::Egress, egress)], SNAP)?;
    let stop = Arc::new(AtomicBool::new(false));
    serve(TCP_PORT)?;
    let sink = host::join(host::inside(TO, || UdpSocket::bind((TO_ADDRESS, UDP_PORT)).context("cannot bind")))?;
    let samples = {
        let stop = Arc::clone(&stop);
        host::inside(BUCKET, move || watch(&stop))
    };
    // A kilobyte every 10 ms, another every 15 ms, and 20 kB twice a second.
    let streams = [(1_000, 10), (1_000, 15), (20_000, 500)]
        .map(|(bytes, millis)| host::inside(FROM, move || talk(bytes, Duration::from_millis(millis))));
    let bursts = host::join(host::inside(FROM, burst));
    let talked: Vec<Result<()>> = streams.into_iter().map(host::join).collect();
    thread::sleep(Duration::from_millis(500));
    stop.store(true, Ordering::Release);
    let samples = host::join(samples)?;
    drop(sink);
    talked.into_iter().collect::<Result<()>>()?;
    capture::stop(tcpdumps)?;
    Ok((bursts?, samples))
}

/// Lets the receiver read everything that comes to this port.
pub(super) fn serve(port: u16) -> Result<()> {
    let server = host::inside(TO, move || TcpListener::bind((TO_ADDRESS, port)).context("cannot listen"));
    let server = host::join(server)?;
    thread::spawn(move || server.incoming().flatten().for_each(|stream| _ = thread::spawn(move || swallow(stream))));
    Ok(())
}

fn swallow(mut stream: TcpStream) {
    let mut bytes = [0; 4_096];
    while stream.read(&mut bytes).is_ok_and(|length| length > 0) {}
}

/// Sends this many bytes repeatedly.
fn talk(bytes: usize, pause: Duration) -> Result<()> {
    let mut stream = TcpStream::connect((TO_ADDRESS, TCP_PORT)).context("cannot connect")?;
    stream.set_nodelay(true)?;
    let start = Instant::now();
    while start.elapsed() < SPAN {
        stream.write_all(&vec![b'.'; bytes]).context("cannot send")?;
        thread::sleep(pause);
    }
    Ok(())
}

/// Sends bursts, each from its own port.
fn burst() -> Result<Vec<Burst>> {
    let start = Instant::now();
    let mut bursts = Vec::new();
    while start.elapsed() + PAUSE < SPAN {
        thread::sleep(PAUSE);
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        let start_ns = now_ns()?;
        for _ in 0..DATAGRAMS {
            socket.send_to(&DATAGRAM, (TO_ADDRESS, UDP_PORT)).context("cannot send a datagram")?;
        }
        bursts.push(Burst { start_ns, end_ns: now_ns()?, port: socket.local_addr()?.port() });
    }
    Ok(bursts)
}

/// Polls the kernel for the length of the queue until stopped; samples of an empty queue are omitted.
fn watch(stop: &AtomicBool) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    while !stop.load(Ordering::Acquire) {
        let after_ns = now_ns()?;
        let text = host::output("tc", &["-s", "-j", "qdisc", "show", "dev", "egress"])?;
        let before_ns = now_ns()?;
        let number = |key: &str| {
            let (_, rest) = text.split_once(&format!("\"{key}\":"))?;
            rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        let (bytes, packets) = number("backlog").zip(number("qlen")).context("tc does not say what waits")?;
        if packets > 0 {
            samples.push(Sample { after_ns, before_ns, bytes, packets });
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(samples)
}

fn describe(folder: &Path, frames: [usize; 2], bursts: usize, samples: usize) -> Result<()> {
    let mut text = format!(
        "# {NAME}\n\n\
         A queue of Linux, captured where packets come to it (`ingress.pcap.xz`) and where they leave it (`egress.pcap.xz`): a token bucket\n\
         (`tc … tbf rate 8mbit burst 5000b limit 400000b`) behind a router. Three TCP connections send at their own pace: a kilobyte every 10 and every\n\
         15 ms, and 20 kB twice a second. Every 1.3 s one sender bursts: {DATAGRAMS} datagrams of {} bytes as fast as it can, each time from another port.\n\n\
         Source: recorded by this repository. Licence: MIT OR Apache-2.0, as the repository.\n\
         Made by `cargo xtask record {NAME}` as root, with three network namespaces.\n\n\
         {} frames at ingress, {} at egress, both ways, cut at {SNAP} bytes, nanosecond timestamps.\n\n\
         ## The truth\n\n\
         `truth.csv`: the {bursts} bursts, when the sender's clock was read before the first and after the last datagram, and its port. `backlog.csv`: {samples} answers of\n\
         `tc -s qdisc` while something waited: bytes (with Ethernet headers) and packets in the bucket, at some moment between two readings of the clock.\n\n",
        DATAGRAM.len(),
        frames[0],
        frames[1],
    );
    readme::files(&mut text, folder, &["ingress.pcap.xz", "egress.pcap.xz", "truth.csv", "backlog.csv"])?;
    readme::made_with(&mut text, &["tshark", "dnsmasq", "dig", "kdig", "getent", "chronyd", "ping", "python3"])?;
    readme::save(&text, folder)
}
