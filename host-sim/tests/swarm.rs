//! Real images on emulated boards. Each test boots some, lets them run for seconds of real time, and ends them.
//!
//! Where the emulator or the compiler for the board cannot be had, the tests say so loudly and pass; under `CI=true`
//! they fail instead. No test depends on how fast this machine is, as long as it can keep up with a few idle boards:
//! what is asserted about time is the boards' own, with room.

#![cfg(unix)]

#[path = "swarm/apps.rs"]
mod apps;
#[path = "swarm/bench.rs"]
mod bench;
#[path = "swarm/command_line.rs"]
mod command_line;

use bench::{
    assert_nothing_found, incarnation, lives, past, run, run_contending, run_with, scenario, simulated_leader, terms,
};
use firmware::contend::ROUNDS;
use firmware::page::options;
use firmware::report::{Past, Report as Line};
use host_sim::swarm::{Count, Entry, NodeReport, Rack, lock_scenario, wrap};
use protocol::election::AnyElection;
use protocol::mutex::AnyMutex;

/// The longest that electing may take, by the boards' own clocks.
const ELECTION_US_MAX: u64 = 5_000_000;

#[test]
fn five_boards_elect_the_best_as_five_simulated_nodes_do() {
    let scenario = scenario(
        r#"
            name = "five"
            nodes = 5
            duration = "7s"
            calm = "5s"
            hops = 4
            [topology]
            shape = "grid"
        "#,
    );
    let Some(report) = run(&scenario) else { return };
    assert_nothing_found(&report);
    assert!(report.leader_is_best);
    assert_eq!(report.leader, simulated_leader(&scenario));
    let by_own_clock = &report.measures["board_time_to_leader_us"];
    assert_eq!(by_own_clock.count, 5);
    assert!(by_own_clock.max <= ELECTION_US_MAX, "{by_own_clock:?}");
}

#[test]
fn with_every_election_boards_elect_whom_simulated_nodes_do_and_replace_it() {
    let others = AnyElection::NAMES.iter().filter(|&&name| name != "wireless");
    for election in others {
        let scenario = scenario(&format!(
            r#"
                name = "{election}"
                nodes = 4
                duration = "20s"
                calm = "8s"
                election = "{election}"
                [topology]
                shape = "complete"
                [medium]
                kind = "lan"
                [[faults]]
                at = "8500ms"
                do = "crash"
                node = "leader"
            "#
        ));
        let Some(report) = run(&scenario) else { return };
        assert_nothing_found(&report);
        assert!(report.leader_is_best, "{election}");
        assert_eq!(report.leader, simulated_leader(&scenario), "{election}");
    }
}

#[test]
fn with_every_lock_boards_count_once_for_every_grant_though_one_loses_its_power() {
    let scenario = lock_scenario(4);
    for mutex in AnyMutex::NAMES {
        let Some(report) = run_contending(&scenario, mutex) else { return };
        assert_nothing_found(&report);
        let Count { grants, cut_short, total, outdated } = report.count.unwrap();
        println!("{mutex}: {grants} grants, {cut_short} cut short, counted {total}");
        assert_eq!((cut_short <= 1, outdated), (true, 0), "{mutex}");
        assert!(total == grants || total + cut_short == grants, "{mutex}: {grants} grants, {total} counts");
        assert!(grants >= 4 * u32::from(ROUNDS), "{mutex}: {grants} grants of four boards");
    }
}

#[test]
fn when_the_leader_dies_the_next_best_leads() {
    let scenario = scenario(
        r#"
            name = "kill"
            nodes = 5
            duration = "16s"
            calm = "5s"
            hops = 4
            [topology]
            shape = "grid"
            [capacity]
            values = [500, 900, 100, 700, 300]
            [medium]
            loss = "5%"
            [[faults]]
            at = "7s"
            do = "crash"
            node = "leader"
        "#,
    );
    let Some(report) = run(&scenario) else { return };
    assert_nothing_found(&report);
    assert_eq!((report.leader, report.leader_is_best), (Some(3), true));
    assert!(!report.nodes[1].up);
    let by_own_clock = &report.measures["board_failover_us"];
    assert_eq!(by_own_clock.count, 4);
    assert!(by_own_clock.max <= ELECTION_US_MAX, "{by_own_clock:?}");
}

