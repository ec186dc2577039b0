use super::*;
use crate::draw::map::{Canvas, Charset};
use crate::sim::topology::{Link, NO_COMPONENT};
use std::sync::LazyLock;

/// The playbacks of the first seeds, which the tests share.
static PLAYBACKS: LazyLock<Vec<Playback>> = LazyLock::new(|| (0..20).map(Playback::of).collect());

fn leaders(map: &Map) -> Vec<u32> {
    (0..).zip(&map.nodes).filter(|(_, node)| node.mark == Mark::Leads).map(|(id, _)| id).collect()
}

/// Returns the best node that is not down.
fn best(map: &Map) -> Option<u32> {
    let up = (0..map.nodes.len() as u32).filter(|&id| map.nodes[id as usize].mark != Mark::Down);
    up.max_by_key(|&id| (map.nodes[id as usize].capacity, id))
}

#[test]
fn every_stage_occurs_whatever_the_seed() {
    for playback in PLAYBACKS.iter() {
        let seed = playback.seed;
        let [start, elect, fail, split, heal] = Phase::ALL.map(|phase| {
            let scene = playback.end_of(phase).unwrap();
            assert_eq!(scene.pace, Pace::Settled, "seed {seed}: {} does not end", phase.heading());
            &scene.map
        });
        assert!(
            start.nodes.iter().all(|node| node.mark == Mark::Leaderless),
            "seed {seed}: all nodes are up before the election"
        );
        let first = leaders(elect);
        assert_eq!(first, Vec::from_iter(best(elect)), "seed {seed}: the best is elected");
        assert_eq!(fail.nodes[first[0] as usize].mark, Mark::Down, "seed {seed}: the leader failed");
        let next = leaders(fail);
        assert_eq!(next, Vec::from_iter(best(fail)), "seed {seed}: the next best is elected");
        assert_eq!(leaders(split).len(), 2, "seed {seed}: each side has a leader");
        assert_eq!(leaders(heal), next, "seed {seed}: one of the two leaders is left, the better one");
        let measures = Phase::ALL.map(|phase| {
            phase.measure().is_none_or(|(measure, _)| playback.samples.iter().any(|(name, _)| *name == measure))
        });
        assert_eq!(measures, [true; 5], "seed {seed}: all times are measured");
    }
}

#[test]
fn the_map_marks_one_leader_in_each_component_and_all_other_nodes_follow_it() {
    for playback in PLAYBACKS.iter() {
        let seed = playback.seed;
        for (phase, parts) in Phase::ALL.into_iter().zip([0, 1, 1, 2, 1]) {
            let map = &playback.end_of(phase).unwrap().map;
            let drawn: String = Canvas::rows(&map.draw(57, 17, Charset::Ascii), false).collect();
            assert_eq!(drawn.matches("[*").count(), parts, "seed {seed}, {}", phase.heading());
            let leaders = leaders(map);
            for node in map.nodes.iter().filter(|node| parts > 0 && node.component != NO_COMPONENT) {
                let mine: Vec<u32> = leaders
                    .iter()
                    .copied()
                    .filter(|&leader| map.nodes[leader as usize].component == node.component)
                    .collect();
                assert_eq!(mine, Vec::from_iter(node.leader), "seed {seed}, {}", phase.heading());
            }
        }
    }
}

#[test]
fn the_flood_reaches_all_nodes_over_several_hops() {
    for playback in PLAYBACKS.iter() {
        let seed = playback.seed;
        let called = playback.scenes.iter().filter(|scene| scene.phase == Phase::Elect).map(|scene| scene.called).max();
        assert_eq!(called, Some(25), "seed {seed}");
        let contains =
            |word: &str| playback.lines.iter().any(|line| line.phase == Phase::Elect && line.text().contains(word));
        assert!(contains("calls an election") && contains("hop 2: ") && contains(" reports "), "seed {seed}");
    }
}

#[test]
fn the_playback_takes_20_to_25_seconds() {
    for playback in PLAYBACKS.iter() {
        let seed = playback.seed;
        let whole: Duration = playback.pauses(1.0).sum();
        assert!((20.0..=25.0).contains(&whole.as_secs_f64()), "seed {seed} takes {whole:?}");
        let half: Duration = playback.pauses(2.0).sum();
        assert!((half.as_secs_f64() * 2.0 - whole.as_secs_f64()).abs() < 0.01);
    }
}

#[test]
fn the_same_seed_gives_the_same_scenes() {
    let scenes = |seed| Playback::of(seed).scenes.iter().map(|scene| (scene.at, scene.map.clone())).collect::<Vec<_>>();
    assert_eq!(scenes(5), scenes(5));
    assert_ne!(scenes(5), scenes(6));
}

#[test]
fn every_link_drawn_is_a_sure_one() {
    let scenario = Scenario::parse("demo.toml", SCENARIO, &[]).unwrap();
    let world = world::<ProtocolNode>(&scenario, 0);
    for node in 0..world.node_count() {
        assert!(world.receivers(node).all(|(_, quality)| quality == Link::QUALITY_MAX), "node {node}");
    }
}

#[test]
fn each_half_stays_connected_whichever_node_fails() {
    let text = SCENARIO.split("[[faults]]").next().unwrap();
    let cut = "[[faults]]\nat = \"2s\"\ndo = \"partition\"\ncut = \"left-right\"\n";
    for victim in 0..25 {
        let crash = format!("[[faults]]\nat = \"1s\"\ndo = \"crash\"\nnode = {victim}\n");
        let scenario = Scenario::parse("demo.toml", &format!("{text}{crash}{cut}"), &[]).unwrap();
        let mut world = world::<ProtocolNode>(&scenario, 0);
        world.run_until(1_500_000, &mut ());
        assert_eq!(world.components(Link::QUALITY_MAX).count(), 1, "without node {victim}");
        world.run_until(2_500_000, &mut ());
        assert_eq!(world.components(Link::QUALITY_MAX).count(), 2, "without node {victim}, cut");
    }
}
