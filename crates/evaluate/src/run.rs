//! Every case and seed of an experiment, on all cores.
//!
//! A task is one seed of one stream with all cases that use this stream. Results are sorted by case and seed, so they
//! do not depend on the number of threads, nor on which of them were finished before.

use crate::case::{Case, Run};
use crate::experiment::Experiment;
use crate::metrics::{self, Summary};
use dwell_types::hash;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

/// Packets or observations in a block, which passes through one sketch before the next.
pub(crate) const BLOCK: usize = 4096;

/// Passes a stream on in such blocks.
pub(crate) fn in_blocks<T>(stream: impl Iterator<Item = T>, mut take: impl FnMut(&[T])) {
    let (mut stream, mut block) = (stream.fuse(), Vec::with_capacity(BLOCK));
    loop {
        block.clear();
        block.extend(stream.by_ref().take(BLOCK));
        if block.is_empty() {
            return;
        }
        take(&block);
    }
}

/// The seed of the methods for a stream; independent of the stream's own seed.
pub(crate) fn methods_seed(stream: u64) -> u64 {
    hash::word(u64::from_le_bytes(*b"evaluate"), stream)
}

/// Summaries in the order of the cases; the runs must be sorted by case and seed.
pub fn summarise(experiment: &dyn Experiment, runs: &[Run]) -> Vec<Summary> {
    metrics::summarise(&experiment.cases(), experiment.shown(), runs)
}

/// Why runs ended early.
#[derive(Debug)]
pub enum RunError {
    /// A stream or a method cannot be built.
    Refused(String),
    /// Finished runs could not be saved.
    Keep(io::Error),
    /// The threads could not be started.
    Threads(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(problem) => f.write_str(problem),
            Self::Keep(error) => write!(f, "results cannot be kept: {error}"),
            Self::Threads(problem) => write!(f, "no threads: {problem}"),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs everything on at most this many threads, by default one per core; more than cores or tasks are not started.
pub fn all(experiment: &dyn Experiment, seeds: u64, threads: Option<usize>) -> Result<Vec<Run>, RunError> {
    rest(experiment, seeds, threads, Vec::new(), |_| Ok(()))
}

/// Runs what is not among the finished runs, and reports newly finished runs in batches, from any thread and in any
/// order. The result includes those of `finished` that belong to the experiment.
pub fn rest(
    experiment: &dyn Experiment,
    seeds: u64,
    threads: Option<usize>,
    finished: Vec<Run>,
    keep: impl Fn(&[Run]) -> io::Result<()> + Sync,
) -> Result<Vec<Run>, RunError> {
    let cases = experiment.cases();
    let tasks = tasks(&cases, seeds, &finished);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = useful(threads, cores, tasks.len());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| RunError::Threads(error.to_string()))?;
    let run_task = |(seed, indices): &(u64, Vec<usize>)| {
        let together: Vec<&Case> = indices.iter().map(|&index| &cases[index]).collect();
        let found = experiment.run(&together, *seed).map_err(|problem| RunError::Refused(problem.0))?;
        let with_case = indices.iter().zip(found);
        let runs: Vec<Run> = with_case.map(|(&case, measurements)| Run { case, seed: *seed, measurements }).collect();
        keep(&runs).map_err(RunError::Keep)?;
        Ok(runs)
    };
    let fresh: Vec<Vec<Run>> = pool.install(|| tasks.par_iter().map(run_task).collect::<Result<_, RunError>>())?;

    let wanted = finished.into_iter().filter(|run| run.seed <= seeds);
    let mut runs: Vec<Run> = wanted.chain(fresh.into_iter().flatten()).collect();
    runs.sort_by_key(|run| (run.case, run.seed));
    Ok(runs)
}

/// How many threads are of use of those that are asked for: all are always busy.
fn useful(asked: Option<usize>, cores: usize, tasks: usize) -> usize {
    asked.unwrap_or(cores).min(cores).min(tasks).max(1)
}

/// The remaining tasks: a seed, and the cases of one stream that have no run with it.
fn tasks(cases: &[Case], seeds: u64, finished: &[Run]) -> Vec<(u64, Vec<usize>)> {
    let finished: BTreeSet<(usize, u64)> = finished.iter().map(|run| (run.case, run.seed)).collect();
    let mut tasks: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        for seed in (1..=seeds).filter(|&seed| !finished.contains(&(index, seed))) {
            tasks.entry((case.stream, seed)).or_default().push(index);
        }
    }
    tasks.into_iter().map(|((_, seed), indices)| (seed, indices)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_than_cores_and_tasks() {
        let cases =
            [(None, 8, 99, 8), (Some(3), 8, 99, 3), (Some(4000), 8, 99, 8), (Some(4000), 8, 2, 2), (None, 8, 0, 1)];
        for (asked, cores, tasks, expected) in cases {
            assert_eq!(useful(asked, cores, tasks), expected, "{asked:?} {cores} {tasks}");
        }
    }
}
