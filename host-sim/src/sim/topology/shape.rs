//! The shapes of networks.

use super::{Components, Link, Links, OneWay, Point, Reach};
use crate::base::rng::{Rng, Stream};

/// How often the disconnected nodes of a network that must be connected are placed again.
const REDRAWS_MAX: u32 = 1_000;

/// The shape of a network. A spacing is the distance between neighbours, in metres.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// From left to right.
    Line { spacing: f64 },
    /// A circle; each node receives from its two neighbours only, whatever the range.
    Ring { spacing: f64 },
    /// Node 0 amid the others; each of them receives from node 0 only, whatever the range.
    Star { spacing: f64 },
    /// Row by row.
    Grid { spacing: f64, columns: u32 },
    /// Random positions in a square. Its size follows from the mean number of nodes in range of a node away from the
    /// edge; a connected network is placed again until links without loss connect it.
    Geometric { degree: f64, connected: bool },
    /// A link between any two nodes, whatever the range.
    Complete,
    /// By id.
    Positions(Vec<Point>),
}

/// Returns the positions of the nodes, by id.
pub(crate) fn positions(shape: &Shape, nodes: u32, reach: Reach, seed: u64) -> Vec<Point> {
    match *shape {
        Shape::Line { spacing } => (0..nodes).map(|node| Point { x: f64::from(node) * spacing, y: 0.0 }).collect(),
        Shape::Ring { spacing } => around(nodes, spacing),
        Shape::Star { spacing } => {
            let leaves = circle(nodes.saturating_sub(1), spacing);
            [Point { x: spacing, y: spacing }].into_iter().chain(leaves).collect()
        }
        Shape::Complete => around(nodes, reach.range / f64::from(nodes)),
        Shape::Grid { spacing, columns } => (0..nodes)
            .map(|node| Point { x: f64::from(node % columns) * spacing, y: f64::from(node / columns) * spacing })
            .collect(),
        Shape::Geometric { degree, connected } => {
            let side = (f64::from(nodes) * std::f64::consts::PI * reach.range * reach.range / degree).sqrt();
            scatter(nodes, side, reach, connected, &mut Rng::new(seed, Stream::Placement))
        }
        Shape::Positions(ref points) => points.clone(),
    }
}

/// Returns positions on a circle, `spacing` apart along it.
fn around(nodes: u32, spacing: f64) -> Vec<Point> {
    circle(nodes, f64::from(nodes) * spacing / std::f64::consts::TAU)
}

/// Returns positions on a circle.
fn circle(nodes: u32, radius: f64) -> Vec<Point> {
    (0..nodes)
        .map(|node| {
            let angle = std::f64::consts::TAU * f64::from(node) / f64::from(nodes);
            Point { x: radius * (1.0 + angle.cos()), y: radius * (1.0 + angle.sin()) }
        })
        .collect()
}

/// Draws positions in a square; if the network must be connected, nodes outside the largest component are drawn again.
fn scatter(nodes: u32, side: f64, reach: Reach, connected: bool, rng: &mut Rng) -> Vec<Point> {
    let mut draw = || Point { x: rng.next_f64() * side, y: rng.next_f64() * side };
    let mut points: Vec<Point> = (0..nodes).map(|_| draw()).collect();
    if !connected {
        return points;
    }
    let sure = Reach::sharp(reach.range);
    let mut links = Links::default();
    for _ in 0..REDRAWS_MAX {
        links.rebuild(&points, sure, &OneWay::NONE);
        let components = Components::find(&links, Link::QUALITY_MAX, |_| true, |_, _| true);
        if components.count() <= 1 {
            break;
        }
        let main = components.largest();
        for node in 0..nodes {
            if Some(components.of(node)) != main {
                points[node as usize] = draw();
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    const REACH: Reach = Reach { range: 15.0, range_max: 19.0, interference: 30.0 };

    fn degrees(shape: &Shape, nodes: u32) -> Vec<usize> {
        let links = Links::by_distance(&positions(shape, nodes, REACH, 1), REACH, &OneWay::NONE);
        (0..nodes).map(|node| links.of(node).len()).collect()
    }

    #[test]
    fn a_node_of_a_grid_has_eight_neighbours_and_of_a_line_two() {
        let grid = degrees(&Shape::Grid { spacing: 10.0, columns: 8 }, 64);
        assert_eq!((grid[0], grid[1], grid[9]), (3, 5, 8));
        let line = degrees(&Shape::Line { spacing: 10.0 }, 30);
        assert_eq!((line[0], line[1], line[29]), (1, 2, 1));
    }

    #[test]
    fn the_leaves_of_a_star_are_its_spacing_away_from_node_0() {
        let points = positions(&Shape::Star { spacing: 10.0 }, 5, REACH, 1);
        let away: Vec<i64> = points.iter().map(|leaf| leaf.distance(points[0]).round() as i64).collect();
        assert_eq!(away, [0, 10, 10, 10, 10]);
        assert_eq!(positions(&Shape::Star { spacing: 10.0 }, 1, REACH, 1).len(), 1);
    }

    #[test]
    fn a_geometric_network_has_about_its_degree() {
        let points = positions(&Shape::Geometric { degree: 8.0, connected: false }, 5_000, REACH, 1);
        let sure = Reach::sharp(15.0);
        let mean = Links::by_distance(&points, sure, &OneWay::NONE).len() as f64 / 5_000.0;
        assert!((7.3..8.3).contains(&mean), "{mean}");
    }

    #[test]
    fn a_network_that_must_be_connected_is() {
        for seed in 0..20 {
            let points = positions(&Shape::Geometric { degree: 7.0, connected: true }, 300, REACH, seed);
            let links = Links::by_distance(&points, REACH, &OneWay::NONE);
            assert_eq!(Components::find(&links, Link::QUALITY_MAX, |_| true, |_, _| true).count(), 1);
        }
    }

    #[test]
    fn another_seed_places_the_nodes_elsewhere() {
        let shape = Shape::Geometric { degree: 8.0, connected: true };
        assert_eq!(positions(&shape, 50, REACH, 1), positions(&shape, 50, REACH, 1));
        assert_ne!(positions(&shape, 50, REACH, 1), positions(&shape, 50, REACH, 2));
    }
}
