//! How to find the direction of packets between two points from the packets themselves.

use super::both::{Both, Ends, Known, way};
use super::directions::{Directions, Found, Place, lowest};
use super::drift::Drift;
use dwell_types::{Address, FlowKey, Nanos, Timestamp, hash};
use foldhash::fast::RandomState;
use foldhash::{HashMap, HashSet};
use indexmap::IndexMap;
use std::cmp::Ordering;
use std::sync::Arc;

/// What the first packets show: delays from the first point to the second between pairs of addresses, without clock
/// correction (those of packets that go back are negative, if clocks agree), and which packets were seen where.
#[derive(Clone, Debug, Default)]
pub struct Sightings {
    /// Of packets seen at both points, in the order in which the first of each pair became known.
    pairs: IndexMap<Ends, Both, RandomState>,
    /// All packets, in the order of time.
    seen: Vec<Sighting>,
    /// The connections of the packets that were seen at both points.
    common: HashSet<u64>,
    /// Whether addresses are translated between the points, so that those of a packet differ.
    is_translated: bool,
}

/// A packet seen at a point.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    ends: Ends,
    /// Hash of the connection: of ends and ports, whatever the direction.
    connection: u64,
    at: Timestamp,
    is_at_receiver: bool,
}

/// Packets to addresses that no packet reached, and none came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unreached {
    /// How many there are.
    pub packets: u64,
    /// Of how many that were sent.
    pub sent: u64,
    /// To how many addresses.
    pub addresses: u64,
}

/// Packets of connections that only one point sees, although both of their directions pass there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bypassing {
    /// How many there are, of those that are measured at the point that they are sent from.
    pub packets: u64,
    /// How many these are.
    pub sent: u64,
    /// The number of connections.
    pub connections: u64,
}

/// What is known of the delays from one address to another, of which there is at least one.
#[derive(Clone, Copy, Debug)]
struct Summary {
    count: usize,
    least: i64,
    /// The median: a packet matched with an equal one that was sent seconds later would shift the mean of hundreds.
    middle: i64,
    most: i64,
}

impl Summary {
    /// With delays as they would be without the drift of clocks.
    fn of(delays: &[Known], drift: Drift) -> Option<Self> {
        let [least, middle, most] = spread(delays.iter().map(|&known| drift.correct(known)).collect())?;
        Some(Self { count: delays.len(), least, middle, most })
    }

    /// Whether these packets go forward, given a delay between the directions: positive if so, one for each packet.
    fn votes(&self, between: i64) -> i64 {
        self.middle.cmp(&between) as i64 * self.count as i64
    }
}

/// What pairs of addresses tell.
struct Judged {
    /// Of sources with answers: positive if they are at the sender.
    votes: HashMap<Address, i64>,
    /// The delays of pairs whose source has answers, and the sign of its votes.
    told: Vec<(Summary, Ordering)>,
    /// Pairs of which only one direction was seen, by their source.
    unanswered: Vec<(Address, Summary)>,
}

/// The least, the median (of an even number, the larger of both) and the greatest.
fn spread(mut delays: Vec<i64>) -> Option<[i64; 3]> {
    delays.sort_unstable();
    Some([*delays.first()?, *delays.get(delays.len() / 2)?, *delays.last()?])
}

impl Sightings {
    /// None so far. `is_translated`: between the points addresses are translated.
    pub fn new(is_translated: bool) -> Self {
        Self { is_translated, ..Self::default() }
    }

    /// Adds a packet of a [`connection`] seen at a point, by the sender's clock, as far as that is known.
    pub fn see(&mut self, ends: Ends, connection: u64, at: Timestamp, is_at_receiver: bool) {
        self.seen.push(Sighting { ends, connection, at, is_at_receiver });
    }

    /// Adds the connections of a packet that has now been seen at both points: as it was called at each.
    pub fn unite(&mut self, [one, other]: [u64; 2]) {
        self.common.insert(one);
        if other != one {
            self.common.insert(other);
        }
    }

