//! NTP: chronyd as server and clients. None of them adjusts the clock.

use crate::record::host::{CLIENT, Daemon, LEGACY, SERVER, SERVERS_V4, SERVERS_V6, command, inside};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// chronyd that controls no clock (`-x`), with its own configuration in the scratch folder.
fn chronyd(host: &str, name: &str, lines: &str, scratch: &Path) -> Result<Command> {
    let path = scratch.join(format!("{name}.conf"));
    let pid = scratch.join(format!("{name}.pid"));
    let text = format!("{lines}\npidfile {}\ncmdport 0\nbindcmdaddress /\n", pid.display());
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    let mut command = command(host, "chronyd");
    command.args(["-d", "-x", "-u", "root", "-f"]).arg(path);
    Ok(command)
}

pub(super) fn server(scratch: &Path) -> Result<Daemon> {
    let mut daemon = Daemon::start(chronyd(SERVER, "server", "local stratum 8\nallow all", scratch)?)?;
    thread::sleep(Duration::from_millis(500));
    daemon.check("chronyd")?;
    Ok(daemon)
}

/// One client daemon per host, each querying six addresses of the server about once per second.
pub(super) fn clients(span: Duration, scratch: &Path) -> Vec<JoinHandle<Result<()>>> {
    let sources: Vec<String> = SERVERS_V4
        .iter()
        .chain(&SERVERS_V6)
        .map(|server| format!("server {server} iburst minpoll 0 maxpoll 0"))
        .collect();
    let start = |host: &'static str| {
        let (sources, scratch) = (sources.join("\n"), scratch.to_owned());
        inside(host, move || {
            let mut client = Daemon::start(chronyd(host, host, &sources, &scratch)?)?;
            thread::sleep(Duration::from_millis(500));
            client.check("chronyd")?;
            thread::sleep(span.saturating_sub(Duration::from_millis(500)));
            Ok(())
        })
    };
    [CLIENT, LEGACY].map(start).into()
}
