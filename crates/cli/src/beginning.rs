//! The first packets of captures: which addresses are on which side, and the approximate delay.

use crate::points::{Point, Reading, Ways};
use anyhow::Result;
use dwell_capture::file::Stop;
use dwell_types::{Address, Nanos};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Number of packets examined in each capture.
const PACKETS: usize = 1 << 16;

/// What the first packets show.
#[derive(Clone, Default)]
pub(crate) struct Beginning {
    /// The direction of packets.
    pub(crate) ways: Ways,
    /// The mean delay from the senders to the receiver, without clock correction; zero if not known.
    pub(crate) delay: Nanos,
}

/// The delays between a pair of addresses, in nanoseconds, without clock correction.
#[derive(Clone, Copy)]
struct Delays {
    sum: i128,
    count: i128,
    least: i128,
    most: i128,
}

impl Delays {
    const NONE: Self = Self { sum: 0, count: 0, least: i128::MAX, most: i128::MIN };

    fn add(&mut self, delay: i128) {
        self.sum += delay;
        self.count += 1;
        self.least = self.least.min(delay);
        self.most = self.most.max(delay);
    }

    fn mean(&self) -> i128 {
        self.sum / self.count.max(1)
    }
}

/// By source and destination.
type Pairs = BTreeMap<(Address, Address), Delays>;

/// Examines the beginnings of captures if all can be read twice. Directions given in `asked` take precedence.
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
    let ways = if let Ways::There = asked { find(&pairs) } else { asked };
    let forward =
        pairs.iter().filter(|&(&(source, destination), _)| ways.is_reverse(source, destination) == Some(false));
    let (sum, count) = forward.fold((0, 0), |(sum, count), (_, delays)| (sum + delays.sum, count + delays.count));
    let mean = i64::try_from(sum / count.max(1)).unwrap_or(0);
    Ok(Beginning { ways, delay: Nanos::new(mean) })
}

/// The delays between each pair of addresses, without clock correction. Logs contain no addresses.
fn delays(senders: &[PathBuf], receiver: &Path, reading: &Reading, ways: &Ways, stop: &Stop) -> Result<Pairs> {
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
    let mut pairs = Pairs::new();
    let mut point = open(receiver)?;
    for _ in 0..PACKETS {
        let Some(seen) = point.peek() else { break };
        if let Some(at) = sent.remove(&seen.crossing.packet) {
            let ends = point.key().map(|key| (key.source, key.destination)).unwrap_or_default();
            pairs.entry(ends).or_insert(Delays::NONE).add((seen.crossing.at - at).get().into());
        }
        point.advance()?;
    }
    Ok(pairs)
}

/// The addresses on either side, if packets of both directions are found: pairs of addresses of which one direction is
/// seen at the sender first, and the other at the receiver.
///
/// The two directions of a pair are compared with each other, so a clock offset does not matter: the forward one
/// has the larger apparent delay from the sender to the receiver. The pairs classified in this way bound the offset, by
/// which pairs with only one direction are classified. A source is on the side indicated by most of its packets.
fn find(all: &Pairs) -> Ways {
    let pairs = || all.iter().filter(|((source, destination), _)| source != destination && !source.is_unspecified());
    let mut votes = BTreeMap::<_, i128>::new();
    let mut unanswered = Vec::new();
    for (&(source, destination), delays) in pairs() {
        match all.get(&(destination, source)) {
            Some(back) => *votes.entry(source).or_default() += delays.mean().cmp(&back.mean()) as i128 * delays.count,
            None => unanswered.push((source, delays)),
        }
    }
    let told = pairs().filter_map(|((source, _), delays)| Some((delays, votes.get(source)?.cmp(&0))));
    let Some(offset) = border(told) else { return Ways::default() };
    for (source, delays) in unanswered {
        *votes.entry(source).or_default() += delays.mean().cmp(&offset) as i128 * delays.count;
    }
    votes.retain(|_, votes| *votes != 0);
    Ways::Found(votes.into_iter().map(|(source, votes)| (source, votes < 0)).collect())
}

