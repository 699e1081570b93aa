//! Warnings about the captures or logs of points.

use super::Point;
use super::source::Counts;
use crate::doubt::{FEW, many};
use crate::frames::undecoded;
use dwell_capture::Name;
use dwell_observe::Frames;
use dwell_report::text;

impl Point {
    /// A warning if TCP packets are longer than those of any link.
    pub(crate) fn too_long(&self) -> Option<String> {
        /// Links with jumbo frames carry 9,216 bytes, and hardly more.
        const LONGEST: u32 = 16 << 10;
        let longest = self.source.counts.segments.map(|(_, longest)| longest).into_iter().max()?;
        (longest > LONGEST).then(|| {
            format!(
                "{}: TCP packets have up to {longest} bytes, more than links carry: a host merges segments for its network card, or \
                 gets them merged (offloading). These count as one packet, and match only what is merged alike at the other point: \
                 split them as links carry them (--mtu 1500, or the path's MTU)",
                Name(&self.path)
            )
        })
    }

    /// A warning if TCP packets of a direction are far longer here than at the other point, and so many fewer that losses
    /// do not explain it: offloading merges segments here, or splits them there, and these have nothing in common.
    pub(crate) fn offloaded(&self, other: &Self) -> Option<String> {
        /// Every path carries so many bytes: packets that are all shorter hold no full segment (RFC 9293 §3.7.1).
        const FULL: u32 = 576;
        let (own, others) = (self.source.counts.segments, other.source.counts.segments);
        own.into_iter().zip(others).find_map(|((fewer, longest), (more, split))| {
            let are_merged = split >= FULL && longest / 3 >= split / 2;
            let are_fewer = fewer + many(more) <= more;
            (are_merged && are_fewer).then(|| {
                format!(
                    "{}: TCP packets have up to {longest} bytes, but up to {split} at the other point: offloading merges \
                     segments on one side, or splits them, and such packets match nothing: they count as lost, and have no \
                     delay. Split them as links carry them (--mtu {split}), or switch it off where captures are taken (ethtool -K \
                     INTERFACE tso off gso off gro off lro off)",
                    Name(&self.path)
                )
            })
        })
    }

    /// Frames that the capture cuts before the addresses or ports, so that they are no packets.
    fn headless(&self) -> u64 {
        self.frames().map_or(0, Frames::truncated)
    }

    /// A warning if many frames are cut before their ports here, and as many packets are missing that the other point has.
    pub(crate) fn truncated(&self, other: &Self) -> Option<String> {
        let more = self.headless().saturating_sub(other.headless());
        let [here, there] = [self, other].map(|point| point.source.counts.measured);
        let many = many(there);
        (more >= many && here + many <= there).then(|| {
            format!(
                "{}: {more} frames more than at the other point are truncated before the ports of their innermost packet, and \
                 cannot be compared: the same packets seem to be lost, or never sent. Capture more bytes (-s), or truncate both \
                 captures (editcap -s LENGTH)",
                Name(&self.path)
            )
        })
    }

    /// Warnings for the reader.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.source.warnings();
        let name = Name(&self.path);
        let undecoded = self.frames().and_then(|frames| undecoded(frames, self.source.unknown_link()));
        warnings.extend(undecoded.map(|words| format!("{name}: {words}")));
        let disorder = self.disorder.warning("packet", false);
        warnings.extend(
            disorder.map(|words| format!("{name}: {words}; if it is joined from parts, join them in their order")),
        );
        warnings.extend(self.disorder.warning_of_leaps("packet").map(|words| format!("{name}: {words}")));
        if self.wild > 0 {
            let packets = text::are(self.wild, "packet");
            warnings.push(format!(
                "{name}: {packets} timestamped far from neighbouring packets; the timestamp of the packet before is \
                 used instead"
            ));
        }
        let &Counts { measured, untold, within, .. } = &self.source.counts;
        if untold > 0 {
            warnings.push(format!(
                "{name}: {} left out, since the first packets of the captures do not show their direction: name the \
                 sender's side with --from PREFIX",
                text::are(untold, "packet")
            ));
        }
        if within > measured {
            warnings.push(format!(
                "{name}: {} not measured, since they go between two addresses of --from, but only {}: if they pass both points, \
                 name one side only (or all addresses, 0.0.0.0/0,::/0: then all packets go forward)",
                text::are(within, "packet"),
                text::are(measured, "other")
            ));
        }
        if self.cut() > 0 {
            warnings.push(format!(
                "{name}: {} truncated within the bytes that identify a packet, and match only packets truncated at \
                 the same byte after the IP header begins: if the other capture is longer, truncate it as well \
                 (editcap -s LENGTH, longer by what it has more below IP, as 4 bytes for a VLAN tag)",
                text::are(self.cut(), "packet")
            ));
        }
        warnings
    }
}

/// A warning if of `packets` many are `missing` at the second point and about as many there, or several times as many, are
/// `strange`, that is not seen at the first: these are probably the same packets, modified or fragmented in between.
pub(crate) fn changed_between(packets: u64, missing: u64, strange: u64) -> Option<String> {
    /// Few packets are sent in more fragments.
    const FRAGMENTS: u64 = 3;
    let are_alike = missing / 2 <= strange && strange <= (FRAGMENTS * missing).saturating_add(FEW);
    let or =
        if missing > packets / 10 * 9 { ", or the clocks differ by more than --longest (--clock-offset)" } else { "" };
    (missing.min(strange) >= many(packets) && are_alike).then(|| {
        format!(
            "{missing} packets did not arrive, and {strange} arrived that were not seen at the first point: something \
             between may rewrite what identifies them (addresses or ports: --nat; offloading: --mtu; IP identifications \
             or timestamps), or fragment them{or}; they may take longer than --longest; or both captures lack some (dropped \
             where they were taken)"
        )
    })
}
