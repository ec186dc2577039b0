//! Every order of events of three nodes with an application.
//!
//! The network keeps the link's promise, with any delay between any two nodes: messages arrive in order and exactly once.
//! Or channels do not keep the order, to see that the search finds what goes wrong then.
//!
//! Snapshots: a bank makes two transfers at any moments, from any node to any node, and one or two snapshots begin at any
//! moments. Every snapshot is taken, and its parts sum up to the tokens there are.
//!
//! Termination: a job of a few units begins at the first node and spreads at any moments in any way, and a node watches
//! from any moment on. No node announces termination while a node works or work is in flight; and every node learns of it.

use super::app_model::{AppModel, Bounds, Explored, NODES, Waves};
use super::schedule::Course;
use super::search::explore;
use super::{Outcome, Run, Search};
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::service::app_service::{Command, ObservedApp};
use protocol::service::demo::diffusing;
use protocol::service::demo::{Diffusing, Tokens};
use protocol::service::termination::{self, Activity, Detection, DijkstraScholten, Notice, Wave};
use protocol::wire::NoMessage;
use protocol::{Duration, Instant, NodeSet};
use std::fmt::Debug;

/// No termination detection.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDetection;

impl Algorithm for NoDetection {
    type Message = NoMessage;
    type Command = termination::Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(
        &mut self,
        _: &Context<'_>,
        _: Input<NoMessage, termination::Command>,
        _: &mut Outbox<NoMessage, Notice>,
    ) {
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Detection for NoDetection {
    fn on_sent(&mut self, _: NodeSet) {}

    fn on_received(&mut self, _: Option<usize>) {}

    fn on_activity(&mut self, _: &Context<'_>, _: Activity, _: &mut Outbox<NoMessage, Notice>) {}

    fn poll_send(&mut self, _: &Context<'_>, _: &mut Outbox<NoMessage, Notice>) -> bool {
        false
    }
}

impl Waves for NoDetection {}
impl Waves for DijkstraScholten<NODES> {}
impl Waves for Wave<NODES> {
    fn waves(&self) -> u32 {
        self.waves()
    }
}

/// Explores an application. Every run must end, and end well.
pub fn explore_app<'a, S: Explored>(
    (bounds, command): (Bounds, S::Command),
    course: impl Into<Course<'a>>,
    make: impl Fn(usize) -> S,
    begin: Option<S::Command>,
) -> Outcome {
    let mut model = AppModel::new(bounds, command);
    let first = model.first(make, begin);
    let found = explore(&mut model, first, course);
    let (last, complete) = model.ends();
    let reached = if last > 0 && complete == last { Ok(()) } else { Err("a run ends and not everything is done") };
    Outcome::new(found, reached)
}

/// The tokens of every node at the start: a transfer is of one then.
const TOKENS: u32 = 2;

/// Two transfers at any moments, and one snapshot.
pub const BANK: Bounds =
    Bounds { askers: &[0], sends: 2, eager: false, in_order: true, draws: &[0, 2], sum: Some(3 * TOKENS) };

/// Explores snapshots of a bank.
#[must_use]
pub fn explore_bank<'a>(bounds: Bounds, course: impl Into<Course<'a>>) -> Outcome {
    type Bank = ObservedApp<Tokens<NODES>, NoDetection, NODES>;
    let make = |_| Bank::all(Tokens::new(TOKENS, Duration::ZERO), NoDetection);
    explore_app((bounds, Command::SNAPSHOT), course, make, None)
}

/// A job, watched by the first node.
pub const JOB: Bounds =
    Bounds { askers: &[0], sends: u8::MAX, eager: true, in_order: true, draws: &[0, 1, 2, 4, 6], sum: None };

/// Explores the termination of a job of so many units.
#[must_use]
pub fn explore_job<'a, D>(bounds: Bounds, units: u32, course: impl Into<Course<'a>>) -> Outcome
where
    D: Detection<Message: Debug + Send + Sync> + Waves + Clone + Debug + Default + Send + Sync,
{
    let make = |_| ObservedApp::<_, D, NODES>::all(Diffusing::new(Duration::ZERO), D::default());
    let start = Command::Application(diffusing::Command::Start { units });
    explore_app((bounds, Command::DETECT_TERMINATION), course, make, Some(start))
}

/// Returns the searches of applications, which are of three nodes.
pub(super) fn all() -> Vec<Search> {
    let search =
        |algorithm, name, run: Run| Search { algorithm, name, nodes: NODES, is_long: false, is_cut: true, run };
    let bank = |name, bounds| search("snapshot", name, Box::new(move |course| explore_bank(bounds, course)));
    let wave = |name, units, bounds| {
        search("wave", name, Box::new(move |course| explore_job::<Wave<NODES>>(bounds, units, course)))
    };
    let tree = |name, units, bounds| {
        let run = move |course: Course<'_>| explore_job::<DijkstraScholten<NODES>>(bounds, units, course);
        search("dijkstra-scholten", name, Box::new(run))
    };
    let unwatched = Bounds { askers: &[], ..JOB };
    vec![
        bank("two transfers at once", Bounds { eager: true, ..BANK }),
        bank("a transfer at any moment", Bounds { sends: 1, ..BANK }),
        bank("two snapshots", Bounds { askers: &[0, 1], eager: true, sends: 1, ..BANK }),
        wave("watched by its starter", 5, JOB),
        wave("watched by another", 5, Bounds { askers: &[1], ..JOB }),
        wave("sent at any moment", 3, Bounds { askers: &[1], eager: false, ..JOB }),
        wave("watched by two", 2, Bounds { askers: &[0, 2], ..JOB }),
        tree("sent at once", 7, unwatched),
        tree("sent at any moment", 6, Bounds { eager: false, ..unwatched }),
    ]
}
