//! A run as scenes to be played: the map, the lines, and how long each is shown.

use super::flood::Flood;
use super::log::{Line, Log};
use crate::check::convergence::Convergence;
use crate::draw::map::{Map, Mark};
use crate::nodes::world;
use crate::sim::topology::NO_COMPONENT;
use crate::sim::world::World;
use crate::trace::{EventKind, Observer, TraceEvent};
use crate::{ProtocolNode, Scenario};
use std::collections::BTreeMap;
use std::time::Duration;

const SCENARIO: &str = include_str!("../../../scenarios/demo.toml");

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Start,
    Elect,
    Fail,
    Split,
    Heal,
}

impl Phase {
    pub(super) const ALL: [Self; 5] = [Self::Start, Self::Elect, Self::Fail, Self::Split, Self::Heal];

    /// Returns its heading, how long it is played in milliseconds, and the name and the description of its measured time.
    const fn row(self) -> (&'static str, u64, Option<(&'static str, &'static str)>) {
        match self {
            Self::Start => ("neighbour discovery", 3_500, None),
            Self::Elect => ("the election", 7_500, Some(("time_to_leader_us", "first boot to a known leader"))),
            Self::Fail => ("failover", 5_000, Some(("failover_us", "crash to the next leader"))),
            Self::Split => ("partition", 4_500, Some(("split_us", "cut to a leader on each side"))),
            Self::Heal => ("merge", 3_000, Some(("merge_us", "merge to one leader"))),
        }
    }

    pub(super) fn heading(self) -> &'static str {
        self.row().0
    }

    /// Returns the name and the description of its measured time.
    pub(super) fn measure(self) -> Option<(&'static str, &'static str)> {
        self.row().2
    }
}

/// How long a scene is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pace {
    /// Only time passed.
    Tick,
    /// One step of many.
    Step,
    /// A notable event.
    Notable,
    /// The end of a phase: the network agrees.
    Settled,
}

impl Pace {
    /// Returns the milliseconds; `None` for an equal share of the rest of the phase.
    fn millis(self) -> Option<u64> {
        match self {
            Self::Tick => Some(50),
            Self::Step => None,
            Self::Notable => Some(900),
            Self::Settled => Some(1_400),
        }
    }
}

pub(super) struct Scene {
    pub(super) at: u64,
    pub(super) phase: Phase,
    pub(super) pace: Pace,
    pub(super) map: Map,
    /// How many nodes were called, have replied, and follow a leader that leads.
    pub(super) called: usize,
    pub(super) reported: usize,
    pub(super) led: usize,
    /// Frames sent so far, by kind.
    pub(super) frames: BTreeMap<&'static str, u64>,
    /// The latest lines.
    pub(super) lines: Vec<Line>,
}

impl Scene {
    pub(super) fn up(&self) -> usize {
        self.map.nodes.iter().filter(|node| node.component != NO_COMPONENT).count()
    }

    /// Returns how many frames of this kind were sent.
    pub(super) fn frames(&self, kind: &str) -> u64 {
        self.frames.get(kind).copied().unwrap_or(0)
    }
}

pub(super) struct Playback {
    pub(super) seed: u64,
    pub(super) scenario: Scenario,
    pub(super) scenes: Vec<Scene>,
    pub(super) lines: Vec<Line>,
    /// The measured times, by name, in microseconds.
    pub(super) samples: Vec<(&'static str, u64)>,
}

/// How many of the latest lines a scene keeps.
const LINES_KEPT: usize = 12;

impl Playback {
    /// Simulates the demo with a seed.
    pub(super) fn of(seed: u64) -> Self {
        let scenario =
            Scenario::parse("demo.toml", SCENARIO, &[]).expect("the demo's scenario is checked by its tests");
        let mut world = world::<ProtocolNode>(&scenario, seed);
        let mut convergence = Convergence::new(&world);
        let mut recorder = Recorder::new(scenario.world.nodes);
        let mut events: Vec<TraceEvent> = Vec::new();
        loop {
            events.clear();
            let mut observe = |event: &TraceEvent| {
                convergence.observe(event);
                events.push(*event);
            };
            if !world.step(&mut observe) {
                break;
            }
            convergence.refresh(&world);
            recorder.record(&world, convergence.agrees(), &events);
        }
        convergence.finish(world.now());
        let lines = recorder.log.lines;
        Self { seed, scenario, scenes: recorder.scenes, lines, samples: convergence.samples().to_vec() }
    }

    /// Returns the last scene of a phase: the last in which the network came to agree, or the last of all.
    pub(super) fn end_of(&self, phase: Phase) -> Option<&Scene> {
        let scenes = || self.scenes.iter().rev().filter(|scene| scene.phase == phase);
        scenes().find(|scene| scene.pace == Pace::Settled).or_else(|| scenes().next())
    }

