use super::compare::Comparison;
use super::episode::{Episode, EpisodeParams, Episodes};
use super::timeline::{Stretch, Timeline};
use crate::conquest::{Conquest, ConquestError, Counts, Exact, Params, Queued};
use dwell_types::{Departure, FlowId, FlowKey, Nanos, Timestamp};
use std::fmt;

/// How the contents of the queue are determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every departure is remembered while that fits the memory; then snapshots take over.
    Auto,
    /// Every departure is remembered for the longest delay, in as much memory as that takes.
    Exact,
    /// Snapshots from the start.
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
    /// The method.
    pub method: Method,
    /// Bytes of all data structures; `None` for no limit.
    pub memory: Option<usize>,
    /// The longest wait: [`Method::Exact`] forgets departures after this time.
    pub longest: Nanos,
    /// Parameters of snapshots, the unit, and the definition of culprits: *α* and *τ*.
    pub params: Params,
    /// Packets that waited for *τ* belong to one episode if they depart at most this far apart.
    pub quiet: Nanos,
    /// Flows kept per episode, in memory that is taken at once; if there are more, bytes of flows are bounds.
    pub flows: usize,
    /// Maximum number of culprits reported per episode.
    pub top: usize,
    /// Whether to keep the queue over time.
    pub has_timeline: bool,
    /// Whether to compare the answers of snapshots with an exact reference, in as much additional memory as that takes.
    pub has_comparison: bool,
}

/// How the memory of a measurement is divided; the rest holds recent departures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Bytes for the packets between taps: a quarter; `None` for no limit.
    pub taps: Option<usize>,
    /// Bytes for snapshots: at most a quarter.
    pub snapshots: usize,
    /// Flows of an episode that are tracked individually, in an eighth.
    pub flows: usize,
}

impl Shares {
    const MOST_FLOWS: usize = 1 << 10;
    const LEAST_FLOWS: usize = 8;
    const MOST_SNAPSHOTS: usize = 1 << 20;
    /// As in a switch.
    const LEAST_SNAPSHOTS: usize = 2 << 10;

    /// The shares of this many bytes, or of memory without a limit.
    pub fn of(memory: Option<usize>, has_taps: bool) -> Self {
        const FLOW_BYTES: usize = QueueMeter::flow_bytes(Shares::MOST_FLOWS).div_ceil(Shares::MOST_FLOWS);
        let part = |divisor: usize| memory.map_or(usize::MAX, |memory| memory / divisor);
        Self {
            taps: if has_taps { memory.map(|memory| memory / 4) } else { Some(0) },
            snapshots: part(4).clamp(Self::LEAST_SNAPSHOTS, Self::MOST_SNAPSHOTS),
            flows: (part(8) / FLOW_BYTES).clamp(Self::LEAST_FLOWS, Self::MOST_FLOWS),
        }
    }
}

/// Why a meter cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingsError {
    /// The memory is too small.
    Memory {
        /// Bytes that would be enough.
        needed: usize,
    },
    /// The parameters of snapshots are invalid.
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

impl std::error::Error for SettingsError {}

/// Reports which flows built a queue, packet by packet and episode by episode. See the [module](super).
#[derive(Clone, Debug)]
pub struct QueueMeter {
    departures: Departures,
    /// Maximum bytes of [`Departures::Exact`] before snapshots take over; `None` for no limit.
    exact_bytes: Option<usize>,
    params: Params,
    since: Option<Timestamp>,
    episodes: Episodes,
    timeline: Option<Timeline>,
    comparison: Option<Box<Comparison>>,
    longest: Nanos,
    /// Packets that waited for longer than `longest`.
    overlong: u64,
    longest_delay: Option<Nanos>,
    deepest: u64,
    /// The maximum so far.
    state_bytes: usize,
}

/// The departures, remembered exactly or in snapshots.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a run has one value of it")]
enum Departures {
    Exact(Exact),
    Snapshots(Conquest),
}

impl QueueMeter {
    /// The least memory for which it is worth starting with [`Exact`]: about a hundred departures.
    const LEAST_EXACT: usize = 8 << 10;

    /// Bytes for this many flows of an episode.
    pub const fn flow_bytes(flows: usize) -> usize {
        Episodes::bytes(flows).saturating_add(flows.saturating_mul(FlowKey::NAME_BYTES))
    }

