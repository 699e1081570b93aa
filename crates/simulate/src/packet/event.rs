//! Events at the observation point, and the agenda on which the parts of the simulation schedule them.

use super::settings::Model;
use super::truth::Copies;
use crate::chance::Chance;
use crate::wheel::Wheel;

/// An event at the observation point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The next connection begins.
    Flow,
    /// The next query is sent.
    Query,
    /// A segment passes.
    Segment(Segment),
    /// A timer of a connection expires.
    Timer(Timer),
    /// A DNS message passes.
    Message(Message),
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// A segment on its way past the point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) flow: u32,
    pub(super) from: Side,
    pub(super) flags: u8,
    /// It has been sent before, whether or not that copy passed the point.
    pub(super) resent: bool,
    pub(super) length: u16,
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
    pub(super) timestamps: (u32, u32),
    /// The segment whose end is acknowledged.
    pub(super) answered: Passage,
}

/// When a segment passed the point, and when its first copy did; in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passage {
    pub(super) at: i64,
    pub(super) first: i64,
}

/// A timer of an end, ignored if it is no longer needed when it expires.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    pub(super) flow: u32,
    pub(super) side: Side,
    pub(super) what: Due,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// Acknowledge everything up to this sequence number, unless that has been done.
    Acknowledge(u32),
    /// Retransmit the segment that begins at this sequence number.
    Retransmit(u32),
}

/// A message of one DNS exchange, on its way past the point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) number: u32,
    pub(super) kind: Kind,
    /// Passages of the query: for a query only of the first copy, for a response also of the answered and last one.
    pub(super) query: Copies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Query,
    Repetition,
    Answer,
}

/// What a connection or query acts on: the agenda, random numbers and the settings.
pub(super) struct Agenda<'a> {
    pub(super) events: &'a mut Wheel<Event>,
    pub(super) chance: &'a mut Chance,
    pub(super) model: &'a Model,
}
