//! A contender for a lock, which increments a counter under it.

use super::{Command, Notice, Workload};
use crate::chosen::app::Service;
use embassy_time::Instant;
use firmware::demo::lock_workload::{Action, Contender, LOCK};
use firmware::report::LockReport;
use firmware::runner::{HostCommand, now, wait_until};
use firmware::storage::config_page::ConfigPage;
use protocol::mutex;
use protocol::service::demo::counter;

pub(crate) struct Locks(Contender);

impl Workload for Locks {
    fn new(page: &ConfigPage) -> Self {
        // Boards that start at the same moment, and the same board in another boot, idle for different times.
        Self(Contender::new(page.seed ^ Instant::now().as_ticks(), now()))
    }

    fn on_lock_notice(&mut self, notice: &mutex::Notice) {
        LockReport::from_notice(notice).log();
        self.0.on_notice(now(), notice);
    }

    fn on_service_notice(&mut self, notice: &Notice, _: &Service) {
        let (report, fence) = match *notice {
            Notice::Counted { fence, total } => (LockReport::Counted { lock: LOCK, fence, total }, fence),
            Notice::Outdated { fence } => (LockReport::Outdated { lock: LOCK, fence }, fence),
        };
        report.log();
        self.0.on_counted(now(), fence);
    }

    async fn next_command(&mut self) -> Command {
        loop {
            match self.0.poll_action(now()) {
                Some(Action::Lock(command)) => return HostCommand::Mutex(command),
                Some(Action::Count(fence)) => return HostCommand::Service(counter::Command::Add { fence }),
                None => wait_until(self.0.deadline()).await,
            }
        }
    }
}
