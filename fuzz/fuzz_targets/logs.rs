#![no_main]
//! Event logs: arbitrary bytes, as they are and after a line of column names.

use dwell_fuzz::logs;
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 4] = ["at_ns,kind,id\n", "group,id,kind,at_ns\n", "at_ns,packet\n", "bytes,flow,packet,at_ns\n"];

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (kind, cut, rest) = input;
    let names = NAMES.get(usize::from(kind % 8)).copied().unwrap_or_default();
    logs::check(&[names.as_bytes(), rest].concat(), usize::from(cut));
});
