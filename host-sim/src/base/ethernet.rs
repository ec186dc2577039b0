//! Encapsulation of frames for Ethernet boards and for captures: Ethernet, IPv4 and UDP headers.
//!
//! The simulated medium carries the protocol's frames without headers, so that airtime, bit errors and the frame limit
//! mean the same for a board as in the simulator. A board's broadcast is decapsulated before it goes on the medium,
//! and encapsulated again, with one source address for all senders, for each receiver. Other packets (a DHCP request,
//! say) are dropped.

use std::net::Ipv4Addr;

/// The UDP port of all nodes.
pub(crate) const PORT: u16 = 47_800;

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// The shortest Ethernet frame, without its checksum.
const ETHERNET_BYTES_MIN: usize = 60;

const TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const VERSION_AND_LENGTH: u8 = 0x45;
const TIME_TO_LIVE: u8 = 64;
const PROTOCOL_UDP: u8 = 17;

const BROADCAST: [u8; 6] = [0xff; 6];

/// The addresses of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    mac: [u8; 6],
    ip: Ipv4Addr,
}

impl Source {
    /// The hub of a swarm. Locally administered; boards' addresses begin with 02:00.
    const HUB: Self = Self { mac: [0x02, 0x01, 0, 0, 0, 1], ip: Ipv4Addr::new(10, 255, 255, 252) };

    /// Returns the addresses that a board of this id has.
    pub(crate) fn of(id: u32) -> Self {
        let [first, host @ ..] = id.to_be_bytes();
        let mac = [0x02, 0, first, host[0], host[1], host[2]];
        let host = match host {
            [0, 0, 0] => [255, 255, 254],
            [255, 255, 255] => [255, 255, 253],
            host => host,
        };
        Self { mac, ip: Ipv4Addr::new(10, host[0], host[1], host[2]) }
    }
}

/// Returns a frame as a board's Ethernet controller receives it: a broadcast.
///
/// # Panics
/// If the frame is longer than a UDP datagram.
#[must_use]
pub fn encapsulate(frame: &[u8]) -> Vec<u8> {
    encapsulate_from(Source::HUB, frame)
}

/// Returns a broadcast of a frame by this sender.
///
/// # Panics
/// If the frame is longer than a UDP datagram.
pub(crate) fn encapsulate_from(source: Source, frame: &[u8]) -> Vec<u8> {
    let udp_len = u16::try_from(UDP_BYTES + frame.len()).expect("a frame fits a datagram").to_be_bytes();
    let ip_len = u16::try_from(IP_BYTES + UDP_BYTES + frame.len()).expect("a frame fits a datagram").to_be_bytes();
    let (from, to) = (source.ip.octets(), Ipv4Addr::BROADCAST.octets());
    let port = PORT.to_be_bytes();

    let mut ip = [0; IP_BYTES];
    ip[0] = VERSION_AND_LENGTH;
    ip[2..4].copy_from_slice(&ip_len);
    (ip[8], ip[9]) = (TIME_TO_LIVE, PROTOCOL_UDP);
    ip[12..16].copy_from_slice(&from);
    ip[16..].copy_from_slice(&to);
    let sum = checksum(&[&ip]).to_be_bytes();
    ip[10..12].copy_from_slice(&sum);

    let pseudo = [&from[..], &to, &[0, PROTOCOL_UDP], &udp_len].concat();
    let udp = [port, port, udp_len, [0, 0]].concat();
    // A checksum of zero means that there is none.
    let sum = match checksum(&[&pseudo, &udp, frame]) {
        0 => [0xff, 0xff],
        sum => sum.to_be_bytes(),
    };
    let mut bytes = [&BROADCAST[..], &source.mac, &TYPE_IPV4, &ip, &port, &port, &udp_len, &sum, frame].concat();
    bytes.resize(bytes.len().max(ETHERNET_BYTES_MIN), 0);
    bytes
}

/// Returns the frame in a board's broadcast, if the bytes are one.
#[cfg(any(unix, test))]
pub(crate) fn decapsulate(bytes: &[u8]) -> Option<&[u8]> {
    let (ethernet, rest) = bytes.split_at_checked(ETHERNET_BYTES)?;
    let (ip, rest) = rest.split_at_checked(IP_BYTES)?;
    let (udp, rest) = rest.split_at_checked(UDP_BYTES)?;
    let is_ip = ethernet[..6] == BROADCAST && ethernet[12..] == TYPE_IPV4 && ip[0] == VERSION_AND_LENGTH;
    let is_ours = is_ip && ip[9] == PROTOCOL_UDP && udp[2..4] == PORT.to_be_bytes();
    let len = usize::from(u16::from_be_bytes([udp[4], udp[5]])).checked_sub(UDP_BYTES)?;
    if is_ours { rest.get(..len) } else { None }
}

/// The Internet checksum: the ones' complement of the ones' complement sum of all 16-bit words.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for part in parts {
        for word in part.chunks(2) {
            sum += u32::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_encapsulation() {
        for len in [1, 2, 17, 18, 19, 116, 1_400] {
            let frame: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
            let packet = encapsulate(&frame);
            assert!(packet.len() >= ETHERNET_BYTES_MIN);
            assert_eq!(decapsulate(&packet), Some(&frame[..]), "{len}");
        }
    }

    #[test]
    fn a_node_has_the_addresses_of_a_board_with_its_id() {
        let of = |id: u32| (Source::of(id).mac, Source::of(id).ip.octets());
        assert_eq!(of(0x0a01_0203), ([2, 0, 10, 1, 2, 3], [10, 1, 2, 3]));
        assert_eq!(of(0).1, [10, 255, 255, 254], "all zeros is the network");
    }

    #[test]
    fn checksums_verify() {
        let packet = encapsulate(b"an odd number of bytes!");
        let ip = &packet[ETHERNET_BYTES..ETHERNET_BYTES + IP_BYTES];
        assert_eq!(checksum(&[ip]), 0);
        let udp = &packet[ETHERNET_BYTES + IP_BYTES..];
        let pseudo = [&ip[12..20], &[0, PROTOCOL_UDP], &udp[4..6]].concat();
        assert_eq!(checksum(&[&pseudo, udp]), 0);
    }

    #[test]
    fn other_packets_are_dropped() {
        let good = encapsulate(b"hello");
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        assert_eq!(decapsulate(&changed(0, 2)), None, "to one board");
        assert_eq!(decapsulate(&changed(13, 6)), None, "ARP");
        assert_eq!(decapsulate(&changed(23, 1)), None, "ICMP");
        assert_eq!(decapsulate(&changed(37, 1)), None, "another port");
        assert_eq!(decapsulate(&changed(39, 200)), None, "a length beyond the end");
        assert_eq!(decapsulate(&good[..30]), None, "cut short");
        assert_eq!(decapsulate(&[]), None);
    }
}
