//! Locks with known faults: the search must find them.

use host_sim::explore::lock_model::{Bounds, TWO};
use host_sim::explore::locks::{ALL, DUPLICATING, explore_lock};
use host_sim::explore::search::Limits;
use host_sim::explore::textbook::{Fault, Textbook};
use host_sim::explore::{self, Outcome};

fn search(fault: Fault, bounds: Bounds) -> Outcome {
    explore_lock(bounds, Limits::NONE, |_| Textbook::new(fault))
}

#[test]
fn replies_that_name_their_request_keep_the_lock_of_ricart_and_agrawala_safe() {
    for bounds in [TWO, DUPLICATING, ALL] {
        let outcome = search(Fault::None, bounds);
        assert_eq!((outcome.why(), outcome.complete, outcome.cut), (None, true, 0));
    }
}

#[test]
fn mr1_the_textbooks_lock_of_ricart_and_agrawala_breaks_when_a_reply_is_duplicated() {
    assert_eq!(search(Fault::Textbook, TWO).why(), None);
    for (nodes, steps) in [(2, 9), (3, 15)] {
        let violation = explore::textbook(nodes).run(Limits::NONE).violation.expect("it breaks");
        assert_eq!((violation.why, violation.steps.len()), ("two hold the lock", steps));
    }
}

#[test]
fn a_lock_that_forgets_a_waiting_node_is_found_out() {
    let outcome = search(Fault::Forgetful, Bounds { askers: &[0, 1, 2], rounds: 1, ..TWO });
    assert_eq!(outcome.why(), Some("a node waits for ever"));
}

#[test]
fn a_lock_that_serves_a_waiting_node_only_when_another_asks_is_found_out() {
    assert_eq!(search(Fault::Lazy, TWO).why(), Some("a node waits for ever"));
}

#[test]
fn a_lock_that_does_not_repeat_what_a_restarted_node_lost_is_found_out() {
    for bounds in [Bounds { crashes: 1, victims: &[2], rounds: 1, ..TWO }, Bounds { suspicions: 1, rounds: 1, ..TWO }] {
        assert_eq!(search(Fault::None, bounds).why(), Some("a node waits for ever"));
    }
}
