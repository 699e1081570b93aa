//! What subcommands tell of frames.

use crate::words;
use dwell_observe::Frames;
use dwell_observe::parse::Reject;
use dwell_report::facts;
use dwell_types::LinkType;

/// What to say where frames are of a link type that is not understood, of which this is the first.
pub(crate) fn unknown_link(now: &Frames, first: Option<LinkType>) -> Option<String> {
    let count = now.rejected().find(|&(reason, _)| reason == Reject::LinkType)?.1;
    let number = first?.0;
    Some(format!(
        "{} of an unsupported link type ({number}): capture on another interface, or convert them; see \
         https://www.tcpdump.org/linktypes.html",
        words::are(count, "frame")
    ))
}

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
