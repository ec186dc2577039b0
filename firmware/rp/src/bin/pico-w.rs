//! Raspberry Pi Pico W: Wi-Fi by a CYW43439, the LED on the board, a button between GP15 and ground.
//!
//! The access point and the blobs of the Wi-Fi chip are provisioned: neither is part of the image.

#![no_std]
#![no_main]

use cyw43::{A4, Aligned, Control, JoinOptions, NetDriver, Runner, SpiBus, State};
use cyw43_pio::{DEFAULT_CLOCK_DIVIDER, PioSpi};
use embassy_executor::Spawner;
use embassy_net::{Runner as NetRunner, Stack};
use embassy_rp::adc::Channel;
use embassy_rp::clocks::RoscRng;
use embassy_rp::gpio::{Input, Level, Output, Pull};
use embassy_rp::peripherals::{DMA_CH0, PIO0};
use embassy_rp::pio::Pio;
use embassy_rp::{bind_interrupts, dma, pio};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::{Duration, with_timeout};
use firmware::cortex_m;
use firmware::net::wifi::{self, Event, Wifi};
use firmware::storage::config_page::access_point::AccessPoint;
use firmware::ui::led::Led;
use firmware_rp::{Board, Rp, Vsys};
use static_cell::StaticCell;

/// The pin of the Wi-Fi chip that drives the LED.
const LED_PIN: u8 = 0;
const JOIN_TIMEOUT: Duration = Duration::from_secs(20);

bind_interrupts!(struct Interrupts {
    PIO0_IRQ_0 => pio::InterruptHandler<PIO0>;
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>;
});

type Bus = SpiBus<Output<'static>, PioSpi<'static, PIO0, 0>>;
type Chip = Mutex<NoopRawMutex, Control<'static>>;

/// The LED, behind the Wi-Fi chip: while that joins, the LED does not change.
struct ChipLed(&'static Chip);

impl Led for ChipLed {
    async fn set(&mut self, on: bool) {
        self.0.lock().await.gpio_set(LED_PIN, on).await;
    }
}

struct Station {
    chip: &'static Chip,
    stack: Stack<'static>,
    access_point: AccessPoint,
}

impl Wifi for Station {
    async fn join(&mut self) -> bool {
        let key = self.access_point.key();
        let options = if key.is_empty() { JoinOptions::new_open() } else { JoinOptions::new(key.as_bytes()) };
        let mut chip = self.chip.lock().await;
        matches!(with_timeout(JOIN_TIMEOUT, chip.join(self.access_point.name(), options)).await, Ok(Ok(())))
    }

    async fn wait_disconnected(&mut self) {
        self.stack.wait_link_down().await;
    }
}

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    static STATE: StaticCell<State> = StaticCell::new();
    static CHIP: StaticCell<Chip> = StaticCell::new();

    let mut p = embassy_rp::init(embassy_rp::config::Config::default());
    let board = Board::start(p.FLASH);
    // The pin that measures the supply belongs to the Wi-Fi chip later; it measures while that chip is not selected.
    let chip_select = Output::new(p.PIN_25, Level::High);
    let supply = Vsys::new(p.ADC).level(&mut Channel::new_pin(p.PIN_29.reborrow(), Pull::None));
    let (access_point, blobs) = match (cortex_m::access_point(), cortex_m::blobs()) {
        (Ok(access_point), Ok(blobs)) => (access_point, blobs),
        (access_point, blobs) => {
            defmt::error!("no Wi-Fi: access point {}, blobs {}", access_point.err(), blobs.err());
            defmt::error!("write both with `conclave provision pico-w --wifi NAME --wifi-firmware FOLDER`");
            cortex_m::reset_later().await
        }
    };
    let mut pio = Pio::new(p.PIO0, Interrupts);
    let dma = dma::Channel::new(p.DMA_CH0, Interrupts);
    let (divider, power) = (DEFAULT_CLOCK_DIVIDER, Output::new(p.PIN_23, Level::Low));
    let bus = PioSpi::new(&mut pio.common, pio.sm0, divider, pio.irq0, chip_select, p.PIN_24, p.PIN_29, dma);
    let state = STATE.init_with(State::new);
    let (driver, mut control, runner) =
        cyw43::new(state, power, bus, aligned(blobs.firmware), aligned(blobs.nvram)).await;
    let (transport, stack, network) = cortex_m::start_udp(&board.page, driver, RoscRng.next_u64());
    cortex_m::spawn(spawner, chip_task(runner));
    control.init(blobs.clm).await;
    let chip = &*CHIP.init(Mutex::new(control));
    cortex_m::spawn(spawner, network_task(network));
    cortex_m::spawn(spawner, wifi_task(Station { chip, stack, access_point }));
    let hardware = Rp::measured(p.WATCHDOG, supply, stack);
    board.run(transport, hardware, ChipLed(chip), Input::new(p.PIN_15, Pull::Up)).await
}

#[embassy_executor::task]
async fn chip_task(runner: Runner<'static, Bus>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn network_task(mut runner: NetRunner<'static, NetDriver<'static>>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn wifi_task(station: Station) -> ! {
    wifi::keep_joined(station, |event| match event {
        Event::Joined => defmt::info!("joined the access point"),
        Event::JoinFailed(millis) => {
            defmt::warn!("the access point cannot be joined; next attempt in {=u64} ms", millis);
        }
        Event::Disconnected => defmt::warn!("disconnected from the access point; frames are dropped"),
    })
    .await
}

/// The type by which the driver demands that a blob begins at a multiple of 4 bytes: they all do.
fn aligned(blob: &'static [u8]) -> &'static Aligned<A4, [u8]> {
    const { assert!(align_of::<Aligned<A4, u8>>() == 4, "as blobs are aligned") };
    #[expect(clippy::cast_ptr_alignment, reason = "the layout of the blobs and the memory map begin each at 4 bytes")]
    let aligned = core::ptr::from_ref(blob) as *const Aligned<A4, [u8]>;
    #[expect(unsafe_code, reason = "the type adds an alignment, which the layout guarantees")]
    unsafe {
        &*aligned
    }
}
