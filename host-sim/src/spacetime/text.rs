//! A picture in letters: a column for each node, time downwards.

use super::glyphs::{self, DOWN, LEFT, Life, RIGHT, UP};
use super::tracks::Tracks;
use super::{Crossing, Happening, Message, Picture};
use crate::map::{Canvas, Ink};
use anstyle::{AnsiColor, Style};

/// How many nodes there is room for.
pub const NODES_MAX: u32 = 8;

/// How wide a picture is at most: what every terminal has, but for its last column.
const WIDTH: usize = 79;
/// How wide the times at the left are, and the notes at the right.
const TIMES: usize = 10;
const NOTES: usize = 13;
/// How far lines are apart at most.
const PITCH_MAX: usize = 14;
/// What is needed to call a node a node and not only by its number.
const PITCH_NAMED: usize = 8;

const PLAIN: Style = Style::new();
const DIM: Style = Style::new().dimmed();
const PAST: Style = AnsiColor::Cyan.on_default();
const BUSY: Style = AnsiColor::Yellow.on_default();
const OVER: Style = AnsiColor::Green.on_default().bold();

fn style(crossing: Crossing) -> Style {
    match crossing {
        Crossing::None => PLAIN,
        Crossing::Forward => AnsiColor::Yellow.on_default().bold(),
        Crossing::Backward => AnsiColor::Red.on_default().bold(),
    }
}

impl Picture<'_> {
    /// The picture in letters, no wider than 79 columns.
    ///
    /// # Errors
    /// A sentence, where there are too many nodes to tell their lines apart.
    pub fn text(&self, ink: Ink, colours: bool) -> Result<String, String> {
        if self.nodes > NODES_MAX {
            return Err(format!(
                "A picture in letters has room for {NODES_MAX} nodes, not for {}: draw it with --svg FILE.",
                self.nodes
            ));
        }
        let mut sheet = Sheet::new(self, ink);
        sheet.messages();
        sheet.lines();
        sheet.rows();
        let mut text = String::new();
        for row in sheet.canvas.rows(colours) {
            text += row.trim_end();
            text.push('\n');
        }
        text.push('\n');
        for line in self.legend(ink).into_iter().chain(self.left_out()) {
            text += &line;
            text.push('\n');
        }
        Ok(text)
    }

    fn legend(&self, ink: Ink) -> Vec<String> {
        let glyph = |past, busy| Life { past, busy }.glyph(0, ink);
        let line = |crossing| glyphs::line(LEFT | RIGHT, crossing, ink);
        let mut legend = Vec::new();
        if let Some(cut) = self.main_cut() {
            let several = self.history.cuts.len() > 1;
            let passes = if several { "1".to_owned() } else { glyphs::record(ink, None).to_string() };
            legend.push(format!(
                "{} before the cut   {passes} here it passes   {} after it   {} on its way across it",
                glyph(false, false),
                glyph(true, false),
                line(Crossing::Forward),
            ));
            match self.history.cuts.len() {
                0 | 1 => {}
                2 => legend.push("2 here the other cut passes".to_owned()),
                count => legend.push(format!("2 to {count} here the other cuts pass")),
            }
            if self.history.messages.iter().any(|message| cut.crossing(message) == Crossing::Backward) {
                legend.push(format!(
                    "{} said after the cut and heard before it: no moment can have looked like this",
                    line(Crossing::Backward)
                ));
            }
        }
        if self.cut.is_none() {
            legend.push(format!(
                "{} has work   {} has none   {} knows that the job is over",
                glyph(false, true),
                glyph(false, false),
                glyphs::over(ink),
            ));
        }
        legend
    }
}

/// A picture being drawn.
struct Sheet<'a> {
    picture: &'a Picture<'a>,
    ink: Ink,
    pitch: usize,
    canvas: Canvas,
    /// The lines of messages, row by row: where each leaves its cell, and how it lies to the cut.
    strokes: Vec<[(u8, Crossing); WIDTH]>,
    /// What stands at the right of each row.
    notes: Vec<String>,
}

impl<'a> Sheet<'a> {
    fn new(picture: &'a Picture<'a>, ink: Ink) -> Self {
        let rows = picture.rows.len();
        let pitch = ((WIDTH - TIMES - NOTES) / picture.nodes.max(1) as usize).min(PITCH_MAX);
        let canvas = Canvas::new(WIDTH, rows + 1, ink); // the first row is the head
        Self {
            picture,
            ink,
            pitch,
            canvas,
            strokes: vec![[(0, Crossing::None); WIDTH]; rows],
            notes: vec![String::new(); rows],
        }
    }

