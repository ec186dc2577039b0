//! The characters of lines.

use super::Crossing;
use crate::draw::map::Charset;

/// The sides on which a line leaves a cell, as bits.
pub(super) const UP: u8 = 1;
pub(super) const DOWN: u8 = 2;
pub(super) const LEFT: u8 = 4;
pub(super) const RIGHT: u8 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineState {
    pub(super) past: bool,
    pub(super) busy: bool,
}

impl LineState {
    /// Returns a cell of a node's line, which messages may enter, leave or cross.
    pub(super) fn glyph(self, sides: u8, charset: Charset) -> char {
        match (charset, self.busy, self.past) {
            (Charset::Unicode, true, false) => '█',
            (Charset::Unicode, true, true) => '▓',
            (Charset::Ascii, true, false) => '%',
            (Charset::Ascii, true, true) => '@',
            (Charset::Unicode, false, false) => ['│', '┤', '├', '┼'][side(sides)],
            (Charset::Unicode, false, true) => ['║', '╢', '╟', '╫'][side(sides)],
            (Charset::Ascii, false, false) => ['|', '|', '|', '+'][side(sides)],
            (Charset::Ascii, false, true) => ['H', 'H', 'H', '#'][side(sides)],
        }
    }
}

/// The index of the sides: none, left, right, both.
fn side(sides: u8) -> usize {
    usize::from((sides & (LEFT | RIGHT)) >> 2)
}

/// Returns a cell of a message's line.
pub(super) fn line(sides: u8, crossing: Crossing, charset: Charset) -> char {
    const ACROSS: u8 = LEFT | RIGHT;
    const ALONG: u8 = UP | DOWN;
    const OUT_LEFT: u8 = DOWN | LEFT;
    const OUT_RIGHT: u8 = DOWN | RIGHT;
    const IN_LEFT: u8 = UP | LEFT;
    const IN_RIGHT: u8 = UP | RIGHT;
    // Horizontal, vertical, the corners down-left, down-right, up-left and up-right, and the crossing of two lines.
    let set = match (charset, crossing) {
        (Charset::Unicode, Crossing::None) => ['─', '┆', '╮', '╭', '╯', '╰', '┼'],
        (Charset::Unicode, Crossing::Forward) => ['━', '┇', '┓', '┏', '┛', '┗', '╋'],
        (Charset::Ascii, Crossing::None) => ['-', ':', '.', '.', '\'', '\'', '+'],
        (Charset::Ascii, Crossing::Forward) => ['=', '!', '.', '.', '\'', '\'', '+'],
        (Charset::Unicode | Charset::Ascii, Crossing::Backward) => ['x'; 7],
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

/// Returns the mark where a cut passes a node; with several cuts, the number of the cut.
pub(super) fn record(charset: Charset, number: Option<usize>) -> char {
    match (number.and_then(|number| char::from_digit(number as u32, 10)), charset) {
        (Some(digit), _) => digit,
        (None, Charset::Unicode) => '◆',
        (None, Charset::Ascii) => 'O',
    }
}

/// Returns a cell of a line across all nodes: a wave, or the end of a job.
pub(super) fn through(charset: Charset) -> char {
    match charset {
        Charset::Unicode => '┈',
        Charset::Ascii => '.',
    }
}

pub(super) fn terminated(charset: Charset) -> char {
    match charset {
        Charset::Unicode => '■',
        Charset::Ascii => 'T',
    }
}
