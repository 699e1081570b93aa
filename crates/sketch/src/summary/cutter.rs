use super::{Params, ParamsError, Sketch, Summary};
use dwell_types::{Crossing, Nanos, PacketId, Timestamp, hash};

/// Sketches what passes one point, an interval at a time.
#[derive(Clone, Debug)]
pub struct Cutter {
    interval: i64,
    shift: Nanos,
    rank: u64,
    /// Before the cut, while that is still open.
    closed: Sketch,
    /// Behind the cut; everything, while none is wanted.
    open: Sketch,
    /// Start of the interval whose quarter was looked at last.
    window: i64,
    /// The best cut of this quarter.
    cut: Option<Cut>,
    is_cutting: bool,
    number: u64,
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

/// Cuts are looked for in this part of an interval.
const WINDOW: i64 = 4;

impl Cutter {
    /// Intervals of this length, which begin at whole multiples of it since the epoch; `shift` is how much later this
    /// point sees packets than the one whose intervals are meant.
    pub fn new(params: Params, interval: Nanos, shift: Nanos) -> Result<Self, ParamsError> {
        let rank = hash::start(hash::word(hash::start(params.lda.seed), 0x0c07));
        let open = Sketch::new(params)?;
        Ok(Self {
            interval: interval.get().max(1),
            shift,
            rank,
            closed: open.clone(),
            open,
            window: i64::MIN,
            cut: None,
            is_cutting: false,
            number: 0,
            from: 0,
            start: Timestamp::default(),
            last: None,
            done: Vec::new(),
        })
    }

    /// Takes the next packet, in the order of time, of class 0.
    pub fn update(&mut self, crossing: &Crossing) {
        self.update_flow(crossing, 0, None);
    }

    /// Takes the next packet, in the order of time, of a class of flows as in
    /// [`Lds::update_class`](crate::lds::Lds::update_class), with its flow's place in the list of flows.
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

    /// Whether the packet is the first behind a border.
    #[inline]
    fn look_at(&mut self, packet: PacketId, at: Timestamp) {
        let nominal = (at - self.shift).as_nanos();
        let start = nominal.div_euclid(self.interval).saturating_mul(self.interval);
        let is_window = nominal - start < (self.interval / WINDOW).max(1);
        if self.is_cutting && !(is_window && start == self.window) {
            self.end_window();
        }
        if !is_window || start < self.window {
            return;
        }
        if start > self.window {
            let is_first = self.window == i64::MIN;
            self.window = start;
            // The first quarter that is seen may have begun before the capture did.
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
        if self.cut.is_none_or(|cut| rank < cut.rank) {
            self.move_on();
            self.cut = Some(Cut { rank, border: packet.0, at });
        }
    }

    /// Puts what is behind the cut before it.
    fn move_on(&mut self) {
        // Both were built alike.
        let _ = self.closed.merge(&self.open);
        self.open.reset();
    }

    fn end_window(&mut self) {
        self.is_cutting = false;
        let Some(Cut { border, at, .. }) = self.cut.take() else { return };
        let empty = {
            let mut empty = self.open.clone();
            empty.reset();
            empty
        };
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
            sketch,
        });
        self.number += 1;
        self.from = border;
        self.start = at;
    }

    /// Nothing more will pass.
    pub fn end(&mut self) {
        if self.is_cutting {
            self.end_window();
        }
        let Some((packet, at)) = self.last.take() else { return };
        let sketch = self.open.clone();
        self.open.reset();
        // Named by the last packet: not the border before it.
        self.finish(hash::finish(packet.0), at + Nanos::new(1), sketch);
    }

    /// The intervals that ended since this was last asked.
    pub fn take(&mut self) -> Vec<Summary> {
        std::mem::take(&mut self.done)
    }

    /// Bytes that the sketches hold.
    pub fn state_bytes(&self) -> usize {
        self.open.state_bytes() + self.closed.state_bytes()
    }
}
