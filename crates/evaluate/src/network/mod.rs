//! Which links of a network are at fault? [`dwell_network::localize`], and least squares from the delays of whole
//! paths, on simulated queues of [`dwell_simulate::network`].

// The networks of a definition.
mod workload;
pub(crate) use workload::WorkloadEntry;
// The methods of a definition.
mod method;
pub(crate) use method::MethodEntry;
// A network whose links are measured.
mod bed;
// Link delays inferred from path delays.
mod tomography;
// Runs a network once for all methods.
mod measure;
// The table of its results.
mod table;

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_each_refused, mean, measured};

    const SMALL: &str = r#"
name = "small"
title = "t"
source = "s"
seeds = 16
[[network.workloads]]
name = "slow"
lattice = [2, 4]
slower_by = 4
[[network.workloads]]
name = "two slow"
lattice = [2, 4]
slower_by = 6
faults = 2
[[network.workloads]]
name = "lossy"
lattice = [2, 4]
lossy = 0.02
[[network.workloads]]
name = "sound"
lattice = [2, 4]
[[network.methods]]
method = "segments"
intervals = [1, 8]
[[network.methods]]
method = "tomography-corners"
intervals = [8]
"#;

    /// With 400 other seeds of each workload, segments named every fault after eight intervals and raised a false alarm
    /// in at most 6; corners named at most a third. So with 16 seeds a fifth remains unnamed with probability below
    /// 6·10⁻⁶, and 7 false alarms occur with 2·10⁻⁹. Corners must fail.
    #[test]
    fn what_is_at_fault_is_named() {
        let summaries = measured(SMALL, 16);
        let mean = |workload: &str, method: &str, intervals: f64, quantity: &str| {
            mean(&summaries, quantity, |s| {
                (s.workload.as_str(), s.method.as_str(), s.parameters["intervals"]) == (workload, method, intervals)
            })
        };
        let is_named = |share: f64| share > 0.8;
        for workload in ["slow", "two slow", "lossy"] {
            let [first, alarm] = ["first", "alarm"].map(|quantity| mean(workload, "segments", 8.0, quantity).unwrap());
            assert!(is_named(first) && is_named(alarm), "{workload}: {first} {alarm}");
            let corners = mean(workload, "tomography-corners", 8.0, "first").unwrap();
            assert!(!is_named(corners) && corners < first, "{workload}: {corners} {first}");
        }
        assert!(mean("slow", "segments", 1.0, "first") < mean("slow", "segments", 8.0, "first"));
        assert!(mean("sound", "segments", 8.0, "false_alarm").unwrap() < 0.4);
        assert_eq!(mean("sound", "segments", 8.0, "first"), None, "nothing is to be named");
    }

    /// A link that loses everything has no delay, and is named all the same.
    #[test]
    fn a_dead_link_is_named() {
        let summaries = measured(&SMALL.replace("lossy = 0.02", "lossy = 1"), 4);
        let first = mean(&summaries, "first", |s| {
            (s.workload.as_str(), s.method.as_str(), s.parameters["intervals"]) == ("lossy", "segments", 8.0)
        });
        assert_eq!(first, Some(1.0));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let cases = [
            ("lattice = [2, 4]", "lattice = [1, 4]", "network.workloads[0].lattice: 1 by 4: expected"),
            ("lattice = [2, 4]", "lattice = [2, 400]", "network.workloads[0].lattice: 2 by 400: expected"),
            ("lattice = [2, 4]", "lattice = [2, 4.5]", "network.workloads[0].lattice: 2 by 4.5: expected"),
            ("lattice = [2, 4]", "lattice = [2, 4, 9]", "line 8, 'lattice = [2, 4, 9]': 3 numbers: expected two"),
            ("lattice = [2, 4]", "lattice = [2]", "line 8, 'lattice = [2]': 1 numbers: expected two"),
            ("slower_by = 4", "slower_by = -1", "network.workloads[0].slower_by: -1: expected"),
            ("slower_by = 4", "slower_by = 4\nlossy = 0.1", "network.workloads[0].lossy: beside slower_by"),
            ("lossy = 0.02", "lossy = 2", "network.workloads[2].lossy: 2: expected"),
            ("faults = 2", "faults = 3", "network.workloads[1].faults: 3: expected"),
            ("slower_by = 6\n", "", "network.workloads[1].faults: 2: of what?"),
            ("intervals = [1, 8]", "intervals = []", "network.methods[0].intervals: empty"),
            ("intervals = [1, 8]", "intervals = [0]", "network.methods[0].intervals: 0: expected"),
        ];
        assert_each_refused(SMALL, &cases);
    }
}
