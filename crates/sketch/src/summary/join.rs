use super::{FlowCounts, Sketch, Summary};
use crate::Foreign;
use crate::estimate::{Estimate, Z95};
use crate::lda::{self, OneWay};
use crate::lds::Lds;
use crate::moments::Level;
use core::f64::consts::SQRT_2;
use core::fmt;
use dwell_types::{Nanos, Timestamp};
use std::collections::{HashMap, VecDeque};

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
    done: Vec<Joined>,
    duplicates: u64,
    unjoined: u64,
    /// Whether packets arrived in an interval in which they were not sent.
    has_surplus: bool,
    /// Maximum bytes of waiting summaries, of which there are at most [`MOST_WAITING`] per point; `None` without a bound.
    bound: Option<usize>,
    most_bytes: usize,
}

/// The summaries of one point that wait for those of the other, without gaps.
#[derive(Clone, Debug, Default)]
struct Queue {
    summaries: VecDeque<Summary>,
    next: u64,
    /// The names of the latest borders, at most [`MOST_NAMES`], and those of them that came again: of equal packets, such as
    /// keep-alives, nobody knows which one the other point has seen.
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
            Place::Again => return self.duplicates += 1,
            Place::Next => {}
            Place::Gap => {
                self.drop_sent(usize::MAX, Unusable::Missing);
                self.is_aligned = false;
            }
        }
        self.sender.push(summary);
        self.join();
        if self.sender.summaries.len() > MOST_WAITING {
            self.drop_sent(1, Unusable::NoBorder);
        }
        self.make_room();
    }

    /// Takes the receiver's next summary, in the order of their numbers.
    pub fn received(&mut self, summary: Summary) {
        match self.receiver.place(&summary) {
            Place::Again => return self.duplicates += 1,
            Place::Next => {}
            Place::Gap => {
                self.drop_received(usize::MAX);
                self.is_aligned = false;
            }
        }
        self.receiver.push(summary);
        self.join();
        if self.receiver.summaries.len() > MOST_WAITING {
            self.drop_received(1);
        }
        self.make_room();
    }

    /// Drops the oldest summaries of the point that is ahead, until the rest fits the bound.
    fn make_room(&mut self) {
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
                self.drop_sent(sent, Unusable::NoBorder);
                self.drop_received(received);
                self.is_aligned = true;
            }
            let Some((sent, received)) = common(&self.sender, &self.receiver, |s| s.to) else { return };
            if self.is_one_time(sent, received) {
                self.answer(sent + 1, received + 1);
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
        let lasts = |queue: &Queue, last: usize| {
            let ends = queue.summaries.front().zip(queue.summaries.get(last));
            ends.map_or(0, |(first, last)| (last.end - first.start).get())
        };
        let (sent, received) = (lasts(&self.sender, sent), lasts(&self.receiver, received));
        let apart = sent.saturating_sub(received).saturating_abs();
        apart <= LEAST || apart <= sent.min(received) / 2
    }

    /// Joins the first `sent` summaries of the sender and the first `received` of the receiver.
    fn answer(&mut self, sent: usize, received: usize) {
        let sender = sum(self.sender.summaries.drain(..sent));
        let receiver = sum(self.receiver.summaries.drain(..received));
        let (Some((sender, start, end)), Some((receiver, received_start, received_end))) = (sender, receiver) else {
            return;
        };
        // Each border is a packet that both points saw, so the differences are delays.
        let later = midpoint(received_start - start, received_end - end);
        let (sent, answer) = match (sender, receiver) {
            (Ok(sender), Ok(receiver)) => (sender.lda.packets(), compare(sender, receiver, later)),
            (Err(error), _) | (_, Err(error)) => (0, Err(error)),
        };
        let (answer, flows) = match answer {
            Ok((answer, flows)) => {
                let (spread, received) = (self.spread(&answer, end - start), answer.received as f64);
                let answer = OneWay { elsewhere: passing(received * spread), ..answer };
                (Ok(answer), flows.map(|flows| JoinedFlows { spread, ..flows }))
            }
            Err(error) => (Err(Unusable::Foreign(error)), None),
        };
        self.done.push(Joined { start, end, sent, answer, flows });
    }

    /// The standard deviation of the delay as a share of the interval's length; zero as long as no packet is known to
    /// have arrived in another interval. What is surplus in one interval may be missing in another: once there was any,
    /// the losses of all intervals are bounded by what may have arrived in others.
    fn spread(&mut self, answer: &OneWay, length: Nanos) -> f64 {
        self.has_surplus |= answer.has_surplus;
        let std = answer.delays.map_or(f64::INFINITY, |delays| delays.std_ns);
        if self.has_surplus { std / length.get().max(1) as f64 } else { 0.0 }
    }

    fn drop_sent(&mut self, most: usize, why: Unusable) {
        let most = most.min(self.sender.summaries.len());
        for summary in self.sender.summaries.drain(..most) {
            let Summary { start, end, ref sketch, .. } = summary;
            self.done.push(Joined { start, end, sent: sketch.lda.packets(), answer: Err(why), flows: None });
        }
        self.is_aligned &= most == 0;
    }

    fn drop_received(&mut self, most: usize) {
        let most = most.min(self.receiver.summaries.len());
        self.unjoined += self.receiver.summaries.drain(..most).map(|summary| summary.sketch.lda.packets()).sum::<u64>();
        self.is_aligned &= most == 0;
    }

    /// The intervals that were joined or given up since the last call, in the sender's order.
    pub fn take(&mut self) -> Vec<Joined> {
        std::mem::take(&mut self.done)
    }

    /// Bytes of the waiting summaries.
    pub fn state_bytes(&self) -> usize {
        let waiting = self.sender.summaries.iter().chain(&self.receiver.summaries);
        waiting.map(|summary| Self::SUMMARY_BYTES + summary.sketch.state_bytes()).sum()
    }

    /// The maximum so far of the bytes of waiting summaries.
    pub const fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Summaries that were repeated.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The receiver's packets that are in no answer.
    pub const fn unjoined(&self) -> u64 {
        self.unjoined
    }
}

