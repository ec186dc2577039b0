//! One member alone, second by second. Whole groups are in `tests/algorithms/central.rs`.

use super::*;
use crate::Timing;
use crate::algorithm::Output;
use crate::base::config::lease_at_holder;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::mutex::Command as C;
use crate::mutex::test_support::{self, DOOR, second};
use std::vec;
use std::vec::Vec;

const LEASE: Duration = Duration::from_secs(1);
const ME: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const THIRD: NodeId = NodeId(3);
const TICKET: Ticket = Ticket { term: 3, number: 1 };

const fn term(number: u32) -> Term {
    Term { number, by: ME }
}

/// One of three members. The Lamport time of a step is its second.
#[derive(Default)]
struct Member {
    lock: Central,
    sent: Vec<(NodeSet, Message)>,
    notices: Vec<Notice>,
}

impl Member {
    /// Makes a leader to which the others have reported that they hold nothing.
    fn leading() -> Self {
        let mut member = Self::default();
        member.fact(10, Fact::Leader { leader: ME, term: term(3) });
        for from in [OTHER, THIRD] {
            member.receive(10, from, holds_nothing(3, 10));
        }
        member
    }

    fn following() -> Self {
        let mut member = Self::default();
        member.fact(10, Fact::Leader { leader: OTHER, term: term(3) });
        member
    }

    fn step(&mut self, now: u32, input: Input<Message, Command>) {
        let mut out = Outbox::new();
        test_support::at(3, now, u64::from(now), |cx| self.lock.handle(cx, input, &mut out));
        assert!(!out.overflowed(), "{:?}", out.outputs());
        (self.sent, self.notices) = (Vec::new(), Vec::new());
        for output in out {
            match output {
                Output::Send { to, message } => self.sent.push((to, message)),
                Output::Notify(notice) => self.notices.push(notice),
            }
        }
    }

    fn receive(&mut self, now: u32, from: NodeId, message: Message) {
        self.step(now, Input::Message { from, sent_at: LamportTime(0), message });
    }

    fn fact(&mut self, now: u32, fact: Fact) {
        self.step(now, Input::Fact(fact));
    }

    fn command(&mut self, now: u32, command: Command) {
        self.step(now, Input::Command(command));
    }

    fn names(&self) -> Vec<&'static str> {
        self.sent.iter().map(|(_, message)| crate::wire::Message::name(message)).collect()
    }
}

const fn request(lock: LockId, number: u64, trying: bool) -> Message {
    Message::Request { lock, request: LamportTime(number), lease: LEASE, trying }
}

const fn renewal(request: u64, number: u64) -> Message {
    Message::Renew { lock: DOOR, request: LamportTime(request), number: LamportTime(number), lease: LEASE }
}

/// A report of a member that holds nothing.
const fn holds_nothing(number: u32, since: u64) -> Message {
    Message::Follows { term: term(number), held: [None; LOCKS_MAX], complete: true, since: LamportTime(since) }
}

fn grant(number: u64, waited: Duration) -> Message {
    let fence = Fence { term: term(3), count: LamportTime(1) };
    Message::Grant { lock: DOOR, request: LamportTime(number), fence, waited }
}

fn refused(reason: Refusal) -> Notice {
    Notice::Refused { lock: DOOR, reason }
}

#[test]
fn a_leader_that_slept_through_everything_stays_within_the_budget_of_a_step() {
    let mut leader = Member::leading();
    let locks = ["a", "b", "c", "d"].map(LockId::from_name);
    for lock in locks {
        leader.command(10, C::Acquire { lock, lease: LEASE });
        leader.receive(10, OTHER, request(lock, 7, false));
        assert_eq!(leader.names(), ["waiting"]);
    }
    leader.receive(15, THIRD, request(LockId::from_name("a"), 7, false));
    assert_eq!((leader.names(), leader.notices.len()), (vec!["waiting", "grant", "grant", "grant"], 4));
    assert_eq!(leader.lock.deadline(), Some(Instant::ZERO));
    leader.step(15, Input::Timeout);
    assert_eq!(leader.names(), ["grant"]);
}

#[test]
fn mc4_without_a_leader_a_try_is_refused_and_an_acquire_waits() {
    let mut leaderless = Member::default();
    leaderless.command(10, C::Try { lock: DOOR, lease: LEASE });
    assert_eq!(leaderless.notices, [refused(Refusal::Busy)]);
    leaderless.command(10, C::Acquire { lock: DOOR, lease: LEASE });
    assert_eq!((leaderless.notices.len(), leaderless.lock.deadline()), (0, None));
    leaderless.fact(11, Fact::Leader { leader: OTHER, term: term(3) });
    assert_eq!(leaderless.names(), ["request", "follows"]);

    let mut left = Member::following();
    left.command(10, C::Try { lock: DOOR, lease: LEASE });
    assert_eq!(left.names(), ["request"]);
    left.fact(11, Fact::NoLeader);
    assert_eq!(left.notices, [refused(Refusal::Busy)]);
}

