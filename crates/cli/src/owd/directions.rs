//! Which packets go from the sender to the receiver, where both captures hold both directions.

use super::arguments::Arguments;
use super::points::{Back, Point, Ways};
use anyhow::Result;
use dwell_types::{Address, Nanos, Prefix};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// Packets of each capture that are looked at.
const PACKETS: usize = 1 << 16;
/// More sources than these have no simple name.
const SOURCES: usize = 64;

/// What was asked for; else, if the captures can be read twice, what they show.
pub(super) fn ways(arguments: &Arguments) -> Result<Ways> {
    if arguments.crossings || !arguments.from.is_empty() || arguments.paths().iter().any(|path| !path.is_file()) {
        let back = if arguments.reverse { Back::Others } else { Back::None };
        return Ok(Ways { from: arguments.from.clone(), back });
    }
    find(arguments)
}

/// The sources on either side, if the beginnings of the captures hold packets of both directions: pairs of addresses
/// between which one direction is seen at the sender first, and the other at the receiver.
///
/// What is compared are the two directions of a pair, so an offset of the clocks does not matter: the direction that takes
/// longer from the sender to the receiver, as their clocks have it, is the one that goes there.
fn find(arguments: &Arguments) -> Result<Ways> {
    let [sender, receiver] = arguments.paths();
    let mut sent = HashMap::new();
    let mut point = Point::open(sender, arguments, &Ways::default(), Nanos::ZERO)?;
    for _ in 0..PACKETS {
        let Some(seen) = point.peek() else { break };
        sent.entry(seen.crossing.packet).or_insert(seen.crossing.at);
        point.advance()?;
    }
    // Of each pair of addresses, the sum and the number of the delays.
    let mut pairs: BTreeMap<(Address, Address), (i128, i128)> = BTreeMap::new();
    let mut point = Point::open(receiver, arguments, &Ways::default(), Nanos::ZERO)?;
    for _ in 0..PACKETS {
        let Some(seen) = point.peek() else { break };
        if let (Some(at), Some(key)) = (sent.remove(&seen.crossing.packet), point.key()) {
            let (sum, count) = pairs.entry((key.source, key.destination)).or_default();
            *sum += i128::from((seen.crossing.at - at).get());
            *count += 1;
        }
        point.advance()?;
    }
    let (mut from, mut back) = (Vec::new(), Vec::new());
    for (&(source, destination), &(sum, count)) in &pairs {
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
        return Ok(Ways::default());
    }
    Ok(Ways { from, back: Back::From(back) })
}
