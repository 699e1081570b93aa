use super::{Method, RttMeter, Rule, Settings, SettingsError};
use crate::batch::BATCH;
use crate::distribution::DelayStore;
use crate::fridge::{Fridge, Profile};
use crate::horizon::Horizon;
use crate::{Event, Fates, Sample};
use dwell_types::Match;

/// Events of one rule that are taken together where no cache misses are to overlap.
const SMALL_BATCH: usize = 8;

/// How the memory is divided: a quarter for the store of delays, or more where that is little, for each rule the least
/// that it measures with, and the rest among the rules, four parts to each rule that sees every segment and one to each
/// other. With a fixed number of slots the store has what these leave. What doors may know ([`Settings::door_bytes`]) is
/// taken from the rest once it is there.
pub(super) struct Split {
    pub(super) store: Option<usize>,
    least_store: usize,
    /// What each table has, and what is divided besides.
    least: usize,
    rest: usize,
    parts: usize,
    /// Events of a rule that are taken together.
    pub(super) batch: usize,
}

impl Split {
    fn parts(matching: Match) -> usize {
        match matching {
            Match::TcpAck | Match::TcpTs | Match::Events => 4,
            _ => 1,
        }
    }

    pub(super) fn new(settings: &Settings, matches: &[Match], series: usize) -> Result<Self, SettingsError> {
        /// With so much per series, the store has as much as the tables.
        const EVEN: usize = 3 << 9;
        /// What a processor keeps near.
        const CACHE: usize = 1 << 20;
        let parts = matches.iter().map(|&m| Self::parts(m)).sum();
        let least = settings.method.least_table();
        let least_store = DelayStore::least_bytes(series);
        let mut split = Self { store: None, least_store, least, rest: 0, parts, batch: BATCH };
        if settings.method == Method::Exact {
            return Ok(split);
        }
        let (series_limit, limit) = match settings.method {
            Method::Auto => (Horizon::SERIES_BYTES, 0),
            Method::Fridge => (0, size_of::<Profile>()),
            Method::Km => (Fridge::LIMIT_BYTES.0, Fridge::LIMIT_BYTES.1 + size_of::<Profile>()),
            _ => (0, 0),
        };
        let fates = size_of::<Fates>() * if settings.has_intervals { 2 } else { 1 };
        let counts = series * (fates + size_of::<[u64; 2]>() + series_limit);
        let bytes_of = |slots| matches.iter().map(|&matching| settings.table_bytes(slots, matching)).sum();
        let tables: Option<usize> = settings.slots.map(bytes_of).transpose()?;
        let least_tables = matches.len() * split.least;
        let least = least_store.saturating_add(tables.unwrap_or(least_tables));
        split.batch = if least.max(settings.memory) < CACHE { SMALL_BATCH } else { BATCH };
        let queue = split.batch * size_of::<Event>();
        let rules = matches.len() * (size_of::<Rule>() + settings.method.meter_bytes() + limit + queue);
        let overhead = counts + rules + split.batch * size_of::<Sample>() + RttMeter::OWN_BYTES;
        let needed = least.saturating_add(overhead);
        if needed > settings.memory {
            return Err(SettingsError::Memory { given: settings.memory, needed });
        }
        let left = settings.memory - overhead;
        // The error that bins make falls as the store grows, that of sampling as the root of the tables does: s² = EVEN
        // t, and s + t = left.
        let even = (EVEN * series) as f64;
        let balanced = 0.5 * even * ((1.0 + 4.0 * left as f64 / even).sqrt() - 1.0);
        let store = tables.map_or_else(
            || (left / 4).max(balanced as usize).clamp(least_store, left - least_tables),
            |tables| left - tables,
        );
        split.store = Some(store);
        // Of tables whose slots are given nothing can be taken.
        split.rest = if tables.is_some() { 0 } else { (left - store).saturating_sub(least_tables) };
        Ok(split)
    }

    /// The same with so many bytes less for the tables; if these have no more than they must, for the store. `None` if
    /// neither can do without.
    pub(super) fn less(self, bytes: usize) -> Option<Self> {
        if let Some(rest) = self.rest.checked_sub(bytes) {
            return Some(Self { rest, ..self });
        }
        let store = self.store?.checked_sub(bytes).filter(|&store| store >= self.least_store)?;
        Some(Self { store: Some(store), ..self })
    }

    pub(super) fn table(&self, matching: Match) -> usize {
        self.least + self.rest * Self::parts(matching) / self.parts.max(1)
    }
}
