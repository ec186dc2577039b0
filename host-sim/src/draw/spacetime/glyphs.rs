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
        // By the sides: none, left, right, both.
        let set = match (self.busy, self.past) {
            (true, false) => charset.choose(['█'; 4], ['%'; 4]),
            (true, true) => charset.choose(['▓'; 4], ['@'; 4]),
            (false, false) => charset.choose(['│', '┤', '├', '┼'], ['|', '|', '|', '+']),
            (false, true) => charset.choose(['║', '╢', '╟', '╫'], ['H', 'H', 'H', '#']),
        };
        set[usize::from((sides & (LEFT | RIGHT)) >> 2)]
    }
}

/// Returns a cell of a message's line.
pub(super) fn line(sides: u8, crossing: Crossing, charset: Charset) -> char {
    // Horizontal, vertical, the corners down-left, down-right, up-left and up-right, and the crossing of two lines.
    let set = match crossing {
        Crossing::None => charset.choose(['─', '┆', '╮', '╭', '╯', '╰', '┼'], ['-', ':', '.', '.', '\'', '\'', '+']),
        Crossing::Forward => charset.choose(['━', '┇', '┓', '┏', '┛', '┗', '╋'], ['=', '!', '.', '.', '\'', '\'', '+']),
        Crossing::Missed => charset.choose(['═', '╏', '╗', '╔', '╝', '╚', '╬'], ['~', '$', '$', '$', '$', '$', '$']),
        Crossing::Backward => ['x'; 7],
    };
    let [up, down, left, right] = [UP, DOWN, LEFT, RIGHT].map(|side| sides & side != 0);
    match (up, down, left, right) {
        (false, false, false, false) => ' ',
        (false, false, ..) => set[0],
        (_, _, false, false) => set[1],
        (false, true, true, false) => set[2],
        (false, true, false, true) => set[3],
        (true, false, true, false) => set[4],
        (true, false, false, true) => set[5],
        _ => set[6],
    }
}

/// Returns the mark where a cut passes a node; with several cuts, the number of the cut.
pub(super) fn record(charset: Charset, number: Option<usize>) -> char {
    let digit = number.and_then(|number| char::from_digit(number as u32, 10));
    digit.unwrap_or_else(|| charset.choose('◆', 'O'))
}

/// Returns a cell of a line across all nodes: a wave, or the end of a job.
pub(super) fn through(charset: Charset) -> char {
    charset.choose('┈', '.')
}

/// Returns the mark of a node that knows of the end.
pub(super) fn terminated(charset: Charset) -> char {
    charset.choose('■', 'T')
}
