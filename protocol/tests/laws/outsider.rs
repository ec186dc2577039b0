//! Frames that nobody with the key sent: recordings, and every frame with any bit flipped, cut off anywhere, or sealed with
//! another key. None of them changes anything but a counter.

use crate::support::net::TestNode;
use crate::support::prelude::*;
use protocol::base::quorum::Mode;
use protocol::election::{Bully, Election, Wireless};
use protocol::mutex::{Central, Lamport, Maekawa, Raymond, RicartAgrawala, SuzukiKasami, TokenRing, Voting};
use protocol::node::Input;
use protocol::registry::AnyElection;
use protocol::service::app_service::{Command, ObservedApp};
use protocol::service::demo::{Diffusing, diffusing};
use protocol::service::requests::{self, Requests};
use protocol::service::termination::Wave;
use protocol::service::{Commit, Sequencer, Service, commit, sequencer};
use protocol::wire::{self, FRAME_MAX, Key};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use std::rc::Rc;

/// Everything a node knows, without its counters.
fn state(node: &impl std::fmt::Debug) -> String {
    let all = format!("{node:?}");
    let (before, counters) = all.split_once("counters: Counters {").expect("a node counts");
    let (_, after) = counters.split_once('}').expect("the counters end");
    [before, after].concat()
}

/// Asserts that these bytes change nothing at `nodes` but one counter by one.
fn changes_nothing<E: Election, M: Mutex, S: Service, const N: usize>(
    net: &Net<E, M, S, N>,
    nodes: Range<usize>,
    bytes: &[u8],
    what: &str,
) where
    TestNode<E, M, S, N>: Clone + Debug,
{
    for index in nodes {
        let node = net.node(index);
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
        let name = protocol::registry::message_name(key, bytes);
        found.insert((packet.kind.byte(), packet.body.first().copied(), name), bytes.clone());
    }
    found.into_values().collect()
}

