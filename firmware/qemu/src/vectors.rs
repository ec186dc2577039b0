//! The interrupts this board uses, and who handles them.

use crate::{fault, lan9118, time_driver};
use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;

/// Interrupt lines of the processor, from Arm's application note 385.
const LINES: usize = 32;

/// An interrupt line in use; the number is its place in the vector table.
#[derive(Clone, Copy)]
pub(crate) enum Interrupt {
    /// Timer 1: a deadline has come.
    Alarm = 9,
    /// The Ethernet controller wants attention.
    Ethernet = 13,
}

#[expect(unsafe_code, reason = "the numbers are those of the vector table below, and do not change")]
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

impl Interrupt {
    /// Forgets what is pending on this line and lets it interrupt from now on.
    pub(crate) fn enable(self) {
        NVIC::unpend(self);
        #[expect(unsafe_code, reason = "its handler shares state through critical sections and atomics only")]
        unsafe {
            NVIC::unmask(self);
        }
    }
}

type Handler = extern "C" fn();

#[expect(clippy::indexing_slicing, reason = "done by the compiler, which refuses a number that is not in the table")]
const fn table() -> [Handler; LINES] {
    let mut table = [stray as Handler; LINES];
    table[Interrupt::Alarm as usize] = alarm;
    table[Interrupt::Ethernet as usize] = ethernet;
    table
}

#[expect(unsafe_code, reason = "the runtime's linker script wants the table under this name, in this place")]
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [Handler; LINES] = table();

extern "C" fn alarm() {
    time_driver::on_alarm();
}

extern "C" fn ethernet() {
    lan9118::on_interrupt();
}

/// No other line is ever enabled: if one comes, this is not the board it was built for.
extern "C" fn stray() {
    fault::fail()
}