    /// Adds the delay of a packet that has now been seen at both points.
    pub fn add(&mut self, ends: Ends, at: Timestamp, delay: Nanos) {
        let (pair, way) = way(ends);
        self.pairs.entry(pair).or_default().add(way, Known { delay: delay.get(), at });
    }

    /// Whether no packet was seen at both points.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The delays of the packets from one address to another.
    fn of(&self, ends: Ends) -> &[Known] {
        let (pair, way) = way(ends);
        self.pairs.get(&pair).map_or(&[], |both| &both.delays[way])
    }

    /// Source, destination and delays of all packets.
    fn all(&self) -> impl Iterator<Item = (Ends, &[Known])> {
        let ways = self.pairs.iter().flat_map(|(&(low, high), Both { delays: [there, back], .. })| {
            [((low, high), &there[..]), ((high, low), &back[..])]
        });
        ways.filter(|(_, delays)| !delays.is_empty())
    }

    /// How many of the packets have no known direction, and how many there are.
    pub fn unknown(&self, directions: &Directions) -> (u64, u64) {
        let packets = |(_, delays): (Ends, &[Known])| delays.len() as u64;
        let unknown = self.all().filter(|&((source, destination), _)| directions.is_unknown(source, destination));
        (unknown.map(packets).sum(), self.all().map(packets).sum())
    }

    /// The delays of the packets that go in one direction, from the first point to the second, as far as that is known.
    fn delays(&self, directions: &Directions, goes_back: bool) -> Vec<i64> {
        let goes = |ends: Ends| directions.is_reverse(ends.0, ends.1) == Some(goes_back);
        let these = self.all().filter(|&(ends, _)| goes(ends));
        these.flat_map(|(_, delays)| delays.iter().map(|known| known.delay)).collect()
    }

    /// The median delay of the packets that go forward; zero if there are none.
    pub fn forward_median(&self, directions: &Directions) -> Nanos {
        Nanos::new(spread(self.delays(directions, false)).map_or(0, |[_, middle, _]| middle))
    }

    /// How far the receiver's clock is ahead at least and at most, by the delays of both directions, apart from one in a
    /// hundred, which may have been matched with an equal one. `None` without both, and if no clocks explain them.
    pub fn ahead(&self, directions: &Directions) -> Option<[Nanos; 2]> {
        let [mut there, mut back] = [false, true].map(|goes_back| self.delays(directions, goes_back));
        there.sort_unstable();
        back.sort_unstable();
        let most = *there.get(there.len() / 100)?;
        let least = *back.iter().rev().nth(back.len() / 100)?;
        let times = || self.all().flat_map(|(_, delays)| delays).map(|known| known.at);
        let lasts = times().max()? - times().min()?;
        let is_explained = least.saturating_sub(most) <= lasts.drift().get();
        is_explained.then(|| [least.min(most), least.max(most)].map(Nanos::new))
    }

    /// How much longer the packets that go back took from the second point to the first than the quickest of them, apart
    /// from one in a hundred, which may have been matched with an equal one.
    pub fn waits_back(&self, directions: &Directions) -> Vec<Nanos> {
        let back = self.delays(directions, true).into_iter();
        let mut delays: Vec<i64> = back.map(i64::saturating_neg).collect();
        delays.sort_unstable();
        let Some(&least) = delays.get(delays.len() / 100) else { return Vec::new() };
        delays.iter().map(|delay| Nanos::new(delay.saturating_sub(least))).collect()
    }

