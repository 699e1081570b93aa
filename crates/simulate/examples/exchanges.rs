//! Measures how fast streams of exchanges are generated, with the presets of the fridge paper.
//!
//! `cargo run --release -p dwell-simulate --example exchanges`

use dwell_simulate::exchange::{ExchangeWorkload, Settings, SettingsError, Truth};
use dwell_types::Nanos;

/// CPU time of this thread so far, in seconds; more meaningful than wall time on a busy machine.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn main() -> Result<(), SettingsError> {
    let milliseconds = |value: i64| Nanos::new(value * 1_000_000);
    let streams = [
        ("fridge-synthetic 64 ms", Settings::fridge_synthetic(milliseconds(64)).with_requests(10_000_000)),
        ("fridge-synthetic 4096 ms", Settings::fridge_synthetic(milliseconds(4096)).with_requests(10_000_000)),
        ("fridge-heavy-tailed", Settings::fridge_heavy_tailed()),
    ];
    for (name, settings) in streams {
        let started = processor_seconds();
        let mut workload = ExchangeWorkload::new(&settings, 1)?;
        let (mut count, mut sum, mut most) = (0u64, 0i64, 0);
        while workload.next().is_some() {
            count += 1;
            sum = sum.wrapping_add(workload.delay().map_or(0, Nanos::get));
            most = most.max(workload.open());
        }
        let seconds = processor_seconds() - started;
        let rate = count as f64 / seconds / 1e6;
        println!(
            "{name}: {count} observations in {seconds:.3} s of CPU, {rate:.1} M/s, at most {most} open (check {sum})"
        );
        let mut truth = Truth::of(ExchangeWorkload::new(&settings, 1)?);
        let quantiles = [0.5, 0.95, 0.99].map(|p| truth.delays.quantile(p).unwrap_or_default().to_string());
        println!("  p50 {}, p95 {}, p99 {}", quantiles[0], quantiles[1], quantiles[2]);
    }
    Ok(())
}
