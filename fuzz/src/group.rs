//! A small group that runs by itself, whose frames are what inputs are made of.

use crate::driver::{Driver, GROUP};
use protocol::NodeId;
use protocol::registry::{AnyElection, AnyMutex};
use protocol::wire::{self, Cipher as _, FRAME_MAX, Key};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The key that all frames of the targets are sealed with.
pub(crate) fn key() -> Key {
    let members: Vec<NodeId> = (0..GROUP).map(NodeId).collect();
    Key::from_name("fuzz").for_group(&members)
}

/// How many pairs of an election and a lock there are.
const PAIRS: u8 = (AnyElection::NAMES.len() * AnyMutex::NAMES.len()) as u8;

/// Runs a group for four seconds; `each` is called with every frame. Every member asks for a lock after two.
fn run(choice: u8, mut each: impl FnMut(&[u8])) -> Vec<Driver> {
    let mut nodes: Vec<Driver> = (0..GROUP).map(|me| Driver::member(choice, me)).collect();
    for millis in (0..4_000_u32).step_by(20) {
        for at in 0..nodes.len() {
            if millis == 2_000 {
                nodes[at].acquire(0);
            }
            nodes[at].wait(20);
            for frame in nodes[at].take_sent() {
                each(&frame);
                let others = nodes.iter_mut().enumerate().filter(|(to, _)| *to != at);
                others.for_each(|(_, node)| node.receive(&frame));
            }
        }
    }
    nodes
}

/// The first member of a group that has run for a while.
pub(crate) fn warmed(choice: u8) -> Driver {
    thread_local! {
        static WARM: RefCell<BTreeMap<u8, Driver>> = const { RefCell::new(BTreeMap::new()) };
    }
    let choice = choice % PAIRS;
    WARM.with_borrow_mut(|warm| warm.entry(choice).or_insert_with(|| run(choice, |_| {}).swap_remove(0)).clone())
}

/// One frame of every kind and message that a group of each pair of algorithms sends.
pub(crate) fn frames() -> Vec<Vec<u8>> {
    let mut found = BTreeMap::new();
    for choice in 0..PAIRS {
        run(choice, |frame| {
            let mut buffer = [0; FRAME_MAX];
            if let Ok(packet) = wire::open(&key(), frame, &mut buffer) {
                found.insert((packet.kind.byte(), packet.body.first().copied()), frame.to_vec());
            }
        });
    }
    found.into_values().collect()
}

/// The kinds and bodies of these frames, as [`sealed`](crate::sealed) reads them.
pub(crate) fn packets() -> Vec<Vec<u8>> {
    let kinds: Vec<_> = protocol::registry::kinds().collect();
    let packet = |frame: Vec<u8>| {
        let mut buffer = [0; FRAME_MAX];
        let packet = wire::open(&key(), &frame, &mut buffer).ok()?;
        let kind = kinds.iter().position(|(kind, _)| *kind == packet.kind)?;
        let named = |names: &[&str]| names.iter().position(|name| *name == kinds[kind].1);
        let of_mutex = named(AnyMutex::NAMES).map(|at| at * AnyElection::NAMES.len());
        let choice = named(AnyElection::NAMES).or(of_mutex).unwrap_or(0);
        let reliable = u8::from(matches!(packet.destination, wire::Destination::Reliable(_)));
        let head = [choice, kind].map(|number| u8::try_from(number).unwrap_or(0));
        Some([&head[..], &[1, 1, 1, reliable], packet.body].concat())
    };
    frames().into_iter().filter_map(packet).collect()
}

/// Some of them one after the other, with commands, times and reboots between them, as [`Driver::play`] reads them.
pub(crate) fn scripts() -> Vec<Vec<u8>> {
    let packets = packets();
    let script = |(number, chunk): (usize, &[Vec<u8>])| {
        let warm = if number % 2 == 0 { WARM } else { 0 };
        let mut script = vec![chunk[0][0] | warm];
        for packet in chunk {
            script.extend([0, u8::try_from(packet.len() - 1).unwrap_or(u8::MAX)]);
            script.extend(&packet[1..]);
            script.extend([1, 40, 2, packet[1]]);
        }
        script.extend([4, 0, 1, 200, 4, 1]);
        script
    };
    packets.chunks(6).enumerate().map(script).collect()
}

/// The bit of a choice that asks for a member of a group that has run for a while.
pub(crate) const WARM: u8 = 128;
