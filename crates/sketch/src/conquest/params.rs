use super::Rule;
use super::counter::Counters;
use dwell_types::Nanos;
use std::fmt;

/// The parameters of a sketch of a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Snapshots of a group, *h*: from 2 to [`Params::MOST_SNAPSHOTS`], and at least 3 if they are cleaned cyclically.
    /// One is written; the others are read, except for one that is being cleaned.
    pub snapshots: u32,
    /// How long each snapshot of a group is written, *T*; one entry per group, in ascending order, 1 to
    /// [`Params::MOST_GROUPS`] of them. Each is a multiple of the one before, whose snapshots must reach back that far.
    /// Powers of two in nanoseconds need no division.
    pub windows: Vec<Nanos>,
    /// The kind of counters in a snapshot.
    pub counter: Counter,
    /// What is counted.
    pub unit: Unit,
    /// Which snapshots a packet's query reads.
    pub rule: Rule,
    /// How a snapshot is emptied.
    pub cleaning: Cleaning,
    /// Which packets belong to culprits.
    pub culprit: Culprit,
    /// Seed of all hashes.
    pub seed: u64,
}

/// A snapshot of the sizes of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Count-Min: never too low. 4 bytes per counter.
    CountMin {
        /// Number of rows, 1 to [`Params::MOST_ROWS`].
        rows: u32,
        /// Counters per row.
        columns: u32,
        /// Raises only the counters below the new estimate (conservative update): never too low either, and with
        /// smaller errors.
        is_conservative: bool,
    },
    /// Space-saving: some flows and none of the others. 12 bytes per entry.
    SpaceSaving {
        /// Flows per snapshot.
        entries: u32,
    },
}

/// The kind of a [`Counter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterKind {
    /// Count-Min.
    CountMin,
    /// Count-Min with conservative update.
    Conservative,
    /// Space-saving.
    SpaceSaving,
}

impl CounterKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::CountMin, Self::Conservative, Self::SpaceSaving];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CountMin => "cms",
            Self::Conservative => "cms-conservative",
            Self::SpaceSaving => "space-saving",
        }
    }
}

impl Counter {
    /// Its kind.
    pub const fn kind(self) -> CounterKind {
        match self {
            Self::CountMin { is_conservative: false, .. } => CounterKind::CountMin,
            Self::CountMin { is_conservative: true, .. } => CounterKind::Conservative,
            Self::SpaceSaving { .. } => CounterKind::SpaceSaving,
        }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, which occupy a buffer, and time on a line.
    Bytes,
    /// Packets, whatever their length.
    Packets,
}

impl Unit {
    /// Both units.
    pub const ALL: [Self; 2] = [Self::Bytes, Self::Packets];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Packets => "packets",
        }
    }
}

/// How a snapshot is emptied before it is written again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cleaning {
    /// Every snapshot has an epoch, the number of its window; one with another epoch than requested reads as empty.
    #[default]
    Epochs,
    /// Every packet empties one index of the oldest snapshot, which is not read [conquest §3.3]. A window with fewer
    /// packets than indices leaves the rest of it dirty, which is counted.
    Cyclic,
}

impl Cleaning {
    /// Both ways.
    pub const ALL: [Self; 2] = [Self::Epochs, Self::Cyclic];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Epochs => "epochs",
            Self::Cyclic => "cyclic",
        }
    }
}

/// Which packets belong to flows that build the queue [conquest §2.2].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Culprit {
    /// Flows with more than this share of the queue, *α*, in `0..=1`.
    pub share: f64,
    /// Packets that wait at least this long, *τ*.
    pub delay: Nanos,
}

/// Why a sketch cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConquestError {
    /// Too few or too many snapshots.
    Snapshots(u32),
    /// Too few or too many groups.
    Groups(usize),
    /// A window must last from 1 ns to [`Params::LONGEST_WINDOW`].
    Window(Nanos),
    /// A window is not a multiple of the one before, or its beginning is too far back for the snapshots of the one
    /// before.
    Hierarchy(Nanos, Nanos),
    /// Too few or too many rows.
    Rows(u32),
    /// There must be from one counter or entry per row to 2³¹ in all.
    Counters(u64),
    /// A share must be in `0..=1`.
    Share(f64),
    /// No sketch within the search of [`Params::for_queue_error`] has so small an error.
    Error(f64),
    /// Too few bytes for a sketch.
    Bytes {
        /// Bytes given.
        given: usize,
        /// Bytes needed at least.
        needed: usize,
    },
}

impl fmt::Display for ConquestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshots(snapshots) => {
                write!(
                    f,
                    "{snapshots} snapshots: expected from 2 (cleaned cyclically: 3) to {}",
                    Params::MOST_SNAPSHOTS
                )
            }
            Self::Groups(groups) => {
                write!(f, "{groups} groups of snapshots: expected from 1 to {}", Params::MOST_GROUPS)
            }
            Self::Window(window) => {
                write!(f, "a window of {window}: expected from 1 ns to {}", Params::LONGEST_WINDOW)
            }
            Self::Hierarchy(shorter, longer) => write!(
                f,
                "windows of {shorter}, then of {longer}: expected a multiple that the snapshots of the shorter ones span"
            ),
            Self::Rows(rows) => write!(f, "{rows} rows: expected from 1 to {}", Params::MOST_ROWS),
            Self::Counters(counters) => write!(f, "{counters} counters: expected from 1 per row to 2^31 in all"),
            Self::Share(share) => write!(f, "a culprit's share of {share}: expected a number from 0 to 1"),
            Self::Error(error) => write!(f, "no sketch up to {} bytes has an error of {error}", Params::MOST_BYTES),
            Self::Bytes { given, needed } => write!(f, "a sketch of a queue needs {needed} bytes, not {given}"),
        }
    }
}

