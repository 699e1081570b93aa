use super::Sum;
use super::matching::Passed;
use super::tally::Tally;
use crate::parts::ranked::Ranked;
use crate::parts::table::{Number, Place, Table};
use dwell_types::FlowId;
use std::cmp::Reverse;

/// The flows with the most bytes, up to a maximum number *n*; all others share one entry.
///
/// Flows with the lowest ranks are replaced by new ones, as in [`top_flows`](crate::top_flows), but several at a time:
/// to take one flow out of the store of delays costs as much as to take out many. As many numbers become vacant as
/// flows were replaced before, up to *n*/8, and the new flows start with the highest rank among those replaced. More
/// than ⅞ *n* flows had at least that rank, so it is at most 8/(7*n*) of all bytes, and every flow that has more than
/// that has a number.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    numbers: Table<Number>,
    /// By number; the first is the entry of all others. What every packet sent and every search for the lowest ranks
    /// needs is apart from the rest: it stays in a cache.
    sizes: Vec<Size>,
    /// By number as well.
    tallies: Vec<Tally>,
    most: usize,
    /// The highest rank that was replaced.
    rank: u64,
    /// The vacant number that is given next; [`OTHER`] if there is none.
    vacant: u32,
    /// Number of flows that were replaced.
    replaced: u32,
}

/// The packets sent of a flow; none if its number is vacant.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    sent: Sum,
    /// The most bytes that it may have had before it got its number. Of a vacant number: the one that is given after it.
    before: u64,
    flow: u64,
}

impl Size {
    /// The number of bytes, or of packets where a log does not state sizes.
    fn size(&self) -> u64 {
        self.sent.bytes.max(self.sent.packets)
    }

    fn rank(&self) -> u64 {
        self.before + self.size()
    }
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow<'a> {
    pub(super) sent: Sum,
    /// The most bytes that it may have had before it got its number.
    pub(super) before: u64,
    pub(super) tally: &'a Tally,
}

/// The number shared by all flows without an entry of their own.
pub(super) const OTHER: u32 = 0;

impl Flows {
    /// Bytes per flow.
    pub(super) const FLOW_BYTES: usize =
        Self::EACH_BYTES + Table::<Number>::ENTRY_BYTES + size_of::<Ranked>().div_ceil(Self::PART);

    const EACH_BYTES: usize = size_of::<Size>() + size_of::<Tally>();

    /// At most one in so many flows is replaced at a time.
    const PART: usize = 8;

    /// Bytes of `most` flows and the entry of all others.
    pub(super) fn bytes(most: usize) -> usize {
        size_of::<Self>()
            + Table::<Number>::bytes_of(Self::slots(most))
            + (most + 1) * Self::EACH_BYTES
            + Self::at_once(most) * size_of::<Ranked>()
    }

    fn slots(most: usize) -> usize {
        Table::<Number>::slots_for(most) + 64
    }

    /// The most flows that are replaced at a time.
    fn at_once(most: usize) -> usize {
        (most / Self::PART).max(1)
    }

    /// Room for `most` flows, besides the entry of all others.
    pub(super) fn new(most: usize) -> Self {
        let slots = Self::slots(most);
        Self {
            numbers: Table::new(slots.min(1 << 10), slots),
            sizes: vec![Size::default()],
            tallies: vec![Tally::default()],
            most,
            rank: 0,
            vacant: OTHER,
            replaced: 0,
        }
    }

    /// Counts a packet that was sent; returns the number of its flow, and whether the flow got it just now. `None` if
    /// the flow has no number and none is vacant.
    pub(super) fn sent(&mut self, flow: FlowId, bytes: u32) -> Option<(u32, bool)> {
        let (number, is_new) = match self.numbers.find(flow.0) {
            Place::Found(at) => (self.numbers.get(at).number, false),
            Place::Vacant(_) => (self.begin(flow)?, true),
        };
        self.sizes[number as usize].sent.add(bytes);
        Some((number, is_new))
    }

