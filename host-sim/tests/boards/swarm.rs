//! Real images on emulated boards. Each test boots some, runs them for seconds of real time, and ends them.
//!
//! If this machine has no emulator or no compiler for the board, the tests say so loudly and pass; under `CI=true`
//! they fail instead. No test depends on the speed of this machine, as long as it can keep up with a few idle boards:
//! times are those of the boards' own clocks, with room.

use crate::support::{
    Swarm, assert_no_violation, boots, grid, incarnation, lan, records_at_boot, side_by_side, simulated_leader, terms,
};
use firmware::demo::lock_workload::ROUNDS;
use firmware::report::{RecordsAtBoot, Report as Line, Status};
use firmware::storage::config_page::options;
use host_sim::swarm::{Count, Entry, Fleet, NodeReport, encapsulate, lock_scenario};
use protocol::registry::{AnyElection, AnyMutex};

/// The longest election, by the boards' own clocks.
const ELECTION_US_MAX: u64 = 5_000_000;

/// Capacities within the incumbent's margin.
const SIMILAR: &str = "capacity = { values = [1000, 1010, 1020, 1030] }";

#[test]
fn five_boards_elect_the_best_as_five_simulated_nodes_do() {
    let scenario = grid("five", 5, "duration = \"7s\"\nsettle_time = \"5s\"");
    let Some(report) = Swarm::new(&scenario).timed().passes() else { return };
    assert!(report.leader_is_best);
    assert_eq!(report.leader, simulated_leader(&scenario));
    let by_board_clock = &report.measures["board_time_to_leader_us"];
    assert_eq!(by_board_clock.count, 5);
    assert!(by_board_clock.max <= ELECTION_US_MAX, "{by_board_clock:?}");
}

#[test]
fn with_every_election_boards_elect_and_replace_the_same_leader_as_simulated_nodes() {
    let others: Vec<&str> = AnyElection::of_one_leader().filter(|&name| name != "wireless").collect();
    side_by_side(&others, |election| {
        let scenario = lan(
            election,
            4,
            &format!(
                r#"
                    election = "{election}"
                    duration = "20s"
                    settle_time = "8s"
                    faults = [{{ at = "8500ms", do = "crash", node = "leader" }}]
                "#
            ),
        );
        let Some(report) = Swarm::new(&scenario).passes() else { return };
        assert!(report.leader_is_best, "{election}");
        assert_eq!(report.leader, simulated_leader(&scenario), "{election}");
    });
}

#[test]
fn with_every_lock_boards_increment_once_per_grant_though_one_loses_power() {
    side_by_side(AnyMutex::NAMES, |mutex| {
        let Some(report) = Swarm::new(&lock_scenario(4)).mutex(mutex).passes() else { return };
        let Count { grants, cut_short, total, outdated } = report.count.unwrap();
        assert_eq!((cut_short <= 1, outdated), (true, 0), "{mutex}");
        assert!(total == grants || total + cut_short == grants, "{mutex}: {grants} grants, {total} increments");
        assert!(grants >= 4 * u32::from(ROUNDS), "{mutex}: {grants} grants of four boards");
    });
}

#[test]
fn when_the_leader_crashes_the_next_best_leads() {
    let scenario = grid(
        "kill",
        5,
        r#"
            duration = "16s"
            settle_time = "5s"
            medium = { loss = "5%" }
            capacity = { values = [500, 900, 100, 700, 300] }
            faults = [{ at = "7s", do = "crash", node = "leader" }]
        "#,
    );
    let Some(report) = Swarm::new(&scenario).timed().passes() else { return };
    assert_eq!((report.leader, report.leader_is_best), (Some(3), true));
    assert!(!report.nodes[1].up);
    let by_board_clock = &report.measures["board_failover_us"];
    assert_eq!(by_board_clock.count, 4);
    assert!(by_board_clock.max <= ELECTION_US_MAX, "{by_board_clock:?}");
}

#[test]
fn a_board_that_is_reset_continues_from_its_records() {
    let faults = r#"faults = [{ at = "5s", do = "crash", node = 3, for = "1s", every = "5s", times = 2 }]"#;
    let scenario = lan("reset", 4, &format!("duration = \"22s\"\n{SIMILAR}\n{faults}"));
    let Some(report) = Swarm::new(&scenario).passes() else { return };
    let boots = boots(&report.nodes[3]);
    let records: Vec<Option<RecordsAtBoot>> = boots.iter().map(|boot| records_at_boot(boot)).collect();
    assert_eq!(records, [Some(RecordsAtBoot::New), Some(RecordsAtBoot::Kept), Some(RecordsAtBoot::Kept)]);
    let incarnations: Vec<Option<u32>> = boots.iter().map(|boot| incarnation(boot)).collect();
    assert_eq!(incarnations, [Some(1), Some(2), Some(3)]);
    let terms: Vec<Vec<u32>> = boots.iter().map(|boot| terms(boot)).collect();
    let highest_before = terms[..2].iter().flatten().max();
    assert!(terms.concat().is_sorted(), "{terms:?}");
    assert!(terms[2].first() > highest_before, "{terms:?}");
}

