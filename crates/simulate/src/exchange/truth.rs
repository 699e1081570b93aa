use super::ExchangeWorkload;
use crate::Delays;
use dwell_types::{Nanos, Observation};

/// Exact counts and delays of a stream.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Requests.
    pub requests: u64,
    /// Requests that have a response, inside the stream or after its end.
    pub answered: u64,
    /// Responses without an observed request.
    pub orphans: u64,
    /// True delays of all exchanges whose response is inside the stream.
    pub delays: Delays,
}

impl Truth {
    /// The truth about a complete stream.
    pub fn of(mut workload: ExchangeWorkload) -> Self {
        let mut truth = Self::default();
        while let Some(observation) = workload.next() {
            truth.update(&observation, workload.delay());
        }
        truth
    }

    /// Adds an observation, with the value of [`ExchangeWorkload::delay`] at that time.
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

    /// Responses, orphans included.
    pub fn responses(&self) -> u64 {
        self.delays.len() as u64 + self.orphans
    }

    /// Exchanges whose response comes after the end of the stream.
    pub fn open(&self) -> u64 {
        self.answered - self.delays.len() as u64
    }
}
