//! The shared clock: this board has no LED, so it logs the beginning of each second.

use super::{Notice, Workload};
use crate::chosen::app::Service;
use firmware::report::ClockReport;
use firmware::storage::config_page::ConfigPage;

pub(crate) struct Clock;

impl Workload for Clock {
    fn new(_: &ConfigPage) -> Self {
        Self
    }

    fn on_service_notice(&mut self, notice: &Notice, _: &Service) {
        ClockReport::from_notice(*notice).log();
    }

    fn on_second(&mut self, time: protocol::Instant) {
        ClockReport::Second { time }.log();
    }
}
