use crate::case::{Case, Measurement, Shown};
use crate::crossing::Crossing;
use crate::delay::Delay;
use crate::flows::Flows;
use crate::queue::Queue;
use crate::queue::control::Control;
use crate::ring::Ring;

/// An experiment of one of the kinds there are. A new kind answers the same four questions.
#[derive(Clone, Debug)]
pub enum Experiment {
    /// How long do responses take, seen at one point?
    Delay(Delay),
    /// How long does one way take, between two points?
    Crossing(Crossing),
    /// How long does each flow's way take, between two points?
    Flows(Flows),
    /// How far off is each delay that a ring of Bloom filters gives?
    Ring(Ring),
    /// Who built a queue?
    Queue(Queue),
    /// What is to be done about that?
    Control(Control),
}

impl Experiment {
    /// Every configuration under every workload, in the order of the definition.
    pub fn cases(&self) -> Vec<Case> {
        match self {
            Self::Delay(delay) => delay.cases(),
            Self::Crossing(crossing) => crossing.cases(),
            Self::Flows(flows) => flows.cases(),
            Self::Ring(ring) => ring.cases(),
            Self::Queue(queue) => queue.cases(),
            Self::Control(control) => control.cases(),
        }
    }

    /// One seed of one stream through the configurations of these cases, which must all be of that stream; the answer has
    /// one list per case.
    pub fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        match self {
            Self::Delay(delay) => delay.run(cases, seed),
            Self::Crossing(crossing) => crossing.run(cases, seed),
            Self::Flows(flows) => flows.run(cases, seed),
            Self::Ring(ring) => ring.run(cases, seed),
            Self::Queue(queue) => queue.run(cases, seed),
            Self::Control(control) => control.run(cases, seed),
        }
    }

    /// Which of the measured quantities are summarised.
    pub fn shown(&self) -> Shown {
        match self {
            Self::Delay(_) => crate::delay::SHOWN,
            Self::Crossing(_) => crate::crossing::SHOWN,
            Self::Flows(_) => crate::flows::SHOWN,
            Self::Ring(_) => crate::ring::SHOWN,
            Self::Queue(_) => crate::queue::SHOWN,
            Self::Control(_) => crate::queue::control::SHOWN,
        }
    }
}
