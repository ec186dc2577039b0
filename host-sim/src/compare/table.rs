//! A comparison as a table.

use anstyle::{AnsiColor, Style};
use std::fmt::Write as _;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    head: &'static str,
    align_right: bool,
}

impl Column {
    /// Creates a column of words.
    #[must_use]
    pub const fn words(head: &'static str) -> Self {
        Self { head, align_right: false }
    }

    /// Creates a column of numbers.
    #[must_use]
    pub const fn numbers(head: &'static str) -> Self {
        Self { head, align_right: true }
    }
}

/// A row of a table.
pub(crate) trait TableRow {
    /// Returns the columns of the table.
    fn columns() -> Vec<Column>;

    /// Returns one cell for each column.
    fn cells(&self) -> Vec<String>;

    /// Returns the row's part of the table and its number of nodes; rows of one group stand together.
    fn group(&self) -> (u8, u32);

    /// Returns whether the required properties held.
    fn holds(&self) -> bool;
}

/// Returns the table: a head, then the rows, with a blank line between groups. With colours, a row that does not hold
/// is red.
pub(crate) fn text<R: TableRow>(rows: &[R], colours: bool) -> String {
    let columns = R::columns();
    let cells: Vec<Vec<String>> = rows.iter().map(R::cells).collect();
    let head: Vec<String> = columns.iter().map(|column| column.head.to_owned()).collect();
    let width = |at: usize| cells.iter().chain([&head]).map(|row| row[at].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |cells: &[String], style: Style| {
        let style = if colours { style } else { Style::new() };
        let mut line = String::new();
        for ((cell, width), column) in cells.iter().zip(&widths).zip(&columns) {
            let _ =
                if column.align_right { write!(line, "{cell:>width$}  ") } else { write!(line, "{cell:<width$}  ") };
        }
        format!("{style}{}{style:#}\n", line.trim_end())
    };
    let mut text = line(&head, Style::new().bold());
    for (at, row) in rows.iter().enumerate() {
        if at > 0 && row.group() != rows[at - 1].group() {
            text.push('\n');
        }
        text += &line(&cells[at], if row.holds() { Style::new() } else { AnsiColor::Red.on_default() });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pair(&'static str, u32);

    impl TableRow for Pair {
        fn columns() -> Vec<Column> {
            vec![Column::words("word"), Column::numbers("count")]
        }

        fn cells(&self) -> Vec<String> {
            vec![self.0.to_owned(), self.1.to_string()]
        }

        fn group(&self) -> (u8, u32) {
            (self.0.len() as u8, 0)
        }

        fn holds(&self) -> bool {
            self.1 < 100
        }
    }

    #[test]
    fn columns_fit_their_cells_and_groups_stand_apart() {
        let rows = [Pair("a", 1), Pair("a", 20), Pair("longer", 300)];
        assert_eq!(text(&rows, false), "word    count\na           1\na          20\n\nlonger    300\n");
    }

    #[test]
    fn a_row_that_does_not_hold_is_red_with_colours() {
        let rows = [Pair("a", 1), Pair("a", 300)];
        let red = text(&rows, true);
        assert!(red.lines().nth(2).is_some_and(|line| line.starts_with("\u{1b}[31m")), "{red:?}");
        assert!(!text(&rows, false).contains('\u{1b}'));
    }
}
