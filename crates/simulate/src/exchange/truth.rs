use super::Workload;
use crate::Delays;
use dwell_types::{Nanos, Observation};

/// What a stream contained.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Requests.
    pub requests: u64,
    /// Requests that have an answer, inside the stream or after its end.
    pub answered: u64,
    /// Responses that answer nothing observed.
    pub orphans: u64,
    /// True delays of all exchanges that were answered inside the stream.
    pub delays: Delays,
}

impl Truth {
    /// The truth about a whole stream.
    pub fn of(mut workload: impl Workload) -> Self {
        let mut truth = Self::default();
        while let Some(observation) = workload.next() {
            truth.update(&observation, workload.delay());
        }
        truth
    }

    /// Takes an observation and [`Workload::delay`] as of then.
    #[inline]
    pub fn update(&mut self, observation: &Observation, delay: Option<Nanos>) {
        match (observation, delay) {
            (Observation::Request(_), delay) => {
                self.requests += 1;
                self.answered += u64::from(delay.is_some());
            }
            (Observation::Response(_), Some(delay)) => self.delays.record(delay),
            (Observation::Response(_), None) => self.orphans += 1,
        }
    }

    /// Responses of both kinds.
    pub fn responses(&self) -> u64 {
        self.delays.len() as u64 + self.orphans
    }

    /// Exchanges whose answer lies after the end of the stream.
    pub fn open(&self) -> u64 {
        self.answered - self.delays.len() as u64
    }
}
