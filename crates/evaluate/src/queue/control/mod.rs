//! Queue management based on which flows built the queue: actions at its entrance on culprits that
//! [`dwell_sketch::conquest`] detects at its exit, and active queue management that knows only the queue, in the closed
//! loop of [`dwell_simulate::queue`].

// The queues of a definition.
mod workload;
pub(crate) use workload::WorkloadEntry;
// The methods of a definition.
mod method;
pub(crate) use method::MethodEntry;
// The actions.
mod action;
// Runs one stream through a queue with each method.
mod measure;
// The table of its results.
mod table;

#[cfg(test)]
mod tests {
    use crate::metrics::Summary;
    use crate::test_support::{assert_each_refused, mean, measured};

    const SMALL: &str = r#"
name = "small"
title = "t"
source = "s"
seeds = 2
[[control.workloads]]
name = "bursts"
packets = 100_000
loads = [0.1]
background = { flows = 40, flow_packets = [2, 1.2], packet_bytes = [64, 512] }
bursts = { every_ms = 5, senders = 2, rate_gbps = 10, bytes = [2e6, 4e6], shape = 1, packet_bytes = 1500 }
threshold_ms = 0.2
[[control.methods]]
method = "none"
[[control.methods]]
method = "drop"
weight = [0.1]
[[control.methods]]
method = "drop"
weight = [0.1]
counters = 8
[[control.methods]]
method = "limit"
weight = [0.1]
[[control.methods]]
method = "mark"
weight = [0.1]
[[control.methods]]
method = "red"
low_bytes = [250_000]
[[control.methods]]
method = "choke"
low_bytes = [250_000]
"#;

    /// Two senders at line rate fill the buffer for as long as they send. All actions keep it smaller; those on
    /// culprits alone take almost nothing from small flows, marking takes nothing from any flow, and management that
    /// does not know flows, which must fail, takes most. Two runs of a few bursts: the probability that other seeds
    /// would fail is unknown; seeds are fixed.
    #[test]
    fn actions_on_culprits_spare_the_others() {
        let summaries = measured(SMALL, 2);
        let of = |method: &str, has_counters: bool| {
            let is_right = |s: &Summary| s.method == method && s.parameters.contains_key("counters") == has_counters;
            ["peak_bytes", "small_dropped", "large_dropped", "large_marked"]
                .map(|quantity| mean(&summaries, quantity, is_right).unwrap())
        };
        let [none, drop, limit, mark, red, choke] =
            ["none", "drop", "limit", "mark", "red", "choke"].map(|method| of(method, false));
        assert!(none[0] > 3e6 && none[1..] == [0.0; 3], "{none:?}");
        let spares = |action: [f64; 4]| action[0] < 0.5 * none[0] && action[1] < 5e-4 && action[2] > 0.01;
        for action in [drop, limit] {
            assert!(spares(action), "{action:?} of {none:?}");
        }
        assert!(!spares(red) && !spares(choke));
        assert!(mark[0] < 0.7 * none[0] && mark[1] == 0.0 && mark[2] == 0.0 && mark[3] > 0.01, "{mark:?} of {none:?}");
        for other in [red, choke] {
            assert!(other[0] < none[0] && other[1] > 5.0 * drop[1].max(limit[1]) && other[1] > 1e-3, "{other:?}");
        }
        // Space-saving never overestimates, so no small flow counts as a culprit; with two counters per row some do.
        let few = of("drop", true);
        assert!(drop[1] == 0.0 && few[1] > 1e-3, "{few:?}");
        // CHOKe also drops a waiting packet of the same flow: large flows lose more, small ones less.
        assert!(choke[1] < red[1], "{choke:?} {red:?}");
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let cases = [
            ("threshold_ms = 0.2", "share = 0.2", "line 12, control.workloads[0].share: not beside control.methods"),
            ("weight = [0.1]", "weight = [1.0]", "control.methods[1].weight: 1: expected"),
            ("weight = [0.1]", "", "control.methods[1].method: expected weight"),
            ("counters = 8", "counters = 6", "control.methods[2].counters: 6: expected a multiple of 4"),
            ("low_bytes = [250_000]", "low_bytes = [0]", "control.methods[5].low_bytes: 0: expected"),
            ("low_bytes = [250_000]", "weight = [0.1]", "control.methods[5].weight: not a parameter"),
        ];
        assert_each_refused(SMALL, &cases);
    }
}
