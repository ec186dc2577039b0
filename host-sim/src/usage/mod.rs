//! How well nodes serve: what a run is measured by, followed event by event.

mod apps;
mod locks;

use crate::trace::{Observer, TraceEvent};
use apps::AppUsage;
use locks::LockUsage;

/// What became of the locks and the applications of a run.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    locks: LockUsage,
    apps: AppUsage,
}

impl Usage {
    /// What was measured: names and values.
    pub fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.locks.samples().chain(self.apps.samples())
    }
}

impl Observer for Usage {
    fn see(&mut self, event: &TraceEvent) {
        self.locks.see(event);
        self.apps.see(event);
    }
}
