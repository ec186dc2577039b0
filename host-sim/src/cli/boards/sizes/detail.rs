//! The memory of one image by crate, by stage of the protocol, and by section.
//!
//! Code counts for the crate of its source line, also when it was inlined; code of the standard library counts for its
//! caller. Data counts for the crate in its symbol.

use crate::boards::{BOARDS, Bytes, LineTable, line_table};
use object::{Object, ObjectSection, ObjectSymbol};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// The length of a Thumb instruction; some are twice as long.
const INSTRUCTION_BYTES: u64 = 2;
/// The symbol whose value is the size of the node, a part of its task's memory.
const NODE_BYTES: &str = "__conclave_node_bytes";
/// Files and folders of the protocol that are no stage: their code counts for the stage that calls it.
const SHARED: [&str; 2] = ["algorithm", "base"];
const STANDARD: [&str; 5] = ["core", "alloc", "compiler-builtins", "libm", "std"];

#[derive(Debug, Default, Serialize)]
pub(super) struct Sizes {
    #[serde(flatten)]
    total: Bytes,
    sections: BTreeMap<String, u64>,
    crates: BTreeMap<String, Bytes>,
    /// The protocol's code by stage: its folders and files.
    stages: BTreeMap<String, u64>,
}

pub(super) fn sizes(elf: &[u8]) -> Result<Sizes, String> {
    let file = object::File::parse(elf).map_err(|error| error.to_string())?;
    let mut sizes = Sizes::default();
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        let share = match name {
            ".boot2" | ".vector_table" | ".text" | ".rodata" => Bytes { flash: 1, ram: 0 },
            ".data" => Bytes { flash: 1, ram: 1 }, // stored in flash, used in RAM
            ".bss" | ".uninit" => Bytes { flash: 0, ram: 1 },
            _ => continue, // for debuggers and the log decoder
        };
        add(&mut sizes.total, share, section.size());
        sizes.sections.insert(name.to_owned(), section.size());
        if name == ".text" {
            sizes.add_code(&file, &section)?;
        } else {
            sizes.add_data(&file, &section, share);
        }
    }
    sizes.move_node(&file);
    Ok(sizes)
}

impl Sizes {
    fn of(&mut self, owner: &str) -> &mut Bytes {
        self.crates.entry(owner.to_owned()).or_default()
    }

    /// Adds every instruction to the owner of its source line.
    fn add_code(&mut self, file: &object::File<'_>, text: &object::Section<'_, '_>) -> Result<(), String> {
        let context = line_table(file)?;
        let mut address = text.address();
        while address < text.address() + text.size() {
            match owner_of(&context, address) {
                Some(owner) => {
                    self.of(&owner.name).flash += INSTRUCTION_BYTES;
                    if let Some(stage) = owner.stage {
                        *self.stages.entry(stage).or_default() += INSTRUCTION_BYTES;
                    }
                }
                None => self.of("code without a source").flash += INSTRUCTION_BYTES,
            }
            address += INSTRUCTION_BYTES;
        }
        Ok(())
    }

    /// Adds every symbol of a data section to its crate, and the rest as unnamed.
    fn add_data(&mut self, file: &object::File<'_>, section: &object::Section<'_, '_>, share: Bytes) {
        let mut left = section.size();
        for symbol in file.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
            let size = symbol.size().min(left);
            left -= size;
            let owner = crate_of(symbol.name().unwrap_or_default());
            add(self.of(owner.as_deref().unwrap_or("data without a name")), share, size);
        }
        add(self.of("data without a name"), share, left);
    }

    /// Moves the node's memory from its task to the protocol.
    fn move_node(&mut self, file: &object::File<'_>) {
        let Some(symbol) = file.symbols().find(|symbol| symbol.name() == Ok(NODE_BYTES)) else { return };
        let program = |owner: &&String| BOARDS.iter().any(|board| board.package == *owner);
        let Some(program) = self.crates.keys().find(program).cloned() else { return };
        let task = self.of(&program);
        let node = symbol.address().min(task.ram);
        task.ram -= node;
        self.of("protocol").ram += node;
    }
}

/// Adds this many bytes to the memories that share them.
fn add(bytes: &mut Bytes, share: Bytes, size: u64) {
    bytes.flash += share.flash * size;
    bytes.ram += share.ram * size;
}

#[derive(Debug, PartialEq, Eq)]
struct Owner {
    name: String,
    stage: Option<String>,
}

fn owner_of(context: &LineTable<'_>, address: u64) -> Option<Owner> {
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    let mut found: Option<Owner> = None;
    // From the innermost inlined call outwards: the first outside of the standard library is the owner, and the first
    // that is not shared code is the stage.
    while let Ok(Some(frame)) = frames.next() {
        let Some(caller) = frame.location.and_then(|location| location.file).and_then(owner_of_file) else { continue };
        let done = caller.stage.as_deref().is_some_and(|stage| !SHARED.contains(&stage));
        match &mut found {
            Some(owner) if !STANDARD.contains(&&*owner.name) => {
                if owner.stage.is_none() || caller.stage.is_none() {
                    break;
                }
                owner.stage = caller.stage;
            }
            Some(_) | None => found = Some(caller),
        }
        if done {
            break;
        }
    }
    found
}

/// Returns the crate of a source file: the parent of its `src` folder, without a version.
fn owner_of_file(path: &str) -> Option<Owner> {
    let (before, inside) = path.rsplit_once("/src/")?;
    let folder = before.rsplit_once('/').map_or(before, |(_, folder)| folder);
    let is_version = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let owner = match folder.rsplit_once('-') {
        Some((name, version)) if is_version(version) => name,
        Some(_) | None => folder,
    };
    let stage = inside.split('/').next().map(|first| first.trim_end_matches(".rs").to_owned());
    Some(Owner { name: package(owner), stage: stage.filter(|_| owner == "protocol") })
}

/// Returns the crate of a symbol: its first path segment.
fn crate_of(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let name = format!("{name:#}");
    let first = name.trim_start_matches(|sign: char| !sign.is_alphanumeric() && sign != '_');
    let (first, _) = first.split_once("::")?;
    Some(package(first))
}

/// Returns the package of a crate: a board's program is named after its folder or its board.
fn package(name: &str) -> String {
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
        owner_of_file(path).map(|owner| owner.name)
    }

    #[test]
    fn a_source_file_belongs_to_the_crate_of_its_folder() {
        assert_eq!(owner("/home/x/smoltcp-0.13.1/src/iface/route.rs").as_deref(), Some("smoltcp"));
        assert_eq!(owner("/rustc/abc/library/core/src/fmt/mod.rs").as_deref(), Some("core"));
        assert_eq!(owner("/x/firmware/qemu/src/main.rs").as_deref(), Some("firmware-qemu"));
        assert_eq!(owner("firmware/nrf/src/bin/microbit-v2.rs").as_deref(), Some("firmware-nrf"));
        assert_eq!(owner("/x/embassy-net-driver-0.2.0/src/lib.rs").as_deref(), Some("embassy-net-driver"));
        assert_eq!(owner("somewhere"), None);
    }

    #[test]
    fn a_stage_is_a_folder_or_a_file_of_the_protocol() {
        let stage = |path: &str| owner_of_file(path).and_then(|owner| owner.stage);
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
