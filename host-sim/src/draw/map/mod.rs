//! A network drawn as a map: the positions and capacities of nodes, their links, leaders and failures, and partitions.

mod canvas;

pub(crate) use canvas::{Canvas, Charset};

use crate::sim::node::SimNode;
use crate::sim::topology::{Area, NO_COMPONENT, Point};
use crate::sim::world::{PowerState, World};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    NotStarted,
    Leaderless,
    /// It takes part in an election and waits for replies.
    Called,
    /// It takes part in an election and has replied.
    Reported,
    Follows,
    Leads,
    /// It neither receives nor sends.
    Down,
    /// It runs, and is no member of the group.
    Outside,
}

impl Mark {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::NotStarted => "not started",
            Self::Leaderless => "no leader",
            Self::Called => "called",
            Self::Reported => "reported",
            Self::Follows => "follows",
            Self::Leads => "leads",
            Self::Down => "down",
            Self::Outside => "no member",
        }
    }

    pub(crate) fn glyph(self, charset: Charset) -> char {
        let (unicode, ascii) = match self {
            Self::NotStarted => ('·', '.'),
            Self::Leaderless => ('○', '?'),
            Self::Called => ('◉', '!'),
            Self::Reported => ('◎', '^'),
            Self::Follows => ('●', 'o'),
            Self::Leads => ('★', '*'),
            Self::Down => ('✗', 'x'),
            Self::Outside => ('-', '-'),
        };
        charset.choose(unicode, ascii)
    }

    /// Returns its style; leaders and followers have the colour of their leader.
    pub(crate) fn style(self, colour: usize) -> Style {
        match self {
            Self::NotStarted | Self::Outside => Style::new().dimmed(),
            Self::Leaderless => Style::new(),
            Self::Called => AnsiColor::Yellow.on_default().bold(),
            Self::Reported => AnsiColor::Yellow.on_default(),
            Self::Follows => LEADER_COLOURS[colour % LEADER_COLOURS.len()].on_default(),
            Self::Leads => LEADER_COLOURS[colour % LEADER_COLOURS.len()].on_default().bold().invert(),
            Self::Down => AnsiColor::Red.on_default(),
        }
    }
}

/// The colours of leaders and their followers.
const LEADER_COLOURS: [AnsiColor; 4] = [AnsiColor::Green, AnsiColor::Cyan, AnsiColor::Magenta, AnsiColor::Blue];

const LINK: Style = AnsiColor::BrightBlack.on_default();
const FLOODED: Style = AnsiColor::Yellow.on_default();
const PARTITION: Style = AnsiColor::Red.on_default();

/// Half of the longest label, so that it fits at the edge.
const MARGIN: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MapNode {
    pub(crate) point: Point,
    /// Its capacity; `None` is unfit to lead.
    pub(crate) capacity: Option<u16>,
    pub(crate) mark: Mark,
    /// Its leader; itself, if it leads.
    pub(crate) leader: Option<u32>,
    /// The index of its leader's colour.
    pub(crate) colour: usize,
    /// Its component; `NO_COMPONENT` if it is not up.
    pub(crate) component: u32,
}

/// A map, ready to be drawn at any size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Map {
    pub(crate) nodes: Vec<MapNode>,
    /// The bidirectional links.
    pub(crate) links: Vec<(u32, u32)>,
    /// The links along which the flood of an election came.
    pub(crate) flooded: Vec<(u32, u32)>,
    /// Whether to draw the borders between components.
    pub(crate) partitioned: bool,
}

impl Map {
    pub(crate) fn of<M: SimNode>(world: &World<M>) -> Self {
        let ids = 0..world.node_count();
        let components = world.components(1);
        let node = |id| {
            let view = world.view(id);
            let leader = view.leader.map(|(leader, _)| leader);
            let mark = match (view.power, leader) {
                (PowerState::Down, _) if view.outside => Mark::Outside,
                (PowerState::Down | PowerState::Paused, _) => Mark::Down,
                (PowerState::Up, None) => Mark::Leaderless,
                (PowerState::Up, Some(leader)) if leader == id => Mark::Leads,
                (PowerState::Up, Some(_)) => Mark::Follows,
            };
            MapNode {
                point: view.position,
                capacity: view.capacity,
                mark,
                leader,
                colour: 0,
                component: components.of(id),
            }
        };
        let nodes: Vec<MapNode> = ids.clone().map(node).collect();
        let up = |id: u32| nodes[id as usize].component != NO_COMPONENT;
        let receives = |id, from| world.receivers(from).any(|(receiver, _)| receiver == id);
        let links = ids
            .flat_map(|from| world.receivers(from).map(move |(to, _)| (from, to)))
            .filter(|&(from, to)| from < to && up(from) && up(to) && receives(from, to))
            .collect();
        Self { nodes, links, flooded: Vec::new(), partitioned: false }
    }

