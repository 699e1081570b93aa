//! Packets of many flows that pass a sender and a receiver, with known flows and delays.
//!
//! The number of packets per flow has two Pareto indices, one for the body and one for the tail, as in flow records of
//! large networks [sanjuas11 §3.1, §5]. Every flow begins at a random time in the stream and has its own sending rate.
//! Delays depend either on the flow, so that packets close in time are unrelated (two queues, several paths), or on the
//! time, so that packets close in time share their delay (one queue).
//!
//! ```
//! use dwell_simulate::crossing::flows::{FlowSettings, FlowWorkload};
//!
//! let workload = FlowWorkload::new(&FlowSettings::two_modes(1_000).with_loss(0.01), 1)?;
//! let passages: Vec<_> = workload.collect();
//! assert!(passages.iter().any(|passage| passage.delay.is_none()));
//! # Ok::<(), dwell_simulate::crossing::flows::FlowError>(())
//! ```

use crate::chance::Chance;
use crate::distribution::{Sampler, rounded};
use crate::wheel::Wheel;
use crate::{Distribution, DistributionError};
use core::fmt;
use dwell_types::{Crossing, FlowId, Nanos, PacketId, Timestamp, hash};

/// Settings of a stream of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSettings {
    /// Number of flows.
    pub flows: u32,
    /// Every flow begins, and on average ends, within this time.
    pub span: Nanos,
    /// Packets per flow.
    pub sizes: TwoPareto,
    /// Mean time between two packets of a flow; reduced if the flow would not end in time.
    pub gaps: Distribution,
    /// The delays of packets.
    pub delays: FlowDelays,
    /// Share of the packets that are lost, independently of each other, in `0..=1`.
    pub loss: f64,
    /// Reference packets per second, evenly spaced, never lost; they belong to no flow. Zero for none.
    pub references: f64,
}

/// Packets per flow: P(*n* ≥ *x*) = *x*^−body up to the knee, then falls with (*x*/knee)^−tail, truncated at the
/// largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoPareto {
    /// Pareto index up to the knee.
    pub body: f64,
    /// Pareto index from there on.
    pub tail: f64,
    /// Number of packets at which the index changes.
    pub knee: f64,
    /// Largest number of packets of a flow.
    pub largest: f64,
}

/// What the delays of packets depend on.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowDelays {
    /// Each flow has a level, and each packet adds a jitter to the level of its flow. Each reference packet counts as a
    /// flow of its own.
    OfFlows {
        /// Level of a flow.
        level: Distribution,
        /// What a packet adds to the level.
        jitter: Distribution,
    },
    /// Each moment has a level, the same for all flows; each packet adds a jitter to the level at the time at which it
    /// is sent.
    OfMoments {
        /// Level at a moment; drawn every `coherence`, and interpolated linearly in between.
        level: Distribution,
        /// What a packet adds to the level.
        jitter: Distribution,
        /// Time between two draws.
        coherence: Nanos,
    },
}

/// Why the settings of a stream of flows are invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowError {
    /// There must be at least one flow.
    Flows,
    /// Spans must be at least a microsecond.
    Span(Nanos),
    /// Indices must be above zero, 1 ≤ knee ≤ largest ≤ 10⁹.
    Sizes(TwoPareto),
    /// The share of lost packets must be in `0..=1`.
    Loss(f64),
    /// Reference packets per second must be in `0..=10⁶`.
    References(f64),
    /// The distribution of gaps, levels or jitter is invalid.
    Distribution(DistributionError),
}

impl fmt::Display for FlowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flows => f.write_str("no flows: expected at least one"),
            Self::Span(span) => write!(f, "a span of {span}: expected at least 1 µs"),
            Self::Sizes(TwoPareto { body, tail, knee, largest }) => write!(
                f,
                "packets per flow with indices {body} and {tail}, knee {knee}, largest {largest}: expected indices above 0 and 1 ≤ knee ≤ largest ≤ 1e9"
            ),
            Self::Loss(share) => write!(f, "share of lost packets {share}: expected a number from 0 to 1"),
            Self::References(rate) => write!(f, "{rate} reference packets per second: expected from 0 to 1e6"),
            Self::Distribution(error) => write!(f, "distribution: {error}"),
        }
    }
}

impl core::error::Error for FlowError {}

impl From<DistributionError> for FlowError {
    fn from(error: DistributionError) -> Self {
        Self::Distribution(error)
    }
}

const fn us(micros: i64) -> Nanos {
    Nanos::new(micros * 1_000)
}

fn two_levels() -> Distribution {
    let mode = |mean, p99| Box::new(Distribution::LogNormal { mean: us(mean), p99: us(p99) });
    Distribution::TwoModes { common: mode(1_000, 1_500), rare: mode(2_500, 4_000), rare_share: 0.4 }
}

