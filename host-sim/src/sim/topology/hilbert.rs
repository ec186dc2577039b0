//! The order of points along a Hilbert curve: neighbours on the ground come near each other in memory.

use super::{Area, Point};

/// The curve visits a square of 2^16 by 2^16 cells.
const BITS: u32 = 16;

/// Returns the indices of the points, in the order of the curve.
pub(crate) fn hilbert_order(points: &[Point]) -> Vec<u32> {
    let area = Area::around(points);
    let extent = area.width().max(area.height()).max(f64::MIN_POSITIVE);
    let cell = |offset: f64| (offset / extent * f64::from((1 << BITS) - 1)) as u32;
    let mut keyed: Vec<(u32, u32)> = (0..)
        .zip(points)
        .map(|(number, point)| (distance(cell(point.x - area.low.x), cell(point.y - area.low.y)), number))
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, number)| number).collect()
}

/// Returns how far along the curve a cell is: at each scale, its quarter, and the rotation of that quarter.
fn distance(mut x: u32, mut y: u32) -> u32 {
    let mut along = 0;
    for scale in (0..BITS).rev() {
        let (right, down) = ((x >> scale) & 1, (y >> scale) & 1);
        along = (along << 2) | ((3 * right) ^ down);
        if down == 0 {
            if right == 1 {
                (x, y) = (!x, !y);
            }
            (x, y) = (y, x);
        }
    }
    along
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_visits_every_cell_of_a_square_once_by_single_steps() {
        let side = 16;
        let points: Vec<Point> =
            (0..side * side).map(|i| Point { x: f64::from(i % side), y: f64::from(i / side) }).collect();
        let order = hilbert_order(&points);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..256));
        for pair in order.windows(2) {
            let (a, b) = (points[pair[0] as usize], points[pair[1] as usize]);
            assert!((a.distance_squared(b) - 1.0).abs() < 1e-9, "{pair:?}");
        }
    }

    #[test]
    fn equal_points_keep_their_order() {
        assert_eq!(hilbert_order(&[Point::default(); 3]), [0, 1, 2]);
    }
}
