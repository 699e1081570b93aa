use super::{Combined, Joined};
use crate::estimate::{Estimate, Z95};
use crate::lda::{Lda, OneWay};
use dwell_types::{Nanos, Timestamp};
use std::f64::consts::SQRT_2;

/// The sketches of both points between two borders.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The sender's sketch, and the receiver's.
    sketches: [Lda; 2],
    /// Start and end at the sender, and at the receiver, each by its own clock.
    ends: [[Timestamp; 2]; 2],
    answer: OneWay,
}

impl Span {
    /// The span whose `sketches` give this answer.
    pub(super) const fn new(sketches: [Lda; 2], ends: [[Timestamp; 2]; 2], answer: OneWay) -> Self {
        Self { sketches, ends, answer }
    }

    /// Approximately how much later the receiver sees packets, by clocks as they are. Each border is a packet that both
    /// points saw, so the differences are delays.
    pub(super) fn later([[start, end], [received_start, received_end]]: [[Timestamp; 2]; 2]) -> Nanos {
        Nanos::new(i64::midpoint((received_start - start).get(), (received_end - end).get()))
    }

    /// Both, if `next` begins where this one ends.
    fn joined_with(&self, next: &Self) -> Option<Self> {
        let ([[_, end], _], [[start, _], _]) = (self.ends, next.ends);
        if end != start {
            return None;
        }
        let mut sketches = self.sketches.clone();
        for (sum, next) in sketches.iter_mut().zip(&next.sketches) {
            sum.merge(next).ok()?;
        }
        let ends = [0, 1].map(|point: usize| [self.ends[point][0], next.ends[point][1]]);
        let answer = sketches[1].since_about(&sketches[0], Self::later(ends)).ok()?;
        Some(Self { sketches, ends, answer })
    }

    fn as_interval(&self) -> Joined {
        let [[start, end], _] = self.ends;
        Joined { start, end, sent: self.answer.sent, answer: Ok(self.answer), flows: None }
    }

    /// Packets that arrived, and their mean delay; `None` without one.
    fn mean(&self) -> Option<(f64, f64)> {
        Some((self.answer.received as f64, self.answer.delays?.mean_ns))
    }

    /// Whether packets arrived in it that were not sent in it.
    pub(super) const fn has_surplus(&self) -> bool {
        self.answer.has_surplus
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.sketches.iter().map(Lda::state_bytes).sum()
    }
}

/// Answers for longer and longer spans of time: for two intervals together, for four, and so on.
///
/// Packets in flight at a border are in no cell that is alike at both points, and these are the slow ones: where delays
/// are not short compared with intervals, the mean of intervals is too low. Sketches are sums, so a span of two
/// intervals has what passed the border between them, and half as many borders. What two intervals together add to the
/// mean of both shows what is still missing: a span of length *T* misses a packet with delay *D* with probability
/// |*D* − *D*ʹ|/*T*, *D*ʹ being the delay of the border's packet, so that the mean is too low by *B*/*T*. It grows by
/// *B*/2*T* from *T* to 2*T*, and as much is missing there.
#[derive(Clone, Debug)]
pub(super) struct Spans {
    levels: Vec<Level>,
    /// The packets that pass the border between two intervals before it at one point and after it at the other: they are
    /// surplus in one of both intervals, but not in both together, as duplicates are.
    reordered: WeightedMean,
}

/// Spans of 2ᵏ intervals.
#[derive(Clone, Debug)]
struct Level {
    /// Half of such a span, which waits for the other half.
    half: Option<Span>,
    /// All such spans, and what is in none of them.
    answers: Combined,
    /// By how much the mean delay of both halves of a span is less than that of the span.
    growth: WeightedMean,
}

/// The mean of what spans tell.
#[derive(Clone, Copy, Debug, Default)]
struct WeightedMean {
    spans: f64,
    weight: f64,
    mean: f64,
    /// Σ weight · (value − mean)².
    squares: f64,
}

/// How many packets are reordered around a border: an upper bound on their expected number, and how much it varies from
/// border to border.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reordered {
    pub(super) most: f64,
    pub(super) deviation: f64,
}

impl Reordered {
    /// Upper bound on those around the two borders of an interval.
    pub(super) fn of_interval(self) -> f64 {
        2.0 * self.most + Z95 * SQRT_2 * self.deviation
    }
}

/// The delays by spans of a sufficient length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Longer {
    pub(super) mean: Estimate<f64>,
    pub(super) std: Option<Estimate<f64>>,
    pub(super) effective_samples: u64,
}