    /// The addresses on either side, if packets of both directions are found: pairs of addresses of which one direction
    /// is seen at the sender first, and the other at the receiver.
    ///
    /// The two directions of a pair are compared with each other, so a clock offset does not matter: the forward one
    /// has the larger apparent delay from the sender to the receiver. The pairs classified in this way bound the
    /// offset and its drift, by which pairs with only one direction are classified. A source is on the side indicated by
    /// most of its packets. Where both directions of a pair pass the two points in the same order, as at a queue for all
    /// packets, no sides are found. `is_one_clock`: the two points hardly disagree about the time.
    ///
    /// Where no pair passes both points in both directions, but answers are seen at one of them, only one direction is
    /// captured there: that of the packets that pass both. Hosts that only exchange packets at one of the points are on
    /// its side.
    pub fn directions(&self, is_one_clock: bool) -> Directions {
        let by_clocks = self.judge(Drift::NONE).told;
        let Judged { mut votes, told, unanswered } = self.judge(self.drift());
        let is_one_queue = is_one_clock || self.wait_together() || self.is_mixed() && are_waits(&by_clocks);
        if !told.is_empty() && all_go_forward(&by_clocks, &told, is_one_queue) {
            return Directions::Forward;
        }
        let border = border(&told);
        if border.is_none() && !told.is_empty() {
            return Directions::Forward;
        }
        let mut places = self.local();
        if let Some(offset) = border {
            for (source, delays) in unanswered {
                *votes.entry(source).or_default() += delays.votes(offset);
            }
            votes.retain(|_, votes| *votes != 0);
            let place = |votes| if votes < 0 { Place::Receiver } else { Place::Sender };
            places.extend(votes.into_iter().map(|(source, votes)| (source, place(votes))));
        } else if places.is_empty() && !self.is_answered() {
            return Directions::Forward;
        } else {
            places.extend(self.one_way());
        }
        Directions::Found(Arc::new(Found { places, has_back: border.is_some() }))
    }

    /// What the delays of pairs tell, without this drift of the clocks.
    fn judge(&self, drift: Drift) -> Judged {
        let mut votes = HashMap::<_, i64>::default();
        let (mut all, mut unanswered) = (Vec::new(), Vec::new());
        for (&(low, high), both) in self.pairs_of_two() {
            let [there, back] = both.delays.each_ref().map(|delays| Summary::of(delays, drift));
            let order = both.order.outcome();
            for (source, delays, back, order) in [(low, there, back, order), (high, back, there, order.reverse())] {
                let Some(delays) = delays.filter(|_| !source.is_unspecified()) else { continue };
                all.push((source, delays));
                match back {
                    Some(back) => {
                        let longer = order.then(delays.middle.cmp(&back.middle));
                        *votes.entry(source).or_default() += longer as i64 * delays.count as i64;
                    }
                    None => unanswered.push((source, delays)),
                }
            }
        }
        let told = all.into_iter().filter_map(|(source, delays)| Some((delays, votes.get(&source)?.cmp(&0))));
        let told = told.collect();
        Judged { votes, told, unanswered }
    }

    /// How the clocks drift, by the pairs of which one direction took longer at about the same time.
    fn drift(&self) -> Drift {
        let (mut longer, mut shorter) = (Vec::new(), Vec::new());
        for (_, Both { delays: [there, back], order, .. }) in self.pairs_of_two() {
            let [more, less] = match order.outcome() {
                Ordering::Greater => [there, back],
                Ordering::Less => [back, there],
                Ordering::Equal => continue,
            };
            longer.extend_from_slice(more);
            shorter.extend_from_slice(less);
        }
        Drift::of(&longer, &shorter)
    }

    /// Pairs of different addresses.
    fn pairs_of_two(&self) -> impl Iterator<Item = (&Ends, &Both)> {
        self.pairs.iter().filter(|((low, high), _)| low != high)
    }

    /// Sums up what pairs of different addresses show.
    fn sum(&self, of: impl Fn(&Both) -> usize) -> usize {
        self.pairs_of_two().map(|(_, both)| of(both)).sum()
    }

    /// Whether neither direction nearly always takes longer. Equal packets that are taken for one another make up to 3%
    /// of the exceptions.
    fn is_mixed(&self) -> bool {
        const SHARE: f64 = 0.05;
        let exceptions = self.sum(|both| both.order.longer.min(both.order.shorter));
        let compared = self.sum(|both| both.order.compared);
        exceptions as f64 >= SHARE * compared as f64
    }

