#![no_main]
//! Logs of packets through a queue: arbitrary bytes, as they are and after a line of column names; and all results
//! computed from them.

use dwell_fuzz::logs;
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 2] = ["arrived_ns,departed_ns,flow,bytes\n", "bytes,flow,spare,departed_ns,arrived_ns\n"];

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (kind, cut, rest) = input;
    let names = NAMES.get(usize::from(kind % 4)).copied().unwrap_or_default();
    logs::check_sojourns(&[names.as_bytes(), rest].concat(), usize::from(cut));
});
