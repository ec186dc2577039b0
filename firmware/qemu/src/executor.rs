//! Runs the tasks, and sleeps when none has work.
//!
//! The crate's own executor for this processor sleeps with WFE, which QEMU takes as a hint to yield: an idle board
//! then keeps a core of the host busy. WFI stops the emulated processor until an interrupt comes.

use core::sync::atomic::{AtomicBool, Ordering};
use embassy_executor::{Spawner, raw};
use static_cell::StaticCell;

/// Whether a task has been woken since the executor last looked.
static WOKEN: AtomicBool = AtomicBool::new(false);

#[expect(unsafe_code, reason = "the executor calls back under this name when a task is woken")]
#[unsafe(no_mangle)]
extern "Rust" fn __pender(_context: *mut ()) {
    WOKEN.store(true, Ordering::Release);
}

/// Starts what `start` spawns and runs it for ever. Called once.
pub(crate) fn run(start: impl FnOnce(Spawner)) -> ! {
    static EXECUTOR: StaticCell<raw::Executor> = StaticCell::new();
    let executor = EXECUTOR.init(raw::Executor::new(core::ptr::null_mut()));
    start(executor.spawner());
    loop {
        #[expect(unsafe_code, reason = "the only call, and never from within itself")]
        unsafe {
            executor.poll();
        }
        // With interrupts off, a wake-up cannot slip in between the question and the sleep; a pending interrupt still
        // ends the sleep, and is handled as soon as they are on again.
        critical_section::with(|_| {
            if !WOKEN.swap(false, Ordering::AcqRel) {
                cortex_m::asm::wfi();
            }
        });
    }
}

/// Does nothing, for ever, at no cost.
pub(crate) fn idle() -> ! {
    loop {
        cortex_m::asm::wfi();
    }
}
