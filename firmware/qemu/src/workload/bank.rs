//! A bank: tokens move by themselves, and in its slots the board takes a snapshot.

use super::{Command, Notice, Workload};
use crate::chosen::app::Service;
use firmware::demo::schedule::{BANK, Schedule};
use firmware::report::SnapshotReport;
use firmware::runner::{HostCommand, now, wait_until};
use firmware::storage::config_page::ConfigPage;
use protocol::service::app_service;

pub(crate) struct Bank(Schedule);

impl Workload for Bank {
    fn new(page: &ConfigPage) -> Self {
        Self(Schedule::new(BANK, page.id, page.members))
    }

    fn on_service_notice(&mut self, notice: &Notice, _: &Service) {
        match notice {
            Notice::Application(never) => match *never {},
            Notice::Snapshot(notice) => {
                if let Some(report) = SnapshotReport::from_notice(notice) {
                    report.log();
                } else {
                    defmt::error!("a fragment is not of a bank: {}", notice);
                }
            }
            Notice::Termination(_) | Notice::Clock(_) => {} // a bank does not terminate; its clock is not shown
        }
    }

    async fn next_command(&mut self) -> Command {
        while !self.0.poll(now()) {
            wait_until(self.0.deadline()).await;
        }
        HostCommand::Service(app_service::Command::SNAPSHOT)
    }
}
