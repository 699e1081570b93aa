use crate::grid::{Entry, Named};
use crate::value::{Invalid, milliseconds, runnable};
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{Arrivals, Bursts, End, ExchangeWorkload, Settings};
use dwell_types::Nanos;
use serde::Deserialize;
use std::ops::Range;

/// One entry of `[[delay.workloads]]`. A preset supplies the keys that are not given; without one, `rate`, `answered`,
/// `delays` and a length are required.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadEntry {
    name: String,
    preset: Option<Preset>,
    /// Longest delay; for [`Preset::FridgeSynthetic`] only.
    longest_ms: Option<f64>,
    /// Requests per second, outside bursts.
    rate: Option<f64>,
    arrivals: Option<ArrivalsEntry>,
    answered: Option<f64>,
    delays: Option<DelaysEntry>,
    /// Share of all responses that belong to no observed request.
    orphan_share: Option<f64>,
    /// How many of these come at a time.
    orphan_run: Option<u32>,
    bursts: Option<BurstsEntry>,
    /// Number of requests; the stream ends with the last response.
    requests: Option<u64>,
    /// The stream is cut off after this time; requests go on until then.
    span_ms: Option<f64>,
    /// Only exchanges whose request falls into this time are measured; the others are background traffic.
    measured_ms: Option<[f64; 2]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Preset {
    FridgeSynthetic,
    FridgeHeavyTailed,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ArrivalsEntry {
    Constant,
    Poisson,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct BurstsEntry {
    calm_ms: f64,
    burst_ms: f64,
    rate_factor: f64,
    delay_factor: f64,
}

#[derive(Deserialize)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum DelaysEntry {
    Constant { value_ms: f64 },
    Uniform { low_ms: f64, high_ms: f64 },
    LogUniform { low_ms: f64, high_ms: f64 },
    LogNormal { mean_ms: f64, p99_ms: f64 },
    Weibull { scale_ms: f64, shape: f64 },
    Pareto { least_ms: f64, shape: f64 },
    TwoModes { common: Box<DelaysEntry>, rare: Box<DelaysEntry>, rare_share: f64 },
    Empirical { values_ms: Vec<f64> },
}

/// A stream with checked settings.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(super) name: String,
    pub(super) settings: Settings,
    /// The time, in nanoseconds, into which the requests of measured exchanges fall; `None`: all are measured.
    pub(super) measured: Option<Range<i64>>,
}

impl Entry for WorkloadEntry {
    type Item = Stream;

    /// The stream, at `share` of its full length.
    fn items(&self, share: f64) -> Result<Vec<Stream>, Invalid> {
        let mut settings = self.preset()?;
        settings.rate = self.rate.unwrap_or(settings.rate);
        settings.answered = self.answered.unwrap_or(settings.answered);
        if let Some(arrivals) = self.arrivals {
            settings.arrivals = match arrivals {
                ArrivalsEntry::Constant => Arrivals::Constant,
                ArrivalsEntry::Poisson => Arrivals::Poisson,
            };
        }
        if let Some(delays) = &self.delays {
            settings.delays = delays.distribution();
        }
        settings.bursts = self.bursts.map(|bursts| Bursts {
            calm: milliseconds(bursts.calm_ms),
            burst: milliseconds(bursts.burst_ms),
            rate_factor: bursts.rate_factor,
            delay_factor: bursts.delay_factor,
        });
        if let Some(orphans) = self.orphan_share {
            if !(0.0..=0.999).contains(&orphans) {
                return Err(Invalid::new("orphan_share", format!("{orphans}: expected from 0 to 0.999")));
            }
            settings = settings.with_orphan_share(orphans);
        }
        settings.orphan_run = self.orphan_run.unwrap_or(settings.orphan_run);
        settings.end = scaled(self.end(settings.end)?, share);
        ExchangeWorkload::new(&settings, 0).map_err(|problem| Invalid::new("settings", problem))?;
        let (key, number) = match settings.end {
            End::AfterRequests(requests) => ("requests", requests as f64),
            End::After(span) => ("span_ms", span.get() as f64 / 1e9 * settings.rate),
        };
        runnable(key, number)?;
        Ok(vec![Stream { name: self.name.clone(), settings, measured: self.measured(share)? }])
    }
}

