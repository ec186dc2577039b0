//! Frames that nobody with the key sent: recordings, and every frame with any bit flipped, cut off anywhere, or sealed with
//! another key. None of them changes anything but a counter.

use crate::support::prelude::*;
use protocol::election::Election;
use protocol::mutex::Central;
use protocol::node::Input;
use protocol::registry::AnyElection;
use protocol::wire::{self, FRAME_MAX, Key};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Everything a node knows, without its counters.
fn state(node: &impl std::fmt::Debug) -> String {
    let all = format!("{node:?}");
    let (before, counters) = all.split_once("counters: Counters {").expect("a node counts");
    let (_, after) = counters.split_once('}').expect("the counters end");
    [before, after].concat()
}

/// Asserts that these bytes change nothing at any node but one counter by one.
fn changes_nothing<E: Election + Clone + std::fmt::Debug, M: Mutex + Clone + std::fmt::Debug>(
    net: &Net<E, M>,
    bytes: &[u8],
    what: &str,
) where
    E::Message: std::fmt::Debug,
    M::Message: std::fmt::Debug,
{
    for (index, node) in net.nodes.iter().enumerate() {
        let Some(node) = node else { continue };
        let mut attacked = node.clone();
        attacked.handle(net.local(index), Input::Frame { bytes, quality: u8::MAX });
        assert!(attacked.counters() != node.counters(), "{what} is counted at node {index}");
        assert_eq!(state(&attacked), state(node), "{what} at node {index}");
        assert_eq!(attacked.poll_transmit(net.local(index), &mut [0; FRAME_MAX]), None, "{what} is not answered");
    }
}

/// One frame of every kind and variant on a tape.
fn templates(key: &Key, tape: &[(usize, Rc<[u8]>)]) -> Vec<Rc<[u8]>> {
    let mut found = BTreeMap::new();
    for (_, bytes) in tape {
        let mut buffer = [0; FRAME_MAX];
        let packet = wire::open(key, bytes, &mut buffer).unwrap();
        found.insert((packet.kind.byte(), packet.body.first().copied()), bytes.clone());
    }
    found.into_values().collect()
}

fn nothing_changes<E: Election + Clone + std::fmt::Debug, M: Mutex + Clone + std::fmt::Debug>(net: &Net<E, M>)
where
    E::Message: std::fmt::Debug,
    M::Message: std::fmt::Debug,
{
    let key = net.key();
    for frame in templates(&key, &net.sent) {
        let name = protocol::registry::message_name(&key, &frame).unwrap();
        for bit in 0..frame.len() * 8 {
            let mut broken = frame.to_vec();
            broken[bit / 8] ^= 1 << (bit % 8);
            changes_nothing(net, &broken, &format!("{name} with bit {bit} flipped"));
        }
        for len in 0..frame.len() {
            changes_nothing(net, &frame[..len], &format!("{name} cut to {len} bytes"));
        }
        let longer = [&frame[..], &[0; FRAME_MAX]].concat();
        for len in frame.len() + 1..FRAME_MAX + 2 {
            changes_nothing(net, &longer[..len], &format!("{name} made {len} bytes long"));
        }
        let mut buffer = [0; FRAME_MAX];
        let packet = wire::open(&key, &frame, &mut buffer).unwrap();
        let later = wire::Packet { seq: packet.seq + 1_000, ..packet };
        let mut foreign = [0; FRAME_MAX];
        let len = wire::seal(&Key::from_name("another"), &later, &mut foreign).unwrap();
        changes_nothing(net, &foreign[..len], &format!("{name} of another group"));
    }
    // Everything ever sent, within the boots it was sent in; to its sender, too.
    for (sender, frame) in &net.sent {
        changes_nothing(net, frame, &format!("a recording of node {sender}"));
    }
}

#[test]
fn no_frame_of_an_outsider_changes_an_election() {
    for name in AnyElection::NAMES {
        let make = |index| (config(index), AnyElection::by_name(name).unwrap(), NoMutex);
        let mut net = Net::new(3, complete, make).in_group();
        net.run_secs(8);
        nothing_changes(&net);
    }
}

#[test]
fn no_frame_of_an_outsider_changes_a_lock() {
    let mut locks = LockNet::new(3, Central::KIND, Central::default());
    locks.enter(0).acquire(1).run_ms(50).release(0).await_holder(1);
    locks.release(1).run_ms(500);
    nothing_changes(&locks.net);
}
