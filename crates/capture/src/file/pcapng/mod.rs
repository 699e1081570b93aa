// Interface description and statistics blocks.
mod interface;
// Conversion of an interface's timestamps.
mod clock;

use super::choice::Described;
use super::window::Window;
use super::{ByteOrder, MAX_FRAME, Record, Trouble, first_words};
use interface::Interface;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Read;

/// The type of a section header block reads the same in both byte orders, and begins every pcapng file.
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// A block's type and length before its body, and its length again after it.
const FRAME_BYTES: u32 = 12;

/// The longest block that is buffered: the largest frame, and 64 KiB for the fields around it. Blocks of other types
/// are skipped, whatever their length.
const MAX_BLOCK: u32 = MAX_FRAME + (64 << 10);

/// The code and the length of an option. Fewer bytes behind a packet only fill its last word.
const LEAST_OPTIONS: u32 = 4;

/// The most interfaces in a section, so that a file that consists of interfaces cannot exhaust memory.
const MAX_INTERFACES: usize = 1 << 16;

/// A pcapng file: what the current section has declared so far, and which interfaces there were before.
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Interfaces of earlier sections, by number and name, and how many of their packets were dropped before they could be
    /// captured.
    earlier: BTreeMap<(u32, Option<Box<str>>), u64>,
    /// The same number for those of earlier interfaces that are too many to be told apart.
    dropped_by_others: u64,
    /// The interface of the last packet that [`Pcapng::next`] found.
    last: u32,
    /// The interface whose packets [`Pcapng::next_held`] finds.
    direct: u32,
    /// How many sections there were so far.
    sections: u64,
}

/// No interface has this number.
const NO_INTERFACE: u32 = u32::MAX;

impl Pcapng {
    /// Reads the first section header, whose type has been recognised already.
    pub(super) fn open<R: Read>(window: &mut Window<R>) -> Result<Self, Trouble> {
        let mut file = Self {
            order: ByteOrder { big_endian: false },
            interfaces: Vec::new(),
            earlier: BTreeMap::new(),
            dropped_by_others: 0,
            last: 0,
            direct: NO_INTERFACE,
            sections: 0,
        };
        file.section(window)?;
        Ok(file)
    }

    /// The next packet, if it is of the interface that is read directly, in a valid enhanced packet block that is buffered,
    /// and none were dropped before it.
    #[inline(always)]
    pub(super) fn next_held<R: Read>(&self, window: &mut Window<R>) -> Option<Record> {
        let held = window.held();
        let [kind, whole, interface, high, low, captured, wire_length] = self.order.words(first_words::<7>(held)?);
        if kind != ENHANCED_PACKET || !(32..=MAX_BLOCK).contains(&whole) || !whole.is_multiple_of(4) {
            return None;
        }
        let trailer = first_words::<1>(held.get(whole as usize - 4..whole as usize)?)?;
        if interface != self.direct {
            return None;
        }
        let interface = self.interfaces.get(interface as usize)?;
        let is_plain = (whole - 32).checked_sub(captured)? < LEAST_OPTIONS;
        if self.order.words(trailer) != [whole] || !(is_plain || self.is_usual(held, whole, captured)) {
            return None;
        }
        let at = Some(interface.clock.moment(u64::from(high) << 32 | u64::from(low)));
        let (start, length) = (window.position() + 28, captured as usize);
        window.advance(whole as usize);
        Some(Record { at, link: interface.link, wire_length, start, length })
    }

    /// Whether the options behind a packet say that none were dropped before it.
    /// Not inlined: few captures have options.
    #[inline(never)]
    fn is_usual(&self, held: &[u8], whole: u32, captured: u32) -> bool {
        let options = held.get(28 + (captured as usize).next_multiple_of(4)..whole as usize - 4);
        options.is_some_and(|options| interface::dropped_before(self.order, options) == 0)
    }

    /// Whether these bytes begin with a whole block of a packet.
    pub(super) fn has_packet(&self, held: &[u8]) -> bool {
        let words = first_words::<2>(held).map(|words| self.order.words(words));
        words.is_some_and(|[kind, length]| {
            is_packet(kind) && padded(length).is_none_or(|whole| whole as usize <= held.len())
        })
    }

