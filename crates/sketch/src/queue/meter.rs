use super::compare::Comparison;
use super::episode::{Episode, EpisodeParams, Episodes};
use super::timeline::{Stretch, Timeline};
use crate::conquest::{Conquest, ConquestError, Counts, Exact, Params, Queued};
use core::fmt;
use dwell_types::{Departure, FlowId, FlowKey, Nanos, Timestamp};

/// How it is known what was in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every departure is remembered while that fits the memory; then snapshots go on.
    Auto,
    /// Every departure is remembered for the longest delay, in as much memory as that takes.
    Exact,
    /// Snapshots from the beginning.
    Conquest,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Exact, Self::Conquest];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Conquest => "conquest",
        }
    }
}

/// What to measure, and in how much memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How.
    pub method: Method,
    /// Bytes of all data structures; not for [`Method::Exact`].
    pub memory: usize,
    /// No packet waits for longer: [`Method::Exact`] forgets what departed before.
    pub longest: Nanos,
    /// Snapshots, unit, and culprits: *α* and *τ*.
    pub params: Params,
    /// Packets that waited for *τ* are of one episode if they depart at most this far apart.
    pub quiet: Nanos,
    /// Flows whose bytes are known in an episode; those that did not find room are told by bounds.
    pub flows: usize,
    /// Culprits of an episode that are told.
    pub top: usize,
    /// Whether the queue is wanted over time.
    pub has_timeline: bool,
    /// Whether the answers of snapshots are compared with what truly departed, in as much memory as that takes.
    pub has_comparison: bool,
}

