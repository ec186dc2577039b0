//! The lock of Ricart and Agrawala, on whole nodes and by itself.

mod common;
#[path = "common/consent.rs"]
mod consent;
#[path = "common/council.rs"]
mod council;

use common::locks::{DOOR, Locks};
use council::{Council, door};
use protocol::clock::Stamp;
use protocol::group::SLOTS_MAX;
use protocol::mutex::consent::{Turns, Word};
use protocol::mutex::ricart_agrawala::Message;
use protocol::mutex::{Command, Notice, Refusal, RicartAgrawala};
use protocol::wire::Kind;
use protocol::{Span, Timing};

fn group(count: usize) -> Locks<RicartAgrawala> {
    Locks::new(count, Kind::RicartAgrawala, RicartAgrawala::new())
}

#[test]
fn mr5_x7_an_entry_and_its_exit_cost_2_letters_for_each_other_member() {
    for count in [3, 5, 9] {
        assert_eq!(consent::uncontended(group(count)), 2 * (count - 1), "{count} members");
    }
}

#[test]
fn mr5_x7_it_costs_the_same_where_all_want_it_at_once() {
    for count in [3, 5, 9] {
        assert_eq!(consent::contended(group(count)), count * 2 * (count - 1), "{count} members");
    }
}

#[test]
fn mr7_p0_and_p2_ask_together_and_p0_wins_by_its_lower_stamp() {
    let mut council = Council::<RicartAgrawala>::new(&[0, 1, 2]);
    council.set_clock(0, 7);
    council.set_clock(2, 11);
    council.acquire(0); // 8
    council.acquire(2); // 12
    council.deliver_all();
    assert_eq!(council.holders(), [0]);
    assert_eq!(council.notices(2), [], "P1 has answered, P0 has not");
    council.release(0);
    council.deliver_all();
    assert_eq!(council.holders(), [2]);
    assert_eq!(council.fence(2).count.0 / SLOTS_MAX as u64, 12);
    assert_eq!(council.said("reply"), 4);
}

#[test]
fn mr2_of_two_with_the_same_stamp_the_lower_name_wins() {
    for names in [[3, 5, 9], [9, 5, 3]] {
        let mut council = Council::<RicartAgrawala>::new(&names);
        council.acquire(names[2]);
        council.acquire(names[0]);
        council.deliver_all();
        assert_eq!(council.holders(), [3]);
    }
}

#[test]
fn mr3_whoever_answered_before_it_asked_comes_later() {
    let mut council = Council::<RicartAgrawala>::new(&[1, 2]);
    council.set_clock(1, 50);
    council.acquire(1);
    council.deliver_all();
    council.acquire(2); // its clock was far behind, and has heard of the first request
    council.deliver_all();
    assert_eq!(council.holders(), [1]);
    council.release(1);
    council.deliver_all();
    assert!(council.fence(2).count > Stamp(51));
}

#[test]
fn a_reply_to_an_earlier_question_admits_nobody() {
    let mut council = Council::<RicartAgrawala>::new(&[1, 2, 3]);
    council.acquire(1);
    council.deliver_all();
    council.acquire(2);
    let stale = council.take("reply", 3, 2);
    council.cancel(2);
    council.deliver_all();
    council.acquire(2);
    council.deliver_all();
    for _ in 0..2 {
        council.hand(3, 2, stale.clone());
        council.hand(1, 2, stale.clone());
    }
    assert_eq!(council.holders(), [1]);
    council.release(1);
    council.deliver_all();
    assert_eq!(council.holders(), [2]);
}

#[test]
fn a_reply_for_somebody_else_counts_for_nobody() {
    let mut council = Council::<RicartAgrawala>::new(&[1, 2]);
    council.acquire(1);
    let mut turns = Turns::new();
    turns.push((1, 1)).unwrap(); // the question's number, the other's place
    council.hand(2, 1, Message::Reply { lock: door(), turns });
    assert_eq!(council.holders(), []);
    council.deliver_all();
    assert_eq!(council.holders(), [1]);
}

#[test]
fn mr6_whoever_is_kept_waiting_for_long_is_told_so_when_it_asks_again() {
    let mut council = Council::<RicartAgrawala>::new(&[1, 2, 3]);
    council.acquire_for(1, Timing::RADIO.lock_lease);
    council.deliver_all();
    council.acquire(2);
    council.deliver_all();
    assert_eq!(council.notices(2), []);
    council.pass(Timing::RADIO.lease());
    council.deliver_all();
    assert_eq!(council.notices(2), [Notice::Waiting { lock: door(), ahead: 1 }]);
    assert_eq!((council.said("repeat"), council.said("deferred")), (1, 1));
}

