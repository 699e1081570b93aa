//! Readings: the delay and the losses of each segment in each interval.

use super::baseline::Value;
use std::collections::HashMap;
use std::fmt;

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
    /// Number of packets with a known delay, at least one; at most those received.
    pub samples: u64,
    /// Arithmetic mean, between −10¹⁸ and 10¹⁸.
    pub mean_ns: f64,
    /// Standard deviation, from 0 to less than 10¹⁸.
    pub std_ns: f64,
}

/// Limit for times in nanoseconds, 31 years, so that their squares and sums stay finite.
const LONGEST_NS: f64 = 1e18;

impl Delay {
    /// Says what is impossible about it, where so many packets were received.
    pub(super) fn check(&self, received: u64) -> Result<(), String> {
        let &Self { samples, mean_ns, std_ns } = self;
        if !(1..=received).contains(&samples) {
            return Err(format!("expected a delay of 1 to {received} samples, as many as received, found {samples}"));
        }
        if mean_ns.abs() < LONGEST_NS && (0.0..LONGEST_NS).contains(&std_ns) {
            return Ok(());
        }
        Err(format!(
            "a delay of {mean_ns} ns with a deviation of {std_ns} ns: expected up to 1e18 ns, the deviation from 0"
        ))
    }

    /// Degrees of freedom of the standard deviation: none for one packet, which has no deviation.
    fn freedom(&self) -> f64 {
        self.samples.saturating_sub(1) as f64
    }

    /// With the squared standard error of the mean in ns²: never zero, since times are whole nanoseconds. The deviation of a
    /// few packets says little; it counts together with `usual`, that of all packets of the segment, as if this were of
    /// four more.
    fn value(&self, usual: Option<f64>) -> Value {
        const FEW: f64 = 4.0;
        let (own, freedom) = (self.std_ns * self.std_ns, self.freedom());
        let variance = usual.map_or(own, |usual| (freedom * own + FEW * usual) / (freedom + FEW));
        Value { value: self.mean_ns, variance: (variance + 1.0) / self.samples as f64 }
    }
}

/// The variance of single delays within the intervals; `None` if none has several packets.
fn usual_variance(readings: &[Option<Reading>]) -> Option<f64> {
    let delays = || readings.iter().flatten().filter_map(|reading| reading.delay);
    let freedom: f64 = delays().map(|delay| delay.freedom()).sum();
    let squares: f64 = delays().map(|delay| delay.freedom() * delay.std_ns * delay.std_ns).sum();
    (freedom > 0.0).then(|| squares / freedom)
}

impl Reading {
    /// Share of the packets that did not arrive; `None` without packets.
    pub fn loss(&self) -> Option<f64> {
        let packets = self.received.saturating_add(self.lost);
        (packets > 0).then(|| self.lost as f64 / packets as f64)
    }
}

/// Two readings of the same interval of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twice {
    /// Number of the segment.
    pub segment: u32,
    /// When the second one starts, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// Positions of both among the readings given, in their order.
    pub readings: [usize; 2],
}

/// Why readings cannot be collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadingsError {
    /// A segment has two readings of the same interval.
    Twice(Twice),
    /// A delay is impossible.
    Delay {
        /// Position of its reading among those given.
        reading: usize,
        /// What is wrong.
        what: String,
    },
    /// Readings within less than a nanosecond cannot belong together.
    Step(i64),
}

impl fmt::Display for ReadingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice(Twice { segment, start_ns, readings: [first, second] }) => {
                write!(
                    f,
                    "readings {first} and {second} are of the same interval of segment {segment}, at {start_ns} ns"
                )
            }
            Self::Delay { reading, what } => write!(f, "reading {reading}: {what}"),
            Self::Step(step_ns) => write!(f, "intervals of {step_ns} ns: expected at least 1"),
        }
    }
}

impl std::error::Error for ReadingsError {}

/// Two moments at which intervals begin that lie closer together than intervals do, since segments were not measured
/// at the same times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// The moments, in nanoseconds since the epoch.
    pub starts_ns: [i64; 2],
    /// How long intervals last, in nanoseconds: the least time between successive ones of a segment if all are multiples
    /// of it, or else the mean, rounded.
    pub step_ns: i64,
}

