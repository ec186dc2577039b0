//! Detectors that exchange heartbeats.

use super::*;
use crate::base::capacity::Capacity;
use crate::base::ids::{NodeId, Roster, SLOTS_MAX};
use crate::wire::{Destination, FRAME_MAX, Key, Kind, Packet, encode, seal};
use std::vec::Vec as List;

const TIMING: Timing = Timing::RADIO;
const HEARTBEAT: u32 = 1_000;

type Members = crate::base::membership::Group;

/// Members in a line, each in range of the next ones, or all in range of each other.
struct Group {
    roster: Roster<8>,
    detectors: List<Detector<8, Members>>,
    capacities: List<Option<u16>>,
    several_hops: bool,
    now: Instant,
}

fn at(millis: u32) -> Instant {
    Instant::ZERO.after(Duration::from_millis(millis))
}

impl Group {
    fn new(count: u32, several_hops: bool) -> Self {
        let mut roster = Roster::new();
        for id in 1..=count {
            roster.insert(NodeId(id)).unwrap();
        }
        let moment = Moment { now: Instant::ZERO, random: 0, timing: &TIMING };
        let detectors = (0..count).map(|_| Detector::new(moment)).collect();
        let capacities = (0..count).map(|_| Some(500)).collect();
        Self { roster, detectors, capacities, several_hops, now: Instant::ZERO }
    }

    fn context(&self, member: usize) -> DetectorContext<'_> {
        let id = NodeId(u32::try_from(member).unwrap() + 1);
        DetectorContext {
            stretch: 1,
            group: self.roster.view(),
            me: NodeSet::slot(member),
            candidate: self.capacities[member].map(|value| Candidate { capacity: Capacity::new(value), id }),
            several_hops: self.several_hops,
            lamport: LamportTime(0),
            moment: Moment { now: self.now, random: 0, timing: &TIMING },
        }
    }

    /// Runs `step` on a copy of a member's detector, as the context borrows the group.
    fn with<T>(&mut self, member: usize, step: impl FnOnce(&mut Detector<8, Members>, &DetectorContext<'_>) -> T) -> T {
        let mut detector = self.detectors[member].clone();
        let result = step(&mut detector, &self.context(member));
        self.detectors[member] = detector;
        result
    }

    /// Advances time; `delivers` says whether a heartbeat from one member arrives at another.
    fn run(&mut self, until: Instant, delivers: impl Fn(usize, usize) -> bool) {
        while self.now < until {
            self.now = self.now.after(Duration::from_millis(50));
            for sender in 0..self.detectors.len() {
                let heartbeat = self.with(sender, |detector, cx| {
                    detector.on_timeout(cx);
                    detector.poll_heartbeat(cx)
                });
                let Some(heartbeat) = heartbeat else { continue };
                let receivers = (0..self.detectors.len()).filter(|&to| to != sender && delivers(sender, to));
                for receiver in receivers {
                    self.with(receiver, |detector, cx| {
                        detector.on_heartbeat(cx, NodeSet::slot(sender), &heartbeat, true);
                    });
                }
            }
        }
    }

    fn suspected(&self, member: usize) -> List<usize> {
        self.detectors[member].suspected().slots().collect()
    }

    fn better(&self, member: usize) -> NodeSet {
        self.detectors[member].better(&self.context(member))
    }
}

fn adjacent(a: usize, b: usize) -> bool {
    a.abs_diff(b) == 1
}

#[test]
fn a_member_that_stops_sending_is_suspected_until_it_sends_again() {
    let mut group = Group::new(3, false);
    group.run(at(10 * HEARTBEAT), |_, _| true);
    assert_eq!(group.suspected(0), []);
    group.run(at(14 * HEARTBEAT), |sender, _| sender != 2);
    assert_eq!((group.suspected(0), group.suspected(1)), ([2].into(), [2].into()));
    assert_eq!(group.detectors[0].take_changes().down, NodeSet::slot(2));
    group.run(at(16 * HEARTBEAT), |_, _| true);
    assert_eq!(group.suspected(0), []);
    assert_eq!(group.detectors[0].take_changes(), Changes { up: NodeSet::slot(2), ..Changes::default() });
}

#[test]
fn counters_travel_from_one_end_of_a_line_to_the_other() {
    let mut group = Group::new(5, true);
    group.run(at(30 * HEARTBEAT), adjacent);
    assert!((0..5).all(|member| group.suspected(member).is_empty()));
    group.run(at(60 * HEARTBEAT), |from, to| adjacent(from, to) && from != 4);
    assert_eq!(group.suspected(0), [4]);
    group.run(at(90 * HEARTBEAT), adjacent);
    assert_eq!(group.suspected(0), []);
}

#[test]
fn gossip_does_not_keep_a_crashed_member_alive() {
    let mut group = Group::new(5, true);
    group.run(at(30 * HEARTBEAT), adjacent);
    group.run(at(300 * HEARTBEAT), |from, to| adjacent(from, to) && from != 4 && to != 4);
    for member in 0..4 {
        assert_eq!(group.suspected(member), [4]);
    }
}