    /// The column of a node's line.
    fn line(&self, node: u32) -> usize {
        TIMES + node as usize * self.pitch + self.pitch / 2
    }

    fn is_line(&self, column: usize) -> bool {
        (0..self.picture.nodes).any(|node| self.line(node) == column)
    }

    fn write(&mut self, column: usize, row: usize, text: &str, style: Style) {
        self.canvas.text(column as i64, row as i64 + 1, text, style);
    }

    fn stroke(&mut self, column: usize, row: usize, sides: u8, crossing: Crossing) {
        if let Some((known, worst)) = self.strokes.get_mut(row).and_then(|row| row.get_mut(column)) {
            *known |= sides;
            *worst = crossing.max(*worst);
        }
    }

    /// Draws across from one column to another, in either direction; the ends are drawn half.
    fn across(&mut self, from: usize, to: usize, row: usize, crossing: Crossing) {
        for column in from.min(to)..=from.max(to) {
            let left = if column == from.min(to) { 0 } else { LEFT };
            let right = if column == from.max(to) { 0 } else { RIGHT };
            self.stroke(column, row, left | right, crossing);
        }
    }

    /// Draws every message that is said or heard here.
    fn messages(&mut self) {
        let picture = self.picture;
        let row_of =
            |order: usize| picture.rows.iter().position(|row| row.events().is_some_and(|r| r.contains(&order)));
        let mut tracks = Tracks::default();
        let mut heads = Vec::new();
        for message in &picture.history.messages {
            if message.from >= picture.nodes || message.to >= picture.nodes || message.from == message.to {
                continue;
            }
            let said = message.said.and_then(|moment| row_of(moment.order));
            let heard = message.heard.and_then(|moment| row_of(moment.order));
            if said.is_some() || heard.is_some() {
                heads.extend(self.message(message, said, heard, &mut tracks));
            }
        }
        for (column, row, head, style) in heads {
            self.write(column, row, head, style);
            self.strokes[row][column] = (0, Crossing::None);
        }
    }

    /// Draws one message; returns where the head of its arrow is.
    fn message(
        &mut self,
        message: &Message,
        said: Option<usize>,
        heard: Option<usize>,
        tracks: &mut Tracks,
    ) -> Option<(usize, usize, &'static str, Style)> {
        let crossing = self.picture.crossing(message);
        let (from, to) = (self.line(message.from), self.line(message.to));
        let from_left = from < to;
        let beside = if from_left { to - 1 } else { to + 1 };
        if said.is_some() && said == heard {
            self.across(from, beside, said?, crossing);
            self.amount(from, beside, said?, message);
        } else {
            let last = self.strokes.len() as i64;
            let rows = said.map_or(-1, |row| row as i64)..heard.map_or(last, |row| row as i64);
            let track = tracks.take(to, from_left, self.pitch, rows.clone());
            // Above and below the picture nothing is drawn.
            for row in (rows.start.max(0)..=rows.end.min(last - 1)).map(|row| row as usize) {
                let up = if Some(row) == said { 0 } else { UP };
                let down = if Some(row) == heard { 0 } else { DOWN };
                self.stroke(track, row, up | down, crossing);
            }
            if let Some(row) = said {
                self.across(from, track, row, crossing);
                self.amount(from, track, row, message);
            }
            if let Some(row) = heard {
                self.across(track, beside, row, crossing);
            }
            if let (None, Some(row)) = (said, heard) {
                self.notes[row] = format!("{} from {}", message.amount, message.from);
            }
        }
        heard.map(|row| (beside, row, if from_left { ">" } else { "<" }, style(crossing)))
    }

    /// Writes what a message brings onto its line, where nothing else is; if there is no such place, at the right.
    fn amount(&mut self, from: usize, end: usize, row: usize, message: &Message) {
        let amount = message.amount.to_string();
        let width = amount.len();
        let is_free = |column: usize| !self.is_line(column) && self.strokes[row][column].0 & (UP | DOWN) == 0;
        let fits = |start: usize| (start..start + width).all(is_free);
        let place = if from < end {
            // A piece of line shows first, if there is room for it.
            (from + 2..(end + 1).saturating_sub(width))
                .chain([from + 1])
                .find(|&start| start + width <= end && fits(start))
        } else {
            let last = |start: usize| start > end && fits(start);
            (end + 1..from.saturating_sub(width)).rev().chain([from.saturating_sub(width)]).find(|&start| last(start))
        };
        match place {
            Some(start) => {
                self.strokes[row][start..start + width].fill((0, Crossing::None));
                self.write(start, row, &amount, style(self.picture.crossing(message)));
            }
            None => self.notes[row] = format!("{amount} to {}", message.to),
        }
    }