impl std::error::Error for ConquestError {}

impl Params {
    /// More do not help: the error at the ends of an interval is then far below that of the counters.
    pub const MOST_SNAPSHOTS: u32 = 1 << 12;
    /// Ten snapshots each, every group ten times as long, span 10⁸ times the shortest window.
    pub const MOST_GROUPS: usize = 8;
    /// Snapshots as in the paper.
    pub const SNAPSHOTS: u32 = 8;
    /// Rows of Count-Min as in the paper.
    pub const ROWS: u32 = 4;
    /// More rows do not help.
    pub const MOST_ROWS: u32 = 8;
    /// The most counters in all snapshots of a group.
    pub const MOST_COUNTERS: u64 = 1 << 31;
    /// An hour.
    pub const LONGEST_WINDOW: Nanos = Nanos::from_secs(3_600);

    /// One group, whose *h* snapshots together last for `span`, so that delays up to (*h* − 1)/*h* of it are answered
    /// ([`Params::longest`]; [`Params::budget`] takes that instead); bytes, Count-Min of 4 rows,
    /// [`Rule::Interpolated`], and the paper's culprits: more than 1% of a queue that takes an eighth of the span
    /// [conquest §6.1].
    pub fn new(snapshots: u32, span: Nanos, columns: u32, seed: u64) -> Self {
        Self {
            snapshots,
            windows: vec![Nanos::new(span.get() / i64::from(snapshots.max(1)))],
            counter: Counter::CountMin { rows: Self::ROWS, columns, is_conservative: false },
            unit: Unit::Bytes,
            rule: Rule::Interpolated,
            cleaning: Cleaning::Epochs,
            culprit: Culprit { share: 0.01, delay: Nanos::new(span.get() / 8) },
            seed,
        }
    }

    /// Finished snapshots of a group that can be read.
    pub fn finished(&self) -> u32 {
        self.snapshots.saturating_sub(match self.cleaning {
            Cleaning::Epochs => 1,
            Cleaning::Cyclic => 2,
        })
    }

    /// The shortest windows, if they are longer than the culprits' *τ*: sizes in queues that short may be too small, and
    /// culprits missed.
    pub fn overlong(&self) -> Option<Nanos> {
        self.windows.iter().min().copied().filter(|&shortest| shortest > self.culprit.delay)
    }

    /// The longest delay whose windows are always available: the finished windows of the longest kind.
    pub fn longest(&self) -> Nanos {
        let last = self.windows.last().map_or(0, |window| window.get());
        Nanos::new(last.saturating_mul(self.finished().into()))
    }

    pub(super) fn check(&self) -> Result<(), ConquestError> {
        if self.snapshots > Self::MOST_SNAPSHOTS || self.finished() == 0 {
            return Err(ConquestError::Snapshots(self.snapshots));
        }
        if !(1..=Self::MOST_GROUPS).contains(&self.windows.len()) {
            return Err(ConquestError::Groups(self.windows.len()));
        }
        let is_window = |window: &Nanos| (Nanos::new(1)..=Self::LONGEST_WINDOW).contains(window);
        if let Some(&window) = self.windows.iter().find(|window| !is_window(window)) {
            return Err(ConquestError::Window(window));
        }
        for pair in self.windows.windows(2) {
            let (shorter, longer) = (pair[0].get(), pair[1].get());
            // The beginning of a longer window must be within reach from anywhere in it.
            let spans = shorter * (i64::from(self.finished()) + 1) >= longer;
            if longer <= shorter || longer % shorter != 0 || !spans {
                return Err(ConquestError::Hierarchy(pair[0], pair[1]));
            }
        }
        if !(0.0..=1.0).contains(&self.culprit.share) {
            return Err(ConquestError::Share(self.culprit.share));
        }
        self.counter.check(self.snapshots)
    }
}

impl Counter {
    fn check(self, snapshots: u32) -> Result<(), ConquestError> {
        let counters = match self {
            Self::CountMin { rows, .. } if !(1..=Params::MOST_ROWS).contains(&rows) => {
                return Err(ConquestError::Rows(rows));
            }
            Self::CountMin { rows, columns, .. } => u64::from(rows) * u64::from(columns),
            Self::SpaceSaving { entries } => entries.into(),
        };
        let all = counters.saturating_mul(snapshots.into());
        if (1..=Params::MOST_COUNTERS).contains(&all) { Ok(()) } else { Err(ConquestError::Counters(all)) }
    }

    /// Bytes of one snapshot's counters.
    pub const fn bytes(self) -> usize {
        match self {
            Self::CountMin { rows, columns, .. } => rows as usize * columns as usize * Counters::COUNTER_BYTES,
            Self::SpaceSaving { entries } => entries as usize * Counters::ENTRY_BYTES,
        }
    }
}
