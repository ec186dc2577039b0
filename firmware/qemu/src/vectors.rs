//! The interrupts of this board, and their handlers.

use crate::fault::{self, Fault};
use crate::{lan9118, time_driver};
use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;

/// Interrupt lines of the processor, from Arm's application note 385.
const LINES: usize = 32;

/// An interrupt line in use; the number is its index in the vector table.
#[derive(Clone, Copy)]
pub(crate) enum Interrupt {
    /// Timer 1, the alarm.
    Alarm = 9,
    Ethernet = 13,
}

#[expect(unsafe_code, reason = "the constant indices of the vector table below")]
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

impl Interrupt {
    /// Clears a pending interrupt and unmasks the line.
    pub(crate) fn enable(self) {
        NVIC::unpend(self);
        #[expect(unsafe_code, reason = "handlers share state through critical sections and atomics only")]
        unsafe {
            NVIC::unmask(self);
        }
    }
}

type Handler = extern "C" fn();

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn table() -> [Handler; LINES] {
    let mut table = [stray as Handler; LINES];
    table[Interrupt::Alarm as usize] = alarm;
    table[Interrupt::Ethernet as usize] = ethernet;
    table
}

#[expect(unsafe_code, reason = "the symbol and the section of the runtime's linker script")]
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [Handler; LINES] = table();

extern "C" fn alarm() {
    time_driver::on_alarm();
}

extern "C" fn ethernet() {
    lan9118::on_interrupt();
}

/// No other line is ever enabled: this is not the board of the image.
extern "C" fn stray() {
    fault::reset(&Fault::Processor { address: 0 })
}
