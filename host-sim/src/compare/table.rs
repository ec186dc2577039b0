//! A comparison as a table.

use anstyle::{AnsiColor, Style};
use std::fmt::Write as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    head: &'static str,
    align_right: bool,
}

impl Column {
    pub(super) const fn words(head: &'static str) -> Self {
        Self { head, align_right: false }
    }

    pub(super) const fn numbers(head: &'static str) -> Self {
        Self { head, align_right: true }
    }
}

pub(super) struct TableRow {
    /// One for each column.
    pub(super) cells: Vec<String>,
    /// The part of the table and the number of nodes; rows of one group stand together.
    pub(super) group: (u8, u32),
    /// Whether the required properties held.
    pub(super) holds: bool,
}

/// Returns the table: a head, then the rows, with a blank line between groups. With colours, a row that does not hold
/// is red.
pub(super) fn text(columns: &[Column], rows: &[TableRow], colours: bool) -> String {
    let head: Vec<String> = columns.iter().map(|column| column.head.to_owned()).collect();
    let width =
        |at: usize| rows.iter().map(|row| &row.cells).chain([&head]).map(|row| row[at].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |cells: &[String], style: Style| {
        let style = if colours { style } else { Style::new() };
        let mut line = String::new();
        for ((cell, width), column) in cells.iter().zip(&widths).zip(columns) {
            let _ =
                if column.align_right { write!(line, "{cell:>width$}  ") } else { write!(line, "{cell:<width$}  ") };
        }
        format!("{style}{}{style:#}\n", line.trim_end())
    };
    let mut text = line(&head, Style::new().bold());
    for (at, row) in rows.iter().enumerate() {
        if at > 0 && row.group != rows[at - 1].group {
            text.push('\n');
        }
        text += &line(&row.cells, if row.holds { Style::new() } else { AnsiColor::Red.on_default() });
    }
    text
}

/// Returns the table as comma-separated values: a name for each column, an empty cell for a figure that does not exist.
pub(super) fn csv(columns: &[Column], rows: &[TableRow]) -> String {
    let name = |column: &Column| column.head.replace(' ', "_");
    let mut text = columns.iter().map(name).collect::<Vec<_>>().join(",") + "\n";
    for row in rows {
        // Neither a name nor a number has a comma or a quote.
        let cell = |cell: &String| if cell == "-" { String::new() } else { cell.trim_end_matches(" ms").to_owned() };
        text += &row.cells.iter().map(cell).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_comma_separated_values_a_cell_has_neither_a_unit_nor_a_dash() {
        let row = |cells: [&str; 2]| TableRow { cells: cells.map(str::to_owned).to_vec(), group: (0, 0), holds: true };
        let columns = [Column::words("algorithm"), Column::numbers("max wait")];
        let text = csv(&columns, &[row(["ring", "31.0 ms"]), row(["chang-roberts", "-"])]);
        assert_eq!(text, "algorithm,max_wait\nring,31.0\nchang-roberts,\n");
    }

    fn drawn(rows: &[(&str, u32)], colours: bool) -> String {
        let row = |&(word, count): &(&str, u32)| TableRow {
            cells: vec![word.to_owned(), count.to_string()],
            group: (word.len() as u8, 0),
            holds: count < 100,
        };
        let columns = [Column::words("word"), Column::numbers("count")];
        text(&columns, &rows.iter().map(row).collect::<Vec<_>>(), colours)
    }

    #[test]
    fn columns_fit_their_cells_and_groups_stand_apart() {
        let text = drawn(&[("a", 1), ("a", 20), ("longer", 300)], false);
        assert_eq!(text, "word    count\na           1\na          20\n\nlonger    300\n");
    }

    #[test]
    fn a_row_that_does_not_hold_is_red_with_colours() {
        let red = drawn(&[("a", 1), ("a", 300)], true);
        assert!(red.lines().nth(2).is_some_and(|line| line.starts_with("\u{1b}[31m")), "{red:?}");
        assert!(!drawn(&[("a", 1), ("a", 300)], false).contains('\u{1b}'));
    }
}