#[test]
fn a_board_that_lost_its_records_does_not_lead_at_first() {
    let scenario = lan(
        "blank",
        4,
        &format!(
            r#"
                duration = "18s"
                settle_time = "1m"
                {SIMILAR}
                faults = [
                    {{ at = "5s", do = "crash", node = "leader" }},
                    {{ at = "6s", do = "restart-blank", node = "last" }},
                ]
            "#
        ),
    );
    let Some(report) = Swarm::new(&scenario).passes() else { return };
    let boots = boots(&report.nodes[3]);
    let [first, blank] = boots[..] else { panic!("{} boots", boots.len()) };
    let records = (records_at_boot(first), records_at_boot(blank));
    assert_eq!(records, (Some(RecordsAtBoot::New), Some(RecordsAtBoot::Lost)));
    assert!(incarnation(blank).is_some_and(|number| number >= 1 << 31), "a number that no counted boot has");
    let early = |entry: &&Entry| entry.board_time < 6_000_000;
    let leads = |entry: &Entry| matches!(entry.report(), Some(Line::Leading { .. }));
    assert!(!blank.iter().filter(early).any(leads), "{blank:#?}");
    let follows = |entry: &Entry| matches!(entry.report(), Some(Line::Following { .. }));
    assert!(blank.iter().any(follows), "{blank:#?}");
}

#[test]
fn boards_and_desktops_elect_together() {
    let scenario = lan(
        "mixed",
        5,
        r#"
            duration = "16s"
            settle_time = "5s"
            capacity = { values = [100, 600, 300, 900, 500] }
            faults = [{ at = "7s", do = "crash", node = "leader" }]
        "#,
    );
    let Some(report) = (Swarm { desktops: 2, ..Swarm::new(&scenario) }).passes() else { return };
    assert_eq!((report.boards, report.desktops), (3, 2));
    let first_leader = |node: &NodeReport| {
        node.log.iter().find_map(|entry| match entry.report() {
            Some(Line::Following { leader, .. }) => Some(leader.0),
            _ => None, // another line
        })
    };
    assert_eq!(first_leader(&report.nodes[0]), Some(3), "the boards follow the desktop");
    assert_eq!((report.leader, report.leader_is_best), (Some(1), true), "the desktop follows the board");
    assert_eq!(report.nodes[4].leader, Some(1));
}

#[test]
fn corruption_loss_and_pauses_break_nothing() {
    let scenario = lan(
        "weather",
        4,
        &format!(
            r#"
                duration = "30s"
                settle_time = "8s"
                {SIMILAR}
                faults = [
                    {{ at = "5s", do = "corrupt", probability = "20%", for = "16s" }},
                    {{ at = "5s", do = "loss", probability = "10%", for = "16s" }},
                    {{ at = "6s", do = "pause", node = 3, for = "5s" }},
                    {{ at = "13s", do = "pause", node = 2, clock = "stops", for = "6s" }},
                ]
            "#
        ),
    );
    let Some(report) = Swarm::new(&scenario).passes() else { return };
    assert!(report.leader_is_best);
    let tags = report.nodes.iter().filter_map(|node| node.status).map(|status| status.dropped.tag);
    assert!(tags.clone().all(|tag| tag > 0), "corrupt frames are dropped: {:?}", tags.collect::<Vec<_>>());
}

#[test]
fn attackers_near_boards_move_counters_without_the_key_and_heal_with_it() {
    let scenario = lan(
        "attack",
        4,
        &format!(
            r#"
                duration = "60s"
                settle_time = "12s"
                {SIMILAR}
                faults = [
                    {{ at = "5s", do = "attack", replay = "50%", forge = "20%", junk = 2, for = "20s" }},
                    {{ at = "12s", do = "crash", node = "leader", for = "2s" }},
                    {{ at = "30s", do = "attack", insider = "5%", for = "5s" }},
                ]
            "#
        ),
    );
    let Some(report) = Swarm::new(&scenario).passes() else { return };
    // Boards that an insider superseded have rebooted since, and count from 0 again.
    let statuses = |node: &NodeReport| -> Vec<Status> {
        let reports = node.log.iter().filter_map(Entry::report);
        reports.filter_map(|report| if let Line::Status(status) = report { Some(status) } else { None }).collect()
    };
    let statuses: Vec<Vec<Status>> = report.nodes.iter().map(statuses).collect();
    let counted =
        |count: fn(&Status) -> u32| statuses.iter().filter(move |of| of.iter().any(|status| count(status) > 0)).count();
    assert_eq!(counted(|status| status.dropped.tag), 4, "forgeries: {statuses:?}");
    assert!(counted(|status| status.dropped.duplicate) > 0, "recordings: {statuses:?}");
}

