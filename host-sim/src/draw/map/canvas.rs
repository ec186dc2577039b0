//! A grid of styled characters to draw on.

use anstyle::Style;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    /// Braille dots, stars and bars.
    Unicode,
    Ascii,
}

impl Charset {
    /// Returns what is drawn with this character set.
    pub(crate) fn choose<T>(self, unicode: T, ascii: T) -> T {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    glyph: char,
    style: Style,
    /// The Braille dots of the lines through it.
    dots: u8,
}

const BLANK: Cell = Cell { glyph: ' ', style: Style::new(), dots: 0 };

/// The bit of each Braille dot: the left column from the top, then the right one.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// The grid. Drawing beyond its edges has no effect.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Canvas {
    pub(crate) width: usize,
    pub(crate) charset: Charset,
    cells: Vec<Cell>,
}

impl Canvas {
    pub(crate) fn new(width: usize, height: usize, charset: Charset) -> Self {
        Self { width, charset, cells: vec![BLANK; width * height] }
    }

    pub(crate) fn height(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    fn cell(&mut self, column: i64, row: i64) -> Option<&mut Cell> {
        let (column, row) = (usize::try_from(column).ok()?, usize::try_from(row).ok()?);
        if column >= self.width {
            return None;
        }
        self.cells.get_mut(row * self.width + column)
    }

    /// Writes a text from a column on, over the present contents.
    pub(crate) fn text(&mut self, column: i64, row: i64, text: &str, style: Style) {
        for (column, glyph) in (column..).zip(text.chars()) {
            if let Some(cell) = self.cell(column, row) {
                *cell = Cell { glyph, style, dots: 0 };
            }
        }
    }

    /// Writes a text and returns the column after it.
    pub(crate) fn append(&mut self, column: i64, row: i64, text: &str, style: Style) -> i64 {
        self.text(column, row, text, style);
        column + text.chars().count() as i64
    }

    /// Draws a thin line between the centres of two cells.
    pub(crate) fn line(&mut self, from: (i64, i64), to: (i64, i64), style: Style) {
        match self.charset {
            Charset::Unicode => self.braille_line(from, to, style),
            Charset::Ascii => self.ascii_line(from, to, style),
        }
    }

    fn braille_line(&mut self, from: (i64, i64), to: (i64, i64), style: Style) {
        let middle = |(column, row): (i64, i64)| (column as f64 * 2.0 + 0.5, row as f64 * 4.0 + 1.5);
        let ((x, y), (end_x, end_y)) = (middle(from), middle(to));
        let steps = (end_x - x).abs().max((end_y - y).abs()).max(1.0);
        for step in 0..=steps as i64 {
            let part = step as f64 / steps;
            let dot_x = (x + (end_x - x) * part).round() as i64;
            let dot_y = (y + (end_y - y) * part).round() as i64;
            let bit = DOTS[dot_x.rem_euclid(2) as usize][dot_y.rem_euclid(4) as usize];
            if let Some(cell) = self.cell(dot_x.div_euclid(2), dot_y.div_euclid(4)) {
                cell.dots |= bit;
                cell.style = style;
            }
        }
    }

    /// Draws a steep line of slashes, a flat one of marks at three heights of a row.
    fn ascii_line(&mut self, from: (i64, i64), to: (i64, i64), style: Style) {
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        let flat = across.abs() >= 2 * down.abs();
        let steps = if flat { across.abs() } else { down.abs() };
        for step in 0..=steps {
            let part = step as f64 / steps.max(1) as f64;
            let (x, y) = (from.0 as f64 + across as f64 * part, from.1 as f64 + down as f64 * part);
            let above_middle = y.round() - y;
            let mark = match flat {
                true if above_middle > 1.0 / 6.0 => "'",
                true if above_middle < -1.0 / 6.0 => ".",
                true => "-",
                false if 2 * across.abs() < down.abs() => "|",
                false if across.signum() == down.signum() => "\\",
                false => "/",
            };
            self.text(x.round() as i64, y.round() as i64, mark, style);
        }
    }

    pub(crate) fn paste(&mut self, column: i64, row: i64, other: &Self) {
        for (other_row, cells) in (row..).zip(other.cells.chunks(other.width.max(1))) {
            for (other_column, &from) in (column..).zip(cells) {
                if let Some(cell) = self.cell(other_column, other_row) {
                    *cell = from;
                }
            }
        }
    }

    /// Returns the rows as text without trailing blanks; with colours, each row ends unstyled.
    pub(crate) fn rows(&self, colours: bool) -> impl Iterator<Item = String> {
        self.cells.chunks(self.width.max(1)).map(move |cells| row(cells, colours))
    }
}

fn row(cells: &[Cell], colours: bool) -> String {
    let visible = |cell: &Cell| cell.shown() != ' ' || (colours && cell.style != Style::new());
    let end = cells.iter().rposition(visible).map_or(0, |last| last + 1);
    let written = |run: &[Cell]| {
        let style = if colours { run[0].style } else { Style::new() };
        let glyphs: String = run.iter().map(Cell::shown).collect();
        format!("{style}{glyphs}{style:#}")
    };
    cells[..end].chunk_by(|a, b| a.style == b.style).map(written).collect()
}

impl Cell {
    fn shown(&self) -> char {
        match self.dots {
            0 => self.glyph,
            dots => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(self.glyph),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::AnsiColor;

    const RED: Style = AnsiColor::Red.on_default();

    fn plain(canvas: &Canvas) -> Vec<String> {
        canvas.rows(false).collect()
    }

    #[test]
    fn a_text_stands_where_it_was_written_and_ends_at_the_edge() {
        let mut canvas = Canvas::new(6, 2, Charset::Ascii);
        canvas.text(3, 1, "beyond", RED);
        canvas.text(-2, 0, "before", RED);
        assert_eq!(plain(&canvas), ["fore", "   bey"]);
    }

    #[test]
    fn a_line_goes_under_a_text_written_later() {
        for (charset, line) in [(Charset::Unicode, "\u{2820}\u{2824}x\u{2824}\u{2824}"), (Charset::Ascii, "--x--")] {
            let mut canvas = Canvas::new(5, 1, charset);
            canvas.line((0, 0), (4, 0), RED);
            canvas.text(2, 0, "x", RED);
            let drawn = plain(&canvas);
            assert_eq!(drawn[0].chars().count(), 5, "{drawn:?}");
            assert_eq!(drawn, [line]);
        }
    }

    #[test]
    fn an_ascii_line_follows_its_slope() {
        let mut canvas = Canvas::new(9, 5, Charset::Ascii);
        canvas.line((0, 0), (8, 2), RED);
        canvas.line((0, 4), (0, 2), RED);
        canvas.line((4, 4), (6, 2), RED);
        assert_eq!(plain(&canvas), ["-.", "  ''-.", "|     /'-", "|    /", "|   /"]);
    }

    #[test]
    fn colours_are_written_only_on_request() {
        let mut canvas = Canvas::new(8, 1, Charset::Ascii);
        canvas.text(0, 0, "ab", RED);
        canvas.text(2, 0, "c", Style::new());
        assert_eq!(canvas.rows(true).collect::<Vec<_>>(), ["\u{1b}[31mab\u{1b}[0mc"]);
        assert_eq!(plain(&canvas), ["abc"]);
    }

    #[test]
    fn a_canvas_pasted_onto_another_covers_it() {
        let mut small = Canvas::new(2, 1, Charset::Ascii);
        small.text(0, 0, "xy", RED);
        let mut large = Canvas::new(4, 1, Charset::Ascii);
        large.text(0, 0, "abcd", RED);
        large.paste(1, 0, &small);
        assert_eq!(plain(&large), ["axyd"]);
    }
}
