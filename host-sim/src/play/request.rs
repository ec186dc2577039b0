//! What a page asks, and the answers: both JSON.

use super::edit::{Workload, fault_without_node, with_workload, without_node};
use super::overview::{links, rows};
use super::watch::Sample;
use super::{Play, set_key, with_positions, without_table};
use crate::base::Micros;
use crate::check;
use crate::scenario::shipped::SHIPPED;
use crate::scenario::{DETECTIONS, Scenario};
use crate::sim::topology::Point;
use crate::sim::world::PowerState;
use crate::workload::apps::AppPlan;
use protocol::base::ids::NodeSet;
use protocol::mutex::maekawa::VotingSets;
use protocol::registry::{AnyElection, AnyMutex};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// A question of the page.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    /// Which scenarios and algorithms there are.
    Catalogue,
    /// Open a scenario.
    Open {
        text: String,
        seed: u64,
    },
    /// The text of a scenario with a key set, or a table left out.
    Set {
        text: String,
        table: String,
        key: String,
        value: String,
    },
    Without {
        text: String,
        table: String,
    },
    /// The text with this lock and without an application, or the other way round; `"none"` for neither.
    Choose {
        text: String,
        #[serde(flatten)]
        workload: Workload,
    },
    /// The text with one more node, at this position.
    AddNode {
        x: f64,
        y: f64,
    },
    /// The text and these faults without a node; those after it have the id before theirs.
    RemoveNode {
        id: u32,
        faults: Vec<String>,
    },
    /// Run to a moment, with at most so many events.
    Run {
        until: Micros,
        budget: u32,
    },
    /// Run to the next event that can be seen.
    Step,
    /// The present, what happened since the last look, and the charts from this sample on.
    Look {
        samples: usize,
    },
    /// Inject a fault.
    Act {
        fault: String,
    },
    /// The run as a scenario file.
    Save,
}

/// Answers a question about the run that is open; the answer to one that is refused is `{"error": SENTENCE}`.
#[must_use]
pub fn answer(play: &mut Option<Play>, question: &str) -> String {
    let parsed = serde_json::from_str(question).map_err(|error| format!("this is no question: {error}"));
    let answer = parsed.and_then(|request| reply(play, request));
    answer.unwrap_or_else(|sentence| json!({ "error": sentence })).to_string()
}

fn reply(play: &mut Option<Play>, request: Request) -> Result<Value, String> {
    match request {
        Request::Catalogue => return Ok(catalogue()),
        Request::Open { text, seed } => {
            let opened = Play::open(&text, seed)?;
            let described = opened.description();
            *play = Some(opened);
            return Ok(described);
        }
        Request::Set { text, table, key, value } => {
            return Ok(json!({ "text": set_key(&text, &table, &key, &value) }));
        }
        Request::Choose { text, workload } => return Ok(json!({ "text": with_workload(&text, &workload) })),
        Request::Without { text, table } => return Ok(json!({ "text": without_table(&text, &table) })),
        _ => {} // of the run that is open
    }
    let play = play.as_mut().ok_or("no scenario is open")?;
    match request {
        Request::Run { until, budget } => {
            let reached = play.run(until, budget);
            Ok(json!({ "reached": reached, "now": play.world.now() }))
        }
        Request::Step => {
            play.step();
            Ok(json!({ "now": play.world.now() }))
        }
        Request::Look { samples } => Ok(play.state(samples)),
        Request::Act { fault } => {
            let at = play.act(&fault)?;
            Ok(json!({ "at": at, "text": play.text }))
        }
        Request::AddNode { x, y } => {
            let mut points = play.places.clone();
            points.push(Point { x, y });
            Ok(json!({ "text": with_positions(&play.text, &points) }))
        }
        Request::RemoveNode { id, faults } => {
            let mut points = play.places.clone();
            if points.len() < 2 || id as usize >= points.len() {
                return Err("the last node cannot be removed".to_owned());
            }
            points.remove(id as usize);
            let text = with_positions(&without_node(&play.text, id), &points);
            let faults: Vec<_> = faults.iter().map(|fault| fault_without_node(fault, id)).collect();
            Ok(json!({ "text": text, "faults": faults }))
        }
        _ => Ok(json!({ "text": play.text, "seed": play.seed })),
    }
}

