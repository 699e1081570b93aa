use super::clock::Clock;
use crate::file::{ByteOrder, first_words};
use dwell_types::LinkType;

const END_OF_OPTIONS: u16 = 0;
const NAME: u16 = 2;
const TIMESTAMP_RESOLUTION: u16 = 9;
const TIMESTAMP_OFFSET: u16 = 14;
const DROPPED_BY_INTERFACE: u16 = 5;
const DROPPED_BY_SYSTEM: u16 = 7;
const DROPPED_BEFORE_PACKET: u16 = 4;

/// The longest name that is kept, in bytes, so that a file that consists of interfaces cannot exhaust memory.
const LONGEST_NAME: usize = 256;

/// What an interface description block says about the packets of its interface.
pub(super) struct Interface {
    pub(super) link: LinkType,
    /// Such as `eth0`; none if it is longer than any system's.
    pub(super) name: Option<Box<str>>,
    /// In bytes; `u32::MAX` if the interface does not state one.
    pub(super) snap_length: u32,
    pub(super) clock: Clock,
    /// Packets that were dropped before they could be captured: by its latest statistics, and by its packets, each of
    /// which may say how many since the one before.
    pub(super) dropped: u64,
    pub(super) dropped_before_packets: u64,
}

/// A defect of an interface description.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) expected: String,
    pub(super) found: String,
}

impl Interface {
    /// Reads the body of an interface description block.
    pub(super) fn parse(order: ByteOrder, body: &[u8]) -> Result<Self, Wrong> {
        let Some([first, snap_length]) = first_words::<2>(body) else {
            return Err(Wrong {
                expected: "an interface description of at least 8 bytes".to_owned(),
                found: format!("{} bytes", body.len()),
            });
        };
        let snap_length = match order.u32(*snap_length) {
            0 => u32::MAX,
            length => length,
        };
        let (mut resolution, mut offset_s, mut name) = (Clock::MICROSECONDS, 0, None);
        let options = Options { order, rest: &body[8..] };
        for option in options {
            let (code, value) = option?;
            match (code, value) {
                (TIMESTAMP_RESOLUTION | TIMESTAMP_OFFSET, []) => {}
                (TIMESTAMP_RESOLUTION, &[value]) => resolution = value,
                (TIMESTAMP_OFFSET, value) => {
                    let wrong = || option_length("if_tsoffset", 8, value.len());
                    offset_s = u64_of(order, value).ok_or_else(wrong)? as i64;
                }
                (NAME, value) => {
                    // Some writers count the zero byte that ends it.
                    let text = str::from_utf8(value).ok().map(|text| text.trim_end_matches('\0'));
                    name = text.filter(|text| text.len() <= LONGEST_NAME).map(Box::from);
                }
                (TIMESTAMP_RESOLUTION, _) => return Err(option_length("if_tsresol", 1, value.len())),
                _ => {}
            }
        }
        let link = LinkType(order.u16([first[0], first[1]]));
        let clock = Clock::new(resolution, offset_s);
        Ok(Self { link, name, snap_length, clock, dropped: 0, dropped_before_packets: 0 })
    }

    /// Packets that were dropped before they could be captured. Where statistics and packets both say so, they count the
    /// same ones.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.max(self.dropped_before_packets)
    }
}

/// How many packets were dropped before one with these options. They do not affect the packet: what is wrong with them is
/// ignored.
pub(super) fn dropped_before(order: ByteOrder, options: &[u8]) -> u64 {
    let mut options = Options { order, rest: options }.map_while(Result::ok);
    let count = options.find(|(code, _)| *code == DROPPED_BEFORE_PACKET);
    count.and_then(|(_, value)| u64_of(order, value)).unwrap_or(0)
}

/// The interface that the body of a statistics block is about, and the packets that it says were dropped. Statistics do
/// not affect packets: what is wrong with them is ignored.
pub(super) fn dropped(order: ByteOrder, body: &[u8]) -> Option<(usize, u64)> {
    let [interface, ..] = order.words(first_words::<3>(body)?);
    let options = Options { order, rest: &body[12..] }.map_while(Result::ok);
    let counts = options.filter(|(code, _)| matches!(*code, DROPPED_BY_INTERFACE | DROPPED_BY_SYSTEM));
    Some((interface as usize, counts.filter_map(|(_, value)| u64_of(order, value)).fold(0, u64::saturating_add)))
}

/// The options of a block, with their codes.
struct Options<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<(u16, &'a [u8]), Wrong>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&[code_0, code_1, length_0, length_1], rest) = self.rest.split_first_chunk()?;
        let code = self.order.u16([code_0, code_1]);
        let length = usize::from(self.order.u16([length_0, length_1]));
        if code == END_OF_OPTIONS {
            return None;
        }
        self.rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(rest.get(..length).map(|value| (code, value)).ok_or_else(|| Wrong {
            expected: format!("option {code} with at most {} bytes, the rest of the block", rest.len()),
            found: format!("{length} bytes"),
        }))
    }
}

/// An option's value of 64 bits.
fn u64_of(order: ByteOrder, value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(|bytes| order.u64(bytes))
}

fn option_length(name: &str, expected: usize, found: usize) -> Wrong {
    Wrong { expected: format!("option {name} with {expected} bytes"), found: format!("{found} bytes") }
}
