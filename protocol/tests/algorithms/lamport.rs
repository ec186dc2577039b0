//! Lamport's lock message by message; on whole nodes in [`crate::permission_locks`].

use crate::permission_locks::lamports;
use crate::support::prelude::*;
use protocol::base::ids::SLOTS_MAX;
use protocol::mutex::lamport::{EntryRule, Message};
use protocol::mutex::permission::PermissionMessage;
use protocol::mutex::{Lamport, Notice};

/// The queue as a member knows it.
fn queue(lab: &mut Lab<Lamport>, id: usize) -> Vec<(u64, usize)> {
    lab.look(id, |lock, cx| lock.queue(cx, DOOR).map(|(time, NodeId(id))| (time.0, id as usize)).collect())
}

/// The textbook's sample: Lamport times and ids of the requests.
const SAMPLE: [(u64, usize); 5] = [(1021, 4), (1022, 8), (3944, 1), (8201, 6), (9638, 12)];

#[test]
fn ml3_the_sample_queue_is_the_same_everywhere_once_all_requests_have_arrived() {
    let ids = [1, 4, 6, 8, 12];
    let mut lab = Lab::<Lamport>::by_hand(&ids);
    for &(time, id) in SAMPLE.iter().rev() {
        lab.set_clock(id, time - 1).acquire(id);
    }
    assert_eq!(queue(&mut lab, 6), [(8201, 6)], "before that each knows only its own");
    lab.deliver_all();
    for id in ids {
        assert_eq!(queue(&mut lab, id), SAMPLE, "at {id}");
    }
    for (at, &(time, id)) in SAMPLE.iter().enumerate() {
        assert_eq!(lab.holders(), [id]);
        assert_eq!(lab.fence(id).count.0 / SLOTS_MAX as u64, time, "fences are in the order of the queue");
        lab.release(id).deliver_all();
        for id in ids {
            assert_eq!(queue(&mut lab, id), SAMPLE[at + 1..], "at {id}");
        }
    }
}

#[test]
fn ml1_of_two_with_the_same_time_the_lower_id_comes_first() {
    let mut lab = Lab::<Lamport>::by_hand(&[9, 5, 3]);
    lab.acquire(9).acquire(3).deliver_all();
    assert_eq!(lab.holders(), [3]);
}

#[test]
fn ml2_x14_no_node_enters_before_every_other_has_sent_a_message_of_a_later_time() {
    let mut lab = Lab::<Lamport>::by_hand(&[1, 2, 3]);
    lab.set_clock(1, 40).acquire(1); // 41
    let last = lab.take("request-ack", 3, 1);
    lab.deliver_all();
    assert_eq!(lab.holders(), [], "at the head of its queue, but 3 may have asked before");
    lab.hand_at(3, 1, LamportTime(41), last.clone());
    assert_eq!(lab.holders(), [], "of no later time");
    lab.hand_at(3, 1, LamportTime(42), last);
    assert_eq!(lab.holders(), [1]);
}

#[test]
fn ml2_a_node_waits_until_it_is_at_the_head_and_knows_how_many_come_first() {
    let mut lab = Lab::<Lamport>::by_hand(&[1, 2, 3]);
    for id in [1, 2, 3] {
        lab.acquire(id).deliver_all();
    }
    assert_eq!(lab.holders(), [1]);
    assert_eq!(lab.notices_of(2), [Notice::Waiting { lock: DOOR, ahead: 1 }]);
    assert_eq!(lab.notices_of(3), [Notice::Waiting { lock: DOOR, ahead: 2 }]);
    lab.release(1).deliver_all();
    assert_eq!(lab.holders(), [2]);
    assert_eq!(lab.notices_of(3).last(), Some(&Notice::Waiting { lock: DOOR, ahead: 1 }));
}

#[test]
fn an_ack_carries_the_request_of_its_sender_where_the_request_itself_was_abandoned() {
    let mut lab = Lab::<Lamport>::by_hand(&[1, 2, 3]);
    lab.acquire(1).lose_all().set_clock(2, 10).acquire(2); // 11, after 1
    lab.deliver_all();
    assert_eq!(lab.holders(), [], "2 knows that it comes second");
    lab.fact(1, Fact::PeerUp, &[2, 3]).deliver_all();
    assert_eq!(lab.holders(), [1]);
    lab.release(1).deliver_all();
    assert_eq!(lab.holders(), [2]);
}

#[test]
fn a_release_that_was_abandoned_is_made_good_when_a_node_asks_again() {
    let mut lab = Lab::<Lamport>::by_hand(&[1, 2, 3]);
    lab.acquire(1).deliver_all().acquire(2).deliver_all().release(1).lose_all();
    assert_eq!(lab.holders(), []);
    lab.pass(Timing::RADIO.lease()).deliver_all();
    assert_eq!(lab.holders(), [2]);
}

#[test]
fn a_try_is_refused_as_soon_as_others_are_known_to_come_first() {
    let mut locks = lamports(3);
    locks.enter(0).mark().try_acquire(1).run_ms(100);
    assert_eq!(locks.notices(1), [Notice::Refused { lock: DOOR, reason: Refusal::Busy }]);
    locks.release(0).run_ms(100).try_acquire(1).run_ms(100);
    assert_eq!(locks.holder(), Some(1));
}

#[test]
fn a_request_for_which_there_is_no_room_is_refused_and_dequeued() {
    let mut lab = Lab::<Lamport>::by_hand(&[1, 2, 3]);
    lab.acquire(1);
    let round = lab.read_in_flight(1, |message| match message {
        Message::Permission(PermissionMessage::Request(ask)) => Some(ask.round),
        Message::Permission(_) | Message::RequestAck { .. } | Message::Release { .. } => None,
    });
    lab.hand(2, 1, Message::Permission(PermissionMessage::Full { lock: DOOR, round }));
    assert_eq!(lab.notices_of(1), [Notice::Refused { lock: DOOR, reason: Refusal::Full }]);
    lab.deliver_all();
    assert_eq!(queue(&mut lab, 3), []);
}

#[test]
fn an_ack_of_an_earlier_round_admits_no_node() {
    let mut lab = Lab::<Lamport>::by_hand(&[1, 2, 3]);
    lab.acquire(1);
    let stale = lab.take("request-ack", 3, 1);
    lab.cancel(1).deliver_all().acquire(1);
    let last = lab.take("request-ack", 3, 1);
    lab.deliver_all().hand(3, 1, stale);
    assert_eq!(lab.holders(), []);
    lab.hand(3, 1, last);
    assert_eq!(lab.holders(), [1]);
}

#[test]
fn x14_by_the_papers_rule_a_later_request_of_another_is_as_good_as_its_acknowledgement() {
    for (rule, enters) in [(EntryRule::Acknowledged, false), (EntryRule::LaterMessage, true)] {
        let mut lab = Lab::new(&[3, 5], Order::Sent, 0, |_| Lamport::new(rule));
        lab.acquire(3).set_clock(5, 9).acquire(5);
        lab.deliver_from(1, 0); // the later request of 5, which has not received that of 3
        assert_eq!(lab.holders() == [3], enters, "{rule:?}");
        lab.deliver_all();
        assert_eq!(lab.holders(), [3], "and both rules agree in the end");
        lab.release(3).deliver_all();
        assert_eq!(lab.holders(), [5]);
    }
}
