//! BBC micro:bit v2: light the middle row of the matrix, button A.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_nrf::Peri;
use embassy_nrf::config::LfclkSource;
use embassy_nrf::gpio::{AnyPin, Input, Level, Output, OutputDrive, Pull};
use firmware_nrf::{Chip, PinButton, PinLamp, clocks, run};

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    // There is no slow crystal on the board: the slow clock is made from the fast one, which the radio needs anyway.
    let p = embassy_nrf::init(clocks(LfclkSource::Synthesized));
    // A row shines where its pin is high and its column's is low: all columns stay low, the row switches.
    let columns: [Peri<'static, AnyPin>; 5] =
        [p.P0_28.into(), p.P0_11.into(), p.P0_31.into(), p.P1_05.into(), p.P0_30.into()];
    let _columns = columns.map(|pin| Output::new(pin, Level::Low, OutputDrive::Standard));
    let lamp = PinLamp { pin: Output::new(p.P0_15, Level::Low, OutputDrive::Standard), lit: Level::High };
    let button = PinButton(Input::new(p.P0_14, Pull::Up));
    let chip = Chip { radio: p.RADIO, rng: p.RNG, saadc: p.SAADC, wdt: p.WDT, nvmc: p.NVMC };
    run(spawner, chip, lamp, button).await
}