#[test]
fn mc4_a_waiting_member_that_gets_no_reply_requests_again() {
    let mut member = Member::following();
    member.command(10, C::Acquire { lock: DOOR, lease: LEASE });
    let timeout = second(10).after(Timing::RADIO.lease());
    assert_eq!(member.lock.deadline(), Some(timeout));
    member.receive(12, OTHER, Message::Waiting { lock: DOOR, request: LamportTime(10), ahead: 1, ticket: TICKET });
    assert_eq!(member.lock.deadline(), Some(second(12).after(Timing::RADIO.lease())));
    member.step(16, Input::Timeout);
    let again = Message::Requeue { lock: DOOR, request: LamportTime(16), lease: LEASE, ticket: TICKET };
    assert_eq!(member.sent, [(NodeSet::slot(1), again)]);
    member.receive(16, OTHER, grant(10, Duration::ZERO));
    assert_eq!(member.notices, [], "it has requested again since");
    member.receive(16, OTHER, grant(16, Duration::ZERO));
    assert!(matches!(member.notices[..], [Notice::Acquired { .. }]));
}

#[test]
fn mc5_a_grant_of_the_leader_before_does_not_count_after_a_report_to_the_next() {
    let mut member = Member::following();
    member.command(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.fact(11, Fact::Leader { leader: THIRD, term: term(4) });
    assert_eq!(member.sent, [(NodeSet::slot(2), request(DOOR, 11, false)), (NodeSet::slot(2), holds_nothing(4, 11))]);
    member.receive(11, OTHER, grant(10, Duration::ZERO));
    assert_eq!((member.notices.len(), member.sent.len()), (0, 0));
}

#[test]
fn mc5_a_new_leader_gets_a_report_of_all_holds_and_whether_it_is_complete() {
    for (now, complete) in [(5, false), (6, true)] {
        let mut member = Member::default();
        member.fact(2, Fact::Leader { leader: OTHER, term: term(3) });
        member.command(now, C::Acquire { lock: DOOR, lease: LEASE });
        member.receive(now, OTHER, grant(u64::from(now), Duration::ZERO));
        member.fact(now, Fact::Leader { leader: THIRD, term: term(4) });
        let report = Message::Follows {
            term: term(4),
            held: [Some(DOOR), None, None, None],
            complete,
            since: LamportTime(u64::from(now)),
        };
        assert_eq!(member.sent, [(NodeSet::slot(2), report)]);
    }
}

#[test]
fn mc5_a_leader_takes_no_report_for_another_term() {
    let mut leader = Member::default();
    leader.fact(10, Fact::Leader { leader: ME, term: term(3) });
    for (from, number) in [(OTHER, 3), (THIRD, 2)] {
        leader.receive(10, from, holds_nothing(number, 10));
    }
    leader.receive(10, OTHER, request(DOOR, 7, false));
    assert_eq!(leader.names(), ["waiting"]);
    leader.receive(11, THIRD, holds_nothing(3, 11));
    assert_eq!(leader.names(), ["grant"]);
}

#[test]
fn mc5_a_member_that_does_not_lead_grants_and_renews_nothing() {
    let mut leader = Member::leading();
    leader.receive(10, OTHER, request(DOOR, 7, false));
    assert_eq!(leader.names(), ["grant"]);
    leader.receive(10, THIRD, request(DOOR, 7, false));
    leader.fact(11, Fact::NoLeader);
    leader.receive(11, OTHER, renewal(7, 8));
    leader.receive(11, THIRD, request(LockId::from_name("gate"), 8, false));
    assert_eq!(leader.names(), [""; 0]);
    leader.receive(11, OTHER, Message::Release { lock: DOOR, request: LamportTime(7) });
    leader.step(20, Input::Timeout);
    assert_eq!(leader.names(), [""; 0]);
    leader.fact(20, Fact::Leader { leader: ME, term: term(3) });
    let [(to, Message::Grant { fence, .. })] = leader.sent[..] else { panic!("{:?}", leader.sent) };
    let next = Fence { term: term(3), count: LamportTime(2) };
    assert_eq!((to, fence), (NodeSet::slot(2), next), "under the same term it continues");
}

#[test]
fn mc5_a_leader_that_continues_under_a_higher_term_keeps_its_grants() {
    let mut leader = Member::leading();
    leader.receive(10, OTHER, request(DOOR, 7, false));
    leader.fact(10, Fact::Leader { leader: ME, term: term(4) });
    leader.receive(10, THIRD, request(DOOR, 7, false));
    assert_eq!(leader.names(), ["waiting"]);
    leader.receive(10, OTHER, Message::Release { lock: DOOR, request: LamportTime(7) });
    assert!(matches!(leader.sent[..], [(_, Message::Grant { fence, .. })] if fence.term == term(4)));
}

#[test]
fn mc5_a_leader_elected_again_under_another_term_has_to_take_over() {
    let mut leader = Member::leading();
    leader.fact(11, Fact::Leader { leader: OTHER, term: term(4) });
    leader.fact(12, Fact::Leader { leader: ME, term: term(5) });
    leader.receive(12, OTHER, request(DOOR, 7, false));
    assert_eq!(leader.names(), ["waiting"]);
    leader.receive(12, OTHER, request(LockId::from_name("gate"), 7, true));
    let [(_, Message::Refused { reason, .. })] = leader.sent[..] else { panic!("{:?}", leader.sent) };
    assert_eq!(reason, Refusal::Busy, "it may be held");
}

#[test]
fn mc6_a_hold_unknown_to_the_leader_is_lost() {
    let mut leader = Member::leading();
    leader.receive(10, OTHER, renewal(10, 11));
    let refusal = Message::Refused { lock: DOOR, request: LamportTime(10), reason: Refusal::NotHeld };
    assert_eq!(leader.sent, [(NodeSet::slot(1), refusal)]);

    let mut member = Member::following();
    member.command(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.receive(10, OTHER, grant(10, Duration::ZERO));
    member.receive(10, OTHER, refusal);
    assert_eq!(member.notices, [Notice::Lost { lock: DOOR }]);
}

#[test]
fn a_lease_is_shortened_by_the_clock_margin_and_not_by_the_wait() {
    let mut member = Member::following();
    member.command(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.receive(12, OTHER, grant(10, Duration::from_secs(2)));
    let until = second(10).after(lease_at_holder(Duration::from_secs(2))).after(lease_at_holder(LEASE));
    assert!(matches!(member.notices[..], [Notice::Acquired { until: end, .. }] if end == until));
}

#[test]
fn a_lease_that_is_over_on_arrival_is_requested_again_or_released() {
    let mut member = Member::following();
    member.command(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.receive(12, OTHER, grant(10, Duration::from_millis(500)));
    assert_eq!(member.sent, [(NodeSet::slot(1), request(DOOR, 12, false))], "it is still first");
    member.receive(14, OTHER, grant(12, Duration::ZERO));
    assert_eq!(member.names(), ["release"], "the way is too long: others first");
    assert_eq!(member.lock.deadline(), Some(second(14).after(Timing::RADIO.lease())));
}

#[test]
fn a_returning_member_gets_its_grant_again_and_repeats_its_request_before_it_reports() {
    let mut leader = Member::leading();
    leader.receive(10, OTHER, request(DOOR, 7, false));
    leader.receive(10, THIRD, request(DOOR, 7, false));
    leader.fact(10, Fact::PeerDown(NodeSet::slot(1).with(NodeSet::slot(2))));
    leader.fact(10, Fact::PeerUp(NodeSet::slot(1).with(NodeSet::slot(2))));
    assert!(matches!(leader.sent[..], [(to, Message::Grant { .. })] if to == NodeSet::slot(1)));
    leader.receive(10, OTHER, Message::Release { lock: DOOR, request: LamportTime(7) });
    assert_eq!(leader.names(), [""; 0]);

    let mut member = Member::following();
    member.command(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.fact(11, Fact::PeerUp(NodeSet::slot(2)));
    assert_eq!(member.names(), [""; 0]);
    member.fact(11, Fact::PeerUp(NodeSet::slot(1)));
    assert_eq!(member.names(), ["request", "follows"]);
}

#[test]
fn mc6_the_end_of_the_leader_s_own_lease_frees_the_lock() {
    let mut leader = Member::leading();
    leader.command(10, C::Acquire { lock: DOOR, lease: LEASE });
    assert!(matches!(leader.notices[..], [Notice::Acquired { until, .. }] if until == second(11)));
    leader.receive(10, OTHER, request(DOOR, 7, false));
    leader.step(11, Input::Timeout);
    assert_eq!((leader.names(), &leader.notices[..]), (vec!["grant"], &[Notice::Lost { lock: DOOR }][..]));
}
