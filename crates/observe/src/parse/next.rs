use super::reject::Reject;

/// What stands at the front of the bytes not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Ethernet,
    Vlan,
    Mpls,
    Pppoe,
    Ppp,
    Ipv4,
    Ipv6,
    Gre,
    PrecisionTime,
}

/// What follows a header that was taken.
pub(super) type Step = Result<Next, Reject>;
