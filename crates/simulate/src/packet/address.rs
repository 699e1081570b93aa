use dwell_types::{Address, FlowKey, Prefix, hash, protocol};

/// 100.64.0.0/10, shared address space (RFC 6598): not assigned to anyone.
const CLIENTS_V4: u32 = 0x6440_0000;
/// 198.18.0.0/15, for benchmarks (RFC 2544): not assigned to anyone.
const SERVERS_V4: u32 = 0xc612_0000;
/// `2001:db8::/32`, documentation (RFC 3849): clients in `2001:db8:c::/48`, servers in `2001:db8:5::/48`.
const CLIENTS_V6: u128 = 0x2001_0db8_000c << 80;
const SERVERS_V6: u128 = 0x2001_0db8_0005 << 80;

/// The addresses of clients.
pub(super) const CLIENTS: [Prefix; 2] =
    [Prefix::new(Address::v4(CLIENTS_V4), 10), Prefix::new(Address::v6(CLIENTS_V6.to_be_bytes()), 48)];

const FIRST_PORT: u32 = 1024;
const PORTS: u32 = (1 << 16) - FIRST_PORT;

/// The 5-tuple of connection or query `number` to the given server: client first. No two numbers share the client's
/// address and port; each of 65,536 clients uses its ports one after the other.
pub(super) fn key(number: u32, server: u16, server_port: u16, v6: bool, protocol: u8) -> FlowKey {
    // Multiplication by an odd number permutes the 16-bit numbers.
    let client = (number as u16).wrapping_mul(0x9e37);
    let first_port = hash::index((hash::word(0, client.into()) >> 32) as u32, PORTS);
    let source_port = FIRST_PORT + (first_port + (number >> 16)) % PORTS;
    let address = |v4: u32, base: u128, host: u16| {
        if v6 {
            Address::v6((base + u128::from(host) + 1).to_be_bytes())
        } else {
            Address::v4(v4 + u32::from(host) + 1)
        }
    };
    FlowKey {
        source: address(CLIENTS_V4, CLIENTS_V6, client),
        destination: address(SERVERS_V4, SERVERS_V6, server),
        source_port: source_port as u16,
        destination_port: server_port,
        protocol,
    }
}

/// Whether a 5-tuple is IPv6.
pub(super) fn is_v6(key: &FlowKey) -> bool {
    !key.source.is_v4()
}

/// The 5-tuple of DNS query `number`, to one of four resolvers.
pub(super) fn query_key(number: u32, v6: bool) -> FlowKey {
    key(number, 0xff00 | number as u16 & 3, 53, v6, protocol::UDP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_numbers_share_a_client_port() {
        let n = 300_000;
        let clients: HashSet<_> = (0..n).map(|i| key(i, 0, 443, false, protocol::TCP)).collect();
        assert_eq!(clients.len(), n as usize);
        assert!(clients.iter().all(|key| key.source_port >= 1024));
    }

    #[test]
    fn families() {
        let text = |v6| key(7, 2, 443, v6, protocol::TCP).to_string();
        assert_eq!(text(false), "100.64.83.130:30432 → 198.18.0.3:443 tcp");
        assert_eq!(text(true), "[2001:db8:c::5382]:30432 → [2001:db8:5::3]:443 tcp");
        for key in [key(7, 2, 443, false, protocol::TCP), key(0xffff, 2, 443, true, protocol::TCP), query_key(3, true)]
        {
            let is_client = |address| CLIENTS.iter().any(|prefix| prefix.contains(address));
            assert!(is_client(key.source) && !is_client(key.destination), "{key}");
        }
        assert!(is_v6(&query_key(1, true)) && !is_v6(&query_key(1, false)));
    }
}
