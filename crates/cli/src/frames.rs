//! Frame counts and warnings, shared by the subcommands.

use crate::doubt::many;
use dwell_observe::parse::Reject;
use dwell_observe::{Frames, Observer};
use dwell_report::facts;
use dwell_report::text;
use dwell_types::{LinkType, Match, Prefix};

/// What an observer has not decoded, not used or not recognised.
pub(crate) fn warnings(observer: &Observer, inside: &[Prefix]) -> impl Iterator<Item = String> {
    let undecoded = undecoded(observer.frames(), observer.unknown_link()).or_else(|| headless(observer.frames()));
    let found = [undecoded, cut(observer), evicted(observer), unread(observer), nobody_inside(observer, inside)];
    found.into_iter().flatten()
}

/// A warning if frames have an unsupported link type, of which `unknown_link` is the first, or if most were rejected
/// for another reason.
pub(crate) fn undecoded(now: &Frames, unknown_link: Option<LinkType>) -> Option<String> {
    if let Some(LinkType(number)) = unknown_link {
        let (_, count) = now.rejected().find(|&(reason, _)| reason == Reject::LinkType)?;
        return Some(format!(
            "{} of an unsupported link type ({number}): capture on another interface, or convert them; see \
             https://www.tcpdump.org/linktypes.html",
            text::are(count, "frame")
        ));
    }
    let rejected = now.total - now.decoded();
    let (reason, _) = now.rejected().max_by_key(|&(_, count)| count)?;
    (rejected > now.decoded()).then(|| {
        let remedy = if reason.is_truncated() {
            "capture more bytes of each (-s)"
        } else {
            "docs/guide/rtt.md lists what is supported"
        };
        format!(
            "{rejected} of {} not decoded, mostly because of {}: {remedy}",
            text::are(now.total, "frame"),
            reason.name()
        )
    })
}

/// A warning if many frames are cut before their ports.
fn headless(now: &Frames) -> Option<String> {
    let cut = now.truncated();
    (cut >= many(now.total)).then(|| {
        format!(
            "{} truncated before the ports of their innermost packet, and not used: capture more bytes of each (-s)",
            text::are(cut, "frame")
        )
    })
}

/// A warning if packets are cut before what a rule needs of them.
fn cut(observer: &Observer) -> Option<String> {
    let (packets, rules) = observer.pairing().cut();
    (packets > 0).then(|| {
        let rules: Vec<&str> = rules.map(Match::name).collect();
        format!(
            "{} truncated before what is needed for {}, and not used for it: capture more bytes of each (-s)",
            text::are(packets.into(), "packet"),
            rules.join(", ")
        )
    })
}

/// A warning if handshakes of QUIC were given up to make room for others.
fn evicted(observer: &Observer) -> Option<String> {
    let handshakes = observer.pairing().evicted_handshakes();
    (handshakes > 0).then(|| {
        format!(
            "{} not followed to the end, since too many were under way at once: those answered late are missing most, and count as \
             not answered; use more --memory",
            text::are(handshakes, "QUIC handshake")
        )
    })
}

/// A warning if `tcp-response` could not look into segments.
fn unread(observer: &Observer) -> Option<String> {
    let segments = observer.pairing().unread_payloads();
    (segments > 0).then(|| {
        format!(
            "{} captured without payload: what TLS sends by itself in them (handshakes, session tickets) counts as requests \
             and responses of tcp-response; capture more bytes of each (-s)",
            text::are(segments, "TCP segment")
        )
    })
}

/// A warning if no packet is from or to an address that counts as inside. Prefixes of which only some have addresses may be
/// those of all private networks.
fn nobody_inside(observer: &Observer, inside: &[Prefix]) -> Option<String> {
    observer.is_nobody_inside().then(|| {
        let prefixes: Vec<String> = inside.iter().map(ToString::to_string).collect();
        format!("no packet is from or to an address in {} (--inside)", prefixes.join(", "))
    })
}

/// All frames by fate.
pub(crate) fn frames(now: &Frames) -> facts::Frames {
    frames_since(now, &Frames::default())
}

/// The frames since an earlier count, by fate.
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