    /// Whether the delays of both directions rise and fall together, as in one queue. Of packets that pass two points in
    /// opposite directions half do so, more if acknowledgements pace their data (65% were seen), and fewer if both
    /// directions share a medium. A clock that is set changes both once, for each pair of addresses.
    fn wait_together(&self) -> bool {
        const ENOUGH: usize = 20;
        const OFTEN: f64 = 0.05;
        const SHARE: f64 = 0.7;
        let alike = self.sum(|both| both.changes.alike);
        let all = alike + self.sum(|both| both.changes.opposite);
        let compared = self.sum(|both| both.changes.compared);
        all >= ENOUGH && all as f64 >= OFTEN * compared as f64 && alike as f64 >= SHARE * all as f64
    }

    /// What was seen at times at which it would be seen at both points, if it passes both: delays are taken to be at most
    /// twice as far from their median, which contains the clock offset, as any that was seen.
    fn seen_twice(&self) -> impl Iterator<Item = &Sighting> {
        const LEAST: i128 = 10_000_000;
        let spread = spread(self.all().flat_map(|(_, delays)| delays).map(|known| known.delay).collect());
        let [least, ahead, most] = spread.unwrap_or_default().map(i128::from);
        let margin = spread.map(|_| LEAST + 2 * (ahead - least).max(most - ahead));
        // By the sender's clock.
        let at = move |seen: &Sighting| i128::from(seen.at.as_nanos()) - if seen.is_at_receiver { ahead } else { 0 };
        let of = |is_at_receiver| self.seen.iter().filter(move |seen| seen.is_at_receiver == is_at_receiver).map(at);
        let first = of(false).next().zip(of(true).next()).map(|(a, b)| a.max(b));
        let last = of(false).next_back().zip(of(true).next_back()).map(|(a, b)| a.min(b));
        let times = first.zip(last).zip(margin).map(|((first, last), margin)| first + margin..=last - margin);
        self.seen.iter().filter(move |seen| times.as_ref().is_some_and(|times| times.contains(&at(seen))))
    }

    /// What was then seen at one point only. Addresses that are translated look as if all were.
    fn alone(&self) -> impl Iterator<Item = &Sighting> {
        self.seen_twice().filter(|seen| !self.is_translated && self.of(seen.ends).is_empty())
    }

    /// Packets of connections that only one point sees, although both of their directions pass there, and something answers
    /// them. They are not lost; but what measures packets one by one cannot know that.
    pub fn bypassing(&self, directions: &Directions) -> Bypassing {
        /// By point: measured packets that are sent there, and whether others arrive.
        #[derive(Clone, Copy, Default)]
        struct Seen {
            sent: u64,
            is_answered: bool,
        }
        let mut connections = HashMap::<u64, [Option<Seen>; 2]>::default();
        let mut sent = 0;
        for &Sighting { ends: (source, destination), connection, is_at_receiver, .. } in self.seen_twice() {
            let points = connections.entry(connection).or_default();
            let seen = points[usize::from(is_at_receiver)].get_or_insert_default();
            match directions.is_reverse(source, destination) {
                Some(goes_back) if goes_back == is_at_receiver => {
                    seen.sent += 1;
                    sent += 1;
                }
                Some(_) => seen.is_answered = true,
                None => {}
            }
        }
        let of_one_point = connections.iter().filter(|(connection, _)| !self.common.contains(connection));
        let packets = of_one_point.filter_map(|(_, points)| match points {
            [Some(Seen { sent, is_answered: true }), None] | [None, Some(Seen { sent, is_answered: true })] => {
                Some(*sent)
            }
            _ => None,
        });
        let packets: Vec<u64> = packets.filter(|&packets| packets > 0).collect();
        Bypassing { packets: packets.iter().sum(), sent, connections: packets.len() as u64 }
    }

