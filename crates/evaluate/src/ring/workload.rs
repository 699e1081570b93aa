use crate::delay::{DelaysEntry, check_length, orphan_share};
use crate::grid::Entry;
use crate::value::{Invalid, Pair, RATES, course, delay, milliseconds, span, within};
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{End, ExchangeWorkload, Settings};
use dwell_sketch::rivals::timebloom::{Cdf, Prior};
use dwell_types::Nanos;
use serde::Deserialize;

/// One entry of `[[ring.workloads]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadEntry {
    name: String,
    /// Requests per second of a Poisson process; all are answered.
    rate: f64,
    /// The distribution of delays, of which rings only know the longest.
    delays: Option<DelaysEntry>,
    /// Or points of a distribution function, as delay and how many of 1,000 are up to it: only these delays are drawn,
    /// and rings are given linear interpolations between the points, as in the thesis.
    table_ms: Option<Vec<Pair>>,
    /// Limit on the delays.
    longest_ms: f64,
    /// Share of all responses that belong to no observed request.
    #[serde(default)]
    orphan_share: f64,
    span_ms: f64,
    /// If given, reports the content of the third filter at the end of every time slice of this many milliseconds.
    course_ms: Option<f64>,
}

/// A stream with checked settings.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(super) settings: Settings,
    pub(super) longest: Nanos,
    /// What rings are told about the distribution of delays.
    pub(super) prior: Prior,
    /// Length of the time slices at whose ends a filter is inspected, in milliseconds.
    pub(super) course: Option<f64>,
}

impl Entry for WorkloadEntry {
    type Item = (String, Stream);

    /// The stream, at `share` of its full length, but long enough for results after the first turn of a ring.
    fn items(&self, share: f64) -> Result<Vec<(String, Stream)>, Invalid> {
        let (delays, prior) = match (&self.delays, &self.table_ms) {
            (Some(delays), None) => (delays.distribution().map_err(|error| error.within("delays"))?, Prior::Uniform),
            (None, Some(table)) => (drawn(table)?, Prior::Known(told(table)?)),
            _ => return Err(Invalid::new("delays", "expected either this or table_ms")),
        };
        let rate = within("rate", self.rate, RATES)?;
        let longest = span("longest_ms", self.longest_ms)?;
        let whole = span("span_ms", self.span_ms)?;
        let part = milliseconds(self.span_ms * share).max(longest + longest);
        let course = course(self.course_ms, 1.0, whole.max(part).as_secs_f64())?;
        let orphans = orphan_share(self.orphan_share)?;
        let settings = Settings::poisson(rate, delays, End::After(part)).with_orphan_share(orphans);
        ExchangeWorkload::new(&settings, 0).map_err(|problem| Invalid::new("delays", problem))?;
        check_length(&settings)?;
        Ok(vec![(self.name.clone(), Stream { settings, longest, prior, course })])
    }
}

/// A distribution that draws each delay of a table with its share.
fn drawn(table: &[Pair]) -> Result<Distribution, Invalid> {
    let mut below = 0.0;
    let mut values = Vec::new();
    for &Pair([ms, count]) in table {
        let value = delay("table_ms", ms)?;
        if count.fract() != 0.0 || !(below..=1000.0).contains(&count) {
            return Err(Invalid::new("table_ms", format!("{count}: expected counts of 1000 in rising order")));
        }
        values.extend(std::iter::repeat_n(value, (count - below) as usize));
        below = count;
    }
    Ok(Distribution::Empirical(values))
}

/// Linear interpolation between the points of a table.
fn told(table: &[Pair]) -> Result<Cdf, Invalid> {
    let points: Vec<_> = table.iter().map(|&Pair([delay, count])| (milliseconds(delay), count / 1e3)).collect();
    Cdf::linear(&points).map_err(|problem| Invalid::new("table_ms", problem))
}
