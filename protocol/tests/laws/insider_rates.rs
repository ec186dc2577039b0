//! A holder of the key that goes on and on: how often it changes leaders, how far it moves numbers, how often it makes nodes
//! write their records.

use crate::support::prelude::*;
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::ceiling::{STEP, STEP_INTERVAL};
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::leadership::LeaderMessage;
use protocol::election::{Wireless, wireless};
use protocol::node::Input;
use protocol::wire::{self, Destination, FRAME_MAX, Packet, Payload};

type Radio = Net<Wireless, NoMutex>;

/// The member whose name the insider uses for its frames. It has crashed.
const INSIDER: usize = 0;

fn radio() -> Radio {
    let mut net = Net::new(4, complete, |index| (config(index), Wireless::new(), NoMutex)).started();
    net.run_secs(20).crash(INSIDER);
    net
}

/// The last hello of the insider.
fn hello(net: &Radio) -> Vec<u8> {
    let key = net.key();
    let mut sent = net.sent.iter().rev().filter(|(sender, _)| *sender == INSIDER);
    sent.find_map(|(_, bytes)| {
        let mut buffer = [0; FRAME_MAX];
        let packet = wire::open(&key, bytes, &mut buffer).unwrap();
        (packet.kind == Kind::HELLO).then(|| packet.body.to_vec())
    })
    .expect("it has said hello")
}

/// Says things to all nodes, as one of their neighbours.
struct Insider {
    seq: u32,
    hello: Vec<u8>,
}

impl Insider {
    fn new(net: &Radio) -> Self {
        Self { seq: 1_000, hello: hello(net) }
    }

    fn send(&mut self, net: &mut Radio, kind: Kind, body: &[u8]) {
        self.seq += 1;
        let (sender, destination) = (config(INSIDER).me, Destination::Broadcast);
        let packet = Packet { kind, sender, incarnation: 1, seq: self.seq, destination, body };
        let mut frame = [0; FRAME_MAX];
        let len = wire::seal(&net.key(), &packet, &mut frame).unwrap();
        for index in net.up() {
            net.put(index, Input::Frame { bytes: &frame[..len], quality: u8::MAX });
        }
    }

    fn say(&mut self, net: &mut Radio, message: LeaderMessage) {
        let hello = self.hello.clone();
        self.send(net, Kind::HELLO, &hello);
        let message = wireless::Message::Leadership(message);
        let mut body = [0; FRAME_MAX];
        let len = message.encode(&mut body).unwrap();
        self.send(net, message.kind(), &body[..len]);
    }
}

/// A leader that nobody is, under a term in which the one before has handed over to it: one of two that are `alive`, or
/// another one each time.
fn handover(number: u32, alive: bool) -> LeaderMessage {
    let [by, id] = [number - 1, number].map(|number| NodeId(1_000 + if alive { number % 2 } else { number }));
    let (term, leader) = (Term { number, by }, Candidate { capacity: Capacity::MAX, id });
    if alive {
        LeaderMessage::Heartbeat { term, leader, runner_up: None, count: 1, age: 0 }
    } else {
        LeaderMessage::Elected { term, leader, runner_up: None, age: 0 }
    }
}

/// How often each node changes its leader while the insider names another one ten times a second.
fn changes(alive: bool, seconds: u32) -> Vec<u32> {
    let mut net = radio();
    let mut insider = Insider::new(&net);
    let leaders_of = |net: &Radio| net.leaders().into_iter().map(|leader| leader.map(|(id, _)| id)).collect::<Vec<_>>();
    let mut leaders = leaders_of(&net);
    let mut changes = vec![0; leaders.len()];
    for count in 0..seconds * 10 {
        insider.say(&mut net, handover(100 + count, alive));
        for (index, leader) in leaders_of(&net).into_iter().enumerate() {
            changes[index] += u32::from(leaders[index] != leader);
            leaders[index] = leader;
        }
        net.run(Duration::from_millis(100));
    }
    net.run_secs(10);
    assert_eq!(net.leader(), Some(config(3).me), "once it is gone: {:?}", net.leaders());
    changes
}

