//! Whether `protocol` can make an image panic.
//!
//! A call belongs to `protocol` if the instruction was compiled from one of its lines, or from one inlined there. All
//! functions reachable from such a call, in any crate, are searched; if the panic handler is among them, there is a
//! path from `protocol` to a panic.
//!
//! The compiler keeps some checks that can never fail. Calls from the files in [`AUDITED`] are not followed; each entry
//! gives the reason.

use super::calls::{Call, Function, functions};
use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection};
use std::collections::BTreeSet;

const HANDLER: &str = "rust_begin_unwind";
/// The sources whose panics are searched for.
const SOURCES: &str = "protocol/src/";

/// Files whose checks can never fail although the compiler keeps them, and why.
const AUDITED: [(&str, &str); 1] =
    [("postcard-1.1.3/src/varint.rs", "every index is the counter of a loop over the very array that is indexed")];

/// What only other crates call: `protocol` has no `RefCell` (its `clippy.toml` forbids it). Where the compiler merges cold
/// blocks of inlined code, the line table may name it all the same.
const NEVER_CALLED: &str = "core::cell::panic_already";

/// A path from `protocol` to a panic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PanicPath {
    /// The line of `protocol` where it starts.
    pub line: String,
    pub through: Vec<String>,
}

impl std::fmt::Display for PanicPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} -> {}", self.line, self.through.join(" -> "))
    }
}

/// Returns the paths from `protocol` to a panic in an image, one for each line where one starts.
pub(crate) fn panic_paths(elf: &[u8]) -> Result<Vec<PanicPath>, String> {
    let file = object::File::parse(elf).map_err(|error| error.to_string())?;
    let mut functions = functions(&file);
    let Some(handler) = functions.iter().position(|function| function.name.ends_with(HANDLER)) else {
        return Err("the image has no panic handler".to_owned());
    };
    let context = line_table(&file)?;
    for function in &mut functions {
        function.calls.retain(|call| !is_audited(&context, call.at));
    }
    let is_ours = |call: &&Call| !functions[call.to].name.contains(NEVER_CALLED);
    let next = towards(handler, &functions);
    let mut seen = 0;
    let mut paths = BTreeSet::new();
    for call in functions.iter().flat_map(|function| &function.calls).filter(is_ours) {
        let Some(line) = line_of(&context, call.at) else { continue };
        seen += 1;
        if next[call.to].is_some() {
            paths.insert(PanicPath { line, through: path(call.to, &next, &functions) });
        }
    }
    if seen == 0 {
        return Err(format!("no call in the image comes from {SOURCES}: its debug information is missing"));
    }
    let mut paths: Vec<PanicPath> = paths.into_iter().collect();
    paths.dedup_by(|a, b| a.line == b.line);
    Ok(paths)
}

/// Returns for each function that reaches `goal` the next function on the shortest path; the goal's next is itself.
fn towards(goal: usize, functions: &[Function]) -> Vec<Option<usize>> {
    let mut callers = vec![Vec::new(); functions.len()];
    for (number, function) in functions.iter().enumerate() {
        for call in &function.calls {
            callers[call.to].push(number);
        }
    }
    let mut next = vec![None; functions.len()];
    next[goal] = Some(goal);
    let mut reached = vec![goal];
    for index in 0.. {
        let Some(&number) = reached.get(index) else { break };
        for &caller in &callers[number] {
            if next[caller].is_none() {
                next[caller] = Some(number);
                reached.push(caller);
            }
        }
    }
    next
}

fn path(from: usize, next: &[Option<usize>], functions: &[Function]) -> Vec<String> {
    let mut through = Vec::new();
    let mut here = from;
    loop {
        through.push(functions[here].name.clone());
        match next[here] {
            Some(there) if there != here => here = there,
            Some(_) | None => return through,
        }
    }
}

/// The source lines of an image's instructions.
pub(crate) type LineTable<'a> = Context<EndianSlice<'a, LittleEndian>>;

/// Reads the debug information of an image.
pub(crate) fn line_table<'a>(file: &object::File<'a>) -> Result<LineTable<'a>, String> {
    let load = |id: SectionId| -> Result<EndianSlice<'a, LittleEndian>, addr2line::gimli::Error> {
        let bytes = file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or(&[]);
        Ok(EndianSlice::new(bytes, LittleEndian))
    };
    Dwarf::load(load).and_then(Context::from_dwarf).map_err(|error| error.to_string())
}

fn is_audited(context: &LineTable<'_>, address: u64) -> bool {
    let is_known = |file: &str| AUDITED.iter().any(|(known, _)| file.ends_with(known));
    find_line(context, address, |file, _| is_known(file).then_some(())).is_some()
}

/// Returns the innermost line of `protocol` that an instruction comes from, if any.
fn line_of(context: &LineTable<'_>, address: u64) -> Option<String> {
    find_line(context, address, |file, line| {
        let (_, inside) = file.split_once(SOURCES)?;
        Some(format!("{SOURCES}{inside}:{line}"))
    })
}

/// Returns the first `wanted` line among those an instruction comes from, from the innermost inlined call outwards.
fn find_line<T>(context: &LineTable<'_>, address: u64, wanted: impl Fn(&str, u32) -> Option<T>) -> Option<T> {
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    while let Ok(Some(frame)) = frames.next() {
        let Some(location) = frame.location else { continue };
        if let Some(found) = location.file.and_then(|file| wanted(file, location.line.unwrap_or(0))) {
            return Some(found);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Call, Function, path, towards};

    /// Creates functions with these calls, by index.
    fn program(calls: &[&[usize]]) -> Vec<Function> {
        let call = |&to| Call { at: 0, to };
        calls
            .iter()
            .enumerate()
            .map(|(number, calls)| Function::named(number, calls.iter().map(call).collect()))
            .collect()
    }

    #[test]
    fn the_shortest_path_to_the_goal_is_found_from_every_function() {
        let functions = program(&[&[1, 2], &[3], &[4], &[2], &[], &[5]]);
        let next = towards(4, &functions);
        assert_eq!(next, [Some(2), Some(3), Some(4), Some(2), Some(4), None]);
        assert_eq!(path(1, &next, &functions), ["f1", "f3", "f2", "f4"]);
    }
}