impl FlowSettings {
    /// Flows with as many packets each as in the paper's trace ([`TwoPareto::TRACE`]). 500 flows begin per second. The
    /// levels of flows have two modes, at 1 and 2.5 ms, and packets vary by .1 ms around them; the paper gives no
    /// figures.
    pub fn two_modes(flows: u32) -> Self {
        Self {
            flows,
            span: Nanos::new(i64::from(flows) * 2_000_000),
            sizes: TwoPareto::TRACE,
            gaps: Distribution::LogUniform { low: us(1_000), high: us(300_000) },
            delays: FlowDelays::OfFlows {
                level: two_levels(),
                jitter: Distribution::Weibull { scale: us(100), shape: 1.0 },
            },
            loss: 0.0,
            references: 0.0,
        }
    }

    /// The same flows and level distribution, but the levels belong to moments `coherence` apart.
    pub fn one_queue(flows: u32, coherence: Nanos) -> Self {
        let jitter = Distribution::Weibull { scale: us(100), shape: 1.0 };
        let delays = FlowDelays::OfMoments { level: two_levels(), jitter, coherence };
        Self { delays, ..Self::two_modes(flows) }
    }

    /// The stream with this share of its packets lost.
    pub fn with_loss(self, share: f64) -> Self {
        Self { loss: share, ..self }
    }

    /// The stream with this many reference packets per second.
    pub fn with_references(self, rate: f64) -> Self {
        Self { references: rate, ..self }
    }

    fn check(&self) -> Result<(), FlowError> {
        let TwoPareto { body, tail, knee, largest } = self.sizes;
        let coherence = match self.delays {
            FlowDelays::OfFlows { .. } => self.span,
            FlowDelays::OfMoments { coherence, .. } => coherence,
        };
        if self.flows == 0 {
            return Err(FlowError::Flows);
        }
        if let Some(short) = [self.span, coherence].into_iter().find(|span| *span < us(1)) {
            return Err(FlowError::Span(short));
        }
        let is_index = |index: f64| index.is_finite() && index > 0.0;
        if !(is_index(body) && is_index(tail) && 1.0 <= knee && knee <= largest && largest <= 1e9) {
            return Err(FlowError::Sizes(self.sizes));
        }
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(FlowError::Loss(self.loss));
        }
        if !(0.0..=1e6).contains(&self.references) {
            return Err(FlowError::References(self.references));
        }
        Ok(())
    }
}

impl TwoPareto {
    /// As in the paper's trace: 146,000 flows have 7.8 M packets, and 4% have more than 50 [sanjuas11 §3.1, §5].
    pub const TRACE: Self = Self { body: 1.2, tail: 0.7, knee: 3.0, largest: 225_000.0 };

    /// Quantile function of the packets per flow: a uniform `share` in `0..1` gives the size of a random flow.
    pub fn packets(&self, share: f64) -> u32 {
        let at_knee = libm::pow(self.knee, -self.body);
        let least = at_knee * libm::pow(self.largest / self.knee, -self.tail);
        let above = 1.0 - share * (1.0 - least);
        let packets = if above > at_knee {
            libm::pow(above, -1.0 / self.body)
        } else {
            self.knee * libm::pow(above / at_knee, -1.0 / self.tail)
        };
        packets as u32
    }
}

/// A packet that travels from the sender to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPassage {
    /// The packet as the sender sees it.
    pub sent: Crossing,
    /// Its delay; `None` if it is lost.
    pub delay: Option<Nanos>,
    /// Number of its flow, from 0; `None` for a reference packet.
    pub flow: Option<u32>,
}

impl FlowPassage {
    /// The packet as the receiver sees it; `None` if it is lost.
    #[inline]
    pub fn received(&self) -> Option<Crossing> {
        self.delay.map(|delay| Crossing { at: self.sent.at + delay, ..self.sent })
    }
}

/// Packets in the order in which they are sent, as [`FlowSettings`] describe them.
#[derive(Clone, Debug)]
pub struct FlowWorkload {
    flows: Vec<Flow>,
    /// The next packet of every flow that has not ended, and the next reference packet.
    next: Wheel<Option<u32>>,
    levels: Levels,
    jitter: Sampler,
    loss: f64,
    reference_gap: f64,
    references: u64,
    span: i64,
    ids: u64,
    packets: u64,
    chance: Chance,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Packets still to come.
    left: u32,
    /// Mean time between two packets in nanoseconds.
    gap: f32,
    /// Level of its delays, in nanoseconds.
    level: f32,
}

#[derive(Clone, Debug)]
enum Levels {
    OfFlows(Sampler),
    /// Levels at multiples of the coherence, and the coherence in nanoseconds.
    OfMoments(Vec<f64>, f64),
}

