//! The hosts: network namespaces connected by veth pairs, all created here and removed again.
//!
//! ```text
//! dwell-client ─┐ lan ── to-client ┐                                      ┌ to-server ── lan │ dwell-server
//! dwell-legacy ─┘ (macvlan)        └ line ── point-near ══ point-far ── line ┘
//!                                              dwell-middle
//! ```
//!
//! `dwell-client` uses TCP timestamps, `dwell-legacy` does not. The point of observation is the veth pair `point-near
//! ══ point-far` in the middle, with the delay line on both sides of it.

use anyhow::{Context, Result, bail, ensure};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::thread;

pub(crate) const CLIENT: &str = "dwell-client";
pub(crate) const LEGACY: &str = "dwell-legacy";
pub(crate) const MIDDLE: &str = "dwell-middle";
pub(crate) const SERVER: &str = "dwell-server";
pub(crate) const BUCKET: &str = "dwell-bucket";
pub(crate) const FROM: &str = "dwell-from";
pub(crate) const TO: &str = "dwell-to";
const ALL: [&str; 4] = [CLIENT, LEGACY, MIDDLE, SERVER];

/// Addresses of the three servers; they are one host, at three distances.
pub(crate) const SERVERS_V4: [&str; 3] = ["10.20.1.1", "10.20.2.1", "10.20.3.1"];
/// The same for IPv6.
pub(crate) const SERVERS_V6: [&str; 3] = ["fd00:20:1::1", "fd00:20:2::1", "fd00:20:3::1"];
/// Destination addresses that belong to no host.
pub(crate) const NOBODY: [&str; 2] = ["10.20.3.99", "fd00:20:3::99"];

/// Network namespaces, removed on drop.
#[derive(Debug)]
pub(crate) struct Namespaces(&'static [&'static str]);

impl Namespaces {
    /// Creates them, after removing what an aborted run may have left behind.
    pub(crate) fn new(names: &'static [&'static str]) -> Result<Self> {
        ensure!(nix::unistd::geteuid().is_root(), "making network namespaces needs root");
        remove(names);
        let namespaces = Self(names);
        for name in names {
            run(&format!("ip netns add {name}"))?;
            run(&format!("ip -n {name} link set lo up"))?;
        }
        Ok(namespaces)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        remove(self.0);
    }
}

/// Removes those that exist, with what runs in them and the configuration of their resolvers.
fn remove(names: &[&str]) {
    for name in names {
        if fs::exists(format!("/run/netns/{name}")).unwrap_or(false) {
            // Kill processes left by an aborted run; no others are in a namespace of this name. Failures here are
            // ignored; the next run tries again.
            for id in output("ip", &["netns", "pids", name]).unwrap_or_default().lines() {
                if let Ok(id) = id.trim().parse().map(Pid::from_raw) {
                    let _ = kill(id, Signal::SIGKILL);
                }
            }
            let _ = run(&format!("ip netns del {name}"));
        }
        let _ = fs::remove_file(format!("/etc/netns/{name}/resolv.conf"));
        let _ = fs::remove_dir(format!("/etc/netns/{name}"));
    }
    let _ = fs::remove_dir("/etc/netns");
}

/// Creates the hosts and connects them.
pub(crate) fn hosts() -> Result<Namespaces> {
    let hosts = Namespaces::new(&ALL)?;
    // The middle takes no part in the traffic, and must send nothing of its own.
    sysctl(MIDDLE, "net.ipv6.conf.all.disable_ipv6", "1")?;
    sysctl(MIDDLE, "net.ipv6.conf.default.disable_ipv6", "1")?;
    run(&format!("ip link add lan netns {CLIENT} type veth peer name to-client netns {MIDDLE}"))?;
    run(&format!("ip link add lan netns {SERVER} type veth peer name to-server netns {MIDDLE}"))?;
    run(&format!("ip -n {MIDDLE} link add point-near type veth peer name point-far"))?;
    run(&format!("ip -n {CLIENT} link add link lan name lan2 type macvlan mode bridge"))?;
    run(&format!("ip -n {CLIENT} link set lan2 netns {LEGACY} name lan"))?;
    for interface in ["to-client", "point-near", "point-far", "to-server"] {
        set_up(MIDDLE, interface)?;
    }
    for (name, timestamps) in [(CLIENT, "1"), (LEGACY, "0"), (SERVER, "1")] {
        sysctl(name, "net.ipv4.tcp_timestamps", timestamps)?;
        set_up(name, "lan")?;
    }
    address(CLIENT, "10.10.0.1/8", "fd00:10:0::1/16")?;
    address(LEGACY, "10.10.1.1/8", "fd00:10:1::1/16")?;
    for (v4, v6) in SERVERS_V4.iter().zip(SERVERS_V6) {
        address(SERVER, &format!("{v4}/8"), &format!("{v6}/16"))?;
    }
    // Per route: only the machine's own namespace may allow cubic by sysctl, and that is not ours to change.
    for name in [CLIENT, LEGACY, SERVER] {
        run(&format!("ip -n {name} route change 10.0.0.0/8 dev lan proto kernel scope link congctl cubic"))?;
        run(&format!("ip -n {name} -6 route replace fd00::/16 dev lan proto kernel metric 256 congctl cubic"))?;
    }
    let server_mac = output("ip", &["netns", "exec", SERVER, "cat", "/sys/class/net/lan/address"])?;
    for name in [CLIENT, LEGACY] {
        for nobody in NOBODY {
            run(&format!("ip -n {name} neigh add {nobody} lladdr {} dev lan nud permanent", server_mac.trim()))?;
        }
    }
    // Configures the C library's resolver, inside the client only.
    let folder = format!("/etc/netns/{CLIENT}");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {folder}"))?;
    let resolver = format!("nameserver {}\noptions timeout:1 attempts:3\n", SERVERS_V4[1]);
    fs::write(format!("{folder}/resolv.conf"), resolver).with_context(|| format!("cannot write into {folder}"))?;
    Ok(hosts)
}

