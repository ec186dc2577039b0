//! The emulated board: QEMU's machine `mps2-an385`, a Cortex-M3 with LAN9118 Ethernet.
//!
//! At boot it reads its config page, starts the network with addresses derived from its id, and runs its node
//! ([`application`]).

#![no_std]
#![no_main]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod application;
#[path = "../../boards/chosen.rs"]
mod chosen;
mod executor;
mod fault;
mod lan9118;
mod logger;
mod peripherals;
mod retained;
mod time_driver;
mod vectors;
mod watchdog;
mod workload;

use crate::fault::{FaultCounters, STREAK_MAX};
use crate::lan9118::Lan9118;
use crate::watchdog::Watchdog;
use embassy_executor::Spawner;
use embassy_net::Runner;
use firmware::cortex_m;
use firmware::net::address;
use firmware::net::udp::Udp;
use firmware::storage::config_page::ConfigPage;
use static_cell::StaticCell;

#[cortex_m_rt::entry]
fn main() -> ! {
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
    executor::run(|spawner| start(spawner, page, ethernet))
}

fn start(spawner: Spawner, page: ConfigPage, ethernet: Lan9118) {
    // Borrowed by the network: a task that owned it would hold two copies.
    static ETHERNET: StaticCell<Lan9118> = StaticCell::new();

    let (transport, _, runner) = cortex_m::start_udp(&page, ETHERNET.init(ethernet), page.seed);
    cortex_m::spawn(spawner, network_task(runner));
    cortex_m::spawn(spawner, node_task(page, transport, Watchdog::start()));
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, &'static mut Lan9118>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn node_task(page: ConfigPage, transport: Udp<'static>, watchdog: Watchdog) -> ! {
    application::run(page, transport, watchdog).await
}
