//! Stores of delays: whatever is accepted writes the same bytes again and answers every question in order.

use dwell_sketch::distribution::{Ambiguous, DelayStore};

/// Reads a store and asks it everything.
pub fn check(bytes: &[u8]) {
    let Ok(mut store) = DelayStore::from_bytes(bytes) else { return };
    assert_eq!(store.to_bytes(), bytes, "one content, one form");
    for rule in [Ambiguous::Bounds, Ambiguous::First, Ambiguous::Last, Ambiguous::Drop] {
        for series in 0..store.series() {
            let distribution = store.distribution(series, rule);
            for share in [0.0, 0.5, 0.9, 0.99, 1.0] {
                let Some(quantile) = distribution.quantile(share) else { break };
                assert!(quantile.low <= quantile.value && quantile.value <= quantile.high, "{quantile:?}");
            }
            let _ = (distribution.mean(), distribution.extremes(), distribution.cdf(16), distribution.exchanges());
        }
    }
    let copy = store.clone();
    store.merge(&copy);
}
