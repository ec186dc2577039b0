//! Faults: counted in retained memory, then the board resets.
//!
//! The algorithms tolerate nodes that stop and recover, not nodes that continue with a corrupted state. A board that
//! fails again and again before it was ever healthy stops, until power is cycled.

use crate::retained::{FAULT_WORDS, Retained};
use core::panic::PanicInfo;
use cortex_m::peripheral::SCB;
use firmware::storage::crc::Crc;
use firmware::storage::retained_store::Memory;

/// Faults in a row, without a healthy phase, after which the board stops.
pub(crate) const STREAK_MAX: u32 = 8;

/// Distinguishes counters from memory full of zeros.
const MAGIC: u32 = 0x464c_5431;
const FIELDS: usize = 6;

const _: () = assert!(FIELDS < FAULT_WORDS, "the fields and their checksum fit");

/// Faults since power-on.
#[derive(Clone, Copy, Default, defmt::Format)]
pub(crate) struct FaultCounters {
    pub(crate) panics: u32,
    pub(crate) faults: u32,
    pub(crate) watchdog: u32,
    pub(crate) halts: u32,
    /// All of these since the board was last healthy.
    pub(crate) streak: u32,
    /// Line of the last panic, or address of the last fault.
    pub(crate) location: u32,
}

impl FaultCounters {
    /// Loads the counters; zeros where the memory holds none.
    pub(crate) fn load() -> Self {
        let memory = Retained::FAULTS;
        let [panics, faults, watchdog, halts, streak, location] = core::array::from_fn(|field| memory.read(field));
        let counters = Self { panics, faults, watchdog, halts, streak, location };
        if memory.read(FIELDS) == counters.checksum() { counters } else { Self::default() }
    }

    fn save(self) {
        let mut memory = Retained::FAULTS;
        for (index, field) in self.fields().into_iter().enumerate() {
            memory.write(index, field);
        }
        memory.write(FIELDS, self.checksum());
    }

    const fn fields(&self) -> [u32; FIELDS] {
        [self.panics, self.faults, self.watchdog, self.halts, self.streak, self.location]
    }

    fn checksum(&self) -> u32 {
        let start = Crc::EMPTY.with(&MAGIC.to_le_bytes());
        self.fields().iter().fold(start, |crc, field| crc.with(&field.to_le_bytes())).value()
    }
}

pub(crate) enum Fault {
    Panic { line: u32 },
    Processor { address: u32 },
    Watchdog,
    Halt,
}

/// Records that the board is healthy: earlier faults no longer count as in a row.
pub(crate) fn clear_streak() {
    let counters = FaultCounters::load();
    if counters.streak != 0 {
        FaultCounters { streak: 0, ..counters }.save();
    }
}

/// Counts a fault and resets.
pub(crate) fn reset(fault: &Fault) -> ! {
    record(fault);
    SCB::sys_reset()
}

fn record(fault: &Fault) {
    let mut counters = FaultCounters::load();
    let counter = match *fault {
        Fault::Panic { line } => {
            counters.location = line;
            &mut counters.panics
        }
        Fault::Processor { address } => {
            counters.location = address;
            &mut counters.faults
        }
        Fault::Watchdog => &mut counters.watchdog,
        Fault::Halt => &mut counters.halts,
    };
    for counter in [counter, &mut counters.streak] {
        *counter = counter.saturating_add(1);
    }
    counters.save();
}

#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    record(&Fault::Panic { line: info.location().map_or(0, core::panic::Location::line) });
    firmware::cortex_m::log_panic(info);
    SCB::sys_reset()
}

/// Handlers that may have interrupted anything, the logger too: they only count. The next boot logs the counters.
mod handlers {
    #![expect(unsafe_code, reason = "required by the runtime; they do not touch or resume the interrupted code")]

    use super::{Fault, reset};
    use cortex_m_rt::{ExceptionFrame, exception};

    #[exception]
    unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
        reset(&Fault::Processor { address: frame.pc() })
    }

    /// The first timeout of the watchdog. Resetting here, before the second, allows to count it.
    #[exception]
    unsafe fn NonMaskableInt() -> ! {
        reset(&Fault::Watchdog)
    }
}
