//! The world with toy nodes.

use super::*;
use crate::nodes::toy_node::ToyNode;
use crate::scenario::Scenario;
use crate::trace::LossReason;
use protocol::Instant;
use protocol::base::capacity::Capacity;

fn world_of(nodes: u32, seed: u64, rest: &str) -> World<ToyNode> {
    let text = format!("name = \"test\"\nnodes = {nodes}\nduration = \"10s\"\n{rest}");
    let scenario = Scenario::parse("test.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    World::new(&scenario.world, (), seed)
}

fn run(world: &mut World<ToyNode>) {
    while world.step(&mut ()) {}
}

fn leaders(world: &World<ToyNode>) -> Vec<Option<u32>> {
    (0..world.node_count()).map(|id| world.view(id).leader.map(|(leader, _)| leader)).collect()
}

/// Runs a world up to a moment; returns what `pick` picks of its events.
fn picked<T>(world: &mut World<ToyNode>, until: Micros, pick: impl Fn(&TraceEvent) -> Option<T>) -> Vec<T> {
    let mut found = Vec::new();
    world.run_until(until, &mut |event: &TraceEvent| found.extend(pick(event)));
    found
}

const LINE: &str = "[topology]\nshape = \"line\"\n";
const LAN: &str = "[topology]\nshape = \"complete\"\n[medium]\nkind = \"lan\"\n";

#[test]
fn frames_reach_neighbours_and_information_travels_the_whole_line() {
    let mut world = world_of(10, 1, LINE);
    assert_eq!(world.receivers(4).collect::<Vec<_>>(), [(3, 255), (5, 255)]);
    run(&mut world);
    assert_eq!(leaders(&world), [Some(9); 10]);
    assert_eq!((world.now(), world.eccentricity(0), world.components(255).count()), (10_000_000, 9, 1));
    assert!(world.frame_stats().kinds()[0].1.frames > 900);
}

#[test]
fn in_a_star_every_leaf_receives_from_its_centre_only() {
    for spacing in [1, 100] {
        let mut world = world_of(12, 1, &format!("[topology]\nshape = \"star\"\nspacing = {spacing}\n"));
        let receivers = |of| -> Vec<u32> { world.receivers(of).map(|(id, _)| id).collect() };
        assert_eq!(receivers(7), [0]);
        let mut leaves = receivers(0);
        leaves.sort_unstable();
        assert_eq!(leaves, (1..12).collect::<Vec<_>>());
        run(&mut world);
        assert_eq!(leaders(&world), [Some(11); 12]);
    }
}

#[test]
fn slots_do_not_change_ids_or_positions() {
    let world = world_of(64, 1, "[topology]\nshape = \"grid\"\ncolumns = 8\n");
    for id in 0..64 {
        let point = world.view(id).position;
        assert_eq!((point.x, point.y), (f64::from(id % 8) * 10.0, f64::from(id / 8) * 10.0));
    }
    let mut hearers: Vec<u32> = world.receivers(9).map(|(id, _)| id).collect();
    hearers.sort_unstable();
    assert_eq!(hearers, [0, 1, 2, 8, 10, 16, 17, 18]);
}

#[test]
fn a_local_network_is_one_broadcast_domain() {
    let mut world = world_of(5, 1, LAN);
    run(&mut world);
    assert_eq!(leaders(&world), [Some(4); 5]);
}

#[test]
fn a_crashed_node_is_down_and_boots_with_its_records() {
    let crash = "[[faults]]\nat = \"1s\"\ndo = \"crash\"\nnode = 2\nfor = \"1s\"\n";
    let mut world = world_of(3, 1, &format!("{LAN}{crash}"));
    world.run_until(1_500_000, &mut ());
    assert_eq!((world.view(2).power, world.node(2).is_none()), (PowerState::Down, true));
    run(&mut world);
    let booted = world.node(2).unwrap();
    assert_eq!(booted.boot.records.map(|records| records.incarnation), Some(1));
    assert_eq!((booted.boot.now, booted.highest), (Instant::ZERO, 2));
}

#[test]
fn outages_of_a_range_are_as_often_short_as_long() {
    let crash = "[[faults]]\nat = \"1s\"\ndo = \"crash\"\nnode = 2\nfor = [\"5ms\", \"5s\"]\n";
    let outage = |seed| {
        let world = world_of(3, seed, &format!("{LAN}{crash}"));
        let [begin, end] = &world.plan().faults[..] else { panic!("a crash begins and ends") };
        end.at - begin.at
    };
    let outages: Vec<Micros> = (0..1_000).map(outage).collect();
    assert!(outages.iter().all(|outage| (5_000..=5_000_000).contains(outage)), "{outages:?}");
    let within = |low, high| outages.iter().filter(|outage| (low..high).contains(*outage)).count();
    let counts = [within(5_000, 10_000), within(80_000, 160_000), within(1_280_000, 2_560_000)];
    assert!(counts.iter().all(|count| (70..=130).contains(count)), "a tenth each: {counts:?}");
}

#[test]
fn a_blank_restart_loses_the_records() {
    let faults = "[[faults]]\nat = \"1s\"\ndo = \"crash\"\nnode = \"leader\"\n\
                  [[faults]]\nat = \"2s\"\ndo = \"restart-blank\"\nnode = \"last\"\n";
    let mut world = world_of(3, 1, &format!("{LAN}{faults}"));
    world.run_until(1_500_000, &mut ());
    assert_eq!(world.view(2).power, PowerState::Down, "the leader is the node that most follow");
    run(&mut world);
    assert_eq!(world.node(2).unwrap().boot.records, None);
}

#[test]
fn a_restart_with_torn_records_falls_back_behind_nothing_that_was_stored() {
    let mut torn = 0;
    for seed in 0..50 {
        let crash = "[[faults]]\nat = \"1s\"\ndo = \"crash\"\nnode = 2\nfor = \"500ms\"\nrecords = \"torn\"\n\
                     every = \"1s\"\ntimes = 6\n";
        let mut world = world_of(3, seed, &format!("{LAN}{crash}"));
        let mut stored = 1;
        for second in 1..7 {
            world.run_until(second * 1_000_000 + 700_000, &mut ());
            let booted = world.node(2).unwrap().boot.records.expect("they are never lost").incarnation;
            assert!(booted >= stored, "{booted} after {stored}");
            torn += booted - stored;
            stored = booted + 1; // the toy counts its boots, and has stored this one
        }
    }
    assert!(torn > 50, "some torn writes can be read: {torn}");
}

#[test]
fn a_paused_node_receives_and_sends_nothing_and_has_no_backlog() {
    for (clock, shown) in [("runs", 10_000_000), ("stops", 8_000_000)] {
        let pause = format!("[[faults]]\nat = \"2s\"\ndo = \"pause\"\nnode = 1\nfor = \"2s\"\nclock = \"{clock}\"\n");
        let mut world = world_of(2, 1, &format!("{LAN}{pause}"));
        world.run_until(2_000_000, &mut ());
        let received = world.node(1).unwrap().frames.len();
        world.run_until(3_999_000, &mut ());
        assert_eq!(world.node(1).unwrap().frames.len(), received);
        let before = world.node(0).unwrap().frames.len();
        run(&mut world);
        let timeouts = &world.node(1).unwrap().timeouts;
        let last = timeouts.last().unwrap().as_micros();
        assert!((shown - 200_000..=shown).contains(&last), "{clock}: {last}");
        let after = world.node(0).unwrap().frames.len() - before;
        assert!((58..=61).contains(&after), "{clock}: {after} frames in six seconds");
    }
}

#[test]
fn a_capacity_that_changes_while_a_node_is_paused_is_measured_when_it_resumes() {
    let faults = "[[faults]]\nat = \"2s\"\ndo = \"pause\"\nnode = 1\nfor = \"2s\"\n\
                  [[faults]]\nat = \"3s\"\ndo = \"capacity\"\nnode = 1\ncapacity = 77\n";
    let mut world = world_of(2, 1, &format!("{LAN}{faults}"));
    world.run_until(3_999_000, &mut ());
    assert_ne!(world.node(1).unwrap().capacity, Some(Capacity::new(77)));
    run(&mut world);
    assert_eq!(world.node(1).unwrap().capacity, Some(Capacity::new(77)));
}

#[test]
fn a_partition_separates_and_a_heal_joins() {
    let faults = "[[faults]]\nat = \"1us\"\ndo = \"partition\"\ncut = \"left-right\"\nfor = \"5s\"\n";
    let mut world = world_of(10, 1, &format!("{LINE}{faults}"));
    world.run_until(4_000_000, &mut ());
    assert_eq!(leaders(&world), [[Some(4); 5], [Some(9); 5]].concat());
    let components = world.components(255);
    assert_eq!(components.count(), 2);
    assert!(components.of(0) == components.of(4) && components.of(4) != components.of(5));
    run(&mut world);
    assert_eq!(leaders(&world), [Some(9); 10]);
}

#[test]
fn a_one_way_link_carries_information_in_one_direction_only() {
    let faults = "[[faults]]\nat = \"1us\"\ndo = \"one-way\"\nfrom = [1]\nto = [0]\n";
    let mut world = world_of(2, 1, &format!("{LAN}{faults}"));
    run(&mut world);
    assert_eq!(leaders(&world), [Some(0), Some(1)]);
    assert!(world.node(0).unwrap().frames.is_empty() && !world.node(1).unwrap().frames.is_empty());
}

#[test]
fn frames_are_corrupted_duplicated_lost_and_delayed() {
    let received = |fault: &str| {
        let mut world = world_of(2, 1, &format!("{LAN}[[faults]]\nat = \"1us\"\n{fault}\n"));
        run(&mut world);
        world.node(0).unwrap().frames.clone()
    };
    assert!(received("do = \"corrupt\"\nprobability = \"100%\"").iter().all(|bytes| bytes != &[1, 0, 0, 0]));
    assert!(received("do = \"duplicate\"\nprobability = \"100%\"").len() > 180);
    assert_eq!(received("do = \"loss\"\nprobability = \"100%\"").len(), 0);
    let late = received("do = \"delay\"\ndelay = \"5s\"").len();
    assert!((45..=50).contains(&late), "{late}");
}

#[test]
fn clocks_drift_within_their_limit() {
    let mut world = world_of(20, 1, &format!("drift_ppm = 5000\n{LAN}"));
    run(&mut world);
    let shown: Vec<u64> = (0..20).map(|id| world.node(id).unwrap().timeouts.last().unwrap().as_micros()).collect();
    assert!(shown.iter().all(|at| (9_850_000..=10_050_000).contains(at)), "{shown:?}");
    assert!(shown.iter().any(|&at| at > 10_000_000) || shown.iter().any(|&at| at < 9_960_000), "{shown:?}");
}

#[test]
fn nodes_boot_within_the_spread_and_measure_themselves() {
    let mut world = world_of(50, 1, &format!("boot_spread = \"2s\"\n{LAN}"));
    let boot = |event: &TraceEvent| matches!(event.kind, EventKind::Boot { .. }).then_some(event.at);
    let boots = picked(&mut world, 10_000_000, boot);
    assert_eq!((boots.len(), world.boots_pending()), (50, 0));
    assert!(boots.iter().all(|&at| at < 2_000_000) && boots.iter().any(|&at| at > 1_000_000));
    let measured = (0..50).map(|id| world.node(id).unwrap().capacity.map(Capacity::get));
    assert!(measured.eq((0..50).map(|id| world.view(id).capacity)));
}

#[test]
fn capacities_follow_their_rule_and_noise_stays_within_its_limit() {
    let capacities = |rule: &str| -> Vec<u16> {
        let world = world_of(4, 1, &format!("{LAN}[capacity]\n{rule}\n"));
        (0..4).filter_map(|id| world.view(id).capacity).collect()
    };
    assert_eq!(capacities("rule = \"equal\"\nvalue = 7"), [7; 4]);
    assert_eq!(capacities("values = [4, 3, 9, 1]"), [4, 3, 9, 1]);
    assert!(capacities("rule = \"rising\"").is_sorted() && capacities("rule = \"falling\"").iter().rev().is_sorted());
    let mut drawn = capacities("rule = \"random\"");
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 4);
    let mut world = world_of(4, 1, &format!("{LAN}[capacity]\nrule = \"equal\"\nvalue = 1000\nnoise = \"5%\"\n"));
    let measured = picked(&mut world, 10_000_000, |event| match event.kind {
        EventKind::Capacity { capacity } => capacity,
        _ => None, // another event
    });
    assert!(measured.len() > 35 && measured.iter().all(|capacity| (950..=1_050).contains(capacity)));
    assert!(measured.iter().any(|&capacity| capacity != 1_000));
}

