use super::counter::Counters;
use super::{Cleaning, ConquestError, Counter, CounterKind, Culprit, Params};
use dwell_types::Nanos;

/// What is given of snapshots; see [`Params::given`] for the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GivenSnapshots {
    /// See [`Params::snapshots`].
    pub snapshots: Option<u32>,
    /// See [`Params::windows`]; empty if they are not given.
    pub windows: Vec<Nanos>,
    /// The kind of counters.
    pub counter: Option<CounterKind>,
    /// Rows of Count-Min.
    pub rows: Option<u32>,
    /// Counters per row of Count-Min, or entries of space-saving.
    pub columns: Option<u32>,
    /// See [`Params::cleaning`].
    pub cleaning: Cleaning,
}

/// Counters per row of Count-Min, as in the paper.
const COLUMNS: u32 = 64;
/// Each packet scans all of them.
const MOST_ENTRIES: u32 = 64;
/// Counters in the place of an entry of space-saving.
const PER_ENTRY: u32 = (Counters::ENTRY_BYTES / Counters::COUNTER_BYTES) as u32;

impl Params {
    /// The best snapshots in this many bytes ([`Params::for_queue`]), with the counters given. If number, windows or
    /// columns are given, the bytes do not count: what else is needed is as in the paper. Windows that are not given reach
    /// back to `longest`.
    pub fn given(
        given: &GivenSnapshots,
        bytes: usize,
        culprit: Culprit,
        longest: Nanos,
        seed: u64,
    ) -> Result<Self, ConquestError> {
        let is_size = given.snapshots.is_some() || !given.windows.is_empty() || given.columns.is_some();
        let base = if is_size {
            Self { culprit, ..Self::new(given.snapshots.unwrap_or(Self::SNAPSHOTS), longest, COLUMNS, seed) }
        } else {
            Self::for_queue(bytes, culprit, longest, seed)?
        };
        let mut params = Self { counter: given.counter(base.counter), cleaning: given.cleaning, ..base };
        let needed = params.window(longest);
        if !given.windows.is_empty() {
            params.windows.clone_from(&given.windows);
        } else if let Some(last) = params.windows.last_mut() {
            // Those that fit allow for snapshots with epochs; cleaned cyclically, one less can be read.
            *last = needed.max(*last);
        }
        Ok(params)
    }

    /// The shortest window with which all snapshots, with windows of the same length, reach back this far.
    pub(super) fn window(&self, longest: Nanos) -> Nanos {
        let finished = i64::from(self.finished().max(1));
        Nanos::new((longest.get() / finished + i64::from(longest.get() % finished != 0)).max(1))
    }
}

impl GivenSnapshots {
    /// The counter given, with the defaults of the fitting one.
    fn counter(&self, fitting: Counter) -> Counter {
        let (rows, columns, is_conservative) = match fitting {
            Counter::CountMin { rows, columns, is_conservative } => (rows, columns, is_conservative),
            Counter::SpaceSaving { entries }
                if matches!(self.counter, None | Some(CounterKind::SpaceSaving)) && self.rows.is_none() =>
            {
                return Counter::SpaceSaving { entries: self.columns.unwrap_or(entries) };
            }
            Counter::SpaceSaving { entries } => (Params::ROWS, (entries * PER_ENTRY / Params::ROWS).max(1), true),
        };
        let entries = self.columns.unwrap_or((rows * columns / PER_ENTRY).clamp(1, MOST_ENTRIES));
        let (rows, columns) = (self.rows.unwrap_or(rows), self.columns.unwrap_or(columns));
        match self.counter {
            Some(CounterKind::SpaceSaving) => Counter::SpaceSaving { entries },
            Some(CounterKind::CountMin) => Counter::CountMin { rows, columns, is_conservative: false },
            Some(CounterKind::Conservative) => Counter::CountMin { rows, columns, is_conservative: true },
            None => Counter::CountMin { rows, columns, is_conservative },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Nanos = Nanos::new(1_000_001);

    fn params(given: &GivenSnapshots, bytes: usize) -> Result<Params, ConquestError> {
        Params::given(given, bytes, Culprit { share: 0.01, delay: Nanos::new(125_000) }, LONGEST, 1)
    }

    #[test]
    fn what_is_not_given_is_as_in_the_paper() {
        let none = GivenSnapshots::default;
        for (given, snapshots, window, columns) in [
            (GivenSnapshots { snapshots: Some(3), ..none() }, 3, 500_001, 64),
            (GivenSnapshots { columns: Some(9), ..none() }, 8, 142_858, 9),
            (GivenSnapshots { windows: vec![Nanos::new(7)], ..none() }, 8, 7, 64),
        ] {
            let params = params(&given, 0).unwrap();
            let counter = Counter::CountMin { rows: 4, columns, is_conservative: false };
            assert_eq!((params.snapshots, params.counter), (snapshots, counter));
            assert_eq!(params.windows, [Nanos::new(window)]);
            assert!(params.longest() >= LONGEST || given.windows == params.windows);
        }
        assert!(matches!(params(&none(), 0), Err(ConquestError::Bytes { .. })));
    }

    /// Three counters take as many bytes as an entry.
    #[test]
    fn counters_given_take_the_place_of_those_that_fit() {
        let fitting = params(&GivenSnapshots::default(), 4 << 10).unwrap();
        let Counter::SpaceSaving { entries } = fitting.counter else { panic!("{fitting:?}") };
        let counter = |counter, rows| {
            let given = GivenSnapshots { counter, rows, ..GivenSnapshots::default() };
            params(&given, 4 << 10).unwrap().counter
        };
        assert_eq!(counter(Some(CounterKind::SpaceSaving), None), fitting.counter);
        let (rows, columns) = (4, entries * 3 / 4);
        let plain = Counter::CountMin { rows, columns, is_conservative: false };
        assert_eq!(counter(Some(CounterKind::CountMin), None), plain);
        assert!(plain.bytes() <= fitting.counter.bytes());
        assert_eq!(counter(None, Some(3)), Counter::CountMin { rows: 3, columns, is_conservative: true });
        let few = GivenSnapshots { columns: Some(9), counter: Some(CounterKind::SpaceSaving), ..Default::default() };
        assert_eq!(params(&few, 0).unwrap().counter, Counter::SpaceSaving { entries: 9 });
    }

    /// Also where snapshots are cleaned cyclically, so that one less can be read; given ones stay as they are.
    #[test]
    fn windows_reach_back_to_the_longest() {
        for cleaning in [Cleaning::Epochs, Cleaning::Cyclic] {
            for (snapshots, bytes) in [(None, 2 << 10), (None, 12 << 10), (None, 1 << 20), (Some(3), 0), (Some(9), 0)] {
                let params = params(&GivenSnapshots { snapshots, cleaning, ..Default::default() }, bytes).unwrap();
                assert!(params.cleaning == cleaning && params.longest() >= LONGEST, "{params:?}");
            }
            let windows = vec![Nanos::new(7)];
            let given =
                params(&GivenSnapshots { windows: windows.clone(), cleaning, ..Default::default() }, 0).unwrap();
            assert_eq!(given.windows, windows);
        }
    }
}
