//! Messages of points that sketch: whatever stands in their files, joining it ends, and every answer adds up.

use dwell_sketch::summary::{Combined, FlowList, FlowMeans, Join, Message, Messages};

/// Reads two files of messages and joins them.
pub fn check(sender: &[u8], receiver: &[u8]) {
    let mut join = Join::default();
    let mut list = FlowList::default();
    let mut packets = 0u64;
    for message in Messages::new(sender) {
        match message {
            Ok(Message::Summary(summary)) => {
                packets = packets.wrapping_add(summary.sketch.lda.packets());
                join.sent(summary);
            }
            Ok(Message::Flows(flows)) => list = flows,
            Err(_) => {}
        }
    }
    for message in Messages::new(receiver) {
        if let Ok(Message::Summary(summary)) = message {
            join.received(summary);
        }
    }
    join.end();
    let (mut combined, mut means) = (Combined::default(), FlowMeans::default());
    for joined in join.take() {
        combined.add(&joined);
        if let Some(sketches) = &joined.flows {
            means.add(sketches, &list);
        }
    }
    for estimate in [combined.mean(), combined.std()].into_iter().flatten() {
        assert!(estimate.value.is_nan() || estimate.low <= estimate.value && estimate.value <= estimate.high);
    }
    for number in 0..list.records().len() {
        let _ = (means.mean(number), means.lost(number), means.packets(number));
    }
}
