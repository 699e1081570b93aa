use crate::delay::DelaysEntry;
use crate::grid::{Entry, Named};
use crate::value::{Invalid, course, milliseconds, runnable};
use dwell_simulate::Distribution;
use dwell_simulate::exchange::{End, ExchangeWorkload, Settings};
use dwell_sketch::timebloom::{Cdf, Prior};
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
    table_ms: Option<Vec<(f64, u32)>>,
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
    name: String,
    pub(super) settings: Settings,
    pub(super) longest: Nanos,
    /// What rings are told about the distribution of delays.
    pub(super) prior: Prior,
    /// Length of the time slices at whose ends a filter is inspected, in milliseconds.
    pub(super) course: Option<f64>,
}

impl Entry for WorkloadEntry {
    type Item = Stream;

    /// The stream, at `share` of its full length, but long enough for results after the first turn of a ring.
    fn items(&self, share: f64) -> Result<Vec<Stream>, Invalid> {
        let (delays, prior) = match (&self.delays, &self.table_ms) {
            (Some(delays), None) => (delays.distribution(), Prior::Uniform),
            (None, Some(table)) => (drawn(table)?, Prior::Known(told(table)?)),
            _ => return Err(Invalid::new("delays", "expected either this or table_ms")),
        };
        if !(0.0..=0.999).contains(&self.orphan_share) {
            let problem = format!("{}: expected from 0 to 0.999", self.orphan_share);
            return Err(Invalid::new("orphan_share", problem));
        }
        let longest = milliseconds(self.longest_ms);
        let span = milliseconds(self.span_ms * share).max(longest + longest);
        let settings = Settings::poisson(self.rate, delays, End::After(span)).with_orphan_share(self.orphan_share);
        ExchangeWorkload::new(&settings, 0).map_err(|problem| Invalid::new("settings", problem))?;
        runnable("span_ms", span.get() as f64 / 1e9 * self.rate)?;
        Ok(vec![Stream { name: self.name.clone(), settings, longest, prior, course: course(self.course_ms, 1.0)? }])
    }
}

/// A distribution that draws each delay of a table with its share.
fn drawn(table: &[(f64, u32)]) -> Result<Distribution, Invalid> {
    let mut below = 0;
    let mut values = Vec::new();
    for &(delay, count) in table {
        let own = count.checked_sub(below).filter(|_| count <= 1000);
        let Some(own) = own else {
            return Err(Invalid::new("table_ms", format!("{count}: expected counts of 1000 in rising order")));
        };
        values.extend(std::iter::repeat_n(milliseconds(delay), own as usize));
        below = count;
    }
    Ok(Distribution::Empirical(values))
}

/// Linear interpolation between the points of a table.
fn told(table: &[(f64, u32)]) -> Result<Cdf, Invalid> {
    let points: Vec<_> = table.iter().map(|&(delay, count)| (milliseconds(delay), f64::from(count) / 1e3)).collect();
    Cdf::linear(&points).map_err(|problem| Invalid::new("table_ms", problem))
}

impl Named for Stream {
    fn name(&self) -> &str {
        &self.name
    }
}