/// The clock offset: the threshold between the delays of forward packets (greater) and those of reverse packets (less)
/// that contradicts the fewest pairs. Extreme delays bound it best, means if clock errors exceed the delays.
fn border<'a>(told: impl Iterator<Item = (&'a Delays, Ordering)>) -> Option<i128> {
    let ends = told.flat_map(|(delays, way)| match way {
        Ordering::Greater => vec![(delays.least, -1), (delays.mean(), -1)],
        Ordering::Less => vec![(delays.most, 1), (delays.mean(), 1)],
        Ordering::Equal => Vec::new(),
    });
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    let (mut agree, mut best) = (0, None);
    for pair in ends.windows(2) {
        agree += pair[0].1;
        if pair[0].0 < pair[1].0 && best.is_none_or(|(most, _)| agree > most) {
            best = Some((agree, (pair[0].0 + pair[1].0) / 2));
        }
    }
    best.map(|(_, middle)| middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: i128 = 1_000_000_000;

    fn address(last: u32) -> Address {
        Address::v4(0x0a00_0000 | last)
    }

    /// The sources found on either side, given pairs of addresses with packets of two delays each.
    fn found(pairs: &[(u32, u32, i128, [i128; 2])]) -> [Vec<u32>; 2] {
        let mut all = Pairs::new();
        for &(source, destination, count, delays) in pairs {
            let entry = all.entry((address(source), address(destination))).or_insert(Delays::NONE);
            (0..count).for_each(|_| delays.iter().for_each(|delay| entry.add(AHEAD + delay)));
        }
        let ways = find(&all);
        let way = |&number: &u32| ways.is_reverse(address(number), Address::default());
        [false, true].map(|is_reverse| (1..100).filter(|number| way(number) == Some(is_reverse)).collect())
    }

    /// Sources that get no answer, on both sides, with a short queue while others have a long one, must be classified.
    #[test]
    fn one_way_talkers_are_told() {
        let pairs = [
            (1, 51, 90, [200_000, 80_000_000]),
            (51, 1, 40, [-9_000_000, -100_000]),
            (2, 52, 10, [150_000, 900_000]),
            (52, 2, 10, [-90_000, -90_000]),
            (3, 53, 500, [110_000, 120_000]),
            (54, 4, 500, [-110_000, -110_000]),
            // Another pair of the same source gives a tighter bound on the offset.
            (2, 55, 1, [20_000; 2]),
            (4, 56, 5, [21_000; 2]),
        ];
        assert_eq!(found(&pairs), [vec![1, 2, 3, 4], vec![51, 52, 54]]);
        // One mismatched packet must not affect the rest.
        let strange = [(5, 57, 1, [-300_000_000; 2]), (57, 5, 1, [-400_000_000; 2])];
        assert_eq!(found(&[&pairs[..], &strange].concat()), [vec![1, 2, 3, 4, 5], vec![51, 52, 54, 57]]);
    }

    /// Clock errors larger than the delays: the means must decide.
    #[test]
    fn clocks_may_jitter() {
        let pairs =
            [(1, 51, 90, [-500, 700]), (51, 1, 40, [-650, 550]), (3, 53, 500, [-450, 750]), (54, 4, 500, [-750, 500])];
        assert_eq!(found(&pairs), [vec![1, 3], vec![51, 54]]);
    }

    #[test]
    fn a_source_goes_the_way_of_most_of_its_packets() {
        let pairs = [(1, 51, 90, [1_000; 2]), (51, 1, 40, [-1_000; 2]), (51, 2, 10, [5_000; 2]), (3, 3, 9, [7_000; 2])];
        assert_eq!(found(&pairs), [vec![1], vec![51]]);
    }

    /// Without a pair with both directions, the clock offset is unknown, and all packets must count as forward.
    #[test]
    fn without_answers_all_packets_go_there() {
        let all: Vec<u32> = (1..100).collect();
        assert_eq!(found(&[(1, 51, 9, [1_000; 2]), (52, 2, 9, [-1_000; 2])]), [all.clone(), vec![]]);
        assert_eq!(found(&[(1, 51, 9, [1_000; 2]), (51, 1, 9, [1_000; 2])]), [all, vec![]]);
    }
}