#[test]
fn a_restarted_member_continues_from_the_counter_the_others_remember() {
    let mut group = Group::new(4, true);
    group.run(at(60 * HEARTBEAT), adjacent);
    group.detectors[3] = Detector::new(Moment { now: group.now, random: 0, timing: &TIMING });
    group.run(at(75 * HEARTBEAT), adjacent);
    assert_eq!(group.suspected(0), [], "its counter did not fall back");
}

#[test]
fn a_wrong_suspicion_lengthens_the_timeout_for_a_while() {
    let mut group = Group::new(2, false);
    group.run(at(10 * HEARTBEAT), |_, _| true);
    let time_left = |group: &Group| group.detectors[0].time_left(1, &group.context(0));
    let before = time_left(&group);
    group.run(at(13 * HEARTBEAT), |sender, _| sender != 1);
    assert_eq!(group.suspected(0), [1]);
    group.run(at(15 * HEARTBEAT), |_, _| true);
    assert!(time_left(&group) > before);
    group.run(at(300 * HEARTBEAT), |_, _| true);
    assert_eq!(group.detectors[0].members[1].wrong_suspicions, 0);
}

#[test]
fn irregular_heartbeats_lengthen_the_timeout() {
    let mut steady = Group::new(2, false);
    steady.run(at(60 * HEARTBEAT), |_, _| true);
    let mut irregular = Group::new(2, false);
    while irregular.now < at(60 * HEARTBEAT) {
        let until = irregular.now.after(Duration::from_millis(3 * HEARTBEAT));
        let silent = irregular.now.as_micros() % 7_000_000 > 4_000_000;
        irregular.run(until, move |_, _| !silent);
    }
    let timeout = |group: &Group| group.detectors[0].interval.plus(group.detectors[0].deviation.times(4));
    assert!(timeout(&irregular) > timeout(&steady));
}

#[test]
fn e7_members_are_ordered_by_capacity_and_then_by_id() {
    let mut group = Group::new(4, false);
    assert_eq!(group.better(1), NodeSet::slot(2).with(NodeSet::slot(3)), "none has advertised yet");
    group.capacities = [Some(900), Some(500), Some(500), None].into();
    group.run(at(3 * HEARTBEAT), |_, _| true);
    assert_eq!(group.better(1), NodeSet::slot(0).with(NodeSet::slot(2)));
    assert_eq!(group.better(3), NodeSet::first(3), "it is unfit itself");
    let best = group.detectors[1].best(group.roster.view(), NodeSet::first(4)).unwrap();
    assert_eq!((best.id, best.capacity.get()), (NodeId(1), 900));
}

#[test]
fn capacities_are_relayed_over_several_hops() {
    let mut group = Group::new(5, true);
    group.capacities = [Some(1), Some(2), None, Some(4), Some(5)].into();
    group.run(at(40 * HEARTBEAT), adjacent);
    assert_eq!(group.better(0), NodeSet::first(5).without(NodeSet::slot(0)).without(NodeSet::slot(2)));
    assert_eq!(group.better(4), NodeSet::EMPTY);
}

#[test]
fn a_heartbeat_that_may_be_a_recording_shows_nothing() {
    let mut group = Group::new(2, false);
    let heartbeat = group.with(1, Detector::poll_heartbeat).unwrap();
    group.now = at(3 * HEARTBEAT);
    group.with(0, Detector::on_timeout);
    for (proven, suspected) in [(false, &[1][..]), (true, &[])] {
        group.with(0, |detector, cx| detector.on_heartbeat(cx, NodeSet::slot(1), &heartbeat, proven));
        assert_eq!(group.suspected(0), suspected);
    }
}

#[test]
fn the_longest_heartbeat_fits_a_frame() {
    let advertised = AdvertisedCapacity(u16::MAX);
    let most = Heartbeat {
        advertised,
        counts: Vec::from_slice(&[u8::MAX; SLOTS_MAX]).unwrap(),
        relayed: Vec::from_slice(&[(u8::MAX, advertised); RELAYED_MAX]).unwrap(),
        lamport: LamportTime(0),
        unconfirmed: NodeSet::first(SLOTS_MAX),
        named: Vec::new(),
    };
    let named = |heartbeat: &Heartbeat| (0..heartbeat.names_max()).map(|_| (u8::MAX, u32::MAX)).collect();
    let naming = Heartbeat { relayed: Vec::new(), named: named(&most), ..most.clone() };
    let near = Heartbeat { counts: Vec::new(), lamport: LamportTime::MAX, ..naming.clone() };
    let near = Heartbeat { named: named(&near), ..near };
    assert_eq!((naming.named.len(), near.named.len()), (1, 11));
    for heartbeat in [most, naming, near] {
        let (mut body, max) = ([0; FRAME_MAX], u32::MAX);
        let len = encode(&heartbeat, &mut body).unwrap();
        let (kind, destination, body) = (Kind::HEARTBEAT, Destination::Broadcast, &body[..len]);
        let packet = Packet { kind, sender: NodeId(max), incarnation: max, seq: max, destination, body };
        assert!(seal(&Key::new([0; 16]), &packet, &mut [0; FRAME_MAX]).is_some(), "{heartbeat:?}");
    }
}