    /// Gives a new flow a number.
    fn begin(&mut self, FlowId(flow): FlowId) -> Option<u32> {
        let number = match self.vacant {
            OTHER if self.sizes.len() <= self.most => {
                let (flows, capacity) = (self.sizes.len(), self.sizes.capacity());
                if flows == capacity {
                    let more = flows.min(self.most + 1 - flows);
                    self.sizes.reserve_exact(more);
                    self.tallies.reserve_exact(more);
                }
                self.sizes.push(Size { flow, ..Size::default() });
                self.tallies.push(Tally::default());
                flows as u32
            }
            OTHER => return None,
            number => {
                let size = &mut self.sizes[number as usize];
                self.vacant = size.before as u32;
                *size = Size { before: self.rank, flow, ..Size::default() };
                self.tallies[number as usize] = Tally::of_part();
                number
            }
        };
        self.numbers.insert(Number { key: flow, number });
        Some(number)
    }

    /// Adds the flows of the lowest ranks to all others. Returns their numbers, which are vacant, in ascending order.
    #[cold]
    pub(super) fn vacate(&mut self) -> Vec<usize> {
        let number = (self.replaced as usize).clamp(1, Self::at_once(self.most));
        let mut lowest = self.lowest(number);
        let vacated: Vec<usize> = lowest.iter().map(|ranked| ranked.number() as usize).collect();
        for &number in &vacated {
            if let Place::Found(at) = self.numbers.find(self.sizes[number].flow) {
                self.numbers.remove(at);
            }
        }
        self.add_to_others(&vacated);
        // A replaced flow may come back while packets that equal its next ones are in flight.
        self.tallies[OTHER as usize].become_part();
        lowest.sort_unstable();
        for ranked in &lowest {
            self.sizes[ranked.number() as usize].before = self.vacant.into();
            (self.vacant, self.rank) = (ranked.number(), ranked.rank());
        }
        self.replaced = self.replaced.saturating_add(lowest.len() as u32);
        vacated
    }

    /// So many flows of the lowest ranks, of equal ones those with the lowest numbers; in ascending order of numbers.
    fn lowest(&self, number: usize) -> Vec<Ranked> {
        let highest = self.rank_of(number);
        let lower = self.ranks().filter(|&(rank, _)| rank < highest).count();
        let mut equal = number.saturating_sub(lower);
        let mut lowest = Vec::with_capacity(number);
        for (rank, number) in self.ranks().filter(|&(rank, _)| rank <= highest) {
            if rank == highest {
                if equal == 0 {
                    continue;
                }
                equal -= 1;
            }
            lowest.push(Ranked::new(rank, number));
        }
        lowest
    }

    /// The rank below or at which so many flows are. The numbers that are compared take no more memory than as many
    /// [`Ranked`] ones.
    fn rank_of(&self, number: usize) -> u64 {
        const { assert!(2 * size_of::<u64>() <= size_of::<Ranked>()) };
        let mut lowest: Vec<u64> = Vec::with_capacity(2 * number);
        let mut bound = u64::MAX;
        for (rank, _) in self.ranks() {
            if rank < bound {
                if lowest.len() == 2 * number {
                    bound = *lowest.select_nth_unstable(number - 1).1;
                    lowest.truncate(number);
                }
                lowest.push(rank);
            }
        }
        *lowest.select_nth_unstable(number - 1).1
    }

    /// The ranks of all flows, and their numbers.
    fn ranks(&self) -> impl Iterator<Item = (u64, u32)> {
        self.sizes.iter().zip(0..).skip(1).map(|(size, number)| (size.rank(), number))
    }

    fn add_to_others(&mut self, numbers: &[usize]) {
        let (others, tallies) = self.tallies.split_at_mut(1);
        for &number in numbers {
            let Sum { packets, bytes } = std::mem::take(&mut self.sizes[number].sent);
            let sent = &mut self.sizes[OTHER as usize].sent;
            (sent.packets, sent.bytes) = (sent.packets + packets, sent.bytes + bytes);
            others[0].merge(&tallies[number - 1]);
        }
    }

