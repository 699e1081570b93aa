use super::reject::Reject;

/// What the bytes not parsed yet begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Ethernet,
    Vlan,
    /// A tag of so many bytes, then a type or length field.
    Tag(u8),
    /// A tag of so many bytes, then the whole frame that it carries.
    TagOfFrame(u8),
    Mpls,
    Pppoe,
    Ppp,
    Ipv4,
    Ipv6,
    Gre,
    EthernetInIp,
    PrecisionTime,
}

/// What follows the header that was just parsed.
pub(super) type Step = Result<Next, Reject>;
