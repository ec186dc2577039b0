//! The token ring on whole nodes: what it costs; and member by member: orders that whole groups take rarely.

use crate::support::prelude::*;
use crate::token_locks::{MOMENT, ring};
use protocol::algorithm::Input;
use protocol::mutex::token::{Epoch, Token};
use protocol::mutex::token_ring::Message;
use protocol::mutex::{Command, Notice, TokenRing};

#[test]
fn mt1_the_token_goes_round_and_each_enters_when_it_passes() {
    let mut locks = ring(5);
    for index in [0, 2, 1] {
        locks.acquire(index);
    }
    let mut order = Vec::new();
    for _ in 0..3 {
        locks.run_ms(MOMENT);
        let holder = locks.holder().expect("a node has it");
        order.push(holder);
        locks.release(holder);
    }
    assert_eq!(order, [0, 1, 2], "the order is the ring's, from the leader on");
}

#[test]
fn mt3_an_entry_costs_a_request_a_lease_and_a_round() {
    for count in [3, 5, 8] {
        let mut locks = ring(count);
        locks.acquire(0).run_ms(MOMENT);
        assert_eq!(locks.holder(), Some(0));
        locks.release(0).run_ms(MOMENT);
        assert_eq!(locks.messages(), 2 + count, "{count} members");
        locks.run_secs(20);
        assert_eq!(locks.messages(), 2 + count, "an idle token rests");
    }
}

#[test]
fn mt3_nodes_that_enter_in_one_round_share_its_hops() {
    let mut locks = ring(6);
    locks.acquire_all(0..5);
    for index in 0..5 {
        locks.await_holder(index);
        locks.release(index);
    }
    locks.run_ms(MOMENT);
    let messages = locks.messages();
    println!("five entries: {messages} messages");
    assert!(messages <= 5 * 2 + 2 * 6, "a request and a lease each, and at most two rounds: {messages}");
}

#[test]
fn mt2_no_node_starves_though_two_neighbours_always_want_the_lock() {
    let mut locks = ring(5);
    locks.acquire(0).run_ms(MOMENT).acquire(3);
    let mut entries = 0;
    while locks.holder() != Some(3) {
        for index in [0, 1] {
            if locks.holder() == Some(index) {
                entries += 1;
                locks.release(index).acquire(index);
            }
        }
        assert!(entries < 5);
        locks.run_ms(MOMENT);
    }
}

#[test]
fn a_try_is_refused_while_another_holds_the_lock_and_granted_when_none_does() {
    let mut locks = ring(4);
    locks.acquire(0).run_ms(MOMENT).mark().try_acquire(1).run_ms(MOMENT);
    assert_eq!(locks.notices(1), [Notice::Refused { lock: DOOR, reason: Refusal::Busy }]);
    locks.release(0).run_ms(MOMENT).try_acquire(1).run_ms(MOMENT);
    assert_eq!(locks.holder(), Some(1));
}

const ACQUIRE: Command = Command::Acquire { lock: DOOR, lease: Duration::from_secs(1) };

/// The first of three members, which follows or leads under this term.
fn first(leader: u32) -> Single<TokenRing> {
    let mut member = Single::new(1, roster(1..=3), TokenRing::default());
    member.fact(Fact::Leader { leader: NodeId(leader), term: term(3, leader) });
    member
}

#[test]
fn a_leader_that_leads_again_under_the_same_term_issues_another_token() {
    let mut member = first(1);
    let enter = |member: &mut Single<TokenRing>| {
        member.command(ACQUIRE);
        member.run(Duration::from_secs(9));
        let fence = |notice: &Notice| if let Notice::Acquired { fence, .. } = notice { Some(*fence) } else { None };
        member.notices.iter().rev().find_map(fence).unwrap()
    };
    let first = enter(&mut member);
    member.fact(Fact::NoLeader);
    member.now = member.now.after(Duration::from_secs(1));
    member.fact(Fact::Leader { leader: NodeId(1), term: term(3, 1) });
    let second = enter(&mut member);
    let round = |fence: Fence| fence.count.0 >> 32;
    assert!(round(second) > round(first), "{second:?} after {first:?}");
}

#[test]
fn a_request_that_was_never_answered_does_not_suppress_the_next_one() {
    let mut member = first(2);
    assert_eq!(names(member.command(ACQUIRE)), [(slots(&[1]), "token-request")]);
    member.command(Command::Cancel { lock: DOOR });
    member.run(Duration::from_secs(10));
    assert_eq!(names(member.command(ACQUIRE)), [(slots(&[1]), "token-request")]);
}

#[test]
fn a_try_that_is_refused_passes_the_token_on_at_once() {
    let mut member = first(2);
    member.command(Command::Try { lock: DOOR, lease: Duration::from_secs(1) });
    let token = Token { epoch: Epoch { term: term(3, 2), serial: 1 }, sequence: 1 };
    let sends = names(member.receive(3, Message::Token { lock: DOOR, token }));
    assert!(sends.is_empty(), "it has no lease yet: {sends:?}");
    for _ in 0..1_000 {
        member.now = member.now.after(Duration::from_millis(10));
        let sends = names(member.sends(Input::Timeout));
        let refused = !member.notices.is_empty();
        assert_eq!(sends.contains(&(slots(&[1]), "token")), refused, "at {:?}: {sends:?}", member.now);
        if refused {
            break;
        }
    }
    assert!(matches!(member.notices[..], [Notice::Refused { .. }]), "{:?}", member.notices);
}