#[test]
fn nodes_that_move_meet() {
    let mobility = "[topology]\nshape = \"line\"\nspacing = 40\n[mobility]\nspeed = 20\narea = [0, 0, 40, 40]\n";
    let mut world = world_of(4, 1, mobility);
    assert_eq!(world.receivers(0).count(), 0);
    run(&mut world);
    assert_eq!(leaders(&world), [Some(3); 4]);
}

#[test]
fn a_node_that_is_carried_away_loses_its_links_and_finds_others() {
    let fault = "[[faults]]\nat = \"1s\"\ndo = \"move\"\nnode = 0\nposition = [90.0, 10.0]\n";
    let mut world = world_of(10, 1, &format!("{LINE}{fault}"));
    assert_eq!(world.receivers(0).collect::<Vec<_>>(), [(1, 255)]);
    let moves = picked(&mut world, 2_000_000, |event| (event.kind == EventKind::Moved).then_some(event.at));
    assert_eq!(moves, [1_000_000]);
    let mut near: Vec<_> = world.receivers(0).map(|(id, _)| id).collect();
    near.sort_unstable();
    assert_eq!(near, [8, 9]);
}

#[test]
fn a_fault_that_is_added_to_a_run_has_the_effect_it_would_have_had_in_its_plan() {
    let faults = ["do = \"crash\"\nnode = \"random\"", "do = \"restart\"\nnode = \"last\"", "do = \"heal\""];
    for seed in 0..50 {
        let planned = "drift_ppm = 100\n[topology]\nshape = \"line\"\n[[faults]]\nat = [\"1s\", \"9s\"]\ndo = \"crash\"\nnode = \"random\"\n";
        let mut text = planned.to_owned();
        let mut played = world_of(10, seed, &text);
        for (turn, fault) in (1..).zip(faults) {
            played.run_until(turn * 1_700_000 + seed * 10_007, &mut ());
            // Just before an event: its moment is not free.
            let next = played.next_at().unwrap();
            played.run_until(next - 1, &mut ());
            let at = played.free_moment().unwrap();
            assert!(at > next, "{at}");
            text = format!("{text}[[faults]]\nat = \"{at}us\"\n{fault}\n");
            let number = turn as u32;
            let steps = world_of(10, seed, &text).plan().faults.clone();
            played.add_fault(steps.into_iter().find(|step| step.number == number).unwrap());
        }
        let mut replayed = world_of(10, seed, &text);
        run(&mut played);
        run(&mut replayed);
        assert_eq!(played.trace_hash(), replayed.trace_hash(), "seed {seed}");
    }
}