impl Apart {
    /// The first of these readings that begin closer together than successive ones of any one segment; `None` if there
    /// are none. Tells before [`Readings::new`], which has a place for every segment at each of their starts.
    pub fn of(read: &[(u32, Reading)]) -> Option<Self> {
        let mut of: HashMap<u32, Vec<i64>> = HashMap::new();
        for (segment, reading) in read {
            of.entry(*segment).or_default().push(reading.start_ns);
        }
        let steps = |mut starts: Vec<i64>| {
            starts.sort_unstable();
            let mut steps: Vec<i64> = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
            steps.sort_unstable();
            steps
        };
        let of: Vec<Vec<i64>> = of.into_values().map(steps).filter(|steps| !steps.is_empty()).collect();
        let least = of.iter().map(|steps| steps[0]).min()?;
        let mut starts: Vec<i64> = read.iter().map(|(_, reading)| reading.start_ns).collect();
        starts.sort_unstable();
        starts.dedup();
        let close = starts.windows(2).find(|pair| pair[1].saturating_sub(pair[0]) < least)?;
        let all = || of.iter().flatten();
        let step_ns = match of.iter().map(|steps| steps[steps.len() / 2]).min()? {
            _ if all().all(|step| step % least == 0) => least,
            // Where an interval is missing, a step is longer by that.
            median => {
                // Of hostile times, the sums exceed 64 bits.
                let number: i128 = all().map(|step| i128::from(step.saturating_add(median / 2) / median)).sum();
                rounded((all().map(|&step| i128::from(step)).sum::<i128>() / number.max(1)) as i64)
            }
        };
        Some(Self { starts_ns: [close[0], close[1]], step_ns })
    }
}

/// A time rounded to one digit if that changes it by a twentieth at most, or else to two: intervals mostly last so long.
fn rounded(time_ns: i64) -> i64 {
    let digit = 10_i64.pow(time_ns.max(1).ilog10());
    let to = |unit: i64| (time_ns.saturating_add(unit / 2) / unit).saturating_mul(unit);
    let one = to(digit);
    if one.abs_diff(time_ns) <= time_ns.unsigned_abs() / 20 { one } else { to((digit / 10).max(1)) }
}

/// All readings of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// The start of each interval, sorted.
    starts: Vec<i64>,
    /// By segment; only those that were measured.
    of: HashMap<u32, Measured>,
    /// The readings of any other segment: none in each interval.
    none: Vec<Option<Reading>>,
}

/// What is known of a segment that was measured.
#[derive(Clone, Debug, PartialEq)]
struct Measured {
    /// By interval.
    readings: Vec<Option<Reading>>,
    /// The variance of single delays.
    usual: Option<f64>,
}

impl Readings {
    /// Collects readings, each given with the number of its segment, in any order. Readings that start within `step_ns`
    /// (at least 1) belong to one interval, which begins with the first of them.
    pub fn new(read: &[(u32, Reading)], step_ns: i64) -> Result<Self, ReadingsError> {
        if step_ns < 1 {
            return Err(ReadingsError::Step(step_ns));
        }
        for (reading, (_, Reading { received, delay, .. })) in read.iter().enumerate() {
            let checked = delay.map_or(Ok(()), |delay| delay.check(*received));
            checked.map_err(|what| ReadingsError::Delay { reading, what })?;
        }
        let cut_ns = cut(read.iter().map(|(_, reading)| reading.start_ns.rem_euclid(step_ns)).collect(), step_ns);
        let interval = |reading: &Reading| reading.start_ns.saturating_sub(cut_ns).div_euclid(step_ns);
        let mut begun: Vec<(i64, i64)> =
            read.iter().map(|(_, reading)| (interval(reading), reading.start_ns)).collect();
        begun.sort_unstable();
        begun.dedup_by_key(|&mut (interval, _)| interval);
        let none = vec![None; begun.len()];
        let mut of: HashMap<u32, Measured> = HashMap::new();
        for (number, &(segment, reading)) in read.iter().enumerate() {
            let Ok(at) = begun.binary_search_by_key(&interval(&reading), |&(interval, _)| interval) else { continue };
            let measured = of.entry(segment).or_insert_with(|| Measured { readings: none.clone(), usual: None });
            if measured.readings[at].replace(Reading { start_ns: begun[at].1, ..reading }).is_some() {
                let is_same = |other: &(u32, Reading)| other.0 == segment && interval(&other.1) == interval(&reading);
                let first = read.iter().position(is_same).unwrap_or(number);
                let twice = Twice { segment, start_ns: reading.start_ns, readings: [first, number] };
                return Err(ReadingsError::Twice(twice));
            }
        }
        of.values_mut().for_each(|measured| measured.usual = usual_variance(&measured.readings));
        Ok(Self { starts: begun.into_iter().map(|(_, start_ns)| start_ns).collect(), of, none })
    }

