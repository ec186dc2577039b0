//! What an image takes of its board, and whether it is where the board looks for it.

use super::{Board, Limits, PanicPath, Region, panic_paths};
use object::{Object, ObjectSection, SectionFlags, elf};
use serde::Serialize;

/// What an image takes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// Of flash.
    pub flash: u64,
    /// Of RAM, without the stack.
    pub ram: u64,
}

/// What was found out about an image.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// What it takes.
    #[serde(flatten)]
    pub taken: Taken,
    /// What is wrong with it, a sentence each.
    pub violations: Vec<String>,
}

/// Looks into the image of a board, which may take no more than this; where nothing is said, what there is.
///
/// # Errors
/// When it cannot be read at all.
pub fn inspect(board: &Board, limits: Option<Limits>, image: &[u8]) -> Result<Verdict, String> {
    let file = object::File::parse(image).map_err(|error| error.to_string())?;
    let mut violations = Vec::new();
    let taken = place(board, &file, &mut violations);
    let limits = limits.map(|limits| [("flash", taken.flash, limits.flash), ("RAM", taken.ram, limits.ram)]);
    for (what, taken, limit) in limits.into_iter().flatten() {
        if taken > limit {
            violations.push(format!("{taken} bytes of {what} are more than the limit of {limit}"));
        }
    }
    vectors(board, &file, &mut violations);
    let panics = panic_paths(image)?;
    violations.extend(panics.iter().map(|path: &PanicPath| format!("protocol can panic: {path}")));
    Ok(Verdict { taken, violations })
}

/// Adds up what goes to the board, and sees that each piece has a place there.
fn place(board: &Board, file: &object::File<'_>, violations: &mut Vec<String>) -> Taken {
    let layout = board.layout();
    let mut taken = Taken::default();
    for section in file.sections().filter(|section| section.size() > 0) {
        let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
        if sh_flags & u64::from(elf::SHF_ALLOC) == 0 {
            continue; // for debuggers and log decoders
        }
        let (name, bytes) = (section.name().unwrap_or_default(), section.size());
        let home = layout.regions.iter().find(|region: &&Region| region.holds(section.address(), bytes));
        match home.map(|region| region.name.as_str()) {
            Some("RAM") => {
                taken.ram += bytes;
                // What begins with a value is kept in flash until the program starts.
                let (_, in_file) = section.file_range().unwrap_or_default();
                taken.flash += in_file.min(bytes);
            }
            Some("FLASH" | "BOOT2") => taken.flash += bytes,
            Some(other) => violations.push(format!("{name} lies in {other}, which is not the program's")),
            None => violations.push(format!("{name} at {:#x} lies nowhere on the board", section.address())),
        }
    }
    taken
}

/// The processor starts at the beginning of flash: with the end of the stack, and with the first instruction.
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
