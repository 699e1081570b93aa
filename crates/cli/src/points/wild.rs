//! Implausible timestamps of single packets.

use dwell_types::Timestamp;

/// Number of packets read beyond the next one.
pub(super) const AHEAD: usize = 4;
/// A time that differs from its neighbours by more than this, in nanoseconds, may be wild (implausible).
const FAR: u64 = 1_000_000_000;

/// Whether these times are so close that neither shows the other to be wild.
#[inline]
pub(super) fn is_near(a: Timestamp, b: Timestamp) -> bool {
    apart(a, b) <= FAR
}

fn apart(a: Timestamp, b: Timestamp) -> u64 {
    a.as_nanos().abs_diff(b.as_nanos())
}

/// A replacement for a wild time: one that is far from that of the packet before it and from that of one of the
/// next few (`behind`), while these two are closer to each other. At either end of a capture, where a pause looks the
/// same, a time is wild only if the other times are in order without it.
///
/// Otherwise such a time would be the current time until the other point ends, and all packets in flight be lost.
pub(super) fn instead(
    at: Timestamp,
    before: Option<Timestamp>,
    behind: impl Iterator<Item = Timestamp> + Clone,
) -> Option<Timestamp> {
    let Some(before) = before else {
        let is_wild = behind.clone().all(|other| at > other && apart(at, other) > FAR);
        return behind.min().filter(|_| is_wild);
    };
    if is_near(at, before) {
        return None;
    }
    let is_wild = |other| {
        let far = apart(at, before).min(apart(at, other));
        far > FAR && far / 2 > apart(before, other)
    };
    let is_last = behind.clone().next().is_none();
    (behind.clone().any(is_wild) || is_last && at < before).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times as a point reports them, in seconds, and how many were considered wild.
    fn given(seconds: &[f64]) -> (Vec<f64>, usize) {
        let all: Vec<_> = seconds.iter().map(|seconds| Timestamp::from_nanos((seconds * 1e9) as i64)).collect();
        let (mut given, mut wild) = (Vec::new(), 0);
        for (number, &at) in all.iter().enumerate() {
            let behind = all[number + 1..].iter().take(AHEAD).copied();
            let instead = instead(at, given.last().copied(), behind);
            wild += usize::from(instead.is_some());
            given.push(instead.unwrap_or(at));
        }
        (given.iter().map(|at| at.as_nanos() as f64 / 1e9).collect(), wild)
    }

    const YEAR: f64 = 3e7;

    /// One or two wild times are replaced, at every position at which they can be recognised.
    #[test]
    fn wild_times_are_replaced() {
        let wilds =
            [&[YEAR][..], &[-YEAR], &[YEAR, 2.0 * YEAR], &[2.0 * YEAR, YEAR], &[-YEAR, YEAR], &[YEAR; 2], &[1.5]];
        let sane: Vec<f64> = (0..20).map(|n| 0.01 * f64::from(n)).collect();
        for wild in wilds {
            // At either end, wild times that are in order may also be a pause.
            let first = usize::from(wild[0] < 0.0 || wild.len() > 1);
            let last = sane.len() - if wild.iter().any(|&at| at > 0.0) { AHEAD } else { 0 };
            for place in first..=last {
                let mut seconds = sane.clone();
                seconds.splice(place..place, wild.iter().copied());
                let (given, count) = given(&seconds);
                assert_eq!(count, wild.len(), "{wild:?} at {place}");
                assert!(given.is_sorted() && given.iter().all(|at| (0.0..0.2).contains(at)), "{wild:?} at {place}");
            }
        }
    }

    /// Pauses, concatenated captures, clocks that are set, and slight reordering must not be taken for wild times.
    #[test]
    fn odd_times_stay() {
        let pause = [0.0, 1.0, 2.0, 3_000.0, 3_001.0, 9_000.0, 20_000.0];
        let set_back = [7_000.0, 7_002.0, 7_004.0, 3_600.0, 3_605.0, 3_610.0, 3_640.0, 3_650.0];
        let set_on = [0.0, 0.5, YEAR, YEAR + 3.0, YEAR + 9.0, YEAR + 12.0];
        let swapped = [0.0, 0.9, 0.1, 1.8, 1.0, 0.95, 2.0];
        let slow = [0.0, 1e4, 2e4, 1.5e4, 3e4];
        for seconds in [&pause[..], &set_back, &set_on, &swapped, &slow, &[0.0], &[0.0, 5.0], &[]] {
            assert_eq!(given(seconds), (seconds.to_vec(), 0));
        }
    }
}
