//! Detectors that hand each other signs of life.

extern crate std;

use super::*;
use crate::group::{NodeId, Roster};
use std::vec::Vec as List;

const TIMING: Timing = Timing::RADIO;
const BEAT: u32 = 1_000;

/// Some members in a row, each hearing those next to it, or everybody.
struct Group {
    roster: Roster<8>,
    detectors: List<Detector<8>>,
    worths: List<Option<u16>>,
    several_hops: bool,
    now: Instant,
}

fn at(millis: u32) -> Instant {
    Instant::ZERO.after(Span::from_millis(millis))
}

impl Group {
    fn new(count: u32, several_hops: bool) -> Self {
        let mut roster = Roster::new();
        for id in 1..=count {
            roster.insert(NodeId(id)).unwrap();
        }
        let moment = Moment { now: Instant::ZERO, random: 0, timing: &TIMING };
        let detectors = (0..count).map(|_| Detector::new(moment)).collect();
        let worths = (0..count).map(|_| Some(500)).collect();
        Self { roster, detectors, worths, several_hops, now: Instant::ZERO }
    }

    fn place(&self, member: usize) -> Place<'_> {
        let id = NodeId(u32::try_from(member).unwrap() + 1);
        Place {
            group: self.roster.view(),
            me: NodeSet::slot(member),
            standing: self.worths[member].map(|worth| Standing { capacity: Capacity::new(worth), id }),
            several_hops: self.several_hops,
            moment: Moment { now: self.now, random: 0, timing: &TIMING },
        }
    }

    /// Lets members act on a copy of their detector, which borrows the group.
    fn with<T>(&mut self, member: usize, act: impl FnOnce(&mut Detector<8>, &Place<'_>) -> T) -> T {
        let mut detector = self.detectors[member];
        let result = act(&mut detector, &self.place(member));
        self.detectors[member] = detector;
        result
    }

    /// Lets time pass; `hears` says who hears whom.
    fn run(&mut self, until: Instant, hears: impl Fn(usize, usize) -> bool) {
        while self.now < until {
            self.now = self.now.after(Span::from_millis(50));
            for speaker in 0..self.detectors.len() {
                let said = self.with(speaker, |detector, place| {
                    detector.timeout(place);
                    detector.poll_alive(place)
                });
                let Some(alive) = said else { continue };
                for hearer in (0..self.detectors.len()).filter(|&hearer| hearer != speaker && hears(speaker, hearer)) {
                    self.with(hearer, |detector, place| detector.hear(place, NodeSet::slot(speaker), &alive));
                }
            }
        }
    }

    fn suspected(&self, member: usize) -> List<usize> {
        self.detectors[member].suspected().slots().collect()
    }
}

fn beside(a: usize, b: usize) -> bool {
    a.abs_diff(b) == 1
}

#[test]
fn members_that_speak_are_not_suspected_and_one_that_stops_is_and_comes_back() {
    let mut group = Group::new(3, false);
    group.run(at(10 * BEAT), |_, _| true);
    assert_eq!(group.suspected(0), []);
    group.run(at(14 * BEAT), |speaker, _| speaker != 2);
    assert_eq!((group.suspected(0), group.suspected(1)), ([2].into(), [2].into()));
    assert_eq!(group.detectors[0].take_changes().down, NodeSet::slot(2));
    group.run(at(16 * BEAT), |_, _| true);
    assert_eq!(group.suspected(0), []);
    assert_eq!(group.detectors[0].take_changes(), Changes { up: NodeSet::slot(2), ..Changes::default() });
}

#[test]
fn signs_of_life_travel_from_one_end_of_a_line_to_the_other() {
    let mut group = Group::new(5, true);
    group.run(at(30 * BEAT), beside);
    assert!((0..5).all(|member| group.suspected(member).is_empty()));
    group.run(at(60 * BEAT), |speaker, hearer| beside(speaker, hearer) && speaker != 4);
    assert_eq!(group.suspected(0), [4]);
    group.run(at(90 * BEAT), beside);
    assert_eq!(group.suspected(0), []);
}

#[test]
fn a_dead_members_count_is_not_kept_alive_by_the_others_telling_it_on() {
    let mut group = Group::new(5, true);
    group.run(at(30 * BEAT), beside);
    group.run(at(300 * BEAT), |speaker, hearer| beside(speaker, hearer) && speaker != 4 && hearer != 4);
    for member in 0..4 {
        assert_eq!(group.suspected(member), [4]);
    }
}

