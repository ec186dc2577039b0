//! Mobility by random waypoint.
//!
//! A node picks a point of the area and a speed, moves there, rests, and picks again. Positions change in ticks: links
//! are computed once per tick for all nodes.

use crate::base::Micros;
use crate::base::rng::{Rng, Stream};
use crate::sim::topology::{Area, Point};

/// How nodes move; speeds are in metres a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MobilityPlan {
    pub(crate) speed_min: f64,
    pub(crate) speed_max: f64,
    /// The longest rest at a waypoint.
    pub(crate) pause: Micros,
    /// The time between two changes of positions.
    pub(crate) tick: Micros,
    /// The area of waypoints; `None` for the rectangle around the first positions.
    pub(crate) area: Option<Area>,
    pub(crate) until: Micros,
}

/// The way of one node to its next waypoint.
#[derive(Clone, Copy, Debug)]
struct Leg {
    waypoint: Point,
    speed: f64,
    rests_until: Micros,
}

#[derive(Clone, Debug)]
pub(crate) struct RandomWaypoint {
    pub(crate) plan: MobilityPlan,
    area: Area,
    legs: Vec<Leg>,
    rng: Rng,
}

impl RandomWaypoint {
    /// Draws the first waypoint of every node.
    pub(crate) fn new(plan: MobilityPlan, points: &[Point], seed: u64) -> Self {
        let area = plan.area.unwrap_or_else(|| Area::around(points));
        let mut movement = Self { plan, area, legs: Vec::new(), rng: Rng::new(seed, Stream::Mobility) };
        movement.legs = points.iter().map(|_| movement.next_leg(0)).collect();
        movement
    }

    /// Moves all nodes by one tick that ends at `now`.
    pub(crate) fn step(&mut self, now: Micros, points: &mut [Point]) {
        let seconds = self.plan.tick as f64 / 1e6;
        for (node, point) in points.iter_mut().enumerate() {
            let Leg { waypoint, speed, rests_until } = self.legs[node];
            if now < rests_until {
                continue;
            }
            let (left, step) = (point.distance(waypoint), speed * seconds);
            if step < left {
                point.x += (waypoint.x - point.x) * step / left;
                point.y += (waypoint.y - point.y) * step / left;
            } else {
                *point = waypoint;
                let rests_until = now + self.rng.between(0, self.plan.pause);
                self.legs[node] = self.next_leg(rests_until);
            }
        }
    }

    fn next_leg(&mut self, rests_until: Micros) -> Leg {
        let Self { plan, area, rng, .. } = self;
        let waypoint =
            Point { x: area.low.x + rng.next_f64() * area.width(), y: area.low.y + rng.next_f64() * area.height() };
        let speed = plan.speed_min + rng.next_f64() * (plan.speed_max - plan.speed_min);
        Leg { waypoint, speed, rests_until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area { low: Point { x: 0.0, y: 0.0 }, high: Point { x: 100.0, y: 50.0 } };
    const PLAN: MobilityPlan = MobilityPlan {
        speed_min: 0.5,
        speed_max: 1.5,
        pause: 2_000_000,
        tick: 500_000,
        area: Some(AREA),
        until: Micros::MAX,
    };

    #[test]
    fn nodes_stay_in_their_area_and_within_their_speed() {
        let mut points = vec![Point { x: 50.0, y: 25.0 }; 20];
        let mut movement = RandomWaypoint::new(PLAN, &points, 1);
        for step in 1..2_000 {
            let before = points.clone();
            movement.step(step * PLAN.tick, &mut points);
            for (old, new) in before.iter().zip(&points) {
                assert!(old.distance(*new) <= 1.5 * 0.5 + 1e-9);
                assert!((0.0..=100.0).contains(&new.x) && (0.0..=50.0).contains(&new.y));
            }
        }
        assert!(points.iter().all(|point| point.distance(Point { x: 50.0, y: 25.0 }) > 0.0));
    }

    #[test]
    fn the_same_seed_gives_the_same_movement() {
        let moved = |seed| {
            let mut points = vec![Point { x: 1.0, y: 1.0 }; 5];
            let mut movement = RandomWaypoint::new(PLAN, &points, seed);
            (1..100).for_each(|step| movement.step(step * PLAN.tick, &mut points));
            points
        };
        assert_eq!(moved(1), moved(1));
        assert_ne!(moved(1), moved(2));
    }
}
