//! Runs the tasks, and sleeps with WFI while none is ready.
//!
//! The executor of the crate sleeps with WFE, which QEMU takes as a hint to yield: an idle board then keeps a core of
//! the host busy. WFI stops the emulated processor until an interrupt.

use core::sync::atomic::{AtomicBool, Ordering};
use embassy_executor::{Spawner, raw};
use static_cell::StaticCell;

/// Whether a task was woken since the last poll.
static WOKEN: AtomicBool = AtomicBool::new(false);

#[expect(unsafe_code, reason = "the executor calls this symbol when a task is woken")]
#[unsafe(no_mangle)]
extern "Rust" fn __pender(_context: *mut ()) {
    WOKEN.store(true, Ordering::Release);
}

/// Runs the tasks that `start` spawns. Called once.
pub(crate) fn run(start: impl FnOnce(Spawner)) -> ! {
    static EXECUTOR: StaticCell<raw::Executor> = StaticCell::new();
    let executor = EXECUTOR.init(raw::Executor::new(core::ptr::null_mut()));
    start(executor.spawner());
    loop {
        #[expect(unsafe_code, reason = "the only call, and never from within itself")]
        unsafe {
            executor.poll();
        }
        // With interrupts masked, no wake-up is missed between the check and the sleep; a pending interrupt ends the
        // sleep, and is handled once they are unmasked.
        critical_section::with(|_| {
            if !WOKEN.swap(false, Ordering::AcqRel) {
                cortex_m::asm::wfi();
            }
        });
    }
}

pub(crate) fn idle() -> ! {
    loop {
        cortex_m::asm::wfi();
    }
}
