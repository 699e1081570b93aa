//! What is known of the delays beforehand (`--prior`).

use crate::messages;
use dwell_logs::{Lines, LogError};
use dwell_sketch::rivals::timebloom::{Cdf, CdfError};
use dwell_types::Nanos;
use std::path::Path;

/// The distribution of the delays in a file of comma-separated values, such as `--samples` writes: the column `delay_ns`,
/// and `weight` if there is one.
pub(super) fn read(path: &Path) -> Result<Cdf, LogError> {
    let mut lines = Lines::open(path, None)?;
    let ([delay], [weight]) = lines.columns(["delay_ns"], ["weight"])?;
    let mut delays = Vec::new();
    while lines.advance()? {
        let delay: i64 = lines.whole_number(delay, "nanoseconds as delay_ns")?;
        if delay < 0 {
            return Err(lines.error(format!("expected delay_ns of zero or more, found {delay}")));
        }
        let weight = weight.map_or("1", |weight| lines.field(weight));
        let number = weight.parse().ok().filter(|weight: &f64| *weight > 0.0 && weight.is_finite());
        let number = number.ok_or_else(|| lines.error(format!("expected a weight above 0, found '{weight}'")))?;
        delays.push((Nanos::new(delay), number));
    }
    messages::warn(lines.whole()?);
    Cdf::of_delays(delays).map_err(|error| match error {
        CdfError::Weight(_) => lines.error(error.to_string()),
        _ => lines.error("expected at least one delay"),
    })
}
