//! What all benchmarks share: how they measure time.

/// CPU nanoseconds per item of the fastest and of the median of five runs, each of which processes so many items; `check`
/// takes its result, and is not timed.
pub(crate) fn times<T>(items: u64, mut run: impl FnMut() -> T, mut check: impl FnMut(T)) -> [f64; 2] {
    let mut times = [0.0; 5];
    for time in &mut times {
        let start = cpu_ns();
        let result = run();
        *time = (cpu_ns() - start) / items as f64;
        check(result);
    }
    times.sort_unstable_by(f64::total_cmp);
    [times[0], times[2]]
}

/// CPU time of this thread: other work on the machine does not count.
fn cpu_ns() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with scheduler statistics");
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).expect("the first field is a number")
}
