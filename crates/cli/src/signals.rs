//! Ctrl-C, SIGTERM, and SIGHUP, which is sent when a terminal or connection is closed. The first signal makes a command
//! that is reading input end gracefully, with a report of what it has read; a second one, or the first if nothing is
//! being read, ends the run at once. So does the first if the reader does not notice it, because an output is blocked.
//! Neither leaves a half-written file. `timeout` sends each signal twice: to the command, then to its process group.

use crate::{messages, output};
use dwell_capture::file::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals as Incoming;
use signal_hook::low_level::signal_name;
use std::cell::Cell;
use std::fs;
use std::io::{self, PipeWriter, Write};
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The signals received, and their effect.
pub(crate) struct Signals {
    stop: Stop,
    state: Arc<State>,
    /// See [`Self::code`].
    code: Cell<ExitCode>,
}

#[derive(Default)]
struct State {
    /// The number of the first signal; zero if there was none.
    received: AtomicI32,
    /// Whether the command ends gracefully when asked to.
    is_heard: AtomicBool,
    /// What a command that does not says at its end; nothing if empty.
    last_words: Mutex<String>,
}

impl Signals {
    /// Handles signals from now on.
    pub(crate) fn watch() -> io::Result<Self> {
        // A file that may not grow any further is then an error of the write, after which nothing is left behind.
        flag::register(SIGXFSZ, Arc::default())?;
        let (asked, ask) = io::pipe()?;
        let incoming = Incoming::new([SIGINT, SIGTERM])?;
        if !is_hangup_ignored() {
            incoming.handle().add_signal(SIGHUP)?;
        }
        let state = Arc::new(State::default());
        let of_thread = Arc::clone(&state);
        let stop = Stop::when_readable(asked);
        let of_reader = stop.clone();
        let serve = move || serve(incoming, ask, &of_thread, &of_reader);
        thread::Builder::new().name("signals".to_owned()).spawn(serve)?;
        Ok(Self { stop, state, code: Cell::default() })
    }

    /// The flag that stops readers. A command that calls this must end gracefully once they stop.
    pub(crate) fn stop(&self) -> &Stop {
        self.state.is_heard.store(true, Ordering::SeqCst);
        &self.stop
    }

    /// What is said from now on if a signal ends the run at once; nothing if empty.
    pub(crate) fn set_last_words(&self, words: String) {
        *self.state.last_words.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    /// The warning in the report of a run, if it was stopped.
    pub(crate) fn warning(&self, is_stopped: bool) -> Option<String> {
        is_stopped.then(|| format!("stopped by {}: the rest of the input was not read", name(self.received())))
    }

    /// The exit code of a run whose input has been read; to be called before the report is written, since a signal ends
    /// the run at once from then on. If it was stopped: 128 plus the signal number, as in shells, whatever else happened,
    /// so that a shell loop around it ends as well. Otherwise 1 if some input was damaged.
    pub(crate) fn end(&self, is_stopped: bool, is_damaged: bool) -> ExitCode {
        self.state.is_heard.store(false, Ordering::SeqCst);
        self.code.set(match (is_stopped, is_damaged) {
            (true, _) => ExitCode::from(u8::try_from(code(self.received())).unwrap_or(u8::MAX)),
            (false, true) => ExitCode::from(1),
            (false, false) => ExitCode::SUCCESS,
        });
        self.code()
    }

    /// The exit code of what has been read; success while more is to be read.
    pub(crate) fn code(&self) -> ExitCode {
        self.code.get()
    }

    fn received(&self) -> i32 {
        self.state.received.load(Ordering::SeqCst)
    }
}

/// Whether SIGHUP is ignored, as under `nohup`: installing a handler would override that. Also true if it is unknown
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

/// How long a reader may take to notice the first signal: far longer than it works on what it has read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Signals that follow the first so soon are the same request.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Waits for signals until the program ends.
fn serve(mut incoming: Incoming, mut ask: PipeWriter, state: &Arc<State>, stop: &Stop) {
    let mut first: Option<Instant> = None;
    for signal in incoming.forever() {
        if let Some(first) = first {
            if first.elapsed() < AT_ONCE {
                continue;
            }
            abandon_report(signal);
        }
        first = Some(Instant::now());
        state.received.store(signal, Ordering::SeqCst);
        if !(state.is_heard.load(Ordering::SeqCst) && ask.write_all(&[0]).is_ok()) {
            let words = state.last_words.lock().unwrap_or_else(PoisonError::into_inner);
            if !words.is_empty() {
                messages::say(&words);
            }
            abandon(signal);
        }
        let (state, stop) = (Arc::clone(state), stop.clone());
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            if state.is_heard.load(Ordering::SeqCst) && !stop.is_noticed() {
                abandon_report(signal);
            }
        });
    }
}

/// Ends a run that was asked to end with a report.
fn abandon_report(signal: i32) -> ! {
    messages::say(&format!("ended by {} without a report", name(signal)));
    abandon(signal)
}

fn abandon(signal: i32) -> ! {
    output::abandon();
    process::exit(code(signal));
}

fn name(signal: i32) -> &'static str {
    signal_name(signal).unwrap_or("a signal")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A signal takes precedence over damage: otherwise a shell loop around a stopped run would continue.
    #[test]
    fn a_signal_says_more_than_damage() {
        let (asked, _ask) = io::pipe().unwrap();
        let state = State { received: AtomicI32::new(SIGINT), is_heard: AtomicBool::new(true), ..State::default() };
        let (stop, code) = (Stop::when_readable(asked), Cell::default());
        let signals = Signals { stop, state: Arc::new(state), code };
        let codes = [(true, true), (true, false), (false, true), (false, false)];
        let codes = codes.map(|(is_stopped, is_damaged)| signals.end(is_stopped, is_damaged));
        assert_eq!(codes, [ExitCode::from(130), ExitCode::from(130), ExitCode::from(1), ExitCode::SUCCESS]);
    }
}
