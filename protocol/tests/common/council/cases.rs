//! What holds of every lock that asks everybody, letter by letter: given the word for its answers where it matters.

use super::{Council, door};
use crate::common::locks::LEASE;
use protocol::algorithm::Fact;
use protocol::config::granted;
use protocol::mutex::{Command, LockId, Mutex, Notice};
use protocol::{Span, Timing};

pub fn a_member_of_another_view_is_not_answered_before_the_views_agree<M: Mutex + Default>(answer: &str) {
    let mut council = Council::<M>::new(&[1, 2, 3]);
    council.set_view(1, &[1, 2]);
    council.acquire(1);
    council.deliver_all();
    assert_eq!((council.said("request"), council.said(answer)), (1, 0));
    council.set_view(2, &[1, 2]);
    council.deliver_all();
    assert_eq!(council.holders(), [1]);
}

pub fn what_a_member_outside_the_view_may_hold_is_waited_out_by_those_who_consented<M: Mutex + Default>() {
    let mut council = Council::<M>::new(&[1, 2, 3]);
    council.acquire(3);
    council.deliver_all();
    for name in [1, 2] {
        council.set_view(name, &[1, 2]);
    }
    council.acquire(1);
    council.deliver_all();
    assert_eq!(council.holders(), [3]);
    council.pass(granted(LEASE).minus(Span::from_millis(60)));
    council.deliver_all();
    assert_eq!(council.holders(), []);
    council.pass(Span::from_millis(60));
    council.deliver_all();
    assert_eq!(council.holders(), [1]);
}

pub fn a_member_that_comes_back_with_an_old_request_has_to_make_a_new_one<M: Mutex + Default>() {
    let mut council = Council::<M>::new(&[1, 2, 3]);
    council.acquire(3);
    council.lose_all(); // nobody has heard of it
    for name in [1, 2] {
        council.set_view(name, &[1, 2]);
    }
    council.acquire(1);
    council.deliver_all();
    let first = council.fence(1);
    council.release(1);
    for name in [1, 2] {
        council.set_view(name, &[1, 2, 3]);
    }
    council.fact(3, Fact::PeerUp, &[1, 2]);
    council.deliver_all();
    assert_eq!(council.holders(), [3]);
    assert!(council.fence(3) > first);
    assert!(council.said("outdated") > 0);
}

pub fn a_member_that_started_anew_is_asked_again_and_abstains_until_its_forgotten_word_has_run_out<
    M: Mutex + Default,
>() {
    let mut council = Council::<M>::new(&[1, 2, 3]);
    council.acquire(1);
    council.deliver_all();
    council.acquire(2);
    council.deliver_all(); // 3 has consented
    council.reboot(3);
    council.release(1);
    council.deliver_all();
    assert_eq!(council.holders(), [], "its consent is forgotten, and so void");
    council.pass(granted(Timing::RADIO.lock_lease));
    council.deliver_all();
    assert_eq!(council.holders(), [2]);
}

pub fn what_a_holder_may_have_stays_written_down_when_its_renewal_is_too_old<M: Mutex + Default>() {
    let mut council = Council::<M>::new(&[1, 2, 3]);
    council.acquire(3);
    council.deliver_all();
    council.acquire(1);
    council.deliver_all();
    council.set_view(1, &[1, 2]);
    council.set_view(1, &[1, 2, 3]);
    council.deliver_all();
    council.command(3, Command::Renew { lock: door(), lease: LEASE });
    council.deliver_all();
    assert_eq!((council.said("outdated"), council.holders()), (1, vec![3]));
}

pub fn a_change_of_the_view_voids_what_was_consented_before<M: Mutex + Default>(answer: &str) {
    let mut council = Council::<M>::new(&[1, 2, 3]);
    council.acquire(1);
    council.take(answer, 3, 1);
    council.deliver_all();
    council.set_view(1, &[1, 2]);
    council.deliver_all();
    assert_eq!(council.holders(), [], "2 consented in a view in which 3 may have been let in too");
    council.set_view(2, &[1, 2]);
    council.deliver_all();
    assert_eq!(council.holders(), [1]);
}

pub fn a_member_waits_out_its_own_word_too<M: Mutex + Default>() {
    let mut council = Council::<M>::new(&[1, 2, 3]);
    for name in [1, 3] {
        council.set_view(name, &[1, 3]);
    }
    council.acquire(3);
    council.deliver_all(); // 2 knows nothing of it
    for name in [1, 2] {
        council.set_view(name, &[1, 2]);
    }
    council.acquire(1);
    council.deliver_all();
    assert_eq!(council.holders(), [3]);
    council.pass(granted(LEASE));
    council.deliver_all();
    assert_eq!(council.holders(), [1]);
}

pub fn a_holder_that_overstays_its_lease_makes_room_by_itself<M: Mutex + Default>() {
    let mut council = Council::<M>::new(&[1, 2, 3]);
    council.acquire(1);
    council.deliver_all();
    council.acquire(2);
    council.deliver_all();
    council.pass(LEASE);
    council.deliver_all();
    assert_eq!(council.notices(1).last(), Some(&Notice::Lost { lock: door() }));
    assert_eq!(council.holders(), [2]);
}

pub fn four_locks_that_end_at_once_are_not_too_much_for_a_step<M: Mutex + Default>() {
    let mut council = Council::<M>::new(&[1, 2, 3]);
    let names = ["a", "b", "c", "d"].map(LockId::from_name);
    for name in [1, 2, 3] {
        for lock in names {
            council.command(name, Command::Acquire { lock, lease: LEASE });
        }
        council.deliver_all();
    }
    let mut held = Vec::new();
    while held.len() < 12 {
        for name in [1, 2, 3] {
            held.extend(names.iter().filter(|&&lock| council.holds(name, lock)).map(|_| name));
        }
        council.set_view(2, &[1, 2]);
        council.set_view(2, &[1, 2, 3]);
        council.pass(LEASE);
        council.deliver_all();
        assert!(held.len() <= 12 && council.spent() < Span::from_secs(60), "{held:?}");
    }
    held.sort_unstable();
    assert_eq!(held, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
}
