//! What takes how much of one image: its crates, the stages of the protocol, its sections.
//!
//! Code is booked where it was written: an instruction that was inlined counts for the crate of its source line, and
//! one of the standard library counts for whoever called it. Data counts for the crate that names it.

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use host_sim::boards::BOARDS;
use object::{Object, ObjectSection, ObjectSymbol};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// A Thumb instruction is this long, or twice as long.
const INSTRUCTION_BYTES: u64 = 2;
/// The symbol whose value is what the node takes of its task's memory.
const NODE_BYTES: &str = "__conclave_node_bytes";
/// Files of the protocol that are no stage of it: what all stages are made of counts for the stage that uses it.
const MATERIAL: [&str; 7] = ["algorithm", "capacity", "clock", "dice", "group", "records", "time"];
/// What code of the standard library is called.
const STANDARD: [&str; 5] = ["core", "alloc", "compiler-builtins", "libm", "std"];

/// What is taken of each memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Bytes {
    flash: u64,
    ram: u64,
}

/// What takes how much.
#[derive(Debug, Default, Serialize)]
pub(super) struct Sizes {
    #[serde(flatten)]
    total: Bytes,
    sections: BTreeMap<String, u64>,
    crates: BTreeMap<String, Bytes>,
    /// The protocol's code by stage: its folders and files.
    stages: BTreeMap<String, u64>,
}

/// Measures an image.
pub(super) fn sizes(elf: &[u8]) -> Result<Sizes, String> {
    let file = object::File::parse(elf).map_err(|error| error.to_string())?;
    let mut sizes = Sizes::default();
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        let share = match name {
            ".boot2" | ".vector_table" | ".text" | ".rodata" => Bytes { flash: 1, ram: 0 },
            ".data" => Bytes { flash: 1, ram: 1 }, // kept in flash, used in RAM
            ".bss" | ".uninit" => Bytes { flash: 0, ram: 1 },
            _ => continue, // for debuggers and log decoders: not on the board
        };
        sizes.total.flash += share.flash * section.size();
        sizes.total.ram += share.ram * section.size();
        sizes.sections.insert(name.to_owned(), section.size());
        if name == ".text" {
            sizes.book_code(&file, &section)?;
        } else {
            sizes.book_data(&file, &section, share);
        }
    }
    sizes.book_node(&file);
    Ok(sizes)
}

impl Sizes {
    fn of(&mut self, owner: &str) -> &mut Bytes {
        self.crates.entry(owner.to_owned()).or_default()
    }

    /// Books every instruction where its source line is.
    fn book_code(&mut self, file: &object::File<'_>, text: &object::Section<'_, '_>) -> Result<(), String> {
        let load = |id: SectionId| -> Result<EndianSlice<'_, LittleEndian>, addr2line::gimli::Error> {
            let bytes = file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or(&[]);
            Ok(EndianSlice::new(bytes, LittleEndian))
        };
        let context = Dwarf::load(load).and_then(Context::from_dwarf).map_err(|error| error.to_string())?;
        let mut address = text.address();
        while address < text.address() + text.size() {
            match place_of(&context, address) {
                Some(place) => {
                    self.of(&place.owner).flash += INSTRUCTION_BYTES;
                    if let Some(stage) = place.stage {
                        *self.stages.entry(stage).or_default() += INSTRUCTION_BYTES;
                    }
                }
                None => self.of("code without a source").flash += INSTRUCTION_BYTES,
            }
            address += INSTRUCTION_BYTES;
        }
        Ok(())
    }

    /// Books every named piece of data where its name is, and the rest of the section as unnamed.
    fn book_data(&mut self, file: &object::File<'_>, section: &object::Section<'_, '_>, share: Bytes) {
        let mut left = section.size();
        for symbol in file.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
            let size = symbol.size().min(left);
            left -= size;
            let owner = crate_of(symbol.name().unwrap_or_default());
            let bytes = self.of(owner.as_deref().unwrap_or("data without a name"));
            bytes.flash += share.flash * size;
            bytes.ram += share.ram * size;
        }
        let rest = self.of("data without a name");
        rest.flash += share.flash * left;
        rest.ram += share.ram * left;
    }

    /// The node is a part of its task's memory: books it where it belongs.
    fn book_node(&mut self, file: &object::File<'_>) {
        let Some(symbol) = file.symbols().find(|symbol| symbol.name() == Ok(NODE_BYTES)) else { return };
        let program = |owner: &&String| BOARDS.iter().any(|board| board.package == *owner);
        let Some(program) = self.crates.keys().find(program).cloned() else { return };
        let task = self.of(&program);
        let node = symbol.address().min(task.ram);
        task.ram -= node;
        self.of("protocol").ram += node;
    }
}

/// Whose code an instruction is.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    owner: String,
    stage: Option<String>,
}