    /// Returns how long each scene is shown. A phase always takes the same time: its steps share what the other scenes
    /// leave.
    pub(super) fn pauses(&self, speed: f64) -> impl Iterator<Item = Duration> {
        let steps = Phase::ALL.map(|phase| {
            let of_stage = || self.scenes.iter().filter(|scene| scene.phase == phase);
            let fixed: u64 = of_stage().filter_map(|scene| scene.pace.millis()).sum();
            let steps = of_stage().filter(|scene| scene.pace.millis().is_none()).count();
            phase.row().1.saturating_sub(fixed) as f64 / steps.max(1) as f64
        });
        self.scenes.iter().map(move |scene| {
            let millis = scene.pace.millis().map_or(steps[scene.phase as usize], |millis| millis as f64);
            Duration::from_secs_f64(millis / 1e3 / speed)
        })
    }
}

/// Makes scenes of events.
struct Recorder {
    phase: Phase,
    log: Log,
    flood: Flood,
    started: Vec<bool>,
    /// All leaders so far, in order: each has a colour.
    leaders: Vec<u32>,
    agreed: bool,
    partitioned: bool,
    scenes: Vec<Scene>,
}

impl Recorder {
    fn new(nodes: u32) -> Self {
        Self {
            phase: Phase::Start,
            log: Log::new(nodes),
            flood: Flood::default(),
            started: vec![false; nodes as usize],
            leaders: Vec::new(),
            agreed: false,
            partitioned: false,
            scenes: Vec::new(),
        }
    }

    /// Records the events of one step of the world.
    fn record(&mut self, world: &World<ProtocolNode>, agrees: bool, events: &[TraceEvent]) {
        let second = |at: u64| at / 1_000_000;
        let shown_until = self.scenes.last().map_or(0, |scene| scene.at);
        let mut pace = (second(world.now()) > second(shown_until)).then_some(Pace::Tick);
        for event in events {
            pace = pace.max(self.on_event(world, event));
        }
        // A phase ends when the network comes to agree in it; an earlier agreement does not count.
        if agrees && !self.agreed {
            pace = Some(Pace::Settled);
        }
        self.agreed = agrees;
        if let Some(pace) = pace {
            self.scenes.push(self.scene(world, pace));
        }
    }

    fn on_event(&mut self, world: &World<ProtocolNode>, event: &TraceEvent) -> Option<Pace> {
        let phase = match (self.phase, event.kind) {
            (Phase::Start, EventKind::Sent { kind: "election", .. }) => Phase::Elect,
            (_, EventKind::Crash) => Phase::Fail,
            (_, EventKind::Partition) => Phase::Split,
            (_, EventKind::Heal) => Phase::Heal,
            (phase, _) => phase,
        };
        if phase != self.phase {
            self.phase = phase;
            self.flood.reset_counts();
            // Before the first election there is nothing to agree on; the map itself is shown for longer.
            if let Some(last) = self.scenes.last_mut().filter(|scene| scene.phase == Phase::Start) {
                last.pace = Pace::Settled;
            }
        }
        let led = event.node.is_some_and(|node| is_led(world, node));
        let step = self.flood.observe(event, led);
        self.log.add(self.phase, event, step);
        match event.kind {
            EventKind::Boot { .. } => {
                self.started[event.node? as usize] = true;
                Some(Pace::Step)
            }
            EventKind::Leads { .. } => {
                let node = event.node?;
                if self.leaders.contains(&node) {
                    return Some(Pace::Step);
                }
                self.leaders.push(node);
                Some(Pace::Notable)
            }
            EventKind::Partition | EventKind::Heal => {
                self.partitioned = event.kind == EventKind::Partition;
                Some(Pace::Notable)
            }
            EventKind::Crash => Some(Pace::Notable),
            EventKind::Follows { .. } | EventKind::Leaderless => Some(Pace::Step),
            _ => step.map(|_| Pace::Step), // of frames only the flood is shown
        }
    }

    fn scene(&self, world: &World<ProtocolNode>, pace: Pace) -> Scene {
        let mut map = Map::of(world);
        let leads: Vec<bool> = map.nodes.iter().map(|node| node.mark == Mark::Leads).collect();
        let has_leader = |leader: Option<u32>| leader.is_some_and(|leader| leads[leader as usize]);
        let led = map.nodes.iter().filter(|node| has_leader(node.leader)).count();
        for (id, node) in (0..).zip(&mut map.nodes) {
            node.colour = self.leaders.iter().position(|&leader| Some(leader) == node.leader).unwrap_or(0);
            if !self.started[id as usize] {
                node.mark = Mark::NotStarted;
            } else if let Some(mark) = self.flood.mark(id) {
                node.mark = mark;
            }
        }
        map.flooded = self.flood.links();
        map.partitioned = self.partitioned;
        let (called, reported) = self.flood.counts();
        let frames = world.frame_stats().kinds().into_iter().map(|(kind, count)| (kind, count.frames)).collect();
        let lines = &self.log.lines;
        let lines = lines[lines.len().saturating_sub(LINES_KEPT)..].to_vec();
        Scene { at: world.now(), phase: self.phase, pace, map, called, reported, led, frames, lines }
    }
}

/// Returns whether a node follows one that leads.
fn is_led(world: &World<ProtocolNode>, node: u32) -> bool {
    let leader = |node| world.view(node).leader.map(|(leader, _)| leader);
    leader(node).is_some_and(|followed| leader(followed) == Some(followed))
}

#[cfg(test)]
mod tests;
