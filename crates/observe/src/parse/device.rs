//! What switches and routers add to the frames that they capture.

use super::ip;
use super::link;
use super::next::{Next, Step};
use super::reject::Reject;
use super::rest::{Layer, Rest};

/// Bytes of the two addresses of Ethernet.
const ADDRESSES: usize = 12;

/// What follows the addresses of Ethernet.
fn typed(rest: &mut Rest<'_>) -> Step {
    let field = u16::from_be_bytes(*rest.take::<2>(Layer::Link)?);
    link::type_or_length(field, rest)
}

/// The tag of Marvell's switches (DSA), which replaces the VLAN tag of a frame that had one: its first bit after the mode
/// says so, its second half is then that of the VLAN tag.
pub(super) fn marvell(rest: &mut Rest<'_>) -> Step {
    rest.skip(ADDRESSES, Layer::Link)?;
    marvell_tag(rest)
}

/// The same behind a type field of its own and two reserved bytes (EDSA).
pub(super) fn marvell_typed(rest: &mut Rest<'_>) -> Step {
    rest.skip(ADDRESSES + 4, Layer::Link)?;
    marvell_tag(rest)
}

fn marvell_tag(rest: &mut Rest<'_>) -> Step {
    const HAD_VLAN: u8 = 0x20;
    let [flags, _] = *rest.take::<2>(Layer::Link)?;
    if flags & HAD_VLAN != 0 {
        return Ok(Next::Vlan);
    }
    rest.skip(2, Layer::Link)?;
    typed(rest)
}

/// The tag of Broadcom's switches, behind the addresses.
pub(super) fn broadcom(rest: &mut Rest<'_>) -> Step {
    rest.skip(ADDRESSES + 4, Layer::Link)?;
    typed(rest)
}

/// The same in front.
pub(super) fn broadcom_prepended(rest: &mut Rest<'_>) -> Step {
    link::tag_of_frame(4, rest)
}

/// What Juniper's routers write (`monitor traffic write-file`): a magic number, flags, extensions if there are any, and
/// the frame. If its header has been removed, the packet follows, mostly behind a protocol number in four bytes, which
/// begins with a small one.
pub(super) fn juniper(rest: &mut Rest<'_>) -> Step {
    const NO_LINK_HEADER: u8 = 2;
    const HAS_EXTENSIONS: u8 = 0x80;
    let [magic @ .., flags] = *rest.take::<4>(Layer::Link)?;
    if magic != *b"MGC" {
        return Err(Reject::LinkHeader);
    }
    if flags & HAS_EXTENSIONS != 0 {
        let length = u16::from_be_bytes(*rest.take::<2>(Layer::Link)?);
        rest.skip(length.into(), Layer::Link)?;
    }
    if flags & NO_LINK_HEADER == 0 {
        return Ok(Next::Ethernet);
    }
    if !matches!(ip::version(rest)?, 4 | 6) {
        rest.skip(4, Layer::Link)?;
    }
    link::raw(rest)
}
