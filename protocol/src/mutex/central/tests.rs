//! One member by itself: told this or that, second by second. What whole groups do is in `tests/locks_central.rs`.

extern crate std;

use super::*;
use crate::Timing;
use crate::algorithm::Output;
use crate::clock::Stamp;
use crate::group::{NodeSet, Roster};
use crate::mutex::Command as C;
use std::vec::Vec;

const DOOR: LockId = LockId::from_name("door");
const LEASE: Span = Span::from_secs(1);
const ME: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const THIRD: NodeId = NodeId(3);

const fn term(number: u32) -> Term {
    Term { number, by: ME }
}

/// One of three members. A step takes the number of the second it is taken in as its stamp.
#[derive(Default)]
struct Member {
    lock: Central,
    letters: Vec<(NodeSet, Message)>,
    notices: Vec<Notice>,
}

impl Member {
    /// One that leads, and was told by the others that they hold nothing.
    fn leading() -> Self {
        let mut member = Self::default();
        member.step(10, Input::Fact(Fact::Leader { leader: ME, term: term(3) }));
        for from in [OTHER, THIRD] {
            member.hear(10, from, Message::Follows { term: term(3), holds: [None; LOCKS_MAX], all: true });
        }
        member
    }

    /// One that follows.
    fn following() -> Self {
        let mut member = Self::default();
        member.learn(10, Fact::Leader { leader: OTHER, term: term(3) });
        member
    }

    fn step(&mut self, second: u32, input: Input<Message, Command>) {
        let mut roster = Roster::<3>::new();
        for name in [ME, OTHER, THIRD] {
            roster.insert(name);
        }
        let all = roster.view().all();
        let others = all.without(NodeSet::slot(0));
        let cx = Context {
            now: moment(second),
            uptime: Span::from_secs(second),
            me: ME,
            standing: None,
            roster: roster.view(),
            peers: others,
            up: others,
            near: others,
            better: NodeSet::EMPTY,
            rival: None,
            view: all,
            stamp: Stamp(u64::from(second)),
            random: 0,
            timing: &Timing::RADIO,
        };
        let mut out = Outbox::new();
        self.lock.handle(&cx, input, &mut out);
        assert!(!out.overflowed(), "{:?}", out.outputs());
        (self.letters, self.notices) = (Vec::new(), Vec::new());
        for output in out {
            match output {
                Output::Send { to, message } => self.letters.push((to, message)),
                Output::Notify(notice) => self.notices.push(notice),
            }
        }
    }

    fn hear(&mut self, second: u32, from: NodeId, message: Message) {
        self.step(second, Input::Message { from, stamp: Stamp(0), message });
    }

    fn learn(&mut self, second: u32, fact: Fact) {
        self.step(second, Input::Fact(fact));
    }

    fn ask(&mut self, second: u32, command: Command) {
        self.step(second, Input::Command(command));
    }

    /// The words of what it wrote in the last step.
    fn words(&self) -> Vec<&'static str> {
        self.letters.iter().map(|(_, message)| crate::wire::Message::word(message)).collect()
    }
}

fn moment(second: u32) -> Instant {
    Instant::ZERO.after(Span::from_secs(second))
}

const fn request(lock: LockId, number: u64, trying: bool) -> Message {
    Message::Request { lock, request: Stamp(number), lease: LEASE, trying }
}

fn grant(number: u64, waited: Span) -> Message {
    let fence = Fence { term: term(3), count: Stamp(1) };
    Message::Grant { lock: DOOR, request: Stamp(number), fence, waited }
}

fn refused(why: Refusal) -> Notice {
    Notice::Refused { lock: DOOR, why }
}

#[test]
fn a_leader_that_slept_through_everything_says_no_more_in_a_step_than_it_may() {
    let mut leader = Member::leading();
    let locks = ["a", "b", "c", "d"].map(LockId::from_name);
    for lock in locks {
        leader.ask(10, C::Acquire { lock, lease: LEASE });
        leader.hear(10, OTHER, request(lock, 7, false));
        assert_eq!(leader.words(), ["waiting"]);
    }
    leader.hear(15, THIRD, request(LockId::from_name("a"), 7, false));
    assert_eq!((leader.words(), leader.notices.len()), (std::vec!["waiting", "grant", "grant", "grant"], 4));
    assert_eq!(leader.lock.deadline(), Some(Instant::ZERO));
    leader.step(15, Input::Timeout);
    assert_eq!(leader.words(), ["grant"]);
}

