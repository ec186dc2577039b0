//! Recordings: every frame that a group ever sent, played back after a reboot.

use crate::support::prelude::*;
use protocol::base::quorum::Mode;
use protocol::election::Bully;
use protocol::mutex::permission::PermissionMessage;
use protocol::mutex::ricart_agrawala;
use protocol::mutex::{Central, Lamport, Maekawa, Raymond, RicartAgrawala, SuzukiKasami, TokenRing, Voting};
use protocol::node::{Input, Notice};
use protocol::registry::AnyElection;
use protocol::wire::{self, FRAME_MAX, Payload};
use std::collections::BTreeMap;

/// How long after its reboot the member asks, in milliseconds.
const DELAYS: [u32; 6] = [0, 5, 50, 300, 1_000, 6_000];

/// Plays a recording to one member, as if everybody who sent then sent again.
fn play<M: TestMutex>(locks: &mut LockNet<M>, tape: &[(usize, std::rc::Rc<[u8]>)], to: usize) {
    for (sender, bytes) in tape {
        if *sender != to {
            locks.net.put(to, Input::Frame { bytes, quality: u8::MAX });
        }
    }
    locks.run_ms(20);
}

/// Three members have each held the lock; then one reboots within a millisecond and asks while another holds it.
fn a_recording_lets_nobody_in<M: TestMutex>(group: impl Fn() -> LockNet<M>) {
    for delay in DELAYS {
        let mut locks = group();
        for index in 0..3 {
            locks.enter(index).release(index).run_ms(50);
        }
        let tape = locks.net.sent.clone();
        locks.crash(0).run_ms(1).boot(0);
        locks.enter(1);
        locks.run_ms(delay.min(1_000)).acquire(0);
        play(&mut locks, &tape, 0);
        play(&mut locks, &tape, 1);
        assert_eq!(locks.holder(), Some(1), "after {delay} ms");
        locks.release(1).await_holder(0);
        locks.release(0);
        locks.run_ms(delay);
        play(&mut locks, &tape, 0);
        assert_eq!(locks.holder(), None, "nobody has asked");
        locks.enter(2);
    }
}

macro_rules! of_every_lock {
    ($($name:ident: $lock:ty),+ $(,)?) => {
        $(#[test]
        fn $name() {
            a_recording_lets_nobody_in(|| LockNet::new(3, <$lock>::KIND, <$lock>::default()));
            a_recording_changes_no_holder(|| LockNet::new(3, <$lock>::KIND, <$lock>::default()));
        })+
    };
}

of_every_lock! {
    central_lets_nobody_in_by_a_recording: Central,
    token_ring_lets_nobody_in_by_a_recording: TokenRing,
    raymond_lets_nobody_in_by_a_recording: Raymond,
    suzuki_kasami_lets_nobody_in_by_a_recording: SuzukiKasami,
    lamport_lets_nobody_in_by_a_recording: Lamport,
    ricart_agrawala_lets_nobody_in_by_a_recording: RicartAgrawala,
    maekawa_lets_nobody_in_by_a_recording: Maekawa,
    voting_lets_nobody_in_by_a_recording: Voting,
}

