//! The emulated board: QEMU's machine `mps2-an385`, a Cortex-M3 with LAN9118 Ethernet.
//!
//! An image is a `main` that calls [`boot`] with the task of its node, and an implementation of
//! [`Board`](firmware::runner::Board) that leaves the machine to [`Hardware`]. `src/main.rs` is the image that `conclave
//! swarm` builds; `examples/embassy_node.rs` is one with an application of one's own.

#![no_std]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod executor;
mod fault;
mod lan9118;
mod logger;
mod peripherals;
mod retained;
mod time_driver;
mod vectors;
mod watchdog;

pub use retained::Retained;

use crate::fault::{Fault, FaultCounters, STREAK_MAX};
use crate::lan9118::Lan9118;
use crate::watchdog::Watchdog;
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack};
use firmware::cortex_m;
use firmware::net::address;
use firmware::net::udp::Udp;
use firmware::runner::DriverCounters;
use firmware::storage::config_page::ConfigPage;
use firmware::storage::retained_store::RetainedStore;
use static_cell::StaticCell;

/// What a node needs of the board.
pub struct Parts {
    /// Identity and settings.
    pub page: ConfigPage,
    /// Frames over Ethernet.
    pub transport: Udp<'static>,
    /// Records, kept over a reset.
    pub store: RetainedStore<Retained>,
    /// Everything else.
    pub hardware: Hardware,
    /// The network, for more connections than the node's.
    pub stack: Stack<'static>,
}

/// Watchdog, counters of faults, and the counters of the network driver.
pub struct Hardware(Watchdog);

impl Hardware {
    /// Restarts the watchdog. Only the node's loop calls this.
    pub fn feed_watchdog(&mut self) {
        self.0.feed();
    }

    /// Records that the board is healthy: earlier faults no longer count as in a row.
    pub fn on_healthy(&mut self) {
        fault::clear_streak();
    }

    /// Frames received and lost since the board started.
    #[must_use]
    pub fn driver_counters(&self) -> DriverCounters {
        lan9118::counters()
    }
}

/// Reads the config page, starts the network with addresses derived from the board's id, and calls `start`, which spawns the
/// task of the node. A board without a page, or that fails again and again, stops.
pub fn boot(start: fn(Spawner, Parts)) -> ! {
    logger::start();
    time_driver::start();

    let faults = FaultCounters::load();
    let page = match cortex_m::config_page() {
        Ok(page) => page,
        Err(error) => {
            defmt::error!("no valid config page: {}; stopping", error);
            executor::idle()
        }
    };
    defmt::info!(
        "this is board {=u32}: options {=u32:x}, port {=u16}, hops {=u8}; {}",
        page.id,
        page.options,
        page.port,
        page.hops,
        faults
    );
    if faults.streak >= STREAK_MAX {
        defmt::error!("{=u32} faults in a row; stopping", faults.streak);
        executor::idle()
    }
    let ethernet = match Lan9118::start(address::mac(page.id)) {
        Ok(ethernet) => ethernet,
        Err(error) => {
            defmt::error!("no Ethernet: {}; stopping", error);
            executor::idle()
        }
    };
    executor::run(|spawner| {
        // Borrowed by the network: a task that owned it would hold two copies.
        static ETHERNET: StaticCell<Lan9118> = StaticCell::new();

        let (transport, stack, runner) = cortex_m::start_udp(&page, ETHERNET.init(ethernet), page.seed);
        cortex_m::spawn(spawner, network_task(runner));
        let (store, hardware) = (RetainedStore::open(Retained::RECORDS), Hardware(Watchdog::start()));
        start(spawner, Parts { page, transport, store, hardware, stack });
    })
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, &'static mut Lan9118>) -> ! {
    runner.run().await
}

/// Counts that the node has stopped, and resets.
pub fn reset_after_stop() -> ! {
    fault::reset(&Fault::Halt)
}
