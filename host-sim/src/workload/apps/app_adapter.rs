//! The adapter between a node's service and the simulator.

use super::traced::amount_in_message;
use super::{AppAction, AppPlan, Traced};
use crate::trace::{AppEvent, AppRequest};
use crate::workload::requests::RequestPlan;
use protocol::Instant;
use protocol::registry::AnyDetection;
use protocol::service::app_service::{Command, Notice, ObservedApp};
use protocol::service::clock_sync;
use protocol::service::demo::diffusing;
use protocol::service::snapshot::{self, Fragment};
use protocol::service::termination;
use protocol::service::{NoService, Service};

/// How many members a group with an application may have.
pub const APP_GROUP_MAX: usize = 32;

/// A service that the simulator can run and trace.
pub trait AppAdapter: Service + Clone {
    /// Creates the service of a run from the plan of its application, or that of its requests.
    fn from_plan(plan: Option<&AppPlan>, requests: Option<&RequestPlan>) -> Self;

    /// Returns the command for a request of the user; `None` if the service does not know it.
    fn command(request: AppRequest) -> Option<Self::Command>;

    /// Logs a notice of the service.
    fn on_notice(&self, notice: Self::Notice);

    /// Logs what has changed; called before and after every input.
    fn observe(&self, now: Instant);

    /// Removes and returns the oldest logged action.
    fn next_action(&self) -> Option<AppAction>;
}

impl AppAdapter for NoService {
    fn from_plan(_: Option<&AppPlan>, _: Option<&RequestPlan>) -> Self {
        Self
    }

    fn command(_: AppRequest) -> Option<Self::Command> {
        None
    }

    fn on_notice(&self, notice: Self::Notice) {
        match notice {}
    }

    fn observe(&self, _: Instant) {}

    fn next_action(&self) -> Option<AppAction> {
        None
    }
}

/// A logged application with all services that observe it.
pub(crate) type SimulatedApp = ObservedApp<Traced, AnyDetection<APP_GROUP_MAX>, APP_GROUP_MAX>;

impl AppAdapter for SimulatedApp {
    fn from_plan(plan: Option<&AppPlan>, _: Option<&RequestPlan>) -> Self {
        let plan = plan.expect("a scenario whose nodes have an application has a plan for it");
        let detection = AnyDetection::by_name(&plan.detection).expect("a scenario names a known detection");
        Self::all(Traced::new(plan), detection)
    }

    fn command(request: AppRequest) -> Option<Self::Command> {
        Some(match request {
            AppRequest::Snapshot => Command::SNAPSHOT,
            AppRequest::DetectTermination => Command::DETECT_TERMINATION,
            AppRequest::Start { units } => Command::Application(diffusing::Command::Start { units }),
        })
    }

    fn on_notice(&self, notice: Notice) {
        let log = self.application();
        log.record(match notice {
            Notice::Application(never) => match never {},
            Notice::Snapshot(snapshot::Notice::Recorded { id }) => return log.recorded_for(id),
            Notice::Snapshot(snapshot::Notice::Fragment { id, member, fragment }) => match fragment {
                Fragment::State { bytes, .. } => {
                    AppEvent::State { snapshot: id, of: member.0, amount: log.amount_in_state(&bytes) }
                }
                Fragment::Message { from, bytes } => {
                    let amount = amount_in_message(&bytes);
                    AppEvent::Channel { snapshot: id, from: from.0, to: member.0, amount }
                }
            },
            Notice::Snapshot(snapshot::Notice::Taken { id, members, .. }) => {
                AppEvent::Completed { snapshot: id, nodes: members.len() }
            }
            Notice::Snapshot(snapshot::Notice::Aborted { id, reason }) => AppEvent::Aborted { snapshot: id, reason },
            Notice::Termination(termination::Notice::Terminated { by, job, waves }) => {
                AppEvent::Terminated { by: by.0, job, waves }
            }
            Notice::Termination(termination::Notice::Aborted { reason: termination::AbortReason::MessagesLost }) => {
                AppEvent::DetectionAborted { reason: "lost" }
            }
            Notice::Clock(clock_sync::Notice::Set) => AppEvent::ClockSet,
            Notice::Clock(clock_sync::Notice::Adjusted { by }) => AppEvent::ClockAdjusted { by },
        });
    }

    fn observe(&self, now: Instant) {
        self.application().observe_services(self.detection().waves(), self.clock().rounds(), self.time(now));
    }

    fn next_action(&self) -> Option<AppAction> {
        self.application().next_action()
    }
}
