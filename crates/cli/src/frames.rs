//! What subcommands tell of frames.

use dwell_observe::Frames;
use dwell_report::facts;

/// What became of all frames.
pub(crate) fn frames(now: &Frames) -> facts::Frames {
    frames_since(now, &Frames::default())
}

/// What became of the frames that came since an earlier count.
pub(crate) fn frames_since(now: &Frames, before: &Frames) -> facts::Frames {
    facts::Frames {
        total: now.total - before.total,
        decoded: now.decoded() - before.decoded(),
        rejected: now
            .rejected()
            .zip(before.rejected())
            .map(|((reason, now), (_, before))| (reason.name(), now - before))
            .filter(|&(_, count)| count > 0)
            .collect(),
    }
}
