use super::*;
use host_sim::map::{Canvas, Ink};
use host_sim::topology::{Link, NOWHERE};

const SEEDS: std::ops::Range<u64> = 0..20;

/// Who leads, by name.
fn leaders(map: &Map) -> Vec<u32> {
    (0..).zip(&map.spots).filter(|(_, spot)| spot.mark == Mark::Leads).map(|(name, _)| name).collect()
}

/// The best of those for whom `counts` holds.
fn best(map: &Map, counts: impl Fn(u32) -> bool) -> Option<u32> {
    let names = (0..map.spots.len() as u32).filter(|&name| map.spots[name as usize].mark != Mark::Down);
    names.filter(|&name| counts(name)).max_by_key(|&name| (map.spots[name as usize].capacity, name))
}

#[test]
fn every_stage_occurs_whatever_the_seed() {
    for seed in SEEDS {
        let tale = Tale::of(seed);
        let [start, elect, fail, split, heal] = Stage::ALL.map(|stage| {
            let scene = tale.end_of(stage).unwrap();
            assert_eq!(scene.pace, Pace::Settled, "seed {seed}: {} does not end", stage.heading());
            &scene.map
        });
        assert!(start.spots.iter().all(|spot| spot.mark == Mark::Seeking), "seed {seed}: all are up before they elect");
        let first = leaders(elect);
        assert_eq!(first, Vec::from_iter(best(elect, |_| true)), "seed {seed}: the best is elected");
        assert_eq!(fail.spots[first[0] as usize].mark, Mark::Down, "seed {seed}: the leader failed");
        let next = leaders(fail);
        assert_eq!(next, Vec::from_iter(best(fail, |_| true)), "seed {seed}: the next best is elected");
        assert_eq!(leaders(split).len(), 2, "seed {seed}: the parts have a leader each");
        assert_eq!(leaders(heal), next, "seed {seed}: one of the two leaders is left, the better one");
        let measures = Stage::ALL
            .map(|stage| stage.measure().is_none_or(|measure| tale.samples.iter().any(|(name, _)| *name == measure)));
        assert_eq!(measures, [true; 5], "seed {seed}: all times are measured");
    }
}

#[test]
fn the_map_marks_exactly_one_leader_in_each_part_and_everybody_else_follows_it() {
    for seed in SEEDS {
        let tale = Tale::of(seed);
        for (stage, parts) in Stage::ALL.into_iter().zip([0, 1, 1, 2, 1]) {
            let map = &tale.end_of(stage).unwrap().map;
            let drawn: String = Canvas::rows(&map.draw(57, 17, Ink::Ascii), false).collect();
            assert_eq!(drawn.matches("[*").count(), parts, "seed {seed}, {}", stage.heading());
            let leaders = leaders(map);
            for spot in map.spots.iter().filter(|spot| parts > 0 && spot.part != NOWHERE) {
                let mine: Vec<u32> =
                    leaders.iter().copied().filter(|&leader| map.spots[leader as usize].part == spot.part).collect();
                assert_eq!(mine, Vec::from_iter(spot.leader), "seed {seed}, {}", stage.heading());
            }
        }
    }
}

#[test]
fn the_flood_reaches_everybody_over_several_hops() {
    for seed in SEEDS {
        let tale = Tale::of(seed);
        let called = tale.scenes.iter().filter(|scene| scene.stage == Stage::Elect).map(|scene| scene.called).max();
        assert_eq!(called, Some(25), "seed {seed}");
        let told = |word: &str| tale.lines.iter().any(|line| line.stage == Stage::Elect && line.text().contains(word));
        assert!(told("calls an election") && told("hop 2: ") && told(" reports "), "seed {seed}");
    }
}

#[test]
fn the_whole_takes_as_long_as_one_watches_gladly() {
    for seed in SEEDS {
        let tale = Tale::of(seed);
        let whole: Duration = tale.pauses(1.0).sum();
        assert!((20.0..=25.0).contains(&whole.as_secs_f64()), "seed {seed} takes {whole:?}");
        let half: Duration = tale.pauses(2.0).sum();
        assert!((half.as_secs_f64() * 2.0 - whole.as_secs_f64()).abs() < 0.01);
    }
}

#[test]
fn the_same_seed_gives_the_same_scenes() {
    let scenes = |seed| Tale::of(seed).scenes.iter().map(|scene| (scene.at, scene.map.clone())).collect::<Vec<_>>();
    assert_eq!(scenes(5), scenes(5));
    assert_ne!(scenes(5), scenes(6));
}

#[test]
fn what_is_drawn_as_a_link_is_a_sure_one() {
    let scenario = Scenario::parse("demo.toml", SCENARIO).unwrap();
    let world = World::<Peer>::new(&scenario, 0);
    for name in 0..world.nodes() {
        assert!(world.hearers(name).all(|(_, quality)| quality == Link::SURE), "node {name}");
    }
}

#[test]
fn each_half_hangs_together_whichever_node_fails() {
    let text = SCENARIO.split("[[faults]]").next().unwrap();
    let cut = "[[faults]]\nat = \"2s\"\ndo = \"partition\"\ncut = \"left-right\"\n";
    for victim in 0..25 {
        let crash = format!("[[faults]]\nat = \"1s\"\ndo = \"crash\"\nnode = {victim}\n");
        let scenario = Scenario::parse("demo.toml", &format!("{text}{crash}{cut}")).unwrap();
        let mut world = World::<Peer>::new(&scenario, 0);
        world.run_until(1_500_000, &mut ());
        assert_eq!(world.components(Link::SURE).count(), 1, "without node {victim}");
        world.run_until(2_500_000, &mut ());
        assert_eq!(world.components(Link::SURE).count(), 2, "without node {victim}, cut");
    }
}
