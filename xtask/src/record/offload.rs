//! Two hosts that leave the splitting of long segments to their network cards, and get them merged (TSO, GRO), captured on
//! the hosts themselves; a token bucket between them ([`host::bucket`]) drops some.

use super::capture::{self, Form, Point};
use super::headers::{self, Message};
use super::host::{self, BUCKET, FROM, Offload, TO_ADDRESS};
use super::token_bucket::serve;
use super::{Scratch, empty, keep, readme};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The name of the recording.
pub(crate) const NAME: &str = "offload";

const PORT: u16 = 7_000;
/// Bytes of a frame that are captured: TCP's options are within.
const SNAP: u32 = 96;
/// Each longer segment is split before it enters the bucket, so that every drop is one of a segment.
const TBF: &str = "rate 50mbit burst 1600b limit 40000b";
/// Bytes that each connection sends at a time, and how often.
const WRITES: [(usize, usize); 4] = [(300, 60), (4_000, 120), (60_000, 24), (400_000, 5)];

/// What left the bucket of one connection: segments, and their bytes from the IP header on.
type Departed = BTreeMap<u16, [u64; 2]>;

/// Makes the recording.
pub(crate) fn record(testdata: &Path) -> Result<()> {
    let scratch = Scratch::new()?;
    let [sender, receiver, link] = ["sender.pcap", "receiver.pcap", "link.pcap"].map(|name| scratch.0.join(name));
    let dropped = observe([(Point::From, &sender), (Point::To, &receiver), (Point::Egress, &link)])?;
    let departed = departed(&link)?;
    ensure!(dropped > 20 && departed.len() == WRITES.len(), "{dropped} drops, {} connections", departed.len());

    let folder = testdata.join(NAME);
    let [sent, received, segments] = [&sender, &receiver, &link].map(|pcap| capture::read(pcap).map(|all| all.len()));
    empty(&folder)?;
    for pcap in [&sender, &receiver] {
        keep(pcap, &folder, Form::PcapXz)?;
    }
    let mut truth = "source_port,segments,bytes\n".to_owned();
    for (port, [segments, bytes]) in &departed {
        writeln!(truth, "{port},{segments},{bytes}")?;
    }
    for (name, text) in [("truth.csv", truth), ("dropped.csv", format!("segments\n{dropped}\n"))] {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    describe(&folder, [sent?, received?, segments?])?;
    eprintln!("{NAME}: {dropped} segments dropped");
    Ok(())
}

/// Records traffic; returns how many segments the bucket dropped.
fn observe(points: [(Point, &Path); 3]) -> Result<u64> {
    let _hosts = host::bucket(TBF, Offload::OfHosts)?;
    let tcpdumps = capture::start(&points, SNAP)?;
    serve(PORT)?;
    let clients = WRITES.map(|(bytes, times)| host::inside(FROM, move || send(bytes, times)));
    for ended in clients.map(host::join) {
        ended?;
    }
    // What waits in the bucket leaves, and is acknowledged.
    thread::sleep(Duration::from_secs(2));
    let statistics = host::output("tc", &["-n", BUCKET, "-s", "qdisc", "show", "dev", "egress"])?;
    capture::stop(tcpdumps)?;
    let dropped = statistics.split_once("(dropped ").and_then(|(_, rest)| rest.split_once(','));
    dropped.and_then(|(number, _)| number.parse().ok()).context("tc does not say what was dropped")
}

/// Opens a connection and sends so many bytes so many times.
fn send(bytes: usize, times: usize) -> Result<()> {
    let mut stream = TcpStream::connect((TO_ADDRESS, PORT)).context("cannot connect")?;
    stream.set_nodelay(true)?;
    for _ in 0..times {
        stream.write_all(&vec![b'.'; bytes]).context("cannot send")?;
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Counts what left the bucket towards the receiver, where frames are as on a link.
fn departed(link: &Path) -> Result<Departed> {
    /// Lengths of the headers of Ethernet, and of IPv4 without options.
    const ETHERNET: usize = 14;
    const IP: usize = 20;
    let mut departed = Departed::new();
    for (_, frame) in capture::read(link)? {
        let Some(headers) = headers::parse(&frame) else { continue };
        let (flow, Message::Tcp(segment)) = (headers.flow, headers.message) else { continue };
        if flow.destination_port == PORT {
            let [segments, bytes] = departed.entry(flow.source_port).or_default();
            let tcp = 4 * u64::from(frame[ETHERNET + IP + 12] >> 4);
            *segments += 1;
            *bytes += IP as u64 + tcp + u64::from(segment.payload_length);
        }
    }
    Ok(departed)
}

fn describe(folder: &Path, [sent, received, segments]: [usize; 3]) -> Result<()> {
    let writes = WRITES.map(|(bytes, times)| format!("{times} times {bytes}")).join(", ");
    let mut text = format!(
        "# {NAME}\n\n\
         Two hosts that leave the splitting of long TCP segments to their network cards, and get them merged (TSO, GRO), captured on the hosts\n\
         themselves: the sender (`sender.pcap.xz`) and the receiver (`receiver.pcap.xz`). The link between them carries packets of 1500 bytes; a token\n\
         bucket of Linux (`tc … tbf {TBF}`) drops some. Four connections send at once: {writes} bytes, with pauses of 10 ms.\n\n\
         Source: recorded by this repository. Licence: MIT OR Apache-2.0, as the repository.\n\
         Made by `cargo xtask record {NAME}` as root, with three network namespaces.\n\n\
         {sent} frames at the sender and {received} at the receiver, both ways, cut at {SNAP} bytes, nanosecond timestamps. The link carried\n\
         {segments}.\n\n\
         ## The truth\n\n\
         `truth.csv`: the segments of each connection that left the bucket towards the receiver, and their bytes from the IP header on, counted in a\n\
         capture of the link. `dropped.csv`: how many segments the bucket dropped, as `tc -s qdisc` says.\n\n"
    );
    readme::files(&mut text, folder, &["sender.pcap.xz", "receiver.pcap.xz", "truth.csv", "dropped.csv"])?;
    readme::made_with(&mut text, &["tshark", "dnsmasq", "dig", "kdig", "getent", "chronyd", "ping", "python3"])?;
    readme::save(&text, folder)
}
