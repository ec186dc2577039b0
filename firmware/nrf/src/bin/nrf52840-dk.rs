//! Nordic nRF52840 DK: light LED1, button 1.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_nrf::config::LfclkSource;
use embassy_nrf::gpio::{Input, Level, Output, OutputDrive, Pull};
use firmware_nrf::{Chip, PinButton, PinLamp, clocks, run};

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    let p = embassy_nrf::init(clocks(LfclkSource::ExternalXtal));
    let lamp = PinLamp { pin: Output::new(p.P0_13, Level::High, OutputDrive::Standard), lit: Level::Low };
    let button = PinButton(Input::new(p.P0_11, Pull::Up));
    let chip = Chip { radio: p.RADIO, rng: p.RNG, saadc: p.SAADC, wdt: p.WDT, nvmc: p.NVMC };
    run(spawner, chip, lamp, button).await
}
