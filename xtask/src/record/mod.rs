//! `cargo xtask record [NAME…]`: makes the repository's own captures from real Linux stacks, and records the truth with
//! them.
//!
//! A frame's way through these files: [`host`] (network namespaces) → [`traffic`] (real servers and clients) →
//! [`mod@line`] (the delay line, which follows [`plan`] and [`queue`] and parses frames by [`headers`]) with
//! [`capture`] (tcpdump) in its middle. Then [`truth`] pairs the logged frames, [`log`] writes the result, [`verify`]
//! checks it with the capture and tshark, and [`readme`] summarises it; for two points, [`one_way`] does all of that.
//! [`token_bucket`] and [`offload`] are independent. Needs root, and the Debian packages listed in `testdata/README.md`.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

// Hosts as network namespaces.
mod host;
// Servers and clients.
mod traffic;
// What the delay line does to a frame.
mod headers;
mod line;
mod plan;
mod queue;
// Captures, logs and the truth.
mod capture;
mod log;
mod offload;
mod one_way;
mod token_bucket;
mod truth;
// The truth of committed recordings, derived anew.
mod again;
// Verification and documentation of a recording.
mod readme;
mod verify;

use crate::check::root;
use capture::{Form, Point};
use plan::{Bottleneck, Delay, Handshakes, Plan};
use traffic::Kind;

/// One folder of `testdata/`.
#[derive(Clone, Debug)]
struct Recording {
    name: &'static str,
    /// The first paragraph of its README.
    about: &'static str,
    /// How long clients start new exchanges.
    span: Duration,
    /// Bytes of each frame that are captured; at least [`log::IDENTIFYING`].
    snap: u32,
    form: Form,
    /// Whether the truth is about exchanges or one-way delays.
    question: Question,
    traffic: &'static [Kind],
    plan: Plan,
}

/// The question that a recording is to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// Delay between request and response, at the point of observation.
    Exchanges,
    /// One-way delay between the point of observation and the server; captured at both.
    OneWay,
}

const NEAR: Delay = Delay { flow_median_us: 3_000.0, flow_sigma: 0.5, jitter_median_us: 200.0, jitter_sigma: 1.0 };
/// A server in the same city, one in the same country, one on another continent.
const FAR: [Delay; 3] = [
    Delay { flow_median_us: 1_500.0, flow_sigma: 0.3, jitter_median_us: 150.0, jitter_sigma: 1.2 },
    Delay { flow_median_us: 11_000.0, flow_sigma: 0.3, jitter_median_us: 400.0, jitter_sigma: 1.3 },
    Delay { flow_median_us: 55_000.0, flow_sigma: 0.25, jitter_median_us: 1_500.0, jitter_sigma: 1.4 },
];

/// Time between ICMP echoes, in most recordings and in the one at two points.
const FIFTH: Duration = Duration::from_millis(200);
const SECOND: Duration = Duration::from_secs(1);

