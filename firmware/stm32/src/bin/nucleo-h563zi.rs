//! ST Nucleo-H563ZI: Ethernet by the chip's own controller, light LD1 (green), button B1 (blue).

#![no_std]
#![no_main]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[path = "../../../boards/chosen.rs"]
mod chosen;

use chosen::{LOCKS, NEIGHBOURS_MAX};
use defmt_rtt as _;
use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_executor::{SpawnError, Spawner};
use embassy_net::{Runner, Stack, StackResources};
use embassy_stm32::adc::{Adc, SampleTime, VrefInt};
use embassy_stm32::eth::{Ethernet, GenericPhy, PacketQueue, Sma};
use embassy_stm32::exti::ExtiInput;
use embassy_stm32::flash::{FLASH_BASE, Flash as StFlash};
use embassy_stm32::gpio::{Level, Output, Pull, Speed};
use embassy_stm32::mode::Async;
use embassy_stm32::peripherals::{ADC1, ETH, ETH_SMA, IWDG, RNG};
use embassy_stm32::rng::Rng;
use embassy_stm32::time::Hertz;
use embassy_stm32::wdg::IndependentWatchdog;
use embassy_stm32::{Config, bind_interrupts, eth, exti, interrupt, rcc, rng, uid};
use firmware::button::{self, Asks, Button};
use firmware::desk::{Desk, Hardware};
use firmware::drive::{FEED_PERIOD, drive};
use firmware::gauge::{Gauge, Supply};
use firmware::keeper::flash::Flash;
use firmware::page::options;
use firmware::panel::{self, Lamp, Lights};
use firmware::transport::udp::{Buffers, Udp};
use firmware::{address, chip};
use static_cell::StaticCell;

/// Sockets the network has room for: the transport's.
const SOCKETS: usize = 1;
/// Frames of the Ethernet that wait in each direction.
const QUEUE: usize = 4;
/// How long the loop may be silent.
const PATIENCE_US: u32 = 8_000_000;
const _: () = assert!(FEED_PERIOD.as_micros() * 2 <= PATIENCE_US as u64, "the loop feeds it in good time");
/// What the reference inside the chip gives, typically (data sheet, `VREFINT`).
const REFERENCE_MV: u32 = 1_216;
/// Steps from nothing to full scale, which is the supply itself: 12 bits.
const FULL_SCALE_STEPS: u32 = (1 << 12) - 1;
/// The board's regulator gives 3.3 V; the chip works down to 1.7 V.
const SUPPLY: Supply = Supply { empty_mv: 1_800, full_mv: 3_200 };

static LIGHTS: Lights = Lights::new();
static ASKS: Asks = Asks::new();

bind_interrupts!(struct Interrupts {
    ETH => eth::InterruptHandler;
    EXTI13 => exti::InterruptHandler<interrupt::typelevel::EXTI13>;
    RNG => rng::InterruptHandler<RNG>;
});

type Wire = Ethernet<'static, ETH, GenericPhy<Sma<'static, ETH_SMA>>>;

struct Nucleo {
    watchdog: IndependentWatchdog<'static, IWDG>,
    adc: Adc<'static, ADC1>,
    reference: VrefInt,
    stack: Stack<'static>,
}

impl Hardware for Nucleo {
    fn feed(&mut self) {
        self.watchdog.pet();
    }

    async fn gauge(&mut self) -> Gauge {
        // The supply is full scale, the reference is known: the less of the scale it takes, the higher the supply.
        let steps = u32::from(self.adc.blocking_read(&mut self.reference, SampleTime::CYCLES247_5));
        let millivolts = REFERENCE_MV.saturating_mul(FULL_SCALE_STEPS).checked_div(steps).unwrap_or(0);
        Gauge { supply: SUPPLY.left(millivolts), memory: chip::memory_free(), uplink: self.stack.is_link_up() }
    }
}

