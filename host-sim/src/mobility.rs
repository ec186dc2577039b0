//! Nodes that walk: random waypoint.
//!
//! A node picks a point of the area and a speed, walks there, rests, and picks again. Positions change in steps, so
//! that who hears whom is worked out once per step for everybody.

use crate::queue::Micros;
use crate::random::{Random, Stream};
use crate::topology::{Area, Point};

/// How nodes walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mobility {
    /// The slowest walk, in metres a second.
    pub speed_min: f64,
    /// The fastest walk, in metres a second.
    pub speed_max: f64,
    /// The longest rest between two walks.
    pub pause: Micros,
    /// How often positions change.
    pub tick: Micros,
    /// Where nodes walk; `None` for the rectangle around their first positions.
    pub area: Option<Area>,
    /// When everybody stands still for good.
    pub until: Micros,
}

/// A walk under way.
#[derive(Clone, Copy, Debug)]
struct Walk {
    target: Point,
    speed: f64,
    rests_until: Micros,
}

/// All walks.
#[derive(Clone, Debug)]
pub struct Walkers {
    plan: Mobility,
    area: Area,
    walks: Vec<Walk>,
    random: Random,
}

impl Walkers {
    /// Everybody sets off.
    #[must_use]
    pub fn new(plan: Mobility, points: &[Point], seed: u64) -> Self {
        let area = plan.area.unwrap_or_else(|| Area::around(points));
        let mut walkers = Self { plan, area, walks: Vec::new(), random: Random::new(seed, Stream::Mobility) };
        walkers.walks = points.iter().map(|_| walkers.set_off(0)).collect();
        walkers
    }

    /// How nodes walk.
    #[must_use]
    pub fn plan(&self) -> &Mobility {
        &self.plan
    }

    /// Moves everybody by one tick that ends at `now`.
    pub fn step(&mut self, now: Micros, points: &mut [Point]) {
        let seconds = self.plan.tick as f64 / 1e6;
        for (node, point) in points.iter_mut().enumerate() {
            let Walk { target, speed, rests_until } = self.walks[node];
            if now < rests_until {
                continue;
            }
            let (left, step) = (point.distance(target), speed * seconds);
            if step < left {
                point.x += (target.x - point.x) * step / left;
                point.y += (target.y - point.y) * step / left;
            } else {
                *point = target;
                let rests_until = now + self.random.between(0, self.plan.pause);
                self.walks[node] = self.set_off(rests_until);
            }
        }
    }

    fn set_off(&mut self, rests_until: Micros) -> Walk {
        let Self { plan, area, random, .. } = self;
        let target =
            Point { x: area.low.x + random.unit() * area.width(), y: area.low.y + random.unit() * area.height() };
        let speed = plan.speed_min + random.unit() * (plan.speed_max - plan.speed_min);
        Walk { target, speed, rests_until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area { low: Point { x: 0.0, y: 0.0 }, high: Point { x: 100.0, y: 50.0 } };
    const PLAN: Mobility = Mobility {
        speed_min: 0.5,
        speed_max: 1.5,
        pause: 2_000_000,
        tick: 500_000,
        area: Some(AREA),
        until: Micros::MAX,
    };

    #[test]
    fn walkers_stay_in_their_area_and_within_their_speed() {
        let mut points = vec![Point { x: 50.0, y: 25.0 }; 20];
        let mut walkers = Walkers::new(PLAN, &points, 1);
        for step in 1..2_000 {
            let before = points.clone();
            walkers.step(step * PLAN.tick, &mut points);
            for (old, new) in before.iter().zip(&points) {
                assert!(old.distance(*new) <= 1.5 * 0.5 + 1e-9);
                assert!((0.0..=100.0).contains(&new.x) && (0.0..=50.0).contains(&new.y));
            }
        }
        assert!(points.iter().all(|point| point.distance(Point { x: 50.0, y: 25.0 }) > 0.0));
    }

    #[test]
    fn the_same_seed_walks_the_same_way() {
        let walk = |seed| {
            let mut points = vec![Point { x: 1.0, y: 1.0 }; 5];
            let mut walkers = Walkers::new(PLAN, &points, seed);
            (1..100).for_each(|step| walkers.step(step * PLAN.tick, &mut points));
            points
        };
        assert_eq!(walk(1), walk(1));
        assert_ne!(walk(1), walk(2));
    }
}
