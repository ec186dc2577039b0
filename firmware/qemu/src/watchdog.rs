//! The CMSDK watchdog: it resets a board whose main loop has stopped.
//!
//! It counts down from [`TIMEOUT`] to a non-maskable interrupt, whose handler counts the fault and resets
//! ([`crate::fault`]). If the handler hangs, the device resets the board a second timeout later, without a count.
//!
//! The timeout is long because the host may be slow. An emulator paused by its own command stops this clock too; one
//! stopped as a process does not, and its board is reset if that took longer than the timeout.

use crate::peripherals::{Block, CLOCK_HZ, WATCHDOG};
use embassy_time::Duration;
use firmware::runner::FEED_PERIOD;

/// The longest time between two feeds.
const TIMEOUT: Duration = Duration::from_secs(8);

const _: () = assert!(FEED_PERIOD.as_ticks() * 2 <= TIMEOUT.as_ticks(), "fed at least twice per timeout");

const LOAD: usize = 0x000; // start value
const CONTROL: usize = 0x008; // effect of a timeout
const CONTROL_INTERRUPT: u32 = 1;
const CONTROL_RESET: u32 = 1 << 1;
const INTERRUPT_CLEAR: usize = 0x00c; // writing clears the interrupt and restarts the count
const LOCK: usize = 0xc00; // writing the key unlocks the other registers, any other value locks them
const LOCK_KEY: u32 = 0x1acc_e551;

const TIMEOUT_CYCLES: u32 = {
    let cycles = TIMEOUT.as_secs() * CLOCK_HZ as u64;
    assert!(cycles <= u32::MAX as u64, "the counter has 32 bits");
    #[expect(clippy::cast_possible_truncation, reason = "checked above")]
    {
        cycles as u32
    }
};

/// A running watchdog. It cannot be stopped.
pub(crate) struct Watchdog(Block);

impl Watchdog {
    pub(crate) fn start() -> Self {
        let device = WATCHDOG;
        device.write(LOCK, LOCK_KEY);
        device.write(LOAD, TIMEOUT_CYCLES);
        device.write(INTERRUPT_CLEAR, 1);
        device.write(CONTROL, CONTROL_INTERRUPT | CONTROL_RESET);
        device.write(LOCK, 0);
        Self(device)
    }

    /// Restarts the count. Only the main loop calls this.
    pub(crate) fn feed(&mut self) {
        self.0.write(LOCK, LOCK_KEY);
        self.0.write(INTERRUPT_CLEAR, 1);
        self.0.write(LOCK, 0);
    }
}
