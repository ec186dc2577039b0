//! Diffusing jobs: in its slot the board starts a job, and then detects its termination.

use super::{Command, Notice, Workload};
use crate::chosen::app::Service;
use firmware::demo::schedule::{JOB_UNITS, JOBS, Schedule};
use firmware::report::JobReport;
use firmware::runner::{HostCommand, now, wait_until};
use firmware::storage::config_page::ConfigPage;
use protocol::service::app_service;
use protocol::service::demo::diffusing;
use protocol::service::termination::{self, AbortReason};

pub(crate) struct Jobs {
    schedule: Schedule,
    /// Whether a job has started whose termination is not watched yet.
    started: bool,
}

impl Workload for Jobs {
    fn new(page: &ConfigPage) -> Self {
        Self { schedule: Schedule::new(JOBS, page.id, page.members), started: false }
    }

    fn on_service_notice(&mut self, notice: &Notice, service: &Service) {
        match *notice {
            Notice::Application(never) => match never {},
            Notice::Termination(termination::Notice::Terminated { by, job, waves }) => {
                JobReport::Terminated { job, by, waves, units_done: service.application().done() }.log();
            }
            Notice::Termination(termination::Notice::Aborted { reason: AbortReason::MessagesLost }) => {
                JobReport::Undetectable.log();
            }
            Notice::Snapshot(_) | Notice::Clock(_) => {} // no snapshot is taken; its clock is not shown
        }
    }

    async fn next_command(&mut self) -> Command {
        if core::mem::take(&mut self.started) {
            return HostCommand::Service(app_service::Command::DETECT_TERMINATION);
        }
        while !self.schedule.poll(now()) {
            wait_until(self.schedule.deadline()).await;
        }
        self.started = true;
        JobReport::Started { units: JOB_UNITS }.log();
        HostCommand::Service(app_service::Command::Application(diffusing::Command::Start { units: JOB_UNITS }))
    }
}
