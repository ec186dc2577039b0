//! A picture as text: a column for each node, time downwards.

use super::glyphs::{self, DOWN, LEFT, LineState, RIGHT, UP};
use super::{Action, Crossing, Message, Picture};
use crate::draw::map::{Canvas, Charset};
use anstyle::{AnsiColor, Style};
use std::ops::Range;

/// The most nodes that fit.
const NODES_MAX: u32 = 8;

/// The most columns: the least terminal, without its last column.
const WIDTH: usize = 79;
/// The width of the times at the left, and of the notes at the right.
const TIMES: usize = 10;
const NOTES: usize = 13;
/// The most distance between lines.
const PITCH_MAX: usize = 14;
/// The least distance at which headings read "node N" and not only "N".
const PITCH_NAMED: usize = 8;

const PLAIN: Style = Style::new();
const DIM: Style = Style::new().dimmed();
const PAST: Style = AnsiColor::Cyan.on_default();
const BUSY: Style = AnsiColor::Yellow.on_default();
const TERMINATED: Style = AnsiColor::Green.on_default().bold();

fn style(crossing: Crossing) -> Style {
    match crossing {
        Crossing::None => PLAIN,
        Crossing::Forward => AnsiColor::Yellow.on_default().bold(),
        Crossing::Missed | Crossing::Backward => AnsiColor::Red.on_default().bold(),
    }
}

impl Picture<'_> {
    /// Returns the picture as text, at most 79 columns wide.
    pub(crate) fn text(&self, charset: Charset, colours: bool) -> Result<String, String> {
        if self.nodes > NODES_MAX {
            let nodes = self.nodes;
            return Err(format!(
                "A text picture has room for {NODES_MAX} nodes, not for {nodes}: draw it with --svg FILE."
            ));
        }
        let mut sheet = Sheet::new(self, charset);
        sheet.messages();
        sheet.lines();
        sheet.rows();
        let rows = sheet.canvas.rows(colours).map(|row| row.trim_end().to_owned());
        let lines = rows.chain([String::new()]).chain(self.legend(charset)).chain(self.omitted());
        Ok(lines.map(|line| line + "\n").collect())
    }

    fn legend(&self, charset: Charset) -> Vec<String> {
        let glyph = |past, busy| LineState { past, busy }.glyph(0, charset);
        let line = |crossing| glyphs::line(LEFT | RIGHT, crossing, charset);
        let mut legend = Vec::new();
        if let Some(cut) = self.main_cut() {
            let several = self.history.cuts.len() > 1;
            let passes = if several { "1".to_owned() } else { glyphs::record(charset, None).to_string() };
            legend.push(format!(
                "{} before the cut   {passes} the cut   {} after it   {} in flight across it",
                glyph(false, false),
                glyph(true, false),
                line(Crossing::Forward),
            ));
            match self.history.cuts.len() {
                0 | 1 => {}
                2 => legend.push("2 the other cut".to_owned()),
                count => legend.push(format!("2 to {count} the other cuts")),
            }
            let any = |crossing| self.history.messages.iter().any(|message| cut.crossing(message) == crossing);
            if any(Crossing::Missed) {
                let sign = line(Crossing::Missed);
                legend.push(format!(
                    "{sign} in flight and not in the snapshot, whose marker overtook it: the sum is wrong"
                ));
            }
            if any(Crossing::Backward) {
                let sign = line(Crossing::Backward);
                legend.push(format!("{sign} sent after the cut and received before it: the cut is inconsistent"));
            }
        }
        if self.cut.is_none() {
            legend.push(format!(
                "{} busy   {} idle   {} knows that the job is over",
                glyph(false, true),
                glyph(false, false),
                glyphs::terminated(charset),
            ));
        }
        legend
    }
}

struct Sheet<'a> {
    picture: &'a Picture<'a>,
    charset: Charset,
    pitch: usize,
    canvas: Canvas,
    /// The lines of messages, by row and column: the sides of the cell they leave by, and their position relative to
    /// the cut.
    strokes: Vec<[(u8, Crossing); WIDTH]>,
    /// The note at the right of each row.
    notes: Vec<String>,
}

