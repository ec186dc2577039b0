//! The code all boards with a Nordic nRF52 share. A board's own file has its pins and clocks.

#![no_std]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[path = "../../boards/chosen.rs"]
mod chosen;
mod hardware;
mod radio;

use chosen::PEERS_MAX;
use defmt_rtt as _;
use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_executor::Spawner;
use embassy_nrf::config::{Config, HfclkSource, LfclkSource};
use embassy_nrf::gpio::Input;
use embassy_nrf::nvmc::Nvmc;
use embassy_nrf::rng::Rng;
use embassy_nrf::{Peri, bind_interrupts, pac, peripherals};
use firmware::cortex_m::{self, Parts};
use firmware::net::radio::mac::{Address, Channel};
use firmware::net::radio::{Port, Queues};
use firmware::ui::led::Led;
use firmware::ui::pins::{LOW, PinButton};
use hardware::Nrf;
use radio::NrfRadio;

static QUEUES: Queues = Queues::empty();

bind_interrupts!(struct Interrupts {
    RADIO => embassy_nrf::radio::InterruptHandler<peripherals::RADIO>;
    SAADC => embassy_nrf::saadc::InterruptHandler;
});

/// The clocks of a board: its radio needs the crystal.
#[must_use]
pub fn clocks(slow: LfclkSource) -> Config {
    let mut config = Config::default();
    config.hfclk_source = HfclkSource::ExternalXtal;
    config.lfclk_source = slow;
    config
}

/// Peripherals of the chip.
pub struct Chip {
    /// The radio.
    pub radio: Peri<'static, peripherals::RADIO>,
    /// The random number generator.
    pub rng: Peri<'static, peripherals::RNG>,
    /// The converter that measures the supply.
    pub saadc: Peri<'static, peripherals::SAADC>,
    /// The watchdog.
    pub wdt: Peri<'static, peripherals::WDT>,
    /// The flash.
    pub nvmc: Peri<'static, peripherals::NVMC>,
}

/// Runs the node of a board. When it stops, the board resets.
pub async fn run(spawner: Spawner, chip: Chip, led: impl Led, button: Input<'static>) -> ! {
    let page = cortex_m::identify(&serial_number(), 0);
    let mut rng = Rng::new_blocking(chip.rng);
    let address = Address::of(page.id, if page.pan == 0 { Address::PAN_DEFAULT } else { page.pan });
    let channel = Channel::try_from(page.channel).unwrap_or(Channel::DEFAULT);
    defmt::info!(
        "radio: channel {=u8}, PAN {=u16:x}, short address {=u16:x}",
        channel.number(),
        address.pan,
        address.short
    );
    let radio = NrfRadio::new(chip.radio, Interrupts, channel);
    cortex_m::spawn(spawner, radio_task(radio, address, rng.blocking_next_u64()));
    let flash = BlockingAsync::new(Nvmc::new(chip.nvmc));
    let (button, hardware) = (PinButton::<_, LOW>(button), Nrf::new(chip.saadc, chip.wdt));
    let parts = Parts { led, button, hardware, flash, flash_base: 0 };
    let start = chosen::start(page, rng.blocking_next_u64());
    cortex_m::run::<_, _, PEERS_MAX, _, _>(&start, Port(&QUEUES), parts).await
}

fn serial_number() -> [u8; 8] {
    let [low, high] = [0, 1].map(|index| pac::FICR.deviceid(index).read());
    (u64::from(high) << 32 | u64::from(low)).to_le_bytes()
}

#[embassy_executor::task]
async fn radio_task(radio: NrfRadio, address: Address, seed: u64) -> ! {
    firmware::net::radio::run(radio, &QUEUES, address, seed).await
}
