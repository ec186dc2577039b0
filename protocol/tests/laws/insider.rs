//! A holder of the key that says anything: every number of every message at its bounds. Once it is gone, the others have
//! one leader within ten seconds, locks are granted with growing fences, and all that holds after a reboot too.

use crate::support::prelude::*;
use protocol::base::ceiling::{STEP, TIMES_BLOCK};
use protocol::base::records::Records;
use protocol::election::{Election, Wireless};
use protocol::mutex::{Central, Lamport, Maekawa, Raymond, RicartAgrawala, SuzukiKasami, TokenRing, Voting};
use protocol::node::Input;
use protocol::registry::AnyElection;
use protocol::service::Service;
use protocol::wire::{self, Attempt, Destination, FRAME_MAX, Key, Packet, ReliableHeader};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The numbers it says: the bounds of every type that travels.
const SAID: [u64; 11] = [
    0,
    1,
    13_500, // the highest capacity, that of an appointed incumbent
    13_502, // as heartbeats advertise it
    (1 << 16) - 1,
    (1 << 32) - 2,
    (1 << 32) - 1,
    LamportTime::MAX.0 - 1,
    LamportTime::MAX.0,
    u64::MAX - 1,
    u64::MAX,
];

/// Frames said to one group: as many as a node may take for bad luck before it must not.
pub(crate) const BATCH: usize = 16;

/// The insider: the first member of its group, which has crashed.
pub(crate) const INSIDER: usize = 0;

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number.to_le_bytes()[0] | 128);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
    bytes
}

/// A message with each of its numbers replaced by `said`, one at a time.
fn replaced(body: &[u8], said: u64) -> Vec<Vec<u8>> {
    let ends = |from: usize| (from..body.len()).find(|&at| body[at] < 128).map(|last| last + 1);
    let starts = (0..body.len()).filter(|&at| at == 0 || body[at - 1] < 128);
    starts.filter_map(|at| Some([&body[..at], &varint(said), &body[ends(at)?..]].concat())).collect()
}

/// One frame of every kind and variant on a tape.
fn templates(key: &Key, tape: &[(usize, Rc<[u8]>)]) -> Vec<(Kind, Destination, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for (_, bytes) in tape {
        let mut buffer = [0; FRAME_MAX];
        let packet = wire::open(key, bytes, &mut buffer).unwrap();
        let name = protocol::registry::message_name(key, bytes);
        let variant = (packet.kind.byte(), packet.body.first().copied(), name, packet.body.len() / 8);
        found.entry(variant).or_insert((packet.kind, packet.destination.clone(), packet.body.to_vec()));
    }
    found.into_values().collect()
}

/// Every message with every number at every bound, from the insider; `boot` is its present one.
pub(crate) fn everything(key: &Key, me: NodeId, boot: u32, tape: &[(usize, Rc<[u8]>)]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut seq = 1 << 20; // above all it has sent
    let mut say = |kind, destination: &Destination, body: &[u8], seq: u32| {
        let packet = Packet { kind, sender: me, incarnation: boot, seq, destination: destination.clone(), body };
        let mut buffer = [0; FRAME_MAX];
        if let Some(len) = wire::seal(key, &packet, &mut buffer) {
            frames.push(buffer[..len].to_vec());
        }
    };
    for (kind, destination, body) in templates(key, tape) {
        for said in SAID {
            for body in replaced(&body, said) {
                seq += 1;
                say(kind, &destination, &body, seq);
            }
            let Destination::Reliable(header) = &destination else { continue };
            let number = u32::try_from(said).unwrap_or(u32::MAX);
            for attempt in [
                Attempt { seq: number, ..header.attempt },
                Attempt { sent_at: LamportTime(said), ..header.attempt },
                Attempt { hop_limit: number.to_le_bytes()[0], ..header.attempt },
            ] {
                seq += 1;
                say(kind, &Destination::Reliable(ReliableHeader { attempt, ..header.clone() }), &body, seq);
            }
        }
    }
    frames
}

pub(crate) fn say_to_all<E: Election, M: Mutex, S: Service, const N: usize>(
    net: &mut Net<E, M, S, N>,
    frames: &[Vec<u8>],
) {
    for bytes in frames {
        for index in net.up() {
            net.put(index, Input::Frame { bytes, quality: u8::MAX });
        }
        net.run(Duration::from_millis(5));
    }
}

pub(crate) fn reboot<E: Election, M: Mutex, S: Service, const N: usize>(net: &mut Net<E, M, S, N>) {
    for index in net.up() {
        net.crash(index);
        net.boot(index);
    }
}

