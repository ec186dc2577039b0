//! The code all boards with a Raspberry Pi RP2040 share. A board's own file has its network.

#![no_std]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[path = "../../boards/chosen.rs"]
mod chosen;
mod hardware;

use chosen::PEERS_MAX;
use defmt_rtt as _;
use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_rp::clocks::RoscRng;
use embassy_rp::flash::{self, Blocking};
use embassy_rp::gpio::Input;
use embassy_rp::{Peri, peripherals};
use firmware::cortex_m::{self, Parts};
use firmware::net::udp::Udp;
use firmware::storage::config_page::{ConfigPage, options};
use firmware::ui::led::Led;
use firmware::ui::pins::{LOW, PinButton};
pub use hardware::{Rp, Vsys};
use portable_atomic as _;

const FLASH_BYTES: usize = 2 * 1024 * 1024;
const FLASH_BASE: u32 = 0x1000_0000;

type RpFlash = flash::Flash<'static, peripherals::FLASH, Blocking, FLASH_BYTES>;

/// A board that has read its config page.
pub struct Board {
    /// The config page.
    pub page: ConfigPage,
    flash: RpFlash,
}

impl Board {
    /// Reads the config page; the serial number is that of the flash.
    #[must_use]
    pub fn start(flash: Peri<'static, peripherals::FLASH>) -> Self {
        let mut flash = RpFlash::new_blocking(flash);
        let mut serial = [0; 8];
        if flash.blocking_unique_id(&mut serial).is_err() {
            defmt::warn!("the serial number of the flash cannot be read");
        }
        Self { page: cortex_m::identify(&serial, options::LAN), flash }
    }

    /// Runs the node. When it stops, the board resets.
    pub async fn run(self, transport: Udp<'static>, hardware: Rp, led: impl Led, button: Input<'static>) -> ! {
        let (button, flash) = (PinButton::<_, LOW>(button), BlockingAsync::new(self.flash));
        let parts = Parts { led, button, hardware, flash, flash_base: FLASH_BASE };
        let start = chosen::start(self.page, RoscRng.next_u64());
        cortex_m::run::<_, _, PEERS_MAX, _, _>(&start, transport, parts).await
    }
}
