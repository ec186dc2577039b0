//! The broadcast lock of Suzuki and Kasami on whole nodes: its cost, its order, and a member that reboots.

use crate::support::prelude::*;
use crate::token_locks::MOMENT;
use protocol::mutex::SuzukiKasami;

fn group(count: usize) -> LockNet<SuzukiKasami> {
    LockNet::new(count, SuzukiKasami::KIND, SuzukiKasami::default())
}

#[test]
fn an_entry_costs_a_request_to_every_other_member_and_one_token() {
    for count in [3, 5, 9, 16] {
        let mut locks = group(count);
        locks.acquire(0).run_ms(MOMENT).release(0).run_ms(MOMENT);
        locks.mark().acquire(1).run_ms(MOMENT);
        assert_eq!((locks.holder(), locks.messages()), (Some(1), count), "{count} members");
    }
}

#[test]
fn where_the_token_is_an_entry_costs_no_message_or_after_long_a_request_and_a_lease() {
    for (idle, messages) in [(0, 0), (20, 2)] {
        let mut locks = group(5);
        locks.acquire(0).run_ms(MOMENT).release(0).run_secs(idle).mark().acquire(0).run_ms(MOMENT);
        assert_eq!((locks.holder(), locks.messages()), (Some(0), messages));
    }
}

#[test]
fn all_enter_one_after_the_other_at_n_messages_an_entry() {
    let mut locks = group(6);
    locks.acquire(0).run_ms(MOMENT).mark().acquire_all(1..6).release(0);
    locks.serve(1..6, 5, Duration::from_secs(60));
    assert_eq!(locks.messages(), 5 * 6, "five requests and a token, five times");
}
