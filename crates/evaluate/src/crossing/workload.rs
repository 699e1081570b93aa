use crate::delay::DelaysEntry;
use crate::grid::Entry;
use crate::value::{Invalid, MOST_EVENTS, RATES, all_within, lasting, runnable, whole, within};
use dwell_simulate::crossing::{Loss, Passages, Settings, SettingsError};
use dwell_simulate::{Clock, DistributionError};
use dwell_sketch::lda::Expected;
use dwell_types::Nanos;
use serde::Deserialize;
use std::ops::Bound;

/// One entry of `[[crossing.workloads]]`: a stream for each share of lost packets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadEntry {
    name: String,
    /// Packets per interval; 5 M by default, as in the LDA paper.
    packets: Option<u64>,
    /// Packets per second; 5 M by default.
    rate: Option<f64>,
    delays: DelaysEntry,
    /// Shares of the packets that are lost; none by default.
    #[serde(default)]
    losses: Vec<f64>,
    /// Mean length of a burst of lost packets; without it they are lost independently.
    burst_packets: Option<f64>,
    /// By how many packets the receiver's interval begins and ends later.
    displaced: Option<u32>,
    /// How far the receiver's clock is ahead of the sender's at the start of the interval, in nanoseconds; and its
    /// drift, in parts per million.
    #[serde(default)]
    clock_offset_ns: f64,
    #[serde(default)]
    clock_drift_ppm: f64,
}

/// A stream with checked settings.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(super) settings: Settings,
    /// The receiver's clock.
    pub(super) clock: Clock,
}

impl Stream {
    /// What a sketch must represent: delays that differ by what the clocks do, and at least those across a router.
    pub(super) fn expected(&self) -> Result<Expected, DistributionError> {
        let router = Expected::default();
        let (mean, deviation) = self.settings.delay_moments()?;
        let apart = [self.settings.start, self.settings.start + self.settings.span()].map(|at| {
            let shown = self.clock.read(at, self.settings.start) - at;
            shown.get().unsigned_abs()
        });
        let mean = mean + apart[0].max(apart[1]) as f64;
        let whole = |nanos: f64, least: Nanos| Nanos::new(nanos.ceil() as i64).max(least);
        Ok(Expected {
            packets: self.settings.packets,
            mean: whole(mean, router.mean),
            deviation: whole(deviation, router.deviation),
            ..router
        })
    }
}

impl Entry for WorkloadEntry {
    type Item = (String, Stream);

    /// The streams, of `share` of their full length.
    fn items(&self, share: f64) -> Result<Vec<(String, Stream)>, Invalid> {
        let delays = self.delays.distribution().map_err(|error| error.within("delays"))?;
        let mut base = Settings::lda(delays);
        if let Some(rate) = self.rate {
            base.rate = within("rate", rate, RATES)?;
        }
        let packets = whole("packets", self.packets.unwrap_or(base.packets) as f64, 1..=MOST_EVENTS)?;
        base.packets = (packets as f64 * share).ceil() as u64;
        // Beyond that, no packet is in both intervals.
        base.displaced = whole("displaced", self.displaced.unwrap_or(0).into(), 0..=base.packets - 1)? as u32;
        runnable("displaced", base.packets as f64 + f64::from(base.displaced))?;
        lasting("rate", (base.packets as f64 + f64::from(base.displaced)) / base.rate)?;
        all_within("losses", &self.losses, 0.0..1.0)?;
        self.burst_packets.map(|packets| within("burst_packets", packets, 1.0..=MOST_EVENTS as f64)).transpose()?;
        let clock = self.clock()?;
        let losses = if self.losses.is_empty() { &[0.0][..] } else { &self.losses };
        let stream = |&share: &f64| {
            let loss = match self.burst_packets {
                _ if share == 0.0 => Loss::None,
                Some(packets) => Loss::Bursts { share, packets },
                None => Loss::Uniform(share),
            };
            let settings = Settings { loss, ..base.clone() };
            Passages::new(&settings, 0).map_err(|problem| {
                let key = if matches!(problem, SettingsError::Loss(_)) { "burst_packets" } else { "delays" };
                Invalid::new(key, problem)
            })?;
            let name = match self.losses.len() {
                0 | 1 => self.name.clone(),
                _ => format!("{}, loss {share}", self.name),
            };
            Ok((name, Stream { settings, clock }))
        };
        losses.iter().map(stream).collect()
    }
}

impl WorkloadEntry {
    fn clock(&self) -> Result<Clock, Invalid> {
        let offset = within("clock_offset_ns", self.clock_offset_ns, -1e15..=1e15)?;
        let below = (Bound::Excluded(-1e6), Bound::Excluded(1e6));
        let drift = within("clock_drift_ppm", self.clock_drift_ppm, below)?;
        Ok(Clock { offset: Nanos::new(offset.round() as i64), drift })
    }
}
