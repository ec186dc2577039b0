//! Lamport's lock, on whole nodes and by itself.

mod common;
#[path = "common/consent.rs"]
mod consent;
#[path = "common/council.rs"]
mod council;

use common::locks::{DOOR, Locks};
use council::{Council, door};
use protocol::algorithm::Fact;
use protocol::clock::Stamp;
use protocol::group::SLOTS_MAX;
use protocol::mutex::consent::Word;
use protocol::mutex::lamport::Message;
use protocol::mutex::{Lamport, Notice, Refusal};
use protocol::wire::Kind;
use protocol::{NodeId, Span, Timing};

fn group(count: usize) -> Locks<Lamport> {
    Locks::new(count, Kind::Lamport, Lamport::new())
}

#[test]
fn ml4_an_entry_and_its_exit_cost_3_letters_for_each_other_member() {
    for count in [3, 5, 9] {
        assert_eq!(consent::uncontended(group(count)), 3 * (count - 1), "{count} members");
    }
}

#[test]
fn ml4_it_costs_the_same_where_all_want_it_at_once() {
    for count in [3, 5, 9] {
        assert_eq!(consent::contended(group(count)), count * 3 * (count - 1), "{count} members");
    }
}

/// The queue as a member knows it.
fn queue(council: &mut Council<Lamport>, name: u32) -> Vec<(u64, u32)> {
    council.look(name, |lock, cx| lock.queue(cx, door()).map(|(stamp, NodeId(name))| (stamp.0, name)).collect())
}

/// The textbook's sample: who asks, and under which stamp.
const SAMPLE: [(u64, u32); 5] = [(1021, 4), (1022, 8), (3944, 1), (8201, 6), (9638, 12)];

#[test]
fn ml3_the_sample_queue_is_the_same_everywhere_once_all_requests_have_arrived() {
    let names = [1, 4, 6, 8, 12];
    let mut council = Council::<Lamport>::new(&names);
    for &(stamp, name) in SAMPLE.iter().rev() {
        council.set_clock(name, stamp - 1);
        council.acquire(name);
    }
    assert_eq!(queue(&mut council, 6), [(8201, 6)], "before that each knows but its own");
    council.deliver_all();
    for name in names {
        assert_eq!(queue(&mut council, name), SAMPLE, "at {name}");
    }
    for (at, &(stamp, name)) in SAMPLE.iter().enumerate() {
        assert_eq!(council.holders(), [name]);
        assert_eq!(council.fence(name).count.0 / SLOTS_MAX as u64, stamp, "fences are in the order of the queue");
        council.release(name);
        council.deliver_all();
        for name in names {
            assert_eq!(queue(&mut council, name), SAMPLE[at + 1..], "at {name}");
        }
    }
}

#[test]
fn ml1_of_two_with_the_same_stamp_the_lower_name_comes_first() {
    let mut council = Council::<Lamport>::new(&[9, 5, 3]);
    council.acquire(9);
    council.acquire(3);
    council.deliver_all();
    assert_eq!(council.holders(), [3]);
}

#[test]
fn ml2_x14_nobody_enters_before_it_has_heard_from_everybody_something_stamped_later() {
    let mut council = Council::<Lamport>::new(&[1, 2, 3]);
    council.set_clock(1, 40);
    council.acquire(1); // 41
    let last = council.take("ack", 3, 1);
    council.deliver_all();
    assert_eq!(council.holders(), [], "at the head of its queue, but 3 may have asked before");
    council.hand_stamped(3, 1, Stamp(41), last.clone());
    assert_eq!(council.holders(), [], "stamped no later");
    council.hand_stamped(3, 1, Stamp(42), last);
    assert_eq!(council.holders(), [1]);
}

#[test]
fn ml2_whoever_heard_from_everybody_waits_until_it_is_at_the_head_and_knows_how_many_come_first() {
    let mut council = Council::<Lamport>::new(&[1, 2, 3]);
    for name in [1, 2, 3] {
        council.acquire(name);
        council.deliver_all();
    }
    assert_eq!(council.holders(), [1]);
    assert_eq!(council.notices(2), [Notice::Waiting { lock: door(), ahead: 1 }]);
    assert_eq!(council.notices(3), [Notice::Waiting { lock: door(), ahead: 2 }]);
    council.release(1);
    council.deliver_all();
    assert_eq!(council.holders(), [2]);
    assert_eq!(council.notices(3).last(), Some(&Notice::Waiting { lock: door(), ahead: 1 }));
}

#[test]
fn an_ack_says_what_its_writer_wants_where_the_request_that_said_so_was_given_up() {
    let mut council = Council::<Lamport>::new(&[1, 2, 3]);
    council.acquire(1);
    council.lose_all();
    council.set_clock(2, 10);
    council.acquire(2); // 11, after 1
    council.deliver_all();
    assert_eq!(council.holders(), [], "2 knows that it comes second");
    council.fact(1, Fact::PeerUp, &[2, 3]);
    council.deliver_all();
    assert_eq!(council.holders(), [1]);
    council.release(1);
    council.deliver_all();
    assert_eq!(council.holders(), [2]);
}

