use super::clock::Clock;
use crate::file::{ByteOrder, first_words};
use dwell_types::LinkType;

const END_OF_OPTIONS: u16 = 0;
const TIMESTAMP_RESOLUTION: u16 = 9;
const TIMESTAMP_OFFSET: u16 = 14;

/// What an interface description block says about the packets of its interface.
pub(super) struct Interface {
    pub(super) link: LinkType,
    /// In bytes; `u32::MAX` if the interface does not state one.
    pub(super) snap_length: u32,
    pub(super) clock: Clock,
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
        let (mut resolution, mut offset_s) = (Clock::MICROSECONDS, 0);
        let mut options = &body[8..];
        while let Some((&[code_0, code_1, length_0, length_1], rest)) = options.split_first_chunk() {
            let code = order.u16([code_0, code_1]);
            let length = usize::from(order.u16([length_0, length_1]));
            if code == END_OF_OPTIONS {
                break;
            }
            let Some(value) = rest.get(..length) else {
                return Err(Wrong {
                    expected: format!("option {code} with at most {} bytes, the rest of the block", rest.len()),
                    found: format!("{length} bytes"),
                });
            };
            match (code, value) {
                (TIMESTAMP_RESOLUTION, &[value]) => resolution = value,
                (TIMESTAMP_OFFSET, &[a, b, c, d, e, f, g, h]) => {
                    let [first, second] = order.words(&[[a, b, c, d], [e, f, g, h]]).map(u64::from);
                    let bits = if order.big_endian { first << 32 | second } else { second << 32 | first };
                    offset_s = bits as i64;
                }
                (TIMESTAMP_RESOLUTION, _) => return Err(option_length("if_tsresol", 1, length)),
                (TIMESTAMP_OFFSET, _) => return Err(option_length("if_tsoffset", 8, length)),
                _ => {}
            }
            options = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        let link = LinkType(order.u16([first[0], first[1]]));
        Ok(Self { link, snap_length, clock: Clock::new(resolution, offset_s) })
    }
}

fn option_length(name: &str, expected: usize, found: usize) -> Wrong {
    Wrong { expected: format!("option {name} with {expected} bytes"), found: format!("{found} bytes") }
}