    pub(crate) fn draw(&self, width: usize, height: usize, charset: Charset) -> Canvas {
        let mut canvas = Canvas::new(width, height, charset);
        let positions = self.positions(width, height);
        for (links, style) in [(&self.links, LINK), (&self.flooded, FLOODED)] {
            for &(a, b) in links {
                canvas.line(positions[a as usize], positions[b as usize], style);
            }
        }
        if self.partitioned {
            self.draw_partition(&positions, &mut canvas);
        }
        // Without room for capacities there are ids.
        let labels: Vec<String> = (0..).zip(&self.nodes).map(|(id, node)| label(id, node, charset)).collect();
        let short = overlap(&positions, &labels);
        // Leaders are drawn last, over everything.
        let leads = |id: &usize| self.nodes[*id].mark == Mark::Leads;
        let (last, first): (Vec<usize>, Vec<usize>) = (0..self.nodes.len()).partition(leads);
        for id in first.into_iter().chain(last) {
            let node = &self.nodes[id];
            let (column, row) = positions[id];
            let text = if short { format!("{}{id}", node.mark.glyph(charset)) } else { labels[id].clone() };
            canvas.text(column - text.chars().count() as i64 / 2, row, &text, node.mark.style(node.colour));
        }
        canvas
    }

    fn positions(&self, width: usize, height: usize) -> Vec<(i64, i64)> {
        let points: Vec<Point> = self.nodes.iter().map(|node| node.point).collect();
        let area = Area::around(&points);
        let columns = width.saturating_sub(2 * MARGIN + 1) as f64;
        let rows = height.saturating_sub(1) as f64;
        let share = |offset: f64, whole: f64| if whole > 0.0 { offset / whole } else { 0.5 };
        let position = |point: &Point| {
            let column = share(point.x - area.low.x, area.width()) * columns;
            let row = share(point.y - area.low.y, area.height()) * rows;
            (MARGIN as i64 + column.round() as i64, row.round() as i64)
        };
        points.iter().map(position).collect()
    }

    /// Draws the borders between components. A cell belongs to the component with the strongest pull; the pull of a
    /// node falls with its distance.
    fn draw_partition(&self, positions: &[(i64, i64)], canvas: &mut Canvas) {
        let up = || self.nodes.iter().zip(positions).filter(|(node, _)| node.component != NO_COMPONENT);
        let components: BTreeSet<u32> = up().map(|(node, _)| node.component).collect();
        let pull = |component: u32, column: i64, row: i64| -> f64 {
            let nodes = up().filter(|(node, _)| node.component == component);
            // A cell is twice as high as it is wide.
            let distances = nodes.map(|(_, &(x, y))| (x - column).pow(2) + (2 * (y - row)).pow(2));
            distances.map(|distance| 1.0 / (distance + 1) as f64).sum()
        };
        let owner = |column: i64, row: i64| {
            let pulls = components.iter().map(|&component| (pull(component, column, row), component));
            pulls.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, component)| component)
        };
        let brick = canvas.charset.choose("▒", "#");
        for row in 0..canvas.height() as i64 {
            for column in 0..canvas.width as i64 {
                let here = owner(column, row);
                if here != owner(column + 1, row) || here != owner(column, row + 1) {
                    canvas.text(column, row, brick, PARTITION);
                }
            }
        }
    }
}

/// Returns whether two labels, each around its position, share a cell.
fn overlap(positions: &[(i64, i64)], labels: &[String]) -> bool {
    let mut spans: Vec<(i64, i64, i64)> = positions
        .iter()
        .zip(labels)
        .map(|(&(column, row), label)| {
            let length = label.chars().count() as i64;
            (row, column - length / 2, column - length / 2 + length)
        })
        .collect();
    spans.sort_unstable();
    spans.windows(2).any(|two| two[0].0 == two[1].0 && two[1].1 < two[0].2)
}

fn label(id: usize, node: &MapNode, charset: Charset) -> String {
    let glyph = node.mark.glyph(charset);
    let capacity = node.capacity.map_or_else(|| "unfit".to_owned(), |capacity| capacity.to_string());
    match node.mark {
        Mark::NotStarted => format!("{glyph}{id}"),
        // Without colours, the leader must still stand out.
        Mark::Leads if charset == Charset::Ascii => format!("[{glyph}{id} {capacity}]"),
        Mark::Leads => format!(" {glyph}{id} {capacity} "),
        Mark::Leaderless | Mark::Called | Mark::Reported | Mark::Follows | Mark::Down | Mark::Outside => {
            format!("{glyph}{id} {capacity}")
        }
    }
}

#[cfg(test)]
mod tests;