    /// The next packet of any kind, with every check; skips blocks without a packet.
    #[inline(never)]
    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> Result<Option<Record>, Trouble> {
        loop {
            let offset = window.offset();
            if !window.hold(FRAME_BYTES as usize)? {
                if window.is_finished() {
                    return Ok(None);
                }
                return Err(window.cut(offset, format!("a block of at least {FRAME_BYTES} bytes")));
            }
            let Some(words) = first_words::<2>(window.held()) else { return Ok(None) };
            let [kind, length] = self.order.words(words);
            if kind == SECTION_HEADER {
                // Its length may be in another byte order.
                self.section(window)?;
                continue;
            }
            let whole = whole(offset, length)?;
            match kind {
                INTERFACE_DESCRIPTION => {
                    let body = self.block(window, offset, whole)?;
                    let interface = Interface::parse(self.order, &window.held()[8..8 + body]).map_err(|wrong| {
                        Trouble::Damaged { offset: offset + 8, expected: wrong.expected, found: wrong.found }
                    })?;
                    if self.interfaces.len() == MAX_INTERFACES {
                        let expected = format!("at most {MAX_INTERFACES} interfaces in a section");
                        return Err(Trouble::Damaged { offset, expected, found: "one more".to_owned() });
                    }
                    self.interfaces.push(interface);
                    window.advance(whole as usize);
                }
                INTERFACE_STATISTICS if whole <= MAX_BLOCK => {
                    let body = self.block(window, offset, whole)?;
                    let dropped = interface::dropped(self.order, &window.held()[8..8 + body]);
                    if let Some((number, dropped)) = dropped
                        && let Some(interface) = self.interfaces.get_mut(number)
                    {
                        interface.dropped = dropped;
                    }
                    window.advance(whole as usize);
                }
                kind if is_packet(kind) => {
                    let body = self.block(window, offset, whole)?;
                    let record = self.packet(window, kind, offset, body)?;
                    window.advance(whole as usize);
                    return Ok(Some(record));
                }
                _ => self.skip(window, offset, whole)?,
            }
        }
    }

    /// Chooses the interface whose packets [`Pcapng::next_held`] finds in this section.
    pub(super) fn read_directly(&mut self, interface: Option<u32>) {
        self.direct = interface.unwrap_or(NO_INTERFACE);
    }

    /// How many sections there were so far.
    pub(super) fn sections(&self) -> u64 {
        self.sections
    }

    /// How many interfaces the current section has declared so far.
    pub(super) fn interfaces(&self) -> usize {
        self.interfaces.len()
    }