/// Every kind and variant of frame that a network has sent, with every bit flipped, of every length, and of another group;
/// and all that it has sent, again.
fn nothing_changes<E: Election, M: Mutex, S: Service, const N: usize>(net: &Net<E, M, S, N>)
where
    TestNode<E, M, S, N>: Clone + Debug,
{
    let (key, count) = (net.key(), net.nodes.len());
    // Nodes take turns: all of them read every frame, and each bit and length at one of them.
    let turn = |number: usize| number % count..number % count + 1;
    for frame in templates(&key, &net.sent) {
        let name = protocol::registry::message_name(&key, &frame).unwrap();
        for bit in 0..frame.len() * 8 {
            let mut broken = frame.to_vec();
            broken[bit / 8] ^= 1 << (bit % 8);
            changes_nothing(net, turn(bit), &broken, &format!("{name} with bit {bit} flipped"));
        }
        for len in 0..frame.len() {
            changes_nothing(net, turn(len), &frame[..len], &format!("{name} cut to {len} bytes"));
        }
        let longer = [&frame[..], &[0; FRAME_MAX]].concat();
        for len in frame.len() + 1..FRAME_MAX + 2 {
            changes_nothing(net, turn(len), &longer[..len], &format!("{name} made {len} bytes long"));
        }
        let mut buffer = [0; FRAME_MAX];
        let packet = wire::open(&key, &frame, &mut buffer).unwrap();
        let later = wire::Packet { seq: packet.seq + 1_000, ..packet };
        let mut foreign = [0; FRAME_MAX];
        let len = wire::seal(&Key::from_name("another"), &later, &mut foreign).unwrap();
        changes_nothing(net, 0..count, &foreign[..len], &format!("{name} of another group"));
    }
    // Everything ever sent, within the boots it was sent in; to its sender, too.
    for (sender, frame) in &net.sent {
        changes_nothing(net, 0..count, frame, &format!("a recording of node {sender}"));
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

fn no_frame_changes_a_lock<M: TestMutex + Debug>(kind: Kind, lock: M)
where
    M::Message: Clone + Debug,
{
    let mut locks = LockNet::new(3, kind, lock);
    locks.enter(0).acquire(1).run_ms(50).renew(0).run_ms(50).release(0).await_holder(1);
    locks.try_acquire(2).run_ms(50).acquire(0).run_ms(50).cancel(0).release(1).run_ms(500);
    nothing_changes(&locks.net);
}

macro_rules! of_every_lock {
    ($($name:ident: $lock:ty),+ $(,)?) => {
        $(#[test]
        fn $name() {
            no_frame_changes_a_lock(<$lock>::KIND, <$lock>::default());
        })+
    };
}

of_every_lock! {
    no_frame_of_an_outsider_changes_central: Central,
    no_frame_of_an_outsider_changes_token_ring: TokenRing,
    no_frame_of_an_outsider_changes_raymond: Raymond,
    no_frame_of_an_outsider_changes_suzuki_kasami: SuzukiKasami,
    no_frame_of_an_outsider_changes_lamport: Lamport,
    no_frame_of_an_outsider_changes_ricart_agrawala: RicartAgrawala,
    no_frame_of_an_outsider_changes_maekawa: Maekawa,
    no_frame_of_an_outsider_changes_voting: Voting,
}

/// A group of three with a service, which has a leader.
fn group<S: Service + Clone + 'static>(service: S) -> Net<Bully, NoMutex, S, SERVICE_ROOM> {
    let make = move |index| (Config { mode: Mode::Quorum, hops: 1, ..config(index) }, service.clone());
    let mut net = Net::with_service(3, (RELIABLE, 1), complete, make);
    net.run_secs(15);
    net
}

#[test]
fn no_frame_of_an_outsider_changes_the_order_of_messages() {
    let mut net = group(Sequencer::<4>::new());
    for index in [0, 1, 2] {
        let payload = sequencer::Payload::from_slice(b"open").unwrap();
        net.put(index, Input::Service(sequencer::Command::Submit(payload)));
        net.run_secs(1);
    }
    net.relink(|from, to| from < 2 && to < 2).run_secs(20).relink(complete).run_secs(40); // other leaders, and back
    nothing_changes(&net);
}

#[test]
fn no_frame_of_an_outsider_changes_a_transaction() {
    let mut net = group(Commit::new());
    for index in [0, 1, 2] {
        let change = commit::Change::from_slice(b"open").unwrap();
        net.put(index, Input::Service(commit::Command::Propose(change)));
        net.run_secs(1);
    }
    nothing_changes(&net);
}

#[test]
fn no_frame_of_an_outsider_changes_a_snapshot_or_a_job() {
    let mut net = group(ObservedApp::<_, _, 4>::all(Diffusing::new(Duration::from_millis(200)), Wave::<4>::new()));
    net.put(1, Input::Service(Command::Application(diffusing::Command::Start { units: 5 })));
    net.put(1, Input::Service(Command::SNAPSHOT));
    net.put(1, Input::Service(Command::DETECT_TERMINATION));
    net.run_secs(8);
    nothing_changes(&net);
}

#[test]
fn no_frame_of_an_outsider_changes_a_request() {
    let make = |index| (config(index), Wireless::new(), Requests::new());
    let mut net = Net::ungrouped(3, (RELIABLE, 1), complete, make).started();
    net.run_secs(15);
    let bytes = requests::Bytes::from_slice(b"how are you").unwrap();
    net.put(0, Input::Service(requests::Command::Request { bytes: bytes.clone(), repeatable: false }));
    net.run_secs(1);
    let asked = net.service_notices.iter().find_map(|(_, index, notice)| match notice {
        requests::Notice::Request { id, .. } => Some((*index, *id)),
        _ => None, // to the requester
    });
    let (leader, id) = asked.expect("the leader is asked");
    net.put(leader, Input::Service(requests::Command::Answer { id, bytes }));
    net.run_secs(3);
    nothing_changes(&net);
}
