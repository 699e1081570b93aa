#![no_main]
//! Measurements of segments: arbitrary text, as it is and after the beginning of each format.

use dwell_fuzz::measurements;
use libfuzzer_sys::fuzz_target;

const BEGINNINGS: [&str; 4] = [
    "from,to,via,start_ns,received,lost,effective_samples,mean_ns,std_ns\na,b,,0,9,0,9,5,1\na,b,,1,9,0,9,6,1\na,b,,2,9,0,9,4,1\na,b,,3,9,1,9,7,1\n",
    "kind,start_ns,received,lost,mean_ns,std_ns\ninterval,0,9,0,5,1\ninterval,",
    "{\"schema\":\"dwell.owd/1\",\"intervals\":[",
    "{\"start_ns\":0,\"received\":9,\"lost\":0,\"effective_samples\":9,\"delay_ns\":{\"mean\":{\"value\":5},\"std\":null}}\n{\"start_ns\":",
];

fuzz_target!(|input: (u8, u16, &str)| {
    let (form, step_ns, rest) = input;
    let beginning = BEGINNINGS.get(usize::from(form % 8)).copied().unwrap_or_default();
    measurements::check(&(beginning.to_owned() + rest), step_ns.into());
});
