//! The node of this board: the shared loop, with this board's watchdog, faults and driver.

use crate::chosen::{self, NEIGHBOURS_MAX, Upper};
use crate::conduct::Conduct;
use crate::fault;
use crate::lan9118;
use crate::retained::Retained;
use crate::watchdog::Watchdog;
use core::future::Future;
use embassy_time::Instant;
use firmware::drive::{Asked, Board, Driver, drive};
use firmware::page::{Page, options};
use firmware::report::Report;
use firmware::store::Store;
use firmware::transport::udp::Udp;
use protocol::Algorithm;
use protocol::mutex::Notice;

struct Mps2 {
    watchdog: Watchdog,
    options: u32,
    conduct: Conduct,
}

impl Board<Upper> for Mps2 {
    fn feed(&mut self) {
        self.watchdog.feed();
    }

    fn well(&mut self) {
        if self.options & options::HANG != 0 {
            defmt::warn!("hanging, as the config page asks");
            loop {
                cortex_m::asm::nop();
            }
        }
        assert!(self.options & options::PANIC == 0, "as the config page asks");
        fault::well();
    }

    fn driver(&self) -> Driver {
        let lan9118::Counters { received, received_bad, sent_bad, stuck } = lan9118::counters();
        Driver { received, lost: received_bad.saturating_add(sent_bad).saturating_add(stuck) }
    }

    fn tell(&mut self, report: &Report<'_>) {
        report.log();
    }

    fn tell_lock(&mut self, notice: &Notice) {
        self.conduct.tell_lock(notice);
    }

    fn tell_upper(&mut self, notice: &<Upper as Algorithm>::Notice, upper: &Upper) {
        self.conduct.tell_upper(notice, upper);
    }

    #[cfg(app = "clock")]
    fn beat(&mut self, time: protocol::Instant) {
        self.conduct.beat(time);
    }

    fn asked(&mut self) -> impl Future<Output = Asked<<Upper as Algorithm>::Command>> {
        self.conduct.asked()
    }
}

/// Runs the node; when it cannot go on, the board starts over.
pub(crate) async fn run(page: Page, mut transport: Udp<'static>, mut store: Store<Retained>, watchdog: Watchdog) -> ! {
    let mut board = Mps2 { watchdog, options: page.options, conduct: Conduct::new(&page) };
    // The emulated processor has no source of randomness; when it came this far differs by some microseconds.
    let start = chosen::start(page, Instant::now().as_ticks());
    drive::<_, _, NEIGHBOURS_MAX, _>(start, &mut transport, &mut store, &mut board).await;
    fault::halt()
}
