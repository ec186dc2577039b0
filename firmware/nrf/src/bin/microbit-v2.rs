//! BBC micro:bit v2: the middle row of the LED matrix, button A.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_nrf::Peri;
use embassy_nrf::config::LfclkSource;
use embassy_nrf::gpio::{AnyPin, Input, Level, Output, OutputDrive, Pull};
use firmware::ui::pins::{HIGH, PinLed};
use firmware_nrf::{Chip, clocks, run};

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    // The board has no slow crystal: the slow clock is derived from the fast one, which the radio needs anyway.
    let p = embassy_nrf::init(clocks(LfclkSource::Synthesized));
    // An LED is on where its row is high and its column is low: all columns stay low, the row switches.
    let columns: [Peri<'static, AnyPin>; 5] =
        [p.P0_28.into(), p.P0_11.into(), p.P0_31.into(), p.P1_05.into(), p.P0_30.into()];
    let _columns = columns.map(|pin| Output::new(pin, Level::Low, OutputDrive::Standard));
    let led = PinLed::<_, HIGH>(Output::new(p.P0_15, Level::Low, OutputDrive::Standard));
    let chip = Chip { radio: p.RADIO, rng: p.RNG, saadc: p.SAADC, wdt: p.WDT, nvmc: p.NVMC };
    run(spawner, chip, led, Input::new(p.P0_14, Pull::Up)).await
}
