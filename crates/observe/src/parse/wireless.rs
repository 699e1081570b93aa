//! Wi-Fi as it is on the air.

use super::link;
use super::next::Step;
use super::reject::Reject;
use super::rest::{Layer, Rest};

/// Radiotap: how a frame of IEEE 802.11 was received. Of its fields only the flags matter, which follow the time if that
/// is present.
pub(super) fn radiotap(rest: &mut Rest<'_>) -> Step {
    const HAS_TIME: u8 = 1;
    const HAS_FLAGS: u8 = 2;
    const MORE_FIELDS: u8 = 0x80;
    const PADDED: u8 = 0x20;
    const BAD_CHECKSUM: u8 = 0x40;
    let mut header = *rest;
    let &[_, _, low, high, present, _, _, more] = header.take::<8>(Layer::Link)?;
    let mut at: usize = 8;
    let mut is_last = more & MORE_FIELDS == 0;
    while !is_last {
        is_last = header.take::<4>(Layer::Link)?[3] & MORE_FIELDS == 0;
        at += 4;
    }
    let mut flags = 0;
    if present & HAS_FLAGS != 0 {
        if present & HAS_TIME != 0 {
            // Fields are aligned.
            header.skip(at.next_multiple_of(8) - at + 8, Layer::Link)?;
        }
        [flags] = *header.take::<1>(Layer::Link)?;
    }
    rest.skip(usize::from(u16::from_le_bytes([low, high])).max(8), Layer::Link)?;
    if flags & BAD_CHECKSUM != 0 {
        return Err(Reject::LinkHeader);
    }
    frame(flags & PADDED != 0, rest)
}

/// IEEE 802.11: the data frames that are not encrypted, and have one packet (no A-MSDU) of which this is the beginning.
pub(super) fn frame(is_padded: bool, rest: &mut Rest<'_>) -> Step {
    const ADDRESS_BYTES: usize = 6;
    const SERVICE_QUALITY: u8 = 0x80;
    const NO_DATA: u8 = 0x40;
    const FROM_AND_TO_DISTRIBUTION: u8 = 3;
    const ENCRYPTED: u8 = 0x40;
    const ORDER: u8 = 0x80;
    const SEVERAL: u8 = 0x80;
    let [kind, flags] = *rest.peek::<2>(Layer::Link)?;
    // Version 0, type 2.
    if kind & 0x0f != 8 || kind & NO_DATA != 0 || flags & ENCRYPTED != 0 {
        return Err(Reject::NotIp);
    }
    let header = rest.take::<24>(Layer::Link)?;
    if header[22] & 0x0f != 0 {
        return Err(Reject::Fragment);
    }
    let mut bytes = 0;
    if flags & FROM_AND_TO_DISTRIBUTION == FROM_AND_TO_DISTRIBUTION {
        bytes += ADDRESS_BYTES;
    }
    rest.skip(bytes, Layer::Link)?;
    if kind & SERVICE_QUALITY != 0 {
        let [quality, _] = *rest.take::<2>(Layer::Link)?;
        if quality & SEVERAL != 0 {
            return Err(Reject::NotIp);
        }
        bytes += 2;
        if flags & ORDER != 0 {
            rest.skip(4, Layer::Link)?;
        }
    }
    if is_padded {
        rest.skip(bytes.next_multiple_of(4) - bytes, Layer::Link)?;
    }
    link::llc(rest)
}
