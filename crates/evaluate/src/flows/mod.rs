//! One-way delay of each flow between two points: the sketch of [`dwell_sketch::lds`] and the methods it is compared
//! with, on streams of [`dwell_simulate::crossing::flows`].

// The streams of a definition.
mod workload;
pub(crate) use workload::WorkloadEntry;
// The methods of a definition.
mod method;
pub(crate) use method::MethodEntry;
// Runs one stream through many pairs of sketches.
mod measure;
// The table of its results.
mod table;

#[cfg(test)]
mod tests {
    use crate::test_support::assert_refused;

    const PROBED: &str = r#"
name = "probed"
title = "t"
source = "s"
seeds = 1
[[flows.workloads]]
name = "flows"
flows = 100
references = 100
[[flows.methods]]
method = "rli"
memory_bytes = [100_000]
"#;

    #[test]
    fn what_estimates_from_probes_needs_probes() {
        let words = ["line 10, flows.methods[0].method: ", "expected references in every workload"];
        assert_refused(PROBED, "references = 100\n", "", &words);
    }

    #[test]
    fn what_never_arrives_is_refused() {
        let words = ["line 9, flows.workloads[0].loss: 1: expected from 0 to below 1"];
        assert_refused(PROBED, "references = 100\n", "loss = 1\nreferences = 100\n", &words);
    }
}
