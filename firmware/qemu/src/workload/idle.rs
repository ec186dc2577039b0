//! No workload.

use super::{Notice, Workload};
use crate::chosen::app::Service;
use firmware::storage::config_page::ConfigPage;

pub(crate) struct Idle;

impl Workload for Idle {
    fn new(_: &ConfigPage) -> Self {
        Self
    }

    fn on_service_notice(&mut self, notice: &Notice, _: &Service) {
        match *notice {}
    }
}
