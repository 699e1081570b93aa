//! Two points, packet by packet: how long one way takes, and how much is lost, from every packet that both points saw.
//!
//! **Answers**: of all traffic, of each interval and of each flow: packets sent, received and lost; mean, standard
//! deviation and quantiles of the delay; the mean difference between neighbours (jitter) and the runs of lost packets.
//!
//! **Model**: a packet has the same id at both points and no other packet has it at the same time; it arrives within a
//! longest delay or not at all. Clocks agree: an offset *e* of the receiver's adds *e* to every delay, and negative
//! delays are reported as what they are. Crossings of both points come in the order of their times.
//!
//! **State**: a queue of the packets that were sent, in this order, 40 bytes each, and a table of those not seen yet at
//! the other point, or were in the last 10 ms, 25 bytes per slot, up to ¾ full; 32 bytes for each of the latter. A packet leaves the queue when its fate and those of all before it
//! are known, so that intervals, neighbours and runs are of packets as they were sent.
//!
//! **Sampling**: when the memory is full, packets whose id hashes above half of what was admitted so far are dropped,
//! at both points alike, and every packet that stays stands for twice as many: trajectory sampling (Duffield and
//! Grossglauser, 2001) whose rate finds itself. The numbers of packets sent are those of all; what was received and
//! lost, and the delays, are estimates with intervals (Horvitz–Thompson: weight 1/*p*, variance Σ (1/*p*² − 1/*p*)).
//!
//! **Ambiguous**: packets of equal ids that are under way at the same time count as received or lost by their number,
//! but give no delay. So they do where a clock is behind and they arrive before they are sent.
//!
//! **Duplicates**: a packet that arrives at most 10 ms after an equal one, while none that was sent is missing, is taken
//! for a duplicate, as mirror ports make them. It is matched only with an equal packet sent at most 10 ms after the first
//! one, as where both points see packets twice; a later equal packet, such as a retransmission, waits for an arrival of
//! its own. In bounded memory up to one match for 16 packets under way is remembered for this; duplicates of what is
//! forgotten wait for a sending, as all that arrives without being sent.
//!
//! **Uncovered**: before the first and behind the last packet that arrived, a packet that did not arrive may have
//! passed the receiver before its capture began or after it ended. Such packets are counted apart and are not lost. Of
//! equal packets that all arrived each did; where some did not, the receiver listened when one of them arrived.
//!
//! **Cost**: one hash table operation per packet and point, and one per match.
//!
//! **Source**: own design; the exact twin of `lda` and `lds`.

// Which packet arrived when.
mod matching;
pub use matching::{DUPLICATE_WINDOW, Fate, Passed, Sent};
// Sums over packets.
mod tally;
pub use tally::{LossRuns, Tally};
// Sums for each flow.
mod flows;
// Sums for each interval.
mod intervals;
pub use intervals::IntervalAnswer;
// All of it.
mod meter;
pub use meter::{FlowAnswer, OwdMeter, Settings, SettingsError, Side, Totals};

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