#[test]
fn an_insider_that_alternates_leaders_changes_them_once_in_eight_seconds_after_a_few_dozen_times() {
    // A leader that is not there is given up after its lease, and the next one is free: once in a few heartbeats.
    for (alive, most) in [(true, 32 + 120 / 8 + 1), (false, 32 + 120)] {
        let changes = changes(alive, 120);
        println!("{changes:?} changes in 120 s, alive: {alive}");
        assert!(changes.iter().all(|count| *count <= most), "alive: {alive}, {changes:?}");
        assert!(changes.iter().all(|count| *count > 20), "it has a hold on them at first: {changes:?}");
    }
}

#[test]
fn an_insider_that_moves_terms_by_whole_steps_moves_them_by_one_a_minute_and_forces_one_write_a_minute() {
    const MINUTES: u32 = 30;
    let mut net = radio();
    let mut insider = Insider::new(&net);
    net.run(STEP_INTERVAL).run(STEP_INTERVAL); // they are no newcomers any more
    let number = |net: &Radio| net.node(3).leader().expect("it leads").1.number;
    for _ in 0..MINUTES * 60 {
        let term = Term { number: number(&net).saturating_add(STEP - 1), by: NodeId(u32::MAX) };
        insider.say(&mut net, LeaderMessage::RaiseTerm { term });
        net.run_secs(1);
    }
    let reached = number(&net);
    println!("term {reached}, {} writes", net.node(3).writes());
    assert!(reached > STEP * (MINUTES - 2), "{reached}: numbers that are ahead are reached");
    assert!(reached <= STEP * (MINUTES + 2), "{reached}");
    for index in net.up() {
        assert!(u32::from(net.node(index).writes()) <= 8 + MINUTES + 2, "{} writes", net.node(index).writes());
    }
    net.run_secs(10);
    assert_eq!(net.leader(), Some(config(3).me), "{:?}", net.leaders());
}

#[test]
fn networks_that_were_apart_for_longest_merge_by_a_step_a_minute() {
    const STEPS: u32 = 3;
    let apart = |a: usize, b: usize| a / 2 == b / 2;
    let mut net = Net::new(4, apart, |index| (config(index), Wireless::new(), NoMutex)).started();
    for index in [0, 1] {
        net.boot_with(index, Some(Records { term: STEPS * STEP, ..Records::FACTORY }));
    }
    net.run(STEP_INTERVAL).run(STEP_INTERVAL).relink(complete);
    for _ in 0..STEPS {
        net.run(STEP_INTERVAL);
    }
    net.run_secs(10);
    assert_eq!(net.leader(), Some(config(3).me), "{:?}", net.leaders());
}

#[test]
fn two_new_nodes_with_one_id_report_each_other_before_either_restarts() {
    for seconds_apart in [0, 1, 300] {
        let twin = |index: usize| Config { me: config(index.min(2)).me, ..config(index) };
        let mut net = Net::new(4, complete, move |index| (twin(index), Wireless::new(), NoMutex)).started();
        net.crash(3).crash(2).boot_with(2, Some(Records::FACTORY)).run_secs(seconds_apart);
        net.boot_with(3, Some(Records::FACTORY)).run_secs(5);
        let reports = [2, 3].map(|index| net.node(index).counters().same_id > 0);
        assert_eq!(reports, [true; 2], "{seconds_apart} s apart");
    }
}

#[test]
fn a_recording_of_its_first_frames_is_no_other_node() {
    let mut net = radio();
    let tape = net.sent.clone();
    for (sender, bytes) in tape.iter().filter(|(sender, _)| *sender != INSIDER).take(200) {
        net.put(*sender, Input::Frame { bytes, quality: u8::MAX });
    }
    assert!(net.up().into_iter().all(|index| net.node(index).counters().same_id == 0));
}
