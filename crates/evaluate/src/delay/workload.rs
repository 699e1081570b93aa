use crate::grid::Entry;
use crate::value::{
    Invalid, LONGEST_MS, MOST_EVENTS, Pair, RATES, SHAPES, delay, lasting, milliseconds, runnable, span, time, whole,
    within,
};
use dwell_logs::text;
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{Arrivals, Bursts, End, ExchangeWorkload, Settings};
use dwell_types::Nanos;
use serde::Deserialize;
use std::ops::Range;
use std::path::PathBuf;

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
    measured_ms: Option<Pair>,
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
#[serde(
    tag = "distribution",
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a table such as { distribution = \"constant\", value_ms = 5 }"
)]
pub(crate) enum DelaysEntry {
    Constant { value_ms: f64 },
    Uniform { low_ms: f64, high_ms: f64 },
    LogUniform { low_ms: f64, high_ms: f64 },
    LogNormal { mean_ms: f64, p99_ms: f64 },
    Weibull { scale_ms: f64, shape: f64 },
    Pareto { least_ms: f64, shape: f64 },
    TwoModes { common: Box<DelaysEntry>, rare: Box<DelaysEntry>, rare_share: f64 },
    Empirical { values_ms: Vec<f64> },
    File { path: PathBuf },
}

/// A stream with checked settings.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(super) settings: Settings,
    /// The time, in nanoseconds, into which the requests of measured exchanges fall; `None`: all are measured.
    pub(super) measured: Option<Range<i64>>,
}

impl Entry for WorkloadEntry {
    type Item = (String, Stream);

    /// The stream, at `share` of its full length.
    fn items(&self, share: f64) -> Result<Vec<(String, Stream)>, Invalid> {
        let mut settings = self.preset()?;
        if let Some(rate) = self.rate {
            settings.rate = within("rate", rate, RATES)?;
        }
        if let Some(answered) = self.answered {
            settings.answered = within("answered", answered, 0.0..=1.0)?;
        }
        if let Some(arrivals) = self.arrivals {
            settings.arrivals = match arrivals {
                ArrivalsEntry::Constant => Arrivals::Constant,
                ArrivalsEntry::Poisson => Arrivals::Poisson,
            };
        }
        if let Some(delays) = &self.delays {
            settings.delays = delays.distribution().map_err(|error| error.within("delays"))?;
        }
        let bursts = self.bursts.map(BurstsEntry::bursts).transpose();
        settings.bursts = bursts.map_err(|error| error.within("bursts"))?;
        if self.orphan_share.is_some_and(|share| share > 0.0) && settings.answered == 0.0 {
            return Err(Invalid::new("orphan_share", "no share of all responses, since no request is answered"));
        }
        if let Some(orphans) = self.orphan_share {
            settings = settings.with_orphan_share(orphan_share(orphans)?);
        }
        if let Some(run) = self.orphan_run {
            if settings.orphans == 0.0 {
                return Err(Invalid::new("orphan_run", "of no orphans: expected orphan_share above 0"));
            }
            settings.orphan_run = whole("orphan_run", run.into(), 1..=1_000_000)? as u32;
        }
        settings.end = scaled(self.end(settings.end)?, share);
        ExchangeWorkload::new(&settings, 0).map_err(|problem| Invalid::new("delays", problem))?;
        check_length(&settings)?;
        let measured = self.measured(share, settings.end)?;
        Ok(vec![(self.name.clone(), Stream { settings, measured })])
    }
}

/// A share of the responses that answer nothing.
pub(crate) fn orphan_share(share: f64) -> Result<f64, Invalid> {
    within("orphan_share", share, 0.0..=0.999)
}

/// Checks that a stream has requests, and can be run within hours.
pub(crate) fn check_length(settings: &Settings) -> Result<(), Invalid> {
    let (key, requests, seconds) = match settings.end {
        End::AfterRequests(requests) => ("requests", requests as f64, requests as f64 / settings.rate),
        End::After(span) => {
            let seconds = span.as_secs_f64();
            ("span_ms", seconds * settings.rate, seconds)
        }
    };
    runnable(key, requests)?;
    runnable(key, requests * (1.0 + settings.answered + settings.orphans))?;
    lasting("rate", seconds)?;
    if let Some(bursts) = settings.bursts {
        // A gap between two requests may reach beyond the end.
        let periods = (seconds + 1.0 / settings.rate) * 1e9 / (bursts.calm.get() + bursts.burst.get()) as f64;
        runnable("bursts", requests * bursts.rate_factor.max(1.0) + periods)?;
    }
    Ok(())
}

