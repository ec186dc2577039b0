//! The CMSDK watchdog: a board whose main loop has stopped is reset.
//!
//! It counts down from [`SPAN`] to a non-maskable interrupt, which notes the fact and resets ([`crate::fault`]).
//! Should even that hang, the device resets the board itself a second span later, and nobody notes it.
//!
//! The span is long because the host may be slow. An emulator paused by its own command stops this clock too; one
//! stopped as a process does not, and its board is reset if that took longer than the span.

use crate::peripherals::{Block, CLOCK_HZ, WATCHDOG};
use embassy_time::Duration;
use firmware::drive::FEED_PERIOD;

/// How long the main loop may be silent.
pub(crate) const SPAN: Duration = Duration::from_secs(8);

const _: () = assert!(FEED_PERIOD.as_ticks() * 2 <= SPAN.as_ticks(), "the loop feeds it in good time");

/// Where counting down starts.
const LOAD: usize = 0x000;
/// What happens at 0.
const CONTROL: usize = 0x008;
const CONTROL_INTERRUPT: u32 = 1;
const CONTROL_RESET: u32 = 1 << 1;
/// Written to clear the interrupt and start over.
const INTERRUPT_CLEAR: usize = 0x00c;
/// Written with the key to allow writing the others, with anything else to forbid it.
const LOCK: usize = 0xc00;
const LOCK_KEY: u32 = 0x1acc_e551;

const SPAN_CYCLES: u32 = {
    let cycles = SPAN.as_secs() * CLOCK_HZ as u64;
    assert!(cycles <= u32::MAX as u64, "the counter has 32 bits");
    #[expect(clippy::cast_possible_truncation, reason = "checked in the line above")]
    {
        cycles as u32
    }
};

/// A running watchdog. It cannot be stopped.
pub(crate) struct Watchdog(Block);

impl Watchdog {
    /// Starts it. From now on it wants to be fed.
    pub(crate) fn start() -> Self {
        let device = WATCHDOG;
        device.write(LOCK, LOCK_KEY);
        device.write(LOAD, SPAN_CYCLES);
        device.write(INTERRUPT_CLEAR, 1);
        device.write(CONTROL, CONTROL_INTERRUPT | CONTROL_RESET);
        device.write(LOCK, 0);
        Self(device)
    }

    /// Says that the main loop is alive. Only that loop should: it has then seen time pass and frames move.
    pub(crate) fn feed(&mut self) {
        self.0.write(LOCK, LOCK_KEY);
        self.0.write(INTERRUPT_CLEAR, 1);
        self.0.write(LOCK, 0);
    }
}
