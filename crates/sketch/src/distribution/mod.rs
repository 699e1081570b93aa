//! Many weighted distributions of delays in one bounded store, and their estimates.
//!
//! **Answers**: number, mean, quantiles, distribution function and histogram of the delays of each series, each with
//! its 95% interval.
//!
//! **Model**: samples are independent, each with weight 1/*q* where *q* was its probability of being sampled.
//!
//! **State**: one sorted array of 16-byte bins for all series: key (series, delay, part and band, 64 bits), Σ weight
//! and Σ (weight² − weight) in 32 bits each: sums of whole weights are exact below 2³¹, others are floats, rounded up
//! with the right frequency, so that they keep growing however large they are. Behind it the latest samples in order of
//! arrival, sorted in when there are as many as bins, or when an eighth of the memory (a 32nd of less than 16 KiB) is
//! full of them. In addition 80 bytes per series. A bin is a log-linear class of delays: the exponent and the first *k*
//! bits of the mantissa. Every series starts with *k* = 35, where each nanosecond up to 68 s has its own bin: while it
//! fits, the store is exact. When bins take more than three quarters of the memory (15 parts in 16 of less than 16
//! KiB), the series with the most of them gives up a bit, which merges its bins in pairs, until an eighth of their room
//! is free; in the end that leaves one bin. A store without bound, or of a mebibyte and more, keeps individual samples
//! of weight 1 as long as there are no others: 4 bytes for an unambiguous one below 4.3 s, else the 8 of its key. They
//! become bins when that takes fewer bytes, or when they are as many as there is room for bins; bins take at most half
//! of the memory then, and half of what they leave is for the next batch of individual samples.
//!
//! **Cost**: one append per sample; sorting and merging cost about log₂ of a batch in comparisons. A distribution
//! refers to the store's bins without copying them, and takes less than a byte for each.
//!
//! **Estimate**: a quantile is located in its bin, whose relative width is 2^−*k*, and interpolated there by the
//! weights of its neighbours; the interval includes the bin. Its sampling part is Woodruff's: the distribution
//! function's standard error at the estimate is converted to two ranks, and the delays at these ranks are the ends.
//!
//! **Merge**: bins of equal series are added, at the coarser of both resolutions. While all fits, the result is the
//! same in any order where weights are whole numbers, their sums below 2³¹, and those of their squares at most 2²⁴; of
//! others each addition rounds a sum, up or down by less than 1 part in 2²³.
//!
//! **Source**: the bins are those of `HdrHistogram` with adaptive resolution, as in `UDDSketch` (Epicoco et al. 2020,
//! uniform collapse); intervals: Woodruff 1952, Särndal et al. 1992 §5.11.

// Log-linear classes of delays, as numbers in the order of delays.
mod code;
// Sums of weights in 32 bits.
mod weight;
// A bin in the store, and sorted arrays of bins.
mod cell;
// Samples of weight 1, in a store with room for many.
mod ones;
// The store: bins and samples of all series, and their bound.
mod store;
pub use store::{Ambiguous, DelayStore};
// Serialization of a store.
mod codec;
// By how much a store's bins displace quantiles.
mod expected;
// The bins of one series, as its curves see them.
mod view;
// The exchanges whose request was sent once, where repeated ones are left out.
mod once;
// The distribution within a class.
mod class;
// Running sums over bins, and estimates with intervals.
mod curve;
// The distribution of a series: one curve, or several if delays are ambiguous.
mod query;
pub use query::Distribution;
