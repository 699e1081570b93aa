use super::FlowCounts;
use crate::lda::{self, Lda};
use crate::lds::{self, Foreign, Lds};
use core::fmt;
use dwell_types::Crossing;

/// What the sketches of a point are built with; equal at both points.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// For all packets.
    pub lda: lda::Params,
    /// For flows, if they are asked for.
    pub lds: Option<lds::Params>,
}

/// Why a sketch cannot be built.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamsError {
    /// For all packets.
    Lda(lda::ParamsError),
    /// For flows.
    Lds(lds::LdsError),
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lda(error) => error.fmt(f),
            Self::Lds(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParamsError {}

/// Why two sketches do not belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PairError {
    /// Those of all packets do not.
    Lda(lda::PairError),
    /// Those of flows do not.
    Lds(Foreign),
    /// Only one of them knows flows.
    Flows,
}

impl fmt::Display for PairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lda(error) => error.fmt(f),
            Self::Lds(error) => error.fmt(f),
            Self::Flows => f.write_str("only one of the sketches knows flows"),
        }
    }
}

impl core::error::Error for PairError {}

/// What passed one point: all packets, and if asked for, flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    /// All packets.
    pub lda: Lda,
    /// Flows.
    pub lds: Option<Lds>,
    /// How many of its packets belong to which of the flows that it lists.
    pub listed: FlowCounts,
}

impl Sketch {
    /// An empty sketch.
    pub fn new(params: Params) -> Result<Self, ParamsError> {
        let lds = params.lds.map(Lds::new).transpose().map_err(ParamsError::Lds)?;
        Ok(Self { lda: Lda::new(params.lda).map_err(ParamsError::Lda)?, lds, listed: FlowCounts::default() })
    }

    /// Takes a packet of a class of flows, with its flow's place in the list of flows if that has it.
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

    /// Adds what a sketch of the same parameters saw: the same as one that saw both.
    pub fn merge(&mut self, other: &Self) -> Result<(), PairError> {
        match (&mut self.lds, &other.lds) {
            (Some(ours), Some(theirs)) => ours.merge(theirs).map_err(PairError::Lds)?,
            (None, None) => {}
            _ => return Err(PairError::Flows),
        }
        self.lda.merge(&other.lda).map_err(PairError::Lda)?;
        self.listed.merge(&other.listed);
        Ok(())
    }

    /// Forgets everything.
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
