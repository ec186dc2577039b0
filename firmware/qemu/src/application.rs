//! The board as the runner sees it: watchdog, faults, driver and workload.

use crate::chosen::app::Service;
use crate::chosen::{self, PEERS_MAX};
use crate::workload::{self, Command, Selected, Workload};
use core::future::Future;
use embassy_time::Instant;
use firmware::report::Report;
use firmware::runner::{self, Board, DriverCounters};
use firmware::storage::config_page::options;
use firmware_qemu::{Hardware, Parts};
use protocol::mutex::Notice;

struct Mps2 {
    hardware: Hardware,
    options: u32,
    workload: Selected,
}

impl Board<Service> for Mps2 {
    fn feed_watchdog(&mut self) {
        self.hardware.feed_watchdog();
    }

    fn on_healthy(&mut self) {
        if self.options & options::HANG != 0 {
            defmt::warn!("hanging, an option of the config page");
            loop {
                cortex_m::asm::nop();
            }
        }
        assert!(self.options & options::PANIC == 0, "an option of the config page");
        self.hardware.on_healthy();
    }

    fn driver_counters(&self) -> DriverCounters {
        self.hardware.driver_counters()
    }

    fn on_report(&mut self, report: &Report<'_>) {
        report.log();
        self.workload.on_report(report);
    }

    fn on_lock_notice(&mut self, notice: &Notice) {
        self.workload.on_lock_notice(notice);
    }

    fn on_service_notice(&mut self, notice: &workload::Notice, service: &Service) {
        self.workload.on_service_notice(notice, service);
    }

    fn on_second(&mut self, time: protocol::Instant) {
        self.workload.on_second(time);
    }

    fn next_command(&mut self) -> impl Future<Output = Command> {
        self.workload.next_command()
    }
}

/// Runs the node. When it stops, the board resets.
pub(crate) async fn run(parts: Parts) -> ! {
    let Parts { page, mut transport, mut store, hardware, .. } = parts;
    let mut board = Mps2 { hardware, options: page.options, workload: Selected::new(&page) };
    // The emulated chip has no random number generator; the time of this call differs by some microseconds.
    let start = chosen::start(page, Instant::now().as_ticks());
    runner::run::<_, _, PEERS_MAX, _, _>(&start, &mut transport, &mut store, &mut board).await;
    firmware_qemu::reset_after_stop()
}
