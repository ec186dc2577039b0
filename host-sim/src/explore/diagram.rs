//! A counterexample as a space-time diagram: a column for each node, a row for each step, time downwards.
//!
//! A message leaves the line of its sender in the row of the step that sends it, runs down beside the line of its receiver,
//! and enters it where it arrives. Messages that do not arrive are not drawn.

use super::search::Described;
use std::fmt::Write as _;

/// The distance between two lines, and the width of the numbers at the left.
const PITCH: usize = 14;
const MARGIN: usize = 6;

/// A message that arrives: the rows and columns of both ends.
struct Arrow {
    sent: usize,
    received: usize,
    from: usize,
    to: usize,
}

/// Returns the steps of a run as a picture of so many nodes, and of those that join them.
#[must_use]
pub fn diagram(steps: &[Described], nodes: usize) -> String {
    let nodes = steps.iter().filter_map(|step| step.node).map(|node| node + 1).fold(nodes, usize::max);
    let mut sheet = Sheet::new(steps.len(), nodes);
    for arrow in arrows(steps) {
        sheet.draw(&arrow);
    }
    let mut text = " ".repeat(MARGIN);
    for node in 0..nodes {
        _ = write!(text, "{:^PITCH$}", format!("node {node}"));
    }
    text = text.trim_end().to_owned() + "\n";
    for (row, step) in steps.iter().enumerate() {
        let at = |column: usize| match step.node {
            Some(node) => column == sheet.line(node),
            None => (0..nodes).any(|node| column == sheet.line(node)),
        };
        let cells = sheet.rows[row].iter().enumerate().map(|(column, &cell)| if at(column) { '*' } else { cell });
        let drawn: String = cells.collect();
        _ = writeln!(text, "{:>4}  {drawn} {}", row + 1, step.text);
    }
    text
}

/// The messages that arrive, each with the last step before that sent it.
fn arrows(steps: &[Described]) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for (row, step) in steps.iter().enumerate() {
        let (Some((from, message)), Some(to)) = (step.received, step.node) else { continue };
        let sends = |earlier: &Described| earlier.node == Some(from) && earlier.sent.contains(&(to, message));
        let sent = steps[..row].iter().rposition(sends);
        arrows.extend(sent.map(|sent| Arrow { sent, received: row, from, to }));
    }
    arrows
}

struct Sheet {
    rows: Vec<Vec<char>>,
    /// The columns in which messages run down: column, first and last row.
    tracks: Vec<(usize, usize, usize)>,
}

impl Sheet {
    fn new(rows: usize, nodes: usize) -> Self {
        let mut sheet = Self { rows: vec![vec![' '; nodes * PITCH]; rows], tracks: Vec::new() };
        for node in 0..nodes {
            let line = sheet.line(node);
            sheet.rows.iter_mut().for_each(|row| row[line] = '|');
        }
        sheet
    }

    #[expect(clippy::unused_self, reason = "columns are the sheet's")]
    fn line(&self, node: usize) -> usize {
        node * PITCH + PITCH / 2
    }

    fn draw(&mut self, arrow: &Arrow) {
        let (from, to) = (self.line(arrow.from), self.line(arrow.to));
        let from_left = from < to;
        let beside = |far: usize| if from_left { to - far } else { to + far };
        let taken = |column: usize| {
            let meets = |&(other, first, last): &(usize, usize, usize)| {
                other == column && first <= arrow.received && arrow.sent <= last
            };
            self.tracks.iter().any(meets)
        };
        // Where no column is free, two messages share one.
        let track = (2..PITCH / 2).map(beside).find(|&column| !taken(column)).unwrap_or(beside(2));
        self.tracks.push((track, arrow.sent, arrow.received));
        self.across(arrow.sent, from, track);
        for row in arrow.sent + 1..arrow.received {
            self.put(row, track, ':');
        }
        self.put(arrow.sent, track, '.');
        self.across(arrow.received, track, to);
        self.put(arrow.received, track, '\'');
        self.put(arrow.received, beside(1), if from_left { '>' } else { '<' });
    }

    /// Draws between two columns, without the ends.
    fn across(&mut self, row: usize, a: usize, b: usize) {
        for column in a.min(b) + 1..a.max(b) {
            self.put(row, column, '-');
        }
    }

    /// Draws a piece of a message; where two cross, both are seen.
    fn put(&mut self, row: usize, column: usize, piece: char) {
        let cell = &mut self.rows[row][column];
        *cell = match (*cell, piece) {
            (' ', piece) => piece,
            (old, piece) if old == piece => old,
            (_, '>' | '<') => piece,
            ('>' | '<', _) => *cell,
            _ => '+',
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(node: usize, received: Option<(usize, u32)>, sent: &[(usize, u32)], text: &str) -> Described {
        Described { node: Some(node), received, sent: sent.to_vec(), text: text.into(), detail: String::new() }
    }

    #[test]
    fn a_message_runs_from_the_step_that_sends_it_to_the_step_that_receives_it() {
        let steps = [
            step(0, None, &[(1, 7), (2, 8)], "asks"),
            step(1, Some((0, 7)), &[(0, 9)], "request from 0"),
            step(2, Some((0, 8)), &[], "request from 0"),
            step(0, Some((1, 9)), &[], "reply from 1: holds the lock"),
        ];
        let expected = [
            "          node 0        node 1        node 2",
            "   1         *-----------+-+-----------. |       asks",
            "   2         | .---------+>*           : |       request from 0",
            "   3         | :           |           '>*       request from 0",
            "   4         *<'           |             |       reply from 1: holds the lock",
        ];
        let drawn = diagram(&steps, 3);
        let drawn: Vec<&str> = drawn.lines().collect();
        assert_eq!(drawn.join("\n"), expected.join("\n"));
    }
}
