//! Raspberry Pi Pico W: Wi-Fi by a CYW43439, light the LED on the board, button between GP15 and the ground.
//!
//! The access point is provisioned, and so are the blobs that the Wi-Fi chip needs: neither is part of the image.

#![no_std]
#![no_main]

use cyw43::{A4, Aligned, Control, JoinOptions, NetDriver, Runner, SpiBus, State};
use cyw43_pio::{DEFAULT_CLOCK_DIVIDER, PioSpi};
use embassy_executor::{SpawnError, Spawner};
use embassy_net::{Runner as NetRunner, Stack};
use embassy_rp::adc::Channel;
use embassy_rp::gpio::{Input, Level, Output, Pull};
use embassy_rp::peripherals::{DMA_CH0, PIO0};
use embassy_rp::pio::Pio;
use embassy_rp::{bind_interrupts, dma, pio};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::{Duration, with_timeout};
use firmware::page::access::Access;
use firmware::panel::{self, Lamp};
use firmware::station::{self, Event, Wifi};
use firmware::{button, chip};
use firmware_rp::{ASKS, Board, LIGHTS, PinButton, Rp, Vsys};
use static_cell::StaticCell;

/// The light hangs at this pin of the Wi-Fi chip.
const LIGHT_PIN: u8 = 0;
/// How long an attempt to join may take.
const JOIN_PATIENCE: Duration = Duration::from_secs(20);

bind_interrupts!(struct Interrupts {
    PIO0_IRQ_0 => pio::InterruptHandler<PIO0>;
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>;
});

type Bus = SpiBus<Output<'static>, PioSpi<'static, PIO0, 0>>;
type Chip = Mutex<NoopRawMutex, Control<'static>>;

/// The light, behind the Wi-Fi chip: while that joins, the light stands still.
struct ChipLamp(&'static Chip);

impl Lamp for ChipLamp {
    async fn set(&mut self, on: bool) {
        self.0.lock().await.gpio_set(LIGHT_PIN, on).await;
    }
}

struct Station {
    chip: &'static Chip,
    stack: Stack<'static>,
    access: Access,
}

impl Wifi for Station {
    async fn join(&mut self) -> bool {
        let key = self.access.key();
        let options = if key.is_empty() { JoinOptions::new_open() } else { JoinOptions::new(key.as_bytes()) };
        let mut chip = self.chip.lock().await;
        matches!(with_timeout(JOIN_PATIENCE, chip.join(self.access.name(), options)).await, Ok(Ok(())))
    }

    async fn lost(&mut self) {
        self.stack.wait_link_down().await;
    }
}

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    static STATE: StaticCell<State> = StaticCell::new();
    static CHIP: StaticCell<Chip> = StaticCell::new();

    let mut p = embassy_rp::init(embassy_rp::config::Config::default());
    let board = Board::start(p.FLASH);
    // The pin that measures the supply belongs to the Wi-Fi chip from then on. It measures while that is not selected.
    let unselected = Output::new(p.PIN_25, Level::High);
    let supply = Vsys::new(p.ADC).left(&mut Channel::new_pin(p.PIN_29.reborrow(), Pull::None));
    let (access, blobs) = match (chip::access(), chip::blobs()) {
        (Ok(access), Ok(blobs)) => (access, blobs),
        (access, blobs) => {
            defmt::error!("no Wi-Fi: access point {}, blobs {}", access.err(), blobs.err());
            defmt::error!("write both with `conclave provision pico-w --wifi NAME --wifi-firmware FOLDER`");
            chip::rest().await
        }
    };
    let mut pio = Pio::new(p.PIO0, Interrupts);
    let dma = dma::Channel::new(p.DMA_CH0, Interrupts);
    let (divider, power) = (DEFAULT_CLOCK_DIVIDER, Output::new(p.PIN_23, Level::Low));
    let wire = PioSpi::new(&mut pio.common, pio.sm0, divider, pio.irq0, unselected, p.PIN_24, p.PIN_29, dma);
    let state = STATE.init_with(State::new);
    let (driver, mut control, runner) =
        cyw43::new(state, power, wire, aligned(blobs.firmware), aligned(blobs.nvram)).await;
    let (stack, network) = board.network(driver);
    let Ok(token) = chip_task(runner) else {
        defmt::error!("a task did not start");
        chip::rest().await
    };
    spawner.spawn(token);
    control.init(blobs.clm).await;
    let chip = &*CHIP.init(Mutex::new(control));
    let station = Station { chip, stack, access };
    let button = PinButton(Input::new(p.PIN_15, Pull::Up));
    if start(spawner, network, station, ChipLamp(chip), button).is_err() {
        defmt::error!("a task did not start");
        chip::rest().await;
    }
    board.run(stack, Rp::measured(p.WATCHDOG, supply, stack)).await
}

fn start(
    spawner: Spawner,
    network: NetRunner<'static, NetDriver<'static>>,
    station: Station,
    lamp: ChipLamp,
    button: PinButton,
) -> Result<(), SpawnError> {
    spawner.spawn(network_task(network)?);
    spawner.spawn(station_task(station)?);
    spawner.spawn(light_task(lamp)?);
    spawner.spawn(button_task(button)?);
    Ok(())
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
async fn station_task(station: Station) -> ! {
    station::stay(station, |event| match event {
        Event::Joined => defmt::info!("joined the access point"),
        Event::Refused(millis) => defmt::warn!("the access point cannot be joined; again in {=u64} ms", millis),
        Event::Lost => defmt::warn!("the access point is lost; frames are dropped until it is back"),
    })
    .await
}

#[embassy_executor::task]
async fn light_task(lamp: ChipLamp) -> ! {
    panel::show(lamp, &LIGHTS).await
}

#[embassy_executor::task]
async fn button_task(button: PinButton) -> ! {
    button::watch(button, &ASKS).await
}

/// The driver wants to be sure that a blob begins at a multiple of 4 bytes: they all do.
fn aligned(blob: &'static [u8]) -> &'static Aligned<A4, [u8]> {
    const { assert!(align_of::<Aligned<A4, u8>>() == 4, "as blobs are aligned") };
    #[expect(clippy::cast_ptr_alignment, reason = "the layout of the blobs and the memory map begin each at 4 bytes")]
    let place = core::ptr::from_ref(blob) as *const Aligned<A4, [u8]>;
    #[expect(unsafe_code, reason = "the type adds nothing to the bytes but where they begin, which the layout assures")]
    unsafe {
        &*place
    }
}
