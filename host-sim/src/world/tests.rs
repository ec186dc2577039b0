//! The world with nodes that gossip.

use super::*;
use crate::gossip::Gossip;
use crate::trace::Missed;
use protocol::Instant;
use protocol::capacity::Capacity;

fn world_of(nodes: u32, rest: &str) -> World<Gossip> {
    let text = format!("name = \"test\"\nnodes = {nodes}\nduration = \"10s\"\n{rest}");
    let scenario = Scenario::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    World::new(&scenario, 1)
}

fn run(world: &mut World<Gossip>) {
    while world.step(&mut ()) {}
}

fn leaders(world: &World<Gossip>) -> Vec<Option<u32>> {
    (0..world.nodes()).map(|name| world.node(name).leader.map(|(leader, _)| leader)).collect()
}

const LINE: &str = "[topology]\nshape = \"line\"\n";
const LAN: &str = "[topology]\nshape = \"complete\"\n[medium]\nkind = \"lan\"\n";

#[test]
fn frames_reach_the_next_and_news_travels_the_whole_line() {
    let mut world = world_of(10, LINE);
    assert_eq!(world.hearers(4).collect::<Vec<_>>(), [(3, 255), (5, 255)]);
    run(&mut world);
    assert_eq!(leaders(&world), [Some(9); 10]);
    assert_eq!((world.now(), world.depth(0), world.components(255).count()), (10_000_000, 9, 1));
    assert!(world.tally().kinds()[0].1.frames > 900);
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    let hash = |seed: u64| {
        let text = "name = \"test\"\nnodes = 30\nduration = \"2s\"\n[topology]\nshape = \"geometric\"\n[medium]\nloss = \"10%\"\n";
        let mut world = World::<Gossip>::new(&Scenario::parse("test.toml", text).unwrap(), seed);
        run(&mut world);
        world.hash()
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn places_in_memory_do_not_change_names_or_positions() {
    let world = world_of(64, "[topology]\nshape = \"grid\"\ncolumns = 8\n");
    for name in 0..64 {
        let point = world.node(name).point;
        assert_eq!((point.x, point.y), (f64::from(name % 8) * 10.0, f64::from(name / 8) * 10.0));
    }
    let mut hearers: Vec<u32> = world.hearers(9).map(|(name, _)| name).collect();
    hearers.sort_unstable();
    assert_eq!(hearers, [0, 1, 2, 8, 10, 16, 17, 18]);
}

#[test]
fn a_local_network_is_one_broadcast_domain() {
    let mut world = world_of(5, LAN);
    run(&mut world);
    assert_eq!(leaders(&world), [Some(4); 5]);
}

#[test]
fn a_crashed_node_is_gone_and_comes_back_with_what_it_stored() {
    let crash = "[[faults]]\nat = \"1s\"\ndo = \"crash\"\nnode = 2\nfor = \"1s\"\n";
    let mut world = world_of(3, &format!("{LAN}{crash}"));
    world.run_until(1_500_000, &mut ());
    assert_eq!((world.node(2).life, world.machine(2).is_none()), (Life::Down, true));
    run(&mut world);
    let reborn = world.machine(2).unwrap();
    assert_eq!(reborn.birth.records.map(|records| records.incarnation), Some(1));
    assert_eq!((reborn.birth.now, reborn.highest), (Instant::ZERO, 2));
}

#[test]
fn a_blank_restart_loses_what_was_stored() {
    let faults = "[[faults]]\nat = \"1s\"\ndo = \"crash\"\nnode = \"leader\"\n\
                  [[faults]]\nat = \"2s\"\ndo = \"restart-blank\"\nnode = \"last\"\n";
    let mut world = world_of(3, &format!("{LAN}{faults}"));
    world.run_until(1_500_000, &mut ());
    assert_eq!(world.node(2).life, Life::Down, "the leader is the one most follow");
    run(&mut world);
    assert_eq!(world.machine(2).unwrap().birth.records, None);
}

#[test]
fn a_paused_node_hears_and_says_nothing_and_has_no_backlog() {
    for (clock, shown) in [("runs", 10_000_000), ("stops", 8_000_000)] {
        let pause = format!("[[faults]]\nat = \"2s\"\ndo = \"pause\"\nnode = 1\nfor = \"2s\"\nclock = \"{clock}\"\n");
        let mut world = world_of(2, &format!("{LAN}{pause}"));
        world.run_until(2_000_000, &mut ());
        let heard = world.machine(1).unwrap().frames.len();
        world.run_until(3_999_000, &mut ());
        assert_eq!(world.machine(1).unwrap().frames.len(), heard);
        let said = world.machine(0).unwrap().frames.len();
        run(&mut world);
        let wakes = &world.machine(1).unwrap().wakes;
        let last = wakes.last().unwrap().as_micros();
        assert!((shown - 200_000..=shown).contains(&last), "{clock}: {last}");
        let after = world.machine(0).unwrap().frames.len() - said;
        assert!((58..=61).contains(&after), "{clock}: {after} frames in six seconds");
    }
}

#[test]
fn a_partition_parts_and_a_heal_joins() {
    let faults = "[[faults]]\nat = \"1us\"\ndo = \"partition\"\ncut = \"left-right\"\nfor = \"5s\"\n";
    let mut world = world_of(10, &format!("{LINE}{faults}"));
    world.run_until(4_000_000, &mut ());
    assert_eq!(leaders(&world), [[Some(4); 5], [Some(9); 5]].concat());
    let parts = world.components(255);
    assert_eq!((parts.count(), parts.of(0) == parts.of(4), parts.of(4) == parts.of(5)), (2, true, false));
    run(&mut world);
    assert_eq!(leaders(&world), [Some(9); 10]);
}

#[test]
fn a_link_cut_one_way_carries_news_the_other_way_only() {
    let faults = "[[faults]]\nat = \"1us\"\ndo = \"one-way\"\nfrom = [1]\nto = [0]\n";
    let mut world = world_of(2, &format!("{LAN}{faults}"));
    run(&mut world);
    assert_eq!(leaders(&world), [Some(0), Some(1)]);
    assert!(world.machine(0).unwrap().frames.is_empty() && !world.machine(1).unwrap().frames.is_empty());
}

#[test]
fn frames_are_broken_doubled_and_delayed_as_told() {
    let heard = |fault: &str| {
        let mut world = world_of(2, &format!("{LAN}[[faults]]\nat = \"1us\"\n{fault}\n"));
        run(&mut world);
        world.machine(0).unwrap().frames.clone()
    };
    assert!(heard("do = \"corrupt\"\nshare = \"100%\"").iter().all(|bytes| bytes != &[1, 0, 0, 0]));
    assert!(heard("do = \"duplicate\"\nshare = \"100%\"").len() > 180);
    assert_eq!(heard("do = \"loss\"\nshare = \"100%\"").len(), 0);
    let late = heard("do = \"delay\"\ndelay = \"5s\"").len();
    assert!((45..=50).contains(&late), "{late}");
}

#[test]
fn clocks_run_off_by_no_more_than_they_may() {
    let mut world = world_of(20, &format!("drift_ppm = 5000\n{LAN}"));
    run(&mut world);
    let shown: Vec<u64> = (0..20).map(|name| world.machine(name).unwrap().wakes.last().unwrap().as_micros()).collect();
    assert!(shown.iter().all(|at| (9_850_000..=10_050_000).contains(at)), "{shown:?}");
    assert!(shown.iter().any(|&at| at > 10_000_000) || shown.iter().any(|&at| at < 9_960_000), "{shown:?}");
}

#[test]
fn nodes_boot_within_the_spread_and_measure_themselves() {
    let mut world = world_of(50, &format!("boot_spread = \"2s\"\n{LAN}"));
    let mut boots = Vec::new();
    let mut note = |event: &TraceEvent| {
        if matches!(event.what, What::Boot { .. }) {
            boots.push(event.at);
        }
    };
    world.run_until(10_000_000, &mut note);
    assert_eq!((boots.len(), world.boots_pending()), (50, 0));
    assert!(boots.iter().all(|&at| at < 2_000_000) && boots.iter().any(|&at| at > 1_000_000));
    let measured = (0..50).map(|name| world.machine(name).unwrap().capacity.map(Capacity::get));
    assert!(measured.eq((0..50).map(|name| world.node(name).capacity)));
}

#[test]
fn capacities_follow_their_rule_and_noise_stays_within_its_share() {
    let worths = |rule: &str| -> Vec<u16> {
        let world = world_of(4, &format!("{LAN}[capacity]\n{rule}\n"));
        (0..4).filter_map(|name| world.node(name).capacity).collect()
    };
    assert_eq!(worths("rule = \"equal\"\nvalue = 7"), [7; 4]);
    assert_eq!(worths("values = [4, 3, 9, 1]"), [4, 3, 9, 1]);
    assert!(worths("rule = \"rising\"").is_sorted() && worths("rule = \"falling\"").iter().rev().is_sorted());
    let mut drawn = worths("rule = \"random\"");
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 4);
    let mut world = world_of(4, &format!("{LAN}[capacity]\nrule = \"equal\"\nvalue = 1000\nnoise = \"5%\"\n"));
    let mut measured = Vec::new();
    let mut note = |event: &TraceEvent| {
        if let What::Capacity { capacity: Some(capacity) } = event.what {
            measured.push(capacity);
        }
    };
    world.run_until(10_000_000, &mut note);
    assert!(measured.len() > 35 && measured.iter().all(|worth| (950..=1_050).contains(worth)));
    assert!(measured.iter().any(|&worth| worth != 1_000));
}

#[test]
fn who_walks_meets_others() {
    let mobility = "[topology]\nshape = \"line\"\nspacing = 40\n[mobility]\nspeed = 20\narea = [0, 0, 40, 40]\n";
    let mut world = world_of(4, mobility);
    assert_eq!(world.hearers(0).count(), 0);
    run(&mut world);
    assert_eq!(leaders(&world), [Some(3); 4]);
}

#[test]
fn commands_and_changed_capacities_reach_whom_they_are_for() {
    let faults = "[[faults]]\nat = \"1s\"\ndo = \"call\"\nnode = 1\n\
                  [[faults]]\nat = \"1s\"\ndo = \"yield\"\nnode = [1, 2]\n\
                  [[faults]]\nat = \"1s\"\ndo = \"capacity\"\nnode = 0\ncapacity = \"unfit\"\n";
    let mut world = world_of(3, &format!("{LAN}{faults}"));
    run(&mut world);
    assert_eq!((0..3).map(|name| world.machine(name).unwrap().commands).collect::<Vec<_>>(), [0, 2, 1]);
    assert_eq!((world.machine(0).unwrap().capacity, world.node(0).capacity), (None, None));
}

#[test]
fn a_frame_that_is_missed_is_told_with_its_reason() {
    let hidden = "[topology]\nshape = \"line\"\n[medium]\ncsma = false\n";
    let mut world = world_of(3, hidden);
    let mut missed = Vec::new();
    let mut note = |event: &TraceEvent| {
        if let What::Missed { from, why } = event.what {
            missed.push((event.node, from, why));
        }
    };
    world.run_until(150_000, &mut note);
    // All three boot, wake and speak in the same microsecond.
    assert!(missed.contains(&(Some(1), 0, Missed::Collision)) && missed.contains(&(Some(1), 2, Missed::Collision)));
}
