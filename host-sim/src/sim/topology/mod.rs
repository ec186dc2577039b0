//! Positions, links and components.
//!
//! A node has two numbers: its *id*, which the scenario and the protocol use, and its *slot*, which is its rank along a
//! Hilbert curve through the area. Everything inside the simulator is indexed by slot: neighbours are then near each
//! other in memory.

mod components;
mod hilbert;
mod links;
mod shape;

pub use components::{Components, NO_COMPONENT};
pub(crate) use components::{hops_from, nodes_within};
pub(crate) use hilbert::hilbert_order;
pub use links::Link;
pub(crate) use links::{Links, OneWay, Reach};
pub(crate) use shape::{Shape, positions};

/// A position in metres, rightwards and downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Point {
    /// Returns the square of the distance to `other`: cheaper than the distance, and ordered the same way.
    pub(crate) fn distance_squared(self, other: Self) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        x * x + y * y
    }

    pub(crate) fn distance(self, other: Self) -> f64 {
        self.distance_squared(other).sqrt()
    }
}

/// A rectangle in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub(crate) low: Point,
    pub(crate) high: Point,
}

impl Area {
    pub(crate) fn around(points: &[Point]) -> Self {
        let first = points.first().copied().unwrap_or_default();
        points.iter().fold(Self { low: first, high: first }, |area, point| Self {
            low: Point { x: area.low.x.min(point.x), y: area.low.y.min(point.y) },
            high: Point { x: area.high.x.max(point.x), y: area.high.y.max(point.y) },
        })
    }

    pub(crate) fn width(&self) -> f64 {
        self.high.x - self.low.x
    }

    pub(crate) fn height(&self) -> f64 {
        self.high.y - self.low.y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_holds_all_its_points() {
        let points = [(3.0, 1.0), (-1.0, 2.0), (0.0, -4.0)].map(|(x, y)| Point { x, y });
        let area = Area::around(&points);
        assert_eq!((area.low, area.high), (Point { x: -1.0, y: -4.0 }, Point { x: 3.0, y: 2.0 }));
        assert_eq!((area.width(), area.height()), (4.0, 6.0));
        assert_eq!(Area::around(&[]), Area { low: Point::default(), high: Point::default() });
    }
}