impl WorkloadEntry {
    /// The settings that the other keys modify.
    fn preset(&self) -> Result<Settings, Invalid> {
        match (self.preset, self.longest_ms) {
            (Some(Preset::FridgeSynthetic), Some(longest)) => {
                // The shortest delay is 1 ms.
                Ok(Settings::fridge_synthetic(time("longest_ms", longest, 1.0..=LONGEST_MS)?))
            }
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
            (Some(requests), None) => Ok(End::AfterRequests(whole("requests", requests as f64, 1..=MOST_EVENTS)?)),
            (None, Some(ms)) => span("span_ms", ms).map(End::After),
            (None, None) => Ok(preset),
        }
    }

    /// The measured time of a stream with this end, at `share` of the full length.
    fn measured(&self, share: f64, end: End) -> Result<Option<Range<i64>>, Invalid> {
        match self.measured_ms {
            Some(Pair([from, to])) if from < to => {
                let at = |ms: f64| Ok(milliseconds(within("measured_ms", ms, 0.0..=LONGEST_MS)? * share).get());
                let (from, to) = (at(from)?, at(to)?);
                match end {
                    End::After(span) if to > span.get() => Err(Invalid::new("measured_ms", "ends after the stream")),
                    _ => Ok(Some(from..to)),
                }
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

impl BurstsEntry {
    fn bursts(self) -> Result<Bursts, Invalid> {
        let period = |key, ms| time(key, ms, 0.001..=LONGEST_MS);
        let factor = |key, factor| within(key, factor, 1e-3..=1e3);
        Ok(Bursts {
            calm: period("calm_ms", self.calm_ms)?,
            burst: period("burst_ms", self.burst_ms)?,
            rate_factor: factor("rate_factor", self.rate_factor)?,
            delay_factor: factor("delay_factor", self.delay_factor)?,
        })
    }
}

impl DelaysEntry {
    pub(crate) fn distribution(&self) -> Result<Distribution, Invalid> {
        let shape = |shape| within("shape", shape, SHAPES);
        let ends = |low, high| Ok((delay("low_ms", low)?, delay("high_ms", high)?));
        let mode = |key, delays: &Self| delays.distribution().map(Box::new).map_err(|error| error.within(key));
        Ok(match self {
            &Self::Constant { value_ms } => Distribution::Constant(delay("value_ms", value_ms)?),
            &Self::Uniform { low_ms, high_ms } => {
                let (low, high) = ends(low_ms, high_ms)?;
                Distribution::Uniform { low, high }
            }
            &Self::LogUniform { low_ms, high_ms } => {
                let (low, high) = ends(low_ms, high_ms)?;
                Distribution::LogUniform { low, high }
            }
            &Self::LogNormal { mean_ms, p99_ms } => {
                Distribution::LogNormal { mean: span("mean_ms", mean_ms)?, p99: span("p99_ms", p99_ms)? }
            }
            &Self::Weibull { scale_ms, shape: index } => {
                Distribution::Weibull { scale: span("scale_ms", scale_ms)?, shape: shape(index)? }
            }
            &Self::Pareto { least_ms, shape: index } => {
                Distribution::Pareto { least: span("least_ms", least_ms)?, shape: shape(index)? }
            }
            Self::TwoModes { common, rare, rare_share } => Distribution::TwoModes {
                common: mode("common", common)?,
                rare: mode("rare", rare)?,
                rare_share: within("rare_share", *rare_share, 0.0..=1.0)?,
            },
            Self::Empirical { values_ms } => {
                let values = values_ms.iter().map(|&ms| delay("values_ms", ms));
                Distribution::Empirical(values.collect::<Result<_, _>>()?)
            }
            Self::File { path } => {
                let values = text::delays(path).map_err(|error| Invalid::new("path", error.in_full()))?;
                Distribution::Empirical(values)
            }
        })
    }
}