fn catalogue() -> Value {
    let entry = |&(name, text): &(&'static str, &'static str)| {
        let scenario = Scenario::find(Path::new(name), check::OF_LOCKS).ok()?;
        let (nodes, claims) = (scenario.world.nodes, scenario.expect.claims());
        Some(json!({ "name": name, "about": scenario.about, "nodes": nodes, "claims": claims, "text": text }))
    };
    json!({
        "scenarios": SHIPPED.iter().filter_map(entry).collect::<Vec<_>>(),
        "elections": AnyElection::NAMES,
        "mutexes": AnyMutex::NAMES,
        "applications": AppPlan::KINDS.into_iter().chain([Workload::REQUESTS]).collect::<Vec<_>>(),
        "detections": DETECTIONS,
    })
}

impl Play {
    /// Describes what stays the same for the whole run.
    fn description(&self) -> Value {
        let world = &self.scenario.world;
        let locks = world.locks.as_ref();
        json!({
            "name": self.scenario.name,
            "about": self.scenario.about,
            "claims": self.scenario.expect.claims(),
            "nodes": world.nodes,
            "duration": world.duration,
            "election": self.scenario.election,
            "quorum": world.mode == protocol::base::quorum::Mode::Quorum,
            "group": self.scenario.is_group(),
            "members": self.scenario.members,
            "range": self.range().map(|(range, _)| range),
            "range_max": self.range().map(|(_, range_max)| range_max),
            "mutex": locks.map(|locks| &locks.mutex),
            "locks": locks.map(|locks| &locks.names),
            "app": world.app.as_ref().map(|app| &app.kind),
            "horizon": self.scenario.horizon(),
            "requests": world.requests.is_some(),
            "text": self.text,
        })
    }

    /// Describes the run and where its nodes are before it begins, for a page that follows another run of its scenario.
    pub(crate) fn outline(&mut self) -> Value {
        let state = self.state(0);
        let places: Vec<Value> = self.places.iter().map(|place| json!([place.x, place.y])).collect();
        json!({ "event": "swarm", "about": self.description(), "places": places, "links": state["links"] })
    }

    /// Returns whom each node asks for votes while these nodes are up, by id; `None` where no lock is by voting sets.
    fn voting_sets(&self) -> Option<Vec<Vec<usize>>> {
        let mutex = &self.scenario.world.locks.as_ref()?.mutex;
        let sets = match mutex.split_once(':').map_or((mutex.as_str(), ""), |words| words) {
            ("maekawa", "sets=plane") => VotingSets::Plane,
            ("maekawa", _) => VotingSets::Grid,
            _ => return None,
        };
        let nodes = self.scenario.world.nodes;
        let is_up = |id: &u32| self.world.view(*id).power == PowerState::Up;
        let up = (0..nodes).filter(is_up).fold(NodeSet::EMPTY, |up, id| up.with(NodeSet::slot(id as usize)));
        let group = NodeSet::first(nodes as usize);
        Some((0..nodes as usize).map(|slot| sets.choose(group, slot, up).slots().collect()).collect())
    }

    /// Describes the present, what happened since this was last asked, and the charts from this sample on.
    fn state(&mut self, samples: usize) -> Value {
        let nodes = rows(&self.world, self.scenario.horizon());
        let version = self.world.topology_version();
        let links = (self.links_shown != Some(version)).then(|| links(&self.world));
        self.links_shown = Some(version);
        let voting = self.voting_sets();
        let watch = &mut self.watch;
        let frames = std::mem::take(&mut watch.frames);
        let sentences = std::mem::take(&mut watch.sentences);
        let locks =
            watch.locks.iter().map(|(&(node, lock), state)| json!([node, lock, state.waits_since, state.holds]));
        let app = watch.app.iter().map(|mark| json!([mark.at, mark.node, mark.word, mark.number, mark.amount]));
        let sample = |sample: &Sample| {
            let Sample { at, frames, agreement, leader_changes, lock_wait, skew, round_trip } = sample;
            json!([at, frames, agreement, leader_changes, lock_wait, skew, round_trip])
        };
        json!({
            "now": self.world.now(),
            "ended": self.world.next_at().is_none(),
            "hash": format!("{:016x}", self.world.trace_hash()),
            "nodes": nodes,
            "links": links,
            "kinds": watch.kinds,
            "parts": watch.parts,
            "sent": watch.sent_by_kind(),
            "frames": frames.iter().map(|frame| (frame.at, frame.kind, frame.from, frame.to, frame.end)).collect::<Vec<_>>(),
            "sentences": sentences,
            "locks": locks.collect::<Vec<_>>(),
            "app": app.collect::<Vec<_>>(),
            "voting": voting,
            "requests": watch.requests.counts(),
            "tree": watch.tree().collect::<Vec<_>>(),
            "samples": watch.samples.iter().skip(samples).map(sample).collect::<Vec<_>>(),
        })
    }
}
