//! The run made into scenes: what is to be seen, for how long, and what is to be read.

use super::flood::Flood;
use super::log::{Line, Log};
use host_sim::map::{Map, Mark};
use host_sim::trace::{Observer, TraceEvent, What};
use host_sim::watch::Watch;
use host_sim::world::World;
use host_sim::{Peer, Scenario};
use std::time::Duration;

const SCENARIO: &str = include_str!("../../../scenarios/demo.toml");

/// The chapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Start,
    Elect,
    Fail,
    Split,
    Heal,
}

impl Stage {
    pub(super) const ALL: [Self; 5] = [Self::Start, Self::Elect, Self::Fail, Self::Split, Self::Heal];

    /// Its heading.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Start => "who hears whom",
            Self::Elect => "the election",
            Self::Fail => "the leader fails",
            Self::Split => "the split",
            Self::Heal => "one again",
        }
    }

    /// How long it is played, in milliseconds.
    fn play(self) -> u64 {
        match self {
            Self::Start => 3_500,
            Self::Elect => 7_500,
            Self::Fail => 5_000,
            Self::Split => 4_500,
            Self::Heal => 3_000,
        }
    }

    /// What measures it.
    pub(super) fn measure(self) -> Option<&'static str> {
        match self {
            Self::Start => None,
            Self::Elect => Some("time_to_leader_us"),
            Self::Fail => Some("failover_us"),
            Self::Split => Some("split_us"),
            Self::Heal => Some("merge_us"),
        }
    }
}

/// How long a scene is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pace {
    /// Nothing but time passed.
    Tick,
    /// One step of many.
    Step,
    /// Something to take in.
    Moment,
    /// The end of a stage: the network agrees.
    Settled,
}

impl Pace {
    /// Milliseconds, where it is not what the others leave over.
    fn hold(self) -> Option<u64> {
        match self {
            Self::Tick => Some(50),
            Self::Step => None,
            Self::Moment => Some(900),
            Self::Settled => Some(1_400),
        }
    }
}

/// What is to be seen at one moment.
pub(super) struct Scene {
    pub(super) at: u64,
    pub(super) stage: Stage,
    pub(super) pace: Pace,
    pub(super) map: Map,
    /// How many were called, have reported and know a leader that is there.
    pub(super) called: usize,
    pub(super) reported: usize,
    pub(super) led: usize,
    /// Frames sent so far, by kind.
    pub(super) frames: Vec<(&'static str, u64)>,
    /// The latest lines.
    pub(super) lines: Vec<Line>,
}

/// The whole tale.
pub(super) struct Tale {
    pub(super) seed: u64,
    pub(super) scenario: Scenario,
    pub(super) scenes: Vec<Scene>,
    pub(super) lines: Vec<Line>,
    /// What was measured: names and microseconds.
    pub(super) samples: Vec<(&'static str, u64)>,
}

/// How many of the latest lines a scene keeps.
const LINES_KEPT: usize = 12;

impl Tale {
    /// The tale of a seed.
    pub(super) fn of(seed: u64) -> Self {
        let scenario = Scenario::parse("demo.toml", SCENARIO).expect("the demo's scenario is checked by its tests");
        let mut world = World::<Peer>::new(&scenario, seed);
        let mut watch = Watch::new(&world);
        let mut teller = Teller::new(scenario.nodes);
        let mut events: Vec<TraceEvent> = Vec::new();
        loop {
            events.clear();
            let mut see = |event: &TraceEvent| {
                watch.see(event);
                events.push(*event);
            };
            if !world.step(&mut see) {
                break;
            }
            watch.refresh(&world);
            teller.follow(&world, watch.agrees(), &events);
        }
        watch.finish(world.now());
        let lines = teller.log.lines().to_vec();
        Self { seed, scenario, scenes: teller.scenes, lines, samples: watch.samples().to_vec() }
    }

    /// The scene a stage ends with: the last in which the network came to agree, or the last of all.
    pub(super) fn end_of(&self, stage: Stage) -> Option<&Scene> {
        let scenes = || self.scenes.iter().rev().filter(|scene| scene.stage == stage);
        scenes().find(|scene| scene.pace == Pace::Settled).or_else(|| scenes().next())
    }

