//! A holder of the key that says anything to services: every number of every message at its bounds. Once it is gone, the
//! others have one leader within ten seconds, and after a reboot of all the service works as it did.

use crate::insider::{BATCH, INSIDER, everything, reboot, say_to_all};
use crate::support::prelude::*;
use protocol::base::quorum::Mode;
use protocol::election::{Bully, Clusters, Election, Wireless};
use protocol::node::Input;
use protocol::service::app_service::{Command, ObservedApp};
use protocol::service::clock_sync::ClockSync;
use protocol::service::demo::{Diffusing, Tokens, diffusing};
use protocol::service::requests::{self, Requests};
use protocol::service::termination::{DijkstraScholten, Wave};
use protocol::service::{Commit, Sequencer, Service, commit, sequencer};
use protocol::wire::{self, FRAME_MAX, Stage};
use std::rc::Rc;

/// The frames of services on a tape.
fn of_services(key: &wire::Key, tape: &[(usize, Rc<[u8]>)]) -> Vec<(usize, Rc<[u8]>)> {
    let of_service = |bytes: &[u8]| {
        let mut buffer = [0; FRAME_MAX];
        wire::open(key, bytes, &mut buffer).unwrap().kind.stage() == Some(Stage::Service)
    };
    tape.iter().filter(|(_, bytes)| of_service(bytes)).cloned().collect()
}

/// Says everything to a group, a batch at a time; `works` asserts that its service does.
fn survives<E: Election, S: Service, const N: usize>(
    group: impl Fn() -> Net<E, NoMutex, S, N>,
    works: impl Fn(&mut Net<E, NoMutex, S, N>),
) {
    let mut net = group();
    works(&mut net);
    let frames = everything(&net.key(), config(INSIDER).me, 1, &of_services(&net.key(), &net.sent));
    assert!(frames.len() > BATCH, "the service says something");
    for (number, said) in frames.chunks(BATCH).enumerate() {
        let mut net = group();
        net.crash(INSIDER);
        say_to_all(&mut net, said);
        net.run_secs(10);
        assert!(net.leader().is_some(), "batch {number}: {:?}", net.leaders());
        reboot(&mut net);
        net.boot(INSIDER); // it tells the truth from now on
        net.run_secs(25);
        assert!(net.leader().is_some(), "batch {number}, rebooted: {:?}", net.leaders());
        works(&mut net);
    }
}

/// A group of four with a service, which has a leader.
fn group<S: Service + Clone + 'static>(service: S) -> Net<Bully, NoMutex, S, SERVICE_ROOM> {
    let make = move |index| (Config { mode: Mode::Quorum, hops: 1, ..config(index) }, service.clone());
    let mut net = Net::with_service(4, (RELIABLE, 1), complete, make);
    net.run_secs(15);
    net
}

#[test]
fn the_sequencer_survives_an_insider() {
    survives(
        || group(Sequencer::<4>::new()),
        |net| {
            let before = net.service_notices.len();
            for index in [1, 2, 1] {
                let payload = sequencer::Payload::from_slice(b"open").unwrap();
                net.put(index, Input::Service(sequencer::Command::Submit(payload)));
                net.run_secs(1);
            }
            let delivered = |index: usize| {
                let new = net.service_notices[before..].iter().filter(|(_, at, _)| *at == index);
                new.filter(|(_, _, notice)| matches!(notice, sequencer::Notice::Delivered { .. })).count()
            };
            assert_eq!([1, 2, 3].map(delivered), [3; 3], "{:?}", &net.service_notices[before..]);
        },
    );
}

#[test]
fn a_commit_survives_an_insider() {
    survives(
        || group(Commit::new()),
        |net| {
            let before = net.service_notices.len();
            for index in [1, 2, 3] {
                let change = commit::Change::from_slice(b"open").unwrap();
                net.put(index, Input::Service(commit::Command::Propose(change)));
                net.run_secs(1);
            }
            assert!(net.service_notices.len() >= before + 3, "each is told what became of it");
        },
    );
}

#[test]
fn snapshots_and_waves_survive_an_insider() {
    survives(
        || group(ObservedApp::<_, _, 4>::all(Tokens::<4>::new(100, Duration::from_secs(1)), Wave::<4>::new())),
        |net| {
            net.put(1, Input::Service(Command::SNAPSHOT));
            net.run_secs(4);
        },
    );
    survives(
        || group(ObservedApp::<_, _, 4>::all(Diffusing::new(Duration::from_millis(200)), Wave::<4>::new())),
        |net| {
            net.put(1, Input::Service(Command::Application(diffusing::Command::Start { units: 5 })));
            net.put(1, Input::Service(Command::DETECT_TERMINATION));
            net.run_secs(4);
        },
    );
}

#[test]
fn dijkstra_scholten_survives_an_insider() {
    survives(
        || group(ObservedApp::<_, _, 4>::all(Diffusing::new(Duration::from_millis(200)), DijkstraScholten::<4>::new())),
        |net| {
            net.put(1, Input::Service(Command::Application(diffusing::Command::Start { units: 5 })));
            net.run_secs(4);
        },
    );
}

#[test]
fn the_shared_clock_survives_an_insider() {
    survives(|| group(ClockSync::<4>::new()), |net| _ = net.run_secs(5));
}

fn requests_are_answered<E: Election + 'static>(election: impl Fn() -> E + Clone + 'static) {
    let group = || {
        let election = election.clone();
        let make = move |index| (config(index), election(), Requests::new());
        let mut net: Net<E, NoMutex, Requests> = Net::ungrouped(4, (RELIABLE, 1), complete, make).started();
        net.run_secs(15);
        net
    };
    survives(group, |net| {
        let (mut read, bytes) = (net.service_notices.len(), requests::Bytes::from_slice(b"how are you").unwrap());
        let request = requests::Command::Request { bytes: bytes.clone(), repeatable: false };
        net.put(1, Input::Service(request));
        let mut answered = false;
        for _ in 0..100 {
            net.run(Duration::from_millis(20));
            while let Some((_, index, notice)) = net.service_notices.get(read).cloned() {
                read += 1;
                answered |= matches!(notice, requests::Notice::Answered { .. });
                if let requests::Notice::Request { id, .. } = notice {
                    let bytes = bytes.clone();
                    net.put(index, Input::Service(requests::Command::Answer { id, bytes }));
                }
            }
        }
        assert!(answered, "{:?}", net.service_notices);
    });
}

#[test]
fn requests_to_a_leader_survive_an_insider() {
    requests_are_answered(Wireless::new);
}

#[test]
fn requests_to_super_peers_survive_an_insider() {
    requests_are_answered(|| Clusters::new(2));
}
