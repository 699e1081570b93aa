use super::reject::Reject;

/// What the bytes not parsed yet begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Ethernet,
    Vlan,
    ProviderBridge,
    FabricPath,
    Redundancy,
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
