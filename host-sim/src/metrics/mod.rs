//! Metrics of runs, and their distributions over many seeds.

mod apps;
pub mod distribution;
mod expectations;
pub mod frames;
mod lists;
mod locks;
mod requests;
pub mod run;
pub mod seeds;
mod transactions;

use crate::base::Micros;
use crate::trace::{Observer, TraceEvent};
use apps::AppMetrics;
use frames::{FrameMetrics, Steady};
use lists::ListMetrics;
use locks::LockMetrics;
use requests::RequestMetrics;

#[derive(Clone, Debug, Default)]
pub(crate) struct WorkloadMetrics {
    locks: LockMetrics,
    apps: AppMetrics,
    requests: RequestMetrics,
    lists: ListMetrics,
    frames: FrameMetrics,
}

impl WorkloadMetrics {
    pub(crate) fn new(settle_time: Micros) -> Self {
        Self { frames: FrameMetrics::new(settle_time), ..Self::default() }
    }

    pub(crate) fn steady(&self) -> Steady {
        self.frames.steady()
    }

    pub(crate) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let workloads = self.locks.samples().chain(self.apps.samples()).chain(self.requests.samples());
        workloads.chain(self.lists.samples()).chain(self.frames.samples())
    }
}

impl Observer for WorkloadMetrics {
    fn observe(&mut self, event: &TraceEvent) {
        self.locks.observe(event);
        self.apps.observe(event);
        self.requests.observe(event);
        self.lists.observe(event);
        self.frames.observe(event);
    }
}
