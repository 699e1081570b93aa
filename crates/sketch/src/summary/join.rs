use super::combined::passing;
use super::spans::{Reordered, Span, Spans};
use super::{Combined, FlowCounts, Sketch, Summary};
use crate::Foreign;
use crate::lda::OneWay;
use crate::lds::Lds;
use dwell_types::{Nanos, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::fmt;

/// Result for the packets between two borders, from both points.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// By the sender's clock.
    pub start: Timestamp,
    /// By the sender's clock.
    pub end: Timestamp,
    /// Packets that the sender saw.
    pub sent: u64,
    /// The answer, or why there is none.
    pub answer: Result<OneWay, Unusable>,
    /// The sketches of flows of both points, if there are any and there is an answer.
    pub flows: Option<JoinedFlows>,
}

/// The sketches of flows of both points between two borders.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedFlows {
    /// The sender's cells.
    pub sender: Lds,
    /// The receiver's.
    pub receiver: Lds,
    /// Packet counts of the flows that the sender lists.
    pub listed: FlowCounts,
    /// Approximately how much later the receiver saw the packets, by the clocks as they are.
    pub later: Nanos,
    /// The standard deviation of the delay as a share of the interval's length, if packets are known to be reordered
    /// around borders; zero otherwise.
    pub spread: f64,
}

/// Why an interval is unusable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unusable {
    /// A message that belongs to it is missing.
    Missing,
    /// The points have no common border before or after it.
    NoBorder,
    /// The points use different seeds or sketches.
    Foreign(Foreign),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("a message is missing"),
            Self::NoBorder => f.write_str("the points have no common border before or behind it"),
            Self::Foreign(error) => error.fmt(f),
        }
    }
}

/// Joins the summaries of two points.
#[derive(Clone, Debug, Default)]
pub struct Join {
    sender: Queue,
    receiver: Queue,
    /// Whether both queues begin at the same border.
    is_aligned: bool,
    /// Why they do not, if a message was not the expected one.
    gap: Option<Unusable>,
    done: Vec<Joined>,
    unjoined: u64,
    /// All intervals so far.
    total: Combined,
    /// Longer spans of time, once packets arrived in an interval in which they were not sent.
    spans: Option<Spans>,
    /// Maximum bytes of longer spans, and of waiting summaries, of which there are at most [`MOST_WAITING`] per point;
    /// `None` without a bound.
    bound: Option<usize>,
    most_bytes: usize,
}

/// The summaries of one point that wait for those of the other, without gaps.
#[derive(Clone, Debug, Default)]
struct Queue {
    summaries: VecDeque<Summary>,
    next: u64,
    /// The names of the latest borders, at most [`MOST_NAMES`], and those of them that came again: of equal packets,
    /// such as keep-alives, nobody knows which one the other point has seen.
    latest: VecDeque<u64>,
    repeated: VecDeque<u64>,
}

/// Maximum number of waiting summaries per point.
const MOST_WAITING: usize = 256;
const MOST_NAMES: usize = 256;

impl Join {
    /// Bytes that a summary takes besides its sketch.
    pub const SUMMARY_BYTES: usize = size_of::<Summary>();

    /// Waiting summaries take at most this many bytes: the oldest ones of the point that is ahead are dropped.
    pub fn bounded(bytes: usize) -> Self {
        Self { bound: Some(bytes), ..Self::default() }
    }

    /// Joins all summaries of two points, each in the order of their numbers, independently of their clocks, and ends.
    pub fn all(sent: Vec<Summary>, received: Vec<Summary>) -> Self {
        let mut places: HashMap<u64, usize> = HashMap::new();
        for (summary, place) in received.iter().zip(1..) {
            // What ends at a border that comes again waits for others.
            places.entry(summary.to).and_modify(|place| *place = 0).or_insert(place);
        }
        let (mut join, mut taken) = (Self::default(), 0);
        let mut received = received.into_iter();
        for summary in sent {
            // Up to the one that ends at the same border, so that no summary waits for long.
            let place = places.get(&summary.to).copied().unwrap_or(0);
            received.by_ref().take(place.saturating_sub(taken)).for_each(|summary| join.received(summary));
            taken = taken.max(place);
            join.sent(summary);
        }
        received.for_each(|summary| join.received(summary));
        join.end();
        join
    }

    /// Takes the sender's next summary, in the order of their numbers.
    pub fn sent(&mut self, summary: Summary) {
        match self.sender.place(&summary) {
            Place::Again => return,
            Place::Next => {}
            Place::Gap => {
                self.drop_sent(usize::MAX, self.sender.gap(&summary));
                self.is_aligned = false;
            }
        }
        self.sender.push(summary);
        self.join();
        self.make_room();
    }

    /// Takes the receiver's next summary, in the order of their numbers.
    pub fn received(&mut self, summary: Summary) {
        match self.receiver.place(&summary) {
            Place::Again => return,
            Place::Next => {}
            Place::Gap => {
                self.gap = Some(self.receiver.gap(&summary));
                self.drop_received(usize::MAX);
                self.is_aligned = false;
            }
        }
        self.receiver.push(summary);
        self.join();
        self.make_room();
    }

