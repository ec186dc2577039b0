//! Nordic nRF52840 DK: LED1, button 1.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_nrf::config::LfclkSource;
use embassy_nrf::gpio::{Input, Level, Output, OutputDrive, Pull};
use firmware::ui::pins::{LOW, PinLed};
use firmware_nrf::{Chip, clocks, run};

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    let p = embassy_nrf::init(clocks(LfclkSource::ExternalXtal));
    let led = PinLed::<_, LOW>(Output::new(p.P0_13, Level::High, OutputDrive::Standard));
    let chip = Chip { radio: p.RADIO, rng: p.RNG, saadc: p.SAADC, wdt: p.WDT, nvmc: p.NVMC };
    run(spawner, chip, led, Input::new(p.P0_11, Pull::Up)).await
}
