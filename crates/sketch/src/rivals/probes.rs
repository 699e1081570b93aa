//! Active probes: what the delays of a few injected packets say about the others.
//!
//! **Answers**: mean and standard deviation of the one-way delay in nanoseconds, and the loss of the probes.
//!
//! **Model**: probes are sent at times of a Poisson process and are delayed and lost like the traffic around them. They
//! add to the load, and whatever treats them differently goes unnoticed.
//!
//! **State**: one delay of 8 bytes per probe that arrived. On the network a probe is a packet of at least 64 bytes.
//!
//! **Cost**: a packet per probe, none per packet of the traffic.
//!
//! **Estimate**: mean and standard deviation of the probes' delays, unbiased if probes experience the same as packets
//! (a Poisson process samples averages over time, not over packets).
//!
//! **Merge**: the delays are concatenated.
//!
//! **Source**: kompella12 §IV-C (`docs/papers/kompella12-lda-mplane.md`).

use crate::moments::Moments;
use dwell_types::Nanos;

/// The probes of one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    sent: u64,
    delays: Vec<i64>,
}

impl Probes {
    /// Adds a probe: its delay, or `None` if it was lost.
    pub fn update(&mut self, delay: Option<Nanos>) {
        self.sent += 1;
        self.delays.extend(delay.map(Nanos::get));
    }

    /// Adds the probes of another point or interval.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.delays.extend(&other.delays);
    }

    /// Clears everything, for the next interval.
    pub fn reset(&mut self) {
        self.sent = 0;
        self.delays.clear();
    }

    /// The numbers of probes that were sent, and that arrived.
    pub const fn counts(&self) -> (u64, u64) {
        (self.sent, self.delays.len() as u64)
    }

    /// Mean and standard deviation of the delays; `None` with fewer than three probes.
    pub fn estimate(&self) -> Option<Moments> {
        Moments::of(&self.delays, u64::MAX)
    }

    /// Bytes of the delays.
    pub fn state_bytes(&self) -> usize {
        self.delays.capacity() * size_of::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::Level;

    #[test]
    fn few_probes_say_little() {
        let mut probes = Probes::default();
        [Some(10), None, Some(20)].into_iter().for_each(|ns| probes.update(ns.map(Nanos::new)));
        assert_eq!((probes.counts(), probes.estimate()), ((3, 2), None));
        let mut third = Probes::default();
        third.update(Some(Nanos::new(60)));
        probes.merge(&third);
        let moments = probes.estimate().unwrap();
        assert_eq!((moments.mean_ns, moments.std_ns.powi(2).round()), (30.0, 700.0));
        // Student with two degrees of freedom: 4.303 standard errors of 26.46/√3 ns.
        let mean = moments.mean(Level::P95);
        assert!((mean.high - 30.0 - 4.303 * 15.275).abs() < 2.5, "{mean:?}");
        probes.reset();
        assert_eq!((probes.counts(), probes.estimate()), ((0, 0), None));
    }
}