#[test]
fn a_waiter_whose_consents_ran_out_asks_all_again_under_the_same_number() {
    consent::a_waiter_whose_consents_ran_out_asks_all_again_under_the_same_number(group(3));
}

#[test]
fn whoever_only_tries_is_refused_at_once_and_waits_nowhere() {
    let mut locks = group(3);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.mark();
    locks.try_(1, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!(locks.told(1), [Notice::Refused { lock: door(), why: Refusal::Busy }]);
    locks.mark();
    locks.release(0, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!((locks.letters(), locks.holder(DOOR)), (0, None), "nobody waits");
    locks.try_(1, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!(locks.holder(DOOR), Some(1));
}

#[test]
fn a_request_that_is_taken_back_is_struck_out() {
    consent::a_request_that_is_taken_back_is_struck_out(group(3));
}

#[test]
fn a_member_of_another_view_is_not_answered_before_the_views_agree() {
    council::cases::a_member_of_another_view_is_not_answered_before_the_views_agree::<RicartAgrawala>("reply");
}

#[test]
fn what_a_member_outside_the_view_may_hold_is_waited_out_by_those_who_consented() {
    council::cases::what_a_member_outside_the_view_may_hold_is_waited_out_by_those_who_consented::<RicartAgrawala>();
}

#[test]
fn a_member_that_comes_back_with_an_old_request_has_to_make_a_new_one() {
    council::cases::a_member_that_comes_back_with_an_old_request_has_to_make_a_new_one::<RicartAgrawala>();
}

#[test]
fn a_member_that_started_anew_is_asked_again_and_abstains_until_its_forgotten_word_has_run_out() {
    council::cases::a_member_that_started_anew_is_asked_again_and_abstains_until_its_forgotten_word_has_run_out::<
        RicartAgrawala,
    >();
}

#[test]
fn a_request_for_which_there_is_no_room_is_refused() {
    let mut council = Council::<RicartAgrawala>::new(&[1, 2]);
    council.acquire(1);
    council.deliver_all();
    council.release(1);
    council.acquire(1);
    let turn = council.on_its_way(1, |message| match message {
        Message::Word(Word::Request(ask)) => Some(ask.turn),
        Message::Word(_)
        | Message::Reply { .. }
        | Message::Deferred { .. }
        | Message::Busy { .. }
        | Message::Cancel { .. } => None,
    });
    council.hand(2, 1, Message::Word(Word::Full { lock: door(), turn }));
    assert_eq!(council.notices(1).last(), Some(&Notice::Refused { lock: door(), why: Refusal::Full }));
    council.command(1, Command::Release { lock: door() });
    assert_eq!(council.notices(1).last(), Some(&Notice::Refused { lock: door(), why: Refusal::NotHeld }));
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
    council::cases::what_a_holder_may_have_stays_written_down_when_its_renewal_is_too_old::<RicartAgrawala>();
}

#[test]
fn a_change_of_the_view_voids_what_was_consented_before() {
    council::cases::a_change_of_the_view_voids_what_was_consented_before::<RicartAgrawala>("reply");
}

#[test]
fn a_member_waits_out_its_own_word_too() {
    council::cases::a_member_waits_out_its_own_word_too::<RicartAgrawala>();
}

#[test]
fn a_holder_that_overstays_its_lease_makes_room_by_itself() {
    council::cases::a_holder_that_overstays_its_lease_makes_room_by_itself::<RicartAgrawala>();
}

#[test]
fn four_locks_that_end_at_once_are_not_too_much_for_a_step() {
    council::cases::four_locks_that_end_at_once_are_not_too_much_for_a_step::<RicartAgrawala>();
}

#[test]
fn nobody_answers_a_request_that_was_taken_back() {
    let mut council = Council::<RicartAgrawala>::new(&[1, 2, 3]);
    council.acquire(1);
    council.deliver_all();
    council.acquire(2);
    council.deliver_all();
    council.cancel(2);
    council.deliver_all();
    let said = council.said("reply");
    council.release(1);
    assert_eq!(council.said("reply"), said);
}
