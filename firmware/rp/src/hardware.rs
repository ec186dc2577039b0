//! The watchdog and the sensors of the board.

use embassy_net::Stack;
use embassy_rp::adc::{Adc, Blocking, Channel, Config};
use embassy_rp::watchdog::Watchdog;
use embassy_rp::{Peri, peripherals};
use embassy_time::Duration;
use firmware::cortex_m;
use firmware::runner::FEED_PERIOD;
use firmware::ui::Hardware;
use firmware::vitals::{Supply, Vitals};
use protocol::base::capacity::Percent;

/// Timeout of the watchdog; the chip supports at most 8.3 s.
const TIMEOUT: Duration = Duration::from_secs(8);
const _: () = assert!(FEED_PERIOD.as_ticks() * 2 <= TIMEOUT.as_ticks(), "fed at least twice per timeout");

/// From the minimum of the regulator to USB behind its diode.
const SUPPLY: Supply = Supply { empty_mv: 2_000, full_mv: 4_500 };
/// Full scale of the converter: the reference of 3.3 V behind a divider by three.
const FULL_SCALE_MV: u32 = 3 * 3_300;
/// Steps of full scale: 12 bits.
const FULL_SCALE_STEPS: u32 = 1 << 12;

/// The converter, which measures the supply at the pin `VSYS`.
pub struct Vsys {
    adc: Adc<'static, Blocking>,
}

impl Vsys {
    /// Starts the converter.
    #[must_use]
    pub fn new(adc: Peri<'static, peripherals::ADC>) -> Self {
        Self { adc: Adc::new_blocking(adc, Config::default()) }
    }

    /// The level of the supply; half where the pin cannot be read.
    pub fn level(&mut self, pin: &mut Channel<'_>) -> Percent {
        self.adc.blocking_read(pin).map_or(Percent::new(50), |steps| {
            let millivolts = u32::from(steps).saturating_mul(FULL_SCALE_MV).checked_div(FULL_SCALE_STEPS);
            SUPPLY.percent_left(millivolts.unwrap_or(0))
        })
    }
}

/// Source of the supply's level.
enum Source {
    /// Measured each time.
    Pin(Vsys, Channel<'static>),
    /// Measured once at start: the pin has another use since.
    Once(Percent),
}

/// Watchdog, converter and network link.
pub struct Rp {
    watchdog: Watchdog,
    supply: Source,
    stack: Stack<'static>,
}

impl Rp {
    /// Hardware that measures its supply at any time.
    #[must_use]
    pub fn new(
        dog: Peri<'static, peripherals::WATCHDOG>,
        vsys: Vsys,
        pin: Channel<'static>,
        stack: Stack<'static>,
    ) -> Self {
        Self::with(dog, Source::Pin(vsys, pin), stack)
    }

    /// Hardware that measured its supply once.
    #[must_use]
    pub fn measured(dog: Peri<'static, peripherals::WATCHDOG>, supply: Percent, stack: Stack<'static>) -> Self {
        Self::with(dog, Source::Once(supply), stack)
    }

    fn with(dog: Peri<'static, peripherals::WATCHDOG>, supply: Source, stack: Stack<'static>) -> Self {
        let mut watchdog = Watchdog::new(dog);
        watchdog.pause_on_debug(true);
        watchdog.start(TIMEOUT);
        Self { watchdog, supply, stack }
    }
}

impl Hardware for Rp {
    fn feed_watchdog(&mut self) {
        self.watchdog.feed(TIMEOUT);
    }

    async fn read_vitals(&mut self) -> Vitals {
        let supply = match &mut self.supply {
            Source::Pin(vsys, pin) => vsys.level(pin),
            Source::Once(level) => *level,
        };
        Vitals { supply, memory: cortex_m::memory_free(), uplink: self.stack.is_link_up() }
    }
}