/// The address of `dwell-to`.
pub(crate) const TO_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 31, 0, 1);

/// Whether hosts give long segments to their interfaces, and get them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offload {
    Off,
    /// At the end hosts only: the router's outgoing link carries what a link carries.
    OfHosts,
}

/// Creates two hosts, and a router between them with a token bucket (`tc … tbf`) on its way from the one to the other:
///
/// ```text
/// dwell-from  lan ── ingress  dwell-bucket  egress ── lan  dwell-to
///                                           └ tbf
/// ```
///
/// On its way out, a frame is captured by tcpdump after it has left the bucket.
pub(crate) fn bucket(tbf: &str, offload: Offload) -> Result<Namespaces> {
    let hosts = Namespaces::new(&[FROM, BUCKET, TO])?;
    for (name, interface, near, far) in
        [(FROM, "ingress", "10.30.0.1", "10.30.0.2"), (TO, "egress", "10.31.0.1", "10.31.0.2")]
    {
        run(&format!("ip link add lan netns {name} type veth peer name {interface} netns {BUCKET}"))?;
        for (host, interface, address) in [(name, "lan", near), (BUCKET, interface, far)] {
            match offload {
                Offload::OfHosts if interface != "egress" => run(&format!("ip -n {host} link set {interface} up"))?,
                _ => set_up(host, interface)?,
            }
            run(&format!("ip -n {host} address add {address}/24 dev {interface}"))?;
        }
        run(&format!("ip -n {name} route add default via {far} congctl cubic"))?;
    }
    sysctl(BUCKET, "net.ipv4.ip_forward", "1")?;
    if offload == Offload::OfHosts {
        // As a card does that interrupts at most every other millisecond.
        run(&format!("ip netns exec {TO} ethtool -K lan gro on"))?;
        let wait = "echo 2000000 > /sys/class/net/lan/gro_flush_timeout";
        output("ip", &["netns", "exec", TO, "sh", "-c", wait])?;
    }
    run(&format!("tc -n {BUCKET} qdisc add dev egress root tbf {tbf}"))?;
    Ok(hosts)
}

/// Disables offloads, so that frames look as on a wire: at most an MTU long, with checksums.
pub(crate) fn set_up(host: &str, interface: &str) -> Result<()> {
    run(&format!("ip netns exec {host} ethtool -K {interface} tx off rx off tso off gso off gro off"))?;
    run(&format!("ip -n {host} link set {interface} up"))
}

fn address(host: &str, v4: &str, v6: &str) -> Result<()> {
    run(&format!("ip -n {host} address add {v4} dev lan"))?;
    run(&format!("ip -n {host} address add {v6} dev lan nodad"))
}

pub(crate) fn sysctl(host: &str, name: &str, value: &str) -> Result<()> {
    run(&format!("ip netns exec {host} sysctl -q -w {name}={value}"))
}

/// Runs a command line without quoting and waits for it; shows its output on standard error only if it fails.
pub(crate) fn run(line: &str) -> Result<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    output(words[0], &words[1..]).map(drop)
}

/// Runs a command to its end and returns its standard output.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let done = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {program}: is its package installed?"))?;
    if !done.status.success() {
        let words = String::from_utf8_lossy(&done.stderr);
        bail!("{program} {}: {}: {}", arguments.join(" "), done.status, words.trim());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Prepares a command that runs on a host. `ip netns exec` execs the program, so the child's id is the program's.
pub(crate) fn command(host: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", host, program]).stdin(Stdio::null());
    command
}

/// Runs a function in a new thread on a host; threads and sockets that it creates belong to that host, too.
pub(crate) fn inside<T: Send + 'static>(
    host: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> thread::JoinHandle<Result<T>> {
    thread::spawn(move || {
        let path = format!("/run/netns/{host}");
        let namespace = File::open(&path).with_context(|| format!("cannot open {path}"))?;
        setns(namespace, CloneFlags::CLONE_NEWNET).with_context(|| format!("cannot enter {path}"))?;
        work()
    })
}

/// Waits for a thread and returns its result.
pub(crate) fn join<T>(thread: thread::JoinHandle<Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(result) => result,
        Err(_) => bail!("a thread of the recording panicked"),
    }
}

/// A server process, killed on drop.
#[derive(Debug)]
pub(crate) struct Daemon(Child);

impl Daemon {
    /// Starts the process.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(Self(child.with_context(|| format!("cannot start {command:?}"))?))
    }

    /// Fails if the process has already ended.
    pub(crate) fn check(&mut self, name: &str) -> Result<()> {
        match self.0.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => bail!("{name} ended at once: {status}"),
            Err(error) => bail!("cannot watch {name}: {error}"),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
