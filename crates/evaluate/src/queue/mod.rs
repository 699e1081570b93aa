//! Which flows built a queue? Snapshots of [`dwell_sketch::conquest`], by every rule and counter, on simulated queues
//! of [`dwell_simulate::queue`].

// The queues of a definition.
mod workload;
pub(crate) use workload::WorkloadEntry;
// The methods of a definition.
mod method;
pub(crate) use method::MethodEntry;
// Runs one stream of departures through many sketches.
mod measure;
// The table of its results.
mod table;
// Queue management based on the answers.
pub(crate) mod control;

#[cfg(test)]
mod tests {
    use crate::metrics::Summary;
    use crate::test_support::{assert_each_refused, assert_refused, mean, measured};

    const SMALL: &str = r#"
name = "small"
title = "t"
source = "s"
seeds = 2
[[queue.workloads]]
name = "bursts"
packets = 60_000
loads = [0.1, 0.2]
buffer_bytes = 4_000_000
background = { flows = 20, flow_packets = [2, 1.2], packet_bytes = [64, 512] }
bursts = { every_ms = 5, senders = 2, rate_gbps = 10, bytes = [1e6, 4e6], shape = 1, packet_bytes = 1500 }
threshold_ms = 0.4
[[queue.methods]]
method = "space-saving"
snapshots = [8]
counters = [24]
memory_bytes = [1999]
[[queue.methods]]
method = "interpolated"
snapshots = [8]
counters = [4, 32]
[[queue.methods]]
method = "budget"
memory_bytes = [2000]
[[queue.methods]]
method = "exact"
"#;

    /// Two bursts at line rate over a background of many small flows: two culprits, which 24 entries find. Four
    /// counters cannot distinguish them from the rest and must fail. Two runs of a few bursts: the probability that
    /// other seeds would fail is unknown; seeds are fixed.
    #[test]
    fn culprits_are_found_by_those_who_can() {
        let summaries = measured(SMALL, 2);
        let mean = |label: &str, quantity: &str| {
            let is_right = |s: &Summary| s.workload == "bursts, load 0.1" && crate::label(&s.parameters) == label;
            mean(&summaries, quantity, is_right).unwrap()
        };
        let [kept, few, budget] = ["counters=24 snapshots=8", "counters=4 snapshots=8", "memory_bytes=2000"]
            .map(|label| [mean(label, "precision"), mean(label, "recall")]);
        let is_right = |scores: [f64; 2]| scores.iter().all(|&score| score > 0.99);
        assert!(is_right(kept), "{kept:?}");
        assert!(!is_right(few) && few[0] < 0.95 && few[1] > 0.99, "{few:?}");
        assert!(budget[0] > 0.99 && budget[1] > 0.95, "{budget:?}");
        assert!(mean("memory_bytes=2000", "state_bytes") <= 2000.0);
        // The entries fill the bytes up to less than one entry in each of 8 snapshots.
        let within = |quantity| mean("memory_bytes=1999 snapshots=8", quantity);
        assert!(within("precision") > 0.99 && (1999.0 - 96.0..=1999.0).contains(&within("state_bytes")));
        // A buffer of 4 MB drains in 3.2 ms; two bursts may overlap, and a small flow may have a share of a hundredth.
        assert!((3.1e6..3.2e6).contains(&mean("", "longest_delay_ns")), "{}", mean("", "longest_delay_ns"));
        assert!((2.0..5.0).contains(&mean("", "culprits_in_queue")), "{}", mean("", "culprits_in_queue"));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let cases = [
            ("loads = [0.1, 0.2]", "", "queue.workloads[0].background: missing"),
            ("[2, 1.2]", "[2.5, 1.2]", "queue.workloads[0].background.flow_packets: 2.5: expected a whole number"),
            ("[2, 1.2]", "[2, 1.2, 3]", "3 numbers: expected two"),
            ("[64, 512]", "[64, 512, 1500]", "3 numbers: expected two"),
            ("[1e6, 4e6]", "[1e6, 4e6, 9e6]", "3 numbers: expected two"),
            ("loads = [0.1, 0.2]", "loads = []", "queue.workloads[0].loads: empty"),
            ("loads = [0.1, 0.2]", "loads = [-1]", "queue.workloads[0].loads: -1: expected above 0"),
            ("packets = 60_000", "packets = 0", "queue.workloads[0].packets: 0: expected a whole number from 1"),
            // All but a billionth of the packets would be dropped.
            ("packets = 60_000", "packets = 60_000\nrate_gbps = 1e-6", "queue.workloads[0].packets: "),
            ("packets = 60_000", "packets = 9\npreset = \"incast\"", "queue.workloads[0].buffer_bytes: not beside"),
            ("threshold_ms = 0.4", "course_ms = 1", "queue.workloads[0].course_ms: not beside"),
            ("threshold_ms = 0.4", "share = 2", "queue.workloads[0].share: 2: expected from 0 to 1"),
            ("counters = [4, 32]", "counters = [6]", "queue.methods[1].counters: 6: expected a multiple of 4"),
            ("counters = [4, 32]", "memory_bytes = [9]", "queue.methods[1].method: 0 counters"),
            ("memory_bytes = [2000]", "", "queue.methods[2].method: expected snapshots with counters"),
            ("method = \"exact\"", "method = \"exact\"\nmemory_bytes = [9]", "queue.methods[3].memory_bytes: not a"),
            ("memory_bytes = [2000]", "memory_bytes = [9]", "queue.methods[2].method: "),
        ];
        assert_each_refused(SMALL, &cases);
        let both = "[[delay.workloads]]\nname = \"w\"\n[[delay.methods]]\nmethod = \"exact\"\n[[queue.methods]]";
        assert_refused(SMALL, "[[queue.methods]]", both, &["queue: beside delay: expected one kind"]);
    }
}
