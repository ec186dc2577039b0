//! Network addresses derived from a node's id, so that none has to be configured.
//!
//! All frames are broadcast and carry their sender's id. An address therefore only has to be *valid*: two boards that
//! share one still receive each other's frames.

use embassy_net::{Config, Ipv4Address, Ipv4Cidr, StaticConfigV4};

/// All nodes share `10.0.0.0/8`.
const PREFIX_BITS: u8 = 8;
const NETWORK: u8 = 10;

/// First byte of a locally administered unicast MAC address.
const LOCAL_UNICAST: u8 = 0x02;

/// The MAC address of a node: locally administered, with all 32 bits of the id, so it is unique.
#[must_use]
pub const fn mac(id: u32) -> [u8; 6] {
    let [a, b, c, d] = id.to_be_bytes();
    [LOCAL_UNICAST, 0, a, b, c, d]
}

/// The IPv4 address of a node: `10.x.y.z` from the low 24 bits of its id.
///
/// All zeros (the network) and all ones (broadcast) are no host addresses: ids that end so get the two addresses at the
/// top of the range.
#[must_use]
pub const fn ipv4(id: u32) -> Ipv4Cidr {
    let (x, y, z) = match id.to_be_bytes() {
        [_, 0, 0, 0] => (255, 255, 254),
        [_, 255, 255, 255] => (255, 255, 253),
        [_, x, y, z] => (x, y, z),
    };
    Ipv4Cidr::new(Ipv4Address::new(NETWORK, x, y, z), PREFIX_BITS)
}

/// The network configuration of a node: its address and nothing else, as nothing is ever routed.
#[must_use]
pub const fn config(id: u32) -> Config {
    Config::ipv4_static(StaticConfigV4 { address: ipv4(id), gateway: None, dns_servers: heapless::Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::{ipv4, mac};
    use embassy_net::Ipv4Address;

    #[test]
    fn both_addresses_contain_the_id() {
        assert_eq!(ipv4(0x0001_0203).address(), Ipv4Address::new(10, 1, 2, 3));
        assert_eq!(mac(0x0a01_0203), [2, 0, 10, 1, 2, 3]);
    }

    #[test]
    fn no_id_gets_the_network_or_the_broadcast_address() {
        for id in [0, 0x00ff_ffff, 0xff00_0000, u32::MAX] {
            let cidr = ipv4(id);
            assert_ne!(cidr.address(), Ipv4Address::new(10, 0, 0, 0));
            assert_ne!(Some(cidr.address()), cidr.broadcast());
        }
    }
}
