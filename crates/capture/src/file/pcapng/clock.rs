use dwell_types::Timestamp;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The clock of an interface: converts ticks into nanoseconds since the epoch, exactly, rounding down if a tick is
/// finer than a nanosecond. Beyond the range of [`Timestamp`] they wrap, so that differences between them are right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Whole nanoseconds per tick; zero if a tick is not a whole number of them.
    tick_ns: u64,
    /// Option `if_tsoffset` in nanoseconds, modulo 2⁶⁴.
    offset_ns: i64,
    /// Option `if_tsresol`: there are 10ⁿ ticks per second, or 2ⁿ if the highest bit is set.
    resolution: u8,
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
        Self { tick_ns, offset_ns: offset_s.wrapping_mul(NANOS_PER_SECOND as i64), resolution }
    }

    /// The time that corresponds to a count of ticks.
    #[inline(always)]
    pub(super) fn moment(&self, ticks: u64) -> Timestamp {
        let nanos = if self.tick_ns == 0 { self.nanos_of_any(ticks) } else { ticks.wrapping_mul(self.tick_ns) };
        Timestamp::from_nanos((nanos as i64).wrapping_add(self.offset_ns))
    }

    /// The nanoseconds of so many ticks of any clock: at most 2⁶⁴ · 10⁹ < 2⁹⁴, so 128 bits always suffice.
    #[inline(never)]
    fn nanos_of_any(&self, ticks: u64) -> u64 {
        let scaled = u128::from(ticks) * u128::from(NANOS_PER_SECOND);
        let exponent = u32::from(self.resolution & 0x7f);
        let nanos = if self.resolution & 0x80 != 0 {
            scaled >> exponent
        } else {
            // 10³⁹ does not fit, and is more than `scaled` can be.
            10u128.checked_pow(exponent).map_or(0, |per_second| scaled / per_second)
        };
        nanos as u64
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
            // Beyond the range on either side: modulo 2⁶⁴.
            (i64::MAX as u64 + 1, 9, 0, i64::MIN),
            (145_224_191, 9, -9_223_372_037, i64::MAX),
            (u64::MAX, 6, 0, -1_000),
            (u64::MAX, 0, i64::MAX, -2_000_000_000),
            (0, 9, i64::MIN, 0),
        ];
        for (ticks, resolution, offset_s, nanos) in cases {
            let clock = Clock::new(resolution, offset_s);
            let long_way = Clock { tick_ns: 0, ..clock };
            assert_eq!(clock.moment(ticks).as_nanos(), nanos, "{ticks} ticks at {resolution:#x} + {offset_s} s");
            assert_eq!(long_way.moment(ticks).as_nanos(), nanos, "{ticks} ticks at {resolution:#x}, long way");
        }
    }
}
