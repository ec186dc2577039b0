//! Whether anything in `protocol` can make an image panic.
//!
//! A call belongs to `protocol` if the instruction was compiled from one of its lines, or from one that was inlined
//! there. Whatever such a call reaches, in any crate, is followed; if that is the image's panic handler, there is a way
//! from `protocol` to a panic.
//!
//! The compiler leaves some checks that can never fail. Where somebody has read the code and says why, in [`AUDITED`],
//! calls from there are not followed.

use super::calls::{Function, functions};
use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection};
use std::collections::BTreeSet;

/// What every panic ends in.
const HANDLER: &str = "rust_begin_unwind";
/// Whose panics are looked for.
const SOURCES: &str = "protocol/src/";

/// Files whose checks can never fail, though the compiler does not see it, and why.
const AUDITED: [(&str, &str); 1] =
    [("postcard-1.1.3/src/varint.rs", "every index is the counter of a loop over the very array that is indexed")];

/// A way from `protocol` to a panic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// The line of `protocol` it starts from.
    pub line: String,
    /// The functions it goes through.
    pub through: Vec<String>,
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} -> {}", self.line, self.through.join(" -> "))
    }
}

/// The ways from `protocol` to a panic in an image, one for each line they start from.
///
/// # Errors
/// When the image cannot be read, or has no panic handler to look for.
pub fn panic_paths(elf: &[u8]) -> Result<Vec<Path>, String> {
    let file = object::File::parse(elf).map_err(|error| error.to_string())?;
    let mut functions = functions(&file);
    let Some(handler) = functions.iter().position(|function| function.name.ends_with(HANDLER)) else {
        return Err("the image has no panic handler".to_owned());
    };
    let load = |id: SectionId| -> Result<EndianSlice<'_, LittleEndian>, addr2line::gimli::Error> {
        let bytes = file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or(&[]);
        Ok(EndianSlice::new(bytes, LittleEndian))
    };
    let context = Dwarf::load(load).and_then(Context::from_dwarf).map_err(|error| error.to_string())?;
    for function in &mut functions {
        function.calls.retain(|call| !is_audited(&context, call.at));
    }
    let next = towards(handler, &functions);
    let mut seen = 0;
    let mut paths = BTreeSet::new();
    for call in functions.iter().flat_map(|function| &function.calls) {
        let Some(line) = line_of(&context, call.at) else { continue };
        seen += 1;
        if next[call.to].is_some() {
            paths.insert(Path { line, through: way(call.to, &next, &functions) });
        }
    }
    if seen == 0 {
        return Err(format!("no call in the image comes from {SOURCES}: its debug information does not tell"));
    }
    let mut paths: Vec<Path> = paths.into_iter().collect();
    paths.dedup_by(|a, b| a.line == b.line);
    Ok(paths)
}

/// For each function from which `goal` can be reached, the next one on the shortest way there; the goal's is itself.
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
    for place in 0.. {
        let Some(&number) = reached.get(place) else { break };
        for &caller in &callers[number] {
            if next[caller].is_none() {
                next[caller] = Some(number);
                reached.push(caller);
            }
        }
    }
    next
}

fn way(from: usize, next: &[Option<usize>], functions: &[Function]) -> Vec<String> {
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

type Lines<'a> = Context<EndianSlice<'a, LittleEndian>>;

/// Whether an instruction comes from a file that is known not to panic.
fn is_audited(context: &Lines<'_>, address: u64) -> bool {
    let is_known = |file: &str| AUDITED.iter().any(|(known, _)| file.ends_with(known));
    find_line(context, address, |file, _| is_known(file).then_some(())).is_some()
}

/// The line of `protocol` an instruction comes from, if it does: the innermost.
fn line_of(context: &Lines<'_>, address: u64) -> Option<String> {
    find_line(context, address, |file, line| {
        let (_, inside) = file.split_once(SOURCES)?;
        Some(format!("{SOURCES}{inside}:{line}"))
    })
}

/// The first of the lines an instruction comes from that is `wanted`, from the innermost inlined call outwards.
fn find_line<T>(context: &Lines<'_>, address: u64, wanted: impl Fn(&str, u32) -> Option<T>) -> Option<T> {
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
    use super::{Function, towards, way};
    use crate::boards::calls::Call;

    /// Functions that call these others, by number.
    fn program(calls: &[&[usize]]) -> Vec<Function> {
        let call = |&to| Call { at: 0, to };
        calls
            .iter()
            .enumerate()
            .map(|(number, calls)| Function::named(number, calls.iter().map(call).collect()))
            .collect()
    }

    #[test]
    fn every_way_to_the_goal_is_found_and_the_shortest_is_told() {
        let functions = program(&[&[1, 2], &[3], &[4], &[2], &[], &[5]]);
        let next = towards(4, &functions);
        assert_eq!(next, [Some(2), Some(3), Some(4), Some(2), Some(4), None]);
        assert_eq!(way(1, &next, &functions), ["f1", "f3", "f2", "f4"]);
    }
}