    /// The interface of the last packet that [`Pcapng::next`] found.
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    /// An interface of the current section.
    pub(super) fn described(&self, number: u32) -> Option<Described<'_>> {
        let interface = self.interfaces.get(number as usize)?;
        Some(Described { number, name: interface.name.as_deref() })
    }

    /// The interfaces of all sections so far, each with the number of its packets that were dropped before they could be
    /// captured, as far as statistics were read.
    pub(super) fn all(&self) -> impl Iterator<Item = (Described<'_>, u64)> + Clone {
        let earlier = self.earlier.iter();
        let earlier =
            earlier.map(|((number, name), &dropped)| (Described { number: *number, name: name.as_deref() }, dropped));
        let now = (0..).zip(&self.interfaces);
        let now = now.map(|(number, it)| (Described { number, name: it.name.as_deref() }, it.dropped()));
        earlier.chain(now)
    }

    /// Packets that were dropped before they could be captured, on interfaces that are not known any more.
    pub(super) fn dropped_by_others(&self) -> u64 {
        self.dropped_by_others
    }

    /// Reads a section header; discards the interfaces of the previous section.
    fn section<R: Read>(&mut self, window: &mut Window<R>) -> Result<(), Trouble> {
        let offset = window.offset();
        window.hold(16)?;
        let Some(words) = first_words::<4>(window.held()).copied() else {
            return Err(window.cut(offset, "a section header block".to_owned()));
        };
        let big_endian = match words[2] {
            magic if u32::from_le_bytes(magic) == BYTE_ORDER_MAGIC => false,
            magic if u32::from_be_bytes(magic) == BYTE_ORDER_MAGIC => true,
            [a, b, c, d] => {
                let expected = "a section header's byte-order magic 1a 2b 3c 4d or 4d 3c 2b 1a".to_owned();
                let found = format!("{a:02x} {b:02x} {c:02x} {d:02x}");
                return Err(Trouble::Damaged { offset: offset + 8, expected, found });
            }
        };
        let order = ByteOrder { big_endian };
        let major = order.u16([words[3][0], words[3][1]]);
        let minor = order.u16([words[3][2], words[3][3]]);
        if major != 1 {
            let found = format!("pcapng {major}.{minor}");
            return Err(Trouble::Version { offset: offset + 12, expected: "pcapng 1.x", found });
        }
        let [_, length, ..] = order.words(&words);
        if length < 28 {
            let expected = "a section header block of at least 28 bytes".to_owned();
            return Err(Trouble::Damaged { offset: offset + 4, expected, found: format!("{length} bytes") });
        }
        let whole = whole(offset, length)?;
        self.order = order;
        self.close();
        self.direct = NO_INTERFACE;
        self.sections += 1;
        self.skip(window, offset, whole)
    }

    /// Ends a section.
    fn close(&mut self) {
        for (number, interface) in (0..).zip(self.interfaces.drain(..)) {
            let dropped = interface.dropped();
            let has_room = self.earlier.len() < MAX_INTERFACES;
            let sum = match self.earlier.entry((number, interface.name)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) if has_room => new.insert(0),
                Entry::Vacant(_) => &mut self.dropped_by_others,
            };
            *sum = sum.saturating_add(dropped);
        }
    }

    /// Skips a block of `whole` bytes, however long.
    fn skip<R: Read>(&self, window: &mut Window<R>, offset: u64, whole: u32) -> Result<(), Trouble> {
        if !window.skip(u64::from(whole) - 4)? || !window.hold(4)? {
            return Err(window.cut(offset, format!("a block of {whole} bytes")));
        }
        self.check_trailer(offset, whole, window.held())?;
        window.advance(4);
        Ok(())
    }

    /// Buffers a block of `whole` bytes and returns the length of its body.
    fn block<R: Read>(&self, window: &mut Window<R>, offset: u64, whole: u32) -> Result<usize, Trouble> {
        if whole > MAX_BLOCK {
            let expected = format!("a block of at most {MAX_BLOCK} bytes");
            return Err(Trouble::Damaged { offset: offset + 4, expected, found: format!("{whole} bytes") });
        }
        if !window.hold(whole as usize)? {
            return Err(window.cut(offset, format!("a block of {whole} bytes")));
        }
        self.check_trailer(offset, whole, &window.held()[whole as usize - 4..])?;
        Ok((whole - FRAME_BYTES) as usize)
    }

    fn check_trailer(&self, offset: u64, whole: u32, trailer: &[u8]) -> Result<(), Trouble> {
        match first_words::<1>(trailer).map(|words| self.order.words(words)) {
            Some([length]) if padded(length) != Some(whole) => Err(Trouble::Damaged {
                offset: offset + u64::from(whole) - 4,
                expected: format!("the block's length of {whole} again"),
                found: length.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// The packet in a buffered block; counts those that it says were dropped before it.
    fn packet<R: Read>(&mut self, window: &Window<R>, kind: u32, offset: u64, body: usize) -> Result<Record, Trouble> {
        let fields = &window.held()[8..8 + body];
        let header = if kind == SIMPLE_PACKET { 4 } else { 20 };
        let too_short = || Trouble::Damaged {
            offset: offset + 4,
            expected: format!("a packet block of at least {} bytes", header + FRAME_BYTES as usize),
            found: format!("{} bytes", body + FRAME_BYTES as usize),
        };
        let (number, ticks, captured, wire_length) = if kind == SIMPLE_PACKET {
            let [wire_length] = self.order.words(first_words(fields).ok_or_else(too_short)?);
            (0, None, None, wire_length)
        } else {
            let words = first_words::<5>(fields).ok_or_else(too_short)?;
            let [number, high, low, captured, wire_length] = self.order.words(words);
            // The obsolete block has a drop count in the second half of this word.
            let number =
                if kind == OBSOLETE_PACKET { u32::from(self.order.u16([words[0][0], words[0][1]])) } else { number };
            (number, Some(u64::from(high) << 32 | u64::from(low)), Some(captured), wire_length)
        };
        self.last = number;
        let Some(interface) = self.interfaces.get_mut(number as usize) else {
            let expected = format!("one of the section's {} interfaces", self.interfaces.len());
            return Err(Trouble::Damaged { offset: offset + 8, expected, found: format!("interface {number}") });
        };
        // A simple packet block has no captured length: it follows from the snap length of the interface.
        let length = captured.unwrap_or_else(|| wire_length.min(interface.snap_length)) as usize;
        let room = body - header;
        if length > room {
            let place = if kind == SIMPLE_PACKET { 8 } else { 20 };
            let expected = format!("a captured length of at most {room}, the rest of the block");
            return Err(Trouble::Damaged { offset: offset + place, expected, found: length.to_string() });
        }
        let dropped = match kind {
            ENHANCED_PACKET => {
                let options = fields.get(header + length.next_multiple_of(4)..).unwrap_or_default();
                interface::dropped_before(self.order, options)
            }
            OBSOLETE_PACKET => match self.order.u16([fields[2], fields[3]]) {
                // Not known.
                u16::MAX => 0,
                count => count.into(),
            },
            _ => 0,
        };
        interface.dropped_before_packets = interface.dropped_before_packets.saturating_add(dropped);
        Ok(Record {
            at: ticks.map(|ticks| interface.clock.moment(ticks)),
            link: interface.link,
            wire_length,
            start: window.position() + 8 + header,
            length,
        })
    }
}

fn is_packet(kind: u32) -> bool {
    matches!(kind, OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET)
}

/// How many bytes a block takes that says it has this length.
fn whole(offset: u64, length: u32) -> Result<u32, Trouble> {
    padded(length).filter(|whole| *whole >= FRAME_BYTES).ok_or_else(|| {
        let expected = format!("a block length of at least {FRAME_BYTES} in steps of 4");
        Trouble::Damaged { offset: offset + 4, expected, found: length.to_string() }
    })
}

/// A block's length with its padding, which some writers do not count. Unless it is too long to be a packet's: that is
/// damage rather.
fn padded(length: u32) -> Option<u32> {
    length.checked_next_multiple_of(4).filter(|whole| *whole == length || *whole <= MAX_BLOCK)
}
