use dwell_types::Timestamp;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The clock of an interface: converts ticks into nanoseconds since the epoch, exactly, rounding down if a tick is
/// finer than a nanosecond, and saturating at the range of [`Timestamp`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Whole nanoseconds per tick; zero if a tick is not a whole number of them.
    tick_ns: u64,
    /// Offset to add, if it fits into 64 bits; otherwise `tick_ns` is zero.
    offset_ns: i64,
    /// Option `if_tsresol`: there are 10ⁿ ticks per second, or 2ⁿ if the highest bit is set.
    resolution: u8,
    /// Option `if_tsoffset`.
    offset_s: i64,
}

impl Clock {
    /// The resolution of an interface that does not state one.
    pub(super) const MICROSECONDS: u8 = 6;

    pub(super) fn new(resolution: u8, offset_s: i64) -> Self {
        let tick_ns = match resolution {
            0..=9 => NANOS_PER_SECOND / 10u64.pow(u32::from(resolution)),
            // With up to 2⁹ ticks per second, a tick is a whole number of nanoseconds: a second has 2⁹ · 5⁹ of them.
            0x80..=0x89 => NANOS_PER_SECOND >> (resolution & 0x7f),
            _ => 0,
        };
        match offset_s.checked_mul(NANOS_PER_SECOND as i64) {
            Some(offset_ns) => Self { tick_ns, offset_ns, resolution, offset_s },
            None => Self { tick_ns: 0, offset_ns: 0, resolution, offset_s },
        }
    }

    /// The time that corresponds to a count of ticks.
    #[inline(always)]
    pub(super) fn moment(&self, ticks: u64) -> Timestamp {
        if self.tick_ns != 0
            && let Some(nanos) = ticks.checked_mul(self.tick_ns)
            && let Ok(nanos) = i64::try_from(nanos)
            && let Some(nanos) = nanos.checked_add(self.offset_ns)
        {
            return Timestamp::from_nanos(nanos);
        }
        self.moment_of_any(ticks)
    }

    /// The same for every clock and tick count: at most 2⁶⁴ · 10⁹ < 2⁹⁴, so 128 bits always suffice.
    #[inline(never)]
    fn moment_of_any(&self, ticks: u64) -> Timestamp {
        let scaled = u128::from(ticks) * u128::from(NANOS_PER_SECOND);
        let exponent = u32::from(self.resolution & 0x7f);
        let nanos = if self.resolution & 0x80 != 0 {
            scaled >> exponent
        } else {
            // 10³⁹ does not fit, and is more than `scaled` can be.
            10u128.checked_pow(exponent).map_or(0, |per_second| scaled / per_second)
        };
        let nanos = nanos as i128 + i128::from(self.offset_s) * i128::from(NANOS_PER_SECOND);
        let ends = (i128::from(i64::MIN), i128::from(i64::MAX));
        Timestamp::from_nanos(nanos.clamp(ends.0, ends.1) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each case: ticks, resolution, offset, and the expected nanoseconds; both the fast path and the general one must
    /// agree.
    #[test]
    fn ticks_become_nanoseconds_exactly() {
        let cases = [
            (1_700_000_000_123_456, 6, 0, 1_700_000_000_123_456_000),
            (1_700_000_000_123_456_789, 9, 0, 1_700_000_000_123_456_789),
            (1_700_000_000, 0, 0, 1_700_000_000_000_000_000),
            (17_000_000_001, 1, 0, 1_700_000_000_100_000_000),
            // Finer than a nanosecond: rounded down.
            (1_999, 12, 0, 1),
            (12_345_678_901_234_567_890, 10, 0, 1_234_567_890_123_456_789),
            // No 64-bit count of 10⁻⁴⁰ s reaches a nanosecond, nor one of 2⁻¹²⁷ s.
            (u64::MAX, 40, 0, 0),
            (u64::MAX, 0xff, 0, 0),
            (u64::MAX, 29, 0, 0),
            (u64::MAX, 28, 0, 1),
            // Base 2: 3 · 2⁻¹, 1 · 2⁻⁹, 1 · 2⁻¹⁰ s, and the 32.32 fixed point of NTP.
            (3, 0x81, 0, 1_500_000_000),
            (1, 0x89, 0, 1_953_125),
            (1, 0x8a, 0, 976_562),
            (5 << 32 | 1 << 31, 0xa0, 0, 5_500_000_000),
            (7, 0x80, 0, 7_000_000_000),
            // Offsets, also negative ones, and a sum that fits although one summand does not.
            (1_000_001, 6, 1_600_000_000, 1_600_000_001_000_001_000),
            (1_000_001, 6, -2, -999_999_000),
            (1, 0x8a, -1, -999_023_438),
            (10_000_000_000, 0, -9_999_999_999, 1_000_000_000),
            // Beyond the range on either side.
            (u64::MAX, 6, 0, i64::MAX),
            (u64::MAX, 0, i64::MAX, i64::MAX),
            (0, 9, i64::MIN, i64::MIN),
        ];
        for (ticks, resolution, offset_s, nanos) in cases {
            let clock = Clock::new(resolution, offset_s);
            assert_eq!(clock.moment(ticks).as_nanos(), nanos, "{ticks} ticks at {resolution:#x} + {offset_s} s");
            assert_eq!(clock.moment_of_any(ticks).as_nanos(), nanos, "{ticks} ticks at {resolution:#x}, long way");
        }
    }
}