/// What happens to a group with a lock before a whole recording is played to all members.
type LockEvent<M> = (&'static str, fn(&mut LockNet<M>));

/// Everybody has held the lock; after each kind of reboot and after silence one holds it and one waits: neither changes by
/// all that was ever sent, played to everybody, who sent it too.
fn a_recording_changes_no_holder<M: TestMutex>(group: impl Fn() -> LockNet<M>) {
    let before: [LockEvent<M>; 7] = [
        ("nothing", |_| {}),
        ("a silence", |locks| {
            locks.net.relink(|_, _| false);
            locks.run_secs(20);
            locks.net.relink(complete);
        }),
        ("a reboot of the leader", |locks| _ = locks.crash(2).boot(2)),
        ("a reboot of a member", |locks| _ = locks.crash(0).run_secs(1).boot(0)),
        ("a leader that lost its records", |locks| _ = locks.crash(2).net.boot_with(2, None)),
        ("a member that lost its records", |locks| _ = locks.crash(0).run_secs(1).net.boot_with(0, None)),
        ("a reboot of all", |locks| (0..3).for_each(|index| _ = locks.crash(index).boot(index))),
    ];
    for (what, happens) in before {
        let mut locks = group();
        for index in 0..3 {
            locks.enter(index).acquire((index + 1) % 3).run_ms(20).release(index);
            locks.await_holder((index + 1) % 3);
            locks.release((index + 1) % 3);
        }
        let tape = locks.net.sent.clone();
        happens(&mut locks);
        // By then the best member leads again, whatever it has forgotten.
        locks.run_secs(60).enter(1).acquire(2).run_ms(50);
        let (leaders, fence) = (locks.net.leaders(), locks.fence());
        for (_, bytes) in &tape {
            (0..3).for_each(|index| _ = locks.net.put(index, Input::Frame { bytes, quality: u8::MAX }));
        }
        locks.run_ms(50);
        assert_eq!((locks.holder(), locks.fence()), (Some(1), fence), "after {what}");
        locks.release(1).await_holder(2);
        locks.release(2).run_ms(100);
        for (_, bytes) in &tape {
            (0..3).for_each(|index| _ = locks.net.put(index, Input::Frame { bytes, quality: u8::MAX }));
        }
        locks.run_ms(500);
        assert_eq!((locks.holder(), locks.net.leaders()), (None, leaders), "after {what}");
        locks.enter(0).release(0);
    }
}

#[test]
fn no_boot_repeats_the_round_of_another() {
    let mut locks = LockNet::new(3, RicartAgrawala::KIND, RicartAgrawala::default());
    for boot in 0..6 {
        for index in 0..3 {
            locks.enter(index).release(index);
        }
        locks.crash(boot % 3).run_ms(1).boot(boot % 3);
    }
    let mut boots = BTreeMap::new();
    for (_, frame) in &locks.net.sent {
        let mut buffer = [0; FRAME_MAX];
        let packet = wire::open(&locks.net.key(), frame, &mut buffer).unwrap();
        if packet.kind != RicartAgrawala::KIND {
            continue;
        }
        let message = ricart_agrawala::Message::decode(packet.kind, packet.body);
        let Some(ricart_agrawala::Message::Permission(PermissionMessage::Request(asked))) = message else { continue };
        let origin = packet.origin();
        let first = *boots.entry((origin.id, asked.round.0)).or_insert(origin.incarnation);
        assert_eq!(first, origin.incarnation, "{origin:?} repeats {asked:?}");
    }
    assert!(boots.len() >= 18, "each of them has asked six times: {boots:?}");
}

/// Plays everything that a dead member ever sent to the others, in its order, as slowly as it was sent.
fn haunt(net: &mut Net<Bully, NoMutex>, dead: usize) {
    let tape: Vec<_> = net.sent.iter().filter(|(sender, _)| *sender == dead).cloned().collect();
    for (_, bytes) in &tape {
        for index in net.up() {
            net.put(index, Input::Frame { bytes, quality: u8::MAX });
        }
        net.run(Duration::from_millis(500));
    }
}

#[test]
fn a_dead_member_is_not_kept_alive_by_a_recording() {
    let make = |index| (Config { mode: Mode::Quorum, ..config(index) }, Bully::default(), NoMutex);
    let mut net = Net::new(3, complete, make).in_group();
    net.run_secs(20).crash(0).run_secs(1);
    haunt(&mut net, 0);
    assert_eq!((net.leader(), net.node(2).view().len()), (Some(NodeId(3)), 2), "its frames were heard before");
    net.crash(2).boot(2).run_secs(90); // the leader has forgotten what it heard
    haunt(&mut net, 0);
    assert_eq!(
        (net.leader(), net.node(2).view().len()),
        (Some(NodeId(3)), 2),
        "it has not named the leader's new boot"
    );
    net.boot(0).run_secs(10);
    assert_eq!(net.node(2).view().len(), 3, "it lives");
}

/// A network of an election by its name.
type Elected = Net<AnyElection, NoMutex>;

/// What happens before a whole recording is played to everybody.
type Event = (&'static str, fn(&mut Elected));

const BEFORE: [Event; 7] = [
    ("nothing", |_| {}),
    ("a silence", |net| _ = net.relink(|_, _| false).run_secs(40).relink(complete)),
    ("a reboot of the leader", |net| _ = net.crash(2).boot(2)),
    ("a reboot of a follower", |net| _ = net.crash(0).run_secs(1).boot(0)),
    ("a leader that lost its records", |net| _ = net.crash(2).boot_with(2, None)),
    ("a follower that lost its records", |net| _ = net.crash(0).run_secs(1).boot_with(0, None)),
    ("a reboot of all", |net| (0..3).for_each(|index| _ = net.crash(index).boot(index))),
];

#[test]
fn a_whole_recording_changes_no_leader_whatever_happened_before() {
    for name in AnyElection::NAMES {
        for (what, happens) in BEFORE {
            let make = |index| (config(index), AnyElection::by_name(name).unwrap(), NoMutex);
            let mut net = Net::new(3, complete, make).in_group();
            net.run_secs(20);
            let tape = net.sent.clone();
            happens(&mut net);
            net.run_secs(50);
            // A node reports that it hears its own frames of an earlier boot, and does nothing about it.
            let notices = |net: &Elected| net.notices.iter().filter(|(_, _, notice)| *notice != Notice::SameId).count();
            let before = (net.leaders(), notices(&net));
            assert!(net.leader().is_some(), "{name} after {what}: {before:?}");
            for (count, (_, bytes)) in tape.iter().enumerate() {
                (0..3).for_each(|index| _ = net.put(index, Input::Frame { bytes, quality: u8::MAX }));
                if count % 16 == 0 {
                    net.run(Duration::from_millis(20));
                }
            }
            net.run_secs(10);
            assert_eq!((net.leaders(), notices(&net)), before, "{name} after {what}");
        }
    }
}

#[test]
fn a_recording_of_a_dead_neighbour_does_not_bring_it_back() {
    let make = |index| (config(index), AnyElection::by_name("wireless").unwrap(), NoMutex);
    let mut net = Net::new(3, complete, make).started();
    net.run_secs(20);
    let tape = net.sent.clone();
    net.crash(2).run_secs(60).crash(1).boot(1).run_secs(30);
    for (_, bytes) in &tape {
        (0..2).for_each(|index| _ = net.put(index, Input::Frame { bytes, quality: u8::MAX }));
        net.run(Duration::from_millis(100));
    }
    for index in 0..2 {
        assert!(net.node(index).neighbours().all(|id| id != config(2).me), "node {index}");
    }
    assert_eq!(net.leader(), Some(config(1).me));
}