    /// The start of each interval in nanoseconds since the epoch, sorted.
    pub fn starts(&self) -> &[i64] {
        &self.starts
    }

    /// The readings of a segment, one for each interval.
    pub fn of(&self, segment: u32) -> &[Option<Reading>] {
        self.of.get(&segment).map_or(&self.none, |measured| &measured.readings)
    }

    /// Whether a segment has any reading.
    pub(super) fn is_measured(&self, segment: u32) -> bool {
        self.of.contains_key(&segment)
    }

    /// The number of intervals in which a segment has a reading.
    pub fn known(&self, segment: u32) -> usize {
        self.of(segment).iter().flatten().count()
    }

    /// The mean delay of a segment in an interval.
    pub(super) fn mean(&self, segment: u32, interval: usize) -> Option<Value> {
        let measured = self.of.get(&segment)?;
        Some(measured.readings[interval]?.delay?.value(measured.usual))
    }

    /// The delay of a segment in an interval.
    pub(super) fn delay(&self, segment: u32, interval: usize) -> Option<Delay> {
        self.of(segment)[interval]?.delay
    }
}

/// Where to cut time into steps such that readings lie far from the cuts: in the middle of the largest gap between
/// these remainders of their starts. So clocks that differ a little never part what was measured together.
fn cut(mut remainders: Vec<i64>, step_ns: i64) -> i64 {
    remainders.sort_unstable();
    let (Some(&first), Some(&last)) = (remainders.first(), remainders.last()) else { return 0 };
    let around = (first.saturating_sub(last).saturating_add(step_ns), last);
    let gaps = remainders.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
    let (gap, begins) = gaps.chain([around]).max().unwrap_or(around);
    // The cut comes after the remainder that the gap begins with.
    begins.saturating_add(gap / 2 + gap % 2).rem_euclid(step_ns)
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
        let readings = Readings::new(&read, 1).unwrap();
        assert_eq!(readings.starts(), [-3, 10, 20]);
        assert_eq!([0, 1, 2].map(|segment| readings.known(segment)), [1, 2, 0]);
        let readings = Readings::new(&[(0, reading(1_009)), (1, reading(1_244)), (1, reading(2_001))], 1_000).unwrap();
        assert_eq!(readings.starts(), [1_009, 2_001]);
        // A clock that is 137 ns ahead of or behind another one.
        for apart in [-137, 137] {
            let read: Vec<_> =
                (0..5).flat_map(|at| [(0, reading(at * 1_000)), (1, reading(at * 1_000 + apart))]).collect();
            let readings = Readings::new(&read, 1_000).unwrap();
            assert_eq!([0, 1].map(|segment| readings.known(segment)), [5, 5], "{apart}");
            assert_eq!(readings.starts().len(), 5, "{:?}", readings.starts());
        }
        let twice = Readings::new(&[(0, reading(3)), (1, reading(5)), (1, reading(8))], 10);
        assert_eq!(twice, Err(ReadingsError::Twice(Twice { segment: 1, start_ns: 8, readings: [1, 2] })));
    }

    #[test]
    fn impossible_readings_are_refused() {
        let sound = Delay { samples: 1, mean_ns: 5.0, std_ns: 0.0 };
        let read = |delay, step_ns| {
            let of = |start_ns, delay| (0, Reading { delay: Some(delay), ..reading(start_ns) });
            Readings::new(&[of(0, sound), of(1, delay)], step_ns).map_err(|error| error.to_string())
        };
        assert!(read(sound, 1).is_ok());
        for (mean_ns, std_ns) in [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (-1e19, 0.0), (5.0, f64::NAN), (5.0, -1.0)] {
            let error = read(Delay { mean_ns, std_ns, ..sound }, 1).unwrap_err();
            assert!(error.starts_with(&format!("reading 1: a delay of {mean_ns} ns")), "{error}");
        }
        for samples in [0, 2] {
            let error = read(Delay { samples, ..sound }, 1).unwrap_err();
            assert!(error.starts_with("reading 1: expected a delay of 1 to 1 samples"), "{error}");
        }
        for step_ns in [0, -1] {
            assert_eq!(read(sound, step_ns), Err(format!("intervals of {step_ns} ns: expected at least 1")));
        }
    }

    /// One packet has no deviation, which does not make it exact; that of two counts little. Where no interval has
    /// several packets, only the intervals themselves show how delays differ.
    #[test]
    fn few_packets_are_not_exact() {
        let with = |start_ns, samples, std_ns| {
            (
                0,
                Reading {
                    delay: Some(Delay { samples, mean_ns: 5e6, std_ns }),
                    received: samples,
                    ..reading(start_ns)
                },
            )
        };
        let deviations = |read: &[(u32, Reading)]| {
            let readings = Readings::new(read, 1).unwrap();
            let one = |interval| readings.mean(0, interval).unwrap().variance.sqrt();
            (0..read.len()).map(one).collect::<Vec<_>>()
        };
        let found = deviations(&[with(0, 10_001, 1e6), with(1, 10_001, 1e6), with(2, 1, 0.0), with(3, 2, 0.0)]);
        assert!((found[0] - 1e4).abs() < 10.0 && (found[2] - 1e6).abs() < 100.0, "{found:?}");
        assert!((5e5..7e5).contains(&found[3]), "{found:?}");
        assert_eq!(deviations(&[with(0, 1, 0.0), with(1, 1, 0.0)]), [1.0, 1.0]);
    }

    /// Segments that were not measured take no memory.
    #[test]
    fn only_what_was_measured_is_kept() {
        let read = [(4_000_000_000, reading(0)), (7, reading(1)), (7, reading(2))];
        let readings = Readings::new(&read, 1).unwrap();
        assert_eq!(readings.of.len(), 2);
        assert_eq!([0, 7, 4_000_000_000].map(|segment| readings.known(segment)), [0, 2, 1]);
        assert_eq!(readings.of(0), [None; 3]);
    }

    /// Borders of intervals vary by up to a quarter of them, as those of sketches: the advice is their length.
    #[test]
    fn intervals_that_vary_are_aligned_by_their_length() {
        for length in [1_000_000_000, 250_000_000, 15_000_000_000, 60_000_000_000] {
            let start = |segment: u32, number: u32| {
                let late = i64::from(number * number * 619 + segment * 389) % 1_000;
                i64::from(number) * length + late * (length / 4_000)
            };
            let read: Vec<_> = (0..120).map(|n| (n % 3, reading(start(n % 3, n / 3)))).collect();
            let apart = Apart::of(&read).unwrap();
            assert_eq!(apart.step_ns, length);
            let aligned = Readings::new(&read, apart.step_ns).unwrap();
            assert_eq!([0, 1, 2].map(|segment| aligned.known(segment)), [40; 3]);
            assert_eq!(aligned.starts().len(), 40);
        }
        assert_eq!([96, 104, 115, 146, 523, 7, 1].map(rounded), [100, 100, 120, 150, 500, 7, 1]);
    }

    /// Intervals of one segment begin as many nanoseconds after those of another, up to a whole interval of 1,000.
    #[test]
    fn segments_measured_at_other_times_are_noticed() {
        let apart = |ahead: i64| {
            let read = (0..6)
                .map(|number| (number % 2, reading(i64::from(number / 2 * 1_000) + i64::from(number % 2) * ahead)));
            Apart::of(&read.collect::<Vec<_>>())
        };
        for ahead in [0, 1_000, -2_000, 9_000] {
            assert_eq!(apart(ahead), None, "{ahead}");
        }
        assert_eq!(apart(137), Some(Apart { starts_ns: [0, 137], step_ns: 1_000 }));
        assert_eq!(apart(-1), Some(Apart { starts_ns: [-1, 0], step_ns: 1_000 }));
        // Intervals that one segment missed, and others of a single interval each, tell nothing.
        let sparse = [(0, reading(0)), (0, reading(5_000)), (1, reading(0)), (1, reading(1_000)), (2, reading(3_000))];
        assert_eq!(Apart::of(&sparse), None);
        assert_eq!(Apart::of(&[(0, reading(0)), (1, reading(5))]), None);
        let missed =
            [(0, reading(0)), (0, reading(2)), (0, reading(4)), (0, reading(5)), (1, reading(7)), (1, reading(9))];
        let missed = missed.map(|(segment, at)| (segment, reading(at.start_ns * 1_000 + i64::from(segment) * 137)));
        assert_eq!(Apart::of(&missed), None);
    }

    /// Centuries between two intervals are many steps of some nanoseconds, for each segment.
    #[test]
    fn steps_may_be_as_many_as_fit_into_time() {
        let starts = [i64::MIN, i64::MIN + 2, i64::MIN + 4, i64::MIN + 7, i64::MAX - 8];
        let read: Vec<_> =
            (0..4).flat_map(|segment| starts.map(|at| (segment, reading(at + i64::from(segment))))).collect();
        let apart = Apart::of(&read).unwrap();
        assert_eq!((apart.starts_ns, apart.step_ns), ([i64::MIN, i64::MIN + 1], 2));
    }
}
