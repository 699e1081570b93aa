//! The direction of packets between two points, and how to find it from the packets themselves.

use dwell_types::{Address, Nanos, Prefix};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Which packets go from the first point, the sender, to the second, the receiver, and which go back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// All packets go from the sender to the receiver.
    #[default]
    Forward,
    /// Packets from these sources go forward; the others go back, or are not measured.
    Asked {
        /// The sources of the forward direction.
        from: Vec<Prefix>,
        /// Whether the other direction is measured.
        has_back: bool,
    },
    /// Found from the captures: whether packets from an address go back. Shared by all points.
    Found(Arc<HashMap<Address, bool>>),
}

/// If there are more addresses than this, messages state only their number.
const MOST_NAMED: usize = 8;

impl Directions {
    /// The maximum number of addresses that are found: some 6 MB.
    pub const MOST_FOUND: usize = 1 << 17;

    /// Packets from these sources go forward, or all packets if `from` is empty.
    pub fn asked(from: &[Prefix], has_back: bool) -> Self {
        if from.is_empty() { Self::Forward } else { Self::Asked { from: from.to_vec(), has_back } }
    }

    /// Whether a packet goes back; `None` if its direction is not measured, if it stays on its side, or if neither its
    /// source nor its destination is known.
    pub fn is_reverse(&self, source: Address, destination: Address) -> Option<bool> {
        match self {
            Self::Forward => Some(false),
            Self::Asked { from, .. } if from.iter().any(|prefix| prefix.contains(source)) => Some(false),
            Self::Asked { has_back, .. } => has_back.then_some(true),
            Self::Found(sides) => {
                let (from, to) = (sides.get(&source), sides.get(&destination));
                if from == to { None } else { from.copied().or_else(|| to.map(|is_back| !is_back)) }
            }
        }
    }

    /// Whether the direction of a packet should have been found and was not.
    pub fn is_unknown(&self, source: Address, destination: Address) -> bool {
        matches!(self, Self::Found(sides) if !sides.contains_key(&source) && !sides.contains_key(&destination))
    }

    /// Adds the addresses that others have found and these have not, up to [`Self::MOST_FOUND`].
    pub fn learn(&mut self, others: &Self) {
        if let (Self::Found(sides), Self::Found(others)) = (self, others) {
            let sides = Arc::make_mut(sides);
            let room = Self::MOST_FOUND.saturating_sub(sides.len());
            let new: Vec<_> = others.iter().filter(|(address, _)| !sides.contains_key(address)).take(room).collect();
            sides.extend(new);
        }
    }

    /// Whether both directions are measured.
    pub const fn has_back(&self) -> bool {
        matches!(self, Self::Asked { has_back: true, .. } | Self::Found(_))
    }

    /// The sources of the forward direction as text; `None` if all packets go forward.
    pub fn from(&self) -> Option<String> {
        let from: Vec<Prefix> = match self {
            Self::Forward => return None,
            Self::Asked { from, .. } => from.clone(),
            Self::Found(sides) => {
                let forward = sides.iter().filter(|&(_, is_back)| !is_back);
                let mut forward: Vec<_> = forward.map(|(&address, _)| address).collect();
                if forward.len() > MOST_NAMED {
                    return Some(format!("{} addresses", forward.len()));
                }
                forward.sort_unstable();
                forward.into_iter().map(|address| Prefix::new(address, 128)).collect()
            }
        };
        Some(from.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }
}

/// Delays from the first point to the second between pairs of addresses, without clock correction: those of packets
/// that go back are negative, if clocks agree.
#[derive(Clone, Debug, Default)]
pub struct PairDelays(
    /// By source and destination.
    BTreeMap<(Address, Address), Delays>,
);

/// The delays between a pair of addresses, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Delays {
    sum: i128,
    count: i128,
    least: i128,
    most: i128,
    last: i128,
    /// How many were compared with the last one of the opposite direction, and were longer or shorter.
    compared: i128,
    longer: i128,
    shorter: i128,
}

impl Delays {
    const NONE: Self =
        Self { sum: 0, count: 0, least: i128::MAX, most: i128::MIN, last: 0, compared: 0, longer: 0, shorter: 0 };

    fn add(&mut self, delay: i128) {
        self.sum += delay;
        self.count += 1;
        self.least = self.least.min(delay);
        self.most = self.most.max(delay);
        self.last = delay;
    }

