use super::{Arrival, Arrivals, Passage, Queue, Settings, SettingsError};

/// The packets that pass through a queue, in order of departure, as [`Settings`] describe them.
///
/// The truth is kept as in a real queue: packets are added when they arrive and removed after they have departed. A
/// packet that departs at the nanosecond at which another one arrives is in the queue with it.
#[derive(Clone, Debug)]
pub struct Passages<A: Iterator<Item = Arrival> = Arrivals> {
    arrivals: A,
    /// The next arrival; `None` before it has been requested.
    next: Option<Arrival>,
    queue: Queue,
    packets: u64,
    departed: u64,
}

/// An event at a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A packet arrives; whether there is room for it.
    Arrival(Arrival, bool),
    /// A packet has departed.
    Departure(Passage),
}

impl Passages {
    /// The stream for these settings and this seed.
    pub fn new(settings: &Settings, seed: u64) -> Result<Self, SettingsError> {
        Self::of(Arrivals::new(settings, seed)?, settings)
    }
}

impl<A: Iterator<Item = Arrival>> Passages<A> {
    /// Passes given arrivals, in time order, through the queue.
    pub fn of(arrivals: A, settings: &Settings) -> Result<Self, SettingsError> {
        let (queue, packets) = (Queue::new(settings)?, settings.packets);
        Ok(Self { arrivals, next: None, queue, packets, departed: 0 })
    }

    /// The source of the arrivals, mutable, so that it can react to what became of them.
    pub const fn arrivals_mut(&mut self) -> &mut A {
        &mut self.arrivals
    }

    /// The next event; `None` when the number of packets in the settings, or all that arrived, have departed.
    pub fn next_event(&mut self) -> Option<Event> {
        if self.departed == self.packets {
            return None;
        }
        self.next = self.next.or_else(|| self.arrivals.next());
        let next = self.next.map_or(f64::INFINITY, |arrival| arrival.at);
        if let Some(passage) = self.queue.depart_before(next) {
            self.departed += 1;
            return Some(Event::Departure(passage));
        }
        let arrival = self.next.take()?;
        let has_room = self.queue.offer(&arrival);
        Some(Event::Arrival(arrival, has_room))
    }
}

impl<A: Iterator<Item = Arrival>> Iterator for Passages<A> {
    type Item = Passage;

    fn next(&mut self) -> Option<Passage> {
        loop {
            if let Event::Departure(passage) = self.next_event()? {
                return Some(passage);
            }
        }
    }
}
