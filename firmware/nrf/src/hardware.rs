//! The watchdog, and what the chip can measure of itself.

use crate::Interrupts;
use embassy_nrf::saadc::{ChannelConfig, Config, Saadc, VddInput};
use embassy_nrf::wdt::{self, HaltConfig, Watchdog, WatchdogHandle};
use embassy_nrf::{Peri, peripherals};
use firmware::chip;
use firmware::desk::Hardware;
use firmware::drive::FEED_PERIOD;
use firmware::gauge::{Gauge, Supply};

/// How long the loop may be silent, in ticks of 32,768 Hz.
const PATIENCE_TICKS: u32 = 8 * 32_768;
const _: () = assert!(FEED_PERIOD.as_secs() * 2 * 32_768 <= PATIENCE_TICKS as u64, "the loop feeds it in good time");

/// Two cells, or a coin cell: what the chip runs on. Powered by USB it is full.
const SUPPLY: Supply = Supply { empty_mv: 1_900, full_mv: 2_900 };
/// What full scale is: the chip's reference of 0.6 V behind its gain of a sixth.
const FULL_SCALE_MV: u32 = 3_600;
/// Steps from nothing to full scale: 12 bits.
const FULL_SCALE_STEPS: u32 = 1 << 12;

/// What is the same on every board with this chip.
pub(crate) struct Nrf {
    saadc: Saadc<'static, 1>,
    watchdog: Option<WatchdogHandle>,
}

impl Nrf {
    pub(crate) fn new(saadc: Peri<'static, peripherals::SAADC>, dog: Peri<'static, peripherals::WDT>) -> Self {
        let mut config = wdt::Config::default();
        config.timeout_ticks = PATIENCE_TICKS;
        config.action_during_debug_halt = HaltConfig::Pause;
        let watchdog = Watchdog::try_new(dog, config).ok().map(|(_, [handle])| handle);
        if watchdog.is_none() {
            defmt::warn!("the watchdog runs already, with other settings: the board goes on without");
        }
        let supply = ChannelConfig::single_ended(VddInput);
        Self { saadc: Saadc::new(saadc, Interrupts, Config::default(), [supply]), watchdog }
    }
}

impl Hardware for Nrf {
    fn feed(&mut self) {
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.pet();
        }
    }

    async fn gauge(&mut self) -> Gauge {
        let mut samples = [0; 1];
        self.saadc.sample(&mut samples).await;
        let [steps] = samples.map(|sample| u32::try_from(sample).unwrap_or(0));
        let millivolts = steps.saturating_mul(FULL_SCALE_MV).checked_div(FULL_SCALE_STEPS).unwrap_or(0);
        Gauge { supply: SUPPLY.left(millivolts), memory: chip::memory_free(), uplink: false }
    }
}