impl<'a> Sheet<'a> {
    fn new(picture: &'a Picture<'a>, charset: Charset) -> Self {
        let rows = picture.rows.len();
        let pitch = ((WIDTH - TIMES - NOTES) / picture.nodes.max(1) as usize).min(PITCH_MAX);
        let canvas = Canvas::new(WIDTH, rows + 1, charset); // the first row is the head
        let (strokes, notes) = (vec![[(0, Crossing::None); WIDTH]; rows], vec![String::new(); rows]);
        Self { picture, charset, pitch, canvas, strokes, notes }
    }

    fn line(&self, node: u32) -> usize {
        TIMES + node as usize * self.pitch + self.pitch / 2
    }

    fn is_line(&self, column: usize) -> bool {
        (0..self.picture.nodes).any(|node| self.line(node) == column)
    }

    fn write(&mut self, column: usize, row: usize, text: &str, style: Style) {
        self.canvas.text(column as i64, row as i64 + 1, text, style);
    }

    fn put(&mut self, column: usize, row: usize, glyph: char, style: Style) {
        self.write(column, row, glyph.encode_utf8(&mut [0; 4]), style);
    }

    fn stroke(&mut self, column: usize, row: usize, sides: u8, crossing: Crossing) {
        if let Some((known, worst)) = self.strokes.get_mut(row).and_then(|row| row.get_mut(column)) {
            *known |= sides;
            *worst = crossing.max(*worst);
        }
    }

    /// Draws horizontally from one column to another; the ends are drawn half.
    fn across(&mut self, from: usize, to: usize, row: usize, crossing: Crossing) {
        for column in from.min(to)..=from.max(to) {
            let left = if column == from.min(to) { 0 } else { LEFT };
            let right = if column == from.max(to) { 0 } else { RIGHT };
            self.stroke(column, row, left | right, crossing);
        }
    }

