use super::{Method, RttMeter, Rule, Settings, SettingsError};
use crate::distribution::DelayStore;
use crate::fridge::{Fridge, Profile};
use crate::horizon::Horizon;
use crate::parts::batch::{BATCH, CACHE_BYTES};
use crate::{Event, Fates, Sample};
use dwell_types::Match;

/// Events per batch of a rule where tables are cached, so that there are no cache misses to overlap.
const SMALL_BATCH: usize = 8;

/// How the memory is divided: a quarter for the store of delays, or more if that is little; for each rule the least
/// with which it can measure; the rest among the rules, four parts for each rule that sees every segment and one for
/// each other. If the size of tables is given the store has what they leave. The memory of doors
/// ([`Settings::door_bytes`]) is taken from the rest once they are built.
pub(super) struct Split {
    pub(super) store: Option<usize>,
    least_store: usize,
    /// The least for each table, by match, and the rest that is divided.
    least: [usize; Match::ALL.len()],
    rest: usize,
    parts: usize,
    /// Events per batch of a rule.
    pub(super) batch: usize,
}

impl Split {
    fn parts(matching: Match) -> usize {
        match matching {
            Match::TcpAck | Match::TcpTs | Match::Events => 4,
            Match::TcpHandshake
            | Match::TcpResponse
            | Match::TcpFlow
            | Match::Dns
            | Match::Ntp
            | Match::IcmpEcho
            | Match::QuicHandshake
            | Match::QuicSpin => 1,
        }
    }

    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        /// With this much per series, the store has as much as the tables.
        const EVEN: usize = 3 << 9;
        let (matches, series) = (&settings.matches, settings.series());
        let parts = matches.iter().map(|&m| Self::parts(m)).sum();
        let least_store = DelayStore::least_bytes(series);
        let mut split = Self { store: None, least_store, least: [0; Match::ALL.len()], rest: 0, parts, batch: BATCH };
        if !settings.method.is_bounded() {
            return Ok(split);
        }
        let mut are_given = true;
        for &matching in matches {
            let (least, is_given) = settings.least_table(matching)?;
            split.least[matching as usize] = least;
            are_given &= is_given;
        }
        let (series_limit, limit) = match settings.method {
            Method::Auto => (Horizon::SERIES_BYTES, 0),
            Method::Fridge => (0, size_of::<Profile>()),
            Method::Km => (Fridge::LIMIT_BYTES.0, Fridge::LIMIT_BYTES.1 + size_of::<Profile>()),
            _ => (0, 0),
        };
        let fates = size_of::<Fates>() * if settings.has_intervals { 2 } else { 1 };
        let counts = series * (fates + size_of::<[u64; 2]>() + series_limit);
        let least_tables: usize = split.least.iter().sum();
        let least = least_store.saturating_add(least_tables);
        split.batch = if least.max(settings.memory) < CACHE_BYTES { SMALL_BATCH } else { BATCH };
        let queue = split.batch * size_of::<Event>();
        let rules = matches.len() * (size_of::<Rule>() + settings.method.meter_bytes() + limit + queue);
        let overhead = counts + rules + split.batch * size_of::<Sample>() + RttMeter::OWN_BYTES;
        let needed = least.saturating_add(overhead);
        if needed > settings.memory {
            return Err(SettingsError::Memory { given: settings.memory, needed });
        }
        let left = settings.memory - overhead;
        // The error due to bins falls in proportion to the store, that due to sampling with the root of the tables: s²
        // = EVEN t, and s + t = left.
        let even = (EVEN * series) as f64;
        let balanced = 0.5 * even * ((1.0 + 4.0 * left as f64 / even).sqrt() - 1.0);
        let most_store = left - least_tables;
        let store =
            if are_given { most_store } else { (left / 4).max(balanced as usize).clamp(least_store, most_store) };
        split.store = Some(store);
        // Nothing if tables are given, which cannot be made smaller.
        split.rest = most_store - store;
        Ok(split)
    }

    /// The same with this much less for the tables or, if these are at their least, for the store. `None` if neither
    /// can spare it.
    pub(super) fn less(self, bytes: usize) -> Option<Self> {
        if let Some(rest) = self.rest.checked_sub(bytes) {
            return Some(Self { rest, ..self });
        }
        let store = self.store?.checked_sub(bytes).filter(|&store| store >= self.least_store)?;
        Some(Self { store: Some(store), ..self })
    }

    pub(super) fn table(&self, matching: Match) -> usize {
        self.least[matching as usize] + self.rest * Self::parts(matching) / self.parts.max(1)
    }
}
