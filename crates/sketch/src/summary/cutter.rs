use super::{Origin, Params, Sketch, Summary, SummaryError};
use dwell_types::{Crossing, Nanos, PacketId, Timestamp, hash};

/// Sketches the packets that pass one point, interval by interval.
#[derive(Clone, Debug)]
pub struct Cutter {
    interval: i64,
    shift: Nanos,
    origin: Origin,
    rank: u64,
    /// The packets before the current cut, while the cut may still move.
    closed: Sketch,
    /// The packets after the current cut; all packets of the interval, while no cut is being searched for.
    open: Sketch,
    /// Start of the latest interval whose first quarter was searched for a cut.
    window: i64,
    /// The best cut in this quarter so far.
    cut: Option<Cut>,
    is_cutting: bool,
    number: u64,
    /// The names of the latest borders. A packet that comes again, such as a keep-alive, is not the next one, too.
    latest: [u64; LATEST],
    from: u64,
    start: Timestamp,
    last: Option<(PacketId, Timestamp)>,
    done: Vec<Summary>,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    rank: u64,
    border: u64,
    at: Timestamp,
}

const LATEST: usize = 64;

/// Cuts are searched for in the first of this many parts of an interval.
const WINDOW: i64 = 4;

impl Cutter {
    /// Intervals of this length, which begin at whole multiples of it since the epoch; `shift` is how much later this
    /// point sees packets than the point to which the intervals refer.
    pub fn new(params: Params, interval: Nanos, shift: Nanos) -> Result<Self, SummaryError> {
        let (rank, origin) = (hash::start(hash::word(hash::start(params.lda.seed), 0x0c07)), params.origin);
        let open = Sketch::new(params)?;
        Ok(Self {
            interval: interval.get().max(1),
            shift,
            origin,
            rank,
            closed: open.clone(),
            open,
            window: i64::MIN,
            cut: None,
            is_cutting: false,
            number: 0,
            latest: [0; LATEST],
            from: 0,
            start: Timestamp::default(),
            last: None,
            done: Vec::new(),
        })
    }

    /// Processes the next packet, in the order of time, with its flow's class as in
    /// [`Lds::update_class`](crate::lds::Lds::update_class), and its flow's index in the list of flows.
    pub fn update_flow(&mut self, crossing: &Crossing, class: u8, listed: Option<usize>) {
        let &Crossing { packet, at, .. } = crossing;
        if self.last.is_none() {
            self.from = packet.0;
            self.start = at;
        }
        self.look_at(packet, at);
        self.open.update(crossing, class, listed);
        self.last = Some((packet, at));
    }

    /// Moves the cut before this packet if it is the best candidate so far.
    #[inline]
    fn look_at(&mut self, packet: PacketId, at: Timestamp) {
        let nominal = (at - self.shift).as_nanos();
        let start = nominal.div_euclid(self.interval).saturating_mul(self.interval);
        let is_window = nominal - start < (self.interval / WINDOW).max(1);
        // A packet of an interval before, out of order, ends nothing.
        let is_over = start > self.window || start == self.window && !is_window;
        if self.is_cutting && is_over {
            self.end_window();
        }
        if !is_window || start < self.window {
            return;
        }
        if start > self.window {
            let is_first = self.window == i64::MIN;
            self.window = start;
            // The first quarter seen may have begun before the capture did.
            if is_first {
                return;
            }
            self.is_cutting = true;
            std::mem::swap(&mut self.closed, &mut self.open);
        }
        if !self.is_cutting {
            return;
        }
        let rank = hash::word(self.rank, packet.0);
        if self.cut.is_none_or(|cut| rank < cut.rank) && !self.latest.contains(&packet.0) {
            self.move_on();
            self.cut = Some(Cut { rank, border: packet.0, at });
        }
    }

    /// Moves the packets after the cut to those before it.
    fn move_on(&mut self) {
        // Never fails: both have the same parameters.
        let _ = self.closed.merge(&self.open);
        self.open.reset();
    }

    fn end_window(&mut self) {
        self.is_cutting = false;
        let Some(Cut { border, at, .. }) = self.cut.take() else { return };
        let mut empty = self.open.clone();
        empty.reset();
        let sketch = std::mem::replace(&mut self.closed, empty);
        self.finish(border, at, sketch);
    }

    fn finish(&mut self, border: u64, at: Timestamp, sketch: Sketch) {
        self.done.push(Summary {
            number: self.number,
            start: self.start,
            end: at,
            from: self.from,
            to: border,
            origin: self.origin,
            sketch,
        });
        self.latest[self.number as usize % LATEST] = border;
        self.number += 1;
        self.from = border;
        self.start = at;
    }

    /// The capture has ended.
    pub fn end(&mut self) {
        if self.is_cutting {
            self.end_window();
        }
        let Some((packet, at)) = self.last.take() else { return };
        // What was closed by a quarter without a cut belongs to the last interval.
        self.move_on();
        let sketch = self.closed.clone();
        self.closed.reset();
        // The last border is named by a hash of the last packet, to differ from the border before it.
        self.finish(hash::finish(packet.0), at + Nanos::new(1), sketch);
    }

    /// The intervals that ended since the last call.
    pub fn take(&mut self) -> Vec<Summary> {
        std::mem::take(&mut self.done)
    }

    /// Bytes of the sketches.
    pub fn state_bytes(&self) -> usize {
        self.open.state_bytes() + self.closed.state_bytes()
    }
}
