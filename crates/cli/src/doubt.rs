//! When packets are so many that a warning is due, and what warnings of several commands ask.

/// So many packets may be chance, or losses: no warning is of fewer.
pub(crate) const FEW: u64 = 20;

/// So many of `packets` are too many to be chance, or losses as usual.
pub(crate) fn many(packets: u64) -> u64 {
    FEW.max(packets / 50)
}

/// The question in warnings about packets that are seen twice.
pub(crate) const CAPTURED_TWICE: &str = "are packets captured twice, as at mirror ports (editcap -d removes the copies) or \
                                         with -i any (FILE%2 reads interface 2 only; or editcap -I 20 -d), or is a file named twice?";