    /// Draws the lines of nodes, and puts the messages over them.
    fn lines(&mut self) {
        let mut lives = vec![Life { past: false, busy: false }; self.picture.nodes as usize];
        for event in &self.picture.history.events[..self.picture.earlier] {
            self.live(&mut lives, event.node, event.what);
        }
        for (row, shown) in self.picture.rows.iter().enumerate() {
            for order in shown.events().into_iter().flatten() {
                let event = self.picture.history.events[order];
                self.live(&mut lives, event.node, event.what);
            }
            for column in 0..WIDTH {
                let (sides, crossing) = self.strokes[row][column];
                if sides != 0 {
                    let glyph = glyphs::line(sides, crossing, self.ink);
                    self.write(column, row, glyph.encode_utf8(&mut [0; 4]), style(crossing));
                }
            }
            for (node, life) in (0..).zip(&lives) {
                let column = self.line(node);
                let style = if life.busy {
                    BUSY
                } else if life.past {
                    PAST
                } else {
                    PLAIN
                };
                let glyph = life.glyph(self.strokes[row][column].0, self.ink);
                self.write(column, row, glyph.encode_utf8(&mut [0; 4]), style);
            }
        }
    }

    /// What an event makes of a node's line.
    fn live(&self, lives: &mut [Life], node: u32, what: Happening) {
        let Some(life) = lives.get_mut(node as usize) else { return };
        match what {
            // Of a bank that is photographed, everybody is busy for ever.
            Happening::Busy => life.busy = self.picture.cut.is_none(),
            Happening::Idle => life.busy = false,
            Happening::Recorded(cut) if Some(cut) == self.picture.cut => life.past = true,
            _ => {}
        }
    }

    /// Writes the head, and what each row has besides lines.
    fn rows(&mut self) {
        self.canvas.text(0, 0, "  seconds", DIM);
        for node in 0..self.picture.nodes {
            let name = if self.pitch >= PITCH_NAMED { format!("node {node}") } else { node.to_string() };
            self.canvas.text(self.line(node) as i64 - name.len() as i64 / 2, 0, &name, PLAIN);
        }
        for (row, shown) in self.picture.rows.iter().enumerate() {
            match shown.events() {
                Some(range) => {
                    let seconds = self.picture.history.events[range.start].at as f64 / 1e6;
                    self.write(0, row, &format!("{seconds:>9.4}"), DIM);
                    range.for_each(|order| self.mark(row, order));
                }
                None => self.through(row, "the true end"),
            }
            let note = std::mem::take(&mut self.notes[row]);
            self.write(self.line(self.picture.nodes) - self.pitch / 2 + 1, row, &note, DIM);
        }
    }

    /// Marks what happened where.
    fn mark(&mut self, row: usize, order: usize) {
        let event = self.picture.history.events[order];
        let column = self.line(event.node);
        let sign = |sheet: &mut Self, glyph: char, style: Style, note: String| {
            sheet.write(column, row, glyph.encode_utf8(&mut [0; 4]), style);
            sheet.notes[row] = note;
        };
        match event.what {
            Happening::Recorded(cut) => {
                let amount = self.picture.history.cuts[cut].records.get(&event.node).map_or(0, |(_, amount)| *amount);
                let number = (self.picture.history.cuts.len() > 1).then_some(cut + 1);
                let note = number.map_or(format!("has {amount}"), |number| format!("cut {number}: {amount}"));
                sign(self, glyphs::record(self.ink, number), PAST.bold(), note);
            }
            Happening::Over => {
                let first = self.picture.history.announced().is_some_and(|(_, moment)| moment.order == order);
                let note = if first { "TERMINATE" } else { "" };
                sign(self, glyphs::over(self.ink), OVER, note.to_owned());
            }
            Happening::Starts(units) => self.notes[row] = format!("starts {units}"),
            Happening::Wave(number) => {
                self.through(row, &format!("wave {number}"));
                sign(self, '?', PLAIN.bold(), format!("wave {number}"));
            }
            // Their lines show them.
            Happening::Says(_) | Happening::Hears(_) | Happening::Busy | Happening::Idle => {}
        }
    }

    /// Draws a line through all nodes.
    fn through(&mut self, row: usize, note: &str) {
        let glyph = glyphs::through(self.ink);
        for column in self.line(0)..self.line(self.picture.nodes.saturating_sub(1)) {
            if self.strokes[row][column].0 == 0 && !self.is_line(column) {
                self.write(column, row, glyph.encode_utf8(&mut [0; 4]), DIM);
            }
        }
        note.clone_into(&mut self.notes[row]);
    }
}

#[cfg(test)]
mod tests;