    /// Adds all flows but `most`, those with the most bytes, to all others. Returns the numbers of these, the one with
    /// the most bytes first, of several the lowest number; and those of the others in ascending order.
    pub(super) fn keep(&mut self, most: usize) -> (Vec<usize>, Vec<usize>) {
        let mut kept: Vec<usize> = (1..self.sizes.len()).filter(|&number| !self.is_vacant(number)).collect();
        kept.sort_by_key(|&number| Reverse(self.sizes[number].size()));
        let mut vacated = kept.split_off(most.min(kept.len()));
        vacated.sort_unstable();
        self.add_to_others(&vacated);
        (kept, vacated)
    }

    /// Whether the number was that of a flow which is now among all others.
    pub(super) fn is_vacant(&self, number: usize) -> bool {
        number != OTHER as usize && self.sizes.get(number).is_some_and(|size| size.sent.packets == 0)
    }

    /// Whether no flow was replaced.
    pub(super) fn has_all(&self) -> bool {
        self.replaced == 0
    }

    pub(super) fn add(&mut self, passed: &Passed) {
        self.tallies[passed.sent.flow as usize].add(passed);
    }

    /// The flow with this number.
    pub(super) fn get(&self, number: usize) -> Flow<'_> {
        let Size { sent, before, .. } = self.sizes[number];
        Flow { sent, before, tally: &self.tallies[number] }
    }

    /// With what the search for the lowest ranks takes, once there was one.
    pub(super) fn state_bytes(&self) -> usize {
        let search = if self.has_all() { 0 } else { Self::at_once(self.most) * size_of::<Ranked>() };
        size_of::<Self>()
            + self.numbers.bytes()
            + self.sizes.capacity() * size_of::<Size>()
            + self.tallies.capacity() * size_of::<Tally>()
            + search
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;

    /// The flows that are replaced are those of the lowest ranks, of equal ones those with the lowest numbers, and the
    /// highest of these is replaced first, whatever the number of flows with equal ranks.
    #[test]
    fn the_lowest_ranks_are_replaced() {
        const MOST: usize = 200;
        for sizes in [1, 3, 40, 1 << 20] {
            let (mut flows, mut new, mut searches) = (Flows::new(MOST), 0, 0);
            let mut expected: Vec<Ranked> = Vec::new();
            for packet in 0..20_000 {
                let random = hash::finish(packet);
                // Some flows come again, most do not.
                let flow = if random.is_multiple_of(4) { random >> 8 & 31 } else { packet + 100 };
                let bytes = 40 + (random >> 40) as u32 % sizes;
                let counted = flows.sent(FlowId(hash::finish(flow)), bytes).unwrap_or_else(|| {
                    assert!(expected.is_empty());
                    expected = flows.ranks().map(|(rank, number)| Ranked::new(rank, number)).collect();
                    expected.sort_unstable();
                    let vacated = flows.vacate();
                    expected.truncate(vacated.len());
                    let mut numbers: Vec<usize> = expected.iter().map(|ranked| ranked.number() as usize).collect();
                    numbers.sort_unstable();
                    assert_eq!(vacated, numbers);
                    searches += 1;
                    flows.sent(FlowId(hash::finish(flow)), bytes).unwrap()
                });
                if let (number, true) = counted {
                    new += 1;
                    if new > MOST {
                        assert_eq!(expected.pop().map(Ranked::number), Some(number));
                    }
                }
            }
            assert!(searches > 100 && flows.replaced as usize >= new - MOST, "{searches} {new}");
            assert_eq!((1..=MOST).filter(|&number| flows.is_vacant(number)).count(), expected.len());
            assert!(flows.numbers.iter().all(|entry| !flows.is_vacant(entry.number as usize)));
            let all: u64 = flows.sizes.iter().map(|size| size.sent.packets).sum();
            assert_eq!(all, 20_000);
        }
    }
}
