//! Boards with a Raspberry Pi RP2040: what they share. A board's own file brings its network.

#![no_std]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[path = "../../boards/chosen.rs"]
mod chosen;
mod hardware;

use chosen::{LOCKS, NEIGHBOURS_MAX};
use defmt_rtt as _;
use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_net::{Runner, Stack, StackResources};
use embassy_net_driver::Driver;
use embassy_rp::clocks::RoscRng;
use embassy_rp::flash::{self, Blocking};
use embassy_rp::gpio::Input;
use embassy_rp::{Peri, peripherals};
use firmware::button::{Asks, Button};
use firmware::desk::Desk;
use firmware::drive::drive;
use firmware::keeper::flash::Flash;
use firmware::page::{Page, options};
use firmware::panel::Lights;
use firmware::transport::udp::{Buffers, Udp};
use firmware::{address, chip};
pub use hardware::{Rp, Vsys};
use portable_atomic as _;
use static_cell::StaticCell;

/// Sockets the network has room for: the transport's.
const SOCKETS: usize = 1;
/// Bytes of flash on the boards.
const FLASH_BYTES: usize = 2 * 1024 * 1024;
/// Where the processor sees the flash.
const FLASH_BASE: u32 = 0x1000_0000;

/// How the node tells the light.
pub static LIGHTS: Lights = Lights::new();
/// How the button tells the node.
pub static ASKS: Asks = Asks::new();

type RpFlash = flash::Flash<'static, peripherals::FLASH, Blocking, FLASH_BYTES>;

/// A board that knows who it is.
pub struct Board {
    /// Who it is.
    pub page: Page,
    flash: RpFlash,
}

impl Board {
    /// Reads who the board is; the flash carries the number it was born with.
    #[must_use]
    pub fn start(flash: Peri<'static, peripherals::FLASH>) -> Self {
        let mut flash = RpFlash::new_blocking(flash);
        let mut number = [0; 8];
        if flash.blocking_unique_id(&mut number).is_err() {
            defmt::warn!("the flash does not tell its number");
        }
        Self { page: chip::identity(&number, options::LAN), flash }
    }

    /// Joins the network under addresses made from the board's id.
    pub fn network<D: Driver>(&self, driver: D) -> (Stack<'static>, Runner<'static, D>) {
        static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
        let resources = RESOURCES.init(StackResources::new());
        embassy_net::new(driver, address::config(self.page.id), resources, RoscRng.next_u64())
    }

    /// Runs the node, until it cannot go on: then the board starts over.
    pub async fn run(self, stack: Stack<'static>, hardware: Rp) -> ! {
        // Filled at run time, though they could be constants: as such they would take as much flash as RAM.
        static BUFFERS: StaticCell<Buffers> = StaticCell::new();
        let Self { page, flash } = self;
        let Ok(mut transport) = Udp::open(stack, BUFFERS.init_with(Buffers::new), page.port) else {
            defmt::error!("no such port: {=u16}", page.port);
            chip::rest().await
        };
        let Ok(mut keeper) = Flash::open(BlockingAsync::new(flash), chip::records(FLASH_BASE)) else {
            defmt::error!("the memory map has no room for records");
            chip::rest().await
        };
        let mut board = Desk::<_, LOCKS>::new(hardware, &page, &LIGHTS, &ASKS);
        let start = chosen::start(page, RoscRng.next_u64());
        drive::<_, _, NEIGHBOURS_MAX, _>(start, &mut transport, &mut keeper, &mut board).await;
        chip::rest().await
    }
}

/// A button that pulls its pin to the ground.
pub struct PinButton(pub Input<'static>);

impl Button for PinButton {
    async fn down(&mut self) {
        self.0.wait_for_low().await;
    }

    async fn up(&mut self) {
        self.0.wait_for_high().await;
    }
}
