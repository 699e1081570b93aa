//! The first packets of captures: which addresses are on which side, and the approximate delay.

use crate::points::{Point, Reading};
use anyhow::Result;
use dwell_capture::file::Stop;
use dwell_observe::crossing::{Directions, PairDelays};
use dwell_types::Nanos;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Number of packets examined in each capture.
const PACKETS: usize = 1 << 16;

/// What the first packets show.
#[derive(Clone, Default)]
pub(crate) struct Beginning {
    /// The direction of packets.
    pub(crate) directions: Directions,
    /// The mean delay from the senders to the receiver, without clock correction; zero if not known.
    pub(crate) delay: Nanos,
}

/// Examines the beginnings of captures if all can be read twice. Directions given in `asked` take precedence; otherwise
/// they are found, where points with `is_one_clock` agree about the time.
pub(crate) fn look(
    senders: &[PathBuf],
    receiver: &Path,
    reading: &Reading,
    asked: Directions,
    is_one_clock: bool,
    stop: &Stop,
) -> Result<Beginning> {
    if senders.iter().any(|path| !path.is_file()) || !receiver.is_file() {
        return Ok(Beginning { directions: asked, ..Beginning::default() });
    }
    let pairs = delays(senders, receiver, reading, &asked, stop)?;
    let directions = if asked == Directions::Forward { pairs.directions(is_one_clock) } else { asked };
    Ok(Beginning { delay: pairs.forward_mean(&directions), directions })
}

/// The delays between each pair of addresses, without clock correction, in the first packets that all captures may hold:
/// from when the last one begins. If there are none, the clocks disagree, and all begin at their beginning. Logs contain
/// no addresses.
fn delays(
    senders: &[PathBuf],
    receiver: &Path,
    reading: &Reading,
    directions: &Directions,
    stop: &Stop,
) -> Result<PairDelays> {
    let open = |path: &Path| Point::open(path, reading, directions, Nanos::ZERO, stop);
    let mut begin = None;
    for path in senders.iter().map(PathBuf::as_path).chain([receiver]) {
        begin = begin.max(open(path)?.at());
    }
    let open_later = |path: &Path| {
        let mut point = open(path)?;
        while point.at().is_some() && point.at() < begin {
            point.advance()?;
        }
        Ok(point)
    };
    let pairs = delays_of(senders, receiver, open_later)?;
    if pairs.is_empty() { delays_of(senders, receiver, open) } else { Ok(pairs) }
}

/// The delays between each pair of addresses in the first packets of points that are opened by `open`.
fn delays_of(senders: &[PathBuf], receiver: &Path, open: impl Fn(&Path) -> Result<Point>) -> Result<PairDelays> {
    let mut sent = HashMap::new();
    for sender in senders {
        let mut point = open(sender)?;
        for _ in 0..PACKETS {
            let Some(seen) = point.peek() else { break };
            sent.entry(seen.crossing.packet).or_insert(seen.crossing.at);
            point.advance()?;
        }
    }
    let mut pairs = PairDelays::default();
    let mut point = open(receiver)?;
    for _ in 0..PACKETS {
        let Some(seen) = point.peek() else { break };
        if let Some(at) = sent.remove(&seen.crossing.packet) {
            let ends = point.key().map(|key| (key.source, key.destination)).unwrap_or_default();
            pairs.add(ends, seen.crossing.at - at);
        }
        point.advance()?;
    }
    Ok(pairs)
}