    /// Drops the oldest summary of a point for which too many wait, then those of the point that is ahead, until the rest
    /// fits the bound.
    fn make_room(&mut self) {
        if self.sender.summaries.len() > MOST_WAITING {
            self.drop_sent(1, Unusable::NoBorder);
        }
        if self.receiver.summaries.len() > MOST_WAITING {
            self.drop_received(1);
        }
        while self.bound.is_some_and(|bound| self.state_bytes() > bound) {
            if self.sender.summaries.len() >= self.receiver.summaries.len() {
                self.drop_sent(1, Unusable::NoBorder);
            } else {
                self.drop_received(1);
            }
        }
        self.most_bytes = self.most_bytes.max(self.state_bytes());
    }

    /// Nothing more will come: waiting summaries are unusable.
    pub fn end(&mut self) {
        let why = if self.receiver.summaries.is_empty() { Unusable::Missing } else { Unusable::NoBorder };
        self.drop_sent(usize::MAX, why);
        self.drop_received(usize::MAX);
    }

    fn join(&mut self) {
        loop {
            if !self.is_aligned {
                let Some((sent, received)) = common(&self.sender, &self.receiver, |s| s.from) else { return };
                let why = self.gap.take().unwrap_or(Unusable::NoBorder);
                self.drop_sent(sent, why);
                self.drop_received(received);
                self.is_aligned = true;
            }
            let Some((sent, received)) = common(&self.sender, &self.receiver, |s| s.to) else { return };
            if self.is_one_time(sent, received) {
                self.answer(sent, received);
            } else {
                self.drop_sent(sent + 1, Unusable::NoBorder);
                self.drop_received(received + 1);
            }
        }
    }

    /// Whether about as much time passed at both points up to these summaries. If not, a border before or after them is an
    /// equal packet at the other point, or a clock was set.
    fn is_one_time(&self, sent: usize, received: usize) -> bool {
        /// Delays change by less from one border to another, or are about as long as intervals.
        const LEAST: i64 = 300_000_000;
        let lasts = |queue: &Queue, last: usize| queue.ends(last).map_or(0, |[start, end]| (end - start).get());
        let (sent, received) = (lasts(&self.sender, sent), lasts(&self.receiver, received));
        let apart = sent.saturating_sub(received).saturating_abs();
        apart <= LEAST || apart <= sent.min(received) / 2
    }

    /// Joins all summaries up to these.
    fn answer(&mut self, sent: usize, received: usize) {
        let (Some(sent), Some(received)) = (self.sender.take(sent), self.receiver.take(received)) else { return };
        let ([start, end], ends) = (sent.ends, [sent.ends, received.ends]);
        let later = Span::later(ends);
        let compared = sent.sketch.and_then(|sender| {
            let receiver = received.sketch?;
            Ok((compare(&sender, &receiver, later)?, sender, receiver))
        });
        let (answer, flows) = match compared {
            Ok((answer, sender, receiver)) => {
                self.extend(Span::new([sender.lda, receiver.lda], ends, answer));
                let spread = self.spread(&answer, end - start);
                let reordered = self.spans.as_ref().and_then(Spans::reordered).map_or(0.0, Reordered::of_interval);
                let elsewhere = passing(answer.received as f64 * spread).max(reordered);
                let listed = sender.listed;
                let flows = sender.lds.zip(receiver.lds);
                let flows = flows.map(|(sender, receiver)| JoinedFlows { sender, receiver, listed, later, spread });
                (Ok(OneWay { elsewhere, ..answer }), flows)
            }
            Err(error) => {
                self.unjoined = self.unjoined.saturating_add(received.packets);
                (Err(Unusable::Foreign(error)), None)
            }
        };
        self.put(Joined { start, end, sent: sent.packets, answer, flows });
    }

    fn put(&mut self, joined: Joined) {
        self.total.add(&joined);
        self.done.push(joined);
    }

    /// Lengthens spans by an interval, from the first one on in which packets arrived that were not sent in it.
    fn extend(&mut self, interval: Span) {
        /// The share of the bound that spans may take, but for the one that is being lengthened.
        const SHARE: usize = 4;
        if self.spans.is_none() && interval.has_surplus() {
            let bytes = self.bound.map_or(usize::MAX, |bound| bound / SHARE);
            self.spans = Some(Spans::after(self.total, interval.state_bytes(), bytes));
        }
        if let Some(spans) = &mut self.spans {
            spans.add(interval);
        }
    }

    /// All intervals so far, with the delays by longer spans of time where intervals are too short for them.
    pub fn total(&self) -> Combined {
        let spans = self.spans.as_ref();
        let reordered = spans.and_then(Spans::reordered);
        self.total.with_longer(spans.and_then(|spans| spans.longer(&self.total))).with_reordered(reordered)
    }