#[test]
fn mc4_where_nobody_leads_one_that_only_tries_is_refused_and_the_others_wait() {
    let mut alone = Member::default();
    alone.ask(10, C::Try { lock: DOOR, lease: LEASE });
    assert_eq!(alone.notices, [refused(Refusal::Busy)]);
    alone.ask(10, C::Acquire { lock: DOOR, lease: LEASE });
    assert_eq!((alone.notices.len(), alone.lock.deadline()), (0, None));
    alone.learn(11, Fact::Leader { leader: OTHER, term: term(3) });
    assert_eq!(alone.words(), ["follows", "request"]);

    let mut left = Member::following();
    left.ask(10, C::Try { lock: DOOR, lease: LEASE });
    assert_eq!(left.words(), ["request"]);
    left.learn(11, Fact::NoLeader);
    assert_eq!(left.notices, [refused(Refusal::Busy)]);
}

#[test]
fn mc4_one_that_waits_and_hears_nothing_asks_anew() {
    let mut member = Member::following();
    member.ask(10, C::Acquire { lock: DOOR, lease: LEASE });
    let silence = moment(10).after(Timing::RADIO.lease());
    assert_eq!(member.lock.deadline(), Some(silence));
    member.hear(12, OTHER, Message::Waiting { lock: DOOR, request: Stamp(10), ahead: 1 });
    assert_eq!(member.lock.deadline(), Some(moment(12).after(Timing::RADIO.lease())));
    member.step(16, Input::Timeout);
    assert_eq!(member.letters, [(NodeSet::slot(1), request(DOOR, 16, false))]);
    member.hear(16, OTHER, grant(10, Span::ZERO));
    assert_eq!(member.notices, [], "it is not what it asked for last");
    member.hear(16, OTHER, grant(16, Span::ZERO));
    assert!(matches!(member.notices[..], [Notice::Acquired { .. }]));
}