fn a_leader_is_found_again(name: &'static str) {
    let group = || {
        let make = |index| (config(index), AnyElection::by_name(name).unwrap(), NoMutex);
        let mut net = Net::new(4, complete, make).in_group();
        net.run_secs(15).crash(3).run_secs(8).boot(3).run_secs(15); // elections, handovers, returns
        net
    };
    let mut net = group();
    let frames = everything(&net.key(), config(INSIDER).me, 1, &net.sent);
    for (number, said) in frames.chunks(BATCH).enumerate() {
        if number > 0 {
            net = group();
        }
        net.crash(INSIDER);
        say_to_all(&mut net, said);
        net.run_secs(10);
        assert!(net.leader().is_some(), "{name}, batch {number}: {:?}", net.leaders());
        reboot(&mut net);
        net.run_secs(20);
        assert!(net.leader().is_some(), "{name}, batch {number}, rebooted: {:?}", net.leaders());
    }
}

macro_rules! of_every_election {
    ($($test:ident: $name:literal),+ $(,)?) => {
        $(#[test]
        fn $test() {
            a_leader_is_found_again($name);
        })+

        #[test]
        fn no_election_is_forgotten() {
            assert_eq!([$($name),+].len(), AnyElection::NAMES.len());
        }
    };
}

of_every_election! {
    wireless_survives_an_insider: "wireless",
    wireless_flat_survives_an_insider: "wireless-flat",
    bully_survives_an_insider: "bully",
    ring_survives_an_insider: "ring",
    chang_roberts_survives_an_insider: "chang-roberts",
    lelann_survives_an_insider: "lelann",
    clusters_survive_an_insider: "clusters",
    invitation_survives_an_insider: "invitation",
}

fn a_lock_is_granted_again<M: TestMutex + Default>(kind: Kind) {
    let group = || {
        let mut locks = LockNet::new(4, kind, M::default());
        for index in [0, 1, 0] {
            locks.enter(index).acquire(2).run_ms(50).release(index).await_holder(2);
            locks.release(2);
        }
        locks
    };
    let mut locks = group();
    let frames = everything(&locks.net.key(), config(INSIDER).me, 1, &locks.net.sent);
    for (number, said) in frames.chunks(BATCH).enumerate() {
        if number > 0 {
            locks = group();
        }
        locks.crash(INSIDER);
        say_to_all(&mut locks.net, said);
        locks.run_secs(10);
        locks.enter(1).release(1).enter(2).release(2);
        reboot(&mut locks.net);
        locks.run_secs(20);
        locks.enter(2).release(2).enter(1).release(1);
    }
}

macro_rules! of_every_lock {
    ($($name:ident: $lock:ty),+ $(,)?) => {
        $(#[test]
        fn $name() {
            a_lock_is_granted_again::<$lock>(<$lock>::KIND);
        })+
    };
}

of_every_lock! {
    central_survives_an_insider: Central,
    token_ring_survives_an_insider: TokenRing,
    raymond_survives_an_insider: Raymond,
    suzuki_kasami_survives_an_insider: SuzukiKasami,
    lamport_survives_an_insider: Lamport,
    ricart_agrawala_survives_an_insider: RicartAgrawala,
    maekawa_survives_an_insider: Maekawa,
    voting_survives_an_insider: Voting,
}

/// The member in whose name the insider sends: the leader.
const VICTIM: usize = 3;

/// Frames in another's name, each with a boot and a number at their bounds; `boot` is the present one.
fn in_its_name(key: &Key, boot: u32, tape: &[(usize, Rc<[u8]>)]) -> Vec<Vec<u8>> {
    let of_victim = tape.iter().rev().find(|(sender, _)| *sender == VICTIM).expect("it has sent");
    let mut buffer = [0; FRAME_MAX];
    let packet = wire::open(key, &of_victim.1, &mut buffer).unwrap();
    let mut frames = Vec::new();
    for incarnation in [0, 1, boot, boot + 1, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX] {
        for seq in [0, 1, packet.seq + 1, packet.seq + STEP, u32::MAX - 1, u32::MAX] {
            let said = Packet { incarnation, seq, ..packet.clone() };
            let mut buffer = [0; FRAME_MAX];
            let len = wire::seal(key, &said, &mut buffer).unwrap();
            frames.push(buffer[..len].to_vec());
        }
    }
    frames
}

fn nobody_is_locked_out(name: &'static str) {
    let make = |index| (config(index), AnyElection::by_name(name).unwrap(), NoMutex);
    let group = || {
        let mut net = Net::new(4, complete, make).in_group();
        net.run_secs(70);
        assert_eq!(net.leader(), Some(config(VICTIM).me), "{name}");
        net
    };
    let net = group();
    for (number, frame) in in_its_name(&net.key(), 1, &net.sent).into_iter().enumerate() {
        let mut net = group();
        net.crash(INSIDER);
        say_to_all(&mut net, &[frame]);
        net.run_secs(10);
        assert!(net.leader().is_some(), "{name}, frame {number}: {:?}", net.leaders());
        reboot(&mut net);
        net.run_secs(40);
        let leaders = net.leaders();
        assert_eq!(net.leader(), Some(config(VICTIM).me), "{name}, frame {number}, rebooted: {leaders:?}");
    }
}

