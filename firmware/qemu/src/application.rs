//! The board as the runner sees it: watchdog, faults, driver and workload.

use crate::chosen::app::Service;
use crate::chosen::{self, PEERS_MAX};
use crate::fault::{self, Fault};
use crate::lan9118;
use crate::retained::Retained;
use crate::watchdog::Watchdog;
use crate::workload::{self, Command, Selected, Workload};
use core::future::Future;
use embassy_time::Instant;
use firmware::net::udp::Udp;
use firmware::report::Report;
use firmware::runner::{self, Board, DriverCounters};
use firmware::storage::config_page::{ConfigPage, options};
use firmware::storage::retained_store::RetainedStore;
use protocol::mutex::Notice;

struct Mps2 {
    watchdog: Watchdog,
    options: u32,
    workload: Selected,
}

impl Board<Service> for Mps2 {
    fn feed_watchdog(&mut self) {
        self.watchdog.feed();
    }

    fn on_healthy(&mut self) {
        if self.options & options::HANG != 0 {
            defmt::warn!("hanging, an option of the config page");
            loop {
                cortex_m::asm::nop();
            }
        }
        assert!(self.options & options::PANIC == 0, "an option of the config page");
        fault::clear_streak();
    }

    fn driver_counters(&self) -> DriverCounters {
        lan9118::counters()
    }

    fn on_report(&mut self, report: &Report<'_>) {
        report.log();
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
pub(crate) async fn run(page: ConfigPage, mut transport: Udp<'static>, watchdog: Watchdog) -> ! {
    let mut board = Mps2 { watchdog, options: page.options, workload: Selected::new(&page) };
    let mut store = RetainedStore::open(Retained::RECORDS);
    // The emulated chip has no random number generator; the time of this call differs by some microseconds.
    let start = chosen::start(page, Instant::now().as_ticks());
    runner::run::<_, _, PEERS_MAX, _, _>(&start, &mut transport, &mut store, &mut board).await;
    fault::reset(&Fault::Halt)
}
