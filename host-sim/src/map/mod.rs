//! A network drawn as a map: nodes where they stand with what they are worth, who hears whom, who leads, who is down,
//! and where the network is cut.

mod canvas;

pub use canvas::{Canvas, Ink};

use crate::machine::Machine;
use crate::topology::{Area, NOWHERE, Point};
use crate::world::{Life, World};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeSet;

/// What a node is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It has not started yet.
    Absent,
    /// It is up and knows no leader.
    Seeking,
    /// It takes part in an election and waits for reports.
    Called,
    /// It takes part in an election and has reported.
    Reported,
    /// It follows another node.
    Follows,
    /// It leads.
    Leads,
    /// It neither hears nor speaks.
    Down,
}

impl Mark {
    /// The sign for it.
    #[must_use]
    pub fn glyph(self, ink: Ink) -> char {
        let (fine, ascii) = match self {
            Self::Absent => ('·', '.'),
            Self::Seeking => ('○', '?'),
            Self::Called => ('◉', '!'),
            Self::Reported => ('◎', '^'),
            Self::Follows => ('●', 'o'),
            Self::Leads => ('★', '*'),
            Self::Down => ('✗', 'x'),
        };
        match ink {
            Ink::Fine => fine,
            Ink::Ascii => ascii,
        }
    }

    /// Its colours; those who lead or follow have the colour of their party.
    #[must_use]
    pub fn style(self, party: usize) -> Style {
        match self {
            Self::Absent => Style::new().dimmed(),
            Self::Seeking => Style::new(),
            Self::Called => AnsiColor::Yellow.on_default().bold(),
            Self::Reported => AnsiColor::Yellow.on_default(),
            Self::Follows => PARTIES[party % PARTIES.len()].on_default(),
            Self::Leads => PARTIES[party % PARTIES.len()].on_default().bold().invert(),
            Self::Down => AnsiColor::Red.on_default(),
        }
    }
}

/// The colours of leaders and those who follow them.
const PARTIES: [AnsiColor; 4] = [AnsiColor::Green, AnsiColor::Cyan, AnsiColor::Magenta, AnsiColor::Blue];

/// Of a link along which nothing happens.
const QUIET: Style = AnsiColor::BrightBlack.on_default();
/// Of a link along which an election came.
const LIVELY: Style = AnsiColor::Yellow.on_default();
const WALL: Style = AnsiColor::Red.on_default();

/// Half of the longest name with its capacity, so that it fits at the edge.
const MARGIN: usize = 5;

/// A node on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Where it stands.
    pub point: Point,
    /// What it is worth; `None` is unfit to lead.
    pub capacity: Option<u16>,
    /// What it is up to.
    pub mark: Mark,
    /// Whom it follows; itself, if it leads.
    pub leader: Option<u32>,
    /// The party its leader heads, which gives it its colour.
    pub party: usize,
    /// Which part of the network it is in; [`NOWHERE`] if it is not up.
    pub part: u32,
}

/// A map, ready to be drawn at any size.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The nodes, by name.
    pub spots: Vec<Spot>,
    /// Who hears each other.
    pub links: Vec<(u32, u32)>,
    /// Along which links an election came.
    pub lively: Vec<(u32, u32)>,
    /// Whether to draw where one part of the network ends and the next begins.
    pub walled: bool,
}

impl Map {
    /// The network as it is now.
    #[must_use]
    pub fn of<M: Machine>(world: &World<M>) -> Self {
        let names = 0..world.nodes();
        let parts = world.components(1);
        let spot = |name| {
            let view = world.node(name);
            let leader = view.leader.map(|(leader, _)| leader);
            let mark = match (view.life, leader) {
                (Life::Down | Life::Paused, _) => Mark::Down,
                (Life::Up, None) => Mark::Seeking,
                (Life::Up, Some(leader)) if leader == name => Mark::Leads,
                (Life::Up, Some(_)) => Mark::Follows,
            };
            Spot { point: view.point, capacity: view.capacity, mark, leader, party: 0, part: parts.of(name) }
        };
        let spots: Vec<Spot> = names.clone().map(spot).collect();
        let up = |name: u32| spots[name as usize].part != NOWHERE;
        let hears = |name, other| world.hearers(other).any(|(hearer, _)| hearer == name);
        let heard_by = |name| world.hearers(name).map(move |(other, _)| (name, other));
        let links = names
            .flat_map(heard_by)
            .filter(|&(name, other)| name < other && up(name) && up(other) && hears(name, other))
            .collect();
        Self { spots, links, lively: Vec::new(), walled: false }
    }

