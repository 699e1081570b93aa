//! Checks of random samples against their settings.

#![allow(dead_code, reason = "each test file needs some of it")]

/// Whether a value is within six standard errors of its expectation: a correct generator fails for 2·10⁻⁹ of the seeds.
/// Every test that uses this also checks that a wrong expectation is not met.
pub(crate) fn is_near(found: f64, expected: f64, standard_error: f64) -> bool {
    (found - expected).abs() <= 6.0 * standard_error
}

#[track_caller]
pub(crate) fn assert_near(found: f64, expected: f64, standard_error: f64) {
    assert!(is_near(found, expected, standard_error), "{found}, expected {expected} ± 6 · {standard_error}");
}

/// Whether a count matches a share of this many independent draws.
pub(crate) fn is_share(found: u64, of: u64, share: f64) -> bool {
    is_near(found as f64, share * of as f64, (share * (1.0 - share) * of as f64).sqrt())
}

#[track_caller]
pub(crate) fn assert_share(found: u64, of: u64, share: f64) {
    assert!(is_share(found, of, share), "{found} of {of}, expected the share {share}");
}