impl FlowWorkload {
    /// The stream for these settings and this seed.
    pub fn new(settings: &FlowSettings, seed: u64) -> Result<Self, FlowError> {
        settings.check()?;
        let mut chance = Chance::named(seed, b"manyflow");
        let span = settings.span.get();
        let (jitter, levels) = levels(settings, &mut chance)?;
        let gaps = settings.gaps.sampler()?;
        let mut next = Wheel::new(f64::from(settings.flows) * 1e9 / span as f64);
        let mut flows = Vec::with_capacity(settings.flows as usize);
        for number in 0..settings.flows {
            let left = settings.sizes.packets(chance.unit());
            let gap = gaps.draw(&mut chance).min(span as f64 / f64::from(left));
            let start = chance.unit() * (span as f64 - gap * f64::from(left));
            let level = match &levels {
                Levels::OfFlows(level) => level.draw(&mut chance) as f32,
                Levels::OfMoments(..) => 0.0,
            };
            flows.push(Flow { left, gap: gap as f32, level });
            next.push(start as i64, Some(number));
        }
        let reference_gap = 1e9 / settings.references;
        if settings.references > 0.0 {
            next.push(0, None);
        }
        let ids = chance.bits();
        let (loss, references, packets) = (settings.loss, 0, 0);
        Ok(Self { flows, next, levels, jitter, loss, reference_gap, references, span, ids, packets, chance })
    }

    /// The id of a flow by its number.
    pub fn flow_id(&self, number: u32) -> FlowId {
        FlowId(hash::word(!self.ids, u64::from(number)))
    }

    fn packet(&mut self, at: i64, number: u32) -> FlowPassage {
        let flow = &mut self.flows[number as usize];
        flow.left -= 1;
        let (is_last, gap, level) = (flow.left == 0, f64::from(flow.gap), f64::from(flow.level));
        if !is_last {
            self.next.push(at.saturating_add((gap * self.chance.exponential()) as i64), Some(number));
        }
        let level = match &self.levels {
            Levels::OfFlows(_) => level,
            Levels::OfMoments(levels, coherence) => at_moment(levels, *coherence, at),
        };
        let is_lost = self.loss > 0.0 && self.chance.happens(self.loss);
        let flow = self.flow_id(number);
        let sent = self.crossing(flow, at);
        FlowPassage { sent, delay: (!is_lost).then(|| self.delay(level)), flow: Some(number) }
    }

    fn reference(&mut self, at: i64) -> FlowPassage {
        self.references += 1;
        let following = (self.references as f64 * self.reference_gap) as i64;
        if following <= self.span {
            self.next.push(following, None);
        }
        let level = match &self.levels {
            Levels::OfFlows(level) => level.draw(&mut self.chance),
            Levels::OfMoments(levels, coherence) => at_moment(levels, *coherence, at),
        };
        let sent = self.crossing(FlowId(self.ids), at);
        FlowPassage { sent, delay: Some(self.delay(level)), flow: None }
    }

    fn crossing(&mut self, flow: FlowId, at: i64) -> Crossing {
        self.packets += 1;
        let packet = PacketId(hash::word(self.ids, self.packets));
        // From 40 to 1,500 bytes, determined by hash bits that are used for nothing else.
        let bytes = 40 + hash::index((hash::finish(packet.0) >> 32) as u32, 1_461);
        Crossing { packet, flow, at: Timestamp::from_nanos(at), bytes }
    }

    fn delay(&mut self, level: f64) -> Nanos {
        Nanos::new(rounded(level + self.jitter.draw(&mut self.chance)))
    }
}

/// Samplers of jitter and levels; levels are drawn in advance if they belong to moments.
fn levels(settings: &FlowSettings, chance: &mut Chance) -> Result<(Sampler, Levels), FlowError> {
    match &settings.delays {
        FlowDelays::OfFlows { level, jitter } => Ok((jitter.sampler()?, Levels::OfFlows(level.sampler()?))),
        FlowDelays::OfMoments { level, jitter, coherence } => {
            let level = level.sampler()?;
            let moments = settings.span.get() / coherence.get() + 2;
            let drawn = (0..moments).map(|_| level.draw(chance)).collect();
            Ok((jitter.sampler()?, Levels::OfMoments(drawn, coherence.get() as f64)))
        }
    }
}

/// Interpolates linearly between the levels before and after; constant after the last one.
fn at_moment(levels: &[f64], coherence: f64, at: i64) -> f64 {
    let position = at as f64 / coherence;
    let last = levels.len() - 1;
    let before = (position as usize).min(last);
    let part = (position - before as f64).min(1.0);
    levels[before] + part * (levels[(before + 1).min(last)] - levels[before])
}

