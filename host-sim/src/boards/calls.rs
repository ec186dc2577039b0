//! The call graph of an image: every direct branch from one function into another, decoded from the instructions.
//!
//! Calls through a pointer are not found. `protocol` makes none: it has no callbacks and no trait objects.

use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    start: u64,
    end: u64,
    pub(super) calls: Vec<Call>,
}

#[cfg(test)]
impl Function {
    pub(super) fn named(number: usize, calls: Vec<Call>) -> Self {
        Self { name: format!("f{number}"), start: 0, end: 0, calls }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// The address of the branch.
    pub(super) at: u64,
    /// The index of the called function.
    pub(super) to: usize,
}

/// Returns all functions of an image, by address.
pub(super) fn functions(file: &object::File<'_>) -> Vec<Function> {
    let mut functions: Vec<Function> = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
        .map(|symbol| {
            let start = symbol.address() & !1; // the lowest bit marks Thumb code
            let name = format!("{:#}", rustc_demangle::demangle(symbol.name().unwrap_or_default()));
            Function { name, start, end: start + symbol.size(), calls: Vec::new() }
        })
        .collect();
    functions.sort_by_key(|function| function.start);
    functions.dedup_by_key(|function| function.start);
    let data = data_ranges(file);
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let bytes = section.data().unwrap_or_default();
        for number in 0..functions.len() {
            let Function { start, end, .. } = functions[number];
            let found = calls(bytes, section.address(), start..end, &data, &functions);
            let found: Vec<Call> = found.filter(|call| call.to != number).collect();
            functions[number].calls.extend(found);
        }
    }
    functions
}

/// Returns where data and code begin, by the mapping symbols `$d` and `$t` of the Arm ABI.
fn data_ranges(file: &object::File<'_>) -> Vec<(u64, bool)> {
    let mut marks: Vec<(u64, bool)> = file
        .symbols()
        .filter_map(|symbol| {
            let name = symbol.name().ok()?;
            let mark = name.split('.').next()?;
            matches!(mark, "$d" | "$t").then(|| (symbol.address() & !1, mark == "$d"))
        })
        .collect();
    marks.sort_unstable();
    marks
}

fn is_data(marks: &[(u64, bool)], address: u64) -> bool {
    let after = marks.partition_point(|&(start, _)| start <= address);
    after.checked_sub(1).is_some_and(|last| marks[last].1)
}

fn calls<'a>(
    bytes: &'a [u8],
    base: u64,
    range: std::ops::Range<u64>,
    marks: &'a [(u64, bool)],
    functions: &'a [Function],
) -> impl Iterator<Item = Call> + 'a {
    let mut at = range.start;
    std::iter::from_fn(move || {
        while at < range.end {
            let here = at;
            let half = |address: u64| -> Option<u16> {
                let index = usize::try_from(address.checked_sub(base)?).ok()?;
                Some(u16::from_le_bytes(bytes.get(index..index + 2)?.try_into().ok()?))
            };
            let (Some(first), second) = (half(here), half(here + 2).unwrap_or(0)) else { return None };
            if is_data(marks, here) {
                at += 2;
                continue;
            }
            let (length, target) = decode(here, first, second);
            at += length;
            let called = target.and_then(|target| functions.binary_search_by_key(&target, |known| known.start).ok());
            if let Some(to) = called {
                return Some(Call { at: here, to });
            }
        }
        None
    })
}

/// Returns the length of an instruction, and its target if it is a branch (Armv7-M reference manual, A5, A7.7.12, .18).
fn decode(at: u64, first: u16, second: u16) -> (u64, Option<u64>) {
    let (first, second) = (u32::from(first), u32::from(second));
    let to = |offset: i32| Some(at.wrapping_add(4).wrapping_add_signed(i64::from(offset)));
    match first >> 11 {
        0b11101 | 0b11111 => (4, None),
        0b11110 => {
            let sign = (first >> 10) & 1;
            let (j1, j2) = ((second >> 13) & 1, (second >> 11) & 1);
            let low = second & 0x7ff;
            match second & 0xd000 {
                // B.W and BL, in 25 bits
                0x9000 | 0xd000 => {
                    let (i1, i2) = (1 ^ j1 ^ sign, 1 ^ j2 ^ sign);
                    let word = (sign << 24) | (i1 << 23) | (i2 << 22) | ((first & 0x3ff) << 12) | (low << 1);
                    (4, to(extend(word, 25)))
                }
                // B.W under a condition, in 21 bits; the last two conditions are other instructions
                0x8000 if (first >> 6) & 0xf < 0xe => {
                    let word = (sign << 20) | (j2 << 19) | (j1 << 18) | ((first & 0x3f) << 12) | (low << 1);
                    (4, to(extend(word, 21)))
                }
                _ => (4, None),
            }
        }
        // B, in 12 bits
        0b11100 => (2, to(extend((first & 0x7ff) << 1, 12))),
        // B under a condition, in 9 bits
        0b11010 | 0b11011 if (first >> 8) & 0xf < 0xe => (2, to(extend((first & 0xff) << 1, 9))),
        _ => (2, None),
    }
}

/// Sign-extends a number of so many bits.
fn extend(word: u32, bits: u32) -> i32 {
    let shift = 32 - bits;
    (word << shift).cast_signed() >> shift
}

#[cfg(test)]
mod tests {
    use super::{decode, is_data};

    #[test]
    fn branches_are_decoded_as_the_assembler_encodes_them() {
        // The encodings are those of `llvm-mc -triple=thumbv7em`.
        assert_eq!(decode(0x1000, 0xf000, 0xf800), (4, Some(0x1004))); // bl .+4
        assert_eq!(decode(0x1000, 0xf7ff, 0xfffe), (4, Some(0x1000))); // bl .
        assert_eq!(decode(0x1000, 0xf000, 0xb800), (4, Some(0x1004))); // b.w .+4
        assert_eq!(decode(0x1000, 0xf43f, 0xaffe), (4, Some(0x1000))); // beq.w .
        assert_eq!(decode(0x1000, 0xe7fe, 0), (2, Some(0x1000))); // b .
        assert_eq!(decode(0x1000, 0xd0fe, 0), (2, Some(0x1000))); // beq .
    }

    #[test]
    fn other_instructions_are_skipped() {
        assert_eq!(decode(0, 0xbf00, 0), (2, None)); // nop
        assert_eq!(decode(0, 0xf3bf, 0x8f4f), (4, None)); // dsb
        assert_eq!(decode(0, 0xe92d, 0x4ff0), (4, None)); // push.w
        assert_eq!(decode(0, 0xdf00, 0), (2, None)); // svc
        assert_eq!(decode(0, 0xde00, 0), (2, None)); // udf
    }

    #[test]
    fn data_between_instructions_is_recognized_by_its_symbols() {
        let marks = [(0x10, false), (0x20, true), (0x30, false)];
        assert_eq!(
            [0x0f, 0x10, 0x1e, 0x20, 0x2e, 0x30].map(|at| is_data(&marks, at)),
            [false, false, false, true, true, false]
        );
    }
}
