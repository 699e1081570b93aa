use super::Tcp;

/// End of list, no operation, selective acknowledgement and timestamps (RFC 9293 §3.1, RFC 2018 §3, RFC 7323 §3.2).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SELECTIVE_ACKNOWLEDGEMENT: u8 = 5;
const TIMESTAMPS: u8 = 8;

impl<'a> Tcp<'a> {
    /// TSval and TSecr of the timestamp option (RFC 7323), if the header has one that was captured.
    ///
    /// Nearly every segment after the handshake begins its options with two no-operations and this option; a SYN usually
    /// has its maximum segment size and "SACK permitted" before it, in this order.
    #[inline(always)]
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        let (words, _) = self.options.as_chunks::<4>();
        let both = |value: [u8; 4], echo: [u8; 4]| Some((u32::from_be_bytes(value), u32::from_be_bytes(echo)));
        match *words {
            [first, value, echo, ..] if first == [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10] => both(value, echo),
            [[2, 4, _, _], second, value, echo, ..] if second == [4, 2, TIMESTAMPS, 10] => both(value, echo),
            [] => None,
            _ => search(self.options).map(|both| ((both >> 32) as u32, both as u32)),
        }
    }

    /// The blocks of a selective acknowledgement, as far as captured; nothing if the segment has none.
    #[inline(always)]
    pub(crate) fn selective_acknowledgement(&self) -> &'a [u8] {
        /// Length in bytes of a timestamp option and two no-operations, mostly all options that a segment has.
        const TIMESTAMPS_ALONE: usize = 12;
        if self.options.len() <= TIMESTAMPS_ALONE && self.timestamps().is_some() {
            return &[];
        }
        option(self.options, |kind, _| kind == SELECTIVE_ACKNOWLEDGEMENT).unwrap_or_default()
    }
}

/// TSval above TSecr, in one word so that both are returned in registers.
#[inline(never)]
fn search(options: &[u8]) -> Option<u64> {
    option(options, |kind, length| [kind, length] == [TIMESTAMPS, 10])?.try_into().ok().map(u64::from_be_bytes)
}

/// The value of the first option of a kind and length, as far as captured, in a list that may be cut or malformed.
#[inline(always)]
fn option(mut options: &[u8], is_wanted: impl Fn(u8, u8) -> bool) -> Option<&[u8]> {
    loop {
        options = match *options {
            [NO_OPERATION, ref rest @ ..] => rest,
            [END, ..] | [_, 0 | 1, ..] | [] | [_] => return None,
            [kind, length, ref value @ ..] if is_wanted(kind, length) => {
                return Some(value.get(..usize::from(length) - 2).unwrap_or(value));
            }
            [_, length, ..] => options.get(usize::from(length)..)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_in_every_place() {
        // Timestamps among these options, with only the first `cut` bytes of them captured.
        fn read(options: &[u8], cut: usize) -> Option<(u32, u32)> {
            Tcp { options: &options[..cut.min(options.len())], ..Tcp::default() }.timestamps()
        }
        let common = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9];
        assert_eq!(read(&common, 12), Some((7, 9)));
        // As in a SYN of Linux: segment size, SACK permitted, timestamps, filler, window scale.
        let syn = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(read(&syn, 20), Some((7, 0)));
        // Of macOS: segment size, window scale, timestamps, SACK permitted.
        let other = [2, 4, 5, 180, 1, 3, 3, 6, 1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 4, 2, 0, 0];
        assert_eq!(read(&other, 24), Some((7, 9)));
        for cut in 0..12 {
            assert_eq!(read(&common, cut), None, "cut after {cut} bytes");
            assert_eq!(read(&syn, cut), None, "cut after {cut} bytes");
        }
        assert_eq!((read(&syn, 15), read(&syn, 16)), (None, Some((7, 0))));
        // After a SACK block, and after the end of the list.
        let late = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0];
        assert_eq!(read(&late, 24), Some((7, 9)));
        assert_eq!(read(&[0, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9], 12), None);
        // Broken lengths: of the option itself, of another, beyond the end.
        assert_eq!(read(&[1, 1, 8, 9, 0, 0, 0, 7, 0, 0, 0, 9], 12), None);
        for cut in 0..16 {
            assert_eq!(read(&[1, 1, 8, 14, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 0], cut), None, "cut after {cut} bytes");
        }
        assert_eq!(read(&[2, 0, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9], 12), None);
        assert_eq!(read(&[2, 200, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9], 12), None);
        assert_eq!(read(&[3, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9], 12), None);
    }
}
