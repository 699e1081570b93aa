use crate::doubt::{CAPTURED_TWICE, FEW};
use dwell_observe::crossing::{Crossings, Settings};
use dwell_observe::packet::{Tcp, Transport};
use dwell_observe::parse::{self, Key};
use dwell_sketch::owd::DUPLICATE_WINDOW;
use dwell_types::{Frame, LinkType, PacketId, Timestamp};
use foldhash::HashMap;

/// Finds packets that were captured twice, among the first ones of a run, also with translated addresses. A copy of a
/// request that comes before the response shows in the report; one that comes later is taken for another request, which a
/// later packet answers.
pub(super) struct Copies {
    crossings: Crossings,
    /// When each packet was last seen.
    seen: HashMap<PacketId, Timestamp>,
    left: u32,
    packets: u64,
    copies: u64,
}

/// How many frames are examined: the more, the more time is spent on them.
const FRAMES: u32 = 1 << 14;

impl Copies {
    pub(super) fn new(seed: u64) -> Self {
        let crossings = Crossings::new(Settings { seed, nat: true, ..Settings::default() });
        Self { crossings, seen: HashMap::default(), left: FRAMES, packets: 0, copies: 0 }
    }

    #[inline]
    pub(super) fn see(&mut self, frame: &Frame<'_>) {
        if self.left > 0 {
            let &Frame { at, link, bytes, wire_length } = frame;
            self.examine(at, link, bytes, wire_length);
        }
    }

    // Takes the parts of the frame: the frame itself, even by value, would keep every one in memory, not in registers.
    #[cold]
    fn examine(&mut self, at: Option<Timestamp>, link: LinkType, bytes: &[u8], wire_length: u32) {
        let frame = Frame { at, link, bytes, wire_length };
        self.left -= 1;
        let passing = self.crossings.observe(&frame).filter(|_| !repeats_on_purpose(&frame));
        if let Some(passing) = passing {
            self.packets += 1;
            let at = passing.crossing.at;
            let before = self.seen.insert(passing.crossing.packet, at);
            self.copies += u64::from(before.is_some_and(|before| at - before <= DUPLICATE_WINDOW));
        }
        if self.left == 0 {
            self.seen = HashMap::default();
        }
    }

    /// A warning if there are too many copies for chance.
    pub(super) fn warning(&self) -> Option<String> {
        const SHARE: u64 = 20;
        let &Self { packets, copies, .. } = self;
        (copies > FEW.max(packets / SHARE)).then(|| {
            format!(
                "{copies} of the first {packets} packets repeat one seen at most {DUPLICATE_WINDOW} before, perhaps with other \
                 addresses: exchanges count twice, or with wrong delays: {CAPTURED_TWICE}"
            )
        })
    }
}

/// Whether it is a bare acknowledgement or a reset that nothing numbers: hosts send those again, with other windows or for
/// each segment, as packets that are alike.
fn repeats_on_purpose(frame: &Frame<'_>) -> bool {
    let packet = parse::any(frame.link, frame.bytes, frame.wire_length, Key::Inner);
    let is_bare = |tcp: &Tcp<'_>| tcp.payload_length == 0 && tcp.flags & (Tcp::SYN | Tcp::FIN) == 0;
    packet.is_ok_and(|packet| {
        packet.identification == 0 && matches!(packet.transport, Transport::Tcp(tcp) if is_bare(&tcp))
    })
}
