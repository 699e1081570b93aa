//! Messages of points that sketch: whatever stands in their files, joining it ends, and every answer adds up.

use dwell_sketch::summary::{Combined, FlowList, FlowMeans, Join, Message, Messages};

/// Reads two files of messages and joins them.
pub fn check(sender: &[u8], receiver: &[u8]) {
    let mut list = FlowList::default();
    let mut summaries = |bytes| {
        let mut summaries = Vec::new();
        for message in Messages::new(bytes) {
            match message {
                Ok(Message::Summary(summary)) => summaries.push(summary),
                Ok(Message::Flows(flows)) => list = flows,
                Err(_) => {}
            }
        }
        summaries
    };
    let sent = summaries(sender);
    let mut join = Join::all(sent, summaries(receiver));
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
    for answer in means.answers(&list) {
        assert!(answer.mean.is_none_or(|mean| mean.value.is_nan() || mean.low <= mean.high));
    }
}