    /// How long each scene is looked at. A stage takes its time however much happens in it: the steps share what is
    /// not spent on the moments to take in.
    pub(super) fn pauses(&self, speed: f64) -> impl Iterator<Item = Duration> {
        let steps = Stage::ALL.map(|stage| {
            let of_stage = || self.scenes.iter().filter(|scene| scene.stage == stage);
            let held: u64 = of_stage().filter_map(|scene| scene.pace.hold()).sum();
            let steps = of_stage().filter(|scene| scene.pace.hold().is_none()).count();
            stage.play().saturating_sub(held) as f64 / steps.max(1) as f64
        });
        self.scenes.iter().map(move |scene| {
            let millis = scene.pace.hold().map_or(steps[scene.stage as usize], |millis| millis as f64);
            Duration::from_secs_f64(millis / 1e3 / speed)
        })
    }
}

/// Makes scenes of what happens.
struct Teller {
    stage: Stage,
    log: Log,
    flood: Flood,
    started: Vec<bool>,
    /// Everybody who ever led, in that order: each has a colour.
    leaders: Vec<u32>,
    agreed: bool,
    walled: bool,
    scenes: Vec<Scene>,
}

impl Teller {
    fn new(nodes: u32) -> Self {
        Self {
            stage: Stage::Start,
            log: Log::new(nodes),
            flood: Flood::new(nodes),
            started: vec![false; nodes as usize],
            leaders: Vec::new(),
            agreed: false,
            walled: false,
            scenes: Vec::new(),
        }
    }

    /// Takes in what happened in one step of the world.
    fn follow(&mut self, world: &World<Peer>, agrees: bool, events: &[TraceEvent]) {
        let second = |at: u64| at / 1_000_000;
        let told_until = self.scenes.last().map_or(0, |scene| scene.at);
        let mut pace = (second(world.now()) > second(told_until)).then_some(Pace::Tick);
        for event in events {
            pace = pace.max(self.take_in(world, event));
        }
        // The first moment all of a stage agree is its end; what was agreed before the stage began does not count.
        if agrees && !self.agreed {
            pace = Some(Pace::Settled);
        }
        self.agreed = agrees;
        if let Some(pace) = pace {
            self.scenes.push(self.scene(world, pace));
        }
    }

    fn take_in(&mut self, world: &World<Peer>, event: &TraceEvent) -> Option<Pace> {
        let stage = match (self.stage, event.what) {
            (Stage::Start, What::Sent { kind: "election", .. }) => Stage::Elect,
            (_, What::Crash) => Stage::Fail,
            (_, What::Partition) => Stage::Split,
            (_, What::Heal) => Stage::Heal,
            (stage, _) => stage,
        };
        if stage != self.stage {
            self.stage = stage;
            self.flood.recount();
            // Before the first election there is nothing to agree on: the map itself is to be taken in.
            if let Some(last) = self.scenes.last_mut().filter(|scene| scene.stage == Stage::Start) {
                last.pace = Pace::Settled;
            }
        }
        let led = event.node.is_some_and(|node| is_led(world, node));
        let step = self.flood.see(event, led);
        self.log.tell(self.stage, event, step);
        match event.what {
            What::Boot { .. } => {
                self.started[event.node? as usize] = true;
                Some(Pace::Step)
            }
            What::Leads { .. } => {
                let node = event.node?;
                if self.leaders.contains(&node) {
                    return Some(Pace::Step);
                }
                self.leaders.push(node);
                Some(Pace::Moment)
            }
            What::Partition | What::Heal => {
                self.walled = event.what == What::Partition;
                Some(Pace::Moment)
            }
            What::Crash => Some(Pace::Moment),
            What::Follows { .. } | What::Leaderless => Some(Pace::Step),
            _ => step.map(|_| Pace::Step), // the flood is all that is seen of frames
        }
    }

    fn scene(&self, world: &World<Peer>, pace: Pace) -> Scene {
        let mut map = Map::of(world);
        let leads: Vec<bool> = map.spots.iter().map(|spot| spot.mark == Mark::Leads).collect();
        let has_leader = |leader: Option<u32>| leader.is_some_and(|leader| leads[leader as usize]);
        let led = map.spots.iter().filter(|spot| has_leader(spot.leader)).count();
        for (name, spot) in (0..).zip(&mut map.spots) {
            spot.party = self.leaders.iter().position(|&leader| Some(leader) == spot.leader).unwrap_or(0);
            if !self.started[name as usize] {
                spot.mark = Mark::Absent;
            } else if let Some(mark) = self.flood.mark(name) {
                spot.mark = mark;
            }
        }
        map.lively = self.flood.links();
        map.walled = self.walled;
        let (called, reported) = self.flood.counts();
        let frames = world.tally().kinds().into_iter().map(|(kind, count)| (kind, count.frames)).collect();
        let lines = self.log.lines();
        let lines = lines[lines.len().saturating_sub(LINES_KEPT)..].to_vec();
        Scene { at: world.now(), stage: self.stage, pace, map, called, reported, led, frames, lines }
    }
}

/// Whether a node follows one that leads.
fn is_led(world: &World<Peer>, node: u32) -> bool {
    let leader = |node| world.node(node).leader.map(|(leader, _)| leader);
    leader(node).is_some_and(|found| leader(found) == Some(found))
}

#[cfg(test)]
mod tests;