#[test]
fn a_release_that_was_given_up_is_made_good_when_somebody_asks_again() {
    let mut council = Council::<Lamport>::new(&[1, 2, 3]);
    council.acquire(1);
    council.deliver_all();
    council.acquire(2);
    council.deliver_all();
    council.release(1);
    council.lose_all();
    assert_eq!(council.holders(), []);
    council.pass(Timing::RADIO.lease());
    council.deliver_all();
    assert_eq!(council.holders(), [2]);
}

#[test]
fn whoever_only_tries_is_refused_as_soon_as_it_knows_that_others_come_first() {
    let mut locks = group(3);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.mark();
    locks.try_(1, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!(locks.told(1), [Notice::Refused { lock: door(), why: Refusal::Busy }]);
    locks.release(0, DOOR);
    locks.run(Span::from_millis(100));
    locks.try_(1, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!(locks.holder(DOOR), Some(1));
}

#[test]
fn a_request_for_which_there_is_no_room_is_refused_and_struck_out() {
    let mut council = Council::<Lamport>::new(&[1, 2, 3]);
    council.acquire(1);
    let turn = council.on_its_way(1, |message| match message {
        Message::Word(Word::Request(ask)) => Some(ask.turn),
        Message::Word(_) | Message::Ack { .. } | Message::Release { .. } => None,
    });
    council.hand(2, 1, Message::Word(Word::Full { lock: door(), turn }));
    assert_eq!(council.notices(1), [Notice::Refused { lock: door(), why: Refusal::Full }]);
    council.deliver_all();
    assert_eq!(queue(&mut council, 3), []);
}

#[test]
fn a_waiter_whose_consents_ran_out_asks_all_again_under_the_same_number() {
    consent::a_waiter_whose_consents_ran_out_asks_all_again_under_the_same_number(group(3));
}

#[test]
fn a_request_that_is_taken_back_is_struck_out() {
    consent::a_request_that_is_taken_back_is_struck_out(group(3));
}

#[test]
fn a_member_of_another_view_is_not_answered_before_the_views_agree() {
    council::cases::a_member_of_another_view_is_not_answered_before_the_views_agree::<Lamport>("ack");
}

#[test]
fn what_a_member_outside_the_view_may_hold_is_waited_out_by_those_who_consented() {
    council::cases::what_a_member_outside_the_view_may_hold_is_waited_out_by_those_who_consented::<Lamport>();
}

#[test]
fn a_member_that_comes_back_with_an_old_request_has_to_make_a_new_one() {
    council::cases::a_member_that_comes_back_with_an_old_request_has_to_make_a_new_one::<Lamport>();
}

#[test]
fn a_member_that_started_anew_is_asked_again_and_abstains_until_its_forgotten_word_has_run_out() {
    council::cases::a_member_that_started_anew_is_asked_again_and_abstains_until_its_forgotten_word_has_run_out::<
        Lamport,
    >();
}

#[test]
fn a_holder_that_crashes_is_waited_out_by_its_lease_and_by_the_change_of_the_view() {
    consent::holder_crash(group);
}

#[test]
fn a_waiter_or_a_bystander_that_crashes_costs_the_change_of_the_view() {
    consent::others_crash(group);
}

#[test]
fn a_holder_that_loses_its_ram_lets_the_next_in_when_its_lease_is_over() {
    consent::holder_reboots(group);
}

#[test]
fn where_frames_are_lost_everybody_gets_in_and_fences_grow() {
    consent::losses(group);
}

#[test]
fn a_minority_cannot_enter_and_a_majority_can_without_it() {
    consent::partition(group);
}

#[test]
fn whatever_goes_wrong_never_two_hold_it_and_afterwards_everybody_gets_in() {
    for seed in 0..40 {
        consent::afflict(seed, group);
    }
}

#[test]
fn what_a_holder_may_have_stays_written_down_when_its_renewal_is_too_old() {
    council::cases::what_a_holder_may_have_stays_written_down_when_its_renewal_is_too_old::<Lamport>();
}

#[test]
fn a_change_of_the_view_voids_what_was_consented_before() {
    council::cases::a_change_of_the_view_voids_what_was_consented_before::<Lamport>("ack");
}

#[test]
fn an_ack_of_an_earlier_question_admits_nobody() {
    let mut council = Council::<Lamport>::new(&[1, 2, 3]);
    council.acquire(1);
    let stale = council.take("ack", 3, 1);
    council.cancel(1);
    council.deliver_all();
    council.acquire(1);
    let last = council.take("ack", 3, 1);
    council.deliver_all();
    council.hand(3, 1, stale);
    assert_eq!(council.holders(), []);
    council.hand(3, 1, last);
    assert_eq!(council.holders(), [1]);
}

#[test]
fn a_member_waits_out_its_own_word_too() {
    council::cases::a_member_waits_out_its_own_word_too::<Lamport>();
}

#[test]
fn a_holder_that_overstays_its_lease_makes_room_by_itself() {
    council::cases::a_holder_that_overstays_its_lease_makes_room_by_itself::<Lamport>();
}

#[test]
fn four_locks_that_end_at_once_are_not_too_much_for_a_step() {
    council::cases::four_locks_that_end_at_once_are_not_too_much_for_a_step::<Lamport>();
}
