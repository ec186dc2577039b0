//! The cost of elections, beside the textbooks' formulas. A test is named after the row it checks.

use super::*;
use std::sync::OnceLock;

const SIZES: [u32; 3] = [4, 8, 16];

const WITHOUT_FAULTS: [Case; 3] = [Case::Best, Case::Average, Case::Worst];

fn comparison() -> &'static Comparison<Case, ElectionFigures> {
    static COMPARISON: OnceLock<Comparison<Case, ElectionFigures>> = OnceLock::new();
    COMPARISON.get_or_init(|| compare(&SIZES, || {}))
}

fn row(algorithm: &str, nodes: u32, case: Case) -> &'static ElectionRow {
    let found = comparison().rows.iter().find(|row| (row.algorithm, row.nodes, row.case) == (algorithm, nodes, case));
    found.unwrap_or_else(|| panic!("no row for {algorithm}, {nodes} nodes, {case:?}"))
}

/// Asserts that the election takes exactly this many messages, by its row and by its formula.
fn takes(algorithm: &str, case: Case, messages: impl Fn(u32) -> u32) {
    for nodes in SIZES {
        let row = row(algorithm, nodes, case);
        let expected = f64::from(messages(nodes));
        assert_eq!(row.messages.get().to_string(), expected.to_string(), "{row:?}");
        assert_eq!(row.formula, Some(row.messages), "{row:?}");
    }
}

#[test]
fn b14_a_bully_election_of_the_second_best_asks_the_crashed_one_and_announces_to_the_others() {
    takes("bully", Case::Best, |n| n - 1);
}

#[test]
fn b15_x4_a_bully_election_of_the_worst_takes_n_squared_less_n_less_one() {
    takes("bully", Case::Worst, |n| n * n - n - 1);
    let counts = SIZES.map(|nodes| row("bully", nodes, Case::Worst).messages.to_string());
    assert_eq!(counts, ["11", "55", "239"]);
}

#[test]
fn b15_a_bully_election_of_any_takes_the_mean_over_all_starters() {
    for nodes in SIZES {
        let row = row("bully", nodes, Case::Average);
        let n = f64::from(nodes);
        let mean = n * (2.0 * n - 1.0) / 6.0 + n - 2.0;
        assert!((row.messages.get() - mean).abs() < 0.01, "{row:?}");
        assert_eq!((row.formula, row.figures.runs), (Some(row.messages), nodes as usize - 1));
    }
}

#[test]
fn r8_x3_the_ring_takes_two_rounds_from_any_starter() {
    for case in WITHOUT_FAULTS {
        takes("ring", case, |n| 2 * n);
    }
}

#[test]
fn c7_chang_and_roberts_take_three_rounds_less_one_at_worst() {
    takes("chang-roberts", Case::Worst, |n| 3 * n - 1);
}

#[test]
fn c7_chang_and_roberts_take_two_rounds_at_best() {
    takes("chang-roberts", Case::Best, |n| 2 * n);
}

#[test]
fn c9_chang_and_roberts_pass_n_times_the_harmonic_number_on_over_a_thousand_random_rings() {
    for nodes in SIZES {
        let row = row("chang-roberts", nodes, Case::Average);
        let passes = f64::from(nodes) * (1..=nodes).map(|k| 1.0 / f64::from(k)).sum::<f64>();
        assert_eq!(row.figures.runs, 1_000);
        assert!((row.messages.get() / passes - 1.0).abs() < 0.02, "{row:?}");
        assert!((row.formula.unwrap().get() - passes).abs() < 0.01, "{row:?}");
        assert_eq!(row.by_name["elected"].to_string(), nodes.to_string(), "announcing the result is counted apart");
    }
}

#[test]
fn l2_le_lann_takes_n_squared_from_any_starter() {
    for case in WITHOUT_FAULTS {
        takes("lelann", case, |n| n * n);
    }
}

#[test]
fn g1_a_merge_takes_six_messages_for_each_member_invited_and_two_more_where_another_starts() {
    takes("invitation", Case::Best, |n| 6 * (n - 1));
    takes("invitation", Case::Worst, |n| 8 * (n - 1));
}

#[test]
fn w2_w3_a_wireless_election_floods_twice_and_replies_once_per_node() {
    for algorithm in ["wireless", "wireless-flat"] {
        for case in WITHOUT_FAULTS {
            takes(algorithm, case, |n| 3 * n - 1);
        }
    }
}

#[test]
fn e6_the_best_that_is_up_leads_with_loss_and_after_a_crash_too() {
    for row in &comparison().rows {
        assert!(row.figures.elected_best && row.figures.time_us.is_some(), "{row:?}");
    }
    assert!(comparison().holds());
    assert_eq!(comparison().rows.len(), SIZES.len() * algorithms().len() * Case::ALL.len());
}

#[test]
fn b15_x2_under_loss_frames_are_retransmitted_and_counted_apart() {
    for algorithm in ["bully", "ring", "chang-roberts", "lelann", "invitation"] {
        let (lossless, lossy) = (row(algorithm, 16, Case::Worst), row(algorithm, 16, Case::Loss));
        assert!(
            lossy.retransmits > lossless.retransmits && lossy.figures.frames > lossless.figures.frames,
            "{lossless:?} {lossy:?}"
        );
    }
}

#[test]
fn the_formulas_give_the_published_numbers() {
    let worst = [4, 8, 16].map(|nodes| formula("bully", nodes, Start::One(0)));
    assert_eq!(worst, [Some(11.0), Some(55.0), Some(239.0)]);
    assert_eq!(formula("bully", 8, Start::One(6)), Some(7.0));
    assert_eq!(formula("chang-roberts", 9, Start::One(0)), Some(26.0));
    assert_eq!(formula("chang-roberts", 9, Start::One(8)), Some(18.0));
    for (nodes, average) in [(8, 21.7), (16, 54.1), (64, 303.6)] {
        let number = formula("chang-roberts", nodes, Start::All).unwrap();
        assert!((number - average).abs() < 0.05, "{number}");
    }
    assert_eq!(formula("unknown", 4, Start::One(0)), None);
}
