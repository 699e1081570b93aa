//! Building blocks that several methods share.

// Batches of events, of which the relevant ones are selected first.
pub(crate) mod batch;
// Tables: of any entries by linear probing; of open requests in few bytes; of those in an array indexed by hash.
pub(crate) mod array;
pub(crate) mod open;
pub(crate) mod table;
// Times of which tables store few bits, and which of several equal requests is answered.
pub(crate) mod lapse;
pub(crate) mod repeats;
// What the methods made of Bloom filters share; small counters, and words as eight bytes.
pub(crate) mod counters;
pub(crate) mod filters;
pub(crate) mod swar;
// Choosing parameters: requests that are followed to their end, the error to minimise, the least bytes, probabilities.
pub(crate) mod scouts;
pub(crate) mod smallest;
pub(crate) mod steps;
pub(crate) mod targets;
// Flows: in the order of ranks; between two points the cells of sketches, and a sample of the flows themselves.
pub(crate) mod cell;
pub(crate) mod flow_sample;
pub(crate) mod ranked;
