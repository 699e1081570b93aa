//! Aggregators: whatever is accepted writes the same bytes again, pairs with itself and merges.

use dwell_sketch::lda::Lda;
use dwell_sketch::moments::Level;

/// Reads a sketch and asks it everything, as a receiver and as a sender.
pub fn check(bytes: &[u8]) {
    let Ok(mut sketch) = Lda::from_bytes(bytes) else { return };
    assert_eq!(sketch.to_bytes(), bytes, "one content, one form");
    let other = Lda::new(sketch.params().clone()).expect("its parameters were accepted");
    for (receiver, sender) in [(&sketch, &sketch), (&sketch, &other), (&other, &sketch)] {
        let answer = receiver.since(sender).expect("they have equal parameters");
        let _ = (answer.loss(), answer.std_by_paper());
        let Some(delays) = answer.delays else { continue };
        for interval in [delays.mean(Level::P95), delays.mean_by_hoeffding(Level::P98), delays.std(Level::P98)] {
            assert!(interval.low <= interval.value && interval.value <= interval.high, "{interval:?}");
        }
    }
    let copy = sketch.clone();
    sketch.merge(&copy).expect("it is the same");
    let _ = sketch.since(&copy).expect("they have equal parameters");
}
