//! An insider: it opens what it receives and seals it again, with one number at its bounds, in the name of whoever sent it.

use crate::base::rng::{Rng, Stream};
use protocol::wire::{self, FRAME_MAX, Key, Packet};

/// The numbers it says: the bounds of boots, numbers, terms, times and capacities.
const SAID: [u64; 11] = [
    0,
    1,
    10_002, // the highest capacity, as it is advertised
    (1 << 16) - 1,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 2,
    (1 << 32) - 1,
    (1 << 42) - 1,
    u64::MAX,
];

/// Returns a frame as an insider sends it who heard this one; `None` where it has nothing to say.
pub(crate) fn lie(key: &Key, heard: &[u8], random: u64) -> Option<Box<[u8]>> {
    let rng = &mut Rng::new(random, Stream::Network);
    let mut buffer = [0; FRAME_MAX];
    let packet = wire::open(key, heard, &mut buffer).ok()?;
    let said = SAID[rng.below(SAID.len() as u64) as usize];
    let number = u32::try_from(said).unwrap_or(u32::MAX);
    let body = replaced(packet.body, said, rng)?;
    let lie = match rng.below(4) {
        0 => Packet { incarnation: number, ..packet },
        1 => Packet { seq: number, ..packet },
        // What its sender would say next.
        _ => Packet { seq: packet.seq.wrapping_add(1), body: &body, ..packet },
    };
    let mut sealed = [0; FRAME_MAX];
    let len = wire::seal(key, &lie, &mut sealed)?;
    Some(sealed[..len].into())
}

/// Returns a body with one of its numbers replaced.
fn replaced(body: &[u8], said: u64, rng: &mut Rng) -> Option<Vec<u8>> {
    let starts: Vec<usize> = (0..body.len()).filter(|&at| at == 0 || body[at - 1] < 128).collect();
    let from = *starts.get(rng.below(starts.len().max(1) as u64) as usize)?;
    let after = (from..body.len()).find(|&at| body[at] < 128)? + 1;
    let mut buffer = [0; 10];
    let len = wire::encode(&said, &mut buffer)?;
    Some([&body[..from], &buffer[..len], &body[after..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::wire::{Destination, Kind};

    #[test]
    fn every_lie_opens_and_says_something_else() {
        let key = Key::from_name("barn");
        let (destination, body) = (Destination::Broadcast, &[3, 200, 1, 7][..]);
        let truth = Packet { kind: Kind::new(16), sender: NodeId(4), incarnation: 2, seq: 9, destination, body };
        let mut frame = [0; FRAME_MAX];
        let len = wire::seal(&key, &truth, &mut frame).unwrap();
        for random in 0..100 {
            let lie = super::lie(&key, &frame[..len], random).unwrap();
            let mut buffer = [0; FRAME_MAX];
            let said = wire::open(&key, &lie, &mut buffer).unwrap();
            assert!(said != truth && said.sender == NodeId(4), "{said:?}");
        }
        assert_eq!(super::lie(&Key::from_name("shed"), &frame[..len], 1), None);
    }
}