    /// Packets that are measured at the point that they are sent from, at times at which they would be seen at the other
    /// point, too, and how many of these have destinations that no packet reached.
    pub fn unreached(&self, directions: &Directions) -> Unreached {
        if self.is_translated {
            return Unreached::default();
        }
        let reached: HashSet<_> = self.pairs.keys().flat_map(|&(low, high)| [low, high]).collect();
        let mut never = HashSet::default();
        let (mut packets, mut sent) = (0, 0);
        for &Sighting { ends: (source, destination), is_at_receiver, .. } in self.seen_twice() {
            if directions.is_reverse(source, destination) == Some(is_at_receiver) {
                sent += 1;
                if !reached.contains(&destination) {
                    packets += 1;
                    never.insert(destination);
                }
            }
        }
        Unreached { packets, sent, addresses: never.len() as u64 }
    }

    /// Whether answers to packets that pass both points are seen at one of them.
    fn is_answered(&self) -> bool {
        self.alone().any(|&Sighting { ends: (source, destination), .. }| !self.of((destination, source)).is_empty())
    }

    /// Sources and destinations of the packets that pass both points, if these are all in one direction.
    fn one_way(&self) -> impl Iterator<Item = (Address, Place)> {
        let ends = || self.all().map(|(ends, _)| ends);
        let sources: HashSet<_> = ends().map(|(source, _)| source).collect();
        let destinations: HashSet<_> = ends().map(|(_, destination)| destination).collect();
        let only = |these: &HashSet<_>, others: &HashSet<_>| Vec::from_iter(these.difference(others).copied());
        let [from, to] = [only(&sources, &destinations), only(&destinations, &sources)];
        let at = |place| move |address| (address, place);
        from.into_iter().map(at(Place::Sender)).chain(to.into_iter().map(at(Place::Receiver)))
    }

    /// Hosts of which no packet passes both points, although they send and receive at one of them: they are on its side.
    /// And groups of link scope that no packet reaches.
    fn local(&self) -> HashMap<Address, Place> {
        #[derive(Default)]
        struct Seen {
            sends: bool,
            receives: bool,
            /// At the sender, at the receiver.
            at: [bool; 2],
        }
        let mut addresses = HashMap::<Address, Seen>::default();
        for Sighting { ends: (source, destination), .. } in self.alone() {
            addresses.entry(*source).or_default().sends = true;
            addresses.entry(*destination).or_default().receives = true;
        }
        for (low, high) in self.pairs.keys() {
            addresses.remove(low);
            addresses.remove(high);
        }
        for &Sighting { ends: (source, destination), is_at_receiver, .. } in &self.seen {
            for address in [source, destination] {
                if let Some(seen) = addresses.get_mut(&address) {
                    seen.at[usize::from(is_at_receiver)] = true;
                }
            }
        }
        let place = |(address, seen): (Address, Seen)| match seen.at {
            _ if address.is_link_group() => Some((address, Place::Aside)),
            [true, false] if seen.sends && seen.receives => Some((address, Place::Sender)),
            [false, true] if seen.sends && seen.receives => Some((address, Place::Receiver)),
            _ => None,
        };
        lowest(addresses.into_iter().filter_map(place), Directions::MOST_FOUND).into_iter().collect()
    }
}

/// The hash by which [`Sightings`] know the connection of a packet, whatever its direction.
pub fn connection(key: &FlowKey) -> u64 {
    hash::finish(key.undirected().absorb(hash::start(0)))
}

/// Fewer packets between two addresses tell their order alone.
const FEW: usize = 10;

/// Whether the delays of what seems to go back are those of packets that wait, a few for much longer than most. Of packets
/// that really go back, a few seem to take much less.
fn are_waits(told: &[(Summary, Ordering)]) -> bool {
    const MUCH: i64 = 4;
    let back = || told.iter().filter(|told| told.1 == Ordering::Less && told.0.count >= FEW).map(|told| told.0);
    let is_skewed = |back: &Summary| {
        let below = back.middle.saturating_sub(back.least);
        let above = back.most.saturating_sub(back.middle);
        below.saturating_mul(MUCH) < above
    };
    2 * back().filter(is_skewed).count() > back().count()
}

