//! One node and the list, step by step.

use super::*;
use crate::base::ids::NodeSet;
use std::vec::Vec;

const KEY: Key = Key::new([7; 16]);

fn at(millis: u32) -> Instant {
    Instant::ZERO.after(Duration::from_millis(millis))
}

fn ids(ids: &[u32]) -> Vec<NodeId> {
    ids.iter().copied().map(NodeId).collect()
}

fn member(id: u32, list: &[u32], stored: Stored<'_>) -> Members {
    let first = List::first(&ids(list)).unwrap_or(List::NONE);
    Members::new(NodeId(id), &KEY, Timing::LAN, first, stored, at(0), id.into())
}

fn log(members: &mut Members) -> Vec<u8> {
    let mut buffer = [0; Members::<Key>::LOG_MAX];
    members.poll_log(&mut buffer).map(<[u8]>::to_vec).unwrap_or_default()
}

/// What a node says within a second.
fn said(members: &mut Members, now: u32) -> Vec<Vec<u8>> {
    let mut buffer = [0; FRAME_MAX];
    let mut frames = Vec::new();
    for millis in now..now + 1_000 {
        frames.extend(members.poll_transmit(at(millis), &mut buffer).map(<[u8]>::to_vec));
    }
    frames
}

fn term(number: u32, by: u32) -> Term {
    Term { number, by: NodeId(by) }
}

#[test]
fn nothing_leaves_before_the_log_is_written() {
    let mut leader = member(1, &[1, 2, 3], Stored::Nothing);
    assert_eq!(said(&mut leader, 0), [[]; 0]);
    assert!(!log(&mut leader).is_empty() && !said(&mut leader, 0).is_empty());
    leader.change(at(2_000), Some(term(4, 1)), Change::Remove(NodeId(3)));
    assert_eq!(said(&mut leader, 2_000), [[]; 0], "it has promised");
    assert!(!log(&mut leader).is_empty() && !said(&mut leader, 2_000).is_empty());
}

#[test]
fn a_change_is_refused_with_its_reason() {
    let mut leader = member(1, &[1, 2, 3], Stored::Nothing);
    let mut refused = |acting, change| {
        leader.change(at(0), acting, change);
        log(&mut leader);
        leader.poll_notice()
    };
    let (acting, add) = (Some(term(4, 1)), Change::Add(NodeId(9)));
    let cases = [
        (None, add, Refusal::NotLeader),
        (acting, Change::Remove(NodeId(1)), Refusal::Leader),
        (acting, Change::Add(NodeId(2)), Refusal::NoChange),
        (acting, Change::Remove(NodeId(9)), Refusal::NoChange),
    ];
    for (acting, change, reason) in cases {
        assert_eq!(refused(acting, change), Some(Notice::Refused { change, reason }));
    }
    assert_eq!(refused(acting, add), None, "it is open");
    let change = Change::Remove(NodeId(2));
    assert_eq!(refused(acting, change), Some(Notice::Refused { change, reason: Refusal::Open }));
    leader.on_leader(at(4_000), acting);
    assert_eq!(leader.poll_notice(), Some(Notice::Refused { change: add, reason: Refusal::NoAnswer }));
    let mut lost = member(1, &[1, 2, 3], Stored::Lost);
    lost.change(at(0), acting, add);
    log(&mut lost);
    assert_eq!(lost.poll_notice(), Some(Notice::Refused { change: add, reason: Refusal::LostLog }));
}

#[test]
fn a_change_begins_once_those_who_can_decide_it_have_answered() {
    let mut leader = member(1, &[1, 2, 3], Stored::Nothing);
    let (acting, change) = (Some(term(4, 1)), Change::Remove(NodeId(3)));
    leader.change(at(0), acting, change);
    let Some(Round { phase: Phase::Asking { .. }, epoch, ballot }) = leader.round else { panic!("{leader:?}") };
    for (slot, open) in [(2, None), (1, Some(change))] {
        let promised = NodeSet::slot(slot);
        let phase = Phase::Asking { wanted: change, boot: 0, promised, best: None };
        leader.on_round(at(0), &Round { epoch, ballot, phase });
        leader.on_leader(at(0), acting);
        assert_eq!(leader.open(), open, "two of three are a majority, and one of the two that remain is none");
    }
}

#[test]
fn a_member_that_lost_its_log_is_none_until_it_is_added_again_in_its_present_boot() {
    let mut member = member(1, &[1, 2, 3], Stored::Lost);
    let Memory::Lost(lost) = member.log.memory else { panic!("{member:?}") };
    let with = List::first(&ids(&[1, 2, 3])).unwrap();
    member.adopt(at(0), with.clone());
    assert!(!member.is_member(), "it may have been on a later list");
    let without = with.after(Change::Remove(NodeId(1))).unwrap();
    member.adopt(at(0), without.clone());
    let add = Change::Add(NodeId(1));
    let store = |boot, number| {
        let phase = Phase::Storing { change: add, boot, stored: NodeSet::EMPTY };
        Round { epoch: 2, ballot: Ballot { term: term(number, 2), attempt: 1 }, phase }
    };
    member.on_round(at(0), &store(lost - 1, 4));
    assert_eq!(member.round, Some(store(lost - 1, 4)), "of an earlier life");
    member.on_round(at(0), &store(lost, 5));
    assert_ne!(member.round, Some(store(lost, 5)));
    member.adopt(at(0), without.after(add).unwrap());
    assert!(member.is_member());
}

#[test]
fn a_frame_about_the_list_is_none_of_a_node_and_the_other_way_round() {
    let mut sender = member(1, &[1, 2, 3], Stored::Nothing);
    let mut reader = member(9, &[], Stored::Nothing);
    log(&mut sender);
    let frames = said(&mut sender, 0);
    let frame = frames.first().unwrap();
    assert!(Members::<Key>::is_frame(frame));
    assert_eq!(wire::SealedFrame::read(&KEY, frame).err(), Some(wire::DropReason::Version));
    for bit in 0..frame.len() * 8 {
        let mut broken = frame.clone();
        broken[bit / 8] ^= 1 << (bit % 8);
        assert!(!Members::<Key>::is_frame(&broken) || !reader.on_frame(at(0), &broken), "bit {bit}");
    }
    assert!(!Members::<Key>::is_frame(&[]) && !reader.on_frame(at(0), &[0xA0; 200]));
    assert_eq!(reader.list(), &List::NONE);
    assert!(reader.on_frame(at(0), frame));
    assert_eq!(reader.list(), sender.list());
    assert!(!reader.is_member());
    let epoch_before = reader.list().epoch();
    assert!(reader.on_frame(at(0), frame), "a recording");
    assert_eq!(reader.list().epoch(), epoch_before);
}

#[test]
fn whoever_hears_an_earlier_list_says_its_own_and_not_faster_than_its_shortest_interval() {
    let mut old = member(1, &[1, 2, 3], Stored::Nothing);
    log(&mut old);
    let recording = said(&mut old, 0).remove(0);
    let mut new = member(2, &[1, 2, 3], Stored::Nothing);
    let next = new.list().after(Change::Add(NodeId(4))).unwrap();
    new.adopt(at(0), next.clone());
    log(&mut new);
    let mut count = 0;
    let mut buffer = [0; FRAME_MAX];
    for millis in 100_000..110_000 {
        new.on_frame(at(millis), &recording);
        count += u32::from(new.poll_transmit(at(millis), &mut buffer).is_some());
    }
    assert!((10..50).contains(&count), "{count} in ten seconds");
    assert_eq!(new.list(), &next);
}