fn recordings() -> Vec<Recording> {
    let plan = Plan {
        seed: 1,
        near: NEAR,
        far: FAR,
        loss: 0.005,
        dns_loss: 0.0,
        handshakes: Handshakes::default(),
        bottleneck: None,
    };
    let lossy = Handshakes {
        syn_lost_before: 0.03,
        syn_lost_beyond: 0.05,
        answer_lost_beyond: 0.04,
        answer_lost_before: 0.03,
        ..Handshakes::default()
    };
    let slow = Handshakes { syn_held: 0.18, answer_held: 0.12, syn_overtaken: 0.05, ..Handshakes::default() };
    vec![
        Recording {
            name: "mixed",
            about: "All of it at once: TCP, DNS, NTP and ICMP, over IPv4 and IPv6, with loss. The capture that the first\n\
                    command of the repository's README reads.",
            span: Duration::from_secs(60),
            snap: 128,
            form: Form::PcapZstd,
            question: Question::Exchanges,
            traffic: &[Kind::Tcp(360), Kind::Dns, Kind::Ntp, Kind::Icmp(FIFTH)],
            plan: Plan { dns_loss: 0.01, handshakes: lossy, ..plan.clone() },
        },
        Recording {
            name: "tcp",
            about: "TCP connections of varied sizes, half of them with timestamps, over IPv4 and IPv6. Some lose their first\n\
                    SYN or SYN-ACK, before or beyond the point of observation; some meet a closed port, some nobody at all;\n\
                    some are reset in the middle.",
            span: Duration::from_secs(45),
            snap: 128,
            form: Form::PcapGzip,
            question: Question::Exchanges,
            traffic: &[Kind::Tcp(200)],
            plan: Plan { seed: 2, handshakes: lossy, ..plan.clone() },
        },
        Recording {
            name: "handshake-slow",
            about: "TCP connections of which nearly a third wait 1.2 to 4 s for their handshake because the SYN or the SYN-ACK\n\
                    is held beyond the point of observation (rule `hold` in `frames.csv.zst`), not lost: the SYN is\n\
                    retransmitted while the answer to the first is on its way. Dropping such ambiguous handshakes (Karn's\n\
                    rule) cuts this tail; timing them from the last SYN shortens it. In a few more connections the first\n\
                    SYN is overtaken by the second (rule `overtaken`), and timing from the first SYN is wrong. The\n\
                    connections of 10.10.0.1 and fd00:10::1 carry timestamps, which tell which SYN was answered; those of\n\
                    10.10.1.1 and fd00:10:1::1 do not.",
            span: Duration::from_secs(45),
            snap: 128,
            form: Form::PcapGzip,
            question: Question::Exchanges,
            traffic: &[Kind::Tcp(240)],
            plan: Plan { seed: 3, loss: 0.0, handshakes: slow, ..plan.clone() },
        },
        Recording {
            name: "dns",
            about: "DNS between dnsmasq and dig, kdig and the C library's resolver, over UDP and TCP, with queries and\n\
                    responses lost.",
            span: Duration::from_secs(30),
            snap: 1514,
            form: Form::PcapXz,
            question: Question::Exchanges,
            traffic: &[Kind::Dns],
            plan: Plan { seed: 4, dns_loss: 0.03, ..plan.clone() },
        },
        Recording {
            name: "ntp",
            about: "NTP between chronyd as server and chronyd as client: two clients, six server addresses, one query per\n\
                    second each.",
            span: Duration::from_secs(45),
            snap: 1514,
            form: Form::Pcap,
            question: Question::Exchanges,
            traffic: &[Kind::Ntp],
            plan: Plan { seed: 5, loss: 0.01, ..plan.clone() },
        },
        Recording {
            name: "icmp",
            about: "ping and ping -6 to three servers each, five echoes per second.",
            span: Duration::from_secs(20),
            snap: 1514,
            form: Form::PcapNg,
            question: Question::Exchanges,
            traffic: &[Kind::Icmp(FIFTH)],
            plan: Plan { seed: 6, loss: 0.01, ..plan.clone() },
        },
        Recording {
            name: "quic",
            about: "QUIC connections of aioquic, over IPv4 and IPv6, most of them small; six last for 40 round trips and more, with\n\
                    steady data, so that their spin bit shows. Those to port 8443 begin with a Retry. Some begin with version 2,\n\
                    some with a hello of two datagrams. Some lose their first Initial packet or the server's, before or beyond\n\
                    the point of observation; some of these are held beyond it, or overtaken; a few meet nobody at all.",
            span: Duration::from_secs(30),
            snap: 128,
            form: Form::PcapZstd,
            question: Question::Exchanges,
            traffic: &[Kind::Quic(70)],
            plan: Plan {
                seed: 8,
                handshakes: Handshakes {
                    syn_lost_before: 0.05,
                    syn_lost_beyond: 0.08,
                    answer_lost_beyond: 0.08,
                    answer_lost_before: 0.08,
                    syn_held: 0.05,
                    answer_held: 0.05,
                    syn_overtaken: 0.03,
                },
                ..plan.clone()
            },
        },
        Recording {
            name: "one-way",
            about: "Two captures of one way: at the point of observation (`near.pcap.xz`) and at the server (`server.pcap.xz`),\n\
                    with everything that the far stages hold and lose between them. They are a bottleneck of 2 Mbit/s each way,\n\
                    with a queue of 150 ms: an upload fills it after a quarter of the time, a download after half, and two\n\
                    uploads after three quarters. Beside them connections of varied sizes with and without timestamps, DNS\n\
                    and echoes.",
            span: Duration::from_secs(60),
            snap: 128,
            form: Form::PcapXz,
            question: Question::OneWay,
            traffic: &[Kind::Tcp(40), Kind::Transfers, Kind::FewDns, Kind::Icmp(SECOND)],
            plan: Plan {
                seed: 7,
                dns_loss: 0.01,
                bottleneck: Some(Bottleneck { bits_per_second: 2_000_000, longest_wait_ns: 150_000_000 }),
                ..plan
            },
        },
    ]
}