/// Whether packets that seem to go back rather go forward, with shorter delays than the others: they do not arrive before
/// they are sent, and some take longer than some that go forward, which a clock that drifts would also explain, if both
/// did not wait in one queue. Of a few packets, their order alone is known, and `is_one_queue` decides, unless no drift
/// explains the delays. These are given by the clocks, and without their drift.
fn all_go_forward(
    by_clocks: &[(Summary, Ordering)],
    without_drift: &[(Summary, Ordering)],
    is_one_queue: bool,
) -> bool {
    /// So many are not few, even if there are fewer of each pair.
    const ENOUGH: usize = 100;
    fn of(told: &[(Summary, Ordering)], way: Ordering) -> impl Iterator<Item = Summary> {
        told.iter().filter(move |told| told.1 == way).map(|told| told.0)
    }
    let are_apart = |told| {
        let least = of(told, Ordering::Greater).map(|forward| forward.least).min();
        least > of(told, Ordering::Less).map(|back| back.most).max()
    };
    let back = || of(by_clocks, Ordering::Less);
    let is_sent_first = back().map(|back| back.votes(0)).sum::<i64>() >= 0;
    let are_few = back().all(|back| back.count < FEW) && back().map(|back| back.count).sum::<usize>() < ENOUGH;
    let is_queue =
        if are_few { is_one_queue || !are_apart(without_drift) } else { is_one_queue && !are_apart(by_clocks) };
    is_sent_first && is_queue
}

