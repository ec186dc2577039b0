//! The watchdog and the sensors of the chip.

use crate::Interrupts;
use embassy_nrf::saadc::{ChannelConfig, Config, Saadc, VddInput};
use embassy_nrf::wdt::{self, HaltConfig, Watchdog, WatchdogHandle};
use embassy_nrf::{Peri, peripherals};
use firmware::cortex_m;
use firmware::runner::FEED_PERIOD;
use firmware::ui::Hardware;
use firmware::vitals::{Supply, Vitals};

/// Timeout of the watchdog, in ticks of 32,768 Hz.
const TIMEOUT_TICKS: u32 = 8 * 32_768;
const _: () = assert!(FEED_PERIOD.as_secs() * 2 * 32_768 <= TIMEOUT_TICKS as u64, "fed at least twice per timeout");

/// Two cells, or a coin cell. USB power counts as full.
const SUPPLY: Supply = Supply { empty_mv: 1_900, full_mv: 2_900 };
/// Full scale of the converter: the reference of 0.6 V behind a gain of 1/6.
const FULL_SCALE_MV: u32 = 3_600;
/// Steps of full scale: 12 bits.
const FULL_SCALE_STEPS: u32 = 1 << 12;

pub(crate) struct Nrf {
    saadc: Saadc<'static, 1>,
    watchdog: Option<WatchdogHandle>,
}

impl Nrf {
    pub(crate) fn new(saadc: Peri<'static, peripherals::SAADC>, wdt: Peri<'static, peripherals::WDT>) -> Self {
        let mut config = wdt::Config::default();
        config.timeout_ticks = TIMEOUT_TICKS;
        config.action_during_debug_halt = HaltConfig::Pause;
        let watchdog = Watchdog::try_new(wdt, config).ok().map(|(_, [handle])| handle);
        if watchdog.is_none() {
            defmt::warn!("the watchdog already runs with other settings and is not fed");
        }
        let supply = ChannelConfig::single_ended(VddInput);
        Self { saadc: Saadc::new(saadc, Interrupts, Config::default(), [supply]), watchdog }
    }
}

impl Hardware for Nrf {
    fn feed_watchdog(&mut self) {
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.pet();
        }
    }

    async fn read_vitals(&mut self) -> Vitals {
        let mut samples = [0; 1];
        self.saadc.sample(&mut samples).await;
        let [steps] = samples.map(|sample| u32::try_from(sample).unwrap_or(0));
        let millivolts = steps.saturating_mul(FULL_SCALE_MV).checked_div(FULL_SCALE_STEPS).unwrap_or(0);
        Vitals { supply: SUPPLY.percent_left(millivolts), memory: cortex_m::memory_free(), uplink: false }
    }
}