impl WorkloadEntry {
    /// The settings that the other keys modify.
    fn preset(&self) -> Result<Settings, Invalid> {
        match (self.preset, self.longest_ms) {
            (Some(Preset::FridgeSynthetic), Some(longest)) => Ok(Settings::fridge_synthetic(milliseconds(longest))),
            (Some(Preset::FridgeSynthetic), None) => {
                Err(Invalid::new("longest_ms", "missing: fridge-synthetic needs the longest delay"))
            }
            (_, Some(_)) => Err(Invalid::new("longest_ms", "only beside preset = \"fridge-synthetic\"")),
            (Some(Preset::FridgeHeavyTailed), None) => Ok(Settings::fridge_heavy_tailed()),
            (None, None) => {
                let missing = [
                    ("rate", self.rate.is_none()),
                    ("answered", self.answered.is_none()),
                    ("delays", self.delays.is_none()),
                    ("requests", self.requests.is_none() && self.span_ms.is_none()),
                ];
                if let Some((key, _)) = missing.into_iter().find(|(_, is_missing)| *is_missing) {
                    let or = if key == "requests" { ", or span_ms" } else { "" };
                    return Err(Invalid::new(key, format!("missing: needed without a preset{or}")));
                }
                Ok(Settings::poisson(1.0, Distribution::Constant(Nanos::ZERO), End::AfterRequests(0)))
            }
        }
    }

    fn end(&self, preset: End) -> Result<End, Invalid> {
        match (self.requests, self.span_ms) {
            (Some(_), Some(_)) => Err(Invalid::new("span_ms", "either this or requests, not both")),
            (Some(0), None) => Err(Invalid::new("requests", "0: expected at least 1")),
            (Some(requests), None) => Ok(End::AfterRequests(requests)),
            (None, Some(span)) if span > 0.0 && span < 1e9 => Ok(End::After(milliseconds(span))),
            (None, Some(span)) => Err(Invalid::new("span_ms", format!("{span}: expected above 0 and below 10⁹"))),
            (None, None) => Ok(preset),
        }
    }

    fn measured(&self, share: f64) -> Result<Option<Range<i64>>, Invalid> {
        match self.measured_ms {
            Some([from, to]) if 0.0 <= from && from < to => {
                Ok(Some(milliseconds(from * share).get()..milliseconds(to * share).get()))
            }
            Some(_) => Err(Invalid::new("measured_ms", "expected two rising times, from zero")),
            None => Ok(None),
        }
    }
}

fn scaled(end: End, share: f64) -> End {
    match end {
        End::AfterRequests(requests) => End::AfterRequests(((requests as f64 * share).ceil()) as u64),
        End::After(span) => End::After(Nanos::new((span.get() as f64 * share).ceil() as i64)),
    }
}

impl DelaysEntry {
    pub(crate) fn distribution(&self) -> Distribution {
        let ms = milliseconds;
        match self {
            &Self::Constant { value_ms } => Distribution::Constant(ms(value_ms)),
            &Self::Uniform { low_ms, high_ms } => Distribution::Uniform { low: ms(low_ms), high: ms(high_ms) },
            &Self::LogUniform { low_ms, high_ms } => Distribution::LogUniform { low: ms(low_ms), high: ms(high_ms) },
            &Self::LogNormal { mean_ms, p99_ms } => Distribution::LogNormal { mean: ms(mean_ms), p99: ms(p99_ms) },
            &Self::Weibull { scale_ms, shape } => Distribution::Weibull { scale: ms(scale_ms), shape },
            &Self::Pareto { least_ms, shape } => Distribution::Pareto { least: ms(least_ms), shape },
            Self::TwoModes { common, rare, rare_share } => Distribution::TwoModes {
                common: Box::new(common.distribution()),
                rare: Box::new(rare.distribution()),
                rare_share: *rare_share,
            },
            Self::Empirical { values_ms } => Distribution::Empirical(values_ms.iter().map(|&v| ms(v)).collect()),
        }
    }
}

impl Named for Stream {
    fn name(&self) -> &str {
        &self.name
    }
}
