//! The W5500-EVB-Pico of `WIZnet`: Ethernet by a W5500 at SPI 0, light the green LED, button between GP15 and the ground.

#![no_std]
#![no_main]

use embassy_executor::{SpawnError, Spawner};
use embassy_net::Runner as NetRunner;
use embassy_net_wiznet::chip::W5500;
use embassy_net_wiznet::{Device, Runner, State};
use embassy_rp::adc::Channel;
use embassy_rp::gpio::{Input, Level, Output, Pull};
use embassy_rp::peripherals::{DMA_CH0, DMA_CH1, SPI0};
use embassy_rp::spi::{Async, Config, Spi};
use embassy_rp::{bind_interrupts, dma};
use embassy_time::Delay;
use embedded_hal_bus::spi::ExclusiveDevice;
use firmware::panel::{self, Lamp};
use firmware::{address, button, chip};
use firmware_rp::{ASKS, Board, LIGHTS, PinButton, Rp, Vsys};
use static_cell::StaticCell;

/// Frames of the Ethernet that wait in each direction.
const QUEUE: usize = 4;
/// As fast as the chip is sure to follow on this board.
const SPI_HZ: u32 = 33_000_000;

bind_interrupts!(struct Interrupts {
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>;
});

type Wire = ExclusiveDevice<Spi<'static, SPI0, Async>, Output<'static>, Delay>;
type Ethernet = Runner<'static, W5500, Wire, Input<'static>, Output<'static>>;

struct PinLamp(Output<'static>);

impl Lamp for PinLamp {
    async fn set(&mut self, on: bool) {
        self.0.set_level(Level::from(on));
    }
}

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    static STATE: StaticCell<State<QUEUE, QUEUE>> = StaticCell::new();

    let p = embassy_rp::init(embassy_rp::config::Config::default());
    let board = Board::start(p.FLASH);
    let mut config = Config::default();
    config.frequency = SPI_HZ;
    let spi = Spi::new(p.SPI0, p.PIN_18, p.PIN_19, p.PIN_16, p.DMA_CH0, p.DMA_CH1, Interrupts, config);
    let Ok(wire) = ExclusiveDevice::new(spi, Output::new(p.PIN_17, Level::High), Delay);
    let interrupt = Input::new(p.PIN_21, Pull::Up);
    let reset = Output::new(p.PIN_20, Level::High);
    let state = STATE.init_with(State::new);
    let started = embassy_net_wiznet::new(address::hardware(board.page.id), state, wire, interrupt, reset).await;
    let Ok((device, runner)) = started else {
        defmt::error!("the W5500 does not answer");
        chip::rest().await
    };
    let (stack, network) = board.network(device);
    let lamp = PinLamp(Output::new(p.PIN_25, Level::Low));
    let button = PinButton(Input::new(p.PIN_15, Pull::Up));
    if start(spawner, runner, network, lamp, button).is_err() {
        defmt::error!("a task did not start");
        chip::rest().await;
    }
    let vsys = Channel::new_pin(p.PIN_29, Pull::None);
    board.run(stack, Rp::new(p.WATCHDOG, Vsys::new(p.ADC), vsys, stack)).await
}

fn start(
    spawner: Spawner,
    ethernet: Ethernet,
    network: NetRunner<'static, Device<'static>>,
    lamp: PinLamp,
    button: PinButton,
) -> Result<(), SpawnError> {
    spawner.spawn(ethernet_task(ethernet)?);
    spawner.spawn(network_task(network)?);
    spawner.spawn(light_task(lamp)?);
    spawner.spawn(button_task(button)?);
    Ok(())
}

#[embassy_executor::task]
async fn ethernet_task(runner: Ethernet) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn network_task(mut runner: NetRunner<'static, Device<'static>>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn light_task(lamp: PinLamp) -> ! {
    panel::show(lamp, &LIGHTS).await
}

#[embassy_executor::task]
async fn button_task(button: PinButton) -> ! {
    button::watch(button, &ASKS).await
}