impl Spans {
    /// The longest spans are of 256 intervals.
    const MOST_LEVELS: usize = 8;

    /// Nothing yet after these intervals, with room for as many spans of different lengths as fit some bytes.
    pub(super) fn after(total: Combined, span_bytes: usize, bytes: usize) -> Self {
        let levels = (bytes / span_bytes.max(1)).min(Self::MOST_LEVELS);
        let levels = vec![Level { half: None, answers: total, growth: WeightedMean::default() }; levels];
        Self { levels, reordered: WeightedMean::default() }
    }

    /// Adds the span of the next interval.
    pub(super) fn add(&mut self, mut span: Span) {
        for level in 0..self.levels.len() {
            let half = self.levels[level].half.take();
            let Some(both) = half.as_ref().and_then(|half| half.joined_with(&span)) else {
                if let Some(alone) = half {
                    // It begins no longer span.
                    self.levels[level..].iter_mut().for_each(|level| level.answers.add(&alone.as_interval()));
                }
                self.levels[level].half = Some(span);
                return;
            };
            if let (0, Some(first)) = (level, &half) {
                let surplus = |span: &Span| span.answer.surplus().value;
                self.reordered.add(1.0, surplus(first) + surplus(&span) - surplus(&both));
            }
            let Level { answers, growth, .. } = &mut self.levels[level];
            answers.add(&both.as_interval());
            if let (Some(first), Some(second), Some(both)) =
                (half.and_then(|half| half.mean()), span.mean(), both.mean())
            {
                let mean = (first.0 * first.1 + second.0 * second.1) / (first.0 + second.0);
                growth.add(both.0, both.1 - mean);
            }
            span = both;
        }
    }

    /// The delays by the shortest spans whose borders matter less than chance, or by the longest ones; `None` if intervals
    /// are long enough, of which this is the total, or too few.
    pub(super) fn longer(&self, total: &Combined) -> Option<Longer> {
        let is_long = |answers: &Combined| answers.missing().abs() <= answers.error();
        if is_long(total) {
            return None;
        }
        let mut longer = None;
        let mut waiting: Vec<Joined> = Vec::new();
        for level in &self.levels {
            waiting.extend(level.half.as_ref().map(Span::as_interval));
            let Some((growth, error)) = level.growth.mean() else { break };
            let mut answers = level.answers;
            waiting.iter().for_each(|alone| answers.add(alone));
            longer = Longer::new(&answers, growth, error);
            if is_long(&answers) {
                break;
            }
        }
        longer
    }

    /// Packets that are reordered around a border; `None` if too few borders tell.
    pub(super) fn reordered(&self) -> Option<Reordered> {
        const ENOUGH: f64 = 8.0;
        let (mean, error) = self.reordered.mean().filter(|_| self.reordered.spans >= ENOUGH)?;
        let most = (mean + Z95 * error).max(0.0);
        Some(Reordered { most, deviation: (self.reordered.squares / self.reordered.weight).sqrt() })
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.levels.iter().filter_map(|level| level.half.as_ref()).map(Span::state_bytes).sum()
    }
}

impl WeightedMean {
    fn add(&mut self, weight: f64, value: f64) {
        if weight == 0.0 {
            return;
        }
        self.spans += 1.0;
        self.weight += weight;
        let before = value - self.mean;
        self.mean += before * weight / self.weight;
        self.squares += weight * before * (value - self.mean);
    }

    /// The mean and its standard error, which one span says nothing about; `None` without spans.
    fn mean(&self) -> Option<(f64, f64)> {
        let error = match self.spans {
            0.0 => return None,
            1.0 => self.mean.abs(),
            spans => (self.squares / self.weight / (spans - 1.0)).sqrt(),
        };
        Some((self.mean, error))
    }
}

impl Longer {
    /// The mean of spans plus what is expected to be missing: as much as it grew from half their length, give or take a
    /// half, since longer delays than half a span grow differently.
    fn new(answers: &Combined, growth: f64, growth_error: f64) -> Option<Self> {
        let Estimate { value, low, high } = answers.mean()?;
        let extrapolated = value + growth;
        let error = answers.error().hypot(Z95 * growth_error) + growth.abs() / 2.0;
        let mean =
            Estimate { value: extrapolated, low: low.min(extrapolated - error), high: high.max(extrapolated + error) };
        Some(Self { mean, std: answers.std(), effective_samples: answers.effective_samples })
    }
}