/// Makes a recording in this folder.
type Record = fn(&Path) -> Result<()>;

/// Makes the named recordings, or all.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let recordings = recordings();
    let independent: [(&str, Record); 2] =
        [(token_bucket::NAME, token_bucket::record), (offload::NAME, offload::record)];
    let known = recordings.iter().map(|recording| recording.name).chain(independent.map(|(name, _)| name));
    check_names(names, known)?;
    let testdata = root().join("testdata");
    for recording in recordings.iter().filter(|recording| is_asked(names, recording.name)) {
        record(recording, &testdata).with_context(|| format!("recording {}", recording.name))?;
    }
    for (name, record) in independent.into_iter().filter(|(name, _)| is_asked(names, name)) {
        record(&testdata).with_context(|| format!("recording {name}"))?;
    }
    sums(&testdata)
}

/// Derives the truth of the named recordings of exchanges anew, or of all.
pub(crate) fn derive(names: &[String]) -> Result<()> {
    let recordings: Vec<_> = recordings().into_iter().filter(|r| r.question == Question::Exchanges).collect();
    check_names(names, recordings.iter().map(|recording| recording.name))?;
    let testdata = root().join("testdata");
    for recording in recordings.iter().filter(|recording| is_asked(names, recording.name)) {
        let folder = testdata.join(recording.name);
        again::derive(recording, &folder).with_context(|| format!("the truth of {}", recording.name))?;
    }
    sums(&testdata)
}

/// Whether a recording is among those named; none is named if all are meant.
fn is_asked(names: &[String], recording: &str) -> bool {
    names.is_empty() || names.iter().any(|name| name == recording)
}

fn check_names<'a>(names: &[String], known: impl Iterator<Item = &'a str>) -> Result<()> {
    let known: Vec<_> = known.collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => bail!("no recording is called {unknown}; there are {}", known.join(", ")),
        None => Ok(()),
    }
}

fn record(recording: &Recording, testdata: &Path) -> Result<()> {
    ensure!(recording.snap as usize >= log::IDENTIFYING, "{} bytes do not identify a frame", recording.snap);
    let scratch = Scratch::new()?;
    eprintln!("{}: recording for {} s and a little more", recording.name, recording.span.as_secs());
    let folder = testdata.join(recording.name);
    match recording.question {
        Question::Exchanges => exchanges(recording, &folder, &scratch.0),
        Question::OneWay => one_way::record(recording, &folder, &scratch.0),
    }
}

/// Records a capture at the point of observation, and the true exchanges in it.
fn exchanges(recording: &Recording, folder: &Path, scratch: &Path) -> Result<()> {
    let pcap = scratch.join(format!("{}.pcap", recording.name));
    let journeys = observe(recording, &[(Point::Middle, &pcap)], scratch)?;
    let captured = capture::read(&pcap)?;
    let truth = truth::truth(&journeys);
    let clocks = verify::clocks(&captured, &journeys)?;
    let tshark = verify::tshark(&pcap, &truth)?;
    let echoes = verify::echoes(&journeys, &truth);

    empty(folder)?;
    let capture = keep(&pcap, folder, recording.form)?;
    save_table(&log::frames(&journeys)?, folder, "frames.csv")?;
    save_table(&log::truth(&truth)?, folder, "truth.csv")?;
    let facts = readme::Facts { recording, capture: &capture, truth: &truth, clocks, tshark, echoes };
    readme::write(folder, &facts)?;
    eprintln!("{}: {} frames", recording.name, captured.len());
    Ok(())
}