    /// A meter that has seen nothing.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let Settings { method, longest, ref params, .. } = *settings;
        let timeline = if settings.has_timeline { Timeline::HEAP_BYTES } else { 0 };
        let besides = Self::flow_bytes(settings.flows).saturating_add(size_of::<Self>() + timeline);
        // During the handover the exact reference and the snapshots exist at the same time.
        let taken = besides.saturating_add(Conquest::bytes(params));
        let needed = taken.saturating_add(if method == Method::Auto { Self::LEAST_EXACT } else { 0 });
        // No memory has room for more than this.
        if settings.memory.unwrap_or(isize::MAX as usize) < needed {
            return Err(SettingsError::Memory { needed });
        }
        let snapshots = || Conquest::new(params).map_err(SettingsError::Snapshots);
        let exact = || Departures::Exact(Exact::new(longest, params.unit, params.culprit));
        let departures = match method {
            Method::Conquest => Departures::Snapshots(snapshots()?),
            // Not kept yet: this only checks the parameters.
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
            exact_bytes: settings.memory.filter(|_| method == Method::Auto).map(|memory| memory - taken),
            params: params.clone(),
            since: None,
            episodes: Episodes::new(episodes),
            timeline: settings.has_timeline.then(Timeline::new),
            comparison: settings.has_comparison.then(|| Box::new(Comparison::new(params, longest))),
            longest,
            overlong: 0,
            longest_delay: None,
            deepest: 0,
            state_bytes: 0,
        };
        meter.state_bytes = meter.bytes();
        Ok(meter)
    }

    /// Processes the next departure and returns what was in the queue with this packet, if its arrival is known. `name`
    /// is called if its flow is new to an episode.
    pub fn update(&mut self, departure: &Departure, name: impl FnOnce() -> String) -> Option<Queued> {
        self.make_room(departure);
        let queued = match &mut self.departures {
            Departures::Exact(exact) => exact.update(departure),
            Departures::Snapshots(snapshots) => snapshots.update(departure),
        };
        self.episodes.update(departure, queued.as_ref(), name);
        if let (Some(queued), Some(delay)) = (&queued, departure.delay()) {
            self.longest_delay = self.longest_delay.max(Some(delay));
            self.overlong += u64::from(delay > self.longest);
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

    /// Hands over to snapshots if one more departure does not fit the memory.
    fn make_room(&mut self, departure: &Departure) {
        let (Departures::Exact(exact), Some(most)) = (&self.departures, self.exact_bytes) else { return };
        if exact.fits(departure.flow, most) {
            return;
        }
        // Never fails: the parameters were checked in `new`.
        if let Ok(snapshots) = Conquest::after(exact, &self.params) {
            self.state_bytes = self.state_bytes.max(self.bytes() + snapshots.state_bytes());
            self.departures = Departures::Snapshots(snapshots);
            self.since = Some(departure.departed);
        }
    }

    /// No more packets follow.
    pub fn end(&mut self) {
        self.episodes.end();
    }

    /// Whether episodes have ended that were not taken yet.
    #[inline]
    pub fn has_episodes(&self) -> bool {
        self.episodes.has_some()
    }

    /// The episodes that ended since the last call.
    pub fn take_episodes(&mut self) -> Vec<Episode> {
        self.episodes.take()
    }

    /// Counts of packets, and of those that could not be used, or not fully.
    pub fn counts(&self) -> Counts {
        match &self.departures {
            Departures::Exact(exact) => exact.counts(),
            Departures::Snapshots(snapshots) => snapshots.counts(),
        }
    }

    /// Whether every departure was remembered for the longest delay: snapshots were not used.
    pub const fn is_exact(&self) -> bool {
        matches!(self.departures, Departures::Exact(_))
    }

    /// Whether a flow had 2³² bytes or packets in one window of snapshots, or more: then its size and share are too
    /// small.
    pub const fn is_full(&self) -> bool {
        match &self.departures {
            Departures::Exact(_) => false,
            Departures::Snapshots(snapshots) => snapshots.is_full(),
        }
    }

    /// When snapshots took over from exact departures; `None` if they did not, or were used from the start.
    pub const fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// Packets that waited for longer than the longest wait: the exact reference no longer knows all that was in the
    /// queue with them.
    pub const fn overlong(&self) -> u64 {
        self.overlong
    }

    /// The longest delay; `None` if no delay is known.
    pub const fn longest_delay(&self) -> Option<Nanos> {
        self.longest_delay
    }

    /// The largest queue that a packet found, in bytes or packets.
    pub const fn deepest(&self) -> u64 {
        self.deepest
    }

    /// The change of a flow's rate between the two newest finished windows of the shortest kind, in bytes or packets
    /// per second. `None` until two windows are finished of which every departure was seen.
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

    /// The comparison with the exact reference; `None` unless asked for.
    pub fn comparison(&self) -> Option<&Comparison> {
        self.comparison.as_deref()
    }

    /// Current bytes of everything except the comparison and episodes not yet taken.
    fn bytes(&self) -> usize {
        let departures = match &self.departures {
            Departures::Exact(exact) => exact.state_bytes() - size_of::<Exact>(),
            Departures::Snapshots(snapshots) => snapshots.state_bytes() - size_of::<Conquest>(),
        };
        let timeline = if self.timeline.is_some() { Timeline::HEAP_BYTES } else { 0 };
        size_of::<Self>() + departures + timeline + self.episodes.heap_bytes()
    }

    /// Maximum bytes so far of everything except the comparison and episodes not yet taken.
    pub const fn state_bytes(&self) -> usize {
        self.state_bytes
    }
}
