//! The watchdog, and what the board can measure of itself.

use embassy_net::Stack;
use embassy_rp::adc::{Adc, Blocking, Channel, Config};
use embassy_rp::watchdog::Watchdog;
use embassy_rp::{Peri, peripherals};
use embassy_time::Duration;
use firmware::chip;
use firmware::desk::Hardware;
use firmware::drive::FEED_PERIOD;
use firmware::gauge::{Gauge, Supply};
use protocol::capacity::Percent;

/// How long the loop may be silent. The chip counts no further than 8.3 s.
const PATIENCE: Duration = Duration::from_secs(8);
const _: () = assert!(FEED_PERIOD.as_ticks() * 2 <= PATIENCE.as_ticks(), "the loop feeds it in good time");

/// From where the regulator gives up to what USB gives behind its diode.
const SUPPLY: Supply = Supply { empty_mv: 2_000, full_mv: 4_500 };
/// What full scale is: the reference of 3.3 V behind a divider by three.
const FULL_SCALE_MV: u32 = 3 * 3_300;
/// Steps from nothing to full scale: 12 bits.
const FULL_SCALE_STEPS: u32 = 1 << 12;

/// What measures the supply at the pin `VSYS`.
pub struct Vsys {
    adc: Adc<'static, Blocking>,
}

impl Vsys {
    /// Starts it.
    #[must_use]
    pub fn new(adc: Peri<'static, peripherals::ADC>) -> Self {
        Self { adc: Adc::new_blocking(adc, Config::default()) }
    }

    /// How much of the supply is left; nothing is known as long as it cannot be read, which counts as half.
    pub fn left(&mut self, pin: &mut Channel<'_>) -> Percent {
        self.adc.blocking_read(pin).map_or(Percent::new(50), |steps| {
            let millivolts = u32::from(steps).saturating_mul(FULL_SCALE_MV).checked_div(FULL_SCALE_STEPS);
            SUPPLY.left(millivolts.unwrap_or(0))
        })
    }
}

/// Where the supply is known from.
enum Source {
    /// It is measured each time.
    Pin(Vsys, Channel<'static>),
    /// It was measured at the start: the pin has another duty since.
    Start(Percent),
}

/// What is the same on every board with this chip.
pub struct Rp {
    watchdog: Watchdog,
    supply: Source,
    stack: Stack<'static>,
}

impl Rp {
    /// A board that can measure its supply at any time.
    #[must_use]
    pub fn new(
        dog: Peri<'static, peripherals::WATCHDOG>,
        vsys: Vsys,
        pin: Channel<'static>,
        stack: Stack<'static>,
    ) -> Self {
        Self::with(dog, Source::Pin(vsys, pin), stack)
    }

    /// A board that measured its supply once.
    #[must_use]
    pub fn measured(dog: Peri<'static, peripherals::WATCHDOG>, supply: Percent, stack: Stack<'static>) -> Self {
        Self::with(dog, Source::Start(supply), stack)
    }

    fn with(dog: Peri<'static, peripherals::WATCHDOG>, supply: Source, stack: Stack<'static>) -> Self {
        let mut watchdog = Watchdog::new(dog);
        watchdog.pause_on_debug(true);
        watchdog.start(PATIENCE);
        Self { watchdog, supply, stack }
    }
}

impl Hardware for Rp {
    fn feed(&mut self) {
        self.watchdog.feed(PATIENCE);
    }

    async fn gauge(&mut self) -> Gauge {
        let supply = match &mut self.supply {
            Source::Pin(vsys, pin) => vsys.left(pin),
            Source::Start(left) => *left,
        };
        Gauge { supply, memory: chip::memory_free(), uplink: self.stack.is_link_up() }
    }
}
