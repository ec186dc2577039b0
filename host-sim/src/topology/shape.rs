//! The shapes a network can have.

use super::{Components, Link, Links, OneWay, Point, Reach};
use crate::random::{Chance, Random, Stream};

/// The most nodes a run can have: a place is 24 bits.
pub const PLACES_MAX: u32 = 1 << 24;

/// How often nodes left out of a network that should be connected are placed anew.
const REDRAWS_MAX: u32 = 1_000;

/// How a network is laid out.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// One after the other.
    Line {
        /// Between neighbours, in metres.
        spacing: f64,
    },
    /// In a circle; each hears the next and the one before, whatever the range.
    Ring {
        /// Between neighbours, in metres.
        spacing: f64,
    },
    /// In rows.
    Grid {
        /// Between neighbours, in metres.
        spacing: f64,
        /// How many in a row.
        columns: u32,
    },
    /// Anywhere in a square.
    Geometric {
        /// How many nodes are in a node's range on average (away from the edge): it sets the size of the square.
        degree: f64,
        /// Whether nodes are placed anew until all hang together by sure links.
        connected: bool,
    },
    /// Everybody hears everybody, whatever the range.
    Complete,
    /// At these positions.
    Positions(Vec<Point>),
}

/// Where the nodes stand, by name.
#[must_use]
pub fn place(shape: &Shape, nodes: u32, reach: Reach, seed: u64) -> Vec<Point> {
    match *shape {
        Shape::Line { spacing } => (0..nodes).map(|node| Point { x: f64::from(node) * spacing, y: 0.0 }).collect(),
        Shape::Ring { spacing } => circle(nodes, spacing),
        Shape::Complete => circle(nodes, reach.range / f64::from(nodes)),
        Shape::Grid { spacing, columns } => (0..nodes)
            .map(|node| Point { x: f64::from(node % columns) * spacing, y: f64::from(node / columns) * spacing })
            .collect(),
        Shape::Geometric { degree, connected } => {
            let side = (f64::from(nodes) * std::f64::consts::PI * reach.range * reach.range / degree).sqrt();
            scatter(nodes, side, reach, connected, &mut Random::new(seed, Stream::Placement))
        }
        Shape::Positions(ref points) => points.clone(),
    }
}

/// Nodes on a circle, `spacing` apart along it.
fn circle(nodes: u32, spacing: f64) -> Vec<Point> {
    let radius = f64::from(nodes) * spacing / std::f64::consts::TAU;
    (0..nodes)
        .map(|node| {
            let angle = std::f64::consts::TAU * f64::from(node) / f64::from(nodes);
            Point { x: radius * (1.0 + angle.cos()), y: radius * (1.0 + angle.sin()) }
        })
        .collect()
}

/// Nodes anywhere in a square. Where they must hang together, those outside the largest component are placed anew.
fn scatter(nodes: u32, side: f64, reach: Reach, connected: bool, random: &mut Random) -> Vec<Point> {
    let mut draw = || Point { x: random.unit() * side, y: random.unit() * side };
    let mut points: Vec<Point> = (0..nodes).map(|_| draw()).collect();
    if !connected {
        return points;
    }
    let sure = Reach { range: reach.range, grey: reach.range };
    let one_way = OneWay { share: Chance::NEVER, seed: 0 };
    let mut links = Links::default();
    for _ in 0..REDRAWS_MAX {
        links.rebuild(&points, sure, &one_way);
        let parts = Components::find(&links, Link::SURE, |_| true, |_, _| true);
        if parts.count() <= 1 {
            break;
        }
        let main = parts.largest();
        for node in 0..nodes {
            if Some(parts.of(node)) != main {
                points[node as usize] = draw();
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    const REACH: Reach = Reach { range: 15.0, grey: 19.0 };
    const BOTH_WAYS: OneWay = OneWay { share: Chance::NEVER, seed: 0 };

    fn degrees(shape: &Shape, nodes: u32) -> Vec<usize> {
        let links = Links::by_distance(&place(shape, nodes, REACH, 1), REACH, &BOTH_WAYS);
        (0..nodes).map(|node| links.of(node).len()).collect()
    }

    #[test]
    fn a_grid_hears_its_eight_neighbours_and_a_line_its_two() {
        let grid = degrees(&Shape::Grid { spacing: 10.0, columns: 8 }, 64);
        assert_eq!((grid[0], grid[1], grid[9]), (3, 5, 8));
        let line = degrees(&Shape::Line { spacing: 10.0 }, 30);
        assert_eq!((line[0], line[1], line[29]), (1, 2, 1));
    }

    #[test]
    fn a_scattered_network_has_about_the_degree_asked_for() {
        let points = place(&Shape::Geometric { degree: 8.0, connected: false }, 5_000, REACH, 1);
        let sure = Reach { range: 15.0, grey: 15.0 };
        let links = Links::by_distance(&points, sure, &BOTH_WAYS);
        let mean = links.len() as f64 / 5_000.0;
        assert!((7.3..8.3).contains(&mean), "{mean}");
    }

    #[test]
    fn a_network_that_should_hang_together_does() {
        for seed in 0..20 {
            let points = place(&Shape::Geometric { degree: 7.0, connected: true }, 300, REACH, seed);
            let links = Links::by_distance(&points, REACH, &BOTH_WAYS);
            assert_eq!(Components::find(&links, Link::SURE, |_| true, |_, _| true).count(), 1);
        }
    }

    #[test]
    fn another_seed_places_the_nodes_elsewhere() {
        let shape = Shape::Geometric { degree: 8.0, connected: true };
        assert_eq!(place(&shape, 50, REACH, 1), place(&shape, 50, REACH, 1));
        assert_ne!(place(&shape, 50, REACH, 1), place(&shape, 50, REACH, 2));
    }
}
