//! Which routers to instrument: [`dwell_network::plan`] on random maps.

// The maps of a definition.
mod workload;
pub(crate) use workload::WorkloadEntry;
// The strategies of a definition, and what they leave.
mod method;
pub(crate) use method::MethodEntry;
// The table of its results.
mod table;

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_each_refused, mean, measured};

    const SMALL: &str = r#"
name = "small"
title = "t"
source = "s"
seeds = 4
[[plan.workloads]]
name = "60 routers"
routers = 60
links = 2
heaviest = 4
[[plan.methods]]
method = "greedy"
routers = [0, 5, 60]
[[plan.methods]]
method = "saving"
routers = [5]
[[plan.methods]]
method = "swap"
routers = [5]
[[plan.methods]]
method = "random"
routers = [5]
[[plan.methods]]
method = "bound"
routers = [5]
"#;

    /// Strategies rank as their definitions imply, whatever the map; when every router is instrumented, each segment is a
    /// link.
    #[test]
    fn strategies_keep_their_order() {
        let summaries = measured(SMALL, 4);
        let of = |method: &str, routers: f64, quantity: &str| {
            mean(&summaries, quantity, |s| s.method == method && s.parameters["routers"] == routers).unwrap()
        };
        let hops = |method| of(method, 5.0, "probe_hops");
        let ranked = ["bound", "swap", "saving", "random"].map(hops);
        assert!(ranked.is_sorted() && ranked[2] < 0.8 * ranked[3], "{ranked:?}");
        assert!(hops("greedy") >= hops("bound") && hops("greedy") < hops("random"));
        // Three routers linked with one another, and two links of each of the other 57, both ways, as far as they are on
        // shortest paths.
        let last = of("greedy", 60.0, "probe_hops");
        assert!(of("greedy", 60.0, "mean_hops") == 1.0 && last > 200.0 && last <= 234.0, "{last}");
        assert_eq!(of("greedy", 0.0, "left"), 1.0);
        let left = of("greedy", 5.0, "left");
        assert!(left > 0.02 && left < 0.5, "{left}");
        assert!((hops("greedy") / of("greedy", 0.0, "probe_hops") - left).abs() < 0.02);
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let cases = [
            ("routers = 60", "routers = 2", "plan.workloads[0].routers: 2: expected"),
            ("routers = 60", "routers = 60.5", "plan.workloads[0].routers: 60.5: expected"),
            ("routers = 60", "routers = 5000", "plan.workloads[0].routers: 5000: expected"),
            ("links = 2", "links = 0", "plan.workloads[0].links: 0: expected"),
            ("links = 2", "links = 60", "plan.workloads[0].links: 60: expected"),
            ("heaviest = 4", "heaviest = 0", "plan.workloads[0].heaviest: 0: expected"),
            ("[0, 5, 60]", "[]", "plan.methods[0].routers: empty"),
            ("[0, 5, 60]", "[61]", "more than the 60 of the map"),
        ];
        assert_each_refused(SMALL, &cases);
    }
}
