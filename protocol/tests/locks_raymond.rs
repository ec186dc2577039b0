//! The tree lock of Raymond on whole nodes: what it costs on known trees, and what becomes of lost tokens.

mod common;
#[path = "common/council.rs"]
mod council;

use common::line;
use common::locks::{DOOR, Locks};
use common::tokens;
use council::{Council, door};
use protocol::algorithm::Fact;
use protocol::clock::Term;
use protocol::config::granted;
use protocol::mutex::keeper::{Generation, Word};
use protocol::mutex::{Notice, Raymond, Refusal, raymond};
use protocol::wire::Kind;
use protocol::{NodeId, Span, Timing};

fn tree(count: usize) -> Locks<Raymond> {
    Locks::new(count, Kind::Raymond, Raymond::new())
}

fn moment(locks: &mut Locks<Raymond>) {
    locks.run(Span::from_millis(300));
}

/// A line led by its last member: every member's parent is the next.
fn rope(count: usize) -> Locks<Raymond> {
    Locks::linked(count, Kind::Raymond, Raymond::new(), line)
}

#[test]
fn on_a_line_an_entry_costs_two_letters_for_every_edge_on_the_way_to_the_token() {
    let mut locks = rope(5);
    for (index, edges) in [(0, 4), (1, 1), (4, 3), (4, 0), (2, 2), (0, 2)] {
        locks.mark();
        locks.acquire(index, DOOR);
        moment(&mut locks);
        assert_eq!(locks.holder(DOOR), Some(index));
        locks.release(index, DOOR);
        assert_eq!(locks.letters(), 2 * edges, "node {index}");
    }
}

#[test]
fn where_all_hear_all_an_entry_costs_at_most_four_letters() {
    for count in [3, 5, 9, 16] {
        let mut locks = tree(count);
        locks.mark();
        locks.acquire(0, DOOR);
        moment(&mut locks);
        locks.release(0, DOOR);
        assert_eq!(locks.letters(), 2, "from the leader, {count} members");
        locks.mark();
        locks.acquire(1, DOOR);
        moment(&mut locks);
        assert_eq!(locks.holder(DOOR), Some(1));
        assert_eq!(locks.letters(), 4, "over the leader, {count} members");
    }
}

#[test]
fn a_token_that_was_long_away_from_the_leader_needs_a_call_and_a_warrant() {
    let mut locks = tree(5);
    locks.acquire(0, DOOR);
    moment(&mut locks);
    locks.release(0, DOOR);
    locks.run(Span::from_secs(20));
    locks.mark();
    locks.acquire(0, DOOR);
    moment(&mut locks);
    assert_eq!((locks.holder(DOOR), locks.letters()), (Some(0), 2));
}

#[test]
fn all_enter_in_turn_when_all_want_to() {
    let mut locks = rope(6);
    locks.mark();
    for index in 0..6 {
        locks.acquire(index, DOOR);
    }
    let mut left: Vec<usize> = (0..6).collect();
    while !left.is_empty() {
        locks.run(Span::from_millis(5));
        if let Some(holder) = locks.holder(DOOR) {
            left.retain(|&index| index != holder);
            locks.release(holder, DOOR);
        }
    }
    println!("six entries on a line of six: {} letters", locks.letters());
    assert!(locks.letters() <= 6 * 4, "about four an entry: {}", locks.letters());
}

#[test]
fn m3_two_locks_are_held_by_two_nodes_at_once() {
    tokens::two_locks_are_held_by_two_nodes_at_once(tree);
}

#[test]
fn the_leader_enters_by_itself_when_the_token_rests_there() {
    tokens::the_leader_enters_by_itself_when_the_token_rests_there(tree);
}

#[test]
fn a_try_is_refused_after_a_heartbeat_while_another_is_inside_and_granted_when_nobody_is() {
    let mut locks = tree(4);
    locks.acquire(0, DOOR);
    moment(&mut locks);
    locks.mark();
    locks.try_(1, DOOR);
    locks.run(Span::from_millis(1_001));
    assert_eq!(locks.told(1), [Notice::Refused { lock: protocol::mutex::LockId::from_name(DOOR), why: Refusal::Busy }]);
    locks.release(0, DOOR);
    moment(&mut locks);
    locks.try_(1, DOOR);
    moment(&mut locks);
    assert_eq!(locks.holder(DOOR), Some(1));
}

#[test]
fn a_hold_is_renewed_for_as_long_as_the_leader_agrees() {
    tokens::a_hold_is_renewed_for_as_long_as_the_leader_agrees(tree);
}

#[test]
fn a_token_lost_with_its_holder_is_made_anew_when_its_lease_is_over() {
    tokens::a_token_lost_with_its_holder_is_made_anew_when_its_lease_is_over(tree);
}

#[test]
fn a_broken_tree_is_mended_and_the_token_found_at_once() {
    tokens::a_bystanders_crash_costs_no_lease(tree);
}

#[test]
fn a_leaders_crash_loses_nothing_but_time() {
    tokens::a_leaders_crash_loses_nothing_but_time(tree);
}

#[test]
fn a_holder_that_is_cut_off_loses_the_lock_before_another_has_it() {
    tokens::a_holder_that_is_cut_off_loses_the_lock_before_another_has_it(tree);
}

#[test]
fn a_holder_that_restarts_does_not_hold_and_its_lease_is_waited_out() {
    tokens::a_holder_that_restarts_does_not_hold_and_its_lease_is_waited_out(tree);
}

#[test]
fn a_leader_that_restarts_finds_or_makes_every_token() {
    tokens::a_leader_that_restarts_finds_or_makes_every_token(tree);
}

#[test]
fn with_30_percent_of_all_frames_lost_all_enter_one_after_the_other() {
    tokens::with_30_percent_of_all_frames_lost_all_enter_one_after_the_other(tree);
}

#[test]
fn the_fence_is_the_leaders_term_and_the_tokens_sequence() {
    tokens::the_fence_is_the_leaders_term_and_the_tokens_sequence(tree);
}

#[test]
fn a_leader_that_has_heard_of_a_later_ones_token_makes_none_of_that_name() {
    let mut council = Council::<Raymond>::new(&[1, 2, 3]);
    let (own, later) = (Term { number: 1, by: NodeId(1) }, Term { number: 2, by: NodeId(3) });
    let generation = Generation { term: later, round: 12 };
    council.fact(1, |_| Fact::Leader { leader: NodeId(1), term: own }, &[]);
    council.acquire(1);
    // Before its own token is made, somebody asks it who has heard of another leader, and of its twelfth token.
    council.hand(2, 1, raymond::Message::Request { lock: door(), number: 7, generation });
    council.pass(granted(Timing::RADIO.lock_lease));
    assert_eq!(council.holders(), [], "its own token is void");
    council.lose_all();
    council.fact(1, |_| Fact::Leader { leader: NodeId(3), term: later }, &[]);
    let number = council.on_its_way(1, |message| match message {
        raymond::Message::Keeper(Word::Call { number, .. }) => Some(*number),
        _ => None,
    });
    let warrant = Word::Warrant { lock: door(), number, generation, ahead: 1 };
    council.hand(3, 1, raymond::Message::Keeper(warrant));
    assert_eq!(council.holders(), [], "the twelfth token is somewhere else");
}
