//! The methods that ours are compared with.

// Response times at one point: by consistent sampling; of whatever a simple array still holds; by a fridge as switches
// can weigh it, or of several stages.
pub mod hash_sample;
pub mod lut;
pub mod simple;
pub mod staged;
// By filters, which have no entries: plain ones in a ring or a window, counting ones, cells of a time and a count.
pub mod ale;
pub mod bloomtime;
pub mod ddbf;
pub mod timebloom;
// Of TCP only, by trackers of ranges and packets.
pub mod dart;
// One-way delays: by active probes, and of sampled packets.
pub mod probes;
pub mod trajectory;
// Of flows: exactly of some, from two packets of each, between the probes before and after.
pub mod flow_table;
pub mod mpe;
pub mod rli;