/// Where a summary belongs: next in the sequence, seen before, or after a gap.
enum Place {
    Next,
    Again,
    Gap,
}

impl Queue {
    fn place(&self, summary: &Summary) -> Place {
        let fits = self.summaries.back().is_none_or(|last| last.to == summary.from);
        match summary.number {
            number if number < self.next => Place::Again,
            number if number == self.next && fits => Place::Next,
            _ => Place::Gap,
        }
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

fn midpoint(a: Nanos, b: Nanos) -> Nanos {
    Nanos::new(i64::midpoint(a.get(), b.get()))
}

/// The answer for all packets, which the receiver saw later by about `later`, and the sketches of flows.
fn compare(sender: Sketch, receiver: Sketch, later: Nanos) -> Result<(OneWay, Option<JoinedFlows>), Foreign> {
    let answer = receiver.lda.since_about(&sender.lda, later)?;
    match (sender.lds, receiver.lds) {
        (None, None) => Ok((answer, None)),
        (Some(ours), Some(receiver)) => {
            Ok((answer, Some(JoinedFlows { sender: ours, receiver, listed: sender.listed, later, spread: 0.0 })))
        }
        _ => Err(Foreign::Flows),
    }
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

/// Several summaries as one sketch, with the start of the first and the end of the last.
fn sum(summaries: impl Iterator<Item = Summary>) -> Option<(Result<Sketch, Foreign>, Timestamp, Timestamp)> {
    summaries.fold(None, |sum, Summary { start, end, sketch, .. }| match sum {
        None => Some((Ok(sketch), start, end)),
        Some((sum, start, _)) => Some((
            sum.and_then(|mut sum| {
                sum.merge(&sketch)?;
                Ok(sum)
            }),
            start,
            end,
        )),
    })
}

/// Upper bound on the packets that pass one of two borders before it at the sender and after it at the receiver, if
/// `spread` packets pass in a standard deviation of the delay.
///
/// At a border with delay *D*ʹ, E\[(*D* − *D*ʹ)⁺\] of the packets that arrive per unit of time do. For two borders and
/// independent normal delays that is 1.1 standard deviations on average, and at most 2.9 in 97.5% of the cases; where
/// delays are skewed to the right it is less. In addition their number varies as Poisson's.
pub(super) fn passing(spread: f64) -> f64 {
    let most = 3.0 * spread;
    most + Z95 * most.sqrt()
}

/// The result over all intervals, combined from those of each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Combined {
    /// Packets that the sender saw in all intervals.
    pub sent: u64,
    /// Those of them in usable intervals.
    pub usable: u64,
    /// Packets of usable intervals that arrived.
    pub received: u64,
    /// Usable intervals.
    pub intervals: u64,
    /// Those of them in which more packets arrived than were sent: around their borders some were reordered, or some
    /// were duplicated.
    pub unordered: u64,
    /// Usable intervals with packets that arrived in them and were sent in another interval, or never.
    surplus_intervals: u64,
    /// Estimated number of packets that only one point counted in usable intervals, and its variance.
    all_apart: f64,
    apart_variance: f64,
    /// Packets on which the delays are based.
    pub effective_samples: u64,
    /// Packets that arrived in intervals whose delay is known; the number of these intervals, and their total length in
    /// nanoseconds.
    weight: f64,
    telling: f64,
    time: f64,
    /// Packets sent in these intervals, and those that only one point counted.
    told_sent: f64,
    apart: f64,
    /// Σ weight · third central moment within an interval, and Σ weight · std³.
    cubes: f64,
    cubes_of_std: f64,
    /// The mean of the first interval whose delay is known; other means are relative to it, since clocks may differ by
    /// far more than delays do.
    first: f64,
    /// Mean relative to `first`.
    mean: f64,
    /// Σ weight · (std² + (mean − overall mean)²).
    squares: f64,
    /// Σ (weight · standard error)² · (mean − first)ᵏ, for *k* = 0, 1 and 2.
    errors: [f64; 3],
    /// Σ (weight · error of the variance within an interval)².
    variance_error: f64,
}

impl Combined {
    /// Adds an interval. Every packet that arrived has the same weight, whichever usable interval it was in.
    pub fn add(&mut self, joined: &Joined) {
        self.sent += joined.sent;
        let Ok(answer) = &joined.answer else { return };
        self.usable += answer.sent;
        self.received += answer.received;
        self.intervals += 1;
        self.unordered += u64::from(answer.received > answer.sent);
        self.surplus_intervals += u64::from(answer.has_surplus);
        self.all_apart += answer.apart;
        self.apart_variance += answer.apart_variance;
        let Some(delays) = answer.delays else { return };
        self.effective_samples += delays.packets;
        let weight = answer.received as f64;
        let mean = delays.mean(Level::P95);
        let std = delays.std(Level::P95);
        self.weight += weight;
        self.telling += 1.0;
        self.told_sent += answer.sent as f64;
        self.apart += answer.apart;
        self.cubes += weight * answer.third_ns3;
        self.cubes_of_std += weight * std.value.powi(3);
        self.time += (joined.end - joined.start).get() as f64;
        if self.telling == 1.0 {
            self.first = mean.value;
        }
        let relative = mean.value - self.first;
        let before = relative - self.mean;
        self.mean += before * (weight / self.weight);
        self.squares += weight * (std.value * std.value + before * (relative - self.mean));
        let error = (weight * (mean.high - mean.low) / (2.0 * Z95)).powi(2);
        for (power, sum) in self.errors.iter_mut().enumerate() {
            *sum += error * relative.powi(power as i32);
        }
        self.variance_error += (weight * std.value * (std.high - std.low) / Z95).powi(2);
    }

    /// Packets that arrived in intervals in which they were not sent: duplicates, or packets reordered around a border.
    /// Each duplicate hides a lost packet.
    pub fn surplus(&self) -> Estimate<f64> {
        let net = self.usable as f64 - self.received as f64;
        lda::surplus(self.surplus_intervals > 0, net, self.all_apart, self.apart_variance)
    }

    /// Upper bound on the expected number of packets, per border, that pass before it at one point and after it at the
    /// other: those that pass at their rate in *E*\[(*D* − *D*ʹ)⁺\] ≤ *σ*/√2, for independent delays *D* and *Dʹ*.
    fn reordered(&self) -> f64 {
        self.std().map_or(0.0, |std| self.weight / self.time * std.value / SQRT_2)
    }

    /// Upper bound on the packets that were sent in these intervals and arrived before the first or after the last of
    /// them, or in one that could not be joined: they are not lost. Zero if no interval shows that any did.
    pub fn elsewhere(&self) -> f64 {
        /// With as many intervals, the average surplus of one says how many packets pass its borders.
        const MANY: u64 = 8;
        if self.surplus_intervals == 0 {
            return 0.0;
        }
        let most = passing(self.std().map_or(f64::INFINITY, |std| self.weight / self.time * std.value));
        if self.intervals < MANY { most } else { most.min(passing(self.surplus().high / self.intervals as f64)) }
    }

    /// Lower bound on the number of duplicates: the surplus less the packets that may have been reordered around
    /// borders.
    pub fn duplicates(&self) -> f64 {
        let reordered = self.telling * self.reordered();
        (self.surplus().low - reordered - Z95 * reordered.sqrt()).max(0.0)
    }

    /// Whether more packets arrived than were sent, beyond what reordering at the first and the last border explains.
    pub fn has_too_many(&self) -> bool {
        let reordered = 2.0 * self.reordered();
        self.received as f64 - self.usable as f64 > reordered + 3.0 * reordered.sqrt() + 3.0
    }

    /// Whether packets are reordered around borders too often for this to be chance.
    pub fn is_unordered(&self) -> bool {
        self.unordered > self.intervals / 4
    }

    /// Mean delay in nanoseconds with its 95% interval; `None` without delays. The interval is widened for packets that
    /// are missing because the points counted them on different sides of a border.
    pub fn mean(&self) -> Option<Estimate<f64>> {
        let (error, missing) = (Z95 * self.errors[0].sqrt() / self.weight, self.missing());
        let value = self.first + self.mean;
        let (low, high) = (value - error + missing.min(0.0), value + error + missing.max(0.0));
        (self.weight > 0.0).then_some(Estimate { value, low, high })
    }

    /// How far the mean may be too low because of packets missing at borders; negative if it may be too high.
    ///
    /// If delays *D* are independent, *λ* E|*D* − *D*ʹ| of the packets that arrive at rate *λ* are missing at a border,
    /// *D*ʹ being the delay of the border's packet, and with intervals of length *T* the mean is too low by E\[(*D* −
    /// *μ*) |*D* − *D*ʹ|\]/*T*: at most √2 *σ*²/*T* (Cauchy and Schwarz), zero for symmetric delays, and *σ*²/*T*
    /// *γ*/√(4 + *γ*²) for delays of two values with skewness *γ*. The bound times the factor *γ*/√(4 + *γ*²) exceeds
    /// the true value for exponential and log-normal delays. If delays change slowly, fewer packets are missing, and
    /// only the variation from packet to packet matters: *σ* is replaced by four times the estimate of E|*D* − *D*ʹ|,
    /// if that is less.
    fn missing(&self) -> f64 {
        let lost = self.told_sent - self.weight;
        // A missing packet is counted by one point only in each of two intervals.
        let at_a_border = (self.apart - lost).max(0.0) / 2.0 / self.telling;
        let (interval, apart_by) = (self.time / self.telling, at_a_border * self.time / self.weight);
        let skewness = if self.cubes_of_std > 0.0 { self.cubes / self.cubes_of_std } else { 0.0 };
        let share = skewness / skewness.hypot(2.0);
        SQRT_2 * share * self.variance().min((4.0 * apart_by).powi(2)) / interval
    }

    fn variance(&self) -> f64 {
        (self.squares / self.weight).max(0.0)
    }

    /// Standard deviation of the delay in nanoseconds with its 95% interval; `None` without delays.
    pub fn std(&self) -> Option<Estimate<f64>> {
        if self.weight == 0.0 {
            return None;
        }
        // The variance within intervals, and that between their means.
        let [zeroth, first, second] = self.errors;
        let between = 4.0 * (second - 2.0 * self.mean * first + self.mean * self.mean * zeroth).max(0.0);
        Some(Estimate::root(self.variance(), (self.variance_error + between).sqrt() / self.weight))
    }
}
