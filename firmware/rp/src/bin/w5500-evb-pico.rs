//! The W5500-EVB-Pico of `WIZnet`: Ethernet by a W5500 at SPI 0, the green LED, a button between GP15 and ground.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_net::Runner as NetRunner;
use embassy_net_wiznet::chip::W5500;
use embassy_net_wiznet::{Device, Runner, State};
use embassy_rp::adc::Channel;
use embassy_rp::clocks::RoscRng;
use embassy_rp::gpio::{Input, Level, Output, Pull};
use embassy_rp::peripherals::{DMA_CH0, DMA_CH1, SPI0};
use embassy_rp::spi::{Async, Config, Spi};
use embassy_rp::{bind_interrupts, dma};
use embassy_time::Delay;
use embedded_hal_bus::spi::ExclusiveDevice;
use firmware::cortex_m;
use firmware::net::address;
use firmware::ui::pins::{HIGH, PinLed};
use firmware_rp::{Board, Rp, Vsys};
use static_cell::StaticCell;

/// Queued Ethernet frames in each direction.
const QUEUE: usize = 4;
/// The fastest clock that is reliable on this board.
const SPI_HZ: u32 = 33_000_000;

bind_interrupts!(struct Interrupts {
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>;
});

type Bus = ExclusiveDevice<Spi<'static, SPI0, Async>, Output<'static>, Delay>;

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    static STATE: StaticCell<State<QUEUE, QUEUE>> = StaticCell::new();

    let p = embassy_rp::init(embassy_rp::config::Config::default());
    let board = Board::start(p.FLASH);
    let mut config = Config::default();
    config.frequency = SPI_HZ;
    let spi = Spi::new(p.SPI0, p.PIN_18, p.PIN_19, p.PIN_16, p.DMA_CH0, p.DMA_CH1, Interrupts, config);
    let Ok(bus) = ExclusiveDevice::new(spi, Output::new(p.PIN_17, Level::High), Delay);
    let interrupt = Input::new(p.PIN_21, Pull::Up);
    let reset = Output::new(p.PIN_20, Level::High);
    let state = STATE.init_with(State::new);
    let started = embassy_net_wiznet::new(address::mac(board.page.id), state, bus, interrupt, reset).await;
    let Ok((device, runner)) = started else {
        defmt::error!("the W5500 does not answer");
        cortex_m::reset_later().await
    };
    let (transport, stack, network) = cortex_m::start_udp(&board.page, device, RoscRng.next_u64());
    cortex_m::spawn(spawner, ethernet_task(runner));
    cortex_m::spawn(spawner, network_task(network));
    let vsys = Channel::new_pin(p.PIN_29, Pull::None);
    let hardware = Rp::new(p.WATCHDOG, Vsys::new(p.ADC), vsys, stack);
    let led = PinLed::<_, HIGH>(Output::new(p.PIN_25, Level::Low));
    board.run(transport, hardware, led, Input::new(p.PIN_15, Pull::Up)).await
}

#[embassy_executor::task]
async fn ethernet_task(runner: Runner<'static, W5500, Bus, Input<'static>, Output<'static>>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn network_task(mut runner: NetRunner<'static, Device<'static>>) -> ! {
    runner.run().await
}
