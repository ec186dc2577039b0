//! The page of mistakes: each was made by a test, which is named here.

use crate::root;
use std::fs;

const LIBRARY: &str = "protocol/tests/mistakes.rs";
const RUN: &str = "host-sim/tests/commands/run.rs";
const BOARDS: &str = "host-sim/tests/commands/boards.rs";

/// How the first cell of a row begins, the file that makes the mistake, and what it says there.
#[rustfmt::skip]
const TRIED: [(&str, &str, &str); 32] = [
    ("`missing field capacity`", "protocol/src/node/io.rs", "compile_fail\n/// # use protocol::{base::records::Records, node::Boot};"),
    ("no leader, ever", LIBRARY, "fn a_node_without_a_capacity_never_leads_and_one_without_records_waits"),
    ("no leader for the first seconds", LIBRARY, "fn a_node_without_a_capacity_never_leads_and_one_without_records_waits"),
    ("every node leads, `tag` grows", LIBRARY, "fn frames_of_another_list_of_members_are_counted_under_tag"),
    ("`ConfigError::NoGroup`", LIBRARY, "Some(ConfigError::NoGroup)"),
    ("`ConfigError::NotAMember`", LIBRARY, "Some(ConfigError::NotAMember)"),
    ("`ConfigError::ClustersWithQuorum`", LIBRARY, "fn clusters_which_have_several_leaders_are_refused_in_mode_quorum"),
    ("`ConfigError::LockOverHops`", LIBRARY, "fn a_lock_that_asks_everybody_is_refused_over_several_hops"),
    ("`Notice::SameId`", LIBRARY, "fn a_node_whose_id_another_one_has_is_notified_of_it_once"),
    ("`Notice::Halted(Halt::Notices)`", LIBRARY, "Some(Halt::Notices)"),
    ("`Notice::Halted(Halt::Outbox)`", LIBRARY, "Some(Halt::Outbox)"),
    ("`Notice::Halted(Halt::Frame)`", LIBRARY, "Some(Halt::Frame)"),
    ("nothing is transmitted", LIBRARY, "fn nothing_is_transmitted_before_the_records_were_polled"),
    ("`Refused { reason: Outside }`", LIBRARY, "fn a_member_that_is_not_heard_is_refused_locks_until"),
    ("`no_stage` grows", LIBRARY, "fn messages_of_an_application_that_a_member_does_not_have"),
    ("`Command::SNAPSHOT` does not compile", "protocol/src/service/app_service.rs", "/// type Alone = AppService<Tokens<8>>;"),
    ("`Kind::application::<64>()`", "protocol/src/wire/kind.rs", "compile_fail"),
    ("the simulator says `needs a group`", "host-sim/tests/own_app.rs", "needs a group"),
    ("`there is no scenario", RUN, "one-way-link\"]).contains(\"the nearest is"),
    ("`there is no key", RUN, "there is no key \\\"nods\\\" here"),
    ("`FAILED`", RUN, "fn a_claim_about_something_that_never_happens_fails"),
    ("`at most 1000000 seeds", RUN, "at most 1000000 seeds at a time"),
    ("`the sources of Conclave are not found`", "host-sim/src/boards/build.rs", "contains(\"CONCLAVE_CHECKOUT\")"),
    ("`... is in use", "host-sim/tests/commands/page.rs", "is in use: choose another --port"),
    ("`no key`", BOARDS, "fn without_a_key_nothing_starts"),
    ("`without records this node", BOARDS, "fn a_desktop_node_without_records_says_why_it_waits_and_a_new_one_does_not"),
    ("`same-id:`", BOARDS, "fn two_desktop_nodes_with_one_id_are_warned_of_each_other"),
    ("`--desktops 4 is more", BOARDS, "fn more_desktops_than_nodes_are_refused"),
    ("`--watch needs a terminal`", RUN, "--watch needs a terminal"),
    ("`a capture holds one run`", RUN, "a capture holds one run"),
    ("`this is no output of", RUN, "this is no output of"),
    ("`the token is missing or wrong`", "host-sim/tests/commands/page.rs", "token is missing or wrong"),
];

#[test]
fn every_mistake_on_the_page_is_made_by_a_test() {
    let page = fs::read_to_string(root().join("docs/TROUBLESHOOTING.md")).unwrap();
    let rows: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .filter(|row| !row.starts_with("one sees") && !row.starts_with("---"))
        .collect();
    assert_eq!(rows.len(), TRIED.len());
    for (row, (start, file, proof)) in rows.into_iter().zip(TRIED) {
        assert!(row.starts_with(start), "{row}");
        assert!(fs::read_to_string(root().join(file)).unwrap().contains(proof), "{file} has no `{proof}`");
    }
}
