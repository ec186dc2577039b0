//! The host loop by hand: three nodes in a line elect the one with the highest capacity.
//!
//! Run it with `cargo run -p conclave-protocol --example three_nodes`.

use protocol::base::capacity::Capacity;
use protocol::base::membership::NoGroup;
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::election::Wireless;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Node, Stages};
use protocol::service::NoService;
use protocol::wire::{FRAME_MAX, Key};
use protocol::{Config, Instant, NodeId, Timing};
use std::collections::VecDeque;

pub(crate) fn main() {
    let key = Key::from_name("three nodes");
    let mut nodes: Vec<Node<Wireless, NoMutex, 8>> = (0_u8..)
        .zip([300, 200, 900])
        .map(|(index, capacity)| {
            let config = Config {
                me: NodeId(index.into()),
                key: key.clone(),
                hops: 1,
                may_lead: true,
                mode: Mode::Available,
                timing: Timing::LAN,
            };
            let capacity = Some(Capacity::new(capacity));
            let boot = Boot { records: Some(Records::FACTORY), capacity, seed: index.into() };
            let stages = Stages { election: Wireless::new(), mutex: NoMutex, service: NoService };
            Node::new(config, &NoGroup, boot, Instant::ZERO, stages).expect("a valid configuration")
        })
        .collect();
    let mut now = Instant::ZERO;
    let mut air: VecDeque<(usize, Vec<u8>)> = VecDeque::new();
    let mut buffer = [0; FRAME_MAX];
    while now < Instant::from_micros(3_000_000) {
        // One input: the next frame in flight, or a timeout. Node 1 is in range of both others.
        if let Some((sender, bytes)) = air.pop_front() {
            for index in (0..3).filter(|index: &usize| index.abs_diff(sender) == 1) {
                nodes[index].handle(now, Input::Frame { bytes: &bytes, quality: u8::MAX });
            }
        } else {
            now = nodes.iter().filter_map(Node::deadline).min().expect("a node always has a deadline").max(now);
            for node in &mut nodes {
                node.handle(now, Input::Timeout);
            }
        }
        // Then poll until nothing is left: persist, transmit, notify.
        for (index, node) in nodes.iter_mut().enumerate() {
            while let Some(_records) = node.poll_persist() {} // a board writes them to flash
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
