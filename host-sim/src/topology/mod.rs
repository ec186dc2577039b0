//! Where nodes stand, who hears whom, and which nodes hang together.
//!
//! Nodes are known by two numbers: their name, which the scenario and the protocol use, and their *place*, which is
//! their rank along a Hilbert curve through the area. Everything inside the simulator is indexed by place: nodes that
//! hear each other are then near each other in memory.

mod components;
mod hilbert;
mod links;
mod shape;

pub use components::{Components, NOWHERE, hops_from};
pub use hilbert::along_the_curve;
pub use links::{Link, Links, OneWay, Reach};
pub use shape::{PLACES_MAX, Shape, place};

/// A position in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
}

impl Point {
    /// The square of the distance to `other`: cheaper than the distance, and ordered the same way.
    #[must_use]
    pub fn distance_squared(self, other: Self) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        x * x + y * y
    }

    /// The distance to `other`.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        self.distance_squared(other).sqrt()
    }
}

/// A rectangle in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The corner with the lowest coordinates.
    pub low: Point,
    /// The corner with the highest coordinates.
    pub high: Point,
}

impl Area {
    /// The smallest rectangle with all `points` in it.
    #[must_use]
    pub fn around(points: &[Point]) -> Self {
        let first = points.first().copied().unwrap_or_default();
        points.iter().fold(Self { low: first, high: first }, |area, point| Self {
            low: Point { x: area.low.x.min(point.x), y: area.low.y.min(point.y) },
            high: Point { x: area.high.x.max(point.x), y: area.high.y.max(point.y) },
        })
    }

    /// From left to right.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.high.x - self.low.x
    }

    /// From top to bottom.
    #[must_use]
    pub fn height(&self) -> f64 {
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
