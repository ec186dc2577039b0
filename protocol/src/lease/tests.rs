//! The lease of one member, step by step.

use super::*;
use crate::algorithm::Audience;
use crate::base::config::Timing;
use crate::base::ids::Roster;
use crate::base::lamport::LamportTime;
use crate::base::time::Duration;

/// A minute after the host's zero, and so many microseconds more.
fn at(micros: u32) -> Instant {
    Instant::ZERO.after(Duration::from_secs(60)).after(Duration::from_micros(micros))
}

/// Returns the notice of member 1 of three on `input`.
fn notice(lease: &mut LeaderLease, input: Input<Message, Heartbeat>) -> Option<Notice> {
    notice_at(lease, at(0), input)
}

fn notice_at(lease: &mut LeaderLease, now: Instant, input: Input<Message, Heartbeat>) -> Option<Notice> {
    step(lease, now, input).into_iter().find_map(|output| match output {
        crate::algorithm::Output::Notify(notice) => Some(notice),
        crate::algorithm::Output::Send { .. } => None,
    })
}

/// Returns whether member 1 sends a message on `input`.
fn sends(lease: &mut LeaderLease, input: Input<Message, Heartbeat>) -> bool {
    let sent = |output| matches!(output, crate::algorithm::Output::Send { .. });
    step(lease, at(0), input).into_iter().any(sent)
}

fn step(lease: &mut LeaderLease, now: Instant, input: Input<Message, Heartbeat>) -> Out {
    let mut roster = Roster::<3>::new();
    let [_, one, two] = [0, 1, 2].map(|id| roster.insert(NodeId(id)).unwrap());
    let others = NodeSet::first(3).without(NodeSet::slot(one));
    assert_eq!(two, 2);
    let cx = Context {
        now,
        uptime: Duration::from_secs(60),
        me: NodeId(1),
        candidate: None,
        roster: roster.view(),
        peers: others,
        up: others,
        near: others,
        crowd: others.len(),
        crowded: false,
        hold: crate::Duration::ZERO,
        quarantined: false,
        audience: Audience::Unknown,
        better: NodeSet::EMPTY,
        best_peer: None,
        view: NodeSet::first(3),
        lamport: LamportTime(1),
        random: 0,
        timing: &Timing::RADIO,
    };
    let mut out = Outbox::new();
    lease.handle(&cx, input, &mut out);
    out
}

#[test]
fn a_view_of_an_earlier_term_does_not_confirm_the_leader_of_this_one() {
    let [old, new] = [1, 4].map(|number| Term { number, by: NodeId(2) });
    let view = |term| {
        let message = Message::View { term, number: 1, members: NodeSet::first(3) };
        Input::Message { from: NodeId(2), sent_at: LamportTime(0), message }
    };
    let mut lease = LeaderLease::in_group(Mode::Quorum, NodeSet::first(3));
    notice(&mut lease, Input::Fact(Fact::Leader { leader: NodeId(2), term: new }));
    assert_eq!(notice(&mut lease, view(old)), None);
    assert_eq!(notice(&mut lease, view(new)), Some(Notice::LeaderChanged { leader: NodeId(2), term: new }));
}

#[test]
fn a_release_ends_no_promise_for_a_later_heartbeat() {
    let term = Term { number: 1, by: NodeId(2) };
    let mut lease = LeaderLease::in_group(Mode::Quorum, NodeSet::first(3));
    notice(&mut lease, Input::Fact(Fact::Leader { leader: NodeId(2), term }));
    let heartbeat = Heartbeat { leader: NodeId(2), term, count: 7, parent: NodeSet::slot(2) };
    notice(&mut lease, Input::Command(heartbeat));
    for (count, promised) in [(6, true), (7, false)] {
        let message = Message::Release { term, count, leader: NodeId(2) };
        notice(&mut lease, Input::Message { from: NodeId(2), sent_at: LamportTime(0), message });
        assert_eq!(lease.promise.is_some(), promised, "heartbeat {count}");
    }
}

#[test]
fn a_lease_counts_from_when_it_was_asked_for_to_the_microsecond() {
    let term = Term { number: 1, by: NodeId(1) };
    for (asked, granted) in [(1_000, 5_900), (1_999, 5_000), (1_500, 5_500)] {
        let mut lease = LeaderLease::in_group(Mode::Quorum, NodeSet::first(3));
        notice_at(&mut lease, at(asked), Input::Fact(Fact::Leader { leader: NodeId(1), term }));
        let heartbeat = Heartbeat { leader: NodeId(1), term, count: 1, parent: NodeSet::EMPTY };
        notice_at(&mut lease, at(asked), Input::Command(heartbeat));
        let granted_by = [NodeSet::slot(2), NodeSet::EMPTY, NodeSet::EMPTY];
        let message = Message::Grant { term, depth: 1, asks: true, view_number: 0, count: 1, granted: granted_by };
        let grant = Input::Message { from: NodeId(2), sent_at: LamportTime(0), message };
        assert_eq!(notice_at(&mut lease, at(granted), grant), Some(Notice::Gained { term }));
        let end = at(asked).after(lease_at_holder(Timing::RADIO.lease()));
        assert_eq!(lease.acting_term(end), None, "asked at {asked}, granted at {granted}");
        assert_eq!(lease.acting_term(end.before(Duration::from_millis(2))), Some(term));
    }
}

