//! Captures: tcpdump at a point, and the file that it writes.

use super::host::{BUCKET, FROM, MIDDLE, SERVER, TO, command, run};
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Stdio};
use std::thread;
use std::time::Duration;

/// Where frames are captured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// The server side of the point of observation.
    Middle,
    /// The server's own interface.
    Server,
    /// Before the token bucket.
    Ingress,
    /// After it.
    Egress,
    /// The interfaces of the hosts on both sides of it.
    From,
    To,
}

impl Point {
    /// Host and interface.
    const fn place(self) -> (&'static str, &'static str) {
        match self {
            Self::Middle => (MIDDLE, "point-far"),
            Self::Server => (SERVER, "lan"),
            Self::Ingress => (BUCKET, "ingress"),
            Self::Egress => (BUCKET, "egress"),
            Self::From => (FROM, "lan"),
            Self::To => (TO, "lan"),
        }
    }
}

/// The file format of the committed capture.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Pcap,
    PcapGzip,
    PcapXz,
    PcapZstd,
    PcapNg,
}

impl Form {
    /// What follows `.pcap` in the file's name.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Pcap => "",
            Self::PcapGzip => ".gz",
            Self::PcapXz => ".xz",
            Self::PcapZstd => ".zst",
            Self::PcapNg => "ng",
        }
    }
}

/// A running tcpdump, killed on drop.
#[derive(Debug)]
pub(crate) struct Tcpdump {
    child: Child,
    words: BufReader<ChildStderr>,
    path: PathBuf,
}

impl Tcpdump {
    /// Starts tcpdump; returns once it is capturing.
    fn start(point: Point, path: &Path, snap: u32) -> Result<Self> {
        let (host, interface) = point.place();
        let mut command = command(host, "tcpdump");
        command.args(["-i", interface, "--immediate-mode", "--time-stamp-precision=nano", "-U", "-B", "16384"]);
        command.args(["-Z", "root", "-s", &snap.to_string(), "-w"]).arg(path);
        let mut child = command.stderr(Stdio::piped()).spawn().context("cannot start tcpdump")?;
        let stderr = child.stderr.take().context("tcpdump has no standard error")?;
        let mut tcpdump = Self { child, words: BufReader::new(stderr), path: path.to_owned() };
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            ensure!(tcpdump.words.read_line(&mut line)? > 0, "tcpdump ended before it listened");
        }
        Ok(tcpdump)
    }

    /// Stops it; fails if the kernel dropped a frame.
    fn stop(mut self) -> Result<()> {
        kill(Pid::from_raw(i32::try_from(self.child.id())?), Signal::SIGINT).context("cannot stop tcpdump")?;
        let mut words = String::new();
        self.words.read_to_string(&mut words)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "tcpdump: {status}: {words}");
        let number = |what: &str| {
            let line = words.lines().find(|line| line.contains(what))?;
            line.split_whitespace().next()?.parse::<usize>().ok()
        };
        match (number("captured"), number("dropped by kernel")) {
            (Some(_), Some(0)) => Ok(()),
            _ => bail!("tcpdump on {} lost frames: {words}", self.path.display()),
        }
    }
}

impl Drop for Tcpdump {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Starts tcpdump at each of these points, in this order.
pub(crate) fn start(points: &[(Point, &Path)], snap: u32) -> Result<Vec<Tcpdump>> {
    points.iter().map(|&(point, path)| Tcpdump::start(point, path, snap)).collect()
}

/// Stops them; fails if the kernel dropped a frame.
pub(crate) fn stop(tcpdumps: Vec<Tcpdump>) -> Result<()> {
    // tcpdump may not yet have written its last block.
    thread::sleep(Duration::from_millis(1_500));
    tcpdumps.into_iter().try_for_each(Tcpdump::stop)
}

/// A captured frame: its time in nanoseconds since the epoch and its bytes.
pub(crate) type Captured = (i64, Vec<u8>);

/// Reads a little-endian pcap file with nanoseconds, as tcpdump writes it here.
pub(crate) fn read(path: &Path) -> Result<Vec<Captured>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    ensure!(word(0) == Some(0xa1b2_3c4d), "{} is no pcap file with nanoseconds", path.display());
    let mut frames = Vec::new();
    let mut at = 24;
    while at < bytes.len() {
        let record = || {
            let time = i64::from(word(at)?) * 1_000_000_000 + i64::from(word(at + 4)?);
            Some((time, bytes.get(at + 16..at + 16 + word(at + 8)? as usize)?.to_vec()))
        };
        let frame = record().with_context(|| format!("{} is cut at byte {at}", path.display()))?;
        at += 16 + frame.1.len();
        frames.push(frame);
    }
    Ok(frames)
}

/// Reads a capture in its committed form, by way of this folder.
pub(crate) fn read_kept(kept: &Path, form: Form, scratch: &Path) -> Result<Vec<Captured>> {
    let copy = scratch.join(kept.file_name().unwrap_or_default());
    fs::copy(kept, &copy).with_context(|| format!("cannot read {}", kept.display()))?;
    let from = copy.display();
    let (line, plain) = match form {
        Form::Pcap => return read(&copy),
        Form::PcapGzip => (format!("gzip -dqf {from}"), copy.with_extension("")),
        Form::PcapXz => (format!("xz -dqf {from}"), copy.with_extension("")),
        Form::PcapZstd => (format!("zstd -dqf --rm {from}"), copy.with_extension("")),
        Form::PcapNg => (format!("editcap -F nsecpcap {from} {from}.plain"), PathBuf::from(format!("{from}.plain"))),
    };
    run(&line)?;
    read(&plain)
}

/// Converts the pcap file to its committed form and returns the new path; removes the original unless that is the form.
pub(crate) fn shape(pcap: &Path, form: Form) -> Result<PathBuf> {
    let from = pcap.display();
    let line = match form {
        Form::Pcap => return Ok(pcap.to_owned()),
        Form::PcapGzip => format!("gzip -9nf {from}"),
        Form::PcapXz => format!("xz -9ef {from}"),
        Form::PcapZstd => format!("zstd -19 -qf --rm {from}"),
        Form::PcapNg => format!("editcap -F pcapng {from} {from}ng"),
    };
    run(&line)?;
    if matches!(form, Form::PcapNg) {
        fs::remove_file(pcap)?;
    }
    Ok(PathBuf::from(format!("{from}{}", form.suffix())))
}
