//! Boards with a Nordic nRF52: what they share. A board's own file says which pins and clocks it has.
//!
//! [`run`] starts the tasks: the radio, the light, the button, and the node, which it becomes itself.

#![no_std]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[path = "../../boards/chosen.rs"]
mod chosen;
mod hardware;
mod radio;

use chosen::{LOCKS, NEIGHBOURS_MAX};
use defmt_rtt as _;
use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_executor::{SpawnError, Spawner};
use embassy_nrf::config::{Config, HfclkSource, LfclkSource};
use embassy_nrf::gpio::{Input, Level, Output};
use embassy_nrf::nvmc::Nvmc;
use embassy_nrf::rng::Rng;
use embassy_nrf::{Peri, bind_interrupts, pac, peripherals};
use firmware::button::{self, Asks, Button};
use firmware::chip;
use firmware::desk::Desk;
use firmware::drive::drive;
use firmware::keeper::flash::Flash;
use firmware::panel::{self, Lamp, Lights};
use firmware::transport::radio::mac::{Address, Channel};
use firmware::transport::radio::{self as air, Port, Queues};
use hardware::Nrf;
use radio::NrfRadio;

static QUEUES: Queues = Queues::new();
static LIGHTS: Lights = Lights::new();
static ASKS: Asks = Asks::new();

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

/// What a board brings, besides its pins.
pub struct Chip {
    /// The radio.
    pub radio: Peri<'static, peripherals::RADIO>,
    /// The source of randomness.
    pub rng: Peri<'static, peripherals::RNG>,
    /// What measures the supply.
    pub saadc: Peri<'static, peripherals::SAADC>,
    /// The watchdog.
    pub wdt: Peri<'static, peripherals::WDT>,
    /// The flash.
    pub nvmc: Peri<'static, peripherals::NVMC>,
}

/// A lamp at a pin.
pub struct PinLamp {
    /// The pin.
    pub pin: Output<'static>,
    /// What lights it.
    pub lit: Level,
}

impl Lamp for PinLamp {
    async fn set(&mut self, on: bool) {
        self.pin.set_level(Level::from(on == (self.lit == Level::High)));
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

/// Runs the node on a board, until it cannot go on: then the board starts over.
pub async fn run(spawner: Spawner, chip: Chip, lamp: PinLamp, button: PinButton) -> ! {
    let page = chip::identity(&number(), 0);
    let mut random = Rng::new_blocking(chip.rng);
    let address = Address::of(page.id, if page.pan == 0 { Address::PAN_DEFAULT } else { page.pan });
    let channel = Channel::try_from(page.channel).unwrap_or(Channel::DEFAULT);
    defmt::info!(
        "radio: channel {=u8}, PAN {=u16:x}, short address {=u16:x}",
        channel.number(),
        address.pan,
        address.short
    );
    let radio = NrfRadio::new(chip.radio, Interrupts, channel);
    if start(spawner, radio, address, random.blocking_next_u64(), lamp, button).is_err() {
        defmt::error!("a task did not start");
        chip::rest().await;
    }
    let flash = BlockingAsync::new(Nvmc::new(chip.nvmc));
    let Ok(mut keeper) = Flash::open(flash, chip::records(0)) else {
        defmt::error!("the memory map has no room for records");
        chip::rest().await
    };
    let mut board = Desk::<_, LOCKS>::new(Nrf::new(chip.saadc, chip.wdt), &page, &LIGHTS, &ASKS);
    let start = chosen::start(page, random.blocking_next_u64());
    drive::<_, _, NEIGHBOURS_MAX, _>(start, &mut Port(&QUEUES), &mut keeper, &mut board).await;
    chip::rest().await
}

/// The number the chip was born with.
fn number() -> [u8; 8] {
    let [low, high] = [0, 1].map(|index| pac::FICR.deviceid(index).read());
    (u64::from(high) << 32 | u64::from(low)).to_le_bytes()
}

fn start(
    spawner: Spawner,
    radio: NrfRadio,
    address: Address,
    seed: u64,
    lamp: PinLamp,
    button: PinButton,
) -> Result<(), SpawnError> {
    spawner.spawn(radio_task(radio, address, seed)?);
    spawner.spawn(light_task(lamp)?);
    spawner.spawn(button_task(button)?);
    Ok(())
}

#[embassy_executor::task]
async fn radio_task(radio: NrfRadio, address: Address, seed: u64) -> ! {
    air::run(radio, &QUEUES, address, seed).await
}

#[embassy_executor::task]
async fn light_task(lamp: PinLamp) -> ! {
    panel::show(lamp, &LIGHTS).await
}

#[embassy_executor::task]
async fn button_task(button: PinButton) -> ! {
    button::watch(button, &ASKS).await
}