/// Why there is no such meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingsError {
    /// The memory is too small.
    Memory {
        /// Bytes that would do.
        needed: usize,
    },
    /// There are no such snapshots.
    Snapshots(ConquestError),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { needed } => write!(f, "the memory is too small: {needed} bytes are enough"),
            Self::Snapshots(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SettingsError {}

/// Says who built a queue, packet by packet and episode by episode. See the [module](super).
#[derive(Clone, Debug)]
pub struct QueueMeter {
    departures: Departures,
    /// Bytes that [`Departures::Exact`] may take before snapshots go on; `None` for any.
    exact_bytes: Option<usize>,
    params: Params,
    since: Option<Timestamp>,
    episodes: Episodes,
    timeline: Option<Timeline>,
    comparison: Option<Box<Comparison>>,
    longest_delay: Option<Nanos>,
    deepest: u64,
    /// Bytes at most so far.
    state_bytes: usize,
}

/// What departed.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one")]
enum Departures {
    Exact(Exact),
    Snapshots(Conquest),
}

impl QueueMeter {
    /// The least memory of [`Exact`] that is worth beginning with: a hundred departures.
    const LEAST_EXACT: usize = 8 << 10;

    /// Bytes for so many flows of an episode.
    pub const fn flow_bytes(flows: usize) -> usize {
        Episodes::bytes(flows) + flows * FlowKey::NAME_BYTES
    }

    /// A meter that has seen nothing.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let Settings { method, longest, ref params, .. } = *settings;
        let timeline = if settings.has_timeline { Timeline::HEAP_BYTES } else { 0 };
        let besides = size_of::<Self>() + Self::flow_bytes(settings.flows) + timeline;
        // While the twin hands over, both are there.
        let taken = besides + Conquest::bytes(params);
        let needed = taken + if method == Method::Auto { Self::LEAST_EXACT } else { 0 };
        if method != Method::Exact && settings.memory < needed {
            return Err(SettingsError::Memory { needed });
        }
        let snapshots = || Conquest::new(params).map_err(SettingsError::Snapshots);
        let exact = || Departures::Exact(Exact::new(longest, params.unit, params.culprit));
        let departures = match method {
            Method::Conquest => Departures::Snapshots(snapshots()?),
            // They are not there yet, but can be made.
            Method::Auto => snapshots().map(|_| exact())?,
            Method::Exact => exact(),
        };
        let episodes = EpisodeParams {
            threshold: params.culprit.delay,
            quiet: settings.quiet,
            flows: settings.flows,
            top: settings.top,
        };
        let mut meter = Self {
            departures,
            exact_bytes: (method == Method::Auto).then(|| settings.memory - taken),
            params: params.clone(),
            since: None,
            episodes: Episodes::new(episodes),
            timeline: settings.has_timeline.then(Timeline::new),
            comparison: settings.has_comparison.then(|| Box::new(Comparison::new(params, longest))),
            longest_delay: None,
            deepest: 0,
            state_bytes: 0,
        };
        meter.state_bytes = meter.bytes();
        Ok(meter)
    }

    /// The next packet departs: what was in the queue with it, if it is known when it arrived. The name of its flow is
    /// asked for where that is new to an episode.
    pub fn update(&mut self, departure: &Departure, name: impl FnOnce() -> String) -> Option<Queued> {
        self.make_room(departure);
        let queued = match &mut self.departures {
            Departures::Exact(exact) => exact.update(departure),
            Departures::Snapshots(snapshots) => snapshots.update(departure),
        };
        self.episodes.update(departure, queued.as_ref(), name);
        if let (Some(queued), Some(delay)) = (&queued, departure.delay()) {
            self.longest_delay = self.longest_delay.max(Some(delay));
            self.deepest = self.deepest.max(queued.queue_size);
            if let Some(timeline) = &mut self.timeline {
                timeline.update(departure.departed, delay, queued.queue_size, queued.flow_size);
            }
        }
        if let Some(comparison) = &mut self.comparison {
            comparison.update(departure, queued.as_ref());
        }
        self.state_bytes = self.state_bytes.max(self.bytes());
        queued
    }

    /// Lets snapshots go on where the memory does not hold one more departure.
    fn make_room(&mut self, departure: &Departure) {
        let (Departures::Exact(exact), Some(most)) = (&self.departures, self.exact_bytes) else { return };
        if exact.bytes_after(departure.flow) <= most {
            return;
        }
        // The same parameters made a sketch before.
        if let Ok(snapshots) = Conquest::after(exact, &self.params) {
            self.state_bytes = self.state_bytes.max(self.bytes() + snapshots.state_bytes());
            self.departures = Departures::Snapshots(snapshots);
            self.since = Some(departure.departed);
        }
    }

    /// No packet follows.
    pub fn end(&mut self) {
        self.episodes.end();
    }

    /// The episodes that ended since this was last asked.
    pub fn take_episodes(&mut self) -> Vec<Episode> {
        self.episodes.take()
    }

    /// Packets, and what could not be used of them.
    pub fn counts(&self) -> Counts {
        match &self.departures {
            Departures::Exact(exact) => exact.counts(),
            Departures::Snapshots(snapshots) => snapshots.counts(),
        }
    }

    /// Whether every departure was remembered as long as it mattered.
    pub const fn is_exact(&self) -> bool {
        matches!(self.departures, Departures::Exact(_))
    }

    /// When snapshots went on in the place of single departures; `None` if they did not.
    pub const fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// The longest delay; `None` where none is known.
    pub const fn longest_delay(&self) -> Option<Nanos> {
        self.longest_delay
    }

    /// The largest queue that a packet found, in bytes or packets.
    pub const fn deepest(&self) -> u64 {
        self.deepest
    }

    /// The change of a flow's rate between the two newest finished windows of the shortest kind, in bytes or packets
    /// per second. `None` until two windows are finished.
    pub fn rate_change(&self, flow: FlowId) -> Option<f64> {
        match &self.departures {
            Departures::Exact(exact) => exact.rate_change(flow, *self.params.windows.first()?),
            Departures::Snapshots(snapshots) => snapshots.rate_change(flow),
        }
    }

    /// The queue over time; empty unless asked for.
    pub fn timeline(&self) -> Vec<Stretch> {
        self.timeline.as_ref().map(Timeline::stretches).unwrap_or_default()
    }

    /// The answers beside those of the exact twin; `None` unless asked for.
    pub fn comparison(&self) -> Option<&Comparison> {
        self.comparison.as_deref()
    }

    /// Bytes of everything, but for the comparison and the episodes that were not taken yet.
    fn bytes(&self) -> usize {
        let departures = match &self.departures {
            Departures::Exact(exact) => exact.state_bytes() - size_of::<Exact>(),
            Departures::Snapshots(snapshots) => snapshots.state_bytes() - size_of::<Conquest>(),
        };
        let timeline = if self.timeline.is_some() { Timeline::HEAP_BYTES } else { 0 };
        size_of::<Self>() + departures + timeline + self.episodes.heap_bytes()
    }

    /// Bytes at most so far, but for the comparison and the episodes that were not taken yet.
    pub const fn state_bytes(&self) -> usize {
        self.state_bytes
    }
}
