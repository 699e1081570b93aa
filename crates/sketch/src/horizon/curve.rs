use crate::Gate;
use crate::survival::{AgeBands, BANDS};
use dwell_types::{ExchangeId, Nanos, Timestamp};

/// The chance *q* that a request is still there, by age: one threshold per octave of age, falling.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    ages: AgeBands,
    expiry: Nanos,
    /// How ids are ranked.
    gate: Gate,
    /// By band, the last rank at which a request stays.
    kept: [u32; BANDS],
    /// By band, the last rank at which a response counts: not more than that of any of its requests.
    counted: [u32; BANDS],
    /// When the two become equal; [`SETTLED`] where they are.
    rises: [Timestamp; BANDS],
    next_rise: Timestamp,
}

const SETTLED: Timestamp = Timestamp::from_nanos(i64::MAX);
/// At a time that is not known yet.
const UNKNOWN: Timestamp = Timestamp::from_nanos(i64::MAX - 1);

impl Curve {
    /// Everything stays until the expiry.
    pub(super) fn open(gate: Gate, expiry: Nanos) -> Self {
        Self {
            ages: AgeBands::new(expiry),
            expiry,
            gate,
            kept: [gate.threshold(); BANDS],
            counted: [gate.threshold(); BANDS],
            rises: [SETTLED; BANDS],
            next_rise: SETTLED,
        }
    }

    /// Its bands.
    pub(super) fn ages(&self) -> AgeBands {
        self.ages
    }

    /// The band of an age, `1..BANDS`.
    #[inline]
    pub(super) fn band(&self, age: Nanos) -> usize {
        self.ages.of(age)
    }

    /// The age at which a band ends, in nanoseconds.
    pub(super) fn end(&self, band: usize) -> f64 {
        self.ages.end(band).min(self.expiry.get() as f64)
    }

    /// What a request must pass to be put in.
    #[inline]
    pub(super) fn entry(&self) -> Gate {
        self.gate.with_threshold(self.kept[1])
    }

    /// Whether a request of this age stays.
    #[inline]
    pub(super) fn keeps(&self, id: ExchangeId, age: Nanos) -> bool {
        self.keeps_rank(self.gate.rank(id), age)
    }

    /// The same for an id of this rank.
    #[inline]
    pub(super) fn keeps_rank(&self, rank: u32, age: Nanos) -> bool {
        rank <= self.kept[self.band(age)]
    }

    /// Whether a response of this id counts at any age.
    #[inline]
    pub(super) fn counts(&self, id: ExchangeId) -> bool {
        self.gate.rank(id) <= self.counted[1]
    }

    /// The last band in which it does; 0 if there is none.
    #[inline]
    pub(super) fn last_band(&self, id: ExchangeId) -> usize {
        let rank = self.gate.rank(id);
        // As all do while everything is known.
        if rank <= self.counted[BANDS - 1] {
            return BANDS - 1;
        }
        // They fall: counting all of them takes no branch that could be foretold wrongly.
        self.counted[1..].iter().map(|&last| u32::from(rank <= last)).sum::<u32>() as usize
    }

    /// One over the chance that a request is still there in a band, as far as responses count.
    #[inline]
    pub(super) fn weight(&self, band: usize) -> f64 {
        1.0 / self.gate.with_threshold(self.counted[band]).probability()
    }

    /// The chance that a request that comes now will be there.
    pub(super) fn kept_probability(&self, band: usize) -> f64 {
        self.gate.with_threshold(self.kept[band]).probability()
    }

    /// Sets the chances by band, which do not rise with age. Thresholds fall at once; where they rise, the new ones
    /// count for responses when all requests that are so old have come after the moment that [`Curve::begin`] names.
    pub(super) fn set(&mut self, chances: &[f64; BANDS]) {
        for (band, &chance) in chances.iter().enumerate().skip(1) {
            let last = self.gate.with_probability(chance).threshold();
            if self.kept[band] < last {
                self.rises[band] = UNKNOWN;
            }
            self.kept[band] = last;
            if last <= self.counted[band] {
                (self.counted[band], self.rises[band]) = (last, SETTLED);
            }
        }
        self.settle();
    }

    /// From now on all requests are met by the thresholds that were set.
    pub(super) fn begin(&mut self, now: Timestamp) {
        for band in 1..BANDS {
            if self.rises[band] == UNKNOWN {
                self.rises[band] = now + Nanos::new(self.end(band).ceil() as i64);
            }
        }
        self.settle();
    }

    /// Whether a threshold has risen for which it is not said when that holds.
    pub(super) fn has_risen(&self) -> bool {
        self.rises.contains(&UNKNOWN)
    }

    /// Whether the thresholds that count rise now.
    #[inline]
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        now >= self.next_rise
    }

    /// Lets those rise whose time has come.
    pub(super) fn rise(&mut self, now: Timestamp) {
        for band in 1..BANDS {
            if self.rises[band] <= now {
                (self.counted[band], self.rises[band]) = (self.kept[band], SETTLED);
            }
        }
        self.settle();
    }

    /// Who counts at one age has counted at every earlier one.
    fn settle(&mut self) {
        for band in 2..BANDS {
            if self.counted[band - 1] < self.counted[band] {
                self.counted[band] = self.counted[band - 1];
                if self.rises[band] == SETTLED {
                    self.rises[band] = self.rises[band - 1];
                }
            }
        }
        self.next_rise = self.rises[1..].iter().copied().min().unwrap_or(SETTLED);
    }
}
