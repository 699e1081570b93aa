//! Ctrl-C, SIGTERM, and SIGHUP, which comes when a terminal or connection is closed. The first asks a command that reads
//! to end in order, with a report of what it read; a second one, or the first where nothing is read, ends the run at
//! once. None leaves a file half written.

use crate::output;
use dwell_capture::file::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals as Incoming;
use signal_hook::low_level::signal_name;
use std::fs;
use std::io::{self, PipeWriter, Write};
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

/// What came, and what it does.
pub(crate) struct Signals {
    stop: Stop,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The number of the last signal; zero before the first.
    received: AtomicI32,
    /// Whether somebody ends in order when asked to.
    is_heard: AtomicBool,
}

impl Signals {
    /// Takes the signals from now on.
    pub(crate) fn watch() -> io::Result<Self> {
        let (asked, ask) = io::pipe()?;
        let incoming = Incoming::new([SIGINT, SIGTERM])?;
        if !is_hangup_ignored() {
            incoming.handle().add_signal(SIGHUP)?;
        }
        let state = Arc::new(State::default());
        let of_thread = Arc::clone(&state);
        thread::Builder::new().name("signals".to_owned()).spawn(move || serve(incoming, ask, &of_thread))?;
        Ok(Self { stop: Stop::when_readable(asked), state })
    }

    /// What asks readers to end. Who calls this ends in order then.
    pub(crate) fn stop(&self) -> &Stop {
        self.state.is_heard.store(true, Ordering::SeqCst);
        &self.stop
    }

    /// What a report says whose reading was stopped.
    pub(crate) fn warning(&self) -> String {
        let name = signal_name(self.received()).unwrap_or("a signal");
        format!("stopped by {name}: the rest of the input was not read")
    }

    /// How a run ends that gave its answer: as shells have it, with 128 and the number of the signal if it was stopped,
    /// whatever else there was, so that a loop around it ends as well; with 1 if some input was damaged.
    pub(crate) fn end(&self, is_stopped: bool, is_damaged: bool) -> ExitCode {
        match (is_stopped, is_damaged) {
            (true, _) => ExitCode::from(u8::try_from(code(self.received())).unwrap_or(u8::MAX)),
            (false, true) => ExitCode::from(1),
            (false, false) => ExitCode::SUCCESS,
        }
    }

    fn received(&self) -> i32 {
        self.state.received.load(Ordering::SeqCst)
    }
}

/// Whether SIGHUP is to have no effect, as under `nohup`: who takes a signal takes it also then. Also where nobody says
/// whether it is ignored.
fn is_hangup_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}

const fn code(signal: i32) -> i32 {
    128 + signal
}

/// Waits for signals as long as the program runs.
fn serve(mut incoming: Incoming, mut ask: PipeWriter, state: &State) {
    for signal in incoming.forever() {
        let is_first = state.received.swap(signal, Ordering::SeqCst) == 0;
        let is_heard = state.is_heard.load(Ordering::SeqCst);
        if !(is_first && is_heard && ask.write_all(&[0]).is_ok()) {
            output::abandon();
            process::exit(code(signal));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop around a run that was stopped ends, whatever else was wrong.
    #[test]
    fn a_signal_says_more_than_damage() {
        let (asked, _ask) = io::pipe().unwrap();
        let state = State { received: AtomicI32::new(SIGINT), is_heard: AtomicBool::new(true) };
        let signals = Signals { stop: Stop::when_readable(asked), state: Arc::new(state) };
        let codes = [(true, true), (true, false), (false, true), (false, false)];
        let codes = codes.map(|(is_stopped, is_damaged)| signals.end(is_stopped, is_damaged));
        assert_eq!(codes, [ExitCode::from(130), ExitCode::from(130), ExitCode::from(1), ExitCode::SUCCESS]);
    }
}
