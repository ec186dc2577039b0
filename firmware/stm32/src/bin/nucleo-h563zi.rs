//! ST Nucleo-H563ZI: Ethernet by the chip's own controller, LED LD1 (green), button B1 (blue).

#![no_std]
#![no_main]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[path = "../../../boards/chosen.rs"]
mod chosen;

use chosen::PEERS_MAX;
use defmt_rtt as _;
use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack};
use embassy_stm32::adc::{Adc, SampleTime, VrefInt};
use embassy_stm32::eth::{Ethernet, GenericPhy, PacketQueue, Sma};
use embassy_stm32::exti::ExtiInput;
use embassy_stm32::flash::{FLASH_BASE, Flash};
use embassy_stm32::gpio::{Level, Output, Pull, Speed};
use embassy_stm32::peripherals::{ADC1, ETH, ETH_SMA, IWDG, RNG};
use embassy_stm32::rng::Rng;
use embassy_stm32::time::Hertz;
use embassy_stm32::wdg::IndependentWatchdog;
use embassy_stm32::{Config, bind_interrupts, eth, exti, interrupt, rcc, rng, uid};
use firmware::cortex_m::{self, Parts};
use firmware::net::address;
use firmware::runner::FEED_PERIOD;
use firmware::storage::config_page::options;
use firmware::ui::Hardware;
use firmware::ui::pins::{HIGH, PinButton, PinLed};
use firmware::vitals::{Supply, Vitals};
use static_cell::StaticCell;

/// Queued Ethernet frames in each direction.
const QUEUE: usize = 4;
const TIMEOUT_US: u32 = 8_000_000;
const _: () = assert!(FEED_PERIOD.as_micros() * 2 <= TIMEOUT_US as u64, "fed at least twice per timeout");
/// Typical voltage of the chip's reference (data sheet, `VREFINT`).
const REFERENCE_MV: u32 = 1_216;
/// Steps of full scale, which is the supply itself: 12 bits.
const FULL_SCALE_STEPS: u32 = (1 << 12) - 1;
/// The board's regulator gives 3.3 V; the chip works down to 1.7 V.
const SUPPLY: Supply = Supply { empty_mv: 1_800, full_mv: 3_200 };

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
    fn feed_watchdog(&mut self) {
        self.watchdog.pet();
    }

    async fn read_vitals(&mut self) -> Vitals {
        // The supply is full scale and the reference is known: the lower its reading, the higher the supply.
        let steps = u32::from(self.adc.blocking_read(&mut self.reference, SampleTime::CYCLES247_5));
        let millivolts = REFERENCE_MV.saturating_mul(FULL_SCALE_STEPS).checked_div(steps).unwrap_or(0);
        Vitals {
            supply: SUPPLY.percent_left(millivolts),
            memory: cortex_m::memory_free(),
            uplink: self.stack.is_link_up(),
        }
    }
}

/// 250 MHz from the 8 MHz of the on-board programmer.
fn clocks() -> Config {
    let mut config = Config::default();
    config.rcc.hsi = None;
    config.rcc.hsi48 = Some(rcc::Hsi48Config::default()); // for the random number generator
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

    let p = embassy_stm32::init(clocks());
    let page = cortex_m::identify(&uid::uid(), options::LAN);
    let mut rng = Rng::new(p.RNG, Interrupts);
    let (packets, mac) = (PACKETS.init_with(PacketQueue::new), address::mac(page.id));
    let ethernet = Ethernet::new(
        packets, p.ETH, Interrupts, p.PA1, p.PA7, p.PC4, p.PC5, p.PG13, p.PB15, p.PG11, mac, p.ETH_SMA, p.PA2, p.PC1,
    );
    let (transport, stack, network) = cortex_m::start_udp(&page, ethernet, rng.next_u64());
    cortex_m::spawn(spawner, network_task(network));
    let adc = Adc::new(p.ADC1);
    let reference = adc.enable_vrefint();
    let mut watchdog = IndependentWatchdog::new(p.IWDG, TIMEOUT_US);
    watchdog.unleash();
    let parts = Parts {
        led: PinLed::<_, HIGH>(Output::new(p.PB0, Level::Low, Speed::Low)),
        button: PinButton::<_, HIGH>(ExtiInput::new(p.PC13, p.EXTI13, Pull::Down, Interrupts)),
        hardware: Nucleo { watchdog, adc, reference, stack },
        flash: BlockingAsync::new(Flash::new_blocking(p.FLASH)),
        flash_base: u32::try_from(FLASH_BASE).unwrap_or(0),
    };
    let start = chosen::start(page, rng.next_u64());
    cortex_m::run::<_, _, PEERS_MAX, _, _>(&start, transport, parts).await
}

#[embassy_executor::task]
async fn network_task(mut runner: Runner<'static, Wire>) -> ! {
    runner.run().await
}
