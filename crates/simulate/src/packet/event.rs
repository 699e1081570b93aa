//! What happens at the point, and where the parts of the simulation put it.

use super::settings::Model;
use super::truth::Copies;
use crate::chance::Chance;
use crate::wheel::Wheel;

/// What happens at the point of observation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The next connection begins.
    Flow,
    /// The next query is asked.
    Query,
    /// A segment passes.
    Segment(Segment),
    /// A connection goes on by itself.
    Timer(Timer),
    /// A DNS message passes.
    Message(Message),
}

/// One of the two ends.
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
    /// Sent before, whether or not that passed the point.
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

/// What an end does later, if it is still needed then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    pub(super) flow: u32,
    pub(super) side: Side,
    pub(super) what: Due,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// Acknowledge what arrived up to here, if nothing has yet.
    Acknowledge(u32),
    /// Send again what begins here.
    Retransmit(u32),
}

/// A message of one DNS exchange, on its way past the point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) number: u32,
    pub(super) kind: Kind,
    /// Of the query: when its first copy passed. Of the answer: also which was answered and passed last.
    pub(super) query: Copies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Query,
    Repetition,
    Answer,
}

/// What the flow of a moment acts on: the agenda, and where chance comes from.
pub(super) struct Agenda<'a> {
    pub(super) events: &'a mut Wheel<Event>,
    pub(super) chance: &'a mut Chance,
    pub(super) model: &'a Model,
}
