//! A comparison as a table.

use super::Row;
use anstyle::{AnsiColor, Style};
use std::fmt::Write as _;

/// On which side the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub head: &'static str,
    /// On which side its cells stand.
    pub align: Align,
}

impl Column {
    /// A column of words.
    #[must_use]
    pub const fn words(head: &'static str) -> Self {
        Self { head, align: Align::Left }
    }

    /// A column of numbers.
    #[must_use]
    pub const fn numbers(head: &'static str) -> Self {
        Self { head, align: Align::Right }
    }
}

/// The table, in colours if they are wanted: a head, then the rows, a blank line wherever a row does not stand beside
/// the one before. A row of which something did not hold is red.
#[must_use]
pub fn text<R: Row>(rows: &[R], colours: bool) -> String {
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    let head: Vec<String> = R::COLUMNS.iter().map(|column| column.head.to_owned()).collect();
    let width =
        |at: usize| cells.iter().chain([&head]).filter_map(|row| row.get(at)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..R::COLUMNS.len()).map(width).collect();
    let styled = |style: Style| if colours { style } else { Style::new() };
    let mut text = String::new();
    line::<R>(&mut text, &head, &widths, styled(Style::new().bold()));
    for (at, row) in rows.iter().enumerate() {
        if at.checked_sub(1).and_then(|before| rows.get(before)).is_some_and(|before| !row.is_beside(before)) {
            text.push('\n');
        }
        let style = if row.holds() { Style::new() } else { styled(AnsiColor::Red.on_default()) };
        line::<R>(&mut text, &cells[at], &widths, style);
    }
    text
}

fn line<R: Row>(text: &mut String, cells: &[String], widths: &[usize], style: Style) {
    let mut line = String::new();
    for ((cell, width), column) in cells.iter().zip(widths).zip(R::COLUMNS) {
        let _ = match column.align {
            Align::Left => write!(line, "{cell:<width$}  "),
            Align::Right => write!(line, "{cell:>width$}  "),
        };
    }
    let _ = writeln!(text, "{style}{}{style:#}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[derive(Serialize)]
    struct Pair(&'static str, u32);

    impl Row for Pair {
        const COLUMNS: &'static [Column] = &[Column::words("word"), Column::numbers("count")];

        fn cells(&self) -> Vec<String> {
            vec![self.0.to_owned(), self.1.to_string()]
        }

        fn is_beside(&self, before: &Self) -> bool {
            self.0 == before.0
        }

        fn holds(&self) -> bool {
            self.1 < 100
        }
    }

    #[test]
    fn columns_are_as_wide_as_they_must_be_and_groups_stand_apart() {
        let rows = [Pair("a", 1), Pair("a", 20), Pair("longer", 300)];
        assert_eq!(text(&rows, false), "word    count\na           1\na          20\n\nlonger    300\n");
    }

    #[test]
    fn what_did_not_hold_is_red_where_there_are_colours() {
        let rows = [Pair("a", 1), Pair("a", 300)];
        let red = text(&rows, true);
        assert!(red.lines().nth(2).is_some_and(|line| line.starts_with("\u{1b}[31m")), "{red:?}");
        assert!(!text(&rows, false).contains('\u{1b}'));
    }
}