#[test]
fn a_flood_of_bad_frames_is_counted_and_changes_nothing() {
    const FROM_US: u64 = 4_000_000;
    const FRAMES: u64 = 10_000;
    /// A test that was delayed must not catch up at once.
    const BURST: u64 = 20;
    let scenario = lan("flood", 3, "duration = \"17s\"\nsettle_time = \"5s\"\ncapacity = { rule = \"rising\" }");
    let leader = 2;
    let mut sent = 0;
    let mut flood = |now: u64, fleet: &Fleet| {
        // A thousand per second.
        let due = (now.saturating_sub(FROM_US) / 1_000).min(FRAMES).min(sent + BURST);
        for number in sent..due {
            let bytes = bad_frame(number);
            // Some are no IP packets.
            let raw = || [&[0xff; 6][..], &bytes].concat();
            fleet.inject(leader, &if number % 10 == 7 { raw() } else { encapsulate(&bytes) });
        }
        sent = sent.max(due);
    };
    let Some(report) = Swarm::new(&scenario).timed().run_while(&mut flood) else { return };
    assert_no_violation(&report);
    assert_eq!((report.leader, sent), (Some(leader), FRAMES));
    for node in &report.nodes {
        assert_eq!(terms(&node.log).len(), 1, "no node ever changed its leader: {:#?}", node.log);
    }
    let status = report.nodes[leader as usize].status.unwrap();
    let dropped = status.dropped;
    let by_node = dropped.version + dropped.tag + dropped.malformed + dropped.oversized;
    let by_network = status.rejected + status.undelivered + status.driver_lost;
    assert_eq!(u64::from(by_node + by_network), FRAMES, "{status:?}");
}

/// Run by hand, on a machine that does nothing else: it takes all of a processor.
#[test]
#[ignore = "needs a processor of its own"]
fn a_flood_as_fast_as_a_boards_interface_takes_it_changes_no_leader() {
    const FROM_US: u64 = 6_000_000;
    const UNTIL_US: u64 = 16_000_000;
    const AT_ONCE: u64 = 200;
    let scenario = lan("flood", 3, "duration = \"24s\"\nsettle_time = \"5s\"\ncapacity = { rule = \"rising\" }");
    let (leader, follower, mut sent) = (2, 0, 0);
    let mut flood = |now: u64, fleet: &Fleet| {
        if (FROM_US..UNTIL_US).contains(&now) {
            (0..AT_ONCE).for_each(|number| fleet.inject(follower, &encapsulate(&bad_frame((sent + number) * 5))));
            sent += AT_ONCE;
        }
    };
    let Some(report) = Swarm::new(&scenario).timed().run_while(&mut flood) else { return };
    assert_no_violation(&report);
    let status = report.nodes[follower as usize].status.unwrap();
    println!("{sent} frames in ten seconds: {status:?}");
    assert_eq!(report.leader, Some(leader));
    for node in &report.nodes {
        assert_eq!(terms(&node.log).len(), 1, "no node ever changed its leader: {:#?}", node.log);
    }
    assert!(status.dropped.tag > 1_000, "{status:?}");
}

/// Returns corrupt, truncated and oversized frames in turn.
fn bad_frame(number: u64) -> Vec<u8> {
    let len = match number % 5 {
        0 => 60,                       // the length of a frame, without a valid tag
        1 => 1 + number / 5 % 8,       // truncated
        2 => 117 + number / 5 % 12,    // longer than a frame
        3 => 129 + number / 5 % 1_200, // longer than a buffer
        _ => 116,                      // of another version
    };
    let mut bytes: Vec<u8> = (0..len).map(|at| (at * 31 + number).to_le_bytes()[0]).collect();
    bytes[0] = if number % 5 == 4 { 99 } else { 2 << 4 }; // the present version, and the first key
    if let Some(sender) = bytes.get_mut(1) {
        *sender = 77; // nobody
    }
    bytes
}

#[test]
fn a_board_that_hangs_is_reset_by_its_watchdog() {
    let scenario = lan("hang", 1, "duration = \"21s\"");
    let swarm = Swarm { board_options: options::HANG, ..Swarm::new(&scenario) };
    let Some(report) = swarm.run() else { return };
    let boots = boots(&report.nodes[0]);
    assert_eq!(boots.len(), 2);
    assert_eq!((records_at_boot(boots[1]), incarnation(boots[1])), (Some(RecordsAtBoot::Kept), Some(2)));
    assert!(terms(boots[1]).first() > terms(boots[0]).last());
    let found: Vec<&str> = report.violations.iter().map(|violation| violation.checker).collect();
    assert_eq!(found, ["nobody-resets"]);
}