#[test]
fn a_board_that_is_reset_goes_on_from_its_records() {
    let scenario = scenario(
        r#"
            name = "reset"
            nodes = 4
            duration = "22s"
            [topology]
            shape = "complete"
            [medium]
            kind = "lan"
            [capacity]
            values = [1000, 1010, 1020, 1030]
            [[faults]]
            at = "5s"
            do = "crash"
            node = 3
            for = "1s"
            every = "5s"
            times = 2
        "#,
    );
    let Some(report) = run(&scenario) else { return };
    assert_nothing_found(&report);
    let lives = lives(&report.nodes[3]);
    let pasts: Vec<Option<Past>> = lives.iter().map(|life| past(life)).collect();
    assert_eq!(pasts, [Some(Past::New), Some(Past::Kept), Some(Past::Kept)]);
    let incarnations: Vec<Option<u32>> = lives.iter().map(|life| incarnation(life)).collect();
    assert_eq!(incarnations, [Some(1), Some(2), Some(3)]);
    let terms: Vec<Vec<u32>> = lives.iter().map(|life| terms(life)).collect();
    let highest_before = terms[..2].iter().flatten().max();
    assert!(terms.concat().is_sorted(), "{terms:?}");
    assert!(terms[2].first() > highest_before, "{terms:?}");
}

#[test]
fn a_board_that_lost_its_records_keeps_out_of_the_way_at_first() {
    let scenario = scenario(
        r#"
            name = "blank"
            nodes = 4
            duration = "18s"
            calm = "1m"
            [topology]
            shape = "complete"
            [medium]
            kind = "lan"
            [capacity]
            values = [1000, 1010, 1020, 1030]
            [[faults]]
            at = "5s"
            do = "crash"
            node = "leader"
            [[faults]]
            at = "6s"
            do = "restart-blank"
            node = "last"
        "#,
    );
    let Some(report) = run(&scenario) else { return };
    assert_nothing_found(&report);
    let lives = lives(&report.nodes[3]);
    let [first, blank] = lives[..] else { panic!("{} lives", lives.len()) };
    assert_eq!((past(first), past(blank)), (Some(Past::New), Some(Past::Lost)));
    assert!(incarnation(blank).is_some_and(|number| number >= 1 << 31), "a number that no counted boot has");
    let early = |entry: &&Entry| entry.own < 6_000_000;
    let leads = |entry: &Entry| matches!(entry.report(), Some(Line::Leading { .. }));
    assert!(!blank.iter().filter(early).any(leads), "{blank:#?}");
    assert!(
        blank.iter().any(|entry| matches!(entry.report(), Some(Line::Following { .. }))),
        "it follows all the same"
    );
}

#[test]
fn boards_and_desktops_elect_together() {
    let scenario = scenario(
        r#"
            name = "mixed"
            nodes = 5
            duration = "16s"
            calm = "5s"
            [topology]
            shape = "complete"
            [medium]
            kind = "lan"
            [capacity]
            values = [100, 600, 300, 900, 500]
            [[faults]]
            at = "7s"
            do = "crash"
            node = "leader"
        "#,
    );
    let Some(report) = run_with(&scenario, |options| options.desktops = 2, |_, _| {}) else { return };
    assert_nothing_found(&report);
    assert_eq!((report.boards, report.desktops), (3, 2));
    let first = |node: &NodeReport| {
        node.diary.iter().find_map(|entry| match entry.report() {
            Some(Line::Following { leader, .. }) => Some(leader.0),
            _ => None, // every other line is about something else
        })
    };
    assert_eq!(first(&report.nodes[0]), Some(3), "the boards follow the desktop");
    assert_eq!((report.leader, report.leader_is_best), (Some(1), true), "the desktop follows the board");
    assert_eq!(report.nodes[4].leader, Some(1));
}