impl Iterator for FlowWorkload {
    type Item = FlowPassage;

    #[inline]
    fn next(&mut self) -> Option<FlowPassage> {
        let (at, what) = self.next.pop_until(i64::MAX)?;
        Some(match what {
            Some(number) => self.packet(at, number),
            None => self.reference(at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages(settings: &FlowSettings) -> Vec<FlowPassage> {
        FlowWorkload::new(settings, 7).unwrap().collect()
    }

    /// 10⁵ flows: a share near .04 has a standard error of .0006, one near .44 has .0016; the tolerances are six of
    /// them, a chance of 2·10⁻⁹ each. One index for all sizes must fail.
    #[test]
    fn sizes_have_two_indices() {
        let workload = FlowWorkload::new(&FlowSettings::two_modes(100_000), 3).unwrap();
        let share = |least: u32| {
            workload.flows.iter().filter(|flow| flow.left >= least).count() as f64 / workload.flows.len() as f64
        };
        let at_knee = 3f64.powf(-1.2);
        for (least, expected, tolerance) in [
            (1, 1.0, 0.0),
            (2, 2f64.powf(-1.2), 0.0096),
            (3, at_knee, 0.0084),
            (50, at_knee * (50f64 / 3.0).powf(-0.7), 0.0037),
        ] {
            let is_near = |expected: f64| (share(least) - expected).abs() <= tolerance;
            assert!(is_near(expected), "{least}: {} not {expected}", share(least));
            assert!(least <= 3 || !is_near(f64::from(least).powf(-1.2)), "{least}: {}", share(least));
        }
    }

    #[test]
    fn a_stream_is_in_order_and_complete() {
        let settings = FlowSettings::two_modes(2_000).with_loss(0.1).with_references(100.0);
        let passages = passages(&settings);
        assert!(passages.is_sorted_by_key(|passage| passage.sent.at));
        let references = passages.iter().filter(|passage| passage.flow.is_none()).count();
        assert_eq!(references, 401, "100 per second for 4 s, both ends included");
        let workload = FlowWorkload::new(&settings, 7).unwrap();
        for (number, flow) in workload.flows.iter().enumerate() {
            let id = workload.flow_id(number as u32);
            let packets = passages.iter().filter(|passage| passage.sent.flow == id).count();
            assert_eq!(packets as u32, flow.left, "{number}");
        }
        // 10⁵ packets: ± 6 standard errors of .001, 2·10⁻⁹. As a share of those that arrive it is a ninth.
        let lost = passages.iter().filter(|passage| passage.delay.is_none()).count() as f64;
        let is_tenth = |of: usize| (lost / of as f64 - 0.1).abs() < 0.006;
        assert!(is_tenth(passages.len()) && !is_tenth(passages.len() - lost as usize), "{lost} of {}", passages.len());
    }

    /// The delays of two successive packets of different flows differ as much as any two if levels belong to flows, but
    /// only by the jitter if levels belong to moments.
    #[test]
    fn delays_belong_to_flows_or_to_moments() {
        let neighbours = |settings: &FlowSettings| {
            let passages = passages(settings);
            let pairs = passages.windows(2).filter(|pair| pair[0].flow != pair[1].flow);
            let distances: Vec<f64> =
                pairs.filter_map(|p| Some((p[0].delay?.get() - p[1].delay?.get()).abs() as f64)).collect();
            distances.iter().sum::<f64>() / distances.len() as f64
        };
        let of_flows = neighbours(&FlowSettings::two_modes(2_000));
        let of_moments = neighbours(&FlowSettings::one_queue(2_000, Nanos::new(200_000_000)));
        assert!(of_flows > 400_000.0, "two modes are 1.5 ms apart: {of_flows}");
        assert!(of_moments < 120_000.0, "the jitter of two packets differs by 100 µs: {of_moments}");
    }

    #[test]
    fn nonsense_is_refused() {
        let sound = FlowSettings::two_modes(10);
        let sizes = TwoPareto { knee: 0.5, ..sound.sizes };
        let cases = [
            (FlowSettings { flows: 0, ..sound.clone() }, FlowError::Flows),
            (FlowSettings { span: Nanos::ZERO, ..sound.clone() }, FlowError::Span(Nanos::ZERO)),
            (FlowSettings { sizes, ..sound.clone() }, FlowError::Sizes(sizes)),
            (sound.clone().with_loss(1.5), FlowError::Loss(1.5)),
            (sound.clone().with_references(-1.0), FlowError::References(-1.0)),
            (FlowSettings::one_queue(10, Nanos::ZERO), FlowError::Span(Nanos::ZERO)),
        ];
        for (settings, error) in cases {
            assert_eq!(FlowWorkload::new(&settings, 1).unwrap_err(), error);
        }
    }
}
