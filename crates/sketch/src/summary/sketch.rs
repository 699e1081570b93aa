use super::{FlowCounts, Origin};
use crate::Foreign;
use crate::lda::{self, Lda};
use crate::lds::{self, Lds};
use dwell_types::Crossing;
use std::fmt;

/// Parameters of a point's sketches; equal at both points.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Of the sketch of all packets.
    pub lda: lda::Params,
    /// Of the sketch of flows, if any.
    pub lds: Option<lds::Params>,
    /// How packets are read, for the messages.
    pub origin: Origin,
}

/// Why a sketch cannot be built.
#[derive(Clone, Debug, PartialEq)]
pub enum SummaryError {
    /// Because of the sketch of all packets.
    Lda(lda::LdaError),
    /// Because of the sketch of flows.
    Lds(lds::LdsError),
}

impl fmt::Display for SummaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lda(error) => error.fmt(f),
            Self::Lds(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SummaryError {}

/// The packets that passed one point: all packets and, optionally, flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    /// All packets.
    pub lda: Lda,
    /// Flows.
    pub lds: Option<Lds>,
    /// Packet counts of the listed flows.
    pub listed: FlowCounts,
}

impl Sketch {
    /// An empty sketch.
    pub fn new(params: Params) -> Result<Self, SummaryError> {
        let lds = params.lds.map(Lds::new).transpose().map_err(SummaryError::Lds)?;
        Ok(Self { lda: Lda::new(params.lda).map_err(SummaryError::Lda)?, lds, listed: FlowCounts::default() })
    }

    /// Adds a packet, with the class of its flow, and the flow's index in the list of flows if it is listed.
    #[inline]
    pub fn update(&mut self, crossing: &Crossing, class: u8, listed: Option<usize>) {
        self.lda.update(crossing.packet, crossing.at);
        if let Some(lds) = &mut self.lds {
            lds.update_class(crossing, class);
        }
        if let Some(number) = listed {
            self.listed.update(number);
        }
    }

    /// Adds a sketch with the same parameters: the result is that of one sketch of all packets of both.
    pub fn merge(&mut self, other: &Self) -> Result<(), Foreign> {
        match (&mut self.lds, &other.lds) {
            (Some(ours), Some(theirs)) => ours.merge(theirs)?,
            (None, None) => {}
            _ => return Err(Foreign::Flows),
        }
        self.lda.merge(&other.lda)?;
        self.listed.merge(&other.listed);
        Ok(())
    }

    /// Resets the sketch to empty.
    pub fn reset(&mut self) {
        self.lda.reset();
        if let Some(lds) = &mut self.lds {
            lds.reset();
        }
        self.listed.reset();
    }

    /// Bytes of cells and counters.
    pub fn state_bytes(&self) -> usize {
        self.lda.state_bytes() + self.lds.as_ref().map_or(0, Lds::state_bytes) + self.listed.state_bytes()
    }
}
