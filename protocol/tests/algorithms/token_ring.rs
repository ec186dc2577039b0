//! The token ring on whole nodes: what it costs; and member by member: orders that whole groups take rarely.

use crate::support::prelude::*;
use crate::token_locks::{MOMENT, circulating, ring};
use protocol::algorithm::{Input, Output};
use protocol::mutex::token::{Epoch, Token};
use protocol::mutex::token_ring::{Idle, Message, SEQUENCE_MAX};
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

/// The first of three members of a ring whose token circulates, which follows the second.
fn on_a_lap() -> Single<TokenRing> {
    let mut member = Single::new(1, roster(1..=3), TokenRing::new(Idle::Circulating));
    member.fact(Fact::Leader { leader: NodeId(2), term: term(3, 2) });
    member
}

/// The token of that ring's leader.
fn token_on(lap: u32, sequence: u32) -> Message {
    let epoch = Epoch { term: term(3, 2), serial: 1 };
    Message::Circulating { lock: DOOR, token: Token { epoch, sequence }, lap }
}

#[test]
fn mt1_a_token_that_circulates_is_passed_on_by_itself_and_lets_in_without_a_word_to_the_leader() {
    let mut member = on_a_lap();
    assert_eq!(member.receive(3, token_on(1, 2)), [(slots(&[1]), token_on(1, 3))], "nobody has asked for it");
    let passed_at = member.now;
    member.now = member.now.after(Duration::from_millis(40));
    let lease = Timing::RADIO.lock_lease;
    assert_eq!(names(member.command(Command::Acquire { lock: DOOR, lease })), [], "there is nothing to ask");
    assert_eq!(names(member.receive(3, token_on(2, 5))), []);
    let [Notice::Acquired { until, .. }] = member.notices[..] else { panic!("{:?}", member.notices) };
    assert!(until < passed_at.after(lease), "the lease counts from when it passed the token on: {until:?}");
    assert_eq!(names(member.command(Command::Release { lock: DOOR })), [(slots(&[1]), "token")]);
}

#[test]
fn mt1_a_token_that_has_not_been_at_the_leader_since_brings_no_lease() {
    for lap in [0, 1] {
        let mut member = on_a_lap();
        member.receive(3, token_on(1, 2));
        member.command(ACQUIRE);
        assert_eq!(names(member.receive(3, token_on(lap, 5))), [(slots(&[1]), "token-request")], "lap {lap}");
        assert_eq!(member.notices, []);
    }
}

#[test]
fn a_token_that_circulated_for_long_is_replaced_before_its_sequence_number_ends() {
    let mut member = Single::new(1, roster(1..=3), TokenRing::new(Idle::Circulating));
    member.fact(Fact::Leader { leader: NodeId(1), term: term(3, 1) });
    member.command(ACQUIRE);
    let outputs = member.run(Duration::from_secs(9));
    let passed = outputs.iter().find_map(|output| match *output {
        Output::Send { message: Message::Circulating { token: Token { epoch, .. }, lap, .. }, .. } => {
            Some((epoch, lap))
        }
        Output::Send { .. } | Output::Notify(_) => None,
    });
    let (epoch, lap) = passed.expect("its hold has ended, and the token goes round");
    let back = Message::Circulating { lock: DOOR, token: Token { epoch, sequence: SEQUENCE_MAX }, lap };
    let mut sends = member.receive(3, back);
    sends.extend(member.wait());
    let replaced = |message: &Message| matches!(message, Message::Circulating { token, .. } if token.epoch > epoch);
    assert!(sends.iter().any(|(_, message)| replaced(message)), "{sends:?}");
}

/// A ring whose token has gone round for a second.
fn running(count: usize) -> LockNet<TokenRing> {
    let mut locks = circulating(count);
    locks.acquire(0).await_holder(0);
    locks.release(0).run_secs(1).mark();
    locks
}

#[test]
fn mt3_where_all_enter_each_time_an_entry_costs_one_message_and_where_none_does_any_number() {
    for count in [3, 5, 8] {
        let mut locks = running(count);
        locks.acquire_all(0..count);
        locks.serve(0..count, 1, Duration::from_secs(10)); // every lease is as fresh as the lap
        locks.acquire_all(0..count).run_ms(1).mark();
        let mut entries = 0;
        while entries < 4 * count {
            if let Some(holder) = locks.holder() {
                entries += 1;
                locks.release(holder).acquire(holder);
            }
            locks.run_ms(1);
        }
        let messages = locks.messages();
        println!("{count} members: {messages} messages for {entries} entries");
        assert!(messages.abs_diff(entries) <= 1, "{messages} messages for {entries} entries of {count}");
    }
    let mut locks = running(5);
    locks.run_secs(1);
    let first = locks.messages();
    locks.run_secs(4);
    assert!(first > 100 && locks.messages().abs_diff(5 * first) <= first / 10, "{first}, {}", locks.messages());
}

#[test]
fn mt3_the_delay_is_one_message_time_for_each_member_from_the_token_to_the_requester() {
    const COUNT: usize = 6;
    for distance in 1..COUNT {
        let mut locks = running(COUNT);
        locks.acquire(0).await_holder(0);
        locks.acquire(distance).mark().release(0);
        let took = locks.await_holder(distance);
        assert_eq!(locks.messages(), distance, "tokens, and nothing else: the token was {distance} away");
        // A member is passed the token when it has acknowledged the last lap's: one contention window at most.
        let (hops, window) = (HOP.times(u32::try_from(distance).unwrap()), Timing::RADIO.jitter.times(6));
        println!("{distance} away: {took:?}");
        assert!(took >= hops && took <= hops.plus(window).plus(HOP), "{distance} away: {took:?}");
    }
    let mut member = on_a_lap();
    member.receive(3, token_on(1, 2));
    member.command(ACQUIRE);
    let before = member.now;
    member.receive(3, token_on(2, 5));
    assert!(
        matches!(member.notices[..], [Notice::Acquired { .. }]) && member.now == before,
        "and none where it arrives"
    );
}
