//! A sensor with an elected uplink: it submits the time of its board every now and then, and publishes everybody's readings while
//! its node leads.

use super::{GatewayCell, Uplink};
use crate::report::Report;
use core::fmt::Write as _;
use core::future::pending;
use embassy_futures::select::{Either, select};
use embassy_time::{Duration, Instant, Timer};
use protocol::service::requests::{Command, Notice};
use protocol::service::uplink::Payload;

/// A sensor beside a node.
pub struct Sensor<'a> {
    uplink: Uplink<'a>,
    interval: Duration,
    next: Instant,
    /// Readings that are left; `None` without end.
    left: Option<u32>,
}

impl<'a> Sensor<'a> {
    /// A sensor that is read once an interval, so often or without end.
    #[must_use]
    pub fn new(gateway: &'a GatewayCell, interval: Duration, left: Option<u32>) -> Self {
        Self { uplink: Uplink::new(gateway), interval, next: Instant::now().saturating_add(interval), left }
    }

    /// Takes in whether the node leads.
    pub fn on_report(&mut self, report: &Report<'_>) {
        self.uplink.on_report(report);
        self.log();
    }

    /// Takes in a notice of the node's service.
    pub fn on_notice(&mut self, notice: &Notice) {
        self.uplink.on_notice(notice);
        self.log();
    }

    /// Waits for the next command to the service. Dropping the future loses none.
    pub async fn next_command(&mut self) -> Command {
        loop {
            self.log();
            let (next, rests) = (self.next, self.left == Some(0));
            let reading = async || if rests { pending().await } else { Timer::at(next).await };
            match select(self.uplink.next_command(), reading()).await {
                Either::First(command) => return command,
                Either::Second(()) => self.read(),
            }
        }
    }

    fn read(&mut self) {
        let mut payload = Payload::new();
        let _ = write!(payload, "{} ms", Instant::now().as_millis()); // it fits
        self.uplink.submit(payload);
        self.next = self.next.saturating_add(self.interval);
        self.left = self.left.map(|left| left.saturating_sub(1));
    }

    /// Logs what became of readings.
    fn log(&mut self) {
        while let Some(report) = self.uplink.poll_report() {
            #[cfg(feature = "defmt")]
            report.log();
            #[cfg(not(feature = "defmt"))]
            let _ = report;
        }
    }
}
