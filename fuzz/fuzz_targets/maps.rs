#![no_main]
//! Network maps: arbitrary text, as it is and after the beginning of each format.

use dwell_fuzz::maps;
use libfuzzer_sys::fuzz_target;

const BEGINNINGS: [&str; 4] = [
    "a b 1\nb a 1\nb c 2.5\nc a 1\n",
    "1 @Vienna,+Austria bb (2) -> <2> <3> =r1 r0\n2 @Milan,+Italy (2) &1 -> <1> {-9} =r2 r1\n3 @? (1) -> <2> =r3 r2\n",
    "<graphml><key attr.name=\"label\" for=\"node\" id=\"d1\"/><key attr.name=\"weight\" id=\"w\"/><graph edgedefault=\"undirected\">\
     <node id=\"0\"><data key=\"d1\">Vienna</data></node><node id=\"1\"/><edge source=\"0\" target=\"1\"><data key=\"w\">2</data></edge>",
    "[[link]]\nfrom = \"a\"\nto = \"b\"\nweight = 1.5\n[[link]]\nfrom = \"b\"\nto = \"c\"\none_way = true\n",
];

fuzz_target!(|input: (u8, &str)| {
    let (form, rest) = input;
    let beginning = BEGINNINGS.get(usize::from(form % 8)).copied().unwrap_or_default();
    maps::check(&(beginning.to_owned() + rest));
});
