/// What a memory holds besides a meter: some bytes, and tables of which each has an eighth of the whole, as far as that
/// helps, or some eighths of such a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    fixed: usize,
    eighths: usize,
}

impl Overhead {
    /// So many bytes, and eighths of a table.
    pub const fn new(fixed: usize, eighths: usize) -> Self {
        Self { fixed, eighths }
    }

    /// The same and so many bytes more.
    #[must_use]
    pub const fn and(self, bytes: usize) -> Self {
        Self { fixed: self.fixed + bytes, ..self }
    }

    /// The bytes of a table: an eighth of the memory, at most 2 MiB.
    pub const fn of_table(memory: usize) -> usize {
        const MOST: usize = 2 << 20;
        if memory / 8 < MOST { memory / 8 } else { MOST }
    }

    /// The bytes of all of it in a memory of so many.
    pub const fn of(self, memory: usize) -> usize {
        self.fixed + self.eighths * Self::of_table(memory) / 8
    }

    /// The least memory that leaves so many bytes.
    pub fn leaving(self, bytes: usize) -> usize {
        let mut memory = bytes;
        while memory < bytes.saturating_add(self.of(memory)) {
            memory = bytes.saturating_add(self.of(memory));
        }
        memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_memory_is_enough() {
        for overhead in [Overhead::default(), Overhead::new(100, 0), Overhead::new(900, 8), Overhead::new(7, 17)] {
            for bytes in [0, 1, 1_000, 8 << 10, 20 << 20, 1 << 40] {
                let least = overhead.leaving(bytes);
                assert!(least - overhead.of(least) >= bytes, "{overhead:?} {bytes}");
                assert!(
                    least == 0 || least - 1 < bytes + overhead.of(least - 1),
                    "{overhead:?} {bytes}: less would do"
                );
            }
        }
        assert_eq!(Overhead::new(900, 8).of(8 << 10), 900 + (1 << 10));
        assert_eq!(Overhead::new(900, 1).of(8 << 10), 900 + (1 << 7));
        assert_eq!(Overhead::new(900, 16).of(1 << 30), 900 + (4 << 20));
        assert_eq!(Overhead::new(1, 0).leaving(usize::MAX), usize::MAX);
    }
}