#[test]
fn mc5_a_grant_of_the_leader_before_is_none_once_another_was_told_of_nothing_held() {
    let mut member = Member::following();
    member.ask(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.learn(11, Fact::Leader { leader: THIRD, term: term(4) });
    let told = Message::Follows { term: term(4), holds: [None; LOCKS_MAX], all: true };
    assert_eq!(member.letters, [(NodeSet::slot(2), told), (NodeSet::slot(2), request(DOOR, 11, false))]);
    member.hear(11, OTHER, grant(10, Span::ZERO));
    assert_eq!((member.notices.len(), member.letters.len()), (0, 0));
}

#[test]
fn mc5_a_new_leader_is_told_what_is_held_and_whether_that_is_all() {
    for (second, all) in [(5, false), (6, true)] {
        let mut member = Member::default();
        member.learn(2, Fact::Leader { leader: OTHER, term: term(3) });
        member.ask(second, C::Acquire { lock: DOOR, lease: LEASE });
        member.hear(second, OTHER, grant(u64::from(second), Span::ZERO));
        member.learn(second, Fact::Leader { leader: THIRD, term: term(4) });
        let told = Message::Follows { term: term(4), holds: [Some(DOOR), None, None, None], all };
        assert_eq!(member.letters, [(NodeSet::slot(2), told)]);
    }
}

#[test]
fn mc5_a_leader_takes_no_answer_for_another_term() {
    let mut leader = Member::default();
    leader.learn(10, Fact::Leader { leader: ME, term: term(3) });
    for (from, number) in [(OTHER, 3), (THIRD, 2)] {
        leader.hear(10, from, Message::Follows { term: term(number), holds: [None; LOCKS_MAX], all: true });
    }
    leader.hear(10, OTHER, request(DOOR, 7, false));
    assert_eq!(leader.words(), ["waiting"]);
    leader.hear(11, THIRD, Message::Follows { term: term(3), holds: [None; LOCKS_MAX], all: true });
    assert_eq!(leader.words(), ["grant"]);
}

#[test]
fn mc5_one_that_does_not_lead_grants_nothing_and_renews_nothing() {
    let mut leader = Member::leading();
    leader.hear(10, OTHER, request(DOOR, 7, false));
    assert_eq!(leader.words(), ["grant"]);
    leader.hear(10, THIRD, request(DOOR, 7, false));
    leader.learn(11, Fact::NoLeader);
    leader.hear(11, OTHER, Message::Renew { lock: DOOR, request: Stamp(7), number: Stamp(8), lease: LEASE });
    leader.hear(11, THIRD, request(LockId::from_name("gate"), 8, false));
    assert_eq!(leader.words(), <[&str; 0]>::default());
    leader.hear(11, OTHER, Message::Release { lock: DOOR, request: Stamp(7) });
    leader.step(20, Input::Timeout);
    assert_eq!(leader.words(), <[&str; 0]>::default());
    leader.learn(20, Fact::Leader { leader: ME, term: term(3) });
    let [(to, Message::Grant { fence, .. })] = leader.letters[..] else { panic!("{:?}", leader.letters) };
    assert_eq!(
        (to, fence),
        (NodeSet::slot(2), Fence { term: term(3), count: Stamp(2) }),
        "under the same term, it goes on"
    );
}

#[test]
fn mc5_a_leader_that_goes_on_under_a_higher_term_has_forgotten_nothing() {
    let mut leader = Member::leading();
    leader.hear(10, OTHER, request(DOOR, 7, false));
    leader.learn(10, Fact::Leader { leader: ME, term: term(4) });
    leader.hear(10, THIRD, request(DOOR, 7, false));
    assert_eq!(leader.words(), ["waiting"]);
    leader.hear(10, OTHER, Message::Release { lock: DOOR, request: Stamp(7) });
    assert!(matches!(leader.letters[..], [(_, Message::Grant { fence, .. })] if fence.term == term(4)));
}

#[test]
fn mc5_a_leader_under_another_term_knows_nothing_of_what_it_granted_before() {
    let mut leader = Member::leading();
    leader.learn(11, Fact::Leader { leader: OTHER, term: term(4) });
    leader.learn(12, Fact::Leader { leader: ME, term: term(5) });
    leader.hear(12, OTHER, request(DOOR, 7, false));
    assert_eq!(leader.words(), ["waiting"]);
    leader.hear(12, OTHER, request(LockId::from_name("gate"), 7, true));
    let [(_, Message::Refused { why, .. })] = leader.letters[..] else { panic!("{:?}", leader.letters) };
    assert_eq!(why, Refusal::Busy, "it is not known whether it is free");
}

#[test]
fn mc6_a_hold_that_the_leader_does_not_know_of_is_lost() {
    let mut leader = Member::leading();
    let renewal = Message::Renew { lock: DOOR, request: Stamp(10), number: Stamp(11), lease: LEASE };
    leader.hear(10, OTHER, renewal);
    let refusal = Message::Refused { lock: DOOR, request: Stamp(10), why: Refusal::NotHeld };
    assert_eq!(leader.letters, [(NodeSet::slot(1), refusal)]);

    let mut member = Member::following();
    member.ask(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.hear(10, OTHER, grant(10, Span::ZERO));
    member.hear(10, OTHER, refusal);
    assert_eq!(member.notices, [Notice::Lost { lock: DOOR }]);
}

#[test]
fn the_time_a_request_waited_is_not_taken_from_the_lease_but_the_margin_is() {
    let mut member = Member::following();
    member.ask(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.hear(12, OTHER, grant(10, Span::from_secs(2)));
    let until = moment(10).after(usable(Span::from_secs(2))).after(usable(LEASE));
    assert!(matches!(member.notices[..], [Notice::Acquired { until: end, .. }] if end == until));
}

#[test]
fn a_lease_that_is_over_when_it_arrives_is_asked_for_anew_or_given_back() {
    let mut member = Member::following();
    member.ask(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.hear(12, OTHER, grant(10, Span::from_millis(500)));
    assert_eq!(member.letters, [(NodeSet::slot(1), request(DOOR, 12, false))], "it still comes first");
    member.hear(14, OTHER, grant(12, Span::ZERO));
    assert_eq!(member.words(), ["release"], "the way is too long: others may have the lock meanwhile");
    assert_eq!(member.lock.deadline(), Some(moment(14).after(Timing::RADIO.lease())));
}

#[test]
fn a_member_that_comes_back_is_told_again_of_its_grant_and_has_lost_its_place() {
    let mut leader = Member::leading();
    leader.hear(10, OTHER, request(DOOR, 7, false));
    leader.hear(10, THIRD, request(DOOR, 7, false));
    leader.learn(10, Fact::PeerDown(NodeSet::slot(1).with(NodeSet::slot(2))));
    leader.learn(10, Fact::PeerUp(NodeSet::slot(1).with(NodeSet::slot(2))));
    assert!(matches!(leader.letters[..], [(to, Message::Grant { .. })] if to == NodeSet::slot(1)));
    leader.hear(10, OTHER, Message::Release { lock: DOOR, request: Stamp(7) });
    assert_eq!(leader.words(), <[&str; 0]>::default());

    let mut member = Member::following();
    member.ask(10, C::Acquire { lock: DOOR, lease: LEASE });
    member.learn(11, Fact::PeerUp(NodeSet::slot(2)));
    assert_eq!(member.words(), <[&str; 0]>::default());
    member.learn(11, Fact::PeerUp(NodeSet::slot(1)));
    assert_eq!(member.words(), ["follows", "request"]);
}

#[test]
fn mc6_a_leader_that_lets_its_own_lease_run_out_frees_the_lock() {
    let mut leader = Member::leading();
    leader.ask(10, C::Acquire { lock: DOOR, lease: LEASE });
    assert!(matches!(leader.notices[..], [Notice::Acquired { until, .. }] if until == moment(11)));
    leader.hear(10, OTHER, request(DOOR, 7, false));
    leader.step(11, Input::Timeout);
    assert_eq!((leader.words(), &leader.notices[..]), (std::vec!["grant"], &[Notice::Lost { lock: DOOR }][..]));
}
