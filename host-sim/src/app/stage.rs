//! What stands on top of a simulated node.

use super::traced::in_item;
use super::{Doing, Traced};
use crate::machine::Request;
use crate::scenario::Scenario;
use crate::trace::Act;
use protocol::application::diffusing;
use protocol::snapshot::{self, Part};
use protocol::suite::{self, Suite};
use protocol::termination::{self, AnyDetection};
use protocol::upper::{Nothing, Upper};
use protocol::{Instant, clock_sync};

/// How many members a group with applications may have.
pub const ACTORS_MAX: usize = 32;

/// What stands on top of a node, as the simulator sees it.
pub trait Stage: Upper + Clone {
    /// That of a scenario.
    fn chosen(scenario: &Scenario) -> Self;

    /// What to ask of it for what a user asks; `None` where it knows no such thing.
    fn command(request: Request) -> Option<Self::Command>;

    /// It has told this.
    fn told(&self, notice: Self::Notice);

    /// Looks at it, before and after whatever it does.
    fn look(&self, now: Instant);

    /// What it did, and has not said so.
    fn next(&self) -> Option<Doing>;
}

impl Stage for Nothing {
    fn chosen(_: &Scenario) -> Self {
        Self
    }

    fn command(_: Request) -> Option<Self::Command> {
        None
    }

    fn told(&self, notice: Self::Notice) {
        match notice {}
    }

    fn look(&self, _: Instant) {}

    fn next(&self) -> Option<Doing> {
        None
    }
}

/// An application, with everything that watches it, and a log of all they do.
pub type Scene = Suite<Traced, AnyDetection<ACTORS_MAX>, ACTORS_MAX>;

impl Stage for Scene {
    fn chosen(scenario: &Scenario) -> Self {
        let plan = scenario.app.as_ref().expect("a scenario whose nodes have an application has a plan for it");
        let detection = AnyDetection::by_name(&plan.detection).expect("a scenario names a detection there is");
        Self::new(Traced::new(plan), detection)
    }

    fn command(request: Request) -> Option<Self::Command> {
        Some(match request {
            Request::Snapshot => suite::Command::Snapshot,
            Request::Watch => suite::Command::Watch,
            Request::Start { units } => suite::Command::Application(diffusing::Command::Start { units }),
        })
    }

    fn told(&self, notice: suite::Notice) {
        let log = self.application();
        log.note(match notice {
            suite::Notice::Snapshot(snapshot::Notice::Recorded { id }) => return log.recorded_for(id),
            suite::Notice::Snapshot(snapshot::Notice::Part { id, of, part }) => match part {
                Part::State { bytes, .. } => Act::State { snapshot: id, of: of.0, amount: log.in_state(&bytes) },
                Part::Message { from, bytes } => {
                    Act::Channel { snapshot: id, from: from.0, to: of.0, amount: in_item(&bytes) }
                }
            },
            suite::Notice::Snapshot(snapshot::Notice::Taken { id, members, .. }) => {
                Act::Taken { snapshot: id, nodes: members.len() }
            }
            suite::Notice::Snapshot(snapshot::Notice::Aborted { id, why }) => Act::Aborted { snapshot: id, why },
            suite::Notice::Termination(termination::Notice::Terminated { by, job, waves }) => {
                Act::Over { by: by.0, job, waves }
            }
            suite::Notice::Termination(termination::Notice::Aborted { why: termination::Why::Lost }) => {
                Act::Unknowable { why: "lost" }
            }
            suite::Notice::Clock(clock_sync::Notice::Set) => Act::Set,
            suite::Notice::Clock(clock_sync::Notice::Adjusted { by }) => Act::Corrected { by },
        });
    }

    fn look(&self, now: Instant) {
        self.application().look_at(self.detection().waves(), self.clock().rounds(), self.time(now));
    }

    fn next(&self) -> Option<Doing> {
        self.application().next()
    }
}
