//! The emulated board: QEMU's machine `mps2-an385`, a Cortex-M3 with LAN9118 Ethernet.
//!
//! At boot it learns who it is from its config page ([`chip::page`]), brings up the network under addresses made from its
//! id, and hands transport, record and watchdog to the node ([`application`]).

#![no_std]
#![no_main]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod application;
#[path = "../../boards/chosen.rs"]
mod chosen;
#[cfg_attr(app = "clock", path = "conduct/clock.rs")]
#[cfg_attr(app = "counter", path = "conduct/contend.rs")]
#[cfg_attr(app = "diffusing", path = "conduct/job.rs")]
#[cfg_attr(app = "tokens", path = "conduct/bank.rs")]
#[cfg_attr(app = "none", path = "conduct/idle.rs")]
mod conduct;
mod executor;
mod fault;
mod lan9118;
mod logger;
mod peripherals;
mod records;
mod retained;
mod time_driver;
mod vectors;
mod watchdog;

use crate::fault::{STREAK_MAX, Tally};
use crate::lan9118::Lan9118;
use crate::retained::Retained;
use crate::watchdog::Watchdog;
use embassy_executor::{SpawnError, Spawner};
use embassy_net::{Runner, StackResources};
use firmware::page::Page;
use firmware::store::Store;
use firmware::transport::udp::{Buffers, Udp};
use firmware::{address, chip};
use static_cell::StaticCell;

/// Sockets the network has room for: the transport's.
const SOCKETS: usize = 1;

#[cortex_m_rt::entry]
fn main() -> ! {
    logger::start();
    time_driver::start();

    let tally = Tally::load();
    let page = match chip::page() {
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
        tally
    );
    if tally.streak >= STREAK_MAX {
        defmt::error!("{=u32} faults in a row; stopping", tally.streak);
        executor::idle()
    }
    let ethernet = match Lan9118::start(address::hardware(page.id)) {
        Ok(ethernet) => ethernet,
        Err(error) => {
            defmt::error!("no Ethernet: {}; stopping", error);
            executor::idle()
        }
    };
    executor::run(|spawner| {
        if start(spawner, page, ethernet).is_err() {
            defmt::error!("a task did not start; resetting");
            fault::fail()
        }
    })
}

/// Starts the network and the node.
fn start(spawner: Spawner, page: Page, ethernet: Lan9118) -> Result<(), SpawnError> {
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
    // Filled at run time, though they could be constants: as such they would take as much flash as RAM.
    static BUFFERS: StaticCell<Buffers> = StaticCell::new();
    // Lent to the network, not given: its task would hold two copies of what it is given.
    static ETHERNET: StaticCell<Lan9118> = StaticCell::new();

    let resources = RESOURCES.init(StackResources::new());
    let (stack, runner) = embassy_net::new(ETHERNET.init(ethernet), address::config(page.id), resources, page.seed);
    let Ok(transport) = Udp::open(stack, BUFFERS.init_with(Buffers::new), page.port) else {
        // A valid page has a port that can be opened.
        fault::fail()
    };
    spawner.spawn(network(runner)?);
    spawner.spawn(node(page, transport, records::open(), Watchdog::start())?);
    Ok(())
}

#[embassy_executor::task]
async fn network(mut runner: Runner<'static, &'static mut Lan9118>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn node(page: Page, transport: Udp<'static>, store: Store<Retained>, watchdog: Watchdog) -> ! {
    application::run(page, transport, store, watchdog).await
}
