//! The tree lock of Raymond on whole nodes: what it costs on known trees; and member by member: orders that whole groups
//! take rarely.

use crate::support::prelude::*;
use crate::token_locks::{MOMENT, tree};
use protocol::algorithm::Output;
use protocol::base::config::lease_at_grantor;
use protocol::mutex::token::{Epoch, TokenMessage};
use protocol::mutex::{Command, Notice, Raymond, raymond};

/// A line led by its last member: every member's parent is the next.
fn path(count: usize) -> LockNet<Raymond> {
    LockNet::linked(count, Raymond::KIND, Raymond::default(), line)
}

#[test]
fn on_a_line_an_entry_costs_two_messages_for_every_edge_on_the_way_to_the_token() {
    let mut locks = path(5);
    for (index, edges) in [(0, 4), (1, 1), (4, 3), (4, 0), (2, 2), (0, 2)] {
        locks.mark().acquire(index).run_ms(MOMENT);
        assert_eq!(locks.holder(), Some(index));
        locks.release(index);
        assert_eq!(locks.messages(), 2 * edges, "node {index}");
    }
}

#[test]
fn where_all_are_in_range_an_entry_costs_at_most_four_messages() {
    for count in [3, 5, 9, 16] {
        let mut locks = tree(count);
        locks.mark().acquire(0).run_ms(MOMENT).release(0);
        assert_eq!(locks.messages(), 2, "from the leader, {count} members");
        locks.mark().acquire(1).run_ms(MOMENT);
        assert_eq!(locks.holder(), Some(1));
        assert_eq!(locks.messages(), 4, "over the leader, {count} members");
    }
}

#[test]
fn a_token_that_was_long_away_from_the_leader_needs_a_request_and_a_lease() {
    let mut locks = tree(5);
    locks.acquire(0).run_ms(MOMENT).release(0).run_secs(20).mark().acquire(0).run_ms(MOMENT);
    assert_eq!((locks.holder(), locks.messages()), (Some(0), 2));
}

#[test]
fn all_enter_one_after_the_other_when_all_want_to() {
    let mut locks = path(6);
    locks.mark().acquire_all(0..6);
    locks.serve(0..6, 5, Duration::from_secs(60));
    println!("six entries on a line of six: {} messages", locks.messages());
    assert!(locks.messages() <= 6 * 4, "about four an entry: {}", locks.messages());
}

#[test]
fn a_try_is_refused_after_a_heartbeat_while_another_holds_the_lock_and_granted_when_none_does() {
    let mut locks = tree(4);
    locks.acquire(0).run_ms(MOMENT).mark().try_acquire(1).run_ms(1_001);
    assert_eq!(locks.notices(1), [Notice::Refused { lock: DOOR, reason: Refusal::Busy }]);
    locks.release(0).run_ms(MOMENT).try_acquire(1).run_ms(MOMENT);
    assert_eq!(locks.holder(), Some(1));
}

#[test]
fn a_leader_that_knows_of_a_later_leaders_token_issues_none_of_the_same_epoch() {
    let mut lab = Lab::<Raymond>::by_hand(&[1, 2, 3]);
    let (own, later) = (Term { number: 1, by: NodeId(1) }, Term { number: 2, by: NodeId(3) });
    let epoch = Epoch { term: later, serial: 12 };
    lab.fact(1, |_| Fact::Leader { leader: NodeId(1), term: own }, &[]).acquire(1);
    // Before its own token is issued, a member asks that knows of another leader, and of its twelfth token.
    lab.hand(2, 1, raymond::Message::Request { lock: DOOR, number: 7, epoch });
    lab.pass(lease_at_grantor(Timing::RADIO.lock_lease));
    assert_eq!(lab.holders(), [], "its own token is void");
    lab.lose_all().fact(1, |_| Fact::Leader { leader: NodeId(3), term: later }, &[]);
    let number = lab.read_in_flight(1, |message| match message {
        raymond::Message::Issuer(TokenMessage::Request { number, .. }) => Some(*number),
        _ => None,
    });
    let warrant = TokenMessage::Lease { lock: DOOR, number, epoch, ahead: 1 };
    lab.hand(3, 1, raymond::Message::Issuer(warrant));
    assert_eq!(lab.holders(), [], "the twelfth token is somewhere else");
}

/// The first of three members, led by the second.
fn first() -> Single<Raymond> {
    let mut member = Single::new(1, roster(1..=3), Raymond::default());
    member.fact(Fact::Leader { leader: NodeId(2), term: term(3, 2) });
    member
}

#[test]
fn a_node_that_waits_long_in_the_tree_asks_the_leader_itself() {
    let mut member = first();
    member.fact(Fact::Parent(NodeId(3)));
    let sends = member.command(Command::Acquire { lock: DOOR, lease: Duration::from_secs(1) });
    assert_eq!(names(sends), [(slots(&[2]), "request")]);
    let outputs = member.run(Duration::from_secs(15));
    let asks = |output: &Output<_, _>| match output {
        Output::Send { to, message: raymond::Message::Request { .. } } => *to == slots(&[1]),
        Output::Send { .. } | Output::Notify(_) => false,
    };
    assert!(outputs.iter().any(asks), "{outputs:?}");
}

#[test]
fn a_request_that_is_repeated_is_passed_on_again() {
    let mut member = first();
    let mut ask = |number, after| {
        member.now = member.now.after(Duration::from_secs(after));
        let request = raymond::Message::Request { lock: DOOR, number, epoch: Epoch::before(term(3, 2)) };
        names(member.receive(3, request))
    };
    assert_eq!(ask(1, 0), [(slots(&[1]), "request")]);
    assert_eq!(ask(2, 1), [], "that was not long ago");
    assert_eq!(ask(3, 4), [(slots(&[1]), "request")]);
}

#[test]
fn a_member_that_knew_of_the_epoch_before_it_was_recalled_requests_the_token_again() {
    let mut member = Single::new(1, roster(1..=4), Raymond::default());
    member.fact(Fact::Leader { leader: NodeId(4), term: term(3, 4) });
    member.fact(Fact::Parent(NodeId(3)));
    let (first, epoch) = (Epoch::before(term(3, 4)), Epoch { term: term(3, 4), serial: 1 });
    let request = |number, epoch| raymond::Message::Request { lock: DOOR, number, epoch };
    assert_eq!(names(member.receive(2, request(1, first))), [(slots(&[2]), "request")], "to its parent");
    // Its neighbour was recalled earlier and has started over: the parent is asked already.
    assert_eq!(names(member.receive(2, request(2, epoch))), []);
    let recall = |via| raymond::Message::Issuer(TokenMessage::Recall { lock: DOOR, epoch, via });
    let acknowledged = (slots(&[3]), "recall-ack");
    let sends = names(member.receive(4, recall(members(&[1, 2, 3]))));
    assert_eq!(sends, [acknowledged, (slots(&[2]), "request")], "the parent has started over with the same recall");
    assert_eq!(names(member.receive(4, recall(members(&[1, 2, 3])))), [acknowledged], "once");
}
