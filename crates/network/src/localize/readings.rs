//! Readings: the delay and the losses of each segment in each interval.

use super::series::Value;

/// The measurements of one segment in one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Start of the interval, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that were lost.
    pub lost: u64,
    /// The delay; `None` if unknown.
    pub delay: Option<Delay>,
}

/// The delay of the packets of an interval, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// Number of packets with a known delay, at least one.
    pub samples: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub std_ns: f64,
}

impl Delay {
    /// Squared standard error of the mean in ns². Never zero, since times are whole nanoseconds.
    pub fn variance(&self) -> f64 {
        (self.std_ns * self.std_ns + 1.0) / self.samples as f64
    }

    pub(super) fn value(&self) -> Value {
        Value { value: self.mean_ns, variance: self.variance() }
    }
}

impl Reading {
    /// Share of the packets that did not arrive; `None` without packets.
    pub fn loss(&self) -> Option<f64> {
        let packets = self.received.saturating_add(self.lost);
        (packets > 0).then(|| self.lost as f64 / packets as f64)
    }
}

/// Error: a segment has two readings of the same interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twice {
    /// Number of the segment.
    pub segment: u32,
    /// Start of the interval in nanoseconds.
    pub start_ns: i64,
}

/// All readings of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// The start of each interval, sorted.
    starts: Vec<i64>,
    /// By segment, then by interval.
    of: Vec<Vec<Option<Reading>>>,
}

impl Readings {
    /// Collects readings, each given with the number of its segment, of this many segments, in any order. Readings that
    /// start in the same multiple of `step_ns` (at least 1) belong to one interval.
    pub fn new(segments: usize, read: &[(u32, Reading)], step_ns: i64) -> Result<Self, Twice> {
        let start_of = |reading: &Reading| reading.start_ns.div_euclid(step_ns).saturating_mul(step_ns);
        let mut starts: Vec<i64> = read.iter().map(|(_, reading)| start_of(reading)).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut of = vec![vec![None; starts.len()]; segments];
        for &(segment, reading) in read {
            let start_ns = start_of(&reading);
            let Ok(at) = starts.binary_search(&start_ns) else { continue };
            let place: &mut Option<Reading> = &mut of[segment as usize][at];
            if place.replace(Reading { start_ns, ..reading }).is_some() {
                return Err(Twice { segment, start_ns });
            }
        }
        Ok(Self { starts, of })
    }

    /// The start of each interval in nanoseconds since the epoch, sorted.
    pub fn starts(&self) -> &[i64] {
        &self.starts
    }

    /// The readings of a segment, one for each interval.
    pub fn of(&self, segment: u32) -> &[Option<Reading>] {
        &self.of[segment as usize]
    }

    /// The number of intervals in which a segment has a reading.
    pub fn known(&self, segment: u32) -> usize {
        self.of(segment).iter().flatten().count()
    }

    /// The delay of a segment in an interval.
    pub(super) fn delay(&self, segment: u32, interval: usize) -> Option<Delay> {
        self.of(segment)[interval]?.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(start_ns: i64) -> Reading {
        Reading { start_ns, received: 1, lost: 0, delay: None }
    }

    #[test]
    fn intervals_are_put_side_by_side() {
        let read = [(1, reading(20)), (0, reading(10)), (1, reading(-3))];
        let readings = Readings::new(3, &read, 1).unwrap();
        assert_eq!(readings.starts(), [-3, 10, 20]);
        assert_eq!([0, 1, 2].map(|segment| readings.known(segment)), [1, 2, 0]);
        let readings =
            Readings::new(3, &[(0, reading(1_009)), (1, reading(1_244)), (1, reading(2_001))], 1_000).unwrap();
        assert_eq!(readings.starts(), [1_000, 2_000]);
        assert_eq!(Readings::new(3, &[(1, reading(5)), (1, reading(8))], 10), Err(Twice { segment: 1, start_ns: 0 }));
    }
}
