//! What lines look like in letters.

use super::Crossing;
use crate::map::Ink;

/// Where a line leaves a cell, as bits.
pub(super) const UP: u8 = 1;
pub(super) const DOWN: u8 = 2;
pub(super) const LEFT: u8 = 4;
pub(super) const RIGHT: u8 = 8;

/// What a node's line says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    /// Whether the cut has passed it.
    pub(super) past: bool,
    pub(super) busy: bool,
}

impl Life {
    /// A node's line, where messages leave it or pass over it.
    pub(super) fn glyph(self, sides: u8, ink: Ink) -> char {
        match (ink, self.busy, self.past) {
            (Ink::Fine, true, false) => '█',
            (Ink::Fine, true, true) => '▓',
            (Ink::Ascii, true, false) => '%',
            (Ink::Ascii, true, true) => '@',
            (Ink::Fine, false, false) => ['│', '┤', '├', '┼'][side(sides)],
            (Ink::Fine, false, true) => ['║', '╢', '╟', '╫'][side(sides)],
            (Ink::Ascii, false, false) => ['|', '|', '|', '+'][side(sides)],
            (Ink::Ascii, false, true) => ['H', 'H', 'H', '#'][side(sides)],
        }
    }
}

/// Neither side, left, right, both.
fn side(sides: u8) -> usize {
    usize::from((sides & (LEFT | RIGHT)) >> 2)
}

/// A message's line.
pub(super) fn line(sides: u8, crossing: Crossing, ink: Ink) -> char {
    const ACROSS: u8 = LEFT | RIGHT;
    const ALONG: u8 = UP | DOWN;
    const OUT_LEFT: u8 = DOWN | LEFT;
    const OUT_RIGHT: u8 = DOWN | RIGHT;
    const IN_LEFT: u8 = UP | LEFT;
    const IN_RIGHT: u8 = UP | RIGHT;
    // Across, along, then the corners: down and left, down and right, up and left, up and right, and where lines cross.
    let set = match (ink, crossing) {
        (Ink::Fine, Crossing::None) => ['─', '┆', '╮', '╭', '╯', '╰', '┼'],
        (Ink::Fine, Crossing::Forward) => ['━', '┇', '┓', '┏', '┛', '┗', '╋'],
        (Ink::Ascii, Crossing::None) => ['-', ':', '.', '.', '\'', '\'', '+'],
        (Ink::Ascii, Crossing::Forward) => ['=', '!', '.', '.', '\'', '\'', '+'],
        (Ink::Fine | Ink::Ascii, Crossing::Backward) => ['x'; 7],
    };
    match sides {
        0 => ' ',
        ACROSS | LEFT | RIGHT => set[0],
        ALONG | UP | DOWN => set[1],
        OUT_LEFT => set[2],
        OUT_RIGHT => set[3],
        IN_LEFT => set[4],
        IN_RIGHT => set[5],
        _ => set[6],
    }
}

/// Where a cut passes a node; of several cuts the how many-th it is.
pub(super) fn record(ink: Ink, number: Option<usize>) -> char {
    match (number.and_then(|number| char::from_digit(number as u32, 10)), ink) {
        (Some(digit), _) => digit,
        (None, Ink::Fine) => '◆',
        (None, Ink::Ascii) => 'O',
    }
}

/// A line through all nodes: a wave, or the end of a job.
pub(super) fn through(ink: Ink) -> char {
    match ink {
        Ink::Fine => '┈',
        Ink::Ascii => '.',
    }
}

/// A node that knows of the end.
pub(super) fn over(ink: Ink) -> char {
    match ink {
        Ink::Fine => '■',
        Ink::Ascii => 'T',
    }
}
