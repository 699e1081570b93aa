//! Sketches of flows: whatever is accepted writes the same bytes again, answers for any flow and merges.

use dwell_sketch::lds::{Comparison, FlowEstimate, Lds, Listed, Rule};
use dwell_types::FlowId;

/// Reads a sketch and asks it everything, as a receiver and as a sender.
pub fn check(bytes: &[u8]) {
    let Ok(mut sketch) = Lds::from_bytes(bytes) else { return };
    assert_eq!(sketch.to_bytes(), bytes, "one content, one form");
    let other = Lds::new(sketch.params().clone()).expect("its parameters were accepted");
    let listed = |flow| Listed { flow: FlowId(flow), class: flow as u8, packets: (flow % 3 == 0).then_some(flow) };
    let listed: Vec<Listed> = (0..20).map(listed).collect();
    for (sender, receiver) in [(&sketch, &sketch), (&sketch, &other), (&other, &sketch)] {
        let comparison = Comparison::new(sender, receiver).expect("they have equal parameters");
        for rule in [Rule::Paper { tolerance: 0.1 }, Rule::UpperBound] {
            listed.iter().for_each(|listed| sound(&comparison.estimate(listed.flow, listed.class, rule)));
        }
        comparison.joint(&listed).iter().for_each(sound);
        let _ = comparison.average_ns();
    }
    let copy = sketch.clone();
    sketch.merge(&copy).expect("it is the same");
}

/// Every interval holds its value, and every value is a number.
fn sound(found: &FlowEstimate) {
    let figures = [found.mean_delay_ns, found.packets, found.lost, found.bytes, found.spread_ns];
    for figure in figures.into_iter().flatten() {
        let (low, high) = figure.interval.unwrap_or((figure.value, figure.value));
        assert!(figure.value.is_finite() && low <= figure.value && figure.value <= high, "{found:?}");
    }
}
