//! Periodic work of the loop besides the node: watchdog, health, status reports and capacity.

use super::{Board, FEED_PERIOD, configured_capacity};
use crate::storage::config_page::{ConfigPage, options};
use crate::vitals::{CapacityInputs, MEASURE_PERIOD};
use embassy_time::{Duration, Instant};
use protocol::base::capacity::Capacity;
use protocol::service::Service;

/// How long the loop must have run for the board to count as healthy.
const HEALTHY_AFTER: Duration = Duration::from_secs(10);
/// Interval of status reports, unless the config page has another.
const STATUS_PERIOD: Duration = Duration::from_secs(10);

pub(super) struct Housekeeping {
    feed_at: Instant,
    healthy_at: Option<Instant>,
    status_at: Instant,
    status_period: Duration,
    measure_at: Instant,
    pub(super) inputs: CapacityInputs,
    /// The capacity the node was given last; none at boot.
    capacity: Option<Capacity>,
}

impl Housekeeping {
    pub(super) fn new(page: &ConfigPage) -> Self {
        let status_period =
            if page.period_ms == 0 { STATUS_PERIOD } else { Duration::from_millis(page.period_ms.into()) };
        let now = Instant::now();
        Self {
            feed_at: now,
            healthy_at: now.checked_add(HEALTHY_AFTER),
            status_at: later(now, status_period),
            status_period,
            measure_at: now,
            inputs: CapacityInputs {
                configured: configured_capacity(page),
                link_quality: 0,
                started_at: now,
                uplink_required: page.has(options::UPLINK_REQUIRED),
            },
            capacity: None,
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        let earliest = self.feed_at.min(self.status_at).min(self.measure_at);
        self.healthy_at.map_or(earliest, |at| at.min(earliest))
    }

    /// Returns whether a measurement of the capacity is due.
    pub(super) fn measurement_due(&mut self) -> bool {
        restart_if_due(&mut self.measure_at, MEASURE_PERIOD)
    }

    /// Returns whether `capacity` differs from the one the node was given last.
    pub(super) fn capacity_changed(&mut self, capacity: Option<Capacity>) -> bool {
        core::mem::replace(&mut self.capacity, capacity) != capacity
    }

    /// Feeds the watchdog and reports health where due; returns whether a status report is due.
    pub(super) fn run_due<S: Service>(&mut self, board: &mut impl Board<S>) -> bool {
        if restart_if_due(&mut self.feed_at, FEED_PERIOD) {
            board.feed_watchdog();
        }
        if self.healthy_at.is_some_and(|at| at <= Instant::now()) {
            self.healthy_at = None;
            board.on_healthy();
        }
        restart_if_due(&mut self.status_at, self.status_period)
    }
}

/// Returns whether the timer `at` has expired; if so, it restarts.
fn restart_if_due(at: &mut Instant, period: Duration) -> bool {
    let now = Instant::now();
    let due = *at <= now;
    if due {
        *at = later(now, period);
    }
    due
}

fn later(now: Instant, span: Duration) -> Instant {
    now.checked_add(span).unwrap_or(Instant::MAX)
}
