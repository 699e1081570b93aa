//! What the beginnings of captures show: which packets go from the senders to the receiver, and how long they take.

use crate::points::{Back, Point, Reading, Ways};
use anyhow::Result;
use dwell_capture::file::Stop;
use dwell_types::{Address, Nanos, Prefix};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Packets of each capture that are looked at.
const PACKETS: usize = 1 << 16;
/// More sources than these have no simple name.
const SOURCES: usize = 64;

/// What the beginnings of captures show.
#[derive(Clone, Default)]
pub(crate) struct Beginning {
    /// Which packets go which way.
    pub(crate) ways: Ways,
    /// The mean delay from the senders to the receiver, by the clocks as they are; zero if not known.
    pub(crate) delay: Nanos,
}

/// Sum and number of the delays between a pair of addresses.
type Sums = BTreeMap<(Address, Address), (i128, i128)>;

/// Looks at the beginnings of captures that can be read twice. Which way packets go is asked for, or what is found.
pub(crate) fn look(
    senders: &[PathBuf],
    receiver: &Path,
    reading: &Reading,
    asked: Ways,
    stop: &Stop,
) -> Result<Beginning> {
    if senders.iter().any(|path| !path.is_file()) || !receiver.is_file() {
        return Ok(Beginning { ways: asked, ..Beginning::default() });
    }
    let pairs = delays(senders, receiver, reading, &asked, stop)?;
    let ways = if asked.from.is_empty() { find(&pairs) } else { asked };
    let forward = pairs.iter().filter(|((source, _), _)| ways.is_forward(*source));
    let (sum, count) = forward.fold((0, 0), |(sum, count), (_, delays)| (sum + delays.0, count + delays.1));
    let mean = i64::try_from(sum / count.max(1)).unwrap_or(0);
    Ok(Beginning { ways, delay: Nanos::new(mean) })
}

/// The delays between each pair of addresses, by the clocks as they are. Logs name no addresses.
fn delays(senders: &[PathBuf], receiver: &Path, reading: &Reading, ways: &Ways, stop: &Stop) -> Result<Sums> {
    let open = |path: &Path| Point::open(path, reading, ways, Nanos::ZERO, stop);
    let mut sent = HashMap::new();
    for sender in senders {
        let mut point = open(sender)?;
        for _ in 0..PACKETS {
            let Some(seen) = point.peek() else { break };
            sent.entry(seen.crossing.packet).or_insert(seen.crossing.at);
            point.advance()?;
        }
    }
    let mut pairs = Sums::new();
    let mut point = open(receiver)?;
    for _ in 0..PACKETS {
        let Some(seen) = point.peek() else { break };
        if let Some(at) = sent.remove(&seen.crossing.packet) {
            let ends = point.key().map(|key| (key.source, key.destination)).unwrap_or_default();
            let (sum, count) = pairs.entry(ends).or_default();
            *sum += i128::from((seen.crossing.at - at).get());
            *count += 1;
        }
        point.advance()?;
    }
    Ok(pairs)
}

/// The sources on either side, if there are packets of both directions: pairs of addresses between which one direction
/// is seen at the sender first, and the other at the receiver.
///
/// What is compared are the two directions of a pair, so an offset of the clocks does not matter: the direction that
/// takes longer from the sender to the receiver, as their clocks have it, is the one that goes there.
fn find(pairs: &Sums) -> Ways {
    let (mut from, mut back) = (Vec::new(), Vec::new());
    for (&(source, destination), &(sum, count)) in pairs {
        if source == destination {
            continue;
        }
        let Some(&(opposite_sum, opposite_count)) = pairs.get(&(destination, source)) else { continue };
        // Means, without division.
        match (sum * opposite_count).cmp(&(opposite_sum * count)) {
            Ordering::Greater => from.push(Prefix::new(source, 128)),
            Ordering::Less => back.push(Prefix::new(source, 128)),
            Ordering::Equal => {}
        }
    }
    from.dedup();
    back.dedup();
    if from.is_empty() || from.len().max(back.len()) > SOURCES {
        return Ways::default();
    }
    Ways { from, back: Back::From(back) }
}