#[test]
fn no_neighbour_is_locked_out_by_a_frame_in_its_name() {
    nobody_is_locked_out("wireless");
}

#[test]
fn no_member_is_locked_out_by_a_frame_in_its_name() {
    nobody_is_locked_out("bully");
}

#[test]
fn a_frame_in_its_name_that_a_node_does_not_hear_is_told_by_its_peers() {
    for boot in [2, 1 << 31, u32::MAX] {
        let mut net = Net::new(3, complete, |index| (config(index), Wireless::new(), NoMutex)).started();
        net.run_secs(70);
        let tape = net.sent.clone();
        let hello = tape.iter().rev().find(|(sender, _)| *sender == 2).expect("it has sent");
        let mut buffer = [0; FRAME_MAX];
        let packet = wire::open(&net.key(), &hello.1, &mut buffer).unwrap();
        let mut forged = [0; FRAME_MAX];
        let len = wire::seal(&net.key(), &Packet { incarnation: boot, seq: 1, ..packet }, &mut forged).unwrap();
        for index in [0, 1] {
            net.put(index, Input::Frame { bytes: &forged[..len], quality: u8::MAX });
        }
        net.run_secs(60);
        assert_eq!(net.leader(), Some(config(2).me), "{boot}: {:?}", net.leaders());
        assert_eq!(net.node(0).neighbours().count(), 2, "{boot}");
    }
}

#[test]
fn a_node_that_lost_its_records_is_not_locked_out_by_another_drawn_boot() {
    let mut net = Net::new(3, complete, |index| (config(index), Wireless::new(), NoMutex)).started();
    net.run_secs(5).crash(2).boot_with(2, None).run_secs(70);
    let tape = net.sent.clone();
    let hello = tape.iter().rev().find(|(sender, _)| *sender == 2).expect("it has sent");
    let mut buffer = [0; FRAME_MAX];
    let packet = wire::open(&net.key(), &hello.1, &mut buffer).unwrap();
    let mut forged = [0; FRAME_MAX];
    let drawn = packet.incarnation ^ 0xff;
    let len = wire::seal(&net.key(), &Packet { incarnation: drawn, seq: 1, ..packet }, &mut forged).unwrap();
    for index in 0..3 {
        net.put(index, Input::Frame { bytes: &forged[..len], quality: u8::MAX });
    }
    net.run_secs(60);
    assert_eq!((net.leader(), net.node(0).neighbours().count()), (Some(config(2).me), 2), "{:?}", net.leaders());
}

#[test]
fn two_nodes_with_one_id_are_reported_by_both_and_one_of_them_works() {
    for boots in [[0, 0], [0, 5], [7, 2]] {
        let twin = |index: usize| Config { me: config(index.min(2)).me, ..config(index) };
        let mut net = Net::new(4, complete, move |index| (twin(index), Wireless::new(), NoMutex)).started();
        for (index, incarnation) in [2, 3].into_iter().zip(boots) {
            net.boot_with(index, Some(Records { incarnation, ..Records::FACTORY }));
        }
        net.run_secs(120);
        for index in [2, 3] {
            assert!(net.node(index).counters().same_id > 0, "{boots:?}: node {index} has noticed");
        }
        assert!(net.node(0).neighbours().any(|id| id == config(2).me), "{boots:?}");
    }
}

/// Two networks that were apart for long: the terms and the Lamport times of one are ahead.
const APART: [u32; 4] = [1, STEP - 100, STEP + 100, 3 * STEP];

#[test]
fn networks_merge_however_far_their_terms_are_apart() {
    for ahead in APART {
        let apart = |a: usize, b: usize| a / 2 == b / 2;
        let mut net = Net::new(4, apart, |index| (config(index), Wireless::new(), NoMutex)).started();
        for index in [0, 1] {
            net.boot_with(index, Some(Records { term: ahead, ..Records::FACTORY }));
        }
        net.run_secs(20).relink(complete).run_secs(20);
        assert_eq!(net.leader(), Some(config(3).me), "{ahead} terms ahead: {:?}", net.leaders());
    }
}

#[test]
fn a_member_whose_lamport_time_is_far_ahead_returns() {
    for ahead in APART {
        let mut locks = LockNet::new(3, Lamport::KIND, Lamport::default());
        locks.enter(1).release(1).crash(0).run_secs(1);
        let lamport = LamportTime(u64::from(ahead) * TIMES_BLOCK);
        locks.net.boot_with(0, Some(Records { incarnation: 1, term: 1, lamport, ..Records::FACTORY }));
        locks.run_secs(20).enter(0).release(0).enter(1).release(1);
    }
}