#[test]
fn commands_and_changed_capacities_reach_their_targets() {
    let faults = "[[faults]]\nat = \"1s\"\ndo = \"call\"\nnode = 1\n\
                  [[faults]]\nat = \"1s\"\ndo = \"yield\"\nnode = [1, 2]\n\
                  [[faults]]\nat = \"1s\"\ndo = \"capacity\"\nnode = 0\ncapacity = \"unfit\"\n";
    let mut world = world_of(3, 1, &format!("{LAN}{faults}"));
    run(&mut world);
    assert_eq!((0..3).map(|id| world.node(id).unwrap().commands).collect::<Vec<_>>(), [0, 2, 1]);
    assert_eq!((world.node(0).unwrap().capacity, world.view(0).capacity), (None, None));
}

#[test]
fn a_lost_frame_is_traced_with_its_reason() {
    let mut world = world_of(3, 1, &format!("{LINE}[medium]\ncsma = false\n"));
    let missed = picked(&mut world, 150_000, |event| match event.kind {
        EventKind::Missed { from, reason: LossReason::Collision } => Some((event.node, from)),
        _ => None, // another event
    });
    // All three boot, wake and send in the same microsecond.
    assert!(missed.contains(&(Some(1), 0)) && missed.contains(&(Some(1), 2)));
}
