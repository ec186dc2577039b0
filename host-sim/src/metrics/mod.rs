//! Metrics of runs, and their distributions over many seeds.

mod apps;
pub mod campaign;
pub mod distribution;
mod expectations;
mod locks;
pub mod run;

use crate::trace::{Observer, TraceEvent};
use apps::AppMetrics;
use locks::LockMetrics;

#[derive(Clone, Debug, Default)]
pub(crate) struct WorkloadMetrics {
    locks: LockMetrics,
    apps: AppMetrics,
}

impl WorkloadMetrics {
    pub(crate) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.locks.samples().chain(self.apps.samples())
    }
}

impl Observer for WorkloadMetrics {
    fn observe(&mut self, event: &TraceEvent) {
        self.locks.observe(event);
        self.apps.observe(event);
    }
}
