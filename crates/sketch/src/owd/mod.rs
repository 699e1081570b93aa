//! Compares two points packet by packet: one-way delay and loss, from every packet that both points saw.
//!
//! **Answers**: of all traffic, of each interval and of each flow: packets sent, received and lost; mean, standard
//! deviation and quantiles of the delay; the mean difference between consecutive delays (jitter) and the runs of lost
//! packets.
//!
//! **Model**: a packet has the same id at both points, and no other packet in flight has it; it arrives within a
//! longest delay or not at all. Clocks agree: an offset *e* of the receiver's clock adds *e* to every delay, and
//! negative delays are reported as they are. Crossings of both points are passed in the order of their times.
//!
//! **State**: a queue of the packets sent, in sending order, 40 bytes each, and a table of those not seen yet at the
//! other point, or matched in the last 10 ms, 25 bytes per slot, up to ¾ full; 32 bytes for each of the latter. A
//! packet leaves the queue when its fate and the fates of all packets before it are known, so that intervals,
//! neighbours and runs follow the order of sending.
//!
//! **Sampling**: when the memory is full, packets whose id hashes above half of the range admitted so far are dropped,
//! at both points alike, and every remaining packet counts twice as much: trajectory sampling (Duffield and
//! Grossglauser, 2001) whose rate adapts itself. The numbers of packets sent count all packets; packets received and
//! lost, and the delays, are estimates with intervals (Horvitz–Thompson: weight 1/*p*, variance Σ (1/*p*² − 1/*p*)).
//! All packets of an id are sampled, or none: of all traffic and of intervals, variances are larger by the number of
//! packets that share each id ([`Reuse`](crate::reuse::Reuse)), as if these were alike.
//!
//! **Ambiguous**: packets with equal ids that are in flight at the same time count as received or lost by their number,
//! but give no delay. The same holds where a clock is behind and such packets arrive before they are sent, and where a
//! packet arrives so long before an equal one is sent that no difference of the clocks explains it: both directions are
//! known, and this delay and the median of the latest delays of the other direction have a negative sum. Then an earlier
//! one arrived, which the sender's capture lacks.
//!
//! **Duplicates**: a packet that arrives at most 10 ms after an equal one, while no equal packet sent is outstanding,
//! is taken for a duplicate, such as mirror ports make. It is matched only with an equal packet sent at most 10 ms
//! after the first one, as happens where both points see packets twice; a later equal packet, such as a retransmission,
//! waits for an arrival of its own. In bounded memory one match per 16 packets in flight is remembered for this;
//! duplicates of forgotten matches wait to be seen at the sender, like every arrival that was not sent.
//!
//! **Uncovered**: a packet that did not arrive, and was sent before the first packet that arrived or after the last,
//! may have passed the receiver before its capture began or after it ended. Such packets are counted separately and are
//! not lost, unless the receiver saw something, such as packets of the other direction, more than the longest delay
//! after they were sent. If all of several equal packets arrived, each of them did; if only some did, the receiver's
//! capture was running when one of them arrived.
//!
//! **Flows**: when there are more than the settings allow, those with the fewest bytes are replaced, up to an eighth of
//! them at a time. Their packets, also those in flight, and their delays are added to those of all others. What a flow
//! has is counted from when it got its number.
//!
//! **Cost**: one hash table operation per packet and point, and one per match; with flows another one per packet sent.
//!
//! **Source**: own design; the exact counterpart of `lda` and `lds`.

// The smallest delays of one direction, over time.
mod lowest;
// The latest delays of one direction, which bound those of the other.
mod latest;
// How the clocks of the points run apart.
mod drift;
pub use drift::Drift;
// Matches each packet sent with its arrival.
mod matching;
pub use matching::{DUPLICATE_WINDOW, Fate, Passed, Sent};
// Sums over packets: counts of fates, and moments of delays.
mod tally;
pub use tally::{LossRuns, Tally};
// The same sums for the flows with the most bytes.
mod flows;
// The same sums per interval.
mod intervals;
pub use intervals::IntervalAnswer;
// The meter of one direction, which combines all of these.
mod meter;
pub use meter::{FlowAnswer, OwdMeter, Settings, SettingsError, Side, Totals};
// The meters of both directions, and the clocks.
mod both;
pub use both::{BothTotals, BothWays};

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    packets: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}