#[test]
fn a_promise_is_longer_once_the_leader_is_no_longer_new() {
    let term = Term { number: 1, by: NodeId(2) };
    for (count, length) in [(3, Timing::RADIO.lease()), (4, Timing::RADIO.lease_max())] {
        let mut lease = LeaderLease::in_group(Mode::Quorum, NodeSet::first(3));
        notice(&mut lease, Input::Fact(Fact::Leader { leader: NodeId(2), term }));
        let heartbeat = Heartbeat { leader: NodeId(2), term, count, parent: NodeSet::slot(2) };
        notice(&mut lease, Input::Command(heartbeat));
        let until = lease.promise.map(|promise| promise.until);
        assert_eq!(until, Some(at(0).after(lease_at_grantor(length))), "heartbeat {count}");
    }
}

#[test]
fn a_leader_that_restarted_leads_no_more_until_it_has_a_lease_again() {
    let [old, new] = [1, 4].map(|number| Term { number, by: NodeId(2) });
    let mut lease = LeaderLease::in_group(Mode::Quorum, NodeSet::first(3));
    let mut step = |input| (notice(&mut lease, input), lease.leader());
    let elected = |term| Input::Fact(Fact::Leader { leader: NodeId(2), term });
    let view = |term| {
        let message = Message::View { term, number: 1, members: NodeSet::first(3) };
        Input::Message { from: NodeId(2), sent_at: LamportTime(0), message }
    };
    assert_eq!(
        [step(elected(old)).0, step(view(old)).0],
        [None, Some(Notice::LeaderChanged { leader: NodeId(2), term: old })]
    );
    assert_eq!(step(Input::Fact(Fact::PeerReset(NodeSet::slot(0)))), (None, Some((NodeId(2), old))));
    assert_eq!(step(Input::Fact(Fact::PeerReset(NodeSet::slot(2)))), (Some(Notice::Leaderless), None));
    assert_eq!(step(elected(new)), (None, None), "elected under a new term, it has no lease yet");
    assert_eq!(step(view(new)).1, Some((NodeId(2), new)));
}

#[test]
fn an_answer_without_news_is_repeated_where_its_sender_waits_for_that() {
    let term = Term { number: 1, by: NodeId(2) };
    let mine = [NodeSet::slot(1), NodeSet::EMPTY, NodeSet::EMPTY];
    let grant = |from, depth, asks| {
        let message = Message::Grant { term, depth, asks, view_number: 0, count: 1, granted: mine };
        Input::Message { from: NodeId(from), sent_at: LamportTime(0), message }
    };
    let mut lease = LeaderLease::in_group(Mode::Quorum, NodeSet::first(3));
    notice(&mut lease, Input::Fact(Fact::Leader { leader: NodeId(2), term }));
    let heartbeat = Heartbeat { leader: NodeId(2), term, count: 1, parent: NodeSet::slot(2) };
    assert!(sends(&mut lease, Input::Command(heartbeat)), "it grants the lease");
    assert!(lease.answer.asks());
    sends(&mut lease, grant(2, 0, false));
    assert!(!lease.answer.asks(), "the leader has understood");
    assert!(!sends(&mut lease, grant(0, 2, false)));
    assert!(sends(&mut lease, grant(0, 2, true)));
}

#[test]
fn a_member_that_may_not_grant_yet_is_silent() {
    let term = Term { number: 1, by: NodeId(2) };
    let mut lease = LeaderLease::in_group(Mode::Quorum, NodeSet::first(3));
    notice(&mut lease, Input::Fact(Fact::Leader { leader: NodeId(2), term }));
    lease.promise = Some(Promise { to: NodeId(0), heartbeat: (term, 1), until: at(1_000_000) });
    let heartbeat = Heartbeat { leader: NodeId(2), term, count: 1, parent: NodeSet::slot(2) };
    assert!(!sends(&mut lease, Input::Command(heartbeat)));
}

#[test]
fn a_leader_that_waited_in_vain_waits_longer_after_its_next_heartbeat() {
    let term = Term { number: 1, by: NodeId(1) };
    let group = NodeSet::first(3);
    let mut lease = LeaderLease::in_group(Mode::Quorum, group);
    notice(&mut lease, Input::Fact(Fact::Leader { leader: NodeId(1), term }));
    let mut asked = at(0);
    for (count, waits) in [(9, 500), (10, 750), (11, 1_000)] {
        let heartbeat = Heartbeat { leader: NodeId(1), term, count, parent: NodeSet::EMPTY };
        notice_at(&mut lease, asked, Input::Command(heartbeat));
        let overdue = asked.after(Duration::from_millis(waits));
        assert!(!lease.take_overdue(overdue.before(Duration::from_millis(1)), &Timing::RADIO, group, group));
        assert!(lease.take_overdue(overdue, &Timing::RADIO, group, group), "heartbeat {count}");
        asked = overdue;
    }
}
