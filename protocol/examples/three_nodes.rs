//! The host loop by hand: three nodes in a line elect the best of them.
//!
//! Run it with `cargo run -p protocol --example three_nodes`.

use protocol::capacity::Capacity;
use protocol::election::Wireless;
use protocol::mandate::Mode;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Node};
use protocol::records::Records;
use protocol::wire::{FRAME_MAX, Key};
use protocol::{Config, Instant, NodeId, Timing};
use std::collections::VecDeque;

fn main() {
    let key = Key::from_name("three nodes");
    let mut nodes: Vec<Node<Wireless, NoMutex, 8>> = (0_u8..3)
        .map(|index| {
            let config = Config {
                me: NodeId(index.into()),
                key,
                hops: 1,
                may_lead: true,
                mode: Mode::Available,
                timing: Timing::LAN,
            };
            let boot = Boot { records: Some(Records::FACTORY), seed: index.into() };
            Node::new(config, boot, Instant::ZERO, Wireless::new(), NoMutex).expect("a sound configuration")
        })
        .collect();
    for (index, capacity) in [300, 200, 900].into_iter().enumerate() {
        nodes[index].handle(Instant::ZERO, Input::Capacity(Some(Capacity::new(capacity))));
    }
    let mut now = Instant::ZERO;
    let mut air: VecDeque<(usize, Vec<u8>)> = VecDeque::new();
    let mut buffer = [0; FRAME_MAX];
    while now < Instant::from_micros(3_000_000) {
        // One input: a frame that is in the air, or the time that has come. Node 1 hears both others.
        if let Some((sender, bytes)) = air.pop_front() {
            for index in (0..3).filter(|index: &usize| index.abs_diff(sender) == 1) {
                nodes[index].handle(now, Input::Frame { bytes: &bytes, quality: u8::MAX });
            }
        } else {
            now = nodes.iter().filter_map(Node::deadline).min().expect("nodes always wait for something").max(now);
            for node in &mut nodes {
                node.handle(now, Input::Timeout);
            }
        }
        // Then persist, transmit, notify until there is nothing left.
        for (index, node) in nodes.iter_mut().enumerate() {
            while let Some(_records) = node.poll_persist() {} // a board writes them to flash here
            while let Some(frame) = node.poll_transmit(now, &mut buffer) {
                air.push_back((index, frame.to_vec()));
            }
            while let Some(notice) = node.poll_notice() {
                println!("{:>7} us  node {index}: {notice:?}", now.as_micros());
            }
        }
    }
    assert!(nodes.iter().all(|node| node.leader().is_some_and(|(leader, _)| leader == NodeId(2))));
}
