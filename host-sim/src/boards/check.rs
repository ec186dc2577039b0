//! Inspection of an image: the memory it uses, its location, and its panics.

use super::{Board, Bytes, PanicPath, Region, panic_paths};
use object::{Object, ObjectSection, SectionFlags, elf};
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Inspection {
    #[serde(flatten)]
    pub used: Bytes,
    /// The violations, a sentence each.
    pub violations: Vec<String>,
}

/// Inspects the image of a board against `limits`, if there are any besides the board's memory.
pub(crate) fn inspect(board: &Board, limits: Option<Bytes>, image: &[u8]) -> Result<Inspection, String> {
    let file = object::File::parse(image).map_err(|error| error.to_string())?;
    let mut violations = Vec::new();
    let used = sections(board, &file, &mut violations);
    let limits = limits.map(|limits| [("flash", used.flash, limits.flash), ("RAM", used.ram, limits.ram)]);
    for (memory, used, limit) in limits.into_iter().flatten() {
        if used > limit {
            violations.push(format!("{used} bytes of {memory} are more than the limit of {limit}"));
        }
    }
    vectors(board, &file, &mut violations);
    let panics = panic_paths(image)?;
    violations.extend(panics.iter().map(|path: &PanicPath| format!("protocol can panic: {path}")));
    Ok(Inspection { used, violations })
}

/// Adds up the sections that go to the board, and checks that each is in a memory region.
fn sections(board: &Board, file: &object::File<'_>, violations: &mut Vec<String>) -> Bytes {
    let layout = board.layout();
    let mut used = Bytes::default();
    for section in file.sections().filter(|section| section.size() > 0) {
        let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
        if sh_flags & u64::from(elf::SHF_ALLOC) == 0 {
            continue; // for debuggers and the log decoder
        }
        let (name, bytes) = (section.name().unwrap_or_default(), section.size());
        let home = layout.regions.iter().find(|region: &&Region| region.holds(section.address(), bytes));
        match home.map(|region| region.name.as_str()) {
            Some("RAM") => {
                used.ram += bytes;
                // Initial values are stored in flash.
                let (_, in_file) = section.file_range().unwrap_or_default();
                used.flash += in_file.min(bytes);
            }
            Some("FLASH" | "BOOT2") => used.flash += bytes,
            Some(other) => violations.push(format!("{name} is in {other}, which is not for the program")),
            None => violations.push(format!("{name} at {:#x} is in no memory of the board", section.address())),
        }
    }
    used
}

/// Checks the vector table at the beginning of flash: the initial stack pointer and the reset vector.
fn vectors(board: &Board, file: &object::File<'_>, violations: &mut Vec<String>) {
    let layout = board.layout();
    let (Some(flash), Some(ram)) = (layout.region("FLASH"), layout.region("RAM")) else { return };
    let Some(table) = file.section_by_name(".vector_table") else {
        violations.push("there is no vector table".to_owned());
        return;
    };
    if table.address() != flash.origin {
        violations.push(format!("the vector table is at {:#x}, not at {:#x}", table.address(), flash.origin));
    }
    let words = table.data().unwrap_or_default().as_chunks::<4>().0;
    let [stack, reset] = [0, 1].map(|index| words.get(index).map_or(0, |word| u64::from(u32::from_le_bytes(*word))));
    let end = ram.origin + ram.bytes;
    if stack != end {
        violations.push(format!("the stack begins at {stack:#x}, not at the end of RAM, {end:#x}"));
    }
    if reset & 1 == 0 || !flash.holds(reset - (reset & 1), 2) {
        violations.push(format!("the first instruction is at {reset:#x}, not in flash"));
    }
}
