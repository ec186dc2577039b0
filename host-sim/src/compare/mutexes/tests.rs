//! The cost of locks, beside the textbooks' formulas. A test is named after the row it checks.

#[path = "../../../tests/common/long_run.rs"]
mod long_run;

use super::*;
use std::sync::OnceLock;

/// The group sizes: sixteen nodes take most of the time, and only the long run has them.
fn sizes() -> &'static [u32] {
    if long_run::is_full() { &SIZES } else { &SIZES[..2] }
}

fn comparison() -> &'static Comparison<Case, MutexFigures> {
    static COMPARISON: OnceLock<Comparison<Case, MutexFigures>> = OnceLock::new();
    COMPARISON.get_or_init(|| compare(sizes(), Cable::Switched, || {}))
}

fn row(algorithm: &str, nodes: u32, case: Case) -> &'static MutexRow {
    let found = comparison().rows.iter().find(|row| (row.algorithm, row.nodes, row.case) == (algorithm, nodes, case));
    found.unwrap_or_else(|| panic!("no row for {algorithm}, {nodes} nodes, {case:?}"))
}

/// Asserts that an entry and exit takes exactly this many messages, with and without contention, by the rows and by the
/// formula.
fn takes(algorithm: &str, messages: impl Fn(u32) -> u32) {
    for &nodes in sizes() {
        for case in [Case::Uncontended, Case::Contended] {
            let row = row(algorithm, nodes, case);
            assert_eq!(row.messages.to_string(), messages(nodes).to_string(), "{row:?}");
            assert_eq!(row.formula, Some(row.messages), "{row:?}");
        }
    }
}

/// Asserts the message times from request to grant without contention, and from release to grant with it.
fn delays(algorithm: &str, alone: &str, handover: &str) {
    for &nodes in sizes() {
        assert_eq!(
            row(algorithm, nodes, Case::Uncontended).figures.delay_hops.to_string(),
            alone,
            "{algorithm}, {nodes} nodes"
        );
        let contended = row(algorithm, nodes, Case::Contended);
        let hops = contended.figures.sync_delay_hops.map(|hops| hops.to_string());
        assert_eq!(hops.as_deref(), Some(handover), "{contended:?}");
    }
}

#[test]
fn mc3_the_central_lock_takes_three_messages() {
    takes("central", |_| 3);
    delays("central", "2", "2");
}

#[test]
fn ml4_the_lock_of_lamport_takes_three_messages_with_each_other_node() {
    takes("lamport", |n| 3 * (n - 1));
    delays("lamport", "2", "1");
}

#[test]
fn mr5_the_lock_of_ricart_and_agrawala_takes_two_messages_with_each_other_node() {
    takes("ricart-agrawala", |n| 2 * (n - 1));
    delays("ricart-agrawala", "2", "1");
}

/// The rows of contention without faults on one shared cable.
fn on_one_cable(algorithm: &'static str, nodes: u32, case: Case) -> MutexRow {
    let trial = Trial { algorithm, nodes, case, cable: Cable::Shared, seed: 0 };
    super::row(algorithm, nodes, case, &[trial.run()])
}

#[test]
fn x10_on_one_cable_the_delay_of_ricart_and_agrawala_grows_with_the_group_and_that_of_a_server_does_not() {
    for nodes in [4_u32, 8, 16] {
        let delay = |algorithm| on_one_cable(algorithm, nodes, Case::Uncontended).figures.delay_hops.get();
        let (all, server) = (delay("ricart-agrawala"), delay("central"));
        println!("{nodes} nodes: ricart-agrawala {all}, lamport {}, central {server}", delay("lamport"));
        // Textbooks: 2 (n - 1) and 2. Here the request is one frame for all, and each acknowledges it and answers; the
        // server acknowledges, too.
        let textbook = f64::from(2 * (nodes - 1));
        assert!((textbook..textbook * 1.3).contains(&all), "{nodes} nodes: {all}");
        // The same bound for every size: it does not grow, though locks wait while a heartbeat of the leader is answered.
        assert!((2.0..=5.0).contains(&server), "{nodes} nodes: {server}");
    }
}

#[test]
fn mk5_the_lock_of_maekawa_takes_three_to_six_messages_with_each_other_member_of_its_set() {
    for &nodes in sizes() {
        let (alone, contended) = (row("maekawa", nodes, Case::Uncontended), row("maekawa", nodes, Case::Contended));
        let set = alone.by_name["request"].get() + 1.0;
        assert!(set < f64::from(nodes), "a set is not the whole group: {alone:?}");
        assert!((alone.messages.get() - 3.0 * (set - 1.0)).abs() < 0.02, "{alone:?}");
        assert!(contended.messages.get() <= 6.0 * (set - 1.0), "{contended:?}");
        assert_eq!(alone.figures.delay_hops.to_string(), "2", "{alone:?}");
    }
}

#[test]
fn md1_a_vote_takes_three_messages_with_each_other_node() {
    for &nodes in sizes() {
        let row = row("voting", nodes, Case::Uncontended);
        assert_eq!(row.messages.to_string(), (3 * (nodes - 1)).to_string(), "{row:?}");
        assert_eq!(row.formula, Some(row.messages), "{row:?}");
    }
}

#[test]
fn mt3_the_token_of_a_ring_takes_one_message_or_more() {
    for &nodes in sizes() {
        let contended = row("token-ring", nodes, Case::Contended);
        assert!(contended.messages.get() >= 1.0 && contended.formula.is_none(), "{contended:?}");
        assert_eq!(contended.figures.sync_delay_hops.map(|hops| hops.get() < 2.0), Some(true), "{contended:?}");
    }
}

#[test]
fn m1_no_two_nodes_hold_a_lock_and_no_request_waits_for_ever_whichever_node_crashes() {
    for row in &comparison().rows {
        assert!(row.figures.violations == 0 && row.figures.entries > 0, "{row:?}");
    }
    assert!(comparison().holds());
    assert_eq!(comparison().rows.len(), sizes().len() * AnyMutex::NAMES.len() * Case::ALL.len());
}

#[test]
fn mc6_after_a_holders_crash_the_next_waits_for_the_lease_and_two_round_trips() {
    for &nodes in sizes() {
        // The lease of one second, three percent longer at the grantor, two round trips of two milliseconds, and every
        // other node before, for twenty milliseconds and a handover each.
        let most = 1_030_000 + 4_000 + u64::from(nodes) * 25_000;
        let row = row("central", nodes, Case::HolderCrash);
        assert!(row.figures.max_wait <= most, "{row:?}");
    }
}

#[test]
fn the_formulas_give_the_published_numbers() {
    let of = |algorithm| formula(algorithm, 16, Case::Uncontended, Some(7.0));
    let known = [("central", 3.0), ("ricart-agrawala", 30.0), ("lamport", 45.0), ("maekawa", 18.0)];
    for (algorithm, number) in known {
        assert_eq!(of(algorithm), Some(number), "{algorithm}");
    }
    assert_eq!(formula("maekawa", 16, Case::Contended, Some(7.0)), Some(36.0));
    assert_eq!(formula("suzuki-kasami", 16, Case::Contended, None), Some(16.0));
    assert_eq!(of("token-ring"), None, "from one to any number");
}