/// The clock offset: the threshold between the delays of forward packets (greater) and those of reverse packets (less)
/// that contradicts the fewest pairs. Extreme delays bound it best, medians if clock errors exceed the delays.
fn border(told: &[(Summary, Ordering)]) -> Option<i64> {
    let ends = told.iter().flat_map(|(delays, way)| match way {
        Ordering::Greater => vec![(delays.least, -1), (delays.middle, -1)],
        Ordering::Less => vec![(delays.most, 1), (delays.middle, 1)],
        Ordering::Equal => Vec::new(),
    });
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    let (mut agree, mut best) = (0, None);
    for pair in ends.windows(2) {
        agree += pair[0].1;
        if pair[0].0 < pair[1].0 && best.is_none_or(|(most, _)| agree > most) {
            best = Some((agree, pair[0].0.midpoint(pair[1].0)));
        }
    }
    best.map(|(_, middle)| middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;

    const START: Timestamp = Timestamp::from_nanos(0);
    const AHEAD: i64 = 1_000_000_000;

    fn address(last: u32) -> Address {
        Address::v4(0x0a00_0000 | last)
    }

    /// The sources found on either side, given pairs of addresses with packets of two delays each.
    fn found(pairs: &[(u32, u32, usize, [i64; 2])]) -> [Vec<u32>; 2] {
        let mut all = Sightings::default();
        for &(source, destination, count, delays) in pairs {
            let ends = (address(source), address(destination));
            (0..count).for_each(|_| delays.iter().for_each(|delay| all.add(ends, START, Nanos::new(AHEAD + delay))));
        }
        let directions = all.directions(false);
        let way = |&number: &u32| directions.is_reverse(address(number), Address::default());
        [false, true].map(|is_reverse| (1..100).filter(|number| way(number) == Some(is_reverse)).collect())
    }

    /// Packets that go back wait for up to 5 ms, whatever the clocks say; one was matched with an equal one sent later.
    #[test]
    fn waits_of_packets_that_go_back_are_known() {
        for ahead in [0, AHEAD, -AHEAD] {
            let mut all = Sightings::default();
            for number in 0..1_000 {
                all.add((address(1), address(51)), START, Nanos::new(ahead + 10_000));
                let delay = if number == 500 { -90_000_000 } else { 1_000 + number % 6 * 1_000_000 };
                all.add((address(51), address(1)), START, Nanos::new(ahead - delay));
            }
            let waits = all.waits_back(&all.directions(false));
            assert_eq!((waits.len(), waits[999]), (1_000, Nanos::new(5_000_000)));
            assert_eq!(waits.iter().filter(|wait| wait.get() >= 5_000_000).count(), 166);
            assert_eq!(all.waits_back(&Directions::Forward), []);
        }
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

    /// A packet of each pair was matched with an equal one that was sent five seconds earlier or later, as keep-alives are.
    /// Their means would name the wrong side.
    #[test]
    fn packets_matched_with_others_do_not_decide() {
        for ahead in [0, AHEAD] {
            let mut all = Sightings::default();
            for number in 0..100 {
                let (there, back) =
                    if number == 50 { (-5_000_000_000, 5_000_000_000) } else { (1_000_000, -1_000_000) };
                all.add((address(1), address(51)), START, Nanos::new(ahead + there));
                all.add((address(51), address(1)), START, Nanos::new(ahead + back));
            }
            let directions = all.directions(false);
            assert_eq!(directions.is_reverse(address(1), address(51)), Some(false));
            assert_eq!(directions.is_reverse(address(51), address(1)), Some(true));
            assert_eq!(all.forward_median(&directions), Nanos::new(ahead + 1_000_000));
        }
    }

    /// Five pings between clocks that differ by more than the delay. Points that share a clock, as those of a queue, know
    /// that all go forward.
    #[test]
    fn few_packets_have_two_directions_if_clocks_may_differ() {
        let mut all = Sightings::default();
        for number in 0..5 {
            all.add((address(1), address(51)), START, Nanos::new(42_000_000 + number));
            all.add((address(51), address(1)), START, Nanos::new(21_000_000 - number));
        }
        assert_eq!(all.directions(false).is_reverse(address(51), address(1)), Some(true));
        assert_eq!(all.directions(true), Directions::Forward);
    }

    /// Nine pings in eight seconds, between clocks that drift by more than the packets take. In one queue of both
    /// directions, no drift of any crystal explains that the waits of either direction are the longer ones.
    #[test]
    fn a_drift_of_few_packets_is_no_queue() {
        let found = |delay: &dyn Fn(i64, i64) -> i64| {
            let mut all = Sightings::default();
            for number in 0..9 {
                let at = |more: i64| Timestamp::from_nanos(number * 1_000_000_000 + more * 100_000);
                all.add((address(1), address(51)), at(0), Nanos::new(delay(number, 0)));
                all.add((address(51), address(1)), at(1), Nanos::new(delay(number, 1)));
            }
            all.directions(false)
        };
        for ppm in [-100, -20, 20, 100] {
            let directions = found(&|number, back| {
                let takes = 20_000 + number * number % 7 * 5_000;
                5_000_000 + number * 1_000 * ppm + if back == 0 { takes } else { -takes }
            });
            assert_eq!(directions.is_reverse(address(51), address(1)), Some(true), "{ppm}");
        }
        let waits = |number: i64, back: i64| {
            5_000_000 + [0, 7, 3, 90, 0, 41, 60, 2, 15][(number as usize * 4 + 3 * back as usize) % 9] * 100_000
        };
        assert_eq!(found(&waits), Directions::Forward);
    }

    /// Clocks are read up to 200 µs late, and packets take 20 µs: nothing rises and falls together.
    #[test]
    fn noise_is_no_queue() {
        let mut all = Sightings::default();
        let noise = |number: i64| (number * 7_919 % 401) * 500;
        for number in 0..2_000 {
            let at = |more: i64| Timestamp::from_nanos((2 * number + more) * 1_000_000);
            all.add(
                (address(1), address(51)),
                at(0),
                Nanos::new(AHEAD + 20_000 + noise(4 * number) - noise(4 * number + 1)),
            );
            all.add(
                (address(51), address(1)),
                at(1),
                Nanos::new(AHEAD - 20_000 + noise(4 * number + 2) - noise(4 * number + 3)),
            );
        }
        assert!(all.is_mixed() && matches!(all.directions(false), Directions::Found(_)));
        assert_eq!(all.directions(true), Directions::Forward, "the control: one clock");
    }

    /// Clock errors larger than the delays: the medians must decide.
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
    /// for long, or the other way round, and replies, which follow at once, are smaller. The controls that must not count
    /// as this: the other direction goes back, whether clocks agree or not, and waits as long.
    #[test]
    fn a_queue_may_be_passed_by_both_directions() {
        let directions = |waits: &[i64], is_one_clock: bool, ahead: i64, back: i64| {
            let mut all = Sightings::default();
            for (number, wait) in waits.iter().cycle().enumerate().take(400) {
                let (client, server) = (address(1 + number as u32 % 7), address(51));
                all.add((client, server), START, Nanos::new(ahead + 5_000 + wait));
                all.add((server, client), START, Nanos::new(ahead + back * (1_000 + wait)));
            }
            all.directions(is_one_clock)
        };
        let waits = [0, 0, 0, 200, 900, 0, 4_000, 0, 100, 90_000, 0];
        let standing = [0, 80_000, 90_000, 95_000, 93_000];
        // A clock that drifts by 800 ppm, between points that are passed in opposite directions, slowly or quickly. More
        // packets go back in the end, when the clock is ahead of its median.
        for apart in [100_000, 10_000_000] {
            let mut drifting = Sightings::default();
            for number in 0..400 {
                let at = |more: i64| Timestamp::from_nanos((2 * number + more) * apart);
                let ahead = |more: i64| 1_000_000 + at(more).as_nanos() / 1_250;
                drifting.add((address(1), address(51)), at(0), Nanos::new(ahead(0) + 5_000));
                if number % 4 == 0 || number > 200 {
                    drifting.add((address(51), address(1)), at(1), Nanos::new(ahead(1) - 1_000));
                }
            }
            let directions = drifting.directions(false);
            let ways = [(1, 51), (51, 1)].map(|(from, to)| directions.is_reverse(address(from), address(to)));
            assert_eq!(ways, [Some(false), Some(true)]);
        }
        for (waits, is_one_clock) in [(&waits[..], true), (&waits, false), (&standing, true), (&standing, false)] {
            assert_eq!(directions(waits, is_one_clock, 0, 1), Directions::Forward, "{waits:?} {is_one_clock}");
            let back = directions(waits, is_one_clock, 0, -1);
            assert!(matches!(&back, Directions::Found(found) if found.places.len() == 8));
            for ahead in [-1_000_000, -40_000, 40_000, 1_000_000] {
                assert_eq!(directions(waits, is_one_clock, ahead, -1), back);
            }
        }
    }

    /// Timestamps of a pcapng file may be any, so that delays are as long as they can be, in either direction.
    #[test]
    fn absurd_delays_are_harmless() {
        let any = |number: u64| [i64::MIN, -1, 0, i64::MAX][hash::word(hash::start(1), number) as usize % 4];
        for seed in 0..1_000 {
            let mut all = Sightings::default();
            for number in 0..40 {
                let ends = if number % 2 == 0 { (address(1), address(51)) } else { (address(51), address(1)) };
                all.add(ends, START, Nanos::new(any(40 * seed + number)));
                let key = FlowKey { source: ends.0, destination: ends.1, ..FlowKey::default() };
                all.see(ends, connection(&key), Timestamp::from_nanos(any(number)), number % 3 == 0);
                all.unite([connection(&key); 2]);
            }
            let directions = all.directions(false);
            let _ = (all.forward_median(&directions), all.ahead(&directions), all.waits_back(&directions));
            assert_eq!((all.unreached(&directions).packets, all.bypassing(&directions).packets), (0, 0));
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