#[test]
fn one_that_starts_anew_goes_on_from_what_the_others_remember_of_it() {
    let mut group = Group::new(4, true);
    group.run(at(60 * BEAT), beside);
    group.detectors[3] = Detector::new(Moment { now: group.now, random: 0, timing: &TIMING });
    group.run(at(75 * BEAT), beside);
    assert_eq!(group.suspected(0), [], "its count did not fall back");
}

#[test]
fn a_member_wrongly_suspected_is_given_more_time_and_loses_it_again() {
    let mut group = Group::new(2, false);
    group.run(at(10 * BEAT), |_, _| true);
    let patience = |group: &Group| group.detectors[0].patience(1, &group.place(0));
    let before = patience(&group);
    group.run(at(13 * BEAT), |speaker, _| speaker != 1);
    assert_eq!(group.suspected(0), [1]);
    group.run(at(15 * BEAT), |_, _| true);
    assert!(patience(&group) > before);
    group.run(at(300 * BEAT), |_, _| true);
    assert_eq!(group.detectors[0].members[1].slack, 0);
}

#[test]
fn where_signs_of_life_come_irregularly_silence_is_granted_more_time() {
    let mut steady = Group::new(2, false);
    steady.run(at(60 * BEAT), |_, _| true);
    let mut irregular = Group::new(2, false);
    while irregular.now < at(60 * BEAT) {
        let until = irregular.now.after(Span::from_millis(3 * BEAT));
        let mute = irregular.now.as_micros() % 7_000_000 > 4_000_000;
        irregular.run(until, move |_, _| !mute);
    }
    let patience = |group: &Group| group.detectors[0].pause.plus(group.detectors[0].off.times(4));
    assert!(patience(&irregular) > patience(&steady));
}

#[test]
fn e7_better_is_who_is_worth_more_and_of_equals_who_has_the_higher_name() {
    let mut group = Group::new(4, false);
    assert_eq!(group.detectors[1].better(&group.place(1)), NodeSet::slot(2).with(NodeSet::slot(3)), "nobody has told");
    group.worths = [Some(900), Some(500), Some(500), None].into();
    group.run(at(3 * BEAT), |_, _| true);
    assert_eq!(group.detectors[1].better(&group.place(1)), NodeSet::slot(0).with(NodeSet::slot(2)));
    assert_eq!(group.detectors[3].better(&group.place(3)), NodeSet::first(3), "it cannot lead itself");
    let best = group.detectors[1].best(group.roster.view(), NodeSet::first(4)).unwrap();
    assert_eq!((best.id, best.capacity.get()), (NodeId(1), 900));
}

#[test]
fn what_members_are_worth_is_told_on_over_several_hops() {
    let mut group = Group::new(5, true);
    group.worths = [Some(1), Some(2), None, Some(4), Some(5)].into();
    group.run(at(40 * BEAT), beside);
    assert_eq!(
        group.detectors[0].better(&group.place(0)),
        NodeSet::first(5).without(NodeSet::slot(0)).without(NodeSet::slot(2))
    );
    assert_eq!(group.detectors[4].better(&group.place(4)), NodeSet::EMPTY);
}

#[test]
fn the_longest_sign_of_life_fits_a_frame() {
    let counts = Vec::from_slice(&[u8::MAX; SLOTS_MAX]).unwrap();
    let alive = Alive {
        worth: Worth(u16::MAX),
        counts,
        worths: Vec::from_slice(&[(u8::MAX, Worth(u16::MAX)); WORTHS_MAX]).unwrap(),
    };
    let mut body = [0; crate::wire::FRAME_MAX];
    let len = crate::wire::encode(&alive, &mut body).unwrap();
    let max = u32::MAX;
    let packet = crate::wire::Packet {
        kind: crate::wire::Kind::Alive,
        sender: NodeId(max),
        incarnation: max,
        sequence: max,
        path: crate::wire::Path::Everyone,
        body: &body[..len],
    };
    assert!(crate::wire::seal(&crate::wire::Key::new([0; 16]), &packet, &mut [0; crate::wire::FRAME_MAX]).is_some());
}