    /// Compares a delay with that of the packet before it in the opposite direction.
    fn compare(&mut self, delay: i128, before: i128) {
        self.compared += 1;
        self.longer += i128::from(delay > before);
        self.shorter += i128::from(delay < before);
    }

    fn mean(&self) -> i128 {
        self.sum / self.count.max(1)
    }
}

impl PairDelays {
    /// Adds the delay of a packet from a source to a destination.
    pub fn add(&mut self, ends: (Address, Address), delay: Nanos) {
        let delay = delay.get().into();
        let before = self.0.get(&(ends.1, ends.0)).map(|back| back.last);
        let delays = self.0.entry(ends).or_insert(Delays::NONE);
        delays.add(delay);
        if let Some(before) = before {
            delays.compare(delay, before);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many of the packets have no known direction, and how many there are.
    pub fn unknown(&self, directions: &Directions) -> (u64, u64) {
        let count = |(sum, all): (i128, i128), (&(source, destination), delays): (&(Address, Address), &Delays)| {
            let unknown = if directions.is_unknown(source, destination) { delays.count } else { 0 };
            (sum + unknown, all + delays.count)
        };
        let (unknown, all) = self.0.iter().fold((0, 0), count);
        (unknown as u64, all as u64)
    }

    /// The mean delay of the packets that go forward; zero if there are none.
    pub fn forward_mean(&self, directions: &Directions) -> Nanos {
        let pairs = self.0.iter();
        let forward =
            pairs.filter(|((source, destination), _)| directions.is_reverse(*source, *destination) == Some(false));
        let (sum, count) = forward.fold((0, 0), |(sum, count), (_, delays)| (sum + delays.sum, count + delays.count));
        Nanos::new(i64::try_from(sum / count.max(1)).unwrap_or(0))
    }

    /// The addresses on either side, if packets of both directions are found: pairs of addresses of which one direction
    /// is seen at the sender first, and the other at the receiver.
    ///
    /// The two directions of a pair are compared with each other, so a clock offset does not matter: the forward one
    /// has the larger apparent delay from the sender to the receiver. The pairs classified in this way bound the
    /// offset, by which pairs with only one direction are classified. A source is on the side indicated by most of its
    /// packets. Where both directions of a pair pass the two points in the same order, as at a queue for all packets, none
    /// are found. `is_one_clock`: the two points hardly disagree about the time.
    pub fn directions(&self, is_one_clock: bool) -> Directions {
        let pairs =
            || self.0.iter().filter(|((source, destination), _)| source != destination && !source.is_unspecified());
        let mut votes = BTreeMap::<_, i128>::new();
        let mut unanswered = Vec::new();
        for (&(source, destination), delays) in pairs() {
            match self.0.get(&(destination, source)) {
                Some(back) => {
                    *votes.entry(source).or_default() += delays.mean().cmp(&back.mean()) as i128 * delays.count
                }
                None => unanswered.push((source, delays)),
            }
        }
        let told = pairs().filter_map(|((source, _), delays)| Some((delays, votes.get(source)?.cmp(&0))));
        let told: Vec<_> = told.collect();
        let Some(offset) = border(&told).filter(|_| !all_go_forward(&told, is_one_clock)) else {
            return Directions::default();
        };
        for (source, delays) in unanswered {
            *votes.entry(source).or_default() += delays.mean().cmp(&offset) as i128 * delays.count;
        }
        votes.retain(|_, votes| *votes != 0);
        Directions::Found(Arc::new(votes.into_iter().map(|(source, votes)| (source, votes < 0)).collect()))
    }
}

/// Whether packets that seem to go back rather go forward, with shorter delays than the others: they do not arrive before
/// they are sent, and some take longer than some that go forward. Where the two points have clocks of their own, these
/// may seem so because one drifts. Then packets must also be out of order with those just before them in the opposite
/// direction, and their delays be those of packets that wait, a few for much longer than most: of packets that really
/// go back, a few seem to take much less. If there are few packets, the clocks alone decide.
fn all_go_forward(told: &[(&Delays, Ordering)], is_one_clock: bool) -> bool {
    const FEW: i128 = 10;
    /// At least one delay in so many is out of order.
    const MIXED: i128 = 10;
    let of = |way: Ordering| told.iter().filter(move |told| told.1 == way).map(|told| told.0);
    let (forward, back) = (|| of(Ordering::Greater), || of(Ordering::Less));
    let is_sent_first = back().map(|back| back.mean().signum() * back.count).sum::<i128>() >= 0;
    let many = || back().filter(|back| back.count >= FEW);
    let is_apart = forward().map(|forward| forward.least).min() > back().map(|back| back.most).max();
    let waiting = many().filter(|back| back.mean() - back.least < back.most - back.mean()).count();
    let in_order = forward().map(|way| way.longer).chain(back().map(|way| way.shorter)).sum::<i128>();
    let compared = forward().chain(back()).map(|way| way.compared).sum::<i128>();
    let is_mixed = (compared - in_order) * MIXED >= compared;
    let is_waiting = is_one_clock || is_mixed && 2 * waiting > many().count();
    is_sent_first && (many().next().is_none() || !is_apart && is_waiting)
}

/// The clock offset: the threshold between the delays of forward packets (greater) and those of reverse packets (less)
/// that contradicts the fewest pairs. Extreme delays bound it best, means if clock errors exceed the delays.
fn border(told: &[(&Delays, Ordering)]) -> Option<i128> {
    let ends = told.iter().flat_map(|(delays, way)| match way {
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

    const AHEAD: i64 = 1_000_000_000;

    fn address(last: u32) -> Address {
        Address::v4(0x0a00_0000 | last)
    }

    /// The sources found on either side, given pairs of addresses with packets of two delays each.
    fn found(pairs: &[(u32, u32, usize, [i64; 2])]) -> [Vec<u32>; 2] {
        let mut all = PairDelays::default();
        for &(source, destination, count, delays) in pairs {
            let ends = (address(source), address(destination));
            (0..count).for_each(|_| delays.iter().for_each(|delay| all.add(ends, Nanos::new(AHEAD + delay))));
        }
        let directions = all.directions(false);
        let way = |&number: &u32| directions.is_reverse(address(number), Address::default());
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

    /// Both directions pass one queue, from the first point to the second: most packets wait for a short time and a few
    /// for long, or the other way round, and replies are smaller. The controls that must not count as this: the other
    /// direction goes back, whether clocks agree or not, and waits as long.
    #[test]
    fn a_queue_may_be_passed_by_both_directions() {
        let directions = |waits: &[i64], is_one_clock: bool, ahead: i64, back: i64| {
            let mut all = PairDelays::default();
            let mut waits = waits.iter().cycle();
            for number in 0..400 {
                let (client, server) = (address(1 + number % 7), address(51));
                let mut wait = || waits.next().copied().unwrap_or_default();
                all.add((client, server), Nanos::new(ahead + 5_000 + wait()));
                all.add((server, client), Nanos::new(ahead + back * (1_000 + wait())));
            }
            all.directions(is_one_clock)
        };
        let waits = [0, 0, 0, 200, 900, 0, 4_000, 0, 100, 90_000, 0];
        let standing = [0, 80_000, 90_000, 95_000, 93_000];
        // A clock that drifts, between points that are passed in opposite directions.
        let mut drifting = PairDelays::default();
        for number in 0..400 {
            let (client, server, ahead) = (address(1), address(51), 1_000_000 + number * number);
            drifting.add((client, server), Nanos::new(ahead + 5_000));
            drifting.add((server, client), Nanos::new(ahead - 1_000));
        }
        assert!(matches!(drifting.directions(false), Directions::Found(_)));
        for (waits, is_one_clock) in [(&waits[..], true), (&waits, false), (&standing, true)] {
            assert_eq!(directions(waits, is_one_clock, 0, 1), Directions::Forward);
            let back = directions(waits, is_one_clock, 0, -1);
            assert!(matches!(&back, Directions::Found(sides) if sides.len() == 8));
            for ahead in [-1_000_000, -40_000, 40_000, 1_000_000] {
                assert_eq!(directions(waits, is_one_clock, ahead, -1), back);
            }
        }
    }

    /// Without a pair with both directions, the clock offset is unknown, and all packets must count as forward.
    #[test]
    fn without_answers_all_packets_go_there() {
        let all: Vec<u32> = (1..100).collect();
        assert_eq!(found(&[(1, 51, 9, [1_000; 2]), (52, 2, 9, [-1_000; 2])]), [all.clone(), vec![]]);
        assert_eq!(found(&[(1, 51, 9, [1_000; 2]), (51, 1, 9, [1_000; 2])]), [all, vec![]]);
    }
}
