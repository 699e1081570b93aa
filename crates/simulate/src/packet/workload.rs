use super::address::CLIENTS;
use super::event::{Agenda, Event, Message};
use super::flow::Flow;
use super::frame::Builder;
use super::settings::Model;
use super::truth::{Exchange, Record, Truth};
use super::{Settings, SettingsError};
use crate::chance::Chance;
use crate::wheel::Wheel;
use dwell_types::{Frame, LinkType, Prefix, Timestamp};

/// Frames in time order, as [`Settings`] describe them. Memory grows with the number of open connections only.
#[derive(Clone, Debug)]
pub struct PacketWorkload {
    model: Model,
    seed: u64,
    chance: Chance,
    events: Wheel<Event>,
    flows: Vec<Flow>,
    /// Slots of `flows` whose connection has ended.
    free: Vec<u32>,
    next_flow: u32,
    next_query: u32,
    record: Record,
    frame: Builder,
}

impl PacketWorkload {
    /// The addresses of clients.
    pub const CLIENTS: [Prefix; 2] = CLIENTS;

    /// The traffic for these settings and this seed.
    pub fn new(settings: &Settings, seed: u64) -> Result<Self, SettingsError> {
        let model = Model::new(settings)?;
        let seconds = settings.span.as_secs_f64();
        let mut workload = Self {
            model,
            seed,
            chance: Chance::named(seed, b"packet\0\0"),
            // A connection has about 25 packets.
            events: Wheel::new((25.0 * f64::from(settings.flows) + 2.0 * f64::from(settings.queries) + 1.0) / seconds),
            flows: Vec::new(),
            free: Vec::new(),
            next_flow: 0,
            next_query: 0,
            record: Record::default(),
            frame: Builder::new(settings.snap_length),
        };
        let start = settings.start.as_nanos();
        workload.schedule_next(start, Event::Flow);
        workload.schedule_next(start, Event::Query);
        Ok(workload)
    }

    /// The next frame: an Ethernet frame, cut at the snap length. `None` when all connections have ended.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        self.record.answered.clear();
        let at = loop {
            let (at, event) = self.events.pop_until(i64::MAX)?;
            if self.happens(at, event) {
                break at;
            }
        };
        self.record.truth.frames += 1;
        self.record.truth.wire_bytes += u64::from(self.frame.wire_length());
        Some(Frame {
            at: Some(Timestamp::from_nanos(at)),
            link: LinkType::ETHERNET,
            bytes: self.frame.bytes(),
            wire_length: self.frame.wire_length(),
        })
    }

    /// The most bytes of a frame that are captured.
    pub fn snap_length(&self) -> u32 {
        self.model.settings.snap_length
    }

    /// The exchanges that the last frame completed.
    pub fn answered(&self) -> &[Exchange] {
        &self.record.answered
    }

    /// Exact counts of what passed so far.
    pub fn truth(&self) -> &Truth {
        &self.record.truth
    }

    /// Connections that have begun but not ended.
    pub fn open_flows(&self) -> usize {
        self.flows.len() - self.free.len()
    }

    /// Processes an event; returns whether it produced a frame, which has then been built.
    fn happens(&mut self, at: i64, event: Event) -> bool {
        let Self { model, chance, events, flows, free, record, frame, .. } = self;
        let mut agenda = Agenda { events, chance, model };
        match event {
            Event::Segment(segment) => {
                let flow = &mut flows[segment.flow as usize];
                let visible = flow.pass(at, &segment, record, &mut agenda);
                if visible {
                    flow.frame(&segment, frame);
                }
                if flow.is_over() {
                    free.push(segment.flow);
                }
                visible
            }
            Event::Timer(timer) => {
                let flow = &mut flows[timer.flow as usize];
                flow.expire(at, timer, &mut agenda);
                if flow.is_over() {
                    free.push(timer.flow);
                }
                false
            }
            Event::Message(message) => {
                message.pass(at, record, &mut agenda);
                message.frame(self.seed, self.model.settings.v6, frame);
                true
            }
            Event::Flow => {
                self.open_flow(at);
                self.schedule_next(at, Event::Flow);
                false
            }
            Event::Query => {
                self.events.push(at, Event::Message(Message::query(self.next_query, at)));
                self.next_query += 1;
                self.schedule_next(at, Event::Query);
                false
            }
        }
    }

    fn open_flow(&mut self, at: i64) {
        let mut agenda = Agenda { events: &mut self.events, chance: &mut self.chance, model: &self.model };
        let index = self.free.pop().unwrap_or(self.flows.len() as u32);
        let flow = Flow::open(index, self.next_flow, at, &mut agenda);
        match self.flows.get_mut(index as usize) {
            Some(slot) => *slot = flow,
            None => self.flows.push(flow),
        }
        self.next_flow += 1;
        self.record.truth.flows += 1;
    }

    /// Schedules the next connection or query, if any are left; the gaps are exponential.
    fn schedule_next(&mut self, at: i64, event: Event) {
        let settings = &self.model.settings;
        let (next, all) = match event {
            Event::Flow => (self.next_flow, settings.flows),
            _ => (self.next_query, settings.queries),
        };
        if next < all {
            let gap = settings.span.get() as f64 / f64::from(all) * self.chance.exponential();
            self.events.push(at + 1 + gap as i64, event);
        }
    }
}