#[test]
fn bad_weather_and_pauses_break_nothing() {
    let scenario = scenario(
        r#"
            name = "weather"
            nodes = 4
            duration = "30s"
            calm = "8s"
            [topology]
            shape = "complete"
            [medium]
            kind = "lan"
            [capacity]
            values = [1000, 1010, 1020, 1030]
            [[faults]]
            at = "5s"
            do = "corrupt"
            share = "20%"
            for = "16s"
            [[faults]]
            at = "5s"
            do = "loss"
            share = "10%"
            for = "16s"
            [[faults]]
            at = "6s"
            do = "pause"
            node = 3
            for = "5s"
            [[faults]]
            at = "13s"
            do = "pause"
            node = 2
            clock = "stops"
            for = "6s"
        "#,
    );
    let Some(report) = run(&scenario) else { return };
    assert_nothing_found(&report);
    assert!(report.leader_is_best);
    let tags = report.nodes.iter().filter_map(|node| node.status).map(|status| status.dropped.tag);
    assert!(tags.clone().all(|tag| tag > 0), "broken frames are found out: {:?}", tags.collect::<Vec<_>>());
}

#[test]
fn a_flood_of_bad_frames_is_counted_and_changes_nothing() {
    const FROM_US: u64 = 4_000_000;
    const FRAMES: u64 = 10_000;
    /// A machine that was busy elsewhere must not send all at once what it is behind with.
    const BURST: u64 = 20;
    let scenario = scenario(
        r#"
            name = "flood"
            nodes = 3
            duration = "17s"
            calm = "5s"
            [topology]
            shape = "complete"
            [medium]
            kind = "lan"
            [capacity]
            rule = "rising"
        "#,
    );
    let leader = 2;
    let mut sent = 0;
    let flood = |now: u64, rack: &Rack| {
        // A thousand in a second.
        let due = (now.saturating_sub(FROM_US) / 1_000).min(FRAMES).min(sent + BURST);
        for number in sent..due {
            let bytes = bad_frame(number);
            // Some are not even for an IP stack.
            let raw = || [&[0xff; 6][..], &bytes].concat();
            rack.inject(leader, &if number % 10 == 7 { raw() } else { wrap(&bytes) });
        }
        sent = sent.max(due);
    };
    let Some(report) = run_with(&scenario, |_| {}, flood) else { return };
    assert_nothing_found(&report);
    assert_eq!((report.leader, sent), (Some(leader), FRAMES));
    for node in &report.nodes {
        assert_eq!(terms(&node.diary).len(), 1, "nobody ever changed its mind: {:#?}", node.diary);
    }
    let status = report.nodes[leader as usize].status.unwrap();
    let dropped = status.dropped;
    let by_node = dropped.version + dropped.tag + dropped.malformed + dropped.oversized;
    let by_network = status.refused + status.unclaimed + status.driver;
    assert_eq!(u64::from(by_node + by_network), FRAMES, "{status:?}");
}

/// Corrupt, truncated and oversized frames in turn.
fn bad_frame(number: u64) -> Vec<u8> {
    let len = match number % 5 {
        0 => 60,                       // a frame's length, and nothing a key ever signed
        1 => 1 + number / 5 % 8,       // cut short
        2 => 117 + number / 5 % 12,    // longer than a frame
        3 => 129 + number / 5 % 1_200, // longer than a buffer
        _ => 116,                      // of another version
    };
    let mut bytes: Vec<u8> = (0..len).map(|at| (at * 31 + number).to_le_bytes()[0]).collect();
    bytes[0] = if number % 5 == 4 { 99 } else { 1 };
    bytes
}

#[test]
fn a_board_that_hangs_is_restarted_by_its_watchdog() {
    let scenario = scenario(
        r#"
            name = "hang"
            nodes = 1
            duration = "21s"
            [topology]
            shape = "complete"
        "#,
    );
    let Some(report) = run_with(&scenario, |options| options.board_options = options::HANG, |_, _| {}) else { return };
    let lives = lives(&report.nodes[0]);
    assert_eq!(lives.len(), 2);
    assert_eq!((past(lives[1]), incarnation(lives[1])), (Some(Past::Kept), Some(2)));
    assert!(terms(lives[1]).first() > terms(lives[0]).last());
    let found: Vec<&str> = report.violations.iter().map(|violation| violation.checker).collect();
    assert_eq!(found, ["nobody-resets"]);
}