fn place_of(context: &Context<EndianSlice<'_, LittleEndian>>, address: u64) -> Option<Place> {
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    let mut found: Option<Place> = None;
    // From the innermost inlined call outwards: the first that is not the standard library's is the owner, and the
    // first that is more than material is the stage.
    while let Ok(Some(frame)) = frames.next() {
        let Some(place) = frame.location.and_then(|location| location.file).and_then(place_of_file) else { continue };
        let done = place.stage.as_deref().is_some_and(|stage| !MATERIAL.contains(&stage));
        match &mut found {
            Some(owner) if !STANDARD.contains(&&*owner.owner) => {
                if owner.stage.is_none() || place.stage.is_none() {
                    break;
                }
                owner.stage = place.stage;
            }
            Some(_) | None => found = Some(place),
        }
        if done {
            break;
        }
    }
    found
}

/// The crate of a source file: the folder that its `src` is in, without a version.
fn place_of_file(path: &str) -> Option<Place> {
    let (before, inside) = path.rsplit_once("/src/")?;
    let folder = before.rsplit_once('/').map_or(before, |(_, folder)| folder);
    let is_version = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    let owner = match folder.rsplit_once('-') {
        Some((name, version)) if is_version(version) => name,
        Some(_) | None => folder,
    };
    let stage = inside.split('/').next().map(|first| first.trim_end_matches(".rs").to_owned());
    Some(Place { owner: called(owner), stage: stage.filter(|_| owner == "protocol") })
}

/// The crate of a symbol: the first name in it.
fn crate_of(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let name = format!("{name:#}");
    let first = name.trim_start_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let (first, _) = first.split_once("::")?;
    Some(called(first))
}

/// A crate by the name of its package: a board's program has the name of its folder, or of its board.
fn called(name: &str) -> String {
    let name = name.replace('_', "-");
    let of = |package: &str| package.strip_prefix("firmware-").is_some_and(|folder| folder == name);
    BOARDS
        .iter()
        .find(|board| board.name == name || of(board.package))
        .map_or(name.clone(), |board| board.package.into())
}

pub(super) fn show(sizes: &Sizes) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut crates: Vec<_> = sizes.crates.iter().filter(|(_, bytes)| bytes.flash + bytes.ram > 0).collect();
    crates.sort_by_key(|(_, bytes)| std::cmp::Reverse(bytes.flash + bytes.ram));
    writeln!(out, "| crate | flash | RAM |\n| --- | ---: | ---: |")?;
    for (name, Bytes { flash, ram }) in crates {
        writeln!(out, "| {name} | {flash} | {ram} |")?;
    }
    writeln!(out, "| **all** | **{}** | **{}** |", sizes.total.flash, sizes.total.ram)?;
    writeln!(out, "\n| stage of `protocol` | flash |\n| --- | ---: |")?;
    let mut stages: Vec<_> = sizes.stages.iter().collect();
    stages.sort_by_key(|(_, flash)| std::cmp::Reverse(**flash));
    for (name, flash) in stages {
        writeln!(out, "| {name} | {flash} |")?;
    }
    writeln!(out, "\n| section | bytes |\n| --- | ---: |")?;
    for (name, bytes) in &sizes.sections {
        writeln!(out, "| {name} | {bytes} |")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(path: &str) -> Option<String> {
        place_of_file(path).map(|place| place.owner)
    }

    #[test]
    fn a_source_file_belongs_to_the_crate_its_folder_is_named_after() {
        assert_eq!(owner("/home/x/smoltcp-0.13.1/src/iface/route.rs").as_deref(), Some("smoltcp"));
        assert_eq!(owner("/rustc/abc/library/core/src/fmt/mod.rs").as_deref(), Some("core"));
        assert_eq!(owner("/x/firmware/qemu/src/main.rs").as_deref(), Some("firmware-qemu"));
        assert_eq!(owner("firmware/nrf/src/bin/microbit-v2.rs").as_deref(), Some("firmware-nrf"));
        assert_eq!(owner("/x/embassy-net-driver-0.2.0/src/lib.rs").as_deref(), Some("embassy-net-driver"));
        assert_eq!(owner("somewhere"), None);
    }

    #[test]
    fn a_stage_is_a_folder_or_a_file_of_the_protocol() {
        let stage = |path: &str| place_of_file(path).and_then(|place| place.stage);
        assert_eq!(stage("/x/protocol/src/election/wireless.rs").as_deref(), Some("election"));
        assert_eq!(stage("/x/protocol/src/link.rs").as_deref(), Some("link"));
        assert_eq!(stage("/x/firmware/src/drive.rs"), None);
    }

    #[test]
    fn a_symbol_belongs_to_the_first_crate_it_names() {
        assert_eq!(crate_of("_ZN8protocol4node6handle17h0123456789abcdefE").as_deref(), Some("protocol"));
        assert_eq!(crate_of("_ZN10mps2_an3854node4POOL17hbdd85e83534fa672E").as_deref(), Some("firmware-qemu"));
        let implementation = "_ZN49_$LT$smoltcp..wire..Ipv4$u20$as$u20$core..Any$GT$3get17h0123456789abcdefE";
        assert_eq!(crate_of(implementation).as_deref(), Some("smoltcp"));
        assert_eq!(crate_of("_stack_start"), None);
    }
}
