//! The commands a board gives to its own node, by application.

#[cfg(app = "tokens")]
mod bank;
#[cfg(app = "clock")]
mod clock;
#[cfg(app = "none")]
mod idle;
#[cfg(app = "diffusing")]
mod job;
#[cfg(app = "counter")]
mod locks;
#[cfg(app = "uplink")]
pub(crate) mod uplink;

#[cfg(app = "tokens")]
pub(crate) use bank::Bank as Selected;
#[cfg(app = "clock")]
pub(crate) use clock::Clock as Selected;
#[cfg(app = "none")]
pub(crate) use idle::Idle as Selected;
#[cfg(app = "diffusing")]
pub(crate) use job::Jobs as Selected;
#[cfg(app = "counter")]
pub(crate) use locks::Locks as Selected;
#[cfg(app = "uplink")]
pub(crate) use uplink::Readings as Selected;

use crate::chosen::app::Service;
use core::future::{Future, pending};
use firmware::report::{LockReport, Report};
use firmware::runner::HostCommand;
use firmware::storage::config_page::ConfigPage;
use protocol::{Algorithm, mutex};

/// Notices of the board's service.
pub(crate) type Notice = <Service as Algorithm>::Notice;
/// Commands to the board's node.
pub(crate) type Command = HostCommand<<Service as Algorithm>::Command>;

pub(crate) trait Workload {
    fn new(page: &ConfigPage) -> Self;

    fn on_lock_notice(&mut self, notice: &mutex::Notice) {
        LockReport::from_notice(notice).log();
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "larger with another application")]
    fn on_service_notice(&mut self, notice: &Notice, service: &Service);

    /// The node reports something about itself.
    fn on_report(&mut self, _report: &Report<'_>) {}

    /// A second of the shared clock begins.
    fn on_second(&mut self, _time: protocol::Instant) {}

    fn next_command(&mut self) -> impl Future<Output = Command> {
        pending()
    }
}