struct PinLamp(Output<'static>);

impl Lamp for PinLamp {
    async fn set(&mut self, on: bool) {
        self.0.set_level(Level::from(on));
    }
}

/// A button that pulls its pin up.
struct PinButton(ExtiInput<'static, Async>);

impl Button for PinButton {
    async fn down(&mut self) {
        self.0.wait_for_high().await;
    }

    async fn up(&mut self) {
        self.0.wait_for_low().await;
    }
}

/// 250 MHz from the 8 MHz that the programmer on the board gives.
fn clocks() -> Config {
    let mut config = Config::default();
    config.rcc.hsi = None;
    config.rcc.hsi48 = Some(rcc::Hsi48Config::default()); // of the source of randomness
    config.rcc.hse = Some(rcc::Hse { freq: Hertz(8_000_000), mode: rcc::HseMode::BypassDigital });
    config.rcc.pll1 = Some(rcc::Pll {
        source: rcc::PllSource::HSE,
        prediv: rcc::PllPreDiv::DIV2,
        mul: rcc::PllMul::MUL125,
        divp: Some(rcc::PllDiv::DIV2),
        divq: Some(rcc::PllDiv::DIV2),
        divr: None,
    });
    config.rcc.sys = rcc::Sysclk::PLL1_P;
    config.rcc.voltage_scale = rcc::VoltageScale::Scale0;
    config
}

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    static PACKETS: StaticCell<PacketQueue<QUEUE, QUEUE>> = StaticCell::new();
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
    // Filled at run time, though they could be constants: as such they would take as much flash as RAM.
    static BUFFERS: StaticCell<Buffers> = StaticCell::new();

    let p = embassy_stm32::init(clocks());
    let page = chip::identity(&uid::uid(), options::LAN);
    let mut random = Rng::new(p.RNG, Interrupts);
    let packets = PACKETS.init_with(PacketQueue::new);
    let hardware = address::hardware(page.id);
    let ethernet = Ethernet::new(
        packets, p.ETH, Interrupts, p.PA1, p.PA7, p.PC4, p.PC5, p.PG13, p.PB15, p.PG11, hardware, p.ETH_SMA, p.PA2,
        p.PC1,
    );
    let resources = RESOURCES.init(StackResources::new());
    let (stack, network) = embassy_net::new(ethernet, address::config(page.id), resources, random.next_u64());
    let lamp = PinLamp(Output::new(p.PB0, Level::Low, Speed::Low));
    let button = PinButton(ExtiInput::new(p.PC13, p.EXTI13, Pull::Down, Interrupts));
    if start(spawner, network, lamp, button).is_err() {
        defmt::error!("a task did not start");
        chip::rest().await;
    }
    let Ok(mut transport) = Udp::open(stack, BUFFERS.init_with(Buffers::new), page.port) else {
        defmt::error!("no such port: {=u16}", page.port);
        chip::rest().await
    };
    let records = chip::records(u32::try_from(FLASH_BASE).unwrap_or(0));
    let Ok(mut keeper) = Flash::open(BlockingAsync::new(StFlash::new_blocking(p.FLASH)), records) else {
        defmt::error!("the memory map has no room for records");
        chip::rest().await
    };
    let adc = Adc::new(p.ADC1);
    let reference = adc.enable_vrefint();
    let mut watchdog = IndependentWatchdog::new(p.IWDG, PATIENCE_US);
    watchdog.unleash();
    let mut board = Desk::<_, LOCKS>::new(Nucleo { watchdog, adc, reference, stack }, &page, &LIGHTS, &ASKS);
    let start = chosen::start(page, random.next_u64());
    drive::<_, _, NEIGHBOURS_MAX, _>(start, &mut transport, &mut keeper, &mut board).await;
    chip::rest().await
}

fn start(spawner: Spawner, network: Runner<'static, Wire>, lamp: PinLamp, button: PinButton) -> Result<(), SpawnError> {
    spawner.spawn(network_task(network)?);
    spawner.spawn(light_task(lamp)?);
    spawner.spawn(button_task(button)?);
    Ok(())
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, Wire>) -> ! {
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
