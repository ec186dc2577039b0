//! What an Ethernet board puts around a frame: Ethernet, IPv4 and UDP headers.
//!
//! The air carries the protocol's frames and nothing else, so that a radio's airtime, a flipped bit and the limit on a
//! frame's length mean the same for a board as in the simulator. What a board broadcasts is unwrapped before it goes on
//! the air, and wrapped again, under one address for all senders, for each board that hears it. Whatever is no UDP
//! broadcast on the nodes' port (a board asking for an address, say) goes nowhere.

use std::net::Ipv4Addr;

/// The UDP port all nodes share.
pub(super) const PORT: u16 = 47_800;

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// The shortest Ethernet frame, without its checksum.
const ETHERNET_BYTES_MIN: usize = 60;

const TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const VERSION_AND_LENGTH: u8 = 0x45;
const TIME_TO_LIVE: u8 = 64;
const PROTOCOL_UDP: u8 = 17;

const EVERYONE: [u8; 6] = [0xff; 6];
/// Locally administered, and no board's: theirs begin with 02:00.
const AIR: [u8; 6] = [0x02, 0x01, 0, 0, 0, 1];
const AIR_IP: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 252);

/// A frame as a board's Ethernet controller hears it: broadcast, from the air.
///
/// # Panics
/// Where the frame is longer than UDP can say.
#[must_use]
pub fn wrap(frame: &[u8]) -> Vec<u8> {
    let udp_len = u16::try_from(UDP_BYTES + frame.len()).expect("a frame fits a datagram").to_be_bytes();
    let ip_len = u16::try_from(IP_BYTES + UDP_BYTES + frame.len()).expect("a frame fits a datagram").to_be_bytes();
    let (from, to) = (AIR_IP.octets(), Ipv4Addr::BROADCAST.octets());
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
    // The checksum zero means that there is none.
    let sum = match checksum(&[&pseudo, &udp, frame]) {
        0 => [0xff, 0xff],
        sum => sum.to_be_bytes(),
    };
    let mut bytes = [&EVERYONE[..], &AIR, &TYPE_IPV4, &ip, &port, &port, &udp_len, &sum, frame].concat();
    bytes.resize(bytes.len().max(ETHERNET_BYTES_MIN), 0);
    bytes
}

/// The frame that a board broadcast, if that is what these bytes are.
#[must_use]
pub(super) fn unwrap(bytes: &[u8]) -> Option<&[u8]> {
    let (ethernet, rest) = bytes.split_at_checked(ETHERNET_BYTES)?;
    let (ip, rest) = rest.split_at_checked(IP_BYTES)?;
    let (udp, rest) = rest.split_at_checked(UDP_BYTES)?;
    let is_ip = ethernet[..6] == EVERYONE && ethernet[12..] == TYPE_IPV4 && ip[0] == VERSION_AND_LENGTH;
    let is_ours = is_ip && ip[9] == PROTOCOL_UDP && udp[2..4] == PORT.to_be_bytes();
    let len = usize::from(u16::from_be_bytes([udp[4], udp[5]])).checked_sub(UDP_BYTES)?;
    if is_ours { rest.get(..len) } else { None }
}

/// The Internet checksum: the complement of the sum of all 16-bit words, carries added in.
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
    fn what_is_wrapped_unwraps_as_it_was() {
        for len in [1, 2, 17, 18, 19, 116, 1_400] {
            let frame: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
            let wrapped = wrap(&frame);
            assert!(wrapped.len() >= ETHERNET_BYTES_MIN);
            assert_eq!(unwrap(&wrapped), Some(&frame[..]), "{len}");
        }
    }

    #[test]
    fn checksums_are_right_where_the_sum_over_them_is_all_ones() {
        let wrapped = wrap(b"an odd number of bytes!");
        let ip = &wrapped[ETHERNET_BYTES..ETHERNET_BYTES + IP_BYTES];
        assert_eq!(checksum(&[ip]), 0);
        let udp = &wrapped[ETHERNET_BYTES + IP_BYTES..];
        let pseudo = [&ip[12..20], &[0, PROTOCOL_UDP], &udp[4..6]].concat();
        assert_eq!(checksum(&[&pseudo, udp]), 0);
    }

    #[test]
    fn what_is_no_broadcast_of_a_node_is_nothing() {
        let good = wrap(b"hello");
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        assert_eq!(unwrap(&changed(0, 2)), None, "to one board");
        assert_eq!(unwrap(&changed(13, 6)), None, "ARP");
        assert_eq!(unwrap(&changed(23, 1)), None, "ICMP");
        assert_eq!(unwrap(&changed(37, 1)), None, "another port");
        assert_eq!(unwrap(&changed(39, 200)), None, "a length beyond the end");
        assert_eq!(unwrap(&good[..30]), None, "cut short");
        assert_eq!(unwrap(&[]), None);
    }
}