    /// The map on a sheet of this size.
    #[must_use]
    pub fn draw(&self, width: usize, height: usize, ink: Ink) -> Canvas {
        let mut canvas = Canvas::new(width, height, ink);
        let places = self.places(width, height);
        for (links, style) in [(&self.links, QUIET), (&self.lively, LIVELY)] {
            for &(a, b) in links {
                canvas.line(places[a as usize], places[b as usize], style);
            }
        }
        if self.walled {
            self.draw_wall(&places, &mut canvas);
        }
        // Leaders last: nothing may hide them.
        let leads = |name: &usize| self.spots[*name].mark == Mark::Leads;
        let (last, first): (Vec<usize>, Vec<usize>) = (0..self.spots.len()).partition(leads);
        for name in first.into_iter().chain(last) {
            let spot = &self.spots[name];
            let (column, row) = places[name];
            let text = label(name, spot, ink);
            canvas.text(column - text.chars().count() as i64 / 2, row, &text, spot.mark.style(spot.party));
        }
        canvas
    }

    /// The column and row of each node.
    fn places(&self, width: usize, height: usize) -> Vec<(i64, i64)> {
        let points: Vec<Point> = self.spots.iter().map(|spot| spot.point).collect();
        let area = Area::around(&points);
        let columns = width.saturating_sub(2 * MARGIN + 1) as f64;
        let rows = height.saturating_sub(1) as f64;
        let share = |offset: f64, whole: f64| if whole > 0.0 { offset / whole } else { 0.5 };
        let place = |point: &Point| {
            let column = share(point.x - area.low.x, area.width()) * columns;
            let row = share(point.y - area.low.y, area.height()) * rows;
            (MARGIN as i64 + column.round() as i64, row.round() as i64)
        };
        points.iter().map(place).collect()
    }

    /// Nodes pull at every character, the more the nearer; it belongs to the part that pulls most. The wall is where
    /// these meet.
    fn draw_wall(&self, places: &[(i64, i64)], canvas: &mut Canvas) {
        let up = || self.spots.iter().zip(places).filter(|(spot, _)| spot.part != NOWHERE);
        let parts: BTreeSet<u32> = up().map(|(spot, _)| spot.part).collect();
        let pull = |part: u32, column: i64, row: i64| -> f64 {
            let of_part = up().filter(|(spot, _)| spot.part == part);
            // A character is twice as high as it is wide.
            let distances = of_part.map(|(_, &(x, y))| (x - column).pow(2) + (2 * (y - row)).pow(2));
            distances.map(|distance| 1.0 / (distance + 1) as f64).sum()
        };
        let owner = |column: i64, row: i64| {
            let pulls = parts.iter().map(|&part| (pull(part, column, row), part));
            pulls.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, part)| part)
        };
        let brick = match canvas.ink() {
            Ink::Fine => "▒",
            Ink::Ascii => "#",
        };
        for row in 0..canvas.height() as i64 {
            for column in 0..canvas.width() as i64 {
                let here = owner(column, row);
                if here != owner(column + 1, row) || here != owner(column, row + 1) {
                    canvas.text(column, row, brick, WALL);
                }
            }
        }
    }
}

fn label(name: usize, spot: &Spot, ink: Ink) -> String {
    let glyph = spot.mark.glyph(ink);
    let worth = spot.capacity.map_or_else(|| "unfit".to_owned(), |worth| worth.to_string());
    match spot.mark {
        Mark::Absent => format!("{glyph}{name}"),
        // Where there may be no colours, the leader must still stand out.
        Mark::Leads if ink == Ink::Ascii => format!("[{glyph}{name} {worth}]"),
        Mark::Leads => format!(" {glyph}{name} {worth} "),
        Mark::Seeking | Mark::Called | Mark::Reported | Mark::Follows | Mark::Down => format!("{glyph}{name} {worth}"),
    }
}

#[cfg(test)]
mod tests;
