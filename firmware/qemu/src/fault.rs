//! What the board does when it must not go on: count it where a reset cannot reach, and reset.
//!
//! The algorithms are built for nodes that stop and come back; they are not built for nodes that go on wrongly. A
//! board that fails again and again before it was ever well falls silent, until power is cycled.

use crate::retained::{Retained, TALLY_WORDS};
use core::panic::PanicInfo;
use cortex_m::peripheral::SCB;
use firmware::crc::Crc;
use firmware::store::Memory;

/// Faults in a row, with no time of being well between them, after which the board stays silent.
pub(crate) const STREAK_MAX: u32 = 8;

/// Marks a tally, so that memory full of zeros is none.
const MAGIC: u32 = 0x464c_5431;
const FIELDS: usize = 6;

const _: () = assert!(FIELDS < TALLY_WORDS, "the fields and their checksum fit");

/// How often what went wrong, since power came on.
#[derive(Clone, Copy, Default, defmt::Format)]
pub(crate) struct Tally {
    /// Panics of the program.
    pub(crate) panics: u32,
    /// Faults of the processor.
    pub(crate) faults: u32,
    /// Times the watchdog was not fed.
    pub(crate) starved: u32,
    /// Times the node stopped itself.
    pub(crate) halts: u32,
    /// All of these since the board was last well.
    pub(crate) streak: u32,
    /// Line of the last panic, or address of the last fault.
    pub(crate) place: u32,
}

impl Tally {
    /// The tally so far; nothing counted if memory holds none.
    pub(crate) fn load() -> Self {
        let memory = Retained::TALLY;
        let [panics, faults, starved, halts, streak, place] = core::array::from_fn(|field| memory.read(field));
        let tally = Self { panics, faults, starved, halts, streak, place };
        if memory.read(FIELDS) == tally.checksum() { tally } else { Self::default() }
    }

    fn save(self) {
        let mut memory = Retained::TALLY;
        for (index, field) in self.fields().into_iter().enumerate() {
            memory.write(index, field);
        }
        memory.write(FIELDS, self.checksum());
    }

    const fn fields(&self) -> [u32; FIELDS] {
        [self.panics, self.faults, self.starved, self.halts, self.streak, self.place]
    }

    fn checksum(&self) -> u32 {
        let start = Crc::new().with(&MAGIC.to_le_bytes());
        self.fields().iter().fold(start, |crc, field| crc.with(&field.to_le_bytes())).value()
    }
}

/// What went wrong.
enum Fault {
    Panic { line: u32 },
    Processor { address: u32 },
    Starved,
    Halt,
}

/// Notes that the board has been well for a while: what failed before no longer counts as in a row.
pub(crate) fn well() {
    let tally = Tally::load();
    if tally.streak != 0 {
        Tally { streak: 0, ..tally }.save();
    }
}

fn note(fault: &Fault) {
    let mut tally = Tally::load();
    tally.streak = tally.streak.saturating_add(1);
    match *fault {
        Fault::Panic { line } => {
            tally.panics = tally.panics.saturating_add(1);
            tally.place = line;
        }
        Fault::Processor { address } => {
            tally.faults = tally.faults.saturating_add(1);
            tally.place = address;
        }
        Fault::Starved => tally.starved = tally.starved.saturating_add(1),
        Fault::Halt => tally.halts = tally.halts.saturating_add(1),
    }
    tally.save();
}

/// Stops a board that is not what it was built for.
pub(crate) fn fail() -> ! {
    note(&Fault::Processor { address: 0 });
    SCB::sys_reset()
}

/// Starts over: the node has stopped itself.
pub(crate) fn halt() -> ! {
    note(&Fault::Halt);
    SCB::sys_reset()
}

#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    let line = info.location().map_or(0, core::panic::Location::line);
    note(&Fault::Panic { line });
    if let Some(place) = info.location() {
        defmt::error!("panic at {=str}:{=u32}; resetting", place.file(), place.line());
    } else {
        defmt::error!("panic; resetting");
    }
    SCB::sys_reset()
}

/// Handlers that may have interrupted anything, the logger too: they only count. The next boot tells.
mod handlers {
    #![expect(
        unsafe_code,
        reason = "the runtime wants them marked so; they do not touch or go back to what was running"
    )]

    use super::{Fault, note};
    use cortex_m::peripheral::SCB;
    use cortex_m_rt::{ExceptionFrame, exception};

    #[exception]
    unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
        note(&Fault::Processor { address: frame.pc() });
        SCB::sys_reset()
    }

    /// The watchdog's first warning comes here. It is the last, too: this reset can say why.
    #[exception]
    unsafe fn NonMaskableInt() -> ! {
        note(&Fault::Starved);
        SCB::sys_reset()
    }
}
