//! The lock of Ricart and Agrawala message by message; on whole nodes in [`crate::permission_locks`].

use crate::permission_locks::ricart_agrawalas;
use crate::support::prelude::*;
use protocol::base::ids::SLOTS_MAX;
use protocol::mutex::permission::{PermissionMessage, RepliedRounds, Round};
use protocol::mutex::ricart_agrawala::Message;
use protocol::mutex::{Command, Notice, RicartAgrawala};

#[test]
fn mr7_p0_and_p2_ask_together_and_p0_wins_by_its_lower_time() {
    let mut lab = Lab::<RicartAgrawala>::by_hand(&[0, 1, 2]);
    lab.set_clock(0, 7).set_clock(2, 11).acquire(0); // 8
    lab.acquire(2); // 12
    lab.deliver_all();
    assert_eq!(lab.holders(), [0]);
    assert_eq!(lab.notices_of(2), [], "P1 has answered, P0 has not");
    lab.release(0).deliver_all();
    assert_eq!(lab.holders(), [2]);
    assert_eq!(lab.fence(2).count.0 / SLOTS_MAX as u64, 12);
    assert_eq!(lab.sent_named("reply"), 4);
}

#[test]
fn mr2_of_two_with_the_same_time_the_lower_id_wins() {
    for ids in [[3, 5, 9], [9, 5, 3]] {
        let mut lab = Lab::<RicartAgrawala>::by_hand(&ids);
        lab.acquire(ids[2]).acquire(ids[0]).deliver_all();
        assert_eq!(lab.holders(), [3]);
    }
}

#[test]
fn mr3_a_node_that_replied_before_it_asked_comes_later() {
    let mut lab = Lab::<RicartAgrawala>::by_hand(&[1, 2]);
    lab.set_clock(1, 50).acquire(1).deliver_all();
    lab.acquire(2); // its clock was far behind, and has observed the first request
    lab.deliver_all();
    assert_eq!(lab.holders(), [1]);
    lab.release(1).deliver_all();
    assert!(lab.fence(2).count > LamportTime(51));
}

#[test]
fn a_reply_of_an_earlier_round_admits_no_node() {
    let mut lab = Lab::<RicartAgrawala>::by_hand(&[1, 2, 3]);
    lab.acquire(1).deliver_all().acquire(2);
    let stale = lab.take("reply", 3, 2);
    lab.cancel(2).deliver_all().acquire(2).deliver_all();
    for _ in 0..2 {
        lab.hand(3, 2, stale.clone()).hand(1, 2, stale.clone());
    }
    assert_eq!(lab.holders(), [1]);
    lab.release(1).deliver_all();
    assert_eq!(lab.holders(), [2]);
}

/// The round of the request that node 1 has sent.
fn asked_round(lab: &mut Lab<RicartAgrawala>) -> Round {
    lab.read_in_flight(1, |message| match message {
        Message::Permission(PermissionMessage::Request(ask)) => Some(ask.round),
        Message::Permission(_)
        | Message::Reply { .. }
        | Message::Deferred { .. }
        | Message::Busy { .. }
        | Message::Cancel { .. } => None,
    })
}

#[test]
fn a_reply_to_another_node_counts_for_none() {
    let mut lab = Lab::<RicartAgrawala>::by_hand(&[1, 2]);
    lab.acquire(1);
    let round = asked_round(&mut lab);
    let mut rounds = RepliedRounds::new();
    rounds.push((1, round)).unwrap(); // the round of the request, the other's slot
    lab.hand(2, 1, Message::Reply { lock: DOOR, rounds });
    assert_eq!(lab.holders(), []);
    lab.deliver_all();
    assert_eq!(lab.holders(), [1]);
}

#[test]
fn mr6_a_node_that_waits_long_is_notified_when_it_asks_again() {
    let mut lab = Lab::<RicartAgrawala>::by_hand(&[1, 2, 3]);
    lab.acquire_for(1, Timing::RADIO.lock_lease).deliver_all().acquire(2).deliver_all();
    assert_eq!(lab.notices_of(2), []);
    lab.pass(Timing::RADIO.lease()).deliver_all();
    assert_eq!(lab.notices_of(2), [Notice::Waiting { lock: DOOR, ahead: 1 }]);
    assert_eq!((lab.sent_named("repeat"), lab.sent_named("deferred")), (1, 1));
}

#[test]
fn a_try_is_refused_at_once_and_queued_nowhere() {
    let mut locks = ricart_agrawalas(3);
    locks.enter(0).mark().try_acquire(1).run_ms(100);
    assert_eq!(locks.notices(1), [Notice::Refused { lock: DOOR, reason: Refusal::Busy }]);
    locks.mark().release(0).run_ms(100);
    assert_eq!((locks.messages(), locks.holder()), (0, None), "no node waits");
    locks.try_acquire(1).run_ms(100);
    assert_eq!(locks.holder(), Some(1));
}

#[test]
fn a_request_for_which_there_is_no_room_is_refused() {
    let mut lab = Lab::<RicartAgrawala>::by_hand(&[1, 2]);
    lab.acquire(1).deliver_all().release(1).acquire(1);
    let round = asked_round(&mut lab);
    lab.hand(2, 1, Message::Permission(PermissionMessage::Full { lock: DOOR, round }));
    assert_eq!(lab.notices_of(1).last(), Some(&Notice::Refused { lock: DOOR, reason: Refusal::Full }));
    lab.command(1, Command::Release { lock: DOOR });
    assert_eq!(lab.notices_of(1).last(), Some(&Notice::Refused { lock: DOOR, reason: Refusal::NotHeld }));
}

#[test]
fn no_node_replies_to_a_cancelled_request() {
    let mut lab = Lab::<RicartAgrawala>::by_hand(&[1, 2, 3]);
    lab.acquire(1).deliver_all().acquire(2).deliver_all().cancel(2).deliver_all();
    let replies = lab.sent_named("reply");
    lab.release(1);
    assert_eq!(lab.sent_named("reply"), replies);
}