    /// Draws every message that is sent or received in the picture.
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
            let sent = message.sent.and_then(|moment| row_of(moment.order));
            let received = message.received.and_then(|moment| row_of(moment.order));
            if sent.is_some() || received.is_some() {
                heads.extend(self.message(message, sent, received, &mut tracks));
            }
        }
        for (column, row, head, style) in heads {
            self.write(column, row, head, style);
            self.strokes[row][column] = (0, Crossing::None);
        }
    }

    /// Draws one message; returns the position of its arrow's head.
    fn message(
        &mut self,
        message: &Message,
        sent: Option<usize>,
        received: Option<usize>,
        tracks: &mut Tracks,
    ) -> Option<(usize, usize, &'static str, Style)> {
        let crossing = self.picture.crossing(message);
        let (from, to) = (self.line(message.from), self.line(message.to));
        let from_left = from < to;
        let beside = if from_left { to - 1 } else { to + 1 };
        if sent.is_some() && sent == received {
            self.across(from, beside, sent?, crossing);
            self.amount(from, beside, sent?, message);
        } else {
            let last = self.strokes.len() as i64;
            let rows = sent.map_or(-1, |row| row as i64)..received.map_or(last, |row| row as i64);
            let track = tracks.take(to, from_left, self.pitch, rows.clone());
            // The line is clipped above and below the picture.
            for row in (rows.start.max(0)..=rows.end.min(last - 1)).map(|row| row as usize) {
                let up = if Some(row) == sent { 0 } else { UP };
                let down = if Some(row) == received { 0 } else { DOWN };
                self.stroke(track, row, up | down, crossing);
            }
            if let Some(row) = sent {
                self.across(from, track, row, crossing);
                self.amount(from, track, row, message);
            }
            if let Some(row) = received {
                self.across(track, beside, row, crossing);
            }
            if let (None, Some(row)) = (sent, received) {
                self.notes[row] = format!("{} from {}", message.amount, message.from);
            }
        }
        received.map(|row| (beside, row, if from_left { ">" } else { "<" }, style(crossing)))
    }

    /// Writes the amount of a message onto its line; if there is no room, into the note of the row.
    fn amount(&mut self, from: usize, end: usize, row: usize, message: &Message) {
        let amount = message.amount.to_string();
        let width = amount.len();
        let is_free = |column: usize| !self.is_line(column) && self.strokes[row][column].0 & (UP | DOWN) == 0;
        let fits = |start: usize| (start..start + width).all(is_free);
        let place = if from < end {
            // A piece of line comes first, if there is room for it.
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

    /// Draws the lines of nodes, and the messages over them.
    fn lines(&mut self) {
        let mut states = vec![LineState { past: false, busy: false }; self.picture.nodes as usize];
        for event in &self.picture.history.events[..self.picture.earlier] {
            self.update(&mut states, event.node, event.action);
        }
        for (row, shown) in self.picture.rows.iter().enumerate() {
            for order in shown.events().into_iter().flatten() {
                let event = self.picture.history.events[order];
                self.update(&mut states, event.node, event.action);
            }
            for column in 0..WIDTH {
                let (sides, crossing) = self.strokes[row][column];
                if sides != 0 {
                    self.put(column, row, glyphs::line(sides, crossing, self.charset), style(crossing));
                }
            }
            for (node, state) in (0..).zip(&states) {
                let column = self.line(node);
                let style = match (state.busy, state.past) {
                    (true, _) => BUSY,
                    (false, true) => PAST,
                    (false, false) => PLAIN,
                };
                self.put(column, row, state.glyph(self.strokes[row][column].0, self.charset), style);
            }
        }
    }

    /// Applies an event to the state of its node's line.
    fn update(&self, states: &mut [LineState], node: u32, action: Action) {
        let Some(state) = states.get_mut(node as usize) else { return };
        match action {
            // In a bank all nodes are always busy.
            Action::Busy => state.busy = self.picture.cut.is_none(),
            Action::Idle => state.busy = false,
            Action::Recorded(cut) if Some(cut) == self.picture.cut => state.past = true,
            _ => {}
        }
    }

    /// Writes the head, and the time, marks and note of each row.
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

    fn mark(&mut self, row: usize, order: usize) {
        let event = self.picture.history.events[order];
        let column = self.line(event.node);
        let sign = |sheet: &mut Self, glyph: char, style: Style, note: String| {
            sheet.put(column, row, glyph, style);
            sheet.notes[row] = note;
        };
        match event.action {
            Action::Recorded(cut) => {
                let amount = self.picture.history.cuts[cut].records.get(&event.node).map_or(0, |(_, amount)| *amount);
                let number = (self.picture.history.cuts.len() > 1).then_some(cut + 1);
                let note = number.map_or(format!("has {amount}"), |number| format!("cut {number}: {amount}"));
                sign(self, glyphs::record(self.charset, number), PAST.bold(), note);
            }
            Action::Terminated => {
                let first = self.picture.history.announced().is_some_and(|(_, moment)| moment.order == order);
                let note = if first { "TERMINATE" } else { "" };
                sign(self, glyphs::terminated(self.charset), TERMINATED, note.to_owned());
            }
            Action::Start(units) => self.notes[row] = format!("starts {units}"),
            Action::Wave(number) => {
                self.through(row, &format!("wave {number}"));
                sign(self, '?', PLAIN.bold(), format!("wave {number}"));
            }
            // Shown by the lines.
            Action::Send(_) | Action::Receive(_) | Action::Busy | Action::Idle => {}
        }
    }

    fn through(&mut self, row: usize, note: &str) {
        let glyph = glyphs::through(self.charset);
        for column in self.line(0)..self.line(self.picture.nodes.saturating_sub(1)) {
            if self.strokes[row][column].0 == 0 && !self.is_line(column) {
                self.put(column, row, glyph, DIM);
            }
        }
        note.clone_into(&mut self.notes[row]);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Track {
    /// The column in which it runs down.
    column: usize,
    /// The rows in which it is sent and received.
    first: i64,
    last: i64,
}

/// The columns of messages between the rows in which they are sent and received.
///
/// A message runs to its receiver's side in the row in which it is sent, then down beside the receiver's line, and
/// enters it in the row in which it is received. So it crosses no event in between.
#[derive(Clone, Debug, Default)]
struct Tracks(Vec<Track>);

impl Tracks {
    /// Returns the column of a message that enters the line at `to` from the left or the right, with lines `pitch`
    /// apart: the free column nearest to the line. If none is free, two messages share one.
    fn take(&mut self, to: usize, from_left: bool, pitch: usize, rows: Range<i64>) -> usize {
        let columns = 2..pitch.max(4) - 1;
        let at = |far: usize| if from_left { to.saturating_sub(far) } else { to + far };
        let is_free = |column: usize| {
            !self.0.iter().any(|track| track.column == column && rows.start <= track.last && track.first <= rows.end)
        };
        let column = columns.map(at).find(|&column| is_free(column)).unwrap_or(at(2));
        self.0.push(Track { column, first: rows.start, last: rows.end });
        column
    }
}

#[cfg(test)]
mod tests;