/// Creates the empty folder of a recording, deleting an existing one.
fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Copies a capture into the folder, in its committed form, and returns its name there.
fn keep(pcap: &Path, folder: &Path, form: Form) -> Result<String> {
    let copy = folder.join(pcap.file_name().unwrap_or_default());
    fs::copy(pcap, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    let kept = capture::shape(&copy, form)?;
    Ok(kept.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// Writes a table into the folder, compressed with zstd.
fn save_table(table: &str, folder: &Path, name: &str) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, table).with_context(|| format!("cannot write {}", path.display()))?;
    host::run(&format!("zstd -19 -qf --rm {}", path.display()))
}

/// Records traffic, captured at these points; returns the line's log.
fn observe(recording: &Recording, points: &[(Point, &Path)], scratch: &Path) -> Result<Vec<line::Journey>> {
    let _hosts = host::hosts()?;
    // The line forwards nothing before it runs, so no frame crosses the point before tcpdump listens.
    let tcpdumps = capture::start(points, recording.snap)?;
    let (ready, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let line = {
        let (plan, ready, stop) = (recording.plan.clone(), Arc::clone(&ready), Arc::clone(&stop));
        host::inside(host::MIDDLE, move || {
            // Real-time priority over everything else on the machine; if that fails, the line is only less punctual.
            let _ = host::run(&format!("chrt -f -p 20 {}", nix::unistd::gettid()));
            line::run(plan, &ready, &stop)
        })
    };
    let outcome = (|| {
        while !ready.load(Ordering::Acquire) {
            ensure!(!line.is_finished(), "the delay line did not start");
            thread::sleep(Duration::from_millis(5));
        }
        let _servers = traffic::Servers::start(recording.traffic, scratch)?;
        let mut clients = Vec::new();
        let started: Result<()> = recording.traffic.iter().try_for_each(|&kind| {
            clients.extend(traffic::clients(kind, recording.plan.seed, recording.span, scratch)?);
            Ok(())
        });
        // Join all clients, even after a failure: their processes must not outlive the recording.
        let ended: Vec<Result<()>> = clients.into_iter().map(host::join).collect();
        started.and_then(|()| ended.into_iter().collect::<Result<()>>())?;
        // Frames still held by the line are sent, and answered.
        thread::sleep(Duration::from_secs(5));
        Ok(())
    })();
    stop.store(true, Ordering::Release);
    let journeys = host::join(line)?;
    outcome?;
    capture::stop(tcpdumps)?;
    Ok(journeys)
}

/// Writes `SHA256SUMS` of all files except Markdown.
fn sums(testdata: &Path) -> Result<()> {
    let script = "find . -type f ! -name '*.md' ! -name SHA256SUMS -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum";
    let folder = testdata.to_string_lossy();
    let text = host::output("sh", &["-c", &format!("cd '{folder}' && {script}")])?;
    fs::write(testdata.join("SHA256SUMS"), text).context("cannot write SHA256SUMS")
}

/// The time since 1970, in nanoseconds.
fn now_ns() -> Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock stands before 1970")?;
    i64::try_from(since.as_nanos()).context("the clock stands after 2262")
}

/// A temporary folder, removed on drop.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("dwell-record-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn testdata() -> PathBuf {
        root().join("testdata")
    }

    /// Every committed file matches its checksum, and no recording is missing.
    #[test]
    fn the_committed_recordings_are_whole() {
        let sums = fs::read_to_string(testdata().join("SHA256SUMS")).unwrap();
        for recording in recordings() {
            let name = recording.name;
            let parts = match recording.question {
                Question::Exchanges => [&format!("{name}.pcap"), "truth.csv", "frames.csv"],
                Question::OneWay => ["near.pcap", "server.pcap", "truth.csv"],
            };
            for part in parts.map(|part| format!("  {name}/{part}")) {
                assert!(sums.lines().any(|line| line.contains(&part)), "{part} has no sum");
            }
        }
        for part in ["queue/egress.pcap.xz", "offload/receiver.pcap.xz"] {
            assert!(sums.contains(&format!("  {part}\n")), "{part} has no sum");
        }
        let check = format!("cd '{}' && sha256sum --quiet -c SHA256SUMS", testdata().display());
        host::output("sh", &["-c", &check]).unwrap();
    }

    /// Our plain reader reads the plain capture: all queries counted in the truth's table are found, in order.
    #[test]
    fn the_plain_capture_reads() {
        let frames = capture::read(&testdata().join("ntp/ntp.pcap")).unwrap();
        assert!(frames.is_sorted_by_key(|(at_ns, _)| *at_ns));
        let kinds = frames.iter().map(|(_, bytes)| headers::kind(headers::parse(bytes).as_ref()));
        let ntp = kinds.filter(|&kind| kind == "ntp").count();
        let readme = fs::read_to_string(testdata().join("ntp/README.md")).unwrap();
        assert!(readme.contains(&format!("| `ntp` | {ntp} |")), "{ntp} frames of NTP");
        assert!(readme.contains(&format!("{} frames, cut at 1514 bytes", frames.len())));
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let error = run(&["mixed".to_owned(), "nonsense".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("nonsense") && error.contains("handshake-slow"), "{error}");
    }
}
