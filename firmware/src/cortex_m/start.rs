//! Start-up of a board: its identity, its network, its tasks and its node.

use super::{config_page, reset};
use crate::storage::config_page::ConfigPage;
use embassy_executor::{SpawnError, SpawnToken, Spawner};
use embassy_time::{Duration, Timer};

/// How long the LED shows that the node has stopped; less than the timeout of the watchdog.
const RESET_DELAY: Duration = Duration::from_secs(4);

/// Reads the config page; an unprovisioned board makes one from its chip's `serial` number, with the options `also`.
#[must_use]
pub fn identify(serial: &[u8], also: u32) -> ConfigPage {
    match config_page() {
        Ok(page) => {
            defmt::info!("this is board {=u32}: options {=u32:x}, hops {=u8}", page.id, page.options, page.hops);
            page
        }
        Err(error) => {
            let page = ConfigPage::unprovisioned(serial, also);
            defmt::warn!(
                "no config page ({}): this board has no key and joins no group; `conclave provision` writes a page",
                error
            );
            page
        }
    }
}

/// Spawns a task; resets the board where that fails.
pub fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, SpawnError>) {
    let Ok(token) = task else {
        defmt::error!("a task did not start; resetting");
        reset()
    };
    spawner.spawn(token);
}

/// Waits a while, so that the LED and the log show the reason, and resets the board.
pub async fn reset_later() -> ! {
    Timer::after(RESET_DELAY).await;
    reset()
}

#[cfg(feature = "udp")]
pub use udp::start_udp;

#[cfg(feature = "udp")]
mod udp {
    use super::super::reset;
    use crate::net::address;
    use crate::net::udp::{Buffers, PortZero, Udp};
    use crate::storage::config_page::ConfigPage;
    use embassy_net::driver::Driver;
    use embassy_net::{Runner, Stack, StackResources};
    use static_cell::StaticCell;

    /// Sockets of the network stack: the transport's, and the broker's where there is one.
    const SOCKETS: usize = if cfg!(feature = "mqtt") { 2 } else { 1 };

    /// Starts a network stack with addresses derived from the node's id. The runner is the caller's to spawn.
    pub fn start_udp<D: Driver>(
        page: &ConfigPage,
        driver: D,
        seed: u64,
    ) -> (Udp<'static>, Stack<'static>, Runner<'static, D>) {
        static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
        // Filled at run time: as constants they would take as much flash as RAM.
        static BUFFERS: StaticCell<Buffers> = StaticCell::new();
        let resources = RESOURCES.init(StackResources::new());
        let (stack, runner) = embassy_net::new(driver, address::config(page.id), resources, seed);
        match Udp::open(stack, BUFFERS.init_with(Buffers::empty), page.port) {
            Ok(transport) => (transport, stack, runner),
            Err(PortZero) => reset(), // a valid page has another port
        }
    }
}

#[cfg(feature = "flash")]
pub use node::{Parts, run};

#[cfg(feature = "flash")]
mod node {
    use super::super::records_range;
    use super::reset_later;
    use crate::net::Transport;
    use crate::runner::{self, Start};
    use crate::storage::record_store::flash::FlashStore;
    use crate::ui::button::{self, Button, PressQueue};
    use crate::ui::led::{self, Led, LedSignal};
    use crate::ui::{Hardware, UiBoard};
    use embassy_futures::join::join3;
    use embedded_storage_async::nor_flash::NorFlash;
    use protocol::base::membership::Membership;
    use protocol::election::Election;
    use protocol::mutex::Mutex;
    use protocol::service::Service;

    /// The parts of a board besides its transport.
    pub struct Parts<L, B, H, F> {
        /// The LED.
        pub led: L,
        /// The button.
        pub button: B,
        /// Watchdog and sensors.
        pub hardware: H,
        /// The flash that stores records.
        pub flash: F,
        /// The address of the flash.
        pub flash_base: u32,
    }

    /// Runs node, LED and button. When the node stops, the LED shows it for a while, and the board resets.
    pub async fn run<E: Election, M: Mutex, const N: usize, S: Service, G: Membership>(
        start: &Start<E, M, S, G>,
        mut transport: impl Transport,
        parts: Parts<impl Led, impl Button, impl Hardware, impl NorFlash>,
    ) -> ! {
        let Ok(mut store) = FlashStore::open(parts.flash, records_range(parts.flash_base)) else {
            defmt::error!("the memory map reserves no pages for records");
            reset_later().await
        };
        let (signal, presses) = (LedSignal::new(), PressQueue::new());
        let mut board = UiBoard::<_, M>::new(parts.hardware, &start.page, &signal, &presses);
        let node = async {
            runner::run::<_, _, N, _, _>(start, &mut transport, &mut store, &mut board).await;
            reset_later().await
        };
        let (never, _, _) = join3(node, led::run(parts.led, &signal), button::run(parts.button, &presses)).await;
        never
    }
}