    /// The standard deviation of the delay as a share of the interval's length; zero as long as no packet is known to
    /// have arrived in another interval. What is surplus in one interval may be missing in another: once there was any,
    /// the losses of all intervals are bounded by what may have arrived in others.
    fn spread(&self, answer: &OneWay, length: Nanos) -> f64 {
        let std = answer.delays.map_or(f64::INFINITY, |delays| delays.std_ns);
        if self.spans.is_some() { std / length.get().max(1) as f64 } else { 0.0 }
    }

    fn drop_sent(&mut self, most: usize, why: Unusable) {
        let most = most.min(self.sender.summaries.len());
        let dropped: Vec<Summary> = self.sender.summaries.drain(..most).collect();
        for Summary { start, end, sketch, .. } in dropped {
            self.put(Joined { start, end, sent: sketch.lda.packets(), answer: Err(why), flows: None });
        }
        self.is_aligned &= most == 0;
    }

    fn drop_received(&mut self, most: usize) {
        let most = most.min(self.receiver.summaries.len());
        self.unjoined = self.unjoined.saturating_add(self.receiver.packets(most));
        self.receiver.summaries.drain(..most);
        self.is_aligned &= most == 0;
    }

    /// The intervals that were joined or given up since the last call, in the sender's order.
    pub fn take(&mut self) -> Vec<Joined> {
        std::mem::take(&mut self.done)
    }

    /// Bytes of the waiting summaries, and of longer spans.
    pub fn state_bytes(&self) -> usize {
        let waiting = self.sender.summaries.iter().chain(&self.receiver.summaries);
        let waiting: usize = waiting.map(|summary| Self::SUMMARY_BYTES + summary.sketch.state_bytes()).sum();
        waiting + self.spans.as_ref().map_or(0, Spans::state_bytes)
    }

    /// The maximum so far of [`Join::state_bytes`].
    pub const fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// The receiver's packets that are in no answer.
    pub const fn unjoined(&self) -> u64 {
        self.unjoined
    }
}

/// Several summaries as one.
struct Sum {
    sketch: Result<Sketch, Foreign>,
    packets: u64,
    /// The start of the first, and the end of the last.
    ends: [Timestamp; 2],
}

/// Where a summary belongs: next in the sequence, seen before, or after a gap.
enum Place {
    Next,
    Again,
    Gap,
}

impl Queue {
    /// Packets of the first `number` summaries, of which untrusted ones may count any.
    fn packets(&self, number: usize) -> u64 {
        let each = self.summaries.iter().take(number).map(|summary| summary.sketch.lda.packets());
        each.fold(0, u64::saturating_add)
    }

    /// The start of the first summary, and the end of this one.
    fn ends(&self, last: usize) -> Option<[Timestamp; 2]> {
        Some([self.summaries.front()?.start, self.summaries.get(last)?.end])
    }

    /// Takes out all summaries up to this one.
    fn take(&mut self, last: usize) -> Option<Sum> {
        let (ends, packets) = (self.ends(last)?, self.packets(last + 1));
        let sketches = self.summaries.drain(..=last).map(|summary| Ok(summary.sketch));
        let sketch = sketches.reduce(|sum, next| {
            let mut sum = sum?;
            sum.merge(&next?)?;
            Ok(sum)
        })?;
        Some(Sum { sketch, packets, ends })
    }

    fn place(&self, summary: &Summary) -> Place {
        let fits = self.summaries.back().is_none_or(|last| last.to == summary.from);
        match summary.number {
            number if number < self.next => Place::Again,
            number if number == self.next && fits => Place::Next,
            _ => Place::Gap,
        }
    }

    /// Why there is a gap before a summary.
    fn gap(&self, summary: &Summary) -> Unusable {
        let seed = |summary: &Summary| summary.sketch.lda.params().seed;
        let foreign = |last: &Summary| Foreign::check(seed(last), seed(summary), &[]).err();
        self.summaries.back().and_then(foreign).map_or(Unusable::Missing, Unusable::Foreign)
    }

    fn push(&mut self, summary: Summary) {
        self.next = summary.number.saturating_add(1);
        let put = |names: &mut VecDeque<u64>| {
            if names.len() == MOST_NAMES {
                names.pop_front();
            }
            names.push_back(summary.to);
        };
        if self.latest.contains(&summary.to) {
            put(&mut self.repeated);
        }
        put(&mut self.latest);
        self.summaries.push_back(summary);
    }
}

/// The answer for all packets, which the receiver saw later by about `later`.
fn compare(sender: &Sketch, receiver: &Sketch, later: Nanos) -> Result<OneWay, Foreign> {
    let answer = receiver.lda.since_about(&sender.lda, later)?;
    if sender.lds.is_some() == receiver.lds.is_some() { Ok(answer) } else { Err(Foreign::Flows) }
}

/// The first border that both queues have, and neither has had twice.
fn common(sender: &Queue, receiver: &Queue, border: impl Fn(&Summary) -> u64) -> Option<(usize, usize)> {
    sender.summaries.iter().enumerate().find_map(|(sent, summary)| {
        let wanted = border(summary);
        if sender.repeated.contains(&wanted) || receiver.repeated.contains(&wanted) {
            return None;
        }
        let received = receiver.summaries.iter().position(|other| border(other) == wanted)?;
        Some((sent, received))
    })
}
